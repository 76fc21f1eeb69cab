"""Queries of a plan, each asked by itself of a locked-down DuckDB, apart from the shared scan and under a time limit.

1. The accepted data that queries refer to is loaded; then the connection is locked (`lakegate.engine.query.lock`).
2. Every relation of a query becomes a view of typed columns: `r0`, `r1`, … with columns `c0`, `c1`, …. A value that is not of its
   type is null there.
3. The query's text is said in DuckDB's SQL (`lakegate.engine.query.reader`), and `lakegate.engine.query.guard` looks at
   what DuckDB parsed of it.
4. It is asked, and interrupted when its time is over. Whatever happens is that check's error, in words without values.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import duckdb

from lakegate.contracts.door.file_signatures import UnreadableError
from lakegate.contracts.errors import InputError
from lakegate.contracts.judge.answers import (
    FAILED,
    REFUSED,
    SEVERAL_ROWS,
    TOO_SLOW,
    UNREAD,
    Answer,
    lacking,
    lines_compared,
    lists_rows,
    measured,
    seconds_each,
)
from lakegate.contracts.plan.metrics import Metric
from lakegate.contracts.plan.query import ID
from lakegate.contracts.plan.result import Measurement
from lakegate.engine.query.guard import unsafe
from lakegate.engine.query.lock import lock
from lakegate.engine.query.reader import say
from lakegate.engine.query.value import TYPES, UnreadError
from lakegate.engine.type.values import value_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contracts.plan.check import Check
    from lakegate.contracts.plan.plan import Plan
    from lakegate.contracts.plan.query import Query, QueryColumn, QueryRelation
    from lakegate.contracts.plan.request import Reference


class Accepted(Protocol):
    """Loads the accepted rows of a line into a table of the connection, and says its name.

    Its columns are `c0`, `c1`, … of the given types, in order; NULL in data from before a field was there, and for values that
    are not of their type. InputError, UnreadableError or OSError where the data is not what the request says.
    """

    def __call__(self, line: str, columns: tuple[QueryColumn, ...]) -> str:
        """Load them."""
        ...


@dataclass(frozen=True, slots=True)
class Tables:
    """What queries are asked of."""

    plan: Plan
    now: str
    """The judging time."""
    delivered: str
    """Table of the judged records of the delivery, malformed ones left out: typed values as `v<alias>`."""
    accepted: Accepted
    references: tuple[Reference, ...] = ()
    """What the request lists of accepted data."""


@dataclass(frozen=True, slots=True)
class _Asker:
    connection: duckdb.DuckDBPyConnection
    tables: Tables
    seconds: float
    rows: int
    loaded: dict[tuple[str, tuple[QueryColumn, ...]], str | None] = field(default_factory=dict)
    """Tables of accepted data; None where it could not be read."""


def ask(
    connection: duckdb.DuckDBPyConnection,
    checks: tuple[Check, ...],
    tables: Tables,
    limit: float | None = None,
    rows: int = 0,
) -> tuple[Answer, ...]:
    """The answers of these checks' queries, in order, with the ids of the first `rows` rows that break a check.

    `limit`: seconds that each may take.

    The connection is locked down from then on, with the whole of its database.
    """
    asker = _Asker(connection, tables, limit if limit is not None else seconds_each(len(checks)), rows)
    for check in checks:
        _load(asker, _query(check))
    lock(connection)
    return tuple(_asked(asker, check) for check in checks)


def _query(check: Check) -> Query:
    assert check.query is not None
    return check.query


def _load(asker: _Asker, query: Query) -> None:
    """Load the accepted data that a query refers to, once."""
    given = asker.tables.references
    if lacking(given, lines_compared(query)) is not None:
        return
    for each in query.relations:
        if each.line is None or lacking(given, [each.line]) is not None or (each.line, each.columns) in asker.loaded:
            continue
        try:
            asker.loaded[each.line, each.columns] = asker.tables.accepted(each.line, each.columns)
        except (InputError, UnreadableError, OSError):
            asker.loaded[each.line, each.columns] = None


def _asked(asker: _Asker, check: Check) -> Answer:
    query = _query(check)
    missing = lacking(asker.tables.references, lines_compared(query))
    if missing is not None:
        return Answer(Measurement(check.id, skip=missing))
    if any(each.line and asker.loaded.get((each.line, each.columns), "") is None for each in query.relations):
        return Answer(Measurement(check.id, error=UNREAD))
    views = [f"r{number}" for number in range(len(query.relations))]
    with _within(asker.connection, asker.seconds) as is_over:
        try:
            for view, relation in zip(views, query.relations, strict=True):
                asker.connection.execute(f"CREATE OR REPLACE TEMP VIEW {view} AS {_relation(asker, relation)}")
            found = _answer(asker, check, query, set(views))
            return Answer(found, _ids(asker, check) if lists_rows(check, found.accept, asker.rows) else ())
        except UnreadError:
            return Answer(Measurement(check.id, error=REFUSED))
        except duckdb.Error:
            # DuckDB's words may hold values of the data: none of them is repeated.
            return Answer(Measurement(check.id, error=TOO_SLOW if is_over.is_set() else FAILED))


def _answer(asker: _Asker, check: Check, query: Query, views: set[str]) -> Measurement:
    rows = _fetched(asker, query, views, "LIMIT 2")
    if rows is None:
        return Measurement(check.id, error=REFUSED)
    if len(rows) > 1:
        return Measurement(check.id, error=SEVERAL_ROWS)
    return Measurement(check.id, accept=measured(check, rows[0] if rows else None))


def _fetched(asker: _Asker, query: Query, views: set[str], most: str) -> list[tuple[object, ...]] | None:
    """The rows that a query answers with; None where the guard refuses it."""
    said = say(query)
    if unsafe(asker.connection, said.text, views) is not None:
        return None
    values = {f"t{number}": text for number, text in enumerate(query.texts)} | {"now": asker.tables.now}
    asked = f"SELECT * FROM ({said.text}) {most}"  # noqa: S608 - written by us, and looked at by the guard
    return asker.connection.execute(asked, {name: values[name] for name in said.bound}).fetchall()


def _ids(asker: _Asker, check: Check) -> tuple[int, ...]:
    """The first rows that break a check; none where the engine can count them and cannot list them: the number stands alone."""
    query = _query(check)
    try:
        if check.metric is Metric.UNMATCHED_ROWS:
            found = asker.connection.execute(_unmatched(asker, query.relations[0])).fetchall()
        else:
            assert query.of_rows is not None
            relation = _relation(asker, query.of_rows.relations[0])
            asker.connection.execute(f"CREATE OR REPLACE TEMP VIEW r0 AS {relation}")
            found = _fetched(asker, query.of_rows, {"r0"}, f"ORDER BY 1 LIMIT {asker.rows}") or []
    except duckdb.Error:
        return ()
    return tuple(int(str(row[0])) for row in found)


def _unmatched(asker: _Asker, own: QueryRelation) -> str:
    """The rows with a whole key that none of the accepted ones (the view `r1`) equals."""
    keys = [value_name(asker.tables.plan.field(column.field).alias) for column in own.columns]
    whole = " AND ".join(f"d.{key} IS NOT NULL" for key in keys)
    equal = " AND ".join(f"r1.c{at} = d.{key}" for at, key in enumerate(keys))
    found = f"SELECT 1 FROM r1 WHERE {equal}"  # noqa: S608 - generated names
    listed = f"SELECT d.id FROM {asker.tables.delivered} d WHERE {whole} AND NOT EXISTS ({found})"  # noqa: S608 - likewise
    return f"{listed} ORDER BY d.id LIMIT {asker.rows}"


def _relation(asker: _Asker, relation: QueryRelation) -> str:
    selects = []
    if relation.delivered:
        columns = [f"{_column(asker, column)} AS c{at}" for at, column in enumerate(relation.columns)]
        selects.append(_select(columns, asker.tables.delivered))
    table = asker.loaded.get((relation.line, relation.columns)) if relation.line is not None else None
    if table is not None:
        casts = [f"CAST(c{at} AS {TYPES[column.type].value}) AS c{at}" for at, column in enumerate(relation.columns)]
        selects.append(_select(casts, table))
    return " UNION ALL ".join(selects)


def _column(asker: _Asker, column: QueryColumn) -> str:
    return "id" if column == ID else value_name(asker.tables.plan.field(column.field).alias)


def _select(columns: list[str], table: str) -> str:
    quoted = table.replace('"', '""')
    return f'SELECT {", ".join([*columns, "1 AS row"])} FROM "{quoted}"'  # noqa: S608 - names of our own alone


@contextmanager
def _within(connection: duckdb.DuckDBPyConnection, seconds: float) -> Iterator[threading.Event]:
    """A time after which what the connection does is interrupted; the event tells that it was."""
    is_over = threading.Event()

    def interrupt() -> None:
        is_over.set()
        connection.interrupt()

    timer = threading.Timer(seconds, interrupt)
    timer.start()
    try:
        yield is_over
    finally:
        timer.cancel()
