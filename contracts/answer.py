"""What becomes of the answer of a query, whichever engine gave it, and in which words it has none: never a value of the data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from contracts.check import Check, Metric
from contracts.numbers import tier_holds
from contracts.query import Query
from contracts.request import Reference
from contracts.result import Measured, Measurement

TIME_LIMIT = 600.0
"""Seconds that one query may take: what the Data Contract Specification allows."""
ALL_QUERIES = 1_800.0
"""Seconds that all queries of a plan may take together; each has its share of them, so that no other's slowness costs it any."""
REFUSED = "the guard of the engine refused what became of this query"
TOO_SLOW = "the query took longer than the time it is given"
FAILED = "the engine could not answer this query: a number too large, a division by zero, or a text that cannot be cast"
UNREAD = "the accepted data that this check refers to could not be read"
SEVERAL_ROWS = "the query answers with several rows: let it answer with one number"
FLOAT_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a check's query."""

    measurement: Measurement
    rows: tuple[int, ...] = ()
    """Ids of the first rows that break the check, where they are listed."""


def seconds_each(queries: int) -> float:
    """The seconds that each of so many queries may take."""
    return min(TIME_LIMIT, ALL_QUERIES / max(1, queries))


def lacking(references: Iterable[Reference], lines: Iterable[str]) -> str | None:
    """Why there is no accepted data of these lines to compare with, if there is none."""
    parts = {each.line: each.parts for each in references}
    for line in lines:
        if line not in parts:
            return f"no accepted data of {line} was given to compare with"
        if not parts[line]:
            return f"nothing of {line} has been accepted yet"
    return None


def lines_compared(query: Query) -> list[str]:
    """The lines without whose accepted data a query is not asked."""
    return [each.line for each in query.relations if each.line and not each.delivered]


def measured(check: Check, row: Sequence[object] | None) -> Measured:
    """The number: no row, a null, NaN and infinities are none. Floats count with as many digits as no order of rows changes."""
    if check.metric is Metric.UNMATCHED_ROWS:
        assert row is not None
        return Measured(of=int(str(row[1])), failing=int(str(row[0])))
    answer = row[0] if row is not None else None
    if not isinstance(answer, int | float | Decimal) or not math.isfinite(answer):
        return Measured(of=1)
    exact = Decimal(f"{answer:.{FLOAT_DIGITS}g}") if isinstance(answer, float) else Decimal(answer)
    return Measured(of=1, exact=exact.normalize())


def lists_rows(check: Check, found: Measured | None, limit: int) -> bool:
    """Whether the rows that a query counted are listed: they break the rule, and up to `limit` of them are asked for."""
    if not limit or found is None or tier_holds(check, check.accept, found):
        return False
    if check.metric is Metric.UNMATCHED_ROWS:
        return True
    interval = check.accept.interval
    fewer_is_better = (interval.low is None or interval.low <= 0) and interval.high is not None
    return check.query is not None and check.query.of_rows is not None and fewer_is_better and not interval.outside
