"""A table of three hundred columns: nothing that people read is a screenful of names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from terminal import answer, run

NAMES = ["age", *(f"q{i}" for i in range(1, 300))]
OVER = json.dumps([name for name in NAMES if name != "q299"])
POLICY = (
    f"[[anonymity]]\nover = {OVER}\nk = 5\n"
    f'[[confidence]]\nover = {OVER}\nsensitive = {{ q299 = "*" }}\nat_most = 0.9\n'
)


@pytest.fixture
def _wide(work: Path) -> None:
    rows = [
        ",".join([str(20 + r % 9), *(f"v{(r * i) % 3}" for i in range(1, 300))]) for r in range(40)
    ]
    Path("t.csv").write_text(",".join(NAMES) + "\n" + "\n".join(rows) + "\n")
    Path("p.toml").write_text(POLICY)


@pytest.mark.usefixtures("_wide")
def test_many_columns_are_said_in_a_few_words() -> None:
    for command in (
        "policy check p.toml t.csv",
        "release t.csv -p p.toml -o out",
        "verify out",
        "risk t.csv -p p.toml",
        "init t.csv -o d.toml",
    ):
        said = run(*command.split())
        lines = said.output.splitlines()
        assert len(lines) <= 30, command
        assert max(map(len, lines)) <= 500, said.output
    assert "age, q1, q2 and 296 more" in run("policy", "check", "p.toml").stdout
    for file in ("public/report.json", "public/manifest.json"):
        assert json.loads(Path("out", file).read_text())
    assert answer("verify", "out")["templates"][0]["over"] == json.loads(OVER)
    assert "q298" in answer("policy", "check", "p.toml")["promises"][0]
    for side in ("public", "private"):
        page = Path(f"out/{side}/report.html").read_text(encoding="utf-8")
        assert "<summary>All 299 columns that may be known</summary>" in page
        assert "Everybody shares age, q1, q2 and 296 more with at least 4 others." in page
