"""Data frames and arrays as scikit-learn hands them over, and as Arrow."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from sklearn.utils.validation import validate_data

from reticent.errors import InputError
from reticent.files.tabular import frame_kind


def checked(estimator: Any, X: Any, *, reset: bool, **how: Any) -> Any:
    """X as a data frame or a two-dimensional array that fits what was seen before."""
    if kind_of(X) != "numpy":
        return validate_data(estimator, X, reset=reset, skip_check_array=True)
    # Without a type of its own, NumPy would read a list of numbers and texts as texts.
    kind = None if hasattr(X, "dtype") else object
    how = {"ensure_all_finite": False} | how
    return validate_data(estimator, X, reset=reset, dtype=kind, **how)


def kind_of(X: Any) -> str:
    """Which kind of table X is; whatever is no data frame becomes a NumPy array."""
    kind = frame_kind(X)
    whole = hasattr(X, "shape")  # a lazy frame has none
    return kind if kind in ("pandas", "polars", "pyarrow") and whole else "numpy"


def cells_of(X: Any, position: int, name: str) -> pa.Array | pa.ChunkedArray:
    """One column as Arrow."""
    kind = kind_of(X)
    if kind == "pyarrow":
        return X.column(position)
    if kind == "polars":
        return X.to_series(position).to_arrow()
    return arrow_of(X.iloc[:, position] if kind == "pandas" else X[:, position], name)


def arrow_of(cells: Any, name: str) -> pa.Array:
    """A pandas or NumPy column as Arrow, NaN as missing."""
    try:
        return pa.array(cells, from_pandas=True)
    except (pa.ArrowException, OverflowError):
        # The library's text quotes a cell, so it stays behind.
        raise InputError(
            "its cells are of several types, or of one that cannot be masked",
            where=f'column "{name}"', do="make all of them text, all numbers or all times.",
        ) from None  # fmt: skip
