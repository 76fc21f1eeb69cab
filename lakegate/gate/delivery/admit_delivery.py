"""Step 3: refusals before a job."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from lakegate.admission.multi_file_delivery import COMPLETED_BY
from lakegate.admission.refusals import FIRST_BYTES, refusals, refused_rules
from lakegate.base.errors import NotFound
from lakegate.base.text import counted
from lakegate.contract.delivery_policy import DeliveryUnit
from lakegate.gate import lake_layout
from lakegate.gate.datasets.dataset_lines import LineStatus
from lakegate.gate.datasets.lifecycle import refusal, replacement, warned
from lakegate.gate.delivery import delivery_objects, delivery_row
from lakegate.gate.delivery.attempts import measured_row
from lakegate.gate.delivery.delivery_objects import address, data_of, described, duplicate, of_the_source
from lakegate.gate.delivery.delivery_row import Decision, Pin, SourceObject, Workload
from lakegate.gate.delivery.delivery_terms import Terms
from lakegate.gate.delivery.pin_contract import with_references
from lakegate.gate.delivery.protocol import Outcome, State
from lakegate.gate.delivery.transition import VANISHED, Observation, move
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Effect, Steps
from lakegate.gate.ports import Address, ObjectVersion
from lakegate.verdict.reasons import WAIVER_EXPIRED
from lakegate.verdict.verdict import ACCEPTING, Verdict

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
        return refused
    if workload.waiver is not None:
        return duplicate(dependencies, workload, described(data))
    terms = dependencies.terms(workload)
    if terms.delivery is not DeliveryUnit.OBJECT:
        return (_without_delivery(terms),)
    plan = dependencies.plan(workload)
    key = (workload.landed or workload.source).key
    return refusals(plan, data.size, first, key) + duplicate(dependencies, workload, described(data))


def refused_parts(dependencies: Dependencies, workload: Workload) -> tuple[str, ...]:
    """The reasons to reject a delivery of parts unread. Raises NotFound where nothing is left of them."""
    listed, pin = delivery_objects.landed(dependencies, workload), workload.pin
    assert pin is not None
    data = [_data(dependencies, workload, number, part) for number, part in enumerate(listed.parts)]
    if listed.parts and not (all if workload.waiver else any)(data):
        raise NotFound
    if refused := refused_by_pin(dependencies, workload, pin):
        return refused
    assert workload.parts is not None
    if workload.waiver is not None:
        return duplicate(dependencies, workload, workload.parts)
    terms = dependencies.terms(workload)
    reasons = list(listed.problems) + _whole(terms, listed)
    if reasons:
        return tuple(reasons[:MAX_REASONS_OF_REFUSAL])
    for number, (part, where) in enumerate(zip(listed.parts, data, strict=True), 1):
        place = f"part {number:,} of {len(listed.parts):,}"
        if (
            delivery_objects.owner(dependencies, part) not in {None, workload.id}
            and part.bucket != dependencies.places.lake
        ):
            return (TAKEN,)
        key = "" if workload.landed else part.key  # of a replay, the quarantined copies have other names
        reasons += _of_part(dependencies, workload, where, place, key)
    return tuple(reasons[:MAX_REASONS_OF_REFUSAL]) or duplicate(dependencies, workload, workload.parts)


def refused_by_pin(dependencies: Dependencies, workload: Workload, pin: Pin) -> tuple[str, ...]:
    """The reasons to reject a delivery by what was pinned, whatever it contains; empty if there is none."""
    if not pin.plan:
        return ("unrouted",)
    observed = pin.status == LineStatus.DRAFT and dependencies.terms(workload).observed
    refused = refusal(pin.status, known=pin.known, observed=observed)
    return (refused, *replacement(dependencies.lines.get(pin.chain), refused)) if refused else ()


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


def _whole(terms: Terms, listed: delivery_row.PartList) -> list[str]:
    if terms.max_bytes is not None and listed.size > terms.max_bytes:
        return [
            f"file/size: the parts have {counted(listed.size, 'byte')} together, the contract allows {terms.max_bytes:,}"
        ]
    if listed.parts and not listed.size and not terms.allow_empty:
        return ["file/rows: every part is empty"]
    return []


def _of_part(
    dependencies: Dependencies, workload: Workload, where: SourceObject | None, place: str, key: str
) -> list[str]:
    if where is None:
        return [f"file/parts: {place} {DELETED}"]
    with of_the_source():
        first = dependencies.objects.read(address(where), 0, FIRST_BYTES)
    if not where.size:
        return []
    return [f"{reason} ({place})" for reason in refusals(dependencies.plan(workload), where.size, first, key)]


def _data(dependencies: Dependencies, workload: Workload, number: int, part: SourceObject) -> SourceObject | None:
    """The version, or its staged copy; None: there are no bytes left."""
    try:
        with of_the_source():
            return described(dependencies.objects.head(address(part)))
    except NotFound:
        pass
    suffix = dependencies.terms(workload).suffix
    staged = Address(dependencies.places.lake, lake_layout.staging_key(workload.id, suffix, number))
    earlier = delivery_objects.staged(dependencies, workload)[number : number + 1]
    for copy in (staged, *map(address, earlier)):
        with suppress(NotFound):
            return described(dependencies.objects.head(copy))
    return None


def observe_pinned(dependencies: Dependencies, workload: Workload) -> Observation | None:
    """PINNED: refused before a job, or ready to be staged."""
    try:
        reasons = _refused(dependencies, workload) if workload.parts is None else refused_parts(dependencies, workload)
    except NotFound:
        return VANISHED
    if not reasons and workload.waiver is not None:
        decision = _decision_on_waived(dependencies, workload)
        return Observation(Outcome.WAIVED if decision.verdict in ACCEPTING else Outcome.REFUSED, decision=decision)
    if not reasons:
        return Observation(Outcome.PASSED, pin=with_references(dependencies, workload))
    broken = refused_rules(dependencies.plan(workload), reasons) if workload.pin and workload.pin.plan else ()
    return Observation(Outcome.REFUSED, decision=Decision(Verdict.REJECTED, reasons, staged=False, broken=broken))


def _decision_on_waived(dependencies: Dependencies, workload: Workload) -> Decision:
    """Accepted with the reasons of the rejection, or rejected once more: the waiver was over at the judging time."""
    waiver, pin, rejected = workload.waiver, workload.pin, measured_row(dependencies, workload)
    rejection = rejected.decision
    assert waiver is not None
    assert pin is not None
    assert rejected.pin is not None
    assert rejection is not None
    reasons = tuple(each for each in rejection.reasons if each != rejected.pin.warning)
    if waiver.has_expired(pin.judging_time):
        return Decision(Verdict.REJECTED, (WAIVER_EXPIRED, *reasons), staged=False, broken=rejection.broken)
    counts = rejection.counts
    return Decision(
        *warned(Verdict.ACCEPTED_WITH_WARNINGS, (waiver.in_words, *reasons), pin.warning),
        rejection.result,
        staged=False,
        counts=counts and replace(counts, published_rows=counts.rows, rejected_rows=0),
        broken=rejection.broken,
    )


def _refused(dependencies: Dependencies, workload: Workload) -> tuple[str, ...]:
    """The reasons to reject one object; the staged copy is read where the version is deleted meanwhile. Raises NotFound."""
    for data in (data_of(dependencies, workload) for _ in range(2)):
        if data is not None:
            with suppress(NotFound):
                return refused_object(dependencies, workload, data)
    raise NotFound


def refuse(dependencies: Dependencies, workload: Workload, to: State, found: Observation) -> Steps[Workload]:
    """Reject a delivery before any job, with its reasons."""
    if workload.parts is not None:
        yield from delivery_objects.join(dependencies, workload)
    due = dependencies.clock.now() + dependencies.timing.lease
    after = workload._replace(state=to, decision=found.decision, due_at=due)
    return (yield from move(dependencies, Effect.REFUSE, workload, after))
