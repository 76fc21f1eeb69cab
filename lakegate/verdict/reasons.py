"""One reason for several failed checks; codes of the gate."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from lakegate.admission.header import INDEX, differ_in, match_physical, quote_names, shown_pairs
from lakegate.contract.field_paths import column_name
from lakegate.plan.plan import Plan
from lakegate.plan.result import Columns, Measurement, Result, Sample
from lakegate.verdict.check_status import BROKEN, OF_TYPES, CheckOutcome, Outcomes, Status
from lakegate.verdict.file_checks import ADDITIONAL, MISSING, READABLE, file_outcome
from lakegate.verdict.value_mistakes import RECORD_MISTAKES, TOTAL, remedy

if TYPE_CHECKING:
    from lakegate.admission.header import Found


def column_causes(plan: Plan, result: Result, bad: dict[str, CheckOutcome]) -> Iterator[Found]:
    """The causes, each with the outcomes that it explains."""
    columns = result.columns
    if columns is None:
        return
    declared = {field.name for field in plan.columns}
    absent = [name for name in columns.absent if name in declared]
    pairs = match_physical(columns.extra, absent, plan.physical_names)
    readers = _readers(plan, columns, bad)
    if pairs:
        extra = (ADDITIONAL,) if set(columns.extra) <= set(pairs.values()) else ()
        subject = "the keys have" if plan.storage.format.is_json else "the header has"
        words = f"{subject} {differ_in(pairs, plan.physical_names)}: {shown_pairs(pairs)}"
        whole = (MISSING,) if absent and set(absent) <= set(pairs) else ()
        yield "column-names", words, (), (*_reading(readers, pairs), *extra, *whole)
    lacks = [name for name in absent if name not in pairs]
    failing = {own for reader, own in readers.items() if reader in bad and bad[reader].status is Status.FAIL}
    is_forbidden = MISSING in bad and bad[MISSING].status is Status.FAIL
    demanded = [name for name in lacks if is_forbidden or frozenset({name}) in failing]
    optional = [name for name in lacks if name not in demanded]
    for lacking, remedies in (
        (demanded, (": deliver it", ": deliver them")),
        (optional, (", which is optional", ", which are optional")),
    ):
        if lacking:
            nouns = ("key", "keys") if plan.storage.format.is_json else ("column", "columns")
            noun, remedy = (words[len(lacking) > 1] for words in (nouns, remedies))
            where = "no record has the" if plan.storage.format.is_json else "the file has no"
            message = f"{where} {noun} {quote_names(lacking)}{remedy}"
            yield "missing-columns", message, (), (*_reading(readers, lacking), MISSING)
    index = [each for each in columns.extra if INDEX.fullmatch(column_name(each))]
    if index and columns.found[:1] == (index[0],):
        words = "the first column only numbers the rows: write the file without it (pandas: index=False; R: row.names = FALSE)"
        yield "index-column", words, (), (ADDITIONAL,) if len(columns.extra) == 1 else ()
    elif stored := [path for path in index if column_name(path).startswith("__index_level_")]:
        words = f"the file has the index of pandas ({quote_names(stored)}): write it without (index=False)"
        yield "index-column", words, (), (ADDITIONAL,) if len(columns.extra) == len(stored) else ()
    yield from _foreign(plan, columns)


def _readers(plan: Plan, columns: Columns, bad: dict[str, CheckOutcome]) -> dict[str, frozenset[str]]:
    """The bad outcomes of checks that read absent fields, each with the columns of these."""
    own, absent = plan.paths_of(field.column for field in plan.fields), columns.lacking
    owners = {field.name: path for field, path in zip(plan.fields, own, strict=True)}
    found = ((check.id, check.reads & absent) for check in plan.checks if check.id in bad)
    return {name: frozenset(owners[each] for each in lacking) for name, lacking in found if lacking}


def _reading(readers: dict[str, frozenset[str]], names: Iterable[str]) -> tuple[str, ...]:
    """The outcomes that are bad because one of the columns, or its nested field, is missing."""
    own = frozenset(names)
    return tuple(reader for reader, lacking in readers.items() if lacking <= own)


STORED_TYPES = ("type", "offset", "timezone")
"""Kinds of rules that hold for no value of a column that the file stores with another type."""


def _foreign(plan: Plan, columns: Columns) -> Iterator[Found]:
    """Columns that are stored with other types than declared."""
    stored = {each.field: each.physical for each in columns.foreign}
    checks = [check for check in plan.checks if check.kind in STORED_TYPES and set(check.fields) & set(stored)]
    if not checks:
        return
    fields = list(dict.fromkeys(name for check in checks for name in check.fields))
    wanted = {field.name: field.words for field in plan.fields}
    message = quote_names(f"{name} is stored as {stored[name]}, not as {wanted[name]}" for name in fields)
    yield "column-types", f"{message}: convert before the file is written", (), tuple(check.id for check in checks)


# ---- Causes ----
# A cause is derived from the plan and the result alone. It never changes a status or the verdict.


IN_MESSAGE = ("column-names", "missing-columns")
"""Causes that the message of a single outcome already contains."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A fault, and the outcomes that it explains."""

    code: str
    message: str
    """One sentence with the remedy."""
    status: Status
    """The worst status of the outcomes that it explains."""
    explains: tuple[str, ...]
    """Ids of outcomes."""
    fields: tuple[str, ...] = ()
    samples: tuple[Sample, ...] = ()

    def as_outcome(self) -> CheckOutcome:
        """The cause as a reason."""
        if self.code == "unreadable":
            return file_outcome(READABLE, self.status, "a readable file", self.message)
        fields = ", ".join(self.fields)
        message = f"{fields}: {self.message}" if fields else self.message
        return CheckOutcome(
            f"cause/{self.code}", "file", "file", self.fields, self.status, "", "", None, message, self.samples
        )


def explain_outcomes(plan: Plan, result: Result, outcomes: Outcomes) -> tuple[tuple[Cause, ...], Outcomes]:
    """The causes, and the outcomes; a cause that explains only one outcome is added to its message instead."""
    if result.unreadable is not None:
        skipped = tuple(outcome.id for outcome in outcomes)
        return (Cause("unreadable", result.unreadable.message, Status.FAIL, skipped),), outcomes
    causes: list[Cause] = []
    hints: dict[str, str] = {}
    bad = {outcome.id: outcome for outcome in outcomes if outcome.status in BROKEN}
    for cause in _causes(plan, result, bad):
        ids = [id_ for id_ in cause.explains if id_ in bad]
        if len(ids) > 1:
            worst = Status.FAIL if any(bad[id_].status is Status.FAIL for id_ in ids) else Status.WARN
            causes.append(replace(cause, explains=tuple(ids), status=worst))
        elif ids and cause.code not in IN_MESSAGE:
            hints[ids[0]] = cause.message
        for id_ in ids:
            del bad[id_]
    return tuple(causes), tuple(
        replace(outcome, message=f"{outcome.message}; {hints[outcome.id]}") if outcome.id in hints else outcome
        for outcome in outcomes
    )


def reasons(causes: Iterable[Cause], outcomes: Iterable[CheckOutcome]) -> Outcomes:
    """The reasons of a verdict, worst first: causes, and the outcomes that no cause explains."""
    order = (Status.ERROR, Status.FAIL, Status.WARN)
    causes = tuple(causes)
    known = {id_ for cause in causes for id_ in cause.explains}
    found = (*(cause.as_outcome() for cause in causes), *(outcome for outcome in outcomes if outcome.id not in known))
    return tuple(outcome for status in order for outcome in found if outcome.status is status)


def _causes(plan: Plan, result: Result, bad: dict[str, CheckOutcome]) -> Iterator[Cause]:
    """All possible causes; an outcome belongs to the first cause that explains it."""
    for code, message, fields, ids in column_causes(plan, result, bad):
        yield Cause(code, message, Status.FAIL, ids, fields)
    measurements = [measurement for measurement in result.measurements if measurement.check in bad]
    yield from _of_records(measurements)
    yield from _of_forms(plan, measurements)


def _of_records(measurements: list[Measurement]) -> Iterator[Cause]:
    """Rows without data explain the outcomes that fail only in them, of whichever kinds they are."""
    known = [each for each in measurements if each.samples and all(it.record for it in each.samples)]
    for record, (code, words) in RECORD_MISTAKES.items():
        there = []
        for measurement in known:
            own = tuple(it for it in measurement.samples if it.record == record)
            others = len(measurement.samples) - len(own)
            rows = ((measurement.accept and measurement.accept.failing) or 0) - others
            if own and (record != TOTAL or rows == 1):
                there.append((rows, own, measurement.check))
        if there:
            rows, samples, _ = max(there, key=lambda found: (found[0], len(found[1])))
            more = f" (and {rows - 1:,} more)" if rows > 1 else ""
            ids = tuple(check for *_, check in there)
            yield Cause(code, f"row {samples[0].row:,}{more} {words}", Status.FAIL, ids, samples=samples)


def _of_forms(plan: Plan, measurements: list[Measurement]) -> Iterator[Cause]:
    """Known spellings of values that are not of their type."""
    fields = {check.id: check.fields for check in plan.checks if check.kind in OF_TYPES or len(check.fields) == 1}
    groups: dict[tuple[str, str], list[Measurement]] = {}
    for measurement in measurements:
        if measurement.form is not None and measurement.check in fields:
            groups.setdefault((measurement.form.code, measurement.form.word), []).append(measurement)
    for (code, _), group in groups.items():
        form = group[0].form
        assert form is not None
        whole = [each for each in group if each.form and each.form.values == each.form.of]
        names = tuple(dict.fromkeys(name for each in whole for name in fields[each.check]))
        if len(whole) > 1:
            yield Cause(code, remedy(form, plan.storage), Status.FAIL, tuple(each.check for each in whole), names)
        for each in group if len(whole) < 2 else [it for it in group if it not in whole]:  # noqa: PLR2004 - one alone is a hint
            assert each.form is not None
            share = (
                "" if each.form.values == each.form.of else f"{each.form.values} of {each.form.of} sampled values are "
            )
            yield Cause(code, share + remedy(each.form, plan.storage), Status.FAIL, (each.check,))


# ---- Reasons of the gate that are no checks ----


DUPLICATE: Final = "duplicate-content"
NOT_REQUESTED: Final = "not-requested"
WAIVER_EXPIRED: Final = "waiver-expired"
APPROVAL_EXPIRED: Final = "approval-expired"
WORKFLOW_REJECTS: Final = "workflow"
"""The code of a rejection by a state of its workflow: followed by what was observed, and by the name of the state."""
CODES: Final = {
    "unrouted": "no route covers this key: ask for one, or upload below a prefix that `lakegate route list` shows",
    "contract-retired": "the contract version or its line is retired: deliver under a newer line",
    "contract-sunset": "the line is in sunset and takes no new producers: deliver under a newer line",
    "contract-draft": "the dataset is a draft, or waits for its notice period: `lakegate reactivate` puts it in force; until then"
    " deliver to the version before, if there is one",
    DUPLICATE: "the very same content was accepted before",
    NOT_REQUESTED: "the rows of this dataset are computed of others, and nobody delivers them (docs/derived.md)",
    WAIVER_EXPIRED: "the waiver was over before the delivery was taken in; what follows is why it had been rejected",
    APPROVAL_EXPIRED: "it was judged and waited for approval, and nobody answered in time: replay it to ask again",
    WORKFLOW_REJECTS: "a state of its workflow rejected what the rules accept: `lakegate workflow list` shows the workflow",
}
"""By code."""
OF_PERSON: Final = re.compile(r"[a-z]+: .*[( ]by (arn:|https://|callback:)[!-~]+\)")
"""The reason of a decision that a person made: what was done, why, and last who did it."""


def is_of_gate(reason: str) -> bool:
    """Whether a reason is no check: a code, a warning about the status of a dataset (`line-…`), or that of a person."""
    return reason.partition(":")[0] in CODES or reason.startswith("line-") or OF_PERSON.fullmatch(reason) is not None


def in_words(reason: str) -> str:
    """The reason with the meaning of its code: `<code>: <message>`."""
    return f"{reason}: {CODES[reason]}" if reason in CODES else reason
