"""Deliveries, messages, pauses and batches as rows of the table of workloads, and their conditional writes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple, Protocol

from lakegate.base.errors import ConditionFailed, NotFound, Throttled, UnreadableItem
from lakegate.base.extension_points import load_extensions
from lakegate.gate.delivery.delivery_row import (
    Workload,
    held_shard,
    producer_id,
    workload_key,
    workload_of,
    workload_row,
)
from lakegate.gate.delivery.protocol import State
from lakegate.gate.ports import Message, ObjectVersion
from lakegate.gate.table import (
    MOST_WRITES,
    AllOf,
    AnyOf,
    AtLeast,
    Below,
    CheckRow,
    Condition,
    ConditionName,
    Delete,
    Equals,
    Has,
    HasLength,
    Lacks,
    Put,
    Row,
    RowAbsent,
    RowExists,
    RowKey,
    Shorter,
    Tables,
    Update,
    Without,
    Write,
    all_readable,
    batched_rows,
    due_at,
    instant,
    read_row,
    workloads_key,
)

# ---- Deliveries ----


class Expected(NamedTuple):
    """The fence of every write on a workload: what its row must still say."""

    state: State
    attempt: int
    passed: int = 0
    """The number of own states of its workflow that it has entered: with it, what is expected never comes again."""

    @classmethod
    def of(cls, workload: Workload) -> Expected:
        """What a row says that was read."""
        return cls(workload.state, workload.attempt, len(workload.passed))


def fenced(expected: Expected) -> Condition:
    """State, attempt and number of own states of a row are what its writer read."""
    passed = (Equals("passed", expected.passed),) if expected.passed else ()
    return AllOf(Equals("state", str(expected.state)), Equals("attempt", expected.attempt), *passed)


class RowConditions(Protocol):
    """Writes of a feature in the transactions of a row (reason `turn`): a row of the extension point `row conditions`."""

    def decided(self, workload: Workload, expected: Expected) -> list[Write]:
        """Those that belong to the write of a decision; none for other writes."""
        ...

    def committed(self, workload: Workload) -> list[Write]:
        """Those that belong to the commit."""
        ...


@dataclass(frozen=True, slots=True)
class Workloads:
    """The rows of workloads."""

    table: Tables
    archived: Callable[[str], Workload | None] = lambda _: None
    """The row of a finished delivery that has left the table."""

    def create(self, workload: Workload) -> None:
        """Put if absent. Raises ConditionFailed when the id is taken."""
        self.table.write(Put(workload_row(workload), RowAbsent(), ConditionName.STATE))

    def get(self, workload: str) -> Workload:
        """The row, also an archived one. Raises NotFound."""
        row = self.find(workload)
        if row is None:
            raise NotFound(workload)
        return row

    def find(self, workload: str) -> Workload | None:
        """The row, also an archived one; None where there is none."""
        return self.claimed(workload) or self.archived(workload)

    def claimed(self, workload: str) -> Workload | None:
        """The row in the table: that of whatever is in the landing bucket, because its row does not leave the table before."""
        return read_row(self.table, workload_key(workload), workload_of)

    def knows(self, dataset: str, prefix: str) -> bool:
        """Whether a delivery to a dataset was accepted before that landed below the route of this prefix."""
        return self.table.get(producer_key(dataset, prefix)) is not None

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
        the dataset. All or nothing. Raises ConditionFailed with `state`, `content` or `pause`: the pause of its dataset decides
        whether a row becomes HELD or PINNED.

        A decision with slices (`Decision.offsets`) is written only at the next offset of its dataset, by its watermark
        (`Decision.watermarks`) and its merge state (`Decision.before`), and while no other one is DECIDED there; else a
        reason is `turn`. `Ledger.commit` lets the next one in.
        """
        writes: list[Write] = [Put(workload_row(workload), fenced(expected), ConditionName.STATE)]
        if message:
            writes.append(Put(message_row(message)))
        if content:
            claim = Row(workloads_key("content", content), {"owner": workload.id})
            writes.append(Put(claim, AnyOf(RowAbsent(), Equals("owner", workload.id)), ConditionName.CONTENT))
        if accepted:  # without a condition: whichever accepted delivery is named, there is one
            writes.append(
                Put(Row(producer_key(workload.pinned.dataset, workload.pinned.prefix), {"owner": workload.id}))
            )
        writes += _pause_writes(workload, expected)
        conditions: Iterator[RowConditions] = load_extensions("row conditions")
        writes += [write for condition in conditions for write in condition.decided(workload, expected)]
        self.table.transact(writes)

    def lease(self, workload: Workload, until: datetime, tries: int = 0) -> None:
        """Set `due_at` to `until`, and `tries`, if `due_at` is still that of `workload`. Raises ConditionFailed."""
        if workload.due_at is None:
            raise ConditionFailed(ConditionName.ROW)
        changes = {"at": instant(until), "tries": tries}
        seen = Equals("at", instant(workload.due_at))
        self.table.write(Update(workload_key(workload.id), sets=changes, if_=seen))


def producer_key(dataset: str, prefix: str) -> RowKey:
    """The key of the mark that a delivery of a producer to a dataset was accepted."""
    return workloads_key("producer", producer_id(dataset, prefix))


# ---- When objects of folders were there ----


ARRIVAL_LIFE: Final = timedelta(days=90)
"""The time for which an arrival is kept: parts wait for their delivery for a week at most."""


class ObjectArrival(NamedTuple):
    """When an object was there, as far as anybody knows."""

    seen: datetime
    """The first time that a worker found it: it was there then, and perhaps long before."""
    announced: datetime | None = None
    """The time of its event, which is when it was there; None: nobody got the event so far."""

    def time_of(self, version: ObjectVersion) -> datetime:
        """When a version arrived: the time of its event.

        Without one: Last-Modified of an object that came in one request; of one that came in parts, whose Last-Modified is when
        that began, the first sighting.
        """
        return self.announced or (self.seen if version.came_in_parts else version.modified)


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Arrivals of the objects of folders, by the ids that they have as workloads.

    That of an object that is a delivery by itself is in its row.
    """

    table: Tables

    def note(self, workload: str, seen: datetime, announced: datetime | None = None) -> None:
        """Keep the time of the event, and that of a sighting unless there was one before."""
        sets = {"announced": instant(announced)} if announced else {}
        defaults = {"seen": instant(seen), "expires": int((seen + ARRIVAL_LIFE).timestamp())}
        self.table.write(Update(arrival_key(workload), sets=sets, defaults=defaults))

    def of(self, workloads: Iterable[str]) -> dict[str, ObjectArrival]:
        """Those that were noted."""
        rows = batched_rows(self.table, [arrival_key(each) for each in workloads])
        return dict(all_readable(self.table, rows, _arrival))


def arrival_key(workload: str) -> RowKey:
    """The key of the arrival of an object."""
    return workloads_key("arrival", workload)


def _arrival(row: Row) -> tuple[str, ObjectArrival]:
    announced = datetime.fromisoformat(row.text("announced")) if row.has("announced") else None
    return row.key.identity, ObjectArrival(datetime.fromisoformat(row.text("seen")), announced)


# ---- Which workloads are due, who owns a content, and where listings stopped ----


RESERVATIONS: Final = 3
"""Rounds in which both updates of a reservation are tried: each fails only if another worker reserves at that moment."""


STARTS: Final = workloads_key("cursor", "starts")
"""The row of the starts of job runs: `free`, and `led`, both in milliseconds."""
SWEEP_UNTIL: Final = "sweep-until"
"""The cursor that says when the sweep which is under way ends at the latest."""


def _milliseconds(at: datetime) -> int:
    return int(at.timestamp() * 1000)


@dataclass(frozen=True, slots=True)
class Agenda:
    """Rows that are due, by the index, which lags: every find is read again by key. All else is strongly consistent."""

    table: Tables

    def due(self, now: datetime, limit: int) -> tuple[str, ...]:
        """Ids of workloads whose `due_at` is not after `now`, the oldest first."""
        return self.table.due("due", limit, instant(now))

    def owner(self, content: str) -> str | None:
        """The workload that has claimed this content."""
        return read_row(self.table, workloads_key("content", content), lambda row: row.text("owner"))

    def cursor(self, name: str) -> str | None:
        """The place where a listing stopped the last time; None, also where it cannot be read: start at the beginning."""
        with suppress(UnreadableItem):
            return self._cursor(name)
        return None

    def keep(self, name: str, cursor: str | None) -> None:
        """Remember where a listing stopped. Without a condition: losing a cursor only repeats a listing."""
        self.table.write(Put(Row(workloads_key("cursor", name), {"cursor": cursor} if cursor else {})))

    def note_sweep(self, until: datetime) -> None:
        """Note that a sweep is under way, which ends by itself at that time."""
        self.keep(SWEEP_UNTIL, instant(until))

    def note_end_of_sweep(self, until: datetime) -> None:
        """Note that it has ended, unless another one is under way."""
        if self.cursor(SWEEP_UNTIL) == instant(until):
            self.keep(SWEEP_UNTIL, None)

    def is_sweeping(self, now: datetime) -> bool:
        """Whether a sweep is under way that was noted."""
        return (self.cursor(SWEEP_UNTIL) or "") > instant(now)

    def keep_first(self, name: str, cursor: str) -> str:
        """Keep a cursor unless there is one; the one that is kept then, and is never taken away."""
        with suppress(ConditionFailed):
            self.table.write(Put(Row(workloads_key("cursor", name), {"cursor": cursor}), RowAbsent()))
        return self._cursor(name) or cursor

    def reserve_start(self, now: datetime, interval: timedelta, burst: int) -> datetime:
        """Reserve the start of one job run: the time from which it may be sent, `now` or later. Raises Throttled."""
        return self._reserve(STARTS, now, interval, burst)

    def reserve_commit(self, chain: str, now: datetime, interval: timedelta) -> datetime:
        """Reserve the time of a commit to a chain, `now` or later; those that are reserved are an interval apart.

        Raises Throttled.
        """
        return self._reserve(workloads_key("cursor", f"commits#{chain}"), now, interval, 1)

    def _reserve(self, key: RowKey, now: datetime, interval: timedelta, burst: int) -> datetime:
        """The time of one of a row's tokens.

        A token bucket of all workers together: `burst` tokens, one more after each interval. Starts that find no token get
        the times at which the next ones will be there, first come, first served.

        One atomic update: `free` is when all tokens will be there again, in milliseconds, and moves on by an interval. Of the
        two updates one fits, because a write knows no maximum; unless another worker comes between them.
        """
        moment, step = _milliseconds(now), int(interval.total_seconds() * 1000)
        later = Update(key, adds={"free": step}, if_=AtLeast("free", moment))
        is_idle = AnyOf(Lacks("free"), Below("free", moment))
        idle = Update(key, sets={"free": moment + step}, if_=is_idle)
        for each in (later, idle) * RESERVATIONS:
            with suppress(ConditionFailed):
                wait = self.table.update(each).number("free") - burst * step - moment
                return now + timedelta(milliseconds=max(wait, 0))
        raise Throttled("UpdateItem")

    def last_start(self, interval: timedelta, burst: int) -> datetime:
        """The latest time that was reserved; one that is long past where none had to wait."""
        return datetime.fromtimestamp(self._of_starts("free") / 1000, UTC) - burst * interval

    def lead_starts(self, now: datetime, until: datetime) -> None:
        """Become the worker that makes the reserved starts, until then. Raises ConditionFailed while another one is."""
        nobody = AnyOf(Lacks("led"), Below("led", _milliseconds(now)))
        self.table.write(Update(STARTS, sets={"led": _milliseconds(until)}, if_=nobody))

    def is_led(self, now: datetime) -> bool:
        """Whether a worker makes the reserved starts."""
        return self._of_starts("led") > _milliseconds(now)

    def end_lead(self, until: datetime) -> None:
        """Let another worker make them, unless one does already: `until` is the time that this one has given."""
        with suppress(ConditionFailed):
            self.table.write(Update(STARTS, removes=("led",), if_=Equals("led", _milliseconds(until))))

    def _of_starts(self, name: str) -> int:
        return read_row(self.table, STARTS, lambda row: row.number(name) if row.has(name) else 0) or 0

    def _cursor(self, name: str) -> str | None:
        key = workloads_key("cursor", name)
        return read_row(self.table, key, lambda row: row.text("cursor") if row.has("cursor") else None)


# ---- Messages, written in the transaction of the state that they describe ----


MESSAGE_LIFE: Final = timedelta(days=90)
"""The time for which a message stays after it was written; by then it was sent, or an alarm has rung for months."""


def message_row(message: Message) -> Row:
    """The row of a message not yet sent."""
    return Row(
        workloads_key("message", message.id),
        {
            "workload": message.workload,
            **({"line": message.dataset} if message.dataset else {}),
            "kind": message.kind,
            "body": message.body,
            **due_at("message", message.id, instant(message.at)),
            "expires": int((message.at + MESSAGE_LIFE).timestamp()),
        },
    )


def message_of(row: Row) -> Message:
    """The message of a row not yet sent. Raises ValueError where its body is not JSON: nobody could send it."""
    json.loads(row.text("body"))
    return Message(
        id=row.key.identity,
        workload=row.text("workload"),
        kind=row.text("kind"),
        body=row.text("body"),
        at=datetime.fromisoformat(row.text("at")),
        dataset=row.text("line") if row.has("line") else "",
    )


@dataclass(frozen=True, slots=True)
class Outbox:
    """Messages; listed by an index that lags."""

    table: Tables

    def add(self, message: Message) -> bool:
        """Put a message of its own, of no state, if there is none with its id. Returns whether there was none."""
        try:
            self.table.write(Put(message_row(message), RowAbsent()))
        except ConditionFailed:
            return False
        return True

    def pending(self, limit: int) -> tuple[Message, ...]:
        """Messages not yet marked, the oldest first; each read again by key, because the index lags."""
        keys = [workloads_key("message", name) for name in self.table.due("message", limit)]
        pages = (self.table.batch(keys[first : first + MOST_WRITES]) for first in range(0, len(keys), MOST_WRITES))
        rows = {row.key: row for page in pages for row in page if row.has("at")}
        return tuple(all_readable(self.table, (rows[key] for key in keys if key in rows), message_of))

    def sent(self, message: Message) -> None:
        """Take the message out of the index; its row stays until it expires. Marking twice is done."""
        with suppress(ConditionFailed):
            self.table.write(Update(workloads_key("message", message.id), removes=("at", "shard"), if_=RowExists()))


# ---- Pauses of datasets ----


LONG: Final = timedelta(days=3)
"""A pause that lasts longer may have been forgotten: an operator is told of it."""
MAX_PAUSES: Final = 1_000
"""Paused datasets that are listed."""
PAUSED: Final = AllOf(RowExists(), Lacks("resumed"))


@dataclass(frozen=True, slots=True)
class Pause:
    """A paused dataset; also one that was resumed, until all that was held is judged."""

    dataset: str
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


@dataclass(frozen=True, slots=True)
class Pauses:
    """Paused datasets. `listed` and `held` read an index that lags; all else is strongly consistent.

    Workloads.save holds a delivery only while its dataset is paused or being resumed, pins one only while neither is the case,
    and lets one go only while its dataset is being resumed.
    """

    table: Tables

    def pause_of(self, dataset: str) -> Pause | None:
        """The pause of a dataset; None where there is none."""
        return read_row(self.table, pause_key(dataset), _pause)

    def listed(self) -> tuple[str, ...]:
        """Datasets with a pause, the oldest first."""
        return self.table.due("pause", MAX_PAUSES)

    def held(self, dataset: str, limit: int) -> tuple[str, ...]:
        """Ids of the workloads that are held, in order of arrival."""
        return self.table.listed(held_shard(dataset), limit)

    def begin(self, pause: Pause) -> None:
        """Pause a dataset, also one that is being resumed; what is held stays counted. Raises ConditionFailed if it is paused."""
        since = instant(pause.since)
        self.table.write(
            Update(
                pause_key(pause.dataset),
                sets={
                    "since": since,
                    "by": pause.by,
                    "reason": pause.reason,
                    **due_at("pause", pause.dataset, since),
                },
                defaults={"held": 0},
                removes=("resumed",),
                if_=AnyOf(RowAbsent(), Has("resumed")),
            )
        )

    def resume(self, dataset: str, at: datetime) -> None:
        """Let the sweep judge what is held. Raises ConditionFailed if the dataset is not paused."""
        self.table.write(Update(pause_key(dataset), sets={"resumed": instant(at)}, if_=PAUSED))

    def end(self, dataset: str) -> None:
        """Remove the pause. Raises ConditionFailed unless the dataset was resumed and nothing is held."""
        self.table.write(Delete(pause_key(dataset), AllOf(Has("resumed"), Equals("held", 0))))


def pause_key(dataset: str) -> RowKey:
    """The key of the row of a paused dataset."""
    return workloads_key("pause", dataset)


def _pause(row: Row) -> Pause:
    return Pause(
        row.key.identity,
        datetime.fromisoformat(row.text("since")),
        row.text("by"),
        row.text("reason"),
        row.number("held"),
        datetime.fromisoformat(row.text("resumed")) if row.has("resumed") else None,
    )


def _pause_writes(workload: Workload, expected: Expected) -> list[Write]:
    """Writes and conditions on the pause of a dataset that belong to a write of a row; none for most writes."""
    dataset = workload.pin.dataset if workload.pin else ""
    if workload.state is State.HELD:
        return [_counted(workload.held, 1, RowExists())]
    if expected.state is State.HELD:
        is_pinned = workload.state is State.PINNED
        moved = (
            [CheckRow(pause_key(dataset), RowAbsent(), ConditionName.PAUSE)]
            if is_pinned and dataset != workload.held
            else []
        )
        return [_counted(workload.held, -1, Has("resumed") if is_pinned else RowExists()), *moved]
    pins = expected.state is State.RECEIVED and workload.state is State.PINNED
    return [CheckRow(pause_key(dataset), RowAbsent(), ConditionName.PAUSE)] if pins else []


def _counted(dataset: str, change: int, condition: Condition) -> Update:
    return Update(pause_key(dataset), adds={"held": change}, if_=condition, reason=ConditionName.PAUSE)


# ---- Batches: a member is one text of a list, so that joining is one conditional update ----


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
        return len(self.members) >= self.files or sum(member.size for member in self.members) >= self.bytes


@dataclass(frozen=True, slots=True)
class Batches:
    """The rows of batches."""

    table: Tables

    def get(self, batch: str) -> Batch:
        """The batch. Raises NotFound."""
        there = read_row(self.table, workloads_key("batch", batch), _batch)
        if there is None:
            raise NotFound(batch)
        return there

    def join(self, batch: Batch, member: Member) -> None:
        """Add a member; the first one creates the batch, with the limits of `batch`, which are ignored afterwards.

        Raises ConditionFailed where it is closed or full, or has the member.
        """
        joining = "/".join(map(str, member))
        is_open = AllOf(
            Lacks("request"), Shorter("members", "files"), Below("total", "most"), Without("members", joining)
        )
        self.table.write(
            Update(
                workloads_key("batch", batch.id),
                defaults={"files": batch.files, "most": batch.bytes, "closes": instant(batch.closes_at)},
                adds={"total": member.size},
                appends={"members": joining},
                if_=AnyOf(Lacks("members"), is_open),
            )
        )

    def close(self, batch: Batch, request: str) -> None:
        """Store the request, if the batch is open and has exactly the members of `batch`. Raises ConditionFailed.

        Members are only ever added, so their number identifies them.
        """
        unchanged = AllOf(Lacks("request"), HasLength("members", len(batch.members)))
        key = workloads_key("batch", batch.id)
        self.table.write(Update(key, sets={"request": request}, if_=unchanged))

    def started(self, batch: str, run: str) -> None:
        """Store the id of the job run; every caller stores the same one."""
        self.table.write(Update(workloads_key("batch", batch), sets={"run": run}))


def _batch(row: Row) -> Batch:
    return Batch(
        id=row.key.identity,
        files=row.number("files"),
        bytes=row.number("most"),
        closes_at=datetime.fromisoformat(row.text("closes")),
        members=tuple(map(_member, row.values["members"])),
        request=row.text("request") if row.has("request") else "",
        run=row.text("run") if row.has("run") else "",
    )


def _member(joined: str) -> Member:
    workload, attempt, size = joined.split("/")
    return Member(workload, int(attempt), int(size))
