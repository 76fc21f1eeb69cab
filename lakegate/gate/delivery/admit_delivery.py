"""Step 3: refusals before a job."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from lakegate.admission.multi_file_delivery import COMPLETED_BY
from lakegate.admission.refusals import FIRST_BYTES, refusals, refused_rules
from lakegate.base.errors import NotFound
from lakegate.base.json_codec import sha256_of
from lakegate.base.text import plural
from lakegate.contract.delivery_policy import DeliveryUnit
from lakegate.gate import lake_layout
from lakegate.gate.datasets.dataset_states import DatasetStatus
from lakegate.gate.datasets.lifecycle import refusal, replacement, warn_of_status
from lakegate.gate.delivery import delivery_row
from lakegate.gate.delivery.delivery_row import IDENTIFYING, Decision, SourceObject, Workload
from lakegate.gate.delivery.delivery_terms import Terms
from lakegate.gate.delivery.find_landed_data import data_of, of_the_source
from lakegate.gate.delivery.pin_contract import with_references
from lakegate.gate.delivery.protocol import Outcome
from lakegate.gate.delivery.transition import VANISHED, DeliveryTurn, Observation
from lakegate.gate.ports import Address, ObjectVersion
from lakegate.verdict.reasons import NOT_REQUESTED, WAIVER_EXPIRED
from lakegate.verdict.verdict import ACCEPTING, Verdict

AGAIN = "deliver all parts again"
MAX_REASONS_OF_REFUSAL = 10
DELETED = f"was deleted before it could be read: {AGAIN}"
TAKEN = f"file/parts: a part belongs to another delivery already: write each delivery under new names, and {AGAIN}"


def refused_object(turn: DeliveryTurn, data: ObjectVersion) -> tuple[str, ...]:
    """The reasons to reject one object unread. Raises NotFound where it is gone, and UnreadableSource."""
    with of_the_source():  # also for what is refused unread: it will be copied
        first = turn.gate.objects.read(Address(data.bucket, data.key, data.version), 0, FIRST_BYTES)
    if refused := refused_by_pin(turn):
        return refused
    if turn.row.waiver is not None:
        return duplicate(turn, SourceObject.of(data))
    terms = turn.terms
    if terms.delivery is not DeliveryUnit.OBJECT:
        return (_without_delivery(terms),)
    if terms.is_derived and not _is_requested(turn):
        return (NOT_REQUESTED,)
    if terms.is_derived:
        return duplicate(turn, SourceObject.of(data))
    plan = turn.plan
    key = turn.row.landing_key
    return refusals(plan, data.size, first, key) + duplicate(turn, SourceObject.of(data))


class RequestedRows(Protocol):
    """The rows that the feature of derived datasets registers at the point `rows`."""

    def get(self, dataset: str, /) -> RowRequest:
        """The latest request for the rows of a dataset; strongly consistent."""
        ...


class RowRequest(Protocol):
    """A request for the rows of a derived dataset."""

    @property
    def key(self) -> str:
        """In landing; empty: there was none."""
        ...


def _is_requested(turn: DeliveryTurn) -> bool:
    """Whether a delivery of a derived dataset is what the stack has asked for, now or before it was replayed."""
    rows: RequestedRows | None = turn.gate.rows("derivations")
    return bool(turn.row.replay_of) or (rows is not None and rows.get(turn.pin.dataset).key == turn.row.landing_key)


def refused_parts(turn: DeliveryTurn) -> tuple[str, ...]:
    """The reasons to reject a delivery of parts unread. Raises NotFound where nothing is left of them."""
    listed = turn.landed
    data = [_data(turn, number, part) for number, part in enumerate(listed.parts)]
    if listed.parts and not (all if turn.row.waiver else any)(data):
        raise NotFound
    if refused := refused_by_pin(turn):
        return refused
    if turn.row.waiver is not None:
        return duplicate(turn, turn.required(turn.row.parts))
    terms = turn.terms
    reasons = list(listed.problems) + _whole(terms, listed)
    if reasons:
        return tuple(reasons[:MAX_REASONS_OF_REFUSAL])
    for number, (part, where) in enumerate(zip(listed.parts, data, strict=True), 1):
        place = f"part {number:,} of {len(listed.parts):,}"
        if turn.owner_of(part) not in {None, turn.row.id} and part.bucket != turn.gate.places.lake:
            return (TAKEN,)
        key = "" if turn.row.landed else part.key  # of a replay, the quarantined copies have other names
        reasons += _of_part(turn, where, place, key)
    return tuple(reasons[:MAX_REASONS_OF_REFUSAL]) or duplicate(turn, turn.required(turn.row.parts))


def refused_by_pin(turn: DeliveryTurn) -> tuple[str, ...]:
    """The reasons to reject a delivery by what was pinned, whatever it contains; empty if there is none."""
    pin = turn.pin
    if not pin.plan:
        return ("unrouted",)
    observed = pin.status == DatasetStatus.DRAFT and turn.terms.observed
    refused = refusal(pin.status, known=pin.known, observed=observed)
    return (refused, *replacement(turn.gate.datasets.get(pin.dataset), refused)) if refused else ()


def _without_delivery(terms: Terms) -> str:
    """The reason to reject a single object of a dataset whose deliveries have several."""
    last = COMPLETED_BY.get(terms.delivery)
    if last is None:
        words = "the object landed while its contract took single objects, and now takes parts: deliver it again"
    else:
        minutes = int(terms.parts_within.total_seconds() // 60)
        words = (
            f"the object belongs to no delivery: within {plural(minutes, 'minute')} no `{last}` in its folder has completed one "
            f"with it. Deliver all parts again, then write `{last}`"
        )
    return f"file/parts: {words}"


def _whole(terms: Terms, listed: delivery_row.PartList) -> list[str]:
    if terms.max_bytes is not None and listed.size > terms.max_bytes:
        return [
            f"file/size: the parts have {plural(listed.size, 'byte')} together, the contract allows {terms.max_bytes:,}"
        ]
    if listed.parts and not listed.size and not terms.allow_empty:
        return ["file/rows: every part is empty"]
    return []


def _of_part(turn: DeliveryTurn, where: SourceObject | None, place: str, key: str) -> list[str]:
    if where is None:
        return [f"file/parts: {place} {DELETED}"]
    with of_the_source():
        first = turn.gate.objects.read(where.address, 0, FIRST_BYTES)
    if not where.size:
        return []
    return [f"{reason} ({place})" for reason in refusals(turn.plan, where.size, first, key)]


def _data(turn: DeliveryTurn, number: int, part: SourceObject) -> SourceObject | None:
    """The version, or its staged copy; None: there are no bytes left."""
    try:
        with of_the_source():
            return SourceObject.of(turn.gate.objects.head(part.address))
    except NotFound:
        pass
    suffix = turn.terms.suffix
    staged = turn.gate.in_lake(lake_layout.staging_key(turn.row.id, suffix, number))
    earlier = turn.copies[number : number + 1]
    for copy in (staged, *(other.address for other in earlier)):
        with suppress(NotFound):
            return SourceObject.of(turn.gate.objects.head(copy))
    return None


def observe_pinned(turn: DeliveryTurn) -> Observation | None:
    """PINNED: refused before a job, or ready to be staged."""
    try:
        reasons = _refused(turn) if turn.row.parts is None else refused_parts(turn)
    except NotFound:
        return VANISHED
    if not reasons and turn.row.waiver is not None:
        decision = _decision_on_waived(turn)
        return Observation(Outcome.WAIVED if decision.verdict in ACCEPTING else Outcome.REFUSED, decision=decision)
    if not reasons:
        return Observation(Outcome.PASSED, pin=with_references(turn))
    broken = refused_rules(turn.plan, reasons) if turn.row.pin and turn.pin.plan else ()
    return Observation(Outcome.REFUSED, decision=Decision(Verdict.REJECTED, reasons, staged=False, broken=broken))


def _decision_on_waived(turn: DeliveryTurn) -> Decision:
    """Accepted with the reasons of the rejection, or rejected once more: the waiver was over at the judging time."""
    waiver, pin, rejected = turn.waiver, turn.pin, turn.measured
    rejection = rejected.decision
    reasons = tuple(reason for reason in rejection.reasons if reason != rejected.pin.warning)
    if waiver.has_expired(pin.judging_time):
        return Decision(Verdict.REJECTED, (WAIVER_EXPIRED, *reasons), staged=False, broken=rejection.broken)
    counts = rejection.counts
    return Decision(
        *warn_of_status(Verdict.ACCEPTED_WITH_WARNINGS, (waiver.in_words, *reasons), pin.warning),
        rejection.result,
        staged=False,
        counts=counts and replace(counts, published_rows=counts.rows, rejected_rows=0),
        broken=rejection.broken,
    )


def _refused(turn: DeliveryTurn) -> tuple[str, ...]:
    """The reasons to reject one object; the staged copy is read where the version is deleted meanwhile. Raises NotFound."""
    for data in (data_of(turn) for _ in range(2)):
        if data is not None:
            with suppress(NotFound):
                return refused_object(turn, data)
    raise NotFound


# ---- Repeated content ----


def content(workload: Workload, data: SourceObject) -> str:
    """The identity of content within a dataset; empty where no checksum identifies it."""
    if workload.pin is None or data.checksum.partition(":")[0] not in IDENTIFYING:
        return ""
    return sha256_of(f"{workload.pin.dataset}\0{data.size}\0{data.checksum}")


def duplicate(turn: DeliveryTurn, data: SourceObject) -> tuple[str, ...]:
    """The reason to refuse content that another delivery of the dataset brought before; none: it is new, or may be repeated."""
    claim = content(turn.row, data)
    if not claim or turn.terms.duplicates:
        return ()
    return () if turn.gate.agenda.owner(claim) in {None, turn.row.id} else ("duplicate-content",)
