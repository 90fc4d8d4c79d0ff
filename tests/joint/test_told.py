"""What owners are told of each other: before a run, in a dry run, and on the page that they keep."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pyarrow as pa
import pytest

from reticent.joint import pages, text
from reticent.joint.experiment import integrate
from reticent.joint.policy import JointPolicy
from reticent.joint.process import DryRun
from reticent.joint.report import JointRelease

COLUMNS = {"bank": ["Job"], "card": ["Sex"], "shop": ["Size"]}
FIRST_LEARNS = "bank, the first owner, also learns of each set of owners how many ids exactly"


def policy_of(*owners: str, **more: Any) -> JointPolicy:
    masked = [column for owner in owners for column in COLUMNS[owner]]
    return JointPolicy.from_data(
        {
            "id": "Id", "owners": {owner: {"columns": COLUMNS[owner]} for owner in owners},
            "attributes": {name: {"mask": "suppress"} for name in masked},
            "anonymity": [{"over": masked, "k": 3}], **more,
        }
    )  # fmt: skip


def table(owner: str, people: range) -> pa.Table:
    [column] = COLUMNS[owner]
    return pa.table({"Id": [f"p{n:03}" for n in people], column: ["xy"[n % 2] for n in people]})


def said_on(release: JointRelease) -> str:
    """The words of the private page."""
    page = re.sub(r"<style.*?</style>|<[^>]+>", " ", pages.private(release), flags=re.S)
    return " ".join(unescape(page).split())


@pytest.fixture(scope="module")
def three() -> dict[str, JointRelease]:
    people = {"bank": range(30), "card": range(10, 50), "shop": range(10, 50)}
    data = {owner: table(owner, numbers) for owner, numbers in people.items()}
    return integrate(policy_of(*people), data)


def test_the_page_says_what_the_first_of_three_sees(three: dict[str, JointRelease]) -> None:
    """It knows that all 20 of card's are shop's: no page may say that nothing of them is known."""
    assert dict(three["bank"].joint.held_by)[("card", "shop")] == 20
    for name in ("card", "shop"):
        said = said_on(three[name])
        assert "Nothing of the 20 others but their number, with one exception: bank" in said
        assert "how many of these 20 each other owner has" in said
    assert "Nothing of the 10 others but their number." in said_on(three["bank"])


def test_the_page_of_two_has_no_exception() -> None:
    owners = {"bank": range(30), "card": range(10, 50)}
    found = integrate(policy_of(*owners), {o: table(o, numbers) for o, numbers in owners.items()})
    assert "Nothing of the 20 others but their number." in said_on(found["card"])


def test_what_the_first_will_see_is_told_before() -> None:
    of_two, of_three = policy_of("bank", "card"), policy_of(*COLUMNS)
    assert FIRST_LEARNS in " ".join(text.before(of_three))
    assert FIRST_LEARNS in of_three.agreement.between  # which `party check` prints
    assert "first owner" not in " ".join([*text.before(of_two), of_two.agreement.between])


def test_a_dry_run_of_the_first_shows_what_it_saw() -> None:
    held = {("bank",): 10, ("bank", "card", "shop"): 20, ("card", "shop"): 1}
    found = DryRun("bank", 20, {}, {}, held, 0, policy_of(*COLUMNS).between)
    said = text.dry_run(found)
    assert "card, shop: 1 id that exactly these have" in said
    assert FIRST_LEARNS in said


def test_records_with_gaps_are_told_apart_from_those_that_are_not_common() -> None:
    card = table("card", range(10, 50)).to_pydict()
    card["Sex"][:4] = [None] * 4
    data = {"bank": table("bank", range(30)), "card": pa.table(card)}
    found = integrate(policy_of("bank", "card", missing="drop"), data)
    [note] = found["card"].notes
    assert "4 records of 40 miss a value and took no part" in note
    assert 'missing = "drop"' in note  # which is told before the others are met
    facts = found["card"].summary()
    assert (facts["common"], facts["not_common"], facts["left_out"]) == (16, 20, 4)
    assert facts["ids_brought"]["card"] == 36
    assert '4 more records of card miss a value and took no part (missing = "drop")' in (
        text.release(found["card"])
    )
    assert "4 more records of card miss a value" in said_on(found["card"])
    assert "took no part" not in said_on(found["bank"]) + text.release(found["bank"])
    assert not found["bank"].summary()["left_out"]


def test_the_public_page_reads_well(three: dict[str, JointRelease]) -> None:
    sentence = "Made by reticent"
    assert pages.public(three["bank"]).count(sentence) == 1
    two = [{"over": ["Job"], "k": 3}, {"over": ["Sex"], "k": 4}]
    columns = table("card", range(40)).to_pydict()
    columns["Sex"] = [None, *columns["Sex"][1:4], *[None] * 6, *columns["Sex"][10:]]
    data = {"bank": table("bank", range(40)), "card": pa.table(columns)}
    found = integrate(policy_of("bank", "card", anonymity=two), data)["bank"]
    page = pages.public(found)
    assert "Both promises were recounted" in page
    assert "<i>(missing)</i>" in page
    assert "(missing)" in text.release(found)  # the same word on a terminal


def test_the_private_page_says_which_run_it_is_evidence_of(
    three: dict[str, JointRelease],
) -> None:
    run = pages.RunFacts("2026-11", {"bank": "AB12 CD34", "card": "EF56 0000"})
    page = pages.private(three["card"], run)
    policy = three["card"].joint.policy.digest.hex()
    for words in (
        "Which run this was",
        "“2026-11”",
        policy,
        "AB12 CD34",
        "EF56 0000",
        "agreed.csv",
    ):
        assert words in page, words
    assert "Which run this was" not in pages.private(three["card"])
