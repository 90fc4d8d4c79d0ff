"""A profile on the disk: one file, for its owner's eyes alone.

Nodes stand in it as a list, each after its parent, and supports as exact text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from reticent.errors import InputError
from reticent.files.output import whole_file, write_text
from reticent.search.profile import Profile, ProfileNode
from reticent.search.words import NONE, languages

_VERSION = 1
_ROOT = -1  # the parent of nodes that have none
_EXACT = re.compile(r"\d{1,400}(/[1-9]\d{0,400})?")
_MOST = 10**12  # documents


def write_profile(profile: Profile, path: str | Path, *, force: bool = False) -> None:
    """Write a profile so that nobody else can read it."""
    nodes: list[tuple[int, Sequence[str], str]] = []
    waiting = [(_ROOT, node) for node in reversed(profile.nodes)]
    while waiting:
        parent, node = waiting.pop()
        waiting += [(len(nodes), child) for child in reversed(node.children)]
        nodes.append((parent, node.terms, str(node.support)))
    data = {
        "reticent": "profile",
        "version": _VERSION,
        "documents": profile.documents,
        "language": profile.language,
        "keywords": profile.keywords,
        "minsup": profile.minsup,
        "delta": str(profile.delta),
        "nodes": nodes,
        "words": dict(sorted(profile.words.items())),
    }
    with whole_file(Path(path), force=force, private=True) as place:
        write_text(place, json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n")


def read_profile(path: str | Path) -> Profile:
    """Read a profile, and refuse what is none, or is damaged."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
        return _profile(data)
    except OSError as error:
        raise InputError(f"cannot read it: {error.strerror}", where=str(path)) from None
    except (ValueError, TypeError, KeyError, IndexError, RecursionError, OverflowError):
        raise InputError(
            "this is no profile, or it is damaged", where=str(path),
            do="make it again by  reticent profile build.",
        ) from None  # fmt: skip


def _profile(data: Any) -> Profile:
    _check(data["reticent"] == "profile" and data["version"] == _VERSION)
    documents, keywords, minsup = data["documents"], data["keywords"], data["minsup"]
    _check(_is_count(documents) and _is_count(minsup))
    _check(keywords is None or _is_count(keywords))
    _check(data["language"] == NONE or data["language"] in languages())
    words = data["words"]
    _check(isinstance(words, dict) and all(isinstance(word, str) for word in words.values()))
    delta = _fraction(data["delta"])
    _check(delta <= 1)
    nodes = tuple(_nodes(data["nodes"]))
    profile = Profile(documents, nodes, data["language"], keywords, minsup, delta, words)
    _check(profile.others >= 0)
    return profile


def _nodes(told: Any) -> Iterator[ProfileNode]:
    """The children of the root; read from behind, every node finds its children made."""
    _check(isinstance(told, list))
    below: dict[int, list[ProfileNode]] = {}
    for place in range(len(told) - 1, -1, -1):
        parent, terms, support = told[place]
        _check(type(parent) is int and _ROOT <= parent < place)
        _check(isinstance(terms, list) and terms)
        _check(all(isinstance(term, str) and term and "/" not in term for term in terms))
        node = ProfileNode(
            tuple(terms), _fraction(support), tuple(reversed(below.pop(place, [])))
        )  # fmt: skip
        _check(node.support > 0 and node.others >= 0)
        below.setdefault(parent, []).append(node)
    yield from reversed(below.get(_ROOT, []))


def _fraction(text: Any) -> Fraction:
    _check(isinstance(text, str) and _EXACT.fullmatch(text))
    return Fraction(text)


def _is_count(given: Any) -> bool:
    return type(given) is int and 1 <= given <= _MOST


def _check(true: object) -> None:
    if not true:
        raise ValueError
