"""Doors for Python users: names that are loaded on first use, so that quick things stay quick."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def opened_on_use(
    package: str, homes: Mapping[str, Sequence[str]], called: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a package whose names stand in modules below it.

    `called`: names that are others inside, where a class name stands for one thing.
    """
    home_of = {name: f"{package}.{home}" for home, names in homes.items() for name in names}

    def find(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(home_of[name]), (called or {}).get(name, name))

    return find, lambda: sorted(home_of)
