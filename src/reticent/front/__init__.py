"""The command line: parse, call one function of a system's flow, print one report.

One command, one process: whoever wants several at a time starts several, and ends one by a signal.
So a command may do to its process what no library may, here and in `signals`. What a server calls
within its own process stands below this room, and changes nothing of that process.
"""

import contextlib
import gc
import os
import sys
from typing import Any

_OFTEN = {"init", "policy", "taxonomy", "risk", "release", "verify", "apply"}


def main() -> None:
    """Be the process of one command, and leave as soon as everything is said.

    Taking the interpreter down tidily costs 0.1 s, after a large table up to 0.3 s, for nothing:
    files are synced and renamed by now, and no thread has anything left to do.
    """
    gc.disable()  # a command is short, and imports alone would be swept a dozen times: 0.05 s
    from reticent.terminal import progress, signals

    try:
        if _is_lean(sys.argv[1:]):
            sys.meta_path.insert(0, NotNeeded)
        with signals.hearing():
            from reticent.front.cli import app

            app()
    except SystemExit as leaving:
        code = int(leaving.code or 0)
    except KeyboardInterrupt:  # while it still loaded, which needs no word
        code = signals.exit_code()
        progress.ended(sys.argv[1:], code)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, full or none
            stream.flush()
    os._exit(code)


def _is_lean(words: list[str]) -> bool:
    """Whether a command is often used, and does without pandas and SciPy.

    Spark, and what Ibis reads databases with, need pandas; scikit-learn needs both.
    """
    from reticent.releases.kinds import KINDS

    named = [word for word in words[:2] if word not in {kind.group for kind in KINDS}]
    needed = any("spark" in word or "://" in word for word in words)
    return {*named[:1]} <= _OFTEN and bool(named) and not needed


class NotNeeded:
    """An import hook that finds nothing: has imports of some modules fail in this process.

    Where they are installed, Arrow loads pandas to ask whether a list is a data frame (0.12 s and
    33 MB), and Numba loads SciPy to look for a linear algebra that our loops never call (0.13 s).
    """

    modules = ("pandas", "scipy.linalg")

    @classmethod
    def find_spec(cls, name: str, path: Any = None, target: Any = None) -> None:
        """Refuse some modules, and leave all others to the next finder."""
        if name in cls.modules:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
