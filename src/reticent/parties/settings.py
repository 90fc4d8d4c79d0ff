"""An owner's own settings: who it is, where its peers are, and how long it waits for them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from reticent.errors import InputError, Problem, did_you_mean, nearest, refuse
from reticent.errors import listed as listing
from reticent.releases.kinds import SCHEMA_KEYS
from reticent.releases.policyfile import Named, TableReading, WrittenFile

NOT_BETWEEN_OWNERS = "Promises hold against whoever gets the joint table, not between owners."
_OWNER = re.compile(r"[\w-]{1,64}")  # what a certificate, a file name and a terminal can hold


_OF_POLICIES = ("owners", "anonymity", "confidence", "attributes", "class", "keep")


def _number(given: Any) -> Any:
    if isinstance(given, bool | str):
        raise ValueError("write a number of seconds, without quotes")
    return given


Seconds = Annotated[float, Field(gt=0, le=30 * 24 * 3600), BeforeValidator(_number)]


def unfit_name(name: object) -> str:
    """Why something cannot be the name of an owner; nothing if it can.

    >>> unfit_name("bank-2"), unfit_name("the bank")
    ('', 'the name of an owner has 1 to 64 letters, digits, _ and -')
    """
    fits = isinstance(name, str) and _OWNER.fullmatch(name) and len(name.encode()) <= 64
    return "" if fits else "the name of an owner has 1 to 64 letters, digits, _ and -"


_ALIGNED, DRY_RUN = " (aligned ids)", " (dry run)"  # what tells runs of one name apart
_MENDS = {
    _ALIGNED: 'say the same  ids  in the party files of all owners, "private" or "aligned"',
    DRY_RUN: "start all owners with --dry-run, or none",
}


def unlike_runs(first: str, second: str) -> str:
    """What brings two runs of one name together; nothing if their names differ as well.

    >>> unlike_runs("2026-11", "2026-11 (dry run)"), unlike_runs("2026-11", "2026-12 (dry run)")
    ('start all owners with --dry-run, or none', '')
    """
    mends = [do for words, do in _MENDS.items() if (words in first) != (words in second)]
    for words in _MENDS:
        first, second = first.replace(words, ""), second.replace(words, "")
    return "; ".join(mends) if first == second else ""


@dataclass(frozen=True, slots=True)
class Agreement:
    """What all owners of a run have agreed on, as far as those who carry words must know it."""

    owners: tuple[str, ...]  # in the order that all use
    digest: bytes  # of the policy
    offers: Mapping[str, Mapping[str, Sequence[str]]]  # by owner: columns by what becomes known
    of_whom: str = "of each person whom all of them have"  # what is handed over
    between: str = NOT_BETWEEN_OWNERS


class PeerSettings(BaseModel):
    """Where a peer listens, and the certificate that it gave us."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    address: Named = Field(description="host:port")
    certificate: Named = Field(description="The peer's certificate.pem; it alone is trusted.")


class PartySettings(WrittenFile):
    """What one owner says of itself and of its peers; paths are relative to the file."""

    called: ClassVar[str] = "party file"
    parts: ClassVar[Mapping[str, type[BaseModel]]] = {
        "peers": PeerSettings,
        "reading": TableReading,
    }

    owner: str = Field(alias="name", description="Which of the policy's owners this is.")
    identity: Named = Field(default="identity", description="Made by `reticent party init`.")
    listen: Named = Field(description='host:port, such as "0.0.0.0:7001".')
    policy: Named | None = Field(default=None, description="The policy that all owners share.")
    tables_file: Named | None = Field(
        default=None, alias="schema", description="Instead: the schema of tables that join."
    )
    data: Named | dict[Named, Named] | None = Field(
        default=None,
        description="A file, or any other source of a table; with a schema, one for each table.",
    )
    output: Named | None = Field(default=None, description="The folder to make.")
    run: Annotated[str, Field(min_length=1, max_length=64)] = Field(
        description="A name for the run that all owners agreed on."
    )
    ids: Literal["private", "aligned"] = Field(
        default="private", description="Intersect ids privately, or see that they are the same."
    )
    most_ids: Annotated[int, Field(ge=1, le=100_000_000, strict=True)] = Field(
        default=500_000, description="Refuse peers that bring more."
    )
    meet_timeout: Seconds = Field(default=600, description="How long to wait for the others.")
    step_timeout: Seconds = Field(
        default=60, description="How long a peer may give no sign of life."
    )
    time_limit: Seconds | None = Field(default=None, description="The hard end of the run.")
    peers: dict[str, PeerSettings] = Field(description="Every other owner, by name.")
    reading: TableReading = TableReading()

    @field_validator("identity", "listen", "policy", "tables_file", "data", "output", "run")
    @classmethod
    def _can_be_printed(cls, told: Any) -> Any:
        texts = [*told, *told.values()] if isinstance(told, dict) else [told]
        if not all(text is None or text.isprintable() for text in texts):
            raise ValueError("this holds a sign that cannot be printed")
        return told

    @field_validator("owner")
    @classmethod
    def _is_a_name(cls, name: str) -> str:
        if why := unfit_name(name):
            raise ValueError(why)
        return name

    @classmethod
    def place(cls, loc: Sequence[Any]) -> str:
        """A place in the file, named as a reader of it would: ``[peers.card], address``."""
        head, *rest = loc or ("",)
        if head == "peers" and rest:
            return ", ".join([f"[peers.{rest[0]}]", *map(str, rest[1:])])
        if head == "data" and rest:
            return ", ".join(["[data]", *map(str, rest)])
        return super().place(loc)

    @classmethod
    def refuse_others(cls, data: Mapping[str, Any], where: str) -> None:
        """Refuse what all owners share: it looks as if all keys of this owner were missing."""
        if {"name", "listen", "peers"} & data.keys():
            return
        shared = {"policy": _OF_POLICIES, "schema": SCHEMA_KEYS}
        for key, known in shared.items():
            if {*known} & data.keys():
                found = f"joint {key}" if "owners" in data else key
                raise InputError(
                    f"this is a {found}, and no party file", where=where,
                    why="it says what owners agreed on, and not who this owner is.",
                    do=f'give the party file of this owner, which names it:  {key} = "…".',
                )  # fmt: skip

    @classmethod
    def contradictions(cls, data: Mapping[str, Any], where: str) -> Iterator[Problem]:
        """What cannot be meant, each part for itself being well-formed."""
        yield from _subject(data, where)
        peers = data.get("peers")
        if not isinstance(peers, Mapping):
            return
        if not peers:
            yield Problem("there is no peer", where=where, do="add a [peers.NAME] for each.")
        if isinstance(data.get("name"), str) and data["name"] in peers:
            yield Problem(
                f"{data['name']} is this owner itself", where=f"{where}, [peers.{data['name']}]",
                do="list the other owners only.",
            )  # fmt: skip
        for name in peers:
            if why := unfit_name(name):
                yield Problem(why, where=f"{where}, [peers.{name}]")

    @property
    def policy_file(self) -> Path:
        """The policy of a joint release."""
        if self.policy is None:
            raise InputError(
                "this party file is about tables that join: it names a schema", where=self.name,
                do="use it with  reticent tree train --party.",
            )  # fmt: skip
        return self.path(self.policy)

    @property
    def schema_file(self) -> Path:
        """The schema of tables that join, each at its site."""
        if self.tables_file is None:
            raise InputError(
                "this party file is about a joint release: it names a policy", where=self.name,
                do="use it with  reticent integrate,  or name a  schema  instead.",
            )  # fmt: skip
        return self.path(self.tables_file)

    @property
    def run_title(self) -> str:
        """What owners must agree on besides the policy: the run, and how ids are compared."""
        return self.run + (_ALIGNED if self.ids == "aligned" else "")

    def output_of(self, asked: str | None) -> Path:
        """The folder to make; what somebody asks for wins."""
        named = asked or (self.output and str(self.path(self.output)))
        if not named:
            raise InputError(
                "no output is named", where=self.name, do="say  output = …,  or  -o OUT."
            )
        return Path(named)

    def _place_of(self, owner: str) -> str:
        return f"{self.name}, {'name' if owner == self.owner else f'[peers.{owner}]'}"

    def path(self, of: str) -> Path:
        """Where something stands that the settings name."""
        return self.folder / of

    def refuse_unlike(self, agreement: Agreement) -> None:
        """Refuse settings whose owners are not those of the policy."""
        listed = {self.owner, *self.peers}
        lacking = [name for name in agreement.owners if name not in listed]
        strange = sorted(listed - {*agreement.owners})
        # A name with a typing error lacks as well; mended, neither is wrong.
        meant = [nearest(name, lacking) for name in strange]
        lacking = [name for name in lacking if name not in meant]
        found = [
            Problem(
                f"the policy has no owner {name}", where=self._place_of(name),
                do=did_you_mean(name, agreement.owners) or f"it has {listing(agreement.owners)}.",
            )
            for name in strange
        ]  # fmt: skip
        found += [
            Problem(
                f"{name} is an owner of the policy and no peer here", where=self.name,
                do=f"add  [peers.{name}]  with its address and certificate.",
            )
            for name in lacking
        ]  # fmt: skip
        refuse(found)


def _subject(data: Mapping[str, Any], where: str) -> Iterator[Problem]:
    """What the run is about: a policy or a schema, and data of the form that goes with it."""
    policy, schema = "policy" in data, "schema" in data
    if policy == schema:
        what = "both a policy and a schema are named" if policy else "no policy is named"
        yield Problem(
            what, where=where,
            do="name the  policy  of a joint release, or the  schema  of tables that join.",
        )  # fmt: skip
    if policy and isinstance(data.get("data"), Mapping):
        yield Problem(
            "a joint release has one table of each owner", where=f"{where}, [data]",
            do='write  data = "…"  above the first section.',
        )  # fmt: skip
    if schema and isinstance(data.get("data"), str):
        yield Problem(
            "nobody says which table these data are", where=f"{where}, data",
            do='write a section  [data]  with a line  TABLE = "…"  for each table of this site.',
        )  # fmt: skip
    if schema and data.get("ids") == "aligned":
        yield Problem(
            "join values are intersected privately, never aligned", where=f"{where}, ids",
            do="leave it out.",
        )  # fmt: skip
