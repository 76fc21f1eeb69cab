"""A check: a rule applied to one field (or to the dataset), compiled into something an engine can measure.

The engine reports a number; `Tier.interval` says which numbers are good. Numbers that decide are exact (`Fraction`,
`Decimal`); only aggregates of floating point are compared with a relative epsilon.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction

from contracts.model import Severity
from contracts.predicate import Predicate
from contracts.query import Query

EPSILON = Fraction(1, 10**9)


class Metric(Enum):
    """What an engine measures for a check."""

    ROW_COUNT = "row_count"
    FAILING_ROWS = "failing_rows"
    """Rows for which the tier's predicate does not hold."""
    DUPLICATE_ROWS = "duplicate_rows"
    """Rows that share their key with another row; rows with a null in the key are left out."""
    DISTINCT_SHARE = "distinct_share"
    """Distinct values over non-null values."""
    MEAN = "mean"
    DEVIATION = "deviation"
    """Sample standard deviation (n - 1), as Great Expectations and DCM have it."""
    ANSWER = "answer"
    """The one number that the check's query answers with."""
    UNMATCHED_ROWS = "unmatched_rows"
    """Rows whose key is found nowhere in the data it refers to; rows with a null in the key are left out."""

    @property
    def floating(self) -> bool:
        """Whether the number is an aggregate of floating point."""
        return self in {Metric.MEAN, Metric.DEVIATION}

    @property
    def asked(self) -> bool:
        """Whether it is measured by a query, apart from the shared scan."""
        return self in {Metric.ANSWER, Metric.UNMATCHED_ROWS}


class Unit(Enum):
    """How the measured number is read before it meets the interval."""

    VALUE = "value"
    ROWS = "rows"
    PERCENT = "percent"
    """Failing rows per hundred of the rows judged."""
    SHARE = "share"
    """The share, 0 to 1, of rows judged that do *not* fail."""


@dataclass(frozen=True, slots=True)
class Interval:
    """The good numbers: between two bounds, inclusive unless open; or, with `outside`, all the others."""

    low: Decimal | None = None
    high: Decimal | None = None
    low_open: bool = False
    high_open: bool = False
    outside: bool = False

    def holds(self, number: Fraction, epsilon: Fraction = Fraction(0)) -> bool:
        """Whether a number is good; `epsilon` widens each bound by that share of itself."""
        return self._between(number, epsilon) is not self.outside

    def _between(self, number: Fraction, epsilon: Fraction) -> bool:
        if self.low is not None:
            low = Fraction(self.low) - abs(Fraction(self.low)) * epsilon
            if number < low or (self.low_open and number == low):
                return False
        if self.high is not None:
            high = Fraction(self.high) + abs(Fraction(self.high)) * epsilon
            if number > high or (self.high_open and number == high):
                return False
        return True

    def __str__(self) -> str:
        """In words: `at least 0.9`, `at least 1 and at most 5`, `less than 3`, `not 7`."""
        if self.low is not None and self.low == self.high:
            return f"{'not ' if self.outside else 'exactly '}{self.low:f}"
        words = [
            f"{'more than' if self.low_open else 'at least'} {self.low:f}" if self.low is not None else "",
            f"{'less than' if self.high_open else 'at most'} {self.high:f}" if self.high is not None else "",
        ]
        return ("outside " if self.outside else "") + (" and ".join(filter(None, words)) or "anything")


NONE = Interval(high=Decimal(0))
"""No row may fail."""


@dataclass(frozen=True, slots=True)
class Tier:
    """One of the two lines a check draws: the predicate rows must meet (where rows are counted) and the good numbers."""

    interval: Interval
    predicate: Predicate | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """A rule applied to one field: `accept` holds → pass; else `tolerate` holds → warn; else `worst`."""

    id: str
    """`<rule>/<field path>`, or `<rule>` where it speaks of the whole dataset."""
    rule: str
    kind: str
    fields: tuple[str, ...]
    metric: Metric
    unit: Unit
    accept: Tier
    tolerate: Tier | None = None
    worst: Severity = Severity.FAIL
    wanted: str = ""
    """What is wanted, in words, for tables and reasons."""
    skip: str | None = None
    """Why nothing can be measured; the check is then only named."""
    of_present: bool = False
    """Whether the number is taken over the rows where the check's fields are present, instead of over all rows."""
    of_elements: bool = False
    """Whether elements of a list or a map are counted, instead of rows."""
    query: Query | None = None
    """What is asked, where the metric is one that is asked for."""
