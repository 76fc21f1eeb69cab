"""What a decided delivery consists of: the copies of its objects, and of the slices or shares that its job wrote."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from lakegate.contracts.door.parts import name_of
from lakegate.contracts.lake.block_parts import LedgerSlice
from lakegate.contracts.lake.states import Outcome, State
from lakegate.contracts.plan.result import Shares
from lakegate.functions.ports.errors import ConditionFailed, NotFound
from lakegate.functions.ports.objects import Address, agree
from lakegate.functions.usecases import layout, parts, retention
from lakegate.functions.usecases.moves import OutcomeChanged
from lakegate.functions.usecases.source import address
from lakegate.functions.usecases.steps import Alarm, ConcurrentUpdate, Effect, perform
from lakegate.functions.workload import TERMINAL, SourceObject

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contracts.plan.result import Result, WrittenObject
    from lakegate.contracts.plan.slices import WrittenRun, WrittenSlice
    from lakegate.functions.ports.objects import ObjectVersion
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.steps import Steps
    from lakegate.functions.workload import Workload

DESTINATIONS = {"accepted": "accepted", "rejected": "quarantine"}
"""The folder of each share of a split delivery."""


def slices_of(
    dependencies: Dependencies, workload: Workload, to: State, result: Result | None
) -> tuple[WrittenSlice, ...] | None:
    """The slices that are published; None where the delivery is published as it arrived, or rejected."""
    if to is not State.PUBLISHED or result is None or not dependencies.terms(workload).as_slices:
        return None
    return result.slices


def listed(workload: Workload, slices: tuple[WrittenSlice, ...]) -> tuple[LedgerSlice, ...]:
    """The published slices as the ledger lists them."""
    pin = workload.pin
    assert pin is not None
    return tuple(
        LedgerSlice(
            layout.destination_key("accepted", pin, workload.id, _name(each)),
            each.offset,
            each.rows,
            each.event_times,
            each.logical,
            each.physical,
        )
        for each in slices
    )


def copies_of(
    dependencies: Dependencies, workload: Workload, to: State, result: Result | None
) -> tuple[tuple[tuple[SourceObject, ...], str], ...]:
    """What to copy: for each object the sources of its bytes, and its destination.

    Of slices also what arrived, beside them.
    """
    pin = workload.pin
    assert pin is not None
    slices = slices_of(dependencies, workload, to, result)
    beside = "" if slices is None else layout.ORIGINALS
    written = tuple(
        (
            (_written(dependencies, workload, "slices", each),),
            layout.destination_key("accepted", pin, workload.id, _name(each)),
        )
        for each in slices or ()
    )
    if slices is not None and result is not None and result.merge is not None and result.merge.run is not None:
        run = _written(dependencies, workload, "slices", result.merge.run)
        written = (*written, ((run,), layout.state_key(pin, workload.id)))
    rejected = result.rejected_rows if result is not None and workload.waiver is None else 0
    if to is State.PUBLISHED and result is not None and rejected and dependencies.terms(workload).by_rows:
        shares = result.shares or Shares()
        split = [("accepted", each) for each in shares.accepted] + [("rejected", each) for each in shares.rejected]
        if not split:
            raise Alarm("rows-missing", workload.id)
        return written + tuple(
            (
                (_written(dependencies, workload, f"rows/{share}", each),),
                layout.destination_key(
                    DESTINATIONS[share], pin, workload.id, (beside if share == "accepted" else "") + _name(each)
                ),
            )
            for share, each in split
        )
    share = "accepted" if to is State.PUBLISHED else "quarantine"
    suffix = dependencies.terms(workload).suffix
    copies = [(each, layout.part_name(number, suffix)) for number, each in _sources(dependencies, workload)]
    last = parts.completing(workload)
    if last is not None and workload.decision is not None and not workload.decision.staged:
        copies.append(((last,), name_of(last.key)))
    return written + tuple(
        (each, layout.destination_key(share, pin, workload.id, beside + name)) for each, name in copies
    )


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


def _name(written: WrittenObject | WrittenSlice) -> str:
    return written.uri.rpartition("/")[2]


def _written(
    dependencies: Dependencies, workload: Workload, share: str, written: WrittenObject | WrittenSlice | WrittenRun
) -> SourceObject:
    """One object of a split, or a slice, still as the result lists it."""
    lake = f"s3://{dependencies.places.lake}/"
    if not written.uri.startswith(
        f"{lake}{layout.attempt_prefix(workload.id, workload.attempt, workload.batch)}/{share}/"
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


def copied(
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
