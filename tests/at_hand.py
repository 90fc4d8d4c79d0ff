"""What tests of all kinds have at hand: refusals, files, rows and policies."""

from __future__ import annotations

import csv
import gzip
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import pytest

from reticent import Policy
from reticent.errors import InputError, ReticentError

SECRET = "SECRETxyz1"  # in cells that no message may show
DATA = Path(os.environ.get("RETICENT_DATA") or Path(__file__).parents[2] / "shared" / "data")


def public_data(name: str) -> Path:
    """A file of the public data sets, which not everybody has."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{name} is not here: set RETICENT_DATA to the folder of public data sets")
    return path


def some_or_many(some: Any, *many: Any) -> list[Any]:
    """What a law is tried on always, and what on only where slow tests run."""
    return [some, *(pytest.param(more, marks=pytest.mark.slow) for more in many)]


def refusal(
    action: Callable[[], object], *said: str, kind: type[ReticentError] = InputError
) -> ReticentError:
    """What an action is refused with; it says all of this, and tells no secret."""
    with pytest.raises(kind) as caught:
        action()
    text = str(caught.value)
    assert SECRET not in text
    assert [part for part in said if part not in text] == []
    return caught.value


def file_of(folder: Path, content: str | bytes, name: str = "table.csv") -> Path:
    """A file with this content."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def policy_of(**parts: Any) -> Policy:
    """A policy as it is written in code: lists and tables, which the records are made from."""
    return Policy(**parts)


def rows_of(path: Path | str) -> list[list[str]]:
    """The cells of a CSV file, its header first."""
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def save(path: Path | str, names: Any, rows: Any, encoding: str = "utf-8", **form: Any) -> None:
    """Write a CSV file."""
    with open(path, "w", encoding=encoding, newline="") as file:
        csv.writer(file, lineterminator="\n", **form).writerows([names, *rows])


def written(table: pl.DataFrame, path: Path, suffix: str) -> Path:
    """Save a frame in any format."""
    if suffix == ".parquet":
        table.write_parquet(path)
    elif suffix == ".arrow":
        table.write_ipc(path)
    else:
        text = table.write_csv(separator="\t" if "tsv" in suffix else ",").encode()
        path.write_bytes(gzip.compress(text) if suffix.endswith("gz") else text)
    return path


def table_file(table: pa.Table, path: Path) -> Path:
    """A table as a file, by its suffix; of several parts, where there are such."""
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=50)
    elif path.suffix in (".arrow", ".feather"):
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=40)
    else:
        pcsv.write_csv(table, path)
    return path


def contents(folder: Path | str = ".") -> dict[str, bytes]:
    """Every file below a folder."""
    root = Path(folder)
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def mode(path: Path | str) -> int:
    """Who may read, write and enter."""
    return stat.S_IMODE(Path(path).stat().st_mode)
