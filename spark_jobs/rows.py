"""Splitting: with `onReject: rows`, the good rows go on and the bad ones are kept apart with their reasons.

1. A row is rejected if it is malformed, or if it breaks a failed check that single rows answer for, by the same predicates that
   were measured; rows that share a key with another are all rejected.
2. Accepted rows are written as they came, under the header they came with. Rejected rows are written so too, behind a first
   column `_reasons` that names every broken check.
3. Together the two shares hold every record once: what was counted is what was written.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documentation gives it

from contracts.check import Metric
from contracts.result import Shares, Written
from spark_jobs.conditions import condition
from spark_jobs.keys import frequencies, keys_of
from spark_jobs.read import POSITION_BITS
from spark_jobs.store import store_for

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from contracts.check import Check
    from contracts.plan import Plan
    from contracts.predicate import Predicate
    from spark_jobs.frame import Narrow
    from spark_jobs.read import Delivery

REASONS = "_reasons"
MALFORMED = "file/records"
SEPARATOR = "; "


def count_rejected(plan: Plan, narrowed: Narrow, checks: tuple[Check, ...]) -> int:
    """Judged records that break one of the checks."""
    if not checks:
        return 0
    frame = _with_shared_keys(plan, narrowed, narrowed.judged, checks)
    broken = [
        F.col(_shared(number)) if _is_keyed(check) else ~F.col(narrowed.predicates[_deciding(check)])
        for number, check in enumerate(checks)
    ]
    return frame.where(reduce(or_, broken)).count()


def split(plan: Plan, delivery: Delivery, narrowed: Narrow, checks: tuple[Check, ...], output_uri: str) -> Shares:
    """Write both shares below `<output_uri>/rows/` and list what was written."""
    frame = _with_shared_keys(plan, narrowed, delivery.frame.where(~F.col("no_record")), checks)
    broken = [
        F.when(F.col(_shared(number)) if _is_keyed(check) else ~_holds(_deciding(check), plan), F.lit(check.id))
        for number, check in enumerate(checks)
    ]
    malformed = F.when(F.col("malformed").isNotNull(), F.lit(MALFORMED))
    judged = frame.select("line", F.concat_ws(SEPARATOR, malformed, *broken).alias("reasons"))
    good = judged.where(F.col("reasons") == "").select(F.col("line").alias("value"))
    quote, delimiter = plan.csv.quote, plan.csv.delimiter
    reasons = F.concat(F.lit(quote), F.replace("reasons", F.lit(quote), F.lit(quote * 2)), F.lit(quote + delimiter))
    bad = judged.where(F.col("reasons") != "").select(F.concat(reasons, "line").alias("value"))
    folder = f"{output_uri}/rows"
    return Shares(
        accepted=_write(good, delivery.header, f"{folder}/accepted"),
        rejected=_write(bad, delivery.header and f"{REASONS}{delimiter}{delivery.header}", f"{folder}/rejected"),
    )


def _holds(predicate: Predicate, plan: Plan) -> Column:
    return F.coalesce(condition(predicate, plan), F.lit(True))


def _deciding(check: Check) -> Predicate:
    predicate = (check.tolerate or check.accept).predicate
    assert predicate is not None
    return predicate


def _is_keyed(check: Check) -> bool:
    return check.metric is Metric.DUPLICATE_ROWS


def _shared(number: int) -> str:
    return f"shared{number}"


def _with_shared_keys(plan: Plan, narrowed: Narrow, frame: DataFrame, checks: tuple[Check, ...]) -> DataFrame:
    """A boolean column for each keyed check: whether the row's key occurs more than once."""
    for number, check in enumerate(checks):
        keys = keys_of(check)
        if keys is not None:
            names = keys.columns(plan)
            shared = frequencies(plan, narrowed, keys).where("n > 1")
            marked = shared.select(*names, F.lit(True).alias("found"))
            joined = frame.join(marked, names, "left").withColumn(_shared(number), F.coalesce("found", F.lit(False)))
            frame = joined.drop("found")
    return frame


def _write(lines: DataFrame, header: str | None, uri: str) -> tuple[Written, ...]:
    """Text objects, each under the header; the first row of each task carries it."""
    first = F.monotonically_increasing_id().bitwiseAND(F.lit((1 << POSITION_BITS) - 1)) == 0
    headed = F.when(first, F.concat(F.lit(f"{header}\n"), F.col("value"))).otherwise(F.col("value"))
    lines.select((headed if header is not None else F.col("value")).alias("value")).write.text(uri)
    store = store_for(uri)
    return tuple(Written(each, store.size(each), store.etag(each)) for each in store.list_parts(uri))
