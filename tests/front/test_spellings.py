"""Values that are written in several ways: pointed out, merged, and never told."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import reticent
from at_hand import SECRET
from reticent.errors import InputError
from reticent.tables.policy import Policy
from terminal import run

SPELT = ["m", "M", "male", "f", "F ", "female"]
SAME = {"male": ["m", "M"], "female": ["f", "F"]}
CLEAN = {"m": "male", "M": "male", "f": "female", "F ": "female"}
BASE: dict[str, Any] = {"trim": True, "anonymity": [{"over": ["Job", "Age"], "k": 3}]}
ROLES: dict[str, dict[str, Any]] = {
    "kept": {"keep": ["Sex"]},
    "sensitive": {"confidence": [{"over": ["Job"], "sensitive": {"Sex": ["male"]}, "at_most": 0.9}]},
    "class": {"class": "Sex"},
    "masked": {"anonymity": [{"over": ["Job", "Age", "Sex"], "k": 3}]},
    "generalized": {
        "anonymity": [{"over": ["Job", "Age", "Sex"], "k": 3}],
        "attributes": {
            "Sex": {"mask": "generalize", "taxonomy": {"ANY": ["male", "female"]}},
        },
    },
}  # fmt: skip


def rows(*, clean: bool) -> list[list[Any]]:
    cells = [CLEAN.get(text, text) if clean else text for text in SPELT]
    return [[("nurse", "cook")[i % 2], 20 + i // 6, cells[i % 6]] for i in range(48)]


def table(path: Path, *, clean: bool = False) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["Job", "Age", "Sex"], *rows(clean=clean)])
    return path


def policy(role: str, same: Any = SAME) -> Policy:
    told = BASE | ROLES[role]
    attribute = {**told.get("attributes", {}).get("Sex", {}), "same": same}
    return Policy.of(told | {"attributes": {"Sex": attribute}})


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("engine", [None, pytest.param("duckdb", marks=pytest.mark.slow)])
def test_a_release_is_that_of_the_table_in_one_spelling(
    tmp_path: Path, role: str, engine: str | None
) -> None:
    odd, plain = table(tmp_path / "odd.csv"), table(tmp_path / "plain.csv", clean=True)
    found = tmp_path / "found.csv"
    told = policy(role)
    released = reticent.release(odd, told, output=found, engine=engine)
    assert released.proof.holds
    wanted = tmp_path / "wanted.csv"
    reticent.release(plain, Policy.of(BASE | ROLES[role]), output=wanted, engine=engine)
    assert found.read_bytes() == wanted.read_bytes()
    assert reticent.verify(found, told).holds
    text = found.read_text(encoding="utf-8")
    if ",male\n" in text:  # a verifier finds what was not merged
        found.write_text(text.replace(",male\n", ",m\n", 1))
        if role == "generalized":
            with pytest.raises(InputError, match="none that the policy can show"):
                reticent.verify(found, told)
        else:
            assert "a spelling that stands for another" in str(
                reticent.verify(found, told).leftovers
            )


def test_beyond_counting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reticent.sources.engines._MOST_PLACES", 1)
    monkeypatch.setattr("reticent.sources.engines.RowSource.values", lambda *_: None, raising=False)
    monkeypatch.setattr("reticent.tables.masking._MOST_JOINS", 0)
    test_a_release_is_that_of_the_table_in_one_spelling(tmp_path, "kept", "duckdb")


def test_later_rows_and_earlier_releases(tmp_path: Path) -> None:
    odd = table(tmp_path / "odd.csv")
    folder = tmp_path / "release"
    reticent.release(odd, policy("masked"), output=f"{folder}/")
    reticent.apply(folder, odd, output=tmp_path / "later.csv")
    assert (tmp_path / "later.csv").read_text() == (folder / "public/data.csv").read_text()
    told = policy("masked")
    assert reticent.evaluate(odd, folder, told).proof.holds
    join = {"previous": {"T1": {"path": str(tmp_path / "first.csv")}}}
    promise = {"anonymity": [{"over": ["Sex", "T1.Sex"], "k": 3}]}
    again = Policy.of(
        {"trim": True, "keep": ["Job", "Age"], "attributes": {"Sex": {"same": SAME}, "Age": {"join": False}}}
        | join | promise
    )  # fmt: skip
    once = {"male": "M", "female": "F "}
    lines = [f"{job},{age},{once[sex]}" for job, age, sex in rows(clean=True)]
    (tmp_path / "first.csv").write_text("\n".join(["Job,Age,Sex", *lines]))
    assert reticent.release(odd, again).proof.holds  # one spelling each is a name for the same
    table(tmp_path / "first.csv")
    with pytest.raises(InputError, match="shows cells apart"):
        reticent.release(odd, again)


MERGING: list[tuple[list[str], list[str], dict[str, Any]]] = [
    (["m", "M", "m", "m"], ["m", "M", "m", "m"], {"same": {"male": ["m", "M"]}}),
    (["m", " m", "m", "m"], ["m", "m", "m", "m"], {"trim": True}),
    (["?", "", "?", "?"], ["", "", "", ""], {"missing_values": ["?"]}),
]


@pytest.mark.parametrize(("first", "second", "told"), MERGING, ids=["same", "trim", "missing"])
@pytest.mark.parametrize("counted", ["confidence", "anonymity", "only joined"])
def test_what_is_out_is_not_merged_after_the_fact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: list[str], second: list[str],
    told: dict[str, Any], counted: str,
) -> None:  # fmt: skip
    """Whoever has an earlier release sees its cells as they are, whatever a policy says of them."""
    kinds = ["flu", "hiv", "flu", "flu"]
    out = "\n".join(["Sex,Dis", *(f'"{a}",{b}' for a, b in zip(first, kinds, strict=True))])
    (tmp_path / "r1.csv").write_text(out + "\n")
    new = [f'{i},"{a}",100' for i, a in enumerate(second)]
    (tmp_path / "d2.csv").write_text("\n".join(["Id,Sex,Zip", *new]) + "\n")
    both = ["Sex", "first.Sex"]
    said: dict[str, Any] = {"drop": ["Id"], "keep": ["Zip"]}
    said["previous"] = {"first": {"path": str(tmp_path / "r1.csv")}}
    said |= {key: value for key, value in told.items() if key != "same"}
    if "same" in told:
        said["attributes"] = {"Sex": {"same": told["same"]}}
    if counted == "confidence":
        sure = {"over": both, "sensitive": {"first.Dis": ["hiv"]}, "at_most": 0.5}
        said["confidence"] = [sure]
    elif counted == "anonymity":
        said["anonymity"] = [{"over": both, "k": 2}]
    else:
        said |= {"keep": ["Sex"], "anonymity": [{"over": ["Zip", "first.Dis"], "k": 1}]}
    asked = Policy.of(said)
    with pytest.raises(InputError, match='column "Sex" shows cells apart'):
        reticent.release(tmp_path / "d2.csv", asked)
    label = "male" if "same" in told else second[0]
    (tmp_path / "o.csv").write_text("\n".join(["Sex,Zip", *[f'"{label}",100'] * 4]) + "\n")
    with pytest.raises(InputError, match='column "Sex" shows cells apart'):
        reticent.verify(tmp_path / "o.csv", asked)
    monkeypatch.setattr("reticent.tables.previous.check._merged", lambda *_: ())
    with pytest.raises(InputError, match='of column "Sex" that differ would be counted as one'):
        reticent.verify(tmp_path / "o.csv", asked)  # its recounting tells, too


def test_cells_that_a_release_of_any_kind_shows_apart_are_not_counted_as_one(
    tmp_path: Path,
) -> None:
    out, first = tmp_path / "out.csv", tmp_path / "first.csv"
    asked: dict[str, Any] = {"keep": ["Zip"], "trim": True}
    asked["anonymity"] = [{"over": ["Sex"], "k": 4}]
    out.write_text("Sex,Zip\nm,1\nm,1\nm,1\nm,1\n")
    assert reticent.verify(out, asked).holds
    out.write_text('Sex,Zip\nm,1\n" m",1\nm,1\nm,1\n')
    verdict = reticent.verify(out, asked)
    assert verdict.holds is False
    assert "differ in blanks" in str(verdict.leftovers)
    first.write_text("Sex,Dis\n?,flu\n?,hiv\n?,flu\n?,flu\n")
    out.write_text('Sex,Zip\n?,1\n"",1\n?,1\n"",1\n')
    told: dict[str, Any] = {"keep": ["Zip"], "missing_values": ["?"]}
    told["previous"] = {"T1": {"path": str(first)}}
    told["anonymity"] = [{"over": ["Sex", "T1.Sex"], "k": 2}]
    with pytest.raises(InputError, match="several of them mean missing"):
        reticent.verify(out, told)


def test_what_a_draft_and_warnings_say(tmp_path: Path) -> None:
    odd = tmp_path / "odd.csv"
    lines = [f"{('nurse', 'cook')[i % 2]},{('Mx', 'mX', 'f', ' f')[i // 2 % 4]}" for i in range(80)]
    odd.write_text("\n".join(["Job,Sex", *lines]))
    quiet, loud = reticent.tables.draft(odd), reticent.tables.draft(odd, show_values=True)
    assert "trim = true  # 20 cells" in quiet
    assert "2 values look like 1" in quiet
    assert "Mx" not in quiet
    assert '# same = { Mx = ["mX"] }' in loud
    said = " ".join(
        reticent.release(odd, {"anonymity": [{"over": ["Job", "Sex"], "k": 2}]}).warnings
    )
    assert 'column "Sex": 20 cells with blanks around' in said
    assert "2 values look like 1" in said
    assert "Mx" not in said
    (tmp_path / "p.toml").write_text('[[anonymity]]\nover = ["Job", "Sex"]\nk = 2\n')
    command = ["release", odd, "-p", tmp_path / "p.toml", "-o", tmp_path / "o.csv"]
    assert "Mx" not in run(*command).stderr
    assert "writes in several ways: 'Mx', 'mX'" in run(*command, "--force", "--show-values").stderr
    assert "2 values look like 1" in run("policy", "check", tmp_path / "p.toml", odd).stderr
    drafted = Policy.parse(loud.replace("# same", "same"))
    assert Policy.parse(drafted.canonical()).attributes == drafted.attributes


def _typed(path: Path) -> Any:
    import pyarrow as pa

    data = pa.table({"Sex": [1, 2] * 9})
    told = {"anonymity": [{"over": ["Sex"], "k": 2}], "attributes": {"Sex": {"same": {"1": "2"}}}}
    return reticent.release(data, told)


def _said(**more: Any) -> Callable[[Path], Any]:
    def check(path: Path) -> Any:
        return Policy.of(BASE | {"keep": ["Sex"]} | more).roles(["Job", "Age", "Sex"])

    return check


def _same(same: Any, **more: Any) -> Callable[[Path], Any]:
    return _said(attributes={"Sex": {"same": same}}, **more)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (_same({"a": ["b"], "c": ["b"]}), "stands twice"),
        (_same({"a": ["b", "b"]}), "stands twice"),
        (_same({"a": ["b"], "b": ["c"]}), "a value and a spelling"),
        (_same({"a": ["a"]}), "a value and a spelling"),
        (_same({"a": []}), "list how else"),
        (_same(["a", "b"]), "say what each value is, and how else it is written"),
        (_same({"a": [""]}), "an empty cell is no spelling"),
        (_same({"a": ["*"]}), "is the marker or means missing"),
        (_same({"a": ["?"]}, missing_values=["?"]), "is the marker or means missing"),
        (
            _same(
                {"a": ["b"]}, keep=[],
                confidence=[{"over": ["Job"], "sensitive": {"Sex": ["b"]}, "at_most": 0.5}],
            ),
            "is named elsewhere",
        ),
        (_typed, "its cells are no texts"),
    ],
)  # fmt: skip
def test_refusals(tmp_path: Path, given: Callable[[Path], Any], said: str) -> None:
    with pytest.raises(InputError) as error:
        given(tmp_path)
    assert said in error.value.text()


def test_spellings_that_do_not_occur_are_a_warning(tmp_path: Path) -> None:
    odd = table(tmp_path / "odd.csv")
    found = reticent.release(odd, policy("kept", {"male": ["m", SECRET]}))
    assert "1 spelling of 2 that  same  lists do not occur" in " ".join(found.warnings)
    assert SECRET not in json.dumps(found.summary())
