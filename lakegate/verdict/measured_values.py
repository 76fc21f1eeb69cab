"""Measurements, and results of queries, as numbers and as text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

from lakegate.base.text import lasting, plural
from lakegate.plan.check import Check, Query, Unit
from lakegate.plan.check_numbers import number_of, tier_holds
from lakegate.plan.metrics import Metric, Number
from lakegate.plan.plan import Plan
from lakegate.plan.request import Reference
from lakegate.plan.result import Measured, Measurement

# ---- Results of queries: messages contain no value of the data ----


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
class QueryResult:
    """The result of a check's query."""

    measurement: Measurement
    rows: tuple[int, ...] = ()
    """Ids of the first failing rows, if they are listed."""


def seconds_each(queries: int) -> float:
    """The timeout in seconds of each of `count` queries."""
    return min(TIME_LIMIT, ALL_QUERIES / max(1, queries))


def why_not_compared(references: Iterable[Reference], datasets: Iterable[str]) -> str | None:
    """The message if these datasets have no accepted data to compare with, else None."""
    given = {reference.dataset: reference for reference in references}
    for dataset in datasets:
        if dataset not in given:
            return f"no accepted data of {dataset} was given to compare with"
        if not given[dataset].parts:
            return f"nothing of {dataset} has been accepted yet"
    return None


def datasets_compared(query: Query) -> list[str]:
    """The datasets whose accepted data a query needs."""
    return [relation.full_name for relation in query.relations if relation.full_name and not relation.delivered]


ALL_DIGITS = Context(prec=1000)
"""Of any decimal and any bound: Python's own context rounds to 28 digits."""


def measure_answer(check: Check, row: Sequence[object] | None) -> Measured:
    """The number; None for no row, null, NaN and infinity. Floats are rounded so that the order of rows has no effect."""
    if check.metric is Metric.UNMATCHED_ROWS:
        assert row is not None
        return Measured(of=int(str(row[1])), failing=int(str(row[0])))
    answer = row[0] if row is not None else None
    if not isinstance(answer, int | float | Decimal) or not math.isfinite(answer):
        return Measured(of=1)
    exact = Decimal(f"{answer:.{FLOAT_DIGITS}g}") if isinstance(answer, float) else Decimal(answer)
    return Measured(of=1, exact=exact.normalize(ALL_DIGITS))


def measure_rows(check: Check, rows: Sequence[Sequence[object]] | None) -> Measurement:
    """The measurement of the rows that a query returns, at most two; None: the guard refused it."""
    if rows is None or len(rows) > 1:
        return Measurement(check.id, error=REFUSED if rows is None else SEVERAL_ROWS)
    return Measurement(check.id, accept=measure_answer(check, rows[0] if rows else None))


def lists_rows(check: Check, found: Measured | None, limit: int) -> bool:
    """Whether the rows that a query counted are listed: they break the rule, and at most `limit` are requested."""
    if not limit or found is None or tier_holds(check, check.accept, found):
        return False
    if check.metric is Metric.UNMATCHED_ROWS:
        return True
    interval = check.accept.interval
    fewer_is_better = (interval.low is None or interval.low <= 0) and interval.high is not None
    return check.query is not None and check.query.of_rows is not None and fewer_is_better and not interval.outside


# ---- Numbers of classified fields ----
# Of such a number, an attempt's result and all that is made of it have only whether the bounds hold (P15), where a check reads
# a field with another classification than `public`. Counts of rows are no such numbers.


OF_VALUES = frozenset({Number.ANSWER, Number.FLOATING, Number.SECONDS})
"""Numbers that are computed from values, and do not count rows."""
COUNT = re.compile(r"SELECT count\((?:1|(?:DISTINCT )?q[0-9]+\.c[0-9]+)\) AS k0 FROM [^()]*(?: WHERE .*)?", re.DOTALL)
"""A query of a plan that counts rows, or the values of a column."""


def shows_values(plan: Plan, check: Check) -> bool:
    """Whether the number of a check may show a value of a field with a classification other than `public`."""
    texts = (check.query.text, check.query.duckdb) if check.query is not None else ()
    if check.metric.spec.number not in OF_VALUES or (texts and all(map(COUNT.fullmatch, texts))):
        return False
    return reads_classified(plan, check)


def reads_classified(plan: Plan, check: Check) -> bool:
    """Whether a check reads a field with a classification other than `public`, or one of another dataset."""
    relations = check.query.relations if check.query is not None else ()
    own = {column.field for relation in relations if relation.dataset == plan.dataset for column in relation.columns}
    known = {field.name: field for field in plan.fields}
    read = [known[name] for name in check.reads | own if name in known]
    # of another dataset, the plan does not know what is classified
    return any(relation.dataset != plan.dataset for relation in relations) or any(
        field.classification is not None and not field.public for field in read
    )


def without_classified(plan: Plan, check: Check, measurement: Measurement) -> Measurement:
    """The measurement without what was observed of values, if the check reads a classified field."""
    return (
        replace(measurement, observed=None) if measurement.observed and reads_classified(plan, check) else measurement
    )


def conceal_number(check: Check, measurement: Measurement) -> Measurement:
    """The measurement with a number that meets the same bounds, computed from the bounds alone."""
    if measurement.accept is None or number_of(check, measurement.accept) is None:
        return measurement
    holds = _holds(check, measurement.accept)
    number = next(
        candidate for candidate in _candidates(check) if _holds(check, _with(measurement.accept, candidate)) == holds
    )
    return replace(
        measurement,
        accept=_with(measurement.accept, number),
        tolerate=measurement.tolerate and _with(measurement.tolerate, number),
    )


def _holds(check: Check, found: Measured) -> list[bool]:
    return [tier_holds(check, tier, found) for tier in (check.accept, check.tolerate) if tier is not None]


def _candidates(check: Check) -> Iterator[Decimal]:
    """Numbers at, between and beyond the bounds: one of them meets the same bounds as any number."""
    tiers = [tier.interval for tier in (check.accept, check.tolerate) if tier is not None]
    bounds = sorted({number for one in tiers for number in (one.low, one.high) if number is not None} or {Decimal(0)})
    yield from bounds
    with localcontext(ALL_DIGITS):
        between = [(low + high) / 2 for low, high in pairwise(bounds)]
        beyond = [bounds[0] - abs(bounds[0]) - 1, bounds[-1] + abs(bounds[-1]) + 1]
    yield from (*between, *beyond)


def _with(found: Measured, number: Decimal) -> Measured:
    return (
        replace(found, number=float(number))
        if found.exact is None
        else replace(found, exact=number.normalize(ALL_DIGITS))
    )


@dataclass(frozen=True, slots=True)
class ReportedNumbers:
    """A measurement for machines."""

    value: float | None
    """The number that is compared with the requirement; None if there was no value to measure, or if no double represents it."""
    unit: str
    """The unit of the number: `rows`, `percent`, `share`, `seconds`, …"""
    rows: int | None
    """Rows (or elements, or keys) that break the rule, if they are counted."""
    of: int
    """Rows (or elements, or keys) that were measured."""


def in_numbers(check: Check, found: Measured) -> ReportedNumbers:
    """The numbers of a measurement."""
    number = number_of(check, found)
    value = None if number is None else _plain(number)
    return ReportedNumbers(value, _unit(check), found.failing if check.metric.of_rows else None, found.of)


def _plain(number: Fraction) -> float | None:
    """The number for JSON: integers stay integers."""
    if number.denominator == 1:
        return number.numerator
    try:
        return float(number)
    except OverflowError:
        return None


def _unit(check: Check) -> str:
    if check.unit in _UNITS:
        return _UNITS[check.unit]
    if check.metric.is_duration:
        return "seconds"
    return _counted(check) if check.metric.of_rows else check.metric.spec.unit


def measured_text(check: Check, found: Measured) -> str:
    """The number with its unit, for a sentence."""
    number, spec = number_of(check, found), check.metric.spec
    if number is None:
        return "no values to take it of"
    if found.exact is not None:
        return f"{found.exact:f}"
    if check.metric.floating:
        return f"{float(number):.6g}"
    if check.metric.is_duration:
        return lasting(number)
    if spec.noun:
        return plural(int(number), *spec.noun)
    metric = f" (its metric: {found.number:.6g})" if check.metric.is_external and found.number is not None else ""
    one, many = spec.text or _failing(check)
    return _counts(one if found.failing == 1 else many, found) + metric if found.of else "0 values measured"


def brief_text(check: Check, found: Measured) -> str:
    """The same for a table: failing rows as a percentage only."""
    if check.metric is Metric.FAILING_ROWS and found.of:
        share = Fraction(found.failing or 0, found.of)
        return f"{percent(1 - share)} hold" if check.unit in {Unit.SHARE, Unit.PART} else f"{percent(share)} fail"
    return measured_text(check, found)


def percent(share: Fraction) -> str:
    """A share as text, never rounded into `0 %` or `100 %` when it is neither."""
    text = f"{float(share) * 100:.2f}".rstrip("0").rstrip(".")
    if text == "0" and share:
        return "< 0.01 %"
    return "> 99.99 %" if text == "100" and share < 1 else f"{text} %"


def _failing(check: Check) -> tuple[str, str]:
    """The sentences of a count, of one row and of several; if a check requires such rows, they do not fail."""
    low = check.accept.interval.low
    counts = f"{{failing:,}} of {{counted_{_counted(check)}}}"
    if check.unit is Unit.ROWS and low is not None and low > 0:
        return counts, counts
    return f"{counts} fails ({{bad}})", f"{counts} fail ({{bad}})"


def _counts(text: str, found: Measured) -> str:
    """A sentence of `lakegate.plan.metrics` with the counts of a measurement."""
    bad = Fraction(found.failing or 0, found.of)
    return text.format(
        failing=found.failing or 0,
        of=found.of,
        counted_rows=plural(found.of, "row"),
        counted_elements=plural(found.of, "element"),
        counted_keys=plural(found.of, "key"),
        bad=percent(bad),
        good=percent(1 - bad),
    )


def _counted(check: Check) -> str:
    return "elements" if check.of_elements else "rows"


_UNITS = {Unit.PERCENT: "percent", Unit.SHARE: "share", Unit.PART: "share"}
