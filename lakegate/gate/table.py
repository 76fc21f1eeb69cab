"""The ports of what the gate keeps in tables, and the records that they take: one Protocol for each subject."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from lakegate.gate.ledger.blocks import Head, Record
from lakegate.gate.ports import Message
from lakegate.verdict.verdict import BrokenRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from lakegate.gate.delivery.delivery_row import Enforced, Workload
    from lakegate.gate.delivery.protocol import State
    from lakegate.gate.ledger.blocks import AnyBlock, Block
    from lakegate.gate.ledger.signatures import SignedText

# ---- Agenda, content claims and cursors ----


class Agenda(Protocol):
    """Due rows, by a sharded, sparse index that lags behind the rows: every find is re-read by key."""

    def due(self, now: datetime, limit: int) -> tuple[str, ...]:
        """Ids of workloads whose `due_at` is not after `now`, the oldest first."""
        ...

    def owner(self, content: str) -> str | None:
        """The workload that has claimed this content; strongly consistent."""
        ...

    def cursor(self, name: str) -> str | None:
        """The place where a listing stopped the last time; None: start at the beginning."""
        ...

    def keep(self, name: str, cursor: str | None) -> None:
        """Remember where a listing stopped."""
        ...

    def keep_first(self, name: str, cursor: str) -> str:
        """Keep a cursor unless there is one; the one that is kept then."""
        ...

    def reserve_start(self, now: datetime, interval: timedelta, burst: int) -> datetime:
        """Reserve the start of one job run: the time from which it may be sent, `now` or later.

        A token bucket of all workers together: `burst` tokens, one more after each interval. Starts that find no token get
        the times at which the next ones will be there, first come, first served.
        """
        ...


# ---- Rows of workloads ----


class Expected(NamedTuple):
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
        self,
        workload: Workload,
        expected: Expected,
        *,
        message: Message | None = None,
        content: str | None = None,
        accepted: bool = False,
    ) -> None:
        """Replace the row if it is still at `expected`, together with an outbox row and a claim on a content.

        `content` is put if absent or already this workload's. `accepted`: the producer of the pin is marked as known to
        the line. All or nothing. ConditionFailed.reasons has one entry each for row, message, content and pause, in this
        order: `""` where it held, else `state`, `content` or `pause`. The pause of its line
        (`lakegate.gate.datasets.pauses`) decides whether a row becomes HELD or PINNED.

        A decision with slices is written only at the next offset of its line, by its watermark
        and its merge state, and while no other one is DECIDED there; else the last
        reason is `turn`.
        `Ledger.commit` lets the next one in.
        """
        ...

    def lease(self, workload: Workload, until: datetime, tries: int = 0) -> None:
        """Set `due_at` to `until`, and `tries`, if `due_at` is still that of `workload`. Raises ConditionFailed."""
        ...


# ---- Messages, pauses, batches, ledger and history ----


class Outbox(Protocol):
    """Messages, written in the transaction of the state that they describe; listed by an index that lags."""

    def add(self, message: Message) -> bool:
        """Put a message of its own, of no state, if there is none with its id. Returns whether there was none."""
        ...

    def pending(self, limit: int) -> tuple[Message, ...]:
        """Messages not yet marked, the oldest first."""
        ...

    def sent(self, message: Message) -> None:
        """Mark as sent. Marking twice is done."""
        ...


LONG: Final = timedelta(days=3)
"""A pause that lasts longer may have been forgotten: an operator is told of it."""


@dataclass(frozen=True, slots=True)
class Pause:
    """A paused line; also one that was resumed, until all that was held is judged."""

    line: str
    since: datetime
    by: str
    """The ARN of the caller."""
    reason: str = ""
    held: int = 0
    """Workloads in the state HELD: counted in the transactions that change that state."""
    resumed: datetime | None = None

    def is_long(self, now: datetime) -> bool:
        """Whether it has lasted so long that it may have been forgotten."""
        return self.resumed is None and now - self.since > LONG


class Pauses(Protocol):
    """Paused lines. `listed` and `held` read an index that lags; all else is strongly consistent.

    Workloads.save holds a delivery only while its line is paused or being resumed, pins one only while neither is the case,
    and lets one go only while its line is being resumed.
    """

    def pause_of(self, line: str) -> Pause | None:
        """The pause of a line; None where there is none."""
        ...

    def listed(self) -> tuple[str, ...]:
        """Lines with a pause, the oldest first."""
        ...

    def held(self, line: str, limit: int) -> tuple[str, ...]:
        """Ids of the workloads that are held, in order of arrival."""
        ...

    def begin(self, pause: Pause) -> None:
        """Pause a line, also one that is being resumed; what is held stays counted. Raises ConditionFailed if it is paused."""
        ...

    def resume(self, line: str, at: datetime) -> None:
        """Let the sweep judge what is held. Raises ConditionFailed if the line is not paused."""
        ...

    def end(self, line: str) -> None:
        """Remove the pause. Raises ConditionFailed unless the line was resumed and nothing is held."""
        ...


class Member(NamedTuple):
    """An attempt of a workload, in a batch."""

    workload: str
    attempt: int
    size: int
    """Bytes."""


class Batch(NamedTuple):
    """A batch. It is open until a request is stored with it; after that its members never change."""

    id: str
    files: int
    """The most members."""
    bytes: int
    """With so many bytes, or more, it takes no further member."""
    closes_at: datetime
    """After this time the next worker that reads it closes it."""
    members: tuple[Member, ...] = ()
    request: str = ""
    """The whole request of StartJobRun as JSON, stored when the batch was closed."""
    run: str = ""
    """Id of its job run, once that is known."""

    @property
    def is_full(self) -> bool:
        """Whether it takes no further member."""
        return len(self.members) >= self.files or sum(each.size for each in self.members) >= self.bytes


class Batches(Protocol):
    """The items of batches. `get` is strongly consistent."""

    def get(self, batch: str) -> Batch:
        """The batch. Raises NotFound."""
        ...

    def join(self, batch: Batch, member: Member) -> None:
        """Add a member; the first one creates the batch, with the limits of `batch`, which are ignored afterwards.

        Raises ConditionFailed where it is closed or full, or has the member.
        """
        ...

    def close(self, batch: Batch, request: str) -> None:
        """Store the request, if the batch is open and has exactly the members of `batch`. Raises ConditionFailed."""
        ...

    def started(self, batch: str, run: str) -> None:
        """Store the id of the job run."""
        ...


class CommittedBlock(NamedTuple):
    """The place of the one block of a delivery."""

    chain: str
    height: int


class Ledger(Protocol):
    """The chains of blocks."""

    def head(self, chain: str) -> Head:
        """The top of the chain; strongly consistent."""
        ...

    def heads(self, chains: Sequence[str]) -> tuple[Head, ...]:
        """The tops of these chains, in their order; each strongly consistent, but not of one moment. Raises Throttled."""
        ...

    def digests(self, places: Sequence[tuple[str, int]]) -> tuple[str, ...]:
        """The digest of the block at each chain and height, computed of what is stored; empty where there is none. As `heads`."""
        ...

    def blocks(self, chain: str, above: int = -1, *, strict: bool = True) -> tuple[AnyBlock, ...]:
        """The blocks above a height, in order; strongly consistent.

        Raises UnreadableItem where one is no block. Not `strict`: it is left out.
        """
        ...

    def texts(self, chain: str) -> Iterator[bytes]:
        """Every block as it is stored, lowest first, read page by page."""
        ...

    def signed(self, chain: str) -> Iterator[SignedText]:
        """Likewise, each with its signature: what `lakegate.gate.ledger.verification.verify_signed` is given."""
        ...

    def key(self, chain: str) -> str:
        """The fingerprint of the key that signs the chain, empty before its first record of one; strongly consistent."""
        ...

    def committed(self, workload: str) -> CommittedBlock | None:
        """The place of the block of a delivery; None before it is committed. Strongly consistent."""
        ...

    def commit(self, block: Block, workload: Workload, expected: Expected, message: Message) -> None:
        """**The commit**: terminal row, block, new head, outbox row, and what `committed` answers, in one transaction.

        Conditions: the row is at `expected` and carries the same result digest; the head is `block.previous` at
        `block.height - 1`; the block is absent; no block of the delivery is committed, whatever its row says.
        ConditionFailed.reasons: one entry each for row and head, `""` where it held, else `state` or `head`; where the delivery
        is committed, a third entry, `repeated`. A delivery with slices also needs the turn of its line, and ends it; without it
        there is a further entry, `turn`. Raises TransactionConflict, IdempotencyMismatch. The token is of the content.

        In a stack that signs, the block is written with its signature. Raises SigningDenied.
        """
        ...

    def append(self, record: Record) -> None:
        """Record and new head in one transaction.

        Conditions: the head is `record.previous` at `record.height - 1`; no chain has a record of the same event.
        ConditionFailed.reasons: one entry each, `""` where it held, else `head` or `event`. Raises TransactionConflict.

        A record that names a key is written with its signature, by the key that it replaces or, of the first, by itself; from
        then on `key` answers with it. Raises SigningDenied.
        """
        ...


class HistoryEntry(NamedTuple):
    """One finished delivery, as the index describes it."""

    height: int
    at: str
    """RFC 3339, UTC: when its block was written."""
    workload: str
    kind: str
    """Of its block: `published`, `quarantined`."""
    verdict: str
    version: str
    """Of the contract; empty where no route covers the key."""
    rows: int | None = None
    """None where nothing was measured."""
    rejected_rows: int | None = None
    """Rows that were kept out of the accepted data."""
    rules: tuple[BrokenRule, ...] = ()
    """Those that failed or warned, the worst first."""
    enforced: Enforced | None = None
    """The decision of `mode: enforce`; None where it was the mode."""
    producer: str = ""
    """The folder of the landing bucket: text of the producer's. Empty for a block of an earlier release."""
    indexed: bool = True
    """False for a block of an earlier release: it is found by height alone, and its rules are not known."""


class History(Protocol):
    """The finished deliveries of each line, written in the transaction that commits them."""

    def entries(
        self, chain: str, *, rule: str = "", verdict: str = "", below: int | None = None, limit: int = 100
    ) -> tuple[HistoryEntry, ...]:
        """At most `limit` deliveries of a line below a height, the newest first; strongly consistent.

        With a rule or a verdict only those that break it, or have it: a query of its own key, not a filter. At most one of both.
        """
        ...
