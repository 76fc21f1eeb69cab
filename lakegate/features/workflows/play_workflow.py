"""Plays a workflow: the ways of a delivery by what is observed, as the gate would take them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, NamedTuple

from lakegate.base.errors import InputError
from lakegate.base.json_codec import DOCUMENT_NAME
from lakegate.base.text import join_words, quote
from lakegate.features.workflows.prove_workflow import WORDS
from lakegate.gate.delivery.protocol import (
    ASKING,
    END_STATES,
    OWN_OUTCOMES,
    Bound,
    Outcome,
    State,
    Transition,
    Workflow,
)
from lakegate.plan.planned_workflow import NOTIFY, TRANSFER, VALIDATE

BEGIN: Final = (Outcome.ROUTED, Outcome.PASSED, Outcome.READY, Outcome.STORED)
"""What is observed until the run of the first attempt is started."""
JUDGING: Final = (Outcome.ACCEPTED, Outcome.ACCEPTED_WITH_WARNINGS, Outcome.REJECTED, Outcome.UNDECIDED, Outcome.LOST)
DECIDED: Final = {Outcome.ACCEPTED: "the data becomes visible", Outcome.REJECTED: "the data goes into quarantine"}
MOST: Final = 50
"""Stories that are told."""


@dataclass(frozen=True, slots=True)
class PlayedStep:
    """One step of a delivery."""

    source: str = field(metadata={DOCUMENT_NAME: "from"})
    when: str
    to: str
    words: str
    """The step as a sentence."""


@dataclass(frozen=True, slots=True)
class PlayedStory:
    """The way of a delivery."""

    steps: tuple[PlayedStep, ...]
    end: str | None
    """The state that it ends in; null: the given observations leave it on its way."""


class _Point(NamedTuple):
    state: State
    passed: tuple[str, ...] = ()
    attempt: int = 1
    is_accepted: bool = False


class _Way(NamedTuple):
    at: _Point
    steps: tuple[PlayedStep, ...]


def play(workflow: Workflow, outcomes: Sequence[str] = ()) -> tuple[tuple[PlayedStory, ...], bool]:
    """The way by the observations that are given; without any, all ways, the shortest first. And whether these are all.

    Raises InputError for an observation that cannot be made there.
    """
    begin = _begin(workflow)
    if outcomes:
        return (_played(workflow, begin, outcomes),), True
    told = tuple(islice(_all(workflow, begin), MOST + 1))
    return told[:MOST], len(told) <= MOST


def _begin(workflow: Workflow) -> _Way:
    way = _Way(_Point(State.RECEIVED), ())
    for on in BEGIN:
        way = _step(workflow, way, workflow.transition(way.at.state, on), on)
    return way


def _all(workflow: Workflow, begin: _Way) -> Iterator[PlayedStory]:
    ways = deque([begin])
    while ways:
        way = ways.popleft()
        if way.at.state in END_STATES:
            yield PlayedStory(way.steps, str(way.at.state))
            continue
        ways.extend(_observed(workflow, way, on) for on in _possible(workflow, way.at))


def _played(workflow: Workflow, way: _Way, outcomes: Sequence[str]) -> PlayedStory:
    for word in outcomes:
        possible = [] if way.at.state in END_STATES else _possible(workflow, way.at)
        if word not in possible:
            where, can = name_of(workflow, way.at.state, way.at.passed), join_words([str(each) for each in possible])
            what = f"there {can} can be" if possible else "there the delivery ends"
            raise InputError(f"{quote(word)} cannot be observed in {where}: {what}")
        way = _observed(workflow, way, Outcome(word))
    return PlayedStory(way.steps, str(way.at.state) if way.at.state in END_STATES else None)


def _possible(workflow: Workflow, at: _Point) -> list[Outcome]:
    if at.state is State.VALIDATING:
        return list(JUDGING)
    if at.state is State.SUBMITTING:
        return [Outcome.STORED]
    operation = workflow.own(at.passed[-1] if at.passed else at.state).operation
    return [*OWN_OUTCOMES[operation], *([Outcome.DECLINED] if at.state is State.SCHEDULED else [])]


def _observed(workflow: Workflow, way: _Way, on: Outcome) -> _Way:
    """The way after an observation; an attempt that is repeated is stored at once, and a decision carried out."""
    at = way.at
    state = State.ANSWERED if at.state is State.AWAITING and on is not Outcome.EXPIRED else at.state
    taken = workflow.transition(state, on, at.passed)
    if taken.bound is Bound.ATTEMPTS and at.attempt >= workflow.attempts:
        taken = workflow.transition(at.state, Outcome.EXHAUSTED)
    way = _step(workflow, way, taken, on)
    if way.at.state is State.SUBMITTING:
        return _step(workflow, way, workflow.transition(State.SUBMITTING, Outcome.STORED), Outcome.STORED)
    if way.at.state is State.DECIDED:
        decided = Outcome.ACCEPTED if way.at.is_accepted else Outcome.REJECTED
        return _step(workflow, way, workflow.transition(State.DECIDED, decided), decided)
    return way


def _step(workflow: Workflow, way: _Way, taken: Transition, on: Outcome) -> _Way:
    at = way.at
    accepted = on in JUDGING[:2] if at.state is State.VALIDATING else at.is_accepted
    after = _Point(
        taken.to,
        (*at.passed, taken.enters) if taken.enters else at.passed,
        at.attempt + (at.state is State.VALIDATING and taken.to is State.SUBMITTING),
        accepted and not taken.rejects,
    )
    source, to = name_of(workflow, at.state, at.passed), name_of(workflow, after.state, after.passed)
    seen = WORDS.get("withdrawn" if at.state is State.SCHEDULED and on is Outcome.DECLINED else on, on)
    if at.state is State.DECIDED:
        seen = DECIDED[on]
    return _Way(after, (*way.steps, PlayedStep(source, str(on), to, f"{source}: {seen} → {to}{_how(workflow, after)}")))


def name_of(workflow: Workflow, state: State, passed: tuple[str, ...] = ()) -> str:
    """The name of a state: that of the workflow's own, where it has one."""
    if passed and state not in END_STATES and state is not State.DECIDED:
        return passed[-1]
    named = {TRANSFER: State.STAGED, VALIDATE: State.VALIDATING}
    return next((own.name for own in workflow.states if named.get(own.operation) is state), str(state))


def _how(workflow: Workflow, at: _Point) -> str:
    """What is done in an own state, and for how long."""
    if at.state in END_STATES or at.state is State.DECIDED or not at.passed:
        return f" (attempt {at.attempt})" if at.state is State.VALIDATING else ""
    own = workflow.own(at.passed[-1])
    return f" ({describe(own.operation, own.days, own.until, own.hours)})"


def describe(operation: str, days: int, until: str, hours: int) -> str:
    """An operation with its time."""
    if operation in ASKING:
        return f"{operation}, {days} d"
    if operation == NOTIFY or not (until or hours):
        return operation
    return f"{operation} until {until}" if until else f"{operation} {hours} h"
