"""What an approval promises, in every schedule: before it nothing is claimed or published; silence is none."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from lakegate.gate.delivery.delivery_row import Workload
from lakegate.gate.delivery.protocol import State
from lakegate.gate.ledger.blocks import Record
from lakegate.plan.planned_workflow import PlannedWorkflow
from tests.fakes.identity import ALICE, BOB
from tests.simulation.cancellations import is_cancelled
from tests.simulation.environment import Environment
from tests.simulation.own_states import broken_by_machine

ASKED: frozenset[str] = frozenset()
"""The verdicts for which the workflow under test asks a person: none in `push`."""
WAIT = timedelta(days=7)
"""How long it waits for an answer."""
DATED: frozenset[str] = frozenset()
"""The verdicts that wait for a date, and `approved`: none in `push`."""
PUBLISH_AT, DELAY_HOURS = "", 0
"""That date, as a workflow has it."""
MACHINE: PlannedWorkflow | None = None
"""The workflow under test, if it has states of its own."""
PEOPLE = frozenset({ALICE, BOB})
"""Who answers without a token."""
KEPT = timedelta(days=45)
"""A staged copy, by the bucket (docs/architecture.md)."""
ACCEPTED = frozenset({"accepted", "accepted_with_warnings"})
WAITING = frozenset({State.AWAITING, State.ANSWERED})
PASSIVE = WAITING | {State.SCHEDULED, State.PASSING}


def broken_by_answer(
    env: Environment, before: Workload, row: Workload, recorded: Mapping[str, Record]
) -> Iterator[tuple[str, str]]:
    """What is wrong about a change of state, with the promise that it breaks."""
    if row.state is State.DECIDED and is_cancelled(row):  # tests/simulation/cancellations.py has what that promises
        return
    if MACHINE is not None:
        yield from _by_machine(MACHINE, env, before, row, recorded)
    else:
        yield from _by_states(env, before, row, recorded)


def _by_states(
    env: Environment, before: Workload, row: Workload, recorded: Mapping[str, Record]
) -> Iterator[tuple[str, str]]:
    now = env.memory.clock.now()
    if before.state is State.VALIDATING and row.state is State.DECIDED:
        if row.decision is not None and row.decision.verdict in ASKED:
            yield "P2", "a delivery was decided accepted, and nobody was asked"
        if row.decision is not None and row.decision.verdict in DATED:
            yield "P2", "a delivery was decided accepted before its date"
    elif row.state is State.SCHEDULED:
        yield from _scheduled(before, row, now)
    elif row.state is State.ANSWERED:
        yield from _answered(env, before, row, recorded)
    elif before.state is State.SCHEDULED:
        yield from _withdrawn(env, before, row, recorded) if row.answer != before.answer else _due(before, row, now)
    elif row.state is State.AWAITING:
        yield from _asked(env, row)
    elif before.state in WAITING:
        yield from _decided(before, row, now)


def _by_machine(
    machine: PlannedWorkflow, env: Environment, before: Workload, row: Workload, recorded: Mapping[str, Record]
) -> Iterator[tuple[str, str]]:
    yield from broken_by_machine(machine, env, before, row)
    where = [str(len(before.passed))] if before.passed else []
    if row.state is State.ANSWERED:
        yield from _answered(env, before, row, recorded, *where)
    elif before.state is State.SCHEDULED and row.answer != before.answer and row.state is State.DECIDED:
        yield from _withdrawn(env, before, row, recorded, *where)


def _scheduled(before: Workload, row: Workload, now: datetime) -> Iterator[tuple[str, str]]:
    by = "approved" if before.state is State.ANSWERED else row.candidate.verdict if row.candidate else ""
    is_approved = before.state is not State.ANSWERED or (before.answer is not None and before.answer.approved)
    if by not in DATED or not is_approved:
        yield "P2", "a delivery waits for a date that its workflow does not have"
    if row.candidate is None or row.candidate.verdict not in ACCEPTED:
        yield "P2", "what is not accepted waits for a date"
    if before.state is State.ANSWERED and row.candidate != before.candidate:
        yield "P21", "what was approved waits as something else"
    if row.deadline != row.due_at or row.deadline is None or not _is_date(row.deadline, row, now):
        yield "P4", "a delivery waits for another date than that of its workflow"


def _is_date(at: datetime, row: Workload, now: datetime) -> bool:
    """Whether a time is the one that the workflow states: after an approval, else after a worker read the result, or later."""
    assert row.pin is not None
    began = datetime.fromisoformat(row.answer.at if row.answer else row.pin.judging_time)
    latest = began if row.answer else now
    if PUBLISH_AT:
        return f"{at:%H:%M:%S.%f}" == f"{PUBLISH_AT[:5]}:00.000000" and began <= at <= latest + timedelta(days=1)
    return DELAY_HOURS > 0 and began <= at - timedelta(hours=DELAY_HOURS) <= latest


def _due(before: Workload, row: Workload, now: datetime) -> Iterator[tuple[str, str]]:
    if before.deadline is None or now < before.deadline:
        yield "P2", "a delivery was decided before its date"
    assert row.decision is not None
    if row.decision != before.candidate and "duplicate-content" not in row.decision.reasons:
        yield "P21", "what was judged is decided otherwise at its date"


def _asked(env: Environment, row: Workload) -> Iterator[tuple[str, str]]:
    now = env.memory.clock.now()
    if row.candidate is None or row.candidate.verdict not in ASKED & ACCEPTED:
        yield "P4", "a person is asked for what the workflow decides"
    if row.deadline is None or row.due_at != row.deadline or row.deadline > now + WAIT:
        yield "P4", "a delivery waits for an answer longer than its workflow says"
    elif row.staged is not None:
        copies = env.lake.get(row.staged.key, [])
        if any(each.described.modified + KEPT <= row.deadline for each in copies[-1:] if each.described):
            yield "P1", "a staged copy expires before the time for an answer is over"


def _answered(
    env: Environment, before: Workload, row: Workload, recorded: Mapping[str, Record], *where: str
) -> Iterator[tuple[str, str]]:
    yield from _given(env, before, row, recorded, *where)
    if before.answer is not None:
        yield "P2", "an answer counts that came after another one"


def _given(
    env: Environment, before: Workload, row: Workload, recorded: Mapping[str, Record], *where: str
) -> Iterator[tuple[str, str]]:
    answer = row.answer
    assert answer is not None
    kind = "approval" if answer.approved else "decline"
    parts = [kind, row.id, row.attempt, answer.actor, answer.reason, *where]
    event = hashlib.sha256(json.dumps(parts, separators=(",", ":")).encode()).hexdigest()
    if event not in recorded or recorded[event].actor != answer.actor:
        yield "P3", "an answer is not recorded with its caller"
    if before.deadline is None or datetime.fromisoformat(answer.at) >= before.deadline:
        yield "P2", "an answer counts that came after the end"
    if State.SCHEDULED in where and answer.actor.startswith("callback:"):
        yield "P2", "a token withdraws what waits for its date"
    tokens = env.memory.callbacks.values()
    asked = (row.id, row.attempt, len(row.passed))
    sent = {f"callback:{each.channel}" for each in tokens if (*each[:2], each.passed) == asked}
    if answer.actor not in PEOPLE | sent:
        yield "P2", "an answer counts of who has no token for it"


def _withdrawn(
    env: Environment, before: Workload, row: Workload, recorded: Mapping[str, Record], *where: str
) -> Iterator[tuple[str, str]]:
    """A person declines what waits for its date: the only answer that counts then, also after an approval."""
    assert row.decision is not None
    assert before.candidate is not None
    if row.answer is None or row.answer.approved:
        yield "P2", "what waits for its date is approved once more"
        return
    yield from _given(env, before, row, recorded, "SCHEDULED", *where)
    if row.decision.verdict in ACCEPTED or not declined_rightly(row):
        yield "P2", "what was withdrawn is accepted, or does not say why it is rejected"
    if row.decision.reasons[1:] != before.candidate.reasons:
        yield "P21", "what was withdrawn is decided without its judgement"


def _decided(before: Workload, row: Workload, now: datetime) -> Iterator[tuple[str, str]]:
    assert row.decision is not None
    if before.answer is None:
        if before.deadline is None or now < before.deadline:
            yield "P4", "a delivery was not waited for, and its time was not over"
        if row.decision.verdict in ACCEPTED:
            yield "P2", "silence counts as an approval"
    elif before.answer.approved:
        if "approved" in DATED:
            yield "P2", "what was approved was decided before its date"
        if row.decision != before.candidate and "duplicate-content" not in row.decision.reasons:
            yield "P21", "what was approved is decided otherwise"
    elif row.decision.verdict in ACCEPTED or before.answer.reason not in row.decision.reasons[0]:
        yield "P2", "what was declined is accepted, or does not say why it is rejected"


def broken_by_state(env: Environment, before: Workload, row: Workload) -> Iterator[tuple[str, str]]:
    """What is wrong about a row that waits, or was answered."""
    if row.state in PASSIVE and row.id in env.memory.contents.values():
        yield "P2", "content is claimed before a person has approved"
    is_same = (row.state, row.passed) == (before.state, before.passed)
    if is_same and row.state is State.SCHEDULED and row.deadline != before.deadline:
        yield "P2", "the date of a delivery was moved"
    if row.state in PASSIVE and row.decision is not None:
        yield "P2", "a delivery that waits is decided"
    is_withdrawn = row.state is State.DECIDED and (before.state is State.SCHEDULED or is_cancelled(row))
    is_kept = row.state is State.AWAITING and row.approvals == (*before.approvals, before.answer)
    if before.answer is not None and row.answer != before.answer and not is_withdrawn and not is_kept:
        yield "P6", "an answer was changed"


def declined_rightly(row: Workload) -> bool:
    """Whether a person declined the delivery, or nobody answered, and it says so."""
    first = row.decision.reasons[0] if row.decision and row.decision.reasons else ""
    if MACHINE is not None and first.startswith("workflow: "):
        return True
    if row.answer is None:
        return first == "approval-expired" and bool(row.deadline)
    return not row.answer.approved and first == f"declined: {row.answer.reason} (by {row.answer.actor})"


def waits_rightly(env: Environment, row: Workload) -> bool:
    """Whether a delivery may stay as it is: a person is asked, and has time, or its date has not come."""
    return (
        row.state in {State.AWAITING, State.SCHEDULED}
        and row.deadline is not None
        and env.memory.clock.now() < row.deadline
    )
