"""Converts the result of a query, of any engine, to a measurement; its messages never contain a value of the data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from lakegate.contracts.plan.check import Check
from lakegate.contracts.plan.metrics import Metric
from lakegate.contracts.plan.numbers import tier_holds
from lakegate.contracts.plan.query import Query
from lakegate.contracts.plan.request import Reference
from lakegate.contracts.plan.result import Measured, Measurement

TIME_LIMIT = 600.0
"""Timeout of one query in seconds, as the Data Contract Specification allows."""
ALL_QUERIES = 1_800.0
"""Timeout of all queries of a plan in seconds; each query has an equal share, so that a slow one does not affect the others."""
REFUSED = "the guard of the engine refused what became of this query"
TOO_SLOW = "the query took longer than the time it is given"
TOO_LARGE = "the query builds more rows than the engine has memory and disk for"
FAILED = "the engine could not answer this query: a number too large, a division by zero, or a text that cannot be cast"
UNREAD = "the accepted data that this check refers to could not be read"
SEVERAL_ROWS = "the query answers with several rows: let it answer with one number"
FLOAT_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a check's query."""

    measurement: Measurement
    rows: tuple[int, ...] = ()
    """Ids of the first failing rows, if they are listed."""


def seconds_each(queries: int) -> float:
    """The timeout in seconds of each of `count` queries."""
    return min(TIME_LIMIT, ALL_QUERIES / max(1, queries))


def lacking(references: Iterable[Reference], lines: Iterable[str]) -> str | None:
    """The message if these lines have no accepted data to compare with, else None."""
    parts = {each.line: each.parts for each in references}
    for line in lines:
        if line not in parts:
            return f"no accepted data of {line} was given to compare with"
        if not parts[line]:
            return f"nothing of {line} has been accepted yet"
    return None


def lines_compared(query: Query) -> list[str]:
    """The lines whose accepted data a query needs."""
    return [each.line for each in query.relations if each.line and not each.delivered]


def measured(check: Check, row: Sequence[object] | None) -> Measured:
    """The number; None for no row, null, NaN and infinity. Floats are rounded so that the order of rows has no effect."""
    if check.metric is Metric.UNMATCHED_ROWS:
        assert row is not None
        return Measured(of=int(str(row[1])), failing=int(str(row[0])))
    answer = row[0] if row is not None else None
    if not isinstance(answer, int | float | Decimal) or not math.isfinite(answer):
        return Measured(of=1)
    exact = Decimal(f"{answer:.{FLOAT_DIGITS}g}") if isinstance(answer, float) else Decimal(answer)
    return Measured(of=1, exact=exact.normalize())


def lists_rows(check: Check, found: Measured | None, limit: int) -> bool:
    """Whether the rows that a query counted are listed: they break the rule, and at most `limit` are requested."""
    if not limit or found is None or tier_holds(check, check.accept, found):
        return False
    if check.metric is Metric.UNMATCHED_ROWS:
        return True
    interval = check.accept.interval
    fewer_is_better = (interval.low is None or interval.low <= 0) and interval.high is not None
    return check.query is not None and check.query.of_rows is not None and fewer_is_better and not interval.outside
