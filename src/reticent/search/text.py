"""Profiles and results as text for a terminal."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from reticent.data.texts import one_line
from reticent.errors import listed, many
from reticent.search.documents import SkippedFile
from reticent.search.exposing import ExposedProfile, ProfileExposure, exposure_of
from reticent.search.profile import Profile, ProfileNode, left_by
from reticent.search.ranking import RankedPage, SearchAnswer
from reticent.search.report import (
    BuiltProfile,
    ExposurePreview,
    IndexedTexts,
    ReadTexts,
    SliderStep,
    ToldInterest,
    counted,
    decimals,
    first_step,
    preview,
    remarks,
    shape,
)
from reticent.search.words import NONE
from reticent.terminal.text import composed, table

if TYPE_CHECKING:
    from reticent.search.served import ServedAt

_MOST_TOLD = 40  # interests that are listed before "and … more"
_MOST_RESULTS = 10
_LONGEST_TITLE = 80
_MOST_NAMED = 10  # files, and words of a step


def skipped(files: Sequence[SkippedFile]) -> Iterator[str]:
    """What was not read and why: by reason, the first few by name."""
    if not files:
        return
    yield f"Skipped {many(len(files), 'file')}:"
    for reason, count in Counter(one.reason for one in files).most_common():
        places = [one_line(one.place) for one in files if one.reason == reason]
        yield f"  {count:,} {reason}: {listed(places, 3)}"


def built(found: BuiltProfile) -> str:
    """What making a profile came to, without a word of it."""
    profile, size = found.profile, shape(found.profile)
    lines = [_read(found.texts)]
    if found.wordless:
        lines.append(f"{many(found.wordless, 'part')} without a word that says something left out.")
    lines.append(
        f"{many(size['interests'], 'interest')} on {many(size['levels'], 'level')}, from "
        f"{many(profile.documents, 'document')} of up to 450 words; an interest stands in "
        f"{profile.minsup:,} of them or more."
    )
    lines.append(_language(profile.language, guessed=found.guessed))
    if found.output:
        lines.append(f"Written to {found.output}, for your eyes alone.")
    if found.output and profile.nodes:
        lines[-1] += (
            " What it says, and how much of it to tell:\n"
            f"  reticent profile show {shlex.quote(found.output)} --depth 2 --ratio 0.25"
        )
    return composed(lines)


def _read(texts: ReadTexts) -> str:
    kinds = [many(count, kind) for kind, count in texts.kinds.items() if count]
    more = f" and {len(texts.skipped):,} skipped" if texts.skipped else ""
    return f"{many(texts.documents, 'document')} read ({', '.join(kinds)}){more}."


def _language(name: str, *, guessed: bool) -> str:
    if name == NONE:
        return "Words are taken as they are (--language none)."
    how = ", guessed; --language tells it" if guessed else ""
    return f"Words are cut down to their stems: {name}{how}."


def shown(
    profile: Profile,
    exposure: ProfileExposure | None,
    depth: int | None,
    how: str = "",
    hidden: frozenset[int] = frozenset(),
) -> str:
    """A profile as a tree, what would be exposed of it, and what that says.

    `hidden`: nodes that are left out of the tree, as if they were not there.
    """
    size = shape(profile)
    without = f", {len(hidden):,} of them hidden" if hidden else ""
    lines = [
        f"{many(profile.documents, 'document')}, {many(size['interests'], 'interest')} on "
        f"{many(size['levels'], 'level')}{without}. For your eyes alone.",
        "",
        _tree(profile, exposure, depth, hidden),
    ]
    if exposure is None:
        lines += _opening(preview(exposure_of(profile, [], hidden)).steps)
    else:
        lines += ["", *previewed(preview(exposure, steps=False), how)]
    return composed(lines)


def _opening(steps: Sequence[SliderStep]) -> Iterator[str]:
    """What could be told, from the most general on, a twentieth of it after the other."""
    if steps:
        rows = [[f"{float(one.most):g}", one.told, _named(one.adds, 4)] for one in steps]
        yield ""
        yield "What could be told, and what a larger ratio adds:"
        yield ""
        yield table(["--ratio", "interests", "also"], rows)


def _tree(
    profile: Profile,
    exposure: ProfileExposure | None,
    depth: int | None,
    hidden: frozenset[int],
) -> str:
    told = exposure.told if exposure else frozenset()
    rows = [[name, support, share, *extra] for name, support, share, *extra in (
        _row(profile, name, support, id(node) in told if node else None, exposure is not None)
        for name, support, node in _lines(profile, depth, hidden)
    )]  # fmt: skip
    head = ["interest", "documents", "share", *(["told"] if exposure else [])]
    if not rows:
        return "Every interest is hidden." if hidden else "There is no interest in it."
    return table(head, rows)


def _lines(
    profile: Profile, depth: int | None, hidden: frozenset[int]
) -> Iterator[tuple[str, Fraction, ProfileNode | None]]:
    """Every node and what its children leave, indented by level."""
    waiting: list[tuple[int, ProfileNode | Fraction]] = []

    def below(level: int, support: Fraction, children: Sequence[ProfileNode]) -> None:
        nodes = _beside(children, hidden)
        if nodes and (depth is None or level < depth):
            if others := left_by(support, nodes):
                waiting.append((level, others))
            waiting.extend((level, node) for node in reversed(nodes))

    below(0, Fraction(profile.documents), profile.nodes)
    while waiting:
        level, item = waiting.pop()
        if isinstance(item, Fraction):
            yield f"{'  ' * level}(others)", item, None
        else:
            yield f"{'  ' * level}{one_line(profile.worded(item.label))}", item.support, item
            below(level + 1, item.support, item.children)


def _beside(nodes: Sequence[ProfileNode], hidden: frozenset[int]) -> list[ProfileNode]:
    return [node for node in nodes if id(node) not in hidden]


def _row(
    profile: Profile, name: str, support: Fraction, told: bool | None, exposing: bool
) -> list[str]:
    share = f"{float(support / profile.documents):6.1%}"
    return [
        name,
        decimals(support),
        share,
        *([("yes" if told else "") if exposing else ""] * exposing),
    ]


def previewed(found: ExposurePreview, how: str = "", *, steps: bool = True) -> Iterator[str]:
    """What would leave, what it says, and (`steps`) what a little more or less of it would say."""
    exposure, exposed = found.exposure, found.exposure.exposed
    if not found.interests:
        yield f"{how}Nothing would be told: {_why_nothing(found)}."
    else:
        yield (
            f"{how}{counted(found)} would be told, {exposed.ratio:.1%} of "
            f"what your profile says; {found.kept:,} would stay here."
        )
        yield "Whoever gets them reads:"
        for one in found.interests[:_MOST_TOLD]:
            yield f"  {one_line(one.words)} {one.weight:g}: {_reads(one)}"
        if (left := len(found.interests) - _MOST_TOLD) > 0:
            yield f"  … and {left:,} more"
        yield (
            "and nothing else: no text, no name of a file, no number of documents. Not "
            "hidden are the queries themselves, and that these interests are one person's."
        )
    yield from map(one_line, remarks(found))
    if steps and found.more is not None:
        more = [exposure.profile.worded(node.label) for node in found.more.nodes]
        yield f"A little more ({found.more.ratio:.1%}) would add: {_named(more)}."
    if steps and found.less is not None:
        less = [exposure.profile.worded(node.label) for node in found.less.nodes]
        yield f"A little less would leave out: {_named(less)}."


def would_be_told(exposure: ProfileExposure) -> str:
    """What would leave, and what a little more or less of it would say."""
    return composed(previewed(preview(exposure)))


def told(exposed: ExposedProfile) -> str:
    """What leaves, as it leaves."""
    if not exposed.terms:
        return "Nothing is told."
    return composed(
        [
            f"{many(len(exposed.terms), 'interest')}, {exposed.ratio:.1%} of a profile.",
            "",
            table(["label", "weight"], [[one_line(label), f"{w:g}"] for label, w in exposed.terms]),
        ]
    )


def _reads(one: ToldInterest) -> str:
    """What a reader makes of a weight."""
    share = f"about {one.share:.0%} of your documents"
    if one.interests == 1:
        return share
    return f"{one.interests:,} interests, together {share}; only the sum of their weights is told"


def _why_nothing(found: ExposurePreview) -> str:
    if found.more is not None:
        return f"every interest is more special than that ({first_step(found.more)})"
    return "every interest is hidden" if found.exposure.hidden else "there is no interest"


def exposed(found: ExposurePreview, output: str, how: str = "") -> str:
    """What was written to be told; of interests that are not told, nothing but how many."""
    lines = [*previewed(found, how, steps=False)]
    return composed([*lines, f"Written to {output}. Nothing has left this machine yet."])


def tree_line(
    profile: Profile,
    exposure: ProfileExposure | None,
    depth: int | None,
    hidden: frozenset[int] = frozenset(),
) -> str:
    """The tree for programs, in one line, without what is hidden, and what would be told of it.

    Trees may be deeper than what writes nested JSON goes: each node is said after its children.
    """
    levels = [_beside(profile.nodes, hidden)]
    while levels[-1] and (depth is None or len(levels) < depth):
        levels.append([c for node in levels[-1] for c in _beside(node.children, hidden)])
    said: dict[int, str] = {}
    for level in reversed(levels):
        below, said = said, {}
        for node in level:
            beside = _beside(node.children, hidden)
            children = ", ".join(below[id(child)] for child in beside if below)
            others = left_by(node.support, beside) if node.children else 0
            said[id(node)] = (
                f'{{"label": {_quoted(node.label)}, "terms": {_quoted(node.terms)}, '
                f'"support": "{node.support}", "children": [{children}], '
                f'"others": "{others}"}}'
            )
    tree = ", ".join(said[id(node)] for node in levels[0])
    told = "" if exposure is None else f', "exposed": {_quoted(exposure.exposed.data())}'
    return f'{{"documents": {profile.documents}, "tree": [{tree}]{told}}}\n'


def _quoted(plain: Any) -> str:
    return json.dumps(plain, ensure_ascii=False)


def _named(labels: Iterable[str], most: int = _MOST_NAMED) -> str:
    return listed([one_line(label) for label in labels], most)


def indexed(found: IndexedTexts) -> str:
    """What making an index came to."""
    lines = [_read(found.texts)]
    changes = [
        f"{count:,} {what}"
        for what, count in (
            ("added", found.added),
            ("changed", found.changed),
            ("removed", found.removed),
            ("as they were", found.unchanged),
        )
        if count
    ]
    lines.append(f"The index holds {many(found.documents, 'document')} ({', '.join(changes)}).")
    lines.append(_language(found.language, guessed=found.guessed))
    lines.append(f"Written to {found.output}, for your eyes alone: it holds their texts.")
    return composed(lines)


def answered(found: SearchAnswer, *, personal: bool, elsewhere: bool = False) -> str:
    """The first results: where each stands and stood, and for which interests it moved.

    `elsewhere`: whether the engine was another's machine.
    """
    lines = [line for one in found.pages[:_MOST_RESULTS] for line in _result(one)]
    if (left := len(found.pages) - _MOST_RESULTS) > 0:
        lines += [f"… and {left:,} more; --json has all of them.", ""]
    lines.append(_order(found, personal=personal) if found.pages else "Nothing was found.")
    if elsewhere:
        nothing = ", and nothing of the profile" if personal else ", and nothing else"
        lines.append(f"The engine was told the query{nothing}.")
    return composed(lines)


def _result(one: RankedPage) -> Iterator[str]:
    was = f"  (was {one.engine_rank})" if one.rank != one.engine_rank else ""
    title = one_line(one.page.title).strip()
    title = title if len(title) <= _LONGEST_TITLE else title[: _LONGEST_TITLE - 1] + "…"
    yield f"{one.rank:3}. {title}{was}"
    yield f"     {one_line(one.page.place)}"
    if one.because:
        terms = [f"{term} ({count})" for term, count in one.because]
        yield f"     of interest: {listed(terms, 5)}"
    yield ""


def _order(found: SearchAnswer, *, personal: bool) -> str:
    if not personal:
        return "In the order of the engine."
    if not found.alpha:
        return (
            "In the order of the engine: with --alpha 0 the profile counts nothing. That is the "
            "default for queries of three words and more, which say by themselves what is meant, "
            "and of none; stop words and numbers do not count."
        )
    share = float(found.alpha)
    return f"In the order of the engine ({1 - share:.0%}) and the profile ({share:.0%})."


def served(at: ServedAt) -> str:
    """Where the page is, and how to end it."""
    return "\n".join(
        [
            f"Search at {at.url}",
            "The address holds a token: whoever has it sees what you see. Programs ask",
            f"{at.search}  by POST, with the token as a bearer. Ctrl-C ends it.",
        ]
    )
