"""The verifier's own way to cut lines into items, which shares no line with that of the door.

What the door read is compared with it, line by line: an item that one of them does not see, or sees
in two pieces, could be a private one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from reticent.data.baskets import Baskets

_BLANKS = " \t"


@dataclass(frozen=True, slots=True)
class LinesAgain:
    """The lines of one file of several, cut a second time."""

    baskets: Baskets  # as the door read them
    sign: str  # that parts items; empty where blanks do
    first: int = 0  # how many lines the files before it have

    def until(self, blocks: Iterable[str]) -> tuple[int, int | None]:
        """How many lines there are up to its end; and the first that was read otherwise, if any."""
        done = self.first
        for text in blocks:
            lines = text.removesuffix("\n").split("\n")
            if (differs := self._differs(done, lines)) is not None:
                return done, done - self.first + differs + 1
            done += len(lines)
        return done, None

    def _differs(self, done: int, lines: list[str]) -> int | None:
        """The first of some lines whose items are not those that the door found."""
        import pyarrow.compute as pc

        cut = [items_in(line, self.sign) for line in lines]
        starts = self.baskets.starts[done : done + len(lines) + 1]
        if len(starts) <= len(lines):
            return len(starts) - 1
        texts = pa.array([item for items in cut for item in items], pa.large_string())
        numbers = pc.index_in(texts, value_set=self.baskets.names)
        numbers = numbers.fill_null(len(self.baskets.names)).to_numpy().astype(np.int64)
        rows = np.repeat(np.arange(len(cut), dtype=np.int64), [len(items) for items in cut])
        ours = np.unique(rows << 32 | numbers)
        theirs = np.repeat(np.arange(len(cut), dtype=np.int64), np.diff(starts)) << 32
        theirs |= self.baskets.items[starts[0] : starts[-1]]
        if np.array_equal(ours, theirs):
            return None
        return int(np.setxor1d(ours, theirs)[0] >> 32)


def items_in(line: str, sign: str) -> list[str]:
    """The items of a line, as they stand there.

    >>> items_in(' whole milk ,"rolls, ""buns"" ",12" pizza,', ",")
    ['whole milk', 'rolls, "buns" ', '12" pizza']
    >>> items_in(" milk  tea ", "")
    ['milk', 'tea']
    """
    if not sign:
        return [item for item in line.replace("\t", " ").split(" ") if item]
    if '"' not in line:
        return [item for part in line.split(sign) if (item := part.strip(_BLANKS))]
    found, rest = [], line
    while rest:
        rest = rest.lstrip(_BLANKS.replace(sign, ""))
        if rest.startswith('"'):
            item, rest = _unquoted(rest[1:])
            _, _, rest = rest.partition(sign)
        else:
            item, _, rest = rest.partition(sign)
            item = item.strip(_BLANKS)
        found.append(item)
    return [item for item in found if item]


def _unquoted(text: str) -> tuple[str, str]:
    """What stands before the quote that closes, and what behind it; a doubled one is part of it."""
    pieces = []
    while text:
        piece, _, text = text.partition('"')
        pieces.append(piece)
        if not text.startswith('"'):
            break
        text = text[1:]
    return '"'.join(pieces), text
