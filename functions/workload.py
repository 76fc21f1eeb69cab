"""A workload: one delivery on its way through the gate, as its row remembers it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from lakegate.contracts.lake.failures import FailureCause as FailureCause  # noqa: PLC0414, TC001 - likewise
from lakegate.contracts.lake.states import State as State  # noqa: PLC0414 - every caller has it from here

if TYPE_CHECKING:
    from datetime import datetime

    from lakegate.contracts.judge.counts import BrokenRule, Counts
    from lakegate.contracts.lake.answers import ApprovalAnswer
    from lakegate.contracts.lake.versions import ChosenVersion
    from lakegate.contracts.lake.waiver import Waiver
    from lakegate.contracts.plan.billing import BilledCost
    from lakegate.contracts.plan.slices import StateRun


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


@dataclass(frozen=True, slots=True)
class Referred:
    """A line that the rules of a plan refer to, as high as it was at intake: what is accepted later changes no verdict."""

    line: str
    height: int
    """Of its topmost block; -1 where there is none."""


@dataclass(frozen=True, slots=True)
class Pin:
    """What was fixed at intake and never changes while this round of attempts lasts."""

    chain: str
    """`<contract>/<dataset>_v<major>`, or `_unrouted/<date>`; names the folder and the ledger's chain."""
    contract: str = ""
    version: str = ""
    """Of the contract; empty where no route covers the key."""
    plan: str = ""
    """Digest of the plan."""
    status: str = ""
    """Of version and line at the judging time, the stricter one (`lakegate.contracts.lake.lifecycle.LineStatus`)."""
    ingest_date: str = ""
    """UTC date of the version's LastModified."""
    judging_time: str = ""
    """RFC 3339, UTC; what "now" means to rules."""
    references: tuple[Referred, ...] = ()
    prefix: str = ""
    """Of the route, by which its producer is known; empty in rows of older releases."""
    known: bool = True
    """Whether the line had accepted a delivery of this producer; asked only if the line was in sunset."""
    warning: str = ""
    """What the delivery is warned of because of the status; empty if of nothing."""
    modified: str = ""
    """When what landed was modified, or its last part was there: RFC 3339, UTC, six decimals; empty in rows of older releases."""


@dataclass(frozen=True, slots=True)
class Enforced:
    """What enforcement would have made of a delivery that was only observed."""

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
    offsets: tuple[int, int] | None = None
    """Of the first row of its slices, and after the last; None without slices."""
    watermarks: tuple[str, str] = ("", "")
    """Of its line, by which it was judged, and from its slices on; empty: none."""
    before: tuple[StateRun, ...] = ()
    """The merge state of its line, with which its rows were compared."""
    runs: tuple[StateRun, ...] = ()
    """That from its slices on."""
    enforced: Enforced | None = None
    """What `mode: enforce` would have decided; None where it was the mode."""


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """An attempt that came to nothing."""

    number: int
    """As `Workload.attempt` counts."""
    run: str
    """Job run id; empty where none was started."""
    cause: FailureCause
    at: datetime
    """When the gate found out."""


class Workload(NamedTuple):
    """The row."""

    id: str
    source: SourceObject
    state: State
    due_at: datetime | None
    """When `sweep` continues it; None once nothing is left to do. Also the lease: a worker moves it to take the workload."""
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
    """What completes a delivery of several objects: `success`, `manifest` or `quiet`; empty for one object."""
    parts: SourceObject | None = None
    """The list of such a delivery's parts, with the size and the checksum of their content; None before it is complete."""
    joined: str = ""
    """Of a part: the delivery that it belongs to. Of an announcement: the workload of what landed at its key."""
    held: str = ""
    """The line that was paused when it was taken in; in the state HELD `due_at` is when it arrived."""
    batch: str = ""
    """Id of the batch that the current attempt belongs to; empty: it has a run of its own."""
    landed: SourceObject | None = None
    """What once landed, where the source is a quarantined copy: its key finds the route."""
    chosen: ChosenVersion | None = None
    """The contract version that a person chose for a replay; None: the one that is valid."""
    waiver: Waiver | None = None
    """By which it is let through, unjudged."""
    candidate: Decision | None = None
    """What was judged, until a person has answered whether it is decided so, and its time has come."""
    answer: ApprovalAnswer | None = None
    unknown: str = "{}"
    """What a newer release has put into the row beside this, as JSON: it is written again as it was."""
    tries: int = 0
    """How many workers have taken it since its row was last written, and were not seen to come to an end."""


@dataclass(frozen=True, slots=True)
class Message:
    """An outbox row: what happened to a workload or to a line, to be sent at least once."""

    id: str
    """Idempotency key."""
    workload: str
    """Empty if it is about a line."""
    kind: str
    """Of a workload the end, or `awaiting`, in small letters; of a line its status, `planned` or `breaking`."""
    body: str
    """JSON; never producer text beyond ids."""
    at: datetime
    line: str = ""
    """Empty if it is about a workload."""


def workload_id(bucket: str, key: str, version: str) -> str:
    """The id of the delivery: the same for every event about one version."""
    return hashlib.sha256(f"{bucket}\0{key}\0{version}".encode()).hexdigest()


def replay_id(workload: str) -> str:
    """The id of the replay of a quarantined workload: one for each, because what came of it is replayed next."""
    return hashlib.sha256(f"{workload}:replay:1".encode()).hexdigest()


def producer_id(line: str, prefix: str) -> str:
    """The id of the producer who delivers to a line below the route of a prefix."""
    return hashlib.sha256(f"{line}\0{prefix}".encode()).hexdigest()


def job_token(workload: str, attempt: int) -> str:
    """StartJobRun's clientToken: one for each attempt, 64 characters."""
    return hashlib.sha256(f"{workload}:{attempt}".encode()).hexdigest()
