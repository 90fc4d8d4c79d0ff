"""The map of rooms, enforced: which part of the package may know of which."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import reticent
from reticent.releases.kinds import KINDS

SRC = Path(reticent.__file__).parent
USUAL = {
    "commands.py", "flow.py", "folder.py", "pages.py", "policy.py", "report.py", "templates", "text.py",
}  # fmt: skip

GROUND = {"errors", "compiling", "doors", "progress", "version"}
DATA = {"data", "files", "sources"}
SHARED = {"privacy", "releases", "pages", "evidence", "terminal"}
ENGINES = {"refine", "suppress", "trees"}
RELEASING = {"tables", "transactions", "entries", "joint"}
SYSTEMS = RELEASING | {"jointree", "search"}  # two that release nothing

MAY_IMPORT: dict[str, set[str]] = {
    **{room: set() for room in sorted(GROUND)},
    "data": {"compiling", "errors"},
    "files": {"errors", "data"},
    "sources": {"errors", "progress", "data", "files"},
    "privacy": {"compiling", "errors", "data"},  # the verifiers live here: they see no engine
    # Engines know neither files nor policies.
    "refine": {"compiling", "errors", "data", "privacy"},
    "suppress": {"compiling", "errors", "data"},
    "trees": {"compiling", "errors", "data"},
    # Owners talk without knowing about what.
    "parties": {"errors", "progress", "version", "data", "files", "releases"},
    # What systems share knows no system.
    "releases": {"errors", "progress", "version", *DATA},
    "pages": {"errors", "version", "data", "files", "privacy"},
    "evidence": {"errors", "data", "trees"},
    "terminal": {"errors", "progress", "version", "files", "releases"},
    "serving": {"errors"},  # it knows nothing of what it serves
    **dict.fromkeys(sorted(SYSTEMS), GROUND | DATA | SHARED | ENGINES),  # and no other system
    "sample": {"errors", "data", "files", "releases"},
    "sklearn": {"errors", "data", "files", "jointree", "tables", "trees"},
    "search": GROUND | DATA | SHARED | ENGINES | {"serving"},  # whose page is used, not only read
    "jointree": GROUND | DATA | SHARED | ENGINES | {"parties"},  # whose tables may stay at sites
    "joint": GROUND | DATA | SHARED | ENGINES | {"parties", "tables"},  # a table of several owners
    "__main__": {"front"},
    "front": {
        "errors",
        "joint",
        "jointree",
        "parties",
        "releases",
        "sample",
        "sources",
        "tables",
        "terminal",
    },
}


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def imports_of(path: Path) -> set[str]:
    """Every module of ours that a file imports, anywhere in it, for type checkers only or not."""
    return _imported(ast.walk(parsed(path)), path)


def loads_of(path: Path) -> set[str]:
    """The same without what type checkers alone see: what running the file can load."""
    return _imported(running(parsed(path)), path)


def _imported(nodes: Iterator[ast.AST], path: Path) -> set[str]:
    found = set()
    for node in nodes:
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
        waiting += [*loads_of(path), module.rpartition(".")[0]]
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


def test_no_module_leans_on_one_that_leans_on_it() -> None:
    """Imports inside functions, and those for type checkers alone, count as well."""
    left = {
        name: {other for other in imports_of(path) if other != name}
        for path in SRC.rglob("*.py")
        for name in [".".join(("reticent", *path.relative_to(SRC).with_suffix("").parts))]
    }
    left = {name.removesuffix(".__init__"): below for name, below in left.items()}
    while left:
        ground = [module for module, below in left.items() if not below & set(left)]
        assert ground, f"these modules lean on each other: {sorted(left)}"
        for module in ground:
            del left[module]


@pytest.mark.parametrize("door", [".", *sorted(SYSTEMS)])
def test_a_door_loads_nothing_at_once(door: str) -> None:
    also = {"reticent.version"} if door == "." else set()
    assert loads_of(SRC / door / "__init__.py") == {"reticent.doors"} | also


def test_a_class_name_stands_for_one_thing() -> None:
    found: dict[str, list[str]] = {}
    for path in sorted(SRC.rglob("*.py")):
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(str(path.relative_to(SRC)))
    assert not {name: places for name, places in found.items() if len(places) > 1}


def test_every_kind_of_release_is_a_room_of_the_usual_shape() -> None:
    assert {kind.room for kind in KINDS} == RELEASING
    for kind in KINDS:
        files = {path.name for path in (SRC / kind.room).iterdir()}
        assert files >= USUAL, f"{kind.room} lacks {sorted(USUAL - files)}"
        assert {"Policy", *kind.does} <= {*dir(kind.door())}


@pytest.mark.parametrize("verifier", ["verify", "coherence", "entries"])
def test_a_verifier_never_reaches_an_engine(verifier: str) -> None:
    """It shares nothing with the search whose result it judges."""
    reached = reached_from(f"reticent.privacy.{verifier}")
    assert "reticent.privacy.promises" in reached  # the walk does find something
    for room in ("refine", "suppress", "tables", "releases"):
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


def test_help_loads_nothing_that_counts() -> None:
    code = "import sys; from reticent.front.cli import app; print(*sys.modules, sep='\\n')"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=SRC.parent
    ).stdout.split()
    assert "reticent.front.cli" in loaded
    assert not {"numpy", "pyarrow", "pydantic", "numba", "duckdb", "jinja2"}.intersection(loaded)


def test_the_walk_sees_what_it_should(tmp_path: Path) -> None:
    """Imports inside functions count; those for type checkers are told apart."""
    path = tmp_path / "sample.py"
    path.write_text(
        "from typing import TYPE_CHECKING\n"
        "import reticent.errors\n"
        "if TYPE_CHECKING:\n    from reticent.refine import engine\n"
        "else:\n    from reticent.files import tabular\n"
        "def f():\n    from reticent import __version__, sample\n",
        encoding="utf-8",
    )
    seen = {"reticent", "reticent.errors", "reticent.sample", "reticent.files.tabular"}
    assert loads_of(path) == seen
    assert imports_of(path) == seen | {"reticent.refine.engine"}
