"""Queries over the tables of chunks, each planned once for all chunks with the same columns.

DuckDB plans a query of a hundred columns in 20 ms, and evaluates it over a chunk of some thousand records in less.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from lakegate.engine.evaluate.predicate_sql import SOURCE

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

MOST_PLANNED: Final = 64
"""Queries whose plans are kept."""
_NUMBERS: Final = count()
"""Of names, so that several may use a connection, one after the other."""


class _Current:
    """The table that a name of the database stands for: the one that is queried at the moment."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:  # noqa: ANN401 - Arrow's interface of streams
        return self.table.__arrow_c_stream__(requested_schema)


class ChunkQueries:
    """Queries of one connection, which one thread uses at a time: SQL over `chunk`, made of names and constants of our own."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection
        self._sources: dict[pa.Schema, tuple[str, _Current]] = {}
        self._planned: dict[str, str] = {}

    def table(self, table: pa.Table, query: str) -> pa.Table:
        """The result of a query over a table, with as many columns as it likes."""
        with self._planned_for(table, query) as execute:
            return self.connection.sql(execute).to_arrow_table()

    def row(self, table: pa.Table, query: str) -> tuple[Any, ...]:
        """The only row of a result."""
        with self._planned_for(table, query) as execute:
            (row,) = self.connection.execute(execute).fetchall()
            return row

    def run(self, table: pa.Table, query: str) -> None:
        """Run a statement that inserts rows of a table."""
        with self._planned_for(table, query) as execute:
            self.connection.execute(execute)

    @contextmanager
    def _planned_for(self, table: pa.Table, query: str) -> Iterator[str]:
        """The statement that executes a query over this table."""
        if len(self._planned) >= MOST_PLANNED:
            self._forget()
        if table.schema not in self._sources:
            source = f"{SOURCE}{next(_NUMBERS)}", _Current(table)
            self._sources[table.schema] = source
            self.connection.register(*source)
        name, current = self._sources[table.schema]
        current.table = table
        sql = f"WITH {SOURCE} AS (FROM {name}) {query}"
        if sql not in self._planned:
            statement = f"planned{next(_NUMBERS)}"
            self.connection.execute(f"PREPARE {statement} AS {sql}")
            self._planned[sql] = statement
        try:
            yield f"EXECUTE {self._planned[sql]}"
        finally:
            current.table = table.slice(0, 0)

    def _forget(self) -> None:
        """Give up all plans."""
        for statement in self._planned.values():
            self.connection.execute(f"DEALLOCATE {statement}")
        for name, _ in self._sources.values():
            self.connection.unregister(name)
        self._planned, self._sources = {}, {}
