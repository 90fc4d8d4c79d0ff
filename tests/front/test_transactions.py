"""Baskets at the command line and from Python, end to end."""

from __future__ import annotations

import csv
import json
import os
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from at_hand import refusal, written
from naive import transactions as naive
from reticent import transactions
from reticent.errors import InputError, Unsatisfiable
from terminal import interrupted_everywhere, run


def long_rows() -> list[tuple[str, str | None]]:
    rng = random.Random(4)
    names = ["rye bread", "milk", "Käse", 'a "big" one', "tea, green"]
    rows: list[tuple[str, str | None]] = []
    for number in range(60):
        held = [name for name in names if rng.random() < 0.5]
        rows += [(f"id {number}", name) for name in held] or [(f"id {number}", None)]
    return [*rows, ("id 7", "rare thing")]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz", ".parquet", ".arrow"])
def test_long_formats(suffix: str, work: Path) -> None:
    ids, items = zip(*long_rows(), strict=True)
    table = pl.DataFrame({"basket": ids, "what": items})
    written(table, work / f"in{suffix}", suffix)
    Path("p.toml").write_text("format = 'long'\nprivate = []\nk = 5\np = 2\n")
    run("transactions", "release", f"in{suffix}", "-p", "p.toml", "-o", f"out{suffix}")
    run("transactions", "verify", f"out{suffix}", "-p", "p.toml")
    again = transactions.release(table, "p.toml")
    assert again.suppressed == ["rare thing"]
    assert again.table.columns == ["basket", "what"]
    assert again.table["basket"].to_list()[-1] == 60  # ids are numbers of the released order
    sizes = again.table.group_by("basket", maintain_order=True).len()["len"].to_list()
    assert sizes == sorted(sizes)


def test_input_order_keeps_ids(tmp_path: Path) -> None:
    rows = long_rows()
    frame = pl.DataFrame({"basket": [a for a, _ in rows], "item": [b for _, b in rows]})
    policy = {"format": "long", "private": [], "k": 5, "p": 2, "order": "input"}
    found = transactions.release(frame, policy).table
    wanted = [(a, b) for a, b in rows if b != "rare thing"]
    assert sorted(found.rows()) == sorted(wanted, key=lambda pair: (pair[0], pair[1] or ""))
    assert list(dict.fromkeys(found["basket"])) == list(dict.fromkeys(a for a, _ in rows))


def test_sets_and_matrices() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    rows = [{0, 1}, {0, 1}, {0, 2}, {1}, set()]
    policy = {"private": [], "k": 2, "order": "input"}
    found = transactions.release(rows, policy)
    assert found.table == [{0, 1}, {0, 1}, {0}, {1}, set()]
    matrix = sparse.csr_matrix([[1, 1, 0], [1, 1, 0], [1, 0, 1], [0, 1, 0], [0, 0, 0]])
    masked = transactions.release(matrix, policy, names=["x", "y", "z"])
    assert masked.suppressed == ["z"]
    assert masked.table.toarray().tolist() == [[1, 1, 0], [1, 1, 0], [1, 0, 0], [0, 1, 0], [0] * 3]
    assert transactions.verify(masked.table, policy).holds


@pytest.mark.parametrize("method", ["best", "greedy", "levels", "grow"])
@pytest.mark.parametrize("seed", range(6))
def test_against_the_definition(method: str, seed: int) -> None:
    """Names, patterns, neither public nor private: the whole way, checked by brute force."""
    rng = random.Random(seed)
    names = [f"{kind}{i}" for kind in ("pub", "no", "s") for i in range(5)]
    rows = [{name for name in names if rng.random() < 0.3} for _ in range(60)]
    policy: dict[str, Any] = {
        "private": ["s*"], "public": ["pub*"], "h": "1/2", "k": rng.choice([2, 4, 6]),
        "p": rng.choice([1, 2, 3, "unlimited"]), "method": method, "order": "input",
    }  # fmt: skip
    found = transactions.release(rows, policy)
    numbers = {name: i for i, name in enumerate(names)}
    case = naive.Case(
        tuple(frozenset(numbers[n] for n in row if n[0] == "p") for row in found.table),
        tuple(frozenset(numbers[n] for n in row if n[0] == "s") for row in found.table),
        policy["k"], Fraction(1, 2), None if policy["p"] == "unlimited" else policy["p"],
    )  # fmt: skip
    assert not naive.moles(case)
    assert all(item.startswith("pub") for item in found.suppressed)
    assert found.table == [row - set(found.suppressed) for row in rows]
    assert found.finding.holds


def test_infeasible() -> None:
    rows = [{"a", "s"}] * 6 + [{"a"}] * 4
    with pytest.raises(Unsatisfiable) as caught:
        transactions.release(rows, {"private": ["s"], "h": 0.5, "k": 2})
    assert '"3/5"' in caught.value.text()
    assert transactions.release(rows, {"private": ["s"], "h": "3/5", "k": 2}).finding.holds
    refusal(lambda: transactions.release(rows, {"private": [], "k": 11}), "10", kind=Unsatisfiable)


@pytest.mark.usefixtures("baskets")
def test_not_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    """A verifier that is not done says so, and nothing is released on a guess."""
    from reticent.privacy import coherence

    recount = coherence.recount
    monkeypatch.setattr(coherence, "recount", lambda *given: recount(*given, budget=1))
    said = run("transactions", "verify", "in.dat", "-p", "p.toml", code=2)
    assert "Not decided" in said.stdout
    run("transactions", "release", "in.dat", "-p", "p.toml", "-o", "out", code=2)
    assert not Path("out").exists()


@pytest.mark.usefixtures("baskets")
def test_the_verifier_has_the_last_word(monkeypatch: pytest.MonkeyPatch) -> None:
    from reticent.data.baskets import Baskets

    monkeypatch.setattr(Baskets, "without", lambda self, gone: self)
    run("transactions", "release", "in.dat", "-p", "p.toml", "-o", "out", code=70)
    assert sorted(os.listdir()) == ["in.dat", "p.toml"]


def test_parquet_of_numbers(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"id": [1, 1, 2, 2, 3], "item": [10, 20, 10, 20, 30]}), tmp_path / "a.parquet"
    )
    policy = {"format": "long", "private": [], "k": 2}
    found = transactions.release(tmp_path / "a.parquet", policy, output=tmp_path / "b.parquet")
    assert found.suppressed == ["30"]
    assert pq.read_table(tmp_path / "b.parquet").to_pydict() == {
        "id": [1, 2, 2, 3, 3], "item": [None, "10", "20", "10", "20"],
    }  # fmt: skip


def test_what_is_no_release_is_not_evaluated() -> None:
    """Not even where every item is as frequent as it was."""
    policy = {"private": [], "k": 1}
    before = [{"a", "b"}, {"c", "d"}, {"a", "c"}, {"b", "d"}]
    other = [{"a", "d"}, {"c", "b"}, {"a", "c"}, {"b", "d"}]
    refusal(lambda: transactions.evaluate(before, other, policy), "no release of these baskets")
    assert transactions.evaluate(before, before[::-1], policy).occurrences == (8, 8)


@pytest.mark.slow
def test_long_baskets_and_any_number_of_known_items() -> None:
    """More minimal moles than anybody can list; the release is found all the same."""
    rng = random.Random(1)
    names = [f"i{i}" for i in range(60)]
    rows = [{name for name in names if rng.random() < 0.95} for _ in range(25)] + [{*names}]
    for policy in ({"private": [], "k": 2}, {"private": [], "k": 2, "method": "grow"}):
        found = transactions.release(rows, policy)
        assert found.finding.holds
        assert len(found.suppressed) < 20


def test_stopped_at_any_point(baskets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C writes the release so far, once there is one, and nothing before; so does a watch."""
    from reticent.suppress.baskets import methods
    from reticent.suppress.sets import Budget

    for name in ("_AT_ONCE", "_HOPELESS", "_PATIENT"):  # moles are listed where they matter only
        monkeypatch.setattr(methods, name, Budget(sets=2, work=10**9))
    policy = baskets / "p.toml"
    policy.write_text(policy.read_text().replace("k = 3", "k = 2"))
    release = ("transactions", "release", "in.dat", "-p", "p.toml", "-o", "out")
    for said in interrupted_everywhere(monkeypatch, *release):
        for side in ("public", "private"):
            page = (baskets / "out" / side / "report.html").read_text()
            early = "stopped before its end" in page or "Stopped early" in page
            assert early == json.loads(said.stdout)["stopped_early"]
        run("transactions", "verify", "out", "-p", "p.toml")


# --- columns that a policy names -------------------------------------------------------------------

DIARY = """\
format = "long"
columns = { basket = "person", item = "mood" }
private = []
k = 2
"""


def diary() -> pl.DataFrame:
    """Items stand before baskets, and between columns that are nobody's business."""
    moods = ["calm", "glad", "calm", "glad", "calm", "odd"]
    people = ["p7", "p7", "p3", "p3", "p9", "p9"]
    days = [f"SECRET-{i}" for i in range(6)]
    return pl.DataFrame({"day": days, "mood": moods, "note": days, "person": people})


@pytest.mark.parametrize("order", ["sorted", "input"])
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz", ".parquet", ".arrow"])
def test_named_columns_of_files(suffix: str, order: str, work: Path) -> None:
    written(diary(), work / f"in{suffix}", suffix)
    Path("p.toml").write_text(DIARY + f'order = "{order}"\n')
    for out in (f"out{suffix}", "out"):
        run("transactions", "release", f"in{suffix}", "-p", "p.toml", "-o", out)
        run("transactions", "verify", out, "-p", "p.toml")
        done = run("transactions", "evaluate", f"in{suffix}", out, "-p", "p.toml", "--json")
        assert json.loads(done.stdout)["occurrences"]["after"] == 5
    run("verify", "out")
    run("transactions", "risk", f"in{suffix}", "-p", "p.toml")
    run("policy", "check", "p.toml", f"in{suffix}")
    data = next(Path("out/public").glob("data.*"))
    for path in (Path(f"out{suffix}"), data):
        back = transactions.release(path, {"format": "long", "private": [], "k": 1}).table
        assert back.column_names == ["person", "mood"]
    assert not [p for p in Path("out").rglob("*") if p.is_file() and b"SECRET" in p.read_bytes()]


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
def test_named_columns_of_frames(kind: str) -> None:
    frame: Any = diary()
    frame = {"polars": frame, "pandas": frame.to_pandas(), "pyarrow": frame.to_arrow()}[kind]
    policy = transactions.Policy.parse(DIARY)
    found = transactions.release(frame, policy)
    assert type(found.table) is type(frame)
    assert list(getattr(found.table, "column_names", found.table.columns))[:2] == ["person", "mood"]
    assert found.suppressed == ["odd"]
    assert transactions.verify(found.table, policy).holds
    assert transactions.evaluate(frame, found.table, policy).occurrences == (6, 5)
    assert transactions.risk(frame, policy).items == 3


def test_a_table_that_is_out_has_no_other_columns() -> None:
    """Nothing is promised of them, and whoever reads the table sees them."""
    table = diary().filter(pl.col("mood") != "odd")
    found = transactions.verify(table, transactions.Policy.parse(DIARY))
    assert found.finding.holds
    assert not found.holds
    assert 'the table also has "day", "note"' in found.altered[0].text()


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ('columns = { basket = "a" }', "columns, item: this key is needed here"),
        ('columns = { basket = "a", item = "a" }', "stand in two columns"),
        ('columns = { basket = "a", items = "b" }', 'Did you mean "item"?'),
        ('columns = { basket = 1, item = "b" }', "columns, basket: write a text in quotes"),
        ('columns = ["a", "b"]', "columns"),
    ],
)
def test_columns_that_cannot_be_meant(said: str, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        transactions.Policy.parse(f'format = "long"\n{said}\nprivate = []\nk = 2\n')
    assert reason in caught.value.text()


def test_only_tables_have_columns() -> None:
    with pytest.raises(InputError, match='set  format = "long"'):
        transactions.Policy.parse(DIARY.replace('"long"', '"basket"'))
    parts = transactions.Policy.json_schema()
    assert set(parts["$defs"]["BasketColumns"]["properties"]) == {"basket", "item"}
    assert transactions.Policy.parse(transactions.Policy.parse(DIARY).canonical()).columns


# --- lines that a sign parts -----------------------------------------------------------------------

COMMAS = """\
whole milk,rolls/buns, brandy
whole milk,"nuts, mixed",rolls/buns
"nuts, mixed",whole milk

rolls/buns,whole milk,"nuts, mixed",brandy
whole milk,SECRET thing
"""
PARTED = 'separator = ","\nprivate = ["brandy"]\nh = 0.5\nk = 2\np = 2\n'


@pytest.mark.parametrize("how", ["policy", "option"])
def test_lines_parted_by_commas(how: str, work: Path) -> None:
    """The output is parted as the input was, and the verifier reads it by itself."""
    Path("in.csv").write_text(COMMAS)
    Path("p.toml").write_text(PARTED if how == "policy" else PARTED.partition("\n")[2])
    option = [] if how == "policy" else ["--separator", ","]
    for out in ("out", "out.csv"):
        run("transactions", "release", "in.csv", "-p", "p.toml", "-o", out, *option)
    text = Path("out.csv").read_text()
    assert text == Path("out/public/data.csv").read_text()
    kept = [{*line} for line in csv.reader(text.splitlines())]
    rows = [{*map(str.strip, line)} for line in csv.reader(COMMAS.splitlines())]
    again = transactions.release(rows, "p.toml")
    assert kept == again.table
    assert {"SECRET thing", "rolls/buns"} == {*again.suppressed}
    run("transactions", "verify", "out.csv", "-p", "p.toml", *option)
    run("transactions", "verify", "out")  # whose manifest says what parts its items
    run("verify", "out")
    page = Path("out/private/report.html").read_text()
    assert ("--separator" in page) == (how == "option")
    told = json.loads(
        run("transactions", "evaluate", "in.csv", "out", "-p", "p.toml", "--json", *option).stdout
    )
    assert told["items"]["after"] == 3


@pytest.mark.parametrize(
    ("content", "policy", "said"),
    [
        ("whole milk, rolls\nmilk, tea\n", "", 'separator = ","'),
        ("a;b c\nb;c\n", "", 'separator = ";"'),
        ("whole milk\nmilk rolls\n", 'separator = ","', "no line of in.dat holds"),
        ("1,5 2,5\n1,5\n", "", ""),
    ],
)
def test_lines_cut_at_the_wrong_sign_are_pointed_out(
    content: str, policy: str, said: str, work: Path
) -> None:
    Path("in.dat").write_text(content)
    Path("p.toml").write_text(f"{policy}\nprivate = []\nk = 1\n")
    for command in (
        ["transactions", "release", "in.dat", "-p", "p.toml", "-o", "out.dat"],
        ["transactions", "risk", "in.dat", "-p", "p.toml"],
        ["transactions", "verify", "in.dat", "-p", "p.toml"],
        ["policy", "check", "p.toml", "in.dat"],
    ):
        told = run(*command)
        heard = told.stderr + told.stdout
        assert (said in heard) if said else "separator" not in heard


@pytest.mark.usefixtures("baskets")
def test_separators_that_cannot_be_meant(work: Path) -> None:
    release = ["transactions", "release", "in.dat", "-p", "p.toml", "-o", "out"]
    assert "parted by" in run(*release, "--separator", "/", code=2).stderr
    assert 'separator = ","' in run(*release, "--delimiter", ",", code=2).stderr
    Path("long.toml").write_text("format = 'long'\nprivate = []\nk = 2\n")
    Path("in.csv").write_text("id,item\n1,a\n")
    release = ["transactions", "release", "in.csv", "-p", "long.toml", "-o", "out"]
    assert "only lines" in run(*release, "--separator", ",", code=2).stderr
    Path("in.csv").write_text("a,b\nc,d\n")
    release = ["transactions", "release", "in.csv", "-p", "p.toml", "-o", "out"]
    assert 'separator = ","' in run(*release, code=2).stderr


HIDDEN = "milk,hiv-test\n" * 3
NAMED = 'private = ["hiv-test"]\nh = 0.5\nk = 1\np = 1\n'


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(",", "|"), (",", ";"), (",", "\t"), (",", " "), (",", None), (" ", ","), (";", ",")],
)
def test_a_manifest_does_not_say_against_the_policy_what_parts_items(
    ours: str, theirs: str | None, work: Path
) -> None:
    Path("in.dat").write_text(HIDDEN.replace(",", ours))
    Path("p.toml").write_text(f"separator = {json.dumps(ours)}\nprivate = []\nk = 1\n")
    run("transactions", "release", "in.dat", "-p", "p.toml", "-o", "out")
    manifest = Path("out/public/manifest.json")
    said = json.loads(manifest.read_text())
    said.pop("separator", None)
    manifest.write_text(json.dumps(said if theirs is None else {**said, "separator": theirs}))
    Path("p.toml").write_text(f"separator = {json.dumps(ours)}\n{NAMED}")
    for command in (["verify", "out"], ["evaluate", "in.dat", "out"], ["risk", "out"]):
        heard = run("transactions", *command, "-p", "p.toml", code=2).stderr
        assert ("blank" if ours == " " else f'"{ours}"') in heard
        assert ("blanks" if theirs in (None, " ") else {"\t": '"tab"'}.get(theirs, theirs)) in heard


@pytest.mark.parametrize(
    ("policy", "lines"),
    [
        (",", "milk;hiv-test\n" * 3),
        (",", "milk\thiv-test\n" * 3 + "a,b\n"),
        (",", "milk hiv-test\n" * 3),
        (",", "milk|tea\nx|y\n"),
        (" ", "milk,hiv-test\n" * 3),
    ],
)
def test_lines_that_look_parted_otherwise_are_not_judged(
    policy: str, lines: str, work: Path
) -> None:
    """A private item in them would go unseen; who asks can say that they are parted so."""
    Path("out.dat").write_text(lines)
    Path("p.toml").write_text(f'separator = "{policy}"\n{NAMED}')
    heard = run("transactions", "verify", "out.dat", "-p", "p.toml", code=2).stderr
    assert "parted" in heard
    assert "hiv" not in heard
    option = "blank" if policy == " " else policy
    run("transactions", "verify", "out.dat", "-p", "p.toml", "--separator", option)
    Path("fit.dat").write_text("whole milk\n" * 3 if policy == "," else "a b\n" * 3)
    run("transactions", "verify", "fit.dat", "-p", "p.toml")


def test_a_fault_of_the_door_does_not_get_past_the_verifier(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reticent.files.basket_lines import SeparatedLines

    Path("in.dat").write_text('milk, tea\n"a ""b"",c " , d\n\nmilk,milk\n')
    Path("p.toml").write_text('separator = ","\nprivate = []\nk = 1\n')
    command = ["transactions", "verify", "in.dat", "-p", "p.toml"]
    run(*command)
    plain = SeparatedLines._quoted
    monkeypatch.setattr(SeparatedLines, "_quoted", lambda self, text: plain(self, text.lower()))
    run(*command)
    monkeypatch.setattr(
        SeparatedLines, "_quoted", lambda self, text: plain(self, text.replace("tea", "te,a"))
    )
    assert "in.dat, line 1" in run(*command, code=70).stderr
