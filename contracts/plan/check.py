"""A check: a metric that an engine can measure, with its thresholds (`Interval`: which numbers are good).

A rule applied to one field, or to the dataset, is compiled into checks. The engine reports a number; `Tier.interval` contains the
good numbers. Comparisons are exact (`Fraction`, `Decimal`); only floating-point aggregates are compared with a relative epsilon.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from fractions import Fraction

from lakegate.contracts.model.contract import Severity
from lakegate.contracts.plan.metrics import Metric
from lakegate.contracts.plan.predicate import Predicate, fields_of
from lakegate.contracts.plan.query import Query
from lakegate.contracts.plan.serialization import DOCUMENT_NAME

EPSILON = Fraction(1, 10**9)
BY_SCHEDULE = "measured by schedule: "
"""Begin of the reason for which the check of a rule with a schedule is skipped with a delivery."""
OF_NO_DELIVERY = "cannot be measured on a delivery"
"""End of the reason for which a service level, such as the availability of a system, is skipped."""


class Unit(Enum):
    """The conversion of the measured number before it is compared with the interval."""

    VALUE = "value"
    ROWS = "rows"
    PERCENT = "percent"
    """The percentage of failing rows among the rows judged."""
    SHARE = "share"
    """The share, 0 to 1, of the rows judged that do *not* fail; 1 if there are no rows."""
    PART = "part"
    """The same, but 0 if there are no rows, as in Great Expectations."""


@dataclass(frozen=True, slots=True)
class Interval:
    """The good numbers: between two bounds, inclusive unless open; with `outside`, the complement."""

    low: Decimal | None = None
    high: Decimal | None = None
    low_open: bool = False
    high_open: bool = False
    outside: bool = False

    def holds(self, number: Fraction, epsilon: Fraction = Fraction(0)) -> bool:
        """Whether a number is good; a number within the relative `epsilon` of a bound is equal to it."""
        return self._between(number, epsilon) is not self.outside

    def _between(self, number: Fraction, epsilon: Fraction) -> bool:
        above = self.low is None or _beyond(number, Fraction(self.low), epsilon, is_open=self.low_open)
        return above and (self.high is None or _beyond(-number, -Fraction(self.high), epsilon, is_open=self.high_open))

    def __str__(self) -> str:
        """The description: `at least 0.9`, `at least 1 and at most 5`, `less than 3`, `not 7`, `less than 1 or more than 5`."""
        if self.low is not None and self.low == self.high:
            return f"{'not ' if self.outside else 'exactly '}{self.low:f}"
        if self.outside:
            beyond = [
                f"{'at most' if self.low_open else 'less than'} {self.low:f}" if self.low is not None else "",
                f"{'at least' if self.high_open else 'more than'} {self.high:f}" if self.high is not None else "",
            ]
            return " or ".join(filter(None, beyond)) or "nothing"
        words = [
            f"{'more than' if self.low_open else 'at least'} {self.low:f}" if self.low is not None else "",
            f"{'less than' if self.high_open else 'at most'} {self.high:f}" if self.high is not None else "",
        ]
        return " and ".join(filter(None, words)) or "anything"


def _beyond(number: Fraction, bound: Fraction, epsilon: Fraction, *, is_open: bool) -> bool:
    slack = abs(bound) * epsilon
    return number > bound + slack if is_open else number >= bound - slack


NONE = Interval(high=Decimal(0))
"""No row may fail."""


@dataclass(frozen=True, slots=True)
class Tier:
    """One of the two thresholds of a check: the predicate of good rows (if rows are counted) and the good numbers."""

    interval: Interval
    predicate: Predicate | None = None


class QuantileMethod(Enum):
    """The value of a quantile between two sorted values."""

    BETWEEN = "between"
    """Linear interpolation (the usual median)."""
    NEAREST = "nearest"
    """The nearest value; of two equally near the one with the even index, from 0 (Great Expectations)."""
    REACHED = "reached"
    """The smallest value whose cumulative share is at least the quantile (SQL's PERCENTILE_DISC)."""


@dataclass(frozen=True, slots=True)
class Quantile:
    """A quantile: 0 is the minimum, 0.5 the median, 1 the maximum."""

    share: Decimal
    place: QuantileMethod = QuantileMethod.BETWEEN

    def of(self, count: int) -> Fraction:
        """The share of `count` sorted values at which the quantile is taken; of an existing value unless interpolated."""
        share, last = Fraction(self.share), count - 1
        if self.place is QuantileMethod.BETWEEN or last < 1:
            return share
        number = round(share * last) if self.place is QuantileMethod.NEAREST else max(math.ceil(share * count) - 1, 0)
        return Fraction(number, last)


@dataclass(frozen=True, slots=True)
class HeaderRequirement:
    """The requirement of a check about the columns of a file; forbidden names may contain `*` for any characters."""

    required: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    closed: bool = False
    """Whether other columns than the required ones are forbidden."""
    ordered: bool = False
    """Whether the required columns must be at their listed positions."""


@dataclass(frozen=True, slots=True)
class Check:
    """A rule applied to one field: `accept` holds → pass; else `tolerate` holds → warn; else `worst`."""

    id: str
    """`<rule>/<field path>`, or `<rule>` for the whole dataset."""
    rule: str
    kind: str
    fields: tuple[str, ...]
    metric: Metric
    unit: Unit
    accept: Tier
    tolerate: Tier | None = None
    worst: Severity = Severity.FAIL
    wanted: str = ""
    """The description of the requirement, for tables and reasons."""
    skip: str | None = None
    """The reason if nothing can be measured; the check is then skipped."""
    of_elements: bool = False
    """Whether elements of a list or a map are counted, instead of rows."""
    query: Query | None = None
    """The query, if the metric is measured by one."""
    row_filter: Predicate | None = field(default=None, metadata={DOCUMENT_NAME: "given"})
    """The rows that are measured: those for which this predicate is true (not null); None for all rows. Other rows pass."""
    nulls_alike: bool = False
    """Whether nulls in keys are equal, instead of the row being ignored."""
    quantile: Quantile | None = None
    header: HeaderRequirement | None = None
    """The requirement of the file's columns."""

    @property
    def reads(self) -> frozenset[str]:
        """All fields it needs: its own, and those its conditions read."""
        tiers = (tier.predicate for tier in (self.accept, self.tolerate) if tier)
        read = (fields_of(predicate) for predicate in (self.row_filter, *tiers) if predicate is not None)
        return frozenset(self.fields).union(*read)

    @property
    def is_unmeasured(self) -> bool:
        """Whether nobody measures its rule of the data: not one in words, nor one that is measured by schedule."""
        skip = self.skip or BY_SCHEDULE
        return self.kind != "text" and not skip.startswith(BY_SCHEDULE) and not skip.endswith(OF_NO_DELIVERY)

    @property
    def needs_rows(self) -> bool:
        """Whether an engine must read rows to measure it."""
        return self.skip is None and not self.metric.of_header and not self.metric.is_external
