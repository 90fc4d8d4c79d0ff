"""What an owner hears while it waits for the others, and when it has waited in vain."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from joint.owners_at_work import Owners
from terminal import finished, run

pytestmark = [pytest.mark.net]


def test_who_waits_in_vain_hears_why_how_long_and_what_to_do(tmp_path: Path) -> None:
    owners = Owners(tmp_path, more={"meet_timeout": 3})
    code, _, said = finished(owners.start("bank", "--progress", "json"))
    events = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    told = [
        e["text"] for e in events if "waiting for card (nobody listens at 127" in e.get("text", "")
    ]
    assert len(told) == 1, told  # and not at every look
    assert code == 4
    assert "card, meeting: it cannot be reached: nobody listens at" in said
    assert "Why: this owner waited 3 seconds for it (meet_timeout in the party file)." in said
    assert "Do:  see that it is started there, and that its  address  here leads to" in said


def test_certificates_that_do_not_fit_say_what_to_do(tmp_path: Path) -> None:
    """Card has made a new identity; the bank has the old certificate."""
    owners = Owners(tmp_path)
    run("party", "init", "card", "-o", tmp_path / "card" / "new")
    party = tmp_path / "card" / "party.toml"
    party.write_text('identity = "new"\n' + party.read_text())
    ends = owners.integrate()
    assert [code for code, _, _ in ends.values()] == [4, 4], ends
    bank, card = (said for _, _, said in ends.values())
    assert "shows another certificate than the one pinned for it" in bank
    assert "Do:  call its owner and compare fingerprints" in bank
    assert "it does not accept the certificate of this owner" in card
    assert "Do:  hand its owner the certificate.pem in your identity folder" in card
