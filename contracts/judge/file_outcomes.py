"""Outcomes of the file itself, with ids `file/…`: readable, not empty, complete records, the declared columns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lakegate.contracts.judge.faults import BLANK
from lakegate.contracts.judge.outcomes import CheckOutcome, Status
from lakegate.contracts.model.policy import Additional, LateEvents
from lakegate.contracts.plan.result import Sample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contracts.plan.plan import Plan
    from lakegate.contracts.plan.result import Columns, MalformedRecords, Result

RECORDS = "file/records"
"""The outcome of malformed records; each is a row that can be rejected alone."""

_ADDITIONAL = {Additional.ALLOW: Status.PASS, Additional.WARN: Status.WARN, Additional.FORBID: Status.FAIL}
_LATE = {LateEvents.ACCEPT: Status.PASS, LateEvents.WARN: Status.WARN, LateEvents.REJECT: Status.FAIL}
_CUT_OFF = ("fields", "quotes", "json")
_MALFORMED = {
    "fields": "have another number of values than the header",
    "quotes": "have quotes that do not close or stand inside a value (a value with line breaks needs csv.multiLine: true)",
    "encoding": "are not valid in the declared encoding (csv.encoding)",
    "nul": "hold NUL characters",
    "too_long": "are longer than 1 MiB",
    "json": "are no JSON (RFC 8259; `NaN` is none, nor is a line that breaks off)",
    "object": "are JSON, but no objects",
    "keys": "name a key twice",
}


def file_outcomes(plan: Plan, result: Result) -> Iterator[CheckOutcome]:
    """The outcomes of the file itself; empty if it is as declared."""
    if result.unreadable is not None:
        yield _of_file("readable", Status.FAIL, "a readable file", result.unreadable.message)
        return
    if result.rows == 0:
        status = Status.PASS if plan.policy.allow_empty else Status.FAIL
        yield _of_file("rows", status, "at least one row", "the delivery holds no rows")
    if result.malformed:
        yield _records_outcome(result)
    if result.columns is not None:
        yield from column_outcomes(plan, result.columns)
    late = sum(each.late for each in result.slices)
    if late:
        yield _late_outcome(late, plan, result)


def _late_outcome(late: int, plan: Plan, result: Result) -> CheckOutcome:
    rows = f"{late:,} {'row is' if late == 1 else 'rows are'} late"
    message = f"{rows}: of events before the watermark of the line, {result.watermark}"
    outcome = _of_file("late-events", _LATE[plan.policy.late_events], "events from the watermark on", message)
    return replace(outcome, failing_rows=late)


def _records_outcome(result: Result) -> CheckOutcome:
    message = "; ".join(
        f"{each.rows:,} {'row' if each.rows == 1 else 'rows'} (first: row {each.first_row:,}) {_MALFORMED[each.reason]}"
        f"{_detail(each, result)}"
        for each in result.malformed
    )
    rows = sum(each.rows for each in result.malformed)
    name, wanted = RECORDS.removeprefix("file/"), "records of the promised shape"
    samples = tuple(Sample(each.first_row, (), each.part) for each in result.malformed)
    return replace(_of_file(name, Status.FAIL, wanted, message), failing_rows=rows, samples=samples)


def _detail(found: MalformedRecords, result: Result) -> str:
    """The details of the first malformed record, and the remedy."""
    parts: list[str] = []
    if found.values is not None:
        parts.append(f" ({found.values:,} instead of {found.wanted:,})")
    if found.record == BLANK:
        parts.append(": it holds nothing but delimiters, remove such rows")
    elif found.is_last and found.reason in _CUT_OFF and (found.values or 0) <= (found.wanted or 0):
        parts.append(": it is the last line, was the upload cut off?")
    elif found.values is not None and found.values > (found.wanted or 0):
        parts.append(_too_many(found, result))
    if found.encoding is not None:
        parts.append(f": save the file in it, or declare csv.encoding: {found.encoding}, in which they can be read")
    return "".join(parts)


def _too_many(found: MalformedRecords, result: Result) -> str:
    if found.rows == result.rows and found.values == (found.wanted or 0) + 1:
        return ": every row has one more, an index without a name in the header, a delimiter at the end, or a decimal comma"
    return ": a value that holds the delimiter, such as a decimal comma, stands in quotes"


def column_outcomes(plan: Plan, columns: Columns) -> Iterator[CheckOutcome]:
    """The outcomes of the header's columns, except missing ones, which their checks report."""
    if columns.reordered:
        message = "the columns stand in another order than declared; consumers may read by position"
        yield _of_file("column-order", Status.WARN, "columns in the declared order", message)
    if columns.extra:
        extra = ", ".join(each or "one without a name" for each in columns.extra)
        message = f"the file has columns the contract does not name: {extra}"
        yield _of_file("additional-columns", _ADDITIONAL[plan.policy.additional_fields], "declared columns", message)


def _of_file(name: str, status: Status, wanted: str, message: str) -> CheckOutcome:
    return CheckOutcome(f"file/{name}", "file", "file", (), status, wanted, "", None, message)
