"""`reticent integrate`: two owners on the loopback, each a process of its own."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
from pathlib import Path

import pytest

from joint.owners_at_work import (
    OWNERS,
    POLICY,
    TAXONOMY,
    THREE,
    Owners,
    interrupt,
    people,
    policy_of,
)
from kills_at_hand import dies_at
from reticent.joint.policy import JointPolicy
from terminal import finished, run

pytestmark = [pytest.mark.net, pytest.mark.slow]


@pytest.fixture
def owners(tmp_path: Path) -> Owners:
    return Owners(tmp_path)


def joined(owners: Owners) -> Path:
    """What one owner of everything would have."""
    path = owners.folder / "joined.csv"
    common = [owners.rows[0], *owners.rows[10:-20]]
    with path.open("w", newline="") as file:
        names = ["SSN", "Job", "Balance", "Class", "Sex", "Limit", "Diagnosis"]
        lines = csv.DictWriter(file, names)
        lines.writeheader()
        lines.writerows(common)
    return path


def released_alone(owners: Owners, *words: object) -> bytes:
    """What one owner of everything would release, under the same policy without owners."""
    plain = JointPolicy.load(owners.folder / "bank" / "joint.toml").alone()
    policy = owners.folder / "alone.toml"
    policy.write_text(plain.canonical())
    (owners.folder / "job.csv").write_text(TAXONOMY)
    out = owners.folder / "alone.csv"
    run("release", joined(owners), "-p", policy, "-o", out, *words)
    return out.read_bytes()


def codes(ends: dict[str, tuple[int, str, str]]) -> tuple[int, ...]:
    return tuple(end[0] for end in ends.values())


def test_both_write_what_one_would(owners: Owners) -> None:
    ends = owners.integrate("--json")
    assert codes(ends) == (0, 0), ends
    owners.see_same()
    assert owners.public("bank")["data.csv"] == released_alone(owners)
    facts = {name: json.loads(end[1]) for name, end in ends.items()}
    assert facts["bank"]["common"] == facts["card"]["common"] == 171
    assert facts["bank"]["unconfirmed"] == []
    for told in facts.values():
        on_the_wire = sum(told["bytes_sent"].values()) + sum(told["bytes_received"].values())
        assert sum(one["bytes"] for one in told["said"]) == on_the_wire
        assert sum(one["messages"] for one in told["said"]) == told["messages"]
    for name in OWNERS:
        assert run("verify", owners.out(name)).exit_code == 0
    see_reticent(owners, ends)


def test_three_owners(tmp_path: Path) -> None:
    """The third of them owns nothing that is masked, and dies meanwhile."""
    owners = Owners(tmp_path, columns=THREE)
    running = {name: owners.start(name) for name in ("bank", "card")}
    victim = owners.start("clinic", first=dies_at(60))
    assert finished(victim)[0] == -9
    code, _, said = finished(owners.start("clinic", "--resume"))
    assert code == 0, said
    ends = {name: finished(process) for name, process in running.items()}
    assert codes(ends) == (0, 0), ends
    owners.see_same()
    assert owners.public("bank")["data.csv"] == released_alone(owners)
    for name in THREE:
        assert run("verify", owners.out(name)).exit_code == 0
        run("party", "audit", owners.out(name))
    # Two of them alone are a second look at the same people.
    two = policy_of({name: THREE[name] for name in OWNERS})
    owners.agree_on(two.partition("[[confidence]]")[0])
    for name in ("bank", "card"):
        settings = owners.folder / name / "party.toml"
        settings.write_text(settings.read_text().partition("[peers.clinic]")[0])
        code, _, said = finished(owners.start(name, "--force"))
        assert (code, "--again" in said) == (2, True), said


def see_reticent(owners: Owners, ends: dict[str, tuple[int, str, str]]) -> None:
    """No id of an owner's strangers, and no leaf that the table hides, is known to the other."""
    hidden = {"bank": b"jobneedle", "card": None}
    own = {name: {line.split(",")[0] for line in
           (owners.folder / name / "own.csv").read_text().splitlines()} for name in OWNERS}  # fmt: skip
    for me, other in (OWNERS, OWNERS[::-1]):
        strangers = [text.encode() for text in own[other] - own[me]]
        assert len(strangers) >= 9
        needles = [*strangers, *filter(None, [hidden[other]])]
        for path in (owners.folder / me).rglob("*"):
            if path.is_file():
                content = path.read_bytes()
                assert not [needle for needle in needles if needle in content], path
                if path.name not in ("own.csv", "agreed.csv"):
                    assert b"ssnneedle" not in content, path
        assert "needle" not in ends[me][1] + ends[me][2]
        for part in (owners.out(me) / "public").iterdir():
            assert b"needle" not in part.read_bytes()


def test_a_dry_run_tells_sizes_only(owners: Owners) -> None:
    ends = owners.integrate("--dry-run", "--json")
    assert codes(ends) == (0, 0), ends
    for _, said, _ in ends.values():
        facts = json.loads(said)
        assert facts["common"] == 171
        assert facts["ids_brought"] == {"bank": 180, "card": 191}
    owners.see_nothing()
    assert not [*owners.folder.glob("*/*.run")]


COVERED = "Promises hold against whoever gets the joint table, not between owners."


def test_what_others_will_learn_is_told_before(tmp_path: Path) -> None:
    """Before the others are there: in words, or as an object; and not to who asked for quiet."""
    owners = Owners(tmp_path, more={"meet_timeout": 1})
    by_words = finished(owners.start("bank"))[2]
    told = by_words.partition("card, meeting")[0]
    assert told.startswith("Of each person whom all owners have, the others will learn:\n")
    assert "sensitive values: Diagnosis" in told
    assert told.rstrip().endswith(COVERED)
    lines = finished(owners.start("bank", "--progress", "json"))[2].splitlines()
    events = [json.loads(line) for line in lines if line.startswith("{")]
    stages = [event["stage"] for event in events]
    assert stages.index("told") < stages.index("meet")
    assert [event["text"] for event in events if event["stage"] == "told"] == [told.rstrip()]
    quiet = finished(owners.start("bank", "--quiet"))[2]
    assert COVERED not in quiet
    assert "card, meeting" in quiet


def test_a_dry_run_says_whom_promises_cover(owners: Owners) -> None:
    for code, said, _ in owners.integrate("--dry-run").values():
        assert (code, COVERED in said) == (0, True), said


def test_outputs_that_cannot_be(owners: Owners) -> None:
    code, _, said = finished(owners.start("bank", "-o", "out.csv"))
    assert (code, "out.csv" in said) == (2, True), said
    owners.out("bank").mkdir()
    (owners.out("bank") / "mine").touch()
    code, _, said = finished(owners.start("bank"))
    assert (code, "exists" in said) == (2, True), said
    (owners.out("bank") / "mine").unlink()
    owners.out("bank").rmdir()
    (owners.folder / "bank" / "out.run").mkdir()
    (owners.folder / "bank" / "out.run" / "state.json").write_text("{}")
    code, _, said = finished(owners.start("bank"))
    assert (code, "--resume" in said) == (2, True), said


@pytest.mark.parametrize(("what", "to"), [("k = 6", "k = 172"), ("at_most = 0.9", "at_most = 0.1")])
def test_what_no_table_can_keep(owners: Owners, what: str, to: str) -> None:
    owners.agree_on(POLICY.replace(what, to))
    ends = owners.integrate()
    assert codes(ends) == (3, 3), ends
    owners.see_nothing()


def test_a_value_outside_a_taxonomy(owners: Owners) -> None:
    owners.bring("bank", [{**row, "Job": "Pirate"} for row in owners.rows])
    ends = owners.integrate()
    assert codes(ends) == (2, 4), ends
    assert "Pirate" not in ends["card"][2]
    owners.see_nothing()


@pytest.mark.parametrize("wrong", ["repeated", "missing"])
def test_ids_that_are_none(tmp_path: Path, wrong: str) -> None:
    owners = Owners(tmp_path, more={"meet_timeout": 4})
    other = {"repeated": owners.rows[5]["SSN"], "missing": ""}[wrong]
    owners.bring("bank", [*owners.rows[:-1], {**owners.rows[-1], "SSN": other}])
    ends = owners.integrate()
    assert codes(ends) == (2, 4), ends
    owners.see_nothing()


def test_nobody_in_common(owners: Owners) -> None:
    owners.bring("bank", owners.rows[:50])
    owners.bring("card", owners.rows[50:])
    ends = owners.integrate()
    assert codes(ends) == (2, 2), ends
    owners.see_nothing()


def test_classes_that_differ(owners: Owners) -> None:
    owners.agree_on(POLICY.replace('"Diagnosis"]', '"Diagnosis", "Class"]'))
    columns = ["Sex", "Limit", "Diagnosis", "Class"]
    owners.bring("card", owners.rows, columns)
    assert codes(owners.integrate("--dry-run")) == (0, 0)
    changed = {**owners.rows[50], "Class": "neither"}
    owners.bring("card", [*owners.rows[:50], changed, *owners.rows[51:]], columns)
    ends = owners.integrate()
    assert codes(ends) == (2, 2), ends
    for _, said, errors in ends.values():
        assert "needle" not in said + errors
    owners.see_nothing()


def test_the_smallest_number_of_steps(owners: Owners) -> None:
    ends = owners.integrate("--json", bank=["--max-steps", 3], card=["--max-steps", 1])
    assert codes(ends) == (0, 0), ends
    owners.see_same()
    assert owners.public("card")["data.csv"] == released_alone(owners, "--max-steps", 1)
    for _, said, _ in ends.values():
        facts = json.loads(said)
        assert (facts["steps"], facts["stopped_early"]) == (1, True)


def line_with(process: subprocess.Popen[str], words: str) -> None:
    """Wait until a process has said something on stderr."""
    assert process.stderr
    for line in process.stderr:
        if words in line:
            return
    raise AssertionError(f"it never said {words}")


@pytest.mark.parametrize("times", [1, 2])
def test_a_stop_is_agreed(tmp_path: Path, times: int) -> None:
    owners = Owners(tmp_path, people(3000))
    running = {name: owners.start(name, "--json", "--progress", "json") for name in OWNERS}
    line_with(running["bank"], '"refine"')
    running["card"].send_signal(signal.SIGSTOP)  # so that no round ends meanwhile
    interrupt(running["bank"])
    line_with(running["bank"], "Stopping")
    if times == 2:
        interrupt(running["bank"])
        code, _, said = finished(running["bank"])
        assert code == 130, said
        assert "nothing was written but" in said
        assert "out.run, from which the run goes on" in said
        assert "Do:  go on with --resume" in said
    running["card"].send_signal(signal.SIGCONT)
    if times == 2:
        code, _, said = finished(running["card"])
        assert code == 4, said
        assert "it was stopped by its user" in said
        assert "with --resume where a folder OUTPUT.run stands" in said.partition("Do:")[2]
        owners.see_nothing()
        return
    ends = {name: finished(process) for name, process in running.items()}
    assert codes(ends) == (0, 0), ends
    owners.see_same()
    assert all(json.loads(end[1])["stopped_early"] for end in ends.values())
    assert run("verify", owners.out("card")).exit_code == 0


def test_people_hear_whom_they_wait_for(tmp_path: Path) -> None:
    owners = Owners(tmp_path, people(3000))
    bank = owners.start("bank", "--progress", "json")
    line_with(bank, "waiting for card")
    card = owners.start("card")
    line_with(bank, "1 step so far")
    card.send_signal(signal.SIGSTOP)
    line_with(bank, "s a round; waiting for card")
    card.send_signal(signal.SIGCONT)
    ends = {"bank": finished(bank), "card": finished(card)}
    assert codes(ends) == (0, 0), ends


def test_another_policy_is_a_second_look(owners: Owners) -> None:
    assert codes(owners.integrate()) == (0, 0)
    owners.agree_on(POLICY.replace("k = 6", "k = 7"))
    ends = owners.integrate("--force")
    assert codes(ends) == (2, 2), ends
    assert "--again" in ends["card"][2]
    ends = owners.integrate("--force", "--again")
    assert codes(ends) == (0, 0), ends
    owners.see_same()


DISK_IS_FULL = """
import errno
from reticent.joint import publishing
def full(*given):
    raise OSError(errno.ENOSPC, "No space left on device")
publishing.write = full
"""


def runs_of(owners: Owners, name: str) -> list[dict[str, object]]:
    listed = (owners.folder / name / "identity" / "runs.jsonl").read_text("utf-8")
    return [json.loads(line) for line in listed.splitlines()]


def test_a_run_that_failed_was_a_look_as_well(tmp_path: Path) -> None:
    """It ended after all that others hear of people had been told."""
    owners = Owners(tmp_path, more={"step_timeout": 6})
    running = {n: owners.start(n, first=DISK_IS_FULL * (n == "bank")) for n in OWNERS}
    assert [finished(process)[0] for process in running.values()] == [2, 4]
    owners.agree_on(POLICY.replace("k = 6", "k = 7"))
    ends = owners.integrate("-o", "out2")
    assert codes(ends) == (2, 2), ends
    assert all("--again" in end[2] for end in ends.values())
    owners.agree_on(POLICY)  # the same once more is none
    assert codes(owners.integrate("--resume")) == (0, 0)
    assert [len(runs_of(owners, name)) for name in OWNERS] == [1, 1]
    assert codes(owners.integrate("--force")) == (0, 0)
    assert [len(runs_of(owners, name)) for name in OWNERS] == [2, 2]
    owners.see_same()


def test_other_taxonomies_are_a_second_look(owners: Owners) -> None:
    """The policy names their file alone."""
    assert codes(owners.integrate()) == (0, 0)
    (owners.folder / "bank" / "job.csv").write_text(TAXONOMY.replace("Clerk,White", "Clerk,Blue"))
    code, _, said = finished(owners.start("bank", "--force"))
    assert (code, "with other taxonomies" in said, "--again" in said) == (2, True, True), said


@pytest.mark.parametrize("output", [".", "/", ".."])
def test_what_names_nothing_new_is_no_output(owners: Owners, output: str) -> None:
    code, _, said = finished(owners.start("bank", "-o", output))
    assert (code, "this is no name for an output" in said) == (2, True), said


@pytest.mark.parametrize(
    "line",
    [
        "[]", "5", "null", "x", "{}", '{"owners": 5}', '{"owners": ["card"], "run": "one"}',
        '{"owners": "card", "run": "one", "policy": ""}',
        '{"owners": [5], "run": "one", "policy": ""}',
    ],
)  # fmt: skip
def test_a_list_of_runs_that_is_none(owners: Owners, line: str) -> None:
    (owners.folder / "bank" / "identity" / "runs.jsonl").write_text(f"{line}\n")
    code, _, said = finished(owners.start("bank"))
    assert (code, "the list of earlier runs cannot be read" in said) == (2, True), said
