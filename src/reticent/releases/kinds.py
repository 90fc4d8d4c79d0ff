"""The kinds of release: what each is called, how its policies are told, and where it lives.

Whatever treats all kinds alike asks here: ``policy check``, ``verify``, help, the batteries of
tests. A new kind is a room of the usual shape and one row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True, slots=True)
class ReleaseKind:
    """One kind of release."""

    name: str  # "baskets": what its policies are about, as messages say it
    room: str  # "transactions": below `reticent`; its door has Policy, and what it does
    command: str  # "reticent transactions"
    told_by: frozenset[str]  # keys that tell a policy of this kind, the more of them the surer
    does: frozenset[str]  # its commands
    options: frozenset[str] = frozenset()  # of commands for any kind, that say something of it
    group: str = ""  # of its commands; those of tables stand at the top
    in_manifest: str = ""  # what a manifest calls it; tables were first, and have no name there
    told_alone: str = ""  # a key that tells it whatever else is there

    def door(self) -> Any:
        """The functions of this kind for Python users."""
        return import_module(f"reticent.{self.room}")

    def commands(self) -> Any:
        """The commands of this kind."""
        return import_module(f"reticent.{self.room}.commands")


TABLES = ReleaseKind(
    "tables",
    "tables",
    "reticent release",
    frozenset({"anonymity", "confidence", "attributes", "class"}),
    frozenset({"release", "verify", "risk", "check", "apply", "evaluate", "sweep"}),
    frozenset(
        {
            "previous",
            "skip_uncheckable",
            "original",
            "engine",
            "engine_options",
            "memory_limit",
            "table",
        }
    ),
)
BASKETS = ReleaseKind(
    "baskets",
    "transactions",
    "reticent transactions",
    frozenset({"private", "public", "h", "k", "p", "nuggets"}),
    frozenset({"release", "verify", "risk", "check", "evaluate", "sweep"}),
    group="transactions",
    in_manifest="transactions",
)
ENTRIES = ReleaseKind(
    "entries",
    "entries",
    "reticent entries",
    frozenset({"conditions", "requests", "may_hide", "min_support", "min_confidence"}),
    frozenset({"release", "verify", "risk", "check"}),
    frozenset({"original"}),
    group="entries",
    in_manifest="entries",
)
JOINT = ReleaseKind(
    "several owners",
    "joint",
    "reticent integrate",
    frozenset(),
    frozenset({"integrate", "verify", "check"}),
    group="party",
    in_manifest="joint",
    told_alone="owners",
)
KINDS = (TABLES, BASKETS, ENTRIES, JOINT)


@dataclass(frozen=True, slots=True)
class OtherSystem:
    """A system that releases nothing, and so promises nothing that could be recounted."""

    name: str
    room: str  # below `reticent`
    groups: Mapping[str, str]  # of its commands: the name of each, and of its app in `commands`

    def commands(self) -> Any:
        """The commands of this system."""
        return import_module(f"reticent.{self.room}.commands")


TREES = OtherSystem("tables that join", "jointree", {"tree": "app"})
SEARCH = OtherSystem("private search", "search", {"profile": "profile_app", "search": "search_app"})
OTHERS = (TREES, SEARCH)

SCHEMA_KEYS = ("joins", "tables")  # of a file about tables that join: it promises nothing
SCHEMA_COMMAND = "reticent tree train"


def kind_of(
    policy: Mapping[str, Any],
    usual: ReleaseKind = TABLES,
    kinds: Sequence[ReleaseKind] = KINDS,
) -> ReleaseKind:
    """What a policy is about, by its keys; the usual one if they do not tell.

    >>> kind_of({"private": ["beer"], "k": 2}).name, kind_of({"keep": "*"}).name
    ('baskets', 'tables')
    """
    for kind in kinds:
        if kind.told_alone and kind.told_alone in policy:
            return kind
    return max(kinds, key=lambda kind: (len(kind.told_by & policy.keys()), kind == usual))


def kind_in(manifest: Mapping[str, Any]) -> ReleaseKind | None:
    """What the manifest of a release folder says it holds; None for what is not known here."""
    called = manifest.get("kind", "")
    return next((kind for kind in KINDS if kind.in_manifest == called), None)
