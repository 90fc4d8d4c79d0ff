"""A naive case in the product's own words: the same policy, the same table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

from naive.cases import Case
from naive.refine import Anon, Attr, Labels, Row, Template, holds, mask, measure, start_state
from reticent.tables.policy import Policy


def policy_of(
    attrs: Sequence[Attr], templates: Iterable[Template], *, cls: str | None = None, **more: Any
) -> Policy:
    """Say attributes and templates as a policy; every column nobody names is kept."""
    attributes = {}
    for attr in attrs:
        said: dict[str, Any] = {"mask": attr.mask}
        if attr.tree is not None:
            said["taxonomy"] = attr.tree
        if attr.bounds is not None:
            said["range"] = attr.bounds
        if attr.intervals is not None:
            said["intervals"] = attr.intervals
        attributes[attr.name] = said
    anonymity, confidence = [], []
    for t in templates:
        if isinstance(t, Anon):
            anonymity.append({"over": t.over, "k": t.k, "of": t.of})
        else:
            said = {"over": t.over, "sensitive": t.sensitive, "at_most": t.at_most}
            confidence.append(said)
    given = {"keep": "*", "attributes": attributes, "class": cls} | more
    return Policy.model_validate({**given, "anonymity": anonymity, "confidence": confidence})


def case_policy(case: Case, **more: Any) -> Policy:
    """Say a whole case as a policy."""
    goal = {"utility": case.utility, "score": case.score, "search": "greedy"}
    return policy_of(case.attrs, case.templates, cls=case.cls, goal=goal, **more)


def table_of(rows: Sequence[Row], attrs: Iterable[Attr]) -> pa.Table:
    """Build the table: numbers where an attribute is continuous, text elsewhere."""
    numeric = {attr.name for attr in attrs if attr.mask == "discretize"}
    columns: dict[str, pa.Array] = {}
    for name in rows[0]:
        cells = [row[name] for row in rows]
        kind = pa.string()
        if name in numeric:
            kind = pa.float64() if any(isinstance(c, float) for c in cells) else pa.int64()
        columns[name] = pa.array(cells, kind)
    return pa.table(columns)


def labels_of(case: Case, table: pa.Table) -> list[Labels]:
    """What each original record shows, an empty cell as the empty text."""
    cells = table.select([attr.name for attr in case.attrs]).to_pylist()
    return [{name: label or "" for name, label in row.items()} for row in cells]


def keeps(case: Case, labels: list[Labels]) -> bool:
    """Whether what records show keeps every promise, by the definition."""
    return all(holds(t, measure(t, case.rows, labels)) for t in case.templates)


def is_feasible(case: Case) -> bool:
    """Whether the most masked table keeps every promise."""
    return keeps(case, mask(case.rows, start_state(case.rows, case.attrs)))


def same_steps(ours: Sequence[Mapping[str, Any]], theirs: Sequence[Mapping[str, Any]]) -> None:
    """See that a trace of the product is a twin's, step for step and number for number."""
    for mine, other in zip(ours, theirs, strict=False):
        for key in ("step", "attribute", "value", "into"):
            assert mine[key] == other[key], (mine, other)
        for key in ("info_gain", "privacy_loss", "score"):
            assert mine[key] == pytest.approx(other[key], rel=1e-9, abs=1e-12), (mine, other)
        measured = [t["value"] for t in mine["templates"] if "implied_by" not in t]
        wanted = [str(v) if isinstance(v, Fraction) else v for v in other["templates"]]
        assert measured == wanted, (mine, other)
    assert len(ours) == len(theirs)
