"""The table of workloads in memory: rows, claims on contents, the outbox, cursors, and two indexes that lag."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from lakegate.errors import ConditionFailed, NotFound
from lakegate.features.odf.slice_turns import NextSlice, decided_slices
from lakegate.gate.delivery.protocol import State

if TYPE_CHECKING:
    from datetime import datetime

    from lakegate.gate.delivery.delivery_row import Workload
    from lakegate.gate.ports import Message
    from lakegate.gate.table import Batch, Expected, Member, Pause
    from lakegate.plan.slice_order import StateRun
    from tests.fakes.fault_injector import FaultInjector, VirtualClock


class MemoryBatches:
    """Batches."""

    def __init__(self, faults: FaultInjector) -> None:
        self._faults = faults
        self.items: dict[str, Batch] = {}
        self.changed: list[str] = []
        """The batch of every write: for tests that check only what changed."""

    def get(self, batch: str) -> Batch:
        """The item."""
        try:
            return self.items[batch]
        except KeyError:
            raise NotFound from None

    def join(self, batch: Batch, member: Member) -> None:
        """A conditional update."""
        self._faults.pass_or_refuse()
        found = self.items.get(batch.id, batch._replace(members=()))
        if found.request or found.is_full or member in found.members:
            raise ConditionFailed("batch")
        self._write(found._replace(members=(*found.members, member)))

    def close(self, batch: Batch, request: str) -> None:
        """A conditional update."""
        self._faults.pass_or_refuse()
        found = self.get(batch.id)
        if found.request or found.members != batch.members:
            raise ConditionFailed("batch")
        self._write(found._replace(request=request))

    def started(self, batch: str, run: str) -> None:
        """An update."""
        self._faults.pass_or_refuse()
        self._write(self.get(batch)._replace(run=run))

    def _write(self, batch: Batch) -> None:
        self.items[batch.id] = batch
        self.changed.append(batch.id)


class Turn(NamedTuple):
    """Offset and watermark after the last decided row of a line, and the delivery that is decided and not committed."""

    following: int = 0
    writer: str = ""
    watermark: str = ""
    runs: tuple[StateRun, ...] = ()


def may_decide(turn: Turn, wanted: Turn) -> bool:
    """Whether a delivery that was judged by one turn is decided at another."""
    return turn == wanted


def may_replace(turn: Turn, before: NextSlice) -> bool:
    """Whether a merge state that was computed of a line takes the place of that of now."""
    return not turn.writer and (turn.following, turn.runs) == (before.offset, before.runs)


def may_mark(turn: Turn, before: NextSlice) -> bool:
    """Whether a watermark that was set beside one takes its place."""
    return not turn.writer and (turn.following, turn.watermark) == before[:2]


class MemoryRows:
    """Workloads, Batches, Agenda, Outbox and Pauses. Reads by key are consistent; an index is `lag` seconds behind."""

    def __init__(self, clock: VirtualClock, faults: FaultInjector, lag: float = 0.0) -> None:
        self.clock = clock
        self.faults = faults
        self._lag = timedelta(seconds=lag)
        self.rows: dict[str, Workload] = {}
        self.changed: list[str] = []
        """The workload of every write of a row: for tests that check only what changed."""
        self.contents: dict[str, str] = {}
        self.batches = MemoryBatches(faults)
        self.producers: set[tuple[str, str]] = set()
        """Line and prefix of accepted deliveries."""
        self.messages: dict[str, Message] = {}
        self.added: set[str] = set()
        """Ids of messages of no state, which stay after they were sent."""
        self.pauses: dict[str, Pause] = {}
        self.turns: dict[str, Turn] = {}
        """Of lines with slices."""
        self.replaced: list[tuple[StateRun, ...]] = []
        """Each merge state that replaced another one: for tests that check only what changed."""
        self._held: dict[str, dict[str, datetime]] = {}
        self._cursors: dict[str, str | None] = {}
        self._free: datetime | None = None
        self._due: dict[str, datetime] = {}
        self._late_due: list[tuple[datetime, str, datetime | None, str]] = []
        self._outbox: dict[str, Message] = {}
        self._late_outbox: list[tuple[datetime, str, Message | None]] = []

    def create(self, workload: Workload) -> None:
        """Put if absent."""
        self.faults.pass_or_refuse()
        if workload.id in self.rows:
            raise ConditionFailed("state")
        self.write(workload)

    def get(self, workload: str) -> Workload:
        """The row."""
        try:
            return self.rows[workload]
        except KeyError:
            raise NotFound from None

    def save(
        self,
        workload: Workload,
        expected: Expected,
        *,
        message: Message | None = None,
        content: str | None = None,
        accepted: bool = False,
    ) -> None:
        """Row, message, claim and mark of the producer, all or nothing."""
        self.faults.pass_or_refuse()
        owner = self.contents.get(content) if content else None
        changed = "" if self.matches(workload.id, expected) else "state"
        claimed = "" if owner in {None, workload.id} else "content"
        wanted, line, count = self._required(workload, expected)
        paused = "" if all(self._stands(*each) for each in wanted) else "pause"
        takes = self._takes_turn(workload, expected)
        turn = "turn" if takes and not may_decide(self.turns.get(takes[0], Turn()), takes[1]) else ""
        if changed or claimed or paused or turn:
            raise ConditionFailed(changed, "", claimed, paused or turn)
        if takes:
            known = self.turns.get(takes[0], Turn()).runs
            self.turns[takes[0]] = takes[2]._replace(runs=takes[2].runs or known)
        if count:
            self.pauses[line] = replace(self.pauses[line], held=self.pauses[line].held + count)
        self.write(workload)
        if content:
            self.contents[content] = workload.id
        if message:
            self.post(message)
        if accepted:
            assert workload.pin is not None
            self.producers.add((workload.pin.chain, workload.pin.prefix))

    @staticmethod
    def _takes_turn(workload: Workload, expected: Expected) -> tuple[str, Turn, Turn] | None:
        """Of a decision with slices its line, and the turn before and after."""
        decided = decided_slices(workload)
        if workload.state is not State.DECIDED or expected.state is State.DECIDED or decided is None:
            return None
        assert workload.pin is not None
        (first, end), (before, after) = decided.offsets, decided.watermarks
        return (
            workload.pin.chain,
            Turn(first, "", before, decided.before),
            Turn(end, workload.id, after, decided.runs),
        )

    def end_turn(self, workload: Workload) -> None:
        """Let the next one in; refused to a delivery that has no turn."""
        if decided_slices(workload) is None:
            return
        assert workload.pin is not None
        turn = self.turns.get(workload.pin.chain, Turn())
        if turn.writer != workload.id:
            raise ConditionFailed("", "", "turn")
        self.turns[workload.pin.chain] = turn._replace(writer="")

    def next_slice(self, line: str) -> NextSlice:
        """Of the turn."""
        turn = self.turns.get(line, Turn())
        return NextSlice(turn.following, turn.watermark, turn.runs, turn.writer)

    def replace_state(self, line: str, before: NextSlice, runs: tuple[StateRun, ...]) -> None:
        """An update of the turn."""
        self.faults.pass_or_refuse()
        turn = self.turns.get(line)
        if turn is None or not may_replace(turn, before):
            raise ConditionFailed("turn")
        self.turns[line] = turn._replace(runs=runs)
        self.replaced.append(runs)

    def _required(self, workload: Workload, expected: Expected) -> tuple[list[tuple[str, str]], str, int]:
        """What the pauses of lines must be (`on`, `off`, `resumed`), and whose count changes by how much."""
        line = workload.pin.chain if workload.pin else ""
        if workload.state is State.HELD:
            return [(workload.held, "on")], workload.held, 1
        pins = workload.state is State.PINNED
        if expected.state is State.HELD:
            moved = [(line, "off")] if pins and line != workload.held else []
            return [(workload.held, "resumed" if pins else "on"), *moved], workload.held, -1
        return ([(line, "off")] if pins and expected.state is State.RECEIVED else []), "", 0

    def _stands(self, line: str, how: str) -> bool:
        there = self.pauses.get(line)
        return {"on": there is not None, "off": there is None, "resumed": bool(there and there.resumed)}[how]

    def pause_of(self, line: str) -> Pause | None:
        """The pause of a line."""
        return self.pauses.get(line)

    def listed(self) -> tuple[str, ...]:
        """Lines with a pause."""
        return tuple(sorted(self.pauses, key=lambda line: self.pauses[line].since))

    def held(self, line: str, limit: int) -> tuple[str, ...]:
        """By the index, in order of arrival."""
        self._catch_up()
        found = sorted((at, identity) for identity, at in self._held.get(line, {}).items())
        return tuple(identity for _, identity in found[:limit])

    def begin(self, pause: Pause) -> None:
        """Pause."""
        self.faults.pass_or_refuse()
        there = self.pauses.get(pause.line)
        if there and not there.resumed:
            raise ConditionFailed("pause")
        self.pauses[pause.line] = replace(pause, held=there.held if there else 0)

    def resume(self, line: str, at: datetime) -> None:
        """Resume."""
        self.faults.pass_or_refuse()
        there = self.pauses.get(line)
        if there is None or there.resumed:
            raise ConditionFailed("pause")
        self.pauses[line] = replace(there, resumed=at)

    def end(self, line: str) -> None:
        """Remove."""
        self.faults.pass_or_refuse()
        there = self.pauses.get(line)
        if there is None or not there.resumed or there.held:
            raise ConditionFailed("pause")
        del self.pauses[line]

    def lease(self, workload: Workload, until: datetime, tries: int = 0) -> None:
        """Move `due_at` if it is where the caller saw it."""
        self.faults.pass_or_refuse()
        row = self.get(workload.id)
        if row.due_at is None or row.due_at != workload.due_at:
            raise ConditionFailed("due_at")
        self.write(row._replace(due_at=until, tries=tries))

    def due(self, now: datetime, limit: int) -> tuple[str, ...]:
        """Ids by the index."""
        self._catch_up()
        ripe = sorted([(due, identity) for identity, due in self._due.items() if due <= now])
        return tuple([identity for _, identity in ripe[:limit]])

    def owner(self, content: str) -> str | None:
        """Who claimed a content."""
        return self.contents.get(content)

    def cursor(self, name: str) -> str | None:
        """Where a listing stopped."""
        return self._cursors.get(name)

    def keep(self, name: str, cursor: str | None) -> None:
        """Remember it."""
        self.faults.pass_or_refuse()
        self._cursors[name] = cursor

    def keep_first(self, name: str, cursor: str) -> str:
        """The first one stays."""
        self.faults.pass_or_refuse()
        return self._cursors.setdefault(name, cursor) or cursor

    def reserve_start(self, now: datetime, interval: timedelta, burst: int) -> datetime:
        """A token bucket, as the time when it will be full."""
        self.faults.pass_or_refuse()
        self._free = max(self._free or now, now) + interval
        return max(now, self._free - burst * interval)

    def pending(self, limit: int) -> tuple[Message, ...]:
        """Messages by the index."""
        self._catch_up()
        return tuple(sorted(self._outbox.values(), key=lambda message: (message.at, message.id))[:limit])

    def sent(self, message: Message) -> None:
        """Mark."""
        self.faults.pass_or_refuse()
        self.messages.pop(message.id, None)
        self._late_outbox.append((self.clock.now() + self._lag, message.id, None))

    def matches(self, identity: str, expected: Expected) -> bool:
        """Whether state and attempt of a row are what a writer expects."""
        row = self.rows.get(identity)
        return row is not None and row.state is expected.state and row.attempt == expected.attempt

    def write(self, workload: Workload) -> None:
        """Replace a row; its place in the index follows later."""
        self.rows[workload.id] = workload
        self.changed.append(workload.id)
        line = workload.held if workload.state is State.HELD else ""
        self._late_due.append((self.clock.now() + self._lag, workload.id, workload.due_at, line))

    def add(self, message: Message) -> bool:
        """Put a message of no state, if there is none with its id."""
        self.faults.pass_or_refuse()
        if message.id in self.added:
            return False
        self.added.add(message.id)
        self.post(message)
        return True

    def post(self, message: Message) -> None:
        """Put a message into the outbox; the index follows later."""
        self.messages[message.id] = message
        self._late_outbox.append((self.clock.now() + self._lag, message.id, message))

    def _catch_up(self) -> None:
        now = self.clock.now()
        while self._late_due and self._late_due[0][0] <= now:
            _, identity, due, line = self._late_due.pop(0)
            for held in self._held.values():
                held.pop(identity, None)
            if line and due:
                self._due.pop(identity, None)
                self._held.setdefault(line, {})[identity] = due
            elif due is None:
                self._due.pop(identity, None)
            else:
                self._due[identity] = due
        while self._late_outbox and self._late_outbox[0][0] <= now:
            _, identity, message = self._late_outbox.pop(0)
            if message is None:
                self._outbox.pop(identity, None)
            else:
                self._outbox[identity] = message
