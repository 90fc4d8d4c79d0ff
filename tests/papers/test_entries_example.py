"""The worked example of hidden entries: figure 2 of the paper."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, count

from naive import entries as naive
from naive.entries import Case, Record
from reticent.privacy.entries import EntryFinding, PublishedEntries, SafeEntries, recount

TABLE = ["abcs", "abcs", "abcs", "ab*s", "abds", "a*ds", "*bds", "*bds", "**d*"]
ASKED = (0, 4)  # t1 and t5
SUPPORTS = {
    "abc": (3, 2), "abd": (1, 0), "ab": (5, 3), "ac": (3, 2), "ad": (2, 1), "bc": (3, 2),
    "bd": (3, 2), "a": (6, 4), "b": (7, 5), "c": (3, 2), "d": (5, 3),
}  # fmt: skip
MIN_HIDE = {
    "abc": 1, "abd": 0, "ab": 1, "ac": 1, "ad": 0, "bc": 1, "bd": 1, "a": 2, "b": 3, "c": 1, "d": 1,
}  # fmt: skip
MIN_CONFIDENCE = Fraction("0.55")


def figure_2(hidden: tuple[int, ...] = ()) -> Case:
    """The table, its two sensitive entries hidden, and those of other records."""
    once = count(ord("z") + 1)  # a star is a value that occurs once
    records: list[Record] = []
    for line in TABLE:
        records.append({j: next(once) if c == "*" else ord(c) for j, c in enumerate(line)})
    for t in (*ASKED, *hidden):
        del records[t][3]
    truth: dict[int, int | None] = {t: ord("s") for t in ASKED}
    return Case(tuple(records), 3, truth, ASKED, 0, MIN_CONFIDENCE, None)


def counted(case: Case) -> EntryFinding:
    conditions, values, asked, truth = naive.arrays(case)
    promise = SafeEntries(min_support=case.min_support, min_confidence=case.min_confidence)
    return recount(PublishedEntries(conditions, values), promise, asked, truth)


def letters(rule: naive.Rule) -> str:
    return "".join(sorted(chr(value) for _, value in rule.pattern))


def test_supports_of_the_nodes() -> None:
    case = figure_2()
    rules = [rule for t in ASKED for rule in naive.rules_of(case, t)]
    assert {letters(rule): (rule.support, rule.own) for rule in rules} == SUPPORTS


def test_how_many_records_must_change() -> None:
    def min_hide(support: int, own: int) -> int:
        safe = (x for x in range(own + 1) if own - x <= MIN_CONFIDENCE * (support - x))
        return next(safe)

    assert {node: min_hide(*found) for node, found in SUPPORTS.items()} == MIN_HIDE


def test_nine_rules_of_eleven_are_unsafe() -> None:
    case = figure_2()
    unsafe = {letters(rule) for rules in naive.unsafe_rules(case).values() for rule in rules}
    assert unsafe == {node for node, least in MIN_HIDE.items() if least}
    # What the verifier counts of them stands in tests/cases/entries/release.txt.
    assert (counted(case).holds, counted(case).unsafe) == (False, 9)


def test_region_a_hides_two_entries() -> None:
    """One of t2 and t3, and one of t7 and t8; no other two, and no single one."""
    others = [t for t in range(len(TABLE)) if t not in ASKED]
    for size, safe in ((1, []), (2, [(1, 6), (1, 7), (2, 6), (2, 7)])):
        hidden = combinations(others, size)
        assert [chosen for chosen in hidden if counted(figure_2(chosen)).holds] == safe


def test_each_node_at_its_own_confidence() -> None:
    """The largest confidence there is, once those above it are set aside by their support."""
    for least in range(6):
        rules = [own for own in SUPPORTS.values() if own[1] > least]
        largest = max((Fraction(own, support) for support, own in rules), default=None)
        assert counted(replace(figure_2(), min_support=least)).largest == largest
