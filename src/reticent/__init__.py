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

from reticent.doors import opened_on_use
from reticent.version import __version__ as __version__

if TYPE_CHECKING:
    from reticent.errors import Broken as Broken
    from reticent.errors import InputError as InputError
    from reticent.errors import ReticentError as ReticentError
    from reticent.errors import Unsatisfiable as Unsatisfiable
    from reticent.files.tabular import Reading as Reading
    from reticent.progress import Watch as Watch
    from reticent.tables import Policy as Policy
    from reticent.tables import Release as Release
    from reticent.tables import apply as apply
    from reticent.tables import draft as draft
    from reticent.tables import evaluate as evaluate
    from reticent.tables import release as release
    from reticent.tables import risk as risk
    from reticent.tables import sweep as sweep
    from reticent.tables import verify as verify


# Loaded on first use: `import reticent` stays quick, and so does every command that needs little.
_HOMES = {
    "errors": ["Broken", "InputError", "ReticentError", "Unsatisfiable"],
    "files.tabular": ["Reading"],
    "progress": ["Watch"],
    "tables": [
        "Policy", "Release", "apply", "draft", "evaluate", "release", "risk", "sweep", "verify",
    ],
}  # fmt: skip
_ROOMS = ("entries", "jointree", "search", "tables", "transactions")  # doors of their own
__all__ = ["__version__", *(name for names in _HOMES.values() for name in names)]
_find, _ = opened_on_use(__name__, _HOMES)


def __getattr__(name: str) -> Any:
    return import_module(f"reticent.{name}") if name in _ROOMS else _find(name)


def __dir__() -> list[str]:
    return sorted([*__all__, *_ROOMS])
