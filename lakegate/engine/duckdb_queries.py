"""SQL rules in DuckDB, each alone, under a time limit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby
from threading import Event, Timer
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

import duckdb

from lakegate.admission.file_signatures import UnreadableError
from lakegate.base.errors import InputError
from lakegate.contract.logical_types import LogicalType
from lakegate.engine.duckdb_guard import bound_spill, lock, unsafe
from lakegate.engine.evaluate.typed_values import rescale_decimal, sql_type, value_name
from lakegate.engine.read.data_source import Source, Store
from lakegate.engine.read.open_delivery import open_source
from lakegate.plan.check import ID, Check, Query, QueryColumn, QueryRelation
from lakegate.plan.metrics import Metric
from lakegate.plan.plan import Plan, PlanField
from lakegate.plan.request import AcceptedPart, Reference, StagedPart
from lakegate.plan.result import Measurement
from lakegate.verdict.measured_values import (
    FAILED,
    TOO_LARGE,
    TOO_SLOW,
    UNREAD,
    QueryResult,
    datasets_compared,
    lists_rows,
    measure_rows,
    seconds_each,
    why_not_compared,
)

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")

# ---- Accepted data of a reference: the objects that the request lists ----


OPERATION: Final = QueryColumn("op", LogicalType.INTEGER)
"""Of slices that correct earlier ones: the kind of each event (docs/odf.md)."""
TAKES_BACK: Final = "IN (1, 2)"
"""Operations of events that have all values of an earlier row, which is not current any more (`retract`, `correctFrom`)."""


def accepted_sources(reference: Reference, store: Store) -> Iterator[tuple[Plan, Source]]:
    """The accepted objects of a line as sources, one for each plan; of slices that correct earlier ones with OPERATION.

    InputError where an object or plan is not as requested.
    """
    for (uri, digest), parts in groupby(sorted(reference.parts, key=_plan_of), key=_plan_of):
        plan = Plan.from_bytes(store.part(uri, 0, store.size(uri)))
        if plan.digest != digest:
            raise InputError("the plan of accepted data is not the one the request names")
        if reference.is_corrected:
            operation = PlanField(OPERATION.field, f"c{len(plan.fields)}", OPERATION.type)
            plan = replace(plan.published, fields=(*plan.fields, operation))
        else:
            plan = plan.current
        yield plan, open_source(plan, tuple(StagedPart(part.uri, part.size) for part in parts), store)


def accepted_value(field: PlanField, column: QueryColumn) -> str:
    """A value of accepted data as the column of a query, in the SQL of both engines; null where it is not of the column's scale.

    `field` is that of the plan that accepted it.
    """
    value = value_name(field.alias)
    is_exact = field.type is LogicalType.DECIMAL and field.type is column.type
    return rescale_decimal(value, field.scale, column.scale) if is_exact and field.scale != column.scale else value


def _plan_of(part: AcceptedPart) -> tuple[str, str]:
    return part.plan_uri, part.plan_digest


# ---- The queries of a plan ----
# 1. The accepted data that queries refer to is loaded; then the connection is locked (`lakegate.engine.duckdb_guard`).
# 2. Every relation of a query becomes a view of typed columns: `r0`, `r1`, … with columns `c0`, `c1`, …. A value that is not of
#    its type is null there.
# 3. `lakegate.engine.duckdb_guard` inspects the tree that DuckDB parses from the query's text in its SQL.
# 4. It is executed, and interrupted when its time is over. Any failure is an error of that check, with a message without
#    values.


ROWS_OF_BATCH: Final = 100_000
"""Rows of a query that are written at once."""
FAILED_QUERY: Final = (
    "query-failed",
    (
        "The query of the dataset failed: it divides by zero, casts a text that is no number, or has a number beyond 64 bits. "
        "Guard it with CASE, NULLIF or TRY_CAST."
    ),
)
SLOW_QUERY: Final = (
    "query-too-slow",
    "The query of the dataset took too long: read fewer rows, or join on declared keys.",
)
UNREAD_INPUT: Final = ("input-unread", "Accepted data of an input could not be read: run `lakegate verify` for it.")
ABSENT_INPUT: Final = (
    "input-absent",
    "Nothing was accepted of an input yet, or its contract is not shared with this one.",
)
"""Codes and messages of a query whose rows are wanted."""


class Accepted(Protocol):
    """Loads the accepted rows of a line into a table of the connection, and returns its name.

    Its columns are `c0`, `c1`, … of these types, in order; NULL in data that is older than the field, and for values that are not
    of their type. InputError, UnreadableError or OSError if the data is not what the request lists.
    """

    def __call__(self, line: str, columns: tuple[QueryColumn, ...]) -> str:
        """Load them."""
        ...


@dataclass(frozen=True, slots=True)
class QueryTables:
    """The data that queries read."""

    plan: Plan
    now: str
    """The judging time."""
    delivered: str
    """Table of the judged records of the delivery, malformed ones left out: typed values as `v<alias>`."""
    accepted: Accepted
    references: tuple[Reference, ...] = ()
    """The accepted data that the request lists."""


@dataclass(frozen=True, slots=True)
class _Session:
    connection: duckdb.DuckDBPyConnection
    tables: QueryTables
    seconds: float
    rows: int
    loaded: dict[tuple[str, tuple[QueryColumn, ...]], str | None] = field(default_factory=dict)
    """Tables of accepted data; None if it could not be read."""


def run_queries(
    connection: duckdb.DuckDBPyConnection,
    checks: tuple[Check, ...],
    tables: QueryTables,
    limit: float | None = None,
    rows: int = 0,
) -> tuple[QueryResult, ...]:
    """Run the queries of these checks, in order; return their results, with the ids of the first `rows` rows that break a check.

    `limit`: seconds that each may take.

    The connection is locked down from then on, with the whole of its database.
    """
    session = _Session(connection, tables, limit if limit is not None else seconds_each(len(checks)), rows)
    for check in checks:
        _load(session, _query(check))
    bound_spill(connection)
    lock(connection)
    return tuple(_run_check(session, check) for check in checks)


def use_rows(
    connection: duckdb.DuckDBPyConnection, query: Query, tables: QueryTables, use: Callable[[pa.RecordBatchReader], T]
) -> T:
    """The result of a function that is given the rows of a query over accepted data alone, while time is left.

    The connection is locked from then on. UnreadableError where the rows cannot be computed.
    """
    session = _Session(connection, tables, seconds_each(1), 0)
    _load(session, query)
    if any(session.loaded.get((each.full_name or "", each.columns), "") is None for each in query.relations):
        raise UnreadableError(*UNREAD_INPUT)
    bound_spill(connection)
    lock(connection)
    views = [f"r{number}" for number in range(len(query.relations))]
    with within(session.seconds, connection.interrupt) as is_over:
        try:
            for view, relation in zip(views, query.relations, strict=True):
                rows = _relation(session, relation) or _no_rows(relation)
                connection.execute(f"CREATE OR REPLACE TEMP VIEW {view} AS {rows}")
            if unsafe(connection, query.duckdb, set(views)) is not None:
                raise UnreadableError(*FAILED_QUERY)
            bound = {f"t{number}": text for number, text in enumerate(query.texts)}
            return use(connection.sql(query.duckdb, params=bound).to_arrow_reader(ROWS_OF_BATCH))
        except duckdb.OutOfMemoryException:
            raise
        except duckdb.Error:
            raise UnreadableError(*(SLOW_QUERY if is_over.is_set() else FAILED_QUERY)) from None
        except OSError as error:  # what DuckDB raises while rows are read passes through Arrow
            if is_over.is_set():
                raise UnreadableError(*SLOW_QUERY) from None
            if "Out of Memory" in str(error):
                raise duckdb.OutOfMemoryException from None
            raise


def _no_rows(relation: QueryRelation) -> str:
    columns = ", ".join(f"CAST(NULL AS {sql_type(each)}) AS c{at}" for at, each in enumerate(relation.columns))
    return f"SELECT {columns}{', ' if columns else ''}1 AS row WHERE false"


def _query(check: Check) -> Query:
    assert check.query is not None
    return check.query


def _load(session: _Session, query: Query) -> None:
    """Load the accepted data that a query refers to, once."""
    references = session.tables.references
    if why_not_compared(references, datasets_compared(query)) is not None:
        return
    for relation in query.relations:
        if (
            relation.full_name is None
            or why_not_compared(references, [relation.full_name]) is not None
            or (relation.full_name, relation.columns) in session.loaded
        ):
            continue
        try:
            session.loaded[relation.full_name, relation.columns] = session.tables.accepted(
                relation.full_name, relation.columns
            )
        except (InputError, UnreadableError, OSError):
            session.loaded[relation.full_name, relation.columns] = None


def _run_check(session: _Session, check: Check) -> QueryResult:
    query = _query(check)
    missing = why_not_compared(session.tables.references, datasets_compared(query))
    if missing is not None:
        return QueryResult(Measurement(check.id, skip=missing))
    if any(
        relation.full_name and session.loaded.get((relation.full_name, relation.columns), "") is None
        for relation in query.relations
    ):
        return QueryResult(Measurement(check.id, error=UNREAD))
    views = [f"r{number}" for number in range(len(query.relations))]
    with within(session.seconds, session.connection.interrupt) as is_over:
        try:
            for view, relation in zip(views, query.relations, strict=True):
                session.connection.execute(f"CREATE OR REPLACE TEMP VIEW {view} AS {_relation(session, relation)}")
            measurement = measure_rows(check, _fetched(session, query, set(views), "LIMIT 2"))
            return QueryResult(
                measurement, _ids(session, check) if lists_rows(check, measurement.accept, session.rows) else ()
            )
        except duckdb.OutOfMemoryException:
            return QueryResult(Measurement(check.id, error=TOO_LARGE))
        except duckdb.Error:
            # DuckDB's message may contain values of the data: it is not repeated.
            return QueryResult(Measurement(check.id, error=TOO_SLOW if is_over.is_set() else FAILED))


def _fetched(session: _Session, query: Query, views: set[str], most: str) -> list[tuple[object, ...]] | None:
    """The rows that a query returns; None if the guard refuses it."""
    if unsafe(session.connection, query.duckdb, views) is not None:
        return None
    values = query.bound(session.tables.now)
    bound = {name: values[name] for name in _PARAMETER.findall(query.duckdb) if name in values}
    limited = f"SELECT * FROM ({query.duckdb}) {most}"  # noqa: S608 - inspected by the guard
    return session.connection.execute(limited, bound).fetchall()


_PARAMETER = re.compile(r"\$(now|t[0-9]{1,4})\b")


def _ids(session: _Session, check: Check) -> tuple[int, ...]:
    """The first rows that break a check; empty if the engine can count but not list them."""
    query = _query(check)
    try:
        if check.metric is Metric.UNMATCHED_ROWS:
            found = session.connection.execute(_unmatched(session, query.relations[0])).fetchall()
        else:
            assert query.of_rows is not None
            relation = _relation(session, query.of_rows.relations[0])
            session.connection.execute(f"CREATE OR REPLACE TEMP VIEW r0 AS {relation}")
            found = _fetched(session, query.of_rows, {"r0"}, f"ORDER BY 1 LIMIT {session.rows}") or []
    except duckdb.Error:
        return ()
    return tuple(int(str(row[0])) for row in found)


def _unmatched(session: _Session, own: QueryRelation) -> str:
    """The rows with a whole key that none of the accepted ones (the view `r1`) equals."""
    keys = [value_name(session.tables.plan.field(column.field).alias) for column in own.columns]
    whole = " AND ".join(f"d.{key} IS NOT NULL" for key in keys)
    equal = " AND ".join(f"r1.c{at} = d.{key}" for at, key in enumerate(keys))
    found = f"SELECT 1 FROM r1 WHERE {equal}"  # noqa: S608 - generated names
    listed = f"SELECT d.id FROM {session.tables.delivered} d WHERE {whole} AND NOT EXISTS ({found})"  # noqa: S608 - likewise
    return f"{listed} ORDER BY d.id LIMIT {session.rows}"


def _relation(session: _Session, relation: QueryRelation) -> str:
    selects = []
    if relation.delivered:
        names = (
            "id" if column == ID else value_name(session.tables.plan.field(column.field).alias)
            for column in relation.columns
        )
        columns = [f"{name} AS c{at}" for at, name in enumerate(names)]
        selects.append(_select(columns, session.tables.delivered))
    table = session.loaded.get((relation.full_name, relation.columns)) if relation.full_name is not None else None
    if table is not None:
        casts = [f"CAST(c{at} AS {sql_type(column)}) AS c{at}" for at, column in enumerate(relation.columns)]
        selects.append(_select(casts, table))
    return " UNION ALL ".join(selects)


def _select(columns: list[str], table: str) -> str:
    quoted = table.replace('"', '""')
    return f'SELECT {", ".join([*columns, "1 AS row"])} FROM "{quoted}"'  # noqa: S608 - names of our own alone


@contextmanager
def within(seconds: float, interrupt: Callable[[], None]) -> Iterator[Event]:
    """A time limit for the block, after which it is interrupted; the event is set if it was."""
    is_over = Event()

    def end() -> None:
        is_over.set()
        interrupt()

    timer = Timer(seconds, end)
    timer.start()
    try:
        yield is_over
    finally:
        timer.cancel()
