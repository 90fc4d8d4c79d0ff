"""Classifiers that tell how well a class can still be told from data masked or not.

    BE   error on unmodified data
    AE   error on the release (SE, where it limits inferences and not groups)
    UE   error without the masked columns: what masking them completely would cost
    RE   error without the sensitive columns: what leaving those out would cost instead

A masked column keeps what it shows: a taxonomy's labels and suppressed values are categories, an
interval counts as its middle. Every classifier is used as it comes, so figures compare data, not
tuning; `tree` is our own, the others are scikit-learn's.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from reticent.data.columns import Column, Table, relabelled
from reticent.data.recode import Recoding
from reticent.data.scales import kind_of, scale_of
from reticent.errors import InputError
from reticent.trees.learner import train
from reticent.trees.tree import Feature

Rows = NDArray[np.bool_]  # which rows of a table
_BINS = 20  # for naive Bayes, which counts: so many intervals of about equal records
_WORTH_THREADS = 100_000  # records from which on a second thread pays
_MOST_CATEGORIES = 254  # that gradient boosting can tell apart; beyond, codes count as numbers


Sides = tuple[Table, Table]  # for training, and for testing
QUICK = 30_000  # records that the utility in a release's own report is measured on
FEWEST = 100  # with fewer, an error says nothing, and might tell of a person


@dataclass(frozen=True, slots=True)
class Coded:
    """Training and test records of one view of a table, all in small integers."""

    features: tuple[Feature, ...]  # with the training records
    test: tuple[NDArray[np.int64], ...]  # the test records in the features' codes
    classes: NDArray[np.int64]
    test_classes: NDArray[np.int64]  # -1 for a class that training knows nothing of
    labels: tuple[str, ...]
    seed: int


def coded(
    train: Table, test: Table, columns: Sequence[str], target: str, *, seed: int, **format: Any
) -> Coded:
    """Code some columns and the class of a training and a test table."""
    pairs = [(train.columns[name], test.columns[name]) for name in columns]
    pairs = [pair for pair in pairs if _present(pair[0])]  # else there is nothing to learn from
    features = tuple(
        Feature.of(known, number=are_numbers([known, asked], **format), **format)
        for known, asked in pairs
    )
    goal = Feature.of(train.columns[target], number=False)
    return Coded(
        features,
        tuple(f.code(asked, **format) for f, (_, asked) in zip(features, pairs, strict=True)),
        goal.codes,
        goal.code(test.columns[target]),
        tuple(goal.values),
        seed,
    )


def are_numbers(parts: Sequence[Column], **format: Any) -> bool:
    """Whether all parts of a column hold numbers or times; one odd cell makes all of it text."""
    present = [column for column in parts if _present(column)]
    kinds = {kind_of(column, **format) for column in present}
    if len(kinds) != 1 or kinds & {"text", "boolean"}:
        return False
    try:
        for column in present:
            scale_of(column, **format)
    except InputError:  # times with and without a zone are on no one scale
        return False
    return True


def _present(column: Column) -> bool:
    return int(column.values.null_count) < len(column.values)


def predictions(classifier: str, data: Coded) -> NDArray[np.int64]:
    """The class that a classifier gives each test record."""
    if len(data.labels) < 2 or not data.features:
        guess = int(np.bincount(data.classes).argmax())
        return np.full(len(data.test_classes), guess)
    return CLASSIFIERS[classifier](data)


def _tree(data: Coded) -> NDArray[np.int64]:
    grown = train(data.features, data.classes, data.labels)
    return grown.predict(data.test, len(data.test_classes))


def _bayes(data: Coded) -> NDArray[np.int64]:
    from sklearn.naive_bayes import CategoricalNB

    pairs = [_counted(f, test) for f, test in zip(data.features, data.test, strict=True)]
    known = np.column_stack([known for known, _ in pairs])
    asked = np.column_stack([asked for _, asked in pairs])
    most = np.maximum(known.max(axis=0), asked.max(axis=0)) + 1
    return _fitted(CategoricalNB(min_categories=most), known, asked, data)


def _counted(feature: Feature, test: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Codes to count, missing as 0; long scales in intervals of about equal training records."""
    known = np.asarray(feature.codes) + 1
    if not feature.number or len(feature.values) <= _BINS:
        return known, np.minimum(test, len(feature.values) - 1) + 1
    present = known[known > 0]
    edges = np.unique(np.quantile(present, np.arange(1, _BINS) / _BINS, method="lower"))
    return tuple(  # type: ignore[return-value]
        np.where(codes > 0, np.searchsorted(edges, codes) + 1, 0) for codes in (known, test + 1)
    )


def _boosting(data: Coded) -> NDArray[np.int64]:
    from sklearn.ensemble import HistGradientBoostingClassifier

    pairs = zip(data.features, data.test, strict=True)
    columns = [_measured(feature, test) for feature, test in pairs]
    named = [not f.number and len(f.values) <= _MOST_CATEGORIES for f in data.features]
    # Stopping early would set a tenth of the records aside, evenly over classes: a class of one
    # record has no tenth.
    model = HistGradientBoostingClassifier(
        categorical_features=named, early_stopping=False, random_state=data.seed % 2**32
    )
    known, asked = (np.column_stack(side) for side in zip(*columns, strict=True))
    return _fitted(model, known, asked, data)


def _regression(data: Coded) -> NDArray[np.int64]:
    from scipy import sparse
    from sklearn.linear_model import LogisticRegression

    blocks = [_weighed(f, test) for f, test in zip(data.features, data.test, strict=True)]
    known, asked = (sparse.hstack(side).tocsr() for side in zip(*blocks, strict=True))
    return _fitted(LogisticRegression(max_iter=200), known, asked, data)


def _weighed(feature: Feature, test: NDArray[Any]) -> tuple[Any, Any]:
    """A number as it deviates from the mean, 0 if missing; a category as one column a value."""
    from scipy import sparse

    if feature.number:
        known, asked = _measured(feature, test)
        mean, spread = np.nanmean(known), np.nanstd(known) or 1.0
        return tuple(
            sparse.csr_matrix(np.nan_to_num((side - mean) / spread)[:, None])
            for side in (known, asked)
        )
    unit = sparse.vstack(
        [sparse.eye(len(feature.values)), sparse.csr_matrix((1, len(feature.values)))]
    )
    return unit.tocsr()[feature.codes], unit.tocsr()[test]  # -1 is the empty last line


def _measured(feature: Feature, test: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Both sides as floats: numbers as they are, categories as codes, missing as NaN."""
    values = np.append(_floats(feature), np.nan)
    # A test number lies between two training numbers; to the classifier it is the higher one.
    return values[feature.codes], values[np.where(test < 0, -1, np.minimum(test, len(values) - 2))]


def _floats(feature: Feature) -> NDArray[np.float64]:
    """The values of a feature; by rank where they have none or are too large to square."""
    ranks = np.arange(len(feature.values), dtype=float)
    if not feature.number:
        return ranks
    try:
        values = np.array(feature.values, float)
    except OverflowError:
        return ranks
    return values if np.abs(values).max() < 1e150 and _rising(values) else ranks


def _rising(values: NDArray[np.float64]) -> bool:
    """Whether floats still tell all numbers apart that they were made from."""
    return bool((np.diff(values) > 0).all())


def _fitted(model: Any, known: Any, asked: Any, data: Coded) -> NDArray[np.int64]:
    from threadpoolctl import threadpool_limits  # comes with scikit-learn

    # Threads that meet after every split wait for each other: on a busy machine, boosting 13,000
    # records took 3 to 11 s with two of them and 0.2 s with one.
    alone = threadpool_limits(1 if len(data.classes) < _WORTH_THREADS else None)
    with alone, warnings.catch_warnings():  # of a regression that is good enough, if not converged
        warnings.simplefilter("ignore")
        found: NDArray[np.int64] = model.fit(known, data.classes).predict(asked)
    return found


CLASSIFIERS: Mapping[str, Callable[[Coded], NDArray[np.int64]]] = {
    "tree": _tree,
    "bayes": _bayes,
    "boosting": _boosting,
    "regression": _regression,
}


def chosen(names: Sequence[str] | None) -> tuple[str, ...]:
    """The classifiers to use: those named, or all that are installed here."""
    names = [names] if isinstance(names, str) else names
    here = tuple(CLASSIFIERS) if importlib.util.find_spec("sklearn") else ("tree",)
    unknown = [name for name in names or () if name not in CLASSIFIERS]
    if unknown:
        raise InputError(
            f"there is no classifier {unknown[0]}", do=f"choose among {', '.join(CLASSIFIERS)}."
        )
    if any(name not in here for name in names or ()):
        raise InputError(
            "this classifier needs scikit-learn",
            do='pip install "reticent[sklearn]"  installs it; tree works without.',
        )
    return tuple(dict.fromkeys(names)) if names else here


def as_numbers(column: Column, recoding: Recoding) -> Column:
    """A masked column for classifiers: intervals as their middles; all others as they are."""
    if not recoding.intervals:
        return column
    middle = dict(zip((i.label for i in recoding.intervals), _middles(recoding), strict=True))
    values = [None if text is None else middle.get(text) for text in column.texts()]
    return relabelled(column, values, pa.float64())


def _middles(recoding: Recoding) -> list[float]:
    """The middle of each interval; its rank where no float can hold that."""
    try:
        middles = [float((i.low + i.high) / 2) for i in recoding.intervals]
    except OverflowError:
        middles = []
    if middles and _rising(np.array(middles)):
        return middles
    return [float(rank) for rank in range(len(recoding.intervals))]


def check_seed(seed: Any) -> None:
    """Refuse what is no seed."""
    if not isinstance(seed, Integral) or isinstance(seed, bool) or seed < 0:
        raise InputError("a seed is a whole number of at least 0")


def splits(rows: int, *, folds: int | None, seed: int) -> Iterator[Rows]:
    """The test records of each round: a third of all at random, or each fold in turn."""
    order = np.random.default_rng(seed).permutation(rows)
    parts = np.array_split(order, folds) if folds else [order[: rows // 3]]
    for part in parts:
        test = np.zeros(rows, dtype=bool)
        test[part] = True
        yield test


def majority(rounds: Sequence[Sides], target: str) -> float:
    """The error of always guessing the class that is largest in training."""
    wrong = 0
    for known, test in rounds:
        column, asked = known.columns[target], test.columns[target]
        texts = column.texts()
        counts = np.bincount(column.codes)
        largest = [text for text, n in zip(texts, counts, strict=True) if n == counts.max()]
        guess = min(largest, key=str)
        right = [code for code, text in enumerate(asked.texts()) if text == guess]
        wrong += int((~np.isin(asked.codes, right)).sum())
    return round(wrong / sum(test.rows for _, test in rounds), 6)
