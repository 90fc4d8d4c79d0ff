"""Reticence: on marked data, no command tells a cell that the release or the policy does not show.

Every cell carries a mark: a word, a number or a date that occurs nowhere else. All that a command
prints, publishes, raises or logs is searched for marks, when it succeeds and when it fails.
"""

from __future__ import annotations

import gzip
import json
import logging
import re
import threading
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import reticent
from at_hand import refusal, save
from reticent import Policy, entries, search
from reticent.files import tabular as table_files
from reticent.front.cli import app
from reticent.privacy import verify as verifier
from reticent.tables import evaluation

MARK = re.compile(r"SECRET\w*|(?<![\w.])73\d{5}|\b17\d\d-\d\d-\d\d")
WORD = "SEC" + "RET"  # in two, so that a traceback through this file shows no mark of its own
NAMES = ["Name", "Job", "Town", "Pay", "Born", "Ward", "Sick", "Class"]


def marks(text: str) -> set[str]:
    return set(MARK.findall(text))


def text(path: str = "data.csv") -> str:
    return Path(path).read_text(encoding="utf-8")


def rows() -> list[list[str]]:
    return [
        [
            f"{WORD}name{i}", f"{WORD}job{i % 3}" if i % 20 else f"{WORD}rare{i}",
            f"{WORD}town{i % 4}", str(7_300_000 + i % 7), f"17{i % 10:02}-01-{1 + i % 28:02}",
            f"{WORD}ward{i % 2}", f"{WORD}sick{i // 3 % 3}", f"{WORD}class{i % 2}",
        ]
        for i in range(60)
    ]  # fmt: skip


def labels() -> dict[str, Any]:
    """A taxonomy of the towns: its labels may be told."""
    return {"ANY": {f"Region{r}": [f"{WORD}town{i}" for i in (r, r + 2)] for r in (0, 1)}}


def policy(**changes: Any) -> Policy:
    parts: dict[str, Any] = {
        "class_": "Class",
        "drop": ["Name"],
        "keep": ["Ward"],
        "attributes": {
            "Job": {"mask": "suppress"},
            "Town": {"mask": "generalize", "taxonomy": labels()},
            "Pay": {"mask": "discretize", "range": [0, 10_000_000]},
            "Born": {"mask": "discretize", "range": ["1600-01-01", "1900-01-01"]},
        },
        "anonymity": [
            {"over": ["Job", "Town"], "k": 5, "of": ["Name"]},
            {"over": ["Pay", "Born"], "k": 2},
        ],
        "confidence": [{"over": ["Job", "Town"], "sensitive": {"Sick": "*"}, "at_most": 0.9}],
    }
    return Policy(**(parts | changes))


def write_table(path: str, table: list[list[str]], names: list[str] | None = None) -> None:
    save(path, names or NAMES, table)


@pytest.fixture(autouse=True)
def data(work: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    write_table("data.csv", rows())
    Path("policy.toml").write_text(policy().text, encoding="utf-8")


def run(*given: str, code: int | None = 0) -> str:
    """Run a command; give all that it said."""
    result = CliRunner().invoke(app, list(given))
    assert code is None or result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.stdout + result.stderr


def may_be_told() -> set[str]:
    """Marks that the policy itself holds."""
    return marks(text("policy.toml"))


def public_text(folder: str) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in Path(folder, "public").iterdir())


def test_the_marks_are_found() -> None:
    """The test itself: what is searched for is really in the table."""
    found = marks(text())
    for row in rows():
        assert set(row) <= found
    assert not marks("7 300 rows, 1999-01-01, k = 5")


# --- when all goes well --------------------------------------------------------------------------

RELEASE = ["release", "data.csv", "-p", "policy.toml"]


@pytest.mark.parametrize("options", [[], ["--json"], ["--debug"], ["--show-values"]])
def test_release_tells_only_what_it_released(
    options: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    said = run(*RELEASE, "-o", "out", *options)
    shown = marks(text("out/public/data.csv"))
    assert marks(said) <= shown | may_be_told()
    assert marks(public_text("out")) <= shown | may_be_told()
    assert not marks(caplog.text)
    hidden = {row[0] for row in rows()} | {row[1] for row in rows() if "rare" in row[1]}
    assert not hidden & shown  # names are dropped; rare jobs stay suppressed
    assert f"{WORD}ward0" in shown
    assert any("job" in mark for mark in shown)


def test_what_is_masked_away_stays_masked_away() -> None:
    """Even with everything masked, no report brings back what the cells no longer show."""
    said = run(*RELEASE, "-o", "out", "--max-steps", "0", "--json")
    open_columns = marks("\n".join(",".join(row[5:]) for row in rows()))
    assert marks(said + public_text("out")) <= open_columns | may_be_told()
    assert not marks(said + public_text("out")) & {row[1] for row in rows()}


def test_public_pages_end_where_the_cut_ends() -> None:
    """What stands below a cut may be somebody's value, though the policy names it."""
    run(*RELEASE, "-o", "out", "--max-steps", "0")
    towns = {row[2] for row in rows()}
    assert towns <= may_be_told()
    assert not marks(public_text("out")) & towns
    assert json.loads(text("out/public/manifest.json"))["taxonomies"] == {"Town": {"ANY": {}}}
    assert marks(text("out/private/report.html")) & {
        row[1] for row in rows()
    }  # the owner's page does name groups


def test_public_pages_tell_no_comment_and_no_place() -> None:
    """Whoever made the release wrote notes into the policy, and named files as they liked."""
    place = Path(f"{WORD}folder")
    place.mkdir()
    Path("data.csv").rename(place / f"{WORD}people.csv")
    commented = text("policy.toml").replace("\n", f"  # ask {WORD}note about this\n", 1)
    (place / f"{WORD}policy.toml").write_text(commented, encoding="utf-8")
    run(
        "release", str(place / f"{WORD}people.csv"), "-p", str(place / f"{WORD}policy.toml"),
        "-o", f"{WORD}out",
    )  # fmt: skip
    said = marks(public_text(f"{WORD}out"))
    assert not {m for m in said if re.search("folder|people|note|policy|out", m)}
    assert f"{WORD}note" in text(f"{WORD}out/private/policy.toml")


def test_public_pages_tell_no_taxonomy_file_and_no_folder() -> None:
    Path(f"{WORD}deep").mkdir()
    tree = Path(f"{WORD}deep/town.json")
    tree.write_text(json.dumps(labels()), encoding="utf-8")
    attributes = dict(policy().attributes)
    attributes["Town"] = attributes["Town"].model_copy(update={"taxonomy": str(tree.resolve())})
    Path("policy.toml").write_text(policy(attributes=attributes).text, encoding="utf-8")
    run(*RELEASE, "-o", "out", "--max-steps", "0")
    page = text("out/public/report.html")
    assert "town.json" in page
    assert f"{WORD}deep" not in page
    assert not marks(page) & {row[2] for row in rows()}


def test_release_of_a_typed_file_tells_only_what_it_released() -> None:
    said = run(*RELEASE, "-o", "out.parquet", "--trace", "trace.jsonl", "--json")
    shown = {str(cell) for row in pq.read_table("out.parquet").to_pylist() for cell in row.values()}
    assert marks(said) <= marks(" ".join(shown)) | may_be_told()


@pytest.mark.parametrize("options", [[], ["--json"], ["--debug"]])
@pytest.mark.parametrize(
    "given",
    [
        ["risk", "data.csv", "-p", "policy.toml"],
        ["risk", "data.csv"],
        ["risk", "data.csv", "-p", "policy.toml", "-o", "page.html"],
        ["policy", "check", "policy.toml", "data.csv"],
        ["policy", "schema"],
        ["init", "data.csv"],
        ["init", "data.csv", "-o", "draft.toml"],
        ["taxonomy", "check", "town.json", "data.csv", "--column", "Town"],
        ["taxonomy", "make", "data.csv", "--column", "Pay", "--bins", "0,10000000", "-o", "t.csv"],
        ["taxonomy", "make", "data.csv", "--column", "Born", "--date", "-o", "t.csv"],
        ["taxonomy", "make", "data.csv", "--column", "Job", "--prefix", "1,2", "-o", "t.csv"],
    ],
    ids=lambda given: " ".join(given[:2]),
)
def test_commands_on_original_data_tell_no_cell(
    given: list[str], options: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    Path("town.json").write_text(json.dumps(labels()), encoding="utf-8")
    told = marks(run(*given, *options))
    if "page.html" in given:
        told |= marks(text("page.html"))
    if given[0] == "init":
        told -= {"1710-01-01"}  # the next decade: an end that nobody has
    assert told <= may_be_told()
    assert not marks(caplog.text)


def test_a_draft_tells_ranges_only_when_asked() -> None:
    cells = {cell for row in rows() for cell in row}
    assert not marks(run("init", "data.csv")) & cells
    assert marks(run("init", "data.csv", "--show-values")) & cells


@pytest.mark.parametrize("options", [[], ["--json"], ["--debug"]])
def test_verify_and_apply_tell_no_cell(options: list[str]) -> None:
    run(*RELEASE, "-o", "out")
    told = may_be_told()
    assert marks(run("verify", "out", "-p", "policy.toml", *options, code=2)) <= told
    skipping = ["--skip-uncheckable", *options]
    assert marks(run("verify", "out", "-p", "policy.toml", *skipping)) <= told
    beside = ["verify", "out", "-p", "policy.toml", *options, "--original"]
    assert marks(run(*beside, "data.csv")) <= told
    write_table("other.csv", rows()[:50])
    assert marks(run(*beside, "other.csv", code=2)) <= told
    assert not marks(run("apply", "out", "data.csv", "-o", "again.csv", *options))
    later = rows()[:3]
    later[0][1], later[1][3], later[2][4] = f"{WORD}new", "7399999", ""
    write_table("later.csv", later)
    said = run("apply", "out", "later.csv", "-o", "later-masked.csv", *options)
    assert not marks(said)
    assert f"{WORD}new" not in Path("later-masked.csv").read_text()


EVALUATE = ["evaluate", "data.csv", "out.csv", "-p", "policy.toml"]


@pytest.mark.parametrize(
    "how",
    [
        ["--classifiers", "tree,bayes,regression"],
        ["--folds", "3", "--classifiers", "tree"],
        ["--test", "later.csv", "--population", "data.csv", "--classifiers", "tree"],
    ],
    ids=["a third", "folds", "a test file"],
)
def test_evaluate_tells_no_cell(how: list[str], caplog: pytest.LogCaptureFixture) -> None:
    """Not even one that the release shows: it tells of errors, groups and chances alone."""
    run(*RELEASE, "-o", "out.csv")
    later = rows()[:9]
    later[0][1], later[1][3], later[2][4], later[3][7] = f"{WORD}new", "7399999", "", f"{WORD}new"
    write_table("later.csv", later)
    for options in (["--debug"], ["--show-values", "--json"]):
        said = run(*EVALUATE, *how, *options)
        assert "Sick" in said
        assert not marks(said + caplog.text)


def test_violations_are_told_without_cells() -> None:
    run(*RELEASE, "-o", "out.csv")
    Path("policy.toml").write_text(policy(anonymity=[{"over": ["Town"], "k": 59}], keep="*").text)
    said = run("verify", "out.csv", "-p", "policy.toml", code=1)
    assert "BROKEN" in said
    assert marks(said) <= may_be_told()


# --- when something is wrong ---------------------------------------------------------------------


@dataclass(frozen=True)
class Wrong:
    """A situation that fails: how to bring it about, the command, and whether values are kept."""

    arrange: Callable[[], None]
    given: tuple[str, ...]
    code: int = 2
    has_values: bool = False  # --show-values has something to show


def changed(at: int, column: str, cell: str) -> Callable[[], None]:
    def arrange() -> None:
        table = rows()
        table[at][NAMES.index(column)] = cell
        write_table("data.csv", table)

    return arrange


def with_policy(**changes: Any) -> Callable[[], None]:
    return content(lambda: policy(**changes).text, "policy.toml")


def attribute(name: str, **says: Any) -> Callable[[], None]:
    attributes = dict(policy().attributes) | {name: says}
    return with_policy(attributes=attributes)


def content(make: Callable[[], str | bytes], name: str = "data.csv") -> Callable[[], None]:
    def arrange() -> None:
        data = make()
        Path(name).write_bytes(data if isinstance(data, bytes) else data.encode())

    return arrange


def both(*steps: Callable[[], object]) -> Callable[[], None]:
    def arrange() -> None:
        for step in steps:
            step()

    return arrange


def released_then(make: Callable[[], None], out: str = "out") -> Callable[[], None]:
    return both(lambda: run(*RELEASE, "-o", out), make)


def foreign_labels() -> None:
    run(*RELEASE, "-o", "out.csv")
    table = pd.read_csv("out.csv", dtype=str, keep_default_na=False)
    table["Town"] = [f"{WORD}foreign{i % 2}" for i in range(len(table))]
    table["Pay"] = "7300001"
    table.to_csv("out.csv", index=False)


def further(at: int, column: str, cell: str) -> Callable[[], None]:
    """A release, and a further table with one cell that does not fit."""

    def arrange() -> None:
        table = rows()
        table[at][NAMES.index(column)] = cell
        write_table("more.csv", table)

    return released_then(arrange, "out.csv")


def spoilt_release(line: int, change: Callable[[str], str]) -> Callable[[], None]:
    def arrange() -> None:
        lines = Path("out.csv").read_text(encoding="utf-8").splitlines(keepends=True)
        lines[line] = change(lines[line])
        Path("out.csv").write_text("".join(lines), encoding="utf-8")

    return released_then(arrange, "out.csv")


def as_parquet(spoil: Callable[[bytes], bytes]) -> Callable[[], None]:
    def arrange() -> None:
        columns = zip(*rows(), strict=True)
        table = pa.table({n: list(cells) for n, cells in zip(NAMES, columns, strict=True)})
        pq.write_table(table, "data.parquet", compression="none")
        Path("data.parquet").write_bytes(spoil(Path("data.parquet").read_bytes()))

    return arrange


def nothing() -> None:
    """The table as it is is wrong enough."""


TO_CSV = (*RELEASE, "-o", "out.csv")
MEASURE = (*EVALUATE, "--classifiers", "tree")
MAKE = ("taxonomy", "make", "data.csv", "-o", "t.csv", "--column")
VERIFY = ("verify", "out.csv", "-p", "policy.toml")
ORIGINAL = ("verify", "data.csv", "-p", "policy.toml")
APPLY = ("apply", "out", "data.csv", "-o", "later.csv")
PACKED = ("release", "data.csv.gz", "-p", "policy.toml", "-o", "out.csv")
TYPED = ("release", "data.parquet", "-p", "policy.toml", "-o", "out.csv")


def sure(sensitive: Any, at_most: float) -> Callable[[], None]:
    return with_policy(
        confidence=[{"over": ["Job"], "sensitive": {"Sick": sensitive}, "at_most": at_most}]
    )


def cut(name: str, **bounds: Any) -> Callable[[], None]:
    return attribute(name, mask="discretize", **bounds)


HIDING: dict[str, tuple[Callable[[], None], tuple[str, ...]]] = {  # --show-values has something to show
    "text where numbers are wanted": (cut("Job"), TO_CSV),
    "one text among numbers": (changed(7, "Pay", f"{WORD}pay"), TO_CSV),
    "one text among dates": (changed(7, "Born", f"{WORD}born"), TO_CSV),
    "a date that is none": (changed(7, "Born", "1701-02-30"), TO_CSV),
    "a number too large": (changed(7, "Pay", "7300000e999"), TO_CSV),
    "digits without end": (changed(7, "Pay", "7300001" * 700), TO_CSV),
    "a value outside the taxonomy": (changed(7, "Town", f"{WORD}elsewhere"), TO_CSV),
    "values outside the range": (cut("Pay", range=[0, 100]), TO_CSV),
    "values outside the bins": (cut("Pay", intervals=[0, 10, 20]), TO_CSV),
    "dates outside the range": (cut("Born", range=["1900-01-01", "2000-01-01"]), TO_CSV),
    "a date format that does not fit": (nothing, (*TO_CSV, "--date-format", "%d.%m.%Y")),
    "a check of the original": (nothing, ORIGINAL),
    "labels that are foreign": (foreign_labels, VERIFY),
    "later rows outside the taxonomy": (released_then(changed(3, "Town", f"{WORD}elsewhere")), APPLY),
    "later rows that are no numbers": (released_then(changed(3, "Pay", f"{WORD}pay")), APPLY),
    "later rows that are no dates": (released_then(changed(3, "Born", f"{WORD}born")), APPLY),
    "a measure of a table that no longer fits": (released_then(changed(7, "Pay", f"{WORD}pay"), "out.csv"), MEASURE),
    "a measure of the original": (nothing, ("evaluate", "data.csv", "data.csv", "-p", "policy.toml")),
    "a test on values outside the taxonomy": (
        further(3, "Town", f"{WORD}elsewhere"), (*MEASURE, "--test", "more.csv")
    ),
    "a test on what are no numbers": (further(3, "Pay", f"{WORD}pay"), (*MEASURE, "--test", "more.csv")),
    "a register of what are no dates": (
        further(3, "Born", f"{WORD}born"), (*MEASURE, "--population", "more.csv")
    ),
    "a taxonomy that does not cover": (
        content(lambda: "x,ANY\n", "t.csv"), ("taxonomy", "check", "t.csv", "data.csv", "--column", "Town")
    ),
    "days that are none": (nothing, (*MAKE, "Job", "--date")),
    "numbers that are none": (nothing, (*MAKE, "Job", "--equal", "3")),
    "numbers outside the edges": (nothing, (*MAKE, "Pay", "--bins", "0,5")),
    "prefixes that clash with values": (
        lambda: write_table("data.csv", [[f"{WORD}a"], [f"{WORD}ab"], [f"{WORD}a*"]], ["Job"]),
        (*MAKE, "Job", "--prefix", "7"),
    ),
    "a risk that cannot be told": (changed(7, "Pay", f"{WORD}pay"), ("risk", "data.csv", "-p", "policy.toml")),
    "a policy that does not fit": (
        changed(7, "Town", f"{WORD}elsewhere"), ("policy", "check", "policy.toml", "data.csv")
    ),
}  # fmt: skip
SITUATIONS = {kind: Wrong(arrange, given, has_values=True) for kind, (arrange, given) in HIDING.items()} | {
    "bounds of another kind": Wrong(cut("Born", range=[0, 5]), TO_CSV),
    "the marker in the data": Wrong(changed(7, "Job", "*"), TO_CSV),
    "a class that is missing": Wrong(changed(7, "Class", ""), TO_CSV),
    "a value that is missing": Wrong(both(changed(7, "Job", ""), with_policy(missing="error")), TO_CSV),
    "a sensitive value that never occurs": Wrong(sure(["never"], 0.9), TO_CSV),
    "zones that differ": Wrong(both(changed(7, "Born", "1701-01-01T10:00Z"), cut("Born")), TO_CSV),
    "ragged rows": Wrong(content(lambda: text() + f"{WORD}a,{WORD}b\n{WORD}c\n"), TO_CSV),
    "a quote that never closes": Wrong(content(lambda: text() + f'{WORD}a,"{WORD}b,c\n{WORD}d\n'), TO_CSV),
    "a quote in the last cell that never closes": Wrong(
        content(lambda: text().rstrip("\n").rpartition(",")[0] + f',"{WORD}end\n'), TO_CSV
    ),
    "a quote in the header that never closes": Wrong(
        content(lambda: text().replace("Class\n", '"Class\n', 1)), TO_CSV
    ),
    "a quote in the header of another table": Wrong(
        content(lambda: text().replace("Name,", '"Name,', 1)), ("init", "data.csv")
    ),
    "lines that end as nobody expects": Wrong(
        content(lambda: text().replace("\n", "\r").replace("\r", "\x00\r", 3)), TO_CSV
    ),
    "an encoding that does not fit": Wrong(
        content(lambda: (text() + "ü\n").encode("latin-1")), (*TO_CSV, "--encoding", "utf-8")
    ),
    "an encoding that does not fit at all": Wrong(nothing, (*TO_CSV, "--encoding", "utf-32")),
    "a delimiter that does not fit": Wrong(nothing, (*TO_CSV, "--delimiter", "|")),
    "an archive cut short": Wrong(content(lambda: gzip.compress(text().encode())[:40], "data.csv.gz"), PACKED),
    "typed data cut short": Wrong(as_parquet(lambda data: data[:-30]), TYPED),
    "typed data spoilt": Wrong(as_parquet(lambda data: data[:100] + b"\xff" * 200 + data[300:]), TYPED),
    "groups that cannot be": Wrong(with_policy(anonymity=[{"over": ["Job"], "k": 61}], keep="*"), TO_CSV, code=3),
    "a confidence that cannot be": Wrong(sure("*", 0.1), TO_CSV, code=3),
    "columns without a role": Wrong(with_policy(keep=[], drop=[]), TO_CSV),
    "an output that exists": Wrong(nothing, (*RELEASE, "-o", "data.csv")),
    "a check against another policy": Wrong(
        released_then(with_policy(confidence=[], anonymity=[{"over": ["Sick"], "k": 60}], keep="*")),
        ("verify", "out", "-p", "policy.toml"), code=1,
    ),
    "a check of a table that lacks columns": Wrong(
        lambda: write_table("data.csv", [row[:3] for row in rows()], NAMES[:3]), ORIGINAL
    ),
    "a measure of another table": Wrong(released_then(changed(20, "Job", f"{WORD}job1"), "out.csv"), MEASURE),
    "a measure of a release that lacks a row": Wrong(spoilt_release(5, lambda line: ""), MEASURE),
    "a measure of a release with a foreign label": Wrong(
        spoilt_release(5, lambda line: f"{WORD}foreign" + line[line.index(",") :]), MEASURE
    ),
    "more folds than records": Wrong(released_then(nothing, "out.csv"), (*MEASURE, "--folds", "61")),
}  # fmt: skip


def arranged(kind: str) -> tuple[Wrong, set[str]]:
    wrong = SITUATIONS[kind]
    wrong.arrange()
    shown = set()
    for path in Path().glob("out*/public/data.csv"):
        shown |= marks(path.read_text(encoding="utf-8"))
    return wrong, shown | may_be_told()


@pytest.mark.parametrize("options", [[], ["--json", "--debug"]], ids=["plain", "debug"])
@pytest.mark.parametrize("kind", list(SITUATIONS))
def test_failures_tell_no_cell(
    kind: str, options: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    wrong, allowed = arranged(kind)
    said = run(*wrong.given, *options, code=wrong.code)
    assert marks(said) <= allowed
    assert not marks(caplog.text)
    if wrong.code:
        assert not Path("later.csv").exists()


@pytest.mark.parametrize("kind", [kind for kind, wrong in SITUATIONS.items() if wrong.has_values])
def test_values_are_shown_when_asked(kind: str) -> None:
    wrong, _ = arranged(kind)
    hidden = run(*wrong.given, code=wrong.code)
    assert "--show-values" in hidden
    shown = run(*wrong.given, "--show-values", code=wrong.code)
    assert marks(shown) - marks(hidden) or f"{WORD}a*" in shown


@pytest.mark.parametrize(
    ("owner", "name", "commands"),
    [
        (verifier, "verify", [(*RELEASE, "-o", "new.csv")]),
        (table_files, "parse", [(*RELEASE, "-o", "new.csv"), ("risk", "data.csv", "-p", "policy.toml"), ("init", "data.csv")]),
        (evaluation, "losses", [MEASURE]),
    ],
)  # fmt: skip
def test_faults_of_ours_tell_no_cell(
    owner: Any, name: str, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(*TO_CSV)

    def broken(*given: Any, **how: Any) -> Any:
        raise ValueError(f"cannot read {WORD}xyz1")

    monkeypatch.setattr(owner, name, broken)
    for command in commands:
        for options in ([], ["--debug"], ["--json"]):
            assert not marks(run(*command, *options, code=70))


def test_results_in_a_notebook_tell_no_cell() -> None:
    found = reticent.release("data.csv", policy())
    assert not marks(repr(found))
    assert marks(repr(found.proof)) <= may_be_told()
    shown = {label for labels in found.cuts.values() for label in labels}
    assert marks(str(found) + found._repr_html_()) <= marks(str(shown)) | may_be_told()
    assert not marks(json.dumps(reticent.risk("data.csv", policy()).summary()))
    measured = reticent.evaluate("data.csv", found.table, policy(), classifiers=["tree"])
    assert not marks(repr(measured) + str(measured) + json.dumps(measured.summary()))
    for spoilt in (found.table.slice(1), pa.concat_tables([found.table, found.table.slice(59)])):
        given = partial(reticent.evaluate, "data.csv", spoilt, policy(), classifiers=["tree"])
        assert not marks("".join(traceback.format_exception(refusal(given))))


def frames() -> dict[str, Any]:
    """Data frames that cannot be used, each with marks in its cells."""
    words = [f"{WORD}{i}" for i in range(4)]
    return {
        "mixed": pd.DataFrame({"Job": words, "x": [1, words[0], 2.5, None]}),
        "mixed times": pd.DataFrame({"Job": words, "x": [pd.Timestamp(0), words[0], 2.5, None]}),
        "mixed bytes": pd.DataFrame({"Job": words, "x": [b"a", words[0], "c", None]}),
        "objects": pd.DataFrame({"Job": words, "x": [object(), words[0], 1, 2]}),
        "names that repeat": pd.DataFrame([[word, word] for word in words], columns=["Job", "Job"]),
        "lists": pl.DataFrame({"Job": words, "x": [[word] for word in words]}),
        "structures": pa.table({"Job": words, "x": [{"a": word} for word in words]}),
        "no role": pa.table({"Job": words, "y": words}),
        "no numbers": pa.table({"Job": words, "x": words}),
        "no table": words,
        "a column": pd.Series(words),
        "an array": pa.array(words),
    }


@pytest.mark.parametrize("kind", list(frames()))
def test_exceptions_tell_no_cell(kind: str) -> None:
    """Not even with what led to them: a notebook prints the whole chain."""
    parts: dict[str, Any] = {
        "attributes": {"x": {"mask": "discretize"}},
        "anonymity": [{"over": ["Job"], "k": 1}, {"over": ["x"], "k": 1}],
    }
    error = refusal(lambda: reticent.release(frames()[kind], Policy(**parts)))
    assert not marks(repr(error) + "".join(traceback.format_exception(error)))


def is_plain_release(wrong: Wrong) -> bool:
    return wrong.given[0] == "release" and len(wrong.given) == 6 and wrong.code > 0


@pytest.mark.parametrize("kind", [k for k, wrong in SITUATIONS.items() if is_plain_release(wrong)])
def test_exceptions_of_files_tell_no_cell(kind: str) -> None:
    wrong, allowed = arranged(kind)
    _, data, _, rules, _, out = wrong.given
    error = refusal(lambda: reticent.release(data, rules, output=out), kind=reticent.ReticentError)
    assert marks("".join(traceback.format_exception(error))) <= allowed


# --- single entries ------------------------------------------------------------------------------

OF_ENTRIES: dict[str, Any] = {
    "conditions": ["Job", "Town", "Pay", "Born"], "sensitive": "Sick", "min_support": 1, "id": "Name",
    "min_confidence": 0.4, "max_pattern": 2, "keep": ["Ward", "Class"], "requests": "requests.csv",
}  # fmt: skip


def of_entries(*requests: str, **changes: Any) -> None:
    """A policy for single entries, and the list of who asked."""
    given = entries.Policy.of(OF_ENTRIES | changes)
    Path("policy.toml").write_text(given.canonical(), encoding="utf-8")
    Path("requests.csv").write_text("\n".join(["record", *requests]) + "\n", encoding="utf-8")


def test_releases_of_entries_tell_no_cell() -> None:
    of_entries(f"{WORD}name3", f"{WORD}name7", f"{WORD}name7", missing_values=["?"])
    given = ("-p", "policy.toml")
    said = ""
    for how in ([], ["--json"]):
        said += run("entries", "risk", "data.csv", *given, *how)
        said += run("entries", "release", "data.csv", *given, "-o", "out", "--force", *how)
        said += run("entries", "verify", "out", *given, "--original", "data.csv", *how)
        said += run("entries", "verify", "data.csv", *given, "--original", "data.csv", *how, code=1)
    for path in Path("out/public").iterdir():
        said += path.read_text(encoding="utf-8") if path.name != "data.csv" else ""
    assert not marks(said) - may_be_told()
    shown = Path("out/public/data.csv").read_text(encoding="utf-8")
    assert f"{WORD}name" not in shown


@pytest.mark.parametrize(
    ("requests", "changes", "code"),
    [
        ([f"{WORD}nobody"], {}, 2),
        ([f"{WORD}name3"], {"publish": [(f"{WORD}name3", "Sick")]}, 2),
        ([f"{WORD}name3"], {"publish": [(f"{WORD}name4", f"{WORD}column")]}, 2),
        ([f"{WORD}ward1"], {"id": "Ward", "keep": ["Name", "Class", "Ward"]}, 2),
        ([f"{WORD}name{i}" for i in range(0, 60, 9)],
         {"may_hide": "conditions-of-sensitive", "min_support": 0, "min_confidence": 0,
          "publish": [(f"{WORD}name{i}", "Town") for i in range(60)]}, 3),
    ],
    ids=["unknown", "both", "column", "repeats", "impossible"],
)  # fmt: skip
def test_lists_that_cannot_be_granted_tell_no_cell(
    requests: list[str], changes: dict[str, Any], code: int
) -> None:
    of_entries(*requests, **changes)
    given = ("entries", "release", "data.csv", "-p", "policy.toml", "-o", "out")
    assert not marks(run(*given, code=code))
    assert marks(run(*given, "--show-values", code=code))
    release = partial(entries.release, "data.csv", "policy.toml", output="out")
    error = refusal(release, kind=reticent.ReticentError)
    assert not marks("".join(traceback.format_exception(error)))


def test_a_list_without_a_header_tells_nobody() -> None:
    of_entries()
    Path("requests.csv").write_text(f"{WORD}name3\n{WORD}name4\n", encoding="utf-8")
    assert not marks(run("entries", "release", "data.csv", "-p", "policy.toml", "-o", "x", code=2))


# --- private search ------------------------------------------------------------------------------

PLANTED = re.compile("secret", re.IGNORECASE)  # terms are in lower case, and stems


def documents(folder: str = f"{WORD}folder") -> str:
    """Forty notes of somebody who sails and has an illness; each also has words of its own."""
    Path(folder).mkdir()
    for i in range(40):
        about = "The boat leaves the harbour." if i % 4 else f"The {WORD}illness is back."
        own = f"{WORD}word{i} by {WORD}name{i % 20} at {WORD}{i}@mail.example, {7_300_000 + i}"
        Path(folder, f"{WORD}file{i}.txt").write_text(f"{about} {own}\n", encoding="utf-8")
    Path(folder, f"{WORD}picture.png").write_bytes(b"\x89PNG")
    return folder


EXPOSE = ("profile", "expose", "profile.json", "--hide", f"{WORD}illness", "-o", "exposed.json")


@pytest.mark.parametrize("options", [[], ["--json"], ["--debug"], ["--progress", "json"]])
def test_what_leaves_of_a_profile_holds_nothing_planted(
    options: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    said = run("profile", "build", documents(), "-o", "profile.json", "-q")
    assert not PLANTED.search(said)
    assert PLANTED.search(text("profile.json"))  # the illness is an interest, and may be hidden
    for how in (["--ratio", "0.3"], ["--ratio", "1"], ["--min-detail", "0"]):
        said = run(*EXPOSE, *how, "--force", *options)
        told = text("exposed.json")
        assert not PLANTED.search(said + told)
        assert not marks(said + told)
    assert "boat" in told
    assert not PLANTED.search(caplog.text)


def test_building_a_profile_tells_no_word_of_it(caplog: pytest.LogCaptureFixture) -> None:
    for how in ([], ["--json"], ["--debug"]):
        folder = documents(f"folder{len(how)}{how}")
        said = run("profile", "build", folder, "-o", "profile.json", "--force", *how)
        assert {*PLANTED.findall(said)} <= {WORD}
        assert {*re.findall(rf"{WORD}\w*", said)} == {f"{WORD}picture"}  # a file that is skipped
    found = search.build_profile(documents("again"))
    printed = repr(found) + str(found) + found._repr_html_() + repr(found.profile)
    assert not PLANTED.search(printed.replace(f"{WORD}picture", ""))
    exposure = search.expose(found.profile, ratio=1)
    assert not PLANTED.search(repr(search.expose(found.profile, ratio=1, hide=[f"{WORD}illness"])))
    assert PLANTED.search(repr(exposure.exposed))  # unless it is hidden, it is told
    assert not PLANTED.search(caplog.text)


@pytest.mark.parametrize(
    "given",
    [
        ("expose", "profile.json", "--ratio", "1", "--hide", f"{WORD}flu", "-o", "e.json"),
        ("expose", "profile.json", "-o", "e.json"),
        ("expose", "broken.json", "--ratio", "1", "-o", "e.json"),
        ("show", "broken.json"),
        ("show", "exposed.json"),
        ("build", "folder", "-o", "e.json", "--stop-words", "bytes.txt"),
        ("build", "wordless", "-o", "e.json"),
    ],
    ids=" ".join,
)
def test_failures_of_private_search_tell_nothing(
    given: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    run("profile", "build", documents("folder"), "-o", "profile.json", "-q")
    run("profile", "expose", "profile.json", "--ratio", "1", "-o", "exposed.json", "-q")
    Path("broken.json").write_text(text("profile.json").replace('"version"', '"vers"'))
    Path("bytes.txt").write_bytes(f"{WORD}".encode("utf-16"))
    Path("wordless").mkdir()
    Path("wordless/numbers.txt").write_text("7300001 7300002")
    for how in ([], ["--json"], ["--debug"]):
        said = run("profile", *given, *how, code=2)
        assert not PLANTED.search(said.replace(f"{WORD}flu", ""))  # which was given to be hidden
        assert not marks(caplog.text)


def test_indexing_and_searching_tell_others_nothing(caplog: pytest.LogCaptureFixture) -> None:
    for how in ([], ["--json"], ["--debug"], ["--progress", "json"]):
        said = run("search", "index", documents(f"in{how}"), "-o", "index", "--force", *how)
        assert {*re.findall(rf"{WORD}\w*", said)} == {f"{WORD}picture"}  # a file that is skipped
    found = search.index_texts("in[]", "again")
    assert not PLANTED.search((repr(found) + found.output).replace(f"{WORD}picture", ""))
    query = f"{WORD}word7"
    said = run("search", "query", query, "--index", "index", "--json")
    assert {*re.findall(rf"{WORD}\w*", said)} == {f"{WORD}file7"}  # what was asked for, is shown
    answer = search.query(query, index="index")
    assert not PLANTED.search(repr(answer).replace(f"{WORD}file", ""))
    for wrong in (["--alpha", "2"], ["--profile", "none.json"], ["--top", "0"]):
        for how in ([], ["--json"], ["--debug"]):
            given = ("search", "query", query, "--index", "index", *wrong, *how)
            assert not PLANTED.search(run(*given, code=2))
    Path("index/index.json").write_text("{}")
    assert not PLANTED.search(run("search", "query", query, "--index", "index", code=2))
    assert not PLANTED.search(caplog.text)


@pytest.fixture
def elsewhere() -> Iterator[tuple[str, list[str]]]:
    """The address of an engine like OpenSearch, and all that it is told, byte by byte."""
    heard: list[str] = []
    hits = [{"_id": str(i), "_source": {"title": t, "text": t}} for i, t in enumerate("ab")]

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            heard.append(f"{self.requestline}\n{self.headers}\n{body}")
            said = json.dumps({"hits": {"hits": hits}}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *given: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/mails/_search", heard
        server.shutdown()
        thread.join()


@pytest.mark.net
def test_an_engine_elsewhere_is_told_the_query_and_nothing_of_the_profile(
    elsewhere: tuple[str, list[str]], caplog: pytest.LogCaptureFixture
) -> None:
    url, heard = elsewhere
    run("profile", "build", documents(), "-o", f"{WORD}profile.json", "-q")
    run("profile", "expose", f"{WORD}profile.json", "--ratio", "1", "-o", f"{WORD}.json", "-q")
    asked = ("search", "query", "port", "--engine", url)
    for how in ([], ["--json"], ["--debug"]):
        said = run(*asked, "--profile", f"{WORD}.json", *how)
        assert "port" not in said.replace("_search", "")
        run(*asked, *how)
    assert len(heard) == 6
    assert len({*heard}) == 1  # to the byte what somebody without a profile tells
    assert "port" in heard[0]
    assert not PLANTED.search("".join(heard))
    assert "boat" not in "".join(heard)
    assert not PLANTED.search(caplog.text)
    assert "port" not in caplog.text
