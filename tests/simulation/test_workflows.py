"""Every workflow that can be published keeps the promises; one that is refused breaks them."""

from __future__ import annotations

import random
from itertools import product

import pytest
import yaml

from lakegate.base.errors import ContractError
from lakegate.features.workflows.workflow_document import read_workflow
from lakegate.gate.delivery import protocol
from lakegate.gate.delivery.protocol import Outcome, State, Transition
from lakegate.plan.planned_workflow import PlannedTransition, PlannedWorkflow
from tests.simulation import approvals
from tests.simulation.choices import Choices
from tests.simulation.promises import Violation
from tests.simulation.schedules import run
from tests.simulation.workflows import following

Row = tuple[str, str, str]
SCHEDULES = 10
"""Of each workflow."""
REFUSED = (
    Transition(State.PINNED, Outcome.REFUSED, State.STAGED),
    Transition(State.PINNED, Outcome.PASSED, State.GONE),
    Transition(State.VALIDATING, Outcome.LOST, State.GONE),
    Transition(State.VALIDATING, Outcome.ACCEPTED, State.FAILED),
    Transition(State.VALIDATING, Outcome.REJECTED, State.AWAITING),
    Transition(State.VALIDATING, Outcome.UNDECIDED, State.AWAITING),
    Transition(State.VALIDATING, Outcome.REJECTED, State.SCHEDULED),
    Transition(State.VALIDATING, Outcome.UNDECIDED, State.SCHEDULED),
    Transition(State.ANSWERED, Outcome.DECLINED, State.SCHEDULED),
    Transition(State.AWAITING, Outcome.EXPIRED, State.SCHEDULED),
    Transition(State.DECIDED, Outcome.REJECTED, State.PUBLISHED),
    Transition(State.DECIDED, Outcome.ACCEPTED, State.QUARANTINED),
)
"""Transitions that an operation could carry out, and that no published workflow may have."""


def document(rows: list[Row], attempts: int = 3, **date: str | int) -> bytes:
    """With a date, where a transition leads to one."""
    dated = (date or {"delayHours": 2}) if any(row[2] == State.SCHEDULED for row in rows) else {}
    listed = [dict(zip(("from", "when", "to"), row, strict=True)) for row in rows]
    return yaml.safe_dump(
        {"workflow": "drawn", "version": "1.0.0", "attempts": attempts, "transitions": listed, **dated}
    ).encode()


def accepted_rows() -> list[Row]:
    """All transitions that a document may have, of all that can be written with the words."""
    found = []
    for row in product(map(str, State), map(str, Outcome), map(str, State)):
        try:
            read_workflow(document([row]))
        except ContractError:
            continue
        found.append(row)
    return found


def drawn(rows: list[Row], seed: int) -> PlannedWorkflow:
    """A random workflow that can be published."""
    chance = random.Random(seed)
    shuffled = chance.sample(rows, len(rows))
    others = {row[:2]: row for row in shuffled if chance.random() < 0.5}
    at = f"{chance.randrange(24):02}:{chance.randrange(60):02}Z"
    dates: list[dict[str, str | int]] = [{"publishAt": at}, {"delayHours": chance.randint(1, 168)}]
    return read_workflow(document(list(others.values()), chance.randint(1, 10), **chance.choice(dates)))


@pytest.mark.simulation
@pytest.mark.parametrize("number", [40, pytest.param(5_000, marks=pytest.mark.full)])
def test_every_published_workflow_keeps_the_promises(number: int) -> None:
    """Random workflows of all transitions that a document may have keep all promises, under random faults."""
    rows = accepted_rows()
    assert len(rows) == len(protocol.PUSH.transitions) + len(protocol.ALTERNATIVES)
    failed = 0
    for seed in range(number):
        workflow = drawn(rows, seed)
        with following(workflow):
            for ordinal in range(SCHEDULES):
                choices = Choices(seed * SCHEDULES + ordinal)
                try:
                    ran = run(choices)
                except Violation as broken:
                    pytest.fail(f"{workflow} breaks a promise: {broken}")
                failed += (State.VALIDATING, State.FAILED) in ran.taken
    assert failed > number // 10


@pytest.mark.simulation
@pytest.mark.parametrize("refused", REFUSED, ids=lambda each: f"{each.source}-{each.on}-{each.to}")
def test_a_transition_that_is_refused_breaks_a_promise(refused: Transition, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the linter refuses is refused for a reason: with the transition, a promise is broken or the gate stops."""
    row = (str(refused.source), str(refused.on), str(refused.to))
    with pytest.raises(ContractError):
        read_workflow(document([row]))

    is_later = refused.source in {State.AWAITING, State.ANSWERED}
    asks = Transition(State.VALIDATING, Outcome.ACCEPTED, State.AWAITING)
    monkeypatch.setattr(protocol, "ALTERNATIVES", (refused, asks))
    rows = (row, *([(asks.source, asks.on, asks.to)] if is_later else []))
    planned = tuple(PlannedTransition(*map(str, each)) for each in rows)
    with following(PlannedWorkflow("refused@1.0.0", 3, planned, delay_hours=2)):
        broken = any(breaks(Choices(seed)) for seed in range(3_000))

    assert broken


@pytest.mark.simulation
@pytest.mark.parametrize("date", [{}, {"publishAt": "06:00Z", "delayHours": 48}], ids=["none", "both"])
def test_a_workflow_without_one_date_breaks_a_promise(date: dict[str, str | int]) -> None:
    """The linter asks for one: without any, and beside another one, what was to wait does not wait for it."""
    row = ("VALIDATING", "accepted", "SCHEDULED")
    text = document([row], **date).replace(b"delayHours: 2\n", b"")
    with pytest.raises(ContractError):
        read_workflow(text)
    at, delay = str(date.get("publishAt", "")), int(date.get("delayHours", 0))
    planned = PlannedWorkflow("dates@1.0.0", 3, (PlannedTransition(*row),), publish_at=at, delay_hours=delay)
    with following(planned), pytest.MonkeyPatch.context() as patch:
        patch.setattr(approvals, "PUBLISH_AT", "")
        broken = any(breaks(Choices(seed)) for seed in range(300))

    assert broken


def breaks(choices: Choices) -> bool:
    """Whether a schedule breaks a promise, or an operation is given what it cannot work with."""
    try:
        run(choices)
    except (Violation, AssertionError):
        return True
    return False
