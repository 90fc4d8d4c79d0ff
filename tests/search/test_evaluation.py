"""A whole evaluation, of a collection small enough to know what has to come out."""

from __future__ import annotations

import csv
import json
from functools import cache
from pathlib import Path

import pytest

from pages_at_hand import Page
from reticent.errors import InputError, Stopped
from reticent.progress import Watch
from reticent.search.evaluation.flow import SEEDS, evaluate
from reticent.search.evaluation.pages import evaluation_page
from reticent.search.evaluation.report import EvaluatedSearch
from reticent.search.evaluation.text import evaluated

RATIOS = ["0.25", "1"]


def write(folder: Path, topics: int = 30, queries: int = 5) -> Path:
    """Topics in two collections; two topics, one of each, share an ambiguous word.

    Every query of a topic is answered by three documents, and what these speak of, calm or storm,
    other documents of the topic do, too. Asked for the ambiguous word alone, the engine cannot tell
    them from the other topic's.
    """
    for half in range(2):
        place = folder / f"half{half}"
        place.mkdir(parents=True)
        documents, asked, judged = [], [], []
        for topic in range(half, topics, 2):
            name, word = f"topic{chr(97 + topic)}", f"word{chr(97 + topic % 15)}"
            name = name if topic < 26 else f"topicz{chr(97 + topic - 26)}"
            for query in range(queries):
                special = f"{name}special{chr(97 + query)}"
                asked.append(f"{name}-{query}\t{word} {name} {name} {special}")
                for copy in range(3):
                    place_of = f"{name}noise{chr(97 + copy)}{chr(97 + query)}"
                    kind = f"{name}calm" if (query + copy) % 2 else f"{name}storm"
                    text = f"{word} {name} {name} {kind} {kind} {place_of} {special}"
                    documents.append({"id": place_of, "text": text})
                    judged.append(f"{name}-{query} 0 {place_of} 1")
        lines = [json.dumps(one) for one in documents]
        (place / "documents.jsonl").write_text("\n".join(lines), encoding="utf-8")
        (place / "topics.tsv").write_text("\n".join(asked), encoding="utf-8")
        (place / "qrels.txt").write_text("\n".join(judged), encoding="utf-8")
    return folder


@cache
def made(folder: Path) -> EvaluatedSearch:
    return evaluate(
        write(folder / "in"), folder / "out", seeds=[11, 12], ratios=RATIOS, language="none"
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("evaluated")


@pytest.mark.slow
def test_a_profile_tells_what_an_ambiguous_word_means(place: Path) -> None:
    found = made(place)
    assert (found.documents, found.queries, found.parts) == (450, 150, ("half0", "half1"))
    assert [run.seed for run in found.runs] == [11, 12]
    assert all(run.users == 30 and run.left_out == 0 for run in found.runs)
    own = found.point("own", "one", "ranks")
    other = found.point("other", "one", "ranks")
    assert own is not None
    assert other is not None
    assert own.gain.low > 0
    assert own.above_zero == own.clusterings == 2
    # Of equals the engine gives the first by place: one of each two topics stands first anyway.
    assert (own.better, own.worse) == (0.5, 0)
    assert other.gain.mean < own.gain.mean
    # Of three interests the profile knows that it is one of them.
    several = found.point("several", "one", "ranks")
    assert several is not None
    assert several.gain.mean > 0


@pytest.mark.slow
def test_whole_queries_are_left_alone_unless_somebody_says_otherwise(place: Path) -> None:
    found = made(place)
    for group in ("own", "several", "other"):
        for one in found.line(group, "whole", "scores"):
            assert (one.gain.mean, one.gain.low, one.gain.high) == (0, 0, 0)
            assert one.better == one.worse == 0


def test_what_is_written(place: Path) -> None:
    found = made(place)
    out = place / "out"
    assert sorted(path.name for path in out.iterdir()) == [
        "clusterings.csv", "curve.csv", "index.html", "queries.csv", "summary.json",
    ]  # fmt: skip
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    assert summary["collection"] == ["half0", "half1"]
    assert len(summary["clusterings"]) == 2
    with (out / "curve.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(found.curve) == len(summary["curve"])
    with (out / "queries.csv").open(encoding="utf-8", newline="") as file:
        asked = [
            row for row in csv.DictReader(file) if (row["group"], row["form"]) == ("own", "one")
        ]
    ranks = [row for row in asked if row["fusion"] == "ranks" and row["seed"] == "11"]
    gain = sum(float(row["ap_1"]) - float(row["engine_ap"]) for row in ranks) / len(ranks)
    [one] = [
        g
        for g in found.gains
        if (g.group, g.form, g.fusion) == ("own", "one", "ranks")
        and (g.seed, float(g.ratio)) == (11, 1)
    ]
    assert gain == pytest.approx(one.gain.mean, abs=1e-4)
    assert len(ranks) == one.queries


def test_what_is_said(place: Path) -> None:
    said = evaluated(made(place))
    assert "450 documents and 150 judged queries of half0, half1, in none." in said
    assert "2 clusterings of 30 to 30 simulated users; 0 folds left out" in said
    assert "25% told" in said
    assert "100% told" in said
    asked = evaluate(place / "in", seeds=[11], ratios=["0.1", "0.3", "0.125"], language="none")
    every = evaluated(asked)
    assert "10% told" in every
    assert "12.5% told" in every
    assert "30% told" in every
    assert str(place / "out") in said
    assert "100% told</th>" in made(place)._repr_html_()


def test_the_page(place: Path) -> None:
    made(place)
    page = Page((place / "out" / "index.html").read_text(encoding="utf-8"))
    assert len(page.ids) == len(set(page.ids))
    assert {link[1:] for link in page.links} <= set(page.ids)
    assert "450 documents and 150 judged queries of half0, half1" in page.text
    assert sum(tag == "svg" for tag, _ in page.tags) == 4  # each for a page and for a phone


@pytest.mark.slow
def test_the_same_collection_gives_the_same_bytes(place: Path) -> None:
    made(place)
    evaluate(place / "in", place / "again", seeds=[11, 12], ratios=RATIOS, language="none")
    for name in ("curve.csv", "clusterings.csv", "queries.csv", "index.html"):
        assert (place / "out" / name).read_bytes() == (place / "again" / name).read_bytes()


def test_seeds_that_were_looked_at_are_not_reported() -> None:
    assert [*SEEDS] == [11, 12, 13, 14, 15, 16, 17, 18]


def test_what_cannot_be_evaluated_is_refused(tmp_path: Path) -> None:
    small = write(tmp_path / "small", topics=5)
    out = tmp_path / "out"
    with pytest.raises(InputError, match="too small"):
        evaluate(small, out)
    for seeds in ([], [-1], [3, 3]):
        with pytest.raises(InputError, match="seeds are"):
            evaluate(small, out, seeds=seeds)
    with pytest.raises(InputError, match="part of an input"):
        evaluate(small, small)
    out.mkdir()
    (out / "letter.txt").write_text("dear", encoding="utf-8")
    with pytest.raises(InputError):
        evaluate(small, out, force=True)


def test_nobody_with_anything_to_read(tmp_path: Path) -> None:
    """Thirty users of one document a query, who would never have read ten."""
    small = write(tmp_path / "small")
    for half in small.iterdir():
        judged = (half / "qrels.txt").read_text(encoding="utf-8").splitlines()[::3]
        (half / "qrels.txt").write_text("\n".join(judged), encoding="utf-8")
    with pytest.raises(InputError, match="nobody asked") as refused:
        evaluate(small, seeds=[11], language="none")
    assert "Here are 150 judged queries, and 30 users at most; 150 folds" in str(refused.value)
    assert "a kind of 4 or more makes a user, who has read 10 documents or more" in str(
        refused.value
    )
    assert "give a collection of 120 judged queries or more" in str(refused.value)


def test_stopping(place: Path) -> None:
    made(place)
    with pytest.raises(Stopped):
        evaluate(place / "in", language="none", watch=Watch(stop=lambda: True))


def test_of_few_users_little_is_said(tmp_path: Path) -> None:
    """Eight topics of thirty queries: few users, and hardly any with three interests."""
    folder = write(tmp_path / "in", topics=8, queries=9)
    found = evaluate(folder, seeds=[11], ratios=RATIOS, language="none")
    [run] = found.runs
    assert run.users < 10
    assert found.notes == (
        f"There are clusterings of no more than {run.users} users; intervals over so few are too "
        "narrow.",
    )
    assert min(one.users for one in found.gains) > 1
    assert f", of {run.users} users)" in evaluated(found)
    assert f", of {run.users} users" in evaluation_page(found)
