"""What releases with hidden entries report: plain data, pages, and how useful they are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from entries_at_hand import POLICY, table
from reticent import entries
from reticent.entries import pages, report
from reticent.entries.utility import utility
from reticent.files.tabular import from_arrow
from reticent.privacy.entries import SafeEntries
from reticent.releases.folder import Opened, opened
from reticent.releases.kinds import ENTRIES


def test_reports() -> None:
    found = entries.release(table(), POLICY)
    told = report.facts(found).public
    assert told["hidden"]["columns"] == found.hidden
    assert not {"riskiest", "warnings", "reasons"} & set(told)
    assert [one["record"] for one in report.reasons(found)] == (found.search.records + 1).tolist()
    assert "rows released" in found._repr_html_()
    assert found.before.exposed
    worst = report.exposures(found.original, found.before)
    confidences = [Fraction(one["confidence"]) for one in worst]
    assert confidences == sorted(confidences, reverse=True)
    assert opened(table(), ENTRIES) == Opened(table())


def test_how_useful_it_is() -> None:
    """A tree that learns from the release, and one from the table as it was, meet the same test."""
    rows = from_arrow(table(3000))
    nobody = np.array([], np.int64)
    same = utility(rows, rows, ["sex", "school"], "job", nobody)
    assert same["BE"] == same["AE"] < same["majority"]
    assert (same["train"], same["test"]) == (2000, 1000)
    found = entries.release(table(3000), POLICY | {"min_support": 30})
    after = utility(
        found.original.table, found.released, ["sex", "school"], "job", found.original.asked.records
    )
    assert after["test"] == 999
    assert after["BE"] <= after["AE"] + 0.05
    few = utility(from_arrow(table(90)), from_arrow(table(90)), ["sex"], "job", nobody)
    assert "reason" in few


def test_pages_escape_names() -> None:
    rows = table().rename_columns(["<b>sex</b>", "school & more", "job", "age"])
    names = {"conditions": ["<b>sex</b>", "school & more"], "sensitive": "job"}
    found = entries.release(rows, POLICY | names)
    for page in (pages.public(found), pages.private(found)):
        assert "<b>sex" not in page
        assert "school &amp; more" in page


@pytest.mark.parametrize(
    ("support", "said"),
    [(0, "of them."), (1, "or in at most 1 record."), (1200, "or in at most 1,200 records.")],
)
def test_promises_in_plain_words(support: int, said: str) -> None:
    promise = SafeEntries(min_support=support, min_confidence=Fraction(3, 4), max_pattern=1)
    told = promise.plain_words("job")
    assert "share one of their values finds their job in at most 75 % of them" in told
    assert said in told


@pytest.mark.parametrize(
    ("confidence", "support", "said"),
    [
        (0, 0, "finds their job in none of them."),
        (0, 1200, "finds their job in at most 1,200 of them."),
        (1, 5, "Only what was asked for is hidden"),
    ],
)
def test_promises_of_nothing_and_of_all(confidence: int, support: int, said: str) -> None:
    promise = SafeEntries(min_support=support, min_confidence=Fraction(confidence))
    assert said in promise.plain_words("job")
    assert "%" not in promise.plain_words("job")


@pytest.mark.parametrize(
    ("confidence", "support", "said"),
    [
        ("1/2", 3, "are more than 50 % sure and followed by more than 3 records;"),
        ("1/2", 0, "are more than 50 % sure;"),
        (0, 1, "are followed by more than 1 record;"),
        (0, 0, "are followed by anybody;"),
        (1, 3, "allows every inference, so no rule counts as unsafe;"),
    ],
)
def test_what_was_at_risk_in_words(confidence: object, support: int, said: str) -> None:
    policy = POLICY | {"min_confidence": confidence, "min_support": support}
    page = pages.private(entries.release(table(), policy))
    assert said in page
    assert ("no such rule is left" in page) == (confidence != 1)


def test_the_sensitive_column_is_drawn_first() -> None:
    """Of many columns, those that lost most are drawn; the others are said to be missing."""
    names = [f"c{i}" for i in range(25)]
    rows = table()
    wide = {n: rows["school" if n == "c24" else "sex"] for n in names} | {"job": rows["job"]}
    found = entries.release(
        pa.table(wide), POLICY | {"conditions": names, "max_pattern": 1, "keep": []}
    )
    assert found.hidden["c24"] + found.hidden["job"] > 0
    for page in (pages.public(found), pages.private(found)):
        drawn = page.partition("Entries hidden besides the requests")[2].partition("</svg>")[0]
        assert drawn.index(">job<") < drawn.index(">c24<" if found.hidden["c24"] else ">c0<")
        assert "6 others are in the table below" in page
        body = page.partition("<caption>Entries hidden besides")[2]
        assert body.index(">job<") < body.index(">c0<") < body.index(">c24<")


def test_long_lists_are_cut_short() -> None:
    """The page names twenty people; risk.json names all."""
    found = entries.release(table(400), POLICY | {"requests": [*range(1, 40)]})
    more = len(found.before.exposed) - 20
    assert more > 5
    page = pages.private(found)
    risky = page.partition("<caption>Riskiest requests")[2].partition("</table>")[0]
    assert risky.count("<tr>") == 21
    assert f"And {more} more, listed in risk.json." in page
    assert "different rules that" in page
    assert "counts once above" in page


@pytest.mark.parametrize("region", ["sensitive-of-others", "conditions-of-sensitive"])
def test_regions_are_named_in_words(region: str) -> None:
    page = pages.private(entries.release(table(), POLICY | {"may_hide": region}))
    assert region not in page
    words = {"sensitive-of-others": "job of others"}.get(region, "conditions of those who asked")
    assert f"to hide as little as possible: {words}." in page


def test_nothing_at_risk_is_said_so() -> None:
    found = entries.release(table(), POLICY | {"min_support": 1000})
    page = pages.private(found)
    assert "Nothing besides the requests" in page
    assert "Riskiest" not in page.partition("<main>")[2]
    assert "was not measured" in page
