"""The policy: what a steward promises and allows, as frozen records read from TOML.

Reading a policy reports every problem of the file at once, each with its place. What a policy
means for a given table — which column plays which role — is settled by `Policy.roles`, which again
collects every problem before it raises.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from reticent.data.door import Coarsening, Door, Prefixes, Tops, Years
from reticent.data.taxonomy import Taxonomy, from_nested
from reticent.errors import InputError, Problem, did_you_mean, listed, quoted, refuse
from reticent.files.delimited import Reading
from reticent.files.taxonomies import load
from reticent.privacy.floors import Floor
from reticent.privacy.identifying import RULED
from reticent.privacy.promises import (
    Anonymity,
    Cell,
    Confidence,
    Promise,
    Record,
    Share,
    columns_of,
    ours,
    theirs,
)
from reticent.releases import policyfile
from reticent.releases.about import About
from reticent.releases.kinds import TABLES, ReleaseKind
from reticent.releases.policyfile import toml_key, toml_lines
from reticent.tables.attributes import Attribute

_STAND_IN = "\0"  # begins names that no table has
_PROMISES_NOTHING = "the policy promises nothing"
_SECTIONS = ("about", "goal", "reading", "writing")
_LISTED = ("anonymity", "confidence", "inconsistent")  # sections that may stand several times
Utility = Literal["classification", "distortion", "discernibility"]


class PolicyError(InputError):
    """A policy file with mistakes of form, and what is left of it without them."""

    def __init__(self, problems: Iterable[Problem], rest: Policy | None) -> None:
        super().__init__(problems)
        self.rest = rest


class Previous(Record):
    """An earlier release about the same people."""

    path: Annotated[str, Field(min_length=1)] | None = Field(
        default=None,
        description="A file, or a release folder; relative to the policy file. Or --previous.",
    )

    @field_validator("path")
    @classmethod
    def _is_no_database(cls, path: str | None) -> str | None:
        if path and "://" in path:
            raise ValueError("name a file or a release folder, and no database")
        return path

    drop: tuple[str, ...] = Field(
        default=(), description="Columns of it that were never published; they can be counted."
    )


class Goal(Record):
    """What the released table is for."""

    utility: Annotated[
        Utility | Callable[..., float] | None,
        WithJsonSchema({"enum": ["classification", "distortion", "discernibility"]}),
    ] = Field(default=None, description="Default: classification with a class, else distortion.")
    score: Literal["conditional", "paper"] = Field(
        default="conditional",
        description="What a step gains: given all that is shown, or as in the papers.",
    )
    search: Literal["thorough", "greedy"] = Field(
        default="thorough", description="The best of many cuts, or the first that is found."
    )


class Policy(policyfile.PolicyFile):
    """What nobody may infer from a release, and what may be shown.

    >>> policy = Policy(class_="Class", anonymity=[{"over": ["Job", "Sex"], "k": 4}])
    >>> [promise.text for promise in policy.promises]
    ['every combination of Job, Sex is shared by at least 4 records']
    """

    model_config = ConfigDict(populate_by_name=True, title="Reticent policy")
    kind: ClassVar[ReleaseKind] = TABLES
    parts: ClassVar[Mapping[str, type[BaseModel]]] = {
        "about": About,
        "anonymity": Anonymity,
        "confidence": Confidence,
        "attributes": Attribute,
        "goal": Goal,
        "previous": Previous,
        "reading": policyfile.TableReading,
        "writing": policyfile.TableWriting,
    }

    rule: Literal["hipaa-safe-harbor"] | None = Field(
        default=None, description="A rule that the policy follows; it may then promise nothing."
    )
    class_: str | None = Field(
        default=None, alias="class", description="The target of the classification goal."
    )
    drop: tuple[str, ...] = Field(default=(), description="Explicit identifiers: never released.")
    keep: Annotated[
        tuple[str, ...], BeforeValidator(lambda names: (names,) if names == "*" else names)
    ] = Field(
        default=(),
        description='Released as they are; "*" for every column not named elsewhere.',
        json_schema_extra={
            "anyOf": [{"const": "*"}, {"type": "array", "items": {"type": "string"}}],
            "type": ["array", "string"],
        },
    )
    missing: Literal["value", "drop", "error"] = Field(
        default="value", description="What to do with records that miss a value."
    )
    missing_values: tuple[Cell, ...] = Field(
        default=(), description="Texts that mean missing, besides empty cells, nulls and NaN."
    )
    trim: bool = Field(default=False, strict=True, description="Strip blanks around CSV cells.")
    marker: Annotated[str, Field(min_length=1)] = Field(
        default="*", description="What a suppressed value is written as."
    )
    order: Literal["sorted", "input"] = Field(
        default="sorted", description="Input order links released rows to their source."
    )
    suppress_records: Share = Field(
        default=Fraction(0),
        description='The largest share of records that may be left out: 0.02 or "1/50".',
    )
    attributes: dict[str, Attribute] = Field(default={}, description="How columns are masked.")
    anonymity: tuple[Anonymity, ...] = Field(default=(), description="Smallest groups allowed.")
    confidence: tuple[Confidence, ...] = Field(
        default=(), description="Largest confidences allowed."
    )
    goal: Goal = Goal()
    previous: dict[str, Previous] = Field(
        default={}, description="Earlier releases that somebody may join this one with."
    )
    inconsistent: tuple[dict[str, Cell], ...] = Field(
        default=(), description="Two values of different columns that nobody has together."
    )
    reading: policyfile.TableReading = policyfile.TableReading()
    writing: policyfile.TableWriting = policyfile.TableWriting()

    @model_validator(mode="after")
    def _know_columns_of_releases(self) -> Self:
        for kind in ("anonymity", "confidence"):
            known = tuple(promise.among(self.previous) for promise in getattr(self, kind))
            object.__setattr__(self, kind, known)
        return self

    @classmethod
    def place(cls, loc: Sequence[Any]) -> str:
        """A place in the file, named as a reader of it would: ``[[anonymity]] 2, k``."""
        head, *rest = loc or ("",)
        if head in _LISTED and rest and isinstance(rest[0], int):
            first = f"[[{head}]] {rest.pop(0) + 1}"
        elif head == "attributes" and rest:
            first = f'attribute "{rest.pop(0)}"'
        elif head == "previous" and rest:
            first = f"[previous.{rest.pop(0)}]"
        else:
            first = f"[{head}]" if head in _SECTIONS else str(head)
        return ", ".join([first, *map(str, rest)])

    @field_validator("previous")
    @classmethod
    def _are_prefixes(cls, previous: dict[str, Previous]) -> dict[str, Previous]:
        for name in previous:
            if not re.fullmatch(r"[\w-]+", name):
                raise ValueError(f'"{name}" is no name: use letters, digits, _ and -')
        return previous

    @field_validator("inconsistent")
    @classmethod
    def _are_pairs(cls, pairs: tuple[dict[str, str], ...]) -> tuple[dict[str, str], ...]:
        if any(len(pair) != 2 for pair in pairs):
            raise ValueError("name two columns, and the value of each that rules out the other")
        return pairs

    @field_validator("suppress_records", mode="wrap")
    @classmethod
    def _leaves_most(cls, given: Any, read: Callable[[Any], Fraction]) -> Fraction:
        said = 'write a share of at most one half, such as 0.02 or "1/50"'
        try:
            share = read(given)
        except ValueError:
            raise ValueError(said) from None
        if share > Fraction(1, 2):
            raise ValueError(said)
        return share

    @classmethod
    def parse(cls, text: str, *, source: Path | None = None) -> Self:
        """Read a policy from TOML text; `source` names it and anchors relative paths."""
        where = str(source) if source else "policy"
        data = policyfile.parsed(text, where)
        cls.refuse_others(data, where)
        try:
            policy = cls.model_validate(data)
        except ValidationError as error:
            formal = policyfile.problems(error, where, cls)
            for finding in error.errors():
                _prune(data, finding["loc"])
            rest = None
            with suppress(ValidationError):  # without what is wrong, it may still not stand
                rest = cls.model_validate(data)
                rest._source = source
            meant = rest._contradictions() if rest else ()
            found = [*formal, *(p for p in meant if p.what != _PROMISES_NOTHING)]
            raise PolicyError(found, rest) from None
        policy._source, policy._text = source, text
        refuse(policy._contradictions())
        return policy

    @property
    def promises(self) -> tuple[Promise, ...]:
        """Every promise, anonymity first, in the order of the file."""
        return (*self.anonymity, *self.confidence)

    @property
    def utility(self) -> Utility | Callable[..., float]:
        """The utility in force: classification if there is a class, else distortion."""
        return self.goal.utility or ("classification" if self.class_ else "distortion")

    def canonical(self) -> str:
        """The policy as TOML without what the file says besides: its comments may hold anything.

        Reading it back gives an equal policy, up to a utility that is a function.

        >>> print(Policy(anonymity=[{"over": ["Job", "Zip code"], "k": 4}], keep="*").canonical())
        keep = ["*"]
        <BLANKLINE>
        [[anonymity]]
        over = ["Job", "Zip code"]
        k = 4
        <BLANKLINE>
        """
        plain = self.model_dump(mode="python", by_alias=True, exclude_defaults=True)
        if callable(self.goal.utility):
            del plain["goal"]["utility"]
        attributes, goal = plain.pop("attributes", {}), plain.pop("goal", {})
        previous, reading = plain.pop("previous", {}), plain.pop("reading", {})
        about = plain.pop("about", {})
        writing = plain.pop("writing", {})
        lists = {k: plain.pop(k, ()) for k in ("inconsistent", "anonymity", "confidence")}
        parts = [toml_lines(plain)] if plain else []
        parts += [f"[about]\n{toml_lines(about)}"] if about else []
        parts += [f"[reading]\n{toml_lines(reading)}"] if reading else []
        parts += [f"[writing]\n{toml_lines(writing)}"] if writing else []
        parts += [f"[previous.{toml_key(n)}]\n{toml_lines(p)}" for n, p in previous.items()]
        parts += [f"[attributes.{toml_key(n)}]\n{toml_lines(a)}" for n, a in attributes.items()]
        parts += [f"[[{kind}]]\n{toml_lines(one)}" for kind, all_ in lists.items() for one in all_]
        parts += [f"[goal]\n{toml_lines(goal)}"] if goal else []
        return "\n".join(parts)

    def with_previous(self, paths: Mapping[str, str | Path]) -> Policy:
        """The same policy with earlier releases added, or looked for in other places."""
        if not paths:
            return self
        known = {name: one.model_dump() for name, one in self.previous.items()}
        for name, path in paths.items():
            guess = did_you_mean(name, list(known))
            if guess and name not in known:
                raise InputError(f'there is no release "{name}"', where="--previous", do=guess)
            if not str(path):
                raise InputError("an earlier release is NAME=PATH", where="--previous")
            where = str(path) if "://" in str(path) else str(Path(path).absolute())
            known.setdefault(name, {})["path"] = where
        plain = {name: getattr(self, name) for name in type(self).model_fields}
        policy = type(self).from_data({**plain, "previous": known})
        policy._source, policy._text = self._source, None
        refuse(policy._contradictions())
        return policy

    def as_in(self, place: Path) -> str:
        """The policy as a file in another folder would say it: with paths from there."""

        def seen(path: str) -> str:  # from there, wherever links lead
            return os.path.relpath((self.folder / path).resolve(), place.resolve())

        outside = {
            name: attribute.model_copy(update={"taxonomy": seen(attribute.taxonomy)})
            for name, attribute in self.attributes.items()
            if isinstance(attribute.taxonomy, str) and ".." in Path(attribute.taxonomy).parts
        }
        earlier = [one.path for one in self.previous.values() if one.path]
        if not outside and all(Path(path).is_absolute() for path in earlier):
            return self.text
        paths = {
            name: one.model_copy(update={"path": one.path and seen(one.path)})
            for name, one in self.previous.items()
        }
        update = {"previous": paths, "attributes": {**self.attributes, **outside}}
        told = self.model_copy(update=update).canonical()
        return f"# The policy of this release without its comments; paths lead from here.\n{told}"

    @property
    def promised(self) -> list[str]:
        """What it promises, in words, every column named."""
        return [*(promise.text for promise in self.promises), *self._promised_of_cells()]

    @property
    def promised_in_brief(self) -> list[str]:
        """The same for people: of many columns the first."""
        return [*(promise.told for promise in self.promises), *self._promised_of_cells()]

    def _promised_of_cells(self) -> Iterator[str]:
        """What single cells show at most."""
        yield from (one.text for one in self.floors({}))
        if self.rule:
            yield RULED[self.rule]

    @property
    def in_the_field(self) -> list[str]:
        """What it promises, in the words of the field."""
        return [promise.in_the_field() for promise in self.promises]

    def floors(self, taxonomies: Mapping[str, Taxonomy]) -> tuple[Floor, ...]:
        """The columns that are published no finer than a rule says."""
        over = columns_of(self.promises)[0]
        found = []
        for name, one in self.attributes.items():
            if one.coarsen is None or name in self.drop:
                continue
            edges: tuple[Any, ...] | None = None
            if name in over and one.masked_by == "discretize":
                edges = one.intervals or one.range or ()
            tree = taxonomies.get(name) if name in over else None
            above = {tree.labels[parent] for parent in tree.parents if parent >= 0} if tree else ()
            found.append(Floor(name, one.coarsen, edges, frozenset(above)))
        return tuple(found)

    def door(self, reading: Reading) -> Door:
        """What becomes of the cells of a table as it is taken in."""
        over = columns_of(self.promises)[0]
        coarse: dict[str, Coarsening] = {}
        for name, attribute in self.attributes.items():
            one = attribute.coarsen
            if one is None or name in self.drop:
                continue
            plain = name in over and attribute.masked_by == "discretize"
            if one.year:
                coarse[name] = Years(one.oldest, reading.date_format, plain)
            elif one.top is not None:
                coarse[name] = Tops(one.top, reading.decimal or ".", plain)
            elif one.digits is not None:
                coarse[name] = Prefixes(one.digits, one.small, one.length)
        same = {name: one.spellings for name, one in self.attributes.items() if one.same}
        return Door(self.trim, coarse, self.missing_values, same)

    @property
    def emptiness(self) -> tuple[str, ...]:
        """Which of its promises promise nothing, and why."""
        return tuple(promise.emptiness for promise in self.promises if promise.emptiness)

    @property
    def spare(self) -> frozenset[str]:
        """Columns that are dropped, and that nobody counts, here or there."""
        there = {name for one in self.anonymity for r in one.releases for name in theirs(one.of, r)}
        return frozenset(self.drop) - columns_of(self.promises)[2] - there

    @property
    def releases(self) -> tuple[str, ...]:
        """The earlier releases that some promise names."""
        return tuple(dict.fromkeys(name for p in self.promises for name in p.releases))

    def with_thresholds(self, *, k: int | None = None, at_most: Fraction | None = None) -> Policy:
        """The same policy with other thresholds; promises that come to the same are one.

        >>> policy = Policy(anonymity=[{"over": ["Job"], "k": 4}])
        >>> policy.with_thresholds(k=7).promises[0].text
        'every combination of Job is shared by at least 7 records'
        """
        changed: dict[str, Any] = {}
        for kind, key, level in (("anonymity", "k", k), ("confidence", "at_most", at_most)):
            if level is not None:
                promises = [p.model_copy(update={key: level}) for p in getattr(self, kind)]
                changed[kind] = tuple({_identity(p): p for p in promises}.values())
        policy = self.model_copy(update=changed)
        policy._text = None
        return policy

    def files(self) -> list[Path]:
        """The policy file and the taxonomy files it names."""
        named = [a.taxonomy for a in self.attributes.values() if isinstance(a.taxonomy, str)]
        return [*super().files(), *(self.folder / name for name in named), *self.earlier]

    @property
    def earlier(self) -> list[Path]:
        """Where the earlier releases stand."""
        return [self.folder / one.path for one in self.previous.values() if one.path]

    def taxonomies(
        self,
        instead: Mapping[str, Taxonomy] | None = None,
        columns: Collection[str] | None = None,
    ) -> dict[str, Taxonomy]:
        """Load the taxonomy of every generalized attribute; all problems at once.

        `instead`: those to take where a file is gone; `columns`: of these attributes alone.
        """
        loaded: dict[str, Taxonomy] = {}
        problems: list[Problem] = []
        wanted = self.attributes if columns is None else columns
        for column in (n for n, a in self.attributes.items() if a.taxonomy and n in wanted):
            try:
                loaded[column] = self._taxonomy(column)
            except InputError as error:
                if instead and column in instead:
                    loaded[column] = instead[column]
                else:
                    problems.extend(error.problems)
        refuse(problems)
        return loaded

    def _taxonomy(self, column: str) -> Taxonomy:
        tree = self.attributes[column].taxonomy
        if not isinstance(tree, str):
            return from_nested(tree or {}, f'{self.name}, attribute "{column}"')
        path = self.folder / tree
        if not path.exists():
            raise InputError(
                f"there is no taxonomy file {path}",
                where=f'{self.name}, attribute "{column}"',
                do="a path is relative to the policy file.",
            )
        return load(path)

    def roles(self, columns: Sequence[str]) -> Roles:
        """Settle what each column of a table is for, or report every reason why not."""
        refuse((*self._contradictions(), *self.unknown(columns), *self.roleless(columns)))
        return self.roles_in(columns)

    def roles_in(self, columns: Sequence[str]) -> Roles:
        """The roles of those columns that are there, as in a published table."""
        over, sensitive, _ = columns_of(self.promises)
        kept = {*self._unnamed(columns), *self.keep}
        listed_first = [column for column in self.attributes if column in over]
        return Roles(
            masked=(*listed_first, *(c for c in columns if c in over and c not in listed_first)),
            sensitive=tuple(c for c in columns if c in sensitive),
            kept=tuple(c for c in columns if c in kept),
            dropped=tuple(c for c in columns if c in self.drop),
            class_=self.class_,
            released=tuple(c for c in columns if c not in self.drop),
        )

    def refuse_lacking(self, columns: Sequence[str], where: str) -> None:
        """Refuse a published file without a column that the policy publishes by name.

        Columns counted by `of` are left to the verifier, which says what it cannot check.
        """
        _, _, of = columns_of(self.promises)
        named = {*self.keep, *filter(None, [self.class_])} - {"*"} - of
        refuse(policyfile.lacking(sorted(named - set(columns)), where))

    def _unnamed(self, columns: Sequence[str]) -> list[str]:
        """The columns that the policy gives no role by name."""
        over, sensitive, _ = columns_of(self.promises)
        named = {*over, *sensitive, *self.drop, *self.keep, *filter(None, [self.class_])}
        return [column for column in columns if column not in named]

    def roleless(self, columns: Sequence[str]) -> Iterator[Problem]:
        """Columns that nobody decided about."""
        rest = [] if "*" in self.keep else self._unnamed(columns)
        return policyfile.without_role(
            rest, self.name,
            'add each to drop, keep, an `over` or `sensitive`; or say keep = "*".',
        )  # fmt: skip

    def unknown(self, columns: Sequence[str]) -> Iterator[Problem]:
        """Names in the policy that the table does not have."""
        for name, places in self._named().items():
            if name not in columns and not name.startswith(_STAND_IN):
                near = did_you_mean(name, [c for c in columns if "." in c or "." not in name])
                where = f"{self.name}, {listed(places, most=3)}"
                yield policyfile.unknown_column(name, where, columns, near or self._misnamed(name))

    def _misnamed(self, name: str) -> str:
        """A hint where the part before a dot is nearly the name of a release, or may be one."""
        prefix, dot, column = name.partition(".")
        if not dot or not re.fullmatch(r"[\w-]+", prefix):
            return ""
        close = did_you_mean(prefix, list(self.previous))
        return (
            close.replace('"?', f'.{column}"?')
            or f"if {prefix} is an earlier release: add  [previous.{prefix}],  or --previous."
        )

    def undeclared(self) -> Iterator[str]:
        """Warnings about names that look as if they were of a release that nobody declared."""
        names = [name for name in self._named() if self._misnamed(name)]
        for prefix in dict.fromkeys(name.partition(".")[0] for name in names):
            of = [name for name in names if name.partition(".")[0] == prefix]
            yield (
                f"{quoted(of)} are taken for columns of this table, as no release {prefix} is "
                "named in [previous]."
            )

    def _named(self) -> dict[str, list[str]]:
        """Every column name the policy uses, with the places that use it."""
        named: dict[str, list[str]] = {}

        def note(names: Iterable[str], place: str) -> None:
            for name in ours(names):
                named.setdefault(name, []).append(place)

        note(filter(None, [self.class_]), "class")
        note(self.drop, "drop")
        note((name for name in self.keep if name != "*"), "keep")
        if not self.previous:  # else it may be a column of theirs, which is looked up there
            note(self.attributes, "attributes")
        for place, promise in self.places():
            note(promise.over, f"{place}, over")
            if isinstance(promise, Anonymity):
                note(promise.of, f"{place}, of")
            else:
                note(promise.sensitive, f"{place}, sensitive")
        return named

    def _contradictions(self) -> Iterator[Problem]:
        """What cannot be meant, whatever the table."""
        if not self.promises and not self.floors({}) and not self.rule:
            yield Problem(
                _PROMISES_NOTHING,
                where=self.name,
                do="add at least one [[anonymity]] or [[confidence]] template.",
            )
        if self.rule:
            yield from self._finer_than_the_rule()
        if self.class_ is None and self.goal.utility == "classification":
            yield Problem(
                'utility = "classification" needs a class',
                where=f"{self.name}, [goal] utility",
                do='name the target with  class = "…", or choose "distortion".',
            )
        yield from self._overlaps()
        yield from self._duplicates()
        yield from self._mislinked()
        yield from self._respelled()

    def _respelled(self) -> Iterator[Problem]:
        """Spellings that are something else elsewhere."""
        listed: dict[str, set[str]] = {}
        for promise in self.confidence:
            for name in ours(promise.sensitive):
                values = promise.sensitive[name]
                listed.setdefault(name, set()).update(() if values == "*" else values)
        for pair in self.inconsistent:
            for name, value in pair.items():
                listed.setdefault(name, set()).add(value)
        for name, attribute in self.attributes.items():
            where = f'{self.name}, attribute "{name}", same'
            said = {*attribute.same, *attribute.spellings}
            if both := sorted(said & {self.marker, *self.missing_values}):
                yield Problem(
                    f"{quoted(both)} is the marker or means missing, and is no spelling of a value",
                    where=where, do="leave it in one of these places.",
                )  # fmt: skip
            if gone := sorted(attribute.spellings.keys() & listed.get(name, ())):
                yield Problem(
                    f"{quoted(gone)} is named elsewhere, and no cell is written so any more",
                    where=where, do="name there what it stands for.",
                )  # fmt: skip

    def _finer_than_the_rule(self) -> Iterator[Problem]:
        """Postcodes that are told more finely than the rule that the policy follows lets them."""
        for name, attribute in self.attributes.items():
            one = attribute.coarsen
            if one is not None and one.digits and (one.digits > 3 or not one.small):
                yield Problem(
                    "the rule lets three digits stay, and of small regions none",
                    where=f'{self.name}, attribute "{name}", coarsen',
                    do="say  { digits = 3, small = […] }  with the regions in which few live, as  "
                    "reticent init --for hipaa-safe-harbor  lists them.",
                )

    def _mislinked(self) -> Iterator[Problem]:
        """What cannot be meant by promises about earlier releases."""
        for place, promise in self.places():
            if isinstance(promise, Confidence) and promise.releases:
                sides = {getattr(n, "release", "") for n in promise.sensitive}
                if len(sides) > 1:
                    yield Problem(
                        "its sensitive columns are of several tables",
                        where=f"{self.name}, {place}",
                        do="make a template of its own for the columns of each table.",
                    )
                known = set(promise.sensitive) & set(promise.over)
                if known := known - set(ours(promise.over)):  # of those, `_overlaps` tells
                    yield Problem(
                        f"{quoted(sorted(known))} is sensitive and stands in `over`",
                        where=f"{self.name}, {place}",
                        why="nothing is left to infer of what is known.",
                        do="leave it in one of these places.",
                    )
        if self.releases and not columns_of(self.promises)[0]:
            yield Problem(
                "no template names a column of this table, so that nothing could be masked",
                where=self.name,
                do="name what somebody may know of people in this table in an `over`.",
            )
        if self.releases and self.suppress_records:
            yield Problem(
                "records cannot be left out of a table that is joined with earlier releases",
                where=f"{self.name}, suppress_records",
                why="who is left out would still be in the others.",
                do="leave suppress_records away.",
            )

    def places(self) -> Iterator[tuple[str, Promise]]:
        """Every promise, with where it stands."""
        kinds: tuple[tuple[Promise, ...], ...] = (self.anonymity, self.confidence)
        for promises in kinds:
            yield from ((f"[[{p.kind}]] {i}", p) for i, p in enumerate(promises, 1))

    def _overlaps(self) -> Iterator[Problem]:
        over, sensitive, of = columns_of(self.promises)
        claims: dict[str, set[str]] = {
            "class": {self.class_} if self.class_ else set(),
            "over": over,
            "sensitive": sensitive,
            "keep": set(self.keep) - {"*"},
            "drop": set(self.drop),
        }
        yield from policyfile.several_roles(
            claims, self.name,
            "a column is masked, sensitive, the class, kept or dropped, and only one.",
        )  # fmt: skip
        for name in sorted(of & (over | {self.class_ or ""})):
            yield Problem(
                f'column "{name}" is counted by `of` but is masked or the class',
                where=self.name,
                do="count a column that is kept, sensitive or dropped.",
            )

    def _duplicates(self) -> Iterator[Problem]:
        seen: dict[object, str] = {}
        for place, promise in self.places():
            first = seen.setdefault(_identity(promise), place)
            if first != place:
                yield Problem(
                    f"this template repeats {first}",
                    where=f"{self.name}, {place}",
                    do="remove one of them; most likely one was meant to differ.",
                )


def _identity(promise: Promise) -> object:
    """What makes two templates the same; lists are read as sets."""
    if isinstance(promise, Anonymity):
        return frozenset(promise.over), frozenset(promise.of), promise.k
    values = ((c, v if v == "*" else frozenset(v)) for c, v in promise.sensitive.items())
    return frozenset(promise.over), frozenset(values), promise.at_most


@dataclass(frozen=True, slots=True)
class Roles:
    """What each column of one table is for."""

    masked: tuple[str, ...]  # in tie order: as listed in the policy, then in table order
    sensitive: tuple[str, ...]
    kept: tuple[str, ...]
    dropped: tuple[str, ...]
    class_: str | None
    released: tuple[str, ...]  # in table order

    @property
    def unmasked(self) -> tuple[str, ...]:
        """Columns released as they are."""
        return tuple(name for name in self.released if name not in self.masked)


def _prune(data: dict[str, Any], loc: Sequence[Any]) -> None:
    """Take out the part of a file that a finding is about: a key, an attribute or a template."""
    head, *rest = loc
    part = data.get(head)
    if head in ("attributes", "previous") and isinstance(part, dict) and rest:
        part.pop(rest[0], None)
    elif head in ("anonymity", "confidence") and isinstance(part, list) and rest:
        # A stand-in keeps the place, so that the numbers in other messages stay true.
        nobody = f"{_STAND_IN}{head} {rest[0]}"
        count = (
            {"k": 1} if head == "anonymity" else {"sensitive": {nobody + "s": "*"}, "at_most": 1}
        )
        part[rest[0]] = {"over": [nobody], **count}
    else:
        data.pop(head, None)
