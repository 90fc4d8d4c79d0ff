"""A scikit-learn transformer that masks: cuts are learnt on fit, rows are masked on transform.

    fit        X, y ─► Arrow table ─► release ─► recodings, proof
    transform  X ─► the same recodings, row by row

A fitted masker keeps what its masked rows show and what the verifier said, and nothing else of the
table: models are pickled, copied and deployed, and the source must not travel with them. That is
why it holds recodings and a proof, but neither the release nor its trace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from reticent.data.columns import encode, without_missing
from reticent.data.recode import Recoding
from reticent.errors import InputError
from reticent.files.delimited import named
from reticent.files.tabular import to_frame
from reticent.sklearn.coding import Output, as_numbers, check_output, coded
from reticent.sklearn.frames import arrow_of, cells_of, checked, kind_of
from reticent.tables.flow import refuse_forbidden, release
from reticent.tables.policy import Policy

if TYPE_CHECKING:
    from reticent.tables.prepare import Prepared


class Masker(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Mask the columns of X so that the fitted table keeps every promise of a policy.

    `policy` is a `Policy` or the path of one. For quick use give `k` instead: every combination of
    the columns `over` (default: all of X) is then shared by at least k rows, and the other columns
    pass unchanged. The `y` given to `fit` is the class that the cuts should keep predictable; if
    the policy's class is a column of X, that column is, and `y` is left aside. Without a class,
    and with a `y` of fractions, as in regression, cuts aim at low distortion.

    `output` says what masked columns are: their labels ("text"), or numbers for models that take no
    text. "ordinal" numbers the labels of each column, intervals rising; "midpoint" gives intervals
    the number half way between their ends, and codes to the others. See `sklearn.coding`.

    **What is promised.** The promise covers the rows given to `fit`, masked. It does not cover rows
    masked later by `transform`: a new row may well be the only one with its labels. And what a
    model trained on masked rows gives away is a separate question, which no masker answers.

    Rows come out in the order they came in, because they must stay aligned with `y`. Their order
    (and a pandas index) links them to their source, so publish a table with `reticent.release`,
    which sorts its rows, and use this class where rows go into a model.

    Fitted: `policy_` (as it was applied), `recodings_`, `cuts_` (the labels each masked column
    shows), `codes_` (the number of each label by column, unless `output` is "text"), `proof_` (the
    verifier's word on the fitted rows), `warnings_`, `n_features_in_` and, if X has text for column
    names, `feature_names_in_`; other columns are named x0, x1, ….

    >>> X = [[23, "Cook"], [27, "Cook"], [41, "Clerk"], [48, "Clerk"], [61, "Judge"]]
    >>> masker = Masker(k=2).fit(X, y=["n", "n", "y", "y", "y"])
    >>> masker.transform(X).tolist()
    [['[23,41)', 'Cook'], ['[23,41)', 'Cook'], ['[41,61]', '*'], ['[41,61]', '*'], ['[41,61]', '*']]
    >>> masker.proof_.holds
    True
    >>> Masker(k=2, output="midpoint").fit_transform(X, y=["n", "n", "y", "y", "y"])[:3].tolist()
    [[32.0, 0.0], [32.0, 0.0], [51.0, -1.0]]
    """

    def __init__(
        self,
        policy: Policy | str | Path | None = None,
        *,
        k: int | None = None,
        over: Sequence[str] | None = None,
        output: Output = "text",
    ) -> None:
        self.policy = policy
        self.k = k
        self.over = over
        self.output = output

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the cuts of a release of X, and have it recounted by the verifier."""
        check_output(self.output)
        X = checked(self, X, reset=True)
        names = self._names()
        cells = [cells_of(X, position, name) for position, name in enumerate(names)]
        classes = _classes(y)
        policy = _fitted_to(_policy(self.policy, self.k, self.over, names), names, classes)
        if policy.class_ is not None and policy.class_ not in names:
            check_consistent_length(X, classes)
            names = [*names, policy.class_]
            cells.append(arrow_of(classes, policy.class_))
        found = release(pa.table(cells, names=names), policy)
        self.policy_ = policy
        self.door_ = found.prepared.door
        self.recodings_ = {
            name: _open_to_strangers(recoding, found.prepared)
            for name, recoding in found.recodings.items()
        }
        numbered = () if self.output == "text" else self.recodings_.items()
        self.codes_ = {name: coded(recoding, self.output) for name, recoding in numbered}
        self.cuts_ = found.cuts
        self.proof_ = found.proof
        self.warnings_ = found.warnings
        return self

    def transform(self, X: Any) -> Any:
        """Mask the rows of X with the learnt cuts, in their order.

        The same kind comes out as went in: a pandas frame with its index, a Polars frame, an Arrow
        table, or for anything else a NumPy array; `set_output` asks for another. Masked columns are
        text, or numbers as `output` says; a disclosed missing value is missing, columns that the
        policy drops are gone and all others are unchanged, text among them. What the fitted table
        did not hold (a new value, a number out of range) is shown as the marker, or as the root of
        its taxonomy.
        """
        check_is_fitted(self, "recodings_")
        X = checked(self, X, reset=False)
        names = self._names()
        shown = {
            (position := names.index(name)): self._shown(recoding, cells_of(X, position, name))
            for name, recoding in self.recodings_.items()
        }
        coarse = [n for n in names if self.door_.changes(n) and n not in self.recodings_]
        for position, name in ((names.index(name), name) for name in coarse):
            taken, _ = self.door_.lenient(encode(name, cells_of(X, position, name)))
            shown[position] = taken.cells()
        self._refuse_forbidden(X, [names[i] for i in self._released()])
        asked = _get_output_config("transform", self)["dense"]
        kind = kind_of(X) if asked == "default" else asked
        return _assembled(X, names, self._released(), shown, kind, numbers=bool(self.codes_))

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> Any:
        """Name the columns that `transform` gives: those of X without the dropped ones."""
        check_is_fitted(self, "recodings_")
        return super().get_feature_names_out(input_features)[self._released()]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _refuse_forbidden(self, X: Any, names: list[str]) -> None:
        """Refuse what a rule forbids in columns that stay as they are."""
        if not self.policy_.rule:
            return
        fine = [n for n in names if n not in self.recodings_ and n not in self.door_.coarse]
        all_names = self._names()
        columns = (encode(name, cells_of(X, all_names.index(name), name)) for name in fine)
        refuse_forbidden(self.policy_.rule, columns)

    def _names(self) -> list[str]:
        return list(named(super().get_feature_names_out().tolist())[0])

    def _released(self) -> list[int]:
        """The positions in X of the columns that `transform` gives."""
        dropped = self.policy_.drop
        return [position for position, name in enumerate(self._names()) if name not in dropped]

    def _shown(self, recoding: Recoding, cells: pa.Array) -> pa.Array:
        """What each row shows in one masked column, as text or as a number."""
        column, _ = self.door_.lenient(encode(recoding.column, cells))
        column = without_missing(column, self.policy_.missing_values)
        if self.policy_.missing == "error" and column.missing is not None:
            rows = int((column.codes == column.missing).sum())
            raise InputError(
                f"{rows} rows have no value", where=f'column "{column.name}"',
                why='missing = "error" refuses them.', do='fill them, or use  missing = "value".',
            )  # fmt: skip
        masked, _ = recoding.apply(column)
        labels = masked.values.take(pa.array(masked.codes)).cast(pa.string())
        codes = self.codes_.get(recoding.column)
        return labels if codes is None else as_numbers(labels, codes)


# --- the policy ----------------------------------------------------------------------------------


def _policy(
    policy: Policy | str | Path | None, k: Any, over: Sequence[str] | None, names: list[str]
) -> Policy:
    """The policy given, or the one that `k` and `over` stand for."""
    if (policy is None) == (k is None) or (policy is not None and over is not None):
        raise InputError(
            "give either a policy, or k and perhaps over", where="Masker",
            why="a policy says both which columns are masked and how far.",
        )  # fmt: skip
    if policy is not None:
        return policy if isinstance(policy, Policy) else Policy.load(policy)
    # A grid made by NumPy holds NumPy's integers, which are as good as Python's.
    if not isinstance(k, Integral) or isinstance(k, bool) or k < 1:
        raise InputError("k must be an integer of at least 1", where="Masker")
    if over is not None and (isinstance(over, str) or not np.iterable(over) or not len(over)):
        raise InputError("over must be a list of column names", where="Masker")
    columns = names if over is None else [str(name) for name in over]
    return Policy.model_validate({"keep": "*", "anonymity": [{"over": columns, "k": int(k)}]})


def _fitted_to(policy: Policy, names: list[str], classes: Any) -> Policy:
    """The policy for a table whose class stands apart, as `y`, or is not known.

    Dropped columns may be gone from X already; one that a promise counts may not.
    """
    if policy.missing == "drop":
        raise InputError(
            'missing = "drop" leaves out rows', where=policy.name,
            why="a transformer gives back as many rows as it gets.",
            do='use  missing = "value",  or leave such rows out of X and y yourself.',
        )  # fmt: skip
    if policy.suppress_records:
        raise InputError(
            "suppress_records leaves out rows", where=policy.name,
            why="a transformer gives back as many rows as it gets, and the promises would not "
            "hold for those left out.",
            do="take it out of the policy, or use  release.",
        )  # fmt: skip
    counted = {name for promise in policy.anonymity for name in promise.of}
    class_ = policy.class_
    if classes is None and class_ not in names:
        class_ = None
    elif class_ is None:
        class_ = "y"
        while class_ in names:
            class_ += "_"
    drop = tuple(name for name in policy.drop if name in names or name in counted)
    nowhere = policy.reading.model_copy(update={"table": None})  # X stands in no database
    return policy.model_copy(update={"class_": class_, "drop": drop, "reading": nowhere})


def _classes(y: Any) -> Any:
    """The class of every row; None if there is none, or if `y` measures instead of telling apart.

    A target of fractions would make nearly every row a class of its own, which no cut can serve.
    """
    if y is None:
        return None
    classes = column_or_1d(y)
    assert_all_finite(classes, input_name="y")
    return None if classes.dtype.kind == "f" and (classes % 1).any() else classes


def _open_to_strangers(recoding: Recoding, prepared: Prepared) -> Recoding:
    """Let a taxonomy show what the fitted table did not hold as its root.

    A release refuses such values, as they are typing errors more often than not. A model in service
    has to answer, and the root tells nothing. The marker would not do: it is no label of the tree.
    """
    taxonomy = prepared.taxonomies.get(recoding.column)
    if taxonomy is None:
        return recoding
    root = taxonomy.labels[0]
    seen = prepared.cleaned.columns[recoding.column].missing is not None
    return replace(recoding, other=root, missing=recoding.missing if seen else root)


# --- frames and arrays ---------------------------------------------------------------------------


def _assembled(
    X: Any,
    names: list[str],
    released: list[int],
    labels: Mapping[int, pa.Array],
    kind: str,
    *,
    numbers: bool,
) -> Any:
    """The released columns of X, masked ones as what they show, as a table of this kind.

    `numbers`: masked ones are some; an array of nothing else is one of floats.
    """
    if kind == "pyarrow" or kind != kind_of(X):
        cells = [labels[j] if j in labels else cells_of(X, j, names[j]) for j in released]
        return to_frame(pa.table(cells, names=[names[j] for j in released]), None, kind)
    if kind == "pandas":
        frame = X.iloc[:, released].copy()
        for place, position in enumerate(released):
            if position in labels:
                frame.isetitem(place, labels[position].to_pandas().set_axis(X.index))
        return frame
    if kind == "polars":
        import polars as pl

        columns = (
            pl.Series(names[j], labels[j]) if j in labels else X.to_series(j) for j in released
        )
        return pl.DataFrame(list(columns))
    array = np.empty((len(X), len(released)), dtype=object)
    for place, j in enumerate(released):
        array[:, place] = labels[j].to_pylist() if j in labels else X[:, j]
    every = [labels[j] if j in labels else cells_of(X, j, names[j]) for j in released if numbers]
    return array.astype(np.float64) if numbers and all(map(_are_numbers, every)) else array


def _are_numbers(cells: Any) -> bool:
    kind = cells.type
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_null(kind)
    )
