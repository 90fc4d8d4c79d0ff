"""Errors of our tree on the census data beside those that the papers print for C4.5."""

from __future__ import annotations

from functools import cache

import pandas as pd
import pytest

from at_hand import public_data
from reticent.sklearn import TreeClassifier

pytestmark = pytest.mark.data

NAMES = [
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation",
    "relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week",
    "native-country", "class",
]  # fmt: skip


@cache
def adult() -> tuple[pd.DataFrame, pd.DataFrame]:
    """The records without missing values, for training and for testing."""
    parts = []
    for name in ("adult.data", "adult.test"):
        path = public_data(f"adult/{name}")
        part = pd.read_csv(path, names=NAMES, skipinitialspace=True, comment="|", na_values="?")
        part = part.dropna()
        part["class"] = part["class"].str.rstrip(".")
        parts.append(part)
    assert [len(part) for part in parts] == [30_162, 15_060]
    return parts[0], parts[1]


def error(columns: list[str]) -> float:
    train, test = adult()
    model = TreeClassifier().fit(train[columns], train["class"])
    return float(100 * (model.predict(test[columns]) != test["class"]).mean())


def test_all_attributes() -> None:
    assert error(NAMES[:-1]) == pytest.approx(14.7, abs=0.5)


def test_eight_categorical_attributes() -> None:
    train, _ = adult()
    texts = [name for name in NAMES[:-1] if not pd.api.types.is_numeric_dtype(train[name])]
    assert len(texts) == 8
    assert error(texts) == pytest.approx(17.6, abs=0.5)
