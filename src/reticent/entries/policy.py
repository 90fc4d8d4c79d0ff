"""What a steward promises to those who asked that an entry of theirs be hidden.

    conditions = ["sex", "education"]
    sensitive = "occupation"
    min_support = 60
    min_confidence = 0.6
    requests = "requests.csv"

Records are called by their numbers, from 1 on, or by what a column says, the ``id``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    field_validator,
)

from reticent.data.recode import as_python
from reticent.errors import Problem, quoted, refuse
from reticent.privacy.entries import SafeEntries
from reticent.privacy.promises import Cell, Share, as_text
from reticent.releases import policyfile
from reticent.releases.about import About
from reticent.releases.kinds import ENTRIES, ReleaseKind
from reticent.releases.policyfile import Names

Region = Literal["sensitive-of-others", "conditions-of-others", "conditions-of-sensitive"]
Strategy = Literal["max-descendant", "random", "random-max"]
REGIONS: tuple[Region, ...] = get_args(Region)
REQUESTS, MARKS = "requests.csv", "must-publish.csv"  # as they are called beside a kept policy
_ROLES = ("conditions", "sensitive", "keep", "drop")


def _records(given: Any) -> Any:
    """A path, or records by number or id: a list of them, or a data frame."""
    return _listed(given, ("record",), lambda row: as_text(row))


def _marks(given: Any) -> Any:
    """A path, or pairs of a record and a column: a list of them, or a data frame."""
    return _listed(given, ("record", "column"), _pair)


def _pair(row: Any) -> tuple[Any, ...]:
    pair = () if isinstance(row, str | Mapping) else tuple(as_text(as_python(p)) for p in row)
    if len(pair) != 2:
        raise TypeError("no pair")
    return pair


def _listed(given: Any, names: Sequence[str], plain: Any) -> Any:
    from reticent.files.tabular import frame_kind, parse_frame

    if isinstance(given, str | Path):
        if not str(given):
            raise ValueError("name a file")
        return str(given)
    if kind := frame_kind(given):
        table = parse_frame(given, kind).table(None)
        if lacking := [name for name in names if name not in table.columns]:
            raise ValueError(f"the data frame has no column {quoted(lacking)}")
        cells = [[text or "" for text in table.columns[n].cells().to_pylist()] for n in names]
        return tuple(cells[0]) if len(cells) == 1 else tuple(zip(*cells, strict=True))
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
        raise ValueError("name a file, or list records")
    rows = given.tolist() if hasattr(given, "tolist") else [*map(as_python, given)]
    if any(part is None or isinstance(part, bool) for part in rows):
        raise ValueError("a record is a number or an id")
    try:
        return tuple(plain(row) for row in rows)
    except TypeError:
        raise ValueError(f"list {' and '.join(names)} of each") from None


_LIST = {"type": "array", "items": {"type": ["integer", "string"]}}
Records = Annotated[
    str | tuple[str, ...],
    BeforeValidator(_records),
    WithJsonSchema({"anyOf": [{"type": "string"}, _LIST]}),
]
Marks = Annotated[
    str | tuple[tuple[str, str], ...],
    BeforeValidator(_marks),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": _LIST}]}),
]


class EntryPolicy(policyfile.PolicyFile):
    """Whose entries are hidden, and what may be hidden besides, so that nobody infers them.

    >>> policy = EntryPolicy(conditions=["sex", "education"], sensitive="occupation",
    ...                      requests=[7, 12], min_support=60, min_confidence=0.6)
    >>> policy.requests, policy.strategy
    (('7', '12'), 'max-descendant')
    """

    model_config = ConfigDict(title="Policy")
    kind: ClassVar[ReleaseKind] = ENTRIES
    parts: ClassVar[Mapping[str, type[BaseModel]]] = {
        "about": About,
        "reading": policyfile.CellReading,
        "writing": policyfile.TableWriting,
    }

    conditions: Names = Field(description="Columns that an attacker may infer from.")
    sensitive: str = Field(description="The column whose entries people asked to hide.")
    min_support: int = Field(
        ge=0, strict=True, description="What at most so many records show is no evidence."
    )
    min_confidence: Share = Field(
        description='The largest confidence of an inference: 0.6 or "3/5".'
    )
    may_hide: Annotated[tuple[Region, ...], policyfile.may_be_one] = Field(
        default=REGIONS, description="What may be hidden besides, to protect who asked."
    )
    requests: Records = Field(
        description="A CSV file with the header `record`, or a list: whose entry must be hidden."
    )
    publish: Marks | None = Field(
        default=None,
        description="A CSV file with the header `record,column`, or pairs: never hidden.",
    )
    strategy: Strategy = Field(
        default="max-descendant", description="How the next conditions to hide are chosen."
    )
    seed: int = Field(default=1, ge=0, strict=True, description="For the random strategies.")
    max_pattern: int | None = Field(
        default=None, ge=1, strict=True, description="How many values an attacker combines at most."
    )
    id: str | None = Field(
        default=None, description="A column whose values name records, instead of their numbers."
    )
    keep: Names = Field(
        default=(),
        description='Other columns that are released; "*" for all that are not named elsewhere.',
    )
    drop: Names = Field(default=(), description="Columns that are never released.")
    missing_values: tuple[Cell, ...] = Field(
        default=(), description="Texts that mean missing, besides empty cells, nulls and NaN."
    )
    reading: policyfile.CellReading = policyfile.CellReading()
    writing: policyfile.TableWriting = policyfile.TableWriting()

    @field_validator("conditions", "may_hide")
    @classmethod
    def _are_some(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if not names:
            raise ValueError("name at least one")
        return tuple(dict.fromkeys(names))

    @classmethod
    def contradictions(cls, data: Mapping[str, Any], where: str) -> Iterator[Problem]:
        """Columns that cannot have the roles they are given."""
        claims = {role: _names(data.get(role)) - {"*"} for role in _ROLES}
        why = "a column is a condition, sensitive, kept or dropped, and only one."
        yield from policyfile.several_roles(claims, where, why)
        if (id_ := data.get("id")) and id_ in claims["conditions"] | claims["sensitive"]:
            yield Problem(
                f'column "{id_}" is the id, and a condition or sensitive',
                where=where, why="who is known by the id needs no rule.",
                do="take another column for one of these.",
            )  # fmt: skip

    @property
    def promised(self) -> list[str]:
        """What it promises, in words."""
        return [self.promise.text]

    @property
    def in_the_field(self) -> list[str]:
        """What it promises, in the words of the field."""
        return [self.promise.in_the_field]

    @property
    def promise(self) -> SafeEntries:
        """What is promised."""
        return SafeEntries(
            min_support=self.min_support,
            min_confidence=self.min_confidence,
            max_pattern=self.max_pattern,
        )

    @property
    def emptiness(self) -> tuple[str, ...]:
        """Why it promises nothing beyond the requests, if so."""
        return (self.promise.emptiness,) if self.promise.emptiness else ()

    def files(self) -> list[Path]:
        """The policy file, and those with requests and marks."""
        named = [name for name in (self.requests, self.publish) if isinstance(name, str)]
        return [*super().files(), *(self.folder / name for name in named)]

    def beside_lists(self) -> EntryPolicy:
        """The same policy with requests and marks in files beside it: it tells of nobody."""
        update = {"requests": REQUESTS, "publish": None if self.publish is None else MARKS}
        return self.model_copy(update=update)

    @property
    def spare(self) -> frozenset[str]:
        """Columns that are dropped, and that nobody reads."""
        return frozenset(self.drop) - {self.id}

    def roles(self, columns: Sequence[str]) -> EntryRoles:
        """What each column of a table is for, or every reason why nobody can say."""
        named = self._named()
        problems = (
            *self.contradictions(self.model_dump(include={*_ROLES, "id"}), self.name),
            *(
                policyfile.unknown_column(name, f"{self.name}, {place}", columns)
                for name, place in named.items()
                if name not in columns
            ),
            *policyfile.without_role(
                self.roleless(columns), self.name,
                'add each to conditions, keep or drop; or say keep = "*".',
            ),
        )  # fmt: skip
        refuse(problems)
        return self.roles_in(columns)

    def roleless(self, columns: Sequence[str]) -> list[str]:
        """Columns that nobody decided about."""
        named = self._named()
        return [] if "*" in self.keep else [name for name in columns if name not in named]

    def roles_in(self, columns: Sequence[str]) -> EntryRoles:
        """The roles of those columns that are there, as in a published table."""
        named = self._named()
        kept = {*self.keep, *(name for name in columns if name not in named)}
        shown = {*self.conditions, self.sensitive, *kept}
        return EntryRoles(
            self.conditions, self.sensitive,
            tuple(name for name in columns if name in kept),
            tuple(name for name in columns if name not in shown),
            tuple(name for name in columns if name in shown),
        )  # fmt: skip

    def lacking(self, columns: Sequence[str]) -> list[str]:
        """Columns that are published, and that a table does not have."""
        return sorted({*self.conditions, self.sensitive, *self.keep} - {"*", *columns})

    def _named(self) -> dict[str, str]:
        """Every column that the policy names, and the key where it does; an id is dropped."""
        listed = {role: getattr(self, role) for role in ("conditions", "keep", "drop")}
        named = {name: role for role, names in listed.items() for name in names if name != "*"}
        named[self.sensitive] = "sensitive"
        return ({self.id: "id"} if self.id else {}) | named


def _names(given: Any) -> set[str]:
    """The names in a part of a policy, whatever else may be wrong with it."""
    parts = [given] if isinstance(given, str) else given if isinstance(given, Sequence) else []
    return {name for name in parts if isinstance(name, str)}


@dataclass(frozen=True, slots=True)
class EntryRoles:
    """What each column of one table is for."""

    conditions: tuple[str, ...]  # as listed in the policy
    sensitive: str
    kept: tuple[str, ...]
    dropped: tuple[str, ...]
    released: tuple[str, ...]  # in table order

    @property
    def entries(self) -> tuple[str, ...]:
        """The columns of which entries may be hidden; the last one is sensitive."""
        return (*self.conditions, self.sensitive)
