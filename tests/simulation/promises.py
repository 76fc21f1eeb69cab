"""The promises, looked at after every effect (safety) and once everything is at rest (liveness)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from contracts.ledger import verify
from contracts.workflow import PUSH, State
from functions.usecases.layout import manifest_key
from functions.workload import TERMINAL, replay_id
from tests.simulation.meaning import truth
from tests.simulation.world import LAKE, LANDING

if TYPE_CHECKING:
    from contracts.ledger import Block
    from functions.memory.objects import Stored
    from functions.workload import Workload
    from tests.simulation.world import Upload, World

STEPS = {(t.source, t.to) for t in PUSH.transitions}
ACCEPTED = {"accepted", "accepted_with_warnings"}
ALLOWED_DEATHS = 3


class Violation(AssertionError):  # noqa: N818 - what a promise suffers
    """A promise broken: its number and what was seen."""

    def __init__(self, promise: str, seen: str) -> None:
        super().__init__(promise, seen)  # its arguments are what a pickle of it calls it with
        self.promise = promise
        self.seen = seen

    def __str__(self) -> str:
        return f"{self.promise}: {self.seen}"


def _settled(row: Workload) -> tuple[object, ...]:
    return row.decision, row.pin, row.source, row.run


class Promises:
    """Remembers what was seen, so that each look costs only what changed."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.rows: dict[str, Workload] = {}
        self.changes = self.row_changes = 0
        self.heights: dict[str, int] = {}
        self.published: set[str] = set()
        self.runs: set[str] = set()
        self.runs_seen = len(world.memory.jobs.runs)
        self.height = -1
        self.taken: set[tuple[State, State]] = set()
        """Transitions seen, for what a run covered."""

    def hold(self) -> None:
        """Raise Violation if any safety promise is broken now."""
        memory = self.world.memory
        if memory.rows.changes != self.row_changes:
            self.row_changes = memory.rows.changes
            for row in memory.rows.rows.values():
                before = self.rows.get(row.id)
                if before is not row:
                    self._moved(before, row)
                    self.rows[row.id] = row
        if memory.objects.changes != self.changes:
            self.changes = memory.objects.changes
            for upload in self.world.uploads:
                self._kept(upload)
            self._visible()
        for name, chain in memory.ledger.chains.items():
            for block in chain[self.heights.get(name, 0) :]:
                self._chained(block)
            self.heights[name] = len(chain)
        if len(memory.jobs.runs) != self.runs_seen:
            self._started()

    def _moved(self, before: Workload | None, row: Workload) -> None:
        if before is None:
            if row.state is not State.RECEIVED:
                raise Violation("P6", f"a workload begins as {row.state}")
            return
        if row.state is not before.state and (before.state, row.state) not in STEPS:
            raise Violation("P6", f"{before.state} became {row.state}")
        if row.state is not before.state or row.attempt != before.attempt:
            self.taken.add((before.state, row.state))
        elif row.state in TERMINAL | {State.DECIDED} and _settled(row) != _settled(before):
            raise Violation("P6", f"a {row.state} workload was written over")
        self._attempted(before, row)
        if before.decision is not None and row.decision != before.decision:
            raise Violation("P6", "a decision was taken back")
        if before.pin is not None and row.pin != before.pin and row.state is not State.RECEIVED:
            raise Violation("P21", "a pin was changed")

    def _attempted(self, before: Workload, row: Workload) -> None:
        if row.attempt > before.attempt and (before.id, before.run) in self.world.answered:
            raise Violation("P4", "a good result was thrown away")
        if row.attempt < before.attempt:
            raise Violation("P6", f"attempt {before.attempt} became {row.attempt}")

    def _kept(self, upload: Upload) -> None:
        """P1: in landing, or at rest in the lake, unless its producer deleted it."""
        stored = self.world.memory.objects.buckets[LANDING].get(upload.version.key, ())
        if upload.deleted or any(each.version == upload.version.version for each in stored):
            return
        row = self.world.memory.rows.rows.get(upload.workload)
        if row is None or row.state not in TERMINAL or not self._resting(row, upload.body):
            raise Violation("P1", f"an object was lost while its workload is {row.state if row else 'unclaimed'}")

    def _resting(self, row: Workload, body: bytes) -> bool:
        """Whether the bytes lie at rest, as this workload's or as its replay's."""
        found = b"".join(self.places(row.id).values())
        if found == body:
            return True
        replayed = self.world.memory.rows.rows.get(replay_id(row.id))
        return replayed is not None and self._resting(replayed, body)

    def places(self, workload: str) -> dict[str, bytes]:
        """Where the bytes of a workload are at rest, the accepted share first."""
        mark = f"/workload={workload}/"
        keys = self.world.memory.objects.buckets[LAKE]
        shares = ("accepted/", "quarantine/")
        return {
            key: stored[-1].body
            for key, stored in sorted(keys.items())
            if mark in key and key.startswith(shares) and stored[-1].described
        }

    def _visible(self) -> None:
        """P2: what is visible in accepted/ was decided accepted, and is what was judged."""
        for key, stored in self.world.memory.objects.buckets[LAKE].items():
            if key.startswith("accepted/"):
                if key.endswith("_manifest.json"):
                    self._listed(stored)
                else:
                    self._accepted(key, stored)

    def _accepted(self, key: str, stored: list[Stored]) -> None:
        row = self.world.memory.rows.rows.get(key.split("/workload=")[1].partition("/")[0])
        if row is None or row.decision is None or row.decision.verdict not in ACCEPTED:
            raise Violation("P2", "bytes are visible that nobody decided to accept")
        body = self._landed(row)
        for each in stored:
            whole = each.body in {body, body[:-1] if body.startswith(b"split") else body}
            if not whole:
                raise Violation("P2", "other bytes are visible than those judged")
        if len(stored) > 1:
            raise Violation("P3", "a resting place was written twice")
        assert row.pin is not None
        if truth(row.pin.plan, body) not in ACCEPTED:
            raise Violation("P22", "bytes are visible that the pinned contract does not accept")

    def _landed(self, row: Workload) -> bytes:
        first = row.landed or row.source
        return next(u.body for u in self.world.uploads if u.version.version == first.version)

    def _listed(self, stored: list[Stored]) -> None:
        manifest = json.loads(stored[-1].body)
        if manifest["height"] < self.height:
            raise Violation("P6", "the manifest went back")
        self.height = manifest["height"]
        accepted = {delivery["workload"] for delivery in manifest["deliveries"]}
        if any(self.world.memory.rows.rows[each].state is not State.PUBLISHED for each in accepted):
            raise Violation("P2", "the manifest lists what is not published")

    def _chained(self, block: Block) -> None:
        row = self.world.memory.rows.rows[block.workload]
        assert row.pin is not None
        assert row.decision is not None
        if block.workload in self.published:
            raise Violation("P3", "one delivery has two blocks")
        self.published.add(block.workload)
        if row.state not in TERMINAL:
            raise Violation("P3", f"a block stands for a workload that is {row.state}")
        if (block.plan, block.contract_version, block.verdict) != (row.pin.plan, row.pin.version, row.decision.verdict):
            raise Violation("P21", "the block tells of another contract or verdict than the row")
        if row.pin.status == "retired" and row.decision.verdict in ACCEPTED:
            raise Violation("P21", "a retired contract accepted something")
        if not self.places(row.id) and replay_id(row.id) not in self.world.memory.rows.rows:
            raise Violation("P3", "a block stands for bytes that are nowhere")
        self._true(row)

    def _true(self, row: Workload) -> None:
        assert row.pin is not None
        assert row.decision is not None
        if not row.pin.plan or "contract-retired" in row.decision.reasons:
            return
        expected = truth(row.pin.plan, self._landed(row))
        duplicate = "duplicate-content" in row.decision.reasons
        if not duplicate and row.decision.verdict != {"refused": "rejected"}.get(expected, expected):
            raise Violation("P21", f"the pinned contract says {expected}, the ledger {row.decision.verdict}")

    def _started(self) -> None:
        runs = self.world.memory.jobs.runs
        for run in list(runs.values())[self.runs_seen :]:
            arguments = str(run.request["jobDriver"])
            if arguments in self.runs:
                raise Violation("P3", "one attempt has two job runs")
            self.runs.add(arguments)
        self.runs_seen = len(runs)

    def kept_in_the_end(self) -> None:
        """Raise Violation unless everything came to rest as it must."""
        memory = self.world.memory
        for upload in self.world.uploads:
            row = memory.rows.rows.get(upload.workload)
            if row is None:
                if upload.deleted:
                    continue
                raise Violation("P1", "a version was never claimed")
        for row in memory.rows.rows.values():
            self._rested(row)
        self._staging_is_empty()
        self._ledger_and_lake_agree()
        self._content_is_accepted_once()
        self._told()

    def _rested(self, row: Workload) -> None:
        if row.state not in {*TERMINAL, State.FAILED, State.GONE} or row.due_at is not None:
            raise Violation("P4", f"a workload stays {row.state}")
        source = self.world.memory.objects.buckets[row.source.bucket].get(row.source.key, ())
        there = any(each.version == row.source.version for each in source)
        deleted = any(u.workload == row.id and u.deleted for u in self.world.uploads)
        if row.state in TERMINAL:
            self._at_rest(row, there=there)
        elif row.state is State.GONE:
            if row.staged is not None or not deleted:
                raise Violation("P1", "a version counts as gone that was staged or never deleted")
        elif self.world.deaths(row.id) < ALLOWED_DEATHS:
            raise Violation("P4", f"given up after {self.world.deaths(row.id)} dead attempts")
        elif not there and not deleted:
            raise Violation("P1", "a failed delivery is not in landing")

    def _at_rest(self, row: Workload, *, there: bool) -> None:
        if there:
            raise Violation("P4", "a judged version was left behind")
        body = self._landed(row)
        if replay_id(row.id) not in self.world.memory.rows.rows and not self._resting(row, body):
            raise Violation("P1", "the bytes at rest are not those that landed")
        if len({key.partition("/")[0] for key in self.places(row.id)}) > 1 and not body.startswith(b"split"):
            raise Violation("P8", "one delivery is in accepted and in quarantine")

    def _staging_is_empty(self) -> None:
        rows = self.world.memory.rows.rows
        for key in self.world.memory.objects.current(LAKE, "staging/"):
            row = rows.get(key.split("/")[1])
            if row is None or row.state is not State.FAILED:
                raise Violation("P4", "a staging copy was left behind")

    def _ledger_and_lake_agree(self) -> None:
        memory = self.world.memory
        chained = {block.workload for chain in memory.ledger.chains.values() for block in chain}
        if chained != {row.id for row in memory.rows.rows.values() if row.state in TERMINAL}:
            raise Violation("P3", "the ledger does not tell of every delivery at rest")
        for name, chain in memory.ledger.chains.items():
            if verify(chain, memory.ledger.head(name).digest):
                raise Violation("P3", "the chain does not hold")
            self._manifest_is_whole(name)

    def _manifest_is_whole(self, name: str) -> None:
        chain = self.world.memory.ledger.chains[name]
        published = [block.workload for block in chain if block.kind == "published"]
        stored = self.world.memory.objects.buckets[LAKE].get(manifest_key(name))
        listed = [each["workload"] for each in json.loads(stored[-1].body)["deliveries"]] if stored else []
        if published != listed:
            raise Violation("P2", "the manifest does not say what the ledger says")

    def _content_is_accepted_once(self) -> None:
        rows = self.world.memory.rows.rows.values()
        accepted = [(row.pin.chain, self._landed(row)) for row in rows if row.pin and row.state is State.PUBLISHED]
        if len(accepted) != len(set(accepted)):
            raise Violation("P3", "the same content was accepted twice")

    def _told(self) -> None:
        told = {(message.workload, message.kind) for message in self.world.memory.notifier.sent}
        if self.world.memory.rows.messages:
            raise Violation("P5", "a message stays in the outbox")
        for row in self.world.memory.rows.rows.values():
            if (row.id, row.state.lower()) not in told:
                raise Violation("P5", f"nobody was told of a workload that is {row.state}")
