"""Compiling inner loops, once on a machine, and what a processor or a compiler lacks a word for.

Engines and verifiers share this, and no line of an algorithm.
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
