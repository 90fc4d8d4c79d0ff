"""The page of a profile: what would be told, how that grows, and all there is, for its owner alone.

The page that searches (`serve`) says the same things in the same words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from markupsafe import Markup

from reticent.errors import listed, many
from reticent.files.output import whole_file, write_text
from reticent.pages.drawing import printable
from reticent.pages.opening import opening_lists
from reticent.pages.page import MOST, page
from reticent.search.exposing import ProfileExposure, exposure_of
from reticent.search.profile import Profile, ProfileNode
from reticent.search.report import (
    ExposurePreview,
    counted,
    decimals,
    first_step,
    preview,
    remarks,
    shape,
)

_MOST_SAID = 5  # interests in a sentence
_MOST_NAMED = 10  # in a step


def profile_page(
    profile: Profile,
    exposure: ProfileExposure | None = None,
    hidden: frozenset[int] = frozenset(),
) -> str:
    """All of a page, for the person whose profile it is; `hidden`, where there is no exposure."""
    size = shape(profile)
    found = preview(exposure or exposure_of(profile, [], hidden))
    inside = found.exposure
    lists, on_page = _lists(inside, told=exposure is not None)
    return page(
        "search/templates/profile.html",
        size
        | {
            "documents": profile.documents,
            "asked": exposure is not None,
            "exposed": inside.exposed,
            "says": list(says(found)),
            "changes": list(changes(found)),
            "told": found.interests[:MOST],
            "more_told": max(len(found.interests) - MOST, 0),
            "steps": [
                (step, listed(step.adds, _MOST_NAMED), step.told) for step in found.steps
            ],
            "hidden": len(inside.hidden),
            "lists": lists,
            "on_page": on_page,
        },
    )  # fmt: skip


def write_page(
    profile: Profile,
    exposure: ProfileExposure | None,
    page: Path,
    *,
    hidden: frozenset[int] = frozenset(),
    force: bool = False,
) -> None:
    """Write it, for its owner's eyes alone."""
    with whole_file(page, force=force, private=True) as path:
        write_text(path, profile_page(profile, exposure, hidden))


def says(found: ExposurePreview) -> Iterator[str]:
    """What would be told, and what a reader makes of it, in plain words."""
    if not found.interests:
        if found.more is None and not found.exposure.hidden:
            yield "Nothing would be told: this profile has no interest in it."
        elif found.more is None:
            yield "Nothing would be told: every interest is hidden."
        else:
            yield (
                "Nothing would be told: every interest is more special than that "
                f"({first_step(found.more)})."
            )
        yield from remarks(found)
        return
    exposed = found.exposure.exposed
    yield (
        f"{counted(found)} would be told, {exposed.ratio:.1%} of what your profile "
        f"says; {found.kept:,} would stay here."
    )
    some = [
        f"{one.words} ({'together ' if one.interests > 1 else ''}{one.share:.0%})"
        for one in found.interests[:_MOST_SAID]
    ]
    if (left := len(found.interests) - len(some)) > 0:
        some.append(f"{left:,} more")
    merged = len(found.interests) < len(found.exposure.told)
    sums = ", but of interests under one name only by the sum of their weights" if merged else ""
    yield (
        f"Whoever gets this reads that a person has documents about {_and(some)}; how large a "
        f"share of them, the weight tells{sums}."
    )
    yield (
        "Nothing else is in it: no text, no name of a file, no number of documents. Not "
        "hidden are the queries themselves, and that these interests are one person's."
    )
    yield from remarks(found)


def changes(found: ExposurePreview) -> Iterator[str]:
    """What a little more and a little less would change."""
    worded = found.exposure.profile.worded
    if found.more is not None:
        more = listed([worded(node.label) for node in found.more.nodes], _MOST_NAMED)
        yield f"A little more ({found.more.ratio:.1%}) would add: {more}."
    if found.less is not None:
        less = listed([worded(node.label) for node in found.less.nodes], _MOST_NAMED)
        yield f"A little less would leave out: {less}."


def _and(some: Sequence[str]) -> str:
    return f"{', '.join(some[:-1])} and {some[-1]}" if len(some) > 1 else some[0]


def _lists(exposure: ProfileExposure, *, told: bool) -> tuple[Markup, int]:
    """Every interest as a line: its words, its documents, whether it would be told."""
    profile = exposure.profile

    def line(node: ProfileNode, above: ProfileNode | None, i: int) -> Markup:
        words = printable(profile.worded(node.label))
        share = f"{float(node.support / profile.documents):.1%}"
        count = decimals(node.support)
        mark = ""
        if told and id(node) in exposure.told:
            mark = Markup(' <strong class="verdict">told</strong>')
        elif id(node) in exposure.hidden:
            mark = Markup(' <span class="quiet">hidden</span>')
        return Markup('<span class="value">{}</span> <span class="quiet">{}, {}</span>{}').format(
            words, share, many(1, "document") if count == "1" else f"{count} documents", mark
        )

    return opening_lists(profile.nodes, lambda node: node.children, line, thing="interest")
