"""Getting the inner loops ready: imported, compiled once on a machine, loaded from then on."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def load(*, alone: bool = False) -> None:
    """Import the engine and run one small loop, so that the first step of a search need not wait.

    `alone` says that this process is ours, so that no other code asks for SciPy meanwhile.
    """
    with _without_scipy() if alone else _as_it_is():
        import numpy as np

        from reticent.refine import kernels

        kernels.first_best(np.zeros(1))


@contextmanager
def _without_scipy() -> Iterator[None]:
    """Hide SciPy while Numba looks for a linear algebra library that our loops never call.

    Where SciPy is installed that look costs 0.17 s of the 0.4 s it takes to load the loops.
    """
    hidden = "scipy.linalg" not in sys.modules
    if hidden:
        sys.modules["scipy.linalg"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        if hidden:
            del sys.modules["scipy.linalg"]


@contextmanager
def _as_it_is() -> Iterator[None]:
    yield


def patience() -> str:
    """A word for the first run on a machine, when the loops must be compiled; else empty."""
    from reticent.refine import kernels

    folder = Path(kernels.split._cache.cache_path)
    if any(folder.glob("kernels.split-*.nbi")):
        return ""
    return " (compiling the inner loops, once on this machine: some seconds)"
