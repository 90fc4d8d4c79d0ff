"""Trees over tables that join, as text for a terminal, and as DOT for those who draw graphs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from reticent.data.texts import one_line
from reticent.errors import many
from reticent.jointree import report
from reticent.jointree.model import JoinTree, said
from reticent.terminal.text import composed, table

_TESTS = {"at_most": "by a threshold", "is": "one value against the rest", "by": "by value"}
_CONTROL = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")  # that JSON leaves as they are
_LONGEST = 60  # letters of a label that DOT shows


def trained(found: report.TrainedTree, *, show_values: bool = False) -> str:
    """What training did, on one screen; values are shown if asked for."""
    tree = found.tree
    size = report.shape(tree)
    rows = [[name, count] for name, count in found.table_rows.items()]
    weighs = ", each record weighing the same" if tree.weight == "record" else ""
    lines = [
        table(["table", "rows"], rows),
        "",
        f"The join has {many(found.rows, 'row')}, and was not built{weighs}. "
        f"{found.joining:,} of {many(found.records, 'record')} with a class "
        f"{'joins' if found.joining == 1 else 'join'} ({found.coverage:.1%}).",
        f"The tree for {tree.target}: {sized(size)}.",
    ]
    if tree.numbers == "float64":
        lines.append("Weights have no common measure within 64 bits: counts are rounded.")
    splits = report.first_splits(tree)
    if splits:
        asked = [
            [
                one["depth"],
                one_line(f"{one['table']}.{one['column']}"),
                _TESTS[one["test"]],
                one["count"],
                *([one_line(one["words"])] if show_values else []),
            ]
            for one in splits
        ]
        counted = "records" if tree.weight == "record" else "joined rows"
        head = ["depth", "first questions", "split", counted, *(["first branch"] * show_values)]
        lines += ["", table(head, asked)]
    if found.test is not None:
        lines += ["", tested(found.test)]
    if found.output:
        lines += ["", f"Written to {found.output}. It shows values and counts of these tables."]
    return composed(lines)


def sized(size: dict[str, Any]) -> str:
    """How large a tree is, in words."""
    if size["leaves"] == 1:
        return "a single leaf, of the largest class"
    return (
        f"{many(size['leaves'], 'leaf', 'leaves')}, at most {many(size['depth'], 'question')} deep"
    )


def _tested(test: report.JoinTest) -> Iterator[str]:
    if test.by is None:
        aside = many(test.records, "record")
    else:
        aside = (
            f"{many(test.groups, 'group')} of equal {test.by} of {test.of_groups:,}"
            f"{_single(test)}, {many(test.records, 'record')},"
        )
    if not test.grown:
        yield (
            f"Set aside were {aside.rstrip(',')} (seed {test.seed}): all records that join are "
            "among them, so there was no tree to test."
        )
        return
    yield (
        f"Tested on {aside} set aside (seed {test.seed}); {test.joining:,} of them "
        f"{'joins' if test.joining == 1 else 'join'} ({test.coverage:.1%})."
    )
    if not test.joining:
        yield "None of them joins with anything, so nothing was measured."
        return
    alone = "-" if test.alone is None else f"{test.alone:.1%}"
    yield table(
        ["right", "share"],
        [
            ["records", f"{test.accuracy:.1%}"],
            ["all set aside, others as the largest class", f"{test.accuracy_of_all:.1%}"],
            ["joined rows", f"{test.row_accuracy:.1%}"],
            ["records, by the class's table alone", alone],
            ["records, if all got the largest class", f"{test.majority:.1%}"],
        ],
    )
    things = "records" if test.by is None else f"groups of equal {test.by}"
    yield (
        f"All {test.of_groups:,} {things} weigh in training as {test.effective:,.1f} "
        "of equal weight would."
    )


def _single(test: report.JoinTest) -> str:
    """How many groups are records without a value, if any."""
    if not test.single:
        return ""
    things = "a record" if test.single == 1 else "records"
    return f" ({test.single:,} of them {things} without {test.by}, each by itself)"


def tested(test: report.JoinTest) -> str:
    """What came of records that were set aside."""
    return composed(_tested(test))


def classified(found: report.JoinClasses) -> str:
    """What became of records, on one screen; no labels."""
    none = found.records - found.joining
    lines = [
        f"{many(found.records, 'record')}; {found.joining:,} "
        f"{'joins' if found.joining == 1 else 'join'}, with {many(found.rows, 'row')} in all."
    ]
    if none and not found.joined:
        joins = "joins" if none == 1 else "join"
        gets = "gets" if none == 1 else "get"
        lines.append(
            f"{none:,} {joins} with nothing and {gets} "
            + ("the largest class." if found.majority else "no class; --majority gives one.")
        )
    if found.output:
        line = "a joined row" if found.joined else "a record"
        lines.append(f"Written to {found.output}, one line {line}.")
    return composed(lines)


def shown(tree: JoinTree) -> str:
    """The tree as indented lines, below what it is."""
    counted = "weights of records" if tree.weight == "record" else "joined rows"
    rounded = ", rounded" if tree.numbers == "float64" else ""
    size = sized(report.shape(tree))
    brackets = f"In brackets: {counted}{rounded}, and how many are of other classes."
    return f"{tree.target}: {size}. {brackets}\n\n{tree.text()}"


def json_line(tree: JoinTree) -> str:
    """The tree for programs, in one line; no sign in it speaks to a terminal."""
    found = tree.json(report.shape(tree)).replace("\n", "")  # texts have none
    return _CONTROL.sub(lambda sign: f"\\u{ord(sign[0]):04x}", found) + "\n"


def dot(tree: JoinTree) -> str:
    """The tree in the language of Graphviz, a node for each of ours."""
    lines = ["digraph tree {", "  node [shape=box];"]
    numbers = {id(node): i for i, node in enumerate(tree.root.walk())}
    for node in tree.root.walk():
        number = numbers[id(node)]
        counts = said(sum(node.counts))
        if node.asks is None:
            leaf = f"{_short(tree.classes[node.winner])} {tree.leaf_counts(node)}"
            lines.append(f"  n{number} [label={_label(leaf)}, style=rounded];")
            continue
        name = node.asks.name
        lines.append(f"  n{number} [label={_label(_short(name), f'({counts})')}];")
        for i, branch in enumerate(node.branches):
            words = _short(node.asks.branch_words(i))
            words += " or missing" if i == node.asks.missing else ""
            lines.append(f"  n{number} -> n{numbers[id(branch)]} [label={_label(words)}];")
    return composed([*lines, "}", ""])


def _short(words: str) -> str:
    return words if len(words) <= _LONGEST else words[:_LONGEST] + "…"


def _label(*lines: str) -> str:
    r"""A quoted text of DOT, where & begins the name of a sign, as in HTML.

    >>> print(_label('a "b"', "c & d"))
    "a \"b\"\nc &amp; d"
    """
    signs = {"\\": "\\\\", '"': '\\"', "&": "&amp;"}
    return (
        '"' + "\\n".join("".join(signs.get(s, s) for s in one_line(line)) for line in lines) + '"'
    )
