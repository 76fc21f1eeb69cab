"""Rules of DCM (table A.3) as ODCS writes them: one quality rule for each of the two thresholds.

The numbers are those of the compiled check, so that the written rule measures the same by the same bounds.
"""

from __future__ import annotations

from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any

from lakegate.contracts.convert.odcs_quality import library
from lakegate.contracts.convert.odcs_site import DATASET, NO_ROW, STABLE_ID, listed, number
from lakegate.contracts.model.contract import Severity
from lakegate.contracts.plan.predicate import Within

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.contracts.convert.odcs_site import Plain, Quality, RuleSite, Write
    from lakegate.contracts.plan.check import Check, Interval, Tier

    Threshold = Callable[[RuleSite, Check, Tier], Plain | None]

_HUNDRED = Decimal(100)
_EXACT = Context(prec=1000)
"""Computes without rounding, as the compiler of these rules does."""


def thresholds(check: Check) -> list[tuple[Tier, Severity]]:
    """The thresholds of a check, each with what follows outside of it."""
    if check.tolerate is None:
        return [(check.accept, check.worst)]
    return [(check.accept, Severity.WARN), (check.tolerate, check.worst)]


def _size(_site: RuleSite, _check: Check, tier: Tier) -> Plain:
    low, high = _bounds(tier.interval)
    return library("rowCount", {}) | ({"mustBe": low} if low == high else {"mustBeBetween": [low, high]})


def _complete(_site: RuleSite, _check: Check, tier: Tier) -> Plain:
    """At least a share of values is at most a percentage of nulls."""
    low, _ = _bounds(tier.interval)
    if low == 1:
        return library("nullValues", {}) | NO_ROW
    most = min(_EXACT.multiply(_EXACT.subtract(Decimal(1), low), _HUNDRED), _HUNDRED)
    return library("nullValues", {}) | {"mustBeLessOrEqualTo": number(most), "unit": "percent"}


def _distinct(_site: RuleSite, _check: Check, tier: Tier) -> Plain | None:
    """All values distinct is no duplicate. No metric of ODCS or Great Expectations has a share of no values that is 1."""
    low, _ = _bounds(tier.interval)
    return library("duplicateValues", {}) | NO_ROW if low == 1 else None


def _aggregate(call: str) -> Threshold:
    def write(_site: RuleSite, _check: Check, tier: Tier) -> Plain:
        low, high = _bounds(tier.interval)
        return _expectation(call, {"min_value": number(low), "max_value": number(high)})

    return write


def _bound(key: str, end: str) -> Threshold:
    def write(_site: RuleSite, _check: Check, tier: Tier) -> Plain:
        assert isinstance(tier.predicate, Within)
        return library("invalidValues", {key: number(Decimal(getattr(tier.predicate, end)))}) | NO_ROW

    return write


def _allowed(site: RuleSite, check: Check, _tier: Tier) -> Plain:
    values = listed(site.rule.arguments["parameter"], site.type(check.fields[0]))
    return library("invalidValues", {"validValues": values}) | NO_ROW


def _expectation(call: str, arguments: dict[str, Any]) -> Plain:
    implementation = {"type": call, "kwargs": arguments}
    return {"type": "custom", "engine": "great-expectations", "implementation": implementation}


def _bounds(interval: Interval) -> tuple[Decimal, Decimal]:
    return interval.low or Decimal(0), interval.high or Decimal(0)


def _written(write: Threshold, *, together: bool) -> Write:
    """The writer of a kind of rule; `together` for one quality rule of all fields."""

    def rules(site: RuleSite) -> Quality:
        measured = [each for each in site.checks if each.skip is None]
        alike = measured[:1] if together else measured
        is_of_several = together and len(measured) > 1
        paths = {"properties": [each.fields[0] for each in measured]} if is_of_several else {}
        for at, check in enumerate(alike, start=1):
            for tier, severity in thresholds(check):
                plain = write(site, check, tier)
                if plain is None:
                    continue
                arguments = paths | plain.get("arguments", {})
                suffix = f"_{at}" if len(alike) > 1 else ""
                own = site.rule.id + suffix + ("_warn" if severity is not check.worst else "")
                yield (
                    check.fields[0] if check.fields and not is_of_several else DATASET,
                    ({"id": own} if STABLE_ID.fullmatch(own) else {})
                    | ({"severity": "warning"} if severity is Severity.WARN else {})
                    | plain
                    | ({"arguments": arguments} if arguments else {}),
                )

    return rules


THRESHOLDS: dict[str, Write] = {
    "size": _written(_size, together=True),
    "complete": _written(_complete, together=True),
    "distinct": _written(_distinct, together=False),
    "min": _written(_bound("minimum", "low"), together=True),
    "max": _written(_bound("maximum", "high"), together=True),
    "mean": _written(_aggregate("expect_column_mean_to_be_between"), together=False),
    "stdev": _written(_aggregate("expect_column_stdev_to_be_between"), together=False),
    "allowedValues": _written(_allowed, together=True),
}
"""The writer of each kind of rule of DCM."""
