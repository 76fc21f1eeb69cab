"""The accepted data that queries refer to: exactly the objects that the request lists, each read by the plan that accepted it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import reduce
from itertools import groupby
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documentation gives it

from contracts.answer import lacking
from contracts.errors import InputError
from contracts.plan import Plan
from contracts.request import Part
from engine.evaluate.program import program as program_of
from engine.measure.shares import Evaluation
from engine.read.open import open_source
from engine.type.values import value_name
from spark_jobs.store import Addresses, store_for
from spark_jobs.tasks import run, spark_type

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import SparkSession

    from contracts.query import Column
    from contracts.request import AcceptedPart, Reference, Request


@dataclass(frozen=True, slots=True)
class Accepted:
    """Accepted data by line, read when it is asked for."""

    spark: SparkSession
    request: Request

    def lacking(self, lines: Iterable[str]) -> str | None:
        """Why there is nothing to compare with, if there is nothing."""
        return lacking(self.request.references, lines)

    def rows(self, line: str, columns: tuple[Column, ...]) -> DataFrame:
        """The accepted records of a line: one column for each field asked for, `c0`, `c1`, …, and `row`.

        Raises InputError where an object or its plan is not what the request says.
        """
        reference = self._reference(line)
        assert reference is not None
        by_plan = groupby(sorted(reference.parts, key=_plan_of), key=_plan_of)
        return reduce(DataFrame.unionByName, (self._read(*plan, list(parts), columns) for plan, parts in by_plan))

    def _reference(self, line: str) -> Reference | None:
        return next((each for each in self.request.references if each.line == line), None)

    def _read(self, uri: str, digest: str, parts: list[AcceptedPart], columns: tuple[Column, ...]) -> DataFrame:
        plan = Plan.from_json(json.loads(store_for(uri).read(uri)))
        if plan.digest != digest:
            raise InputError("the plan of accepted data is not the one the request names")
        source = open_source(plan, tuple(Part(each.uri, each.size) for each in parts), Addresses())
        known = {field.name: field.alias for field in plan.fields}
        program = program_of(plan, (), (), [column.field for column in columns if column.field in known])
        passed, _ = run(self.spark, Evaluation(plan, source, {(): program}, samples=0))
        values = [_value(known.get(column.field), column).alias(f"c{at}") for at, column in enumerate(columns)]
        return passed.rows(program).select(*values, F.lit(1).alias("row"))


def _plan_of(part: AcceptedPart) -> tuple[str, str]:
    return part.plan_uri, part.plan_digest


def _value(alias: str | None, column: Column) -> SparkColumn:
    """The typed value; null in data that was accepted before its contract had the field."""
    if alias is not None:
        return F.col(value_name(alias))
    return F.lit(None).cast(spark_type(column.type))
