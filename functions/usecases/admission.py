"""The door: the reasons to reject a delivery before any job, of one object or of the parts of several. No effects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.contracts.door.parts import COMPLETED_BY
from lakegate.contracts.door.refusals import FIRST_BYTES, refusals
from lakegate.contracts.lake.lifecycle import LineStatus, refusal
from lakegate.contracts.model.policy import DeliveryUnit
from lakegate.contracts.words import counted
from lakegate.functions.ports.errors import NotFound
from lakegate.functions.ports.objects import Address
from lakegate.functions.usecases import layout, parts
from lakegate.functions.usecases.source import address, content, described, of_the_source

if TYPE_CHECKING:
    from lakegate.contracts.door.terms import Terms
    from lakegate.functions.ports.objects import ObjectVersion
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.workload import Pin, SourceObject, Workload

AGAIN = "deliver all parts again"
MAX_REASONS_OF_REFUSAL = 10
DELETED = f"was deleted before it could be read: {AGAIN}"
TAKEN = f"file/parts: a part belongs to another delivery already: write each delivery under new names, and {AGAIN}"


def refused_object(dependencies: Dependencies, workload: Workload, data: ObjectVersion) -> tuple[str, ...]:
    """The reasons to reject one object unread. Raises NotFound where it is gone, and UnreadableSource."""
    pin = workload.pin
    assert pin is not None
    with of_the_source():  # also for what is refused unread: it will be copied
        first = dependencies.objects.read(Address(data.bucket, data.key, data.version), 0, FIRST_BYTES)
    if refused := refused_by_pin(dependencies, workload, pin):
        return (refused,)
    if workload.waiver is not None:
        return duplicate(dependencies, workload, described(data))
    terms = dependencies.terms(workload)
    if terms.delivery is not DeliveryUnit.OBJECT:
        return (_without_delivery(terms),)
    plan = dependencies.plan(workload)
    return refusals(plan, data.size, first) + duplicate(dependencies, workload, described(data))


def duplicate(dependencies: Dependencies, workload: Workload, data: SourceObject) -> tuple[str, ...]:
    """The reason to refuse content that another delivery of the line brought before; none: it is new, or may be repeated."""
    claim = content(workload, data)
    if not claim or dependencies.terms(workload).duplicates:
        return ()
    return () if dependencies.agenda.owner(claim) in {None, workload.id} else ("duplicate-content",)


def refused_parts(dependencies: Dependencies, workload: Workload) -> tuple[str, ...]:
    """The reasons to reject a delivery of parts unread. Raises NotFound where nothing is left of them."""
    listed, pin = parts.landed(dependencies, workload), workload.pin
    assert pin is not None
    data = [_data(dependencies, workload, number, part) for number, part in enumerate(listed.parts)]
    if listed.parts and not (all if workload.waiver else any)(data):
        raise NotFound
    if refused := refused_by_pin(dependencies, workload, pin):
        return (refused,)
    assert workload.parts is not None
    if workload.waiver is not None:
        return duplicate(dependencies, workload, workload.parts)
    terms = dependencies.terms(workload)
    reasons = list(listed.problems) + _whole(terms, listed)
    if reasons:
        return tuple(reasons[:MAX_REASONS_OF_REFUSAL])
    for number, (part, where) in enumerate(zip(listed.parts, data, strict=True), 1):
        place = f"part {number:,} of {len(listed.parts):,}"
        if parts.owner(dependencies, part) not in {None, workload.id} and part.bucket != dependencies.places.lake:
            return (TAKEN,)
        reasons += _of_part(dependencies, workload, where, place)
    return tuple(reasons[:MAX_REASONS_OF_REFUSAL]) or duplicate(dependencies, workload, workload.parts)


def refused_by_pin(dependencies: Dependencies, workload: Workload, pin: Pin) -> str:
    """The reason to reject a delivery by what was pinned, whatever it contains; empty if there is none."""
    if not pin.plan:
        return "unrouted"
    observed = pin.status == LineStatus.DRAFT and dependencies.terms(workload).observed
    return refusal(pin.status, known=pin.known, observed=observed)


def _without_delivery(terms: Terms) -> str:
    """The reason to reject a single object of a line whose deliveries have several."""
    last = COMPLETED_BY.get(terms.delivery)
    if last is None:
        words = "the object landed while its contract took single objects, and now takes parts: deliver it again"
    else:
        minutes = int(terms.parts_within.total_seconds() // 60)
        words = (
            f"the object belongs to no delivery: within {counted(minutes, 'minute')} no `{last}` in its folder has completed one "
            f"with it. Deliver all parts again, then write `{last}`"
        )
    return f"file/parts: {words}"


def _whole(terms: Terms, listed: parts.PartList) -> list[str]:
    if terms.max_bytes is not None and listed.size > terms.max_bytes:
        return [
            f"file/size: the parts have {counted(listed.size, 'byte')} together, the contract allows {terms.max_bytes:,}"
        ]
    if listed.parts and not listed.size and not terms.allow_empty:
        return ["file/rows: every part is empty"]
    return []


def _of_part(dependencies: Dependencies, workload: Workload, where: SourceObject | None, place: str) -> list[str]:
    if where is None:
        return [f"file/parts: {place} {DELETED}"]
    with of_the_source():
        first = dependencies.objects.read(address(where), 0, FIRST_BYTES)
    if not where.size:
        return []
    return [f"{reason} ({place})" for reason in refusals(dependencies.plan(workload), where.size, first)]


def _data(dependencies: Dependencies, workload: Workload, number: int, part: SourceObject) -> SourceObject | None:
    """The version, or its staged copy; None: there are no bytes left."""
    try:
        with of_the_source():
            return described(dependencies.objects.head(address(part)))
    except NotFound:
        pass
    suffix = dependencies.terms(workload).suffix
    staged = Address(dependencies.places.lake, layout.staging_key(workload.id, suffix, number))
    try:
        return described(dependencies.objects.head(staged))
    except NotFound:
        return None
