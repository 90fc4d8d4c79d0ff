"""Collections with judged queries, and what their old files do that nobody expects."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from datasets import folder as data_folder
from reticent.errors import InputError
from reticent.search.evaluation.judged import JudgedCollection, read_judged

SMART = {
    "sea.all.3": (
        ".I 1\n.T\nSea\nsalt\n.A\nAhab\n.W\nSea salt\ntastes .\n.I 2\r\n.T \r\n.W\nthe tide\n"
        ".X\n1 5 1\n.I 3\n.W\ntea\n"
    ),
    "sea.qry": ".I 001\n.W\nwhat is salt\n.I 004\n.W\nwhen is tide\n.I 7\n.W\ntea ?\n",
    "sea.qrel.readme": "words about it",
}


def put(folder: Path, files: dict[str, str]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8", newline="")
    return folder


def smart(folder: Path, judgements: str, **more: str) -> JudgedCollection:
    return read_judged(put(folder, SMART | {"seaqrel": judgements} | more))


def relevant(found: JudgedCollection) -> dict[str, list[int]]:
    return {one.name.split("/")[1]: sorted(one.relevant) for one in found.queries}


def test_documents_in_smart_form(tmp_path: Path) -> None:
    found = smart(tmp_path / "sea", "1 1 1\n")
    assert [(one.place, one.title, one.text) for one in found.documents] == [
        ("sea/1", "Sea salt", "tastes ."),  # the title is not said twice
        ("sea/2", "", "the tide"),
        ("sea/3", "", "tea"),
    ]
    assert found.parts == ("sea",)
    assert [one.text for one in found.queries] == ["what is salt"]


@pytest.mark.parametrize(
    ("judgements", "expected"),
    [
        ("1 1 1\n2 2 4\n2 3 -1\n3 3 0\n", {"1": [0], "4": [1]}),  # by place: there is no query 2
        ("1 1 1\n4 2 1\n", {"1": [0], "4": [1]}),  # by number
        ("7  3\n4 2\n", {"4": [1], "7": [2]}),
        ("     1     3\t0\t0.000000\r\n     1     2\t0\t0.000000\r\n", {"1": [1, 2]}),
        ("1 0 3 1\n1 0 2 0\n4 0 2 2\n", {"1": [2], "4": [1]}),
        ("1 Q0 03 1\n1 Q0 03 1\n", {"1": [2]}),
    ],
    ids=["places", "numbers", "pairs", "zeros", "trec", "repeated"],
)
def test_judgements(tmp_path: Path, judgements: str, expected: dict[str, list[int]]) -> None:
    assert relevant(smart(tmp_path / "sea", judgements)) == expected


def test_judgements_of_what_is_not_there_are_counted(tmp_path: Path) -> None:
    found = smart(tmp_path / "sea", "1 1 1\n1 99 1\n88 1 1\n")
    assert relevant(found) == {"1": [0]}
    assert found.notes == (
        "2 judgements in seaqrel of queries or documents that are not there left out.",
    )


PLAIN = {
    "documents.jsonl": '{"id": 1, "text": "salt"}\n\n{"id": "b", "title": "Tea", "text": "hot"}\n',
    "topics.tsv": "q1\tsalt of the sea\nq2\ttea\n",
    "qrels.txt": "q1 0 1 1\nq2 0 b 1\nq2 0 1 0\n",
}


def test_plain_files(tmp_path: Path) -> None:
    found = read_judged(put(tmp_path / "new", PLAIN))
    assert [(one.title, one.text) for one in found.documents] == [("", "salt"), ("Tea", "hot")]
    assert [(one.text, one.relevant) for one in found.queries] == [
        ("salt of the sea", frozenset({0})), ("tea", frozenset({1})),
    ]  # fmt: skip


def test_a_folder_of_folders_is_their_union(tmp_path: Path) -> None:
    put(tmp_path / "a", PLAIN)
    put(tmp_path / "b", SMART | {"seaqrel": "1 3 1\n"})
    put(tmp_path / "notes", {"README.md": "none"})
    found = read_judged(tmp_path)
    assert found.parts == ("a", "b")
    assert found.part_of == (0, 0, 1, 1, 1)
    assert [one.relevant for one in found.queries] == [frozenset({i}) for i in (0, 1, 4)]


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"README.md": ""}, "no collection"),
        ({**SMART, "seaqrel": ""}, "nobody judged"),
        ({**SMART, "seaqrel": "1 1 -1\n"}, "nobody judged"),
        ({**SMART, "seaqrel": "1 1 1\n1 1\n"}, "columns"),
        ({**SMART, "seaqrel": "1 1 x\n"}, "line 1: the grade"),
        ({**SMART, "seaqrel": "90 1 1\n"}, "no judgement is about"),
        (SMART, "no file"),
        ({**SMART, "seaqrel": "1 1 1", "sea.rel": "1 1 1"}, "several files"),
        ({**SMART, "sea.qry": ".I 1\n.W\na\n.I 1\n.W\nb\n", "seaqrel": "1 1 1"}, "1 id that"),
        ({**SMART, "sea.qry": "", "seaqrel": "1 1 1"}, "nothing in it"),
        ({**SMART, "sea.qry": ".I\n.W\na", "seaqrel": "1 1 1"}, "without an id"),
        ({**PLAIN, "documents.jsonl": '{"id": 1}\n[\n'}, "line 2"),
        ({**PLAIN, "topics.tsv": "q1 salt\n"}, "no id, tab and query"),
        ({name: PLAIN[name] for name in ("documents.jsonl", "topics.tsv")}, "no file qrels.txt"),
    ],
)
def test_what_is_no_collection_is_refused(tmp_path: Path, files: dict[str, str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_judged(put(tmp_path / "x", files))


def test_a_place_that_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        read_judged(tmp_path / "nowhere")


def test_old_letters(tmp_path: Path) -> None:
    folder = put(tmp_path / "x", PLAIN)
    text = json.dumps({"id": 1, "text": "café"}, ensure_ascii=False)
    (folder / "documents.jsonl").write_bytes(text.encode("latin-1"))
    assert read_judged(folder).documents[0].text == "café"


@pytest.mark.data
def test_the_union_of_three_collections() -> None:
    """Counted by others: 3,893 documents, and 225, 76 and 30 queries with judgements."""
    found = read_judged(data_folder())
    assert found.parts == ("cisi", "cranfield", "medline")
    assert [found.part_of.count(i) for i in range(3)] == [1460, 1400, 1033]
    assert len(found.queries) == 331
    assert sum(one.name.startswith("cran") for one in found.queries) == 225
    assert sum(len(one.relevant) for one in found.queries) == 3114 + 1612 + 696
