"""The policy that several owners share: that of one table, and which columns lie with whom.

It means what `reticent release` means by it on the joined table: the columns owner by owner, the
records that all owners have, and the record id dropped. Owners compare it by the digest of its
canonical form.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from reticent.errors import InputError, Problem, did_you_mean, quoted, refuse
from reticent.parties.settings import NOT_BETWEEN_OWNERS, Agreement, unfit_name
from reticent.privacy.promises import Anonymity, Record, columns_of
from reticent.releases.kinds import JOINT, ReleaseKind, kind_of
from reticent.releases.policyfile import Named, refuse_no_policy, several_roles
from reticent.tables.policy import Goal, Policy, Roles

_LONGEST_NAME = 2_000  # letters of a column's name, as owners tell it


class OwnedColumns(Record):
    """What one owner contributes."""

    columns: Annotated[tuple[Named, ...], Field(min_length=1)] = Field(
        description="Masked, kept, sensitive or the class; what is not listed is not read."
    )


class JointGoal(Goal):
    """What the joint table is for."""

    search: Literal["greedy", "thorough"] = Field(
        default="greedy", description="Owners go one way, in lock-step."
    )


class JointPolicy(Policy):
    """What nobody may infer from a joint release, and who contributes what to it."""

    model_config = ConfigDict(populate_by_name=True, title="Reticent joint policy")
    kind: ClassVar[ReleaseKind] = JOINT
    parts: ClassVar[Mapping[str, type[BaseModel]]] = {
        **Policy.parts,
        "owners": OwnedColumns,
        "goal": JointGoal,
    }

    id: Named = Field(description="The record id, at every owner; never released.")
    owners: dict[str, OwnedColumns] = Field(description="Who contributes which columns.")
    goal: JointGoal = JointGoal()

    @classmethod
    def place(cls, loc: Sequence[Any]) -> str:
        """A place in the file, named as a reader of it would."""
        head, *rest = loc or ("",)
        if head == "owners" and rest:
            return ", ".join([f"[owners.{rest[0]}]", *map(str, rest[1:])])
        return super().place(loc)

    @classmethod
    def refuse_others(cls, data: Mapping[str, Any], where: str) -> None:
        """Refuse a policy of one owner."""
        refuse_no_policy(data, where)
        if "owners" not in data:
            alone = kind_of(data)
            raise InputError(
                f"this is a policy for {alone.name}: it names no owners", where=where,
                why="a release by several owners says which columns lie with whom.",
                do=f"use it with  {alone.command},  or add  [owners.NAME]  with  columns = [...]  "
                "for each.",
            )  # fmt: skip
        super().refuse_others(data, where)

    @classmethod
    def from_data(cls, data: dict[str, Any], where: str = "") -> Self:
        """Build it from plain data; there is no table yet that could show what is wrong."""
        policy = super().from_data(data, where)
        refuse(policy._contradictions())
        return policy

    @property
    def digest(self) -> bytes:
        """What owners compare; comments and the layout of the file are no matter."""
        return hashlib.sha256(self.canonical().encode("utf-8", "surrogatepass")).digest()

    def trees(self, owner: str) -> str:
        """A digest of an owner's taxonomies, which stay with it: no digest of a policy has them."""
        own = self.owners[owner].columns
        masked = [name for name in self.joint_roles.masked if name in own]
        trees = self.alone().taxonomies(columns=masked)
        found = [[name, tree.labels, tree.parents] for name, tree in sorted(trees.items())]
        return hashlib.sha256(json.dumps(found).encode()).hexdigest()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the joint table: owner by owner, the class where it stands first."""
        return tuple(dict.fromkeys(c for owner in self.owners.values() for c in owner.columns))

    def owner_of(self, column: str) -> str:
        """Who contributes a column; of a class that several have, the first of them."""
        return next(name for name, owner in self.owners.items() if column in owner.columns)

    @property
    def joint_roles(self) -> Roles:
        """What each column of the joint table is for."""
        return self.roles_in(self.columns)

    def handed_over(self, owner: str) -> dict[str, list[str]]:
        """What others learn of an owner's columns about each common person, in words."""
        own, roles = self.owners[owner].columns, self.joint_roles
        exactly = {
            "the class": [roles.class_] if roles.class_ else [],
            "sensitive values": roles.sensitive,
            "kept values": roles.kept,
            "what is shown in the end": roles.masked,
        }
        found = {words: [c for c in own if c in names] for words, names in exactly.items()}
        return {words: names for words, names in found.items() if names}

    @property
    def between(self) -> list[str]:
        """What owners should know of each other besides, in sentences."""
        found = [NOT_BETWEEN_OWNERS]
        if first := self.seen_by_first:
            found.append(
                f"{first}, the first owner, also learns of each set of owners how many ids exactly "
                'these have (not with  ids = "aligned").'
            )
        return found

    @property
    def seen_by_first(self) -> str:
        """The owner that sees how many ids any set of owners shares: the first of three or more."""
        return next(iter(self.owners)) if len(self.owners) > 2 else ""

    @property
    def agreement(self) -> Agreement:
        """The policy as those see it who carry words between owners."""
        offers = {owner: self.handed_over(owner) for owner in self.owners}
        return Agreement(tuple(self.owners), self.digest, offers, between="\n".join(self.between))

    def alone(self) -> Policy:
        """The same promises about the joined table, for one owner who has all of it."""
        plain = self.model_dump(by_alias=True, exclude={"id", "owners"}, exclude_defaults=True)
        plain["goal"] = self.goal.model_dump()
        policy = Policy.model_validate({**plain, "drop": (self.id,)})
        policy._source = self._source
        return policy

    def _contradictions(self) -> Iterator[Problem]:
        yield from super()._contradictions()
        yield from self._misplaced()
        yield from self._not_for_several()
        yield from self._torn_apart()

    def _misplaced(self) -> Iterator[Problem]:
        """Columns that lie with nobody, with too many, or are for nothing."""
        if len(self.owners) < 2:
            yield Problem(
                "one owner alone needs no joint release", where=f"{self.name}, [owners]",
                do="name every owner, or use  reticent release.",
            )  # fmt: skip
        for name, owner in self.owners.items():
            where = f"{self.name}, [owners.{name}]"
            if why := unfit_name(name):
                yield Problem(why, where=where)
            if self.id in owner.columns:
                yield Problem(
                    f'"{self.id}" is the record id, which every owner has', where=where,
                    do="leave it away: it is never released.",
                )  # fmt: skip
            if any(len(column) > _LONGEST_NAME for column in owner.columns):
                yield Problem(
                    f"a column's name has more than {_LONGEST_NAME:,} letters", where=where,
                    do="rename it: owners tell each other the names of columns.",
                )  # fmt: skip
            if len({*owner.columns}) < len(owner.columns):
                yield Problem("a column is listed twice", where=where, do="list each once.")
        claims = {
            f"[owners.{name}]": {c for c in owner.columns if c != self.class_}
            for name, owner in self.owners.items()
        }
        for problem in several_roles(claims, self.name, "a column lies with one owner."):
            yield Problem(
                problem.what.replace("roles", "owners"), problem.where, problem.why, problem.do
            )
        over, sensitive, _ = columns_of(self.promises)
        used = {*over, *sensitive, *self.keep, *filter(None, [self.class_])} - {"*"}
        for name in self.attributes:
            if name not in {*self.columns}:
                yield Problem(
                    f'no owner contributes "{name}"', where=f"{self.name}, [attributes.{name}]",
                    do=did_you_mean(name, self.columns) or "leave it away, or list the column.",
                )  # fmt: skip
        if lacking := sorted(used - {*self.columns}):
            yield Problem(
                f"no owner contributes {quoted(lacking)}", where=f"{self.name}, [owners]",
                do="list each among the columns of the owner that has it.",
            )  # fmt: skip
        if idle := [column for column in self.columns if column not in used | {self.id}]:
            yield Problem(
                f"nothing is said of {quoted(idle)}", where=f"{self.name}, [owners]",
                why="a column nobody decided about must not slip into a release.",
                do="add each to keep, an `over` or `sensitive`; or do not list it.",
            )  # fmt: skip

    def _not_for_several(self) -> Iterator[Problem]:
        """What one owner may say and several may not."""
        refused = {
            "drop": (self.drop, "columns that no owner lists are not read: leave drop away."),
            'keep = "*"': ("*" in self.keep, "name the columns to keep."),
            'order = "input"': (
                self.order == "input",
                'the agreed order links rows to people: leave it at "sorted".',
            ),
            "suppress_records": (self.suppress_records, "leave it away."),
            "[previous]": (self.previous, "joint releases know no earlier ones: leave it away."),
            "[reading]": (
                self.reading.model_dump(exclude_defaults=True),
                "each owner says in its own party file how its data are read.",
            ),
            '[goal] search = "thorough"': (
                self.goal.search == "thorough",
                'owners go one way together: leave it away, or say "greedy".',
            ),
            "rule": (self.rule, "each owner follows it for its own columns: leave it away."),
            "coarsen": (
                any(one.coarsen for one in self.attributes.values()),
                "each owner coarsens its own columns before the run: leave it away.",
            ),
            "[goal] utility": (
                callable(self.goal.utility),
                "a function cannot be compared between owners: name a utility.",
            ),
        }
        for key, (given, do) in refused.items():
            if given:
                yield Problem(f"{key} is not for several owners", where=self.name, do=do)
        for place, promise in self.places():
            if isinstance(promise, Anonymity) and promise.of and {*promise.of} != {self.id}:
                yield Problem(
                    "`of` is not for several owners, but for the record id",
                    where=f"{self.name}, {place}, of",
                    do=f'every record has its own id: leave it away, or say  of = ["{self.id}"].',
                )

    def _torn_apart(self) -> Iterator[Problem]:
        """Ties go to the owner listed first, so an owner's attributes stand together."""
        listed = [name for owner in self.owners.values() for name in owner.columns]
        masked = [name for name in self.joint_roles.masked if name in listed]
        ranks = {name: rank for rank, name in enumerate(self.owners)}
        together = sorted(masked, key=lambda name: ranks[self.owner_of(name)])
        if masked != together:
            yield Problem(
                "the order of [attributes] is not that of [owners]", where=self.name,
                why="of equal scores the attribute listed first wins, and owners have one order.",
                do="write the attributes in this order, an [attributes.NAME] for each: "
                f"{', '.join(together)}.",
            )  # fmt: skip
