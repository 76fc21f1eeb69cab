"""What states of a workflow's own promise, in every schedule: a second reading of the document, without code of the gate.

Only what the document says follows; a verdict becomes a decision only after every approval that was asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from lakegate.gate.delivery.delivery_row import Workload
from lakegate.gate.delivery.protocol import State
from lakegate.plan.planned_workflow import PlannedState, PlannedWorkflow
from tests.simulation.environment import Environment

S = State
WAITING = frozenset({S.AWAITING, S.ANSWERED, S.SCHEDULED, S.PASSING})
STATE_OF = {
    "ask": S.AWAITING,
    "call-back": S.AWAITING,
    "wait": S.SCHEDULED,
    "notify": S.PASSING,
    "compare": S.PASSING,
}
STEPS = {(before, after) for before in (S.VALIDATING, *WAITING) for after in (WAITING - {S.ANSWERED}) | {S.DECIDED}} | {
    (S.AWAITING, S.ANSWERED)
}
ACCEPTED = frozenset({"accepted", "accepted_with_warnings"})
KEPT = timedelta(days=45)
"""A staged copy."""
Broken = Iterator[tuple[str, str]]


def broken_by_machine(machine: PlannedWorkflow, env: Environment, before: Workload, row: Workload) -> Broken:
    """What is wrong about a change of a row that a machine rules, except about answers."""
    if row.state is S.ANSWERED:
        yield from _answered(machine, before, row)
    elif before.state in {S.VALIDATING, *WAITING} and row.state in {S.DECIDED, *WAITING}:
        yield from _moved(machine, env, before, row)


def _answered(machine: PlannedWorkflow, before: Workload, row: Workload) -> Broken:
    if row.passed != before.passed or row.candidate != before.candidate:
        yield "P6", "an answer changed more than the answer"
    earlier = {each.actor for each in before.approvals}
    if row.answer and row.answer.approved and _named(machine, before).another and row.answer.actor in earlier:
        yield "P2", "one person approves twice"


def _moved(machine: PlannedWorkflow, env: Environment, before: Workload, row: Workload) -> Broken:
    now = env.memory.clock.now()
    judged = row.candidate or row.decision
    assert judged is not None
    seen = set(_observed(machine, before, row, now))
    if not seen:
        yield "P4", f"{before.state} was left before its time"
        return
    if seen == {"withdrawn"}:
        if row.state is not S.DECIDED or judged.verdict in ACCEPTED:
            yield "P2", "what was withdrawn goes on"
        return
    passed = before.passed if before.state in WAITING else ()
    at = before.passed[-1] if before.state in WAITING else "VALIDATING"
    wanted = {_follows(machine, at, on, passed) for on in seen}
    if row.state is S.DECIDED:
        yield from _decided(machine, before, row, wanted)
        return
    own = _named(machine, row)
    if own.name not in wanted or row.passed != (*passed, own.name):
        yield "P6", f"{own.name} follows {at} when {sorted(seen)}, and {sorted(wanted)} should"
    if row.state is not STATE_OF[own.operation]:
        yield "P6", f"{own.name} is carried out as {row.state}"
    yield from _entered(env, own, before, row, now)


def _named(machine: PlannedWorkflow, row: Workload) -> PlannedState:
    return next(each for each in machine.states if each.name == row.passed[-1])


def _observed(machine: PlannedWorkflow, before: Workload, row: Workload, now: datetime) -> Iterator[str]:
    if before.state is S.VALIDATING:
        judged = row.candidate or row.decision
        assert judged is not None
        yield "rejected" if judged.verdict not in ACCEPTED else judged.verdict
        if row.decision is not None and "duplicate-content" in row.decision.reasons:
            yield from ACCEPTED
    elif before.state is S.ANSWERED:
        assert before.answer is not None
        yield "approved" if before.answer.approved else "declined"
    elif before.state is S.PASSING:
        yield from ("done",) if _named(machine, before).operation == "notify" else ("usual", "unusual")
    elif before.state is S.SCHEDULED and row.answer != before.answer and row.state is S.DECIDED:
        yield "withdrawn"
    elif before.deadline is not None and now >= before.deadline:
        yield "due" if before.state is S.SCHEDULED else "expired"


def _follows(machine: PlannedWorkflow, at: str, on: str, passed: tuple[str, ...]) -> str:
    most = {each.name: each.entries for each in machine.states}
    for each in machine.transitions:
        if (each.source, each.when) == (at, on) and passed.count(each.to) < most.get(each.to, 1):
            return each.to
    return "PUBLISHED" if at == "VALIDATING" and on in ACCEPTED else "QUARANTINED"


def _decided(machine: PlannedWorkflow, before: Workload, row: Workload, wanted: set[str]) -> Broken:
    assert row.decision is not None
    if row.decision.verdict in ACCEPTED:
        asked = [
            each for each in machine.states if each.name in row.passed and STATE_OF.get(each.operation) is S.AWAITING
        ]
        if "PUBLISHED" not in wanted:
            yield "P2", f"a delivery was decided accepted, and {sorted(wanted)} follows"
        if asked and before.state in WAITING and (row.answer is None or not row.answer.approved):
            yield "P2", "a delivery was decided accepted, and who was asked has not approved"
        if before.state in WAITING and row.decision != before.candidate:
            yield "P21", "what was judged is decided otherwise"
    elif before.candidate is not None and before.candidate.verdict in ACCEPTED:
        is_duplicate = "duplicate-content" in row.decision.reasons and "PUBLISHED" in wanted
        if "QUARANTINED" not in wanted and not is_duplicate:
            yield "P4", f"a delivery was rejected, and {sorted(wanted)} follows"
        if not is_duplicate and row.decision.reasons[1:] != before.candidate.reasons:
            yield "P21", "what was rejected is decided without its judgement"


def _entered(env: Environment, own: PlannedState, before: Workload, row: Workload, now: datetime) -> Broken:
    assert row.candidate is not None
    judged = before.candidate
    if judged is None:
        if row.candidate.verdict not in ACCEPTED:
            yield "P2", "what is not accepted waits"
    elif row.candidate != judged and (row.candidate.verdict in ACCEPTED or row.candidate.reasons[1:] != judged.reasons):
        yield "P21", "what was judged waits as something else"
    if own.operation in {"ask", "call-back"}:
        yield from _asked(env, own, before, row, now)
    elif own.operation == "wait":
        yield from _dated(own, before, row, now)
    if own.operation in {"ask", "call-back", "notify"} and not _is_told(env, row):
        yield "P5", f"nobody is told of a delivery that enters {own.name}"


def _asked(env: Environment, own: PlannedState, before: Workload, row: Workload, now: datetime) -> Broken:
    if row.answer is not None or row.approvals != (*before.approvals, *([before.answer] if before.answer else [])):
        yield "P6", "an answer is lost, or counts for another question"
    if row.deadline is None or row.due_at != row.deadline or row.deadline > now + timedelta(days=own.days):
        yield "P4", "a delivery waits for an answer longer than its workflow says"
    elif row.staged is not None:
        copies = env.lake.get(row.staged.key, [])
        if any(each.described.modified + KEPT <= row.deadline for each in copies[-1:] if each.described):
            yield "P1", "a staged copy expires before the time for an answer is over"


def _is_told(env: Environment, row: Workload) -> bool:
    outbox = [*env.memory.messages.values(), *env.memory.notifier.sent]
    wanted = f"{row.id}:{row.state.lower()}:{row.attempt}:{len(row.passed)}"
    return any(each.id == wanted for each in outbox)


def _dated(own: PlannedState, before: Workload, row: Workload, now: datetime) -> Broken:
    if before.state is S.ANSWERED and before.answer is not None:
        began = latest = datetime.fromisoformat(before.answer.at)
    elif before.state in {S.AWAITING, S.SCHEDULED} and before.deadline is not None:
        began = latest = before.deadline
    else:
        assert row.pin is not None
        began, latest = datetime.fromisoformat(row.pin.judging_time), now
    at = row.deadline
    if at is None or row.due_at != at:
        yield "P4", "a delivery waits without an end"
    elif own.until:
        if f"{at:%H:%M:%S.%f}" != f"{own.until[:5]}:00.000000" or not began <= at <= latest + timedelta(days=1):
            yield "P4", "a delivery waits for another time than that of its workflow"
    elif not began <= at - timedelta(hours=own.hours) <= latest:
        yield "P4", "a delivery waits for another time than that of its workflow"
