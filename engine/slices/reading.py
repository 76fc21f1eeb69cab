"""Slices as one table: rows to look at, and files that other programs read (Parquet, CSV, a view in a DuckDB database)."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import duckdb
import pyarrow as pa

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


@dataclass(frozen=True, slots=True)
class SliceTable:
    """Slices of one line, in the order of their offsets; there is at least one."""

    files: Sequence[Path]
    as_of: datetime | None = None
    """Rows of later events are left out."""
    events: bool = False
    """All events; else rows that were retracted or corrected are left out, with the events that remove them."""

    @property
    def query(self) -> str:
        """The rows in DuckDB's SQL. A column that only some slices have is null in the others."""
        files = ", ".join(_quoted(str(each.resolve())) for each in self.files)
        rows = f"SELECT * FROM read_parquet([{files}], union_by_name = true, hive_partitioning = false)"  # noqa: S608 - quoted
        if self.as_of is not None:
            rows = f"{rows} WHERE event_time <= TIMESTAMPTZ '{self.as_of.isoformat()}'"
        names = () if self.events else _own_columns(self.files)
        return _left(rows, names) if names else rows

    def count(self, folder: Path) -> int:
        """Rows."""
        with _opened(folder) as connection:
            found = connection.execute(f"SELECT count(*) FROM ({self.query})").fetchall()  # noqa: S608 - quoted above
        return int(found[0][0])

    def first(self, limit: int, folder: Path) -> pa.Table:
        """The first rows."""
        with _opened(folder) as connection:
            return connection.sql(f"{self.query} LIMIT {limit:d}").to_arrow_table()

    def write(self, path: Path, folder: Path) -> None:
        """Write the rows to a file of one of FORMS."""
        with _opened(folder) as connection:
            connection.execute(f"COPY ({self.query}) TO {_quoted(str(path.resolve()))} ({FORMS[path.suffix]})")

    def write_view(self, path: Path, name: str) -> None:
        """Write a DuckDB database with one view, which reads the slices where they are."""
        with _failing():
            connection = duckdb.connect(str(path))
            try:
                connection.execute(f"CREATE VIEW {_name(name)} AS {self.query}")
            finally:
                connection.close()


def _left(rows: str, names: tuple[str, ...]) -> str:
    """Of equal rows the last ones, as many as were added (`append`, `correctTo`) more often than removed.

    A `retract` or `correctFrom` has all values of the row that it removes, so no key is needed. `names`: the columns compared.
    """
    values = ", ".join(map(_name, names))
    return (
        f'WITH events AS ({rows}) SELECT * FROM events WHERE "offset" IN (SELECT place FROM ('  # noqa: S608 - quoted
        'SELECT "offset" AS place, op IN (1, 2) AS is_end, '
        f'row_number() OVER (PARTITION BY {values}, op IN (1, 2) ORDER BY "offset") AS nth, '
        f"count(*) FILTER (WHERE op IN (1, 2)) OVER (PARTITION BY {values}) AS ended FROM events"
        ') WHERE NOT is_end AND nth > ended) ORDER BY "offset"'
    )


def _own_columns(files: Sequence[Path]) -> tuple[str, ...]:
    """The columns after the common ones; none where no event removes a row, by the statistics of the files. InputError."""
    from pyarrow.parquet import ParquetFile  # noqa: PLC0415 - 30 ms that a question without slices does not need

    names: dict[str, None] = {}
    takes_back = False
    for path in files:
        try:
            with ParquetFile(path) as parquet:
                names |= dict.fromkeys(parquet.schema_arrow.names)
                takes_back |= _takes_back(parquet)
        except (pa.ArrowException, OSError):
            raise InputError(f"the slices cannot be read: {path.name} is no Parquet file, or is damaged") from None
    return tuple(each for each in names if each not in COMMON) if takes_back else ()


def _takes_back(parquet: Any) -> bool:  # noqa: ANN401 - Arrow ships no types
    """Whether a slice may have other operations than to append."""
    about = parquet.metadata
    at = next((at for at in range(about.num_columns) if about.schema.column(at).path == COMMON[1]), None)
    if at is None:
        return False
    found = [about.row_group(group).column(at).statistics for group in range(about.num_row_groups)]
    return any(each is None or not each.has_min_max or each.max > 0 for each in found)


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


@contextmanager
def _opened(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database that spills to a folder. InputError where a file cannot be read or written."""
    with _failing():
        connection = database(folder, _MEMORY)
        try:
            connection.execute(f"SET threads = {os.cpu_count() or 1:d}")
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
