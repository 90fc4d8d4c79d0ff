"""The public data sets of the papers: records without missing values, in file order."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

HERE = Path(__file__).resolve().parent
TAXONOMIES = HERE / "taxonomies"
CLASS = "class"
Rows = NDArray[np.bool_]


class NoData(Exception):
    """The public data sets are not on this machine."""


@dataclass(frozen=True, eq=False)
class DataSet:
    """A table, the class last, and what the papers found at the top of successive C4.5 trees."""

    name: str
    table: pa.Table
    continuous: frozenset[str]
    training: int  # so many records, the first ones, are for training
    top: tuple[str, ...]  # over all attributes
    top_categorical: tuple[str, ...]  # over the categorical ones

    @property
    def attributes(self) -> list[str]:
        return [name for name in self.table.column_names if name != CLASS]

    @property
    def categorical(self) -> list[str]:
        return [name for name in self.attributes if name not in self.continuous]

    def for_testing(self) -> Rows:
        """The papers' split."""
        return np.arange(self.table.num_rows) >= self.training

    def splits(self, count: int) -> list[Rows]:
        """Seeded splits of the same sizes."""
        found = []
        for seed in range(count):
            order = np.random.default_rng([20, seed]).permutation(self.table.num_rows)
            test = np.zeros(self.table.num_rows, dtype=bool)
            test[order[self.training :]] = True
            found.append(test)
        return found

    def rarest_half(self, name: str) -> list[str]:
        """The rarer half of the values that occur, rounded down; equally rare ones by text."""
        counts = Counter(self.table.column(name).to_pylist())
        ranked = sorted(sorted(counts), key=lambda value: counts[value])
        return ranked[: len(ranked) // 2]


def folder() -> Path:
    """RETICENT_DATA, or ../shared/data beside the repository."""
    beside = HERE.parents[1].parent / "shared" / "data"
    return Path(os.environ.get("RETICENT_DATA") or beside).absolute()


def lines(name: str) -> list[str]:
    path = folder() / name
    if not path.is_file():
        raise NoData(f"{path} is not there: set RETICENT_DATA to the folder of public data sets")
    return path.read_text(encoding="utf-8").splitlines()


def complete(
    records: Iterable[Sequence[str]], names: Sequence[str], numbers: Iterable[str]
) -> pa.Table:
    """A table of the records that miss nothing."""
    kept = [record for record in records if len(record) == len(names) + 1 and "?" not in record]
    columns = dict(zip([*names, CLASS], zip(*kept, strict=True), strict=True))
    return pa.table(
        {
            name: pa.array([float(cell) for cell in cells] if name in numbers else list(cells))
            for name, cells in columns.items()
        }
    )


ADULT = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation",
    "relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week",
    "native-country",
)  # fmt: skip
ADULT_NUMBERS = {"age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"}
CRX = tuple(f"A{i}" for i in range(1, 16))
CRX_NUMBERS = {"A2", "A3", "A8", "A11", "A14", "A15"}
GERMAN = (
    "account", "duration", "history", "purpose", "amount", "savings", "employment", "rate",
    "personal-status", "debtors", "residence", "property", "age", "other-installments", "housing",
    "credits", "job", "dependants", "telephone", "foreign",
)  # fmt: skip
GERMAN_NUMBERS = {"duration", "amount", "rate", "residence", "age", "credits", "dependants"}


@cache
def adult() -> DataSet:
    """UCI Adult: the training file, then the test file, which ends its labels in a full stop."""
    both = [*lines("adult/adult.data"), *lines("adult/adult.test")]
    cells = (line.removesuffix(".").split(", ") for line in both)
    return DataSet(
        "Adult",
        complete(cells, ADULT, ADULT_NUMBERS),
        frozenset(ADULT_NUMBERS),
        30_162,
        (
            "capital-gain", "age", "marital-status", "education-num", "relationship",
            "hours-per-week", "sex", "education", "occupation",
        ),
        ("marital-status", "relationship", "education", "sex"),
    )  # fmt: skip


@cache
def crx() -> DataSet:
    """UCI Credit Approval, "Japanese Credit Screening" in the papers.

    Of its first 490 records, which C4.5 came with for training, 465 are complete: the papers'
    number. So the papers' split is the order of the file.
    """
    return DataSet(
        "CRX",
        complete((line.split(",") for line in lines("crx/crx.data")), CRX, CRX_NUMBERS),
        frozenset(CRX_NUMBERS),
        465,
        ("A9", "A11", "A10", "A8", "A15", "A7", "A14", "A6", "A5"),
        ("A9", "A10", "A7", "A6"),
    )


@cache
def german() -> DataSet:
    """Statlog German credit. How the papers split it is not known; here the first 666 train."""
    return DataSet(
        "German",
        complete((line.split() for line in lines("german/german.data")), GERMAN, GERMAN_NUMBERS),
        frozenset(GERMAN_NUMBERS),
        666,
        (
            "amount", "account", "duration", "history", "savings", "other-installments", "purpose",
            "debtors", "property",
        ),
        ("account", "history", "savings", "other-installments", "purpose", "debtors"),
    )  # fmt: skip


DATA_SETS = {"Adult": adult, "CRX": crx, "German": german}
