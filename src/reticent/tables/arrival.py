"""A table on its way in: what is counted of it if it stands elsewhere, and fitted to a policy."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reticent.errors import InputError

if TYPE_CHECKING:
    from reticent.data.columns import Table
    from reticent.files.tabular import Reading
    from reticent.sources.engines import RowSource
    from reticent.tables.policy import Policy
    from reticent.tables.prepare import Prepared


def counted(source: RowSource, policy: Policy) -> Table:
    """The rows of a table that stands elsewhere, equal ones counted once.

    Columns that are released as they are come along if rows still repeat with them; a short table
    comes as a whole, since all of it tells which cut is best.
    """
    from reticent.privacy.promises import columns_of

    roles = policy.roles(source.schema.names)
    over, sensitive, of = columns_of(policy.promises)
    needed = {*over, *sensitive, *of, *([roles.class_] if roles.class_ else [])}
    names = [name for name in source.schema.names if name in needed]
    every = [n for n in source.schema.names if n in needed or n in roles.kept]
    names = names or [source.fewest(every)]
    if policy.previous or source.hardly_longer(every, names):  # kept columns may link to others
        names = every
    table = source.counted(names)
    if len(names) < len(every) and not table.long:
        table = source.counted(every)
    mapped = {name for name, one in policy.attributes.items() if one.coarsen}
    unknown = [name for name in every if name not in table.columns and name not in mapped]
    return replace(table, about=source.about_distinct(unknown))


def fitted(rows: Table, policy: Policy, reading: Reading | None) -> Prepared:
    """Fit a policy to a table, and to the earlier releases that it names."""
    from reticent.tables.prepare import prepare

    if not policy.previous:
        return prepare(rows, policy, reading)
    from reticent.tables.previous.check import lay_beside, unknown_columns
    from reticent.tables.previous.read import read_previous

    earlier = read_previous(policy, reading)
    try:
        prepared = prepare(rows, policy, reading)
    except InputError as error:
        raise InputError([*error.problems, *unknown_columns(policy, earlier)]) from None
    return lay_beside(prepared, earlier)
