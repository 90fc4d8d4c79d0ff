"""The public face: exactly these names, each explained, and quick to import."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import reticent

NAMES = [
    "Broken", "InputError", "Policy", "Reading", "Release", "ReticentError", "Unsatisfiable",
    "Watch", "__version__", "apply", "draft", "evaluate", "release", "risk", "sweep", "verify",
]  # fmt: skip
HEAVY = ["numpy", "pyarrow", "numba", "duckdb", "pydantic", "pandas", "polars", "sklearn", "typer"]


def test_the_names_are_exactly_these() -> None:
    assert sorted(NAMES) == NAMES
    assert sorted(reticent.__all__) == NAMES
    assert dir(reticent) == sorted(
        [*NAMES, "entries", "jointree", "search", "tables", "transactions"]
    )


def test_rooms_open_by_name() -> None:
    said = "import reticent; reticent.entries.release, reticent.transactions.release"
    said += ", reticent.jointree.train, reticent.search.expose"
    subprocess.run([sys.executable, "-c", said], check=True)


@pytest.mark.parametrize("name", [n for n in NAMES if n != "__version__"])
def test_every_name_is_there_and_explained(name: str) -> None:
    thing = getattr(reticent, name)
    assert thing.__name__ == name
    assert thing.__doc__
    assert thing.__doc__.split("\n")[0].endswith((".", ":"))  # one full sentence opens it


@pytest.mark.parametrize("name", ["Policy", "Release", "Watch", "Reading"])
def test_public_methods_are_explained(name: str) -> None:
    kind = getattr(reticent, name)
    for method, thing in vars(kind).items():
        public = inspect.isfunction(thing) or isinstance(thing, property | classmethod)
        if public and not method.startswith("_"):
            assert inspect.getdoc(thing), f"{name}.{method}"


@pytest.mark.parametrize("room", ["", "entries", "joint", "jointree", "search", "transactions"])
def test_every_function_is_in_the_reference(room: str) -> None:
    page = Path(__file__).parent.parent / "docs/reference/python.md"
    lines = [one for one in page.read_text("utf-8").splitlines() if f"`reticent.{room}" in one]
    told = page.read_text("utf-8") if not room else "".join(lines)
    door = import_module(f"reticent.{room}".rstrip("."))
    names = {name for name in door.__all__ if inspect.isfunction(getattr(door, name))}
    assert names == {name for name in names if re.search(rf"`{name}[`(]", told)}


def test_there_is_nothing_else() -> None:
    with pytest.raises(AttributeError, match="no attribute 'releese'"):
        reticent.releese  # noqa: B018


def test_the_errors_are_one_family() -> None:
    codes = {"Broken": 70, "InputError": 2, "Unsatisfiable": 3}
    for name, code in codes.items():
        kind = getattr(reticent, name)
        assert issubclass(kind, reticent.ReticentError)
        assert kind.exit_code == code


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import reticent, sys; reticent.__version__; print(*sys.modules, sep='\\n')"
    source = Path(reticent.__file__).parents[1]
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=source
    ).stdout.split()
    assert "reticent" in loaded
    assert not set(HEAVY) & set(loaded)
