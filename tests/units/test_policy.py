"""The policy file: every key, every mistake with its place, and what a policy makes of a table."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import tomllib
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from at_hand import policy_of, refusal
from reticent import Policy
from reticent.errors import ReticentError
from reticent.privacy.promises import Anonymity, Confidence, as_fraction

FULL = """\
rule = "hipaa-safe-harbor"
class = "Class"
drop  = ["Name"]
keep  = ["Ward"]
missing = "drop"
missing_values = ["?", -9, 1.0, true]
trim = true
marker = "hidden"
order = "input"
suppress_records = 0.02

[attributes.Job]
mask = "generalize"
taxonomy = { ANY = { Blue = ["Janitor", "Mover"], White = { Manager = {}, Clerk = {} } } }
[attributes.Country]
mask = "suppress"
[attributes.Age]
mask = "discretize"
range = [0, 120.5]
[attributes.Born]
mask = "discretize"
intervals = [1900-01-01, 1950-01-01, 2024-12-31]

[[anonymity]]
over = ["Job", "Sex"]
k = 4
of = ["Name"]

[[confidence]]
over = ["Job", "Country"]
sensitive = { Bankruptcy = ["Discharged", 3], Test = "*" }
at_most = 0.75
allow_absent = true

[about]
title = "Census"

[goal]
utility = "discernibility"
score = "paper"
search = "greedy"

[previous.clinic]
path = "old/clinic.csv"
drop = ["Id"]

[[inconsistent]]
Sex = "Male"
Condition = "Pregnant"

[reading]
delimiter = "\\t"
encoding = "latin-1"
decimal = ","
date_format = "%d.%m.%Y"
sheet = "May"
header_row = 3
table = "patients"

[writing]
delimiter = ";"
decimal = ","
bom = true
"""
LEAST = '[[anonymity]]\nover = ["A"]\nk = 2\n'


def confidence(at_most: str = "0.5", sensitive: str = '{ S = ["x"] }') -> str:
    return f'[[confidence]]\nover = ["A"]\nsensitive = {sensitive}\nat_most = {at_most}\n'


def problems(text: str) -> list[tuple[str, str]]:
    """What is wrong with a policy: (place, what)."""
    found = refusal(lambda: Policy.parse(text)).problems
    return [
        (problem.where.removeprefix("policy").removeprefix(", "), problem.what) for problem in found
    ]


# --- what can be said ----------------------------------------------------------------------------


def test_every_key() -> None:
    policy = Policy.parse(FULL)
    assert policy.class_ == "Class"
    assert (policy.drop, policy.keep) == (("Name",), ("Ward",))
    assert (policy.missing, policy.missing_values) == ("drop", ("?", "-9", "1", "true"))
    assert (policy.trim, policy.marker, policy.order) == (True, "hidden", "input")
    assert list(policy.attributes) == ["Job", "Country", "Age", "Born"]
    assert policy.attributes["Age"].range == (0, 120.5)
    assert policy.attributes["Born"].intervals == (
        date(1900, 1, 1), date(1950, 1, 1), date(2024, 12, 31),
    )  # fmt: skip
    assert policy.promises == (
        Anonymity(over=("Job", "Sex"), k=4, of=("Name",)),
        Confidence(
            over=("Job", "Country"),
            sensitive={"Bankruptcy": ("Discharged", "3"), "Test": "*"},
            at_most=Fraction(3, 4),
            allow_absent=True,
        ),
    )
    assert policy.utility == "discernibility"
    assert policy.taxonomies()["Job"].labels[0] == "ANY"


def test_what_is_not_said_has_a_default() -> None:
    policy = Policy.parse(LEAST)
    assert policy.class_ is None
    assert (policy.drop, policy.keep, policy.missing_values) == ((), (), ())
    assert (policy.missing, policy.trim) == ("value", False)
    assert (policy.marker, policy.order) == ("*", "sorted")
    assert dict(policy.attributes) == {}
    assert (policy.goal.score, policy.goal.search) == ("conditional", "thorough")
    assert policy.suppress_records == 0
    assert policy.utility == "distortion"
    assert Policy.parse(f'class = "C"\n{LEAST}').utility == "classification"


@pytest.mark.parametrize(
    ("bounds", "want"),
    [
        ("[0, 120]", (0, 120)),
        ("[-0.5, 1]", (-0.5, 1)),
        ("[1990-01-01, 2024-12-31]", (date(1990, 1, 1), date(2024, 12, 31))),
        (
            "[2024-01-01T10:00:00, 2024-01-01T11:00:00]",
            (datetime(2024, 1, 1, 10), datetime(2024, 1, 1, 11)),
        ),
        ('["1990-01-01", "2024-12-31"]', ("1990-01-01", "2024-12-31")),
    ],
)
def test_bounds(bounds: str, want: tuple[Any, Any]) -> None:
    for key in ("range", "intervals"):
        policy = Policy.parse(f'{LEAST}[attributes.A]\nmask = "discretize"\n{key} = {bounds}\n')
        read = getattr(policy.attributes["A"], key)
        assert read == want
        assert [type(bound) for bound in read] == [type(bound) for bound in want]


@pytest.mark.parametrize("keep", ['"*"', '["*"]'])
def test_keep_everything_else(keep: str) -> None:
    policy = Policy.parse(f"keep = {keep}\n{LEAST}")
    assert policy.keep == ("*",)
    roles = policy.roles(["X", "A", "Y"])
    assert (roles.kept, roles.masked, roles.released) == (("X", "Y"), ("A",), ("X", "A", "Y"))


def test_lists_are_read_as_sets() -> None:
    policy = Policy.parse('[[anonymity]]\nover = ["A", "B", "A"]\nk = 2\nof = ["I", "I"]\n')
    assert policy.anonymity[0].over == ("A", "B")
    assert policy.anonymity[0].of == ("I",)


# --- thresholds ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "exact"),
    [
        ("0.1", Fraction(1, 10)), ("0.75", Fraction(3, 4)), ("1e-1", Fraction(1, 10)),
        ("0", Fraction(0)), ("1", Fraction(1)), ("1.0", Fraction(1)),
        ("0.30000000000000004", Fraction("0.30000000000000004")),
        ("0.333333333333333333333333333333", Fraction("0.333333333333333333333333333333")),
        ('"5/24"', Fraction(5, 24)), ('"2/6"', Fraction(1, 3)), ('"0.1"', Fraction(1, 10)),
        ('" 1/3 "', Fraction(1, 3)), ('"1"', Fraction(1)), ('"0"', Fraction(0)),
        ('"3 / 4"', Fraction(3, 4)),
    ],
)  # fmt: skip
def test_thresholds_are_exact(written: str, exact: Fraction) -> None:
    assert Policy.parse(confidence(written)).confidence[0].at_most == exact


@pytest.mark.parametrize("written", ["1.5", "-0.1", "2", '"25/24"', '"-1/3"', '"1.0001"'])
def test_thresholds_lie_between_0_and_1(written: str) -> None:
    found = problems(confidence(written))
    assert found == [("[[confidence]] 1, at_most", "a confidence lies between 0 and 1")]


@pytest.mark.parametrize(
    "written",
    ['"1/0"', '"0/0"', '"half"', '""', '"1/2/3"', '"75%"', "true", "[0.5]", "nan", "inf", '"nan"'],
)
def test_what_is_no_threshold(written: str) -> None:
    [(place, what)] = problems(confidence(written))
    assert place == "[[confidence]] 1, at_most"
    assert '"3/4"' in what


@given(st.integers(0, 10**6), st.integers(1, 10**6))
def test_any_fraction(numerator: int, denominator: int) -> None:
    low, high = sorted((numerator, denominator))
    assert as_fraction(f"{low}/{high}") == Fraction(low, high)


@given(st.decimals(0, 1, places=6))
def test_any_decimal(share: Decimal) -> None:
    assert as_fraction(share) == as_fraction(str(share)) == Fraction(share)
    assert as_fraction(float(share)) == Fraction(share)


# --- mistakes: see also tests/cases/policy -------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        LEAST + LEAST.replace("2", "3"),
        LEAST + f'{LEAST}of = ["I"]\n',
        LEAST + LEAST.replace('"A"', '"A", "B"'),
        confidence("0.5") + confidence("0.25"),
        confidence(sensitive='{ S = ["x"] }') + confidence(sensitive='{ S = ["y"] }'),
        confidence(sensitive='{ S = ["x"] }') + confidence(sensitive='{ S = "*" }'),
        confidence() + confidence() .replace("at_most", "allow_absent = true\nat_most").replace("0.5", "0.4"),
    ],
)  # fmt: skip
def test_templates_that_differ_may_stand_together(text: str) -> None:
    assert len(Policy.parse(text).promises) == 2


# --- roles ---------------------------------------------------------------------------------------


def test_roles() -> None:
    policy = Policy.parse(
        'class = "C"\ndrop = ["N"]\nkeep = ["K"]\n[attributes.B]\nmask = "suppress"\n'
        '[attributes.Z]\nmask = "suppress"\n'
        '[[anonymity]]\nover = ["A", "D"]\nk = 2\nof = ["N"]\n'
        '[[confidence]]\nover = ["B"]\nsensitive = { S = "*" }\nat_most = 0.5\n'
        '[[anonymity]]\nover = ["A"]\nk = 2\nof = ["S"]\n[[anonymity]]\nover = ["D"]\nk = 2\nof = ["K"]\n'
    )
    error = refusal(lambda: policy.roles(["D", "N", "S", "A", "K", "C", "B", "Z"]))
    assert '1 column has no role: "Z"' in str(error)  # an entry alone gives no role
    kept = Policy.parse(policy.text.replace('["K"]\n[attr', '["K", "Z"]\n[attr'))
    roles = kept.roles(["D", "N", "S", "A", "K", "C", "B", "Z"])
    assert roles.masked == ("B", "D", "A")  # as listed in the policy, then in table order
    assert roles.sensitive == ("S",)
    assert roles.kept == ("K", "Z")
    assert roles.dropped == ("N",)
    assert roles.class_ == "C"
    assert roles.released == ("D", "S", "A", "K", "C", "B", "Z")


@pytest.mark.parametrize(
    ("text", "column", "roles"),
    [
        (f'class = "A"\n{LEAST}', "A", "class, over"),
        (f'keep = ["A"]\n{LEAST}', "A", "over, keep"),
        (f'drop = ["A"]\n{LEAST}', "A", "over, drop"),
        (f'class = "B"\nkeep = ["B"]\n{LEAST}', "B", "class, keep"),
        (f'class = "B"\ndrop = ["B"]\n{LEAST}', "B", "class, drop"),
        (f'keep = ["B"]\ndrop = ["B"]\n{LEAST}', "B", "keep, drop"),
        (f'class = "S"\n{confidence()}', "S", "class, sensitive"),
        (f'keep = ["S"]\n{confidence()}', "S", "sensitive, keep"),
        (f'drop = ["S"]\n{confidence()}', "S", "sensitive, drop"),
        (confidence() + '[[anonymity]]\nover = ["S"]\nk = 2\n', "S", "over, sensitive"),
        (confidence(sensitive='{ A = "*" }'), "A", "over, sensitive"),
        (f'class = "A"\ndrop = ["A"]\nkeep = ["A", "*"]\n{LEAST}', "A", "class, over, keep, drop"),
    ],
)
def test_a_column_has_one_role(text: str, column: str, roles: str) -> None:
    [(_, what)] = problems(text)
    count = roles.count(",") + 1
    assert what == f'column "{column}" has {count} roles: {roles}'


# --- policies made in code -----------------------------------------------------------------------


def made() -> Policy:
    return policy_of(
        class_="Class", drop=["Name"], keep="*", missing_values=["?", -9], marker="⊥",
        attributes={
            "Job": {"mask": "generalize", "taxonomy": {"ANY": ["Cook", 'C"k']}},
            "Age": {"mask": "discretize", "range": [0, 1.5]},
            "Born": {"mask": "discretize", "intervals": [date(1990, 1, 1), date(2000, 1, 1)]},
            "a b.c": {"mask": "suppress"},
        },
        anonymity=[{"over": ["Job", "Age", "Born", "a b.c"], "k": 4, "of": ["Name"]}],
        confidence=[{"over": ["Job"], "sensitive": {"Sick": "*"}, "at_most": "5/24"}],
        goal={"utility": "discernibility"},
    )  # fmt: skip


def test_policies_made_in_code_can_be_written_down() -> None:
    policy = made()
    again = Policy.parse(policy.text)
    assert again.model_dump() == policy.model_dump()
    assert again.text == policy.text


def test_labels_written_down_keep_their_order() -> None:
    """It breaks ties: tables must not come after lists, nor the other way round."""
    tree = {"ANY": {"z": {"b": {}, "a": {}}, "y": ["d", "c"], "x": {}, "w": [2, 1]}}
    policy = policy_of(
        attributes={"Job": {"mask": "generalize", "taxonomy": tree}},
        anonymity=[{"over": ["Job"], "k": 2}],
    )
    again = Policy.parse(policy.text).attributes["Job"].taxonomy
    assert json.dumps(again) == json.dumps(tree)


# --- written down again --------------------------------------------------------------------------

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5)
LABELS = st.one_of(NAMES, st.integers(-99, 99), st.decimals(-9, 9, places=2))
TREES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.just({}), st.lists(LABELS, max_size=3)),
    lambda below: st.dictionaries(NAMES, below, min_size=1, max_size=3),
    max_leaves=6,
)
BOUNDS = st.one_of(
    st.lists(st.integers() | st.floats(allow_nan=False, allow_infinity=False), min_size=2),
    st.lists(st.dates(), min_size=2),
    st.lists(st.datetimes(), min_size=2),
).map(lambda bounds: sorted(set(bounds)))
BOUNDS = BOUNDS.filter(lambda bounds: len(bounds) > 1)
ATTRIBUTES = st.one_of(
    st.just({"mask": "suppress"}),
    st.just({"mask": "discretize"}),
    BOUNDS.map(lambda bounds: {"mask": "discretize", "intervals": bounds}),
    BOUNDS.map(lambda bounds: {"mask": "discretize", "range": [bounds[0], bounds[-1]]}),
    NAMES.map(lambda name: {"mask": "generalize", "taxonomy": name}),
    st.dictionaries(NAMES, TREES, min_size=1, max_size=1).map(
        lambda tree: {"mask": "generalize", "taxonomy": tree}
    ),
)
READING = {
    "delimiter": st.sampled_from(";\t |\\"), "encoding": st.sampled_from(["utf-8", "cp1252"]),
    "decimal": st.sampled_from(".,"), "date_format": NAMES.map("%Y{}".format), "sheet": NAMES,
    "header_row": st.integers(1, 99), "table": NAMES, "labels": st.booleans(),
}  # fmt: skip
COLUMNS = st.lists(NAMES, min_size=1, max_size=3)
VALUES = st.just("*") | COLUMNS


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    """Any policy that is well formed; whether it makes sense is no matter for writing it down."""
    over = st.fixed_dictionaries(
        {"over": COLUMNS, "k": st.integers(1, 10**20)}, optional={"of": COLUMNS}
    )
    sure = st.fixed_dictionaries(
        {
            "over": COLUMNS,
            "sensitive": st.dictionaries(NAMES, VALUES, min_size=1, max_size=2),
            "at_most": st.fractions(0, 1),
        },
        optional={"allow_absent": st.booleans()},
    )
    parts = {
        "class_": st.none() | NAMES, "drop": st.lists(NAMES, max_size=2), "keep": VALUES,
        "missing": st.sampled_from(["value", "drop", "error"]),
        "missing_values": st.lists(NAMES, max_size=2), "trim": st.booleans(), "marker": NAMES,
        "order": st.sampled_from(["sorted", "input"]),
        "attributes": st.dictionaries(NAMES, ATTRIBUTES, max_size=3),
        "anonymity": st.lists(over, max_size=2), "confidence": st.lists(sure, max_size=2),
        "goal": st.sampled_from([{}, {"utility": "distortion"}, {"score": "paper"}]),
        "reading": st.fixed_dictionaries({}, optional=READING),
    }  # fmt: skip
    return Policy.from_data(draw(st.fixed_dictionaries({}, optional=parts)))


@given(policies())
def test_a_policy_written_down_reads_back_equal(policy: Policy) -> None:
    text = policy.canonical()
    assert policy.text == text  # as of any policy made in code
    data = tomllib.loads(text, parse_float=Decimal)
    again = Policy.from_data(data)
    assert again.model_dump() == policy.model_dump()
    assert again.canonical() == text


def test_a_policy_written_down_has_no_comments() -> None:
    policy = Policy.parse(FULL.replace("\n[", "  # my own words\n[", 1))
    assert "my own words" in policy.text
    assert "my own words" not in policy.canonical()
    assert Policy.parse(policy.canonical()).model_dump() == policy.model_dump()


def test_a_utility_may_be_a_function() -> None:
    def own(*given: Any) -> float:
        return 1.0

    policy = policy_of(anonymity=[{"over": ["A"], "k": 2}], goal={"utility": own})
    assert policy.utility is own
    assert "utility" not in policy.text


def test_policies_made_in_code_are_checked_against_the_table() -> None:
    policy = policy_of(
        keep=["A"], anonymity=[{"over": ["A"], "k": 2}, {"over": ["A"], "k": 2}],
    )  # fmt: skip
    error = refusal(lambda: policy.roles(["A", "B"]))
    said = str(error)
    assert "2 roles" in said
    assert "repeats" in said
    assert "no role" in said


def test_a_policy_cannot_be_changed() -> None:
    policy = made()
    with pytest.raises(ValueError, match="frozen"):
        policy.marker = "x"


# --- the schema for editors ----------------------------------------------------------------------


def nodes(tree: Any) -> list[dict[str, Any]]:
    """Every table inside a JSON schema."""
    inner = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    return ([tree] if isinstance(tree, dict) else []) + [n for part in inner for n in nodes(part)]


def test_the_schema_is_json_and_closed() -> None:
    found = json.loads(json.dumps(Policy.json_schema()))
    assert found["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert found["type"] == "object"
    assert found["additionalProperties"] is False
    for node in nodes(found):
        if "$ref" in node:
            target: Any = found
            for step in node["$ref"].removeprefix("#/").split("/"):
                target = target[step]
            assert target["additionalProperties"] is False


def test_the_schema_knows_the_keys_of_the_file() -> None:
    found = Policy.json_schema()
    assert list(found["properties"]) == [
        "about", "rule", "class", "drop", "keep", "missing", "missing_values", "trim", "marker", "order",
        "suppress_records", "attributes", "anonymity", "confidence", "goal", "previous",
        "inconsistent", "reading", "writing",
    ]  # fmt: skip
    written = tomllib.loads(FULL)
    assert set(written) == set(found["properties"])
    assert set(found["$defs"]["Anonymity"]["properties"]) == {"over", "k", "of"}
    assert set(found["$defs"]["Confidence"]["properties"]) == {
        "over", "sensitive", "at_most", "allow_absent",
    }  # fmt: skip
    assert set(found["$defs"]["Attribute"]["properties"]) == {
        "mask", "taxonomy", "range", "intervals", "round", "same", "join", "coarsen",
    }  # fmt: skip
    assert set(found["$defs"]["Goal"]["properties"]) == {"utility", "score", "search"}
    assert all(
        "description" in node or "$ref" in node or "allOf" in node
        for node in found["properties"].values()
        if node.get("title") != "Goal"
    )


SHARES = [
    "5/24", "0.1", "1", "0", " 1/3 ", "3 / 4", ".5", "1e-1", "half", "75%", "", "1/2/3", "-1/3",
    "0.5/1",
]  # fmt: skip


@pytest.mark.parametrize("written", SHARES)
def test_the_schema_takes_the_thresholds_that_the_policy_takes(written: str) -> None:
    found = Policy.json_schema()["$defs"]["Confidence"]["properties"]["at_most"]
    [pattern] = [branch["pattern"] for branch in found["anyOf"] if branch["type"] == "string"]
    try:
        as_fraction(written)
        taken = True
    except ValueError:
        taken = False
    assert bool(re.search(pattern, written)) == taken


EXAMPLES = [
    ({}, True),
    ({"keep": "*"}, True),
    ({"keep": ["*"]}, True),
    ({"keep": ["X"]}, True),
    ({"keep": "X"}, False),
    ({"clas": "x"}, False),
    ({"class": "x"}, True),
    ({"class": 5}, False),
    ({"missing": "maybe"}, False),
    ({"trim": "yes"}, False),
    ({"marker": ""}, False),
    ({"missing_values": ["?"]}, True),
    ({"anonymity": [{"over": ["A"]}]}, False),
    ({"anonymity": [{"over": [], "k": 2}]}, False),
    ({"anonymity": [{"over": ["A"], "k": 0}]}, False),
    ({"anonymity": [{"over": ["A"], "k": 3, "of": ["I"]}]}, True),
    ({"confidence": [{"over": ["A"], "sensitive": {"S": "*"}, "at_most": 0.5}]}, True),
    ({"confidence": [{"over": ["A"], "sensitive": {"S": ["x"]}, "at_most": "5/24"}]}, True),
    ({"confidence": [{"over": ["A"], "sensitive": {"S": "x"}, "at_most": 0.5}]}, False),
    ({"confidence": [{"over": ["A"], "sensitive": {}, "at_most": 0.5}]}, False),
    ({"confidence": [{"over": ["A"], "sensitive": {"S": "*"}, "at_most": 1.5}]}, False),
    ({"attributes": {"A": {"mask": "hide"}}}, False),
    ({"attributes": {"A": {"mask": "discretize", "range": [0, 1]}}}, True),
    ({"attributes": {"A": {"mask": "discretize", "range": [0]}}}, False),
    ({"attributes": {"A": {"mask": "generalize", "taxonomy": {"ANY": ["x"]}}}}, True),
    ({"goal": {"utility": "distortion"}}, True),
    ({"goal": {"utility": "beauty"}}, False),
]  # fmt: skip


@pytest.mark.parametrize(("policy", "good"), EXAMPLES)
def test_the_schema_and_the_policy_agree(policy: dict[str, Any], good: bool) -> None:
    whole = {"anonymity": [{"over": ["A"], "k": 2}]} | policy
    try:
        Policy.model_validate(whole)
        taken = True
    except ValueError:
        taken = False
    assert taken == good
    if importlib.util.find_spec("jsonschema"):
        checker = importlib.import_module("jsonschema").Draft202012Validator(Policy.json_schema())
        assert checker.is_valid(whole) == good


# --- words ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("of", [(), ("Name",)])
@pytest.mark.parametrize("over", [("A",), ("A", "old.B")])
def test_one_is_no_plural(k: int, of: tuple[str, ...], over: tuple[str, ...]) -> None:
    promise = Anonymity(over=over, k=k, of=of).among(["old"])
    said = [
        promise.text, promise.short, promise.plain_words, promise.bound, promise.would_break(1),
        promise.counted(1, 1), promise.counted(k, k),
        *(promise.infeasible(value).text() for value in (0, 1, 2)),
    ]  # fmt: skip
    for text in said:
        assert not re.search(r"\b1 (others|records|pairs|rows|groups|distinct values|are)\b", text)
        assert not re.search(r"\b[025] (other|record|pair|row|group|distinct value|is)\b", text)
    if not of and not promise.releases:
        assert promise.short == f"A: at least {k} record{'s' * (k > 1)}"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('title = "a\\nb"', "[about], title: write it on one line"),
        (f'owner = "{"x" * 201}"', "[about], owner: this is too long: at most 200 letters"),
        (f'basis = "{"x" * 2001}"', "[about], basis: this is too long: at most 2,000 letters"),
        ("contact = 3", "[about], contact: write a text in quotes"),
        ('purpose = "\\u0007"', "[about], purpose: leave control characters away"),
        (
            'purpose = "a\\u202Eb"',
            "[about], purpose: leave signs away that turn the direction of a text",
        ),
        (
            'title = "\\u2066a"',
            "[about], title: leave signs away that turn the direction of a text",
        ),
        ("date = 2026", '[about], date: write a date, as 2026-05-31, or a text, as "May 2026"'),
        ('titel = "x"', '[about]: there is no key "titel" here\n  Do:  Did you mean "title"?'),
    ],
)
def test_what_a_policy_may_say_of_itself(lines: str, said: str) -> None:
    with pytest.raises(ReticentError) as error:
        Policy.parse(f"[about]\n{lines}\n[[anonymity]]\nover = ['a']\nk = 2\n")
    assert str(error.value) == f"policy, {said}"


def test_a_policy_says_of_itself_what_is_written() -> None:
    lines = 'title = ""\npurpose = "a\\nb "\ndate = "May 2026"\n'
    policy = Policy.parse(f"[about]\n{lines}[[anonymity]]\nover = ['a']\nk = 2\n")
    assert policy.about.facts() == {"purpose": "a\nb", "date": "May 2026"}
    assert Policy.parse(policy.canonical()).about == policy.about
