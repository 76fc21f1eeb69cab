"""Operations on a workload: a table from operation to a small generator, each ending in one conditional write."""

from __future__ import annotations

from functools import partial

from lakegate.base.errors import ConditionFailed, NotFound
from lakegate.gate import lake_layout
from lakegate.gate.delivery import delivery_row
from lakegate.gate.delivery.admit_delivery import TAKEN, duplicate
from lakegate.gate.delivery.delivery_row import Decision, SourceObject, Workload, workload_id
from lakegate.gate.delivery.find_landed_data import write_parts
from lakegate.gate.delivery.protocol import Outcome, State
from lakegate.gate.delivery.small_file_batches import staging_key
from lakegate.gate.delivery.transition import DeliveryTurn, Observation, OutcomeChanged, move
from lakegate.gate.effects import Alarm, ConcurrentUpdate, Effect, Steps, perform
from lakegate.verdict.verdict import Verdict


def stage(turn: DeliveryTurn, to: State, observed: Observation) -> Steps[Workload]:
    """Copy the landed versions to staging, once."""
    terms = turn.terms
    staged = yield from _copies(turn, terms.suffix)
    reasons = duplicate(turn, staged)
    if reasons:  # only the copy's checksum identifies the content; sweep deletes the copy
        raise OutcomeChanged(Outcome.REFUSED, decision=Decision(Verdict.REJECTED, reasons, staged=False))
    due = turn.lease_end
    after = turn.row._replace(
        state=to,
        pin=observed.pin,
        staged=staged,
        first=turn.row.attempt,
        limit=turn.row.attempt + terms.workflow.attempts,
        due_at=due,
    )
    return (yield from move(turn, Effect.MARK_STAGED, after))


def _copies(turn: DeliveryTurn, suffix: str) -> Steps[SourceObject]:
    """The staged copy; of a delivery of parts the list of its copies."""
    earlier = turn.copies
    if turn.row.parts is None:
        sources = turn.row.source, *earlier
        return (yield from _copied(turn, sources, staging_key(turn)))
    if not (yield from claim_parts(turn)):
        raise OutcomeChanged(Outcome.REFUSED, decision=Decision(Verdict.REJECTED, (TAKEN,), staged=False))
    copies = []
    for number, part in enumerate(turn.landed.parts):
        key = lake_layout.staging_key(turn.row.id, suffix, number)
        copies.append((yield from _copied(turn, (part, *earlier[number : number + 1]), key)))
    return (yield from write_parts(turn.gate, turn.row.id, delivery_row.PartList(tuple(copies))))


def _copied(turn: DeliveryTurn, sources: tuple[SourceObject, ...], key: str) -> Steps[SourceObject]:
    """A staged copy: the one that another worker made, if there is one, so that the version that is pinned stays current.

    `sources`: what landed, and the staged copy of an earlier round. By its version that one is found where its rule has
    put a marker above it already, or where the format, and so the key, was another one.
    """
    to = turn.gate.in_lake(key)
    for source in sources:
        copy = partial(turn.gate.objects.copy, source.address, source.etag, to)
        try:
            try:
                staged = yield from perform(Effect.STAGE, copy, absent=True)
            except ConditionFailed:
                staged = turn.gate.objects.head(to)
                if staged.etag != source.etag and (not staged.checksum or staged.checksum != source.checksum):
                    staged = yield from perform(Effect.STAGE, copy)
        except NotFound:
            # Deleted since intake checked it. A copy that an earlier worker made is as good as the version itself.
            try:
                staged = turn.gate.objects.head(to)
            except NotFound:
                continue
        if staged.size != source.size:
            raise Alarm("copy-differs", turn.row.id)
        return SourceObject.of(staged)
    if turn.row.parts is not None:  # the next look finds at the door which parts are left
        raise ConcurrentUpdate(turn.row.id)
    raise OutcomeChanged(Outcome.VANISHED)


def claim_parts(turn: DeliveryTurn) -> Steps[bool]:
    """Claim every part for the delivery. Returns whether all are its own now."""
    whole = True
    for part in [part for part in turn.landed.parts if not turn.owns(part)]:
        identity = workload_id(part.bucket, part.key, part.version)
        row = Workload(identity, part, State.JOINED, None, joined=turn.row.id)
        try:
            yield from perform(Effect.JOIN, turn.gate.workloads.create, row)
        except ConditionFailed:
            whole = whole and turn.owner_of(part) == turn.row.id
    return whole
