"""SQL rules in Spark SQL, references included."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_
from threading import Event
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documentation gives it

from lakegate.admission.file_signatures import UnreadableError
from lakegate.base.errors import InputError
from lakegate.engine.attempt import Workspace, Written
from lakegate.engine.duckdb_queries import (
    FAILED_QUERY,
    OPERATION,
    SLOW_QUERY,
    TAKES_BACK,
    UNREAD_INPUT,
    accepted_sources,
    accepted_value,
    within,
)
from lakegate.engine.evaluate.predicate_sql import program
from lakegate.engine.evaluate.typed_values import value_name
from lakegate.engine.measure.share_evaluation import Evaluation
from lakegate.engine.read.data_source import Source
from lakegate.job.job_storage import Addresses
from lakegate.plan.check import ID, Check, Query, QueryColumn, QueryRelation
from lakegate.plan.metrics import Metric
from lakegate.plan.plan import Plan
from lakegate.plan.request import Request
from lakegate.plan.result import Measurement
from lakegate.spark.spark_guard import is_query, unsafe
from lakegate.spark.spark_session import settings
from lakegate.spark.spark_tasks import run, spark_type, write_batches
from lakegate.verdict.measured_values import (
    FAILED,
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
    from pyspark.sql import SparkSession


# ---- The queries of a plan ----
# 1. Every relation of a query becomes a view of typed columns: `r0`, `r1`, … with columns `c0`, `c1`, …. Malformed records are
#    not in it, and a value that is not of its type is null (its type check reports it).
# 2. The text is parsed (Spark would run a command at once) and analysed, and `lakegate.spark.spark_guard` inspects the result:
#    only these views, only listed expressions.
# 3. It is executed in its own job group, which a timer cancels. Any failure is an error of that check without values.
#
# While a query is analysed and run, Spark's ANSI mode is on: a whole number that does not fit into 64 bits, a division by zero
# that the dialect does not forgive and a text that cannot be cast are errors there, never silent nulls.


ANSI = {"spark.sql.ansi.enabled": "true"}


@dataclass(frozen=True, slots=True)
class SparkTables:
    """The data that queries read."""

    plan: Plan
    now: str
    """The judging time."""
    delivered: DataFrame | None
    """The judged records of the delivery, with their typed values; None if no query reads them."""
    accepted: AcceptedRecords


def run_queries(
    spark: SparkSession, checks: tuple[Check, ...], tables: SparkTables, limit: float | None = None, rows: int = 0
) -> tuple[QueryResult, ...]:
    """Run the queries of these checks, in order; return their results, with the ids of the first `rows` rows that break a check.

    `limit`: seconds that each may take.
    """
    seconds = limit if limit is not None else seconds_each(len(checks))
    return tuple(_run_check(spark, check, tables, seconds, rows) for check in checks)


def _run_check(spark: SparkSession, check: Check, tables: SparkTables, seconds: float, rows: int) -> QueryResult:
    query = check.query
    assert query is not None
    missing = tables.accepted.lacking(datasets_compared(query))
    if missing is not None:
        return QueryResult(Measurement(check.id, skip=missing))
    views = [f"r{number}" for number in range(len(query.relations))]
    with settings(spark, ANSI), _within(spark, seconds, check.id) as is_over:
        try:
            for view, relation in zip(views, query.relations, strict=True):
                _relation(relation, tables).createOrReplaceTempView(view)
            measurement = _measurement(spark, check, query, tables.now)
            return QueryResult(
                measurement, _ids(spark, check, tables, rows) if lists_rows(check, measurement.accept, rows) else ()
            )
        except (InputError, UnreadableError, OSError):
            return QueryResult(Measurement(check.id, error=UNREAD))
        except (PySparkException, Py4JError, ArithmeticError):
            # Spark's message may contain values of the data: it is not repeated.
            return QueryResult(Measurement(check.id, error=TOO_SLOW if is_over.is_set() else FAILED))
        finally:
            for view in views:
                spark.catalog.dropTempView(view)


def write_rows(
    spark: SparkSession,
    query: Query,
    accepted: AcceptedRecords,
    write: Callable[[Iterable[pa.RecordBatch], Workspace, int], Written],
) -> list[Written]:
    """See `lakegate.engine.attempt.Backend`."""
    views = [f"r{number}" for number in range(len(query.relations))]
    with settings(spark, ANSI), _within(spark, seconds_each(1), "derived") as is_over:
        try:
            for view, relation in zip(views, query.relations, strict=True):
                _accepted(spark, relation, accepted).createOrReplaceTempView(view)
            frame = spark.sql(query.text, args=query.bound("")) if is_query(spark, query.text) else None
            if frame is None or unsafe(frame, set(views)):
                raise UnreadableError(*FAILED_QUERY)
            return write_batches(frame, write)
        except (InputError, OSError):
            raise UnreadableError(*UNREAD_INPUT) from None
        except (PySparkException, Py4JError, ArithmeticError):
            # Spark's message may contain values of the data: it is not repeated.
            raise UnreadableError(*(SLOW_QUERY if is_over.is_set() else FAILED_QUERY)) from None
        finally:
            for view in views:
                spark.catalog.dropTempView(view)


def _accepted(spark: SparkSession, relation: QueryRelation, accepted: AcceptedRecords) -> DataFrame:
    """The accepted rows of a relation, none where all were taken back."""
    assert relation.full_name is not None
    if accepted.lacking([relation.full_name]) is None:
        return accepted.rows(relation.full_name, relation.columns)
    columns = [F.lit(None).cast(spark_type(each)).alias(f"c{at}") for at, each in enumerate(relation.columns)]
    return spark.range(0).select(*columns, F.lit(1).alias("row"))


def _measurement(spark: SparkSession, check: Check, query: Query, now: str) -> Measurement:
    if not is_query(spark, query.text):
        return measure_rows(check, None)
    frame = spark.sql(query.text, args=query.bound(now))
    is_unsafe = unsafe(frame, {f"r{number}" for number in range(len(query.relations))})
    return measure_rows(check, None if is_unsafe else frame.limit(2).collect())


def _ids(spark: SparkSession, check: Check, tables: SparkTables, rows: int) -> tuple[int, ...]:
    """The first rows that break a check; empty if the engine can count but not list them."""
    try:
        frame = _unmatched(check, tables) if check.metric is Metric.UNMATCHED_ROWS else _counted(spark, check, tables)
        return tuple(row["id"] for row in frame.orderBy("id").limit(rows).collect())
    except (PySparkException, Py4JError, ArithmeticError):
        return ()


def _counted(spark: SparkSession, check: Check, tables: SparkTables) -> DataFrame:
    """The rows that a plain count counts; none if the guard refuses the analysed query."""
    query = check.query.of_rows if check.query is not None else None
    assert query is not None
    _relation(query.relations[0], tables).createOrReplaceTempView("r0")
    frame = spark.sql(query.text, args=query.bound(tables.now)).withColumnRenamed("k0", "id")
    return frame.limit(0) if unsafe(frame, {"r0"}) else frame


def _unmatched(check: Check, tables: SparkTables) -> DataFrame:
    """The rows with a whole key that none of the accepted ones equals."""
    query = check.query
    assert query is not None
    own, other = query.relations
    names = [f"c{at}" for at in range(len(own.columns))]
    delivered = _relation(replace(own, columns=(*own.columns, ID)), tables).withColumnRenamed(f"c{len(names)}", "id")
    for name in names:
        delivered = delivered.withColumnRenamed(name, f"k{name}").where(F.col(f"k{name}").isNotNull())
    equal = reduce(and_, (F.col(f"k{name}") == F.col(name) for name in names))
    accepted = _relation(other, tables).select(*names).distinct()
    return delivered.join(accepted, equal, "left_anti").select("id")


def _relation(relation: QueryRelation, tables: SparkTables) -> DataFrame:
    frames = []
    if relation.delivered:
        assert tables.delivered is not None
        columns = [
            F.col("id" if column == ID else value_name(tables.plan.field(column.field).alias)).alias(f"c{at}")
            for at, column in enumerate(relation.columns)
        ]
        frames.append(tables.delivered.select(*columns, F.lit(1).alias("row")))
    if relation.full_name is not None and tables.accepted.lacking([relation.full_name]) is None:
        frames.append(tables.accepted.rows(relation.full_name, relation.columns))
    return frames[0] if len(frames) == 1 else frames[0].unionByName(frames[1])


@contextmanager
def _within(spark: SparkSession, seconds: float, name: str) -> Iterator[Event]:
    """A job group for the block, cancelled when its time is over; the event is set if it was."""
    context, group = spark.sparkContext, f"query:{name}"
    context.setJobGroup(group, "a query of the contract", interruptOnCancel=True)
    try:
        with within(seconds, lambda: context.cancelJobGroup(group)) as is_over:
            yield is_over
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]  # null is how Spark takes it away


# ---- Accepted data of a reference: the objects that the request lists ----


@dataclass(frozen=True, slots=True)
class AcceptedRecords:
    """Accepted data by line, read when it is needed."""

    spark: SparkSession
    request: Request

    def lacking(self, lines: Iterable[str]) -> str | None:
        """The reason if there is nothing to compare with."""
        return why_not_compared(self.request.references, lines)

    def rows(self, line: str, columns: tuple[QueryColumn, ...]) -> DataFrame:
        """The accepted records of a line: one column for each requested field, `c0`, `c1`, …, and `row`.

        Raises InputError if an object or its plan is not what the request lists.
        """
        reference = next(reference for reference in self.request.references if reference.dataset == line)
        read = (*columns, OPERATION) if reference.is_corrected else columns
        sources = accepted_sources(reference, Addresses())
        rows = reduce(DataFrame.unionByName, (self._read(plan, source, read) for plan, source in sources))
        if not reference.is_corrected:
            return rows
        operation = f"c{len(columns)}"
        is_former = F.expr(f"{operation} {TAKES_BACK}")
        return rows.where(~is_former).drop(operation).exceptAll(rows.where(is_former).drop(operation))

    def _read(self, plan: Plan, source: Source, columns: tuple[QueryColumn, ...]) -> DataFrame:
        known = plan.columns_by_path
        own = program(plan, (), (), [known[column.field].name for column in columns if column.field in known])
        passed, _ = run(self.spark, Evaluation(plan, source, {(): own}, samples=0))
        # null in data that was accepted before its contract had the field
        values = [
            F.expr(accepted_value(known[column.field], column))
            if column.field in known
            else F.lit(None).cast(spark_type(column))
            for column in columns
        ]
        values = [value.alias(f"c{at}") for at, value in enumerate(values)]
        return passed.rows(own).select(*values, F.lit(1).alias("row"))
