"""Baskets at the command line and from Python, end to end."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import signal
import stat
from collections import Counter
from fractions import Fraction
from itertools import count as counting
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from naive import transactions as naive
from reticent import transactions
from reticent.errors import InputError, Stopped, Unsatisfiable
from reticent.progress import Watch
from reticent.transactions import text
from terminal import run

ROWS = ["abef|1", "cefg|2", "abg|3", "abfg|2", "abdg|2", "efg|1", "befg|3"]
EXAMPLE = "private = ['s*']\nh = 0.5\nk = 3\np = 3\n"


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """The worked example as a basket file."""
    lines = [" ".join([*row.split("|")[0], "s" + row.split("|")[1]]) for row in ROWS]
    (tmp_path / "in.dat").write_text("\n".join(lines) + "\n")
    (tmp_path / "p.toml").write_text(EXAMPLE)
    return tmp_path


def test_worked_example(example: Path) -> None:
    done = run("transactions", "release", example / "in.dat", "-p", example / "p.toml",
               "-o", example / "out.dat", "--json")  # fmt: skip
    said = json.loads(done.stdout)
    assert said["items"] == {
        "before": 10, "after": 6, "suppressed": 4, "public": 7, "private": 3,
    }  # fmt: skip
    assert said["moles"] == {"found": 7, "all": True}
    assert said["templates"] == [
        {"kind": "coherence", "h": "1/2", "k": 3, "p": 3, "verified": True}
    ]
    released = (example / "out.dat").read_text().splitlines()
    assert released == sorted(released, key=lambda line: (len(line.split()), line))
    assert Counter(released) == Counter(
        ["e f s1", "e f g s2", "g s3", "f g s2", "g s2", "e f g s1", "e f g s3"]
    )
    run("transactions", "verify", example / "out.dat", "-p", example / "p.toml")
    run("transactions", "verify", example / "in.dat", "-p", example / "p.toml", code=1)


def test_release_folder(example: Path) -> None:
    out = example / "out"
    said = run("transactions", "release", example / "in.dat", "-p", example / "p.toml", "-o", out)
    assert "4 of 10 items suppressed" in said.stdout
    assert {file.name for file in (out / "public").iterdir()} == {
        "data.dat", "report.html", "report.json", "manifest.json",
    }  # fmt: skip
    private = out / "private"
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    gone = json.loads((private / "suppressed.json").read_text())
    assert [item["item"] for item in gone["suppressed"]] == ["c", "d", "a", "b"]
    assert "promise holds" in run("transactions", "verify", out, "-p", example / "p.toml").stdout
    run("transactions", "verify", out / "public", "-p", example / "p.toml")
    run("transactions", "release", example / "in.dat", "-p", example / "p.toml", "-o", out, code=2)
    run(
        "transactions",
        "release",
        example / "in.dat",
        "-p",
        example / "p.toml",
        "-o",
        out,
        "--force",
    )


def test_public_side_names_no_suppressed_item(tmp_path: Path) -> None:
    """Neither page nor report nor terminal tells an item that is not in the release."""
    rows = ["milk bread"] * 9 + ["milk xylophone"] + ["bread zebra-crossing"]
    (tmp_path / "in.txt").write_text("\n".join(rows))
    (tmp_path / "p.toml").write_text("private = []\nk = 3\n")
    said = run("transactions", "release", tmp_path / "in.txt", "-p", tmp_path / "p.toml",
               "-o", tmp_path / "out")  # fmt: skip
    texts = [said.output, *(f.read_text() for f in (tmp_path / "out/public").iterdir())]
    for item in ("xylophone", "zebra"):
        assert not any(item in text for text in texts)
        assert item in (tmp_path / "out/private/report.html").read_text()
    given = ("transactions", "verify", tmp_path / "in.txt", "-p", tmp_path / "p.toml")
    quiet = run(*given, "--quiet", code=1)
    assert (quiet.stdout, "BROKEN" in quiet.stderr) == ("", True)
    broken = run(*given, code=1)
    assert "xylophone" not in broken.output
    shown = run("transactions", "verify", tmp_path / "in.txt", "-p", tmp_path / "p.toml",
                "--show-values", code=1)  # fmt: skip
    assert "xylophone" in shown.output or "zebra" in shown.output


def long_rows() -> list[tuple[str, str | None]]:
    rng = random.Random(4)
    names = ["rye bread", "milk", "Käse", 'a "big" one', "tea, green"]
    rows: list[tuple[str, str | None]] = []
    for number in range(60):
        held = [name for name in names if rng.random() < 0.5]
        rows += [(f"id {number}", name) for name in held] or [(f"id {number}", None)]
    return [*rows, ("id 7", "rare thing")]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz", ".parquet", ".arrow"])
def test_long_formats(suffix: str, tmp_path: Path) -> None:
    ids, items = zip(*long_rows(), strict=True)
    table = pl.DataFrame({"basket": ids, "what": items})
    path = tmp_path / f"in{suffix}"
    if suffix == ".parquet":
        table.write_parquet(path)
    elif suffix == ".arrow":
        table.write_ipc(path)
    else:
        text = table.write_csv(separator="\t" if suffix == ".tsv" else ",")
        packed = gzip.compress(text.encode()) if suffix.endswith("gz") else text.encode()
        path.write_bytes(packed)
    (tmp_path / "p.toml").write_text("format = 'long'\nprivate = []\nk = 5\np = 2\n")
    out = tmp_path / f"out{suffix}"
    run("transactions", "release", path, "-p", tmp_path / "p.toml", "-o", out)
    run("transactions", "verify", out, "-p", tmp_path / "p.toml")
    again = transactions.release(table, tmp_path / "p.toml")
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
    with pytest.raises(Unsatisfiable) as caught:
        transactions.release(rows, {"private": [], "k": 11})
    assert "10" in caught.value.text()


def test_infeasible_at_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "in.dat").write_text("a s\nb s\n")
    (tmp_path / "p.toml").write_text("private = ['s']\nh = 0.4\nk = 9\n")
    said = run("transactions", "release", tmp_path / "in.dat", "-p", tmp_path / "p.toml",
               "-o", tmp_path / "out", code=3)  # fmt: skip
    assert "k = 9" in said.stderr
    assert "strictest h" in said.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [("empty.dat", "", "no transaction"), ("missing.dat", None, "no such file")],
)
def test_bad_input(name: str, content: str | None, said: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    (tmp_path / "p.toml").write_text("private = []\nk = 2\n")
    found = run("transactions", "release", tmp_path / name, "-p", tmp_path / "p.toml",
                "-o", tmp_path / "out.dat", code=2)  # fmt: skip
    assert said in found.stderr
    assert not (tmp_path / "out.dat").exists()


def test_outputs_that_cannot_be(example: Path) -> None:
    policy = example / "p.toml"
    for name, said in (("out.parquet", "cannot be written"), ("in.dat", "exists")):
        found = run("transactions", "release", example / "in.dat", "-p", policy,
                    "-o", example / name, code=2)  # fmt: skip
        assert said in found.stderr
    found = run("transactions", "release", example / "in.dat", "-p", policy,
                "-o", example / "in.dat", "--force", code=2)  # fmt: skip
    assert "input" in found.stderr
    assert len((example / "in.dat").read_text().splitlines()) == 7


def test_risk(example: Path) -> None:
    chart = example / "risk.svg"
    said = run("transactions", "risk", example / "in.dat", "-p", example / "p.toml", "--json",
               "--known", 2, "--chart", chart)  # fmt: skip
    found = json.loads(said.stdout)
    assert [level["known"] for level in found["levels"]] == [0, 1, 2]
    # c and d single out the second and the fifth; e with a the first, f with a ...
    assert found["levels"][1]["unique"] == 2
    assert found["levels"][0]["largest_confidence"] == "3/7"
    assert chart.read_text().startswith("<svg")
    assert "known items" in run("transactions", "risk", example / "in.dat", "-p",
                                example / "p.toml").stdout  # fmt: skip


def test_evaluate(example: Path) -> None:
    run(
        "transactions",
        "release",
        example / "in.dat",
        "-p",
        example / "p.toml",
        "-o",
        example / "out",
    )
    said = run("transactions", "evaluate", example / "in.dat", example / "out", "-p",
               example / "p.toml", "--json")  # fmt: skip
    found = json.loads(said.stdout)
    assert found["occurrences"] == {"before": 33, "after": 22, "loss": round(11 / 33, 6)}
    assert found["exposed"]["after"][-1]["below_k"] == 0
    # Every public item is in some mole: g with a, f with a, e with a.
    assert found["baselines"]["every item of every mole"]["occurrences"] == round(26 / 33, 6)
    whole = found["baselines"]["k-anonymity of whole baskets"]["occurrences"]
    assert whole >= found["occurrences"]["loss"]
    other = run("transactions", "evaluate", example / "out/public/data.dat", example / "in.dat",
                "-p", example / "p.toml", code=2)  # fmt: skip
    assert "no release of these baskets" in other.stderr


def test_a_pattern_that_matches_nothing_is_a_warning(example: Path) -> None:
    (example / "p.toml").write_text("private = ['s*', 'q*']\nh = 0.5\nk = 3\np = 3\n")
    said = run("transactions", "release", example / "in.dat", "-p", example / "p.toml",
               "-o", example / "out")  # fmt: skip
    assert 'private: "q*" matches no item' in said.stderr


def test_same_bytes_twice(example: Path) -> None:
    for name in ("one", "two"):
        run("transactions", "release", example / "in.dat", "-p", example / "p.toml",
            "-o", example / name)  # fmt: skip
    for path in (example / "one/public").iterdir():
        assert path.read_bytes() == (example / "two/public" / path.name).read_bytes()


def test_not_decided(example: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A verifier that is not done says so, and nothing is released on a guess."""
    from reticent.privacy import coherence

    recount = coherence.recount
    monkeypatch.setattr(coherence, "recount", lambda *given: recount(*given, budget=1))
    said = run("transactions", "verify", example / "in.dat", "-p", example / "p.toml", code=2)
    assert "Not decided" in said.stdout
    run("transactions", "release", example / "in.dat", "-p", example / "p.toml",
        "-o", example / "out", code=2)  # fmt: skip
    assert not (example / "out").exists()


def test_the_verifier_has_the_last_word(example: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from reticent.data.baskets import Baskets

    monkeypatch.setattr(Baskets, "without", lambda self, gone: self)
    run("transactions", "release", example / "in.dat", "-p", example / "p.toml",
        "-o", example / "out", code=70)  # fmt: skip
    assert sorted(os.listdir(example)) == ["in.dat", "p.toml"]


def test_a_policy_for_tables_is_no_policy_for_baskets(example: Path) -> None:
    (example / "p.toml").write_text("keep = ['a']\n[[anonymity]]\nover = ['b']\nk = 3\n")
    said = run("transactions", "verify", example / "in.dat", "-p", example / "p.toml", code=2)
    assert "policy for tables" in said.stderr
    (example / "p.toml").write_text(EXAMPLE)
    (example / "t.csv").write_text("a,b\n1,2\n")
    said = run("verify", example / "t.csv", "-p", example / "p.toml", code=2)
    assert "policy for baskets" in said.stderr


def test_frames_that_are_no_baskets() -> None:
    policy: dict[str, Any] = {"private": [], "k": 1}
    with pytest.raises(InputError):
        transactions.release(pa.table({"only": [1, 2]}), policy)
    with pytest.raises(InputError):
        transactions.release(["abc", "bcd"], policy)


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


def test_a_file_without_a_header_is_refused(tmp_path: Path) -> None:
    """Its first row would become the names of the columns, and be published."""
    rows = [
        "1,secretmedicine",
        "1,bread",
        *(f"{i},{x}" for i in range(2, 9) for x in ("bread", "milk")),
    ]
    (tmp_path / "in.csv").write_text("\n".join(rows))
    (tmp_path / "p.toml").write_text("format = 'long'\nprivate = []\nk = 2\n")
    said = run("transactions", "release", tmp_path / "in.csv", "-p", tmp_path / "p.toml",
               "-o", tmp_path / "out", code=2)  # fmt: skip
    assert "looks like an id and an item" in said.stderr
    assert "secret" not in said.output


def test_a_table_that_is_called_baskets_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("id,item\ncustomer1,bread\ncustomer2,milk\n")
    (tmp_path / "p.toml").write_text("private = []\nk = 1\n")
    said = run("transactions", "risk", tmp_path / "in.csv", "-p", tmp_path / "p.toml", code=2)
    assert 'format = "long"' in said.stderr


def test_what_is_no_release_is_not_evaluated() -> None:
    """Not even where every item is as frequent as it was."""
    policy = {"private": [], "k": 1}
    before = [{"a", "b"}, {"c", "d"}, {"a", "c"}, {"b", "d"}]
    other = [{"a", "d"}, {"c", "b"}, {"a", "c"}, {"b", "d"}]
    with pytest.raises(InputError, match="no release of these baskets"):
        transactions.evaluate(before, other, policy)
    assert transactions.evaluate(before, before[::-1], policy).occurrences == (8, 8)


def test_a_changed_release_does_not_hold(example: Path) -> None:
    out, policy = example / "out", example / "p.toml"
    run("transactions", "release", example / "in.dat", "-p", policy, "-o", out)
    data = out / "public/data.dat"
    data.write_text("\n".join([*data.read_text().splitlines()[:-1], "e f g s1"]) + "\n")
    said = run("transactions", "verify", out, "-p", policy, code=1)
    assert said.stdout.startswith("ALTERED")
    policy.write_text("format = 'long'\n" + EXAMPLE)
    assert "no data of format" in run("transactions", "verify", out, "-p", policy, code=2).stderr


def test_a_release_without_its_report_does_not_hold(example: Path) -> None:
    out, policy = example / "out", example / "p.toml"
    run("transactions", "release", example / "in.dat", "-p", policy, "-o", out)
    (out / "public/report.html").unlink()
    for place in (out, out / "public"):
        said = run("transactions", "verify", place, "-p", policy, code=1)
        assert "report.html is missing" in said.stdout


def test_policy_check(example: Path) -> None:
    policy = example / "p.toml"
    assert "It promises:" in run("policy", "check", policy).stdout
    assert "valid policy and fits" in run("policy", "check", policy, example / "in.dat").stdout
    policy.write_text(EXAMPLE.replace("k = 3", "k = 200"))
    assert "200" in run("policy", "check", policy, example / "in.dat", code=3).stderr


def test_what_verify_tells_if_it_may(example: Path) -> None:
    args = ("transactions", "verify", example / "in.dat", "-p", example / "p.toml", "--json")
    shown = json.loads(run(*args, "--show-values", code=1).stdout)["templates"][0]
    assert shown["known"]
    assert "known" not in json.loads(run(*args, code=1).stdout)["templates"][0]


def test_public_policy_names_nothing_that_is_gone(tmp_path: Path) -> None:
    rows = ["milk bread"] * 9 + ["milk xylophone"]
    (tmp_path / "in.txt").write_text("\n".join(rows))
    policy = (
        "private = ['rumm']\npublic = ['milk', 'bread', 'xylophone', 'xylofone']\nh = 0.5\nk = 3\n"
    )
    (tmp_path / "p.toml").write_text(policy)
    said = run("transactions", "release", tmp_path / "in.txt", "-p", tmp_path / "p.toml",
               "-o", tmp_path / "out")  # fmt: skip
    page = (tmp_path / "out/public/report.html").read_text()
    assert "xylo" not in page
    assert "private item" not in page.partition("</h3>")[0]  # there is none
    assert "xylophone" not in said.output
    checked = run("transactions", "verify", tmp_path / "out", "-p", tmp_path / "p.toml")
    assert "xylo" not in checked.output


def test_long_baskets_and_any_number_of_known_items() -> None:
    """More minimal moles than anybody can list; the release is found all the same."""
    rng = random.Random(1)
    names = [f"i{i}" for i in range(60)]
    rows = [{name for name in names if rng.random() < 0.95} for _ in range(25)] + [{*names}]
    for policy in ({"private": [], "k": 2}, {"private": [], "k": 2, "method": "grow"}):
        found = transactions.release(rows, policy)
        assert found.finding.holds
        assert len(found.suppressed) < 20


def test_stopped_at_any_point(example: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C writes the release so far, once there is one, and nothing before; so does a watch."""
    from reticent.suppress.baskets import methods
    from reticent.suppress.sets import Budget, Halt

    for name in ("_AT_ONCE", "_HOPELESS", "_PATIENT"):  # moles are listed where they matter only
        monkeypatch.setattr(methods, name, Budget(sets=2, work=10**9))
    (example / "p.toml").write_text(EXAMPLE.replace("k = 3", "k = 2"))
    release = ("transactions", "release", example / "in.dat", "-p", example / "p.toml", "-o")
    ask, codes = Halt.now, []
    for point in counting():
        asked = counting()

        def now(self: Halt, point: int = point, asked: Any = asked) -> bool:
            if next(asked) == point:
                signal.raise_signal(signal.SIGINT)
            return ask(self)

        with monkeypatch.context() as patch:
            patch.setattr(Halt, "now", now)
            said = run(*release, example / "out", "--json", code=None)
        codes.append(said.exit_code)
        if said.exit_code:
            assert said.exit_code == 130
            assert not (example / "out").exists()
            continue
        told = json.loads(said.stdout)
        assert (
            json.loads((example / "out/public/report.json").read_text())["stopped_early"]
            == (told["stopped_early"])
        )
        for side in ("public", "private"):
            page = (example / "out" / side / "report.html").read_text()
            early = "stopped before its end" in page or "Stopped early" in page
            assert early == told["stopped_early"]
        run("transactions", "verify", example / "out", "-p", example / "p.toml")
        shutil.rmtree(example / "out")
        if not told["stopped_early"]:
            break
    assert codes == sorted(codes, reverse=True)
    assert codes.count(0) > 2


def test_stopped_from_python() -> None:
    rows = [{*row.replace("|", "")} for row in ROWS]
    policy = {"private": ["1", "2", "3"], "h": 0.5, "k": 3, "p": 3}
    early = 0
    for points in counting():
        left = iter(range(points))
        watch = Watch(stop=lambda left=left: next(left, None) is None)  # type: ignore[misc]
        try:
            found = transactions.release(rows, policy, watch=watch)
        except Stopped:
            continue
        assert transactions.verify(found.table, policy).holds
        assert found.summary()["stopped_early"] is found.stopped_early
        assert ("stopped early" in text.release(found)) == found.stopped_early
        assert ("stopped early" in found._repr_html_()) == found.stopped_early
        if not found.stopped_early:
            break
        early += 1
    assert early
