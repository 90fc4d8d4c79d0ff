"""The map of rooms, enforced: which part of the package may know of which."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import reticent

SRC = Path(reticent.__file__).parent

MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "compiling": set(),
    "watching": set(),
    "table": {"errors"},
    "privacy": {"compiling", "errors", "table"},  # the verifiers live here: they see no engine
    "forms": {"errors"},
    "policy": {"errors", "forms", "table", "privacy"},
    "refine": {"compiling", "errors", "table", "privacy"},
    "suppress": {"compiling", "table"},
    "trees": {"compiling", "errors", "table"},
    "prepare": {"errors", "policy", "table", "privacy"},
    "report": {"errors", "privacy"},
    "pages": {"privacy", "report"},
    "transactions": {
        "errors", "evidence", "folder", "forms", "pages", "privacy", "report", "suppress", "table", "watching",
    },
    "entries": {
        "arriving", "errors", "evidence", "folder", "forms", "pages", "privacy", "report", "suppress", "table",
        "watching",
    },
    "folder": {"errors", "report", "table", "pages"},
    "drafting": {"errors", "table"},
    "sample": {"errors", "table"},
    "arriving": {"errors", "evidence", "policy", "privacy", "table"},
    "publishing": {"errors", "prepare", "privacy", "table"},
    "pipeline": {
        "arriving", "errors", "policy", "table", "privacy", "publishing", "refine", "prepare",
        "report", "folder", "joining", "leaving", "searching", "evidence", "sequence", "watching",
    },
    "sequence": {"arriving", "errors", "folder", "policy", "prepare", "privacy", "refine", "table"},
    "joining": {"prepare", "privacy", "refine", "table"},
    "searching": {"errors", "joining", "privacy", "refine", "report"},
    "exploring": {"evidence", "prepare", "refine", "searching", "watching"},
    "leaving": {"errors", "evidence", "exploring", "prepare", "privacy", "searching"},
    "evidence": {"errors", "policy", "prepare", "privacy", "suppress", "table", "trees"},
    "sweeping": {
        "arriving", "errors", "evidence", "folder", "pages", "pipeline", "policy", "prepare", "privacy",
        "leaving", "searching", "table", "watching",
    },
    "evaluating": {
        "arriving", "errors", "evidence", "folder", "pipeline", "policy", "prepare", "privacy", "leaving",
        "table", "watching",
    },
    "workshop": {"arriving", "errors", "table", "drafting", "sample", "watching"},
    "sklearn": {"errors", "policy", "pipeline", "table", "prepare", "trees"},
    "front": {
        "errors", "forms", "policy", "pipeline", "workshop", "evaluating", "sweeping", "privacy",
        "entries", "report", "table", "refine", "transactions", "watching",
    },
}  # fmt: skip


def imports_of(path: Path) -> set[str]:
    """Every module of ours that a file imports, anywhere in it, unless for type checkers only."""
    found = set()
    for node in running(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write imports from the package root"
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if file_of(name) else name.rpartition(".")[0] for name in names}
    return {name for name in found if file_of(name)}


def running(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a tree without what stands under ``if TYPE_CHECKING:``."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            for other in child.orelse:
                yield other
                yield from running(other)
        else:
            yield child
            yield from running(child)


def file_of(name: str) -> Path | None:
    """The file of a module of ours; None for everything else."""
    first, *rest = name.split(".")
    if first != "reticent":
        return None
    for path in (SRC.joinpath(*rest, "__init__.py"), SRC.joinpath(*rest).with_suffix(".py")):
        if path.is_file():
            return path
    return None


def files_of(room: str) -> list[Path]:
    single = SRC / f"{room}.py"
    return [single] if single.exists() else sorted((SRC / room).rglob("*.py"))


def reached_from(name: str) -> set[str]:
    """Every module of ours that importing one can lead to, its packages included."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        module = waiting.pop()
        path = file_of(module)
        if module in found or path is None:
            continue
        found.add(module)
        waiting += [*imports_of(path), module.rpartition(".")[0]]
    return found


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_room_imports_only_from_below(room: str) -> None:
    assert files_of(room), f"there is no room {room}: take it off the map"
    for path in files_of(room):
        rooms = {name.split(".")[1] for name in imports_of(path) if "." in name}
        extra = rooms - MAY_IMPORT[room] - {room}
        assert not extra, f"{path.name} reaches from {room} into {sorted(extra)}"


def test_every_file_has_a_room() -> None:
    rooms = {path.relative_to(SRC).parts[0].removesuffix(".py") for path in SRC.rglob("*.py")}
    assert rooms - {"__init__"} == set(MAY_IMPORT)


def test_rooms_do_not_import_each_other() -> None:
    """The map itself has no circle, so there is an order from the bottom up."""
    left = dict(MAY_IMPORT)
    while left:
        ground = [room for room, below in left.items() if not below & set(left)]
        assert ground, f"these rooms lean on each other: {sorted(left)}"
        for room in ground:
            del left[room]


def test_the_package_itself_imports_nothing_at_once() -> None:
    assert imports_of(SRC / "__init__.py") == set()


@pytest.mark.parametrize("verifier", ["verify", "coherence", "entries"])
def test_a_verifier_never_reaches_an_engine(verifier: str) -> None:
    """It shares nothing with the search whose result it judges."""
    reached = reached_from(f"reticent.privacy.{verifier}")
    assert "reticent.privacy.promises" in reached  # the walk does find something
    for room in ("refine", "suppress", "prepare", "pipeline"):
        assert not [name for name in reached if name.startswith(f"reticent.{room}")]


@pytest.mark.parametrize("name", ["verify", "promises", "coherence", "entries"])
def test_importing_a_verifier_loads_no_engine(name: str) -> None:
    module = f"reticent.privacy.{name}"
    code = f"import {module}, sys; print(*sorted(sys.modules), sep='\\n')"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=SRC.parent
    ).stdout.split()
    assert module in loaded
    assert not [name for name in loaded if name.startswith("reticent.refine")]
    assert "numba" not in loaded


def test_the_walk_sees_what_it_should(tmp_path: Path) -> None:
    """Imports inside functions count, those for type checkers do not."""
    path = tmp_path / "sample.py"
    path.write_text(
        "from typing import TYPE_CHECKING\n"
        "import reticent.errors\n"
        "if TYPE_CHECKING:\n    from reticent.refine import engine\n"
        "else:\n    from reticent.table import files\n"
        "def f():\n    from reticent import __version__, report\n",
        encoding="utf-8",
    )
    assert imports_of(path) == {
        "reticent",
        "reticent.errors",
        "reticent.report",
        "reticent.table.files",
    }
