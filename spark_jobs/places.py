"""Where checks fail: the first rows of each, in the order of the file, found without sorting more than is asked for."""

from __future__ import annotations

from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documentation gives it

from contracts.check import Metric
from spark_jobs.keys import frequencies, keyed_rows, keys_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import Column

    from contracts.check import Check
    from contracts.plan import Plan
    from spark_jobs.frame import Narrow

    Place = tuple[int, int]
    """Part and identity of a record."""

ROUND = 100
"""Times the rows asked for that are looked at in one round: each row of a round is one of some check that wants more."""


def failing_places(plan: Plan, narrowed: Narrow, failed: Iterable[Check], most: int) -> dict[str, list[Place]]:
    """The first rows that fail each check, at most so many; rows that share a key stand together."""
    by_name: dict[str, str] = {}
    keyed: dict[str, list[Place]] = {}
    for check in failed:
        if check.metric is Metric.FAILING_ROWS:
            assert check.accept.predicate is not None
            by_name[check.id] = narrowed.predicates[check.accept.predicate]
        elif check.metric is Metric.DUPLICATE_ROWS:
            keyed[check.id] = _sharing(plan, narrowed, check, most)
    return _first(narrowed, by_name, most, holds=False) | keyed


def passing_places(narrowed: Narrow, checks: Iterable[Check], most: int) -> dict[str, list[Place]]:
    """The first rows that each of the checks, which count failing rows, holds for."""
    names = {each.id: narrowed.predicates[each.accept.predicate] for each in checks if each.accept.predicate}
    return _first(narrowed, names, most, holds=True)


def _first(narrowed: Narrow, names: dict[str, str], most: int, *, holds: bool) -> dict[str, list[Place]]:
    """Rounds of rows in order, until every check has enough, or the rows are over."""
    found: dict[str, list[Place]] = {name: [] for name in names}
    wanting, after, size = dict(names), None, ROUND * most
    while wanting:
        columns = sorted(set(wanting.values()))
        rows = narrowed.judged.where(_any(columns, holds=holds) & _beyond(after))
        batch = rows.select("part", "id", *columns).orderBy("part", "id").limit(size).collect()
        for row in batch:
            for check, column in wanting.items():
                if row[column] is holds and len(found[check]) < most:
                    found[check].append((row["part"], row["id"]))
        if len(batch) < size:
            break
        after = (batch[-1]["part"], batch[-1]["id"])
        wanting = {check: column for check, column in wanting.items() if len(found[check]) < most}
    return found


def _any(columns: list[str], *, holds: bool) -> Column:
    return reduce(or_, (F.col(each) if holds else ~F.col(each) for each in columns))


def _beyond(after: Place | None) -> Column:
    if after is None:
        return F.lit(True)
    part, identity = after
    return (F.col("part") > part) | ((F.col("part") == part) & (F.col("id") > identity))


def _sharing(plan: Plan, narrowed: Narrow, check: Check, most: int) -> list[Place]:
    """Rows that share their key with another: those of the smallest key first, so that the first two share one."""
    keys = keys_of(check)
    assert keys is not None
    names = keys.columns(plan)
    shared = frequencies(plan, narrowed, keys).where("n > 1").select(*names).orderBy(*names).limit(most)
    same_key = reduce(and_, (F.col(f"one.{name}").eqNullSafe(F.col(f"other.{name}")) for name in names))
    sharing = keyed_rows(narrowed, keys).alias("one").join(F.broadcast(shared).alias("other"), same_key)
    ordered = sharing.select("one.*").orderBy(*names, "part", "id").limit(most)
    return [(row["part"], row["id"]) for row in ordered.select("part", "id").collect()]
