"""What evaluate measures, each measure apart: by hand, and against twins from the definitions."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from at_hand import refusal
from naive import evidence as naive
from naive import tree as naive_tree
from naive.cases import Case, random_case
from naive.product import case_policy, table_of
from naive.refine import Anon, Attr, Conf, Labels, Row, Tree
from papers.tables import patients
from reticent import Policy
from reticent.data.columns import Column, Table, encode
from reticent.data.recode import Interval, Recoding
from reticent.errors import Unsatisfiable
from reticent.evidence import classify
from reticent.evidence.classify import as_numbers, majority, predictions, splits
from reticent.progress import Watch
from reticent.sources import arrival
from reticent.tables import flow
from reticent.tables.evaluation import evaluate
from reticent.tables.evidence import study
from reticent.tables.evidence.aligned import AlignedRows, for_classifiers, recoded
from reticent.tables.evidence.attack import attacks, inference, linkage
from reticent.tables.evidence.loss import discernibility, distortion, hidden, losses
from reticent.tables.evidence.study import Round, divided, errors, mistakes, rates, utility
from reticent.tables.prepare import Prepared, prepare
from reticent.tables.search.greedy import Effort
from reticent.tables.search.thorough import find

NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")


def table_from(columns: Mapping[str, Any], name: str = "table") -> Table:
    coded = {column: encode(column, pa.array(cells)) for column, cells in columns.items()}
    return Table(name, coded, len(next(iter(columns.values()))))


def prepared_from(columns: Mapping[str, Any], **policy: Any) -> Prepared:
    return prepare(table_from(columns), Policy.model_validate(policy))


def suppressing(column: str, *shown: str) -> Recoding:
    return Recoding(column, "suppress", {v: v for v in shown}, (), "text", "*", "*")


def cells(column: Column) -> list[Any]:
    return list(column.cells().to_pylist())


# --- random releases -----------------------------------------------------------------------------


Releases = list[tuple[Case, AlignedRows, list[Labels]]]


@pytest.fixture(scope="module")
def releases() -> Releases:
    """Cases with what a search, stopped anywhere, makes of them; labels in the order of rows."""
    rng, made = random.Random(0), Releases()
    while len(made) < 60:
        case = random_case(rng)
        prepared = prepare(
            arrival.read(table_of(case.rows, case.attrs))[0], case_policy(case, order="input")
        )
        try:
            most = rng.choice([None, rng.randint(0, 6)])
            found = find(prepared, Watch(), Effort(max_steps=most))
        except Unsatisfiable:
            continue
        masked = AlignedRows.of(prepared, found.recodings)
        shown = {name: cells(column) for name, column in masked.columns.items()}
        made.append(
            (case, masked, [{n: shown[n][i] or "" for n in shown} for i in range(len(case.rows))])
        )
    return made


# --- errors --------------------------------------------------------------------------------------
#
# J tells the class of the 40 training records, S of four in five. Once c and d are suppressed, the
# tree asks J first (gain ratio 1/3 against 0.278) and S for what is suppressed.

TESTED = [
    "apY", "aqY", "bpN", "bqN", "cpY", "cqY", "dpN", "dqN",  # four of each class
    "apN", "dpY",  # and two that J tells wrong
]  # fmt: skip


def known() -> Prepared:
    lines = [
        f"{j}{'pq'[(i >= 8) != (c == 'N')]}{c}"
        for j, c in (("a", "Y"), ("b", "N"), ("c", "Y"), ("d", "N"))
        for i in range(10)
    ]
    whole = [*lines, *TESTED]
    columns = {name: [line[i] for line in whole] for i, name in enumerate("JSC")}
    return prepared_from(
        columns,
        **{"class": "C", "anonymity": [{"over": ["J"], "k": 1}]},
        confidence=[{"over": ["J"], "sensitive": {"S": ["p"]}, "at_most": 0.9}],
    )


def halved() -> AlignedRows:
    """The same, c and d suppressed."""
    return AlignedRows.of(known(), {"J": suppressing("J", "a", "b")})


def last_tested(masked: AlignedRows, count: int = len(TESTED)) -> Round:
    test = np.zeros(masked.prepared.table.rows, dtype=bool)
    test[-count:] = True
    return divided(masked, test)


def test_errors_by_hand() -> None:
    part = last_tested(halved())
    assert errors(known(), [part], "tree") == {
        "BE": 0.2,  # apN and dpY
        "AE": 0.3,  # apN; cq and dp, since S tells what is suppressed: but then dpY is right
        "SE": 0.3,
        "UE": 0.5,  # aq, bp, cq, dpN and apN: S alone tells
        "RE": 0.2,  # as BE, which never asks S
        "AE-BE": 0.1,
        "SE-BE": 0.1,
        "UE-AE": 0.2,
        "RE-SE": -0.1,
    }
    assert majority([part.plain], "C") == 0.5  # a tie: N is first, and half the test records are Y


def test_errors_of_one_kind_of_promise_carry_its_names() -> None:
    masked = halved()
    for kind, names in (
        ("anonymity", ["BE", "AE", "UE", "AE-BE", "UE-AE"]),
        ("confidence", ["BE", "SE", "UE", "RE", "SE-BE", "UE-SE", "RE-SE"]),
    ):
        other = {"anonymity": "confidence", "confidence": "anonymity"}[kind]
        policy = masked.prepared.policy.model_copy(update={other: ()})
        only = replace(masked.prepared, policy=policy)
        assert list(errors(only, [last_tested(masked)], "tree")) == names


def test_errors_are_shares_of_all_tested_records_over_rounds() -> None:
    """Rounds of different sizes: their mistakes are added, not their shares averaged."""
    prepared = known()
    both = [last_tested(halved(), 10), last_tested(halved(), 2)]
    every = rates(prepared, both, "tree")
    one, other = (rates(prepared, [part], "tree") for part in both)
    for view, rate in every.items():
        assert rate == pytest.approx((one[view] * 10 + other[view] * 2) / 12)
    assert rates(prepared, both, "tree", only=("UE",)) == {"UE": every["UE"]}


def test_learnt_on_training_is_measured_if_every_round_has_it() -> None:
    prepared, part = known(), last_tested(halved())
    hidden_all = for_classifiers(prepared.cleaned, {"J": suppressing("J")})
    test = np.arange(50) >= 40
    fresh = replace(part, fresh=(hidden_all.take(~test), hidden_all.take(test)))
    assert rates(prepared, [fresh], "tree")["learnt_on_training"] == 0.5  # as if J were left out
    assert "learnt_on_training" not in rates(prepared, [fresh, part], "tree")


def kind_in(rows: Sequence[Row], name: str) -> str:
    found = [row[name] for row in rows if row[name] is not None]
    number = all(not isinstance(v, str) or NUMBER.fullmatch(v) for v in found)
    return "number" if found and number else "category"


def as_number(value: Any) -> Any:
    return float(value) if value is not None else None


def naive_mistakes(train: list[Row], test: list[Row], columns: Sequence[str], target: str) -> int:
    """What the naive tree gets wrong; a column is of numbers if all of it is."""
    if len({row[target] for row in train}) < 2 or not columns:
        classes = sorted(row[target] for row in train)
        guess = max(sorted(set(classes)), key=classes.count)
        return sum(bool(row[target] != guess) for row in test)
    kinds = {name: kind_in([*train, *test], name) for name in columns}
    for name, kind in kinds.items():
        if kind == "number":
            train = [{**row, name: as_number(row[name])} for row in train]
            test = [{**row, name: as_number(row[name])} for row in test]
    model = naive_tree.tree(train, kinds, target)
    seen = {name: {row[name] for row in train} for name in columns}
    told = [naive_tree.leaf(model, seen, row)["class"] for row in test]
    return sum(bool(a != row[target]) for a, row in zip(told, test, strict=True))


def random_part(rng: random.Random, rows: int) -> NDArray[np.bool_]:
    test = np.zeros(rows, dtype=bool)
    test[rng.sample(range(rows), rng.randint(1, max(rows // 2, 1)))] = True
    return test


def test_errors_are_those_of_the_naive_tree(releases: Releases) -> None:
    rng = random.Random(5)
    compared = 0
    for case, masked, labels in releases:
        prepared = masked.prepared
        if case.cls is None or len(case.rows) < 4:
            continue
        test = random_part(rng, len(case.rows))
        round_ = divided(masked, test)
        seen = naive.middles(labels, case.attrs)
        shown = [{**row, **look} for row, look in zip(case.rows, seen, strict=True)]
        every = [name for name in case.rows[0] if name != case.cls]
        sensitive = {n for t in case.templates if isinstance(t, Conf) for n in t.sensitive}
        views = {
            "BE": (case.rows, every),
            "masked": (shown, every),
            "UE": (case.rows, [n for n in every if n not in masked.columns]),
            "RE": (case.rows, [n for n in every if n not in sensitive]),
        }
        for view, (rows, columns) in views.items():
            if view == "RE" and not sensitive:
                continue
            parts = [[row for row, t in zip(rows, test, strict=True) if t == w] for w in (0, 1)]
            wrong = naive_mistakes(parts[0], parts[1], columns, case.cls)
            found = rates(prepared, [round_], "tree", only=(view,))
            assert found == {view: wrong / len(parts[1])}
            compared += 1
    assert compared > 80


def test_majority_is_of_training_and_ties_go_by_text() -> None:
    train = table_from({"C": ["b", "a", "b", "a", "c"]})
    test = table_from({"C": ["a", "b", "b", "z"]})
    assert majority([(train, test)], "C") == 0.75  # a, not b
    other = table_from({"C": ["b", "b", "a"]})
    both = [(t, test) for t in (train, other)]
    assert majority(both, "C") == round(5 / 8, 6)


def test_a_class_that_training_never_saw_is_always_told_wrong() -> None:
    prepared = prepared_from(
        {"J": list("aabb"), "C": list("yynn")},
        **{"class": "C", "anonymity": [{"over": ["J"], "k": 1}]},
    )
    test = table_from({"J": list("aabx"), "C": list("yzny")})
    sides = (prepared.cleaned, test)
    for name in ("tree", "bayes", "regression"):
        wrong = mistakes(prepared, sides, ["J"], "C", name)
        assert 1 <= wrong <= 2  # z for sure; x was never seen and may go either way


def test_without_columns_or_with_one_class_the_largest_class_is_guessed() -> None:
    prepared = prepared_from(
        {"J": list("aabbb"), "C": list("yynnn"), "D": list("ooooo")},
        **{"class": "C", "keep": ["D"], "anonymity": [{"over": ["J"], "k": 1}]},
    )
    sides = (prepared.cleaned, table_from({"J": list("ab"), "C": list("yn"), "D": list("ox")}))
    for name in classify.CLASSIFIERS:
        assert mistakes(prepared, sides, [], "C", name) == 1
        assert mistakes(prepared, sides, ["J"], "D", name) == 1


# --- classifiers ---------------------------------------------------------------------------------


def coded(train: Mapping[str, Any], test: Mapping[str, Any], target: str = "C") -> classify.Coded:
    columns = [name for name in train if name != target]
    return classify.coded(table_from(train), table_from(test), columns, target, seed=1)


def test_naive_bayes_is_a_count() -> None:
    rng = random.Random(3)
    compared = 0
    for _ in range(8):
        words: list[str | None] = [*"abcd", None]
        numbers: list[int | None] = [1, 2, 5, 9, None]
        rows = [(rng.choice(words), rng.choice(words), rng.choice(numbers)) for _ in range(40)]
        classes = [rng.choice("xxyz") for _ in rows]
        train, test = rows[:30], [*rows[30:], ("new", None, 5), (None, "new", None)]
        data = coded(
            {"A": [r[0] for r in train], "B": [r[1] for r in train],
             "N": pa.array([r[2] for r in train], pa.int64()), "C": classes[:30]},
            {"A": [r[0] for r in test], "B": [r[1] for r in test],
             "N": pa.array([r[2] for r in test], pa.int64()), "C": ["x"] * len(test)},
        )  # fmt: skip
        found = [data.labels[code] for code in predictions("bayes", data)]
        for row, guess in zip(test, found, strict=True):
            odds = naive.bayes(train, classes[:30], row)
            first, second = sorted(odds.values(), reverse=True)[:2]
            if first - second > 1e-9:
                assert guess == max(odds, key=odds.__getitem__)
                compared += 1
    assert compared > 80


@pytest.mark.parametrize("name", list(classify.CLASSIFIERS))
def test_every_classifier_tells_what_is_plain_to_see(name: str) -> None:
    """A threshold on a long scale, numbers never seen, missing cells, and a text beside it."""
    numbers = list(range(0, 200, 2))
    train = {
        "N": pa.array([*numbers, None], pa.int64()),
        "T": [*(["u", "v"] * 50), None],
        "C": ["high" if n >= 100 else "low" for n in numbers] + ["low"],
    }
    asked = [-50, 1, 31, 71, 129, 171, 500]
    test = {
        "N": pa.array(asked, pa.int64()),
        "T": ["u", "v", "w", None, "u", "v", "u"],
        "C": ["high" if n >= 100 else "low" for n in asked],
    }
    data = coded(train, test)
    assert predictions(name, data).tolist() == data.test_classes.tolist()


@pytest.mark.parametrize("name", list(classify.CLASSIFIERS))
def test_classifiers_are_deterministic(name: str) -> None:
    rng = random.Random(1)
    train, test = (
        {c: [rng.choice("abc") for _ in range(60)] for c in ("A", "B", "C")} for _ in "12"
    )
    once, twice = (predictions(name, coded(train, test)).tolist() for _ in "12")
    assert once == twice


def test_unknown_classifiers_are_refused_and_repeated_ones_run_once() -> None:
    assert classify.chosen(["bayes", "tree", "bayes"]) == ("bayes", "tree")
    assert classify.chosen(None) == classify.chosen([]) == tuple(classify.CLASSIFIERS)
    refusal(lambda: classify.chosen(["tree", "forest"]), "there is no classifier forest")


def test_intervals_count_as_their_middles() -> None:
    column = encode("A", pa.array(["[0,10)", "[10,40]", "*", None, "[0,10)"]))
    intervals = (Interval(0, 10, False, "[0,10)"), Interval(10, 40, True, "[10,40]"))
    recoding = Recoding("A", "discretize", {}, intervals, "number", "", "*")
    seen = as_numbers(column, recoding)
    assert seen.values.take(pa.array(seen.codes)).to_pylist() == [5, 25, None, None, 5]
    assert as_numbers(column, replace(recoding, intervals=())) is column


# --- splits --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "folds"), [(2, 2), (3, 2), (10, 3), (10, 10), (101, 7)])
def test_over_folds_every_record_is_tested_once(rows: int, folds: int) -> None:
    parts = list(splits(rows, folds=folds, seed=4))
    assert len(parts) == folds
    assert np.array_equal(np.sum(parts, axis=0), np.ones(rows))
    sizes = [int(part.sum()) for part in parts]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("rows", [3, 4, 5, 6, 100])
def test_without_folds_a_third_is_tested(rows: int) -> None:
    [part] = splits(rows, folds=None, seed=4)
    assert part.sum() == rows // 3


@pytest.mark.parametrize("folds", [None, 5])
def test_the_seed_alone_decides_the_split(folds: int | None) -> None:
    def drawn(seed: int) -> list[list[bool]]:
        return [part.tolist() for part in splits(60, folds=folds, seed=seed)]

    assert drawn(1) == drawn(1)
    assert len({str(drawn(seed)) for seed in range(20)}) == 20


# --- what masking took away ----------------------------------------------------------------------


def test_distortion_and_hidden_by_hand() -> None:
    """Job as Blue_Collar and the levels of White_Collar, Age in two halves, Sex not at all."""
    rows, attrs = patients()
    policy = {"over": ["Job", "Sex", "Age"], "k": 1}
    prepared = prepare(
        arrival.read(table_of(rows, attrs))[0],
        case_policy(Case(rows, attrs, [], "Class", "classification")).model_copy(
            update={"anonymity": Policy.model_validate({"anonymity": [policy]}).anonymity}
        ),
    )
    job = dict.fromkeys(("Janitor", "Mover", "Carpenter", "Electrician"), "Blue_Collar")
    job |= {"Manager": "Manager", "Engineer": "Professional", "Lawyer": "Lawyer"}
    ages = (Interval(30, 37, False, "[30,37)"), Interval(37, 44, True, "[37,44]"))
    masked = AlignedRows.of(
        prepared,
        {
            "Job": Recoding("Job", "generalize", job, (), "text", "ANY_Job", None),
            "Sex": Recoding(
                "Sex", "generalize", dict.fromkeys("MF", "ANY_Sex"), (), "text", "ANY_Sex", None
            ),
            "Age": Recoding("Age", "discretize", {}, ages, "number", "*", "*"),
        },
    )
    found = losses(masked)
    climbed = 16 * 2 + 10 * 0 + 7 * 1 + 1 * 0  # workers two levels, engineers one
    told = {
        n: {key: c[key] for key in ("distortion", "hidden")} for n, c in found["columns"].items()
    }
    assert told == {
        "Job": {"distortion": climbed / 34, "hidden": 0},
        "Sex": {"distortion": 1.0, "hidden": 34},
        "Age": {"distortion": 0.5, "hidden": 0},
    }
    assert found["distortion"] == pytest.approx(climbed / 34 + 1.5)
    assert (found["hidden"], found["entries"]) == (34, 102)
    # before: the nine kinds of the table; after: 3 + 4 + 5, 4, 6 + 4, 4 + 3, 1
    assert found["discernibility"] == {
        "before": 9 + 16 + 25 + 16 + 36 + 16 + 16 + 9 + 1,
        "after": 144 + 16 + 100 + 49 + 1,
    }


def only(column: Any, recoding: Recoding, **attribute: Any) -> tuple[float, int]:
    """Distortion and hidden entries of a table of one column."""
    prepared = prepared_from(
        {"A": column}, attributes={"A": attribute}, anonymity=[{"over": ["A"], "k": 1}]
    )
    [domain] = prepared.domains
    shown = AlignedRows.of(prepared, {"A": recoding}).columns["A"]
    return distortion(domain, shown, recoding), hidden(domain, shown)


def test_a_suppressed_value_counts_1_and_a_disclosed_one_nothing() -> None:
    column = ["a", "a", "b", None]
    assert only(column, suppressing("A", "a"), mask="suppress") == (2.0, 2)
    told = replace(suppressing("A", "a", "b"), missing="")
    assert only(column, told, mask="suppress") == (0.0, 0)


def test_a_missing_value_below_the_root_climbs_one_level() -> None:
    tree: Tree = {"ANY": {"x": {"a": {}, "b": {}}, "c": {}}}
    labels = {"a": "x", "b": "x", "c": "c"}
    shown = Recoding("A", "generalize", labels, (), "text", "", None)
    column = ["a", "b", "c", None]
    assert only(column, shown, mask="generalize", taxonomy=tree) == (2.0, 0)
    everything = Recoding("A", "generalize", dict.fromkeys("abc", "ANY"), (), "text", "ANY", None)
    assert only(column, everything, mask="generalize", taxonomy=tree) == (2 + 2 + 1 + 1, 4)


def test_an_interval_counts_its_share_of_the_range_and_the_marker_1() -> None:
    ages = (Interval(0, 25, False, "[0,25)"), Interval(25, 100, True, "[25,100]"))
    shown = Recoding("A", "discretize", {}, ages, "number", "", "*")
    column = pa.array([3, 30, 99, None], pa.int64())
    assert only(column, shown, mask="discretize", range=[0, 100]) == (0.25 + 0.75 * 2, 0)
    marked = Recoding("A", "discretize", {}, (), "number", "*", "*")
    assert only(column, marked, mask="discretize", range=[0, 100]) == (4.0, 4)
    point = (Interval(7, 7, True, "[7,7]"),)
    one = Recoding("A", "discretize", {}, point, "number", "", "*")
    assert only([7, 7], one, mask="discretize") == (0.0, 2)  # no range, nothing lost; all hidden


def test_the_range_is_the_policys_not_that_of_the_bins_that_show() -> None:
    """Bins that no record holds never show; the share is of the whole range all the same."""
    shown = (Interval(10, 20, False, "[10,20)"), Interval(20, 40, False, "[20,40)"))
    read_off = Recoding("A", "discretize", {}, shown, "number", "*", "*")
    edges = [0, 10, 20, 40, 100]
    lost, nothing = only([15, 15, 30], read_off, mask="discretize", intervals=edges)
    assert lost == pytest.approx(0.1 + 0.1 + 0.2)
    assert nothing == 0


def test_losses_are_the_sums_of_what_each_record_lost(releases: Releases) -> None:
    for case, masked, labels in releases:
        found = losses(masked)
        pairs = list(zip(case.rows, labels, strict=True))
        total = 0.0
        for attr in case.attrs:
            column = [row[attr.name] for row in case.rows]
            lost = [
                naive.distortion(attr, column, r[attr.name], shown[attr.name]) for r, shown in pairs
            ]
            total += sum(lost) / len(lost)
            assert found["columns"][attr.name]["distortion"] == pytest.approx(sum(lost) / len(lost))
        assert found["distortion"] == pytest.approx(total)
        blank = {a.name: nothing_shown(a, [r[a.name] for r in case.rows]) for a in case.attrs}
        hidden_now = {a: sum(shown[a] in blank[a] for shown in labels) for a in blank}
        assert {n: c["hidden"] for n, c in found["columns"].items()} == hidden_now
        assert found["hidden"] == sum(hidden_now.values())
        assert found["entries"] == len(case.rows) * len(case.attrs)
        before = [{a.name: row[a.name] for a in case.attrs} for row in case.rows]
        assert found["discernibility"] == {
            "before": naive.discernibility(before),
            "after": naive.discernibility(labels),
        }


def nothing_shown(attr: Attr, column: Sequence[Any]) -> set[str]:
    """The labels that say nothing: the marker, or what stands on top where nothing is missing."""
    if attr.tree is not None:
        return {"*", *attr.tree}
    if attr.mask == "suppress" or None in column:
        return {"*"}
    low, high = naive.span(attr, column)
    return {"*", f"[{low:.17g},{high:.17g}]"}


def test_discernibility_of_many_records_is_exact() -> None:
    column = Column("A", np.zeros(3_000_000, np.uint8), pa.array(["x"]))
    assert discernibility([column]) == 9_000_000_000_000


# --- attacks -------------------------------------------------------------------------------------


def columns_of(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[Column]:
    return [encode(name, pa.array([row[name] for row in rows], pa.string())) for name in names]


def test_linkage_by_hand() -> None:
    """Groups of 3, 2 and 1; in the register 2, 8 and 1 people fit, and 5 fit nobody."""
    table = columns_of([{"A": a} for a in "xxxyyz"], "A")
    assert asdict(linkage(table)) == {
        "groups": 3, "smallest": 1, "mean_group": 2.0, "unique": 1 / 6, "prosecutor": 1.0,
        "prosecutor_mean": 0.5,  # groups / records
        "journalist": 1.0,
        "journalist_mean": 0.5,
    }  # fmt: skip
    register = columns_of([{"A": a} for a in "xx" + "y" * 8 + "zwwwww"], "A")
    found = linkage(table, register)
    assert found.journalist == 1.0
    assert found.journalist_mean == pytest.approx((1 + 2 / 8 + 1) / 6)  # x: its own three
    assert found.prosecutor_mean == 0.5


def test_linkage_counts_persons_where_they_are_known() -> None:
    """One person with three records is alone; so is whoever is the only one known in a group."""
    table = columns_of([{"A": a} for a in "xxxyyyz"], "A")
    persons = np.array([1, 1, 1, 2, 0, 0, 0])
    found = linkage(table, persons=(persons, 2))
    assert (found.groups, found.smallest) == (3, 1)
    assert found.mean_group == found.unique == found.prosecutor_mean == 1


def test_inference_by_hand() -> None:
    """Group x has HIV in 2 of 3, group y Flu in 1 of 2; only these are sensitive."""
    table = columns_of([{"A": a} for a in "xxxyy"], "A")
    marks = np.array([1, 1, 0, 2, 0])
    found = inference(table, [(marks, 2)])
    assert (found.largest, found.mean) == (Fraction(2, 3), 3 / 5)
    assert found.of_holders == pytest.approx((2 / 3 + 2 / 3 + 1 / 2) / 3)
    nobody = inference(table, [(np.zeros(5, np.int64), 0)])
    assert (nobody.largest, nobody.mean, nobody.of_holders) == (Fraction(0), 0.0, None)
    other = np.array([0, 0, 0, 1, 1])  # a second sensitive column is surer of y
    both = inference(table, [(marks, 2), (other, 1)])
    assert (both.largest, both.mean) == (Fraction(1), 4 / 5)


def test_attacks_are_what_the_definitions_count(releases: Releases) -> None:
    rng = random.Random(9)
    linked = inferred = 0
    for case, masked, labels in releases:
        names = [attr.name for attr in case.attrs]
        before = [{name: row[name] for name in names} for row in case.rows]
        people = [rng.choice(case.rows) for _ in range(rng.randint(1, 60))]
        register = rng.choice([None, people])
        there = None
        if register is not None:
            table = arrival.read(table_of(register, case.attrs))[0]
            there = masked.further(table, masked.columns)
        found = attacks(masked, there, [])
        groups = {
            (frozenset(t.over), frozenset(t.of)) for t in case.templates if isinstance(t, Anon)
        }
        overs = {over for over, _ in groups}
        bounds = {frozenset(t.over) for t in case.templates if isinstance(t, Conf)}
        none: frozenset[str] = frozenset()
        wanted_views = groups | {(over, none) for over in bounds - overs}
        views = [(frozenset(r["over"]), frozenset(r.get("of", ()))) for r in found["linkage"]]
        assert len(views) == len(wanted_views)
        assert set(views) == wanted_views
        shown_to = dict(zip(map(str, before), labels, strict=True))
        for record in found["linkage"]:
            of = record.get("of", ())
            for side, looks in (("before", before), ("after", labels)):
                seen: Any = None
                if register is not None:
                    plain = [{name: row[name] for name in names} for row in register]
                    seen = plain if side == "before" else [shown_to[str(row)] for row in plain]
                wanted = naive.linkage(case.rows, looks, record["over"], of, seen)
                assert record[side] == pytest.approx(wanted)
                linked += 1
        limits = [t for t in case.templates if isinstance(t, Conf)]
        for record, template in zip(found["inference"], limits, strict=True):
            assert record["sensitive"] == list(template.sensitive)
            for side, looks in (("before", before), ("after", labels)):
                largest, mean, held = naive.inference(
                    case.rows, looks, template.over, template.sensitive
                )
                assert record[side] == {
                    "largest": str(largest),
                    "mean": pytest.approx(mean),
                    "of_holders": pytest.approx(held),
                }
                inferred += 1
    assert linked > 100
    assert inferred > 50


def test_prediction_is_the_naive_trees_beside_the_commonest_value(releases: Releases) -> None:
    rng = random.Random(6)
    compared = 0
    for case, masked, labels in releases:
        if len(case.rows) < 4:
            continue
        test = random_part(rng, len(case.rows))
        looks = naive.middles(labels, case.attrs)
        shown = [{**row, **look} for row, look in zip(case.rows, looks, strict=True)]
        sensitive = {n for t in case.templates if isinstance(t, Conf) for n in t.sensitive}
        if any(row[name] is None for row in case.rows for name in sensitive):
            continue  # see test_a_sensitive_value_that_is_missing
        sides = {
            "before": [[r for r, t in zip(case.rows, test, strict=True) if t == w] for w in (0, 1)],
            "after": [[r for r, t in zip(shown, test, strict=True) if t == w] for w in (0, 1)],
        }
        wanted = {}
        for name in sensitive:
            over = {
                a for t in case.templates if name in getattr(t, "sensitive", ()) for a in t.over
            }
            columns = [column for column in case.rows[0] if column in over]
            wanted[name] = {
                side: naive_mistakes(parts[0], parts[1], columns, name)
                for side, parts in sides.items()
            }
        found = attacks(masked, None, [divided(masked, test)])["prediction"]
        assert {record["sensitive"] for record in found} == sensitive
        for record in found:
            train, asked = sides["before"]
            name = record["sensitive"]
            counts = Counter(row[name] for row in train)
            guess = min(counts, key=lambda value: (-counts[value], value))
            right = sum(row[name] == guess for row in asked)
            assert record["base"] == round(right / len(asked), 6)
            for side in ("before", "after"):
                assert record[side] == round(1 - wanted[name][side] / len(asked), 6)
                compared += 1
    assert compared > 10


def test_without_rounds_nothing_is_predicted() -> None:
    masked = AlignedRows.of(known(), {"J": suppressing("J")})
    assert attacks(masked, None, [])["prediction"] == []


# --- what a table may hold -----------------------------------------------------------------------


def about_j(columns: Mapping[str, Any], **policy: Any) -> AlignedRows:
    parts = {"keep": "*", "anonymity": [{"over": ["J"], "k": 1}]} | policy
    return AlignedRows.of(prepared_from(columns, **parts), {"J": suppressing("J", "a", "b")})


def on_rows(masked: AlignedRows, *rows: int) -> Round:
    return divided(masked, np.isin(np.arange(masked.prepared.table.rows), rows))


DAYS = [f"2020-01-0{i}" for i in range(1, 8)]
ODD: dict[str, Any] = {
    "a text among numbers": [*"1234567", "x"],
    "a text among days": [*DAYS, "soon"],
    "a clock among days": [*DAYS, "2020-01-01T10:00"],
    "one zone": [*(f"{day}T10:00" for day in DAYS), "2020-01-01T10:00Z"],
    "numbers missing in training": pa.array([None] * 7 + [1.5]),
    "words missing in training": pa.array([None] * 7 + ["u"]),
    "whole numbers beyond all measure": [str(i) + "0" * 320 for i in range(1, 9)],
    "numbers beyond all measure": [1e308, -1e308] * 4,
}


@pytest.mark.parametrize("name", classify.CLASSIFIERS)
@pytest.mark.parametrize("kind", ODD)
def test_an_odd_column_stops_nothing(kind: str, name: str) -> None:
    """What a column holds shows in all of it; its training part may look more regular."""
    columns = {"J": list("abababab"), "Z": ODD[kind], "C": list("ynynynyn")}
    masked = about_j(columns, **{"class": "C"})
    for rows in ((6, 7), (0, 1), (7,), (0,)):
        sides = on_rows(masked, *rows).plain
        assert 0 <= mistakes(masked.prepared, sides, "JZ", "C", name) <= len(rows)


def test_a_marker_only_among_test_records_stops_nothing() -> None:
    columns = {"J": list("11223344"), "C": list("ynynynyn")}
    prepared = prepared_from(
        columns,
        **{"class": "C", "attributes": {"J": {"mask": "suppress"}}},
        anonymity=[{"over": ["J"], "k": 2}],
    )
    masked = AlignedRows.of(prepared, {"J": suppressing("J", "1", "2", "3")})
    assert errors(prepared, [on_rows(masked, 6, 7)], "tree")


def test_intervals_beyond_all_measure_have_a_middle() -> None:
    huge = 10**320
    recoding = Recoding(
        "A", "discretize", {}, (Interval(0, huge, True, "all"),), "number", "*", "*"
    )
    assert len(as_numbers(encode("A", pa.array(["all", "*"])), recoding).values) == 2


@pytest.mark.parametrize(
    "sick",
    [
        pytest.param(["s", None] * 4, id="one value"),
        pytest.param([None] * 7 + ["s"], id="missing in training"),
    ],
)
def test_a_sensitive_value_that_is_missing_stops_nothing(sick: list[str | None]) -> None:
    masked = about_j(
        {"J": list("abababab"), "S": sick},
        anonymity=[],
        confidence=[{"over": ["J"], "sensitive": {"S": "*"}, "at_most": 0.9}],
    )
    told = attacks(masked, None, [on_rows(masked, 6, 7)])["prediction"]
    assert len(told) == any(sick[:6])  # nothing can be learnt where nothing is known
    assert all(0 <= found[side] <= 1 for found in told for side in ("base", "before", "after"))


def test_missing_sensitive_values_count_alike_on_both_sides_of_a_comparison() -> None:
    """A tree that knows nothing can do no worse than the guess that it is compared with."""
    masked = about_j(
        {"J": ["a"] * 9, "S": ["s", "t", *[None] * 4, "s", None, None]},
        anonymity=[],
        confidence=[{"over": ["J"], "sensitive": {"S": "*"}, "at_most": 0.9}],
    )
    [found] = attacks(masked, None, [on_rows(masked, 6, 7, 8)])["prediction"]
    assert found["before"] == found["after"] == found["base"]


@pytest.mark.slow
def test_a_class_of_one_record_among_many_stops_nothing() -> None:
    """Boosting keeps a part of more than 10,000 records for itself, evenly over classes."""
    rows = 10_100
    columns = {"J": list("ab") * (rows // 2), "C": [*"yn" * (rows // 2 - 1), "y", "rare"]}
    masked = about_j(columns, **{"class": "C"})
    part = on_rows(masked, *range(10))
    assert 0 <= mistakes(masked.prepared, part.plain, "J", "C", "boosting") <= 10


# --- a release's own word on its use -------------------------------------------------------------


def test_utility_is_the_trees_error_on_a_third() -> None:
    columns = {"J": list("ab") * 60, "X": list("pppq") * 30, "C": list("yn") * 60}
    masked = about_j(columns, **{"class": "C"})
    said = utility(masked.prepared, masked.recodings)
    assert said is not None
    assert (said["BE"], said["AE"], said["train"], said["test"]) == (0.0, 0.0, 80, 40)
    [part] = splits(120, folds=None, seed=1)
    assert said["majority"] == majority([divided(masked, part).plain], "C")


def test_utility_says_nothing_of_few_records_or_without_a_class() -> None:
    few = about_j({"J": list("ab") * 20, "C": list("yn") * 20}, **{"class": "C"})
    said = utility(few.prepared, few.recodings)
    assert said is not None
    assert list(said) == ["reason"]
    none = about_j({"J": list("ab") * 60, "C": list("yn") * 60})
    assert utility(none.prepared, none.recodings) is None


# --- what each number is about -------------------------------------------------------------------


def test_a_mask_learnt_on_training_never_sees_the_test_records() -> None:
    """Its error is that of a release of the training records, laid over the others by value."""
    rng = random.Random(4)
    jobs = [rng.choice("abcdef") for _ in range(120)]
    table = pa.table({"J": jobs, "C": ["yn"[(j in "abc") ^ (rng.random() < 0.2)] for j in jobs]})
    policy = {"class": "C", "anonymity": [{"over": ["J"], "k": 19}]}
    release = flow.release(table, policy)
    found = evaluate(table, release.table, policy, classifiers=["tree"])
    assert found.classification is not None
    [part] = splits(120, folds=None, seed=1)
    alone = flow.release(table.filter(pa.array(~part)), policy)
    cut = recoded(release.prepared.cleaned, alone.recodings)
    whole = replace(release.prepared.cleaned, columns={**release.prepared.cleaned.columns, **cut})
    sides = (whole.take(~part), whole.take(part))
    wrong = mistakes(release.prepared, sides, ["J"], "C")
    assert found.classification["classifiers"]["tree"]["learnt_on_training"] == wrong / 40
    assert alone.cuts != release.cuts  # or the test could not fail


def test_a_given_test_table_is_masked_with_the_training_table_and_without() -> None:
    rng = random.Random(7)

    def drawn(rows: int) -> pa.Table:
        jobs = [rng.choice("abcdef") for _ in range(rows)]
        told = ["yn"[(j in "abc") ^ (rng.random() < 0.2)] for j in jobs]
        return pa.table({"J": jobs, "Name": [str(i) for i in range(rows)], "C": told})

    train, test = drawn(90), drawn(60)
    policy = {"class": "C", "drop": ["Name"], "anonymity": [{"over": ["J"], "k": 16}]}
    release = flow.release(train, policy)
    both = flow.release(pa.concat_tables([train, test]), policy)
    assert both.cuts != release.cuts  # or the test could not fail
    found = evaluate(
        train, release.table, policy, test=test.drop_columns(["Name"]), classifiers=["tree"]
    )
    assert found.classification is not None
    told = found.classification["classifiers"]["tree"]
    for name, cuts in (("AE", both.recodings), ("learnt_on_training", release.recodings)):
        sides = [for_classifiers(arrival.read(t)[0], cuts) for t in (train, test)]
        wrong = mistakes(release.prepared, (sides[0], sides[1]), ["J"], "C")
        assert told[name] == pytest.approx(wrong / 60, abs=1e-6)


def test_an_attack_tells_before_from_after_and_knows_all_that_promises_assume() -> None:
    """Only both columns together give the illness away; all of it is masked afterwards."""
    known = [(a, b) for a in "01" for b in "01"] * 15
    columns = {"J": [a for a, _ in known], "K": [b for _, b in known]}
    columns["S"] = ["s" if a == "1" and b == "1" else "t" for a, b in known]
    prepared = prepared_from(
        columns,
        attributes={"J": {"mask": "suppress"}, "K": {"mask": "suppress"}},
        confidence=[
            {"over": [name], "sensitive": {"S": ["s"]}, "at_most": 0.9} for name in ("J", "K")
        ],
    )
    masked = AlignedRows.of(prepared, {"J": suppressing("J"), "K": suppressing("K")})
    [found] = attacks(masked, None, [on_rows(masked, *range(20))])["prediction"]
    assert (found["over"], found["before"], found["after"]) == (["J", "K"], 1.0, found["base"])
    assert found["base"] == 0.75


def test_large_numbers_stay_apart() -> None:
    low, high = 2**60, 2**60 + 10
    parts = (Interval(low, low + 5, False, "low"), Interval(low + 5, high, True, "high"))
    recoding = Recoding("A", "discretize", {}, parts, "number", "*", "*")
    assert len(as_numbers(encode("A", pa.array(["low", "high"])), recoding).values) == 2


def test_a_sample_is_drawn_from_all_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sorted table would otherwise be judged by its beginning."""
    monkeypatch.setattr(study, "QUICK", 150)
    rows = 600
    columns = {"J": ["a"] * 300 + ["b"] * 300, "C": ["y"] * 300 + ["n"] * 300}
    found = study.utility(about_j(columns, **{"class": "C"}).prepared, {"J": suppressing("J")})
    assert found is not None
    assert (found["rows"], found["train"] + found["test"]) == (rows, 150)
    assert found["majority"] > 0.3


def test_what_a_public_report_warns_of_counts_nothing_that_is_hidden() -> None:
    columns = {"J": [f"j{i}" for i in range(5_100)], "C": ["y", "n"] * 2_550}
    prepared = prepared_from(
        columns, **{"class": "C", "attributes": {"J": {"mask": "suppress"}}},
        anonymity=[{"over": ["J"], "k": 5}],
    )  # fmt: skip
    assert any("one by one" in warning for warning in prepared.warnings)
    assert not any(sign.isdigit() for warning in prepared.warnings for sign in warning)
