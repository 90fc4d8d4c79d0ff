"""Samples: reproducible, correlated, and described by policies that fit them."""

from __future__ import annotations

import mailbox
import tomllib
from collections import Counter, defaultdict
from contextlib import closing
from datetime import date
from email.utils import getaddresses
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from at_hand import contents, refusal
from reticent import transactions
from reticent.sample import KINDS, PRIVATE_ITEMS, make, make_sample, policy
from reticent.sample.mail import MAILS

ROWS = 4000
TABLES = ("census", "bank", "clinic")
COLUMNS = {
    "census": "Name Age Sex Education Marital Occupation Zip Hours Income",
    "bank": "Customer Job Country Child Years Bankruptcy Class",
    "clinic": "PatientId Job Sex Birthdate Zip TestDate Diagnosis Outcome",
    "baskets": "basket item",
}
NUMBERS = {"Age", "Hours", "Years", "basket"}


@pytest.fixture(scope="module")
def samples() -> dict[str, pa.Table]:
    return {kind: make(kind, ROWS, seed=7) for kind in KINDS}


def cells(table: pa.Table, *columns: str) -> list[tuple[Any, ...]]:
    return list(zip(*(table[name].to_pylist() for name in columns), strict=True))


def dependence(table: pa.Table, cause: str, effect: str) -> float:
    """Chi-square per degree of freedom: about 1 for independent columns."""
    pairs = Counter(cells(table, cause, effect))
    causes, effects = Counter(table[cause].to_pylist()), Counter(table[effect].to_pylist())
    total = 0.0
    for x, n in causes.items():
        for y, m in effects.items():
            expected = n * m / table.num_rows
            total += (pairs[x, y] - expected) ** 2 / expected
    return total / ((len(causes) - 1) * (len(effects) - 1))


def inner_and_leaves(taxonomy: object, files: dict[str, str]) -> tuple[set[str], list[str]]:
    if isinstance(taxonomy, dict):  # the inline ones are flat: one root over a list
        ((root, leaves),) = taxonomy.items()
        return {root}, leaves
    lines = [line.split(",") for line in files[str(taxonomy)].splitlines()]
    return {label for line in lines for label in line[1:]}, [line[0] for line in lines]


def templates(kind: str) -> tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]:
    rules = tomllib.loads(policy(kind)[0])
    return rules, rules.get("anonymity", []), rules.get("confidence", [])


@pytest.mark.parametrize("kind", KINDS)
def test_the_seed_decides_the_table(kind: str, samples: dict[str, pa.Table]) -> None:
    assert make(kind, ROWS, seed=7).equals(samples[kind])
    assert not make(kind, ROWS, seed=8).equals(samples[kind])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [1, 2, 37, ROWS])
def test_columns_types_and_number_of_rows(kind: str, rows: int) -> None:
    table = make(kind, rows, seed=0)
    assert table.num_rows == rows
    assert table.column_names == COLUMNS[kind].split()
    for field in table.schema:
        assert field.type == (pa.int64() if field.name in NUMBERS else pa.string())


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_clinic_has_gaps_and_never_where_they_are_an_error(
    kind: str, samples: dict[str, pa.Table]
) -> None:
    gaps = {name for name in samples[kind].column_names if samples[kind][name].null_count}
    assert gaps == ({"Job", "Zip", "Diagnosis"} if kind == "clinic" else set())


def test_census_looks_like_a_census(samples: dict[str, pa.Table]) -> None:
    census = samples["census"]
    assert len(set(census["Name"].to_pylist())) == ROWS
    assert census["Name"][0].as_py() == "Person 000001"
    ages = census["Age"].to_pylist()
    assert 17 <= min(ages) < 20
    assert 80 < max(ages) <= 90
    assert min(census["Hours"].to_pylist()) >= 1
    assert max(census["Hours"].to_pylist()) <= 99
    zips = set(census["Zip"].to_pylist())
    assert all(len(code) == 5 and code.isdigit() for code in zips)
    assert any(code.startswith("0") for code in zips)
    assert len(set(make("census", 20_000, seed=1)["Education"].to_pylist())) == 16
    # Nobody is too young for what they have reached.
    assert all(
        age >= 27 for age, level in cells(census, "Age", "Education") if level == "Doctorate"
    )


@pytest.mark.parametrize(
    ("kind", "cause", "effect"),
    [
        *(("census", name, "Income") for name in ("Sex", "Education", "Marital", "Occupation")),
        ("census", "Age", "Income"),
        ("census", "Hours", "Income"),
        ("census", "Age", "Marital"),
        ("census", "Age", "Education"),
        ("census", "Education", "Occupation"),
        ("census", "Sex", "Occupation"),
        ("census", "Zip", "Income"),
        *(("bank", name, "Class") for name in ("Job", "Country", "Child", "Bankruptcy")),
        ("bank", "Job", "Bankruptcy"),
        ("bank", "Country", "Bankruptcy"),
        ("bank", "Country", "Job"),
        *(("clinic", name, "Outcome") for name in ("Job", "Sex", "Diagnosis")),
        ("clinic", "Job", "Diagnosis"),
    ],
)
def test_columns_depend_on_each_other(
    kind: str, cause: str, effect: str, samples: dict[str, pa.Table]
) -> None:
    assert dependence(samples[kind], cause, effect) > 1.5


@pytest.mark.parametrize(
    ("kind", "causes", "label", "gain"),
    [
        ("census", ("Marital", "Education"), "Income", 0.03),
        ("bank", ("Job", "Country"), "Class", 0.1),
        ("clinic", ("Job", "Diagnosis"), "Outcome", 0.1),
    ],
)
def test_a_simple_model_beats_the_majority(
    kind: str, causes: tuple[str, ...], label: str, gain: float
) -> None:
    table = make(kind, 10_000, seed=3)
    rows = list(zip(cells(table, *causes), table[label].to_pylist(), strict=True))
    learn, test = rows[:6000], rows[6000:]
    by_group: defaultdict[tuple[Any, ...], Counter[str]] = defaultdict(Counter)
    for group, answer in learn:
        by_group[group][answer] += 1
    usual = Counter(answer for _, answer in learn).most_common(1)
    right = sum((by_group[x].most_common(1) or usual)[0][0] == y for x, y in test)
    majority = sum(usual[0][0] == y for _, y in test)
    assert (right - majority) / len(test) > gain


def test_a_patient_keeps_birthdate_and_sex_over_several_visits(
    samples: dict[str, pa.Table],
) -> None:
    clinic = samples["clinic"]
    visits = Counter(clinic["PatientId"].to_pylist())
    assert max(visits.values()) == 6
    assert 2 < ROWS / len(visits) < 3
    assert len(set(cells(clinic, "PatientId", "Birthdate", "Sex"))) == len(visits)
    days = [date.fromisoformat(day) for day in clinic["TestDate"].to_pylist()]
    assert days == sorted(days)


def test_baskets_hold_items_once_and_private_ones_in_context(samples: dict[str, pa.Table]) -> None:
    pairs = cells(samples["baskets"], "basket", "item")
    assert len(set(pairs)) == len(pairs)
    assert [basket for basket, _ in pairs] == sorted(basket for basket, _ in pairs)
    baskets: defaultdict[int, set[str]] = defaultdict(set)
    for basket, item in pairs:
        baskets[basket].add(item)
    assert sorted(baskets) == list(range(1, len(baskets) + 1))  # no basket is empty
    support = Counter(item for _, item in pairs)
    assert set(PRIVATE_ITEMS) < set(support)
    assert not any(" " in item for item in support)  # blanks part the items of a basket file
    with_folic_acid = [held for held in baskets.values() if "folic-acid" in held]
    tests = sum("pregnancy-test" in held for held in with_folic_acid)
    assert tests / len(with_folic_acid) > 5 * support["pregnancy-test"] / len(baskets)


@pytest.mark.parametrize("kind", TABLES)
def test_the_policy_gives_every_column_one_role(kind: str, samples: dict[str, pa.Table]) -> None:
    rules, anonymity, confidence = templates(kind)
    masked = {name for rule in anonymity + confidence for name in rule["over"]}
    sensitive = {name for rule in confidence for name in rule["sensitive"]}
    roles = [rules["class"], *rules["drop"], *rules.get("keep", []), *masked, *sensitive]
    assert sorted(roles) == sorted(samples[kind].column_names)
    assert set(rules["attributes"]) == masked
    assert all(set(rule.get("of", [])) <= set(roles) for rule in anonymity)


@pytest.mark.parametrize("kind", TABLES)
def test_the_policy_fits_the_values(kind: str, samples: dict[str, pa.Table]) -> None:
    rules, files = tomllib.loads(policy(kind)[0]), policy(kind)[1]
    named = set()
    for name, how in rules["attributes"].items():
        values = set(samples[kind][name].drop_null().to_pylist())
        if how["mask"] == "generalize":
            inner, leaves = inner_and_leaves(how["taxonomy"], files)
            assert len(leaves) == len(set(leaves))
            assert values <= set(leaves)
            assert not inner & set(leaves)
            named |= {how["taxonomy"]} if isinstance(how["taxonomy"], str) else set()
        elif how["mask"] == "discretize":
            bounds = how.get("range") or how["intervals"]
            low, high = bounds[0], bounds[-1]
            if isinstance(low, date):
                values = {date.fromisoformat(value) for value in values}
            assert low <= min(values)
            assert max(values) <= high
        else:
            assert how == {"mask": "suppress"}
            assert "*" not in values
    assert set(files) == named


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_thousand_rows_break_the_policy_and_can_be_masked_to_keep_it(
    kind: str, seed: int
) -> None:
    table = make(kind, 1000, seed)
    _, anonymity, confidence = templates(kind)
    for rule in anonymity:
        who = rule.get("of", [table.column_names[0]])
        everyone = set(cells(table, *who))
        groups = Counter(
            group
            for group, _ in set(zip(cells(table, *rule["over"]), cells(table, *who), strict=True))
        )
        assert min(groups.values()) < rule["k"] <= len(everyone)
    for rule in confidence:
        ((column, values),) = rule["sensitive"].items()
        groups = Counter(cells(table, *rule["over"]))
        pairs = Counter(cells(table, *rule["over"], column))
        worst = max(n / groups[pair[:-1]] for pair, n in pairs.items() if pair[-1] in values)
        shares = [table[column].to_pylist().count(value) / table.num_rows for value in values]
        assert min(shares) > 0
        assert max(shares) <= rule["at_most"] < worst


def test_the_bank_has_large_groups_that_give_a_secret_away() -> None:
    table = make("bank", 20_000, seed=1)
    groups = Counter(cells(table, "Job", "Country"))
    pairs = Counter(cells(table, "Job", "Country", "Bankruptcy"))
    for told in [("Trader", "UK", "Discharged"), ("Artist", "France", "Current")]:
        assert groups[told[:2]] > 100
        assert pairs[told] / groups[told[:2]] > 0.75


def test_policies_share_a_taxonomy_file_only_if_it_is_the_same() -> None:
    seen: dict[str, str] = {}
    for kind in TABLES:
        for name, text in policy(kind)[1].items():
            assert seen.setdefault(name, text) == text


def test_unknown_kinds_get_a_hint() -> None:
    for wrong in (lambda: make("cencus", 10, seed=1), lambda: policy("cencus")):
        refusal(wrong, 'Did you mean "census"?')
    refusal(lambda: make("xyz", 10, seed=1), "census, bank, clinic, baskets")
    # All bad arguments are told at once.
    assert len(refusal(lambda: make("bnk", rows=0, seed=-1)).problems) == 3


def test_the_policy_of_baskets_protects_the_private_items() -> None:
    text, files = policy("baskets")
    rules = transactions.Policy.parse(text)
    assert rules.private == PRIVATE_ITEMS
    assert rules.format == "long"
    assert not files


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_thousand_rows_of_baskets_break_the_policy_and_can_be_masked(seed: int) -> None:
    table, rules = make("baskets", 1000, seed), transactions.Policy.parse(policy("baskets")[0])
    assert transactions.verify(table, rules).holds is False
    found = transactions.release(table, rules)
    assert transactions.verify(found.table, rules).holds
    assert 0 < found.loss < Fraction(2, 3)


# --- mail and notes ------------------------------------------------------------------------------


def test_the_seed_decides_the_mail(tmp_path: Path) -> None:
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        make_sample("mail", None, seed, output=tmp_path / name)
    one, again, other = (contents(tmp_path / name) for name in ("one", "again", "other"))
    assert one == again
    assert {path for path in one if one[path] != other[path]} == {"mine/inbox.mbox"}


def test_mail_is_a_mailbox_that_others_read(tmp_path: Path) -> None:
    make_sample("mail", None, 1, output=tmp_path / "made")
    with closing(mailbox.mbox(tmp_path / "made/mine/inbox.mbox")) as box:
        mails = [*box]
    assert len(mails) == MAILS
    assert len({mail["Message-ID"] for mail in mails}) == MAILS
    assert any(mail.is_multipart() for mail in mails)
    for mail in mails:  # nobody has such an address
        [(_, address)] = getaddresses([mail["From"]])
        assert address.endswith(".example")


def test_mail_is_no_table(tmp_path: Path) -> None:
    refusal(lambda: make_sample("mail", 5, 1, output=tmp_path / "mail.csv"), "a folder")
    refusal(lambda: make_sample("mails", 5, 1, output=tmp_path / "x"), 'Did you mean "mail"?')
    refusal(lambda: make_sample("mail", 0, 1, output=tmp_path / "x"), "at least one")
