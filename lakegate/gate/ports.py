"""Interfaces to AWS: objects, jobs, messages, clock, keys, caller."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import repeat
from typing import Final, NamedTuple, Protocol

# ---- Clock ----


class Clock(Protocol):
    """Time, and the only way to let it pass."""

    def now(self) -> datetime:
        """Aware, UTC."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait, which the simulation skips."""
        ...


# ---- Identity of the caller ----


class Identity(Protocol):
    """The caller, by AWS: never by a contract, an argument or a variable."""

    def caller(self) -> str:
        """The ARN of the caller's user or assumed role. Raises PortError."""
        ...


# ---- Runs of attempts ----


INVOCATION = "lambda/"
"""The beginning of an invocation's name. Ids of job runs are letters and digits (EMR Serverless API, JobRunId)."""


class JobState(StrEnum):
    """The state of a run; everything else before an end is RUNNING."""

    QUEUED = "QUEUED"
    """It waits for its turn: the application's limit of runs at once is reached. EMR itself ends a wait that is too long."""
    RUNNING = "RUNNING"
    SUCCESS = "SUCCESS"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    INVOKED = "INVOKED"
    """An invocation, whose progress Lambda does not report. It may still answer until its deadline."""


@dataclass(frozen=True, slots=True)
class JobRun:
    """One run; events of EMR Serverless name it by its id only, `name` is the workload."""

    name: str
    state: JobState
    queued: timedelta = timedelta()
    """The time that it waited for its turn."""
    started: bool = True
    """Whether it ever was RUNNING; one that only waited did nothing."""
    billed: tuple[float, float] | None = None
    """vCPU-hours and GB-hours that were billed; None while that is not known."""


class JobRunner(Protocol):
    """EMR Serverless, and the judge function."""

    def start(self, request: Mapping[str, object]) -> str:
        """StartJobRun, or Invoke for a request with `FunctionName`: the request as stored.

        The same clientToken again returns the same run. An invocation has no token: it is made again, under the same
        name, and both write one result. Returns the run's id.
        Raises IdempotencyMismatch (the token was used with another request), Throttled (also while the application
        starts, stops or is updated), NotFound (no such function or application).
        """
        ...

    def describe(self, run: str) -> JobRun:
        """GetJobRun; an invocation is INVOKED. Raises NotFound."""
        ...

    def cancel(self, run: str) -> None:
        """Cancel the run; does nothing for an invocation, and for an ended or unknown run."""
        ...


def invocation(workload: str, attempt: int) -> str:
    """The name of the invocations of an attempt: the same for each of them."""
    return f"{INVOCATION}{workload}/{attempt}"


def names_invocation(run: str) -> bool:
    """Whether a run is an invocation of the judge function."""
    return run.startswith(INVOCATION)


def is_invocation(request: Mapping[str, object]) -> bool:
    """Whether a stored request invokes the judge function."""
    return "FunctionName" in request


# ---- Messages ----


class Notifier(Protocol):
    """The destination of messages: at least once, with the message's id as idempotency key."""

    def send(self, messages: Sequence[Message]) -> frozenset[str]:
        """Hand over at most ten messages, in order; ids of those that were not taken. One alone raises why, such as Throttled."""
        ...


# ---- Objects of the two buckets ----


class Address(NamedTuple):
    """The address of an object; without `version`, of the current one."""

    bucket: str
    key: str
    version: str | None = None


class ObjectVersion(NamedTuple):
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
    """Last-Modified: of an object that came in parts, when its upload began. It may have been there much later."""
    current: bool = True
    """The version a read without version id would see."""
    corrects: str = ""
    """The delivery that it corrects, as its writer states it in its metadata: any text. Listings have none."""

    @property
    def came_in_parts(self) -> bool:
        """Whether it was uploaded in parts: the ETag of such an object ends with their number (S3 guide, ETag)."""
        return "-" in self.etag


CORRECTS: Final = "lakegate-corrects"
"""The name of that member of the metadata."""


def agree(one: str, other: str) -> bool:
    """Whether two checksums show no difference. Those of different algorithms cannot be compared."""
    return one == other or one.partition(":")[0] != other.partition(":")[0]


class VersionPage(NamedTuple):
    """Some versions of a listing and where it continues; `after` is None on the last page.

    A page may have fewer versions than were asked for, and none where it has delete markers only: others follow it.
    """

    versions: tuple[ObjectVersion, ...]
    after: str | None
    last: str = ""
    """The key where this page ends, of a version or of a delete marker; empty on the last page (S3: NextKeyMarker)."""


class ObjectReader(Protocol):
    """S3, read. Strongly consistent."""

    def head(self, address: Address) -> ObjectVersion:
        """Describe one version. Raises NotFound (also for a delete marker)."""
        ...

    def read(self, address: Address, start: int = 0, length: int | None = None) -> bytes:
        """Up to `length` bytes from `start`. Raises NotFound."""
        ...

    def versions(self, bucket: str, prefix: str, after: str | None = None, limit: int = 1000) -> VersionPage:
        """List versions by key, newest first within a key, going on behind `after`, the opaque end of a page."""
        ...

    def entries(self, bucket: str, prefix: str) -> tuple[str, ...]:
        """Current objects directly below a prefix, and the folders there that have one, which end with `/`; sorted."""
        ...


def every_version(objects: ObjectReader, bucket: str, prefix: str, pages: int | None = None) -> Iterator[ObjectVersion]:
    """The versions below a prefix, page by page, as `ObjectReader.versions` lists them; of at most so many pages."""
    after: str | None = None
    for _ in range(pages) if pages is not None else repeat(None):
        page = objects.versions(bucket, prefix, after)
        yield from page.versions
        after = page.after
        if after is None:
            return


class ObjectWriter(Protocol):
    """S3, written."""

    def put(  # noqa: PLR0913 - the request has these parts
        self,
        to: Address,
        body: bytes,
        *,
        absent: bool = False,
        etag: str | None = None,
        tag: str = "",
        content_type: str = "",
    ) -> ObjectVersion:
        """Write an object. `absent`: If-None-Match `*`; `etag`: If-Match; `tag`: of the name `lakegate`, for lifecycle rules.

        `content_type`: as which a browser gets it; empty: bytes.

        Raises ConditionFailed (412), TransactionConflict (409), Throttled.
        """
        ...

    def copy(self, source: Address, etag: str, to: Address, *, absent: bool = False, tag: str = "") -> ObjectVersion:
        """Copy one version whose ETag is `etag`; `absent`: If-None-Match `*` on the destination; `tag`: as of `put`.

        The copy has a checksum of the whole object that identifies its content: the source's own (SHA-256, SHA-1, CRC-64/NVME)
        where the store can compute it of a copy of this size, else CRC-64/NVME.
        Raises NotFound (no such source version), ConditionFailed (another ETag, or the destination exists), Unfinished.
        """
        ...

    def delete(self, address: Address) -> None:
        """Delete: with a version that version for ever, without one by a delete marker. Absent is done."""
        ...


class ObjectStore(ObjectReader, ObjectWriter, Protocol):
    """The two buckets."""


# ---- Keys that sign the ledger ----


class SigningKey(Protocol):
    """A private key of Ed25519 that nobody can read."""

    @property
    def arn(self) -> str:
        """Its name in its store."""
        ...

    def public_key(self) -> bytes:
        """Its SubjectPublicKeyInfo."""
        ...

    def sign(self, text: bytes) -> bytes:
        """The signature of a text, the same one each time. Raises SigningDenied."""
        ...


class SigningKeys(NamedTuple):
    """Those of a stack; none of a stack that signs nothing."""

    current: SigningKey | None = None
    replaced: SigningKey | None = None
    """The one before: it signs the records that name the current one."""


UNSIGNED: Final = SigningKeys()
"""Of a stack without a key."""


@dataclass(frozen=True, slots=True)
class Message:
    """An outbox row: what happened to a workload or to a dataset, to be sent at least once."""

    id: str
    """Idempotency key."""
    workload: str
    """Empty if it is about a dataset."""
    kind: str
    """Of a workload the end, or `awaiting`, in small letters; of a line its status, `planned` or `breaking`."""
    body: str
    """JSON; never producer text beyond ids."""
    at: datetime
    dataset: str = ""
    """Empty if it is about a workload."""
