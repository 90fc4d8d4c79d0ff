"""Names of columns, items and files are anybody's: none commands the terminal or breaks a table."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import reticent
from terminal import run

pytestmark = pytest.mark.usefixtures("work")
ODD = ["a\x1b[31mrot", "b\u202exyz", "c\nd", "\x9be", "f\u2066\x7f\rg"]
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def test_no_name_commands_the_terminal() -> None:
    lines = [",".join(f'"{name}"' for name in ODD), *["1,2,3,4,5", "2,2,3,5,6"] * 4]
    Path("in.csv").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="")
    run("init", "in.csv", "-o", "p.toml")
    draft = Path("p.toml").read_text(encoding="utf-8")
    policy = reticent.Policy.load("p.toml")
    assert {*policy.keep, *policy.attributes} == {*ODD}
    asked = [
        ("init", "in.csv"), ("policy", "check", "p.toml", "in.csv"), ("policy", "show", "p.toml"),
        ("release", "in.csv", "-p", "p.toml", "-o", "o.csv", "--progress", "json"),
        ("verify", "o.csv", "-p", "p.toml"), ("risk", "in.csv"), ("risk", "in.csv", "--json"),
        ("release", "no\x1b]0;.csv", "-p", "p.toml", "-o", "o2.csv"),
        ("init", "in.csv", "--class", "\u202eno"), ("init", "in.csv", "--for", "hipaa-safe-harbor"),
    ]  # fmt: skip
    for words in asked:
        told = run(*words, code=None)
        assert told.exit_code in (0, 2), told.stderr
        for text in (told.stdout, told.stderr, draft):
            assert not UNSEEN.search(text), (words, text)
    assert "\nc\\nd " in run("risk", "in.csv").stdout  # in one line of the table


@pytest.mark.parametrize(
    ("lines", "sign"),
    [
        (["Milch;Brot,wei\u00df;Wein", "Milch;Wein"], ";"),
        (["a,b", "a;b,c", "b,c"], ","),
        (["a,b", "a;b"], ","),
        (["a b", "b c;d", "a", "b", "d e", "f"], None),
    ],
)
def test_the_sign_in_most_lines_parts_items(lines: list[str], sign: str | None) -> None:
    Path("in.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    told = run("transactions", "init", "in.txt").stdout
    found = re.search('separator = "(.)"', told)
    assert (found[1] if found else None) == sign


def test_items_that_nobody_can_keep_secret_are_not_said_to_be_none() -> None:
    Path("in.txt").write_text("HIV-Mittel,Milch\nHIV-Mittel,Brot\n" * 6, encoding="utf-8")
    told = run("transactions", "init", "in.txt")
    assert "as those whose names speak of it are in too many baskets" in told.stderr
    assert "no name speaks" not in (told.stdout + told.stderr).lower()
    Path("s.toml").write_text("h = 0.5\nk = 2\np = 1\n", encoding="utf-8")
    refused = run("transactions", "release", "in.txt", "-p", "s.toml", "-o", "o.txt", code=2).stderr
    assert "s.toml, private: this key is needed here\n  Do:  write  private = \u2026" in refused


def test_the_package_is_the_command() -> None:
    words = [sys.executable, "-m", "reticent", "--version"]
    source = Path(reticent.__file__).parents[1]
    told = subprocess.run(words, capture_output=True, text=True, env={"PYTHONPATH": str(source)})
    assert told.stdout == f"reticent {reticent.__version__}\n"
