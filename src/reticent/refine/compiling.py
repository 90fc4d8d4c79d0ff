"""Whether the inner loops still have to be compiled on this machine."""

from __future__ import annotations

from pathlib import Path


def note() -> str:
    """A word of patience for the first run on a machine, empty afterwards."""
    from reticent.refine import kernels

    folder = Path(kernels.split._cache.cache_path)
    if any(folder.glob("kernels.split-*.nbi")):
        return ""
    return " (compiling the inner loops, once on this machine: some seconds)"
