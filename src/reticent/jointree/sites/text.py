"""A tree of several sites in words, for a terminal."""

from __future__ import annotations

from reticent.errors import few, many
from reticent.jointree import report
from reticent.jointree.model import Question
from reticent.jointree.sites.layout import SiteLayout
from reticent.jointree.sites.process import ClassifiedAtSite, TrainedAtSite
from reticent.jointree.text import sized
from reticent.parties.participation import unfinished
from reticent.terminal.text import composed, table


def before(layout: SiteLayout, site: str) -> list[str]:
    """What a site hears before anything is sent: what the others will learn."""
    lines = ["The other sites will learn, besides the tree with its counts:"]
    for owner in layout.sites:
        said = "; ".join(
            f"{words}: {few(names)}" for words, names in layout.handed_over(owner).items()
        )
        lines.append(f"  of {owner}: {said}")
    if layout.schema.grow.min_count is None:
        lines.append("No min_count is set: sums may be about single records.")
    return lines


def after(found: TrainedAtSite | ClassifiedAtSite, what: str) -> list[str]:
    """Who did not say that theirs is there, and what finishes it."""
    return unfinished(found.unconfirmed, found.needed_by, str(found.output), what)


def trained(found: TrainedAtSite, *, show_values: bool = False) -> str:
    """What training did at this site, on one screen; values are shown if asked for."""
    tree = found.tree
    nodes = tree.root.walk()
    asked = [node.asks for node in nodes if node.asks is not None]
    lines = [
        table(["table", "rows"], [[name, count] for name, count in found.table_rows.items()]),
        "",
        table(["join", "with", "values in common"], [[*one] for one in found.common]),
        "",
        f"The tree for {tree.target}, of {len(tree.sites)} sites: {sized(report.shape(tree))}.",
        f"{many(found.splits, 'split')} before pruning, found by "
        f"{many(found.compared, 'comparison')} under encryption.",
    ]
    if tree.min_count is not None:
        lines.append(
            f"Nobody was told of fewer than {tree.min_count} records: one site might have grown "
            "another tree."
        )
    if tree.numbers == "float64":
        lines.append("Weights have no common measure within 64 bits: counts are rounded.")
    if asked:
        rows = [[site, sum(asks.site == site for asks in asked)] for site in tree.sites]
        lines += ["", table(["site", "questions"], rows)]
    if own := [asks for asks in asked if isinstance(asks, Question)]:
        head = ["own questions", "column", *(["first branch"] * show_values)]
        rows = [
            [asks.split, asks.name] + ([next(asks.words())] if show_values else [])
            for asks in own[:5]
        ]
        lines += ["", table(head, rows)]
        if len(own) > len(rows):
            lines.append(f"and {len(own) - len(rows):,} more.")
    lines += ["", f"Written to {found.output}. It shows counts of all sites' tables."]
    return composed(lines)


def classified(found: ClassifiedAtSite) -> str:
    """What became of records, on one screen; no labels."""
    return (
        f"{many(found.table.num_rows, 'record')} classified by {many(found.levels, 'level')} of "
        f"questions.\nWritten to {found.output}, one line a record."
    )
