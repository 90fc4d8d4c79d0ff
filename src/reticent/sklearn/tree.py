"""The tree of `reticent.trees` as a scikit-learn classifier."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from reticent.data.columns import Column, encode
from reticent.data.texts import is_text
from reticent.errors import InputError
from reticent.sklearn.frames import arrow_of, cells_of, checked
from reticent.trees.learner import TreeOptions, train
from reticent.trees.tree import Feature


class TreeClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A decision tree in the manner of C4.5 that takes tables as they are.

    Columns of numbers split at thresholds; all others by value (`splits="multiway"`) or one value
    against the rest (`"binary"`). No encoding is needed, and missing values are welcome: they go
    the way of the majority. `criterion` is "c4.5", "gain ratio" or "gain": see
    `reticent.trees.learner`. A node with fewer than `min_rows` records is a leaf. `confidence` is
    that of the error estimate for pruning; None leaves every branch.

    Fitted: `tree_` (with `text()` and `plain()`), `classes_`, `n_features_in_` and, if X has text
    for column names, `feature_names_in_`; other columns are named x0, x1, ….

    >>> X = [[23, "Cook"], [27, "Cook"], [41, "Clerk"], [48, "Clerk"]]
    >>> model = TreeClassifier().fit(X, ["n", "n", "y", "y"])
    >>> print(model.tree_.text())
    x1 = Clerk: y (2)
    x1 = Cook: n (2)
    >>> model.predict([[35, "Clerk"]]).tolist()
    ['y']
    """

    def __init__(
        self,
        *,
        splits: Any = "multiway",
        criterion: Any = "c4.5",
        min_rows: int = 2,
        max_depth: int | None = None,
        confidence: float | None = 0.25,
    ) -> None:
        self.splits = splits
        self.criterion = criterion
        self.min_rows = min_rows
        self.max_depth = max_depth
        self.confidence = confidence

    def fit(self, X: Any, y: Any) -> Self:
        """Grow and prune a tree that tells y from the columns of X."""
        rules = TreeOptions(
            self.splits, self.criterion, self.min_rows, self.max_depth, self.confidence
        )
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        X = checked(self, X, reset=True, ensure_all_finite="allow-nan")
        if not len(X):
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
        y = column_or_1d(y, warn=True)
        told = np.full(len(y), True)
        if y.dtype == object:
            told = np.asarray(arrow_of(y, "y").is_valid())
        if not told.any():
            raise ValueError("no row has a class")
        assert_all_finite(y[told], input_name="y")
        check_classification_targets(y[told])
        if len(y) != len(X):
            raise ValueError(f"X has {len(X)} rows and y has {len(y)}")
        self.classes_, known = np.unique(y[told], return_inverse=True)
        classes = np.full(len(y), -1)
        classes[told] = known
        features = [Feature.of(column, number=_is_number(column)) for column in self._columns(X)]
        self.tree_ = train(features, classes, [str(label) for label in self.classes_], rules)
        return self

    def predict(self, X: Any) -> Any:
        """The class of each row."""
        columns, rows = self._coded(X)
        return self.classes_[self.tree_.predict(columns, rows)]

    def predict_proba(self, X: Any) -> Any:
        """The share of each class among the training rows that went the same way."""
        columns, rows = self._coded(X)
        return self.tree_.chances(columns, rows)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = True
        return tags

    def _coded(self, X: Any) -> tuple[list[Any], int]:
        check_is_fitted(self, "tree_")
        X = checked(self, X, reset=False, ensure_all_finite="allow-nan")
        features = self.tree_.features
        columns = self._columns(X)
        for feature, column in zip(features, columns, strict=True):
            empty = column.values.null_count == len(column.values)
            if feature.number and not empty and not _is_number(column):
                raise InputError(
                    "it held numbers in training, and holds none now",
                    where=f'column "{column.name}"',
                )
        codes = [f.code(column) for f, column in zip(features, columns, strict=True)]
        return codes, len(X)

    def _columns(self, X: Any) -> list[Column]:
        numbered = [f"x{position}" for position in range(X.shape[1])]
        names = map(str, getattr(self, "feature_names_in_", numbered))
        return [encode(name, cells_of(X, at, name)) for at, name in enumerate(names)]


def _is_number(column: Column) -> bool:
    """Text stays text, even if all of it is digits: whoever has numbers gives numbers."""
    kind = column.values.type
    return not (is_text(kind) or pa.types.is_null(kind) or pa.types.is_boolean(kind))
