"""Share data about people without sharing what must stay private.

A steward says which inferences nobody may draw; a release reveals as much as possible short of
that line, and is recounted before anybody sees it.

>>> import pyarrow as pa
>>> from reticent import Policy, release
>>> people = pa.table({"Job": ["Cook", "Cook", "Clerk", "Clerk"], "Sick": ["y", "n", "n", "n"]})
>>> policy = Policy(keep=["Sick"], anonymity=[{"over": ["Job"], "k": 2}])
>>> release(people, policy).cuts
{'Job': ['Clerk', 'Cook']}
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reticent.errors import Broken as Broken
    from reticent.errors import InputError as InputError
    from reticent.errors import ReticentError as ReticentError
    from reticent.errors import Unsatisfiable as Unsatisfiable
    from reticent.evaluating import evaluate as evaluate
    from reticent.pipeline import Release as Release
    from reticent.pipeline import apply as apply
    from reticent.pipeline import release as release
    from reticent.pipeline import risk as risk
    from reticent.pipeline import verify as verify
    from reticent.policy import Policy as Policy
    from reticent.sweeping import sweep as sweep
    from reticent.table.files import Reading as Reading
    from reticent.watching import Watch as Watch
    from reticent.workshop import draft as draft

__version__ = "0.1.0"

# Loaded on first use: `import reticent` stays quick, and so does every command that needs little.
_HOME = {
    "Broken": "reticent.errors",
    "InputError": "reticent.errors",
    "Policy": "reticent.policy",
    "Reading": "reticent.table.files",
    "Release": "reticent.pipeline",
    "ReticentError": "reticent.errors",
    "Unsatisfiable": "reticent.errors",
    "Watch": "reticent.watching",
    "apply": "reticent.pipeline",
    "draft": "reticent.workshop",
    "evaluate": "reticent.evaluating",
    "release": "reticent.pipeline",
    "risk": "reticent.pipeline",
    "sweep": "reticent.sweeping",
    "verify": "reticent.pipeline",
}
_ROOMS = ("entries", "transactions")  # doors of their own
__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"reticent.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'reticent' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
