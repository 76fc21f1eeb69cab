"""Deliveries and decisions about them, as commands print them and the HTTP API has them with `details`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Self

from lakegate.base.errors import InputError
from lakegate.base.extension_points import load_extension, names
from lakegate.base.json_codec import OMITTED, UNWRITTEN, select_fields
from lakegate.contract.contract_model import DATASET_KEY
from lakegate.gate import lake_layout
from lakegate.gate.datasets.delivery_standing import (
    DeliveryStanding,
    changed_with,
    correction_of,
    standing_of,
)
from lakegate.gate.delivery.decide_verdict import report_of
from lakegate.gate.delivery.delivery_row import (
    CAUSE_TEXTS,
    Anomaly,
    ApprovalAnswer,
    FailureCause,
    Pin,
    SourceObject,
    Waiting,
    Waiver,
    Workload,
    replay_id,
)
from lakegate.gate.delivery.find_deliveries import AnnouncedWorkload, Delivery, first_of_content, places_of
from lakegate.gate.delivery.protocol import JUDGED_STATES, PASSIVE_STATES, State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Alarm
from lakegate.gate.lake_layout import uri_of
from lakegate.gate.ledger.blocks import Block, Record
from lakegate.gate.ports import every_version
from lakegate.gate.registry.next_dataset import NextDataset, next_dataset
from lakegate.gate.waiting import waiting_of
from lakegate.report.delivery_report import Report
from lakegate.verdict.reasons import DUPLICATE, in_words
from lakegate.verdict.verdict import counts_of

if TYPE_CHECKING:
    DatasetSection = tuple[str, dict[str, object], str]
    """The section of a feature about a dataset: its subject, for machines (with `line`), and in words."""
    DatasetSections = Callable[[Dependencies, Iterable[str]], Iterator[DatasetSection]]
    """Rows of the extension points `status sections` and `history sections`, by their key in the document of `--json`."""
    Sections = dict[str, list[DatasetSection]]
    """By that key what a feature has to say about datasets."""


STATUS_SECTIONS: Final = "status sections"
"""Extension point: see `DatasetSections`."""
LATEST = 200
"""Deliveries among which the beginning of an id, or a key, is looked for."""

# ---- A delivery in words ----


SHORT_ID = 12

STANDING = {
    None: "landed, not yet taken in",
    State.RECEIVED: "taken in",
    State.HELD: "held: its dataset is paused, and the data stays where it landed",
    State.PINNED: "contract found, checked before the job",
    State.STAGED: "staged for the job",
    State.SUBMITTING: "waiting for its job to start",
    State.VALIDATING: "validating: the job is reading and measuring",
    State.AWAITING: "waiting for approval",
    State.ANSWERED: "answered by a person, being decided",
    State.SCHEDULED: "judged, to be published",
    State.PASSING: "judged, passing its workflow",
    State.DECIDED: "decided, being moved to its destination",
    State.PUBLISHED: "published",
    State.QUARANTINED: "quarantined",
    State.FAILED: "failed: no verdict, the data stays where it landed",
    State.GONE: "gone: what landed was deleted, and no staged copy of it is left",
}

LOST: Final = (
    "Its accepted object is not there any more: with this file the operator can put it back"
    " (lakegate verify DATASET --objects, lakegate restore)"
)


def in_batch(state: State | None, batch: str | None, until: datetime | None) -> str:
    """The wait of a delivery in a batch; empty where it waits for something else."""
    if state is not State.SUBMITTING or not batch:
        return ""
    return f"waiting in a batch until {in_utc(until)} at the latest"


def with_notes(verdict: str, *notes: str | None) -> str:
    """A verdict with what else is to be said in a list; what is None or empty is not."""
    told = ", ".join(note for note in notes if note)
    return f"{verdict} ({told})" if told else verdict


def replaced(supersedes: tuple[int, ...]) -> str:
    """The heights in whose place a delivery came, in words; empty for none."""
    return f"replaces height {', '.join(map(str, supersedes))}" if supersedes else ""


def standing(row: Workload | None) -> str:
    """The state of a workload in words, with the number of the next attempt and why the last one failed."""
    words = (row and in_batch(row.state, row.batch, row.not_before)) or STANDING[row.state if row else None]
    if row is not None and row.archived:
        return f"{words} (archived)"
    if row is None or not row.failed or row.state not in {State.SUBMITTING, State.VALIDATING, State.FAILED}:
        return words
    last = row.failed[-1]
    if row.state is State.FAILED:
        return f"{words}; attempt {last.number}: {CAUSE_TEXTS[last.cause]}"
    due = f" at {in_utc(row.not_before)}" if row.state is State.SUBMITTING and row.not_before else ""
    return (
        f"{words}: attempt {row.attempt} of {row.limit}{due}; attempt {last.number} failed: {CAUSE_TEXTS[last.cause]}"
    )


def in_utc(at: datetime | None) -> str:
    """A time for people, to the second; empty where none is known."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC" if at else ""


# ---- A delivery for commands and the HTTP API ----


@dataclass(frozen=True, slots=True)
class ContractOfDelivery:
    """The contract version that judges a delivery."""

    id: str
    version: str
    dataset: str = field(metadata=DATASET_KEY)


@dataclass(frozen=True, slots=True)
class DeliveryAttempt:
    """An attempt that failed."""

    attempt: int
    run: str | None
    cause: FailureCause
    at: str


@dataclass(frozen=True, slots=True)
class AwaitedAnswer:
    """The question to a person, and the end of its time."""

    verdict: str
    reasons: tuple[str, ...]
    until: str


@dataclass(frozen=True, slots=True)
class WaiverOfDelivery(Waiver):
    """A waiver, and whether it is over."""

    expired: bool


@dataclass(frozen=True, slots=True)
class OriginOfContent:
    """The delivery that brought the same content first."""

    workload: str
    key: str
    at: str | None


@dataclass(frozen=True, slots=True)
class RecallOfDelivery:
    """The act by which a person took an accepted delivery out of the current state, or put it back."""

    actor: str
    reason: str
    at: str


@dataclass(frozen=True, slots=True)
class OtherDelivery:
    """Another accepted delivery of the dataset."""

    workload: str
    height: int
    """Of its block."""
    at: str

    @classmethod
    def of(cls, block: Block) -> Self:
        """The delivery of a block."""
        return cls(block.workload, block.height, block.system_time)

    @property
    def in_words(self) -> str:
        """Its short id, time and height."""
        return f"{self.workload[:SHORT_ID]} of {self.at[:10]} (height {self.height})"


@dataclass(frozen=True, slots=True)
class DeliveryStatus:
    """A delivery. Times are ISO 8601."""

    workload: str
    key: str
    """The landing key; empty of an announcement that nothing has landed for."""
    size: int
    at: str | None
    state: State | None
    """None before intake."""
    verdict: str | None
    contract: ContractOfDelivery | None
    chosen: bool
    """Whether a person chose the version for a replay."""
    attempt: int
    attempts: int
    next_attempt: str | None
    failed_attempts: tuple[DeliveryAttempt, ...]
    batch: str | None
    run: str | None
    counts: dict[str, int] | None
    """Checks by status."""
    rows: int | None
    published_rows: int | None
    rejected_rows: int | None
    reasons: tuple[str, ...]
    where: tuple[str, ...]
    """The place of its data now."""
    report: str | None
    seconds: float | None
    problem: str | None
    awaiting: AwaitedAnswer | None
    publish_at: str | None
    answer: ApprovalAnswer | None
    replay_of: str | None
    replayed_by: str | None
    waiver: WaiverOfDelivery | None
    not_current: str | None
    """Of an accepted delivery that is not part of the current state of its dataset: `recalled` or `superseded`."""
    recall: RecallOfDelivery | None
    """Of a delivery that is recalled."""
    duplicate_of: OriginOfContent | None
    supersedes: tuple[OtherDelivery, ...] = field(default=(), kw_only=True, metadata={OMITTED: True})
    """Of an accepted delivery those in whose place it came; absent for none."""
    superseded_by: OtherDelivery | None = field(default=None, kw_only=True, metadata={OMITTED: True})
    """The delivery that is in its place now; absent where none is."""
    archived: bool = field(default=False, kw_only=True, metadata={OMITTED: True})
    """Whether its row has left the table for the lake: a finished delivery of long ago."""
    workflow_state: str | None = field(default=None, kw_only=True, metadata={OMITTED: True})
    """The state of its workflow's own that it is in; absent where it is in none."""
    waits: Waiting | None = field(default=None, kw_only=True, metadata={OMITTED: True})
    """Absent where nothing is left to be done by itself."""
    standing: str = field(default="", kw_only=True, metadata=UNWRITTEN)
    """Its state in words; empty where only the state is known."""
    judged: tuple[str, tuple[str, ...]] | None = field(default=None, kw_only=True, metadata=UNWRITTEN)
    """Verdict and reasons that wait for a person or a date."""
    replay: tuple[str, str] | None = field(default=None, kw_only=True, metadata=UNWRITTEN)
    """The result: `replayed` or `waived`, and the workload."""
    measured: Report | None = field(default=None, kw_only=True, metadata=UNWRITTEN)
    """The outcomes of its checks, if it was measured."""
    corrects: str | None = field(default=None, kw_only=True, metadata={OMITTED: True})
    """The rejected delivery that it corrects, as its producer says."""
    corrected_by: OtherDelivery | None = field(default=None, kw_only=True, metadata={OMITTED: True})
    """The accepted delivery that is current and corrects its rejected rows; of one delivery, not in lists."""
    anomalies: tuple[Anomaly, ...] = field(default=(), kw_only=True, metadata={OMITTED: True})
    """What is unusual of an accepted one, by those before it."""
    next: NextDataset | None = field(default=None, kw_only=True, metadata={OMITTED: True})
    """What replaces its dataset; of one delivery, not in lists."""


NOT_TAKEN_IN: Final = Workload("", SourceObject("", "", ""), State.RECEIVED, None, limit=0)
"""In the place of the row of a delivery that has none."""


def delivery_status(dependencies: Dependencies, delivery: Delivery) -> DeliveryStatus:
    """A delivery as it is printed. Reads the result and the plan, where there are any.

    A plan that is missing, or a result that is none, hides neither this delivery nor the others of a list.
    """
    if delivery.announced is not None:
        return describe_announcement(dependencies, delivery.announced)
    row, block = delivery.row or NOT_TAKEN_IN, delivery.block
    turn, pin, decision, waiver = DeliveryTurn(dependencies, row), row.pin, row.decision, row.waiver
    state = delivery.row.state if delivery.row else State[block.kind.name] if block else None
    measured, problem = None, ""
    try:
        measured = report_of(turn)
    except (Alarm, InputError) as error:
        problem = str(error)
    counted = counts_of(measured.plan, measured.judgement) if measured else None
    first = first_of_content(turn) if decision and DUPLICATE in decision.reasons else None
    again = dependencies.workloads.find(replay_id(row.id)) if state is State.QUARANTINED and delivery.row else None
    candidate = row.candidate if state in PASSIVE_STATES else None
    place = (block.chain, block.height) if block else (pin.dataset, row.height) if pin else None
    there = standing_of(dependencies, *place) if place and state is State.PUBLISHED else None
    return select_fields(
        DeliveryStatus,
        counted,
        row,
        delivery,
        workload=delivery.id,
        state=state,
        verdict=decision.verdict if decision else block.verdict if block else None,
        contract=ContractOfDelivery(pin.contract, pin.version, pin.dataset) if pin and pin.contract else None,
        chosen=row.chosen is not None and waiver is None,
        attempts=row.limit,
        next_attempt=row.not_before if state is State.SUBMITTING else None,
        failed_attempts=tuple(select_fields(DeliveryAttempt, each, attempt=each.number) for each in row.failed),
        counts=counted and counted.checks,
        reasons=tuple(_reason(dependencies, reason, first) for reason in decision.reasons) if decision else (),
        where=places_of(dependencies, delivery),
        report=delivery.row and uri_of(dependencies.places.lake, row),
        seconds=_seconds(pin, block) if pin and block else None,
        problem=problem,
        awaiting=select_fields(AwaitedAnswer, candidate, until=row.deadline)
        if candidate and row.deadline and state is State.AWAITING
        else None,
        publish_at=row.deadline if state is State.SCHEDULED and not row.passed else None,
        workflow_state=row.passed[-1] if row.passed and state in JUDGED_STATES else None,
        replayed_by=again and again.id,
        waiver=waiver
        and select_fields(WaiverOfDelivery, waiver, expired=waiver.has_expired(dependencies.now.isoformat())),
        not_current=there and there.not_current,
        corrects=(pin.corrects if pin else block.corrects if block else None) or None,
        recall=_recall(there.decided) if there and there.recalled else None,
        supersedes=tuple(_others(dependencies, there)) if there else (),
        superseded_by=OtherDelivery.of(there.superseded_by) if there and there.superseded_by else None,
        duplicate_of=first and select_fields(OriginOfContent, first, workload=first.id),
        standing=standing(row) if delivery.row else STANDING[state],
        waits=waiting_of(turn) if delivery.row else None,
        judged=candidate and (candidate.verdict, candidate.reasons),
        replay=again and ("waived" if again.waiver else "replayed", f"{again.id}: {standing(again)}"),
        measured=measured,
    )


def one_delivery(dependencies: Dependencies, delivery: Delivery) -> DeliveryStatus:
    """The same for one delivery alone: with what replaces its dataset, and what corrects it."""
    one = delivery_status(dependencies, delivery)
    if one.contract:
        one = replace(one, next=next_dataset(dependencies, one.contract.dataset))
    if delivery.block is not None and (one.state is State.QUARANTINED or one.rejected_rows):
        correction = correction_of(dependencies, delivery.block)
        one = replace(one, corrected_by=OtherDelivery.of(correction) if correction else None)
    return one


def _others(dependencies: Dependencies, standing: DeliveryStanding) -> Iterator[OtherDelivery]:
    """The deliveries in whose place one came."""
    for height in standing.supersedes:
        block = dependencies.ledger.block(standing.dataset, height)
        if isinstance(block, Block):
            yield OtherDelivery.of(block)


def _recall(record: Record | None) -> RecallOfDelivery | None:
    return RecallOfDelivery(record.actor, record.content["reason"], record.system_time) if record else None


def _reason(dependencies: Dependencies, reason: str, first: Delivery | None) -> str:
    """A reason, of rules with field and figures, masked; of a duplicate with the first delivery of its content."""
    if reason != DUPLICATE or first is None:
        return in_words(reason)
    named = f"{in_words(reason)}: {first.key}, taken in {in_utc(first.at)}, workload {first.id}"
    return ". ".join((named, *_ways_back(dependencies, first.row)))


def _ways_back(dependencies: Dependencies, row: Workload | None) -> Iterator[str]:
    """What to do where the accepted delivery of the same content is not current, or has lost its object."""
    if row is None or row.pin is None or row.state is not State.PUBLISHED:
        return
    there = standing_of(dependencies, row.pin.dataset, row.height)
    if there.recalled:
        yield "It was recalled: `lakegate restore` puts it back"
    elif there.superseded_by is not None:
        other = OtherDelivery.of(there.superseded_by)
        yield f"It was replaced by {other.in_words}: `lakegate recall` of what came in its place gives it back"
    folder = lake_layout.destination_key("accepted", row.pin, row.id, "")
    if next(every_version(dependencies.objects, dependencies.places.lake, folder), None) is None:
        yield LOST


def _seconds(pin: Pin, block: Block) -> float:
    """From intake to completion."""
    began, ended = map(datetime.fromisoformat, (pin.judging_time, block.system_time))
    return round((ended - began).total_seconds(), 3)


def sections_of(point: str, dependencies: Dependencies, datasets: Iterable[str]) -> Sections:
    """Sections of features about datasets, by the key in the document."""
    asked: Iterator[tuple[str, DatasetSections]] = ((key, load_extension(point, key)) for key in names(point))
    return {key: list(section(dependencies, datasets)) for key, section in asked}


def describe_announcement(dependencies: Dependencies, announced: AnnouncedWorkload) -> DeliveryStatus:
    """An announcement that nothing has landed for; with the reasons, if its summary was refused."""
    expired = announced.has_expired(dependencies.now)
    return select_fields(
        DeliveryStatus,
        None,
        workload=announced.id,
        key="",
        size=0,
        at=announced.at,
        contract=ContractOfDelivery(announced.contract, announced.version, announced.full_name),
        chosen=False,
        attempt=0,
        attempts=0,
        failed_attempts=(),
        reasons=announced.refusals,
        where=(),
        problem="announcement-expired" if expired and not announced.refusals else None,
    )


# ---- Results of decisions ----


@dataclass(frozen=True, slots=True)
class ReplayVersion:
    """The version that a person chose."""

    dataset: str = field(metadata=DATASET_KEY)
    version: str


@dataclass(frozen=True, slots=True)
class StartedReplay:
    """The workload that judges a delivery again."""

    workload: str
    replay_of: str | None
    """The delivery, where that is another workload."""
    state: State
    started: bool
    """False: it was replayed before, or is being judged."""
    chosen: ReplayVersion | None
    waived: bool = field(default=False, kw_only=True, metadata=UNWRITTEN)


@dataclass(frozen=True, slots=True)
class DecidedDelivery(ABC):
    """The result of a decision other than a replay."""

    left_to_sweep: bool = field(default=False, kw_only=True, metadata=UNWRITTEN)
    """Whether the next sweep carries it out, so that there is no verdict yet."""

    @classmethod
    @abstractmethod
    def of(cls, dependencies: Dependencies, row: Workload, *, started: bool) -> Self:
        """The result: `row` is the workload that goes on now."""


@dataclass(frozen=True, slots=True)
class AnsweredDelivery(DecidedDelivery):
    """A delivery that a person approved, declined or cancelled."""

    workload: str
    state: State
    verdict: str | None
    answer: ApprovalAnswer
    reasons: tuple[str, ...]

    @classmethod
    def of(cls, dependencies: Dependencies, row: Workload, *, started: bool) -> Self:  # noqa: ARG003 - the answer says it
        """The result of an answer."""
        reasons, answer = row.decision.reasons if row.decision else (), row.required(row.answer)
        return select_fields(cls, row.decision, row, workload=row.id, reasons=reasons, answer=answer)


@dataclass(frozen=True, slots=True)
class WaivedDelivery(DecidedDelivery):
    """The workload by which a rejected delivery is accepted."""

    workload: str
    state: State
    verdict: str | None
    waiver: Waiver
    started: bool
    """False: it was waived before."""

    @classmethod
    def of(cls, dependencies: Dependencies, row: Workload, *, started: bool) -> Self:  # noqa: ARG003 - the row says it
        """The result of a waiver."""
        waiver = row.required(row.waiver)
        return select_fields(cls, row.decision, row, workload=row.id, waiver=waiver, started=started)


@dataclass(frozen=True, slots=True)
class RecalledDelivery(DecidedDelivery):
    """An accepted delivery that a person recalled or restored."""

    workload: str
    dataset: str = field(metadata=DATASET_KEY)
    height: int
    not_current: str | None
    """As `DeliveryStatus` has it."""
    decided: RecallOfDelivery
    changed_with: tuple[OtherDelivery, ...] = field(default=(), kw_only=True, metadata={OMITTED: True})
    """Deliveries that it had superseded, and that are current again by a recall, or not any more by a restoration."""

    @classmethod
    def of(cls, dependencies: Dependencies, row: Workload, *, started: bool) -> Self:  # noqa: ARG003 - the record says it
        """The result of a recall or restoration."""
        standing = standing_of(dependencies, row.pinned.dataset, row.height)
        decided = _recall(standing.decided)
        assert decided is not None
        others = tuple(map(OtherDelivery.of, changed_with(dependencies, standing)))
        return cls(row.id, standing.dataset, standing.height, standing.not_current, decided, changed_with=others)


def replay_of(row: Workload, before: str, *, started: bool) -> StartedReplay:
    """The result of a replay: `row` is the workload that goes on now, `before` the delivery."""
    of, is_waived = before if before != row.id else None, row.waiver is not None
    return select_fields(StartedReplay, row, workload=row.id, replay_of=of, started=started, waived=is_waived)
