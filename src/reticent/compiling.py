"""Compiling inner loops, once on a machine."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import numba


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
