"""What answers a query: one small protocol, whatever stands behind it.

An engine is asked for its best results, and gives each with enough of its text to hold a profile
against. It gets the query and nothing of the profile: ordering the results anew is `ranking`'s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class FoundPage:
    """One result of an engine."""

    place: str  # where it stands: a path or an address
    title: str = field(repr=False)
    text: str = field(repr=False)  # the title included, as far as the engine gives it
    score: float  # larger is better; an engine without scores gives falling ones


class SearchEngine(Protocol):
    """Whatever finds pages for a query."""

    language: str | None  # of its pages, where it knows

    def ask(self, query: str, top: int) -> Sequence[FoundPage]:
        """The best pages for a query, the best one first, at most so many."""
        ...


def with_title(title: str, text: str) -> str:
    r"""A text with its title, which many texts have in them already.

    >>> with_title("Tea", "# Tea, and how it is made"), with_title("Tea", "Teapots of China")
    ('# Tea, and how it is made', 'Tea\nTeapots of China')
    """
    at = text.find(title)
    end = at + len(title)
    if at >= 0 and not (text[max(at - 1, 0) : at].isalnum() or text[end : end + 1].isalnum()):
        return text
    return f"{title}\n{text}" if title else text
