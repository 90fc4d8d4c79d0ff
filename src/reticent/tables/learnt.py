"""Masking later rows as a release folder has learnt to; its promise does not cover them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from reticent.data.columns import Column, Table, without_missing
from reticent.data.door import Door
from reticent.data.recode import Recoding
from reticent.errors import InputError, quoted
from reticent.releases.folder import FORMAT, told_kind


@dataclass(frozen=True, slots=True)
class Learnt:
    """What a release folder knows about masking further rows."""

    recodings: dict[str, Recoding]
    released: tuple[str, ...]
    dropped: frozenset[str]
    door: Door
    missing_values: tuple[str, ...]
    order: str

    def mask(self, table: Table) -> tuple[list[Column], dict[str, int]]:
        """Mask a table; also says how many rows of a column held a value not foreseen."""
        lacking = [name for name in self.recodings if name not in table.columns]
        known = self.dropped | set(self.released)
        unknown = [name for name in table.columns if name not in known]
        if lacking or unknown:
            said = [f"it lacks {quoted(lacking)}"] if lacking else []
            said += [f"the release knows nothing of {quoted(unknown)}"] if unknown else []
            raise InputError(
                "; ".join(said), where=table.name, do="give the columns of the released table."
            )
        columns, strange = [], {}
        for name in (n for n in self.released if n in table.columns):
            column, rows = self.door.lenient(table.columns[name])
            if rows:
                strange[name] = rows
            if name in self.recodings:
                cleaned = without_missing(column, self.missing_values)
                column, rows = self.recodings[name].apply(cleaned)
                if rows:
                    strange[name] = strange.get(name, 0) + rows
            columns.append(column)
        return columns, strange


def read_learnt(folder: Path) -> Learnt:
    """Read the cuts of a release folder."""
    path = folder / "private" / "recoding.json"
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            "this is no release folder: it has no private/recoding.json", where=str(folder),
            do="give a folder that  reticent release -o FOLDER/  made.",
        ) from None  # fmt: skip
    except (OSError, ValueError):
        raise InputError("the recoding cannot be read", where=str(path)) from None
    if not isinstance(plain, dict) or plain.get("format") != FORMAT:
        kind = told_kind(folder)
        if kind is not None and "apply" not in kind.does:
            raise InputError(
                f"this is a release of {kind.name}, and rows are added to none of these",
                where=str(folder), do="release all rows again.",
            )  # fmt: skip
        raise InputError("the folder was made by another version", where=str(path))
    try:
        return Learnt(
            {name: Recoding.from_plain(name, record) for name, record in plain["columns"].items()},
            tuple(plain["released"]),
            frozenset(plain["drop"]),
            Door.from_plain(
                plain.get("door", {}),
                trim=plain["trim"],
                missing=plain["missing_values"],
                same=plain.get("same"),
            ),
            tuple(plain["missing_values"]),
            plain["order"],
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError("the recoding cannot be read", where=str(path)) from None
