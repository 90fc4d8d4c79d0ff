"""The page of a tree: its first questions drawn, and all of it to open node by node.

A tree may have thousands of nodes; a page that draws all of them hangs, or is read by nobody. So
it holds those nearest to the root, and says how many lie below.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from markupsafe import Markup

from reticent.errors import InputError
from reticent.files.output import refuse_inputs, whole_file, write_text
from reticent.jointree import report
from reticent.jointree.model import MODEL, JoinNode, JoinTree, said
from reticent.pages import charts, drawing
from reticent.pages.opening import opening_lists
from reticent.pages.page import MOST, page

_DRAWN = 3  # levels of the drawing below the root
_BOXES = 40
_WAYS = 8  # branches of a node that are drawn
_LONG_NAME = 18  # letters that a box holds
_CLASSES = 5  # whose counts stand beside a node
_BARS = 20


def tree_page(tree: JoinTree) -> str:
    """All of a page: for whoever may see the tables."""
    size = report.shape(tree)
    listed, on_page = _listed(tree)
    asked = report.asked_columns(tree)
    counts = [*zip(tree.classes, tree.root.counts, strict=True)]
    counts.sort(key=lambda one: -one[1])
    bars = [charts.Bar(name, float(count), matters=i == 0) for i, (name, count) in
            enumerate(counts[:_BARS])]  # fmt: skip
    return page(
        "jointree/templates/tree.html",
        size
        | {
            "class": tree.target,
            "classes": len(tree.classes),
            "total": _number(sum(tree.root.counts)),
            "tables": len({table for table, *_ in asked}),
            "sites": len(tree.sites),
            "drawing": _drawing(tree) if tree.root.asks else None,
            "drawn_levels": min(_DRAWN, size["depth"]),
            "listed": listed,
            "on_page": on_page,
            "asked": asked[:MOST],
            "more_asked": max(len(asked) - MOST, 0),
            "by_class": charts.bars("Classes", _counted(tree), bars),
            "counts": [(name, _number(count)) for name, count in counts[:MOST]],
            "more_counts": max(len(counts) - MOST, 0),
            "more_bars": max(len(counts) - _BARS, 0),
            "counted": _counted(tree),
            "weighs": tree.weight == "record",
        },
    )


def write_page(tree: JoinTree, place: Path, model: Path, *, force: bool = False) -> None:
    """Write it, for its owner's eyes alone."""
    files = [model / MODEL] if model.is_dir() else [model]
    refuse_inputs([place], files)
    if place.resolve().parent == files[0].resolve().parent and files[0].name == MODEL:
        raise InputError(
            "a folder with a model holds nothing else", where=str(place),
            why="train --force would refuse to replace it.", do="write the page beside it.",
        )  # fmt: skip
    with whole_file(place, force=force, private=True) as path:
        write_text(path, tree_page(tree))


def _counted(tree: JoinTree) -> str:
    return "weights of records" if tree.weight == "record" else "joined rows"


def _number(count: Any) -> str:
    return f"{count:,}" if isinstance(count, int) else said(count)


# --- the drawing ---------------------------------------------------------------------------------


def _drawing(tree: JoinTree) -> Markup:
    """The questions nearest to the root."""
    knots = [_knot(tree, tree.root, "", -1)]
    level = [(0, tree.root)]
    for _ in range(_DRAWN):
        below: list[tuple[int, JoinNode]] = []
        for at, node in level:
            if node.asks is None or len(knots) + min(len(node.branches), _WAYS) > _BOXES:
                continue
            for i, branch in enumerate(node.branches[:_WAYS]):
                below.append((len(knots), branch))
                knots.append(_knot(tree, branch, node.asks.branch_words(i), at))
            if (more := len(node.branches) - _WAYS) > 0:
                words = f"{more:,} more {'branch' if more == 1 else 'branches'}"
                knots.append(charts.Knot("other values", words, "", at))
        level = below
    first = tree.root.asks
    assert first is not None
    desc = f"The first question is about {first.table}.{first.column}. The list below tells all."
    return charts.branching(f"How {tree.target} is told", desc, knots)


def _knot(tree: JoinTree, node: JoinNode, way: str, parent: int) -> charts.Knot:
    every = _number(sum(node.counts))
    if node.asks is None:
        return charts.Knot(way, tree.classes[node.winner], every, parent, ends=True)
    # Of a long name the column matters more than the table.
    name = node.asks.name if len(node.asks.name) <= _LONG_NAME else node.asks.column
    return charts.Knot(way, f"{name or node.asks.name}?", every, parent)


# --- the list ------------------------------------------------------------------------------------


def _listed(tree: JoinTree) -> tuple[Markup, int]:
    """Every node as a line: what is true there, and how many of each class meet."""

    def line(node: JoinNode, above: JoinNode | None, i: int) -> Markup:
        words = "all"
        if above is not None and above.asks is not None:
            words = f"{above.asks.name} {above.asks.branch_words(i)}"
        head = Markup('<span class="value">{}</span>').format(drawing.printable(words))
        counts = Markup('<span class="quiet">{}</span>').format(_counts(tree, node))
        if node.asks is not None:
            return Markup("{} {}").format(head, counts)
        label = drawing.printable(tree.classes[node.winner])
        return Markup('{}: <strong class="value">{}</strong> {}').format(head, label, counts)

    return opening_lists([tree.root], lambda node: node.branches, line)


def _counts(tree: JoinTree, node: JoinNode) -> Markup:
    """How many of each class meet here, the largest first."""
    order = sorted(range(len(node.counts)), key=lambda c: -node.counts[c])
    some = [c for c in order if node.counts[c]]
    told = [
        Markup('<span class="value">{}</span> {}').format(
            drawing.printable(tree.classes[c]), _number(node.counts[c])
        )
        for c in some[:_CLASSES]
    ]
    if len(some) > _CLASSES:
        told.append(Markup("and {} more classes").format(f"{len(some) - _CLASSES:,}"))
    return Markup("{}: {}").format(_number(sum(node.counts)), Markup(", ").join(told))
