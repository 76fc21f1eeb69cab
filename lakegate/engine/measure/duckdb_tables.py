"""Tables of the engine's database: keys, numbers of quantiles and values that queries read, one row for each judged record.

DuckDB spills them to disk beyond its memory limit. `id` contains the number of the share above `POSITION_BITS` and the line in
it below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from lakegate.engine.evaluate import json_documents, pattern_search
from lakegate.engine.evaluate.predicate_sql import SOURCE, Program
from lakegate.engine.evaluate.typed_values import sql_type, value_name
from lakegate.engine.read.data_source import AT, ROW
from lakegate.plan.check import Keys, keys_of, tiers_of
from lakegate.plan.metrics import Metric

if TYPE_CHECKING:
    from lakegate.engine.measure.chunk_queries import ChunkQueries

    Sharing = Callable[[Program, Keys, int], pa.Table]
    """The `id` of the first so many records that share their key with another, by key and place, and of elements their
    `place`."""
    Shared = Callable[[Program, Keys], Iterator[pa.Array]]
    """The `id` of all records that share their key with another, or have an element that does: some at a time, in any order,
    and as often as they have one."""

POSITION_BITS = 33
RECORDS = "records"
"""The table of the records themselves."""
SHARED = "shared"
"""Keys that several records have, in queries."""
MAX_IDS = 1 << 17
"""Ids of records that are in memory at a time."""
DATABASE_MEMORY = "1GB"
"""The limit in `lakegate check`, the judge function and the job's driver; tasks have their own (`lakegate.spark.spark_tasks`)."""


def database(folder: Path, memory: str = DATABASE_MEMORY) -> duckdb.DuckDBPyConnection:
    """An empty database in bounded memory that loads no extension and spills to a folder."""
    connection = duckdb.connect(
        ":memory:",
        config={
            "threads": 1,
            "memory_limit": memory,
            "temp_directory": str(folder),
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        },
    )
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET enable_progress_bar = false")  # it is printed among the output of a slow machine
    pattern_search.register(connection)
    json_documents.register(connection)
    return connection


def table_name(program: Program) -> str:
    """The table of a level."""
    levels = list(dict.fromkeys(field.level for field in program.plan.fields if field.level))
    return f"elements{levels.index(program.level)}" if program.level else RECORDS


def table_columns(program: Program) -> dict[str, str]:
    """The columns of a level's table beside `id`, with their types."""
    by_alias = {field.alias: field for field in program.plan.fields}
    values = {value_name(alias): sql_type(by_alias[alias]) for alias in sorted(program.kept)}
    keys = [each for check in program.checks for tier in tiers_of(check) if (each := keys_of(check, tier))]
    flags = [program.populations[key.population] for key in keys]
    flags += [program.predicates[key.predicate] for key in keys if key.predicate is not None]
    numbers = {program.number(check): "DOUBLE" for check in program.checks if check.metric is Metric.QUANTILE}
    places = {AT: "VARCHAR"} if program.has_places else {}
    return places | values | dict.fromkeys(flags, "BOOLEAN") | numbers


def is_stored(program: Program) -> bool:
    """Whether a level needs a table."""
    return program.is_queried or bool(table_columns(program))


def create(connection: duckdb.DuckDBPyConnection, program: Program) -> None:
    """Create the table of a level, where it needs one."""
    if is_stored(program):
        columns = "".join(f", {name} {kind}" for name, kind in table_columns(program).items())
        connection.execute(f"CREATE TABLE {table_name(program)} (id BIGINT{columns})")


def append(queries: ChunkQueries, program: Program, bits: pa.Table, share: int) -> None:
    """Append the result of a program for a chunk to the table of its level, where it has one."""
    if is_stored(program):
        ids = pc.add(bits.column(ROW), share << POSITION_BITS)
        stored = pa.table({"id": ids, **{name: bits.column(name) for name in table_columns(program)}})
        queries.run(stored, f"INSERT INTO {table_name(program)} BY NAME FROM {SOURCE}")


def identity(program: Program) -> tuple[str, ...]:
    """The columns that identify the record or the element of a stored row."""
    return ("id", AT) if program.has_places else ("id",)


def groups(program: Program, keys: Keys) -> str:
    """A SELECT of how often (`n`) each key occurs, and whether all its rows meet the predicate (`meets`)."""
    meets = f"bool_and(NOT {program.predicates[keys.predicate]})" if keys.predicate is not None else "true"
    return f"SELECT {', '.join(_key_columns(program, keys))}, count(*) AS n, {meets} AS meets {_of(program, keys)} GROUP BY ALL"


def sharing(connection: duckdb.DuckDBPyConnection, program: Program, keys: Keys, limit: int) -> pa.Table:
    """First the keys, then the records that have one of these few, of whatever number."""
    names = [f"k{at}" for at in range(len(keys.fields))]
    first = ", ".join(f"{name} NULLS FIRST" for name in names)
    few = f"SELECT {', '.join(names)} FROM ({groups(program, keys)}) WHERE n > 1 ORDER BY {first} LIMIT {limit}"  # noqa: S608 - generated names
    connection.register(SHARED, connection.sql(few).to_arrow_table())
    own = ", ".join(identity(program))
    return (
        connection.sql(f"{_having(program, keys)} ORDER BY {first}, {own} LIMIT {limit}")
        .to_arrow_table()
        .select(identity(program))
    )


def find_shared(connection: duckdb.DuckDBPyConnection, program: Program, keys: Keys) -> Iterator[pa.Array]:
    """See `Shared`."""
    many = f"SELECT * EXCLUDE (n, meets) FROM ({groups(program, keys)}) WHERE n > 1"  # noqa: S608 - generated names
    query = f"WITH {SHARED} AS ({many}) {_having(program, keys)}"
    for batch in connection.sql(query).select("id").to_arrow_reader(MAX_IDS):
        yield batch.column("id")


def _having(program: Program, keys: Keys) -> str:
    """A SELECT of the ids and the keys (`k0`, …) of the records that have one of the keys in `SHARED`."""
    columns = _key_columns(program, keys)
    rows = f"SELECT {', '.join([*identity(program), *columns])} {_of(program, keys)}"
    same = " AND ".join(f"own.k{at} IS NOT DISTINCT FROM {SHARED}.k{at}" for at in range(len(columns)))
    return f"SELECT own.* FROM ({rows}) own SEMI JOIN {SHARED} ON {same}"  # noqa: S608 - generated names


def _of(program: Program, keys: Keys) -> str:
    return f"FROM {table_name(program)} WHERE {program.populations[keys.population]}"


def _key_columns(program: Program, keys: Keys) -> list[str]:
    """The columns of a key's parts; 0 and -0 are one number."""
    fields = [program.plan.field(name) for name in keys.fields]
    is_float = {field.alias: sql_type(field) == "DOUBLE" for field in fields}
    return [
        f"{value_name(field.alias)} + 0.0 AS k{at}" if is_float[field.alias] else f"{value_name(field.alias)} AS k{at}"
        for at, field in enumerate(fields)
    ]
