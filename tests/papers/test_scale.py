"""The measurement of large tables in `benchmarks`: small, end to end, and its arithmetic by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

import scale
from scale import Line, exponent, keep, made, remembered, table


def line(rows: int, seconds: float, copy_s: float = 0.0) -> Line:
    return Line("grow", "by size", rows, seconds, 100.0, copy_s, "read 1.0")


def test_how_time_grows() -> None:
    assert exponent([line(10, 2.0), line(1000, 200.0)]) == pytest.approx(1.0)
    assert exponent([line(1000, 20.0), line(10, 2.0)]) == pytest.approx(0.5)
    assert exponent([line(10, 2.0)]) is None


def test_lines_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale, "RESULTS", tmp_path)
    assert remembered() == []
    lines = [line(10, 2.0, 1.0), line(1000, 20.0, 4.0)]
    keep(lines)
    assert remembered() == lines
    said = (tmp_path / "scale.md").read_text(encoding="utf-8")
    assert said == table(lines)
    assert "| grow | by size | 1,000 | 20.0 | 5.0× | 100 | read 1.0 |" in said
    assert "to the power of 0.50" in said


@pytest.mark.slow
def test_a_small_table_end_to_end(tmp_path: Path) -> None:
    data = made(tmp_path, 20_000, kept=True)
    found = scale.released("kept", "small", data, tmp_path, "--engine", "duckdb", copy_s=1.0)
    assert found.rows == 20_000
    assert "collapse" in found.stages
    before = scale.fingerprint(tmp_path)
    scale.released("kept", "small", data, tmp_path, "--engine", "memory")
    assert scale.fingerprint(tmp_path) == before
