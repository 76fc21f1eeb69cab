"""HTML report of a delivery; what a correction improves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final, NamedTuple

from lakegate.base.json_codec import DOCUMENT_NAME
from lakegate.base.text import plural, printable
from lakegate.contract.contract_model import full_dataset_name
from lakegate.contract.semantic_versions import major
from lakegate.plan.check import Check, Unit
from lakegate.plan.plan import Plan
from lakegate.plan.result import Result, Sample
from lakegate.verdict.check_status import CheckOutcome, Status
from lakegate.verdict.file_checks import READABLE
from lakegate.verdict.reasons import in_words
from lakegate.verdict.value_mistakes import MASKED_WORDS
from lakegate.verdict.verdict import WHOLE, Counts, Judgement, Verdict, counts_of, worst

if TYPE_CHECKING:
    from jinja2 import Environment, Template


# ---- Shares as numbers of a bar ----


@dataclass(frozen=True, slots=True)
class Bar:
    """Shares of the rows that a check is taken over, in percent from 0 to 100."""

    failing: float
    allowed: float | None
    """The largest share with which the check passes; None where no share is the limit."""


def bar(check: Check, outcome: CheckOutcome) -> Bar | None:
    """The bar of a check that counts failing rows; None for every other check, and where nothing was measured."""
    numbers = outcome.numbers
    if numbers is None or numbers.rows is None or not numbers.of:
        return None
    return Bar(_percent(Fraction(numbers.rows, numbers.of)), _allowed(check, numbers.of))


def _allowed(check: Check, of: int) -> float | None:
    interval = check.accept.interval
    if interval.outside:
        return None
    if check.unit in {Unit.SHARE, Unit.PART}:
        return None if interval.low is None else _percent(1 - Fraction(interval.low))
    if interval.high is None:
        return None
    return _percent(Fraction(interval.high) / (100 if check.unit is Unit.PERCENT else of))


def _percent(share: Fraction) -> float:
    return round(float(min(max(share, Fraction(0)), Fraction(1)) * 100), 4)


# ---- A delivery with its verdict and files ----


NULL = "null"
"""The text of an absent value in a sample."""
RECORDS = {"header": "the header line once more", "blank": "a line without values", "total": "a row of totals"}
"""Texts for records without data."""


def names_of_parts(files: tuple[str, ...], result: Result) -> tuple[str, ...]:
    """The names of what was judged: of a derived dataset those of the parts of its rows, else of the files."""
    if len(result.derived) <= 1:
        return files
    return tuple(f"{files[0]} (part {number:,})" for number in range(1, len(result.derived) + 1))


@dataclass(frozen=True, slots=True)
class Report:
    """A judged delivery, with the names of its files."""

    plan: Plan
    judgement: Judgement
    result: Result
    files: tuple[str, ...]

    @property
    def dataset(self) -> str:
        """The whole name of the dataset."""
        return full_dataset_name(self.plan.contract, self.plan.dataset, major(self.plan.contract_version))

    def place(self, sample: Sample) -> str:
        """The place of a row: `row 17`; of several files `orders-2.csv:17`; of an element also the place in its row."""
        place = f"row {sample.row:,}" if len(self.files) == 1 else f"{self.files[sample.part]}:{sample.row}"
        return f"{place}, {sample.at}" if sample.at else place

    def message(self, outcome: CheckOutcome) -> str:
        """The message of a check; of several files the one that cannot be read is named."""
        unreadable = self.result.unreadable
        if outcome.id != READABLE or unreadable is None or unreadable.part is None or len(self.files) == 1:
            return outcome.message
        return f"{self.files[unreadable.part]}: {outcome.message}"


def is_raw(sample: Sample, at: int) -> bool:
    """Whether a value is shown as it is."""
    return bool(sample.raw and sample.raw[at])


def is_masked(sample: Sample, at: int) -> bool:
    """Whether a value is shown as its shape; no shape is `null`, for letters are masked."""
    return not is_raw(sample, at) and sample.shapes[at] != NULL


# ---- Templates: every text is escaped ----


NAMES: Final = ("base.html", "delivery_report.html", "dataset_report.html", "overview_page.html")


def template(name: str) -> Template:
    """A template by its name."""
    return _environment().get_template(name)


@cache
def _environment() -> Environment:
    from jinja2 import DictLoader, Environment, StrictUndefined  # noqa: PLC0415 - a library that only reports need

    folder = files(__package__)
    return Environment(
        loader=DictLoader({name: (folder / name).read_text(encoding="utf-8") for name in NAMES}),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: printable(value) if type(value) is str else value,
    )


# ---- The HTML report of a delivery ----


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
    """One delivery of the dataset's history."""

    at: str
    """The time of the verdict (RFC 3339)."""
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
    """The content of the page for one delivery, in the order in which the template unpacks it."""

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
    verdict = worst(report.judgement.verdict for report in reports)
    count = sum(report.judgement.verdict is verdict for report in reports)
    return _page(
        f"{TITLES[verdict]}: {count} of {plural(len(reports), 'table')}", [_section(report) for report in reports]
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
    counts: Counts | None,
    reasons: Sequence[str],
    facts: Sequence[tuple[str, str]],
    history: Sequence[PastDelivery] = (),
) -> str:
    """The page of a delivery without a result: refused at the door, or its result cannot be shown.

    `counts`: None if no rows were read. `reasons`: texts `<check or code>: <message>`.
    """
    rows = counts.rows_in_words if counts else "its rows were not read"
    status = Status.FAIL if verdict is Verdict.REJECTED else Status.WARN
    shown = [_reason_of_gate(status, reason) for reason in reasons[:MAX_REASONS_OF_PAGE]]
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
        next((reason for reason in reasons if reason.id != WHOLE), None),
        len(reasons) - 1 + unlisted,
        unlisted,
        facts,
        reasons,
        lines[:MAX_LINES],
        max(len(lines) - MAX_LINES, 0),
        _bars(history),
    )


def _page(title: str, sections: Sequence[Section]) -> str:
    return template("delivery_report.html").render(title=title, pages=sections, statuses=STATUSES)


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
    rows = tuple(FailingRow(report.place(sample), tuple(_cells(sample))) for sample in outcome.samples[:MAX_ROWS])
    fields = ", ".join(outcome.fields)
    message = report.message(outcome).removeprefix(f"{fields}: ")
    return Reason(outcome.id, outcome.status, outcome.rule, fields, message, " or ".join(outcome.good), rows)


def _reason_of_gate(status: Status, text: str) -> Reason:
    rule, _, message = in_words(text).partition(": ")
    return Reason(rule, status, rule, "", message or rule, "", ())


def _cells(sample: Sample) -> Iterator[Cell]:
    if sample.mistake is not None:
        yield Cell(MASKED_WORDS[sample.mistake], "null")
    for at, text in enumerate(() if sample.mistake else sample.shapes):
        kind = "shape" if is_masked(sample, at) else "value" if is_raw(sample, at) else "null"
        yield Cell(text, kind)
    if sample.record is not None:
        yield Cell(RECORDS[sample.record], "null")


def _lines(report: Report) -> Iterator[RuleLine]:
    """Every check, the failed ones first."""
    plans = {check.id: check for check in report.plan.checks}
    order = list(STATUSES)
    for each in sorted(report.judgement.outcomes, key=lambda outcome: order.index(outcome.status)):
        check = plans.get(each.id)
        measured = each.measured or report.message(each)
        shares = bar(check, each) if check is not None else None
        yield RuleLine(each.status, each.rule, ", ".join(each.fields), each.wanted, measured, shares)


# ---- Improvements since an earlier delivery ----


BROKEN: Final = frozenset({Status.FAIL, Status.WARN, Status.ERROR})
OF_FILE: Final = "file/"
"""The beginning of ids of properties of the file, which are listed only where they are broken."""


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """A check of the earlier delivery."""

    status: Status
    rows: int | None = field(default=None, metadata={DOCUMENT_NAME: "failing_rows"})
    """Failing rows; None where they are not known, or not counted."""


@dataclass(frozen=True, slots=True)
class CheckChange:
    """A check that was broken, or is."""

    id: str
    before: CheckFinding | None
    """None where it was not measured."""
    after: CheckFinding | None = field(metadata={DOCUMENT_NAME: "now"})
    """Likewise."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Every check that was broken, or is, in one of four groups; in each, in the order of the plan."""

    fixed: tuple[CheckChange, ...]
    still_broken: tuple[CheckChange, ...]
    newly_broken: tuple[CheckChange, ...]
    not_measured: tuple[CheckChange, ...]
    """Broken before; now skipped, or no check of the contract any more."""


def progress(before: Mapping[str, CheckFinding], outcomes: Iterable[CheckOutcome]) -> Progress:
    """Compare by the ids of checks. What was skipped counts as not measured."""
    found = {outcome.id: CheckFinding(outcome.status, outcome.failing_rows) for outcome in outcomes}
    groups: tuple[list[CheckChange], ...] = ([], [], [], [])
    fixed, still, newly, unmeasured = groups
    for name in dict.fromkeys((*found, *before)):
        change = CheckChange(name, _measured(before.get(name)), _measured(found.get(name)))
        was_broken = change.before is not None and change.before.status in BROKEN
        if change.after is not None and change.after.status in BROKEN:
            (still if was_broken else newly).append(change)
        elif was_broken:
            is_fixed = change.after is not None or (name.startswith(OF_FILE) and name not in found)
            (fixed if is_fixed else unmeasured).append(change)
    return Progress(*map(tuple, groups))


def _measured(finding: CheckFinding | None) -> CheckFinding | None:
    return None if finding is None or finding.status is Status.SKIP else finding
