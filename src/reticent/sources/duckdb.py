"""DuckDB inside this process: tables larger than memory, on the machine at hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from reticent.data.memory import Threads, connect
from reticent.errors import ReticentError
from reticent.files.sheets import Sheet
from reticent.sources.engines import (
    ROW,
    Progress,
    RowRecoding,
    RowSource,
    collapse,
    in_batches,
    small_table,
)

if TYPE_CHECKING:
    import ibis.expr.types as ir

_BATCH = 1 << 18  # rows that are handed over at a time
_PATIENCE = 0.1  # seconds between two looks at how far a query is

# Opens the rows for one pass: only these columns, in this order and under their own names.
Stream = Callable[[Sequence[str]], pa.RecordBatchReader]
Standing = list[Path] | Stream  # where rows stand: in Parquet files, or wherever they come from


class Embedded(RowSource):
    """Rows that DuckDB reads: from Parquet files by itself, from elsewhere as they come."""

    engine = "DuckDB"
    full = (
        "there is no room left for what does not fit in memory",
        "free some space, or point TMPDIR to a larger disk; nothing was written.",
    )
    small = (
        "the memory limit is too small for this table",
        "raise --memory-limit; nothing was written.",
    )
    other = ("the rows cannot be read ({})", "check that the files are whole and of one kind.")

    def __init__(
        self,
        name: str,
        schema: pa.Schema,
        rows: int,
        *,
        spill: Path,
        standing: Standing,
        memory_limit: int | None = None,
        progress: Progress = lambda done, of: None,
    ) -> None:
        """`progress` hears of rows as they are read."""
        self.name, self.schema, self.rows, self.standing = name, schema, rows, standing
        self.progress = progress
        self.database = connect(spill, memory_limit)
        self.aside = Threads(1)  # queries run there, and Ctrl-C is heard here
        self.failure: ReticentError | None = None  # of the stream, in our own words

    def close(self) -> None:
        """Forget everything."""
        self.aside.shutdown(wait=True)
        self.database.close()

    def reading(self, names: Sequence[str]) -> AbstractContextManager[ir.Table]:
        """The rows of some columns under their keys, for one pass."""
        return self._reading(names)

    def answered(self, expression: ir.Table) -> Iterator[pa.RecordBatch]:
        """What DuckDB says to an expression over rows that are being read."""
        return self._batches(sql_of(expression))

    @contextmanager
    def counting(self, names: Sequence[str]) -> Iterator[tuple[int, Iterator[pa.RecordBatch]]]:
        """The distinct rows of some columns under their keys, with counts, and how many."""
        self._count(names)
        [batch] = self._batches("SELECT count(*) FROM counted")
        yield int(batch.column(0)[0].as_py()), self._batches("SELECT * FROM counted")
        self._do("DROP TABLE counted")

    def _count(self, names: Sequence[str]) -> None:
        """Make the table "counted"."""
        with self._reading(names) as source:
            counting = sql_of(collapse(source, [self.key(name) for name in names]))
            self._do(f"CREATE TEMP TABLE counted AS {counting}")

    def recoded(self, recoding: RowRecoding, size: int) -> Iterator[Sheet]:
        """All rows as a release shows them, so many at a time; the last may be fewer."""
        tables = recoding.tables()
        for name, table in tables.items():
            self.database.register(name, table)
        with self._reading(self.looked_at(recoding), numbered=not recoding.sorted) as source:
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
        if isinstance(self.standing, list):
            rows = self._parquet_sql(self.standing, names, numbered=numbered)
            self._do(f"CREATE TEMP VIEW source AS {rows}")
        else:
            batches = self._streamed(self.standing, names, numbered=numbered)
            reader = pa.RecordBatchReader.from_batches(pa.schema(fields), batches)
            self.database.register("source", reader)
        yield small_table("source", pa.schema(fields))
        # After a failure the database is of no more use, and is about to be closed.
        if isinstance(self.standing, list):
            self.database.execute("DROP VIEW source")
        else:
            self.database.unregister("source")

    def _parquet_sql(self, paths: list[Path], names: Sequence[str], *, numbered: bool) -> str:
        cells = ", ".join(f"{sql_name(name)} AS {self.key(name)}" for name in names)
        if not numbered:
            files = ", ".join(_text(str(path)) for path in paths)
            how = "union_by_name = true, hive_partitioning = false"
            return f"SELECT {cells} FROM read_parquet([{files}], {how})"
        import pyarrow.parquet as pq

        parts, before = [], 0
        for path in paths:
            parts.append(
                f"SELECT {cells}, file_row_number + {before} AS {ROW} "
                f"FROM read_parquet({_text(str(path))}, file_row_number = true, "
                "hive_partitioning = false)"
            )
            before += pq.read_metadata(path).num_rows
        return " UNION ALL ".join(parts)

    def _streamed(
        self, stream: Stream, names: Sequence[str], *, numbered: bool
    ) -> Iterator[pa.RecordBatch]:
        keys = [self.key(name) for name in names]
        done = 0
        try:
            for batch in stream(names):
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
        while (batch := self._wait(self.aside.submit(_next_batch, reader))) is not None:
            yield batch

    def _wait(self, query: Future[Any]) -> Any:
        """What a query gives; meanwhile, say how far it is and hear Ctrl-C."""
        try:
            while True:
                try:
                    return query.result(_PATIENCE)
                except TimeoutError:
                    by_itself = isinstance(self.standing, list)
                    if by_itself and (done := self.database.query_progress()) > 0:
                        self.progress(int(done / 100 * self.rows), self.rows)
        except KeyboardInterrupt:
            self.database.interrupt()
            raise
        except ReticentError:
            raise
        except Exception as error:
            raise self.failure or self.in_our_words(error) from None


def _next_batch(reader: pa.RecordBatchReader) -> pa.RecordBatch | None:
    return next(reader, None)  # as no thread may hand on that there is none


def sql_of(expression: ir.Table) -> str:
    """An expression in DuckDB's words."""
    import ibis

    return str(ibis.to_sql(expression, dialect="duckdb"))


def sql_name(name: str) -> str:
    """A name as SQL quotes it."""
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
