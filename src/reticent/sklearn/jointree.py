"""A tree over tables that join, as a scikit-learn classifier of the records of one of them."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from reticent.files.tabular import frame_kind, parse_frame
from reticent.jointree.classification import classify
from reticent.jointree.flow import train
from reticent.jointree.schema import GrowEntry, JoinSchema
from reticent.sklearn.frames import arrow_of


class JoinTreeClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A decision tree that tells a class of records from all that they join with.

    X is the table of the class, a data frame with the columns that the schema names (without the
    class, which is y). The other tables are given as `tables`, by name, or stand where the schema
    says; they are the same in training and prediction. `min_rows`, `max_depth` and `weight` are
    those of the schema unless they are told here.

    A record that joins with nothing gets the largest class, and `predict_proba` its shares in
    training. Of others it gives the shares of their joined rows that vote for each class: these
    are no chances. Records that share a join value share what they join with: split by groups
    (`GroupKFold`), or scores are too good.

    Fitted: `tree_`, `joined_` (rows of the join), `classes_`, `feature_names_in_`.

    >>> import pandas as pd
    >>> wards = pd.DataFrame({"name": ["a", "a", "b"], "beds": [30, 40, 8]})
    >>> model = JoinTreeClassifier(
    ...     {"class": "visit.ill", "tables": {"visit": {}, "ward": {}},
    ...      "joins": [{"left": "visit.ward", "right": "ward.name"}]}, {"ward": wards})
    >>> visits = pd.DataFrame({"ward": ["a", "a", "b", "b"]})
    >>> model.fit(visits, [1, 1, 0, 0]).predict(pd.DataFrame({"ward": ["b", "a"]})).tolist()
    [0, 1]
    """

    def __init__(
        self,
        schema: JoinSchema | Mapping[str, Any] | str | Path,
        tables: Mapping[str, Any] | None = None,
        *,
        min_rows: int | None = None,
        max_depth: int | None = None,
        weight: Any = None,
    ) -> None:
        self.schema = schema
        self.tables = tables
        self.min_rows = min_rows
        self.max_depth = max_depth
        self.weight = weight

    def fit(self, X: Any, y: Any) -> Self:
        """Grow and prune a tree over X, with y as its class, and the other tables."""
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        schema = self._schema()
        root, target = schema.target
        frame = _frame(X)
        y = column_or_1d(y, warn=True)
        if len(y) != frame.num_rows:
            raise ValueError(f"X has {frame.num_rows} rows and y has {len(y)}")
        told = np.asarray(arrow_of(y, "y").is_valid()) if y.dtype == object else y == y
        if not told.any():
            raise ValueError("no row has a class")
        check_classification_targets(y[told])
        self.classes_ = np.unique(y[told])
        texts = [str(label) for label in self.classes_]
        if "" in texts:
            raise ValueError("a class is written as an empty text; leave it missing, or name it")
        if len({*texts}) < len(texts):
            raise ValueError("some classes are written alike")
        labels = [str(label) if known else None for label, known in zip(y, told, strict=True)]
        given = {**(self.tables or {}), schema.names[root]: _with(frame, target, labels)}
        found = train(schema, given)
        self.tree_, self.joined_ = found.tree, found.rows
        self.feature_names_in_ = np.array(frame.column_names, dtype=object)
        self.n_features_in_ = len(frame.column_names)
        # Where each class of ours stands among those of the tree, which are in another order.
        self._at = [found.tree.classes.index(text) for text in texts]
        return self

    def predict(self, X: Any) -> Any:
        """The class of each record that most of its joined rows vote for."""
        found = self._classified(X)
        spare = self.tree_.root.winner
        winners = np.where(found.winners < 0, spare, found.winners)
        back = np.empty(len(self._at), np.int64)
        back[self._at] = np.arange(len(self._at))
        return self.classes_[back[winners]]

    def predict_proba(self, X: Any) -> Any:
        """The share of each class among the votes of a record's joined rows."""
        found = self._classified(X)
        root = np.array([float(count) for count in self.tree_.root.counts])
        shares = np.tile(root / root.sum(), (len(found.counts), 1))
        for i, (line, every) in enumerate(zip(found.counts.tolist(), found.rows, strict=True)):
            if every:
                shares[i] = [count / every for count in line]
        return shares[:, self._at]

    def _classified(self, X: Any) -> Any:
        check_is_fitted(self, "tree_")
        return classify(self.tree_, self._schema(), self.tables, rows=_frame(X))

    def _schema(self) -> JoinSchema:
        schema = JoinSchema.of(self.schema)
        told = {"min_rows": self.min_rows, "max_depth": self.max_depth, "weight": self.weight}
        # Grids are searched in NumPy's numbers, which no schema knows.
        changed = {
            key: int(value)
            if isinstance(value, Integral) and not isinstance(value, bool)
            else value
            for key, value in told.items()
            if value is not None
        }
        if not changed:
            return schema
        grow = GrowEntry(**{**schema.grow.model_dump(), **changed})
        return schema.model_copy(update={"grow": grow})


def _frame(X: Any) -> pa.Table:
    kind = frame_kind(X)
    if kind is None:
        raise ValueError("X has no column names: give a pandas, Polars or PyArrow table")
    return parse_frame(X, kind).arrow


def _with(frame: pa.Table, target: str, labels: list[str | None]) -> pa.Table:
    cells = pa.array(labels, pa.string())
    if target in frame.column_names:
        return frame.set_column(frame.column_names.index(target), target, cells)
    return frame.append_column(target, cells)
