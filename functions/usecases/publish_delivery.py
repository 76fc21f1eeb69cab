"""Steps 9 and 10: a decided workload is copied and committed.

1. Copy every object to its destination. Keys carry the workload, so a repeated copy writes the same bytes.
2. **The commit**, one transaction: terminal row, signed block on top of the chain, outbox row.

Between 1 and 2 a reader of `accepted/` may already see bytes: they were DECIDED accepted, which nothing takes back.
"""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from lakegate.contracts.lake.block import Block, BlockKind
from lakegate.contracts.lake.block_parts import LedgerObject
from lakegate.contracts.lake.lifecycle import moment
from lakegate.contracts.lake.states import Outcome, State
from lakegate.contracts.plan.result import Result
from lakegate.functions.ports.errors import ConditionFailed, TransactionConflict
from lakegate.functions.ports.objects import Address
from lakegate.functions.ports.workloads import Expected
from lakegate.functions.usecases.addressing import addressed
from lakegate.functions.usecases.copies import copied, copies_of, listed, slices_of
from lakegate.functions.usecases.moves import OutcomeChanged, is_same_write, message, move
from lakegate.functions.usecases.signing import names_key
from lakegate.functions.usecases.steps import Alarm, ConcurrentUpdate, Effect, perform
from lakegate.functions.usecases.waived import measured_result, measured_row
from lakegate.functions.workload import Decision, Pin

if TYPE_CHECKING:
    from lakegate.functions.ports.ledger import Head
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.observe import Observation
    from lakegate.functions.usecases.steps import Steps
    from lakegate.functions.workload import Workload

INGESTED: Final = re.compile(r"/ingest_date=(\d{4}-\d{2}-\d{2})/", re.ASCII)
COMMIT_TRIES = 5
"""Others may extend a busy chain first; after so many tries `sweep` continues."""


def settle(dependencies: Dependencies, workload: Workload) -> Steps[Workload]:
    """The workload; ended, where the ledger has its block: its row was set back, and nothing is judged or committed again.

    Its message may be sent once more, under the same id.
    """
    place = dependencies.ledger.committed(workload.id)
    if place is None:
        return workload
    block = dependencies.ledger.blocks(place.chain, place.height - 1)[0]
    assert isinstance(block, Block)
    to = State.PUBLISHED if block.kind is BlockKind.PUBLISHED else State.QUARANTINED
    after = workload._replace(
        state=to,
        pin=_pin_of(block, workload.pin),
        decision=_decision_of(block, workload.decision or workload.candidate),
        candidate=None,
        due_at=dependencies.clock.now() + dependencies.timing.lease,
    )
    if workload.decision is not None and workload.decision.offsets:
        with suppress(ConditionFailed):  # another delivery's, or nobody's
            yield from perform(Effect.SETTLE, partial(dependencies.workloads.end_turn, workload))
    news = message(dependencies, after, block.height)
    return (yield from move(dependencies, Effect.SETTLE, workload, after, message=news))


def _pin_of(block: Block, pin: Pin | None) -> Pin:
    """What the block was pinned to."""
    pinned = (block.chain, block.contract_version, block.plan)
    if pin is not None and (pin.chain, pin.version, pin.plan) == pinned:
        return pin
    day = INGESTED.search(block.objects[0].key)
    contract = block.chain.rpartition("/")[0] if block.plan else ""
    return Pin(block.chain, contract, *pinned[1:], ingest_date=day[1] if day else "", judging_time=block.system_time)


def _decision_of(block: Block, decision: Decision | None) -> Decision:
    """What was decided; of a row of a time before that, the verdict alone."""
    return decision if decision is not None and decision.verdict == block.verdict else Decision(block.verdict)


def publish(dependencies: Dependencies, workload: Workload, to: State, _found: Observation) -> Steps[Workload]:
    """Copy, then commit."""
    result = _result(dependencies, workload)
    objects = []
    for sources, key in copies_of(dependencies, workload, to, result):
        try:
            there = yield from copied(dependencies, workload, sources, Address(dependencies.places.lake, key))
        except OutcomeChanged:
            if workload.parts is None or to is State.PUBLISHED:
                raise
            continue  # of a refused delivery: its producer deleted this part
        objects.append(LedgerObject(there.key, there.version, there.size, there.checksum))
    if not objects:
        raise OutcomeChanged(Outcome.VANISHED)
    return (yield from _commit(dependencies, workload, to, result, tuple(sorted(objects, key=lambda each: each.key))))


def _result(dependencies: Dependencies, workload: Workload) -> Result | None:
    """The result that was decided on, the very bytes; None where the door refused."""
    decision = workload.decision
    assert decision is not None
    if not decision.result:
        return None
    body = measured_result(dependencies, measured_row(dependencies, workload))
    if hashlib.sha256(body).hexdigest() != decision.result:
        raise Alarm("result-differs", workload.id)
    return Result.from_validated(body)


def _commit(
    dependencies: Dependencies, workload: Workload, to: State, result: Result | None, objects: tuple[LedgerObject, ...]
) -> Steps[Workload]:
    assert workload.pin is not None
    expected = Expected(workload.state, workload.attempt)
    is_rejection = to is State.QUARANTINED or workload.waiver is not None
    subscribers = _subscribers(dependencies, workload.pin) if is_rejection else []
    for _ in range(COMMIT_TRIES):
        head = dependencies.ledger.head(workload.pin.chain)
        if (yield from names_key(dependencies, workload.pin.chain, head, workload.id)):
            continue
        now = dependencies.clock.now()
        after = workload._replace(state=to, due_at=now + dependencies.timing.lease)
        block = _block(dependencies, after, head, result, objects)
        news = message(dependencies, after, block.height, subscribers)
        try:
            yield from perform(Effect.COMMIT, partial(dependencies.ledger.commit, block, after, expected, news))
        except ConditionFailed as refused:
            current = dependencies.workloads.get(workload.id)
            if is_same_write(current, after):
                return current
            if "repeated" in refused.reasons and "state" not in refused.reasons:
                return (yield from settle(dependencies, current))
            if refused.reasons == ("", "", "turn"):
                raise Alarm("turn-lost", workload.id) from None
            if "head" not in refused.reasons or "state" in refused.reasons:
                raise ConcurrentUpdate(workload.id) from None
        else:
            return after
    raise TransactionConflict


def _subscribers(dependencies: Dependencies, pin: Pin) -> list[dict[str, object]]:
    """Who asked to be notified of rejected deliveries of the line, also if they are let through."""
    return addressed(dependencies.lines.get(pin.chain), "rejected") if pin.plan else []


def _block(
    dependencies: Dependencies, workload: Workload, head: Head, result: Result | None, objects: tuple[LedgerObject, ...]
) -> Block:
    pin, decision = workload.pin, workload.decision
    assert pin is not None
    assert decision is not None
    slices = slices_of(dependencies, workload, workload.state, result)
    return Block(
        kind=BlockKind.PUBLISHED if workload.state is State.PUBLISHED else BlockKind.QUARANTINED,
        height=head.height + 1,
        previous=head.digest,
        system_time=moment(dependencies.clock.now()),
        chain=pin.chain,
        workload=workload.id,
        contract_version=pin.version,
        plan=pin.plan,
        verdict=decision.verdict,
        objects=objects,
        rows=result.rows if result else None,
        rejected_rows=result.rejected_rows if result else None,
        event_time=result.event_time if result else None,
        waiver=workload.waiver if workload.state is State.PUBLISHED else None,
        slices=None if slices is None else listed(workload, slices),
        watermark=(decision.watermarks[1] or None) if slices else None,
    )
