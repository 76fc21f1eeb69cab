"""Reads the document of a workflow: all its errors at once, each with its line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lakegate.contracts.documents.document import parse
from lakegate.contracts.documents.notes import Notes
from lakegate.contracts.documents.schemas import schema_problems
from lakegate.contracts.errors import ContractError
from lakegate.contracts.lake.states import OUTCOMES, State
from lakegate.contracts.lake.workflow import CALLBACK, DEFAULT_ATTEMPTS, DEFAULT_WAIT_DAYS, PUSH, choices
from lakegate.contracts.plan.workflow import PlannedTransition, PlannedWorkflow
from lakegate.contracts.words import listed, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contracts.documents.nodes import Place

UNKNOWN: Final = "workflow-transition"
REPEATED: Final = "workflow-repeated"
DATE: Final = "workflow-date"
WAIT: Final = "workflow-wait"


def read_workflow(text: bytes) -> PlannedWorkflow:
    """The workflow of a document, which fits `contracts/schemas/workflow.json`. Raises ContractError with every problem."""
    document = parse(text)
    problems = schema_problems(document, "workflow")
    if problems:
        raise ContractError(tuple(problems))
    notes = Notes()
    planned = PlannedWorkflow(
        f"{document.top['workflow'].written}@{document.top['version'].written}",
        int(document.top["attempts"].number or DEFAULT_ATTEMPTS),
        tuple(_transitions(document.top["transitions"], notes)),
        int(document.top["waitDays"].number or DEFAULT_WAIT_DAYS),
        document.top["publishAt"].written,
        int(document.top["delayHours"].number or 0),
        document.top["waitsFor"].written or PUSH.waits_for,
    )
    _check_date(document.top, planned, notes)
    if planned.waits_for == CALLBACK and all(each.to != State.AWAITING for each in planned.transitions):
        notes.error(WAIT, document.top["waitsFor"], "It has no effect: no transition leads to AWAITING.")
    if notes.errors:
        raise ContractError(tuple(notes.errors))
    return planned


def _check_date(top: Place, planned: PlannedWorkflow, notes: Notes) -> None:
    times = bool(planned.publish_at) + bool(planned.delay_hours)
    is_scheduled = any(each.to == State.SCHEDULED for each in planned.transitions)
    if is_scheduled and times != 1:
        notes.error(
            DATE, top["transitions"], "A transition leads to SCHEDULED: say when by publishAt or by delayHours, one."
        )
    elif times and not is_scheduled:
        given = top["publishAt" if planned.publish_at else "delayHours"]
        notes.error(DATE, given, "It has no effect: no transition leads to SCHEDULED.")


def _transitions(rows: Place, notes: Notes) -> Iterator[PlannedTransition]:
    lines: dict[tuple[str, str], int] = {}
    """Of the first transition for an observation."""
    for row in rows.items:
        source, when, to = (row[key].written for key in ("from", "when", "to"))
        known = [str(each.to) for each in choices(source, when)]
        if not known:
            notes.error(UNKNOWN, row, f"{shown(source)} has no observation {shown(when)}.{_hint(source)}")
        elif to not in known:
            notes.error(UNKNOWN, row, f"{source} leads to {listed(known)} when {when}, and not to {shown(to)}.")
        elif (source, when) in lines:
            notes.error(
                REPEATED, row, f"Line {lines[source, when]} has a transition from {source} when {when}: keep one."
            )
        lines.setdefault((source, when), row.mark.line)
        yield PlannedTransition(source, when, to)


def _hint(source: str) -> str:
    by_state = {str(state): sorted(map(str, outcomes)) for state, outcomes in OUTCOMES.items()}
    known = by_state.get(source)
    return f" It has {listed(known)}." if known else f" States are {listed(by_state)}."
