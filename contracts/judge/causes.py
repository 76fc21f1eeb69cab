"""Causes: one fault of a file that explains several outcomes, reported as one reason instead of one for each rule.

A cause is derived from the plan and the result alone. It never changes a status or the verdict.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lakegate.contracts.judge.column_causes import column_causes
from lakegate.contracts.judge.faults import BLANK, HEADER, TOTAL
from lakegate.contracts.judge.outcomes import OF_TYPES, CheckOutcome, Status
from lakegate.contracts.judge.value_mistakes import remedy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lakegate.contracts.plan.plan import Plan
    from lakegate.contracts.plan.result import Measurement, Result, Sample

READABLE = "file/readable"
IN_MESSAGE = ("column-names", "missing-columns")
"""Causes that the message of a single outcome already contains."""
_RECORDS = {
    HEADER: ("header-repeated", "repeats the header line: remove it (was the file put together of several?)"),
    BLANK: (
        "blank-records",
        "holds nothing but delimiters, as spreadsheets write below the last row: remove such rows",
    ),
    TOTAL: ("total-records", "holds totals, not a record: remove such rows"),
}


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
            return CheckOutcome(READABLE, "file", "file", (), self.status, "a readable file", "", None, self.message)
        fields = ", ".join(self.fields)
        message = f"{fields}: {self.message}" if fields else self.message
        return CheckOutcome(
            f"cause/{self.code}", "file", "file", self.fields, self.status, "", "", None, message, self.samples
        )


def explained(
    plan: Plan, result: Result, outcomes: tuple[CheckOutcome, ...]
) -> tuple[tuple[Cause, ...], tuple[CheckOutcome, ...]]:
    """The causes, and the outcomes; a cause that explains only one outcome is added to its message instead."""
    if result.unreadable is not None:
        skipped = tuple(each.id for each in outcomes)
        return (Cause("unreadable", result.unreadable.message, Status.FAIL, skipped),), outcomes
    causes: list[Cause] = []
    hints: dict[str, str] = {}
    bad = {each.id: each for each in outcomes if each.status in {Status.FAIL, Status.WARN}}
    for found in _causes(plan, result, bad):
        ids = [each for each in found.explains if each in bad]
        if len(ids) > 1:
            worst = Status.FAIL if any(bad[each].status is Status.FAIL for each in ids) else Status.WARN
            causes.append(replace(found, explains=tuple(ids), status=worst))
        elif ids and found.code not in IN_MESSAGE:
            hints[ids[0]] = found.message
        for each in ids:
            del bad[each]
    return tuple(causes), tuple(_hinted(each, hints.get(each.id)) for each in outcomes)


def reasons(causes: Iterable[Cause], outcomes: Iterable[CheckOutcome]) -> tuple[CheckOutcome, ...]:
    """The reasons of a verdict, worst first: causes, and the outcomes that no cause explains."""
    order = (Status.ERROR, Status.FAIL, Status.WARN)
    causes = tuple(causes)
    known = {each for cause in causes for each in cause.explains}
    found = (*(cause.as_outcome() for cause in causes), *(each for each in outcomes if each.id not in known))
    return tuple(each for status in order for each in found if each.status is status)


def _hinted(outcome: CheckOutcome, hint: str | None) -> CheckOutcome:
    return replace(outcome, message=f"{outcome.message}; {hint}") if hint else outcome


def _causes(plan: Plan, result: Result, bad: dict[str, CheckOutcome]) -> Iterator[Cause]:
    """All possible causes; an outcome belongs to the first cause that explains it."""
    for code, message, fields, ids in column_causes(plan, result, bad):
        yield Cause(code, message, Status.FAIL, ids, fields)
    answers = [each for each in result.measurements if each.check in bad]
    yield from _of_records(answers)
    yield from _of_forms(plan, answers)


def _of_records(answers: list[Measurement]) -> Iterator[Cause]:
    """Rows without data explain the outcomes that fail only in them."""
    for record, (code, words) in _RECORDS.items():
        there = [each for each in answers if each.samples and all(it.record == record for it in each.samples)]
        if record == TOTAL:
            there = [each for each in there if each.accept and each.accept.failing == 1]
        if there:
            rows = max(each.accept.failing or 0 for each in there if each.accept)
            samples = max((each.samples for each in there), key=len)
            more = f" (and {rows - 1:,} more)" if rows > 1 else ""
            ids = tuple(each.check for each in there)
            yield Cause(code, f"row {samples[0].row:,}{more} {words}", Status.FAIL, ids, samples=samples)


def _of_forms(plan: Plan, answers: list[Measurement]) -> Iterator[Cause]:
    """Known spellings of values that are not of their type."""
    fields = {check.id: check.fields for check in plan.checks if check.kind in OF_TYPES or len(check.fields) == 1}
    groups: dict[tuple[str, str], list[Measurement]] = {}
    for each in answers:
        if each.form is not None and each.check in fields:
            groups.setdefault((each.form.code, each.form.word), []).append(each)
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
