"""Getting the inner loops ready: imported, compiled once on a machine, loaded from then on."""

from __future__ import annotations

from pathlib import Path


def load() -> None:
    """Import the engine and run one small loop, so that a search need not wait for either."""
    import numpy as np

    from reticent.data.keys import first_best
    from reticent.refine import engine  # noqa: F401 - what a search imports

    first_best(np.zeros(1))


def patience() -> str:
    """A word for the first run on a machine, when the loops must be compiled; else empty."""
    from reticent.refine import kernels

    folder = Path(getattr(kernels.list_groups._cache, "cache_path", "") or "")
    if any(folder.glob("kernels.list_groups-*.nbi")):
        return ""
    return "compiling the inner loops, once on this machine: some seconds"
