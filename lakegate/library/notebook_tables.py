"""Results in a notebook, as HTML: causes and failures first, the rest folded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from lakegate.base.text import plural, printable
from lakegate.report.delivery_report import Report
from lakegate.verdict.check_status import CheckOutcome, Status

WORST_FIRST: Final = (Status.FAIL, Status.ERROR, Status.WARN, Status.SKIP, Status.PASS)
"""The order of checks in a notebook."""
COLUMNS: Final = ("status", "rule", "field", "message")


def report_in_html(report: Report, title: str, notes: Iterable[str] = ()) -> str:
    """The reasons of a verdict, causes first, those that change most rows before others; other checks folded."""
    judgement = report.judgement
    causes = {cause.as_outcome().id for cause in judgement.causes}
    reasons = sorted(judgement.by_harm, key=lambda each: (WORST_FIRST.index(each.status), each.id not in causes))
    explained = [each for each in judgement.others if each.id in judgement.explained]
    others = [each for each in judgement.others if each.id not in judgement.explained]
    passed = [each for each in others if each.status is Status.PASS]
    left = [each for each in others if each.status is not Status.PASS]
    return "".join(
        (
            table_in_html(title, COLUMNS, map(_row, reasons)) if reasons else f"<p>{_text(title)}</p>",
            *(f"<p>{_text(note)}</p>" for note in notes),
            _folded(
                plural(len(explained), "more finding has the same cause", "more findings have the same cause"),
                explained,
            ),
            _folded(plural(len(left), "check was not measured", "checks were not measured"), left),
            _folded(plural(len(passed), "check passed", "checks passed"), passed),
        )
    )


def table_in_html(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; texts of contracts and data are escaped, control characters included."""
    head = "".join(f"<th>{_text(column)}</th>" for column in columns)
    body = "".join("<tr>" + "".join(f"<td>{_text(each)}</td>" for each in row) + "</tr>" for row in rows)
    return f"<table><caption>{_text(title)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _folded(title: str, outcomes: Sequence[CheckOutcome]) -> str:
    if not outcomes:
        return ""
    return f"<details><summary>{_text(title)}</summary>{table_in_html('', COLUMNS, map(_row, outcomes))}</details>"


def _row(outcome: CheckOutcome) -> tuple[str, ...]:
    return outcome.status.value, outcome.rule, ", ".join(outcome.fields), outcome.message


def _text(text: str) -> str:
    return escape(printable(text))
