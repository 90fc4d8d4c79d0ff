"""What a released workbook says of itself, on a sheet beside its data: what everybody may know."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from reticent.releases.about import About
from reticent.version import __version__


class KeptPromise(NamedTuple):
    """A promise in words, what was asked for, what was found, and whether it was verified."""

    promise: str
    asked: str
    found: str
    verified: str = "yes"


def notes(promises: Iterable[KeptPromise], about: About, rows: int) -> list[Sequence[str]]:
    """Every promise with what was asked for and found, then whose release it is.

    A file appears only if a verifier that recounts it finds just this.
    """
    told: list[Sequence[str]] = [("Promise", "Asked", "Found", "Verified"), *promises, ()]
    said = {"Title": about.title or "", **about.labelled(), "Rows": f"{rows:,}"}
    told += [(label, text) for label, text in said.items() if text]
    told.append(("Made by", f"reticent {__version__}"))
    return told
