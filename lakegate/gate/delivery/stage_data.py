"""Operations on a workload: a table from operation to a small generator, each ending in one conditional write."""

from __future__ import annotations

from functools import partial

from lakegate.base.errors import ConditionFailed, NotFound
from lakegate.gate import lake_layout
from lakegate.gate.delivery import delivery_objects, delivery_row
from lakegate.gate.delivery.admit_delivery import TAKEN
from lakegate.gate.delivery.delivery_objects import address, described, duplicate, staging_key
from lakegate.gate.delivery.delivery_row import Decision, SourceObject, Workload
from lakegate.gate.delivery.protocol import Outcome, State
from lakegate.gate.delivery.transition import Observation, OutcomeChanged, move
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Alarm, ConcurrentUpdate, Effect, Steps, perform
from lakegate.gate.ports import Address
from lakegate.verdict.verdict import Verdict


def stage(dependencies: Dependencies, workload: Workload, to: State, found: Observation) -> Steps[Workload]:
    """Copy the landed versions to staging, once."""
    terms = dependencies.terms(workload)
    staged = yield from _copies(dependencies, workload, terms.suffix)
    reasons = duplicate(dependencies, workload, staged)
    if reasons:  # only the copy's checksum identifies the content; sweep deletes the copy
        raise OutcomeChanged(Outcome.REFUSED, decision=Decision(Verdict.REJECTED, reasons, staged=False))
    due = dependencies.clock.now() + dependencies.timing.lease
    after = workload._replace(
        state=to,
        pin=found.pin,
        staged=staged,
        first=workload.attempt,
        limit=workload.attempt + terms.workflow.attempts,
        due_at=due,
    )
    return (yield from move(dependencies, Effect.MARK_STAGED, workload, after))


def _copies(dependencies: Dependencies, workload: Workload, suffix: str) -> Steps[SourceObject]:
    """The staged copy; of a delivery of parts the list of its copies."""
    earlier = delivery_objects.staged(dependencies, workload)
    if workload.parts is None:
        sources = workload.source, *earlier
        return (yield from _copied(dependencies, workload, sources, staging_key(dependencies, workload)))
    if not (yield from delivery_objects.join(dependencies, workload)):
        raise OutcomeChanged(Outcome.REFUSED, decision=Decision(Verdict.REJECTED, (TAKEN,), staged=False))
    copies = []
    for number, part in enumerate(delivery_objects.landed(dependencies, workload).parts):
        key = lake_layout.staging_key(workload.id, suffix, number)
        copies.append((yield from _copied(dependencies, workload, (part, *earlier[number : number + 1]), key)))
    return (yield from delivery_objects.written(dependencies, workload.id, delivery_row.PartList(tuple(copies))))


def _copied(
    dependencies: Dependencies, workload: Workload, sources: tuple[SourceObject, ...], key: str
) -> Steps[SourceObject]:
    """A staged copy: the one that another worker made, if there is one, so that the version that is pinned stays current.

    `sources`: what landed, and the staged copy of an earlier round. By its version that one is found where its rule has
    put a marker above it already, or where the format, and so the key, was another one.
    """
    to = Address(dependencies.places.lake, key)
    for source in sources:
        copy = partial(dependencies.objects.copy, address(source), source.etag, to)
        try:
            try:
                staged = yield from perform(Effect.STAGE, copy, absent=True)
            except ConditionFailed:
                staged = dependencies.objects.head(to)
                if staged.etag != source.etag and (not staged.checksum or staged.checksum != source.checksum):
                    staged = yield from perform(Effect.STAGE, copy)
        except NotFound:
            # Deleted since intake checked it. A copy that an earlier worker made is as good as the version itself.
            try:
                staged = dependencies.objects.head(to)
            except NotFound:
                continue
        if staged.size != source.size:
            raise Alarm("copy-differs", workload.id)
        return described(staged)
    if workload.parts is not None:  # the next look finds at the door which parts are left
        raise ConcurrentUpdate(workload.id)
    raise OutcomeChanged(Outcome.VANISHED)
