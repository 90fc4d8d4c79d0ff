"""Compiling inner loops, once on a machine; and the smallest of them, which know only numbers.

Engines and verifiers share no line about promises; but both count bits, grow arrays, sort rows.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"

from __future__ import annotations

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic


def compiled(function):
    """Compile a loop on first use, and keep the result where this machine lets us."""
    return _kept(function, no_cfunc_wrapper=True)


def inner(function):
    """A loop that only compiled loops call.

    It has no door through which Python would enter, with a check of every argument: a fifth of
    all the time to compile went into those.
    """
    return _kept(function, no_cfunc_wrapper=True, no_cpython_wrapper=True)


def _kept(function, **options):
    try:
        return numba.njit(cache=True, nogil=True, **options)(function)
    except RuntimeError:  # neither the package nor the user's home can be written to
        return numba.njit(nogil=True, **options)(function)


# --- bits ----------------------------------------------------------------------------------------


@intrinsic
def ones(typing_context, word):
    """How many bits of a word are set: one instruction where the processor has it."""

    def emit(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), emit


@intrinsic
def lowest(typing_context, word):
    """Where the lowest set bit of a word is; the word must not be zero."""

    def emit(context, builder, signature, arguments):
        return builder.cttz(arguments[0], context.get_constant(types.boolean, True))

    return types.int64(types.uint64), emit


@inner
def positions(bits, line, begin, end, into):
    """Write down which bits of a line are set, from one of its words to another; how many."""
    count = 0
    for word in range(begin, end):
        rest = bits[line + word]
        while rest:
            into[count] = 64 * word + lowest(rest)
            count += 1
            rest &= rest - np.uint64(1)
    return count


@inner
def squeeze(bits, line, chosen, into):
    """Copy chosen bits of a line side by side; return where the copy ends."""
    for first in range(0, len(chosen), 64):
        word = np.uint64(0)
        for i in range(first, min(first + 64, len(chosen))):
            at = chosen[i]
            bit = (bits[line + (at >> 6)] >> np.uint64(at & 63)) & np.uint64(1)
            word |= bit << np.uint64(i - first)
        bits[into] = word
        into += 1
    return into


# --- room ----------------------------------------------------------------------------------------


@inner
def grown(array, needed):
    """The array, or a copy of it with room for so many entries."""
    if needed <= len(array):
        return array
    more = np.empty((max(needed, 2 * len(array)), *array.shape[1:]), array.dtype)
    old, new = array.reshape(array.size), more.reshape(more.size)
    for i in range(len(old)):  # to set a slice takes seconds to compile
        new[i] = old[i]
    return more


# --- rows: row r is items[starts[r] : starts[r + 1]], ascending -----------------------------------


@compiled
def in_dictionary_order(starts, items):
    """The order of rows as words have it in a dictionary: quicksort, one item at a time."""
    order = np.arange(len(starts) - 1)
    todo = np.empty((len(order) // 2 + 2, 3), np.int64)  # ranges of two rows or more, all apart
    left = _put(todo, 0, 0, len(order), 0)
    while left:
        left -= 1
        low, high, depth = todo[left, 0], todo[left, 1], todo[left, 2]
        pivot = _item_at(starts, items, order[(low + high) // 2], depth)
        less, more, x = low, high, low
        while x < more:
            here = _item_at(starts, items, order[x], depth)
            if here < pivot:
                order[less], order[x] = order[x], order[less]
                less += 1
                x += 1
            elif here > pivot:
                more -= 1
                order[more], order[x] = order[x], order[more]
            else:
                x += 1
        left = _put(todo, left, low, less, depth)
        left = _put(todo, left, more, high, depth)
        if pivot >= 0:  # else these rows are equal and at their end
            left = _put(todo, left, less, more, depth + 1)
    return order


@inner
def _put(todo, left, low, high, depth):
    if high - low < 2:
        return left
    todo[left, 0], todo[left, 1], todo[left, 2] = low, high, depth
    return left + 1


@inner
def _item_at(starts, items, row, depth):
    at = starts[row] + depth
    return np.int64(items[at]) if at < starts[row + 1] else np.int64(-1)


@inner
def common(starts, items, one, other):
    """With how many items two rows begin alike."""
    length = min(starts[one + 1] - starts[one], starts[other + 1] - starts[other])
    for i in range(length):
        if items[starts[one] + i] != items[starts[other] + i]:
            return i
    return length
