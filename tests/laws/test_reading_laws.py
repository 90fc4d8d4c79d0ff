"""Whatever way a table is written, a policy that tells it reads the same as options that do."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from at_hand import SECRET
from reticent.releases.policyfile import toml_lines
from terminal import run

TITLE = [SECRET, f'of "{SECRET}', f"{SECRET};{SECRET},{SECRET}", "", f"'{SECRET}|5\""]
POLICY = """\
class = "Käuft"
drop = ["{id}"]
keep = ["Wo"]
[goal]
search = "greedy"
[[anonymity]]
over = ["Größe", "Tag"]
k = 3
"""


@st.composite
def dialects(draw: st.DrawFn) -> dict[str, Any]:
    """Ways to write a file, and what then has to be told."""
    found: dict[str, Any] = {
        "delimiter": draw(st.sampled_from([",", ";", "\t", "|", "~", " "])),
        "encoding": draw(st.sampled_from(["utf-8", "cp1252", "utf-16", "utf-8-sig", "latin-1"])),
        "decimal": draw(st.sampled_from([".", ","])),
        "date_format": draw(st.sampled_from(["%d.%m.%Y", "%Y/%m/%d", "%d %b %y"])),
    }
    title = draw(st.lists(st.sampled_from(TITLE), max_size=4))
    return {
        "title": title,
        "end": draw(st.sampled_from(["\n", "\r\n"])),
        "index": draw(st.sampled_from(["", "Nr"])),
        "packed": draw(st.booleans()),
        "told": found | ({"header_row": len(title) + 1} if title else {}),
    }


def written(dialect: Mapping[str, Any], seed: int) -> None:
    """A table in this dialect, and two policies for it: one of them tells how it is written."""
    told, rng = dialect["told"], random.Random(seed)
    text = io.StringIO(newline="")
    text.writelines(line + dialect["end"] for line in dialect["title"])
    rows = csv.writer(text, delimiter=told["delimiter"], lineterminator=dialect["end"])
    rows.writerow([dialect["index"], "Größe", "Tag", "Wo", "Käuft"])
    for number in range(30):
        size = f"1.{rng.randrange(5, 9)}".replace(".", told["decimal"])
        day = date(2024, 1, 1) + timedelta(rng.randrange(90))
        place = rng.choice(["Köln", 'am "Fluß"', "a,b;c|d ~\te"])
        buys = rng.choice(["ja", "nein"])
        rows.writerow([f"{SECRET}{number}", size, f"{day:{told['date_format']}}", place, buys])
    content = text.getvalue().encode(told["encoding"])
    packed = gzip.compress(content, mtime=0) if dialect["packed"] else content
    Path(data_of(dialect)).write_bytes(packed)
    policy = POLICY.format(id=dialect["index"] or "unnamed 1")
    Path("plain.toml").write_text(policy, encoding="utf-8")
    Path("told.toml").write_text(f"{policy}[reading]\n{toml_lines(told)}", encoding="utf-8")


def data_of(dialect: Mapping[str, Any]) -> str:
    return "in.csv.gz" if dialect["packed"] else "in.csv"


def answer(*given: object) -> tuple[Any, str]:
    """What is answered for machines, and what is said besides; how long it took left out."""
    result = run(*given, "--json")
    assert SECRET not in result.output
    found = json.loads(result.stdout)
    return {key: value for key, value in found.items() if key != "seconds"}, result.stderr


@settings(max_examples=6, deadline=None, suppress_health_check=[*HealthCheck])
@given(dialect=dialects(), seed=st.integers(0, 10**6))
def test_a_policy_tells_what_options_tell(dialect: dict[str, Any], seed: int) -> None:
    options = [
        word
        for key, value in dialect["told"].items()
        for word in (f"--{key.replace('_', '-')}", str(value))
    ]
    data = data_of(dialect)
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        written(dialect, seed)
        for engine in ("memory", "duckdb"):
            how = ["-o", "out.csv", "--force", "--engine", engine]
            plain = answer("release", data, "-p", "plain.toml", *how, *options)
            rows = Path("out.csv").read_bytes()
            assert answer("release", data, "-p", "told.toml", *how) == plain
            assert Path("out.csv").read_bytes() == rows
        run("release", data, "-p", "told.toml", "-o", "out")
        [written_rows] = Path("out/public").glob("data.csv*")
        unpacked = written_rows.read_bytes()
        assert (gzip.decompress(unpacked) if dialect["packed"] else unpacked) == rows
        cells = options[4:8]  # that alone are told of what we wrote
        asked: list[tuple[list[str], list[str]]] = [
            (["risk", data, "-p", "POLICY"], options),
            (["policy", "check", "POLICY", data], options),
            (["evaluate", data, "out", "-p", "POLICY", "--classifiers", "tree"], options),
            (["verify", "out.csv", "-p", "POLICY"], cells),
            (["verify", "out", "-p", "POLICY"], cells),
        ]
        for words, more in asked:
            plain = answer(*(word.replace("POLICY", "plain.toml") for word in words), *more)
            assert answer(*(word.replace("POLICY", "told.toml") for word in words)) == plain
        assert answer("verify", "out")[0]["holds"] is True  # the folder keeps its policy
        answer("apply", "out", data, "-o", "more.csv")
        assert sorted(Path("more.csv").read_bytes().splitlines()) == sorted(rows.splitlines())
