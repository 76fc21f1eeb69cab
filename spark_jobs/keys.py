"""Keys: which fields of which rows are compared with each other, and how often each key occurs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documentation gives it

from spark_jobs.frame import Base, base_of
from spark_jobs.typed import value_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from contracts.check import Check, Tier
    from contracts.plan import Plan
    from contracts.predicate import Predicate
    from spark_jobs.frame import Narrow


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of some fields in the records of a base."""

    fields: tuple[str, ...]
    base: Base
    predicate: Predicate | None = None
    """What tells some of the keys apart."""

    def columns(self, plan: Plan) -> list[str]:
        """The columns of the parts of a key."""
        return [value_name(plan.field(name).alias) for name in self.fields]


def keys_of(check: Check, tier: Tier | None = None) -> Keys | None:
    """The keys a check (or one tier of it) compares; None where it compares none."""
    base = base_of(check)
    predicate = tier.predicate if tier else None
    return Keys(check.fields, base, predicate) if check.metric.keyed and base is not None else None


def keyed_rows(narrowed: Narrow, keys: Keys) -> DataFrame:
    """The judged records that have one of the keys."""
    return narrowed.judged.where(narrowed.bases[keys.base])


def frequencies(plan: Plan, narrowed: Narrow, keys: Keys) -> DataFrame:
    """How often (`n`) each key occurs; of those in more than one row `shared` is the same number and `repeated` 1, else zero.

    Those that meet the predicate are `meant`, with 1, else zero.
    """
    meets = F.min(narrowed.predicates[keys.predicate]) if keys.predicate else F.lit(True)
    rows = keyed_rows(narrowed, keys).groupBy(*keys.columns(plan))
    counted = rows.agg(F.count(F.lit(1)).alias("n"), meets.cast("int").alias("meant"))
    many = F.col("n") > 1
    return counted.withColumns(
        {"shared": F.when(many, F.col("n")).otherwise(0), "repeated": F.when(many, 1).otherwise(0)}
    )


def most_common(frequencies: DataFrame) -> DataFrame:
    """The keys that occur as often as any."""
    most = frequencies.agg(F.max("n").alias("most"))
    return frequencies.join(F.broadcast(most), F.col("n") == F.col("most"))
