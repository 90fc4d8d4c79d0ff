"""Files that people write: how they are written down, and what is wrong with them, in words."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import tomli_w
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from reticent.errors import InputError, Problem, did_you_mean, few, listed, quoted, refuse, visible
from reticent.files.delimited import unfit
from reticent.files.tabular import Reading
from reticent.files.writing import DELIMITERS, Writing
from reticent.releases.about import About
from reticent.releases.kinds import SCHEMA_COMMAND, SCHEMA_KEYS, ReleaseKind, kind_of
from reticent.releases.spoken import ComposedText, Spoken, TextTable, markup

may_be_one = BeforeValidator(lambda given: (given,) if isinstance(given, str) else given)
Names = Annotated[tuple[str, ...], may_be_one]
Named = Annotated[str, Field(min_length=1)]
_LONGEST = 64 * 1024 * 1024  # bytes of a file that somebody wrote


class FileReading(BaseModel):
    """How the input is written, where its looks do not say."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    delimiter: str | None = Field(default=None, description="CSV: what parts cells.")
    encoding: str | None = Field(default=None, description="CSV: utf-8, latin-1, utf-16, …")
    sheet: Named | None = Field(default=None, description="Which sheet of a spreadsheet.")
    header_row: int | None = Field(
        default=None, ge=1, strict=True, description="The row of the header, from 1 on."
    )

    labels: bool | None = Field(
        default=None,
        strict=True,
        description="SPSS, Stata, SAS: cells as their labels; false: as their codes.",
    )

    @field_validator("*")
    @classmethod
    def _can_be_meant(cls, value: Any, about: ValidationInfo) -> Any:
        if value is not None and (said := unfit(about.field_name or "", value)):
            raise ValueError(said)
        return value

    def told(self) -> Reading:
        """The same, as those who read are told."""
        return Reading(**self.model_dump())


class CellReading(FileReading):
    """How the input and its cells are written, where their looks do not say."""

    decimal: Literal[".", ","] | None = Field(default=None, description="The decimal sign.")
    date_format: str | None = Field(default=None, description="Dates, such as %d.%m.%Y.")


class TableReading(CellReading):
    """How the input and its cells are written, and where in a database it stands."""

    table: Named | None = Field(default=None, description="Which table of a database.")


class TableWriting(BaseModel):
    """How files that people open are written."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    delimiter: str | None = Field(
        default=None, description="CSV: what parts cells: a comma, ; | or a tab."
    )
    decimal: Literal[".", ","] | None = Field(
        default=None, description='The decimal sign; with a comma, intervals are "[0,5; 1,5)".'
    )
    bom: bool = Field(
        default=False, strict=True, description="CSV: begins with a byte order mark, for Excel."
    )

    @field_validator("delimiter")
    @classmethod
    def _is_known(cls, delimiter: str | None) -> str | None:
        if delimiter is not None and delimiter not in DELIMITERS:
            raise ValueError("cells are parted by a comma, a semicolon, | or a tab")
        return delimiter

    @model_validator(mode="after")
    def _tells_signs_apart(self) -> Self:
        if self.delimiter == self.decimal == ",":
            raise ValueError("delimiter and decimal are the same sign: part cells by a semicolon")
        return self

    def told(self) -> Writing:
        """The same, as those who write are told."""
        return Writing(**self.model_dump())


class WrittenFile(Spoken, BaseModel):
    """A TOML file that somebody wrote, or what was set in code, as a frozen record."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    called: ClassVar[str] = "file"  # in messages
    parts: ClassVar[Mapping[str, type[BaseModel]]] = {}  # sections that have keys of their own

    _source: Path | None = PrivateAttr(default=None)
    _text: str | None = PrivateAttr(default=None)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file, reporting all of its problems at once."""
        return cls.parse(read(Path(path), cls.called), source=Path(path))

    @classmethod
    def parse(cls, text: str, *, source: Path | None = None) -> Self:
        """Read TOML text; `source` names it and anchors relative paths."""
        where = str(source) if source else cls.called
        data = parsed(text, where)
        cls.refuse_others(data, where)
        found = cls.from_data(data, where)
        found._source, found._text = source, text
        return found

    @classmethod
    def from_data(cls, data: dict[str, Any], where: str = "") -> Self:
        """Build it from plain data, reporting all of its problems at once."""
        where = where or cls.called
        contradicted = [*cls.contradictions(data, where)]
        try:
            found = cls.model_validate(data)
        except ValidationError as error:
            formal = problems(error, where, cls)
            raise InputError([*formal, *contradicted]) from None
        refuse(contradicted)
        return found

    @classmethod
    def place(cls, loc: Sequence[Any]) -> str:
        """A place in the file, named as a reader of it would."""
        return ", ".join(f"[{part}]" if part in ("reading", "about") else str(part) for part in loc)

    @classmethod
    def contradictions(cls, data: Mapping[str, Any], where: str) -> Iterator[Problem]:
        """What cannot be meant, each part for itself being well-formed; as far as one can tell."""
        yield from ()

    @classmethod
    def refuse_others(cls, data: Mapping[str, Any], where: str) -> None:
        """Refuse a file about something else: it looks as if all of its keys were wrong."""

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """The JSON schema of such a file, for editors; examples in docstrings are for Python."""
        found = cls.model_json_schema(by_alias=True)
        for part in (found, *found.get("$defs", {}).values()):
            part["description"] = part["description"].partition("\n\n")[0]
        return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found}

    @property
    def text(self) -> str:
        """It as TOML: the file it came from, or what was set in code."""
        return self.canonical() if self._text is None else self._text

    def canonical(self) -> str:
        """It as TOML without the comments of its file, which may hold anything."""
        return toml_lines(self.model_dump(mode="python", by_alias=True, exclude_defaults=True))

    def _said(self) -> str:
        return self.canonical()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.name}>"

    def files(self) -> list[Path]:
        """The file itself, and those that it names."""
        return [self._source] if self._source else []

    @property
    def name(self) -> str:
        """How messages call it."""
        return str(self._source) if self._source else self.called

    @property
    def folder(self) -> Path:
        """Where relative paths start."""
        return self._source.parent if self._source else Path()


class PolicyFile(WrittenFile):
    """A policy: what somebody promises about a release."""

    kind: ClassVar[ReleaseKind]
    called: ClassVar[str] = "policy"

    about: About = About()

    if TYPE_CHECKING:
        reading: FileReading  # each kind has its own: with the keys that say something of it

    @classmethod
    def of(cls, policy: Self | Mapping[str, Any] | str | Path) -> Self:
        """A policy, wherever it comes from."""
        if isinstance(policy, cls):
            return policy
        if isinstance(policy, str | Path):
            return cls.load(policy)
        if not isinstance(policy, Mapping):
            raise InputError("a policy is a file, a mapping or a Policy", where="policy")
        return cls.from_data(dict(policy))

    @classmethod
    def refuse_others(cls, data: Mapping[str, Any], where: str) -> None:
        """Refuse a policy about something else: it looks as if all of its keys were wrong."""
        refuse_no_policy(data, where)
        meant = kind_of(data, cls.kind)
        if meant is not cls.kind:
            raise InputError(
                f"this is a policy for {meant.name}", where=where,
                do=f"use it with  {meant.command}.",
            )  # fmt: skip

    def canonical(self) -> str:
        """The policy as TOML without the comments of its file, which may hold anything."""
        return canonical_lines(self.model_dump(mode="python", by_alias=True, exclude_defaults=True))

    @property
    def promised(self) -> list[str]:
        """What it promises, in words, every column named."""
        raise NotImplementedError

    @property
    def promised_in_brief(self) -> list[str]:
        """The same for people: of many columns the first."""
        return self.promised

    @property
    def in_the_field(self) -> list[str]:
        """What it promises, in the words of the field."""
        return []

    def _repr_html_(self) -> str:
        promised = TextTable(["promise"], [[words] for words in self.promised_in_brief])
        whole = f"<details><summary>{self.called}</summary>{super()._repr_html_()}</details>"
        return markup(ComposedText([f"A policy for {self.kind.name}", promised])) + whole

    def reads(self, told: Reading | None, table: str | None = None) -> Reading:
        """How the input is read: as somebody tells who asks, and else as the policy says."""
        asked = told or Reading()
        asked = asked if table is None else replace(asked, table=table)
        return asked.over(self.reading.told())

    def reads_released(self, told: Reading | None) -> Reading:
        """How a release is read: its cells as the input's; but it is a file of its own."""
        return (told or Reading()).over(self.reading.told().cells)


def kind_in(path: Path) -> ReleaseKind:
    """What a policy file is about."""
    data = parsed(read(path), str(path))
    refuse_no_policy(data, str(path))
    return kind_of(data)


def refuse_no_policy(data: Mapping[str, Any], where: str) -> None:
    """Refuse an owner's party file, and one about tables that join: nothing of it is released."""
    if {"listen", "peers"} <= data.keys():
        named = data.get("policy")
        raise InputError(
            "this is a party file, and no policy", where=where,
            why="it says who an owner is and where its peers are.",
            do="give the joint policy"
            + (f", which it names: {named}." if isinstance(named, str) else "."),
        )  # fmt: skip
    for key in SCHEMA_KEYS:
        if key in data:
            raise InputError(
                "this is a schema of tables that join, and no policy", where=where,
                why=f'the key "{key}" says so.', do=f"use it with  {SCHEMA_COMMAND}.",
            )  # fmt: skip


def read(path: Path, called: str = "policy") -> str:
    """The text of a file that somebody wrote."""
    try:
        with path.open("rb") as file:
            content = file.read(_LONGEST + 1)
        if len(content) > _LONGEST:
            raise InputError(
                f"this is too long for a {called}", where=str(path),
                do="name a file that somebody wrote; long taxonomies stand in files of their own.",
            )  # fmt: skip
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except FileNotFoundError:
        missing = f"there is no such {called}".removesuffix(" file") + " file"
        raise InputError(missing, where=str(path)) from None
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise InputError(f"the {called} cannot be read: {why}", where=str(path)) from None


def parsed(text: str, where: str) -> dict[str, Any]:
    """A file as plain data, its numbers exact."""
    from reticent.releases.toml_words import not_toml, zero_bytes

    if "\0" in text:
        raise InputError(zero_bytes(text, where))
    try:
        return tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        raise InputError(not_toml(text, str(error), where)) from None
    except RecursionError:
        raise InputError(
            "its tables are nested too deeply", where=where,
            do="write a deep taxonomy as a CSV file of its own.",
        ) from None  # fmt: skip


def canonical_lines(plain: Mapping[str, Any]) -> str:
    """A policy a line a key, and what it is about below them."""
    lines = toml_lines({key: value for key, value in plain.items() if key != "about"})
    return lines + (f"\n[about]\n{toml_lines(plain['about'])}" if "about" in plain else "")


def toml_lines(table: Mapping[str, Any]) -> str:
    """Keys and values, a line each."""
    return "".join(f"{toml_key(key)} = {toml_value(value)}\n" for key, value in table.items())


def toml_key(key: str) -> str:
    """A key as TOML writes it."""
    return visible(tomli_w.dumps({key: 0}).removesuffix(" = 0\n"))


def toml_value(value: Any) -> str:
    """A value as TOML on one line; what TOML has no word for, such as a fraction, as its text.

    >>> print(toml_value({"ANY": {"Blue": ["Janitor", "Mover"], "Clerk": {}}}))
    { ANY = { Blue = ["Janitor", "Mover"], Clerk = {} } }
    """
    # Lists in lists are written in place. As sections, tables would come after lists, and labels
    # of a taxonomy in another order. Breaks in texts are escaped: those left are between items.
    laid_out = tomli_w.dumps({"": [[_plain(value)]]}, indent=0)
    in_line = visible(laid_out).replace("[\n", "[").replace(",\n]", "]").replace("\n", " ")
    return in_line.removeprefix('"" = [[').removesuffix("]] ")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(below) for key, below in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, int | float | Decimal | date) else str(value)


def problems(error: ValidationError, where: str, whole: type[WrittenFile]) -> list[Problem]:
    """Turn pydantic's findings into ours: one per place, in words, with a hint."""
    found: dict[str, Problem] = {}
    # Keys that are not there come first: such a typo is often why another key is missing.
    findings = sorted(error.errors(include_url=False), key=lambda f: f["type"] != "extra_forbidden")
    for finding in findings:
        loc = [*finding["loc"]]
        if loc[:1] != ["about"]:  # which has a key "date"
            loc = [part for part in loc if not _is_branch(part)]
        place = whole.place(loc)
        if finding["type"] == "extra_forbidden":
            part = whole.parts[str(loc[0])] if loc[:-1] else whole
            known = [field.alias or name for name, field in part.model_fields.items()]
            problem = Problem(
                f'there is no key "{loc[-1]}" here',
                where=f"{where}, {whole.place(loc[:-1])}".rstrip(", "),
                do=did_you_mean(str(loc[-1]), known) or f"the keys are {listed(known, most=20)}.",
            )
        else:
            what = _PLAINER.get(finding["type"], finding["msg"]).removeprefix("Value error, ")
            problem = Problem(
                what[:1].lower() + what[1:], where=f"{where}, {place}".rstrip(", "),
                do=_remedy(finding, loc, whole),
            )  # fmt: skip
        # A union reports each of its branches; the first says enough.
        found.setdefault(problem.where if finding["type"] != "extra_forbidden" else place, problem)
    return list(found.values())


def _remedy(finding: Any, loc: Sequence[object], whole: type[WrittenFile]) -> str:
    """What to write instead, as far as that can be told."""
    if finding["type"] == "literal_error":
        return _nearest(finding)
    if finding["type"] != "missing" or len(loc) != 1:
        return ""
    every = whole.model_fields.items()
    told = [one.description for key, one in every if (one.alias or key) == loc[0]]
    return f"write  {loc[0]} = …  {told[0]}" if told and told[0] else ""


def _nearest(finding: Any) -> str:
    """Of the words that may stand somewhere, the one that was meant."""
    words = re.findall(r"'([^']*)'", finding["ctx"]["expected"])
    return did_you_mean(str(finding["input"]), words)


_PLAINER = {
    "tuple_type": 'write a list of names, as ["Ward"]',
    "model_type": "write it as a section of its own, with keys",
    "int_type": "write a whole number, as 10, without quotes or a point",
    "too_long": "there are too many values; a decimal has a point, as 0.5",
    "bool_type": "write true or false, without quotes",
    "string_type": "write a text in quotes",
    "missing": "this key is needed here",
    "string_too_short": "this must not be empty",
}


def _is_branch(part: object) -> bool:
    """Whether a step of pydantic's path names a branch of a union and not a place in the file."""
    return isinstance(part, str) and (
        part in {"int", "float", "str", "date", "datetime", "callable", "[key]"}
        or part.startswith(("literal[", "constrained-", "tuple[", "dict[", "lax-", "function-"))
    )


# --- columns that a policy names -----------------------------------------------------------------


def several_roles(claims: Mapping[str, Collection[str]], where: str, why: str) -> Iterator[Problem]:
    """Columns that a policy gives more than one role."""
    for name in sorted(set[str]().union(*claims.values())):
        roles = [role for role, names in claims.items() if name in names]
        if len(roles) > 1:
            yield Problem(
                f'column "{name}" has {len(roles)} roles: {few(roles)}',
                where=where, why=why, do="leave it in one of these places.",
            )  # fmt: skip


def without_role(rest: Sequence[str], where: str, do: str) -> Iterator[Problem]:
    """Columns that a policy says nothing about."""
    if rest:
        said = "1 column has" if len(rest) == 1 else f"{len(rest)} columns have"
        yield Problem(
            f"{said} no role: {quoted(rest)}", where=where, do=do,
            why="a column nobody decided about must not slip into a release.",
        )  # fmt: skip


def unknown_column(
    name: str, where: str, columns: Iterable[str], hint: str = "", *, it: str = "the table"
) -> Problem:
    """A column that a policy names and the table, or whatever `it` is, does not have."""
    meant = hint or did_you_mean(name, columns) or f"{it} has {quoted(columns)}."
    return Problem(f'there is no column "{name}"', where=where, do=meant)


def lacking(names: Sequence[str], where: str) -> Iterator[Problem]:
    """Columns that a policy publishes, and a published file does not have."""
    if names:
        yield Problem(
            f"the file lacks {quoted(names)}", where=where,
            why="the policy publishes these columns.",
            do="give the whole released file, and the policy it was made with.",
        )  # fmt: skip
