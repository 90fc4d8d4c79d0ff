"""What owners read when their files, their runs or their wishes do not fit each other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from joint.owners_at_work import POLICY, Owners
from reticent.joint.policy import JointPolicy
from reticent.parties.state import State
from terminal import finished, run

net = pytest.mark.net


@net
def test_aligned_at_one_owner_only_says_so(tmp_path: Path) -> None:
    owners = Owners(tmp_path)
    party = tmp_path / "card" / "party.toml"
    party.write_text('ids = "aligned"\n' + party.read_text())
    for code, _, said in owners.integrate().values():
        assert code == 4
        assert "it came for the run" in said
        assert 'Do:  say the same  ids  in the party files of all owners, "private" or' in said


@net
def test_a_dry_run_at_one_owner_only_says_so(tmp_path: Path) -> None:
    for code, _, said in Owners(tmp_path).integrate(card=["--dry-run"]).values():
        assert code == 4
        assert "Do:  start all owners with --dry-run, or none, then start again." in said


@net
def test_a_dry_run_is_not_resumed(tmp_path: Path) -> None:
    code, _, said = finished(Owners(tmp_path).start("bank", "--resume", "--dry-run"))
    assert (code, "a dry run is never resumed" in said) == (2, True), said
    assert "Do:  leave out --resume" in said


@pytest.fixture
def bank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Owners:
    """In the folder of the bank, with a run there that was interrupted."""
    owners = Owners(tmp_path)
    monkeypatch.chdir(tmp_path / "bank")
    policy = JointPolicy.load(tmp_path / "bank" / "joint.toml").digest
    State.begin(
        tmp_path / "bank" / "out.run", run_name="one", me="bank", owners=["bank", "card"],
        policy=policy,
    ).close()  # fmt: skip
    return owners


@pytest.mark.parametrize("again", [(), ("--again",)])
def test_another_policy_at_a_resume_is_told_before_earlier_runs(
    bank: Owners, again: tuple[str, ...]
) -> None:
    earlier = {"run": "old", "owners": ["bank", "card"], "policy": "00", "nonce": "00"}
    Path("identity/runs.jsonl").write_text(json.dumps(earlier) + "\n")
    bank.agree_on(POLICY.replace("k = 6", "k = 7"))
    said = run("integrate", "party.toml", "--resume", *again, code=2).stderr
    assert "the interrupted run had another policy" in said
    assert "--again" not in said


def test_other_ids_at_a_resume_are_named(bank: Owners) -> None:
    party = Path("party.toml")
    party.write_text('ids = "aligned"\n' + party.read_text())
    said = run("integrate", "party.toml", "--resume", code=2).stderr
    assert "the interrupted run had another run: one, now one (aligned ids)" in said
    assert "say the same  ids  in the party files" in said


@net
def test_more_ids_than_are_allowed(tmp_path: Path) -> None:
    """Both hear how many, of whom, by which key, and what to do."""
    owners = Owners(tmp_path)
    party = tmp_path / "bank" / "party.toml"
    party.write_text("most_ids = 190\n" + party.read_text())
    ends = owners.integrate()
    assert [code for code, _, _ in ends.values()] == [4, 4], ends
    said = "191 ids, more ids than the 190 that are allowed (most_ids)"
    assert f"card, common records: it brings {said}" in ends["bank"][2]
    assert "raise  most_ids  here" in ends["bank"][2].partition("Do:")[2]
    assert f"because of this owner: this owner brings {said}" in ends["card"][2]
    assert "agree with its owner on what has to change" in ends["card"][2].partition("Do:")[2]
