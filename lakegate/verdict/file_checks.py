"""Outcomes of the file itself, with ids `file/…`: readable, not empty, complete records, the declared columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lakegate.admission.file_signatures import UTF_8, encoding_remedy, saved_as
from lakegate.admission.header import quote_names
from lakegate.base.text import plural
from lakegate.contract.delivery_policy import FieldTreatment, Treatment
from lakegate.contract.field_paths import steps_of
from lakegate.contract.file_formats import ENCODING_TITLES
from lakegate.plan.plan import Plan
from lakegate.plan.result import MOST_PERIODS, Columns, DeliveredPeriod, MalformedRecords, Result, Sample
from lakegate.plan.slice_order import Merged, MergedSnapshot
from lakegate.verdict.check_status import CheckOutcome, Status
from lakegate.verdict.value_mistakes import BLANK, TOTAL, WRAPPED

READABLE = "file/readable"
PERIOD = "file/period"
MARK = "file/byte-order-mark"
NOTES = frozenset({MARK})
"""Outcomes that pass and are shown all the same."""
RECORDS = "file/records"
"""The outcome of malformed records; each is a row that can be rejected alone."""
_FIELDS = {FieldTreatment.ALLOW: Status.PASS, FieldTreatment.WARN: Status.WARN, FieldTreatment.FORBID: Status.FAIL}
_TREATMENTS = {Treatment.ACCEPT: Status.PASS, Treatment.WARN: Status.WARN, Treatment.REJECT: Status.FAIL}
_CUT_OFF = ("fields", "quotes", "cut")

MALFORMED = {
    "fields": ("has", "have", "another number of values than the header"),
    "quotes": (
        "has quotes that do not close or stand inside a value",
        "have quotes that do not close or stand inside a value",
        "(a value with line breaks needs csv.multiLine: true)",
    ),
    "line-ends": ("has", "have", "a CR that is no line end: remove it, or save the file with LF or CRLF line ends"),
    "encoding": ("is", "are", "not valid UTF-8, which JSON is written in: save the file as UTF-8"),
    "nul": ("holds", "hold", "NUL characters"),
    "too_long": ("is", "are", "longer than 1 MiB"),
    "elements": ("has", "have", "more than 524,288 values in lists and maps: deliver each element as a record"),
    "json": ("is", "are", "no JSON (RFC 8259)"),
    "nan": ("holds", "hold", "NaN or Infinity, which JSON does not have: write null"),
    "python": (
        "is",
        "are",
        "written as Python prints values (single quotes, True, None), which is no JSON: write them with json.dumps",
    ),
    "comma": (
        "has",
        "have",
        "a comma too many: write none between the objects of lines, and none before a closing bracket",
    ),
    "spread": (
        "is a piece of an object that goes over several lines:",
        "are pieces of objects that go over several lines:",
        'write each object on one line (pandas: df.to_json(orient="records", lines=True); jq -c .)',
    ),
    "several": ("has", "have", "several objects in one line: write each object on a line of its own (jq -c .)"),
    "cut": ("breaks off before its object closes", "break off before their object closes", ""),
    "surrogate": (
        "holds",
        "hold",
        "half of a character (a lone surrogate such as `\\ud83d`): write whole characters",
    ),
    "object": ("is JSON, but no object:", "are JSON, but no objects:", "write one object for each record"),
    "keys": ("names", "name", "a key twice"),
}
"""Faults of malformed records, by their reason: of one record, of several, and the rest of both sentences."""


def file_outcomes(plan: Plan, result: Result) -> Iterator[CheckOutcome]:
    """The outcomes of the file itself; empty if it is as declared."""
    if result.unreadable is not None:
        yield file_outcome(READABLE, Status.FAIL, "a readable file", result.unreadable.message)
        return
    if result.rows == 0:
        status = Status.PASS if plan.policy.allow_empty else Status.FAIL
        yield file_outcome("file/rows", status, "at least one row", "the delivery holds no rows")
    if result.is_marked:
        message = "the file begins with a byte order mark (BOM), which was skipped: other readers may not skip it"
        yield file_outcome(MARK, Status.PASS, "UTF-8", message)
    yield from _encoding_outcome(plan, result)
    if result.malformed:
        yield _records_outcome(plan, result)
    if result.columns is not None:
        yield from column_outcomes(plan, result.columns)
    if result.period is not None:
        yield from _period_outcome(plan, result.period)
    late = sum(piece.late for piece in result.slices)
    if late:
        rows = plural(late, "row is late", "rows are late")
        message = f"{rows}: of events before the watermark of the line, {result.watermark}"
        status = _TREATMENTS[plan.policy.late_events]
        yield file_outcome("file/late-events", status, "events from the watermark on", message, late)
    if result.merge is not None:
        yield from _merge_outcomes(result.merge, plan)
        if result.merge.snapshot is not None:
            yield from _snapshot_outcomes(result.merge.snapshot, plan)


def _encoding_outcome(plan: Plan, result: Result) -> Iterator[CheckOutcome]:
    """The outcome of bytes that the declared encoding has, too; of others the malformed records have the same remedy."""
    if result.is_utf_8 and not any(each.reason == "encoding" for each in result.malformed):
        title = ENCODING_TITLES[plan.csv.encoding]
        words = f"the bytes are UTF-8, although the contract declares {title}, so that readers see `Ã¼` for `ü`"
        message = f"{words}: {saved_as(plan.csv.encoding)}{encoding_remedy(UTF_8)}"
        yield file_outcome("file/encoding", Status.WARN, title, message)


def _period_outcome(plan: Plan, period: DeliveredPeriod) -> Iterator[CheckOutcome]:
    """The outcome of accepted rows that do not have one period: the delivery could replace none as a whole."""
    column = quote_names([plan.policy.period or ""])
    if period.values > 1:
        count = f"{period.values:,}" if period.values <= MOST_PERIODS else f"more than {MOST_PERIODS:,}"
        message = f"the delivery has {count} values of {column}: deliver the rows of each as a file of its own"
        yield file_outcome(PERIOD, Status.FAIL, "one period", message)
    elif period.has_rows_without:
        message = f"rows have no value of {column}, and so belong to no period: fill it in"
        yield file_outcome(PERIOD, Status.FAIL, "one period", message)


def _merge_outcomes(merge: Merged, plan: Plan) -> Iterator[CheckOutcome]:
    """Rows that are not as the line has them; those that are, are no outcome."""
    key = ", ".join(plan.policy.merge_key)
    if merge.changed:
        rows = plural(merge.changed, "row has", "rows have")
        message = f"{rows} a key ({key}) that is known with other values: they are not published"
        status = _TREATMENTS[plan.policy.changed_rows]
        yield file_outcome("merge/changed", status, "the values that are known of a key", message, merge.changed)
    if merge.vanished and plan.policy.vanished_rows is not Treatment.ACCEPT:
        keys = f"{plural(merge.vanished, 'key')} of the line"
        message = f"the delivery has no row of {keys} ({key}): what was published stays"
        status = _TREATMENTS[plan.policy.vanished_rows]
        yield file_outcome("merge/vanished", status, "a row of each known key", message)


def _snapshot_outcomes(found: MergedSnapshot, plan: Plan) -> Iterator[CheckOutcome]:
    """Reasons why a snapshot is not merged. A change by it is no outcome."""
    key, policy = ", ".join(plan.policy.merge_key), plan.policy
    if not found.time:
        why = (
            f"its accepted rows do not have one time in the column {policy.event_time} (`eventTime`)"
            if policy.event_time
            else f"its name has no time as `snapshotTime: {policy.snapshot_time}` says"
        )
        message = f"the time of the snapshot is not known: {why}"
        yield file_outcome("merge/time", Status.FAIL, "one time", message)
    elif found.time < found.newest:
        status = Status.FAIL if policy.late_events is Treatment.REJECT else Status.WARN
        message = f"the snapshot is of {found.time}, and one of {found.newest} came before: it changes nothing"
        yield file_outcome("merge/late-snapshot", status, "a snapshot that is not older than those before", message)
    if found.without_key:
        rows = plural(found.without_key, "row has", "rows have")
        message = f"{rows} no key ({key}) of their own: a null is in it, or an earlier row has it; the delivery changes nothing"
        yield file_outcome("merge/keys", Status.FAIL, "one row of each key", message, found.without_key)


def _records_outcome(plan: Plan, result: Result) -> CheckOutcome:
    message = "; ".join(
        f"{plural(kind.rows, 'row')} (first: row {kind.first_row:,}) {_fault(plan, kind)}{_detail(kind, result)}"
        for kind in result.malformed
    )
    rows = sum(malformed.rows for malformed in result.malformed)
    samples = [
        sample
        for malformed in result.malformed
        for sample in malformed.samples or (Sample(malformed.first_row, (), malformed.part),)
    ]
    ordered = tuple(sorted(samples, key=lambda sample: (sample.part, sample.row)))
    outcome = file_outcome(RECORDS, Status.FAIL, "records of the promised shape", message, rows)
    return replace(outcome, samples=ordered)


def _fault(plan: Plan, malformed: MalformedRecords) -> str:
    if malformed.reason != "encoding" or plan.storage.format.is_json:
        one, many, rest = MALFORMED[malformed.reason]
        return f"{one if malformed.rows == 1 else many} {rest}".rstrip()
    encoding = plan.csv.encoding
    verb = "is" if malformed.rows == 1 else "are"
    return f"{verb} not valid {ENCODING_TITLES[encoding]}: {saved_as(encoding)}{encoding_remedy(malformed.encoding)}"


def _detail(malformed: MalformedRecords, result: Result) -> str:
    """The details of the first malformed record, and the remedy."""
    if malformed.values is not None:
        counted = f" ({malformed.values:,} instead of {malformed.wanted:,})"
    else:
        counted = f", from character {malformed.at:,} on" if malformed.at is not None else ""
    if malformed.record in _RECORDS:
        return f"{counted}: {_RECORDS[malformed.record]}"
    if malformed.is_last and malformed.reason in _CUT_OFF and (malformed.values or 0) <= (malformed.wanted or 0):
        return f"{counted}: it is the last line, was the upload cut off?"
    if malformed.values is not None and malformed.values > (malformed.wanted or 0):
        if malformed.rows == result.rows and malformed.values == (malformed.wanted or 0) + 1:
            look = "an index without a name in the header, a delimiter at the end, or a decimal comma"
            return f"{counted}: no row has as many, look for {look}"
        return f"{counted}: a value that holds the delimiter, such as a decimal comma, stands in quotes"
    return counted


_RECORDS = {
    BLANK: "it holds nothing but delimiters, remove such rows",
    TOTAL: "it holds totals or the end of a list, remove such rows",
    WRAPPED: "it is one object with the records in a list, write each of them on a line of its own",
}


ADDITIONAL = "file/additional-columns"
MISSING = "file/missing-columns"
"""The outcome of absent fields that the contract forbids, and of those that no check would report."""


def column_outcomes(plan: Plan, columns: Columns) -> Iterator[CheckOutcome]:
    """The outcomes of the header's columns; absent ones that only warn are reported by the checks that read them."""
    yield from _missing_outcome(plan, columns)
    if columns.reordered:
        message = "the columns stand in another order than declared; consumers may read by position"
        yield file_outcome("file/column-order", Status.WARN, "columns in the declared order", message)
    if columns.extra:
        extra = ", ".join(each or "one without a name" for each in columns.extra)
        ends = "; the last one has none: does each line end with a delimiter?" if columns.found[-1:] == ("",) else ""
        message = f"the file has columns the contract does not name: {extra}{ends}"
        yield file_outcome(ADDITIONAL, _FIELDS[plan.policy.additional_fields], "declared columns", message)
        if alike := _alike(plan, columns):
            pairs = quote_names(" and ".join(names) for names in alike)
            message = f"names differ in capitals only: {pairs}; Spark, Athena and others take them for one: rename one"
            yield file_outcome("file/column-case", Status.FAIL, "names that differ in more than capitals", message)


def _missing_outcome(plan: Plan, columns: Columns) -> Iterator[CheckOutcome]:
    """The outcome of absent fields, without the parts of absent ones. Of JSON an absent key is a null, and is never forbidden."""
    treatment = plan.policy.missing_fields or FieldTreatment.WARN
    if treatment is FieldTreatment.FORBID and plan.storage.format.is_json:
        treatment = FieldTreatment.WARN
    absent = {field.place: field.name for field in plan.fields if field.name in columns.absent}
    names = [name for place, name in absent.items() if not any(place[:at] in absent for at in range(len(place)))]
    if treatment is FieldTreatment.WARN:
        read = {name for check in plan.checks for name in check.reads}
        names = [name for name in names if name not in read]
    if names and treatment is not FieldTreatment.ALLOW:
        message = (
            f"the file does not have {'a field' if len(names) == 1 else 'fields'} of the contract: {quote_names(names)}"
        )
        yield file_outcome(MISSING, _FIELDS[treatment], "every declared field", message)


def _alike(plan: Plan, columns: Columns) -> list[list[str]]:
    """Names of the file, or of members of one record, that differ in capitals only, but for those that the contract has so.

    Other keys of JSON may be masked: they are compared with declared ones only.
    """
    absent, extra = set(columns.absent), set(columns.extra)
    members = (field.name for field in plan.fields if not field.is_column and field.name not in absent)
    spellings: dict[tuple[str, ...], list[str]] = {}
    for name in dict.fromkeys((*columns.found, *members, *columns.extra)):
        *record, own = steps_of(name) or (name,)
        spellings.setdefault((*record, own.lower()), []).append(name)
    pairs = [names for names in spellings.values() if len(names) > 1 and not extra.isdisjoint(names)]
    return [names for names in pairs if not (plan.storage.format.is_json and extra.issuperset(names))]


def file_outcome(id_: str, status: Status, wanted: str, message: str, rows: int | None = None) -> CheckOutcome:
    """An outcome of the file itself; `rows`: how many fail."""
    return CheckOutcome(id_, "file", "file", (), status, wanted, "", rows, message)
