"""Slices as one table: rows to look at, and files that other programs read (Parquet, CSV, a view in a DuckDB database)."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import duckdb

from lakegate.contracts.errors import InputError
from lakegate.engine.measure.tables import database

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    import pyarrow as pa

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

    @property
    def query(self) -> str:
        """The rows in DuckDB's SQL. A column that only some slices have is null in the others."""
        files = ", ".join(_quoted(str(each.resolve())) for each in self.files)
        rows = f"SELECT * FROM read_parquet([{files}], union_by_name = true, hive_partitioning = false)"  # noqa: S608 - quoted
        return rows if self.as_of is None else f"{rows} WHERE event_time <= TIMESTAMPTZ '{self.as_of.isoformat()}'"

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
        quoted = name.replace('"', '""')
        with _failing():
            connection = duckdb.connect(str(path))
            try:
                connection.execute(f'CREATE VIEW "{quoted}" AS {self.query}')
            finally:
                connection.close()


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
