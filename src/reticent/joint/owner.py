"""What one owner brings: its records by id, put in the agreed order, and fitted to the policy.

An owner reads the id and the columns that the policy lists for it, and nothing else. Once owners
have agreed on the common records and their order, everything is about those alone.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from reticent.data.columns import Codes, Column, Table, encode, smallest
from reticent.data.scales import points_of
from reticent.data.taxonomy import Taxonomy
from reticent.data.texts import is_text, shortest
from reticent.errors import InputError, Problem, listed, many, refuse
from reticent.files.headers import refuse_records
from reticent.files.tabular import Reading
from reticent.joint.policy import JointPolicy
from reticent.privacy.promises import columns_of
from reticent.progress import Clock, Watch
from reticent.releases.policyfile import unknown_column
from reticent.sources.addresses import is_ibis_table, is_url, without_password
from reticent.sources.arrival import at_hand, means_of, read
from reticent.sources.means import elsewhere
from reticent.tables.policy import Policy
from reticent.tables.prepare import (
    Prepared,
    absent,
    as_meant,
    cleared,
    domain_of,
    fit,
    unmet_spellings,
)

if TYPE_CHECKING:
    from reticent.sources.engines import RowSource


@dataclass(frozen=True, slots=True)
class OwnRecords:
    """The records of one owner, each with an id of its own."""

    owner: str
    table: Table  # the columns that this owner contributes
    ids: tuple[str, ...]
    left_out: int = 0  # records that miss a value, where the policy says so
    notes: tuple[str, ...] = ()  # what was assumed in reading them

    @property
    def digest(self) -> str:
        """By which the same records are known again."""
        found = hashlib.sha256("\0".join(self.ids).encode("utf-8", "surrogatepass"))
        for name, column in self.table.columns.items():
            found.update(repr((name, column.texts())).encode("utf-8", "surrogatepass"))
            found.update(column.codes.astype("<u4").tobytes())
        return found.hexdigest()

    def common(self, order: Sequence[int]) -> Table:
        """The records that all owners have, in the agreed order, with nothing of the others."""
        rows = np.array(order, dtype=np.int64)
        kept = np.zeros(self.table.rows, dtype=bool)
        kept[rows] = True
        at = (np.cumsum(kept) - 1)[rows]
        part = self.table.take(kept)
        # Rows no longer stand as they do in the file: messages must not count them.
        columns = {
            name: replace(column, codes=column.codes[at], numbered=False)
            for name, column in part.columns.items()
        }
        return replace(part, columns=columns, at=None)


def own_records(
    data: Any, policy: JointPolicy, owner: str, reading: Reading | None = None
) -> OwnRecords:
    """Read what the policy says that an owner contributes, and see that ids are ids."""
    wanted = [policy.id, *policy.owners[owner].columns]
    table = _read(data, reading, wanted, f"{policy.name}, [owners.{owner}]")
    refuse_records(table.notes)
    table = replace(table, columns={name: table.columns[name] for name in wanted})
    unmet = unmet_spellings(table, policy)
    table = as_meant(table, policy)
    if not table.rows:
        raise InputError("the table has no records", where=table.name)
    refuse(_id_problems(table, policy))
    whole, notes = table, [*table.notes, *_id_notes(table.columns[policy.id], table.name)]
    if policy.missing == "drop":
        table = _unnumbered(table.take(_complete(table, policy)))
    ids = tuple(str(text) for text in table.columns[policy.id].cells().to_pylist())
    notes += unmet
    own = {name: column for name, column in table.columns.items() if name != policy.id}
    left_out = whole.rows - table.rows
    if left_out:
        notes.append(
            f"{whole.name}: {many(left_out, 'record')} of {whole.rows:,} {_miss(left_out)} a value "
            'and took no part, as  missing = "drop"  says.'
        )
    table = replace(table, columns=own)
    notes += [problem.text() for problem in _foreseen(policy, owner, table, reading)]
    return OwnRecords(owner, table, ids, left_out, tuple(notes))


def _foreseen(
    policy: JointPolicy, owner: str, table: Table, reading: Reading | None
) -> list[Problem]:
    """What will end the run if a common record has it; what will in any case is refused here.

    Whether values fit is decided on the common records, which nobody knows before ids have been
    compared. Certain before that is: a taxonomy that cannot be read; a column of which not one
    value fits; a sensitive value that no record has. Not known is what depends on the others'
    people: whether k and a confidence can be kept, whether a sensitive value is left.
    """
    alone, own = policy.alone(), policy.owners[owner].columns
    masked = [name for name in policy.joint_roles.masked if name in own]
    certain: list[Problem] = []
    try:
        taxonomies = alone.taxonomies(columns=masked)
    except InputError as error:
        certain += error.problems
        masked = [
            n for n in masked if n not in alone.attributes or not alone.attributes[n].taxonomy
        ]
        taxonomies = {}
    columns = cleared(table, policy).columns
    for promise in policy.confidence:
        for name in (name for name in promise.sensitive if name in columns):
            where = f'column "{name}"'
            found = absent(promise, name, columns[name])
            certain += [replace(problem, where=where) for problem in found]
    possible = [*_gaps(policy, table, columns)]
    for name in masked:
        try:
            domain_of(columns[name], alone, taxonomies, reading or Reading())
        except InputError as error:
            some = _some_fit(columns[name], alone, taxonomies.get(name), reading or Reading())
            (possible if some else certain).extend(error.problems)
    refuse(_in_file(table.name, problem) for problem in certain)
    return [replace(_in_file(table.name, p), values=(), why=_IF_COMMON) for p in possible]


_IF_COMMON = (
    "if a common record has such a value, the run ends when ids have been compared, and the others "
    "know by then who is common."
)


def _in_file(name: str, problem: Problem) -> Problem:
    """A problem of a column, with the file that has the column."""
    at_column = problem.where.startswith("column ")
    return replace(problem, where=f"{name}, {problem.where}") if at_column else problem


def _gaps(policy: JointPolicy, table: Table, columns: Mapping[str, Column]) -> Iterator[Problem]:
    """Records without a value, where the policy or the class does not bear that."""
    over, sensitive, _ = columns_of(policy.promises)
    matter = {*over, *sensitive} if policy.missing == "error" else set()
    for name in [n for n in columns if n in matter or n == policy.class_]:
        column = columns[name]
        if column.missing is not None and policy.missing != "drop":
            gaps = int((column.codes == column.missing).sum())
            yield Problem(
                f"{many(gaps, 'record')} {_have(gaps)} no value", where=f'column "{name}"',
                do='fill them, or agree on  missing = "drop".',
            )  # fmt: skip


def _some_fit(column: Column, policy: Policy, taxonomy: Taxonomy | None, reading: Reading) -> bool:
    """Whether any value of a column can be masked as the policy says."""
    attribute = policy.attributes.get(column.name)
    if attribute is None or attribute.mask in (None, "suppress"):
        return True
    if taxonomy is not None:
        leaves = {*taxonomy.leaf_of, *map(shortest, taxonomy.leaf_of)}
        texts = [text for text in column.texts() if text is not None]
        return any(text in leaves or shortest(text) in leaves for text in texts)
    form = reading.form
    points = (points_of(column, times=times, **form) for times in (False, True))
    return any(point is not None for found in points for point in found)


def _read(data: Any, reading: Reading | None, wanted: Sequence[str], where: str) -> Table:
    """A table with the columns that are wanted, all of it in memory."""

    def refuse_unknown(known: Sequence[str], named: str) -> None:
        found = (unknown_column(name, where, known) for name in wanted if name not in known)
        refuse(replace(one, what=one.what.replace("there is", f"{named} has", 1)) for one in found)

    def counted(source: RowSource) -> Table:
        refuse_unknown(
            source.schema.names, without_password(str(data)) if is_url(data) else "the table"
        )
        return source.counted(wanted)

    engine = None if is_url(data) or is_ibis_table(data) else "memory"
    means = means_of(engine, table=reading.table if reading else None)
    if not elsewhere(data, means):
        table, _ = read(data, reading)
        refuse_unknown(table.known, table.name)
        return table
    with ExitStack() as ends:
        table, _, _ = at_hand(data, reading, means, Clock(Watch()), ends, counted)
        return _row_by_row(table, wanted[0])


def _row_by_row(counted: Table, id: str) -> Table:
    """Rows that a database has counted, each for itself, in an order that is always the same."""
    assert counted.counts is not None
    codes, texts = counted.columns[id].codes, counted.columns[id].texts()
    order = sorted(range(counted.rows), key=lambda row: texts[codes[row]] or "")
    rows = np.repeat(np.array(order, dtype=np.int64), counted.counts[order])
    columns = {
        name: replace(column, codes=column.codes[rows]) for name, column in counted.columns.items()
    }
    return _unnumbered(replace(counted, columns=columns, rows=len(rows), counts=None, names=()))


def _unnumbered(table: Table) -> Table:
    """A table whose rows do not stand as they do in the file: messages must not count them."""
    columns = {n: replace(column, numbered=False) for n, column in table.columns.items()}
    return replace(table, columns=columns)


def _id_notes(column: Column, where: str) -> list[str]:
    """What owners should compare before they meet: ids that look otherwise with another owner."""
    if not is_text(column.values.type):
        return [
            f'{where}: the ids in "{column.name}" are no texts ({column.values.type}), and are '
            "compared as they print: whoever has 00123 for 123 has another person.\n"
            "  Do:  compare a few with the other owners; if theirs begin with 0, keep texts."
        ]
    padded = sum(bool(re.match("0[0-9]", text)) for text in column.texts() if text)
    if not padded:
        return []
    begin = "id begins" if padded == 1 else "ids begin"
    return [
        f'{where}: {padded:,} {begin} with 0 in "{column.name}", and ids are compared as texts: '
        "whoever has 123 for 00123 has another person.\n"
        "  Do:  ask the other owners whether theirs are texts as well; numbers have lost the 0."
    ]


def _id_problems(table: Table, policy: JointPolicy) -> list[Problem]:
    column = table.columns[policy.id]
    texts = column.texts()
    cells = np.bincount(column.codes, minlength=len(texts))
    missing = sum(int(n) for text, n in zip(texts, cells, strict=True) if text in (None, ""))
    known = Counter[str]()  # by text: 0.0 and -0.0 are two values, and one id
    for text, count in zip(texts, cells, strict=True):
        if text:
            known[text] += int(count)
    repeated = sum(n for n in known.values() if n > 1)
    where = f'{table.name}, column "{policy.id}"'
    found = []
    if missing:
        found.append(
            Problem(
                f"{many(missing, 'record')} without an id{_rows(column, lambda text: not text)}",
                where=where,
                do="fill them in.",
            )
        )
    if repeated:
        found.append(
            Problem(
                f"{many(repeated, 'record')} share an id with another one"
                f"{_rows(column, lambda text: bool(text) and known[str(text)] > 1)}", where=where,
                why="records of several owners are told apart by it.",
                do="leave one record for each id.",
            )
        )  # fmt: skip
    return found


def _rows(column: Column, wrong: Callable[[str | None], bool]) -> str:
    """Which rows hold ids that are wrong, the first few; nothing if nobody knows."""
    codes = [code for code, text in enumerate(column.texts()) if wrong(text)]
    rows = column.rows_of(codes, most=len(column.codes))
    if not column.numbered or not rows:
        return ""
    return f", on row{'s' * (len(rows) > 1)} {listed(rows)}"


def _have(count: int) -> str:
    return "has" if count == 1 else "have"


def _miss(count: int) -> str:
    return "misses" if count == 1 else "miss"


def _complete(table: Table, policy: JointPolicy) -> Any:
    """Which records have all values of this owner that matter."""
    over, sensitive, _ = columns_of(policy.promises)
    matter = {*over, *sensitive, *filter(None, [policy.class_])}
    complete = np.ones(table.rows, dtype=bool)
    for name, column in cleared(table, policy).columns.items():
        if name in matter and column.missing is not None:
            complete &= column.codes != column.missing
    if not complete.any():
        raise InputError(
            'missing = "drop" leaves no record: each misses some value', where=table.name,
            do='use  missing = "value"  at every owner.',
        )  # fmt: skip
    return complete


def fitted_part(
    policy: JointPolicy,
    owner: str,
    table: Table,
    shared: Mapping[str, Column],
    ids: Sequence[str],
    reading: Reading | None,
) -> tuple[Prepared, list[str]]:
    """An owner's part of the joint table, fitted to all promises; and what others mask.

    `shared`: the class and the sensitive columns of others; they stand with every owner.
    """
    roles, own = policy.joint_roles, policy.owners[owner].columns
    masked = tuple(name for name in roles.masked if name in own)
    record_ids = Column(
        policy.id, _numbers(len(ids)), pa.array(list(ids), pa.large_string()), numbered=False
    )
    columns = {**table.columns, **shared, policy.id: record_ids}
    part = replace(
        roles,
        class_=roles.class_ if roles.class_ in columns else None,
        sensitive=tuple(name for name in roles.sensitive if name in columns),
        masked=masked,
        kept=tuple(name for name in roles.kept if name in own),
        dropped=(policy.id,),
        released=tuple(name for name in roles.released if name in columns),
    )
    alone = policy.alone()
    whole = replace(table, columns=columns, rows=len(ids))
    taxonomies = alone.taxonomies(columns=masked)
    prepared = fit(whole, alone, part, taxonomies, reading or Reading())
    prepared = replace(prepared, unmet=())  # spellings are merged by now: `own_records` tells
    return prepared, [name for name in roles.masked if name not in own]


def _numbers(count: int) -> Codes:
    return np.arange(count).astype(smallest(max(count, 1)))


def column_of(name: str, values: Sequence[str | None], codes: Any) -> Column:
    """A column as another owner tells it: texts, and which of them each record has."""
    cells = pa.array(list(values), pa.large_string()).take(pa.array(codes))
    return replace(encode(name, cells), numbered=False)
