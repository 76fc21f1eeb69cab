"""The accepted data that queries refer to: exactly the objects that the request lists, each read by the plan that accepted it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import reduce
from itertools import groupby
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documentation gives it

from contracts.answer import lacking
from contracts.errors import InputError
from contracts.plan import Plan
from contracts.request import Part
from contracts.types import GRAMMARS
from spark_jobs.read import open_delivery
from spark_jobs.store import store_for
from spark_jobs.typed import SQL_TYPES, value_name

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
        request = replace(self.request, parts=tuple(Part(each.uri, each.size) for each in parts))
        frame = open_delivery(self.spark, plan, request).frame
        records = frame.where(~F.col("no_record") & F.col("malformed").isNull())
        aliases = {field.name: field.alias for field in plan.fields}
        values = [_value(aliases.get(column.field), column).alias(f"c{at}") for at, column in enumerate(columns)]
        return records.select(*values, F.lit(1).alias("row"))


def _plan_of(part: AcceptedPart) -> tuple[str, str]:
    return part.plan_uri, part.plan_digest


def _value(alias: str | None, column: Column) -> SparkColumn:
    """The typed value; null in data that was accepted before its contract had the field."""
    if alias is not None:
        return F.col(value_name(alias))
    return F.lit(None).cast(SQL_TYPES[GRAMMARS[column.type].cast])
