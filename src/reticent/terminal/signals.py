"""What asks a command to end: Ctrl-C, a scheduler's SIGTERM, a terminal that is gone."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

heard: list[int] = []  # by this command, so far


@contextmanager
def hearing() -> Iterator[None]:
    """Have signals raise KeyboardInterrupt, so that everything on the way out is tidied up.

    They are kept in mind besides: libraries turn the exception into others, or swallow it. Where
    nothing can be raised (a compiler that calls back, an object that is being deleted), Python
    itself drops the exception; it is then raised again, right after.
    """
    heard.clear()
    again: list[threading.Timer] = []

    def dropped(what: sys.UnraisableHookArgs) -> None:
        if heard and issubclass(what.exc_type, KeyboardInterrupt):
            main = threading.main_thread().ident or 0
            again.append(threading.Timer(0.05, signal.pthread_kill, (main, heard[-1])))
            again[-1].start()
        else:
            hook(what)

    hook, sys.unraisablehook = sys.unraisablehook, dropped
    before = {number: signal.getsignal(number) for number in _ENDING}
    for number in _ENDING:
        if number != signal.SIGHUP or before[number] != signal.SIG_IGN:  # which is what nohup does
            signal.signal(number, end)
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for timer in again:
            timer.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)


class AskedToEnd:
    """Whether Ctrl-C was pressed for the first time where a flow can still write what it has."""

    def __init__(self, told: Callable[[], None]) -> None:
        self.told, self.started, self.stop = told, False, False

    def start(self) -> None:
        """From here on there is something to write."""
        self.started = True

    def hear(self, number: int, frame: Any) -> None:
        """Stop soon; at once if there is nothing to write, or asked again."""
        if self.stop or not self.started:
            end(number)
        self.stop = True
        self.told()


@contextmanager
def asking(told: Callable[[], None]) -> Iterator[AskedToEnd]:
    """Have Ctrl-C ask a flow to stop, which is `told` to the user."""
    asked = AskedToEnd(told)
    before = signal.signal(signal.SIGINT, asked.hear)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)


def end(number: int, frame: Any = None) -> None:
    """End the command."""
    heard.append(number)
    raise KeyboardInterrupt


def insist() -> None:
    """End now, if a signal was heard and got lost."""
    if heard:
        raise KeyboardInterrupt


def exit_code() -> int:
    """How a command that was ended leaves: 130 after Ctrl-C, 143 after SIGTERM."""
    return 128 + (heard[0] if heard else signal.SIGINT)
