"""A check: a rule applied to one field (or to the dataset), compiled into something an engine can measure.

The engine reports a number; `Tier.interval` says which numbers are good. Numbers that decide are exact (`Fraction`,
`Decimal`); only aggregates of floating point are compared with a relative epsilon.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction

from contracts.model import Severity
from contracts.predicate import Predicate, fields_of
from contracts.query import Query

EPSILON = Fraction(1, 10**9)


class Metric(Enum):
    """What an engine measures for a check."""

    ROW_COUNT = "row_count"
    FAILING_ROWS = "failing_rows"
    """Rows for which the tier's predicate does not hold."""
    DUPLICATE_ROWS = "duplicate_rows"
    """Rows that share their key with another row; rows with a null in the key are left out."""
    DUPLICATE_KEYS = "duplicate_keys"
    """Whole keys that occur more than once, each counted once."""
    DISTINCT_COUNT = "distinct_count"
    """Distinct whole keys."""
    DISTINCT_SHARE = "distinct_share"
    """Distinct values over non-null values."""
    MOST_COMMON = "most_common"
    """Values that occur most often, of those that meet the tier's predicate: more than one where several are equally common."""
    MEAN = "mean"
    SUM = "sum"
    DEVIATION = "deviation"
    """Sample standard deviation (n - 1), as Great Expectations and DCM have it."""
    ANSWER = "answer"
    """The one number that the check's query answers with."""
    UNMATCHED_ROWS = "unmatched_rows"
    """Rows whose key is found nowhere in the data it refers to; rows with a null in the key are left out."""
    QUANTILE = "quantile"
    """The value below which that share of the values lies, between two values in proportion (0.5 is the median)."""
    MEAN_LENGTH = "mean_length"
    """Code points of a text, on average."""
    YOUNGEST = "youngest"
    """Seconds from the latest moment to the judging time; below 0 where that lies in the future."""
    OLDEST = "oldest"
    """Seconds from the earliest moment to the judging time."""
    DELAY = "delay"
    """The most seconds from the first field's moment to the second's, of all rows."""
    COLUMN_COUNT = "column_count"
    """Columns of the file."""
    COLUMNS = "columns"
    """Columns that break what the check wants of the header."""

    @property
    def floating(self) -> bool:
        """Whether the number is an aggregate of floating point."""
        return self in {Metric.MEAN, Metric.SUM, Metric.DEVIATION, Metric.QUANTILE, Metric.MEAN_LENGTH}

    @property
    def lasting(self) -> bool:
        """Whether the number counts seconds."""
        return self in {Metric.YOUNGEST, Metric.OLDEST, Metric.DELAY}

    @property
    def asked(self) -> bool:
        """Whether it is measured by a query, apart from the shared scan."""
        return self in {Metric.ANSWER, Metric.UNMATCHED_ROWS}

    @property
    def keyed(self) -> bool:
        """Whether keys are compared with each other."""
        return self in _KEYED

    @property
    def of_rows(self) -> bool:
        """Whether what breaks the check is a number of rows."""
        return self in {Metric.FAILING_ROWS, Metric.DUPLICATE_ROWS, Metric.DISTINCT_SHARE, Metric.UNMATCHED_ROWS}

    @property
    def of_header(self) -> bool:
        """Whether the header alone answers, without a row."""
        return self in {Metric.COLUMN_COUNT, Metric.COLUMNS}


_KEYED = {
    Metric.DUPLICATE_ROWS,
    Metric.DUPLICATE_KEYS,
    Metric.DISTINCT_COUNT,
    Metric.DISTINCT_SHARE,
    Metric.MOST_COMMON,
}


class Unit(Enum):
    """How the measured number is read before it meets the interval."""

    VALUE = "value"
    ROWS = "rows"
    PERCENT = "percent"
    """Failing rows per hundred of the rows judged."""
    SHARE = "share"
    """The share, 0 to 1, of rows judged that do *not* fail; of no rows 1."""
    PART = "part"
    """The same, but of no rows 0, as Great Expectations has it."""


@dataclass(frozen=True, slots=True)
class Interval:
    """The good numbers: between two bounds, inclusive unless open; or, with `outside`, all the others."""

    low: Decimal | None = None
    high: Decimal | None = None
    low_open: bool = False
    high_open: bool = False
    outside: bool = False

    def holds(self, number: Fraction, epsilon: Fraction = Fraction(0)) -> bool:
        """Whether a number is good; what differs from a bound by at most `epsilon` of it counts as equal to it."""
        return self._between(number, epsilon) is not self.outside

    def _between(self, number: Fraction, epsilon: Fraction) -> bool:
        above = self.low is None or _beyond(number, Fraction(self.low), epsilon, is_open=self.low_open)
        return above and (self.high is None or _beyond(-number, -Fraction(self.high), epsilon, is_open=self.high_open))

    def __str__(self) -> str:
        """In words: `at least 0.9`, `at least 1 and at most 5`, `less than 3`, `not 7`."""
        if self.low is not None and self.low == self.high:
            return f"{'not ' if self.outside else 'exactly '}{self.low:f}"
        words = [
            f"{'more than' if self.low_open else 'at least'} {self.low:f}" if self.low is not None else "",
            f"{'less than' if self.high_open else 'at most'} {self.high:f}" if self.high is not None else "",
        ]
        return ("outside " if self.outside else "") + (" and ".join(filter(None, words)) or "anything")


def _beyond(number: Fraction, bound: Fraction, epsilon: Fraction, *, is_open: bool) -> bool:
    slack = abs(bound) * epsilon
    return number > bound + slack if is_open else number >= bound - slack


NONE = Interval(high=Decimal(0))
"""No row may fail."""


@dataclass(frozen=True, slots=True)
class Tier:
    """One of the two lines a check draws: the predicate rows must meet (where rows are counted) and the good numbers."""

    interval: Interval
    predicate: Predicate | None = None


class Place(Enum):
    """Which value stands at a place between two sorted values."""

    BETWEEN = "between"
    """One in between, in proportion (a median, as everybody has it)."""
    NEAREST = "nearest"
    """The nearest value; of two equally near the one whose number, from 0, is even (Great Expectations)."""
    REACHED = "reached"
    """The least value that, with those below it, makes up the share (SQL's PERCENTILE_DISC)."""


@dataclass(frozen=True, slots=True)
class Quantile:
    """A place among the sorted values: 0 is the least, 0.5 the middle, 1 the greatest."""

    share: Decimal
    place: Place = Place.BETWEEN

    def of(self, count: int) -> Fraction:
        """The place among so many values; where one of them is asked for, the place at which it stands itself."""
        share, last = Fraction(self.share), count - 1
        if self.place is Place.BETWEEN or last < 1:
            return share
        number = round(share * last) if self.place is Place.NEAREST else max(math.ceil(share * count) - 1, 0)
        return Fraction(number, last)


@dataclass(frozen=True, slots=True)
class Header:
    """What a check wants of the columns of a file; names may hold `*` for any run of characters where they are forbidden."""

    required: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    closed: bool = False
    """Whether no other columns than the required ones may stand there."""
    ordered: bool = False
    """Whether the required ones stand at the places where they are listed."""


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
    of_elements: bool = False
    """Whether elements of a list or a map are counted, instead of rows."""
    query: Query | None = None
    """What is asked, where the metric is one that is asked for."""
    given: Predicate | None = None
    """The number is taken over the rows for which this surely holds; None is all rows. Elsewhere the tiers' predicates hold."""
    nulls_alike: bool = False
    """Whether a null in a key equals another null, instead of leaving its row out."""
    quantile: Quantile | None = None
    header: Header | None = None
    """What is wanted of the columns of the file."""

    @property
    def reads(self) -> frozenset[str]:
        """Every field it needs: those it speaks of, and those its conditions read."""
        tiers = (tier.predicate for tier in (self.accept, self.tolerate) if tier)
        read = (fields_of(predicate) for predicate in (self.given, *tiers) if predicate is not None)
        return frozenset(self.fields).union(*read)

    @property
    def needs_rows(self) -> bool:
        """Whether an engine must look at rows to answer it."""
        return self.skip is None and not self.metric.of_header
