"""The promises that must hold after every effect. final_promises.py has those that hold once all is finished.

Nothing here is computed by the code under test: ids, tokens, digests and names of keys are computed a second time, from the
documentation, and a delivery is known by the version that landed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any

from lakegate.gate.delivery.delivery_row import FailedAttempt, Workload, archived_row
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery_store import Batch
from lakegate.gate.ledger.blocks import AnyBlock, Block, Record
from lakegate.gate.ports import JobState, is_invocation
from tests.fakes.fault_injector import BEGINNING
from tests.fakes.identity import ALICE
from tests.fakes.objects import Stored
from tests.simulation import approvals, own_states
from tests.simulation.approvals import broken_by_answer, broken_by_state, declined_rightly
from tests.simulation.cancellations import broken_by_cancellation, cancelled_workloads, is_cancelled
from tests.simulation.contract import ACCEPTED, block_digest, read_json, record_digest, truth
from tests.simulation.environment import (
    INVOCATION_LIMIT,
    LINE,
    SEGMENT_HEIGHTS,
    Environment,
    Upload,
    key_of,
    request_of,
)
from tests.simulation.lifecycle import REFUSALS as REFUSED
from tests.simulation.lifecycle import Broken, Lifecycles
from tests.simulation.pauses import PausePromises
from tests.simulation.slice_promises import SlicePromises
from tests.simulation.typed import fault_of

S = State
STEPS = {
    (S.RECEIVED, S.PINNED),
    (S.RECEIVED, S.HELD),
    (S.HELD, S.PINNED),
    (S.HELD, S.GONE),
    (S.HELD, S.FAILED),
    (S.RECEIVED, S.DECIDED),
    (S.HELD, S.DECIDED),
    (S.STAGED, S.DECIDED),
    (S.SUBMITTING, S.DECIDED),
    (S.RECEIVED, S.GONE),
    (S.RECEIVED, S.FAILED),
    (S.PINNED, S.FAILED),
    (S.PINNED, S.STAGED),
    (S.PINNED, S.DECIDED),
    (S.PINNED, S.GONE),
    (S.STAGED, S.SUBMITTING),
    (S.SUBMITTING, S.VALIDATING),
    (S.SUBMITTING, S.SUBMITTING),
    (S.SUBMITTING, S.FAILED),
    (S.VALIDATING, S.DECIDED),
    (S.VALIDATING, S.AWAITING),
    (S.AWAITING, S.ANSWERED),
    (S.AWAITING, S.DECIDED),
    (S.ANSWERED, S.DECIDED),
    (S.VALIDATING, S.SCHEDULED),
    (S.ANSWERED, S.SCHEDULED),
    (S.SCHEDULED, S.DECIDED),
    (S.VALIDATING, S.SUBMITTING),
    (S.VALIDATING, S.FAILED),
    (S.DECIDED, S.PUBLISHED),
    (S.DECIDED, S.QUARANTINED),
    (S.DECIDED, S.GONE),
    (S.FAILED, S.RECEIVED),
}
ENDED = frozenset({S.PUBLISHED, S.QUARANTINED})
FINAL = ENDED | {S.DECIDED}
ATTEMPTS = 3
GIVEN_UP: frozenset[str] = frozenset()
"""The outcomes after which the workflow under test does not try again: none in `push`."""
OUTCOMES = {"undecided": "undecided", "token-taken": "conflict"}
"""By the cause of a failed attempt; of any other it is `lost`."""
"""Of one round."""
JOB_LIMIT = timedelta(minutes=75)
"""A job's own limit, and the grace beyond it: no run is cancelled earlier that may still answer."""
REFUSALS = {"AccessDenied": "access-denied", "Archived": "archived"}
"""The cause that a row has, by S3's refusal."""
NOBODY: frozenset[str] = frozenset()
REBUILT = f"accepted/{LINE}/_state/"
"""Where a person puts a merge state."""
WRITTEN = (".parquet", "/_state/state.bin")
"""How the keys of slices, and of files of a merge state, end; those of what was delivered have other ends."""


def manifest_deliveries(lake: dict[str, list[Stored]], key: str) -> list[Any] | None:
    """What a reader finds by a head: the deliveries of its segments, then its own. None: a segment is missing."""
    head = read_json(lake[key][-1].body)
    folder = key.removesuffix("_manifest.json") + head["segments"].get("folder", "_manifest/")
    firsts = range(0, head["segments"]["count"] * SEGMENT_HEIGHTS, SEGMENT_HEIGHTS)
    segments = [lake.get(f"{folder}{first:012}.json") for first in firsts]
    if not all(segments):
        return None
    listed = [each for segment in segments if segment for each in read_json(segment[-1].body)["deliveries"]]
    return [*listed, *head["deliveries"]]


def waived_rightly(row: Workload) -> bool:
    """Whether a person let the delivery through, and it was taken in before the waiver was over."""
    if row.waiver is None or row.pin is None or row.waiver.rejected != row.replay_of:
        return False
    return datetime.fromisoformat(row.pin.judging_time) < datetime.fromisoformat(row.waiver.expires)


def token_of(request: Mapping[str, object]) -> str:
    """What a request to start an attempt is known by."""
    return str(request["Payload"] if is_invocation(request) else request["clientToken"])


class Violation(AssertionError):  # noqa: N818 - what a promise suffers
    """A promise broken: its number and what was seen."""

    def __init__(self, promise: str, seen: str) -> None:
        super().__init__(promise, seen)  # its arguments are what a pickle of it calls it with
        self.promise = promise
        self.seen = seen

    def __str__(self) -> str:
        return f"{self.promise}: {self.seen}"


def _result_of(row: Workload) -> str:
    """The key of the result of a row's current attempt."""
    return "/".join(filter(None, ("runs", row.batch, row.id, f"attempt={row.attempt}", "result.json")))


def _raise(broken: Broken | None) -> None:
    if broken is not None:
        raise Violation(broken.promise, broken.seen)


def _broken(promise: str, seen: str) -> None:
    if seen:
        raise Violation(promise, seen)


def arrived(places: dict[str, bytes]) -> dict[str, bytes]:
    """Of what is stored of a delivery that which arrived, which lies beside slices."""
    return {key: body for key, body in places.items() if not key.endswith(WRITTEN)}


def is_given_up(row: Workload) -> bool:
    """Whether the workflow does not try again after what the last attempt ended in."""
    return OUTCOMES.get(row.failed[-1].cause, "lost") in GIVEN_UP


class Promises:
    """Remembers what was seen, so that each look costs only what changed."""

    def __init__(self, env: Environment) -> None:
        self.env = env
        memory = env.memory
        self._changed, self._joined, self._lines = map(memory.changes, ("workload", "batch", "line"))
        self._touches, self._table, self._runs = memory.objects.touched, memory.table, memory.jobs.runs
        self.rows: dict[str, Workload] = {}
        self.pauses = PausePromises(env)
        self.slices = SlicePromises(env)
        self.marks: dict[str, int] = {}
        """A hash of the state of each workload."""
        self.rows_mark = 0
        """A hash of the states of all workloads."""
        self.by_version: dict[str, str] = {}
        """The workload of each landed version."""
        self.replays: dict[str, str] = {}
        """The replay of each workload that has one."""
        self.destinations: dict[str, set[str]] = {}
        """The keys in accepted/ and quarantine/ of each workload."""
        self.staging: set[str] = set()
        """Keys of staging copies."""
        self.staged: dict[str, set[str]] = {}
        """The versions of all staged copies that the row of a workload has ever named."""
        self.barred: Collection[str] = NOBODY
        """Workloads whose lease the current worker was refused."""
        self.digests: dict[str, list[str]] = {}
        """Of each chain, block by block."""
        self.requests: dict[str, tuple[object, datetime]] = {}
        """StartJobRun's requests as rows store them, and from when they may be sent, by token."""
        self.rounds: dict[str, int] = {}
        """Attempts that a workload had used when its round began."""
        self.overtaken: set[tuple[str, int]] = set()
        """Attempts whose results fit their line no more."""
        self.published: set[str] = set()
        self.replayed: list[tuple[Workload, Workload]] = []
        """Rows of which a replay, or a waived copy, has just begun, with that one."""
        self.recorded: dict[str, Record] = {}
        """Records by the ids of their events."""
        self.tokens: set[str] = set()
        self.changed = self.touched = self.indexed = self.blocks_written = 0
        self.runs_seen = len(env.memory.jobs.runs)
        self.height = -1
        self.batches: dict[str, Batch] = {}
        self.batches_changed = 0
        self.taken: set[tuple[State, State]] = set()
        """Transitions seen, for what a run covered."""
        self.lines = Lifecycles(env)
        self.links: dict[str, Workload] = {}
        """From announcements to their workloads."""

    def hold(self) -> None:
        """Raise Violation if any safety promise is broken now."""
        changed, touched = self._changed, self._touches
        if len(self.env.replaced) != self.slices.replaced:
            self.slices.look()
        if len(changed) != self.changed:
            new, self.changed = [each.key.identity for each in changed[self.changed :]], len(changed)
            self._rows_moved(new)
        if len(touched) != self.touched:
            fresh, self.touched = touched[self.touched :], len(touched)
            for bucket, key in fresh:
                self._touched(bucket, key)
        if self._table.blocks_written != self.blocks_written:
            self.blocks_written = self._table.blocks_written
            self._grown()
        while self.replayed:
            self._recorded(*self.replayed.pop())
        if len(self._lines) != self.lines.seen:
            _raise(self.lines.look(self.recorded))
        if len(self._runs) != self.runs_seen:
            self._started()
        if len(self._joined) != self.batches_changed:
            self._batches_moved()

    def anything_open(self) -> bool:
        """Whether a sweep would find anything to do: a due workload, an unclaimed version, a staging copy."""
        if self.staging or any(
            not upload.ignored and upload.version.version not in self.by_version for upload in self.env.uploads
        ):
            return True
        now = self.env.memory.clock.now()
        return any(row.due_at is not None and row.due_at <= now for row in self.rows.values())

    def row_of(self, upload: Upload) -> Workload | None:
        """The workload that claimed a landed version."""
        return self.rows.get(self.by_version.get(upload.version.version, ""))

    def upload_of(self, row: Workload) -> Upload:
        """The version that a workload, or the one it replays, is about."""
        return self.env.by_version[(row.landed or row.source).version]

    def places(self, workload: str) -> dict[str, bytes]:
        """The destinations of a workload with their bytes, the accepted share first."""
        touched = self.env.memory.objects.touched
        for _, key in touched[self.indexed :]:
            if key.startswith(("accepted/", "quarantine/")) and "/workload=" in key:
                self.destinations.setdefault(key.split("/workload=")[1].partition("/")[0], set()).add(key)
        self.indexed = len(touched)
        lake = self.env.lake
        found = {key: lake[key][-1] for key in sorted(self.destinations.get(workload, ())) if key in lake}
        return {key: stored.body for key, stored in found.items() if stored.described}

    def cancelled(self, run: str) -> None:
        """Raise Violation if a run was cancelled that might still have answered for who has not cancelled."""
        found = self.env.memory.jobs.runs.get(run)
        if found is None or found.state is not JobState.CANCELLED:
            return
        still = self.env.unanswered(found)
        healthy = {workload for workload, _ in still} - set(cancelled_workloads(self.recorded))
        if healthy and self.env.memory.clock.now() - self.env.began[run] < JOB_LIMIT:
            raise Violation("P4", "a healthy job run was cancelled")
        for at in self.env.attempts_of(found):  # whose own token was taken has a share in the end of the batch, too
            if at in still or at in self.env.dead:
                self.env.lost(found, at)

    def _grown(self) -> None:
        for name, chain in self.env.memory.chains.items():
            digests = self.digests.setdefault(name, [])
            while len(digests) < len(chain):  # a block adds its digest
                self._chained(name, chain[len(digests)], digests)

    def _rows_moved(self, changed: list[str]) -> None:
        rows = self.env.memory.workloads
        for identity in changed:
            row, before = rows[identity], self.rows.get(identity)
            if before is row:
                continue
            if row.state is S.JOINED:
                self._linked(row)
                continue
            self.rows[identity] = row
            if row.staged is not None:
                self.staged.setdefault(identity, set()).add(row.staged.version)
            self.marks[identity] = hash((id(row.state), row.attempt, row.passed, row.due_at is None))
            if before is None:
                self._began(row)
            else:
                self.replayed += [(before, row)] if (before.state, row.state) == (S.FAILED, S.RECEIVED) else []
                self._moved(before, row)
                if row.state is S.GONE:
                    self._vanished(before, row)
                self._waits(before, row)
                self.lines.decided(row)
        self.rows_mark = hash(tuple(self.marks.values()))

    def _linked(self, row: Workload) -> None:
        """A link leads from an announcement to what landed at its key, and stays."""
        announced = self.env.memory.announcements.get(row.id)
        if announced is None or announced.key != row.source.key or row.joined != self.upload_of(row).workload:
            raise Violation("P3", "a link leads from no announcement, or to another delivery")
        if self.links.setdefault(row.id, row) is not row:
            raise Violation("P3", "a link was changed")

    def _began(self, row: Workload) -> None:
        upload = self.upload_of(row)
        if upload.ignored:
            raise Violation("P1", "an object beside the data became a workload")
        if row.state is not S.RECEIVED:
            raise Violation("P6", f"a workload begins as {row.state}")
        known = self.replays if row.replay_of else self.by_version
        about = row.replay_of or row.source.version
        if about in known:
            raise Violation("P3", "one version, or one replay, has two workloads")
        known[about] = row.id
        if row.replay_of:
            self.replayed.append((self.rows[row.replay_of], row))
        elif row.arrived is None or not upload.arrived <= row.arrived <= self.env.memory.clock.now():
            raise Violation("P3", "a workload has another time of arrival than its event, or its first sighting")
        elif row.arrived != upload.arrived and not upload.version.came_in_parts:
            raise Violation("P3", "a workload has another time of arrival than the upload, which is known")

    def _archived(self, row: Workload) -> None:
        """P1: a row that may leave the table is of a closed delivery, whose upload is not there, and stands in the archive."""
        kept = self.env.lake.get(f"runs/{row.id}/row.json")
        same = kept and archived_row(row.id, kept[-1].body)._replace(expires=row.expires, archived=False) == row
        if not same or row.due_at is not None or row.state not in ENDED:
            raise Violation("P1", "a row may leave the table before it is archived as it is")

    def _moved(self, before: Workload, row: Workload) -> None:
        if row.expires:
            self._archived(row)
        if row.id in self.barred:
            raise Violation("P6", "a worker moved a workload whose lease it was refused")
        if row.attempt < before.attempt:
            raise Violation("P6", f"attempt {before.attempt} became {row.attempt}")
        if (row.state, row.attempt, row.passed) != (before.state, before.attempt, before.passed):
            own = own_states.STEPS if approvals.MACHINE is not None else set()
            if (before.state, row.state) not in STEPS | own:
                raise Violation("P6", f"{before.state} became {row.state}")
            self.taken.add((before.state, row.state))
            self._paused(before, row)
            self._asked(before, row)
            _broken("P25", self.slices.decided(row))
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
        else:
            self._due(before, row)
        if before.decision is not None and row.decision != before.decision:
            raise Violation("P6", "a decision was taken back")
        if row.pin != before.pin and row.state is not S.RECEIVED:
            self._pinned(before, row)

    def _due(self, before: Workload, row: Workload) -> None:
        """What moves when a workload is due, and nothing else."""
        if row.not_before != before.not_before:
            self._put_off(before, row)
        elif row.due_at is not None and row.due_at != before.due_at:
            self._leased(before, row.due_at, is_back=before.tries > row.tries == 0)

    def _put_off(self, before: Workload, row: Workload) -> None:
        """P6: only the start of a run is put off, and nothing else of the workload changes."""
        if row.state is not S.SUBMITTING or row.not_before is None:
            raise Violation("P6", f"a {row.state} workload was put off")
        if row != before._replace(not_before=row.not_before, due_at=row.not_before, tries=0):
            raise Violation("P6", "a workload was changed while its start was put off")

    def _leased(self, before: Workload, until: datetime, *, is_back: bool) -> None:
        """P6: who leases a workload found it due; the index, which lags, is not asked. Who came to an end may give it back."""
        if is_back and before.due_at is not None and until < before.due_at:
            return
        if before.due_at is None or before.due_at > self.env.memory.clock.now():
            raise Violation("P6", "a workload was leased before it was due")
        if until <= before.due_at:
            raise Violation("P6", "a lease ended before it began")

    def _batches_moved(self) -> None:
        """P23: a batch is of one plan and within its limits, never changes once it is closed; no attempt is in two open ones."""
        new, self.batches_changed = self._joined[self.batches_changed :], len(self._joined)
        for identity in (each.key.identity for each in new):
            batch, before = self.env.memory.batches[identity], self.batches.get(identity)
            self.batches[identity] = batch
            if before is not None and before.request and before._replace(run=batch.run) != batch:
                raise Violation("P23", "a closed batch was changed")
            if before is not None and before.run and before.run != batch.run:
                raise Violation("P23", "a batch has two job runs")
            if len({each.workload for each in batch.members}) != len(batch.members) or len(batch.members) > batch.files:
                raise Violation("P23", "a batch has a member twice, or too many")
            if sum(each.size for each in batch.members[:-1]) >= batch.bytes:
                raise Violation("P23", "a batch took another member when it had enough bytes")
            rows = [self.env.memory.workloads[each.workload] for each in batch.members]
            if len({(row.pin.dataset, row.pin.plan) for row in rows if row.pin and not batch.request}) > 1:
                raise Violation("P23", "a batch has members of two plans")
        taking = [each for each in self.batches.values() if not each.request and self._closing_time(each) != BEGINNING]
        places = [each[:2] for batch in taking for each in batch.members]
        if len(places) != len(set(places)):
            raise Violation("P23", "an attempt is in two batches that take members")

    def _is_member(self, row: Workload) -> None:
        """P23: a row names a batch only if the batch has its attempt."""
        members = self.env.memory.batches[row.batch].members
        if (row.id, row.attempt) not in {each[:2] for each in members}:
            raise Violation("P23", "a row names a batch without its attempt")

    def _pinned(self, before: Workload, row: Workload) -> None:
        assert row.pin is not None
        if before.pin is not None:
            raise Violation("P21", "a pin was changed")
        if all((row.pin.version, row.pin.plan) != (version, plan) for version, _, plan in self.env.offered):
            raise Violation("P21", "a pin names what was never published")
        _raise(self.lines.pinned(row))
        if bool(row.pin.plan) is not self.upload_of(row).routed:
            raise Violation("P21", "a route covers the key and was not pinned, or none does and one was")

    def _paused(self, before: Workload, row: Workload) -> None:
        for seen in self.pauses.broken(self.rows, before, row):
            raise Violation("P24", seen)

    def _asked(self, before: Workload, row: Workload) -> None:
        for broken in (broken_by_answer, broken_by_cancellation):
            for promise, seen in broken(self.env, before, row, self.recorded):
                raise Violation(promise, seen)

    def _waits(self, before: Workload, row: Workload) -> None:
        for promise, seen in broken_by_state(self.env, before, row):
            raise Violation(promise, seen)

    def _stepped(self, before: Workload, row: Workload) -> None:
        if row.state is S.RECEIVED:
            self.rounds[row.id] = row.attempt
        self._collided(before)
        self._overtaken(before, row)
        if row.state is S.SUBMITTING:
            self._submitted(before, row)
        over = row.state is S.FAILED or (row.state is S.SUBMITTING and before.state is not S.STAGED)
        if not over:
            return
        if before.state in {S.RECEIVED, S.HELD, S.PINNED}:
            self._unreadable(before, row)
            return
        if row.attempt != before.attempt + (row.state is S.SUBMITTING):
            raise Violation("P6", f"attempt {row.attempt} follows attempt {before.attempt}")
        at = row.id, before.attempt
        # a worker that joined a batch and ended may leave a result in another batch than that of the row
        if _result_of(before) in self.env.answered and at not in self.overtaken:
            raise Violation("P4", "a good result was thrown away")
        if at not in self.env.dead and not self._expired(before):
            raise Violation("P4", "an attempt was given up that could still answer")
        last = row.failed[-1] if len(row.failed) == len(before.failed) + 1 else None
        if last is None or (last.number, last.run) != (before.attempt, before.run):
            raise Violation("P4", "a row does not say which attempt failed")
        self._failed_itself(before, last)

    def _failed_itself(self, before: Workload, last: FailedAttempt) -> None:
        """An attempt counts by what became of its own run.

        It may have been a member of an earlier batch, whose worker died before it wrote the row. A run that was cancelled may
        have written a result nevertheless.
        """
        at, run = (before.id, before.attempt), self.env.memory.jobs.runs.get(last.run)
        if run is not None and run.started and at not in self.overtaken:
            self.env.waited.discard(at)
        is_own = bool(before.batch) and len(self.env.memory.batches[before.batch].members) == 1
        in_batch = bool(before.batch) and last.cause == "batch-failed"
        if not before.batch or (not in_batch and (is_own or _result_of(before) in self.env.lake)):
            self.env.shared.discard(at)

    def gone(self, row: Workload) -> None:
        """P1: what counts as gone was deleted by its producer, and each staged copy of it was removed by the rule of the lake."""
        if not self.upload_of(row).deleted or self.staged.get(row.id, NOBODY) - self.env.memory.objects.expired:
            raise Violation("P1", "a version counts as gone that was staged or never deleted")

    def _vanished(self, before: Workload, row: Workload) -> None:
        """P1: nothing was left that could be judged, in no version; what was refused has been judged.

        A release that stages elsewhere than the one before it does not look for a copy that no row names.
        """
        self.gone(row)
        copies = (
            stored for key, stored in self.env.lake.items() if key.startswith("staging/") and f"/{row.id}/" in key
        )
        if (
            before.state is not S.DECIDED
            and not self.env.releases
            and any(each.described for stored in copies for each in stored)
        ):
            raise Violation("P1", "a version counts as gone whose staged copy could be judged")

    def _overtaken(self, before: Workload, row: Workload) -> None:
        """P25: a good result of slices that does not fit the line any more costs no attempt; one that fits is decided."""
        if not row.failed or (row.failed[-1].number, row.failed[-1].cause) != (before.attempt, "overtaken"):
            return
        if not self.slices.is_overtaken(_result_of(before)):
            raise Violation("P25", "a delivery is judged again, and its result fits the line")
        for attempts in (self.overtaken, self.env.dead, self.env.waited):
            attempts.add((row.id, before.attempt))

    def _submitted(self, before: Workload, row: Workload) -> None:
        """P7: a round has no more attempts than it is allowed, and what is sent of each is stored first."""
        if row.batch:
            self._is_member(row)
        else:
            request = read_json(row.request)
            self.requests[token_of(request)] = request, row.not_before or BEGINNING
        began = self.rounds.get(row.id, 0)
        more = len(self.env.uncounted(row.id, began))
        if row.attempt - began > ATTEMPTS + more + self.env.allowed_more(row.id, began):
            raise Violation("P7", f"attempt {row.attempt} is one too many")
        is_counted = (row.id, before.attempt) not in self.env.waited | self.env.shared | self.env.free
        if before.state is not S.STAGED and is_counted and is_given_up(row):
            raise Violation("P7", "an attempt follows one after which the workflow gives up")

    def _collided(self, row: Workload) -> None:
        """An attempt came to nothing because the token of its batch was used for another request."""
        if row.batch in self.env.collided:
            self.env.dead.add((row.id, row.attempt))
            if len(self.env.memory.batches[row.batch].members) > 1:
                self.env.shared.add((row.id, row.attempt))

    def _unreadable(self, before: Workload, row: Workload) -> None:
        """P4: a delivery that no run was started for failed because S3 refused to read it, and counts as an attempt."""
        upload, last = self.upload_of(row), row.failed[-1]
        if upload.refusal is None or last.cause != REFUSALS[upload.refusal.__name__]:
            raise Violation("P4", f"a delivery failed as {last.cause}, and it can be read")
        if (last.number, last.run, row.attempt) != (before.attempt + 1, "", before.attempt + 1):
            raise Violation("P6", "a delivery that could not be read used no attempt of its own")

    def _expired(self, row: Workload) -> bool:
        """Whether the first invocation of an attempt is past its limit: it is dead, even if invoked again since."""
        at, now = (row.id, row.attempt), self.env.memory.clock.now()
        invoked = [run for run in self.env.memory.jobs.runs.values() if is_invocation(run.request)]
        began = [self.env.began[run.id] for run in invoked if self.env.attempt_of(run) == at]
        if not began or now - min(began) < INVOCATION_LIMIT:
            return False
        self.env.dead.add(at)
        return True

    def _touched(self, bucket: str, key: str) -> None:
        if bucket == self.env.dependencies.places.landing:
            for upload in self.env.uploads:
                if upload.version.key == key:
                    self._kept(upload)
        elif key.startswith("staging/"):
            current = self.env.lake[key][-1].described if key in self.env.lake else None
            (self.staging.add if current else self.staging.discard)(key)
        elif key.startswith(("accepted/", "quarantine/")) and not key.startswith(REBUILT):
            stored = self.env.lake.get(key, [])
            if key.endswith("_manifest.json"):
                self._listed(key, stored)
                return
            if "/_manifest/" in key:
                self._segment(key, stored)
                return
            row = self.env.memory.workloads.get(key.split("/workload=")[1].partition("/")[0])
            if row is None:
                raise Violation("P2", "bytes are stored that belong to no workload")
            self._expires(row, key, stored)
            if key.startswith("accepted/"):
                self._accepted(row, key, stored)
            self._kept(self.upload_of(row))

    def _kept(self, upload: Upload) -> None:
        """P1: in landing, or at its destination in the lake, unless its producer deleted it."""
        stored = self.env.landing.get(upload.version.key, ())
        if upload.deleted or any(each.version == upload.version.version for each in stored):
            return
        if upload.ignored:
            raise Violation("P1", "an object beside the data was removed")
        row = self.row_of(upload)
        if row is None or row.state not in ENDED or not self.contains(row, upload.body):
            raise Violation("P1", f"an object was lost while its workload is {row.state if row else 'unclaimed'}")

    def contains(self, row: Workload, body: bytes) -> bool:
        """Whether the bytes are stored, as this workload's or as its replay's."""
        if b"".join(arrived(self.places(row.id)).values()) == body:
            return True
        replayed = self.rows.get(self.replays.get(row.id, ""))
        return replayed is not None and replayed.state in ENDED and self.contains(replayed, body)

    def _expires(self, row: Workload, key: str, stored: list[Stored]) -> None:
        """P1: quarantined data has the tag of its contract's retention, by which it is deleted; no other data has a tag."""
        tag = ""
        if key.startswith("quarantine/") and row.pin is not None and row.pin.plan:
            policy = read_json(self.env.lake[f"plans/{row.pin.plan}.json"][-1].body)["policy"]
            tag = f"quarantine-{policy['quarantine_days']}" if policy["quarantine_days"] else ""
        if any(self.env.memory.objects.tags.get(each.version, "") != tag for each in stored if each.described):
            raise Violation("P1", "data expires otherwise than its contract says")

    def _accepted(self, row: Workload, key: str, stored: list[Stored]) -> None:
        """P2: what is visible in accepted/ was decided accepted, and is what was judged."""
        if row.decision is None or row.decision.verdict not in ACCEPTED:
            raise Violation("P2", "bytes are visible that nobody decided to accept")
        body = self.upload_of(row).body
        allowed = {body, body[:-1] if body.startswith(b"split") else body}
        if not key.endswith(WRITTEN) and any(each.body not in allowed for each in stored):
            raise Violation("P2", "other bytes are visible than those judged")
        if len(stored) > 1:
            raise Violation("P3", "a destination was written twice")
        assert row.pin is not None
        if truth(row.pin.plan, self.env.measured(row)) not in ACCEPTED and not waived_rightly(row):
            raise Violation("P22", "bytes are visible that the pinned contract does not accept")

    def _listed(self, key: str, stored: list[Stored]) -> None:
        """P6 and P2: a head never goes back, names only segments that are there, and lists only what is published."""
        head = read_json(stored[-1].body)
        if head["height"] < self.height:
            raise Violation("P6", "the manifest went back")
        self.height = head["height"]
        deliveries = manifest_deliveries(self.env.lake, key)
        if deliveries is None:
            raise Violation("P2", "the head of the manifest counts a segment that is not there")
        if any(self.rows[each["workload"]].state is not S.PUBLISHED for each in deliveries):
            raise Violation("P2", "the manifest lists what is not published")
        if any(each["height"] < head["segments"]["count"] * SEGMENT_HEIGHTS for each in head["deliveries"]):
            raise Violation("P2", "a delivery is in a segment and in the head")

    def _segment(self, key: str, stored: list[Stored]) -> None:
        """P2: a segment is written once, and has exactly the published blocks of its heights."""
        if len(stored) > 1:
            raise Violation("P2", "a segment of the manifest was written twice")
        first = int(key.rpartition("/")[2].removesuffix(".json"))
        line = key.removeprefix("accepted/").partition("/_manifest/")[0]
        blocks = self.env.memory.chains[line][first : first + SEGMENT_HEIGHTS]
        published = [block.workload for block in blocks if block.kind == "published"]
        listed = [each["workload"] for each in read_json(stored[-1].body)["deliveries"]]
        if len(blocks) != SEGMENT_HEIGHTS or listed != published:
            raise Violation("P2", "a segment of the manifest differs from the ledger")

    def _chained(self, name: str, block: AnyBlock, digests: list[str]) -> None:
        if (block.height, block.previous) != (len(digests), digests[-1] if digests else "0" * 64):
            raise Violation("P3", "a block does not name the one below")
        if isinstance(block, Record):
            digests.append(record_digest(block))
            if block.event in self.recorded:
                raise Violation("P3", "one act has two records")
            self.recorded[block.event] = block
            if block.kind == "watermark":
                _broken("P25", self.slices.marked(block.content["before"], block.content["watermark"]))
            return
        digests.append(block_digest(block))
        row = self.rows[block.workload]
        assert row.pin is not None
        assert row.decision is not None
        if block.workload in self.published:
            raise Violation("P3", "one delivery has two blocks")
        self.published.add(block.workload)
        is_accepted = row.decision.verdict in ACCEPTED
        if (row.state, block.kind) != ((S.QUARANTINED, "quarantined"), (S.PUBLISHED, "published"))[is_accepted]:
            raise Violation(
                "P3", f"{row.decision.verdict} data has a block {block.kind}, and its workload is {row.state}"
            )
        recorded = (block.chain, block.plan, block.contract_version, block.verdict)
        if recorded != (name, row.pin.plan, row.pin.version, row.decision.verdict) or name != row.pin.dataset:
            raise Violation("P21", "the block names another contract or verdict than the row")
        if row.decision.verdict in ACCEPTED and row.pin.plan and not self.lines.accepts(row):
            raise Violation("P21", f"a line accepted something that was pinned as {row.pin.status}")
        if block.waiver != (row.waiver if row.state is S.PUBLISHED else None):
            raise Violation("P3", "a block names another waiver than the row")
        self._unrouted(block, row)
        self._counted(block, row)
        self._true(row)
        _broken("P26", self.slices.committed(block, row))
        body = self.env.measured(row)
        accepted = body[:-1] if body.startswith(b"split") else body
        _broken("P2", fault_of(block, row, (accepted, body[len(accepted) :]), self.env.lake))

    def _recorded(self, before: Workload, row: Workload) -> None:
        """P3: who replayed an attempt, or waived a rejection, is in the ledger before anything is judged again."""
        if row.waiver is None or before.waiver is not None:
            parts = ["replay", before.id, before.attempt]
        else:
            parts = ["waiver", before.id, ALICE, row.waiver.reason, row.waiver.expires]
        event = hashlib.sha256(json.dumps(parts, separators=(",", ":")).encode()).hexdigest()
        if event not in self.recorded or self.recorded[event].actor != ALICE:
            raise Violation("P3", "a replay, or a waiver, is not recorded with its caller")

    def _counted(self, block: Block, row: Workload) -> None:
        """The block lists the stored objects, and the rows that the job counted."""
        if row.id not in self.replays:
            stored = [self.env.lake[key][0].described for key in sorted(self.places(row.id))]
            if not stored:
                raise Violation("P3", "a block is of bytes that are not stored")
            listed = [(each.key, each.version, each.size, each.checksum) for each in block.objects]
            if listed != [(o.key, o.version, o.size, o.checksum) for o in stored if o]:
                raise Violation("P3", "a block lists other objects than those stored")
        body = self.env.measured(row)
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
        if is_cancelled(row):
            holds = row.decision.verdict == "rejected"
        elif "unrouted" in reasons:
            holds = not row.pin.plan
        elif refused := next((each for each in reasons if each in REFUSED), ""):
            holds = self.lines.refused_rightly(row, refused)
        elif "duplicate-content" in reasons:
            holds = any(self._took(row, other) for other in self.rows.values())
        elif declined_rightly(row):
            holds = truth(row.pin.plan, self.env.measured(row)) in ACCEPTED and row.decision.verdict == "rejected"
        elif row.waiver is not None:
            holds = self._waived(row)
        else:
            expected = self.slices.verdict(row, truth(row.pin.plan, self.env.measured(row)))
            wanted = self.lines.verdict(row, {"refused": "rejected"}.get(expected, expected))
            holds = row.decision.verdict == wanted and (not row.decision.result or self.lines.warned(row))
        if not holds:
            raise Violation(
                "P21",
                f"the ledger has {row.decision.verdict} ({', '.join(reasons) or 'no reason'}), the expected verdict differs",
            )

    def _unrouted(self, block: Block, row: Workload) -> None:
        """What no route covers is in the chain, and in the folder, of the day on which it landed."""
        if row.replay_of or block.plan:
            return
        assert row.arrived is not None
        day = row.arrived.date().isoformat()
        if block.chain != f"_unrouted/{day}" or any(f"/ingest_date={day}/" not in each.key for each in block.objects):
            raise Violation("P3", "an unrouted delivery is in the chain or the folder of another day")

    def _waived(self, row: Workload) -> bool:
        """Whether a rejection was waived rightly: with its reasons, and accepted exactly if the waiver was not over."""
        assert row.decision is not None
        rejection = self.rows[row.replay_of].decision
        accepted = waived_rightly(row)
        first = row.decision.reasons[0].partition(": ")[0]
        known = [each for each in rejection.reasons if not each.startswith("line-")] if rejection else []
        told = list(row.decision.reasons[1 : 1 + len(known)]) == known
        wanted = ("accepted_with_warnings", "waived") if accepted else ("rejected", "waiver-expired")
        return told and (row.decision.verdict, first) == wanted and (not accepted or self.lines.warned(row))

    def _took(self, row: Workload, other: Workload) -> bool:
        """Whether another delivery of the same content to the same line was accepted."""
        if other is row or other.decision is None or other.decision.verdict not in ACCEPTED:
            return False
        same = other.pin is not None and row.pin is not None and other.pin.dataset == row.pin.dataset
        return same and self.upload_of(other).body == self.upload_of(row).body

    def _started(self) -> None:
        """P3: a run is started with the request that its row stores, once, and not before its back-off is over."""
        runs = self.env.memory.jobs.runs
        for run in list(runs.values())[self.runs_seen :]:
            token = token_of(run.request)
            arguments = str(run.request.get("jobDriver"))
            if arguments in self.tokens and not is_invocation(
                run.request
            ):  # Lambda has no tokens: both write one result
                raise Violation("P3", "one attempt has two job runs")
            self.tokens.add(arguments)
            batch = self.env.memory.batches.get(token)
            if batch is not None:
                stored, not_before = read_json(batch.request or "null"), self._closing_time(batch)
                if key_of(request_of(run.request)) not in self.env.lake:
                    raise Violation("P23", "a batch was started before the list of its members was written")
                if not set(self.env.requests_of(run)) <= set(self.env.lake):
                    raise Violation("P23", "a batch was started before the request of a member was written")
            else:
                stored, not_before = self.requests.get(token, (None, BEGINNING))
            if run.request != stored:
                raise Violation("P3", "a job run was started with a request that no row stores")
            if self.env.memory.clock.now() < not_before:
                raise Violation("P4", "an attempt was started before its back-off was over")
        self.runs_seen = len(runs)

    def _closing_time(self, batch: Batch) -> datetime:
        """Before when a batch may not be started: at once, where it has the most members, or bytes, that it takes."""
        is_full = len(batch.members) >= batch.files or sum(each.size for each in batch.members) >= batch.bytes
        return BEGINNING if is_full else batch.closes_at
