"""What the control plane needs of the world, in small Protocols, and every way in which the world refuses.

::

    LakegateError
    └── PortError               the world refused or did not answer
        ├── NotFound            the object version, row or job run is not there
        ├── ConditionFailed     a condition of ours did not hold; nothing was written
        ├── IdempotencyMismatch a token was used before with another content
        ├── Unfinished          a copy in several parts ran out of time; calling again goes on with it
        ├── Throttled           refused for now, nothing was done        ┐ calling again
        ├── TransactionConflict another transaction was on these rows    ┘ is right
        └── Unanswered          the effect may or may not have happened

Every writing method is one *effect*: it happens whole or not at all, and saying it twice must do no harm.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from contracts.errors import LakegateError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from contracts.counts import Counts
    from contracts.ledger import Block
    from contracts.routes import Route
    from contracts.workflow import State
    from functions.workload import Message, Workload


class PortError(LakegateError):
    """The world refused or did not answer."""


class NotFound(PortError):  # noqa: N818 - the name says what the world said
    """The object version, row or job run is not there."""


class ConditionFailed(PortError):  # noqa: N818 - likewise
    """A condition did not hold and nothing was written; `reasons` has one entry for each item of the transaction."""

    def __init__(self, *reasons: str) -> None:
        super().__init__(", ".join(reasons))
        self.reasons = reasons


class IdempotencyMismatch(PortError):  # noqa: N818 - likewise
    """A token was used before with another content; nothing was written."""


class Unfinished(PortError):  # noqa: N818 - likewise
    """A copy in several parts ran out of time; what is copied stays, calling again goes on with it."""


class Throttled(PortError):  # noqa: N818 - likewise
    """Refused for now; nothing was done."""


class TransactionConflict(PortError):  # noqa: N818 - likewise
    """Another request was on the same rows or key; nothing was written."""


class Unanswered(PortError):  # noqa: N818 - likewise
    """No answer came: the effect may or may not have happened."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where an object is; without `version`, the current one."""

    bucket: str
    key: str
    version: str | None = None


@dataclass(frozen=True, slots=True)
class ObjectVersion:
    """One version of one object as the store describes it. Delete markers are never described."""

    bucket: str
    key: str
    version: str
    """`null` where the bucket was not versioned when the object was written."""
    etag: str
    size: int
    """Bytes."""
    checksum: str
    """`<algorithm>:<value>` of the full object; empty where the writer gave none."""
    modified: datetime
    current: bool = True
    """The version a read without version id would see."""


@dataclass(frozen=True, slots=True)
class Page:
    """Some versions of a listing and where it goes on; `after` is None on the last page."""

    versions: tuple[ObjectVersion, ...]
    after: str | None


class ObjectReader(Protocol):
    """S3, read. Strongly consistent."""

    def head(self, address: Address) -> ObjectVersion:
        """Describe one version. Raises NotFound (also for a delete marker)."""
        ...

    def read(self, address: Address, start: int = 0, length: int | None = None) -> bytes:
        """Up to `length` bytes from `start`. Raises NotFound."""
        ...

    def versions(self, bucket: str, prefix: str, after: str | None = None, limit: int = 1000) -> Page:
        """List versions by key, newest first within a key, going on behind `after`, the opaque end of a page."""
        ...


class ObjectWriter(Protocol):
    """S3, written."""

    def put(self, to: Address, body: bytes, *, absent: bool = False, etag: str | None = None) -> ObjectVersion:
        """Write an object. `absent`: If-None-Match `*`; `etag`: If-Match.

        Raises ConditionFailed (412), TransactionConflict (409), Throttled.
        """
        ...

    def copy(self, source: Address, etag: str, to: Address, *, absent: bool = False) -> ObjectVersion:
        """Copy one version whose ETag is `etag`; `absent`: If-None-Match `*` on the destination.

        Raises NotFound (no such source version), ConditionFailed (another ETag, or the destination exists), Unfinished.
        """
        ...

    def delete(self, address: Address) -> None:
        """Delete: with a version that version for ever, without one by a delete marker. Absent is done."""
        ...


class ObjectStore(ObjectReader, ObjectWriter, Protocol):
    """The two buckets."""


@dataclass(frozen=True, slots=True)
class Publication:
    """One contract version made valid: all its routes, in one transaction (at most 99)."""

    contract: str
    version: str
    status: str
    document: str
    """Where the document lies in the lake bucket."""
    routes: tuple[Route, ...]
    retired: tuple[str, ...] = ()
    """Prefixes whose route this publication takes away."""
    plans: tuple[tuple[str, str], ...] = ()
    """Each dataset with the digest of its plan, so that a later route needs no compiler."""
    unmeasured_rules: int = 0
    """How many of its rules can never be measured; whoever published it allowed that."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """All that the registry holds."""

    versions: tuple[Publication, ...] = ()
    """Without routes: those stand beside, as they are now."""
    routes: tuple[Route, ...] = ()


class Registry(Protocol):
    """Contracts and their routes."""

    def routes(self, bucket: str, prefixes: tuple[str, ...]) -> tuple[Route, ...]:
        """The routes that stand at these prefixes (at most 100): one strongly consistent batch."""
        ...

    def publish(self, publication: Publication) -> None:
        """Write version item and routes in one transaction.

        Raises ConditionFailed when the version is published with another content, or a prefix belongs to another line.
        """
        ...

    def shelf(self) -> Shelf:
        """Everything, for people: item by item, so it is no snapshot, but what was there before the call is in it."""
        ...


@dataclass(frozen=True, slots=True)
class Expected:
    """The fence of every write on a workload: what its row must still say."""

    state: State
    attempt: int


class Workloads(Protocol):
    """The rows of workloads. `get` is strongly consistent."""

    def create(self, workload: Workload) -> None:
        """Put if absent. Raises ConditionFailed when the id is taken."""
        ...

    def get(self, workload: str) -> Workload:
        """The row. Raises NotFound."""
        ...

    def save(
        self, workload: Workload, expected: Expected, *, message: Message | None = None, content: str | None = None
    ) -> None:
        """Replace the row if it still stands at `expected`, together with an outbox row and a claim on a content.

        `content` is put if absent or already this workload's. All or nothing. ConditionFailed.reasons has one entry
        each for row, message and content, in this order: `""` where it held, else `state` or `content`.
        """
        ...

    def lease(self, workload: Workload, until: datetime) -> None:
        """Move `due_at` to `until` if it still is what `workload` says. Raises ConditionFailed."""
        ...


class Agenda(Protocol):
    """What is due, by a sharded, sparse index that lags behind the rows: every find is re-read by key."""

    def due(self, now: datetime, limit: int) -> tuple[str, ...]:
        """Ids of workloads whose `due_at` is not after `now`, the oldest first."""
        ...

    def owner(self, content: str) -> str | None:
        """The workload that has claimed this content; strongly consistent."""
        ...

    def cursor(self, name: str) -> str | None:
        """Where a listing stopped the last time; None: start anew."""
        ...

    def keep(self, name: str, cursor: str | None) -> None:
        """Remember where a listing stopped."""
        ...


class Outbox(Protocol):
    """Messages written together with what they tell of; listed by an index that lags."""

    def pending(self, limit: int) -> tuple[Message, ...]:
        """Messages not yet marked, the oldest first."""
        ...

    def sent(self, message: Message) -> None:
        """Mark as sent. Marking twice is done."""
        ...


@dataclass(frozen=True, slots=True)
class Head:
    """The top of a chain: height -1 and GENESIS before the first block."""

    height: int
    digest: str


class Ledger(Protocol):
    """The chains of blocks."""

    def head(self, chain: str) -> Head:
        """The top of the chain; strongly consistent."""
        ...

    def blocks(self, chain: str, above: int = -1) -> tuple[Block, ...]:
        """The blocks above a height, in order; strongly consistent."""
        ...

    def texts(self, chain: str) -> Iterator[bytes]:
        """Every block as it is stored, lowest first, read page by page: what `contracts.ledger.verify_stored` is given."""
        ...

    def commit(self, block: Block, workload: Workload, expected: Expected, message: Message) -> None:
        """**The commit**: terminal row, block, new head and outbox row in one transaction.

        Conditions: the row stands at `expected` and carries the same result digest; the head is `block.previous` at
        `block.height - 1`; the block is absent. ConditionFailed.reasons: one entry each for row and head, `""` where it
        held, else `state` or `head`. Raises TransactionConflict, IdempotencyMismatch. The token is of the content.
        """
        ...


class JobState(StrEnum):
    """Where a job run is; everything else before an end is RUNNING."""

    QUEUED = "QUEUED"
    """It waits for its turn: the application's limit of runs at once is reached. EMR itself ends a wait that is too long."""
    RUNNING = "RUNNING"
    SUCCESS = "SUCCESS"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


@dataclass(frozen=True, slots=True)
class JobRun:
    """One job run as EMR Serverless describes it; events name a run by its id only, `name` is the workload."""

    name: str
    state: JobState
    queued: timedelta = timedelta()
    """How long it waited for its turn."""


class JobRunner(Protocol):
    """EMR Serverless."""

    def start(self, request: Mapping[str, object]) -> str:
        """StartJobRun, the request as stored; the same clientToken again answers the same run.

        Returns the run's id. Raises IdempotencyMismatch (ConflictException), Throttled.
        """
        ...

    def describe(self, run: str) -> JobRun:
        """GetJobRun. Raises NotFound."""
        ...

    def cancel(self, run: str) -> None:
        """Ask the run to end; an ended or unknown run is done."""
        ...


class Notifier(Protocol):
    """Where messages go: at least once, with the message's id as idempotency key."""

    def send(self, message: Message) -> None:
        """Hand over one message. Raises Throttled."""
        ...


class Clock(Protocol):
    """Time, and the only way to let it pass."""

    def now(self) -> datetime:
        """Aware, UTC."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class Verdict(StrEnum):
    """What the gate says of a delivery."""

    ACCEPTED = "accepted"
    ACCEPTED_WITH_WARNINGS = "accepted_with_warnings"
    REJECTED = "rejected"
    UNDECIDED = "undecided"


class Judgement(Protocol):
    """What the pure verdict of contracts/ says."""

    @property
    def verdict(self) -> str:
        """One of Verdict."""
        ...

    @property
    def reasons(self) -> tuple[str, ...]:
        """Rule, field and message; masked."""
        ...

    @property
    def counts(self) -> Counts | None:
        """Rows and checks, in numbers."""
        ...


class Judge(Protocol):
    """The verdict as a function of plan and result."""

    def __call__(self, plan: bytes, result: bytes) -> Judgement:
        """Raises LakegateError where either is not what its schema says."""
        ...
