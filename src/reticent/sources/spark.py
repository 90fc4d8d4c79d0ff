"""Spark: the same two passes, on a cluster or on the cores at hand.

The expressions are those of `engines`, put into Spark's words by Ibis. What is particular to it:

- Rows come back as Arrow batches, one partition of the cluster after the other, so that this
  process never holds more than one.
- CSV is parsed by Arrow on the workers, as it is in memory: Spark's own reader takes empty cells,
  line ends and stray quotes otherwise, and then two engines would see two tables.
- Workers need Python with PyArrow, as Spark's Arrow does anyway, but not this program: what they
  run is sent to them.
- Spark prints 12345678.5 as 1.23456785E7. Rows are sorted by what a release prints, so columns of
  numbers that are released as they stand, and have too many values to know them all, are printed
  by Python on the workers just for sorting. Times are sorted by their ticks: same order as text.
- Tables that belong to a session of the user's are looked at under names of our own, and files
  are read in a session beside it: no setting or view of the user's is touched.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from reticent.data.columns import Table
from reticent.errors import InputError, ReticentError
from reticent.files.delimited import (
    Dialect,
    Reading,
    about_rows,
    look,
    named,
    pieces_of,
    stream_csv,
)
from reticent.files.formats import is_packed
from reticent.files.sheets import ROW_GROUP, Sheet, write
from reticent.files.tabular import CSV
from reticent.files.writing import AS_USUAL, Writing
from reticent.sources.engines import (
    COUNT,
    Progress,
    RowRecoding,
    RowSource,
    Untouched,
    collapse,
    in_batches,
    key,
    order_key,
    small_table,
)

if TYPE_CHECKING:
    import ibis.expr.types as ir

_BROADCAST = 64 << 20  # bytes: a small table up to this size is sent to every worker

# The rows of some columns under their keys, as a Spark data frame.
Frame = Callable[[Sequence[str]], Any]


class Spark(RowSource):
    """Rows that Spark reads: Parquet by itself, CSV by Arrow on its workers, or a data frame."""

    engine = "Spark"
    full = (
        "there is no room left for what Spark keeps on disk",
        "free some space, or set spark.local.dir; nothing was written.",
    )
    small = (
        "Spark has too little memory for this table",
        "raise spark.driver.memory or spark.executor.memory; nothing was written.",
    )
    other = (
        "Spark cannot read the rows ({})",
        "check that the files are whole, and that all workers see them.",
    )

    def __init__(
        self,
        name: str,
        schema: pa.Schema,
        session: Any,
        frame: Frame,
        *,
        rows: int,
        exact: bool = True,
        explain: Callable[[], None] = lambda: None,
        progress: Progress = lambda done, of: None,
    ) -> None:
        """`exact`: there must be so many rows; `explain` says what is wrong, if it can."""
        self.name, self.schema, self.rows = name, schema, rows
        self.session, self.frame = session, frame
        self.exact, self.explain, self.progress = exact, explain, progress
        self.about: dict[str, int] = {}  # how many values columns have, as far as anybody asked
        self.prefix = f"reticent_{secrets.token_hex(4)}_"

    def close(self) -> None:
        """Nothing is left in the session; whoever made it stops it."""

    def answered(self, expression: ir.Table) -> Iterator[pa.RecordBatch]:
        """What Spark says to an expression over rows that are being read."""
        return self._batches(self._frame_of(expression))

    @contextmanager
    def counting(self, names: Sequence[str]) -> Iterator[tuple[int, Iterator[pa.RecordBatch]]]:
        """The distinct rows of some columns under their keys, with counts, and how many."""
        with self.reading(names) as source:
            with self._in_our_words():
                keys = [self.key(name) for name in names]
                found = self._frame_of(collapse(source, keys)).persist()
                rows = int(found.count())
            yield rows, self._batches(found)
            found.unpersist()

    def counted(self, names: Sequence[str]) -> Table:
        """The distinct rows of some columns, and how often each stands."""
        table = super().counted(names)
        if self.exact and table.records != self.rows:
            raise InputError(
                f"Spark reads {table.records} rows where there are {self.rows}", where=self.name,
                do="give files whose names do not begin with _ or a dot, as Spark skips those.",
            )  # fmt: skip
        return table

    def about_distinct(self, names: Sequence[str]) -> dict[str, int]:
        """About how many distinct values each of some columns has."""
        found = super().about_distinct(names)
        self.about |= found
        return found

    def values(self, name: str, most: int) -> pa.Array | None:
        """The distinct values of a column; None if there are more than `most`."""
        self.refuse_types([name])
        if self.about.get(name, 0) > 2 * most:  # no need to look, as it is off by a tenth at most
            return None
        return super().values(name, most)

    def recoded(self, recoding: RowRecoding, size: int) -> Iterator[Sheet]:
        """All rows as a release shows them, so many at a time; the last may be fewer."""
        done = 0
        with self._recoding(recoding) as rows:
            for batch in in_batches(self._batches(rows), size):
                yield recoding.sheet(batch)
                done += batch.num_rows
                self.progress(done, max(done, self.rows))

    # --- rows that never pass through this process -----------------------------------------------

    def write_parts(
        self, recoding: RowRecoding, place: Path, suffix: str, writing: Writing = AS_USUAL
    ) -> list[Path]:
        """Have the workers write all rows, as `recoded` gives them, into a folder that they see.

        Part files in the order of their names are the sorted rows. A worker may be started twice
        for the same part, so each writes under a name of its own, and only what it tells of in
        the end is kept.
        """
        place.mkdir(parents=True, exist_ok=True)
        before = set(place.iterdir())
        with self._recoding(recoding) as rows, _by_value():
            writer = _writer(recoding, str(place), suffix, writing)
            told = rows.mapInArrow(writer, "part int, file string")
            with self._in_our_words():
                kept = [place / row["file"] for row in sorted(told.collect())]
        for left in set(place.iterdir()) - before - set(kept):
            left.unlink()
        parts = [place / f"part-{number:05d}{suffix}" for number in range(len(kept))]
        for written, part in zip(kept, parts, strict=True):
            written.rename(part)
        return parts

    def counted_parts(
        self, place: Path, suffix: str, names: Sequence[str], writing: Writing = AS_USUAL
    ) -> Iterator[pa.RecordBatch]:
        """The distinct rows of some columns of part files; how often each stands comes last."""
        written = self._written(place, suffix, writing)
        keys = [written.key(name) for name in names]
        with written.reading(names) as source:
            for batch in written.answered(collapse(source, keys)):
                yield pa.RecordBatch.from_arrays(batch.columns, [*names, COUNT])

    def alone_in_parts(
        self, place: Path, suffix: str, names: Sequence[str], writing: Writing = AS_USUAL
    ) -> int:
        """How many rows of part files no other one equals in some columns."""
        return self._written(place, suffix, writing).alone(names)

    def _written(self, place: Path, suffix: str, writing: Writing) -> Spark:
        """Part files as rows to be counted."""
        paths = sorted(place.glob(f"part-*{suffix}"))
        if suffix in CSV:
            parted = writing.delimiter_for(suffix)
            told = Reading(delimiter=parted, quote='"', encoding="utf-8")
            return of_csv(self.session, paths, [look(path, told, []) for path in paths])
        import pyarrow.parquet as pq

        counts = [pq.read_metadata(path).num_rows for path in paths]
        return of_parquet(self.session, paths, pq.read_schema(paths[0]), sum(counts))

    # --- running ---------------------------------------------------------------------------------

    @contextmanager
    def _recoding(self, recoding: RowRecoding) -> Iterator[Any]:
        """The rows of a recoding, as a data frame."""
        if not recoding.sorted:
            raise InputError(
                'order = "input" asks for rows as they came, and Spark keeps no order of rows',
                where=self.name, do='use  order = "sorted",  or another engine.',
            )  # fmt: skip
        plain = [c for c in recoding.columns.values() if isinstance(c, Untouched)]
        with self.reading(self.looked_at(recoding), plain, recoding.tables()) as source:
            yield self._frame_of(recoding.rows(source))

    @contextmanager
    def reading(
        self,
        names: Sequence[str],
        plain: Iterable[Untouched] = (),
        tables: dict[str, pa.Table] | None = None,
    ) -> Iterator[ir.Table]:
        """Views for a pass: "source", with what `plain` columns are sorted by, and small tables."""
        fields = [pa.field(self.key(n), self.schema.field(n).type) for n in names]
        views: list[str] = []
        with self._in_our_words():
            frame = self.frame(names)
            kinds = {field.name: field.dataType for field in frame.schema}
            for column in plain:
                if (by := _order(column, kinds[column.key])) is not None:
                    frame = frame.withColumn(order_key(column.key), by)
                    fields.append(pa.field(order_key(column.key), pa.string()))
            lent = {name: self._lent(table, kinds) for name, table in (tables or {}).items()}
            for name, view in {"source": frame, **lent}.items():
                view.createOrReplaceTempView(self.prefix + name)
                views.append(name)
        try:
            yield small_table("source", pa.schema(fields))
        finally:
            with self._in_our_words():
                for name in views:
                    self.session.catalog.dropTempView(self.prefix + name)

    def _lent(self, table: pa.Table, kinds: dict[str, Any]) -> Any:
        """A small table as Spark's: values in exactly the types that its rows have."""
        from pyspark.sql import functions as F
        from pyspark.sql.types import LongType, StructField, StructType

        own = [kinds.get(name.removesuffix("_value"), LongType()) for name in table.column_names]
        pairs = zip(table.column_names, own, strict=True)
        asked = StructType([StructField(name, kind) for name, kind in pairs])
        cells = table.cast(self.session.createDataFrame([], asked).toArrow().schema)
        frame = self.session.createDataFrame(cells, asked)
        return F.broadcast(frame) if table.nbytes < _BROADCAST else frame

    def _frame_of(self, expression: ir.Table) -> Any:
        """An expression over our views, as a data frame; Ibis itself would ask for a session."""
        import ibis.backends.pyspark as words
        from ibis.expr.operations import UnboundTable

        words.Backend.register_options()
        sql = str(words.Backend().compile(expression))
        for name in {"source", *(table.name for table in expression.op().find(UnboundTable))}:
            sql = sql.replace(f"`{name}` AS", f"`{self.prefix}{name}` AS")
        with self._in_our_words():
            return self.session.sql(sql)

    def _batches(self, frame: Any) -> Iterator[pa.RecordBatch]:
        with self._in_our_words():
            packed = frame.mapInArrow(_packer(), "batch binary")
            for row in packed.toLocalIterator(prefetchPartitions=True):
                yield from pa.ipc.open_stream(bytes(row[0]))

    @contextmanager
    def _in_our_words(self) -> Iterator[None]:
        """What Spark has to say may quote cells, so it is only looked at."""
        try:
            yield
        except ReticentError:
            raise
        except Exception as error:
            raise self.in_our_words(error) from None

    def in_our_words(self, error: Exception) -> ReticentError:
        """The same, by whoever can say more of it first."""
        try:
            self.explain()
        except ReticentError as found:
            return found
        said = f"{type(error).__name__} {error}"
        if "ModuleNotFoundError" in said or "PYTHON_VERSION_MISMATCH" in said:
            return InputError(
                "the workers of Spark run another Python, or one without PyArrow", where=self.name,
                do="install PyArrow there, and set PYSPARK_PYTHON to that Python.",
            )  # fmt: skip
        return super().in_our_words(error)


def _order(column: Untouched, kind: Any) -> Any:
    """What to sort a column by that is released as it stands; None: by Spark's own text of it."""
    from pyspark.sql import functions as F
    from pyspark.sql import types

    cell = F.col(column.key)
    if isinstance(kind, types.FloatType | types.DoubleType | types.DecimalType):
        return F.udf(_printer(), "string", useArrow=False)(cell)
    if pa.types.is_timestamp(column.kind) and not isinstance(kind, types.TimestampNTZType):
        ticks = cell if isinstance(kind, types.LongType) else F.unix_micros(cell)
        return F.coalesce(ticks, F.lit(-(2**63)))
    return None


# --- what runs on the workers --------------------------------------------------------------------
# Functions inside functions are sent as a whole; others would be looked for in a module that
# workers need not have.


def _packer() -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as stream:
                stream.write_batch(batch)
            whole = pa.array([sink.getvalue().to_pybytes()], pa.binary())
            yield pa.RecordBatch.from_arrays([whole], ["batch"])

    return pack


def _printer() -> Callable[[Any], str]:
    from decimal import Decimal  # inside, as it travels to the workers

    def printed(value: Any) -> str:  # as `schema.texts` does
        if value is None or value != value:
            return ""
        if isinstance(value, float):
            whole = value.is_integer()  # never so for what is infinite
            return str(int(value)) if whole else repr(value)
        return format(value, "f") if isinstance(value, Decimal) else str(value)

    return printed


def _writer(
    recoding: RowRecoding, place: str, suffix: str, writing: Writing
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def write_part(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        task = TaskContext.get()
        groups = in_batches(batches, ROW_GROUP)
        first = next(groups, None)
        if task is None or first is None:
            return
        name = f"writing-{task.partitionId()}-{task.taskAttemptId()}{suffix}"
        sheets = (recoding.sheet(batch) for group in ([first], groups) for batch in group)
        write(sheets, Path(place) / name, suffix, writing=writing)
        part = [pa.array([task.partitionId()], pa.int32()), pa.array([name])]
        yield pa.RecordBatch.from_arrays(part, ["part", "file"])

    return write_part


@contextmanager
def _by_value() -> Iterator[None]:
    """Meanwhile, functions of this package are sent as they are, with all that they call."""
    from pyspark import cloudpickle

    from reticent import errors
    from reticent.data import collapse, columns, decimals
    from reticent.files import sheets, tabular, writing
    from reticent.sources import engines

    modules = (errors, collapse, engines, columns, decimals, tabular, sheets, writing)
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)


# --- where rows stand ----------------------------------------------------------------------------


def of_parquet(
    session: Any, paths: Sequence[Path], schema: pa.Schema, rows: int, name: str = "", **more: Any
) -> Spark:
    """Parquet files, which Spark reads itself."""
    files = [f"file:{path.resolve()}" for path in paths]

    def frame(names: Sequence[str]) -> Any:
        reader = session.read.option("__globPaths__", "false")  # names are no patterns
        rows = reader.parquet(*files)
        every, unnamed = named(rows.columns)
        return _keyed(rows.toDF(*every) if unnamed else rows, names, schema)

    return Spark(name or str(paths[0]), schema, session, frame, rows=rows, **more)


def of_csv(
    session: Any, paths: Sequence[Path], dialects: Sequence[Dialect], name: str = "", **more: Any
) -> Spark:
    """CSV files, cut at line ends where that is safe; each piece is parsed by some worker."""
    schema = pa.schema([(column, pa.string()) for column in dialects[0].header])
    both = list(zip(paths, dialects, strict=True))
    pieces = [piece for path, dialect in both for piece in pieces_of(path, dialect)]

    def frame(names: Sequence[str]) -> Any:
        keys = [key(schema.names.index(column)) for column in names]
        numbers = session.range(0, len(pieces), 1, max(len(pieces), 1))
        kinds = ", ".join(f"{key} string" for key in keys)
        return numbers.mapInArrow(_parser(pieces, list(names), keys), kinds)

    def explain() -> None:
        """Read it here, for our own words on what is wrong with it."""
        for path, dialect in both:
            for _ in stream_csv(path, dialect, [schema.names[0]]):
                pass

    rows = sum(map(about_rows, paths))
    return Spark(
        name or str(paths[0]), schema, session, frame,
        rows=rows, exact=False, explain=explain, **more,
    )  # fmt: skip


def _parser(
    pieces: Sequence[Any], names: list[str], keys: list[str]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    known = [
        (str(p.path.resolve()), p.start, p.size, p.how, "gzip" if is_packed(p.path) else None)
        for p in pieces
    ]

    def parse(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        import pyarrow.csv as pcsv

        for number in (n for batch in numbers for n in batch.column(0).to_pylist()):
            path, start, size, how, packed = known[number]
            options = {
                "read_options": pcsv.ReadOptions(**how["read"]),
                "parse_options": pcsv.ParseOptions(**how["parse"]),
                "convert_options": pcsv.ConvertOptions(**how["convert"], include_columns=names),
            }
            if size is None:
                source = pa.input_stream(path, compression=packed) if packed else pa.OSFile(path)
            else:
                with open(path, "rb") as file:
                    file.seek(start)
                    lines = file.read(size)
                if not lines.strip(b"\r\n"):  # which Arrow would not take for a table
                    continue
                source = pa.BufferReader(lines)
            for batch in pcsv.open_csv(source, **options):
                yield pa.RecordBatch.from_arrays(batch.columns, keys)

    return parse


def of_frame(session: Any, data: Any, names: Sequence[str], **more: Any) -> Spark:
    """A Spark data frame, its columns called so."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import StringType

    keyed = data.toDF(*(key(i) for i in range(len(data.columns))))
    texts = [field.name for field in keyed.schema if isinstance(field.dataType, StringType)]
    for column in texts:  # texts that are equal by a collation are still two texts
        keyed = keyed.withColumn(column, F.col(column).cast("string"))
    kinds = [_in_utc(field.type) for field in keyed.limit(0).toArrow().schema]
    schema = pa.schema(list(zip(names, kinds, strict=True)))

    def frame(names: Sequence[str]) -> Any:
        return keyed.select([key(schema.names.index(name)) for name in names])

    source = Spark("data", schema, session, frame, rows=0, exact=False, **more)
    with source._in_our_words():
        source.rows = int(keyed.count())
    return source


def _in_utc(kind: pa.DataType) -> pa.DataType:
    """A type without what the settings of a session put into it."""
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return pa.timestamp(kind.unit, "UTC")
    return pa.string() if pa.types.is_large_string(kind) else kind


def of_arrow(
    session: Any, schema: pa.Schema, rows: int, stream: Callable[[Sequence[str]], Any], **more: Any
) -> Spark:
    """A table in memory, which is sent to Spark for each pass."""

    def frame(names: Sequence[str]) -> Any:
        return _keyed(session.createDataFrame(stream(names).read_all()), names, schema)

    return Spark("data", schema, session, frame, rows=rows, **more)


def _keyed(frame: Any, names: Sequence[str], schema: pa.Schema) -> Any:
    """Some columns of a data frame under their keys."""
    from pyspark.sql import functions as F

    quoted = {name: "`" + name.replace("`", "``") + "`" for name in names}
    return frame.select([F.col(quoted[n]).alias(key(schema.names.index(n))) for n in names])
