"""A naive case of sequential releases in the product's own words: policy, table, earlier files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from naive.product import policy_of
from naive.refine import Anon
from naive.sequence_cases import Case
from reticent.tables.policy import Policy


def case_policy(case: Case, place: Path, **more: Any) -> Policy:
    """Write the earlier releases of a case below a folder, and say all of it as a policy."""
    previous = {}
    for one in case.earlier:
        path = place / f"{one.name}.parquet"
        cells = {
            name: [None if row[name] is None else str(row[name]) for row in one.rows]
            for name in one.rows[0]
        }
        kinds = [(name, pa.string()) for name in cells]
        pq.write_table(pa.table(cells, schema=pa.schema(kinds)), path)
        previous[one.name] = {"path": str(path), "drop": one.drop}
    said = policy_of(case.attrs, case.templates, cls=case.cls)
    attributes = {n: a.model_dump(exclude_defaults=True) for n, a in said.attributes.items()}
    for name, tree in case.trees.items():
        attributes.setdefault(name, {"mask": "generalize", "taxonomy": tree})
    for name in case.no_join:
        attributes.setdefault(name, {})["join"] = False
    goal = {"utility": case.utility, "score": case.score, "search": "greedy"}
    return Policy.model_validate(
        {
            "keep": "*", "drop": case.dropped, "attributes": attributes, "class": case.cls,
            "goal": goal, "previous": previous, "inconsistent": case.inconsistent,
            "anonymity": [t.__dict__ for t in case.templates if isinstance(t, Anon)],
            "confidence": [t.__dict__ for t in case.templates if not isinstance(t, Anon)],
            **more,
        }
    )  # fmt: skip
