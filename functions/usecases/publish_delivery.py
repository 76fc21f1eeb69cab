"""Steps 9 and 10: a decided workload is copied and committed.

1. Copy every object to its destination. Keys carry the workload, so a repeated copy writes the same bytes.
2. **The commit**, one transaction: terminal row, signed block on top of the chain, outbox row.

Between 1 and 2 a reader of `accepted/` may already see bytes: they were DECIDED accepted, which nothing takes back.
"""

from __future__ import annotations

import hashlib
from functools import partial
from typing import TYPE_CHECKING

from lakegate.contracts.door.parts import name_of
from lakegate.contracts.lake.block import Block, BlockKind, LedgerObject
from lakegate.contracts.lake.lifecycle import moment
from lakegate.contracts.lake.states import Outcome, State
from lakegate.contracts.plan.result import Result, Shares
from lakegate.functions.ports.errors import ConditionFailed, NotFound, TransactionConflict
from lakegate.functions.ports.objects import Address, agree
from lakegate.functions.ports.workloads import Expected
from lakegate.functions.usecases import layout, parts, retention
from lakegate.functions.usecases.addressing import addressed
from lakegate.functions.usecases.moves import OutcomeChanged, is_same_write, message
from lakegate.functions.usecases.signing import names_key
from lakegate.functions.usecases.source import address
from lakegate.functions.usecases.steps import Alarm, ConcurrentUpdate, Effect, perform
from lakegate.functions.usecases.waived import measured_row
from lakegate.functions.workload import TERMINAL, SourceObject

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contracts.plan.result import WrittenObject
    from lakegate.functions.ports.ledger import Head
    from lakegate.functions.ports.objects import ObjectVersion
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.observe import Observation
    from lakegate.functions.usecases.steps import Steps
    from lakegate.functions.workload import Pin, Workload

COMMIT_TRIES = 5
"""Others may extend a busy chain first; after so many tries `sweep` continues."""
DESTINATIONS = {"accepted": "accepted", "rejected": "quarantine"}
"""The folder of each share of a split delivery."""


def publish(dependencies: Dependencies, workload: Workload, to: State, _found: Observation) -> Steps[Workload]:
    """Copy, then commit."""
    result = _result(dependencies, workload)
    objects = []
    for sources, key in _copies(dependencies, workload, to, result):
        try:
            copied = yield from _rest(dependencies, workload, sources, Address(dependencies.places.lake, key))
        except OutcomeChanged:
            if workload.parts is None or to is State.PUBLISHED:
                raise
            continue  # of a refused delivery: its producer deleted this part
        objects.append(LedgerObject(copied.key, copied.version, copied.size, copied.checksum))
    if not objects:
        raise OutcomeChanged(Outcome.VANISHED)
    return (yield from _commit(dependencies, workload, to, result, tuple(sorted(objects, key=lambda each: each.key))))


def _result(dependencies: Dependencies, workload: Workload) -> Result | None:
    """The result that was decided on, the very bytes; None where the door refused."""
    decision = workload.decision
    assert decision is not None
    if not decision.result:
        return None
    measured = measured_row(dependencies, workload)
    prefix = layout.attempt_prefix(measured.id, measured.attempt, measured.batch)
    body = dependencies.objects.read(Address(dependencies.places.lake, f"{prefix}/result.json"))
    if hashlib.sha256(body).hexdigest() != decision.result:
        raise Alarm("result-differs", workload.id)
    return Result.from_validated(body)


def _copies(
    dependencies: Dependencies, workload: Workload, to: State, result: Result | None
) -> tuple[tuple[tuple[SourceObject, ...], str], ...]:
    """What to copy: for each object the sources of its bytes, and its destination."""
    pin = workload.pin
    assert pin is not None
    rejected = result.rejected_rows if result is not None and workload.waiver is None else 0
    if to is State.PUBLISHED and result is not None and rejected and dependencies.terms(workload).by_rows:
        shares = result.shares or Shares()
        split = [("accepted", each) for each in shares.accepted] + [("rejected", each) for each in shares.rejected]
        if not split:
            raise Alarm("rows-missing", workload.id)
        return tuple(
            (
                (_written(dependencies, workload, share, each),),
                layout.destination_key(DESTINATIONS[share], pin, workload.id, _name(each)),
            )
            for share, each in split
        )
    share = "accepted" if to is State.PUBLISHED else "quarantine"
    suffix = dependencies.terms(workload).suffix
    copies = [(each, layout.part_name(number, suffix)) for number, each in _sources(dependencies, workload)]
    last = parts.completing(workload)
    if last is not None and workload.decision is not None and not workload.decision.staged:
        copies.append(((last,), name_of(last.key)))
    return tuple((each, layout.destination_key(share, pin, workload.id, name)) for each, name in copies)


def _sources(dependencies: Dependencies, workload: Workload) -> Iterator[tuple[int, tuple[SourceObject, ...]]]:
    """Of each object its place, the bytes that were judged, and the other copy: versions never change, so either will do."""
    assert workload.decision is not None
    landed = parts.landed(dependencies, workload).parts
    copies = parts.staged(dependencies, workload)
    is_own = parts.owned(dependencies, workload, landed)
    for number, source in enumerate(landed):
        both = (source, *copies[number : number + 1])
        if is_own[number]:
            yield number, both[::-1] if workload.decision.staged else both


def _name(written: WrittenObject) -> str:
    return written.uri.rpartition("/")[2]


def _written(dependencies: Dependencies, workload: Workload, share: str, written: WrittenObject) -> SourceObject:
    """One object of a split, still as the result lists it."""
    lake = f"s3://{dependencies.places.lake}/"
    if not written.uri.startswith(
        f"{lake}{layout.attempt_prefix(workload.id, workload.attempt, workload.batch)}/rows/{share}/"
    ):
        raise Alarm("rows-elsewhere", workload.id)
    try:
        found = dependencies.objects.head(Address(dependencies.places.lake, written.uri.removeprefix(lake)))
    except NotFound:
        if dependencies.workloads.get(workload.id).state in TERMINAL:
            raise ConcurrentUpdate(workload.id) from None
        raise Alarm("rows-missing", workload.id) from None
    if (found.size, found.etag) != (written.size, written.etag):
        raise Alarm("rows-differ", workload.id)
    return SourceObject(found.bucket, found.key, found.version, found.etag, found.size, found.checksum)


def _rest(
    dependencies: Dependencies, workload: Workload, sources: tuple[SourceObject, ...], to: Address
) -> Steps[ObjectVersion]:
    """One object in its destination, by whichever attempt it was copied."""
    assert workload.pin is not None
    tag = retention.tag_of(dependencies, to.key, workload.pin.plan, workload.id)
    for source in sources:
        try:
            copy = partial(dependencies.objects.copy, address(source), source.etag, to, absent=True, tag=tag)
            return _verified(workload, source, (yield from perform(Effect.COPY, copy)))
        except ConditionFailed:
            return _verified(workload, source, _there(dependencies, workload, to))
        except NotFound:
            continue
    if dependencies.workloads.get(workload.id).state in TERMINAL:
        raise ConcurrentUpdate(workload.id)
    return _verified(workload, sources[0], _there(dependencies, workload, to))


def _verified(workload: Workload, source: SourceObject, copied: ObjectVersion) -> ObjectVersion:
    if copied.size != source.size or not agree(source.checksum, copied.checksum):
        raise Alarm("copy-differs", workload.id)
    return copied


def _there(dependencies: Dependencies, workload: Workload, to: Address) -> ObjectVersion:
    """The object at the destination; if there is none, the bytes are lost.

    Refused at the door and deleted by its producer before it was ever staged: GONE. Anything else was ours: alarm.
    """
    try:
        return dependencies.objects.head(to)
    except NotFound:
        if workload.staged is not None:
            raise Alarm("source-lost", workload.id) from None
        raise OutcomeChanged(Outcome.VANISHED) from None


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
    )
