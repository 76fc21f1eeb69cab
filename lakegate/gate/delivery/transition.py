"""The turn of one delivery, what is observed in it, and the conditional write that ends a step of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

from lakegate.base.errors import ConditionFailed, LakegateError, NotFound
from lakegate.base.json_codec import sha256_of
from lakegate.gate import lake_layout
from lakegate.gate.delivery.delivery_row import (
    UNANSWERED,
    Anomaly,
    ApprovalAnswer,
    ChosenVersion,
    Decision,
    FailureCause,
    PartList,
    Pin,
    SourceObject,
    Waiver,
    Workload,
    workload_id,
)
from lakegate.gate.delivery.delivery_terms import Terms
from lakegate.gate.delivery.protocol import Outcome, State
from lakegate.gate.delivery_store import Expected
from lakegate.gate.effects import Alarm, ConcurrentUpdate, Effect, Steps, perform
from lakegate.gate.ports import Address, Message
from lakegate.gate.table import ConditionName
from lakegate.plan.billed_cost import BilledCost

if TYPE_CHECKING:
    from lakegate.gate.dependencies import Dependencies


T = TypeVar("T")


class OutcomeChanged(LakegateError):  # noqa: N818 - the name is what happened
    """An operation observed another outcome than the one it was called for; nothing was written."""

    def __init__(self, on: Outcome, cause: FailureCause | None = None, decision: Decision | None = None) -> None:
        super().__init__(on)
        self.on = on
        self.cause = cause
        self.decision = decision


@dataclass(frozen=True)
class DeliveryTurn:
    """One delivery in the hands of one worker: its row as it was read, and what its steps are carried out with.

    What a step needs and the state of the row requires is not optional here: a row that lacks it is an Alarm, `row-incomplete`.
    """

    gate: Dependencies
    row: Workload

    def moved(self, row: Workload) -> DeliveryTurn:
        """The turn with the row as it is now."""
        return DeliveryTurn(self.gate, row)

    def reread(self) -> DeliveryTurn:
        """The turn with the row as the table has it."""
        return self.moved(self.gate.workloads.get(self.row.id))

    @property
    def now(self) -> datetime:
        """The time, in UTC."""
        return self.gate.now

    @property
    def lease_end(self) -> datetime:
        """The time until which the delivery belongs to this worker."""
        return self.now + self.gate.timing.lease

    @property
    def plan(self) -> bytes:
        """The pinned plan, as `Dependencies.plan` reads it."""
        return self.gate.plan(self.row)

    @property
    def terms(self) -> Terms:
        """The terms of the delivery, as `Dependencies.terms` finds them."""
        return self.gate.terms(self.row)

    @property
    def pin(self) -> Pin:
        """The pin: from the state PINNED on."""
        return self.row.pinned

    @property
    def staged(self) -> SourceObject:
        """The staged copy, or the list of copies: from the state STAGED on."""
        return self.required(self.row.staged)

    @cached_property
    def landed(self) -> PartList:
        """The delivered objects: the parts, or the one object. Raises Alarm."""
        return PartList((self.row.source,)) if self.row.parts is None else self._listed(self.row.parts)

    @cached_property
    def copies(self) -> tuple[SourceObject, ...]:
        """The staged copies, in the order of the parts; none before they are staged. Raises Alarm."""
        if self.row.staged is None:
            return ()
        return (self.row.staged,) if self.row.parts is None else self._listed(self.row.staged).parts

    def _listed(self, at: SourceObject) -> PartList:
        """The list at an address, verified by its name. Raises Alarm where it is missing or differs."""
        try:
            body = self.gate.objects.read(Address(at.bucket, at.key))
        except NotFound:
            raise Alarm("parts-missing", self.row.id) from None
        if at.key != lake_layout.parts_key(at.key.split("/")[1], sha256_of(body)):
            raise Alarm("parts-differ", self.row.id)
        return PartList.from_bytes(body)

    def owner_of(self, part: SourceObject) -> str | None:
        """The delivery that a version of the landing bucket belongs to; None: it is free."""
        identity = workload_id(part.bucket, part.key, part.version)
        row = self.gate.workloads.claimed(identity)
        return (row.joined or identity) if row else None

    def owns(self, part: SourceObject) -> bool:
        """Whether an object belongs to the delivery: one alone, copies in the lake, versions in landing that joined it."""
        is_copy = self.row.parts is None or part.bucket == self.gate.places.lake
        return is_copy or self.owner_of(part) == self.row.id

    def spent(self, observed: Observation) -> BilledCost | None:
        """The cost of the attempts so far, with the current one."""
        return self.row.cost.plus(observed.cost) if self.row.cost else observed.cost

    @property
    def decision(self) -> Decision:
        """The decision: from the state DECIDED on."""
        return self.row.decided

    @property
    def candidate(self) -> Decision:
        """The verdict that is not decided on yet: in AWAITING, ANSWERED, SCHEDULED and PASSING."""
        return self.required(self.row.candidate)

    @property
    def answer(self) -> ApprovalAnswer:
        """The answer of a person: in ANSWERED, and where one led to the decision."""
        return self.required(self.row.answer)

    @property
    def waiver(self) -> Waiver:
        """The waiver of a delivery that is let through unjudged."""
        return self.required(self.row.waiver)

    @property
    def measured(self) -> DeliveryTurn:
        """The delivery whose attempt measured this one: of a waived one, the rejected delivery."""
        waiver = self.row.waiver
        return self if waiver is None else self.moved(self.gate.workloads.get(waiver.rejected))

    def required(self, part: T | None) -> T:
        """A part of the row, or of what was observed, that the step cannot do without. Raises Alarm where it is absent."""
        return self.row.required(part)


def move(  # noqa: PLR0913 - the write has these parts
    turn: DeliveryTurn,
    effect: Effect,
    after: Workload,
    *,
    message: Message | None = None,
    content: str | None = None,
    accepted: bool = False,
) -> Steps[Workload]:
    """Write `after` if state and attempt of the row are still those of the turn.

    1. The condition holds: done.
    2. It does not, but the row is what we wanted to write: an earlier try of ours arrived, done.
    3. The content belongs to another delivery, the dataset is paused or is not, or it is another delivery's turn: ConditionFailed
       with reason `content`, `pause` or `turn`, for the caller to handle.
    4. Another worker has moved the row: ConcurrentUpdate.

    A step that is done is no try any more.
    """
    after = after._replace(tries=0) if after.tries else after
    expected = Expected.of(turn.row)
    try:
        save = turn.gate.workloads.save
        yield from perform(effect, save, after, expected, message=message, content=content or None, accepted=accepted)
    except ConditionFailed as refused:
        current = turn.gate.workloads.get(turn.row.id)
        if not is_same_write(current, after):
            handled = {ConditionName.CONTENT, ConditionName.PAUSE, ConditionName.TURN}
            if handled.intersection(refused.reasons) and is_unchanged(current, turn.row):
                raise
            raise ConcurrentUpdate(after.id) from None
        return current
    return after


def is_same_write(current: Workload, wanted: Workload) -> bool:
    """Whether the row is what was to be written; what belongs to the lease may differ."""
    return current._replace(due_at=wanted.due_at, tries=wanted.tries) == wanted


def is_unchanged(current: Workload, before: Workload) -> bool:
    """Whether what a write of the row expects is as it was read."""
    return Expected.of(current) == Expected.of(before)


class Observation(NamedTuple):
    """An outcome, and what its operation needs."""

    on: Outcome
    source: SourceObject | None = None
    copy: SourceObject | None = None
    """In staging, where nothing else is left of what landed."""
    arrived: datetime | None = None
    """The time when it landed, or when its replay was taken in."""
    pin: Pin | None = None
    chosen: ChosenVersion | None = None
    """The contract version that a person named for a replay."""
    decision: Decision | None = None
    answer: ApprovalAnswer | None = None
    """Of a person."""
    cause: FailureCause | None = None
    """The reason why the attempt came to nothing, where it did."""
    cost: BilledCost | None = None
    """Of the attempt: what its run was billed, else what its result records; None where neither is known."""
    parts: PartList | None = None
    """Of a delivery that is complete."""
    enters: str = ""
    """The state of the workflow's own that follows; empty: none."""
    anomalies: tuple[Anomaly, ...] | None = None
    """What is unusual of the delivery, where its workflow has compared it."""
    unkept: bytes | None = None
    """The result of the attempt with what validators answered, which has to be kept before anything follows from it."""

    @property
    def answered(self) -> bool:
        """False: the attempt counts as lost because no result was there; one may still come until its run is over."""
        return self.cause not in UNANSWERED


Observer: TypeAlias = Callable[[DeliveryTurn], Observation | None]
"""None: nothing to do but wait."""
VANISHED = Observation(Outcome.VANISHED)
Act: TypeAlias = Callable[[DeliveryTurn, State, Observation], Steps[Workload]]
