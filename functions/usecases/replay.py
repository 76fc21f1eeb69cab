"""A person asks for another judgement: of a workload that FAILED, or of one in quarantine."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from contracts.errors import InputError
from contracts.workflow import Outcome
from functions.ports import Address, ConditionFailed, NotFound
from functions.usecases import layout
from functions.usecases.advance import advance, take
from functions.usecases.observe import Found, described
from functions.usecases.steps import Effect, Overtaken, perform
from functions.workload import State, Workload, replay_id

if TYPE_CHECKING:
    from functions.usecases.gate import Gate
    from functions.usecases.steps import Steps


def replay(gate: Gate, workload: str) -> Steps[str]:
    """Start again under the contract that is valid now. Returns the id of the workload that is judged.

    FAILED: the same workload, its attempts counted on. QUARANTINED: a new one, its source the quarantined copy.
    Raises InputError for any other state, and where the quarantined copy is not there any more.
    """
    row = _row(gate, workload)
    if row.state is State.FAILED:
        try:
            row = yield from take(gate, row, Found(Outcome.REPLAYED))
        except Overtaken:
            return row.id
    elif row.state is State.QUARANTINED:
        row = yield from _anew(gate, row)
    else:
        raise InputError("only a failed or quarantined workload can be replayed")
    yield from advance(gate, row)
    return row.id


def _row(gate: Gate, workload: str) -> Workload:
    try:
        return gate.workloads.get(workload)
    except NotFound:
        raise InputError("no such workload") from None


def _anew(gate: Gate, row: Workload) -> Steps[Workload]:
    """Create the replay unless it was created before: asking twice is asking once."""
    identity = replay_id(row.id)
    try:
        return gate.workloads.get(identity)
    except NotFound:
        fresh = _fresh(gate, row, identity)
    try:
        yield from perform(Effect.REPLAY, partial(gate.workloads.create, fresh))
    except ConditionFailed:
        return gate.workloads.get(identity)
    return fresh


def _fresh(gate: Gate, row: Workload, identity: str) -> Workload:
    assert row.pin is not None
    name = f"part-00000{gate.terms(row).suffix}"
    where = Address(gate.places.lake, layout.resting_key("quarantine", row.pin, row.id, name))
    try:
        source = described(gate.objects.head(where))
    except NotFound:
        raise InputError("the quarantined copy is not there any more") from None
    due = gate.clock.now() + gate.timing.lease
    return Workload(identity, source, State.RECEIVED, due, replay_of=row.id, landed=row.landed or row.source)
