"""Errors over rounds of training and test records, on every view of a table.

`reticent.evidence.classify` names the errors and makes the classifiers; here they are put to work.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.data.recode import Recoding
from reticent.errors import ReticentError
from reticent.evidence import classify
from reticent.evidence.classify import FEWEST, QUICK, Sides, majority
from reticent.privacy.promises import columns_of
from reticent.tables.evidence.aligned import AlignedRows
from reticent.tables.prepare import Prepared

_QUICK_CELLS = 600_000  # wide tables take longer: 100,000 × 200 took 10 of a release's 15 s


@dataclass(frozen=True, slots=True)
class Round:
    """One training and one test table, unmasked and masked."""

    plain: Sides
    masked: Sides
    fresh: Sides | None = None  # masked as learnt on the training part alone


def divided(masked: AlignedRows, test: NDArray[np.bool_]) -> Round:
    """A round with some rows of a table for testing and the others for training."""
    plain, shown = masked.prepared.cleaned, masked.view()
    return Round((plain.take(~test), plain.take(test)), (shown.take(~test), shown.take(test)))


def errors(
    prepared: Prepared, rounds: Sequence[Round], classifier: str, *, seed: int = 1
) -> dict[str, float]:
    """The share of test records that a classifier gets wrong on each view: BE, AE and so on."""
    return named(prepared, rates(prepared, rounds, classifier, seed=seed))


def rates(
    prepared: Prepared,
    rounds: Sequence[Round],
    classifier: str,
    *,
    seed: int = 1,
    only: Collection[str] = (),
) -> dict[str, float]:
    """Errors by view: BE, masked, UE, RE and learnt_on_training, or only some of them."""
    target = prepared.roles.class_
    assert target is not None
    tested = sum(part.plain[1].rows for part in rounds)
    return {
        view: sum(mistakes(prepared, sides, columns, target, classifier, seed) for sides in chosen)
        / tested
        for view, chosen, columns in _views(prepared, rounds)
        if view in only or not only
    }


def named(prepared: Prepared, rates: Mapping[str, float]) -> dict[str, float]:
    """Errors by their names in the papers, then what they differ by."""
    names = ["AE"] if prepared.policy.anonymity else []
    names += ["SE"] if prepared.policy.confidence or not names else []
    masked = rates["masked"]
    found = {"BE": rates["BE"], **dict.fromkeys(names, masked)}
    found |= {name: rates[name] for name in ("UE", "RE", "learnt_on_training") if name in rates}
    found |= {f"{name}-BE": masked - rates["BE"] for name in names}
    found[f"UE-{names[0]}"] = rates["UE"] - masked
    if "RE" in rates:
        found["RE-SE"] = rates["RE"] - masked
    return {name: round(value, 6) for name, value in found.items()}


def mistakes(
    prepared: Prepared,
    sides: Sides,
    columns: Sequence[str],
    target: str,
    classifier: str = "tree",
    seed: int = 1,
) -> int:
    """How many test records a classifier puts into a wrong class."""
    data = classify.coded(*sides, columns, target, seed=seed, **prepared.reading.form)
    return int((classify.predictions(classifier, data) != data.test_classes).sum())


def _views(
    prepared: Prepared, rounds: Sequence[Round]
) -> Iterator[tuple[str, list[Sides], list[str]]]:
    """What to train on: which tables, and which of their columns."""
    roles, policy = prepared.roles, prepared.policy
    plain = [part.plain for part in rounds]
    at_hand = plain[0][0].columns  # all, unless only some columns of a long table were counted
    every = [name for name in roles.released if name != roles.class_ and name in at_hand]
    yield "BE", plain, every
    yield "masked", [part.masked for part in rounds], every
    yield "UE", plain, [name for name in every if name not in roles.masked]
    if policy.confidence:
        _, sensitive, _ = columns_of(policy.confidence)
        yield "RE", plain, [name for name in every if name not in sensitive]
    fresh = [part.fresh for part in rounds if part.fresh is not None]
    if len(fresh) == len(rounds):
        yield "learnt_on_training", fresh, every


def utility(prepared: Prepared, recodings: Mapping[str, Recoding]) -> dict[str, Any] | None:
    """What a release's own report says of its use: our tree's errors, on a sample if need be."""
    if prepared.roles.class_ is None:
        return None
    if prepared.table.records < FEWEST:
        return {"reason": f"with fewer than {FEWEST} records, an error would say little"}
    rows = prepared.table.records
    prepared = _sampled(prepared)
    test = next(classify.splits(prepared.table.rows, folds=None, seed=1))
    try:
        part = divided(AlignedRows.of(prepared, recodings), test)
        found = errors(prepared, [part], "tree")
    except (ReticentError, ArithmeticError, ValueError):  # a page must not stop a release
        return {"reason": "no classifier could be trained on it"}
    return {
        "classifier": "decision tree",
        "BE": found["BE"],
        "AE": found.get("AE", found.get("SE")),
        "UE": found["UE"],
        "majority": majority([part.plain], prepared.roles.class_ or ""),
        "rows": rows,
        "train": int((~test).sum()),
        "test": int(test.sum()),
        "how": "Which are which was drawn at random.",
    }


def _sampled(prepared: Prepared) -> Prepared:
    table = prepared.table
    few = min(QUICK, max(_QUICK_CELLS // len(prepared.roles.released), 2_000))
    if table.counts is None and table.rows <= few:
        return prepared
    drawn = np.random.default_rng(1).choice(table.records, min(few, table.records), replace=False)
    if table.counts is not None:
        drawn = np.searchsorted(np.cumsum(table.counts), drawn, side="right")
    return replace(prepared, table=table.pick(drawn), cleaned=prepared.cleaned.pick(drawn))
