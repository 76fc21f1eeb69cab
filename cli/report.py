"""A judgement in words: a table for people, a document for machines."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from cli.seen import seen
from contracts.outcome import Status
from contracts.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console
    from rich.table import Table

    from contracts.outcome import Outcome
    from contracts.plan import Plan
    from contracts.result import Result, Sample
    from contracts.verdict import Judgement

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
WORST_FIRST = (Status.ERROR, Status.FAIL, Status.WARN, Status.PASS, Status.SKIP)


def as_document(plan: Plan, judgement: Judgement, result: Result) -> dict[str, object]:
    """The answer of `check --json`."""
    return {
        "verdict": judgement.verdict.value,
        "dataset": plan.dataset,
        "contract": {"id": plan.contract, "version": plan.contract_version, "plan": plan.digest},
        "rows": judgement.rows,
        "rejected_rows": judgement.rejected_rows,
        "checks": [_as_row(plan, outcome) for outcome in judgement.outcomes],
        "timings": result.timings,
    }


def show(console: Console, plan: Plan, judgement: Judgement, result: Result, *, show_all: bool) -> None:
    """The table, then the verdict with its reasons."""
    console.print(_table(judgement.outcomes, show_all=show_all))
    colour, words = WORDS[judgement.verdict]
    dataset = seen(f"{plan.dataset}, contract {plan.contract} {plan.contract_version}")
    for outcome in judgement.reasons:
        console.print(f"{outcome.status.value}: ", style=COLOURS[outcome.status], end="")
        console.print(_reason(outcome), markup=False, soft_wrap=True)
    seconds = sum(result.timings.values())
    console.print(f"\n{words}", style=f"bold {colour}", end="")
    console.print(f": {judgement.rows:,} rows of {dataset}, in {seconds:.1f} s", markup=False)
    console.print(_counts(judgement.outcomes), markup=False)


def _as_row(plan: Plan, outcome: Outcome) -> dict[str, object]:
    check = next((each for each in plan.checks if each.id == outcome.id), None)
    return {
        "id": outcome.id,
        "rule": outcome.rule,
        "field": ", ".join(outcome.fields) or None,
        "status": outcome.status.value,
        "metric": check.metric.value if check and check.skip is None else None,
        "threshold": outcome.wanted,
        "measured": outcome.measured,
        "failing_rows": outcome.failing_rows,
        "message": outcome.message,
        "samples": [_place(each) | {"values": list(each.shapes)} for each in outcome.samples],
    }


def _place(sample: Sample) -> dict[str, object]:
    """Where a sample lies; of an element also where in its row."""
    return {"part": sample.part, "row": sample.row} | ({"at": sample.at} if sample.at else {})


def _table(outcomes: tuple[Outcome, ...], *, show_all: bool) -> Table:
    from rich.table import Table  # noqa: PLC0415 - start-up is paid by every command
    from rich.text import Text  # noqa: PLC0415 - likewise

    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("rule", "field"):
        table.add_column(name, no_wrap=True)
    for name in ("wanted", "measured"):
        table.add_column(name, overflow="fold")
    table.add_column("failing rows", justify="right")
    table.add_column("status")
    for cells, status in _rows(outcomes, show_all=show_all):
        table.add_row(*(Text(seen(cell)) for cell in cells), Text(status.value, style=COLOURS[status]))
    return table


def _rows(outcomes: tuple[Outcome, ...], *, show_all: bool) -> Iterator[tuple[tuple[str, ...], Status]]:
    """One row for each check, the worst first; checks of one kind that passed share a row unless all are asked for."""
    for status in WORST_FIRST:
        same = [each for each in outcomes if each.status is status]
        for group in _groups(same, together=status is Status.PASS and not show_all):
            yield (_shared_row(group) if len(group) > 1 else _row(group[0])), status


def _groups(outcomes: list[Outcome], *, together: bool) -> list[list[Outcome]]:
    if not together:
        return [[each] for each in outcomes]
    by_rule = [list(group) for _, group in groupby(outcomes, key=lambda each: each.rule)]
    single = [group[0] for group in by_rule if len(group) == 1]
    by_kind = {kind: [each for each in single if each.kind == kind] for kind in dict.fromkeys(x.kind for x in single)}
    return [group for group in by_rule if len(group) > 1] + list(by_kind.values())


def _row(outcome: Outcome) -> tuple[str, ...]:
    failing = f"{outcome.failing_rows:,}" if outcome.failing_rows else ""
    measured = outcome.measured or outcome.message
    return outcome.rule, ", ".join(outcome.fields), outcome.wanted, measured, failing


def _shared_row(group: list[Outcome]) -> tuple[str, ...]:
    rules = {each.rule for each in group}
    wanted = {each.wanted for each in group}
    rule = rules.pop() if len(rules) == 1 else f"{group[0].kind} ({len(group)} rules)"
    return rule, f"{len(group)} fields", wanted.pop() if len(wanted) == 1 else "", "", ""


def _reason(outcome: Outcome) -> str:
    subject = outcome.rule if outcome.kind != "file" else "the file"
    return seen(f"{subject}: {outcome.message}{_where(outcome)}")


def _where(outcome: Outcome) -> str:
    places = [f"row {each.row:,}{each.at and ', '}{each.at} ({', '.join(each.shapes)})" for each in outcome.samples]
    return f" — {' and '.join(places)}" if places else ""


def _counts(outcomes: tuple[Outcome, ...]) -> str:
    names = {Status.PASS: "passed", Status.WARN: "warned", Status.FAIL: "failed", Status.ERROR: "in error"}
    counts = {status: sum(each.status is status for each in outcomes) for status in Status}
    words = [f"{counts[status]} {name}" for status, name in names.items() if counts[status]]
    skipped = f"; {counts[Status.SKIP]} not measured" if counts[Status.SKIP] else ""
    return f"Checks: {', '.join(words) or 'none measured'}{skipped}"
