"""The events of applications and runs, on their way to EventBridge: one after the other, best effort, as AWS's own."""

from __future__ import annotations

import heapq
import itertools
import json
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Condition
from typing import TYPE_CHECKING, Any, Final, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from local_emr.api_shapes import ENDS, QuotaExceeded, RunState, Stop, StoppedError, now, read_parameters
from local_emr.faults import EventDelivery, RunEnd
from local_emr.job_runs import DETAILS, Application, Run, RunAttempt
from local_emr.quotas import NONE, Quotas
from local_emr.spark_processes import LOGS, Executor, FileCache, JobAttempt, UnreachableError
from local_emr.spark_rules import ROLES, run_vcpus, start_refusal, vcpus

if TYPE_CHECKING:
    from mypy_boto3_events.client import EventBridgeClient


# ---- Events on their way to EventBridge ----


SOURCE: Final = "aws.emr-serverless"
APPLICATION: Final = "EMR Serverless Application State Change"
RUN: Final = "EMR Serverless Job Run State Change"
RETRY: Final = "EMR Serverless Job Run Retry"


@dataclass(frozen=True, slots=True)
class Event:
    """One event as it will be put."""

    kind: str
    detail: str
    time: datetime


def event(kind: str, detail: Mapping[str, Any], moment: datetime) -> Event:
    """An event of that kind and detail; times become text as AWS writes them."""
    return Event(kind, json.dumps(detail, default=_written), moment)


class Outlet(Protocol):
    """The destination of events."""

    def put(self, sent: Event, delay: float = 0.0) -> None:
        """Send an event so many seconds later; events of the same delay keep their order."""
        ...


class Reporter:
    """Sends an event for every change of a run, as the run's fault allows. The caller holds the lock of `Life`."""

    def __init__(self, outlet: Outlet) -> None:
        self._outlet = outlet
        self._held: dict[str, list[Event]] = {}

    def changed(self, run: Run, previous: RunState | None) -> None:
        """Send the event of a run that entered its state."""
        document = event(RUN, run.detail(previous), run.latest.updated_at)
        match run.fault.delivery(run.state):
            case EventDelivery.NORMAL:
                self._outlet.put(document)
            case EventDelivery.DUPLICATE:
                self._outlet.put(document)
                self._outlet.put(document)
            case EventDelivery.DELAY:
                self._outlet.put(document, run.fault.delay_seconds)
            case EventDelivery.REORDER:
                self._held.setdefault(run.id, []).append(document)
            case EventDelivery.DROP:
                pass
        if run.state in ENDS:
            for held in reversed(self._held.pop(run.id, [])):
                self._outlet.put(held)

    def plain(self, kind: str, detail: Mapping[str, Any], moment: datetime) -> None:
        """Send an event that no fault affects: a change of an application, a retry."""
        self._outlet.put(event(kind, detail, moment))


class EventBridge:
    """An outlet that puts events on the default bus, from a thread of its own."""

    def __init__(self, client: EventBridgeClient) -> None:
        self._client = client
        self._due: list[tuple[float, int, Event]] = []
        self._order = itertools.count()
        self._changed = threading.Condition()
        self._open = True
        self._thread = threading.Thread(target=self._send, name="events", daemon=True)
        self._thread.start()

    def put(self, sent: Event, delay: float = 0.0) -> None:
        with self._changed:
            heapq.heappush(self._due, (time.monotonic() + delay, next(self._order), sent))
            self._changed.notify()

    def close(self) -> None:
        """Send what is due, drop what is not, and stop."""
        with self._changed:
            self._open = False
            self._changed.notify()
        self._thread.join()

    def _send(self) -> None:
        while (sent := self._next()) is not None:
            _put(self._client, sent)

    def _next(self) -> Event | None:
        with self._changed:
            while True:
                wait = self._due[0][0] - time.monotonic() if self._due else None
                if wait is not None and wait <= 0:
                    return heapq.heappop(self._due)[2]
                if not self._open:
                    return None
                self._changed.wait(wait)


def _put(client: EventBridgeClient, sent: Event) -> None:
    """Put one event; EventBridge refuses with HTTP 200, so that the answer has to be read."""
    try:
        answer = client.put_events(
            Entries=[
                {"Source": SOURCE, "DetailType": sent.kind, "Detail": sent.detail, "Time": sent.time, "Resources": []}
            ]
        )
    except (BotoCoreError, ClientError) as error:
        print(f"emr: an event was lost: {type(error).__name__}: {error}", file=sys.stderr)
        return
    if answer["FailedEntryCount"]:
        code = answer["Entries"][0].get("ErrorCode")
        print(f"emr: an event was refused: {code}: is {SOURCE} let through?", file=sys.stderr)


def _written(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds").replace("+00:00", "Z")
    raise TypeError(type(value).__name__)


# ---- The life of job runs ----
#     SUBMITTED ──────────► PENDING ► SCHEDULED ► RUNNING ─┬► SUCCESS
#         └───► QUEUED ───────▲                            └► FAILED ► the next attempt, PENDING again
#     any of them ► CANCELLING ► CANCELLED    (CancelJobRun, or the time is over)
#
# A run that its application admits has a thread of its own. Every state changes under one lock (`changed`), and the event is
# handed over under it too: events leave in the order of the changes.


PATIENCE_SECONDS: Final = 20.0
"""A closing service waits so long for its runs to end."""
_ADMITTED: Final = frozenset(RunState) - ENDS - {RunState.SUBMITTED, RunState.QUEUED}


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of an attempt."""

    state: RunState
    details: str


class Life:
    """Brings runs from SUBMITTED to their end. `changed` guards all runs and is notified of each change."""

    def __init__(  # noqa: PLR0913, PLR0917 - what its processes, files and times are, and the account's quotas
        self,
        executor: Executor,
        files: FileCache,
        reporter: Reporter,
        folder: Path,
        minute: float,
        quotas: Quotas = NONE,
    ) -> None:
        self.quotas = quotas
        self.changed = threading.Condition()
        self._executor = executor
        self._files = files
        self._reporter = reporter
        self._folder = folder
        self._minute = minute
        self._queue: dict[str, list[Run]] = {}
        self._active: dict[str, tuple[Run, threading.Thread]] = {}
        self._vcpus: dict[str, int] = {}
        """Of the active runs."""
        self._seats = Seats(self.changed, executor.seats)

    def submit(self, run: Run) -> None:
        """Take a new run: it starts at once, or is QUEUED until its application has room."""
        with self.changed:
            self._reporter.changed(run, None)
            self._queue.setdefault(run.application.id, []).append(run)
            self._admit(run.application)
            if run.state is RunState.SUBMITTED and run.id not in self._active:
                run.queued_at = now()
                self._move(run, RunState.QUEUED)
                self._limit(run, run.application.queue_minutes, "the queue timeout", {RunState.QUEUED})

    def cancel(self, run: Run, reason: str) -> None:
        """Begin the end of a run that has not ended; it is CANCELLED when nothing of it runs any more."""
        with self.changed:
            if run.state in ENDS or run.state is RunState.CANCELLING:
                return
            self._move(run, RunState.CANCELLING, reason)
            run.stop.say(reason)
            self.changed.notify_all()
            if run.id not in self._active:
                self._queue[run.application.id].remove(run)
                self._finish(run, Ended(RunState.CANCELLED, reason))

    def close(self) -> None:
        """Stop all runs, and what runs them; nothing is left running."""
        with self.changed:
            runs = [run for run, _ in self._active.values()] + self._waiting()
            threads = [thread for _, thread in self._active.values()]
            for run in runs:
                self.cancel(run, "the service is going down")
        self._executor.close()
        for thread in threads:
            thread.join(PATIENCE_SECONDS)

    def refuse_full_queue(self) -> None:
        """Raise QuotaExceeded where as many runs wait as the account may have."""
        if sum(run.state is RunState.QUEUED for run in self._waiting()) >= self.quotas.queued:
            raise QuotaExceeded("The account has the maximum number of queued job runs")

    def _admit(self, application: Application) -> None:
        waiting = self._queue.get(application.id, [])
        while waiting and self._busy(application) < application.maximum and self._fits(waiting[0]):
            run = waiting.pop(0)
            self._vcpus[run.id] = min(run_vcpus(settings_of(run)), self._free_vcpus())
            thread = threading.Thread(target=self._live, args=(run,), name=run.id, daemon=True)
            self._active[run.id] = run, thread
            thread.start()

    def _fits(self, run: Run) -> bool:
        """Whether the account has vCPUs for the driver and an executor of a run."""
        settings = settings_of(run)
        return sum(vcpus(settings, role) for role in ROLES) <= self._free_vcpus()

    def _free_vcpus(self) -> int:
        return self.quotas.vcpus - sum(self._vcpus.values())

    def _busy(self, application: Application) -> int:
        return sum(run.application is application for run, _ in self._active.values())

    def _live(self, run: Run) -> None:
        try:
            ended = self._attempts(run)
        except StoppedError as stopped:
            ended = Ended(RunState.CANCELLED, str(stopped))
        except Exception as error:  # noqa: BLE001 - a defect here, or a dead S3, must end as a run that FAILED, with the reason
            traceback.print_exc(file=sys.stderr)
            ended = Ended(RunState.FAILED, f"{type(error).__name__}: {error}")
        with self.changed:
            del self._active[run.id], self._vcpus[run.id]
            self._finish(run, Ended(RunState.CANCELLED, run.stop.reason) if run.stop.requested else ended)
            for application in {run.application.id: run.application for run in self._waiting()}.values():
                self._admit(application)  # the vCPUs are those of all applications

    def _waiting(self) -> list[Run]:
        return [run for waiting in self._queue.values() for run in waiting]

    def _attempts(self, run: Run) -> Ended:
        while True:
            ended = self._attempt(run)
            if ended.state is RunState.SUCCESS or run.latest.number == run.most_attempts:
                return ended
            with self.changed:
                if run.stop.requested:
                    raise StoppedError(run.stop.reason)
                self._retry(run, ended)

    def _retry(self, run: Run, ended: Ended) -> None:
        previous, moment = run.latest, now()
        self._note(previous, ended.state, ended.details)
        run.attempts.append(RunAttempt(previous.number + 1, moment, moment))
        self._reporter.plain(RETRY, run.retry_detail(previous), moment)

    def _attempt(self, run: Run) -> Ended:
        self._begin(run, RunState.PENDING)
        refused = start_refusal(settings_of(run), run.application.capacity)
        if refused:
            return Ended(RunState.FAILED, refused)
        if run.fault.end not in {RunEnd.FAIL_BEFORE, RunEnd.HANG}:
            try:
                job = self._staged(run)
            except UnreachableError as unreachable:
                return Ended(RunState.FAILED, str(unreachable))
        self._begin(run, RunState.SCHEDULED)
        run.stop.wait(run.fault.start_seconds)
        if run.fault.end in {RunEnd.FAIL_BEFORE, RunEnd.HANG}:
            return self._unplayed(run)
        with self._seats.one(run.stop):
            self._running(run)
            ended = self._played(run, job)
        if run.fault.end is RunEnd.HANG_AFTER:
            run.stop.wait(None)
        return ended

    def _unplayed(self, run: Run) -> Ended:
        self._running(run)
        if run.fault.end is RunEnd.HANG:
            run.stop.wait(None)
        return Ended(RunState.FAILED, "Job failed before its program ran, as its fault asks")

    def _played(self, run: Run, job: JobAttempt) -> Ended:
        try:
            code = self._executor.run(job, run.stop)
        finally:
            self._files.write_logs(run, job.folder)
        if run.fault.end is RunEnd.FAIL_AFTER:
            return Ended(RunState.FAILED, f"Job failed after its program ended with {code}, as its fault asks")
        return Ended(RunState.FAILED, _blame(code, job)) if code else Ended(RunState.SUCCESS, "-")

    def _staged(self, run: Run) -> JobAttempt:
        submit = run.request["jobDriver"]["sparkSubmit"]
        parameters = read_parameters(submit.get("sparkSubmitParameters", ""))
        folder = self._folder / run.id / f"attempt-{run.latest.number}"
        folder.mkdir(parents=True)
        for name in LOGS:
            (folder / name).touch()
        return JobAttempt(
            folder,
            self._files.fetch(submit["entryPoint"]),
            tuple(submit.get("entryPointArguments", ())),
            parameters,
            tuple(map(self._files.fetch, parameters.py_files)),
            tuple(map(self._files.fetch, parameters.jars)),
        )

    def _running(self, run: Run) -> None:
        self._begin(run, RunState.RUNNING)
        if run.latest.number == 1:
            self._limit(run, run.minutes, "the execution timeout", _ADMITTED)

    def _limit(self, run: Run, minutes: float, what: str, states: frozenset[RunState] | set[RunState]) -> None:
        def over() -> None:
            with self.changed:
                if run.state in states:
                    self.cancel(run, f"The job run exceeded {what} of {minutes:g} minutes")

        timer = threading.Timer(minutes * self._minute, over)
        timer.daemon = True
        timer.start()
        run.limits.append(timer)

    def _begin(self, run: Run, state: RunState) -> None:
        """Step on, unless the run must end."""
        with self.changed:
            if run.stop.requested:
                raise StoppedError(run.stop.reason)
            self._move(run, state)

    def _finish(self, run: Run, ended: Ended) -> None:
        for timer in run.limits:
            timer.cancel()
        self._move(run, ended.state, ended.details)

    def _move(self, run: Run, state: RunState, details: str = "-") -> None:
        previous = run.state
        if previous is RunState.QUEUED:
            run.left_queue_at = now()
        self._note(run.latest, state, details)
        self._reporter.changed(run, previous)
        self.changed.notify_all()

    def _note(self, attempt: RunAttempt, state: RunState, details: str) -> None:
        attempt.state, attempt.details, attempt.updated_at = state, details[:DETAILS] or "-", now()
        if state is RunState.RUNNING:
            attempt.started_at = attempt.updated_at
        if state in ENDS:
            attempt.ended_at = attempt.updated_at


def settings_of(run: Run) -> Mapping[str, str]:
    """The settings of the cluster that a run asks for."""
    return read_parameters(run.request["jobDriver"]["sparkSubmit"].get("sparkSubmitParameters", "")).cluster


def _blame(code: int, job: JobAttempt) -> str:
    """The end of a failed job, in AWS's words, with the last line that it wrote."""
    last = (job.folder / "stderr").read_text(errors="replace").strip().rpartition("\n")[2]
    return (
        f"Job failed, please check complete logs in configured logging destination. ExitCode: {code}. "
        f"Last few exceptions: {last}"
    )


class Seats:
    """So many seats, and the line before them; `changed` guards both and wakes who waits."""

    def __init__(self, changed: Condition, seats: int) -> None:
        self._changed = changed
        self._free = seats
        self._line: deque[Stop] = deque()

    @contextmanager
    def one(self, stop: Stop) -> Iterator[None]:
        """While inside, one seat is taken; StoppedError if the word to stop comes before there is one."""
        with self._changed:
            self._line.append(stop)
            try:
                self._changed.wait_for(lambda: stop.requested or (self._line[0] is stop and self._free > 0))
                if stop.requested:
                    raise StoppedError(stop.reason)
                self._free -= 1
            finally:
                self._line.remove(stop)
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._free += 1
                self._changed.notify_all()
