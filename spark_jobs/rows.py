"""Splitting: with `onReject: rows`, the good rows go on and the bad ones are kept apart with their reasons.

1. A row is rejected if it is malformed, or if it breaks a failed check that single rows answer for, by the same predicates that
   were measured; rows that share a key with another are all rejected, and so are rows of which an element breaks a check.
2. Both shares are written in the promised format (`spark_jobs.shares`); `_reasons` names every broken check.
3. Together the two shares hold every record once: what was counted is what was written.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documentation gives it

from contracts.check import Metric
from spark_jobs.conditions import condition
from spark_jobs.keys import frequencies, keys_of
from spark_jobs.shares import write_shares

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame

    from contracts.check import Check
    from contracts.plan import Plan
    from contracts.predicate import Predicate
    from contracts.result import Shares
    from spark_jobs.delivery import Delivery
    from spark_jobs.frame import Narrow
    from spark_jobs.keys import Keys

    Narrows = Mapping[tuple[str, ...], Narrow]
    """The narrow frame of each level; that of the records has none."""

MALFORMED = "file/records"
SEPARATOR = "; "


def count_rejected(plan: Plan, narrows: Narrows, checks: tuple[Check, ...]) -> int:
    """Judged records that break one of the checks."""
    if not checks:
        return 0
    narrowed = narrows[()]
    frame = _with_marks(plan, narrows, narrowed.judged, checks)
    broken = [
        F.col(_mark(number)) if _is_marked(check) else ~F.col(narrowed.predicates[_deciding(check)])
        for number, check in enumerate(checks)
    ]
    return frame.where(reduce(or_, broken)).count()


def split(plan: Plan, delivery: Delivery, narrows: Narrows, checks: tuple[Check, ...], output_uri: str) -> Shares:
    """Write both shares below `<output_uri>/rows/` and list what was written."""
    frame = _with_marks(plan, narrows, delivery.frame.where(~F.col("no_record")), checks)
    broken = [
        F.when(F.col(_mark(number)) if _is_marked(check) else ~_holds(_deciding(check), plan), F.lit(check.id))
        for number, check in enumerate(checks)
    ]
    reasons = F.when(F.col("malformed").isNull(), F.concat_ws(SEPARATOR, *broken)).otherwise(F.lit(MALFORMED))
    judged = frame.select("line", "malformed", reasons.alias("reasons"))
    return write_shares(plan, delivery, judged, f"{output_uri}/rows")


def _holds(predicate: Predicate, plan: Plan) -> Column:
    return F.coalesce(condition(predicate, plan), F.lit(True))


def _deciding(check: Check) -> Predicate:
    predicate = (check.tolerate or check.accept).predicate
    assert predicate is not None
    return predicate


def _is_keyed(check: Check) -> bool:
    return check.metric is Metric.DUPLICATE_ROWS


def _is_marked(check: Check) -> bool:
    """Whether more than the row itself tells that it is bad."""
    return _is_keyed(check) or check.of_elements


def _mark(number: int) -> str:
    return f"bad{number}"


def _with_marks(plan: Plan, narrows: Narrows, frame: DataFrame, checks: tuple[Check, ...]) -> DataFrame:
    """A boolean column for each marked check: whether the row shares its key with another, or has a bad element."""
    for number, check in enumerate(checks):
        if check.of_elements:
            level = plan.field(check.fields[0]).level
            found = _bad_elements(plan, narrows[level], check).select("part", F.col("row").alias("id")).distinct()
            frame = _marked(frame, found, ["part", "id"], number)
        elif (keys := keys_of(check)) is not None:
            frame = _marked(frame, _shared_keys(plan, narrows[()], keys), keys.columns(plan), number)
    return frame


def _bad_elements(plan: Plan, narrowed: Narrow, check: Check) -> DataFrame:
    keys = keys_of(check)
    if keys is not None:
        return narrowed.judged.join(_shared_keys(plan, narrowed, keys), keys.columns(plan), "leftsemi")
    return narrowed.judged.where(~F.col(narrowed.predicates[_deciding(check)]))


def _shared_keys(plan: Plan, narrowed: Narrow, keys: Keys) -> DataFrame:
    return frequencies(plan, narrowed, keys).where("n > 1").select(*keys.columns(plan))


def _marked(frame: DataFrame, found: DataFrame, on: list[str], number: int) -> DataFrame:
    marked = found.withColumn("found", F.lit(True))
    joined = frame.join(marked, on, "left").withColumn(_mark(number), F.coalesce("found", F.lit(False)))
    return joined.drop("found")
