"""How far a command is: a bar on a terminal, or lines of JSON for programs, fed by one watch."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import pairwise
from typing import Any

from reticent.errors import visible
from reticent.terminal import signals

Voice = Callable[[dict[str, Any]], None]

_PAUSE = 0.2  # seconds between two words about one stage: thousands of steps a second help nobody
_STAGES = {  # of several systems; a command hands over those of its own
    "read": "reading the table",
    "count": "counting",
    "mask": "masking",
    "write": "writing",
    "verify": "recounting every promise on what was written",
    "judge": "measuring how useful it is",
    "describe": "writing the reports",
}


class Progress:
    """What a flow tells through its watch, and a voice that hears of it now and then.

    A word holds names of stages, counts and thresholds, never a cell.
    """

    def __init__(self, voice: Voice, stages: Mapping[str, str]) -> None:
        self.voice, self.stages = voice, {**_STAGES, **stages}
        self.name, self.since, self.due = "", time.monotonic(), 0.0

    def stage(self, name: str) -> None:
        """A stage begins."""
        signals.insist()
        self.name, self.since = name, time.monotonic()
        self._say(self._text())

    def tell(self, words: str) -> None:
        """There is more to say about the stage."""
        if words:
            self._say(f"{self._text()} ({words})")

    def step(self, number: int, values: Sequence[Any]) -> None:
        """A search has gone so many steps, and promises are at these values."""
        if time.monotonic() >= self.due:
            told = ", ".join(map(str, values))
            self._say(f"revealing: {number} refinements, promises at {told}", step=number)

    def rows(self, done: int, of: int) -> None:
        """So many rows of a stage are done."""
        signals.insist()
        now = time.monotonic()
        if now >= self.due and done and (spent := now - self.since) > 0:
            self._say(
                f"{self._text()}: {done / of:.0%}, {done / spent:,.0f} rows a second, "
                f"about {(of - done) * spent / done:.0f} s left",
                done=done,
                of=of,
            )

    def nodes(self, count: int) -> None:
        """A tree has so many nodes."""
        if time.monotonic() >= self.due:
            self._say(f"{self._text()}: {count:,} nodes", nodes=count)

    def _text(self) -> str:
        return self.stages.get(self.name, self.name)

    def _say(self, text: str, **numbers: int) -> None:
        now = time.monotonic()
        self.due = now + _PAUSE
        spent = round(now - self.since, 1)
        self.voice({"stage": self.name, **numbers, "seconds": spent, "text": text})


@contextmanager
def shown(how: str, stages: Mapping[str, str], *, quiet: bool) -> Iterator[Progress]:
    """Progress as it was asked for: by a bar where somebody looks, by lines of JSON, or not."""
    with ExitStack() as ends:
        progress = Progress(_line if how == "json" else _nobody, stages)
        if how == "auto" and not quiet and sys.stderr and sys.stderr.isatty():
            from rich.console import Console

            bar = ends.enter_context(Console(stderr=True).status("reading"))
            progress.voice = lambda event: bar.update(event["text"])
        # A thread that nobody waits for may still have a word.
        ends.callback(setattr, progress, "voice", _nobody)
        yield progress


def said(stage: str, text: str) -> None:
    """Say something that is no progress, to programs that read it."""
    _line({"stage": stage, "seconds": 0.0, "text": text})


def ended(words: Sequence[str], code: int) -> None:
    """Say how a command ended, as the last line of all, if these words of it ask for JSON."""
    asked = any(pair == ("--progress", "json") for pair in pairwise(words))
    if asked or "--progress=json" in words:
        _line({"stage": "done", "exit": code})


def _line(event: dict[str, Any]) -> None:
    with suppress(OSError, ValueError, AttributeError):  # nobody reads, or there is none
        sys.stderr.write(visible(json.dumps(event, ensure_ascii=False)) + "\n")


def _nobody(event: dict[str, Any]) -> None:
    pass
