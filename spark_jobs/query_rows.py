"""Rows that a query counted: which ones they are, asked after the count, for references and for plain counts of rows."""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documentation gives it

from contracts.check import Metric
from contracts.numbers import tier_holds
from spark_jobs.guard import is_query, unsafe
from spark_jobs.queries import TIME_LIMIT, Tables, bound_for, limited, relation_of
from spark_jobs.samples import with_evidence
from spark_jobs.typed import value_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from contracts.check import Check
    from contracts.result import Measurement
    from spark_jobs.places import Place
    from spark_jobs.samples import Source


def with_rows(
    measurements: tuple[Measurement, ...], source: Source, tables: Tables, most: int
) -> tuple[Measurement, ...]:
    """The answers of queries, those that count bad rows of the delivery with samples of them."""
    if not source.plan.policy.samples:
        return measurements
    answers = {each.check: each.accept for each in measurements}
    bad = [
        check for check in source.checks if (found := answers[check.id]) and not tier_holds(check, check.accept, found)
    ]
    places = {check.id: _places(check, tables, most) for check in bad if _counts_bad_rows(check)}
    return with_evidence(measurements, source.shown(source.checks, places, {}))


def _counts_bad_rows(check: Check) -> bool:
    """Whether the rows that a query counts are those that break the rule."""
    if check.metric is Metric.UNMATCHED_ROWS:
        return True
    interval = check.accept.interval
    fewer_is_better = (interval.low is None or interval.low <= 0) and interval.high is not None
    return check.query is not None and check.query.of_rows is not None and fewer_is_better and not interval.outside


def _places(check: Check, tables: Tables, most: int) -> list[Place]:
    """The first such rows; none where the engine can count them and cannot list them in time: the number stands alone."""
    spark = tables.delivered.sparkSession
    with limited(spark, TIME_LIMIT, check.id):
        try:
            frame = _unmatched(check, tables) if check.metric is Metric.UNMATCHED_ROWS else _counted(check, tables)
            found = frame.orderBy("part", "id").limit(most).collect() if frame is not None else []
        except (PySparkException, Py4JError, ArithmeticError):
            found = []
        finally:
            spark.catalog.dropTempView("r0")
    return [(row["part"], row["id"]) for row in found]


def _counted(check: Check, tables: Tables) -> DataFrame | None:
    """The rows that a plain count counts; None where the guard refuses what became of the query."""
    query = check.query
    assert query is not None
    assert query.of_rows is not None
    spark = tables.delivered.sparkSession
    relation_of(query.relations[0], tables, placed=True).createOrReplaceTempView("r0")
    if not is_query(spark, query.of_rows):
        return None
    frame = spark.sql(query.of_rows, args=bound_for(query, tables.now))
    return None if unsafe(frame, {"r0"}) else frame


def _unmatched(check: Check, tables: Tables) -> DataFrame:
    """The rows with a whole key that none of the accepted ones equals."""
    query = check.query
    assert query is not None
    own, other = query.relations
    names = [f"c{at}" for at in range(len(own.columns))]
    aliases = [tables.plan.field(column.field).alias for column in own.columns]
    keys = [F.col(value_name(alias)).alias(f"k{name}") for alias, name in zip(aliases, names, strict=True)]
    whole = reduce(and_, (F.col(f"k{name}").isNotNull() for name in names))
    delivered = tables.delivered.select("part", "id", *keys).where(whole)
    accepted = relation_of(other, tables).select(*names).distinct()
    equal = reduce(and_, (F.col(f"k{name}") == F.col(name) for name in names))
    return delivered.join(accepted, equal, "left_anti").select("part", "id")
