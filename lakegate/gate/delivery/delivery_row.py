"""Row of a delivery: source, pin, attempts, decision, feature data; as it is stored, and back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cache, partial
from typing import Any, Final, NamedTuple, TypeVar, get_type_hints

from lakegate.base.json_codec import DOCUMENT_NAME, EXTENSIONS, Exact, NotEmpty, decoder, encode, sha256_of
from lakegate.base.timestamps import instant_of
from lakegate.contract.contract_model import DATASET_KEY
from lakegate.gate.delivery.protocol import State
from lakegate.gate.effects import Alarm
from lakegate.gate.ports import Address, JobState, ObjectVersion
from lakegate.gate.table import UNREADABLE, Row, RowKey, StoredRecord, due_at, instant, unreadable, workloads_key
from lakegate.plan.billed_cost import BilledCost
from lakegate.verdict.verdict import BrokenRule, Counts

# ---- Failure causes ----


T = TypeVar("T")


class FailureCause(StrEnum):
    """The reason why an attempt came to nothing. A code, never text of a producer's or of EMR's."""

    RUN_FAILED = "run-failed"
    RUN_CANCELLED = "run-cancelled"
    """By a person, or by its own time limit."""
    RUN_HUNG = "run-hung"
    """It still ran after its deadline; the gate cancelled it."""
    NOT_STARTED = "not-started"
    """It waited in the queue, or for capacity, until EMR Serverless or its deadline ended it, and never ran."""
    NO_RESULT = "no-result"
    """The run succeeded, or EMR does not know it, and there is no result.json."""
    WRONG_RESULT = "wrong-result"
    """result.json cannot be read, or belongs to another attempt."""
    UNDECIDED = "undecided"
    """A rule could not be measured."""
    ACCESS_DENIED = "access-denied"
    """The gate may not read what landed, or not use the KMS key that encrypts it. No run was started."""
    ARCHIVED = "archived"
    """The landed object is in an archive storage class and has to be restored. No run was started."""
    TOKEN_TAKEN = "token-taken"  # noqa: S105 - a code
    """StartJobRun refused: the token was used with another request."""
    NO_ANSWER = "no-answer"
    """The judge function failed, or had no result at its deadline."""
    DOES_NOT_FIT = "does-not-fit"
    """The judge function cannot hold the delivery. Spark follows; it costs none of the round's attempts."""
    BATCH_FAILED = "batch-failed"
    """The run of its batch ended without a result for it. A smaller batch follows, and it costs no attempt."""
    OVERTAKEN = "overtaken"
    """Slices of another delivery of the dataset were decided first. Judged again from the next offset, at no attempt."""
    NO_FUNCTION = "no-function"
    """The judge function does not exist any more. Spark follows, as above."""
    VALIDATOR_UNREACHABLE = "validator-unreachable"
    """A registered validator did not answer: when it was to start, or up to the attempt's deadline."""
    VALIDATOR_REFUSED = "validator-refused"
    """It refused the validation, does not know it, or could not carry it out; or the stack may not reach it."""
    VALIDATOR_LATE = "validator-late"
    """It had not finished at the deadline."""
    WRONG_ANSWER = "wrong-answer"
    """The response does not fit the rules of this attempt."""
    NO_VALIDATOR = "no-validator"
    """None of the name that was pinned is registered for the technology any more."""


OF_VALIDATORS = frozenset(
    {
        FailureCause.VALIDATOR_UNREACHABLE,
        FailureCause.VALIDATOR_REFUSED,
        FailureCause.VALIDATOR_LATE,
        FailureCause.WRONG_ANSWER,
        FailureCause.NO_VALIDATOR,
    }
)
"""Causes that say nothing about the run of the attempt."""


# ---- Failure causes in words ----


CAUSE_TEXTS = {
    FailureCause.RUN_FAILED: "its job run failed and left no result",
    FailureCause.RUN_CANCELLED: "its job run was cancelled, or reached its own time limit",
    FailureCause.RUN_HUNG: "its job run was still running after its time limit, and was cancelled",
    FailureCause.NOT_STARTED: "its job run waited for its turn until its time there was over (this does not count)",
    FailureCause.NO_RESULT: "its job run ended without a result",
    FailureCause.WRONG_RESULT: "its result cannot be read, or answers something else",
    FailureCause.UNDECIDED: "a rule could not be measured",
    FailureCause.ACCESS_DENIED: "its upload cannot be read: grant the gate s3:GetObjectVersion, and kms:Decrypt on its key",
    FailureCause.ARCHIVED: "its upload is in an archive storage class: restore it (RestoreObject), or upload it to S3 Standard",
    FailureCause.TOKEN_TAKEN: "its job run could not be started: the token was used before",
    FailureCause.NO_ANSWER: "its invocation of the judge function failed, or had no result in time",
    FailureCause.DOES_NOT_FIT: "its size or rules are beyond the judge function, so Spark follows (this does not count)",
    FailureCause.BATCH_FAILED: "its batch ended without its result, so a smaller batch follows (this does not count)",
    FailureCause.NO_FUNCTION: "its judge function does not exist any more, so Spark follows (this does not count)",
    FailureCause.OVERTAKEN: "its offset was taken by another delivery, so it is judged again (this does not count)",
    FailureCause.VALIDATOR_UNREACHABLE: "its validator did not answer (lakegate validator list)",
    FailureCause.VALIDATOR_REFUSED: "its validator refused the rules, or could not measure them",
    FailureCause.VALIDATOR_LATE: "its validator had not finished at the deadline",
    FailureCause.WRONG_ANSWER: "its validator answered something else than what was asked",
    FailureCause.NO_VALIDATOR: "its validator is not registered any more: lakegate validator add, or publish the contract again",
}
"""Reasons why an attempt came to nothing, in words."""
CAUSES = {
    JobState.FAILED: FailureCause.RUN_FAILED,
    JobState.CANCELLED: FailureCause.RUN_CANCELLED,
    JobState.RUNNING: FailureCause.RUN_HUNG,
    JobState.SUCCESS: FailureCause.NO_RESULT,
    JobState.INVOKED: FailureCause.NO_ANSWER,
}
"""Reasons why a run that may not answer any more has no result, by its state."""
UNANSWERED = frozenset({*CAUSES.values(), FailureCause.NOT_STARTED, FailureCause.BATCH_FAILED})
IDENTIFYING = frozenset({"crc64nvme", "sha256", "sha1"})
"""Checksums long enough that two contents of one size do not share one; every staged copy has one of them."""


# ---- What a delivery waits for ----


class WaitsFor(StrEnum):
    """Subjects of a wait."""

    PARTS = "parts"
    """Of a delivery of several objects, from its producer."""
    DATASET = "dataset"
    """It is paused."""
    COMMIT = "commit"
    """Another delivery of the dataset is decided; until it is committed, nothing is known of the slices that follow."""
    BATCH = "batch"
    """Other small files may share its job run."""
    START = "start"
    """The time that is reserved for its job run."""
    BACK_OFF = "back-off"
    """The attempt before came to nothing."""
    RUN = "run"
    """Its job run, or the judge function."""
    VALIDATORS = "validators"
    """The job run has answered, and other services have not."""
    APPROVAL = "approval"
    DATE = "date"
    """It is published then."""
    STATE = "state"
    """A state of its workflow's own, which is over at a time."""
    WORKER = "worker"
    """A function that carries it on; after this time another one does."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a delivery waits for."""

    subject: WaitsFor
    whom: str | None = None
    """The id of a delivery, a batch or a run, or the name of a dataset; None: the subject says it."""
    until: str | None = None
    """ISO 8601: at the latest, or from when it goes on; None: nobody knows."""


# ---- The row of a workload ----


TERMINAL = frozenset({State.PUBLISHED, State.QUARANTINED})
"""States with the data in its destination in the lake: only now may the landing version be deleted."""


@dataclass(frozen=True, slots=True)
class SourceObject:
    """The one object version a workload is about."""

    bucket: str
    key: str
    version: str
    etag: str = ""
    size: int = 0
    """Bytes."""
    checksum: str = ""

    @classmethod
    def of(cls, version: ObjectVersion) -> SourceObject:
        """One version as the store describes it."""
        return cls(version.bucket, version.key, version.version, version.etag, version.size, version.checksum)

    @property
    def address(self) -> Address:
        """The address of the version."""
        return Address(self.bucket, self.key, self.version)


@dataclass(frozen=True, slots=True)
class Referred:
    """A dataset that the rules of a plan refer to, as high as it was at intake: what is accepted later changes no verdict."""

    dataset: str = field(metadata=DATASET_KEY)
    height: int
    """Of its topmost block; -1 where there is none."""


@dataclass(frozen=True, slots=True)
class ChosenVersion:
    """A contract version by which a delivery is to be judged, whichever one is valid."""

    dataset: str = field(metadata=DATASET_KEY)
    """Full name: the folder of accepted or quarantined data."""
    version: str
    plan: str
    """Digest of the dataset's plan."""


@dataclass(frozen=True, slots=True)
class Pin:
    """Values fixed at intake, which never change while this round of attempts lasts."""

    dataset: str = field(metadata={DOCUMENT_NAME: "chain"})
    """`<contract>/<dataset>_v<major>`, or `_unrouted/<date>`; names the folder and the ledger's chain."""
    contract: str = ""
    version: str = ""
    """Of the contract; empty where no route covers the key."""
    plan: str = ""
    """Digest of the plan."""
    status: str = ""
    """Of version and dataset at the judging time, the stricter one (`lakegate.gate.datasets.dataset_states.DatasetStatus`)."""
    ingest_date: str = ""
    """UTC date on which it arrived."""
    judging_time: str = ""
    """RFC 3339, UTC; what "now" means to rules."""
    references: tuple[Referred, ...] = ()
    prefix: str = ""
    """Of the route, by which its producer is known; empty where no route covers the key."""
    known: bool = True
    """Whether the dataset had accepted a delivery of this producer; asked only if the dataset was in sunset."""
    warning: str = ""
    """The warning of the delivery because of the status; empty if there is none."""
    arrived: str = field(default="", metadata={DOCUMENT_NAME: "modified"})
    """The time when what landed, or its last part, was there: RFC 3339, UTC, six decimals; empty in older rows."""
    corrects: str = ""
    """The rejected delivery of the dataset that its producer says it corrects: known to exist, and no right to anything."""


@dataclass(frozen=True, slots=True)
class EnforcedVerdict:
    """The result of enforcement for a delivery that was only observed."""

    verdict: str
    refused_rows: int
    """Rows that would have been kept out: all of a rejected delivery, the bad ones with `onReject: rows`."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Irrevocable once written: the verdict, and the result it was computed from."""

    verdict: str
    reasons: tuple[str, ...] = ()
    result: str = ""
    """SHA-256 of result.json as read; empty where the door refused."""
    staged: bool = True
    """The judged bytes are in staging (else in landing: early rejection)."""
    counts: Counts | None = None
    """Rows and checks; None where nothing was measured, and in rows of releases that did not store them."""
    broken: tuple[BrokenRule, ...] = ()
    """The rules that failed or warned; empty too in rows of releases that did not store them."""
    enforced: EnforcedVerdict | None = None
    """The decision of `mode: enforce`; None where it was the mode."""
    extensions: str = field(default="{}", metadata=EXTENSIONS)
    """As `Workload.extensions`, of the decision."""


@dataclass(frozen=True, slots=True)
class Anomaly:
    """A number of an accepted delivery outside of what the last deliveries had. It is no part of the verdict."""

    measure: NotEmpty
    """`rows`, `rejected-rows`, `gap`, `nulls`, `failing-rows`, `distinct-values`, `age` or `value`."""
    subject: str
    """The id of the check that measured it, or the field; empty of the whole delivery."""
    value: float
    """Shares from 0 to 1, durations in seconds."""
    low: float | None
    """The smallest usual number; None: smaller ones are not warned of."""
    high: float | None
    median: float
    """Of the deliveries that it is compared with."""
    deliveries: Exact
    """Their number."""
    season: str
    """The weekday or month in which they all landed, in the plural: `Mondays`; empty: in any."""
    text: NotEmpty
    """All of it as a sentence."""


@dataclass(frozen=True, slots=True)
class ApprovalAnswer:
    """The person who approved, declined or cancelled, when, and why."""

    actor: str
    """The ARN of the caller; never a text that was given."""
    approved: bool
    reason: str
    """One line that the person wrote; empty of an approval."""
    at: str
    """RFC 3339, UTC, six decimals."""

    @property
    def in_words(self) -> str:
        """The reason that a declined delivery gets, before those of its judgement."""
        return f"declined: {self.reason} (by {self.actor})"


@dataclass(frozen=True, slots=True)
class Waiver:
    """The person of a waiver, its delivery, reason and end."""

    actor: NotEmpty
    """The ARN of the caller; never a text that was given."""
    reason: NotEmpty
    """One line that the person wrote."""
    expires: NotEmpty
    """RFC 3339, UTC, six decimals."""
    rejected: NotEmpty
    """The workload whose rejection is waived."""

    def has_expired(self, at: str) -> bool:
        """Whether the waiver is over at a time, in RFC 3339."""
        return instant_of(at) >= instant_of(self.expires)

    @property
    def in_words(self) -> str:
        """The reason that the delivery gets, before those of its rejection."""
        return f"waived: {self.reason} (until {self.expires[:10]}, by {self.actor})"


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """An attempt that came to nothing."""

    number: int
    """As `Workload.attempt` counts."""
    run: str
    """Job run id; empty where none was started."""
    cause: FailureCause
    at: datetime
    """The time when the gate found out."""


class Workload(NamedTuple):
    """The row."""

    id: str
    source: SourceObject
    state: State
    due_at: datetime | None
    """The time when `sweep` continues it; None once nothing is left. Also the lease: a worker moves it to take the workload."""
    attempt: int = 0
    """Counts job runs over all rounds and never goes back, so that (state, attempt) never repeats."""
    first: int = 0
    """Attempts used up by earlier rounds (a FAILED workload that was replayed)."""
    limit: int = 3
    """The last attempt allowed in this round."""
    pin: Pin | None = None
    staged: SourceObject | None = None
    """The staged copy as the store described it."""
    request: str = ""
    """The whole request of StartJobRun, or of Invoke, as JSON; what is sent again is this and nothing else.

    Empty in a batch, which has one request for all its members.
    """
    run: str = ""
    """Job run id of the current attempt."""
    not_before: datetime | None = None
    """Back-off: the current attempt is not sent before."""
    deadline: datetime | None = None
    """A job still running then is hung; in AWAITING, a person has to answer before; in SCHEDULED, it is published then."""
    decision: Decision | None = None
    replay_of: str = ""
    """The quarantined workload this one replays."""
    failed: tuple[FailedAttempt, ...] = ()
    """Of all rounds, the oldest first."""
    cost: BilledCost | None = None
    """Of the attempts so far whose cost is known."""
    completed_by: str = ""
    """The completion of a delivery of several objects: `success`, `manifest` or `quiet`; empty for one object."""
    parts: SourceObject | None = None
    """The list of such a delivery's parts, with the size and the checksum of their content; None before it is complete."""
    joined: str = ""
    """Of a part: the delivery that it belongs to. Of an announcement: the workload of what landed at its key."""
    held: str = ""
    """The dataset that was paused when it was taken in; in the state HELD `due_at` is when it arrived."""
    batch: str = ""
    """Id of the batch that the current attempt belongs to; empty: it has a run of its own."""
    landed: SourceObject | None = None
    """The landed object, where the source is a quarantined copy: its key finds the route."""
    chosen: ChosenVersion | None = None
    """The contract version that a person chose for a replay; None: the one that is valid."""
    waiver: Waiver | None = None
    """By which it is let through, unjudged."""
    candidate: Decision | None = None
    """The verdict that waits until a person has answered, and its time has come."""
    answer: ApprovalAnswer | None = None
    """The latest one."""
    approvals: tuple[ApprovalAnswer, ...] = ()
    """Those before it, where the workflow has asked more than once."""
    passed: tuple[str, ...] = ()
    """The states of the workflow's own that it has entered since it was judged, each as often; the last is the one it is in."""
    height: int = -1
    """Of its block in the chain of its pin; -1: it has none."""
    anomalies: tuple[Anomaly, ...] = ()
    """What is unusual of an accepted one, by the blocks below its own: found before its commit."""
    extensions: str = "{}"
    """Members of the row that are those of features, or of a newer release, as text: the core keeps them unread."""
    tries: int = 0
    """Workers that have taken it since its row was last written, and were not seen to come to an end."""
    expires: int = 0
    """When the row of a finished delivery leaves the table, in seconds since 1970; 0: it stays. It is archived before."""
    unnamed_copy: str = ""
    """Key of a copy in staging that a worker of an earlier round may have made, although the row came to name none."""
    arrived: datetime | None = None
    """As `ObjectArrival` finds it, when it was claimed; None in older rows, and of a delivery that only time completes."""
    archived: bool = False
    """Whether the row was read from the archive: it has left the table, and nothing changes it any more."""

    @property
    def pinned(self) -> Pin:
        """The pin: from the state PINNED on. Raises Alarm as `required` does."""
        return self.required(self.pin)

    @property
    def decided(self) -> Decision:
        """The decision: from the state DECIDED on. Raises Alarm as `required` does."""
        return self.required(self.decision)

    @property
    def own_state(self) -> str:
        """The state of the workflow's own that it is in; where an older document has it wait, the state itself."""
        return self.passed[-1] if self.passed else self.state.value

    @property
    def landing_key(self) -> str:
        """The key at which it landed, or what it replays."""
        return (self.landed or self.source).key

    @property
    def marker(self) -> SourceObject | None:
        """The object that completed a delivery of parts; None where none did."""
        is_object = self.parts is not None and not self.replay_of and not self.source.key.endswith("/")
        return self.source if is_object else None

    def required(self, part: T | None) -> T:
        """A part of the row that its state requires. Raises Alarm where it is absent: the row was not written by the gate."""
        if part is None:
            raise Alarm("row-incomplete", self.id)
        return part


IDENTIFIER: Final = re.compile("[0-9a-f]{64}", re.ASCII)
"""Of workloads and announcements."""


def workload_id(bucket: str, key: str, version: str) -> str:
    """The id of the delivery: the same for every event about one version."""
    return sha256_of(f"{bucket}\0{key}\0{version}")


def replay_id(workload: str) -> str:
    """The id of the replay of a quarantined workload: one for each, because what came of it is replayed next."""
    return sha256_of(f"{workload}:replay:1")


def producer_id(dataset: str, prefix: str) -> str:
    """The id of the producer who delivers to a dataset below the route of a prefix."""
    return sha256_of(f"{dataset}\0{prefix}")


def job_token(workload: str, attempt: int) -> str:
    """StartJobRun's clientToken: one for each attempt, 64 characters."""
    return sha256_of(f"{workload}:{attempt}")


class PartList(NamedTuple):
    """The parts of a delivery, and why it is rejected unread, if it is."""

    parts: tuple[SourceObject, ...]
    problems: tuple[str, ...] = ()
    corrects: str = ""
    """As `ObjectVersion` has it, of the first part; not stored."""

    @classmethod
    def from_bytes(cls, body: bytes) -> PartList:
        """The list of its stored form."""
        document = json.loads(body)
        return cls(tuple(SourceObject(**part) for part in document["parts"]), tuple(document["problems"]))

    def to_bytes(self) -> bytes:
        """The stored form."""
        document = {"parts": [asdict(part) for part in self.parts], "problems": list(self.problems)}
        return json.dumps(document, sort_keys=True).encode()

    @property
    def size(self) -> int:
        """Bytes of all parts."""
        return sum(part.size for part in self.parts)

    @property
    def checksum(self) -> str:
        """The identity of the content, whatever the parts are called; empty where a part has no checksum that identifies it."""
        known = sorted(f"{part.size}:{part.checksum}" for part in self.parts)
        if not all(part.checksum.partition(":")[0] in IDENTIFYING for part in self.parts):
            return ""
        return "sha256:" + sha256_of("\n".join(known))


# ---- The row as it is stored ----
#
# What conditions and the index read has attributes of its own (`state`, `attempt`, `passed`, `result`, `shard`, `at`). The whole
# row is stored beside them as JSON, except `due_at`: a lease changes it without writing the others. Members of the row
# and of its decisions that the core does not know are written again as they were; those within other parts are ignored.


_BESIDE: Final = frozenset({"due_at", "tries", "extensions", "expires", "archived"})
"""Fields that are not in the JSON of a row under their names."""


def workload_key(workload: str) -> RowKey:
    """The key of a workload's row."""
    return workloads_key("workload", workload)


def held_shard(dataset: str) -> str:
    """The partition of the index with what is held of a dataset."""
    return f"held#{dataset}"


def workload_row(workload: Workload) -> Row:
    """The row as it is stored; in the index, a HELD one stands beside its dataset."""
    due = instant(workload.due_at) if workload.due_at else ""
    index = due_at("due", workload.id, due)
    if index and workload.state is State.HELD:
        index["shard"] = held_shard(workload.held)
    return Row(
        workload_key(workload.id),
        {
            "state": str(workload.state),
            "attempt": workload.attempt,
            "result": workload.decision.result if workload.decision else "",
            "row": StoredRecord(workload, partial(_text, workload)),
            **({"passed": len(workload.passed)} if workload.passed else {}),
            **({"tries": workload.tries} if workload.tries else {}),
            **({"expires": workload.expires} if workload.expires and not due else {}),
            **index,
        },
    )


def workload_of(row: Row) -> Workload:
    """The workload of a row. Raises ValueError where its attributes contradict it: every condition would fail."""
    due = datetime.fromisoformat(row.text("at")) if row.has("at") else None
    tries, expires = (row.number(name) if row.has(name) else 0 for name in ("tries", "expires"))
    workload = row.record("row", _content)
    if (workload.due_at, workload.tries, workload.expires) != (due, tries, expires):
        workload = workload._replace(due_at=due, tries=tries, expires=expires)
    kept = (workload.id, workload.state, workload.attempt, len(workload.passed))
    passed = row.number("passed") if row.has("passed") else 0
    if kept != (row.key.identity, row.text("state"), row.number("attempt"), passed):
        raise ValueError("state or attempt of the row are not those of its content")
    return workload


def archived_bytes(workload: Workload) -> bytes:
    """The archived form of the row of a finished delivery."""
    return _text(workload).encode()


def archived_row(identity: str, body: bytes) -> Workload:
    """The workload of an archived row. Raises UnreadableItem."""
    try:
        workload = _content(body.decode())
        if (workload.id, workload.state in TERMINAL) != (identity, True):
            raise ValueError("it is not the row of a finished delivery of this id")
    except UNREADABLE as error:
        raise unreadable(f"archived {workload_key(identity)}", error) from None
    return workload._replace(archived=True)


def _text(workload: Workload) -> str:
    members = ((name, value) for name, value in workload._asdict().items() if value is not None and name not in _BESIDE)
    row = json.loads(workload.extensions) | {name: encode(value) for name, value in members}
    return json.dumps(row, default=instant, separators=(",", ":"))


def _content(text: str) -> Workload:
    """A workload without what is stored beside its JSON."""
    row, read = json.loads(text), _readers()
    known = {name: read[name](value) for name, value in row.items() if name in read}
    extensions = json.dumps({name: value for name, value in row.items() if name not in read})
    return Workload(**known, due_at=None, extensions=extensions)


@cache
def _readers() -> Mapping[str, Callable[[Any], Any]]:
    """By the name of a member of the row, the function that reads it."""
    hints = get_type_hints(Workload, include_extras=True)
    times: dict[str, Callable[[Any], Any]] = {
        **dict.fromkeys(("not_before", "deadline", "arrived"), datetime.fromisoformat),
        "failed": lambda parts: tuple(map(_failed, parts)),
    }
    return {name: times.get(name) or decoder(hints[name], strict=False) for name in hints if name not in _BESIDE}


def _failed(part: Mapping[str, Any]) -> FailedAttempt:
    return FailedAttempt(part["number"], part["run"], FailureCause(part["cause"]), datetime.fromisoformat(part["at"]))
