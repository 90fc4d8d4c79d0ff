"""Whether a sensitive column can still be learnt, in general, from a table with hidden entries.

A release should keep what is true of many: so our tree learns to tell the sensitive column from
the conditions, once from the table as it was and once from the release. It learns from two thirds
of those who did not ask for anything, and is tested on the others, as they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.data.columns import Table, without_missing
from reticent.errors import ReticentError
from reticent.evidence import classify
from reticent.evidence.classify import FEWEST, QUICK, majority
from reticent.files.tabular import Reading


def utility(
    original: Table,
    released: Table,
    columns: Sequence[str],
    target: str,
    asked: NDArray[np.int64],
    *,
    missing: Sequence[str] = (),
    reading: Reading | None = None,
) -> dict[str, Any]:
    """Errors on unseen records, by what a tree learnt from: the original (BE), or the release (AE).

    `asked`: rows that are neither learnt from nor asked about. What `missing` names, and what is
    empty, is missing in both.
    """
    before, after = (_counted(table, [*columns, target], missing) for table in (original, released))
    usable = np.ones(before.rows, np.bool_)
    usable[asked] = False
    goal = before.columns[target]
    usable &= goal.codes != (-1 if goal.missing is None else goal.missing)
    rows = np.flatnonzero(usable)
    if len(rows) < FEWEST:
        return {"reason": f"with fewer than {FEWEST} records, an error would say little"}
    drawn = rows
    if len(rows) > QUICK:
        drawn = np.sort(np.random.default_rng(1).choice(rows, QUICK, replace=False))
    test = next(classify.splits(len(drawn), folds=None, seed=1))
    learnt = _rows(before.rows, drawn[~test])
    known = after.columns[target]
    shown = learnt & (known.codes != (-1 if known.missing is None else known.missing))
    asked_about = before.take(_rows(before.rows, drawn[test]))
    form = reading or Reading()
    try:
        wrong = {
            name: _wrong(side, asked_about, columns, target, form)
            for name, side in (("BE", before.take(learnt)), ("AE", after.take(shown)))
        }
    except (ReticentError, ArithmeticError, ValueError):  # a page must not stop a release
        return {"reason": "no classifier could be trained on it"}
    return {
        "classifier": "decision tree",
        **{name: round(count / int(test.sum()), 6) for name, count in wrong.items()},
        "majority": majority([(before.take(learnt), asked_about)], target),
        "rows": len(rows),
        "train": int(learnt.sum()),
        "test": int(test.sum()),
        "how": "Which are which was drawn at random; who asked is not among them.",
    }


def _counted(table: Table, names: Sequence[str], missing: Sequence[str]) -> Table:
    columns = {name: without_missing(table.columns[name], missing) for name in names}
    return replace(table, columns=columns, names=())


def _rows(count: int, which: NDArray[np.int64]) -> NDArray[np.bool_]:
    found = np.zeros(count, np.bool_)
    found[which] = True
    return found


def _wrong(train: Table, test: Table, columns: Sequence[str], target: str, reading: Reading) -> int:
    data = classify.coded(train, test, columns, target, seed=1, **reading.form)
    if not data.labels:
        return test.rows
    return int((classify.predictions("tree", data) != data.test_classes).sum())
