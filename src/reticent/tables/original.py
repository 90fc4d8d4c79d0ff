"""A release beside the table it was made from: what its owner can recount, and nobody else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from reticent.errors import InputError, quoted
from reticent.privacy.counterparts import MaskedHow, OriginalRows, recount_beside
from reticent.privacy.promises import columns_of, ours
from reticent.sources.arrival import at_hand
from reticent.tables.masking import as_text
from reticent.tables.prepare import cleared, form_of
from reticent.tables.previous.people import people_in_both

if TYPE_CHECKING:
    from reticent.data.columns import Table
    from reticent.data.taxonomy import Taxonomy
    from reticent.files.tabular import Reading
    from reticent.privacy.people import PeopleInBoth
    from reticent.privacy.verify import OriginalMatch, PromiseFinding, VerifierRules
    from reticent.progress import Clock
    from reticent.sources.engines import RowSource
    from reticent.sources.means import Means
    from reticent.tables.policy import Policy, Roles
    from reticent.tables.previous.read import Earlier


def beside_original(
    released: Table,
    original: Any,
    policy: Policy,
    taxonomies: dict[str, Taxonomy],
    rules: VerifierRules,
    findings: Sequence[PromiseFinding],
    earlier: Mapping[str, Earlier],
    *,
    reading: Reading | None,
    means: Means,
    clock: Clock,
) -> tuple[OriginalMatch, tuple[PromiseFinding, ...], tuple[PeopleInBoth, ...]]:
    """Whether a release can be made from a table, and the promises that it takes to recount.

    Also says how many of its people are in earlier releases.
    """
    told = policy.reads(reading)
    people = {name for promise in policy.anonymity for name in ours(promise.of)}
    with ExitStack() as ends:

        def counting(source: RowSource) -> Table:
            roles = policy.roles(source.schema.names)
            wanted = {*roles.released, *people}
            return source.counted([name for name in source.schema.names if name in wanted])

        rows, _, _ = at_hand(original, told, means, clock, ends, counting, policy.spare)
        if not rows.rows:
            raise InputError("the table has no rows", where=rows.name)
        roles = policy.roles(rows.known)
        if foreign := [name for name in released.columns if name not in rows.columns]:
            raise InputError(
                f"the original lacks {quoted(foreign)}, which is released", where=rows.name,
                do="give the table that the release was made from.",
            )  # fmt: skip
        with clock.stage("verify"):
            names = [name for name in rows.columns if name in released.columns]
            whole = _complete(policy.door(told).table(rows), policy, roles)
            clean = cleared(whole, policy)
            given = OriginalRows(
                {n: whole.columns[n] for n in names if n not in roles.masked},
                {
                    n: _masked_how(clean, n, policy, taxonomies, told)
                    for n in names
                    if n in roles.masked
                },
                {n: clean.columns[n] for n in clean.columns if n in people and n not in names},
                whole.records,
                whole.counts,
                int(policy.suppress_records * whole.records),
            )
            shown = as_text(released).select(names)
            match, found = recount_beside(
                shown, released.counts, given, rules, findings, memory_limit=means.for_engine
            )
            absent = tuple(name for name in roles.released if name not in names)
            match = replace(match, compared=tuple(names), absent=absent)
        return match, found, people_in_both(policy, clean, earlier)


def _masked_how(
    clean: Table, name: str, policy: Policy, taxonomies: dict[str, Taxonomy], reading: Reading
) -> MaskedHow:
    attribute = policy.attributes.get(name)
    column, form = clean.columns[name], form_of(attribute, reading)
    mask = attribute.masked_by if attribute else None
    if mask == "generalize":
        return MaskedHow(column, {row[0]: row for row in taxonomies[name].rows()})
    return MaskedHow(column, continuous=None if mask is None else mask == "discretize", **form)


def _complete(rows: Table, policy: Policy, roles: Roles) -> Table:
    """The records that are released at all, where the policy leaves incomplete ones out."""
    if policy.missing != "drop":
        return rows
    _, sensitive, of = columns_of(policy.promises)
    clean = cleared(rows, policy)
    kept = np.ones(rows.rows, dtype=bool)
    for name in {*roles.masked, *sensitive, *of, *([roles.class_] if roles.class_ else [])}:
        column = clean.columns.get(name)
        if column is not None and column.missing is not None:
            kept &= np.asarray(column.codes != column.missing)
    return rows.take(kept)
