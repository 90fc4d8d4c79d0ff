"""DuckDB inside this process: tables larger than memory, on the machine at hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from reticent.data.columns import Table
from reticent.data.spill import Threads, connect
from reticent.errors import InputError, Problem, ReticentError
from reticent.files.sheets import Sheet
from reticent.sources.engines import (
    ROW,
    Progress,
    RowRecoding,
    RowSource,
    collapse,
    gathered,
    in_batches,
    in_our_words,
    small_table,
)

if TYPE_CHECKING:
    import ibis.expr.types as ir

_BATCH = 1 << 18  # rows that are handed over at a time
_PATIENCE = 0.1  # seconds between two looks at how far a query is

# Opens the rows for one pass: only these columns, in this order and under their own names.
Stream = Callable[[Sequence[str]], pa.RecordBatchReader]


class Embedded(RowSource):
    """Rows that DuckDB reads: from Parquet files by itself, from elsewhere as they come."""

    engine = "DuckDB"

    def __init__(
        self,
        name: str,
        schema: pa.Schema,
        rows: int,
        *,
        spill: Path,
        parquet: Sequence[Path] = (),
        stream: Stream | None = None,
        memory_limit: int | None = None,
        progress: Progress = lambda done, of: None,
    ) -> None:
        """Rows stand in `parquet` files or come from `stream`; `progress` hears of them."""
        self.name, self.schema, self.rows = name, schema, rows
        self.parquet, self.stream = list(parquet), stream
        self.progress = progress
        self.database = connect(spill, memory_limit)
        self.aside = Threads(1)  # queries run there, and Ctrl-C is heard here
        self.failure: ReticentError | None = None  # of the stream, in our own words

    def close(self) -> None:
        """Forget everything."""
        self.aside.shutdown(wait=True)
        self.database.close()

    def counted(self, names: Sequence[str]) -> Table:
        """The distinct rows of some columns, and how often each stands."""
        self.refuse_types(names)
        named = {self.key(name): name for name in names}
        self._count(names)
        [batch] = self._batches("SELECT count(*) FROM counted")
        rows = int(batch.column(0)[0].as_py())
        self.make_room(rows)
        batches = self._batches("SELECT * FROM counted")
        table = gathered(batches, named, self.schema, self.name, rows)
        self._do("DROP TABLE counted")
        return replace(table, notes=self.notes)

    def _count(self, names: Sequence[str]) -> None:
        """Make the table "counted"."""
        with self._reading(names) as source:
            counting = sql_of(collapse(source, [self.key(name) for name in names]))
            self._do(f"CREATE TEMP TABLE counted AS {counting}")

    def sampled(self, names: Sequence[str], rows: int) -> int:
        """How many distinct rows of some columns there are among so many rows."""
        self.refuse_types(names)
        with self._reading(names) as source:
            some = collapse(source.limit(rows), [self.key(name) for name in names])
            return sum(batch.num_rows for batch in self._batches(sql_of(some)))

    def about_distinct(self, names: Sequence[str]) -> dict[str, int]:
        """About how many distinct values each of some columns has."""
        if not names:
            return {}
        with self._reading(names) as source:
            keys = {name: self.key(name) for name in names}
            told = source.agg(**{key: source[key].approx_nunique() for key in keys.values()})
            [batch] = self._batches(sql_of(told))
        return {name: int(batch.column(key)[0].as_py()) for name, key in keys.items()}

    def values(self, name: str, most: int) -> pa.Array | None:
        """The distinct values of a column; None if there are more than `most`."""
        self.refuse_types([name])
        with self._reading([name]) as source:
            distinct = source.select(self.key(name)).distinct().limit(most + 1)
            found = list(self._batches(sql_of(distinct)))
        cells = pa.chunked_array([batch.column(0) for batch in found])
        if len(cells) > most:
            return None
        return cells.combine_chunks().cast(self.schema.field(name).type)

    def head(self, names: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Some rows, about the first so many."""
        with self._reading(names) as source:
            yield from self._batches(sql_of(source.limit(rows)))

    def recoded(self, recoding: RowRecoding, size: int) -> Iterator[Sheet]:
        """All rows as a release shows them, so many at a time; the last may be fewer."""
        needed = {column.key for column in recoding.columns.values()}
        needed |= set(recoding.gone.column_names) if recoding.gone is not None else set()
        names = [name for name in self.schema.names if self.key(name) in needed]
        tables = recoding.tables()
        for name, table in tables.items():
            self.database.register(name, table)
        with self._reading(names, numbered=not recoding.sorted) as source:
            rows = self._batches(sql_of(recoding.rows(source)))
            yield from map(recoding.sheet, in_batches(rows, size))
        for name in tables:
            self.database.unregister(name)

    # --- running -------------------------------------------------------------------------------

    @contextmanager
    def _reading(self, names: Sequence[str], *, numbered: bool = False) -> Iterator[ir.Table]:
        """The rows as a table "source", for one pass; `numbered`: with the number of each."""
        fields = [pa.field(self.key(n), self.schema.field(n).type) for n in names]
        fields += [pa.field(ROW, pa.int64())] if numbered else []
        if self.stream is None:
            self._do(f"CREATE TEMP VIEW source AS {self._parquet_sql(names, numbered=numbered)}")
        else:
            rows = pa.RecordBatchReader.from_batches(
                pa.schema(fields), self._streamed(names, numbered=numbered)
            )
            self.database.register("source", rows)
        yield small_table("source", pa.schema(fields))
        # After a failure the database is of no more use, and is about to be closed.
        if self.stream is None:
            self.database.execute("DROP VIEW source")
        else:
            self.database.unregister("source")

    def _parquet_sql(self, names: Sequence[str], *, numbered: bool) -> str:
        cells = ", ".join(f"{sql_name(name)} AS {self.key(name)}" for name in names)
        if not numbered:
            files = ", ".join(_text(str(path)) for path in self.parquet)
            how = "union_by_name = true, hive_partitioning = false"
            return f"SELECT {cells} FROM read_parquet([{files}], {how})"
        import pyarrow.parquet as pq

        parts, before = [], 0
        for path in self.parquet:
            parts.append(
                f"SELECT {cells}, file_row_number + {before} AS {ROW} "
                f"FROM read_parquet({_text(str(path))}, file_row_number = true, "
                "hive_partitioning = false)"
            )
            before += pq.read_metadata(path).num_rows
        return " UNION ALL ".join(parts)

    def _streamed(self, names: Sequence[str], *, numbered: bool) -> Iterator[pa.RecordBatch]:
        assert self.stream is not None
        keys = [self.key(name) for name in names]
        done = 0
        try:
            for batch in self.stream(names):
                columns = list(batch.columns)
                if numbered:
                    columns.append(pa.array(np.arange(done, done + batch.num_rows)))
                done += batch.num_rows
                self.progress(done, max(done, self.rows))
                yield pa.RecordBatch.from_arrays(columns, [*keys, ROW][: len(columns)])
        except ReticentError as error:  # DuckDB would make one text of it
            self.failure = error
            raise

    def _do(self, sql: str) -> None:
        self._wait(self.aside.submit(self.database.execute, sql))

    def _batches(self, sql: str) -> Iterator[pa.RecordBatch]:
        def begin() -> pa.RecordBatchReader:
            return self.database.sql(sql).to_arrow_reader(_BATCH)

        reader = self._wait(self.aside.submit(begin))
        while True:
            batch = self._wait(self.aside.submit(_next_batch, reader))
            if batch is None:
                return
            yield batch

    def _wait(self, query: Future[Any]) -> Any:
        """What a query gives; meanwhile, say how far it is and hear Ctrl-C."""
        try:
            while True:
                try:
                    return query.result(_PATIENCE)
                except TimeoutError:
                    if self.stream is None and (done := self.database.query_progress()) > 0:
                        self.progress(int(done / 100 * self.rows), self.rows)
        except KeyboardInterrupt:
            self.database.interrupt()
            raise
        except ReticentError:
            raise
        except Exception as error:
            raise self.failure or _told(error, self.name) from None


def _next_batch(reader: pa.RecordBatchReader) -> pa.RecordBatch | None:
    try:
        return reader.read_next_batch()
    except StopIteration:  # which no thread may hand on
        return None


def sql_of(expression: ir.Table) -> str:
    """An expression in DuckDB's words."""
    import ibis

    return str(ibis.to_sql(expression, dialect="duckdb"))


def _told(error: Exception, name: str) -> InputError:
    return in_our_words(
        error,
        full=Problem(
            "there is no room left for what does not fit in memory", name,
            do="free some space, or point TMPDIR to a larger disk; nothing was written.",
        ),
        small=Problem(
            "the memory limit is too small for this table", name,
            do="raise --memory-limit; nothing was written.",
        ),
        other=Problem(
            f"the rows cannot be read ({type(error).__name__})", name,
            do="check that the files are whole and of one kind.",
        ),
    )  # fmt: skip


def sql_name(name: str) -> str:
    """A name as SQL quotes it."""
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
