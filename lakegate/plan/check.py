"""Check: metric, thresholds, population, SQL query."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from itertools import accumulate
from typing import Annotated

from lakegate.base.json_codec import DOCUMENT_NAME, Bounds, Name, Share, Unique, omit_default
from lakegate.contract.contract_model import DATASET_KEY, Severity
from lakegate.contract.logical_types import PRECISION, SCALE, LogicalType
from lakegate.plan.metrics import Metric, Over
from lakegate.plan.predicates import Not, Predicate, Present, fields_of, together

# ---- A query of a plan ----
# `text` contains no text of the contract: relations are `r0`, `r1`, …, their columns `c0`, `c1`, …; constant texts are the bind
# parameters `:t0`, `:t1`, …, and the evaluation time is `:now`. `lakegate.sql` generates it from the contract's SQL.


CheckId = Annotated[str, Bounds(1, 8192)]
Sentence = Annotated[str, Bounds(1, 4096)]
Scale = Annotated[int, Bounds(0, PRECISION)]


@dataclass(frozen=True, slots=True)
class QueryColumn:
    """A field that a query reads."""

    field: Name
    type: LogicalType
    scale: Scale = omit_default(SCALE)
    """The digits after the point of a decimal's values."""


ID = QueryColumn("", LogicalType.INTEGER)
"""Not a field: the row id that an engine assigns."""


@dataclass(frozen=True, slots=True)
class QueryRelation:
    """A dataset that a query reads, and the fields that are its columns, in order."""

    dataset: Name
    columns: Annotated[tuple[QueryColumn, ...], Bounds(most=100_000)]
    delivered: bool = True
    """Whether the rows of the delivery are in it."""
    full_name: Annotated[str, Bounds(1, 512)] | None = field(default=None, metadata=DATASET_KEY)
    """The dataset whose accepted rows are in it: `<contract>/<dataset>_v<major>`; None if there is none."""


@dataclass(frozen=True, slots=True)
class Query:
    """One SELECT in the SQL of each engine: of a check it returns one number, of a derived dataset rows."""

    text: Annotated[str, Bounds(1, 1 << 15)]
    """Of Spark."""
    duckdb: Annotated[str, Bounds(1, 1 << 19)]
    """Of DuckDB, with the bind parameters `$t0`, `$t1`, … and `$now`."""
    texts: Annotated[tuple[Annotated[str, Bounds(most=1 << 16)], ...], Bounds(most=2000)]
    """Values of the bind parameters `:t0`, `:t1`, …"""
    relations: Annotated[tuple[QueryRelation, ...], Bounds(1, 100)]
    """`r0`, `r1`, …"""

    def bound(self, now: str) -> dict[str, str]:
        """The values of its parameters, at the judging time."""
        return {f"t{number}": text for number, text in enumerate(self.texts)} | {"now": now}

    @property
    def of_rows(self) -> Query | None:
        """The query for the ids of the rows that this query counts; None if it does more than count rows of the delivery."""
        own, (counted, also) = self.relations[0], (_COUNT.match(each) for each in (self.text, self.duckdb))
        if counted is None or also is None or not own.delivered or own.full_name is not None:
            return None
        if not _is_one(self.text[counted.end() :]):
            return None
        listed = f"SELECT q1.c{len(own.columns)} AS k0 FROM r0 AS q1 WHERE "  # noqa: S608 - our own text
        text, duckdb = listed + self.text[counted.end() :], listed + self.duckdb[also.end() :]
        return replace(self, text=text, duckdb=duckdb, relations=(replace(own, columns=(*own.columns, ID)),))


_COUNT = re.compile(r"SELECT count\((?:1L?|CAST\(1 AS BIGINT\))\) AS k0 FROM r0 AS q1 WHERE (?=\()")


def _is_one(condition: str) -> bool:
    """Whether a text is one parenthesized expression. It contains no constant texts, so that counting parentheses is enough."""
    depths = list(accumulate((each == "(") - (each == ")") for each in condition))
    return 0 not in depths[:-1] and depths[-1] == 0


# ---- A check ----
# A rule applied to one field, or to the dataset, is compiled into checks. The engine reports a number; `Tier.interval` contains
# the good numbers. Comparisons are exact (`Fraction`, `Decimal`); only floating-point aggregates are compared with a relative
# epsilon.


EPSILON = Fraction(1, 10**9)


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

    share: Share
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

    required: Annotated[tuple[Name, ...], Bounds(most=10_000)] = ()
    forbidden: Annotated[tuple[Name, ...], Bounds(most=10_000)] = ()
    closed: bool = False
    """Whether other columns than the required ones are forbidden."""
    ordered: bool = False
    """Whether the required columns must be at their listed positions."""


@dataclass(frozen=True, slots=True)
class Check:
    """A rule applied to one field: `accept` holds → pass; else `tolerate` holds → warn; else `worst`."""

    id: CheckId
    """`<rule>/<field path>`, or `<rule>` for the whole dataset."""
    rule: Sentence
    kind: Annotated[str, Bounds(1, 256)]
    fields: Annotated[tuple[Name, ...], Bounds(most=100), Unique()]
    metric: Metric
    unit: Unit
    accept: Tier
    tolerate: Tier | None = None
    worst: Severity = Severity.FAIL
    wanted: Annotated[str, Bounds(most=4096)] = ""
    """The description of the requirement, for tables and reasons."""
    skip: Sentence | None = None
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
    def observes(self) -> bool:
        """Whether what the data has is measured beside its failing rows: the metric of some rules of DCM."""
        return self.kind in {"min", "max", "allowedValues"} and self.metric is Metric.FAILING_ROWS

    @property
    def needs_rows(self) -> bool:
        """Whether an engine must read rows to measure it."""
        return self.skip is None and not self.metric.of_header and not self.metric.is_external


# ---- The population of a check ----


@dataclass(frozen=True, slots=True)
class Population:
    """Records in which all of these fields have a value of their type, and for which the condition is true (not null)."""

    fields: tuple[str, ...] = ()
    condition: Predicate | None = None

    @property
    def excluded(self) -> Predicate | None:
        """The predicate that fails exactly for records whose condition is true; None without a condition."""
        return None if self.condition is None else Not(self.condition)


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of some fields in the records of a population."""

    fields: tuple[str, ...]
    population: Population
    predicate: Predicate | None = None
    """The predicate of the keys that are counted, if not all are (`Metric.MOST_COMMON`)."""


def population_of(check: Check) -> Population | None:
    """The population of a check; None for all records."""
    over = check.metric.spec.over
    if over is Over.TEXTS:
        return Population(condition=together(check.row_filter, *map(Present, check.fields)))
    fields = () if over is Over.ROWS or check.nulls_alike else check.fields
    return Population(fields, check.row_filter) if fields or check.row_filter is not None else None


def keys_of(check: Check, tier: Tier | None = None) -> Keys | None:
    """The keys that a check (or one of its tiers) compares; None if it compares none."""
    population = population_of(check)
    predicate = tier.predicate if tier else None
    return Keys(check.fields, population, predicate) if check.metric.is_key_based and population is not None else None


def tiers_of(check: Check) -> tuple[Tier, ...]:
    """The one or two tiers of a check."""
    return (check.accept, check.tolerate) if check.tolerate else (check.accept,)


def referred_datasets(checks: Iterable[Check]) -> tuple[str, ...]:
    """The datasets whose accepted data checks refer to, `CONTRACT/DATASET_vN`, sorted."""
    return tuple(sorted({name for check in checks if check.query is not None for name in referred_in(check.query)}))


def referred_in(query: Query) -> Iterator[str]:
    """Those that a query refers to."""
    return (relation.full_name for relation in query.relations if relation.full_name)


def predicates_of(checks: tuple[Check, ...]) -> Iterator[Predicate]:
    """All predicates that are evaluated to measure these checks."""
    for check in checks:
        yield from (tier.predicate for tier in tiers_of(check) if tier.predicate)
        population = population_of(check)
        if population is not None and population.excluded is not None:
            yield population.excluded
