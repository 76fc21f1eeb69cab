"""Steps 9 and 10: a decided workload comes to rest.

1. Copy every object to its resting place. Keys carry the workload, so saying it twice writes the same bytes.
2. **The commit**, one transaction: terminal row, block on top of the chain, outbox row.

Between 1 and 2 a reader of `accepted/` may already see bytes: they were DECIDED accepted, which nothing takes back.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from contracts.ledger import Block, BlockKind, LedgerObject
from contracts.workflow import Outcome, State
from functions.ports import Address, ConditionFailed, Expected, NotFound, TransactionConflict
from functions.usecases import layout
from functions.usecases.answer import Answer, Written
from functions.usecases.moves import Diverted, message, says
from functions.usecases.observe import address
from functions.usecases.steps import Alarm, Effect, Overtaken, perform
from functions.workload import TERMINAL, Source

if TYPE_CHECKING:
    from functions.ports import Head, ObjectVersion
    from functions.usecases.gate import Gate
    from functions.usecases.observe import Found
    from functions.usecases.steps import Steps
    from functions.workload import Workload

COMMIT_TRIES = 5
"""A hot chain moves under us; after so many moves the rest is `sweep`'s."""
SHARES = {"accepted": "accepted", "rejected": "quarantine"}


def publish(gate: Gate, workload: Workload, to: State, _found: Found) -> Steps[Workload]:
    """Copy, then commit."""
    answer = _answer(gate, workload)
    objects = []
    for sources, key in _copies(gate, workload, to, answer):
        copied = yield from _rest(gate, workload, sources, Address(gate.places.lake, key))
        objects.append(LedgerObject(copied.key, copied.version, copied.size, copied.checksum))
    return (yield from _commit(gate, workload, to, answer, tuple(sorted(objects, key=lambda each: each.key))))


def _answer(gate: Gate, workload: Workload) -> Answer | None:
    """The result that was decided on, the very bytes; None where the door refused."""
    decision = workload.decision
    assert decision is not None
    if not decision.result:
        return None
    prefix = layout.attempt_prefix(workload.id, workload.attempt)
    body = gate.objects.read(Address(gate.places.lake, f"{prefix}/result.json"))
    if hashlib.sha256(body).hexdigest() != decision.result:
        raise Alarm("result-differs", workload.id)
    return Answer.read(body)


def _copies(
    gate: Gate, workload: Workload, to: State, answer: Answer | None
) -> tuple[tuple[tuple[Source, ...], str], ...]:
    """What to copy: for each object where its bytes may be had, and where they shall rest."""
    pin = workload.pin
    assert pin is not None
    if to is State.PUBLISHED and answer is not None and answer.rejected_rows and gate.terms(workload).by_rows:
        if not answer.objects:
            raise Alarm("rows-missing", workload.id)
        return tuple(
            ((_written(gate, workload, each),), layout.resting_key(SHARES[each.share], pin, workload.id, _name(each)))
            for each in answer.objects
        )
    share = "accepted" if to is State.PUBLISHED else "quarantine"
    name = f"part-00000{gate.terms(workload).suffix}"
    return ((_sources(workload), layout.resting_key(share, pin, workload.id, name)),)


def _sources(workload: Workload) -> tuple[Source, ...]:
    """The bytes that were judged, then the other copy of them: versions never change, so either will do."""
    assert workload.decision is not None
    if workload.staged is None:
        return (workload.source,)
    if workload.decision.staged:
        return (workload.staged, workload.source)
    return (workload.source, workload.staged)


def _name(written: Written) -> str:
    return written.uri.rpartition("/")[2]


def _written(gate: Gate, workload: Workload, written: Written) -> Source:
    """One object of a split, still as the result lists it."""
    lake = f"s3://{gate.places.lake}/"
    if not written.uri.startswith(
        f"{lake}{layout.attempt_prefix(workload.id, workload.attempt)}/rows/{written.share}/"
    ):
        raise Alarm("rows-elsewhere", workload.id)
    found = gate.objects.head(Address(gate.places.lake, written.uri.removeprefix(lake)))
    if (found.size, found.etag) != (written.size, written.etag):
        raise Alarm("rows-differ", workload.id)
    return Source(found.bucket, found.key, found.version, found.etag, found.size, found.checksum)


def _rest(gate: Gate, workload: Workload, sources: tuple[Source, ...], to: Address) -> Steps[ObjectVersion]:
    """One object in its resting place, whoever copied it there."""
    for source in sources:
        try:
            copy = partial(gate.objects.copy, address(source), source.etag, to, absent=True)
            return _verified(workload, source, (yield from perform(Effect.COPY, copy)))
        except ConditionFailed:
            return _verified(workload, source, _there(gate, workload, to))
        except NotFound:
            continue
    if gate.workloads.get(workload.id).state in TERMINAL:
        raise Overtaken(workload.id)
    return _verified(workload, sources[0], _there(gate, workload, to))


def _verified(workload: Workload, source: Source, copied: ObjectVersion) -> ObjectVersion:
    if copied.size != source.size or (source.checksum and copied.checksum != source.checksum):
        raise Alarm("copy-differs", workload.id)
    return copied


def _there(gate: Gate, workload: Workload, to: Address) -> ObjectVersion:
    """What lies in the resting place; if nothing does, the bytes are gone for good.

    Refused at the door and deleted by its producer before it was ever staged: GONE. Anything else was ours: alarm.
    """
    try:
        return gate.objects.head(to)
    except NotFound:
        if workload.staged is not None:
            raise Alarm("source-lost", workload.id) from None
        raise Diverted(Outcome.VANISHED) from None


def _commit(
    gate: Gate, workload: Workload, to: State, answer: Answer | None, objects: tuple[LedgerObject, ...]
) -> Steps[Workload]:
    assert workload.pin is not None
    expected = Expected(workload.state, workload.attempt)
    for _ in range(COMMIT_TRIES):
        now = gate.clock.now()
        after = replace(workload, state=to, due_at=now + gate.timing.lease)
        block = _block(gate, after, gate.ledger.head(workload.pin.chain), answer, objects)
        news = message(gate, after, block.height)
        try:
            yield from perform(Effect.COMMIT, partial(gate.ledger.commit, block, after, expected, news))
        except ConditionFailed as refused:
            current = gate.workloads.get(workload.id)
            if says(current, after):
                return current
            if "head" not in refused.reasons or "state" in refused.reasons:
                raise Overtaken(workload.id) from None
        else:
            return after
    raise TransactionConflict


def _block(
    gate: Gate, workload: Workload, head: Head, answer: Answer | None, objects: tuple[LedgerObject, ...]
) -> Block:
    pin, decision = workload.pin, workload.decision
    assert pin is not None
    assert decision is not None
    return Block(
        kind=BlockKind.PUBLISHED if workload.state is State.PUBLISHED else BlockKind.QUARANTINED,
        height=head.height + 1,
        previous=head.digest,
        system_time=gate.clock.now().isoformat(timespec="microseconds").replace("+00:00", "Z"),
        chain=pin.chain,
        workload=workload.id,
        contract_version=pin.version,
        plan=pin.plan,
        verdict=decision.verdict,
        objects=objects,
        rows=answer.rows if answer else None,
        rejected_rows=answer.rejected_rows if answer else None,
        event_time=answer.event_time if answer else None,
    )
