"""Deliveries and decisions about them, as commands print them and the HTTP API has them with `details`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import MISSING, dataclass, field, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Self

from lakegate.base.errors import InputError
from lakegate.base.extension_points import loaded, names
from lakegate.base.json_codec import OMITTED, UNWRITTEN
from lakegate.gate import lake_layout
from lakegate.gate.delivery.delivery_row import (
    CAUSE_TEXTS,
    TERMINAL,
    ApprovalAnswer,
    FailureCause,
    Pin,
    Waiver,
    Workload,
    replay_id,
)
from lakegate.gate.delivery.find_deliveries import AnnouncedWorkload, Delivery, first_of_content, judged
from lakegate.gate.delivery.protocol import PASSIVE_STATES, State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Alarm
from lakegate.gate.lake_layout import uri_of
from lakegate.gate.ports import every_version
from lakegate.report.delivery_report import Report
from lakegate.verdict.reasons import DUPLICATE, in_words, is_of_gate
from lakegate.verdict.verdict import Counts, counts_of

if TYPE_CHECKING:
    LineSection = tuple[str, dict[str, object], str]
    """The section of a feature about a dataset: its subject, for machines (with `line`), and in words."""
    LineSections = Callable[[Dependencies, Iterable[str]], Iterator[LineSection]]
    """Rows of the extension points `status sections` and `history sections`, by their key in the document of `--json`."""
    Sections = dict[str, list[LineSection]]
    """By that key what a feature has to say about datasets."""


STATUS_SECTIONS: Final = "status sections"
"""Extension point: see `LineSections`."""
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


@dataclass(frozen=True, slots=True)
class Account:
    """A delivery with everything that is known about it."""

    delivery: Delivery
    measured: Report | None
    lake: str
    landing: str
    problem: str = ""
    """The reason why what was measured cannot be read, though there is something: a matter for the operator."""
    first: Delivery | None = None
    """The delivery that brought the same content, where this one is refused as a duplicate."""
    replay: Workload | None = None
    """The workload that replays it, or that is accepted by a waiver."""
    expired: bool = False
    """Whether it was accepted by a waiver that is over."""
    first_is_lost: bool = False
    """Whether nothing is left of what the first delivery of the same content brought."""

    @property
    def state(self) -> State | None:
        """The state; None before intake."""
        if self.delivery.row is None and self.delivery.block is not None:
            return State[self.delivery.block.kind.name]
        return self.delivery.row.state if self.delivery.row else None

    @property
    def is_decided(self) -> bool:
        """Whether there is a verdict, or a result of a FAILED delivery, that a report can show."""
        return self.measured is not None or bool(self.delivery.row and self.delivery.row.decision)

    @property
    def report(self) -> str | None:
        """The address of the report; None before it is finished."""
        return uri_of(self.lake, self.delivery.row) if self.delivery.row else None

    @property
    def pin(self) -> Pin | None:
        """The pin."""
        return self.delivery.row.pin if self.delivery.row else None

    @property
    def verdict(self) -> str | None:
        """The decided verdict, if there is one."""
        row, block = self.delivery.row, self.delivery.block
        return row.decision.verdict if row and row.decision else block.verdict if block else None

    @property
    def reasons(self) -> tuple[str, ...]:
        """Reasons: of rules, with field and figures; masked."""
        row = self.delivery.row
        reasons = row.decision.reasons if row and row.decision else ()
        return tuple(f"{in_words(each)}{self._first(each)}" for each in reasons)

    @property
    def codes(self) -> tuple[str, ...]:
        """Those of the reasons that are no check of the contract, and so in no table of checks; of a status, or a waiver."""
        return tuple(each for each in self.reasons if is_of_gate(each))

    def _first(self, reason: str) -> str:
        if reason != DUPLICATE or self.first is None:
            return ""
        named = f": {self.first.key}, taken in {in_utc(self.first.at)}, workload {self.first.id}"
        return f"{named}. {LOST}" if self.first_is_lost else named

    @property
    def counted(self) -> Counts | None:
        """Rows and checks; None where nothing was measured."""
        return counts_of(self.measured.plan, self.measured.judgement) if self.measured else None

    @property
    def seconds(self) -> float | None:
        """From intake to completion; None before that."""
        if self.delivery.block is None or self.pin is None:
            return None
        began, ended = map(datetime.fromisoformat, (self.pin.judging_time, self.delivery.block.system_time))
        return round((ended - began).total_seconds(), 3)

    @property
    def where(self) -> tuple[str, ...]:
        """The place of the data now: published or quarantined objects, else the landed ones."""
        if self.delivery.block is not None:
            return tuple(f"s3://{self.lake}/{each.key}" for each in self.delivery.block.objects)
        if self.state is State.GONE:
            return ()
        if self.state in TERMINAL and self.pin is not None:
            share = "accepted" if self.state is State.PUBLISHED else "quarantine"
            return (f"s3://{self.lake}/{lake_layout.destination_key(share, self.pin, self.delivery.id, '')}",)
        row = self.delivery.row
        return (f"s3://{row.source.bucket}/{row.source.key}" if row else f"s3://{self.landing}/{self.delivery.key}",)


def account(dependencies: Dependencies, delivery: Delivery) -> Account:
    """Everything about a delivery. Reads the result and the plan, where there are any.

    A plan that is missing, or a result that is none, hides neither this delivery nor the others of a list.
    """
    measured, problem = None, ""
    try:
        measured = judged(DeliveryTurn(dependencies, delivery.row)) if delivery.row else None
    except (Alarm, InputError) as error:
        problem = str(error)
    row = delivery.row
    is_duplicate = row is not None and row.decision is not None and DUPLICATE in row.decision.reasons
    first = first_of_content(DeliveryTurn(dependencies, row)) if row and is_duplicate else None
    return Account(
        delivery,
        measured,
        dependencies.places.lake,
        dependencies.places.landing,
        problem,
        first,
        dependencies.workloads.find(replay_id(row.id)) if row and row.state is State.QUARANTINED else None,
        bool(row and row.waiver and row.waiver.has_expired(dependencies.clock.now().isoformat())),
        _is_lost(dependencies, first.row if first else None),
    )


def _is_lost(dependencies: Dependencies, row: Workload | None) -> bool:
    """Whether no version is left below the folder of an accepted delivery."""
    if row is None or row.pin is None or row.state is not State.PUBLISHED:
        return False
    folder = lake_layout.destination_key("accepted", row.pin, row.id, "")
    return next(every_version(dependencies.objects, dependencies.places.lake, folder), None) is None


def in_batch(state: State | None, batch: str | None, until: datetime | None) -> str:
    """The wait of a delivery in a batch; empty where it waits for something else."""
    if state is not State.SUBMITTING or not batch:
        return ""
    return f"waiting in a batch until {in_utc(until)} at the latest"


def standing(row: Workload | None) -> str:
    """The state of a workload in words, with the number of the next attempt and why the last one failed."""
    words = (row and in_batch(row.state, row.batch, row.not_before)) or STANDING[row.state if row else None]
    if row is not None and row.state is State.AWAITING:
        short = row.id[:SHORT_ID]
        return f"{words} until {in_utc(row.deadline)}: lakegate approve {short}, or lakegate decline {short}"
    if row is not None and row.state is State.SCHEDULED:
        return f"{words} at {in_utc(row.deadline)}, unless: lakegate decline {row.id[:SHORT_ID]}"
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
    line: str


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
    duplicate_of: OriginOfContent | None
    archived: bool = field(default=False, kw_only=True, metadata={OMITTED: True})
    """Whether its row has left the table for the lake: a finished delivery of long ago."""
    standing: str = field(default="", kw_only=True, metadata=UNWRITTEN)
    """Its state in words; empty where only the state is known."""
    judged: tuple[str, tuple[str, ...]] | None = field(default=None, kw_only=True, metadata=UNWRITTEN)
    """Verdict and reasons that wait for a person or a date."""
    replay: tuple[str, str] | None = field(default=None, kw_only=True, metadata=UNWRITTEN)
    """The result: `replayed` or `waived`, and the workload."""


def status_of_account(each: Account) -> DeliveryStatus:
    """A delivery as it is printed."""
    delivery, pin = each.delivery, each.pin
    row, counted, waiver = delivery.row, each.counted, delivery.row.waiver if delivery.row else None
    first = each.first
    is_scheduled = row is not None and row.state is State.SCHEDULED
    return DeliveryStatus(
        workload=delivery.id,
        key=delivery.key,
        size=delivery.size,
        at=_iso(delivery.at),
        state=each.state,
        verdict=each.verdict,
        contract=ContractOfDelivery(pin.contract, pin.version, pin.chain) if pin and pin.contract else None,
        chosen=row is not None and row.chosen is not None and waiver is None,
        attempt=row.attempt if row else 0,
        attempts=row.limit if row else 0,
        next_attempt=_iso(row.not_before) if row and row.state is State.SUBMITTING else None,
        failed_attempts=tuple(
            DeliveryAttempt(one.number, one.run or None, one.cause, one.at.isoformat()) for one in row.failed
        )
        if row
        else (),
        batch=row.batch or None if row else None,
        run=row.run or None if row else None,
        counts=counted.checks if counted else None,
        rows=counted.rows if counted else None,
        published_rows=counted.published_rows if counted else None,
        rejected_rows=counted.rejected_rows if counted else None,
        reasons=each.reasons,
        where=each.where,
        report=each.report,
        seconds=each.seconds,
        problem=each.problem or None,
        awaiting=_awaiting(row) if row else None,
        publish_at=_iso(row.deadline) if row and is_scheduled else None,
        answer=row.answer if row else None,
        replay_of=row.replay_of or None if row else None,
        replayed_by=each.replay.id if each.replay else None,
        waiver=WaiverOfDelivery(waiver.actor, waiver.reason, waiver.expires, waiver.rejected, each.expired)
        if waiver
        else None,
        duplicate_of=OriginOfContent(first.id, first.key, _iso(first.at)) if first else None,
        archived=row is not None and row.archived,
        standing=standing(row) if row else STANDING[each.state],
        judged=(row.candidate.verdict, row.candidate.reasons)
        if row and row.candidate and row.state in PASSIVE_STATES
        else None,
        replay=("waived" if each.replay.waiver else "replayed", f"{each.replay.id}: {standing(each.replay)}")
        if each.replay
        else None,
    )


def delivery_status(dependencies: Dependencies, delivery: Delivery) -> DeliveryStatus:
    """A delivery as it is printed, read from the stack. Reads the result and the plan, where there are any."""
    if delivery.announced is not None:
        return announced_status(dependencies, delivery.announced)
    return status_of_account(account(dependencies, delivery))


def sections_of(point: str, dependencies: Dependencies, lines: Iterable[str]) -> Sections:
    """Sections of features about datasets, by the key in the document."""
    asked: Iterator[tuple[str, LineSections]] = ((key, loaded(point, key)) for key in names(point))
    return {key: list(section(dependencies, lines)) for key, section in asked}


def announced_status(dependencies: Dependencies, announced: AnnouncedWorkload) -> DeliveryStatus:
    """An announcement that nothing has landed for; with the reasons, if its summary was refused."""
    expired = announced.has_expired(dependencies.clock.now())
    unknown: dict[str, Any] = {each.name: None for each in fields(DeliveryStatus) if each.default is MISSING}
    known = {
        "workload": announced.id,
        "key": "",
        "size": 0,
        "at": _iso(announced.at),
        "contract": ContractOfDelivery(announced.contract, announced.version, announced.line),
        "chosen": False,
        "attempt": 0,
        "attempts": 0,
        "failed_attempts": (),
        "reasons": announced.refusals,
        "where": (),
        "problem": "announcement-expired" if expired and not announced.refusals else None,
    }
    return DeliveryStatus(**unknown | known)


def _iso(at: datetime | None) -> str | None:
    return at.isoformat() if at else None


def _awaiting(row: Workload) -> AwaitedAnswer | None:
    if row.candidate is None or row.deadline is None or row.state is not State.AWAITING:
        return None
    return AwaitedAnswer(row.candidate.verdict, tuple(row.candidate.reasons), row.deadline.isoformat())


# ---- Results of decisions ----


@dataclass(frozen=True, slots=True)
class ReplayVersion:
    """The version that a person chose."""

    line: str
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
    def of(cls, row: Workload, *, started: bool) -> Self:
        """The result: `row` is the workload that goes on now."""


@dataclass(frozen=True, slots=True)
class AnsweredDelivery(DecidedDelivery):
    """A delivery that a person approved or declined."""

    workload: str
    state: State
    verdict: str | None
    answer: ApprovalAnswer
    reasons: tuple[str, ...]

    @classmethod
    def of(cls, row: Workload, *, started: bool) -> Self:  # noqa: ARG003 - the answer says it
        """The result of an answer."""
        verdict, reasons = (row.decision.verdict, row.decision.reasons) if row.decision else (None, ())
        return cls(row.id, row.state, verdict, row.required(row.answer), tuple(reasons))


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
    def of(cls, row: Workload, *, started: bool) -> Self:
        """The result of a waiver."""
        verdict = row.decision.verdict if row.decision else None
        return cls(row.id, row.state, verdict, row.required(row.waiver), started)


def replay_of(row: Workload, before: str, *, started: bool) -> StartedReplay:
    """The result of a replay: `row` is the workload that goes on now, `before` the delivery."""
    chosen = ReplayVersion(row.chosen.line, row.chosen.version) if row.chosen else None
    of = before if before != row.id else None
    return StartedReplay(row.id, of, row.state, started, chosen, waived=row.waiver is not None)
