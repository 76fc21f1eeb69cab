"""Many uploads at once against the quotas of an account, on virtual time; `python -m tests.bench.bursts` prints a table.

The service takes as many calls, queued runs and runs at once as a new account may have (infra/local/emr/quotas.py). A minute of a
thousand uploads takes some seconds of this machine.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from infra.local.emr.api_shapes import ThrottlingError
from infra.local.emr.quotas import QUEUED, RATES, TokenBuckets
from lakegate.errors import LakegateError, Throttled
from lakegate.gate.delivery.advance import completion, invocation_ended
from lakegate.gate.delivery.delivery_terms import BatchLimits
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.protocol import END_STATES
from lakegate.gate.dependencies import ALONE
from lakegate.gate.effects import Steps, run
from lakegate.gate.ports import INVOCATION, JobRun, JobState
from lakegate.gate.sweep import sweep
from tests.simulation.environment import LANDING, PREFIX, Environment

SWEEP_EVERY = 300
SWEEP_SECONDS = 240.0
"""The time limit of the function, as template.yaml has it."""


class Account(NamedTuple):
    """What an account and a stack may do at once."""

    runs_at_once: int = 2
    seconds_of_a_run: int = 120
    queued: int = QUEUED
    batch: BatchLimits = ALONE
    judge: bool = False
    invocations_at_once: int = 1_000
    """Of the judge function, a second each."""


@dataclass(slots=True)
class BoundedJobs:
    """JobRunner: runs in memory that begin as the account allows; invocations end at once."""

    env: Environment
    account: Account
    waiting: deque[str] = field(default_factory=deque)
    running: dict[str, datetime] = field(default_factory=dict)
    throttled: int = 0
    most_waiting: int = 0
    buckets: TokenBuckets = field(init=False)

    def __post_init__(self) -> None:
        self.buckets = TokenBuckets(RATES, lambda: self.env.memory.clock.now().timestamp())

    def start(self, request: Mapping[str, object]) -> str:
        """StartJobRun within the rate and the queue of the account; Invoke without either."""
        if "jobDriver" not in request:
            return self.env.memory.jobs.start(request)
        try:
            self.buckets.take("StartJobRun")
        except ThrottlingError:
            self.throttled += 1
            raise Throttled("StartJobRun: ThrottlingException") from None
        if request["clientToken"] not in self.env.memory.jobs.tokens:
            if len(self.waiting) >= self.account.queued:
                self.throttled += 1
                raise Throttled("StartJobRun: ServiceQuotaExceededException")
            self.waiting.append(self.env.memory.jobs.start(request))
            self.most_waiting = max(self.most_waiting, len(self.waiting))
        return self.env.memory.jobs.tokens[str(request["clientToken"])]

    def describe(self, found: str) -> JobRun:
        """QUEUED until it begins."""
        described = self.env.memory.jobs.describe(found)
        return replace(described, state=JobState.QUEUED, started=False) if found in self.waiting else described

    def cancel(self, found: str) -> None:
        """End it, wherever it is."""
        if found in self.waiting:
            self.waiting.remove(found)
        self.running.pop(found, None)
        self.env.memory.jobs.cancel(found)

    def ended(self) -> list[str]:
        """The runs that have ended by now; those that waited longest take their places."""
        now = self.env.memory.clock.now()
        over = [each for each, until in self.running.items() if until <= now]
        for each in over:
            del self.running[each]
        while self.waiting and len(self.running) < self.account.runs_at_once:
            self.running[self.waiting.popleft()] = now + timedelta(seconds=self.account.seconds_of_a_run)
        return over


@dataclass(slots=True)
class Burst:
    """Uploads, the functions that they call, and what became of them."""

    account: Account
    env: Environment = field(init=False)
    jobs: BoundedJobs = field(init=False)
    failures: list[BaseException] = field(default_factory=list)
    """Messages that a queue would deliver again, and what sweeps report."""
    runs: dict[str, Steps[object]] = field(default_factory=dict)
    swept_at: datetime | None = None

    def __post_init__(self) -> None:
        self.env = Environment(batch=self.account.batch, judge=self.account.judge)
        self.jobs = BoundedJobs(self.env, self.account)
        self.env.dependencies = replace(self.env.dependencies, jobs=self.jobs)

    def upload(self, count: int) -> None:
        """So many uploads of different contents, each taken in at once."""
        for _ in range(count):
            number = len(self.env.uploads)
            key = f"{PREFIX}{number:06}.csv"
            self.env.upload(key, f"good:{number}".encode())
            self._act(intake(self.env.dependencies, LANDING, key))

    def second(self) -> None:
        """Let a second pass: runs end and begin, and a sweep is started where its time has come."""
        clock = self.env.memory.clock
        clock.sleep(1)
        for run_id, job in self.env.new_jobs():
            self.runs[run_id] = job
        invoked = [each for each in self.runs if each.startswith(INVOCATION)][: self.account.invocations_at_once]
        for run_id in [*self.jobs.ended(), *invoked]:
            run(self.runs.pop(run_id), clock)
            if run_id in invoked:
                workload, attempt = run_id.removeprefix(INVOCATION).partition("#")[0].split("/")
                self._act(invocation_ended(self.env.dependencies, workload, int(attempt), failed=False))
            else:
                self._act(completion(self.env.dependencies, run_id))
        if self.swept_at is None or clock.now() >= self.swept_at + timedelta(seconds=SWEEP_EVERY):
            self.swept_at = clock.now()
            self._sweep()

    def open(self) -> int:
        """Deliveries that have not come to an end."""
        return sum(row.state not in END_STATES for row in self.env.memory.workloads.values())

    def _sweep(self) -> None:
        clock = self.env.memory.clock
        until = clock.now() + timedelta(seconds=SWEEP_SECONDS)
        dependencies = replace(self.env.dependencies, remaining=lambda: _left(until - clock.now()))
        swept = run(sweep(dependencies), clock)
        self.failures += swept.failures

    def _act(self, steps: Steps[object]) -> None:
        try:
            run(steps, self.env.memory.clock)
        except LakegateError as failure:
            self.failures.append(failure)


def _left(time: timedelta) -> float:
    return time.total_seconds()
