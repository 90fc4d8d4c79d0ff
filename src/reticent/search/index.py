"""The engine on a person's own machine: a full-text index in a folder, for its owner alone.

Terms are made by the same `Language` as profiles, and ranked by BM25 (tantivy's). Words that are no
terms, stop words and numbers, are kept apart: numbers of a query count, and stop words where it has
nothing else ("The Who").

    index.json      which generation is the index now, its language, its size, sums of its files
    g-12345678/     a generation: segments of tantivy, and places.json, what documents they hold

**How it changes.** Documents are told apart by their place, and by a digest of what they say. A new
generation shares the files of the one before it, which are never written again, and has the new
documents beside them. Where one was changed or is gone, it is made of the texts that stay instead:
tantivy itself would only mark a document, and leave its text on the disk. One rename of
`index.json` makes the new generation the index; so a kill leaves the old one or the new one, and
what else it left goes when the index is opened or updated again.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import threading
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from reticent.errors import EngineError, InputError, Stopped
from reticent.files.output import (
    is_leftover,
    lock_folder,
    name_of,
    repair,
    sync,
    whole_file,
    whole_folder,
    write_text,
)
from reticent.progress import Watch
from reticent.search.documents import PersonalDocument
from reticent.search.engines import FoundPage, with_title
from reticent.search.words import NONE, Language, is_word, languages, runs_of

if TYPE_CHECKING:
    from tantivy import Document, Index, Query, Searcher

_VERSION = 1
_STATE, _PLACES = "index.json", "places.json"
_GENERATION = re.compile(r"g-[0-9a-f]{8}")
_HEAP = 64_000_000  # bytes that tantivy gathers before it writes a segment
_MOST_TERMS = 200  # of a query that count
_MOST_KNOWN = 500_000  # runs whose terms are kept at hand
_LOOK = 500  # documents between two looks at who watches
_LONE = "surrogatepass"  # halves of a pair that stand alone, as in names of files in no encoding
_AGAIN = 5  # times an index is opened that an update takes away meanwhile
_MAKE = "make it anew by  reticent search index --force."


@dataclass(frozen=True, slots=True)
class IndexChanges:
    """What an update came to."""

    documents: int  # that the index holds now
    added: int
    changed: int
    removed: int
    unchanged: int


def update_index(
    folder: str | Path,
    documents: Iterable[PersonalDocument],
    language: Language,
    *,
    force: bool = False,
    watch: Watch | None = None,
) -> IndexChanges:
    """Make an index hold these documents and no others, or make it; `force` makes it anew.

    Of several documents in one place the first counts.
    """
    path, watch = Path(folder), watch or Watch()
    repair(path)
    if not _is_index(path):
        # An empty folder loses nothing; one with other things in it is refused, forced or not.
        try:
            with whole_folder(path, force=force or path.is_dir(), private=True) as place:
                changes, state = _updated(place, None, documents, language, watch)
                write_text(place / _STATE, state.text())
                (place / _STATE).chmod(0o600)
                return changes
        except InputError:
            if not _is_index(path):
                raise
            raise InputError(
                "another process has made this index meanwhile", where=str(path),
                do="run this again: it makes that index hold these documents.",
            ) from None  # fmt: skip
    with _alone(path):
        old = None if force else _State.read(path).whole()
        if old is not None and old.language != language.name:
            raise InputError(
                f"this index is of {old.language} texts, and these are {language.name}",
                where=str(path), do=f"say --language {old.language}, or {_MAKE}",
            )  # fmt: skip
        _sweep(path)
        try:
            changes, state = _updated(path, old, documents, language, watch)
            if state != old:
                with whole_file(path / _STATE, force=True, private=True) as place:
                    write_text(place, state.text())
        except BaseException:
            _sweep(path)
            raise
        if _sweep(path):
            raise InputError(
                "the index is as it should be, but texts of before are still on the disk: not all "
                "of its folder can be removed", where=str(path),
                do="see that the folder and all in it is yours, and run this again.",
            )  # fmt: skip
        return changes


def language_in(folder: str | Path) -> str | None:
    """The language of the index in a folder, if there is one that can be read."""
    with contextlib.suppress(InputError):
        return _State.read(Path(folder)).language
    return None


def _updated(
    path: Path,
    old: _State | None,
    documents: Iterable[PersonalDocument],
    language: Language,
    watch: Watch,
) -> tuple[IndexChanges, _State]:
    """Write a generation, if there is anything new to write."""
    before = old.documents() if old else {}
    number = {place: i for i, place in enumerate(before)}
    seen, kept, changed = set[str](), set[int](), 0
    with _Generation(path, language, old) as fresh:
        for document in documents:
            place = document.place
            if place in seen:
                continue
            seen.add(place)
            if len(seen) % _LOOK == 0 and watch.stop():
                raise Stopped("Stopped; the index is as it was.")
            digest = _digest(document)
            if before.get(place) == digest:
                kept.add(number[place])
                continue
            changed += place in before
            fresh.add(place, digest, document.title, document.text)
    stale = set(number.values()) - kept
    changes = IndexChanges(
        len(seen), len(seen) - len(kept) - changed, changed, len(stale) - changed, len(kept)
    )  # fmt: skip
    if stale:
        fresh = fresh.without(stale)
    if old is not None and changes.unchanged == len(seen) == len(before):
        return changes, old
    return changes, _State.of(fresh)


def _digest(document: PersonalDocument) -> str:
    both = f"{len(document.title)} {document.title}{document.text}"
    return blake2b(both.encode("utf-8", _LONE), digest_size=16).hexdigest()


# --- generations ---------------------------------------------------------------------------------


class _Generation:
    """Files of an index while they are written."""

    def __init__(self, path: Path, language: Language, old: _State | None = None) -> None:
        """Begin with nothing, or with what another generation holds."""
        from tantivy import Index

        self.path, self.language = path, language
        self.folder = path / f"g-{secrets.token_hex(4)}"
        self._terms = _Terms(language)
        held = old.documents() if old is not None else {}
        with _refusing(path):
            self.folder.mkdir(mode=0o700)
            if old is not None:
                for file in old.files:
                    _share(old.folder / file, self.folder / file)
            self._index = Index(_schema(), str(self.folder))
            # One thread keeps documents in their order, and leaves the other to make terms.
            self._writer = self._index.writer(_HEAP, 1)
        self.places, self.digests = [*held], [*held.values()]

    def add(self, place: str, digest: str, title: str, text: str) -> None:
        """Take in a document."""
        from tantivy import Document

        document = Document()
        runs = runs_of(with_title(title, text))
        terms = self._terms
        document.add_text("terms", " ".join([term for run in runs if (term := terms[run])]))
        document.add_text("rest", " ".join([run for run in runs if not terms[run]]))
        document.add_unsigned("number", len(self.places))
        # Not as text: what was read from damaged files need not be valid Unicode.
        page = json.dumps([title, text], ensure_ascii=False)
        document.add_bytes("page", page.encode("utf-8", _LONE))
        self.places.append(place)
        self.digests.append(digest)
        with _refusing(self.path):
            self._writer.add_document(document)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failed: object, *more: object) -> None:
        """See all of it to the disk, or where something failed, leave nobody writing on."""
        if failed:
            with contextlib.suppress(ValueError):
                self._writer.rollback()
                self._writer.wait_merging_threads()
            return
        with _refusing(self.path):
            self._writer.commit()
            self._writer.wait_merging_threads()
            write_text(self.folder / _PLACES, json.dumps([self.places, self.digests]) + "\n")
            for file in self.folder.iterdir():
                file.chmod(0o600)
            sync(self.folder)

    def without(self, stale: set[int]) -> _Generation:
        """Another generation, of the texts of this one but for some."""
        with _Generation(self.path, self.language) as fresh, _refusing(self.path):
            self._index.reload()
            for number, document in _every(self._index.searcher()):
                if number not in stale:
                    title, text = _page(document)
                    fresh.add(self.places[number], self.digests[number], title, text)
        shutil.rmtree(self.folder, ignore_errors=True)  # what stays is seen in the end
        return fresh


def _schema() -> Any:
    """What is known of a document: its terms, its other words, its number, itself."""
    from tantivy import SchemaBuilder

    schema = SchemaBuilder()
    schema.add_text_field("terms", tokenizer_name="whitespace", index_option="freq")
    schema.add_text_field("rest", tokenizer_name="whitespace", index_option="freq")
    schema.add_unsigned_field("number", fast=True)
    schema.add_bytes_field("page", stored=True)
    return schema.build()


class _Terms(dict[str, str]):
    """The term of every run, worked out once; "" of what is none: stop words, numbers."""

    def __init__(self, language: Language) -> None:
        super().__init__()
        self._language = language

    def __missing__(self, run: str) -> str:
        if len(self) >= _MOST_KNOWN:  # mail is full of runs that come once
            self.clear()
            self._language.clear()
        self[run] = term = self._language[run] if is_word(run) else ""
        return term


def _every(searcher: Searcher) -> Iterator[tuple[int, Document]]:
    """All documents by their numbers, in the order in which they stand on the disk."""
    from tantivy import Query

    if searcher.num_docs:
        hits = searcher.search(Query.all_query(), searcher.num_docs, count=False).hits
        addresses = sorted(
            (address for _, address in hits), key=lambda one: (one.segment_ord, one.doc)
        )  # fmt: skip
        numbers = searcher.fast_field_values("number", addresses)
        for number, address in zip(numbers, addresses, strict=True):
            yield int(number or 0), searcher.doc(address)


def _page(document: Document) -> tuple[str, str]:
    title, text = json.loads(bytes(document.get_first("page") or b"").decode("utf-8", _LONE))
    return title, text


def _share(source: Path, target: Path) -> None:
    """Give a file a second name, or where the disk knows no such thing, copy it."""
    # What tantivy and we write in place of another has to be a file of its own.
    if not source.name.endswith(".json"):
        with contextlib.suppress(OSError):
            os.link(source, target)
            return
    shutil.copyfile(source, target)


# --- the index as a whole ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _State:
    """What `index.json` says, and where."""

    folder: Path  # of the generation
    language: str
    files: Mapping[str, int]  # with a sum over what each holds

    @classmethod
    def of(cls, fresh: _Generation) -> _State:
        files = {
            file.name: _sum(file)
            for file in sorted(fresh.folder.iterdir())
            if not file.name.endswith(".lock")
        }
        return cls(fresh.folder, fresh.language.name, files)

    @classmethod
    def read(cls, path: Path) -> _State:
        """What is the index now; refused where it is none, is damaged or is newer than we are."""
        try:
            data = json.loads((path / _STATE).read_text(encoding="utf-8"))
            _check(data["reticent"] == "index" and type(data["version"]) is int)
            if data["version"] > _VERSION:
                raise InputError(
                    "this index was made by a newer version of reticent", where=str(path),
                    do=f"use that one, or {_MAKE}",
                )  # fmt: skip
            _check(data["version"] == _VERSION and _GENERATION.fullmatch(data["generation"]))
            files, language = data["files"], data["language"]
            _check(language == NONE or language in languages())
            _check(isinstance(files, dict) and _PLACES in files)
            _check(all(re.fullmatch(r"[\w.]+", name) for name in files))
        except OSError as error:
            raise InputError(f"cannot read it: {error.strerror}", where=str(path)) from None
        except (ValueError, TypeError, KeyError, RecursionError):
            raise _damaged(path) from None
        return cls(path / data["generation"], language, files)

    def whole(self) -> _State:
        """Refuse an index whose files are not what was written."""
        try:
            for name, known in self.files.items():
                _check(_sum(self.folder / name) == known)
        except (OSError, ValueError):
            raise _damaged(self.folder.parent) from None
        return self

    def text(self) -> str:
        """What stands in the file."""
        data = {
            "reticent": "index",
            "version": _VERSION,
            "language": self.language,
            "generation": self.folder.name,
            "files": self.files,
        }
        return json.dumps(data, indent=1) + "\n"

    def documents(self) -> dict[str, str]:
        """The digest of every document by its place, in the order of their numbers."""
        try:
            places, digests = json.loads((self.folder / _PLACES).read_text(encoding="utf-8"))
            return dict(zip(places, digests, strict=True))
        except (ValueError, TypeError, RecursionError):
            raise _damaged(self.folder.parent) from None


def _sum(file: Path) -> int:
    """A sum over what a file holds: against damage, not against somebody."""
    found = 0
    with file.open("rb") as opened:
        while block := opened.read(1 << 20):
            found = zlib.crc32(block, found)
    return found


def _is_index(path: Path) -> bool:
    """Whether a folder holds an index, or what can only be the damaged rest of one."""
    if not path.is_dir():
        return False
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
        if json.loads((path / _STATE).read_text(encoding="utf-8"))["reticent"] == "index":
            return True
    names = [file.name for file in path.iterdir()]
    return bool(names) and all(
        name == _STATE or _GENERATION.fullmatch(name) or is_leftover(Path(name)) for name in names
    )


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep other writers out, for as long as this lasts; a kill lets them in again."""
    handle = lock_folder(path, "another process is writing this index")
    try:
        yield
    finally:
        os.close(handle)


def _sweep(path: Path) -> list[str]:
    """Remove generations that are not the index, and name those that stay."""
    others = _others(path)
    for name in others:
        shutil.rmtree(path / name, ignore_errors=True)
    return [name for name in others if os.path.lexists(path / name)]


def _others(path: Path) -> list[str]:
    """Generations that are not the index: what is old, and what a killed run left."""
    try:
        now = json.loads((path / _STATE).read_text(encoding="utf-8"))["generation"]
        names = os.listdir(path)
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return []
    return [name for name in names if _GENERATION.fullmatch(name) and name != now]


@contextlib.contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Whatever tantivy and the disk refuse while an index is written, in words of ours."""
    try:
        yield
    except (OSError, ValueError):
        # Its own words name files of its making, and what it read in them.
        raise InputError(
            "cannot write the index", where=str(path.with_name(name_of(path))),
            do="free some space or choose another place; what was there before is as it was.",
        ) from None  # fmt: skip


def _damaged(path: Path) -> InputError:
    return InputError("this is no index, or it is damaged", where=str(path), do=_MAKE)


def _check(true: object) -> None:
    if not true:
        raise ValueError


# --- asking --------------------------------------------------------------------------------------


class LocalIndex:
    """An index that is open to be asked: as it was then, whatever is written meanwhile."""

    def __init__(self, index: Index, language: str, places: Sequence[str]) -> None:
        """Take an index of tantivy, and where its documents stand, by their numbers."""
        self.language: str | None = language
        self.documents = len(places)
        self._places = places
        self._schema, self._searcher = index.schema, index.searcher()
        self._terms = _Terms(Language(language))

    @classmethod
    def open(cls, folder: str | Path) -> LocalIndex:
        """Open the index in a folder; refused where it is none, or is damaged."""
        path = Path(folder)
        if not (path / _STATE).is_file():
            raise InputError(
                "there is no index", where=str(path),
                do=f"make one by  reticent search index DOCS -o {path}",
            )  # fmt: skip
        for _ in range(_AGAIN):
            state = _State.read(path)
            try:
                found = cls._opened(state, path)
            except InputError:
                # An update may have taken it away between reading of it and opening it.
                if _State.read(path).folder == state.folder:
                    raise
                continue
            if _others(path):
                # A run that was killed left them, or one that writes has them in hand.
                with contextlib.suppress(InputError, OSError), _alone(path):
                    _sweep(path)
            return found
        raise InputError("this index changes all the time", where=str(path), do="try again.")

    @classmethod
    def _opened(cls, state: _State, path: Path) -> LocalIndex:
        from tantivy import Index

        state.whole()
        try:
            if not Index.is_compatible(str(state.folder)):
                raise InputError(
                    "this index was made with another version of tantivy", where=str(path),
                    do=_MAKE,
                )  # fmt: skip
            places = [*state.documents()]
            index = Index.open(str(state.folder))
            index.config_reader("manual")  # it stays as it is: nobody has to watch the file
            index.reload()
            found = cls(index, state.language, places)
            _check(found._searcher.num_docs == len(places))
        except (OSError, ValueError):
            raise _damaged(path) from None
        return found

    def ask(self, query: str, top: int) -> list[FoundPage]:
        """The best documents for a query of plain words; of equals, the first by place."""
        asked = self._asked(query)
        if asked is None or not self.documents:
            return []
        limit = top + 1
        while True:
            hits = self._searcher.search(asked, limit, count=False).hits
            scores = [_rounded(score) for score, _ in hits]
            # All equals of the last one have to be there: tantivy's order of them is another.
            if len(hits) < limit or scores[-1] < scores[top - 1]:
                break
            limit *= 4
        addresses = [address for _, address in hits]
        numbers = self._searcher.fast_field_values("number", addresses)
        places = [self._places[int(number or 0)] for number in numbers]
        order = sorted(range(len(hits)), key=lambda i: (-scores[i], places[i]))
        found = []
        for i in order[:top]:
            title, text = _page(self._searcher.doc(addresses[i]))
            found.append(FoundPage(places[i], title, with_title(title, text), scores[i]))
        return found

    def _asked(self, query: str) -> Query | None:
        """Any of the terms and numbers of a query; any of its other words if it has none."""
        from tantivy import Occur, Query

        runs = runs_of(query)
        terms = [("terms", term) for run in runs if (term := self._terms[run])]
        others = [("rest", run) for run in runs if not self._terms[run]]
        numbers = [pair for pair in others if not pair[1][0].isalpha()]
        counts = Counter(terms + numbers or others)
        parts = [
            Query.boost_query(Query.term_query(self._schema, field, text, "freq"), float(count))
            for (field, text), count in sorted(counts.most_common(_MOST_TERMS))
        ]
        return Query.boolean_query([(Occur.Should, part) for part in parts]) if parts else None


class LatestIndex:
    """The index in a folder as it is now, for whoever asks for long: what was removed is gone."""

    def __init__(self, folder: str | Path) -> None:
        """Open it, as `LocalIndex.open` does."""
        self._path, self._lock = Path(folder), threading.Lock()
        self._state: object = self._now()  # before it opens: older than that it is not
        self._index: LocalIndex | None = LocalIndex.open(folder)
        self.language = self._index.language

    def state(self) -> object:
        """What tells the index of now from that of another moment; refused once it is gone."""
        if (now := self._now()) is None:
            raise EngineError(
                "The index is gone: make it again by  reticent search index, or end this."
            )
        return now

    def ask(self, query: str, top: int) -> list[FoundPage]:
        """What `LocalIndex.ask` finds."""
        with self._lock:
            if (index := self._index) is None or self._now() != self._state:
                self._index = None  # whatever comes now, the texts of before are not shown again
                self._state = self.state()
                self._index = index = LocalIndex.open(self._path)
                self.language = index.language
        return index.ask(query, top)

    def _now(self) -> tuple[int, int, int] | None:
        try:
            about = (self._path / _STATE).stat()
        except OSError:
            return None
        return about.st_ino, about.st_mtime_ns, about.st_size


def _rounded(score: Any) -> float:
    """A score without what adding up in another order changes."""
    return float(f"{score:.5g}")
