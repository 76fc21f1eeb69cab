"""Steps 9 and 10: copied to accepted or quarantine, then committed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from lakegate.admission.multi_file_delivery import name_of
from lakegate.base.errors import ConditionFailed, NotFound, TransactionConflict
from lakegate.base.extension_points import load_extensions
from lakegate.base.json_codec import select_fields
from lakegate.base.timestamps import moment
from lakegate.gate import lake_layout
from lakegate.gate.datasets.lifecycle import list_subscribers
from lakegate.gate.datasets.replaced_deliveries import replaceable_name
from lakegate.gate.delivery.attempt_request import PublishedRows, Publisher, publisher_of
from lakegate.gate.delivery.decide_verdict import measured_result
from lakegate.gate.delivery.delivery_row import TERMINAL, Anomaly, Decision, Pin, SourceObject, Workload
from lakegate.gate.delivery.protocol import Outcome, State
from lakegate.gate.delivery.transition import DeliveryTurn, Observation, OutcomeChanged, is_same_write, move
from lakegate.gate.delivery_store import Expected
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Alarm, ConcurrentUpdate, Effect, Steps, perform
from lakegate.gate.event_bodies import EventSubscriber, message
from lakegate.gate.ledger import stored_objects
from lakegate.gate.ledger.blocks import Block, BlockInput, BlockKind, Head, LedgerObject
from lakegate.gate.ledger.commit import names_key
from lakegate.gate.ports import Address, ObjectVersion, agree
from lakegate.gate.table import ConditionName
from lakegate.plan.result import Result, Shares, WrittenObject
from lakegate.verdict.verdict import ACCEPTING

if TYPE_CHECKING:
    from lakegate.gate.delivery.attempt_request import WrittenByRun

# ---- Copies of objects, slices and shares ----


DESTINATIONS = {"accepted": "accepted", "rejected": "quarantine"}
"""The folder of each share of a split delivery."""


def copies_of(turn: DeliveryTurn, to: State, result: Result | None) -> tuple[tuple[tuple[SourceObject, ...], str], ...]:
    """The copies: for each object the sources of its bytes, and its destination.

    What arrived, or was derived, is always one: of slices it is beside them.
    """
    pin = turn.pin
    publisher = publisher_of(turn.terms) if to is State.PUBLISHED and result is not None else None
    beside = lake_layout.ORIGINALS if publisher and turn.terms.as_slices else ""
    written: tuple[tuple[tuple[SourceObject, ...], str], ...] = ()
    if publisher is not None and result is not None:
        copies_of_rows = publisher.copies(turn.row, result)
        written = tuple(((_written(turn, publisher.folder, each),), key) for each, key in copies_of_rows)
    rejected = result.rejected_rows if result is not None and turn.row.waiver is None else 0
    if to is State.PUBLISHED and result is not None and rejected and turn.terms.by_rows:
        shares = result.shares or Shares()
        split = [("accepted", each) for each in shares.accepted] + [("rejected", each) for each in shares.rejected]
        if not split:
            raise Alarm("rows-missing", turn.row.id)
        return written + tuple(
            (
                (_written(turn, f"rows/{share}", each),),
                lake_layout.destination_key(
                    DESTINATIONS[share], pin, turn.row.id, (beside if share == "accepted" else "") + file_name(each)
                ),
            )
            for share, each in split
        )
    share = "accepted" if to is State.PUBLISHED else "quarantine"
    suffix = turn.terms.suffix
    if result is not None and result.derived and turn.row.waiver is None:
        return written + tuple(
            (
                (_written(turn, "rows/derived", each),),
                lake_layout.destination_key(share, pin, turn.row.id, beside + lake_layout.part_name(number, suffix)),
            )
            for number, each in enumerate(result.derived)
        )
    copies = [(each, lake_layout.part_name(number, suffix)) for number, each in _sources(turn)]
    last = turn.row.marker
    if last is not None and turn.row.decision is not None and not turn.decision.staged:
        copies.append(((last,), name_of(last.key)))
    return written + tuple(
        (each, lake_layout.destination_key(share, pin, turn.row.id, beside + name)) for each, name in copies
    )


def _sources(turn: DeliveryTurn) -> Iterator[tuple[int, tuple[SourceObject, ...]]]:
    """Of each object its place, the bytes that were judged, and the other copy: versions never change, so either will do."""
    for number, source in enumerate(turn.landed.parts):
        both = (source, *turn.copies[number : number + 1])
        if turn.owns(source):
            yield number, both[::-1] if turn.decision.staged else both


def file_name(written: WrittenObject) -> str:
    """The last part of the key of an object."""
    return written.uri.rpartition("/")[2]


def _written(turn: DeliveryTurn, share: str, written: WrittenByRun) -> SourceObject:
    """An object of a split, or of another form of the rows, still as the result lists it."""
    lake = f"s3://{turn.gate.places.lake}/"
    if not written.uri.startswith(
        f"{lake}{lake_layout.attempt_prefix(turn.row.id, turn.row.attempt, turn.row.batch)}/{share}/"
    ):
        raise Alarm("rows-elsewhere", turn.row.id)
    try:
        found = turn.gate.objects.head(turn.gate.in_lake(written.uri.removeprefix(lake)))
    except NotFound:
        if turn.gate.workloads.get(turn.row.id).state in TERMINAL:
            raise ConcurrentUpdate(turn.row.id) from None
        raise Alarm("rows-missing", turn.row.id) from None
    if (found.size, found.etag) != (written.size, written.etag):
        raise Alarm("rows-differ", turn.row.id)
    return SourceObject.of(found)


def copied(turn: DeliveryTurn, sources: tuple[SourceObject, ...], to: Address) -> Steps[ObjectVersion]:
    """One object in its destination, by whichever attempt it was copied."""
    tag = stored_objects.tag_of(turn.gate, to.key, turn.pin.plan, turn.row.id)
    for source in sources:
        try:
            objects = turn.gate.objects
            copy = yield from perform(Effect.COPY, objects.copy, source.address, source.etag, to, absent=True, tag=tag)
            return _verified(turn.row, source, copy)
        except ConditionFailed:
            return _verified(turn.row, source, _there(turn, to))
        except NotFound:
            continue
    if turn.gate.workloads.get(turn.row.id).state in TERMINAL:
        raise ConcurrentUpdate(turn.row.id)
    return _verified(turn.row, sources[0], _there(turn, to))


def _verified(workload: Workload, source: SourceObject, copied: ObjectVersion) -> ObjectVersion:
    if copied.size != source.size or not agree(source.checksum, copied.checksum):
        raise Alarm("copy-differs", workload.id)
    return copied


def _there(turn: DeliveryTurn, to: Address) -> ObjectVersion:
    """The object at the destination; if there is none, the bytes are lost.

    Refused at the door, where its bytes were in landing, and deleted by its producer since: GONE. Anything else was ours: alarm.
    """
    try:
        return turn.gate.objects.head(to)
    except NotFound:
        if turn.decision.staged:
            raise Alarm("source-lost", turn.row.id) from None
        raise OutcomeChanged(Outcome.VANISHED) from None


def observe_decided(turn: DeliveryTurn) -> Observation | None:
    """DECIDED: accepted or rejected."""
    return Observation(Outcome.ACCEPTED if turn.decision.verdict in ACCEPTING else Outcome.REJECTED)


# ---- Steps 9 and 10 ----
# 1. Copy every object to its destination. Keys carry the workload, so a repeated copy writes the same bytes.
# 2. **The commit**, one transaction: terminal row, signed block on top of the chain, outbox row.
#
# Between 1 and 2 a reader of `accepted/` may already see bytes: they were DECIDED accepted, which nothing takes back.


INGESTED: Final = re.compile(r"/ingest_date=(\d{4}-\d{2}-\d{2})/", re.ASCII)
COMMIT_TRIES = 20
"""Others may extend a busy chain first: some twenty functions at the same time. After so many tries `sweep` continues."""
COMMIT_INTERVAL: Final = timedelta(milliseconds=50)
"""Between commits to a busy chain: two calls of DynamoDB of 20 ms, and some more; who was refused adds what its own took."""
LONGEST_INTERVAL: Final = timedelta(milliseconds=200)
LONGEST_WAIT: Final = 10.0
"""Seconds."""
LOST: Final = frozenset({ConditionName.HEAD, ConditionName.KEY, ConditionName.NAME})
"""Conditions that another commit, or record, has broken: the next try has what it wrote."""


def settle(turn: DeliveryTurn) -> Steps[Workload]:
    """The workload; ended, where the ledger has its block: its row was set back, and nothing is judged or committed again.

    Its message may be sent once more, under the same id.
    """
    place = turn.gate.ledger.committed(turn.row.id)
    if place is None:
        return turn.row
    block = turn.gate.ledger.block(place.chain, place.height)
    assert isinstance(block, Block)
    to = State.PUBLISHED if block.kind is BlockKind.PUBLISHED else State.QUARANTINED
    after = turn.row._replace(
        state=to,
        pin=_pin_of(block, turn.row.pin),
        decision=_decision_of(block, turn.row.decision or turn.row.candidate),
        candidate=None,
        height=place.height,
        due_at=turn.lease_end,
    )
    publishers: Iterator[Publisher] = load_extensions("publishers")
    for publisher in publishers:
        yield from publisher.settled(turn)
    news = message(turn.gate, after, block.height, supersedes=block.supersedes)
    return (yield from move(turn, Effect.SETTLE, after, message=news))


def _pin_of(block: Block, pin: Pin | None) -> Pin:
    """The pin of the block."""
    pinned = (block.chain, block.contract_version, block.plan)
    if pin is not None and (pin.dataset, pin.version, pin.plan) == pinned:
        return pin
    day = INGESTED.search(block.objects[0].key)
    contract = block.chain.rpartition("/")[0] if block.plan else ""
    return Pin(block.chain, contract, *pinned[1:], ingest_date=day[1] if day else "", judging_time=block.system_time)


def _decision_of(block: Block, decision: Decision | None) -> Decision:
    """The decision; of a row from before that was stored, the verdict alone."""
    return decision if decision is not None and decision.verdict == block.verdict else Decision(block.verdict)


class _Comparison(NamedTuple):
    """What the chain says of a delivery that is about to be committed."""

    head: Head
    """The top of the chain that it was found at."""
    row: Workload
    """With what is unusual of the delivery, and its end."""
    supersedes: tuple[int, ...]
    """Heights of the deliveries in whose place it comes."""
    name: str
    """By which a later one can replace it; empty: none can."""


def publish(turn: DeliveryTurn, to: State, _observed: Observation) -> Steps[Workload]:
    """Compare with the chain, copy, then commit."""
    measured = measured_result(turn)
    result = None if measured is None else Result.from_bytes(measured)
    compared = yield from _compare(turn, to, result)
    objects = []
    for sources, key in copies_of(turn, to, result):
        try:
            there = yield from copied(turn, sources, turn.gate.in_lake(key))
        except OutcomeChanged:
            if turn.row.parts is None or to is State.PUBLISHED:
                raise
            continue  # of a refused delivery: its producer deleted this part
        objects.append(select_fields(LedgerObject, there))
    if not objects:
        raise OutcomeChanged(Outcome.VANISHED)
    return (yield from _commit(turn, to, result, tuple(sorted(objects, key=lambda each: each.key)), compared))


def _compare(turn: DeliveryTurn, to: State, result: Result | None) -> Steps[_Comparison]:
    """Compare a delivery with what its chain has, which is signed by the key of the stack from here on."""
    chain = turn.pin.dataset
    name = replaceable_name(turn.gate, turn.row, turn.terms.policy, result) if to is State.PUBLISHED else ""
    for _ in range(COMMIT_TRIES):
        head = turn.gate.ledger.head(chain)
        if not (yield from names_key(turn.gate, chain, head, turn.row.id)):
            replaced = turn.gate.ledger.accepted_as(chain, name) if name else None
            supersedes = () if replaced is None else (replaced,)
            row = turn.row._replace(state=to, height=head.height + 1)
            return _Comparison(head, _compared(turn.moved(row), result, supersedes), supersedes, name)
    raise TransactionConflict


def _commit(
    turn: DeliveryTurn, to: State, result: Result | None, objects: tuple[LedgerObject, ...], compared: _Comparison
) -> Steps[Workload]:
    """Commit at the head of the chain.

    A delivery is compared again where another one was committed since it was; on a chain so busy that this happens once more it
    is committed as it is. Between the reading of the head and the commit nothing else is read: in that time others can take the
    place. Who has lost it, or finds the chain busy, reserves a time.
    """
    expected = Expected.of(turn.row)
    is_rejection = to is State.QUARANTINED or turn.row.waiver is not None
    subscribers = _subscribers(turn.gate, turn.pin) if is_rejection else ()
    is_again = has_place = False
    interval = COMMIT_INTERVAL
    for _ in range(COMMIT_TRIES):
        head = turn.gate.ledger.head(turn.pin.dataset)
        if head != compared.head and not has_place:
            compared = compared if is_again else (yield from _compare(turn, to, result))
            is_again = has_place = True
            yield from _wait_for_place(turn, interval)
            continue
        began = turn.now
        after = compared.row._replace(height=head.height + 1, due_at=turn.lease_end)
        block = _block(turn.moved(after), head, result, objects, compared.supersedes)
        news = message(turn.gate, after, block.height, subscribers, compared.supersedes)
        try:
            yield from perform(Effect.COMMIT, turn.gate.ledger.commit, block, after, expected, news, compared.name)
        except ConditionFailed as refused:
            ended = yield from _refused(turn, after, refused.reasons)
            if ended is not None:
                return ended
            has_place, interval = False, min(max(turn.now - began, COMMIT_INTERVAL), LONGEST_INTERVAL)
            # at the same head the key of the chain, or who has the name, is another one
            if ConditionName.HEAD not in refused.reasons:
                compared = yield from _compare(turn, to, result)
        else:
            return after
    raise TransactionConflict


def _refused(turn: DeliveryTurn, after: Workload, reasons: tuple[str, ...]) -> Steps[Workload | None]:
    """What a commit that was refused comes to; None: another record has taken its place, and it is tried again."""
    current = turn.gate.workloads.get(turn.row.id)
    if is_same_write(current, after):
        return current
    if ConditionName.STATE in reasons:
        raise ConcurrentUpdate(turn.row.id)
    if ConditionName.REPEATED in reasons:
        return (yield from settle(turn.moved(current)))
    if reasons == (ConditionName.TURN,):
        raise Alarm("turn-lost", turn.row.id)
    if LOST.isdisjoint(reasons):
        raise ConcurrentUpdate(turn.row.id)
    return None


def _wait_for_place(turn: DeliveryTurn, interval: timedelta) -> Steps[None]:
    """Wait for a time at which no other worker is likely to commit to the chain: those who wait do not refuse one another.

    It is a matter of speed alone: who commits at another time is refused, or not, by the same conditions.
    """
    reserve = turn.gate.agenda.reserve_commit
    place = yield from perform(Effect.RESERVE_COMMIT, reserve, turn.pin.dataset, turn.now, interval)
    pause = min((place - turn.now).total_seconds(), LONGEST_WAIT)
    if pause > 0:
        yield from perform(Effect.WAIT, turn.gate.clock.sleep, pause)


Comparison: TypeAlias = Callable[[DeliveryTurn, Result, tuple[int, ...]], Workload]
"""A row of the extension point `history comparisons`: the row of an accepted delivery that is about to be committed, with what
is unusual of it, by the heights that it supersedes. It follows from blocks below its own alone, and changes no verdict."""


def _compared(turn: DeliveryTurn, result: Result | None, supersedes: tuple[int, ...]) -> Workload:
    """The row after all comparisons; as it is of a delivery that is rejected, let through or was not measured."""
    if result is None or turn.row.state is not State.PUBLISHED or turn.row.waiver is not None:
        return turn.row
    comparisons: Iterator[Comparison] = load_extensions("history comparisons")
    for compare in comparisons:
        turn = turn.moved(compare(turn, result, supersedes))
    return turn.row


def anomalies_of(turn: DeliveryTurn) -> tuple[Anomaly, ...]:
    """What would be unusual of a delivery that waits, if it were committed now. Nothing is written."""
    body = measured_result(turn)
    if body is None:
        return ()
    result, chain = Result.from_bytes(body), turn.pin.dataset
    name = replaceable_name(turn.gate, turn.row, turn.terms.policy, result)
    replaced = turn.gate.ledger.accepted_as(chain, name) if name else None
    height = turn.gate.ledger.head(chain).height + 1
    row = turn.row._replace(state=State.PUBLISHED, decision=turn.candidate, height=height)
    return _compared(turn.moved(row), result, () if replaced is None else (replaced,)).anomalies


def _subscribers(dependencies: Dependencies, pin: Pin) -> tuple[EventSubscriber, ...]:
    """Subscribers of the dataset to rejected deliveries, also if they are let through."""
    return list_subscribers(dependencies.datasets.get(pin.dataset), "rejected") if pin.plan else ()


def _block(
    turn: DeliveryTurn,
    head: Head,
    result: Result | None,
    objects: tuple[LedgerObject, ...],
    supersedes: tuple[int, ...],
) -> Block:
    pin, decision = turn.pin, turn.decision
    publisher = publisher_of(turn.terms) if turn.row.state is State.PUBLISHED else None
    published = publisher.listed(turn.row, result) if publisher and result else PublishedRows()
    times = [moment(turn.now), *(each.system_time or "" for each in published.slices or ())]
    return Block(
        kind=BlockKind.PUBLISHED if turn.row.state is State.PUBLISHED else BlockKind.QUARANTINED,
        height=turn.row.height,
        previous=head.digest,
        system_time=max(times),  # clocks differ: no row is newer than its block
        chain=pin.dataset,
        workload=turn.row.id,
        contract_version=pin.version,
        plan=pin.plan,
        verdict=decision.verdict,
        objects=objects,
        rows=result.rows if result else None,
        rejected_rows=result.rejected_rows if result else None,
        event_time=result.event_time if result else None,
        waiver=turn.row.waiver if turn.row.state is State.PUBLISHED else None,
        slices=published.slices,
        watermark=published.watermark,
        result=decision.result or None,
        engines=(result.engines or None) if result else None,
        supersedes=supersedes,
        corrects=pin.corrects or None,
        table=published.table,
        rejected_table=published.rejected_table,
        inputs=tuple(
            BlockInput(each.dataset, each.height)
            for each in pin.references
            if each.dataset in turn.terms.derived_from and each.height >= 0
        ),
    )
