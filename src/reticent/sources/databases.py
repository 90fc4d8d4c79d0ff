"""Tables in databases: equal rows are counted there, and only their counts travel.

Rows themselves come over once, and only where a release needs them in full: for columns that are
released as they are and have too many values to count. They are only ever read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pyarrow as pa

from reticent.errors import InputError, ReticentError, did_you_mean, remedy
from reticent.files.sheets import Sheet
from reticent.sources.addresses import file_of, without_password
from reticent.sources.duckdb import Embedded, sql_name, sql_of
from reticent.sources.engines import COUNT, Progress, RowRecoding, collapse, plain_schema

if TYPE_CHECKING:
    from sqlite3 import Connection

    import ibis.expr.types as ir

_KNOWN = {"postgres": "postgres", "postgresql": "postgres", "sqlite": "sqlite", "duckdb": "duckdb"}
_BATCH = 1 << 18


def table_of(connection: Any, name: str | None, told_by: str) -> Any:
    """A table of somebody's connection of Ibis."""
    where = f"the connection with {connection.name}"
    try:
        tables = list(connection.list_tables())
        if name is not None and name in tables:
            return connection.table(name)
    except Exception as error:
        raise _in_our_words(error, where) from None
    raise _which(name, tables, where, told_by)


def _which(name: str | None, tables: Sequence[str], where: str, told_by: str) -> InputError:
    said = "which of its tables is meant?" if name is None else f'there is no table "{name}"'
    by = told_by or f"{remedy('--table', 'table in [reading]')} takes"
    offer = f"{by} one of {', '.join(tables[:10])}." if tables else "it has none."
    return InputError(said, where=where, do=did_you_mean(name or "", tables) or offer)


def table_at(
    url: str, name: str | None, told_by: str, spill: Path, memory_limit: int | None = None
) -> Any:
    """A table of a database, to read from: one of Ibis, or of DuckDB itself.

    Which one it is would be `told_by` an option or a key; messages begin a sentence with that.
    What DuckDB itself needs besides its file goes into so much memory, and below `spill`.
    """
    where = without_password(url)
    scheme = url.partition("://")[0]
    if scheme not in _KNOWN:
        raise InputError(
            f'databases "{scheme}" cannot be read', where=where,
            do="use postgres://, sqlite:// or duckdb://, or hand over a table of Ibis in Python.",
        )  # fmt: skip
    path = file_of(url)
    if path is not None and not path.is_file():  # it would be made
        raise InputError("there is no such file", where=str(path))
    try:
        if scheme == "duckdb":
            tables, table = _in_duckdb(url, name, spill, memory_limit)
        else:
            tables, table = _by_ibis(url, name)
    except ImportError:
        raise InputError(
            f"what it takes to read {scheme} is not installed", where=where,
            do=f'pip install "reticent[{_KNOWN[scheme]}]"',
        ) from None  # fmt: skip
    except Exception as error:
        raise _in_our_words(error, where) from None
    if table is None:
        raise _which(name, tables, where, told_by)
    return table


def _by_ibis(url: str, name: str | None) -> tuple[list[str], Any]:
    import ibis

    path = file_of(url)
    database = ibis.connect(url) if path is None else ibis.sqlite.connect(path)
    space, _, short = (name or "").rpartition(".") if path is None else ("", "", name)
    where = {"database": space} if space else {}
    prefix = f"{space}." if space else ""
    tables = [f"{prefix}{table}" for table in database.list_tables(**where)]
    if name in tables:
        return tables, database.table(short, **where)
    database.disconnect()
    return tables, None


def _in_duckdb(
    url: str, name: str | None, spill: Path, memory_limit: int | None
) -> tuple[list[str], Any]:
    """Ibis speaks to DuckDB as it was before 2.0, and there is nothing to gain by it here."""
    import duckdb

    database = duckdb.connect(str(file_of(url)), read_only=True)
    database.execute(f"SET temp_directory = '{str(spill).replace(chr(39), chr(39) * 2)}'")
    if memory_limit:
        database.execute(f"SET memory_limit = '{memory_limit}B'")
    found = database.execute(
        "SELECT table_schema, table_name FROM information_schema.tables ORDER BY ALL"
    ).fetchall()
    tables = {
        name if space == "main" else f"{space}.{name}": (space, name) for space, name in found
    }
    if name is None or name not in tables:
        return list(tables), None
    quoted = ".".join(map(sql_name, tables[name]))
    return list(tables), database.sql(f"SELECT * FROM {quoted}")


def _in_our_words(error: Exception, where: str) -> InputError:
    """What a database has to say may quote cells, or a password."""
    return InputError(
        f"the database cannot be read ({type(error).__name__})", where=where,
        do="check its address, that it runs, and that you may read the table.",
    )  # fmt: skip


class InDatabase(Embedded):
    """A table that its own database counts."""

    def __init__(
        self, name: str, table: ir.Table, *, spill: Path, memory_limit: int | None,
        progress: Progress,
    ) -> None:  # fmt: skip
        try:
            self.file = _sqlite_file(table)
            odd = [n for n, kind in table.schema().items() if kind.is_uuid() or kind.is_inet()]
            if odd:  # identifiers and addresses as their texts
                table = table.mutate(**{name: table[name].cast("string") for name in odd})
            self.table = table
            schema = plain_schema(table.schema().to_pyarrow())
            if self.file:
                schema, self.mixed = _stored(self.file, table)
        except ReticentError:
            raise
        except Exception as error:
            raise _in_our_words(error, name) from None
        self.name, self.schema = name, schema
        self.has_nan = table.get_backend().name in ("duckdb", "postgres")
        [batch] = self.answered(table.agg(rows=table.count()))
        super().__init__(
            name, schema, int(batch.column(0)[0].as_py()), spill=spill, standing=self._rows,
            memory_limit=memory_limit, progress=progress,
        )  # fmt: skip

    def _count(self, names: Sequence[str]) -> None:
        """Have the database count, and take over what it found."""
        keys = {self.key(name): self.schema.field(name).type for name in names}
        schema = pa.schema([*keys.items(), (COUNT, pa.int64())])
        batches = self.answered(collapse(self._named(names), list(keys)))
        found = (batch.cast(schema) for batch in batches)
        self.database.register("told", pa.RecordBatchReader.from_batches(schema, found))
        self._do("CREATE TEMP TABLE counted AS SELECT * FROM told")
        self.database.unregister("told")

    def distinct(self, cells: ir.Column) -> ir.Value:
        """How many distinct values a column has, as an expression."""
        return cells.nunique()

    def reading(self, names: Sequence[str]) -> AbstractContextManager[ir.Table]:
        """The rows of some columns under their keys, where they stand."""
        return nullcontext(self._named(names))

    def recoded(self, recoding: RowRecoding, size: int) -> Iterator[Sheet]:
        """All rows as a release shows them; they have no order of their own."""
        if not recoding.sorted:
            raise InputError(
                'order = "input" asks for rows as they came, and a database keeps no order of rows',
                where=self.name, do='use  order = "sorted".',
            )  # fmt: skip
        return super().recoded(recoding, size)

    def _named(self, names: Sequence[str]) -> ir.Table:
        return self.table.select(**{self.key(name): self.table[name] for name in names})

    def _rows(self, names: Sequence[str]) -> pa.RecordBatchReader:
        schema = pa.schema([self.schema.field(name) for name in names])
        batches = self.answered(self._named(names))
        rows = (batch.rename_columns(list(names)).cast(schema) for batch in batches)
        return pa.RecordBatchReader.from_batches(schema, rows)

    def answered(self, expression: ir.Table) -> Iterator[pa.RecordBatch]:
        """What its database says to an expression."""
        import ibis

        backend = self.table.get_backend()
        try:
            if backend.name == "duckdb":  # Ibis asks for rows as DuckDB had them before 2.0
                backend._run_pre_execute_hooks(expression)  # lends it tables that are in memory
                reader = backend.con.sql(sql_of(expression)).to_arrow_reader(_BATCH)
                try:
                    yield from reader
                finally:  # or the connection could not be asked for anything else
                    reader.close()
            elif backend.name == "sqlite":  # and for SQLite's by way of pandas, whole
                sql = str(ibis.to_sql(expression, dialect="sqlite"))
                known = {self.key(name): self.schema.field(name).type for name in self.schema.names}
                kinds = [(name, known.get(name, pa.int64())) for name in expression.columns]
                yield from _fetched(self.file, sql, pa.schema(kinds))  # what is no key is a number
            else:
                yield from backend.to_pyarrow_batches(expression, chunk_size=_BATCH)
        except Exception as error:
            raise _in_our_words(error, self.name) from None


def _stored(path: str, table: ir.Table) -> tuple[pa.Schema, dict[str, str]]:
    """The kinds of values that SQLite holds, whatever its columns were declared to be.

    Also names columns that hold several kinds.
    """
    import ibis

    fields = []
    mixed: dict[str, str] = {}
    kinds = {"integer": pa.int64(), "real": pa.float64(), "text": pa.string()}
    with _sqlite(path) as database:
        rows = str(ibis.to_sql(table, dialect="sqlite"))
        for name in table.columns:
            sql = f"SELECT DISTINCT typeof({sql_name(name)}) FROM ({rows})"
            found = {kind for (kind,) in database.execute(sql)} - {"null"}
            if len(found) > 1:
                mixed[name] = ", ".join(sorted(found))
            kind = "blob" if len(found) > 1 else next(iter(found), "text")
            fields.append((name, kinds.get(kind, pa.binary())))
    return pa.schema(fields), mixed


def _sqlite_file(table: ir.Table) -> str:
    """SQLite wants every thread to open its file anew, and it is others that ask for rows."""
    backend = table.get_backend()
    if backend.name != "sqlite":
        return ""
    [(_, _, path), *_] = backend.raw_sql("PRAGMA database_list").fetchall()
    return str(path)


def _sqlite(path: str) -> closing[Connection]:
    """Its file, only to be read, whichever thread goes on with that."""
    import sqlite3

    address = f"file:{quote(path)}?mode=ro"
    return closing(sqlite3.connect(address, uri=True, check_same_thread=False))


def _fetched(path: str, sql: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    from ibis.backends.sqlite.udf import register_all  # SQLite itself knows no forms of texts

    with _sqlite(path) as database:
        register_all(database)
        cursor = database.execute(sql)
        while rows := cursor.fetchmany(_BATCH):
            cells = zip(*rows, strict=True)
            arrays = [pa.array(c, kind) for c, kind in zip(cells, schema.types, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)
