"""A table as it came, and who asked for what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reticent.data.columns import Column, Table, without_missing
from reticent.entries import asked as asking
from reticent.entries.asked import Asked
from reticent.entries.policy import EntryPolicy, EntryRoles
from reticent.errors import SHOWN, InputError, many
from reticent.files.tabular import Reading
from reticent.privacy.entries import PublishedEntries
from reticent.privacy.words import percent
from reticent.sources.arrival import parse

if TYPE_CHECKING:
    from reticent.files.sheets import ColumnForm
    from reticent.suppress.entries.search import Hidden

Mask = NDArray[np.bool_]
Codes = NDArray[np.int32]


@dataclass(frozen=True)
class Original:
    """A table as it came, and who asked for what."""

    policy: EntryPolicy
    table: Table
    roles: EntryRoles
    asked: Asked
    warnings: tuple[str, ...] = ()
    forms: Mapping[str, ColumnForm] = field(default_factory=dict)  # by column; none of a text file

    @cached_property
    def codes(self) -> PublishedEntries:
        """Its entries as codes, -1 for what is empty."""
        columns = [codes_of(self.cleaned(name)) for name in self.roles.entries]
        return PublishedEntries(np.column_stack(columns[:-1]), columns[-1])

    @property
    def empty(self) -> Mask:
        """Which entries were empty: by record and column, the sensitive ones last."""
        return np.column_stack([self.codes.conditions, self.codes.values]) < 0

    def cleaned(self, name: str) -> Column:
        """A column as it is counted: what means missing is missing; cells are compared exactly."""
        return self.as_counted(self.table.columns[name])

    def as_counted(self, column: Column) -> Column:
        """The same for a column of that name in another table."""
        told = self.policy.missing_values if column.name in self.roles.entries else ()
        return without_missing(column, told)

    def hidden(self, search: Hidden) -> Mask:
        """All that a search hides, and what was asked for: by record and column."""
        found = np.zeros(self.asked.fixed.shape, np.bool_)
        found[search.records, search.columns] = True
        found[self.asked.records, -1] = True
        return found

    def allowed(self) -> Mask:
        """What may be hidden, where it is not marked to be published."""
        who = self.who(self.codes.values)[:, None]
        regions = self.policy.may_hide
        others = "conditions-of-others" in regions
        own = "conditions-of-sensitive" in regions
        width = self.asked.fixed.shape[1] - 1
        conditions = np.repeat((who & own) | (~who & others), width, axis=1)
        values = np.full(len(who), "sensitive-of-others" in regions)
        values[self.asked.records] = True  # also where only a text that means missing is hidden
        return np.column_stack([conditions, values])

    def who(self, truth: Codes) -> Mask:
        """Whose sensitive entry is to be hidden, as far as there is one."""
        found = np.zeros(len(truth), np.bool_)
        found[self.asked.records] = True
        return found & (truth >= 0)

    def requests_alone(self) -> tuple[PublishedEntries, Codes]:
        """The table with nothing but the requests hidden, and what they hide."""
        codes = self.codes
        values = codes.values.copy()
        values[self.asked.records] = -1
        return PublishedEntries(codes.conditions, values), codes.values[self.asked.records]


def codes_of(column: Column) -> Codes:
    """The codes of a column, -1 for what is missing."""
    codes = column.codes.astype(np.int32)
    return codes if column.missing is None else np.where(codes == column.missing, -1, codes)


def read(data: Any, policy: EntryPolicy, reading: Reading | None) -> tuple[Original, str]:
    """A table with its roles and requests, and what kind of thing it was."""
    from reticent.files.sheets import forms_of

    parsed, kind = parse(data, reading)
    table = parsed.table(policy.spare)
    if not table.rows:
        raise InputError("the table has no rows", where=table.name)
    roles = policy.roles(table.known)
    asked = asking.find(policy, roles, table.rows, table.columns[policy.id] if policy.id else None)
    forms = {} if parsed.coded else forms_of(parsed.arrow.select(roles.released))
    original = Original(policy, table, roles, asked, forms=forms)
    return replace(original, warnings=tuple(_warnings(original))), kind


def _warnings(original: Original) -> list[str]:
    """What looks as if it were not meant."""
    policy, asked, codes = original.policy, original.asked, original.codes
    said = list(asked.warnings)
    if policy.id and policy.id not in (*policy.keep, *policy.drop):
        said.append(f'column "{policy.id}" is not released: neither keep nor drop names the id.')
    if empty := asked.records[codes.values[asked.records] < 0].tolist():
        said.append(
            f"{many(len(empty), 'request is', 'requests are')} about entries that are empty "
            f"already: {asking.by_number(empty)}."
        )
    void = asked.fixed & original.empty
    if count := int(void.sum()):
        said.append(
            f"{many(count, 'mark is', 'marks are')} on entries that are empty already: "
            f"{places(np.argwhere(void)[:SHOWN].tolist(), count, original.roles.entries)}."
        )
    said.extend(policy.emptiness)
    return [*said, *_commonest(original)] if len(asked.records) else said


def commonest(values: Codes) -> tuple[int, int]:
    """How many entries show the commonest value, and how many show any.

    >>> commonest(np.array([2, -1, 0, 2], np.int32))
    (2, 3)
    """
    shown = np.bincount(values[values >= 0])
    return int(shown.max(initial=0)), int(shown.sum())


def _commonest(original: Original) -> Iterator[str]:
    """What the commonest value of those who did not ask makes of a promise."""
    policy, values = original.policy, np.delete(original.codes.values, original.asked.records)
    (most, every), name = commonest(values), original.roles.sensitive
    if policy.min_support >= most:
        yield (
            f'no value of "{name}" stands in more than min_support = {policy.min_support:,} '
            "entries: no rule counts as unsafe, so requests are all that is hidden."
        )
    elif (share := Fraction(most, every)) > policy.min_confidence:
        yield (
            f'the commonest value of "{name}" stands in {percent(share, "%")} of its entries, more '
            f"than min_confidence = {policy.min_confidence}: whoever guesses it needs no rule, and "
            "the promise does not cover that."
        )


def places(first: Sequence[Sequence[int]], count: int, columns: Sequence[str]) -> str:
    """Where entries stand, for a message: the first of so many."""
    said = [f'record {record + 1:,} of "{columns[column]}"' for record, column in first]
    return ", ".join(said) + (f" and {count - len(said):,} more" if count > len(said) else "")
