"""The one way out: write beside the place, recount what was written, describe it, let it appear."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from reticent.errors import Broken, InputError
from reticent.files.output import together, whole_file, write_text
from reticent.progress import Clock
from reticent.releases.folder import Contents, describe
from reticent.releases.places import Place, Spot

Written = TypeVar("Written")
Proven = TypeVar("Proven")
Released = TypeVar("Released")


def publish(
    place: Place,
    clock: Clock,
    *,
    usual: Callable[[], str],
    write: Callable[[Spot], Written],
    recount: Callable[[Spot, Written], Proven],
    released: Callable[[Spot, Proven], Released],
    contents: Callable[[Released, Spot], Contents],
    beside: Mapping[Path, Callable[[Released], str]] | None = None,
    agree: Callable[[Spot], None] = lambda spot: None,
) -> Released:
    """Publish a release: everything appears together, once it is recounted, or nothing does.

    `usual`: the suffix of a folder's data; `recount` raises unless what was written is safe (see
    `proven`); `contents`: what a folder holds besides the data; `beside`: files of their own;
    `agree`: the last word before it appears, when all of it is on the disk; raises to prevent it.
    """
    with together() as appearing:
        texts = {
            appearing.enter_context(whole_file(path, force=place.force, private=True)): text
            for path, text in (beside or {}).items()
        }
        spot = appearing.enter_context(place.appearing(usual))
        with clock.stage("write"):
            written = write(spot)
        with clock.stage("verify"):
            proof = recount(spot, written)
        release = released(spot, proof)
        if spot.folder is not None:
            with clock.stage("describe"):
                describe(spot, contents(release, spot))
        for path, text in texts.items():
            write_text(path, text(release))
        agree(spot)
    return release


def proven(holds: bool | None, where: str = "", *, undecided: str = "") -> None:
    """Let nothing pass but what the verifier has found safe; `undecided`: what would help it."""
    if holds is None:
        raise InputError(
            "the verifier could not decide, within its budget, whether the release is safe",
            where=where, do=f"{undecided}; nothing was written.",
        )  # fmt: skip
    if not holds:
        raise Broken(
            "the verifier refused this release, so nothing was written", where=where,
            why="search and verifier disagree, which is a fault of this program.",
            do="please report it, with the policy but without the data.",
        )  # fmt: skip


def exit_code(holds: bool | None, *, accept_undecided: bool = False) -> int:
    """How a command that verifies ends: 0 kept, 1 broken, 2 where nobody can tell.

    >>> [exit_code(holds) for holds in (True, False, None)]
    [0, 1, 2]
    """
    if holds is None:
        return 0 if accept_undecided else 2
    return 0 if holds else 1
