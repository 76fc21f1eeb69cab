"""EMR Serverless and the judge function in memory: tokens, names, and every end that a run can have."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from lakegate.base.errors import IdempotencyMismatch, InputError, NotFound
from lakegate.gate.ports import INVOCATION, JobRun, JobState, invocation, is_invocation
from tests.fakes.fault_injector import FaultInjector

TOKEN = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Ending(StrEnum):
    """What becomes of a job run: whether it writes a result, how it ends, and whether an event reports it."""

    ANSWERED = "writes its result and succeeds"
    SILENT = "writes its result and succeeds, and no event comes"
    EMPTY = "succeeds without a result"
    FAILED = "fails without a result"
    LATE_FAILURE = "writes its result, then fails"
    CONFUSED = "answers for another delivery and succeeds"
    CANCELLED = "is cancelled from outside"
    QUEUE_TIMED_OUT = "waits in the queue until its time there is over, and never runs"
    TIMED_OUT = "runs into its own time limit"
    UNFIT = "answers that the delivery does not fit"
    HUNG = "never ends"


WRITES = frozenset({Ending.ANSWERED, Ending.SILENT, Ending.LATE_FAILURE, Ending.CONFUSED, Ending.UNFIT})
SENDS_EVENT = frozenset(Ending) - {Ending.SILENT, Ending.HUNG}
ENDS_IN: dict[Ending, JobState] = {
    Ending.ANSWERED: JobState.SUCCESS,
    Ending.SILENT: JobState.SUCCESS,
    Ending.EMPTY: JobState.SUCCESS,
    Ending.CONFUSED: JobState.SUCCESS,
    Ending.UNFIT: JobState.SUCCESS,
    Ending.FAILED: JobState.FAILED,
    Ending.LATE_FAILURE: JobState.FAILED,
    Ending.CANCELLED: JobState.CANCELLED,
    Ending.QUEUE_TIMED_OUT: JobState.CANCELLED,
    Ending.TIMED_OUT: JobState.CANCELLED,
    Ending.HUNG: JobState.RUNNING,
}


@dataclass(slots=True)
class Run:
    """One job run, or one invocation."""

    id: str
    request: Mapping[str, object]
    state: JobState = JobState.RUNNING
    started: bool = True


class MemoryJobs:
    """Job runs by id and by token, and invocations. They end when the test ends them."""

    def __init__(self, faults: FaultInjector) -> None:
        self._faults = faults
        self.runs: dict[str, Run] = {}
        self.tokens: dict[str, str] = {}
        self.functions: set[str] = {"judge"}
        """The functions that exist."""
        self.unknown: list[Mapping[str, object]] = []
        """Requests for a function that does not exist."""

    def start(self, request: Mapping[str, object]) -> str:
        """A new run, or the one that this token started before; an invocation is always a new one."""
        self._faults.pass_or_refuse()
        if is_invocation(request):
            return self._invoke(request)
        token = str(request["clientToken"])
        if not TOKEN.fullmatch(token) or not TOKEN.fullmatch(str(request["name"])):
            raise InputError("token and name have 1 to 64 characters of A-Z a-z 0-9 . _ -")
        if token in self.tokens:
            run = self.runs[self.tokens[token]]
            if run.request != request:
                raise IdempotencyMismatch
            return run.id
        run = Run(f"run-{len(self.runs) + 1}", request)
        self.runs[run.id] = run
        self.tokens[token] = run.id
        return run.id

    def describe(self, run: str) -> JobRun:
        """Name and state."""
        if run.startswith(INVOCATION):
            return JobRun(run.split("/")[1], JobState.INVOKED)
        try:
            found = self.runs[run]
        except KeyError:
            raise NotFound from None
        billed = (0.5, 1.75) if found.state is not JobState.RUNNING else None
        return JobRun(str(found.request["name"]), found.state, started=found.started, billed=billed)

    def cancel(self, run: str) -> None:
        """End a run that has not ended."""
        self._faults.pass_or_refuse()
        self.end(run, Ending.CANCELLED)

    def _invoke(self, request: Mapping[str, object]) -> str:
        if request["FunctionName"] not in self.functions:
            self.unknown.append(request)
            raise NotFound
        payload = json.loads(str(request["Payload"]))
        name = invocation(payload["workload"], payload["attempt"])
        run = Run(f"{name}#{len(self.runs)}", request)
        self.runs[run.id] = run
        return name

    def end(self, run: str, ending: Ending) -> None:
        """What has ended stays as it is."""
        found = self.runs.get(run)
        if found is not None and found.state is JobState.RUNNING:
            found.state = ENDS_IN[ending]
            found.started = ending is not Ending.QUEUE_TIMED_OUT
