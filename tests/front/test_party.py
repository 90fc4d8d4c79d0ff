"""`reticent party`: identities, and who can be reached."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from parties_net_at_hand import expired, free_ports
from terminal import run

POLICY = """
id = "SSN"
class = "Class"
keep = ["Balance"]
[owners.bank]
columns = ["Job", "Balance", "Class"]
[owners.card]
columns = ["Sex", "Diagnosis"]
[[anonymity]]
over = ["Job", "Sex"]
k = 4
[[confidence]]
over = ["Job"]
sensitive = { Diagnosis = "*" }
at_most = 0.5
"""
OWNERS = ("bank", "card")


def settings(name: str, ports: dict[str, int], **more: object) -> str:
    other = next(owner for owner in OWNERS if owner != name)
    said = {"name": name, "listen": f"127.0.0.1:{ports[name]}", "policy": "joint.toml",
            "run": "2026-11", "meet_timeout": 20, **more}  # fmt: skip
    lines = [f"{key} = {json.dumps(value)}" for key, value in said.items()]
    peer = [f"[peers.{other}]", f'address = "127.0.0.1:{ports[other]}"',
            f'certificate = "../{other}/identity/certificate.pem"']  # fmt: skip
    return "\n".join([*lines, *peer])


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, Path]:
    """Two owners who have handed each other their certificates."""
    ports = dict(zip(OWNERS, free_ports(2), strict=True))
    for name in OWNERS:
        (tmp_path / name).mkdir()
        run("party", "init", name, "-o", tmp_path / name / "identity")
        (tmp_path / name / "joint.toml").write_text(POLICY)
        (tmp_path / name / "party.toml").write_text(settings(name, ports))
    return {name: tmp_path / name for name in OWNERS}


def change(folder: Path, what: str, to: str, file: str = "party.toml") -> None:
    text = (folder / file).read_text()
    assert what in text
    (folder / file).write_text(text.replace(what, to))


def both_check(folders: dict[str, Path], *words: str) -> dict[str, tuple[int, str, str]]:
    """Both owners check at once, each in a process of its own: exit code and what each says."""
    started = {
        name: subprocess.Popen(
            [sys.executable, "-c", "from reticent.front import main; main()", "party", "check", "party.toml", *words],
            cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        for name, folder in folders.items()
    }  # fmt: skip
    said = {name: process.communicate(timeout=60) for name, process in started.items()}
    return {name: (started[name].returncode, *words) for name, words in said.items()}


def test_an_identity_is_for_its_owner_alone(tmp_path: Path) -> None:
    made = json.loads(run("party", "init", "Müller_2", "-o", tmp_path / "me", "--json").stdout)
    key = tmp_path / "me" / "key.pem"
    assert made["key"] == str(key)
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert len(made["fingerprint"].replace(" ", "")) == 64
    before = key.read_bytes()
    assert "exists already" in run("party", "init", "other", "-o", tmp_path / "me", code=2).stderr
    assert key.read_bytes() == before


@pytest.mark.net
def test_both_are_ready(folders: dict[str, Path]) -> None:
    found = both_check(folders)
    for name, (code, said, errors) in found.items():
        assert code == 0, (said, errors)
        other = next(owner for owner in OWNERS if owner != name)
        assert f"{other}: ready" in said
        assert "from here: reached; from there: it has reached us" in said
        assert (
            "  bank: the class: Class; kept values: Balance; what is shown in the end: Job" in said
        )
        assert "  card: sensitive values: Diagnosis; what is shown in the end: Sex" in said
        assert "not between owners" in said
    assert not [path for folder in folders.values() for path in folder.glob("*.run")]


@pytest.mark.net
def test_programs_are_told_the_same(folders: dict[str, Path]) -> None:
    code, said, _ = both_check(folders, "--json")["bank"]
    assert code == 0
    facts = json.loads(said)
    [card] = facts["peers"]
    assert card["good"] is card["reached"] is card["reached_us"] is True
    assert card["problems"] == []
    assert abs(card["clock_ahead"]) < 60
    assert facts["hands_over"]["card"]["sensitive values"] == ["Diagnosis"]


@pytest.mark.net
@pytest.mark.parametrize(
    ("file", "what", "to", "said"),
    [
        ("joint.toml", "k = 4", "k = 5", "its policy is another one"),
        ("party.toml", "2026-11", "2026-12", "it came for the run"),
    ],
)
def test_all_must_want_the_same(
    folders: dict[str, Path], file: str, what: str, to: str, said: str
) -> None:
    change(folders["card"], what, to, file)
    for code, text, _ in both_check(folders).values():
        assert code == 4
        assert "NOT READY" in text
        assert said in text


@pytest.mark.net
def test_comments_and_layout_of_a_policy_are_no_matter(folders: dict[str, Path]) -> None:
    change(folders["card"], "at_most = 0.5", '# one half\nat_most = "1/2"', "joint.toml")
    change(folders["card"], 'keep = ["Balance"]\n', "", "joint.toml")
    change(folders["card"], 'class = "Class"', 'keep = ["Balance"]\nclass = "Class"', "joint.toml")
    assert {code for code, _, _ in both_check(folders).values()} == {0}


@pytest.mark.net
def test_a_peer_that_is_not_there_is_told_from_one_with_another_certificate(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    change(folders["bank"], "meet_timeout = 20", "meet_timeout = 0.5")
    alone = run("party", "check", folders["bank"] / "party.toml", code=4).stdout
    assert "nobody listens" in alone
    assert "it has not reached us" in alone
    change(folders["bank"], "meet_timeout = 0.5", "meet_timeout = 20")
    run("party", "init", "card", "-o", tmp_path / "stranger")
    change(folders["bank"], "../card/identity/certificate.pem", "../stranger/certificate.pem")
    found = both_check(folders)
    assert "shows another certificate than the one pinned for it" in found["bank"][1]
    assert "does not accept the certificate of this owner" in found["card"][1]
    assert {code for code, _, _ in found.values()} == {4}


@pytest.mark.net
def test_an_expired_certificate_is_told(folders: dict[str, Path], tmp_path: Path) -> None:
    expired("card", tmp_path / "old")
    change(
        folders["card"],
        'policy = "joint.toml"',
        f'policy = "joint.toml"\nidentity = "{tmp_path}/old"',
    )
    change(folders["bank"], "../card/identity/certificate.pem", "../old/certificate.pem")
    assert (
        "the certificate has expired"
        in run("party", "check", folders["card"] / "party.toml", code=2).stderr
    )


def test_a_key_that_others_may_read_is_refused(folders: dict[str, Path]) -> None:
    (folders["bank"] / "identity" / "key.pem").chmod(0o644)
    said = run("party", "check", folders["bank"] / "party.toml", code=2).stderr
    assert "others on this machine may read the key" in said
    assert "chmod 600" in said


def test_without_the_extra_it_is_said_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacking(name: str, *rest: Any) -> None:
        return None

    monkeypatch.setattr("importlib.util.find_spec", lacking)
    said = run("party", "init", "bank", "-o", tmp_path / "me", code=2).stderr
    assert 'pip install "reticent[parties]"' in said
