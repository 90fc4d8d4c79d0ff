"""Compiling inner loops, once on a machine."""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numba


def compiled(function):
    """Compile a loop on first use, and keep the result where this machine lets us."""
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # neither the package nor the user's home can be written to
        return numba.njit(nogil=True)(function)
