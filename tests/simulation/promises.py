"""The promises that must hold after every effect. tests/simulation/rest.py has those that hold once all is at rest.

Nothing here is computed by the code under test: ids, tokens, digests and names of keys are said a second time, from the
documentation, and a delivery is known by the version that landed.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

from contracts.workflow import State
from functions.memory.surroundings import BEGINNING
from functions.ports import JobState
from tests.simulation.meaning import block_digest, truth

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from contracts.ledger import Block
    from functions.memory.objects import Stored
    from functions.workload import Workload
    from tests.simulation.world import Upload, World

S = State
STEPS = {
    (S.RECEIVED, S.PINNED),
    (S.RECEIVED, S.GONE),
    (S.PINNED, S.STAGED),
    (S.PINNED, S.DECIDED),
    (S.PINNED, S.GONE),
    (S.STAGED, S.SUBMITTING),
    (S.SUBMITTING, S.VALIDATING),
    (S.SUBMITTING, S.SUBMITTING),
    (S.SUBMITTING, S.FAILED),
    (S.VALIDATING, S.DECIDED),
    (S.VALIDATING, S.SUBMITTING),
    (S.VALIDATING, S.FAILED),
    (S.DECIDED, S.PUBLISHED),
    (S.DECIDED, S.QUARANTINED),
    (S.DECIDED, S.GONE),
    (S.FAILED, S.RECEIVED),
}
ENDED = frozenset({S.PUBLISHED, S.QUARANTINED})
FINAL = ENDED | {S.DECIDED}
ACCEPTED = frozenset({"accepted", "accepted_with_warnings"})
ATTEMPTS = 3
"""Of one round."""
JOB_LIMIT = timedelta(minutes=75)
"""A job's own limit, and the grace beyond it: no run is cancelled earlier that may still answer."""
NOBODY: frozenset[str] = frozenset()


class Violation(AssertionError):  # noqa: N818 - what a promise suffers
    """A promise broken: its number and what was seen."""

    def __init__(self, promise: str, seen: str) -> None:
        super().__init__(promise, seen)  # its arguments are what a pickle of it calls it with
        self.promise = promise
        self.seen = seen

    def __str__(self) -> str:
        return f"{self.promise}: {self.seen}"


class Promises:
    """Remembers what was seen, so that each look costs only what changed."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.rows: dict[str, Workload] = {}
        self.rows_mark = 0
        """A hash of where all workloads stand."""
        self.by_version: dict[str, str] = {}
        """The workload of each landed version."""
        self.replays: dict[str, str] = {}
        """The replay of each workload that has one."""
        self.resting: dict[str, set[str]] = {}
        """The keys in accepted/ and quarantine/ of each workload."""
        self.staging: set[str] = set()
        """Keys of staging copies."""
        self.barred: Collection[str] = NOBODY
        """Workloads that whoever moves now was refused the lease of."""
        self.digests: dict[str, list[str]] = {}
        """Of each chain, block by block."""
        self.requests: dict[str, tuple[object, datetime]] = {}
        """StartJobRun's requests as rows store them, and from when they may be sent, by token."""
        self.rounds: dict[str, int] = {}
        """Attempts that a workload had used when its round began."""
        self.published: set[str] = set()
        self.tokens: set[str] = set()
        self.row_changes = self.touched = self.indexed = 0
        self.runs_seen = len(world.memory.jobs.runs)
        self.height = -1
        self.taken: set[tuple[State, State]] = set()
        """Transitions seen, for what a run covered."""

    def hold(self) -> None:
        """Raise Violation if any safety promise is broken now."""
        memory = self.world.memory
        moved = memory.rows.changes != self.row_changes
        if moved:
            self.row_changes = memory.rows.changes
            self._rows_moved()
        touched = memory.objects.touched
        if len(touched) != self.touched:
            new, self.touched = touched[self.touched :], len(touched)
            for bucket, key in new:
                self._touched(bucket, key)
        if moved:  # a block is written together with a row
            self._grown()
        if len(memory.jobs.runs) != self.runs_seen:
            self._started()

    def anything_open(self) -> bool:
        """Whether a sweep would find anything to do: a due workload, an unclaimed version, a staging copy."""
        now = self.world.memory.clock.now()
        due = any(row.due_at is not None and row.due_at <= now for row in self.rows.values())
        return due or bool(self.staging) or any(u.version.version not in self.by_version for u in self.world.uploads)

    def row_of(self, upload: Upload) -> Workload | None:
        """The workload that claimed a landed version."""
        return self.rows.get(self.by_version.get(upload.version.version, ""))

    def upload_of(self, row: Workload) -> Upload:
        """The version that a workload, or the one it replays, is about."""
        return self.world.by_version[(row.landed or row.source).version]

    def places(self, workload: str) -> dict[str, bytes]:
        """Where the bytes of a workload are at rest, the accepted share first."""
        touched = self.world.memory.objects.touched
        for _, key in touched[self.indexed :]:
            if key.startswith(("accepted/", "quarantine/")) and "/workload=" in key:
                self.resting.setdefault(key.split("/workload=")[1].partition("/")[0], set()).add(key)
        self.indexed = len(touched)
        lake = self.world.lake
        found = {key: lake[key][-1] for key in sorted(self.resting.get(workload, ())) if key in lake}
        return {key: stored.body for key, stored in found.items() if stored.described}

    def cancelled(self, run: str) -> None:
        """Raise Violation if a run was cancelled that might still have answered."""
        found = self.world.memory.jobs.runs.get(run)
        if found is None or found.state is not JobState.CANCELLED:
            return
        at = self.world.attempt_of(found)
        if at in self.world.dead:
            return
        if self.world.memory.clock.now() - self.world.began[run] < JOB_LIMIT:
            raise Violation("P4", "a healthy job run was cancelled")
        self.world.dead.add(at)

    def _grown(self) -> None:
        for name, chain in self.world.memory.ledger.chains.items():
            digests = self.digests.setdefault(name, [])
            for block in chain[len(digests) :]:
                self._chained(name, block, digests)

    def _rows_moved(self) -> None:
        mark = []
        for row in self.world.memory.rows.rows.values():
            before = self.rows.get(row.id)
            if before is not row:
                self.rows[row.id] = row
                if before is None:
                    self._began(row)
                else:
                    self._moved(before, row)
            mark += (id(row.state), row.attempt, row.due_at is None)
        self.rows_mark = hash(tuple(mark))

    def _began(self, row: Workload) -> None:
        if row.state is not S.RECEIVED:
            raise Violation("P6", f"a workload begins as {row.state}")
        known = self.replays if row.replay_of else self.by_version
        about = row.replay_of or row.source.version
        if about in known:
            raise Violation("P3", "one version, or one replay, has two workloads")
        known[about] = row.id

    def _moved(self, before: Workload, row: Workload) -> None:
        if row.id in self.barred:
            raise Violation("P6", "a worker moved a workload whose lease it was refused")
        if row.attempt < before.attempt:
            raise Violation("P6", f"attempt {before.attempt} became {row.attempt}")
        if row.state is not before.state or row.attempt != before.attempt:
            if (before.state, row.state) not in STEPS:
                raise Violation("P6", f"{before.state} became {row.state}")
            self.taken.add((before.state, row.state))
            self._stepped(before, row)
        elif row.state in FINAL and (row.decision, row.pin, row.source, row.run) != (
            before.decision,
            before.pin,
            before.source,
            before.run,
        ):
            raise Violation("P6", f"a {row.state} workload was written over")
        elif row.failed != before.failed:
            raise Violation("P6", f"attempt {row.attempt} was prepared twice")
        elif row.due_at is not None and row.due_at != before.due_at:
            self._leased(before, row.due_at)
        if before.decision is not None and row.decision != before.decision:
            raise Violation("P6", "a decision was taken back")
        if row.pin != before.pin and row.state is not S.RECEIVED:
            self._pinned(before, row)

    def _leased(self, before: Workload, until: datetime) -> None:
        """P6: who leases a workload found it due; the index, which lags, is not asked."""
        if before.due_at is None or before.due_at > self.world.memory.clock.now():
            raise Violation("P6", "a workload was leased before it was due")
        if until <= before.due_at:
            raise Violation("P6", "a lease ended before it began")

    def _pinned(self, before: Workload, row: Workload) -> None:
        assert row.pin is not None
        if before.pin is not None:
            raise Violation("P21", "a pin was changed")
        if (row.pin.version, row.pin.status, row.pin.plan) not in self.world.offered:
            raise Violation("P21", "a pin names what was never published")
        if bool(row.pin.plan) is not self.upload_of(row).routed:
            raise Violation("P21", "a route covers the key and was not pinned, or none does and one was")

    def _stepped(self, before: Workload, row: Workload) -> None:
        if row.state is S.RECEIVED:
            self.rounds[row.id] = row.attempt
        if row.state is S.SUBMITTING:
            request = json.loads(row.request)
            self.requests[request["clientToken"]] = request, row.not_before or BEGINNING
            if row.attempt - self.rounds.get(row.id, 0) > ATTEMPTS:
                raise Violation("P7", f"attempt {row.attempt} is one too many")
        over = row.state is S.FAILED or (row.state is S.SUBMITTING and before.state is not S.STAGED)
        if not over:
            return
        if row.attempt != before.attempt + (row.state is S.SUBMITTING):
            raise Violation("P6", f"attempt {row.attempt} follows attempt {before.attempt}")
        at = row.id, before.attempt
        if at in self.world.answered:
            raise Violation("P4", "a good result was thrown away")
        if at not in self.world.dead:
            raise Violation("P4", "an attempt was given up that could still answer")
        last = row.failed[-1] if len(row.failed) == len(before.failed) + 1 else None
        if last is None or (last.number, last.run) != (before.attempt, before.run):
            raise Violation("P4", "a row does not say which attempt failed")

    def _touched(self, bucket: str, key: str) -> None:
        if bucket == self.world.gate.places.landing:
            for upload in self.world.uploads:
                if upload.version.key == key:
                    self._kept(upload)
        elif key.startswith("staging/"):
            current = self.world.lake[key][-1].described
            (self.staging.add if current else self.staging.discard)(key)
        elif key.startswith(("accepted/", "quarantine/")):
            stored = self.world.lake.get(key, [])
            if key.endswith("_manifest.json"):
                self._listed(stored)
                return
            row = self.world.memory.rows.rows.get(key.split("/workload=")[1].partition("/")[0])
            if row is None:
                raise Violation("P2", "bytes rest that belong to no workload")
            if key.startswith("accepted/"):
                self._accepted(row, stored)
            self._kept(self.upload_of(row))

    def _kept(self, upload: Upload) -> None:
        """P1: in landing, or at rest in the lake, unless its producer deleted it."""
        stored = self.world.landing.get(upload.version.key, ())
        if upload.deleted or any(each.version == upload.version.version for each in stored):
            return
        row = self.row_of(upload)
        if row is None or row.state not in ENDED or not self.rests(row, upload.body):
            raise Violation("P1", f"an object was lost while its workload is {row.state if row else 'unclaimed'}")

    def rests(self, row: Workload, body: bytes) -> bool:
        """Whether the bytes lie at rest, as this workload's or as its replay's."""
        if b"".join(self.places(row.id).values()) == body:
            return True
        replayed = self.rows.get(self.replays.get(row.id, ""))
        return replayed is not None and self.rests(replayed, body)

    def _accepted(self, row: Workload, stored: list[Stored]) -> None:
        """P2: what is visible in accepted/ was decided accepted, and is what was judged."""
        if row.decision is None or row.decision.verdict not in ACCEPTED:
            raise Violation("P2", "bytes are visible that nobody decided to accept")
        body = self.upload_of(row).body
        allowed = {body, body[:-1] if body.startswith(b"split") else body}
        if any(each.body not in allowed for each in stored):
            raise Violation("P2", "other bytes are visible than those judged")
        if len(stored) > 1:
            raise Violation("P3", "a resting place was written twice")
        assert row.pin is not None
        if truth(row.pin.plan, body) not in ACCEPTED:
            raise Violation("P22", "bytes are visible that the pinned contract does not accept")

    def _listed(self, stored: list[Stored]) -> None:
        manifest = json.loads(stored[-1].body)
        if manifest["height"] < self.height:
            raise Violation("P6", "the manifest went back")
        self.height = manifest["height"]
        accepted = {delivery["workload"] for delivery in manifest["deliveries"]}
        if any(self.rows[each].state is not S.PUBLISHED for each in accepted):
            raise Violation("P2", "the manifest lists what is not published")

    def _chained(self, name: str, block: Block, digests: list[str]) -> None:
        row = self.rows[block.workload]
        assert row.pin is not None
        assert row.decision is not None
        if (block.height, block.previous) != (len(digests), digests[-1] if digests else "0" * 64):
            raise Violation("P3", "a block does not stand on the one below")
        digests.append(block_digest(block))
        if block.workload in self.published:
            raise Violation("P3", "one delivery has two blocks")
        self.published.add(block.workload)
        if (row.state, block.kind) not in {(S.PUBLISHED, "published"), (S.QUARANTINED, "quarantined")}:
            raise Violation("P3", f"a block tells of {block.kind} for a workload that is {row.state}")
        told = (block.chain, block.plan, block.contract_version, block.verdict)
        if told != (name, row.pin.plan, row.pin.version, row.decision.verdict) or name != row.pin.chain:
            raise Violation("P21", "the block tells of another contract or verdict than the row")
        if row.pin.status == "retired" and row.decision.verdict in ACCEPTED:
            raise Violation("P21", "a retired contract accepted something")
        self._counted(block, row)
        self._true(row)

    def _counted(self, block: Block, row: Workload) -> None:
        """The block lists the objects that rest, and the rows that the job counted."""
        if row.id not in self.replays:
            rested = [self.world.lake[key][0].described for key in sorted(self.places(row.id))]
            if not rested:
                raise Violation("P3", "a block stands for bytes that are nowhere")
            listed = [(each.key, each.version, each.size, each.checksum) for each in block.objects]
            if listed != [(o.key, o.version, o.size, o.checksum) for o in rested if o]:
                raise Violation("P3", "a block lists other objects than those at rest")
        body = self.upload_of(row).body
        rejected = 1 if body.startswith((b"split", b"bad")) else 0
        if (block.rows, block.rejected_rows) != (
            (len(body), rejected) if row.decision and row.decision.result else (None, None)
        ):
            raise Violation("P3", "a block counts other rows than the job")

    def _true(self, row: Workload) -> None:
        """P21: the verdict is the pinned contract's; where another reason is given, that reason holds."""
        assert row.pin is not None
        assert row.decision is not None
        reasons = row.decision.reasons
        if "contract-retired" in reasons or "unrouted" in reasons:
            holds = row.pin.status == "retired" or not row.pin.plan
        elif "duplicate-content" in reasons:
            holds = any(self._took(row, other) for other in self.rows.values())
        else:
            expected = truth(row.pin.plan, self.upload_of(row).body)
            holds = row.decision.verdict == {"refused": "rejected"}.get(expected, expected)
        if not holds:
            raise Violation(
                "P21",
                f"the ledger says {row.decision.verdict} ({', '.join(reasons) or 'no reason'}), the truth does not",
            )

    def _took(self, row: Workload, other: Workload) -> bool:
        """Whether another delivery of the same content to the same line was accepted."""
        if other is row or other.decision is None or other.decision.verdict not in ACCEPTED:
            return False
        same = other.pin is not None and row.pin is not None and other.pin.chain == row.pin.chain
        return same and self.upload_of(other).body == self.upload_of(row).body

    def _started(self) -> None:
        """P3: a run is started with the request that its row stores, once, and not before its back-off is over."""
        runs = self.world.memory.jobs.runs
        for run in list(runs.values())[self.runs_seen :]:
            token = str(run.request["clientToken"])
            arguments = str(run.request["jobDriver"])
            if arguments in self.tokens:
                raise Violation("P3", "one attempt has two job runs")
            self.tokens.add(arguments)
            stored, not_before = self.requests.get(token, (None, BEGINNING))
            if run.request != stored:
                raise Violation("P3", "a job run was started with a request that no row stores")
            if self.world.memory.clock.now() < not_before:
                raise Violation("P4", "an attempt was started before its back-off was over")
        self.runs_seen = len(runs)
