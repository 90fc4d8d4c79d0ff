"""A tree as lists inside lists that open node by node, those nearest to the root alone.

A tree may have thousands of nodes; a page with all of them hangs, or is read by nobody. So it holds
the first ones, level by level, and says how many lie below. Nothing recurses: depth is no limit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from markupsafe import Markup

Node = TypeVar("Node")

MOST_NODES = 1000  # on a page
DEEPEST = 30  # levels that are listed inside each other
WIDEST = 100  # branches of a node that are listed
_OPEN = 2  # levels that are open from the start


@dataclass(slots=True)
class _OnPage(Generic[Node]):
    """A node that is on the page, and those below it that are."""

    node: Node
    line: Markup
    depth: int
    below: list[_OnPage[Node]] = field(default_factory=list)


def opening_lists(
    tops: Sequence[Node],
    children: Callable[[Node], Sequence[Node]],
    line: Callable[[Node, Node | None, int], Markup],
    *,
    thing: str = "node",
) -> tuple[Markup, int]:
    """The lists, and how many nodes are in them.

    `line` says what stands on the line of a node, given the node above it and which of its
    branches it is.
    """
    shown = [_OnPage(node, line(node, None, i), 0) for i, node in enumerate(tops[:MOST_NODES])]
    every = list(shown)
    for one in every:  # grows while it is read
        room = min(MOST_NODES - len(every), WIDEST) if one.depth < DEEPEST - 1 else 0
        some = children(one.node)[: max(room, 0)]
        one.below = [_OnPage(n, line(n, one.node, i), one.depth + 1) for i, n in enumerate(some)]
        every += one.below
    sizes = _sizes(tops, children)
    pieces: list[str] = ['<ul class="tree">']
    waiting: list[_OnPage[Node] | str] = [*reversed(shown)]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            pieces.append(part)
            continue
        branches = children(part.node)
        if not branches:
            pieces.append(f"<li>{part.line}</li>\n")
            continue
        left_out = sum(sizes[id(branch)] for branch in branches[len(part.below) :])
        end = _more(left_out, thing, "below, ") if left_out else ""
        opened = " open" if part.depth < _OPEN else ""
        pieces.append(f"<li><details{opened}><summary>{part.line}</summary>\n<ul>")
        waiting += reversed([*part.below, f"{end}</ul></details></li>\n"])
    if left_out := sum(sizes[id(node)] for node in tops[len(shown) :]):
        pieces.append(_more(left_out, thing, ""))
    pieces.append("</ul>")
    return Markup("".join(pieces)), len(every)


def _more(count: int, thing: str, where: str) -> str:
    things = thing if count == 1 else f"{thing}s"
    return f'<li class="quiet">{count:,} more {things} {where}not on this page</li>\n'


def _sizes(tops: Sequence[Node], children: Callable[[Node], Sequence[Node]]) -> dict[int, int]:
    """Of every node, how many stand in and below it."""
    every = list(tops)
    for node in every:  # grows while it is read
        every += children(node)
    found: dict[int, int] = {}
    for node in reversed(every):
        found[id(node)] = 1 + sum(found[id(branch)] for branch in children(node))
    return found
