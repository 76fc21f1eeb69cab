"""`lakegate workflow`: what follows an observation about a delivery, as a published document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated

import click

from lakegate.base.errors import ContractError, Problem
from lakegate.base.json_codec import DOCUMENT_NAME, select_fields
from lakegate.base.text import plural
from lakegate.cli import terminal
from lakegate.cli.click_commands import Argument, CommandGroup, Option
from lakegate.cli.command_runner import CommandResult, command, gate_command, render
from lakegate.cli.options import AsJson
from lakegate.features.workflows.play_workflow import PlayedStory, describe, name_of, play
from lakegate.features.workflows.published_workflows import publish_workflow, published_workflows
from lakegate.features.workflows.workflow_document import read_workflow
from lakegate.gate.delivery.protocol import (
    CALLBACK,
    END_STATES,
    JUDGED_STATES,
    PUSH,
    Bound,
    Outcome,
    State,
    Transition,
    Workflow,
    workflow_of,
)
from lakegate.gate.dependencies import Dependencies
from lakegate.library.contract_files import InputDocument
from lakegate.plan.planned_workflow import PlannedState, PlannedTransition, PlannedWorkflow

REFUSED = 1
OPERATIONS: Mapping[State, str] = {
    State.RECEIVED: "revive",
    State.HELD: "hold",
    State.PINNED: "pin",
    State.STAGED: "stage",
    State.SUBMITTING: "prepare",
    State.VALIDATING: "start",
    State.AWAITING: "ask",
    State.ANSWERED: "answer",
    State.SCHEDULED: "schedule",
    State.PASSING: "pass",
    State.DECIDED: "decide",
    State.PUBLISHED: "publish",
    State.QUARANTINED: "publish",
    State.FAILED: "fail",
    State.GONE: "vanish",
}
UNTIL = {Bound.ATTEMPTS: " (until the attempts are used)", Bound.PERSON: " (by a person)", Bound.DATE: " (at its time)"}
"""The ends of a loop, or of a wait."""
WIDTH = max(map(len, Outcome))
app = CommandGroup(
    help="Define how often deliveries are judged again, what follows when that is of no use, and whether a person is asked."
)

File = Annotated[str, Argument(help="The workflow document, or - for standard input.")]


class Drawing(Enum):
    """The form of a drawing."""

    TEXT = "text"
    MERMAID = "mermaid"


@dataclass(frozen=True, slots=True)
class LintedWorkflow:
    """Whether a workflow document is valid."""

    valid: bool
    errors: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class DrawnTransition:
    """A transition of a workflow."""

    source: str = field(metadata={DOCUMENT_NAME: "from"})
    when: str
    to: str
    operation: str
    bound: str | None
    """The end of a loop, or of a wait."""
    rejects: bool
    """Whether what the rules accept is rejected by it."""


@dataclass(frozen=True, slots=True)
class DrawnWorkflow:
    """A workflow with all its transitions."""

    name: str
    attempts: int
    wait_days: int
    waits_for: str
    publish_at: str | None
    delay_hours: int | None
    states: tuple[PlannedState, ...]
    transitions: tuple[DrawnTransition, ...]


@dataclass(frozen=True, slots=True)
class SimulatedWorkflow:
    """Ways of a delivery through a workflow."""

    name: str
    stories: tuple[PlayedStory, ...]
    complete: bool
    """Whether there is no other way."""


@dataclass(frozen=True, slots=True)
class PublishedWorkflow(PlannedWorkflow):
    """A workflow that was published now."""

    document: str = field(kw_only=True)
    """Its key in the lake bucket."""


@dataclass(frozen=True, slots=True)
class PublishedWorkflows:
    """The published workflows with their versions."""

    workflows: tuple[PlannedWorkflow, ...]


@app.command("lint")
@command
def lint(file: File, *, as_json: AsJson = False) -> CommandResult[LintedWorkflow]:
    """Check a workflow document: every error at once, with its line, and a story where a guarantee would be broken.

    Nothing is asked of a stack.

    Example: lakegate workflow lint contracts/examples/workflows/once.yaml

    Exit code: 0 valid, 1 refused, 2 a file that cannot be read.
    """
    workflow = _read(InputDocument(file).read(), as_json=as_json)
    return CommandResult(LintedWorkflow(valid=True, errors=()), [f"{file}: {workflow.name} is valid."])


@app.command("draw")
@command
def draw(
    file: Annotated[str, Argument(help="The workflow document, or `push`, the workflow of every delivery.")] = "push",
    *,
    form: Annotated[Drawing, Option("--format", help="A table, or a state diagram of Mermaid.")] = Drawing.TEXT,
    as_json: AsJson = False,
) -> CommandResult[DrawnWorkflow]:
    """Print all transitions of a workflow, with those that it has in common with `push`.

    Example: lakegate workflow draw contracts/examples/workflows/once.yaml --format mermaid
    """
    is_own = file != PUSH.name
    pinned = _read(InputDocument(file).read(), as_json=as_json) if is_own else None
    workflow = workflow_of(pinned)
    transitions = (
        DrawnTransition(
            _from(workflow, row), row.on, _to(workflow, row), _operation(workflow, row), row.bound, row.rejects
        )
        for row in workflow.reached
    )
    hours = workflow.delay_hours or None
    drawn = select_fields(DrawnWorkflow, workflow, delay_hours=hours, transitions=tuple(transitions))
    return CommandResult(drawn, diagram(workflow) if form is Drawing.MERMAID else rows(workflow))


@app.command("simulate")
@command
def simulate(
    file: Annotated[str, Argument(help="The workflow document, or `push`, the workflow of every delivery.")],
    *,
    outcome: Annotated[list[str] | None, Option("--outcome", help="What is observed next, such as accepted.")] = None,
    as_json: AsJson = False,
) -> CommandResult[SimulatedWorkflow]:
    """Play a workflow: the way of a delivery by what is observed, or every way, the shortest first.

    Example: lakegate workflow simulate contracts/examples/workflows/two-people.yaml --outcome accepted --outcome expired
    """
    workflow = workflow_of(_read(InputDocument(file).read(), as_json=as_json) if file != PUSH.name else None)
    stories, complete = play(workflow, outcome or ())
    return CommandResult(SimulatedWorkflow(workflow.name, stories, complete), _told(stories, complete=complete))


def _told(stories: tuple[PlayedStory, ...], *, complete: bool) -> Iterator[str]:
    for number, story in enumerate(stories, 1):
        if number > 1:
            yield ""
        yield f"Story {number}: {story.end or 'on its way'}"
        yield from (f"  {place}. {step.words}" for place, step in enumerate(story.steps, 1))
    if not complete:
        yield ""
        yield f"There are more ways than these {len(stories)}: --outcome follows one."


def _from(workflow: Workflow, row: Transition) -> str:
    return row.leaves or name_of(workflow, row.source)


def _to(workflow: Workflow, row: Transition) -> str:
    stays = row.leaves if row.to is State.ANSWERED else ""
    return row.enters or stays or name_of(workflow, row.to)


def _operation(workflow: Workflow, transition: Transition) -> str:
    """The word for what is done on the way to a state."""
    if transition.enters:
        return workflow.own(transition.enters).operation
    if transition.source is State.PINNED and transition.to is State.DECIDED:
        return "waive" if transition.on is Outcome.WAIVED else "refuse"
    return OPERATIONS[transition.to]


def rows(workflow: Workflow) -> Iterator[str]:
    """The transitions, as a table of text."""
    transitions = workflow.reached
    waits = f", {_answer(workflow)}" if not workflow.states and _asks(transitions) else ""
    dates = "".join(f", {date}" for date in _dates(workflow))
    yield f"{workflow.name}, at most {plural(workflow.attempts, 'attempt')}{waits}{dates}"
    names = [(_from(workflow, each), _to(workflow, each)) for each in transitions]
    left, right = (max(map(len, column)) for column in zip(("VALIDATING ", "QUARANTINED "), *names, strict=True))
    for (source, to), row in zip(names, transitions, strict=True):
        yield f"{source:<{left}} {row.on:<{WIDTH}} {to:<{right}} {_operation(workflow, row)}{_until(row)}"


def diagram(workflow: Workflow) -> Iterator[str]:
    """The transitions, as a state diagram of Mermaid, in the words of `lakegate.gate.delivery.protocol`."""
    yield "stateDiagram-v2"
    yield f"  [*] --> {State.RECEIVED}"
    for number, own in enumerate(workflow.states):
        yield f'  state "{own.name} ({describe(own.operation, own.days, own.until, own.hours)})" as own{number}'
    ids = {own.name: f"own{number}" for number, own in enumerate(workflow.states)}
    for row in workflow.reached:
        if row.leaves and row.to is State.ANSWERED:
            continue
        source, to = (ids.get(name, name) for name in (_from(workflow, row), _to(workflow, row)))
        yield f"  {source} --> {to}: {row.on}{_until(row)}"
    for state in sorted(END_STATES):
        yield f"  {state} --> [*]"


def _until(transition: Transition) -> str:
    if transition.rejects and transition.source in JUDGED_STATES and transition.leaves:
        return " (rejected)"
    return "" if transition.bound is None else UNTIL[transition.bound]


@app.command("publish")
@gate_command
def publish(dependencies: Dependencies, file: File, *, as_json: AsJson = False) -> CommandResult[PublishedWorkflow]:
    """Publish a version of a workflow. Contracts that name it take it when they are published; nothing is deployed.

    Example: lakegate workflow publish contracts/examples/workflows/once.yaml

    Versions of contracts that are published already, and deliveries in flight, keep the version that they have.
    """
    body = InputDocument(file).read()
    workflow = _read(body, as_json=as_json)
    published = dependencies.run(publish_workflow(dependencies, body))
    name = workflow.name.partition(".")[0]
    words = (f"Published {workflow.name}.", f"  Contracts name it in the extension: workflow: {name}")
    return CommandResult(select_fields(PublishedWorkflow, workflow, document=published.document), words)


@app.command("list")
@gate_command
def list_workflows(dependencies: Dependencies) -> CommandResult[PublishedWorkflows]:
    """List the published workflows with their versions.

    Example: lakegate workflow list
    """
    workflows = tuple(published_workflows(dependencies))
    words = [f"{workflow.name}: {_changes(workflow)}" for workflow in workflows]
    nothing = "No workflow is published: every delivery follows `push` (lakegate workflow draw)."
    return CommandResult(PublishedWorkflows(workflows), words or [nothing])


def _read(body: bytes, *, as_json: bool = False) -> PlannedWorkflow:
    """The workflow of a document; what is wrong with it is printed, and ends the command."""
    try:
        return read_workflow(body)
    except ContractError as error:
        if as_json:
            render(CommandResult(LintedWorkflow(valid=False, errors=error.problems)), as_json=True)
        else:
            terminal.say_problems(error)
        raise click.exceptions.Exit(REFUSED) from None


def _changes(workflow: PlannedWorkflow) -> str:
    """The differences to `push`, in one line."""
    others = [f"{transition.source} {transition.when} → {transition.to}" for transition in workflow.transitions]
    waits = [_answer(workflow)] if not workflow.states and _asks(workflow.transitions) else []
    return "; ".join((f"at most {plural(workflow.attempts, 'attempt')}", *others, *waits, *_dates(workflow)))


def _dates(workflow: Workflow | PlannedWorkflow) -> tuple[str, ...]:
    """The time when a delivery that is SCHEDULED is published."""
    if workflow.publish_at:
        return (f"published at {workflow.publish_at}",)
    hours = plural(workflow.delay_hours, "hour")
    return (f"published {hours} later",) if workflow.delay_hours else ()


def _asks(transitions: Iterable[Transition | PlannedTransition]) -> bool:
    return any(transition.to == State.AWAITING for transition in transitions)


def _answer(workflow: Workflow | PlannedWorkflow) -> str:
    who = "an answer, also by a callback," if workflow.waits_for == CALLBACK else "an answer"
    return f"{who} within {_days(workflow.wait_days)}"


def _days(number: int) -> str:
    return plural(number, "day")
