"""The compilers of Soda's checks, and the settings that each check supports."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from lakegate.contracts.compile.rules.build import check, conditioned, number, refuse, rows
from lakegate.contracts.compile.rules.expected_numbers import extremes, numeric, some
from lakegate.contracts.compile.rules.service_levels import age
from lakegate.contracts.compile.rules.soda_values import MISSING, VALIDITY, there, valid
from lakegate.contracts.compile.rules.written import valid_in_words
from lakegate.contracts.plan.check import Check, Interval, Quantile, QuantileMethod, Tier, Unit
from lakegate.contracts.plan.metrics import Metric
from lakegate.contracts.plan.predicate import Length, Predicate, Present, together, where
from lakegate.contracts.words import limited

if TYPE_CHECKING:
    from lakegate.contracts.compile.rules.sodacl import SodaCheck
    from lakegate.contracts.model.contract import Field, Rule

NO_BAD = Interval(Decimal(0), Decimal(0))
_HUNDRED = Decimal(100)


class UnmeasuredError(Exception):
    """The check is skipped; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Site:
    """The input of the compiler of a check."""

    rule: Rule
    fields: tuple[Field, ...]
    parsed: SodaCheck
    good: Interval

    @property
    def field(self) -> Field:
        """The column of the check; it must have one."""
        if not self.fields:
            refuse(self.rule, "no-column", f"{self.parsed.metric} must name a column: `{self.parsed.metric}(a)`")
        return self.fields[0]


@dataclass(frozen=True, slots=True)
class SodaMetric:
    """The compiler of a check, the settings it supports, and the default interval of good numbers."""

    compile: Callable[[Site], Check | tuple[Check, ...]]
    knows: frozenset[str] = frozenset()
    default: Interval | None = None


def _row_count(site: Site) -> Check:
    words = limited(site.good, "row")
    return check(site.rule, (), Metric.ROW_COUNT, accept=Tier(site.good), wanted=words, unit=Unit.VALUE)


def _missing(unit: Unit) -> Callable[[Site], Check]:
    return lambda site: _counted(site, there(site.rule, site.field, site.parsed.settings), "missing", unit)


def _invalid(unit: Unit) -> Callable[[Site], Check]:
    def compile_one(site: Site) -> Check:
        settings = site.parsed.settings
        predicate = valid(site.rule, site.field, settings)
        if predicate is None:
            refuse(
                site.rule,
                "no-argument",
                f"{site.parsed.metric} needs a setting that defines valid values, e.g. `valid values`",
            )
        found = _counted(site, where(there(site.rule, site.field, settings), predicate), "invalid", unit)
        return replace(found, wanted=found.wanted + valid_in_words(VALIDITY, settings))

    return compile_one


def _counted(site: Site, predicate: Predicate, noun: str, unit: Unit) -> Check:
    words = f"{site.good} % {noun}" if unit is Unit.PERCENT else limited(site.good, "row", f" {noun}")
    tier = Tier(_share(site, unit), predicate)
    return check(site.rule, (site.field,), Metric.FAILING_ROWS, accept=tier, wanted=words, unit=unit)


def _duplicates(unit: Unit) -> Callable[[Site], Check]:
    def compile_one(site: Site) -> Check:
        fields = site.fields or (site.field,)
        words = (
            f"{site.good} % of values in more than one row"
            if unit is Unit.PERCENT
            else limited(site.good, "value", " in more than one row")
        )
        tier = Tier(_share(site, unit))
        return check(site.rule, fields, Metric.DUPLICATE_KEYS, accept=tier, wanted=words, unit=unit)

    return compile_one


def _share(site: Site, unit: Unit) -> Interval:
    """The interval of good numbers; of a percentage it is between 0 and 100."""
    ends = [end for end in (site.good.low, site.good.high) if end is not None]
    if unit is Unit.PERCENT and not all(0 <= end <= _HUNDRED for end in ends):
        refuse(site.rule, "percent", "a percentage lies between 0 and 100")
    return site.good


def _distinct(site: Site) -> Check:
    words = limited(site.good, "distinct value")
    tier = Tier(site.good)
    return check(site.rule, (site.field,), Metric.DISTINCT_COUNT, accept=tier, wanted=words, unit=Unit.VALUE)


def _aggregate(metric: Metric, words: str) -> Callable[[Site], Check]:
    return lambda site: _of_valid(site, numeric(site.rule, site.field, metric, site.good, words))


def _percentile(site: Site) -> Check:
    share = number(site.rule, site.parsed.columns[1] if len(site.parsed.columns) > 1 else None)
    if not 0 <= share <= 1:
        refuse(site.rule, "share", "a percentile is a share from 0 to 1: `percentile(a, 0.95)`")
    found = numeric(site.rule, site.field, Metric.QUANTILE, site.good, f"percentile {share:f}")
    return _of_valid(site, replace(found, quantile=Quantile(share, QuantileMethod.REACHED)))


def _of_valid(site: Site, base: Check) -> Check:
    """If a check defines missing or valid values, its metric uses valid values only."""
    settings = site.parsed.settings
    given = together(
        there(site.rule, site.field, settings) if MISSING.keys() & settings else None,
        valid(site.rule, site.field, settings),
    )
    return conditioned(base, given)


def _extreme(*, greatest: bool) -> Callable[[Site], tuple[Check, ...]]:
    def compile_all(site: Site) -> tuple[Check, ...]:
        good = _between(site)
        ends, opened = (good.low, good.high), (good.low_open, good.high_open)
        found = extremes(site.rule, site.field, ends, opened, greatest=greatest)
        return tuple(_of_valid(site, each) for each in found)

    return compile_all


def _between(site: Site) -> Interval:
    if site.good.outside:
        raise UnmeasuredError(f"a {site.parsed.metric} outside of bounds is not measured by this version")
    return site.good


def _extreme_length(*, greatest: bool) -> Callable[[Site], tuple[Check, ...]]:
    """No text is beyond one bound, and some text reaches the other."""

    def compile_all(site: Site) -> tuple[Check, ...]:
        good = _between(site)
        low, high = (
            _whole(good.low, up=True, is_open=good.low_open),
            _whole(good.high, up=False, is_open=good.high_open),
        )
        name, words = site.field.name, f"a length of {good}"
        outer, inner = (Length(name, high=high), low) if greatest else (Length(name, low=low), high)
        has_outer = (high if greatest else low) is not None
        reached: Predicate = Length(name, low=low) if greatest else Length(name, high=high)
        if inner is None:
            reached = Present(name)
        found = some(site.rule, site.field, reached, words if inner is not None else "a value")
        checks = [replace(found, id=f"{site.rule.id}:reached/{name}")]
        return (*([rows(site.rule, site.field, outer, words)] if has_outer else []), *checks)

    return compile_all


def _whole(end: Decimal | None, *, up: bool, is_open: bool) -> int | None:
    """The last integer within a bound."""
    if end is None:
        return None
    nearest = math.ceil(end) if up else math.floor(end)
    step = (1 if up else -1) if is_open and nearest == end else 0
    return max(nearest + step, 0 if up else -1)


def _mean_length(site: Site) -> Check:
    words = f"a mean length of {site.good}"
    tier = Tier(site.good)
    base = check(site.rule, (site.field,), Metric.MEAN_LENGTH, accept=tier, wanted=words, unit=Unit.VALUE)
    return _of_valid(site, base)


def _freshness(unit: int) -> Callable[[Site], Check]:
    def compile_one(site: Site) -> Check:
        good = site.good
        if good.low is not None or good.high is None or good.outside:
            refuse(site.rule, "soda-check", "freshness is at most a time: `freshness(a) < 1d`")
        return age(site.rule, site.field, replace(good, high=good.high * unit))

    return compile_one


_OF_VALUES = frozenset({*MISSING, *VALIDITY})
METRICS = {
    "row_count": SodaMetric(_row_count),
    "missing_count": SodaMetric(_missing(Unit.ROWS), frozenset(MISSING)),
    "missing_percent": SodaMetric(_missing(Unit.PERCENT), frozenset(MISSING)),
    "no_missing_values": SodaMetric(_missing(Unit.ROWS), frozenset(MISSING), NO_BAD),
    "invalid_count": SodaMetric(_invalid(Unit.ROWS), _OF_VALUES),
    "invalid_percent": SodaMetric(_invalid(Unit.PERCENT), _OF_VALUES),
    "no_invalid_values": SodaMetric(_invalid(Unit.ROWS), _OF_VALUES, NO_BAD),
    "duplicate_count": SodaMetric(_duplicates(Unit.ROWS)),
    "duplicate_percent": SodaMetric(_duplicates(Unit.PERCENT)),
    "no_duplicate_values": SodaMetric(_duplicates(Unit.ROWS), default=NO_BAD),
    "distinct_count": SodaMetric(_distinct),
    "avg": SodaMetric(_aggregate(Metric.MEAN, "mean"), _OF_VALUES),
    "sum": SodaMetric(_aggregate(Metric.SUM, "sum"), _OF_VALUES),
    "stddev": SodaMetric(_aggregate(Metric.DEVIATION, "standard deviation"), _OF_VALUES),
    "stddev_samp": SodaMetric(_aggregate(Metric.DEVIATION, "standard deviation"), _OF_VALUES),
    "percentile": SodaMetric(_percentile, _OF_VALUES),
    "min": SodaMetric(_extreme(greatest=False), _OF_VALUES),
    "max": SodaMetric(_extreme(greatest=True), _OF_VALUES),
    "min_length": SodaMetric(_extreme_length(greatest=False)),
    "max_length": SodaMetric(_extreme_length(greatest=True)),
    "avg_length": SodaMetric(_mean_length, _OF_VALUES),
    "freshness": SodaMetric(_freshness(1)),
    "freshness_in_minutes": SodaMetric(_freshness(60)),
    "freshness_in_hours": SodaMetric(_freshness(3600)),
    "freshness_in_days": SodaMetric(_freshness(86400)),
}
"""All checks that count something; `schema` is in a module of its own."""
