"""Keys that are compared across shares: how often each occurs, over the stored rows of a level."""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documentation gives it

from lakegate.engine.measure.tables import identity
from lakegate.engine.type.values import value_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from lakegate.contracts.plan.population import Keys
    from lakegate.engine.evaluate.program import Program

MOST_COMMON = "most_common"


def frequencies(program: Program, rows: DataFrame, keys: Keys) -> DataFrame:
    """The rows (`n`) of each key; for keys in more than one row `shared` is the same number and `repeated` is 1, else zero.

    `most_common` is 1 for keys that meet the predicate, else zero.
    """
    meets = F.min(~F.col(program.predicates[keys.predicate])) if keys.predicate else F.lit(True)
    grouped = _keyed(program, rows, keys).groupBy(*_columns(program, keys))
    counted = grouped.agg(F.count(F.lit(1)).alias("n"), meets.cast("int").alias(MOST_COMMON))
    many = F.col("n") > 1
    return counted.withColumns(
        {"shared": F.when(many, F.col("n")).otherwise(0), "repeated": F.when(many, 1).otherwise(0)}
    )


def most_common(frequencies: DataFrame) -> DataFrame:
    """One row: how many of the keys that occur as often as any meet the predicate."""
    by_number = frequencies.groupBy("n").agg(F.sum(MOST_COMMON).alias(MOST_COMMON))
    return by_number.agg(F.max_by(MOST_COMMON, "n").alias(MOST_COMMON))


def sharing(program: Program, rows: DataFrame, keys: Keys, limit: int | None) -> DataFrame:
    """See `lakegate.engine.measure.tables.Sharing`."""
    own, names = identity(program), _columns(program, keys)
    shared = frequencies(program, rows, keys).where("n > 1").select(*names)
    if limit is not None:
        shared = F.broadcast(shared.orderBy(*names).limit(limit))
    same = reduce(and_, (F.col(f"one.{name}").eqNullSafe(F.col(f"other.{name}")) for name in names))
    found = _keyed(program, rows, keys).alias("one").join(shared.alias("other"), same, "leftsemi")
    return found.select(*own) if limit is None else found.orderBy(*names, *own).limit(limit).select(*own)


def _keyed(program: Program, rows: DataFrame, keys: Keys) -> DataFrame:
    return rows.where(F.col(program.populations[keys.population]))


def _columns(program: Program, keys: Keys) -> list[str]:
    return [value_name(program.plan.field(name).alias) for name in keys.fields]
