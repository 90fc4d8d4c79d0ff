"""Lines of items that a sign parts, ``whole milk,rolls/buns``: read and written.

As in CSV, an item that holds the sign stands in quotes, and a quote in such an item is doubled.
Blanks around items are no part of them, those within quotes are. Nothing between two signs is no
item: spreadsheets fill short lines up with signs. A line is a transaction, whatever stands in it,
so quotes close where they were opened.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from reticent.data.baskets import Baskets, Part
from reticent.data.columns import smallest
from reticent.errors import Problem, many, refuse

_BLANK = " "  # as a separator: any number of spaces and tabs
_NO_ITEM = r"[\r\n\x00]"  # what no item of a line can hold, quoted or not


def sign_of(separator: str | None) -> str:
    """The sign that parts items; empty where blanks do."""
    return "" if separator in (None, _BLANK) else separator or ""


@dataclass(slots=True)
class SeparatedLines:
    """One file of such lines, some lines at a time."""

    where: str
    sign: str
    lines: int = 0  # so far
    filled: int = 0  # of these, lines with nothing between two signs
    torn: list[int] = field(default_factory=list)  # numbers of lines whose quotes do not match

    def parts(self, blocks: Iterable[str]) -> list[Part]:
        """The transactions of whole lines; raises if some cannot be read."""
        found = [self._quoted(text) if '"' in text else self._plain(text) for text in blocks]
        refuse(
            Problem(
                "the quotes in this line do not match", where=f"{self.where}, line {line}",
                why="a quote that opens an item has to close it, within the line.",
                do='write  "…"  around the whole item, and  ""  for a quote in it.',
            )
            for line in self.torn
        )  # fmt: skip
        return found

    def notes(self) -> Iterator[str]:
        """What was assumed."""
        if self.filled:
            yield (
                f'{self.where}: {many(self.filled, "line")} with nothing between two "{self.sign}" '
                "or at an end, which was taken for no item."
            )

    def _plain(self, text: str) -> Part:
        """Lines without quotes, by arrays."""
        data = np.frombuffer(text.encode(), np.uint8)
        ends_line = data == ord("\n")
        ends_item = ends_line | (data == ord(self.sign))
        blank = (data == ord(" ")) | (data == ord("\t"))
        seen = np.flatnonzero(~(blank | ends_item))
        ends = np.flatnonzero(ends_item)
        begins = np.concatenate([[0], ends[:-1] + 1])
        first, last = np.searchsorted(seen, begins), np.searchsorted(seen, ends)
        held = last > first
        low, high = seen[first[held]], seen[last[held] - 1] + 1
        steps = np.zeros(len(data) + 1, np.int8)
        steps[low] = 1
        steps[high] = -1
        kept = data[np.cumsum(steps[:-1], dtype=np.int8) > 0]
        offsets = np.concatenate([[0], np.cumsum(high - low)])
        texts = pa.LargeStringArray.from_buffers(
            len(low), pa.py_buffer(offsets), pa.py_buffer(kept)
        )
        line = np.searchsorted(np.flatnonzero(ends_line), ends)
        return self._part(texts, line, held, int(ends_line.sum()))

    def _quoted(self, text: str) -> Part:
        """Lines some of which have quotes."""
        found: list[str] = []
        line: list[int] = []
        rows = text.removesuffix("\n").split("\n")
        for number, row in enumerate(rows):
            items = items_of(row, self.sign)
            if items is None:
                self.torn.append(self.lines + number + 1)
                continue
            found += items
            line += [number] * len(items)
        held = np.array([item != "" for item in found], np.bool_)
        texts = pa.array([item for item in found if item], pa.large_string())
        return self._part(texts, np.array(line, np.int64), held, len(rows))

    def _part(
        self, texts: pa.Array, line: NDArray[np.integer], held: NDArray[np.bool_], count: int
    ) -> Part:
        """`line` and `held` by everything between signs: where it stands, and whether it is one."""
        several = np.bincount(line, minlength=count) > 1
        several &= np.bincount(line[~held], minlength=count) > 0
        self.filled += int(several.sum())
        self.lines += count
        coded = texts.dictionary_encode()
        rows = line[held].astype(smallest(max(count, 1)))
        return Part(rows, coded.indices.to_numpy(), coded.dictionary, count)


def items_of(line: str, sign: str) -> list[str] | None:
    """What stands between the signs of a line, empty texts included; None: quotes do not match.

    >>> items_of(' whole milk ,"rolls, ""buns"" ",12" pizza,', ",")
    ['whole milk', 'rolls, "buns" ', '12" pizza', '']
    >>> items_of('"beer, wine', ",") is None
    True
    """
    blanks, other = " \t".replace(sign, ""), re.escape(sign)
    item = re.compile(
        rf'[{blanks}]*+(?:"((?:[^"]|"")*)"[{blanks}]*|([^{other}"][^{other}]*)?)({other}|$)'
    )
    found, at, end = [], 0, "open"
    while end:
        match = item.match(line, at)
        if match is None:
            return None
        quoted, plain, end = match.groups()
        found.append((plain or "").rstrip(blanks) if quoted is None else quoted.replace('""', '"'))
        at = match.end()
    return found


def printed(names: pa.Array, sign: str) -> pa.Array:
    """Names of items as a line shows them: in quotes where they need some."""
    return pa.array([_printed(name, sign) for name in names.to_pylist()], names.type)


def _printed(name: str, sign: str) -> str:
    risky = sign in name or '"' in name or name != name.strip(" \t")
    return '"' + name.replace('"', '""') + '"' if risky else name


def unprintable(names: pa.Array) -> pa.Array:
    """Names that no line can hold."""
    import pyarrow.compute as pc

    return names.filter(pc.match_substring_regex(names, _NO_ITEM))


# --- what the lines look like --------------------------------------------------------------------

SIGNS = (",", ";", "\t", "|")


def seems_parted_by(baskets: Baskets) -> str:
    """The sign that seems to part items that were cut at blanks; empty if none does.

    It is in most lines, at the end of an item or beside something that is no digit: 1,5 is one.
    """
    for sign in (",", ";", "|"):
        at = re.escape(sign)
        marked = _in_names(baskets, f"{at}$|[^0-9]{at}|{at}[^0-9]|{at}.*{at}")
        if 2 * _lines_with(baskets, marked) > _lines_with(baskets, np.ones_like(marked)):
            return sign
    return ""


def seems_whole(baskets: Baskets, sign: str, *, blanks: bool = True) -> bool:
    """Whether no line was cut at a sign, and most look as if they were to be cut elsewhere.

    `blanks`: also where they have blanks, as names of items do.
    """
    if baskets.transactions < 2 or int(baskets.sizes().max()) > 1:
        return False
    others = "".join(re.escape(other) for other in (" " * blanks, *SIGNS) if other != sign)
    marked = _in_names(baskets, f"[{others}]")
    return 2 * _lines_with(baskets, marked) > _lines_with(baskets, np.ones_like(marked))


def cut_otherwise(names: pa.Array, sign: str) -> Iterator[tuple[str, list[str]]]:
    """What items come to that are cut at another sign, by that sign; blanks do not count.

    >>> [*cut_otherwise(pa.array(["milk;hiv-test", "tea"], pa.large_string()), ",")]
    [(';', ['milk', 'hiv-test'])]
    """
    import pyarrow.compute as pc

    for other in SIGNS:
        held = names.filter(pc.match_substring(names, other)) if other != sign else []
        if parts := {part.strip(' \t"') for name in held for part in str(name).split(other)}:
            yield other, sorted(parts - {""}, reverse=True)


def _in_names(baskets: Baskets, pattern: str) -> NDArray[np.bool_]:
    import pyarrow.compute as pc

    found = pc.match_substring_regex(baskets.names, pattern)
    return np.asarray(found.to_numpy(zero_copy_only=False), np.bool_)


def _lines_with(baskets: Baskets, marked: NDArray[np.bool_]) -> int:
    """How many transactions hold one of the items."""
    before = np.concatenate([[0], np.cumsum(marked[baskets.items])])
    return int((np.diff(before[baskets.starts]) > 0).sum())


def shown(sign: str) -> str:
    """A sign as policies and options write it.

    >>> shown(","), shown(chr(9))
    ('","', '"tab"')
    """
    return '"tab"' if sign == "\t" else f'"{sign}"'
