"""Verdict in words, as wide as the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from lakegate.base.errors import LakegateError
from lakegate.base.text import plural
from lakegate.base.text import printable as escaped
from lakegate.contract.service_levels import KIND
from lakegate.plan.result import Sample
from lakegate.report.delivery_report import NULL, RECORDS, Report, is_masked, is_raw
from lakegate.verdict.check_status import CheckOutcome, Outcomes, Status
from lakegate.verdict.file_checks import NOTES
from lakegate.verdict.value_mistakes import MASKED_WORDS
from lakegate.verdict.verdict import Verdict, counts_of

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True, slots=True)
class CheckedDelivery:
    """The input of a format: a delivery with its verdict, or the error that prevented one."""

    files: tuple[str, ...]
    report: Report | None = None
    error: LakegateError | None = None


# ---- Findings on a terminal ----
# Ids are never broken or cut; sentences break between words. Only the width decides: a pipe gets the same without colour.


NARROW = 120
"""Below so many columns no table is printed."""
GAP = "  "
INDENT = 6
READABLE = (60, 40)
"""Columns that a table gives to the finding and to the failing rows at least, unless they are shorter."""
HEADINGS = ("status", "rule", "field", "finding", "failing rows")
UNBROKEN = str.maketrans({"\xa0": " "})


@dataclass(frozen=True, slots=True)
class Entry:
    """One finding."""

    status: str
    colour: str
    rule: str
    field: str
    finding: str
    rows: str

    @property
    def cells(self) -> tuple[str, ...]:
        """Its texts as a terminal may show them, the status first."""
        return tuple(map(escaped, (self.status, self.rule, self.field, self.finding, self.rows)))


def print_entries(console: Console, entries: Sequence[Entry]) -> None:
    """Print findings, as a table if the console is wide enough for one."""
    widths = _widths(entries, console.width) if entries and console.width >= NARROW else None
    if widths is None:
        for entry in entries:
            _print_block(console, entry)
        return
    console.print(_line(HEADINGS, widths), style="bold", soft_wrap=True)
    for entry in entries:
        _print_row(console, entry, widths)


def print_wrapped(console: Console, text: str) -> None:
    """Print a text, broken between words only."""
    for line in _wrapped(escaped(text), console.width):
        console.print(line, markup=False, soft_wrap=True)


def _print_block(console: Console, entry: Entry) -> None:
    status, rule, field, *texts = entry.cells
    console.print(f"{status:<{INDENT}}", style=entry.colour, end="")
    console.print(GAP.join(filter(None, (rule, field))), markup=False, soft_wrap=True)
    for line in (line for text in texts for line in _wrapped(text, console.width - INDENT)):
        console.print(" " * INDENT + line, markup=False, soft_wrap=True)


def _print_row(console: Console, entry: Entry, widths: tuple[int, ...]) -> None:
    status, *ids, finding, rows = entry.cells
    cells = [*([id_] for id_ in ids), _wrapped(finding, widths[-2]), _wrapped(rows, widths[-1])]
    for number, line in enumerate(zip_longest(*cells, fillvalue="")):
        console.print(f"{'' if number else status:<{widths[0]}}", style=entry.colour, end="")
        console.print(GAP + _line(line, widths[1:]), markup=False, soft_wrap=True)


def _line(cells: Sequence[str], widths: tuple[int, ...]) -> str:
    return GAP.join(map(set_cell_size, cells, widths)).rstrip()


def _wrapped(text: str, width: int) -> list[str]:
    """Lines of a text; a percent sign stays with its number."""
    lines = textwrap.wrap(
        text.replace(" %", "\xa0%"), max(width, INDENT), break_long_words=False, break_on_hyphens=False
    )
    return [line.translate(UNBROKEN) for line in lines]


def _widths(entries: Sequence[Entry], width: int) -> tuple[int, ...] | None:
    """The widths of a table's columns; None where it would be too narrow to read."""
    columns = list(zip(HEADINGS, *(entry.cells for entry in entries), strict=True))
    *ids, finding, rows = (max(map(cell_len, column)) for column in columns)
    words = [max(cell_len(word) for cell in column for word in cell.split()) for column in columns[-2:]]
    least = [max(min(own, enough), word) for own, enough, word in zip((finding, rows), READABLE, words, strict=True)]
    left = width - sum(ids) - len(GAP) * (len(HEADINGS) - 1)
    if left < sum(least):
        return None
    finding = min(finding, left - least[1])
    return (*ids, finding, min(rows, left - finding))


# ---- The verdict for people ----


WORDS = {
    Verdict.ACCEPTED: ("green", "Accepted"),
    Verdict.ACCEPTED_WITH_WARNINGS: ("yellow", "Accepted with warnings"),
    Verdict.REJECTED: ("red", "Rejected"),
    Verdict.UNDECIDED: ("magenta", "Undecided"),
}

COLOURS = {
    Status.PASS: "green",
    Status.WARN: "yellow",
    Status.FAIL: "red",
    Status.ERROR: "magenta",
    Status.SKIP: "bright_black",
}

SHAPE = "shape "
NAMED = 4
"""Files that the summary names, and service levels that a file does not show."""
SHOWN_ROWS = 2
"""Failing rows of a check on the terminal."""
SHOWN_REASONS = 3


def show(  # noqa: PLR0913 - what is shown of a report
    console: Console,
    report: Report,
    *,
    show_all: bool,
    advice: tuple[str, ...] = (),
    rows: int = SHOWN_ROWS,
    most: int | None = SHOWN_REASONS,
) -> None:
    """Failures and what was not measured, or every check, with their first rows; verdict and counts; what to do about it.

    Reasons stand in the order of the page: what to change first, most frequent first. At most so many unless all are shown.
    """
    levels = [] if show_all else _unseen_levels(report)
    reasons = report.judgement.by_harm
    shown = reasons if show_all else reasons[:most]
    entries = [_entry(report, reason, rows) for reason in shown]
    if more := len(reasons) - len(shown):
        entries.append(Entry("", "", f"{more:,} more: --all", "", "", ""))
    if show_all:
        others = report.judgement.others
        entries += [_entry(report, other, rows) for status in Status for other in others if other.status is status]
    else:
        entries += _not_measured(report, {level.id for level in levels})
        notes = (outcome for outcome in report.judgement.outcomes if outcome.id in NOTES)
        entries += [Entry("note", COLOURS[Status.SKIP], "the file", "", note.message, "") for note in notes]
    print_entries(console, entries)
    colour, words = WORDS[report.judgement.verdict]
    counts, plan = counts_of(report.plan, report.judgement), report.plan
    console.print(f"\n{words}" if entries else words, style=f"bold {colour}", end="")
    console.print(f": {counts.rows_in_words}{_breaking(report)}", soft_wrap=True)
    seconds = sum(report.result.timings.values())
    contract = f"{plan.dataset}, contract {plan.contract} {plan.contract_version}"
    print_wrapped(console, f"{_first(report.files, 'files')} as {contract}, in {seconds:.1f} s")
    console.print(f"Checks: {counts.checks_in_words}", soft_wrap=True)
    if levels:
        what = plural(len(levels), "service level is", "service levels are")
        print_wrapped(
            console, f"{what} not seen in a file: {_first([each.rule for each in levels], 'rules')} (--all says why)."
        )
    explained = report.judgement.explained - {reason.id for reason in report.judgement.reasons}
    if explained and not show_all:
        one, many = (
            "more finding has the same cause; --all shows it.",
            "more findings have the same cause; --all shows them.",
        )
        print_wrapped(console, plural(len(explained), one, many))
    for each in (*_legend(shown, rows), *advice):
        print_wrapped(console, each)


def _first(names: Sequence[str], what: str) -> str:
    more = len(names) - NAMED
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:NAMED])} and {more} more {what}"


def _breaking(report: Report) -> str:
    """The number of bad rows of a rejected delivery, where others are good."""
    judgement = report.judgement
    bad = judgement.rejected_rows
    some = judgement.verdict is Verdict.REJECTED and 0 < bad < judgement.rows
    return f", {bad:,} of them {'breaks' if bad == 1 else 'break'} a rule" if some else ""


def _entry(report: Report, outcome: CheckOutcome, rows: int = SHOWN_ROWS) -> Entry:
    fields = ", ".join(outcome.fields)
    finding = report.message(outcome).removeprefix(f"{fields}: ")
    rule = "the file" if outcome.kind == "file" else outcome.rule
    return Entry(outcome.status.value, COLOURS[outcome.status], rule, fields, finding, _rows(report, outcome, rows))


def _unseen_levels(report: Report) -> list[CheckOutcome]:
    """The service levels that are skipped by the contract, whatever the file contains."""
    skipped = {check.id for check in report.plan.checks if check.kind == KIND and check.skip is not None}
    return [each for each in report.judgement.outcomes if each.id in skipped and each.status is Status.SKIP]


def _not_measured(report: Report, but: set[str]) -> list[Entry]:
    """Skipped checks `but` some, one entry for each reason; not what a cause explains."""
    judgement = report.judgement
    skipped = [
        outcome
        for outcome in judgement.outcomes
        if outcome.status is Status.SKIP and outcome.id not in judgement.explained | but
    ]
    by_reason = {
        reason: [each for each in skipped if each.message == reason] for reason in {x.message: 0 for x in skipped}
    }
    return [_entry(report, same[0]) if len(same) == 1 else _together(same) for same in by_reason.values()]


def _together(same: list[CheckOutcome]) -> Entry:
    rules = dict.fromkeys(each.rule for each in same)
    finding = f"{same[0].message}: {', '.join(rules)}"
    return Entry(Status.SKIP.value, COLOURS[Status.SKIP], plural(len(same), "check"), "", finding, "")


def _rows(report: Report, outcome: CheckOutcome, most: int) -> str:
    """The first failing rows with their values, and what good values look like."""
    by_values: dict[str, list[str]] = {}
    for sample in outcome.samples[:most]:
        by_values.setdefault(", ".join(_values(sample)), []).append(report.place(sample))
    rows = [f"{' and '.join(places)} ({values})" if values else places[0] for values, places in by_values.items()]
    good = [f"good values: shape {' or '.join(outcome.good)}"] if outcome.good else []
    return "; ".join([*rows, *good])


def _values(sample: Sample) -> Iterator[str]:
    """The values of a row: in quotes where they are shown, labelled as shapes where they are masked; or what is wrong."""
    for at, text in enumerate(() if sample.mistake else sample.shapes):
        yield f"{SHAPE}{text}" if is_masked(sample, at) else f'"{text}"' if is_raw(sample, at) else NULL
    if sample.mistake is not None:
        yield MASKED_WORDS[sample.mistake]
    if sample.record is not None:
        yield RECORDS[sample.record]


def _legend(shown: Outcomes, rows: int) -> Iterator[str]:
    samples = [sample for reason in shown for sample in reason.samples[:rows]]
    has_good = any(reason.good for reason in shown)
    if has_good or any(value.startswith(SHAPE) for sample in samples for value in _values(sample)):
        yield "A shape stands for a value: 9 is a digit, a is a letter, A is a capital."
