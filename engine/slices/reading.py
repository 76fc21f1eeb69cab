"""Slices as one table: rows to look at, and files that other programs read (Parquet, CSV, a view in a DuckDB database)."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from lakegate.contracts.errors import InputError
from lakegate.contracts.odf.columns import COMMON
from lakegate.engine.measure.tables import database

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

FORMS: Final = {
    ".parquet": "FORMAT parquet, COMPRESSION zstd",
    ".csv": "FORMAT csv, HEADER true, TIMESTAMPFORMAT '%Y-%m-%dT%H:%M:%S.%fZ'",
}
"""Options of DuckDB's COPY by the suffix of a file."""
_MEMORY: Final = "4GB"
_BATCH: Final = 1 << 16
"""Rows that are in memory at a time."""
_BY_STATISTICS: Final = (
    "cte_filter_pusher",
    "filter_pushdown",
    "join_filter_pushdown",
    "late_materialization",
    "limit_pushdown",
    "partial_aggregate_pushdown",
    "row_group_pruner",
    "statistics_propagation",
    "top_n",
)
"""What DuckDB does by the statistics in files, which no hash of their rows covers."""


@dataclass(frozen=True, slots=True)
class SliceTable:
    """Slices of one line, in the order of their offsets; there is at least one."""

    files: Sequence[Path]
    as_of: datetime | None = None
    """Rows of later events are left out."""
    events: bool = False
    """All events; else rows that were retracted or corrected are left out, with the events that remove them."""

    def count(self, folder: Path) -> int:
        """Rows."""
        with _opened(folder) as connection:
            found = connection.execute(f"SELECT count(*) FROM ({self._rows.query})").fetchall()  # noqa: S608 - generated names
        return int(found[0][0])

    def first(self, limit: int, folder: Path) -> pa.Table:
        """The first rows."""
        rows = self._rows
        with _opened(folder) as connection:
            found = connection.sql(f"{rows.ordered} LIMIT {limit:d}").to_arrow_table()
        return found.rename_columns(list(rows.names))

    def write(self, path: Path, folder: Path) -> None:
        """Write the rows to a file of one of FORMS. InputError where its form has no names that differ in their case alone."""
        rows = self._rows
        with _opened(folder) as connection:
            if not rows.same_but_for_case:
                query = f"SELECT {rows.named} FROM ({rows.ordered})"  # noqa: S608 - quoted
                connection.execute(f"COPY ({query}) TO {_quoted(str(path.resolve()))} ({FORMS[path.suffix]})")
                return
            rows.refuse_case(path.suffix)
            _write_parquet(path, connection.sql(rows.ordered).to_arrow_reader(_BATCH), rows.names)

    def write_view(self, path: Path, name: str) -> None:
        """Write a DuckDB database with one view, which reads the slices where they are. InputError likewise."""
        rows = self._rows
        rows.refuse_case(path.suffix)
        with _failing():
            connection = duckdb.connect(str(path))
            try:
                connection.execute(f"CREATE VIEW {_name(name)} AS SELECT {rows.named} FROM ({rows.query})")  # noqa: S608 - quoted
            finally:
                connection.close()

    @property
    def _rows(self) -> _Rows:
        """InputError where a file is no Parquet file."""
        schemas: dict[pa.Schema, list[str]] = {}
        is_taken_back = False
        for path in self.files:
            schema, takes_back = _described(path)
            schemas.setdefault(schema, []).append(_quoted(str(path.resolve())))
            is_taken_back |= takes_back
        return _Rows(schemas, self.as_of, is_taken_back and not self.events)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of slices in DuckDB's SQL. Names have a case in ODF and none in DuckDB, so columns are `c0`, `c1`, ….

    A column that only some slices have is null in the others.
    """

    files: dict[pa.Schema, list[str]]
    """The quoted paths of the files of each schema."""
    as_of: datetime | None
    leaves_out: bool
    """Whether rows that were retracted or corrected are left out, with the events that remove them."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of all columns, in the order of the first files that have them."""
        return tuple(dict.fromkeys(name for schema in self.files for name in schema.names))

    @property
    def named(self) -> str:
        """The columns under their names."""
        return ", ".join(f"c{at} AS {_name(each)}" for at, each in enumerate(self.names))

    @property
    def same_but_for_case(self) -> list[str]:
        """Two names that DuckDB takes for one, if there are any."""
        known: dict[str, str] = {}
        pairs = ([known.setdefault(each.lower(), each), each] for each in self.names)
        return next((pair for pair in pairs if pair[0] != pair[1]), [])

    def refuse_case(self, suffix: str) -> None:
        """InputError where a form cannot have the names."""
        if self.same_but_for_case and suffix != ".parquet":
            words = " and ".join(self.same_but_for_case)
            raise InputError(
                f"the columns {words} differ in their case alone, which {suffix} cannot have: name a .parquet file"
            )

    @property
    def query(self) -> str:
        """The rows; files of one schema are read together."""
        names = self.names
        read = (
            f"SELECT * FROM read_parquet([{', '.join(files)}], hive_partitioning = false) "  # noqa: S608 - quoted
            f"AS t({', '.join(f'c{names.index(name)}' for name in schema.names)})"
            for schema, files in self.files.items()
        )
        columns = ", ".join(f"c{at}" for at in range(len(names)))
        rows = f"SELECT {columns} FROM ({' UNION ALL BY NAME '.join(read)})"  # noqa: S608 - generated names
        if self.as_of is not None:
            rows = f"{rows} WHERE {self._common('event_time')} <= TIMESTAMPTZ '{self.as_of.isoformat()}'"
        return self._left(rows) if self.leaves_out else rows

    @property
    def ordered(self) -> str:
        """The rows in the order of their offsets, which files of one schema have."""
        if len(self.files) == 1 and not self.leaves_out:
            return self.query
        return f"SELECT * FROM ({self.query}) ORDER BY {self._common('offset')}"  # noqa: S608 - generated names

    def _common(self, name: str) -> str:
        return f"c{self.names.index(name)}"

    def _left(self, rows: str) -> str:
        """Of equal rows the last ones, as many as were added (`append`, `correctTo`) more often than removed.

        A `retract` or `correctFrom` has all values of the row that it removes, so no key is needed.
        """
        offset, op = self._common(COMMON[0]), self._common(COMMON[1])
        own = [f"c{at}" for at, name in enumerate(self.names) if name not in COMMON]
        same = f"PARTITION BY {', '.join([*own, ''])}{op} IN (1, 2) ORDER BY {offset}"
        values = f"PARTITION BY {', '.join(own)}" if own else ""
        return (
            f"WITH events AS ({rows}) SELECT * FROM events WHERE {offset} IN (SELECT place FROM ("  # noqa: S608 - generated names
            f"SELECT {offset} AS place, {op} IN (1, 2) AS is_end, row_number() OVER ({same}) AS nth, "
            f"count(*) FILTER (WHERE {op} IN (1, 2)) OVER ({values}) AS ended FROM events"
            ") WHERE NOT is_end AND nth > ended)"
        )


def _described(path: Path) -> tuple[pa.Schema, bool]:
    """The columns of a slice, and whether it has other operations than to append; its statistics may be wrong. InputError."""
    from pyarrow.parquet import ParquetFile  # noqa: PLC0415 - 30 ms that a question without slices does not need

    try:
        with ParquetFile(path) as parquet:
            schema = parquet.schema_arrow.remove_metadata()
            operations = (each.column(0) for each in parquet.iter_batches(columns=[COMMON[1]]))
            takes_back = COMMON[1] in schema.names and any(pc.any(pc.greater(each, 0)).as_py() for each in operations)
    except (pa.ArrowException, OSError):
        raise InputError(f"the slices cannot be read: {path.name} is no Parquet file, or is damaged") from None
    return schema, takes_back


def _write_parquet(path: Path, rows: pa.RecordBatchReader, names: tuple[str, ...]) -> None:
    from pyarrow.parquet import ParquetWriter  # noqa: PLC0415 - likewise

    schema = pa.schema([each.with_name(name) for each, name in zip(rows.schema, names, strict=True)])
    with ParquetWriter(path, schema, compression="zstd") as writer:
        for batch in rows:
            writer.write_batch(batch.rename_columns(list(names)))


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


@contextmanager
def _opened(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database that spills to a folder. InputError where a file cannot be read or written."""
    with _failing():
        connection = database(folder, _MEMORY)
        try:
            connection.execute(f"SET threads = {os.cpu_count() or 1:d}")
            connection.execute(f"SET disabled_optimizers = '{','.join(_BY_STATISTICS)}'")
            yield connection
        finally:
            connection.close()


@contextmanager
def _failing() -> Iterator[None]:
    try:
        yield
    except duckdb.Error as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"the slices cannot be read, or the file cannot be written: {reason}") from None


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
