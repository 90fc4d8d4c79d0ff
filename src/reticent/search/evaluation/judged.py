"""Collections of documents with queries, and with people's judgements of what answers them.

Two forms are read. SMART's, in which the old collections are handed around: `*.ALL`, `*.QRY` and
`*.REL` or `*qrel*`. And `documents.jsonl` (id, text, perhaps title), `topics.tsv` (id, tab, text)
and `qrels.txt` (TREC's four columns, or query, document and grade). A folder of such folders is
their union.

What the old files do that nobody expects, and each has a test: judgements that count queries by
their place in the file, not by their number (Cranfield); four columns of which the last two are
always zero (CISI); -1 for what is not relevant (Cranfield); titles that the text repeats.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from reticent.errors import InputError, Problem, listed, many, refuse
from reticent.search.documents import PersonalDocument

DOCUMENTS, TOPICS, JUDGEMENTS = "documents.jsonl", "topics.tsv", "qrels.txt"
_FORMS = (
    f"a folder with *.ALL, *.QRY and *.REL (or *qrel*), or with {DOCUMENTS}, {TOPICS} and "
    f"{JUDGEMENTS}, or a folder of such folders."
)
_NOT_JUDGEMENTS = (".old", ".readme", ".md", ".pdf", ".html")
_FIELD = re.compile(r"\.([A-Z])\s*$")
_GRADE = re.compile(r"[+-]?\d+(\.\d*)?")


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """A query, and the documents that answer it, by their place in the collection."""

    name: str
    text: str
    relevant: frozenset[int]


@dataclass(frozen=True, slots=True)
class JudgedCollection:
    """Documents, and the queries with at least one that answers them."""

    parts: tuple[str, ...]  # the collections it is made of
    documents: tuple[PersonalDocument, ...]
    part_of: tuple[int, ...]  # of each document
    queries: tuple[JudgedQuery, ...]
    notes: tuple[str, ...] = ()


def read_judged(folder: str | Path) -> JudgedCollection:
    """Read a collection, or all of them that lie in a folder."""
    place = Path(folder)
    if not place.is_dir():
        raise InputError("there is no such folder", where=str(folder), do=f"give {_FORMS}")
    sources = _source(place)
    parts = [sources] if sources else []
    if not parts:
        below = sorted(path for path in place.iterdir() if path.is_dir())
        parts = [found for path in below if (found := _source(path))]
    if not parts:
        raise InputError(
            "no collection with queries and judgements lies here", where=str(folder),
            do=f"give {_FORMS}",
        )  # fmt: skip
    return _united([part() for part in parts])


def _united(parts: Sequence[JudgedCollection]) -> JudgedCollection:
    documents: list[PersonalDocument] = []
    part_of: list[int] = []
    queries: list[JudgedQuery] = []
    for number, part in enumerate(parts):
        first = len(documents)
        documents += part.documents
        part_of += [number] * len(part.documents)
        queries += [
            JudgedQuery(one.name, one.text, frozenset(first + i for i in one.relevant))
            for one in part.queries
        ]
    names = tuple(name for part in parts for name in part.parts)
    notes = tuple(note for part in parts for note in part.notes)
    return JudgedCollection(names, tuple(documents), tuple(part_of), tuple(queries), notes)


# --- which files ---------------------------------------------------------------------------------


def _source(folder: Path) -> Callable[[], JudgedCollection] | None:
    """How the collection in a folder is read, if there is one; one that lacks a file is refused."""
    files = sorted(path for path in folder.iterdir() if path.is_file())
    by_name = {path.name: path for path in files}
    if DOCUMENTS in by_name:
        found = {name: [by_name[name]] if name in by_name else [] for name in _PLAIN}
        return lambda: _read(folder, found, _json_texts, _table_texts)
    smart = {what: [path for path in files if fits(path.name.lower())] for what, fits in _SMART}
    if not smart["*.ALL"]:
        return None
    return lambda: _read(folder, smart, _smart_texts, _smart_texts)


_PLAIN = (DOCUMENTS, TOPICS, JUDGEMENTS)
_SMART: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("*.ALL", lambda name: name.endswith(".all") or ".all." in name),
    ("*.QRY", lambda name: name.endswith(".qry")),
    (
        "*.REL or *qrel*",
        lambda name: (name.endswith(".rel") or "qrel" in name)
        and not name.endswith(_NOT_JUDGEMENTS),
    ),
)  # fmt: skip


class _JudgedText(NamedTuple):
    """A document or a query of a file, under the name that judgements may give it."""

    name: str
    title: str
    text: str


def _read(
    folder: Path,
    files: dict[str, list[Path]],
    documents_of: Callable[[Path], list[_JudgedText]],
    queries_of: Callable[[Path], list[_JudgedText]],
) -> JudgedCollection:
    """One collection out of its three files."""
    refuse(
        Problem(
            f"{'no file' if not paths else 'several files'} {what}", where=str(folder),
            why=f"found {listed([path.name for path in paths])}." if paths else "",
            do="a collection has documents, queries and judgements, one file of each.",
        )
        for what, paths in files.items()
        if len(paths) != 1
    )  # fmt: skip
    of_documents, of_queries, of_judgements = (paths[0] for paths in files.values())
    documents, queries = documents_of(of_documents), queries_of(of_queries)
    _refuse_repeated(of_documents, documents)
    _refuse_repeated(of_queries, queries)
    pairs = _relevant_pairs(of_judgements)
    if not pairs:
        raise InputError(
            "nobody judged anything relevant here", where=str(of_judgements),
            why="without judgements there is no telling which order is better.",
            do="give lines of query, document and a grade above 0.",
        )  # fmt: skip
    query_at = _places(queries, [query for query, _ in pairs])
    document_at = {one.name: i for i, one in enumerate(documents)}
    relevant: dict[int, set[int]] = {}
    strays = 0
    for query, document in pairs:
        if query in query_at and document in document_at:
            relevant.setdefault(query_at[query], set()).add(document_at[document])
        else:
            strays += 1
    if not relevant:
        raise InputError(
            "no judgement is about a query and a document of this collection",
            where=str(of_judgements), do="see that all three files use the same ids.",
        )  # fmt: skip
    notes = [] if not strays else [
        f"{many(strays, 'judgement')} in {of_judgements.name} of queries or documents that are "
        f"not there left out."
    ]  # fmt: skip
    return JudgedCollection(
        (folder.resolve().name,),
        tuple(
            PersonalDocument(f"{folder.resolve().name}/{one.name}", *_said_once(one))
            for one in documents
        ),
        (0,) * len(documents),
        tuple(
            JudgedQuery(
                f"{folder.resolve().name}/{one.name}", " ".join(_said_once(one)).strip(),
                frozenset(relevant[i]),
            )
            for i, one in enumerate(queries)
            if i in relevant
        ),
        tuple(notes),
    )  # fmt: skip


def _said_once(one: _JudgedText) -> tuple[str, str]:
    """Title and text; many of the old texts begin with their titles."""
    title, text = " ".join(one.title.split()), " ".join(one.text.split())
    return title, text.removeprefix(title).strip()


def _places(queries: Sequence[_JudgedText], asked: Sequence[str]) -> dict[str, int]:
    """Where the query of each judgement stands, which may go by number or by place."""
    by_name = {one.name: i for i, one in enumerate(queries)}
    by_place = {str(i + 1): i for i in range(len(queries))}
    names = set(asked)
    return by_place if not names <= {*by_name} and names <= {*by_place} else by_name


def _refuse_repeated(path: Path, texts: Sequence[_JudgedText]) -> None:
    if not texts:
        raise InputError("there is nothing in it", where=str(path), do=f"give {_FORMS}")
    repeated = len(texts) - len({one.name for one in texts})
    if repeated:
        raise InputError(
            f"{many(repeated, 'id')} that came before", where=str(path),
            why="a judgement would be about two of them.", do="give every one its own.",
        )  # fmt: skip


# --- what stands in them -------------------------------------------------------------------------


def _named(given: str) -> str:
    """An id, without the zeros in front that some files write and others do not."""
    return str(int(given)) if given.isascii() and given.isdigit() else given


def _lines(path: Path) -> list[str]:
    """The lines of a file: UTF-8, or what wrote text before it."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read it: {error.strerror}", where=str(path)) from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    return text.replace("\r\n", "\n").split("\n")


def _smart_texts(path: Path) -> list[_JudgedText]:
    """Records that begin with `.I` and an id; `.T` begins a title and `.W` the words."""
    found: list[tuple[str, dict[str, list[str]]]] = []
    field: list[str] = []
    for number, line in enumerate(_lines(path), 1):
        if line.startswith(".I"):
            name = line[2:].strip()
            if not name:
                raise InputError(
                    "a record without an id", where=f"{path}, line {number}", do="write  .I 12."
                )
            found.append((_named(name), {"T": [], "W": []}))
            field = []
        elif match := _FIELD.match(line):
            field = found[-1][1].get(match[1], []) if found else []
        else:
            field.append(line)
    return [
        _JudgedText(name, "\n".join(fields["T"]), "\n".join(fields["W"])) for name, fields in found
    ]


def _json_texts(path: Path) -> list[_JudgedText]:
    found, problems = [], []
    for number, line in enumerate(_lines(path), 1):
        if not line.strip():
            continue
        try:
            given = json.loads(line)
        except (ValueError, RecursionError):
            given = None
        if not isinstance(given, dict) or not _is_document(given):
            problems.append(
                Problem(
                    'this is no object with "id" and "text"', where=f"{path}, line {number}",
                    do='write  {"id": "12", "title": "…", "text": "…"}.',
                )
            )  # fmt: skip
            continue
        name, title = str(given["id"]), given.get("title") or ""
        found.append(_JudgedText(_named(name), title, given["text"]))
    refuse(problems)
    return found


def _is_document(given: dict[str, object]) -> bool:
    return (
        isinstance(given.get("id"), str | int)
        and isinstance(given.get("text"), str)
        and isinstance(given.get("title") or "", str)
    )


def _table_texts(path: Path) -> list[_JudgedText]:
    rows = [(i, line.partition("\t")) for i, line in enumerate(_lines(path), 1) if line.strip()]
    refuse(
        Problem("this line has no id, tab and query", where=f"{path}, line {number}")
        for number, (name, tab, text) in rows
        if not (name.strip() and tab and text.strip())
    )
    return [_JudgedText(_named(name.strip()), "", text) for _, (name, _, text) in rows]


def _relevant_pairs(path: Path) -> list[tuple[str, str]]:
    """Query and document of every judgement that says yes."""
    rows = [(i, line.split()) for i, line in enumerate(_lines(path), 1) if line.strip()]
    widths = {len(cells) for _, cells in rows}
    if len(widths) > 1 or not widths <= {2, 3, 4}:
        raise InputError(
            "these lines do not have two, three or four columns, all of them as many",
            where=str(path), do="write query, document and grade; or query, 0, document and grade.",
        )  # fmt: skip
    at, graded = _columns([cells for _, cells in rows])
    if graded is None:
        return [(_named(cells[0]), _named(cells[at])) for _, cells in rows]
    refuse(
        Problem("the grade is no number", where=f"{path}, line {number}")
        for number, cells in rows
        if not _GRADE.fullmatch(cells[graded])
    )
    return [
        (_named(cells[0]), _named(cells[at])) for _, cells in rows if float(cells[graded]) > 0
    ]  # fmt: skip


def _columns(rows: Sequence[Sequence[str]]) -> tuple[int, int | None]:
    """Where documents and grades stand; SMART lists what is relevant, with zeros behind it."""

    def holds(column: int, values: set[str]) -> bool:
        return {row[column] for row in rows} <= values

    wide = len(rows[0]) if rows else 2
    if wide == 4 and holds(1, {"0", "Q0"}):
        return 2, 3
    if wide == 2 or holds(2, {"0"}):
        return 1, None
    return 1, 2
