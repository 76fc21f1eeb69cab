"""The promises of a cancellation, in every schedule: recorded first, it ends the run, and nothing is accepted of the delivery."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping

from lakegate.gate.delivery.delivery_row import Workload
from lakegate.gate.delivery.protocol import State
from lakegate.gate.ledger.blocks import Record
from lakegate.gate.ports import JobState
from tests.fakes.identity import ALICE, BOB
from tests.simulation.environment import Environment

PEOPLE = frozenset({ALICE, BOB})
UNJUDGED = frozenset({State.RECEIVED, State.HELD, State.STAGED, State.SUBMITTING})
"""States that lead to a decision only by a person."""
OPEN = UNJUDGED | {State.PINNED, State.VALIDATING, State.AWAITING, State.ANSWERED, State.SCHEDULED, State.PASSING}


def is_cancelled(row: Workload) -> bool:
    """Whether a person ended the delivery, and it says so."""
    if row.answer is None or row.decision is None or row.answer.approved:
        return False
    return row.decision.reasons[:1] == (f"cancelled: {row.answer.reason} (by {row.answer.actor})",)


def cancelled_workloads(recorded: Mapping[str, Record]) -> Collection[str]:
    """The workloads whose cancellation is recorded."""
    return {each.content["workload"] for each in recorded.values() if each.kind == "cancellation"}


def broken_by_cancellation(
    env: Environment, before: Workload, row: Workload, recorded: Mapping[str, Record]
) -> Iterator[tuple[str, str]]:
    """What is wrong about a change of state, with the promise that it breaks."""
    if row.state is not State.DECIDED:
        return
    if not is_cancelled(row):
        if before.state in UNJUDGED:
            yield "P4", "a delivery was decided that nobody has judged or cancelled"
        return
    assert row.answer is not None
    assert row.decision is not None
    assert row.pin is not None
    parts = ["cancellation", row.id, row.pin.dataset, row.answer.actor, row.answer.reason]
    record = recorded.get(hashlib.sha256(json.dumps(parts, separators=(",", ":")).encode()).hexdigest())
    if record is None or (record.actor, record.chain) != (row.answer.actor, row.pin.dataset):
        yield "P3", "a cancellation is not recorded with its caller"
    if row.answer.actor not in PEOPLE:
        yield "P2", "a delivery is cancelled by nobody who may"
    if row.decision.verdict != "rejected":
        yield "P2", "what was cancelled is accepted"
    judged = before.candidate
    if (row.decision.reasons[1:], row.decision.result) != ((judged.reasons, judged.result) if judged else ((), "")):
        yield "P21", "what was cancelled is decided without its judgement, or with one that nobody has made"
    if row.decision.staged is not (row.staged is not None):
        yield "P1", "what was cancelled is looked for where it is not"
    run = env.memory.jobs.runs.get(before.run)
    if before.state is State.VALIDATING and not before.batch and run is not None and run.state is JobState.RUNNING:
        yield "P4", "a delivery was cancelled, and its run goes on"
