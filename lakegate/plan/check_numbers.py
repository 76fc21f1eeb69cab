"""Computes the number of a check from its measurement, and asks the thresholds of the check whether it is good.

`demands` answers for a file that lacks columns, before anything is measured: for the judgement, and for the
comparison of versions.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from fractions import Fraction
from functools import reduce
from itertools import product

from lakegate.contract.contract_model import Severity
from lakegate.plan.check import EPSILON, Check, Tier, Unit
from lakegate.plan.metrics import Metric, MetricSource, Number
from lakegate.plan.predicates import All, Not, Predicate, Present, fields_of
from lakegate.plan.result import Measured

Truths = frozenset[bool | None]
"""Possible values of a predicate for the rows of a file; None is unknown, which breaks no rule."""
_ANY: Truths = frozenset({True, False, None})


def tier_holds(check: Check, tier: Tier, found: Measured) -> bool:
    """Whether a measurement is good for a tier; False if there was no value to measure."""
    number = number_of(check, found)
    return number is not None and tier.interval.holds(number, EPSILON if check.metric.floating else Fraction(0))


def number_of(check: Check, found: Measured) -> Fraction | None:
    """The number that is compared with the interval; None if there was no value to measure."""
    kind = check.metric.spec.number
    if kind is Number.ANSWER:
        return None if found.exact is None else Fraction(found.exact)
    if kind in {Number.FLOATING, Number.SECONDS}:
        return Fraction(found.number) if found.number is not None and math.isfinite(found.number) else None
    if kind is Number.TOTAL:
        return Fraction(found.of)
    failing = Fraction(found.failing or 0)
    if kind is Number.REMAINING:
        return found.of - failing
    return failing if check.unit in {Unit.ROWS, Unit.VALUE} else _share(check.unit, failing, found.of)


def _share(unit: Unit, failing: Fraction, of: int) -> Fraction:
    """The failing ones among those judged, in a unit of shares."""
    share = failing / of if of else Fraction(0)
    if unit is Unit.PERCENT:
        return share * 100
    return Fraction(0) if unit is Unit.PART and not of else 1 - share


def demands(check: Check, absent: Collection[str]) -> bool:
    """Whether a check may reject a file that lacks these fields: an absent field is one without a value in any row.

    A rule about values, such as a longest length, rejects no row without one. A rule that counts, averages or queries values, or
    requires them, may reject the file.
    """
    if check.worst is Severity.WARN or check.skip is not None or check.reads.isdisjoint(absent):
        return False
    tier = check.tolerate or check.accept
    if not _is_unmeasured(check, tier, absent):
        return True
    counts = (0,) if check.metric.spec.number in {Number.TOTAL, Number.REMAINING} else (0, 1)
    return not all(tier_holds(check, tier, Measured(of=count, failing=0)) for count in counts)


def _is_unmeasured(check: Check, tier: Tier, absent: Collection[str]) -> bool:
    """Whether no row of such a file can count for the check."""
    if check.row_filter is not None and True not in _truths(check.row_filter, absent):
        return True
    if check.metric is Metric.FAILING_ROWS and tier.predicate is not None:
        return False not in _truths(tier.predicate, absent)
    has_keys = check.metric.spec.source is MetricSource.KEYS or check.metric is Metric.UNMATCHED_ROWS
    return has_keys and not check.nulls_alike and not set(absent).isdisjoint(check.fields)


def _truths(predicate: Predicate, absent: Collection[str]) -> Truths:
    """Possible values of a predicate for a row without a value in the absent fields."""
    match predicate:
        case Not(inner):
            return frozenset(None if truth is None else not truth for truth in _truths(inner, absent))
        case All(inner):
            return reduce(_both, (_truths(each, absent) for each in inner))
        case Present(field):
            return frozenset({False}) if field in absent else frozenset({True, False})
        case _:
            return _ANY if fields_of(predicate).isdisjoint(absent) else frozenset({None})


def _both(first: Truths, second: Truths) -> Truths:
    pairs = product(first, second)
    return frozenset(False if False in pair else None if None in pair else True for pair in pairs)
