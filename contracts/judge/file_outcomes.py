"""Outcomes of the file itself, with ids `file/…`: readable, not empty, complete records, the declared columns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lakegate.contracts.judge.faults import BLANK
from lakegate.contracts.judge.outcomes import CheckOutcome, Status
from lakegate.contracts.model.policy import Additional, Treatment
from lakegate.contracts.plan.result import Sample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contracts.plan.plan import Plan
    from lakegate.contracts.plan.result import Columns, MalformedRecords, Result
    from lakegate.contracts.plan.slices import Merged, MergedSnapshot

RECORDS = "file/records"
"""The outcome of malformed records; each is a row that can be rejected alone."""

_ADDITIONAL = {Additional.ALLOW: Status.PASS, Additional.WARN: Status.WARN, Additional.FORBID: Status.FAIL}
_TREATMENTS = {Treatment.ACCEPT: Status.PASS, Treatment.WARN: Status.WARN, Treatment.REJECT: Status.FAIL}
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
    if result.merge is not None:
        yield from _merge_outcomes(result.merge, plan)
        if result.merge.snapshot is not None:
            yield from _snapshot_outcomes(result.merge.snapshot, plan)


def _late_outcome(late: int, plan: Plan, result: Result) -> CheckOutcome:
    rows = f"{late:,} {'row is' if late == 1 else 'rows are'} late"
    message = f"{rows}: of events before the watermark of the line, {result.watermark}"
    outcome = _of_file("late-events", _TREATMENTS[plan.policy.late_events], "events from the watermark on", message)
    return replace(outcome, failing_rows=late)


def _merge_outcomes(merge: Merged, plan: Plan) -> Iterator[CheckOutcome]:
    """Rows that are not as the line has them; those that are, are no outcome."""
    key = ", ".join(plan.policy.merge_key)
    if merge.changed:
        rows = f"{merge.changed:,} {'row has' if merge.changed == 1 else 'rows have'}"
        message = f"{rows} a key ({key}) that is known with other values: they are not published"
        outcome = _of_file(
            "changed", _TREATMENTS[plan.policy.changed_rows], "the values that are known of a key", message
        )
        yield replace(outcome, id="merge/changed", failing_rows=merge.changed)
    if merge.vanished and plan.policy.vanished_rows is not Treatment.ACCEPT:
        keys = f"{merge.vanished:,} {'key' if merge.vanished == 1 else 'keys'} of the line"
        message = f"the delivery has no row of {keys} ({key}): what was published stays"
        outcome = _of_file("vanished", _TREATMENTS[plan.policy.vanished_rows], "a row of each known key", message)
        yield replace(outcome, id="merge/vanished")


def _snapshot_outcomes(found: MergedSnapshot, plan: Plan) -> Iterator[CheckOutcome]:
    """Why a snapshot is not merged. What it changes is no outcome."""
    key, policy = ", ".join(plan.policy.merge_key), plan.policy
    if not found.time:
        why = (
            f"its accepted rows do not have one time in the column {policy.event_time} (`eventTime`)"
            if policy.event_time
            else f"its name has no time as `snapshotTime: {policy.snapshot_time}` says"
        )
        outcome = _of_file("time", Status.FAIL, "one time", f"the time of the snapshot is not known: {why}")
        yield replace(outcome, id="merge/time")
    elif found.time < found.newest:
        status = Status.FAIL if policy.late_events is Treatment.REJECT else Status.WARN
        message = f"the snapshot is of {found.time}, and one of {found.newest} came before: it changes nothing"
        outcome = _of_file("late-snapshot", status, "a snapshot that is not older than those before", message)
        yield replace(outcome, id="merge/late-snapshot")
    if found.without_key:
        rows = f"{found.without_key:,} {'row has' if found.without_key == 1 else 'rows have'}"
        message = f"{rows} no key ({key}) of their own: a null is in it, or an earlier row has it; the snapshot changes nothing"
        outcome = _of_file("keys", Status.FAIL, "one row of each key", message)
        yield replace(outcome, id="merge/keys", failing_rows=found.without_key)


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
