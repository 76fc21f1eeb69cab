"""Queries of a plan, each asked by itself, apart from the shared scan and under a time limit.

1. Every relation of a query becomes a view of typed columns: `r0`, `r1`, … with columns `c0`, `c1`, …. Records that are none are
   not in it, and a value that is not of its type is null there (its type check answers for it).
2. The text is parsed (a command would run when it is asked) and analysed, and `spark_jobs.guard` looks at what Spark made of it:
   only these views, only listed expressions.
3. It is run in a job group of its own, which a timer cancels. Whatever happens is that check's error, in words without values.

While a query is analysed and run, Spark's ANSI mode is on: a whole number that does not fit into 64 bits, a division by zero that
the dialect does not forgive and a text that cannot be cast are errors there, never silent nulls.
"""

from __future__ import annotations

import math
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documentation gives it

from contracts.check import Metric
from contracts.errors import InputError
from contracts.kinds import UnreadableError
from contracts.result import Measured, Measurement
from spark_jobs.guard import is_query, unsafe
from spark_jobs.typed import value_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, Row, SparkSession

    from contracts.check import Check
    from contracts.plan import Plan
    from contracts.query import Query, Relation
    from spark_jobs.references import Accepted

TIME_LIMIT = 600.0
"""Seconds that one query may take: what the Data Contract Specification allows."""
ALL_QUERIES = 1_800.0
"""Seconds that all queries of a plan may take together; each has its share of them, so that no other's slowness costs it any."""
REFUSED = "the guard of the engine refused what became of this query"
TOO_SLOW = "the query took longer than the time it is given"
FAILED = "the engine could not answer this query: a number too large, a division by zero, or a text that cannot be cast"
UNREAD = "the accepted data that this check refers to could not be read"
SEVERAL_ROWS = "the query answers with several rows: let it answer with one number"
ANSI = "spark.sql.ansi.enabled"
FLOAT_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Tables:
    """What queries are asked of."""

    plan: Plan
    now: str
    """The judging time."""
    delivered: DataFrame
    """The judged records of the delivery, with their typed values."""
    accepted: Accepted


def ask(
    spark: SparkSession, checks: tuple[Check, ...], tables: Tables, limit: float | None = None
) -> tuple[Measurement, ...]:
    """The answers of these checks' queries, in order; `limit`: seconds that each may take."""
    seconds = limit if limit is not None else min(TIME_LIMIT, ALL_QUERIES / max(1, len(checks)))
    return tuple(_asked(spark, check, tables, seconds) for check in checks)


def fields_read(checks: tuple[Check, ...]) -> set[str]:
    """The fields of the delivery that queries read."""
    queries = [check.query for check in checks if check.query is not None]
    relations = [each for query in queries for each in query.relations if each.delivered]
    return {column.field for relation in relations for column in relation.columns}


def _asked(spark: SparkSession, check: Check, tables: Tables, seconds: float) -> Measurement:
    query = check.query
    assert query is not None
    lacking = tables.accepted.lacking(each.line for each in query.relations if each.line and not each.delivered)
    if lacking is not None:
        return Measurement(check.id, skip=lacking)
    views = [f"r{number}" for number in range(len(query.relations))]
    with limited(spark, seconds, check.id) as is_over:
        try:
            for view, relation in zip(views, query.relations, strict=True):
                relation_of(relation, tables).createOrReplaceTempView(view)
            return _answer(spark, check, query, tables.now)
        except (InputError, UnreadableError, OSError):
            return Measurement(check.id, error=UNREAD)
        except (PySparkException, Py4JError, ArithmeticError):
            # Spark's words may hold values of the data: none of them is repeated.
            return Measurement(check.id, error=TOO_SLOW if is_over.is_set() else FAILED)
        finally:
            for view in views:
                spark.catalog.dropTempView(view)


def _answer(spark: SparkSession, check: Check, query: Query, now: str) -> Measurement:
    if not is_query(spark, query.text):
        return Measurement(check.id, error=REFUSED)
    frame = spark.sql(query.text, args=bound_for(query, now))
    if unsafe(frame, {f"r{number}" for number in range(len(query.relations))}):
        return Measurement(check.id, error=REFUSED)
    rows = frame.limit(2).collect()
    if len(rows) > 1:
        return Measurement(check.id, error=SEVERAL_ROWS)
    return Measurement(check.id, accept=_measured(check, rows))


def _measured(check: Check, rows: list[Row]) -> Measured:
    """The number: no row, a null, NaN and infinities are none. Floats count with as many digits as no order of rows changes."""
    found = rows[0] if rows else None
    if check.metric is Metric.UNMATCHED_ROWS:
        assert found is not None
        return Measured(of=int(found[1]), failing=int(found[0]))
    answer = found[0] if found is not None else None
    if answer is None or not math.isfinite(answer):
        return Measured(of=1)
    exact = Decimal(f"{answer:.{FLOAT_DIGITS}g}") if isinstance(answer, float) else Decimal(answer)
    return Measured(of=1, exact=exact.normalize())


def bound_for(query: Query, now: str) -> dict[str, str]:
    """What is bound to a query's parameters."""
    return {f"t{number}": text for number, text in enumerate(query.texts)} | {"now": now}


def relation_of(relation: Relation, tables: Tables, *, placed: bool = False) -> DataFrame:
    """The rows of a relation as typed columns, `c0`, `c1`, …, and `row`; of the delivery, where asked for, with their places."""
    frames = []
    if relation.delivered:
        columns = [
            F.col(value_name(tables.plan.field(column.field).alias)).alias(f"c{at}")
            for at, column in enumerate(relation.columns)
        ]
        places = ("part", "id") if placed else ()
        frames.append(tables.delivered.select(*columns, F.lit(1).alias("row"), *places))
    if relation.line is not None and tables.accepted.lacking([relation.line]) is None:
        frames.append(tables.accepted.rows(relation.line, relation.columns))
    return frames[0] if len(frames) == 1 else frames[0].unionByName(frames[1])


@contextmanager
def limited(spark: SparkSession, seconds: float, name: str) -> Iterator[threading.Event]:
    """How queries are run: in ANSI mode, and for so long."""
    with _ansi(spark), _within(spark, seconds, name) as is_over:
        yield is_over


@contextmanager
def _ansi(spark: SparkSession) -> Iterator[None]:
    before = spark.conf.get(ANSI)
    spark.conf.set(ANSI, "true")
    try:
        yield
    finally:
        spark.conf.set(ANSI, str(before))


@contextmanager
def _within(spark: SparkSession, seconds: float, name: str) -> Iterator[threading.Event]:
    """A job group of the block's own, cancelled when its time is over; the event tells that it was."""
    context, is_over, group = spark.sparkContext, threading.Event(), f"query:{name}"

    def cancel() -> None:
        is_over.set()
        context.cancelJobGroup(group)

    timer = threading.Timer(seconds, cancel)
    context.setJobGroup(group, "a query of the contract", interruptOnCancel=True)
    timer.start()
    try:
        yield is_over
    finally:
        timer.cancel()
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]  # null is how Spark takes it away
