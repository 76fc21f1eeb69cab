"""The report of a judged delivery as one HTML file: no script, no request, every text of others escaped (`templates.py`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from lakegate.contracts.judge.codes import in_words
from lakegate.contracts.judge.judgement import WHOLE, counts_of
from lakegate.contracts.judge.outcomes import Status
from lakegate.contracts.judge.verdict import Verdict, worst
from lakegate.contracts.report.bars import Bar, bar
from lakegate.contracts.report.delivery import RECORDS, is_masked, is_raw
from lakegate.contracts.report.templates import template
from lakegate.contracts.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lakegate.contracts.judge.outcomes import CheckOutcome
    from lakegate.contracts.plan.result import Sample
    from lakegate.contracts.report.delivery import Report

TITLES: Final = {
    Verdict.ACCEPTED: "Accepted",
    Verdict.ACCEPTED_WITH_WARNINGS: "Accepted with warnings",
    Verdict.REJECTED: "Rejected",
    Verdict.UNDECIDED: "Undecided",
}
STATUSES: Final = {
    Status.FAIL: "failed",
    Status.ERROR: "not measured: error",
    Status.WARN: "warned",
    Status.SKIP: "not measured",
    Status.PASS: "passed",
}
MAX_ROWS: Final = 20
"""Failing rows of a reason."""
MAX_FILES: Final = 20
MAX_REASONS_OF_PAGE: Final = 50
MAX_LINES: Final = 1_000
"""Checks in the table: a page of them has less than a megabyte."""
MAX_DELIVERIES: Final = 30
"""Deliveries of the history."""


@dataclass(frozen=True, slots=True)
class PastDelivery:
    """One delivery of the line's history."""

    at: str
    """When it was judged (RFC 3339)."""
    verdict: Verdict
    broken: int
    """Rules that failed or warned."""

    @property
    def title(self) -> str:
        """The verdict in words."""
        return TITLES[self.verdict]


@dataclass(frozen=True, slots=True)
class Cell:
    """A value of a failing row."""

    text: str
    kind: str
    """`value`, `shape` or `null`."""


@dataclass(frozen=True, slots=True)
class FailingRow:
    """A failing row: its place and its values, masked unless their field is public."""

    place: str
    values: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason of the verdict with its first failing rows."""

    id: str
    """Of the check, or the code of the gate."""
    status: Status
    rule: str
    fields: str
    message: str
    good: str
    rows: tuple[FailingRow, ...]


@dataclass(frozen=True, slots=True)
class RuleLine:
    """One check in the table."""

    status: Status
    rule: str
    fields: str
    wanted: str
    measured: str
    bar: Bar | None


class Section(NamedTuple):
    """What the page shows of one delivery, in the order in which the template unpacks it."""

    verdict: Verdict
    title: str
    rows: str
    first: Reason | None
    """The first one that states a fault; `file/whole` states only what other faults lead to."""
    more: int
    """Further reasons."""
    unlisted: int
    """Reasons that are not on the page."""
    facts: Sequence[tuple[str, str]]
    reasons: Sequence[Reason]
    lines: Sequence[RuleLine]
    unlisted_lines: int
    history: Sequence[tuple[PastDelivery, float]]


def render(
    report: Report,
    facts: Sequence[tuple[str, str]] = (),
    history: Sequence[PastDelivery] = (),
    gate: Sequence[str] = (),
) -> str:
    """The page. `facts` are further lines of the summary (label, text); `history` the line's deliveries, oldest first.

    `gate`: reasons of the gate that are no check of the contract, which come first.
    """
    return _page(TITLES[report.judgement.verdict], [_section(report, facts, history, gate)])


def render_tables(reports: Sequence[Report]) -> str:
    """One page with a section for each table of a contract."""
    verdict = worst(each.judgement.verdict for each in reports)
    count = sum(each.judgement.verdict is verdict for each in reports)
    return _page(
        f"{TITLES[verdict]}: {count} of {counted(len(reports), 'table')}", [_section(each) for each in reports]
    )


def _section(
    report: Report,
    facts: Sequence[tuple[str, str]] = (),
    history: Sequence[PastDelivery] = (),
    gate: Sequence[str] = (),
) -> Section:
    counts = counts_of(report.plan, report.judgement)
    shown = report.judgement.by_harm[:MAX_REASONS_OF_PAGE]
    status = Status.FAIL if report.judgement.verdict is Verdict.REJECTED else Status.WARN
    return _section_of(
        report.judgement.verdict,
        counts.rows_in_words,
        [*(_reason_of_gate(status, each) for each in gate), *(_reason(report, each) for each in shown)],
        [*_facts(report, counts.checks_in_words), *facts],
        history,
        lines=list(_lines(report)),
        unlisted=len(report.judgement.reasons) - len(shown),
    )


def render_unmeasured(
    verdict: Verdict,
    rows: str,
    reasons: Sequence[str],
    facts: Sequence[tuple[str, str]],
    history: Sequence[PastDelivery] = (),
) -> str:
    """The page of a delivery without a result: refused at the door, or its result cannot be shown.

    `rows`: how many there are, in words. `reasons`: texts `<check or code>: <message>`.
    """
    status = Status.FAIL if verdict is Verdict.REJECTED else Status.WARN
    shown = [_reason_of_gate(status, each) for each in reasons[:MAX_REASONS_OF_PAGE]]
    return _page(
        TITLES[verdict], [_section_of(verdict, rows, shown, facts, history, unlisted=len(reasons) - len(shown))]
    )


def _section_of(  # noqa: PLR0913 - a section has these parts
    verdict: Verdict,
    rows: str,
    reasons: Sequence[Reason],
    facts: Sequence[tuple[str, str]],
    history: Sequence[PastDelivery],
    *,
    lines: Sequence[RuleLine] = (),
    unlisted: int = 0,
) -> Section:
    return Section(
        verdict,
        TITLES[verdict],
        rows,
        next((each for each in reasons if each.id != WHOLE), None),
        len(reasons) - 1 + unlisted,
        unlisted,
        facts,
        reasons,
        lines[:MAX_LINES],
        max(len(lines) - MAX_LINES, 0),
        _bars(history),
    )


def _page(title: str, sections: Sequence[Section]) -> str:
    return template("page.html").render(title=title, pages=sections, statuses=STATUSES)


def _facts(report: Report, checks: str) -> Iterator[tuple[str, str]]:
    plan = report.plan
    more = len(report.files) - MAX_FILES
    yield "Files", ", ".join(report.files[:MAX_FILES]) + (f" and {more:,} more" if more > 0 else "")
    yield "Dataset", plan.dataset
    yield "Contract", f"{plan.contract} {plan.contract_version}"
    yield "Checks", checks
    seconds = sum(report.result.timings.values())
    if seconds:
        yield "Measured in", f"{seconds:.1f} s"


def _bars(history: Sequence[PastDelivery]) -> list[tuple[PastDelivery, float]]:
    """The latest deliveries, each with the height of its bar in percent."""
    latest = history[-MAX_DELIVERIES:]
    most = max((each.broken for each in latest), default=0) or 1
    return [(each, 100 * each.broken / most) for each in latest]


def _reason(report: Report, outcome: CheckOutcome) -> Reason:
    rows = tuple(FailingRow(report.place(each), tuple(_cells(each))) for each in outcome.samples[:MAX_ROWS])
    fields = ", ".join(outcome.fields)
    message = report.message(outcome).removeprefix(f"{fields}: ")
    return Reason(outcome.id, outcome.status, outcome.rule, fields, message, " or ".join(outcome.good), rows)


def _reason_of_gate(status: Status, text: str) -> Reason:
    rule, _, message = in_words(text).partition(": ")
    return Reason(rule, status, rule, "", message or rule, "", ())


def _cells(sample: Sample) -> Iterator[Cell]:
    for at, text in enumerate(sample.shapes):
        kind = "shape" if is_masked(sample, at) else "value" if is_raw(sample, at) else "null"
        yield Cell(text, kind)
    if sample.record is not None:
        yield Cell(RECORDS[sample.record], "null")


def _lines(report: Report) -> Iterator[RuleLine]:
    """Every check, the failed ones first."""
    plans = {each.id: each for each in report.plan.checks}
    order = list(STATUSES)
    for each in sorted(report.judgement.outcomes, key=lambda outcome: order.index(outcome.status)):
        check = plans.get(each.id)
        measured = each.measured or report.message(each)
        shares = bar(check, each) if check is not None else None
        yield RuleLine(each.status, each.rule, ", ".join(each.fields), each.wanted, measured, shares)
