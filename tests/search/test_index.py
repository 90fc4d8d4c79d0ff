"""An index in a folder: it holds what was given, nothing more, whole at any moment."""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reticent.errors import InputError, Stopped
from reticent.progress import Watch
from reticent.search import index as at
from reticent.search.documents import PersonalDocument
from reticent.search.engines import FoundPage
from reticent.search.exposing import ExposedProfile
from reticent.search.index import IndexChanges, LocalIndex, update_index
from reticent.search.ranking import answer
from reticent.search.words import Language

ENGLISH = Language("english")
NONE = Language("none")
TEXTS = {
    "a.txt": "The runners ran to the sea.",
    "b.txt": "A conference about seas, and about running.",
    "c.txt": "Boeing 747 and boeing 767: invoices of 2024.",
    "d.txt": "The Who played; who did not?",
}


def documents(texts: dict[str, str], title: str = "") -> Iterator[PersonalDocument]:
    return (PersonalDocument(place, title, text) for place, text in texts.items())


def made(
    folder: Path, texts: dict[str, str], language: Language = ENGLISH, force: bool = False
) -> IndexChanges:
    return update_index(folder, documents(texts), language, force=force)


def places(found: list[FoundPage]) -> list[str]:
    return [page.place for page in found]


def asked(folder: Path, query: str, top: int = 10) -> list[str]:
    return places(LocalIndex.open(folder).ask(query, top))


def everything(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


# --- asking --------------------------------------------------------------------------------------


def test_documents_are_found_by_their_terms(tmp_path: Path) -> None:
    made(tmp_path / "i", TEXTS)
    index = LocalIndex.open(tmp_path / "i")
    assert (index.language, index.documents) == ("english", 4)
    assert places(index.ask("run", 10)) == ["b.txt"]  # "ran" has another stem
    assert places(index.ask("the conferences", 10)) == ["b.txt"]
    assert places(index.ask("Runner, sea", 10)) == ["a.txt", "b.txt"]
    assert places(index.ask("sea", 1)) == ["a.txt"]  # the shorter text
    assert index.ask("elephant", 10) == []
    [page] = index.ask("conference", 10)
    assert page == FoundPage("b.txt", "", TEXTS["b.txt"], page.score)
    assert page.score > 0


def test_what_is_no_term_is_found_where_it_should_be(tmp_path: Path) -> None:
    made(tmp_path / "i", TEXTS)
    assert asked(tmp_path / "i", "boeing 747") == ["c.txt"]
    assert asked(tmp_path / "i", "2024") == ["c.txt"]
    assert asked(tmp_path / "i", "the who") == ["d.txt", "a.txt"]
    assert asked(tmp_path / "i", "who ran the race") == ["a.txt"]  # stop words say nothing here
    for nothing in ("", " ", "…", "?!"):
        assert asked(tmp_path / "i", nothing) == []


@pytest.mark.parametrize(
    "query",
    ['"sea', "sea AND", "NOT sea", "+sea -conference", "terms:sea", "sea^9", "sea~", "sea*", "[sea TO",
     "/sea.*/", "(((sea", "sea))", "page:sea OR", "IN [sea]", "\\sea", "sea\0", "\ud800 sea", "*:* sea"],
)  # fmt: skip
def test_a_query_is_words_and_nothing_else(tmp_path: Path, query: str) -> None:
    made(tmp_path / "i", {"a": "sea", "b": "conference sea tea", "c": "tea"})
    assert set(asked(tmp_path / "i", query)) == {"a", "b"}


def test_a_title_counts_and_is_part_of_the_text(tmp_path: Path) -> None:
    update_index(
        tmp_path / "i",
        [PersonalDocument("x", "Marathons", "shoes"), PersonalDocument("y", "", "shoes")],
        ENGLISH,
    )
    [page] = LocalIndex.open(tmp_path / "i").ask("marathon", 5)
    assert (page.title, page.text) == ("Marathons", "Marathons\nshoes")


def test_a_title_that_stands_in_the_text_counts_once(tmp_path: Path) -> None:
    update_index(
        tmp_path / "i",
        [PersonalDocument("a", "Tea", "# Tea\nmilk"), PersonalDocument("b", "", "# Tea\nmilk")],
        ENGLISH,
    )
    one, other = LocalIndex.open(tmp_path / "i").ask("tea", 5)
    assert (one.text, one.score) == (other.text, other.score) == ("# Tea\nmilk", one.score)


def test_scores_are_those_of_bm25(tmp_path: Path) -> None:
    """From the definition: k1 = 1.2, b = 0.75; short texts have their length kept exactly."""
    from math import log

    texts = {"a": "tea tea milk", "b": "tea sugar", "c": "milk milk milk sugar", "d": "sea"}
    made(tmp_path / "i", texts, NONE)
    words = {place: text.split() for place, text in texts.items()}
    mean = sum(map(len, words.values())) / 4

    def score(place: str, *terms: str) -> float:
        total = 0.0
        for term in terms:
            held = sum(term in others for others in words.values())
            tf = words[place].count(term)
            damp = 1.2 * (0.25 + 0.75 * len(words[place]) / mean)
            total += log(1 + (4 - held + 0.5) / (held + 0.5)) * tf * 2.2 / (tf + damp)
        return total

    for query in ("tea", "milk", "tea milk", "sugar sugar sea"):
        for page in LocalIndex.open(tmp_path / "i").ask(query, 9):
            assert page.score == pytest.approx(score(page.place, *query.split()), rel=1e-4)


def test_equals_come_by_their_place(tmp_path: Path) -> None:
    order = [f"{i:03}" for i in range(300)]
    random.Random(1).shuffle(order)
    made(tmp_path / "i", {**dict.fromkeys(order, "tea"), "500": "tea tea"})
    made(tmp_path / "i", {**dict.fromkeys(sorted(order), "tea"), "500": "tea tea", "001a": "tea"})
    assert asked(tmp_path / "i", "tea", 5) == ["500", "000", "001", "001a", "002"]
    found = LocalIndex.open(tmp_path / "i").ask("tea", 1000)
    assert places(found)[1:] == sorted([*order, "001a"])
    assert [page.score for page in found] == sorted((page.score for page in found), reverse=True)


def test_any_text_comes_back_as_it_was(tmp_path: Path) -> None:
    odd = {
        "caf\udce9.txt": "a name that is no text, tea",
        "b\0\n": "tea \ud800 alone",
        "c": "tea " + "x" * 100_000,
        "d": "TEA\r\n\0é́",
        "": "tea",
    }
    made(tmp_path / "i", odd)
    found = LocalIndex.open(tmp_path / "i").ask("tea", 10)
    assert {page.place: page.text for page in found} == odd


def test_long_queries_are_answered(tmp_path: Path) -> None:
    made(tmp_path / "i", {"a": "tea", "b": "sea"})
    assert asked(tmp_path / "i", "tea " * 5 + " ".join(f"w{i}" for i in range(5000))) == ["a"]


def test_runs_that_come_once_do_not_pile_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(at, "_MOST_KNOWN", 5)
    texts = {f"{i:02}": f"running word{i} {i}" for i in range(30)}
    made(tmp_path / "i", texts)
    assert asked(tmp_path / "i", "run", 50) == [*texts]
    assert asked(tmp_path / "i", "word7 29 x y z u v w") == ["07", "29"]


def test_other_languages(tmp_path: Path) -> None:
    made(tmp_path / "i", {"a": "Die Übungen sind schwer", "b": "nichts"}, Language("german"))
    index = LocalIndex.open(tmp_path / "i")
    assert index.language == "german"
    assert places(index.ask("Übung", 5)) == ["a"]


def test_it_answers_with_a_profile(tmp_path: Path) -> None:
    made(tmp_path / "i", TEXTS)
    exposed = ExposedProfile((("confer", 1.0),), 0.5, 0.1)
    found = answer(LocalIndex.open(tmp_path / "i"), "sea", exposed, alpha=1)
    assert [one.page.place for one in found.pages] == ["b.txt", "a.txt"]


def test_an_empty_index(tmp_path: Path) -> None:
    assert made(tmp_path / "i", {}) == IndexChanges(0, 0, 0, 0, 0)
    assert asked(tmp_path / "i", "tea") == []
    assert made(tmp_path / "i", {"a": "tea"}).added == 1
    assert asked(tmp_path / "i", "tea") == ["a"]
    assert made(tmp_path / "i", {}).removed == 1
    assert asked(tmp_path / "i", "tea") == []


# --- changing ------------------------------------------------------------------------------------


def test_changes_are_counted(tmp_path: Path) -> None:
    folder = tmp_path / "i"
    assert made(folder, TEXTS) == IndexChanges(4, 4, 0, 0, 0)
    before = everything(folder)
    assert made(folder, dict(reversed(TEXTS.items()))) == IndexChanges(4, 0, 0, 0, 4)
    assert everything(folder) == before  # nothing was written
    texts = {**TEXTS, "a.txt": "changed", "e.txt": "new", "f.txt": "new"}
    del texts["c.txt"]
    assert made(folder, texts) == IndexChanges(5, 2, 1, 1, 2)
    assert asked(folder, "boeing runner") == []
    assert asked(folder, "new changed") == ["a.txt", "e.txt", "f.txt"]
    again = [*documents(texts), PersonalDocument("a.txt", "", "said once more")]
    assert update_index(folder, again, ENGLISH) == IndexChanges(5, 0, 0, 0, 5)


def test_a_title_that_changes_is_a_change(tmp_path: Path) -> None:
    for title, text, changed in (("a", "bc", 0), ("ab", "c", 1), ("ab", "c", 0)):
        found = update_index(tmp_path / "i", [PersonalDocument("p", title, text)], ENGLISH)
        assert found.changed == changed


shelves = st.lists(
    st.dictionaries(
        st.sampled_from([f"p{i}" for i in range(8)]),
        st.lists(st.sampled_from(["tea", "sea", "milk", "the", "7"]), max_size=5).map(" ".join),
    ),
    min_size=1, max_size=4,
)  # fmt: skip


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(shelves)
def test_an_updated_index_is_a_fresh_one(
    tmp_path_factory: pytest.TempPathFactory, sequence: list[dict[str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("updated") / "i"
    held: dict[str, str] = {}
    for texts in sequence:
        both = held.keys() & texts.keys()
        same = sum(held[place] == texts[place] for place in both)
        assert made(folder, texts) == IndexChanges(
            len(texts), len(texts) - len(both), len(both) - same, len(held) - len(both), same
        )
        held = texts
    fresh = folder.with_name("fresh")
    made(fresh, held)
    old, new = LocalIndex.open(folder), LocalIndex.open(fresh)
    for query in ("tea", "sea milk", "the", "7 tea", "none"):
        for top in (1, 3, 9):
            assert old.ask(query, top) == new.ask(query, top)
    assert len([*folder.iterdir()]) == 2  # one generation, and what says which


def test_what_is_removed_is_on_the_disk_no_more(tmp_path: Path) -> None:
    folder = tmp_path / "i"
    texts = {f"{i}.txt": f"plain tea number{i}" for i in range(50)}
    made(folder, {**texts, "zq-place.txt": "secretzq title tea", "x": "otherzq tea"})
    assert b"secretzq" in everything(folder)
    assert b"zq-place" in everything(folder)
    made(folder, {**texts, "x": "now tea"})
    left = everything(folder)
    assert b"plain tea" in left
    for gone in (b"secretzq", b"zq-place", b"otherzq", b"otherz"):
        assert gone not in left


def test_what_a_killed_run_left_goes_when_the_index_is_opened(tmp_path: Path) -> None:
    """As after a kill between the moment when the new one counts and the end of the sweep."""
    folder = tmp_path / "i"
    made(folder, TEXTS)
    left = folder / "g-00000000"
    left.mkdir()
    (left / "x.store").write_bytes(b"secretzq")

    def busy() -> Iterator[PersonalDocument]:
        left.mkdir()
        LocalIndex.open(folder)  # what is left may be what a run is writing
        assert left.exists()
        yield PersonalDocument("n", "", "sea")

    assert asked(folder, "conference") == ["b.txt"]
    assert b"secretzq" not in everything(folder)
    assert not left.exists()
    update_index(folder, busy(), ENGLISH)
    assert len([*folder.iterdir()]) == 2


def test_texts_that_cannot_be_removed_are_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "i"
    made(folder, TEXTS)
    with monkeypatch.context() as kept:
        kept.setattr(shutil, "rmtree", lambda *given, **more: None)
        with pytest.raises(InputError, match="still on the disk"):
            made(folder, {"n": "new"})
        assert asked(folder, "new") == ["n"]
        with pytest.raises(InputError, match="still on the disk"):
            made(folder, {"n": "new"})
        with pytest.raises(InputError, match="there is no"):  # what went wrong itself is said
            update_index(folder, failing(), ENGLISH)
    assert made(folder, {"n": "new"}).unchanged == 1
    assert len([*folder.iterdir()]) == 2


def failing() -> Iterator[PersonalDocument]:
    raise InputError("there is no such folder")
    yield


def test_many_small_updates(tmp_path: Path) -> None:
    """Segments are merged; what they were merged from does not stay."""
    texts: dict[str, str] = {}
    for i in range(12):
        texts[f"p{i}"] = f"tea word{i}"
        made(tmp_path / "i", texts)
    assert len(asked(tmp_path / "i", "tea", 50)) == 12
    assert len([*(tmp_path / "i").rglob("*.store")]) < 8
    [state] = (json.loads((tmp_path / "i/index.json").read_text())["files"],)
    assert {name.split(".")[0] for name in state if name.endswith(".store")} == {
        one["segment_id"].replace("-", "")
        for [meta] in [[*(tmp_path / "i").rglob("meta.json")]]
        for one in json.loads(meta.read_text())["segments"]
    }


def test_it_is_its_owners_alone(tmp_path: Path) -> None:
    folder = tmp_path / "i"
    for texts in (TEXTS, {**TEXTS, "n": "new"}, {"n": "new"}):
        made(folder, texts)
        for path in (folder, *folder.rglob("*")):
            assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path


def test_where_files_cannot_be_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path / "i", TEXTS)

    def refused(*given: object) -> None:
        raise OSError("no such thing here")

    monkeypatch.setattr(os, "link", refused)
    made(tmp_path / "i", {**TEXTS, "n": "sea"})
    assert asked(tmp_path / "i", "sea") == ["n", "a.txt", "b.txt"]


def test_an_open_index_stays_as_it_was(tmp_path: Path) -> None:
    made(tmp_path / "i", TEXTS)
    index = LocalIndex.open(tmp_path / "i")
    made(tmp_path / "i", {"n": "sea"})
    assert places(index.ask("sea", 5)) == ["a.txt", "b.txt"]
    assert asked(tmp_path / "i", "sea") == ["n"]


def test_opening_while_another_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between reading which generation it is and opening that, an update takes it away."""
    made(tmp_path / "i", TEXTS)
    real, left = at._State.read, [True]

    def late(path: Path) -> at._State:
        state = real(path)
        if left:
            left.clear()
            monkeypatch.setattr(at._State, "read", real)
            made(path, {"n": "sea"})
            monkeypatch.setattr(at._State, "read", late)
        return state

    monkeypatch.setattr(at._State, "read", late)
    assert asked(tmp_path / "i", "sea") == ["n"]


# --- refusing ------------------------------------------------------------------------------------


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    folder = tmp_path / "i"
    made(folder, TEXTS)

    def busy() -> Iterator[PersonalDocument]:
        with pytest.raises(InputError, match="another process is writing"):
            made(folder, {})
        assert asked(folder, "conference") == ["b.txt"]
        yield PersonalDocument("n", "", "sea")

    update_index(folder, busy(), ENGLISH)
    assert asked(folder, "sea") == ["n"]


@pytest.mark.parametrize("force", [False, True])
def test_of_two_that_make_an_index_the_later_is_told_of_the_other(
    tmp_path: Path, force: bool
) -> None:
    folder = tmp_path / "i"

    def overtaken() -> Iterator[PersonalDocument]:
        made(folder, TEXTS)
        yield PersonalDocument("n", "", "sea")

    with pytest.raises(InputError, match="another process has made this index meanwhile"):
        update_index(folder, overtaken(), ENGLISH, force=force)
    assert asked(folder, "conference") == ["b.txt"]
    assert [path.name for path in tmp_path.iterdir()] == ["i"]


def test_a_stream_that_fails_leaves_the_old_index(tmp_path: Path) -> None:
    folder = tmp_path / "i"

    def broken() -> Iterator[PersonalDocument]:
        yield PersonalDocument("n", "", "sea")
        raise InputError("no such folder")

    with pytest.raises(InputError, match="no such folder"):
        update_index(folder, broken(), ENGLISH)
    assert [*tmp_path.iterdir()] == []
    made(folder, TEXTS)
    before = everything(folder)
    with pytest.raises(InputError, match="no such folder"):
        update_index(folder, broken(), ENGLISH)
    assert everything(folder) == before


@pytest.mark.parametrize("most", [3_000, 20_000, 60_000])
def test_a_full_disk(tmp_path: Path, most: int) -> None:
    folder = tmp_path / "i"
    texts = {f"{i}": f"tea number{i * 7919}" for i in range(3000)}
    made(tmp_path / "old", {"a": "tea"})
    before = everything(tmp_path / "old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, limits[1]))
    try:
        for place in (folder, tmp_path / "old"):
            with pytest.raises(InputError, match="cannot write") as caught:
                made(place, texts)
            assert str(caught.value).startswith(f"{place}: ")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert everything(tmp_path / "old") == before
    assert [*tmp_path.iterdir()] == [tmp_path / "old"]


def test_who_watches_may_stop_it(tmp_path: Path) -> None:
    many = {f"{i}": "tea" for i in range(1200)}
    looks = [True, False]
    watch = Watch(stop=looks.pop)
    with pytest.raises(Stopped, match="the index is as it was"):
        update_index(tmp_path / "i", documents(many), ENGLISH, watch=watch)
    assert looks == []
    assert [*tmp_path.iterdir()] == []


def test_other_things_are_not_written_over(tmp_path: Path) -> None:
    folder = tmp_path / "i"
    folder.mkdir()
    (folder / "letter.txt").write_text("dear")
    for force in (False, True):
        with pytest.raises(InputError, match="holds other things"):
            made(folder, TEXTS, force=force)
    (folder / "index.json").write_text('{"name": "my site"}')
    with pytest.raises(InputError, match="holds other things"):
        made(folder, TEXTS, force=True)
    assert (folder / "index.json").read_text() == '{"name": "my site"}'
    (tmp_path / "file").write_text("dear")
    with pytest.raises(InputError, match="exists already"):
        made(tmp_path / "file", TEXTS)
    with pytest.raises(InputError, match="no folder"):
        made(tmp_path / "none" / "i", TEXTS)


def test_an_empty_folder_and_one_with_a_note(tmp_path: Path) -> None:
    folder = tmp_path / "i"
    folder.mkdir()
    made(folder, TEXTS)
    (folder / "note.txt").write_text("mine")
    made(folder, {"n": "sea"})
    made(folder, {"n": "tea"}, force=True)
    assert asked(folder, "tea") == ["n"]
    assert (folder / "note.txt").read_text() == "mine"


def test_another_language_is_refused(tmp_path: Path) -> None:
    made(tmp_path / "i", TEXTS)
    with pytest.raises(InputError, match="of english texts, and these are german"):
        made(tmp_path / "i", TEXTS, Language("german"))
    assert made(tmp_path / "i", TEXTS, Language("german"), force=True).added == 4
    assert LocalIndex.open(tmp_path / "i").language == "german"


def test_no_index(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(InputError, match="there is no index"):
            LocalIndex.open(folder)


def test_a_newer_one_is_refused(tmp_path: Path) -> None:
    made(tmp_path / "i", TEXTS)
    state = tmp_path / "i/index.json"
    state.write_text(json.dumps({**json.loads(state.read_text()), "version": 2}))
    with pytest.raises(InputError, match="newer version"):
        LocalIndex.open(tmp_path / "i")
    with pytest.raises(InputError, match="newer version"):
        made(tmp_path / "i", TEXTS)


@pytest.mark.slow
def test_any_damage_is_refused(tmp_path: Path) -> None:
    made(tmp_path / "i", TEXTS)
    files = [file for file in (tmp_path / "i").rglob("*") if file.is_file()]
    rng = random.Random(3)
    refused, said = 0, set[str]()
    for file in files:
        if file.name.endswith(".lock"):
            continue
        for how in ("gone", "empty", "flip", "more"):
            copy = tmp_path / "copy"
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(tmp_path / "i", copy)
            place = copy / file.relative_to(tmp_path / "i")
            held = bytearray(place.read_bytes())
            if how == "gone":
                place.unlink()
            elif how == "flip":
                held[rng.randrange(len(held))] ^= 1 << rng.randrange(7)
                place.write_bytes(held)
            else:
                place.write_bytes(held + b"]" if how == "more" else b"")
            try:
                assert asked(copy, "sea") == ["a.txt", "b.txt"]
            except InputError as error:
                refused += 1
                said.add(str(error).partition(": ")[2].partition("\n")[0])
                with pytest.raises(InputError):
                    made(copy, {**TEXTS, "n": "sea"})
                made(copy, TEXTS, force=True)
                assert asked(copy, "sea") == ["a.txt", "b.txt"]
    assert refused > 20
    assert said <= {
        "this is no index, or it is damaged",
        "there is no index",
        "this index was made by a newer version of reticent",
    }


# --- killed --------------------------------------------------------------------------------------

_WRITER = """
import sys
from reticent.search.documents import PersonalDocument
from reticent.search.index import update_index
from reticent.search.words import Language
folder, version = sys.argv[1:]
texts = (PersonalDocument(f"p{i}", "", f"tea v{version} w{i}") for i in range(3000))
print("go", flush=True)
update_index(folder, texts, Language("none"))
"""


@pytest.mark.slow
@pytest.mark.net
def test_a_kill_leaves_the_old_index_or_the_new_one(tmp_path: Path) -> None:
    folder, rng = tmp_path / "i", random.Random(11)
    known: set[str] = set()
    done, whole = 0, 0.0
    for version in range(25):
        with subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(folder), str(version)],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"go\n"
            start = time.monotonic()
            if version % 6 == 2:  # let it end, to see how long that takes now
                process.wait()
                whole = time.monotonic() - start
            else:
                time.sleep(rng.random() * (whole or 0.3))
                process.send_signal(signal.SIGKILL)
        if not (folder / "index.json").exists():
            assert not folder.exists()
            continue
        index = LocalIndex.open(folder)
        assert index.documents == 3000
        [now] = {page.text.split()[1] for page in index.ask("tea", 1000)}
        assert now == f"v{version}" or now in known
        done += now not in known
        known.add(now)
    assert done > 1
    update_index(folder, [PersonalDocument("p", "", "last")], NONE)
    assert [*tmp_path.iterdir()] == [folder]
    assert len([*folder.iterdir()]) == 2
    assert b"tea" not in everything(folder)
