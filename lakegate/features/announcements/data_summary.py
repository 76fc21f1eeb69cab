"""Judges a producer's summary of data before the data is sent: what is certain of it, whatever the data contains besides.

A summary can only refuse. Its minimum, maximum and examples are values of the data, so a rule that one of them breaks is
broken in a row at least; its other numbers are those of the data. What no summary proves is left to the job, which believes none
of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from lakegate.admission.file_signatures import declared_format
from lakegate.admission.refusals import refused_by_size
from lakegate.base.errors import InputError
from lakegate.contract.contract_model import Shape
from lakegate.contract.file_formats import Format, Storage
from lakegate.contract.logical_types import LogicalType, literal, text_of
from lakegate.features.announcements.wanted_delivery import ColumnSummary, DataSummary, ExtremeValue
from lakegate.plan.check import Check, Tier, tiers_of
from lakegate.plan.metrics import Metric
from lakegate.plan.plan import Plan, PlanField
from lakegate.plan.predicates import All, Length, Not, OneOf, Predicate, Present, Typed, Within, holds, sort_key
from lakegate.plan.result import Columns, IncompatibleType, Measured, Measurement, Result
from lakegate.verdict.check_status import CheckOutcome
from lakegate.verdict.verdict import certain_failures, is_upper_bound

FITS: Final[Mapping[LogicalType, frozenset[LogicalType]]] = {
    LogicalType.INTEGER: frozenset({LogicalType.NUMBER, LogicalType.DECIMAL}),
    LogicalType.NUMBER: frozenset({LogicalType.DECIMAL}),
    LogicalType.DECIMAL: frozenset({LogicalType.NUMBER}),
}
"""The other types that values of a type may be declared as; every value may be declared as a text or as bytes."""
ANYTHING: Final = frozenset({LogicalType.STRING, LogicalType.BINARY})


@dataclass(frozen=True, slots=True)
class SummaryRefusal:
    """A reason to refuse data by its summary."""

    code: str
    """Stable: the kind of the rule, or what is wrong with the file (`size`, `rows`, `readable`, `missing-columns`, …)."""
    check: str
    """Id of the check, as reasons of a verdict have it."""
    path: str
    """JSON Pointer to what proves it, from the announcement."""
    message: str


def summary_refusals(plan: bytes, size: int | None, summary: DataSummary | None) -> tuple[SummaryRefusal, ...]:
    """The reasons to refuse data of `size` bytes with this summary; none: it has to be seen.

    Rules refuse nothing that they would let through: with `mode: observe` none does, with `onReject: rows` those of single rows
    do not. Raises InputError where the summary contradicts itself.
    """
    refused = refused_by_size(plan, size) if size is not None else ()
    refusals = [_of_text(each, "/size") for each in refused]
    if summary is None:
        return tuple(refusals)
    if size is None and summary.size is not None:
        refusals = [_of_text(each, "/summary/size") for each in refused_by_size(plan, summary.size)]
    if size not in {None, summary.size} and summary.size is not None:
        raise InputError("the summary has another size than the announcement")
    if summary.shape not in {None, (summary.rows, len(summary.columns))}:
        raise InputError("the summary has another shape than its rows and columns")
    if len(summary.examples) > summary.rows:
        raise InputError("the summary has more examples than rows")
    if len({column.name for column in summary.columns}) < len(summary.columns):
        raise InputError("the summary names a column twice")
    if any(column.nulls is not None and column.nulls > summary.rows for column in summary.columns):
        raise InputError("the summary has a column with more nulls than rows")
    judged = Plan.from_bytes(plan)
    refusals += _of_storage(judged.storage, summary)
    named = _by_paths(judged, summary)
    at = {each.name: f"/summary/columns/{place}" for place, each in enumerate(named.columns)}
    refusals += [_located(failure, at) for failure in certain_failures(judged, _certain(judged, named))]
    return tuple(refusals)


def leave_out_classified(plan: bytes, summary: DataSummary) -> DataSummary:
    """The summary without the values of columns that the contract classifies, which nobody is to read in it."""
    classified = {
        column.column for column in Plan.from_bytes(plan).columns if column.classification and not column.public
    }
    columns = tuple(
        replace(column, minimum=None, maximum=None) if column.name in classified else column
        for column in summary.columns
    )
    examples = tuple({name: value for name, value in row.items() if name not in classified} for row in summary.examples)
    return replace(summary, columns=columns, examples=examples)


def _by_paths(plan: Plan, summary: DataSummary) -> DataSummary:
    """The summary, in which columns have their names in the data, with the paths of the plan in their place."""
    paths = plan.paths_of(column.name for column in summary.columns)
    columns = tuple(replace(each, name=path) for each, path in zip(summary.columns, paths, strict=True))
    examples = tuple(dict(zip(plan.paths_of(row), row.values(), strict=True)) for row in summary.examples)
    return replace(summary, columns=columns, examples=examples)


def _of_text(reason: str, path: str) -> SummaryRefusal:
    check, _, message = reason.partition(": ")
    return SummaryRefusal(check.removeprefix("file/"), check, path, message)


def _of_storage(storage: Storage, summary: DataSummary) -> Iterator[SummaryRefusal]:
    """Another format or compression than the contract's; one of no known format takes nothing."""
    formats = {Format.JSON, Format.JSONL, Format.ANY_JSON} if storage.format is Format.ANY_JSON else {storage.format}
    wanted = declared_format(storage) or "a format that is not read here"
    if storage.format is Format.UNKNOWN or (summary.format is not None and summary.format not in formats):
        yield SummaryRefusal("readable", "file/readable", "/summary/format", f"the contract promises {wanted}")
    elif storage.format.is_text and summary.compression not in {None, storage.compression}:
        yield SummaryRefusal("readable", "file/readable", "/summary/compression", f"the contract promises {wanted}")


def _located(outcome: CheckOutcome, at: Mapping[str, str]) -> SummaryRefusal:
    code = outcome.id.rpartition("/")[2] if outcome.kind == "file" else outcome.kind
    path = "/summary/rows" if outcome.id == "file/rows" or outcome.kind == "rowCount" else "/summary/columns"
    if len(outcome.fields) == 1:
        path = at.get(outcome.fields[0], path)
    return SummaryRefusal(code, outcome.id, path, outcome.message)


def _certain(plan: Plan, summary: DataSummary) -> Result:
    """A result with what the summary proves: every number in it is the fewest failing rows, or that of the data."""
    stated = {column.name: column for column in summary.columns}
    foreign = [
        IncompatibleType(field.name, each.type.value)
        for field in plan.columns
        if (each := stated.get(field.name)) is not None and each.type is not None and not _fits(each.type, field)
    ]
    own = plan.paths_of(field.column for field in plan.fields)
    columns = Columns(
        found=tuple(stated),
        absent=tuple(field.name for field, path in zip(plan.fields, own, strict=True) if path not in stated),
        extra=tuple(name for name in stated if name not in {field.name for field in plan.columns}),
        foreign=tuple(foreign),
    )
    foreign_names = frozenset(each.field for each in foreign)
    evidence = _Evidence(plan, summary.rows, stated, foreign_names, summary.examples)
    measurements = tuple(filter(None, map(evidence.of, plan.checks)))
    return Result("", 0, "", "", rows=summary.rows, columns=columns, measurements=measurements)


def _fits(stated: LogicalType, field: PlanField) -> bool:
    is_nested = field.shape is not Shape.VALUE
    return is_nested or stated is field.type or field.type in FITS.get(stated, frozenset()) | ANYTHING


@dataclass(frozen=True, slots=True)
class _Evidence:
    """The evidence of a summary about checks."""

    plan: Plan
    rows: int
    columns: Mapping[str, ColumnSummary]
    foreign: frozenset[str]
    examples: tuple[dict[str, ExtremeValue], ...]

    def of(self, check: Check) -> Measurement | None:
        """The measurement, where the summary has one; it is never better than that of the data."""
        if check.metric is Metric.ROW_COUNT and check.row_filter is None:
            return Measurement(check.id, Measured(self.rows))
        if check.metric is not Metric.FAILING_ROWS or check.of_elements or len(check.reads) != 1:
            return None
        (name,) = check.reads
        column = self.columns.get(name)
        tiers = tiers_of(check)
        if (
            column is None
            or check.row_filter not in {None, Present(name)}
            or not all(map(partial(is_upper_bound, check), tiers))
        ):
            return None
        found = [Measured(self.rows, self._failing(tier, column)) for tier in tiers]
        tolerated = found[1] if check.tolerate else None
        return Measurement(check.id, found[0], tolerated) if any(each.failing for each in found) else None

    def _failing(self, tier: Tier, column: ColumnSummary) -> int:
        """The fewest rows that break a tier."""
        predicate, field = tier.predicate, self.plan.field(column.name)
        assert predicate is not None
        examples = [example[column.name] for example in self.examples if column.name in example]
        if predicate == Present(column.name):
            return max(column.nulls or 0, examples.count(None))
        if predicate == Typed(column.name) and column.name in self.foreign:
            return self.rows - (column.nulls or 0)
        if not _is_decidable(predicate):
            return 0
        ends = {
            (value if value is None else sort_key(field.type, value)): written
            for written in (text_of(each) for each in (column.minimum, column.maximum, *examples) if each is not None)
            for value in (literal(field.type, written, field.scale),)
        }
        if predicate != Typed(column.name):
            ends.pop(None, None)  # it is no value, which is the type's subject
        return sum(not holds(predicate, field.type, written, field.scale) for written in ends.values())


def _is_decidable(predicate: Predicate) -> bool:
    """Whether the smallest and the largest value are judged by it exactly as the engines do."""
    match predicate:
        case Not(inner):
            return _is_decidable(inner)
        case All(inner):
            return all(map(_is_decidable, inner))
        case _:
            return isinstance(predicate, Within | OneOf | Length | Typed | Present)
