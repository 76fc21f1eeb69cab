"""Thresholds of measures that no data can meet together: of one measure, or of measures that bound each other.

Rules are compared as checks, whatever the words of their format or technology: `size` of DCM, `rowCount` of ODCS and `row_count`
of Soda are one measure. Of a check the widest tier counts: the tolerance beyond which it fails.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor

from lakegate.base.text import without_hints
from lakegate.contract.contract_model import Contract, Dataset, Rule
from lakegate.contract.documents.document_tree import Document
from lakegate.contract.logical_types import number_of
from lakegate.lints.findings import Finding
from lakegate.plan.check import Check, Tier, Unit
from lakegate.plan.metrics import Metric, Number
from lakegate.plan.predicates import Length, Not, OneOf, Within
from lakegate.rules.compile_plan import checks_by_rule

OF_VALUES = ("minimum", "maximum", "min", "max")
"""Kinds of rules about the least and greatest value, which `reversed-bounds` compares with each other."""
OF_PRESENCE = ("required", "primaryKey")
"""Kinds of rules that `required-and-null` compares."""
COUNTS = (Number.FAILING, Number.TOTAL, Number.REMAINING)


@dataclass(frozen=True, slots=True)
class Span:
    """Numbers between two bounds, inclusive unless open; None: no bound."""

    low: Fraction | None = None
    high: Fraction | None = None
    low_open: bool = False
    high_open: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there is no such number."""
        if self.low is None or self.high is None:
            return False
        return self.low > self.high or (self.low == self.high and (self.low_open or self.high_open))

    @property
    def whole(self) -> Span:
        """The bounds of the whole numbers among them."""
        low = None if self.low is None else floor(self.low) + 1 if self.low_open else ceil(self.low)
        high = None if self.high is None else ceil(self.high) - 1 if self.high_open else floor(self.high)
        return Span(None if low is None else Fraction(low), None if high is None else Fraction(high))

    def within(self, other: Span) -> Span:
        """The numbers that are in both."""
        low, low_open = max(
            ((side.low, side.low_open) for side in (self, other) if side.low is not None), default=(None, False)
        )
        high, is_closed = min(
            ((side.high, not side.high_open) for side in (self, other) if side.high is not None), default=(None, True)
        )
        return Span(low, high, low_open, not is_closed)


@dataclass(frozen=True, slots=True)
class MeasureBound:
    """What a check says of a measure."""

    rule: Rule
    check: Check
    span: Span


Measures = dict[Hashable, list[MeasureBound]]


def contradicting_thresholds(contract: Contract, _document: Document) -> Iterator[Finding]:
    """Rules about one measure, or about measures that bound each other, can hold together."""
    for dataset in contract.datasets:
        for schedule in dict.fromkeys(rule.schedule for rule in dataset.rules):
            measures = _measures(contract, dataset, schedule)
            problems = {id(rule): (rule, words) for rule, words in (*_of_one_measure(measures), *_of_related(measures))}
            yield from ((rule.origin.path, words) for rule, words in problems.values())


def _measures(contract: Contract, dataset: Dataset, schedule: str) -> Measures:
    """The bounds of each measure, in the order of the rules; rules with a schedule of their own measure other data."""
    own = replace(dataset, rules=tuple(entry for entry in dataset.rules if entry.schedule == schedule))
    bounds: Measures = {}
    with without_hints():
        compiled = list(checks_by_rule(contract, own))
    for rule, checks in compiled:
        for check in checks:
            tier = check.tolerate or check.accept
            if check.skip is None and not tier.interval.outside and not check.metric.is_external:
                for key, span in _bounds(check, tier):
                    bounds.setdefault(key, []).append(MeasureBound(rule, check, span))
    return bounds


def _bounds(check: Check, tier: Tier) -> Iterator[tuple[Hashable, Span]]:
    """The measures of a check, each with its good numbers: rows that fail are a number and a share of them."""
    good = tier.interval
    span = Span(_exact(good.low), _exact(good.high), good.low_open, good.high_open)
    key = (
        *(check.metric, check.fields, check.of_elements, check.row_filter, check.nulls_alike, check.quantile),
        *(tier.predicate, check.query, check.header),
    )
    if check.unit in {Unit.SHARE, Unit.PART}:
        low, high = (None if side is None else 1 - side for side in (span.high, span.low))
        yield (key, "share"), Span(low, high, span.high_open, span.low_open)
    elif check.unit is Unit.PERCENT:
        low, high = (None if side is None else side / 100 for side in (span.low, span.high))
        yield (key, "share"), Span(low, high, span.low_open, span.high_open)
    else:
        is_count = check.metric.spec.number in COUNTS
        span = span.whole if is_count else span
        yield (key, "number"), span
        if check.metric is Metric.FAILING_ROWS and span.high == 0:
            yield (key, "share"), Span(Fraction(0), Fraction(0))
        if check.metric is Metric.FAILING_ROWS and span.low is not None and span.low > 0:
            yield (key, "share"), Span(Fraction(0), low_open=True)


def _of_one_measure(measures: Measures) -> Iterator[tuple[Rule, str]]:
    for bounds in measures.values():
        least, greatest, span = bounds[0], bounds[0], bounds[0].span
        for bound in bounds[1:]:
            common = span.within(bound.span)
            if not common.is_empty:
                least = bound if (common.low, common.low_open) != (span.low, span.low_open) else least
                greatest = bound if (common.high, common.high_open) != (span.high, span.high_open) else greatest
                span = common
                continue
            other = least if Span(span.low, None, span.low_open).within(bound.span).is_empty else greatest
            if {other.rule.kind, bound.rule.kind}.isdisjoint(OF_PRESENCE):
                yield bound.rule, _words(bound.check, other.check)


def _words(check: Check, other: Check) -> str:
    return f"This rule wants {check.wanted}, and another one {other.wanted}: no delivery meets both."


# ---- Measures that bound each other ----


@dataclass(frozen=True, slots=True)
class _Values:
    """The values that the rules of a field allow, and the number of rows of a delivery."""

    span: Span
    lengths: Span
    listed: int | None
    """The number of values in the shortest closed list."""
    rows: Span
    source: Check | None
    """The last check that bounds the values."""


def _of_related(measures: Measures) -> Iterator[tuple[Rule, str]]:
    """Mean, quantiles, sum and deviation lie within what single values allow, and counts within the number of rows."""
    bounds = [entry for measure in measures.values() for entry in measure]
    rows = Span(Fraction(0))
    counting: Check | None = None
    for bound in bounds:
        if bound.check.metric is Metric.ROW_COUNT and bound.check.row_filter is None:
            rows, counting = rows.within(bound.span), bound.check
    required = {name for bound in bounds if bound.rule.kind in OF_PRESENCE for name in bound.check.fields}
    of_fields: dict[str, list[MeasureBound]] = {}
    for bound in bounds:
        if len(bound.check.fields) == 1 and not bound.check.of_elements:
            of_fields.setdefault(bound.check.fields[0], []).append(bound)
    for name, own in of_fields.items():
        values = _values(own, rows)
        is_required = name in required
        for measured in own:
            if measured.check.row_filter is not None or measured.check.unit in {Unit.SHARE, Unit.PART, Unit.PERCENT}:
                continue
            possible, other = _possible(measured.check, values, counting, is_required=is_required)
            if other is not None and possible.within(measured.span).is_empty:
                yield measured.rule, _words(measured.check, other)
            reached = _span_to_reach(measured)
            if reached is not None and values.source is not None and reached.within(values.span).is_empty:
                yield measured.rule, _words(measured.check, values.source)


def _values(bounds: list[MeasureBound], rows: Span) -> _Values:
    span, lengths, listed, source = Span(), Span(), None, None
    for bound in bounds:
        predicate = (bound.check.tolerate or bound.check.accept).predicate
        if bound.check.metric is not Metric.FAILING_ROWS or bound.span.high != 0 or bound.check.row_filter is not None:
            continue
        match predicate:
            case Within(_, low, high, low_open, high_open):
                span, source = span.within(Span(_number(low), _number(high), low_open, high_open)), bound.check
            case Length(_, low, high):
                lengths, source = lengths.within(Span(_exact(low), _exact(high))), bound.check
            case OneOf(_, values):
                listed, source = min(len(values), listed if listed is not None else len(values)), bound.check
    return _Values(span, lengths, listed, rows, source)


def _exact(end: Decimal | int | None) -> Fraction | None:
    return None if end is None else Fraction(end)


def _number(end: str | None) -> Fraction | None:
    number = None if end is None else number_of(end)
    return None if number is None else Fraction(number)


def _possible(check: Check, values: _Values, counting: Check | None, *, is_required: bool) -> tuple[Span, Check | None]:
    """The numbers that a measure of a field can have by other rules, with one of these."""
    low, high, span = values.span.low, values.span.high, Span()
    match check.metric:
        case Metric.MEAN | Metric.QUANTILE:
            span = values.span
        case Metric.MEAN_LENGTH:
            span = values.lengths
        case Metric.DEVIATION if low is not None and high is not None:
            # Two values at the ends have the largest sample deviation: the range by the square root of 2.
            span = Span(Fraction(0), (high - low) * Fraction(70_710_679, 100_000_000))
        case Metric.SUM:
            least = values.rows.low if is_required and values.rows.low else Fraction(1)
            span = _of_sum(values.span, least, values.rows.high)
        case Metric.DISTINCT_COUNT if values.listed is not None:
            span = Span(Fraction(0), Fraction(values.listed))
        case Metric.DISTINCT_COUNT | Metric.FAILING_ROWS | Metric.DUPLICATE_ROWS | Metric.DUPLICATE_KEYS:
            return Span(Fraction(0), values.rows.high), counting
    return span, values.source


def _of_sum(span: Span, least: Fraction, most: Fraction | None) -> Span:
    """The sum of at least and at most so many values; at least one, because nothing has no sum."""
    low = None if span.low is None else span.low * least if span.low >= 0 else None if most is None else span.low * most
    high = (
        None
        if span.high is None
        else span.high * least
        if span.high <= 0
        else None
        if most is None
        else span.high * most
    )
    return Span(low, high)


def _span_to_reach(bound: MeasureBound) -> Span | None:
    """The values of which some row is to have one; None for other checks."""
    predicate = bound.check.accept.predicate
    is_some = bound.check.metric is Metric.FAILING_ROWS and bound.span.low is not None and bound.span.low >= 1
    if not is_some or not isinstance(predicate, Not) or not isinstance(predicate.inner, Within):
        return None
    inner = predicate.inner
    return Span(_number(inner.low), _number(inner.high), inner.low_open, inner.high_open)
