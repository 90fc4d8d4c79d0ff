"""What stands at the top of a report: whose release it is, and what for, as a policy says it."""

from __future__ import annotations

import re
import unicodedata
from datetime import date, datetime
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from reticent.data.texts import TURNS

_LINE, _TEXT = 200, 2_000  # letters that a line may have, and a text of several
_ADDRESS = re.compile(r"[\w.+-]{1,64}@[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63})+", re.ASCII)


def _text(given: Any, most: int = _TEXT) -> str | None:
    if given is not None and not isinstance(given, str):
        raise ValueError("write a text in quotes")
    text = (given or "").strip()
    if len(text) > most:
        raise ValueError(f"this is too long: at most {most:,} letters")
    if any(sign not in "\n\t" and unicodedata.category(sign) in ("Cc", "Cs") for sign in text):
        raise ValueError("leave control characters away")
    if not TURNS.isdisjoint(text):
        raise ValueError("leave signs away that turn the direction of a text")
    return text or None


def _line(given: Any) -> str | None:
    line = _text(given, _LINE)
    if line and len(line.splitlines()) > 1:
        raise ValueError("write it on one line")
    return line


def _as_written(given: Any) -> str | None:
    if isinstance(given, date) and not isinstance(given, datetime):
        return given.isoformat()
    if given is not None and not isinstance(given, str):
        raise ValueError('write a date, as 2026-05-31, or a text, as "May 2026"')
    return _line(given)


Line = Annotated[str | None, BeforeValidator(_line)]
Text = Annotated[str | None, BeforeValidator(_text)]
AsWritten = Annotated[str | None, BeforeValidator(_as_written), WithJsonSchema({"type": "string"})]


class About(BaseModel):
    """Whose release it is and what for; all of it is shown on both pages, and is public.

    >>> About(title="Visits 2025", owner="Town clinic").facts()
    {'title': 'Visits 2025', 'owner': 'Town clinic'}
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: Line = Field(default=None, description="What the released data are called.")
    owner: Line = Field(default=None, description="Who answers for them.")
    contact: Line = Field(default=None, description="Where people can ask.")
    purpose: Text = Field(default=None, description="What they are released for.")
    basis: Text = Field(default=None, description="The legal basis of the release.")
    date: AsWritten = Field(
        default=None, description="The date of the release: shown as written, and never today's."
    )

    def facts(self) -> dict[str, str]:
        """What is said, by key; nothing of what is not."""
        return self.model_dump(exclude_none=True)

    def told(self) -> dict[str, dict[str, str]]:
        """The same as reports and manifests for programs have it: nothing where nothing is said."""
        return {"about": said} if (said := self.facts()) else {}

    def labelled(self) -> dict[str, str]:
        """What is said besides the title, by the words that stand before it."""
        return {label: said for key, label in _LABELS.items() if (said := getattr(self, key))}

    @property
    def address(self) -> str:
        """The contact, if it is plainly an address of e-mail and nothing else.

        >>> About(contact="data@clinic.example").address
        'data@clinic.example'
        >>> About(contact="Dr. Who, data@clinic.example").address
        ''
        """
        return self.contact if self.contact and _ADDRESS.fullmatch(self.contact) else ""


_LABELS = {
    "owner": "Owner",
    "contact": "Contact",
    "purpose": "Purpose",
    "basis": "Legal basis",
    "date": "Date",
}


def about_draft() -> str:
    """The section as drafts have it: questions, each with its key."""
    return """\
[about]  # stands at the top of both pages and is public; what is left out is not shown
# title = "…"    # ? What are the released data called?
# owner = "…"    # ? Who answers for them?
# contact = "…"  # ? Where can people ask?
# purpose = "…"  # ? What are they released for?
# basis = "…"    # ? On which legal basis?
# date = "…"     # ? As of when? It is shown as it is written here.
"""
