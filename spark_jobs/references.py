"""The accepted data that queries refer to: exactly the objects that the request lists, each read by the plan that accepted it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documentation gives it

from lakegate.contracts.judge.answers import lacking
from lakegate.engine.evaluate.program import program
from lakegate.engine.measure.shares import Evaluation
from lakegate.engine.query.accepted import accepted_sources
from lakegate.engine.type.values import value_name
from lakegate.spark_jobs.store import Addresses
from lakegate.spark_jobs.tasks import run, spark_type

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import SparkSession

    from lakegate.contracts.plan.plan import Plan
    from lakegate.contracts.plan.query import QueryColumn
    from lakegate.contracts.plan.request import Reference, Request
    from lakegate.engine.read.chunk import Source


@dataclass(frozen=True, slots=True)
class AcceptedRecords:
    """Accepted data by line, read when it is needed."""

    spark: SparkSession
    request: Request

    def lacking(self, lines: Iterable[str]) -> str | None:
        """The reason if there is nothing to compare with."""
        return lacking(self.request.references, lines)

    def rows(self, line: str, columns: tuple[QueryColumn, ...]) -> DataFrame:
        """The accepted records of a line: one column for each requested field, `c0`, `c1`, …, and `row`.

        Raises InputError if an object or its plan is not what the request lists.
        """
        reference = self._reference(line)
        assert reference is not None
        sources = accepted_sources(reference, Addresses())
        return reduce(DataFrame.unionByName, (self._read(plan, source, columns) for plan, source in sources))

    def _reference(self, line: str) -> Reference | None:
        return next((each for each in self.request.references if each.line == line), None)

    def _read(self, plan: Plan, source: Source, columns: tuple[QueryColumn, ...]) -> DataFrame:
        known = {field.name: field.alias for field in plan.fields}
        own = program(plan, (), (), [column.field for column in columns if column.field in known])
        passed, _ = run(self.spark, Evaluation(plan, source, {(): own}, samples=0))
        values = [_value(known.get(column.field), column).alias(f"c{at}") for at, column in enumerate(columns)]
        return passed.rows(own).select(*values, F.lit(1).alias("row"))


def _value(alias: str | None, column: QueryColumn) -> SparkColumn:
    """The typed value; null in data that was accepted before its contract had the field."""
    if alias is not None:
        return F.col(value_name(alias))
    return F.lit(None).cast(spark_type(column.type))
