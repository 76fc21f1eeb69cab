"""Uploads a minute against the quotas of an account, on virtual time; `python -m tests.bench.throughput` prints a table.

The use cases are the product's. Here are its template and AWS: queues and their redrive, pollers, executions at once, events of
asynchronous invocations, schedules, job runs. Whatever a function does takes time (`Times`), in which others act.

* SQS and Lambda: a message that failed, and all of a batch that ran into the time limit, are visible again after the visibility
  timeout (https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html).
* An asynchronous invocation that finds no free execution is tried again after 1 s, doubled up to 5 minutes, up to its age
  (https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html).
* EMR Serverless: calls a second, runs in the queue, vCPUs (`integrations/local_emr/local_emr/quotas.py`).
* DynamoDB refuses a transaction while another one is on the same item. A commit writes some ten of the 1,000 units of a chain.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Any, Final, NamedTuple

from local_emr.api_shapes import ThrottlingError
from local_emr.quotas import QUEUED, RATES, VCPUS, TokenBuckets

from lakegate.aws.settings import DEFAULTS
from lakegate.aws.wiring import DRIVER_VCPU, EXECUTOR_VCPU, most_executors
from lakegate.base.errors import ConditionFailed, LakegateError, Throttled, TransactionConflict
from lakegate.contract.delivery_policy import Policy
from lakegate.features.deployment.estimate_command import (
    EXECUTOR_SECONDS,
    FUNCTION_SECONDS,
    INVOCATION_SECONDS,
    RUN_SECONDS,
)
from lakegate.features.deployment.parameter_values import PROFILES, DeploymentProfile
from lakegate.gate.delivery.advance import completion, invocation_ended
from lakegate.gate.delivery.delivery_terms import BatchLimits
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.paced_starts import start_waiting
from lakegate.gate.delivery.protocol import END_STATES, State
from lakegate.gate.effects import RETRIES, Call, Effect, Steps, run
from lakegate.gate.ports import (
    UNSIGNED,
    Address,
    JobRun,
    JobState,
    VersionPage,
    is_invocation,
    names_invocation,
)
from lakegate.gate.send_messages import notify
from lakegate.gate.sweep import sweep
from lakegate.gate.table import TableName
from tests.fakes import Memory
from tests.fakes.jobs import Ending
from tests.simulation.contract import PLAN, read_json
from tests.simulation.environment import LAKE, LANDING, PREFIX, SIGNED, Environment

# ---- What template.yaml says ----

INTAKES: Final = 20
COMPLETIONS: Final = 40
BATCH: Final = 5
VISIBILITY: Final = 1440.0
RECEIVES: Final = 5
FUNCTION_LIMIT: Final = 240.0
NOTIFY_LIMIT: Final = 50.0
SWEEP_EVERY: Final = 300.0
NOTIFY_EVERY: Final = 60.0
JUDGE_AGE: Final = 300.0
SCHEDULE_AGE: Final = 60.0
QUEUE_TIMEOUT: Final = timedelta(hours=6)

# ---- Sizes: a byte of a body stands for many ----

SMALL: Final = 1_500
"""`SmallFileBytes` and `BatchBytes`: more than a hundred small files."""
LARGE: Final = b"0" * SMALL
LARGE_BYTES: Final = 200_000_000
SMALL_BYTES: Final = 1_000_000
GIB: Final = 1 << 30


class Times(NamedTuple):
    """Seconds of requests: to DynamoDB "single-digit milliseconds", to S3 "roughly 100-200 milliseconds".

    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Introduction.html
    https://docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance.html
    """

    of_table: float = 0.005
    of_transaction: float = 0.005
    """Likewise. A commit has some ten items."""
    of_objects: float = 0.1
    others: float = 0.03
    """StartJobRun, GetJobRun, Invoke, PutEvents, Sign: assumed."""
    of_index: float = 1.0
    """By which an index stays behind its table: "within a fraction of a second, under normal conditions".

    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html
    """


AT_ONCE: Final = Times(0.0, 0.0, 0.0, 0.0)
OBJECTS: Final = frozenset(
    {
        Effect.WRITE_PARTS,
        Effect.STAGE,
        Effect.WRITE_REQUEST,
        Effect.WRITE_BATCH,
        Effect.KEEP_ANSWERS,
        Effect.COPY,
        Effect.WRITE_SEGMENT,
        Effect.WRITE_MANIFEST,
        Effect.DELETE_SOURCE,
        Effect.DELETE_STAGING,
        Effect.WRITE_REPORT,
        Effect.ARCHIVE,
    }
)
TRANSACTIONS: Final = frozenset({"save", "commit", "append"})
"""Methods of stores that are one transaction."""
OTHERS: Final = frozenset({Effect.START_JOB, Effect.CANCEL_JOB, Effect.SEND})


class Account(NamedTuple):
    """Quotas of an account, and settings of a stack in it."""

    invocations: int = 1_000
    vcpus: int = VCPUS
    runs: int = int(DEFAULTS["max_runs"])
    queued: int = QUEUED
    judge: bool = False
    batch: BatchLimits = BatchLimits(1, SMALL, 300)
    signs: bool = False
    splits: bool = False
    """Whether the contract keeps rows apart, which the judge function cannot."""
    run_seconds: float = RUN_SECONDS
    times: Times = Times()


# ---- The account ----


@dataclass(slots=True, eq=False)
class Time:
    """The clock of the functions: who sleeps is resumed later by the simulation."""

    began: datetime
    now_: float = 0.0
    asked: float = 0.0

    def now(self) -> datetime:
        """The virtual time."""
        return self.began + timedelta(seconds=self.now_)

    def sleep(self, seconds: float) -> None:
        """Ask for a pause."""
        self.asked += seconds


class Timed:
    """A port whose reads take time."""

    def __init__(self, port: Any, reads: Mapping[str, float], taken: list[float]) -> None:
        self._port = port
        for name, seconds in reads.items():
            setattr(self, name, self._read(getattr(self, name), seconds, taken))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._port, name)

    @staticmethod
    def _read(read: Callable[..., object], seconds: float, taken: list[float]) -> Callable[..., object]:
        def timed(*given: object, **named: object) -> object:
            taken[0] += seconds
            return read(*given, **named)

        return timed


class Objects(Timed):
    """S3. No key of a landed object begins another one, so that its versions need no listing."""

    def versions(self, bucket: str, prefix: str, after: str | None = None, limit: int = 1000) -> VersionPage:
        """Versions of a key, or a page of them."""
        if not prefix.endswith(".csv"):
            page: VersionPage = self._port.versions(bucket, prefix, after, limit)
            return page
        found = [each.described for each in self._port.buckets[bucket].get(prefix, ()) if each.described]
        return VersionPage(tuple(found), None)


@dataclass(slots=True)
class Queued:
    """A job run, since when it waits, and the vCPUs that it takes."""

    id: str
    since: float
    vcpus: int
    seconds: float


@dataclass(slots=True)
class Jobs:
    """JobRunner: EMR Serverless within its quotas, and Lambda's asynchronous invocations."""

    simulation: Simulation
    account: Account
    buckets: TokenBuckets = field(init=False)
    waiting: dict[str, Queued] = field(default_factory=dict)
    running: dict[str, Queued] = field(default_factory=dict)
    waited: dict[str, timedelta] = field(default_factory=dict)
    calls: int = 0
    throttled: int = 0

    def __post_init__(self) -> None:
        self.buckets = TokenBuckets(RATES, lambda: self.simulation.time.now_)

    def start(self, request: Mapping[str, object]) -> str:
        """StartJobRun within the rate and the queue of the account; Invoke without either."""
        memory = self.simulation.env.memory.jobs
        if is_invocation(request):
            name = memory.start(request)
            self.simulation.invoked(next(reversed(memory.runs)))
            return name
        self.calls += 1
        self._take("StartJobRun")
        if request["clientToken"] not in memory.tokens:
            if len(self.waiting) >= self.account.queued:
                self.throttled += 1
                raise Throttled("StartJobRun: ServiceQuotaExceededException")
            found = memory.start(request)
            executors = int(request["jobDriver"]["sparkSubmit"]["sparkSubmitParameters"])  # type: ignore[index] # its shape
            vcpus = DRIVER_VCPU + EXECUTOR_VCPU * executors
            seconds = self.account.run_seconds + EXECUTOR_SECONDS * self.simulation.bytes_of(found) / GIB / executors
            self.waiting[found] = Queued(found, self.simulation.time.now_, vcpus, seconds)
            self.fill()
        return memory.tokens[str(request["clientToken"])]

    def describe(self, found: str) -> JobRun:
        """GetJobRun, with the time in the queue."""
        described = self.simulation.env.memory.jobs.describe(found)
        if names_invocation(found):
            return described
        self._take("GetJobRun")
        if found in self.waiting:
            return replace(described, state=JobState.QUEUED, started=False)
        return replace(described, queued=self.waited.get(found, timedelta()))

    def cancel(self, found: str) -> None:
        """CancelJobRun."""
        if names_invocation(found):
            return
        self._take("CancelJobRun")
        self.waiting.pop(found, None)
        if self.running.pop(found, None):
            self.fill()
        self.simulation.env.memory.jobs.cancel(found)

    def fill(self) -> None:
        """Begin the runs that have waited longest, as far as quotas go; end those that have waited too long."""
        now = self.simulation.time.now_
        while self.waiting:
            first = next(iter(self.waiting.values()))
            if now - first.since >= QUEUE_TIMEOUT.total_seconds():
                del self.waiting[first.id]
                self.waited[first.id] = QUEUE_TIMEOUT
                self.simulation.ended(first.id, Ending.QUEUE_TIMED_OUT)
                continue
            vcpus = sum(each.vcpus for each in self.running.values()) + first.vcpus
            if len(self.running) >= self.account.runs or vcpus > self.account.vcpus:
                return
            del self.waiting[first.id]
            self.running[first.id] = first
            self.waited[first.id] = timedelta(seconds=now - first.since)
            self.simulation.at(now + first.seconds, lambda first=first: self._end(first))  # type: ignore[misc] # bound

    def _end(self, over: Queued) -> None:
        if self.running.pop(over.id, None):
            self.simulation.ended(over.id, Ending.ANSWERED)
            self.fill()

    def _take(self, operation: str) -> None:
        try:
            self.buckets.take(operation)
        except ThrottlingError:
            self.throttled += operation == "StartJobRun"
            raise Throttled(f"{operation}: ThrottlingException") from None


@dataclass(slots=True)
class Message:
    """A message of SQS."""

    act: Callable[[], Steps[object]]
    receives: int = 0


@dataclass(slots=True)
class Queue:
    """A queue of SQS and the pollers of its function."""

    name: str
    pollers: int
    visible: deque[Message] = field(default_factory=deque)
    busy: int = 0
    dead: int = 0
    retries: bool = False


@dataclass(slots=True, eq=False)
class Worker:
    """A function that performs a use case, until its time is over."""

    steps: Steps[Any]
    until: float
    done: Callable[[BaseException | None], None]
    """Called with the error that it ends by; TimeoutError where its time is over."""


@dataclass(slots=True)
class Simulation:
    """Uploads, the functions that they call, and what became of them."""

    account: Account
    seed: int = 1
    env: Environment = field(init=False)
    time: Time = field(init=False)
    jobs: Jobs = field(init=False)
    landed: Queue = field(default_factory=lambda: Queue("intake", INTAKES))
    moved: Queue = field(default_factory=lambda: Queue("completion", COMPLETIONS))
    failures: list[BaseException] = field(default_factory=list)
    """Of messages that are delivered again, and of sweeps and notify."""
    uploaded: dict[str, float] = field(default_factory=dict)
    """By workload the time of its upload, in seconds."""
    committed: dict[str, float] = field(default_factory=dict)
    """Likewise of its commit."""
    told: dict[str, float] = field(default_factory=dict)
    """Likewise of its event."""
    longest: Counter[str] = field(default_factory=Counter)
    """The most that waited at the same time, by place."""
    aged_out: int = 0
    """Events of the judge function that found no execution in time."""
    invoking: int = 0
    executions: int = 0
    _heap: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    _number: Any = field(default_factory=count)
    _random: Random = field(init=False)
    _taken: list[float] = field(default_factory=lambda: [0.0])
    _current: Worker | None = None
    _committing: float = -1.0

    def __post_init__(self) -> None:
        account, times = self.account, self.account.times
        self._random = Random(self.seed)
        memory = Memory.of(LANDING, LAKE, lag=times.of_index)
        self.env = Environment(memory=memory, judge=account.judge, signing=SIGNED if account.signs else UNSIGNED)
        memory.objects.parts_above = GIB
        if not account.splits:
            self.env.publish("1.0.0", "active", replace(PLAN, policy=Policy()))
        self.time = Time(memory.clock.now())
        self.jobs = Jobs(self, account)
        reads = dict.fromkeys(("get", "batch", "due", "listed", "heights", "page"), times.of_table)
        places = self.env.dependencies.places
        job = replace(
            places.job,
            parameters="{executors}",
            executors=most_executors(account.vcpus, account.runs),
            small=SMALL if account.judge else 0,
            batch=account.batch,
        )
        self.env.dependencies = replace(
            self.env.dependencies,
            objects=Objects(memory.objects, dict.fromkeys(("head", "read", "versions"), times.of_objects), self._taken),
            table=Timed(memory.table, reads, self._taken),  # type: ignore[arg-type] # it is one
            jobs=Timed(self.jobs, {"describe": times.others}, self._taken),  # type: ignore[arg-type] # it is one
            clock=self.time,
            places=replace(places, job=job, segment_heights=100),
            remaining=self._remaining,
        )
        self.at(SWEEP_EVERY, self._sweep)
        self.at(NOTIFY_EVERY, self._notify)

    # ---- Time ----

    def at(self, when: float, act: Callable[[], None]) -> None:
        """Do something later."""
        heappush(self._heap, (when, next(self._number), act))

    def run(self, until: float) -> None:
        """Let time pass up to then."""
        while self._heap and self._heap[0][0] <= until:
            when, _, act = heappop(self._heap)
            self._pass(when)
            act()
        self._pass(until)

    def _pass(self, until: float) -> None:
        if until > self.time.now_:
            self.env.memory.clock.sleep(until - self.time.now_)
            self.time.now_ = until

    def _remaining(self) -> float:
        return self._current.until - self.time.now_ if self._current else float("inf")

    # ---- Uploads ----

    def upload(self, uploads: int, body: Callable[[int], bytes] = lambda number: f"good:{number}".encode()) -> None:
        """So many uploads of different contents."""
        for _ in range(uploads):
            number = len(self.uploaded)
            key = f"{PREFIX}{number:06}.csv"
            self.uploaded[self.env.upload(key, body(number)).workload] = self.time.now_
            self.env.inbox.clear()
            self._send(self.landed, lambda key=key: intake(self.env.dependencies, LANDING, key))  # type: ignore[misc] # bound

    def hour(self, minutes: int, small: int, large: int, kind: str = "good") -> None:
        """Upload so many small and large files in each of so many minutes, at random seconds."""
        for minute in range(minutes):
            bodies = [b""] * small + [LARGE] * large
            self._random.shuffle(bodies)
            for second, more in zip(sorted(self._random.uniform(0, 60) for _ in bodies), bodies, strict=True):
                self.at(
                    minute * 60 + second,
                    lambda more=more: self.upload(1, lambda number: f"{kind}:{number:06}".encode() + more),  # type: ignore[misc] # bound
                )
        self.at(0.0, self._forget)

    def open(self) -> int:
        """Deliveries that have not come to an end."""
        if len(self.committed) == len(self.uploaded):
            return 0
        return len(self.uploaded) - sum(row.state in END_STATES for row in self.env.memory.workloads.values())

    def is_over(self) -> bool:
        """Whether every delivery has come to an end, and everybody was told."""
        return len(self.told) == len(self.uploaded) and not self.open()

    def lost(self) -> list[str]:
        """Deliveries that nobody has, or whose block is not there though they were committed, or more than once."""
        rows = self.env.memory.workloads
        blocks = Counter(str(each) for each in self.env.memory.table.rows[TableName.LEDGER, "workload"])
        return [each for each in self.uploaded if each not in rows or blocks[each] != (rows[each].height >= 0)]

    def states(self) -> Counter[State]:
        """Deliveries by state."""
        return Counter(row.state for row in self.env.memory.workloads.values())

    def bytes_of(self, found: str) -> int:
        """Bytes that a run reads, in the sizes that bodies stand for."""
        requests = self.env.requests_of(self.env.memory.jobs.runs[found])
        return sum(LARGE_BYTES if self._is_large(each) else SMALL_BYTES for each in requests)

    def _is_large(self, request: str) -> bool:
        row = self.env.memory.workloads[request.rpartition("/attempt=")[0].rpartition("/")[2]]
        return row.source.size >= SMALL

    def _forget(self) -> None:
        """Free what only other tests look at."""
        for each in self.env.memory.table.changes.values():
            each.clear()
        self.env.memory.objects.touched.clear()
        self.at(self.time.now_ + 60, self._forget)

    # ---- Job runs and invocations ----

    def invoked(self, found: str) -> None:
        """An event of the judge function."""
        self.invoking += 1
        self._note("judge", self.invoking)
        run_ = self.env.memory.jobs.runs[found]
        workload, attempt = self.env.attempt_of(run_)

        def begin(end: Callable[[], None]) -> None:
            size = SMALL_BYTES
            self.at(self.time.now_ + INVOCATION_SECONDS + FUNCTION_SECONDS * size / GIB, lambda: over(end))

        def over(end: Callable[[], None]) -> None:
            self.invoking -= 1
            self.ended(found, Ending.ANSWERED, invoked=True)
            end()
            tell(failed=False)

        def aged() -> None:
            self.invoking -= 1
            self.aged_out += 1
            self.env.memory.jobs.end(found, Ending.FAILED)
            tell(failed=True)

        def tell(*, failed: bool) -> None:
            self._send(self.moved, lambda: invocation_ended(self.env.dependencies, workload, attempt, failed=failed))

        self._event(begin, JUDGE_AGE, aged)

    def ended(self, found: str, ending: Ending, *, invoked: bool = False) -> None:
        """A run, or an invocation, ends: results are written."""
        memory = self.env.memory
        started = memory.jobs.runs[found]
        if ending is Ending.ANSWERED:
            for key, attempt in zip(self.env.requests_of(started), self.env.attempts_of(started), strict=True):
                asked = read_json(memory.objects.read(Address(LAKE, key)))
                with suppress(ConditionFailed):  # an earlier invocation of the attempt wrote it
                    run(self.env.write_result(asked, ending, attempt, invoked=invoked), memory.clock)
        memory.jobs.end(found, ending)
        if not invoked:
            self._send(self.moved, lambda: completion(self.env.dependencies, found))

    # ---- Lambda ----

    def _event(self, begin: Callable[[Callable[[], None]], None], age: float, aged: Callable[[], None]) -> None:
        """An asynchronous invocation: begun when an execution is free, tried again after ever longer pauses."""
        since = self.time.now_

        def attempt(pause: float) -> None:
            if self.executions < self.account.invocations:
                self.executions += 1
                begin(self._free)
            elif self.time.now_ - since >= age:
                aged()
            else:
                until = min(self.time.now_ + pause, since + age)
                self.at(until, lambda: attempt(min(2 * pause, 300.0)))

        attempt(1.0)

    def _free(self) -> None:
        self.executions -= 1

    def _sweep(self) -> None:
        self.at(self.time.now_ + SWEEP_EVERY, self._sweep)
        self._scheduled(lambda: sweep(self.env.dependencies), FUNCTION_LIMIT)

    def _notify(self) -> None:
        self.at(self.time.now_ + NOTIFY_EVERY, self._notify)
        self._scheduled(lambda: notify(self.env.dependencies), NOTIFY_LIMIT)

    def _scheduled(self, steps: Callable[[], Steps[Any]], limit: float) -> None:
        def begin(end: Callable[[], None]) -> None:
            def done(error: BaseException | None) -> None:
                end()
                if error is not None:
                    self.failures.append(error)

            self._start(Worker(self._reported(steps()), self.time.now_ + limit, done))

        self._event(begin, SCHEDULE_AGE, lambda: None)

    def _reported(self, steps: Steps[Any]) -> Steps[None]:
        turn = yield from steps
        self.failures += turn.failures

    # ---- SQS ----

    def _send(self, queue: Queue, act: Callable[[], Steps[object]]) -> None:
        self._show(queue, [Message(act)])

    def _show(self, queue: Queue, messages: Iterable[Message]) -> None:
        queue.visible.extend(messages)
        self._note(queue.name, len(queue.visible))
        self._poll(queue)

    def _poll(self, queue: Queue) -> None:
        while queue.visible and queue.busy < queue.pollers:
            if self.executions >= self.account.invocations:
                if not queue.retries:
                    queue.retries = True
                    self.at(self.time.now_ + 1, lambda: self._again(queue))
                return
            taken = [queue.visible.popleft() for _ in range(min(BATCH, len(queue.visible)))]
            for each in taken:
                each.receives += 1
            queue.dead += sum(each.receives > RECEIVES for each in taken)
            taken = [each for each in taken if each.receives <= RECEIVES]
            if taken:
                queue.busy += 1
                self.executions += 1
                self._received(queue, deque(taken), [], self.time.now_)

    def _again(self, queue: Queue) -> None:
        queue.retries = False
        self._poll(queue)

    def _received(self, queue: Queue, left: deque[Message], failed: list[Message], since: float) -> None:
        """One message of a batch after the other."""
        message = left.popleft()

        def done(error: BaseException | None) -> None:
            if error is not None:
                self.failures.append(error)
                failed.append(message)
            is_over = isinstance(error, TimeoutError)
            if left and not is_over:
                self._received(queue, left, failed, since)
                return
            if left or is_over:
                over()
            else:
                self._start(Worker(self._reported(start_waiting(self.env.dependencies)), since + FUNCTION_LIMIT, over))

        def over(error: BaseException | None = None) -> None:
            if error is not None:
                self.failures.append(error)
            queue.busy -= 1
            self.executions -= 1
            again = [*failed, *left]
            if again:
                self.at(since + VISIBILITY, lambda: self._show(queue, again))
            self._poll(queue)

        self._start(Worker(message.act(), since + FUNCTION_LIMIT, done))

    # ---- A use case, an effect at a time ----

    def _start(self, worker: Worker) -> None:
        self._go(worker, lambda: next(worker.steps))

    def _go(self, worker: Worker, move: Callable[[], Call]) -> None:
        """Up to the next effect; reads on the way take time."""
        self._taken[0] = 0.0
        self._current = worker
        error: BaseException | None = None
        call: Call | None = None
        try:
            call = move()
        except StopIteration:
            pass
        except LakegateError as refused:
            error = refused
        when = self.time.now_ + self._taken[0]
        if call is not None:
            when += self._seconds_of(call)
        if when > worker.until:
            self.at(worker.until, lambda: self._stopped(worker))
        elif call is None:
            self.at(when, lambda: worker.done(error))
        else:
            is_refused = call.effect is Effect.COMMIT and self._committing > when - self.account.times.of_transaction
            if call.effect is Effect.COMMIT and not is_refused:
                self._committing = when
            self.at(when, lambda: self._perform(worker, call, 0, is_refused=is_refused))

    def _perform(self, worker: Worker, call: Call, retry: int, *, is_refused: bool) -> None:
        self._current = worker
        self.time.asked = 0.0
        if is_refused:
            self.env.memory.faults.refusals.append(TransactionConflict())
        try:
            answer = call.do()
        except (Throttled, TransactionConflict) as refused:
            if retry < RETRIES:
                pause = self._random.random() * 0.1 * 2**retry + self._seconds_of(call)
                self.at(self.time.now_ + pause, lambda: self._perform(worker, call, retry + 1, is_refused=False))
            else:
                self._go(worker, lambda refused=refused: worker.steps.throw(refused))  # type: ignore[misc] # bound
            return
        except LakegateError as refused:
            self._go(worker, lambda refused=refused: worker.steps.throw(refused))  # type: ignore[misc] # bound
            return
        if call.effect is Effect.COMMIT:
            self.committed[call.do.args[1].id] = self.time.now_
        if call.effect is Effect.SEND:
            self.told |= dict.fromkeys((message.workload for message in call.do.args[0]), self.time.now_)
        if self.time.asked:
            when = self.time.now_ + self.time.asked
            if when > worker.until:
                self.at(worker.until, lambda: self._stopped(worker))
            else:
                self.at(when, lambda: self._go(worker, lambda: worker.steps.send(answer)))
        else:
            self._go(worker, lambda: worker.steps.send(answer))

    def _stopped(self, worker: Worker) -> None:
        worker.steps.close()
        worker.done(TimeoutError())

    def _seconds_of(self, call: Call) -> float:
        times = self.account.times
        if call.effect in OBJECTS:
            return times.of_objects
        if call.effect in OTHERS:
            return times.others
        if call.effect is Effect.WAIT:
            return 0.0
        signing = times.others if call.effect is Effect.COMMIT and self.account.signs else 0.0
        is_transaction = call.do.func.__name__ in TRANSACTIONS
        return signing + (times.of_transaction if is_transaction else times.of_table)

    def _note(self, place: str, waiting: int) -> None:
        self.longest[place] = max(self.longest[place], waiting)
        self.longest["runs"] = max(self.longest["runs"], len(self.jobs.waiting))


# ---- Loads, quotas and profiles ----


class Load(NamedTuple):
    """Uploads a minute."""

    small: int
    large: int
    kind: str = "good"


LOADS: Final = {
    "990 small, 10 large": Load(990, 10),
    "1,000 that only Spark can judge": Load(1_000, 0, "split"),
}
QUOTAS: Final = {
    "new account": Account(invocations=10),
    "default": Account(),
    "default, DynamoDB 10 ms": Account(times=Times(of_table=0.01, of_transaction=0.01)),
    "default, DynamoDB 20 ms": Account(times=Times(of_table=0.02, of_transaction=0.02)),
    "raised": Account(vcpus=256, runs=64),
}


def account_of(profile: DeploymentProfile, quotas: Account) -> Account:
    """The settings of a profile in an account; quotas that are raised are used."""
    values = {**DEFAULTS, **{_setting(name): value for name, value in PROFILES[profile].items()}}
    return quotas._replace(
        vcpus=max(int(values["max_vcpu"]), quotas.vcpus),
        runs=max(int(values["max_runs"]), quotas.runs),
        judge=int(values["small_file_bytes"]) > 0,
        batch=BatchLimits(int(values["batch_files"]), SMALL, int(values["batch_seconds"])),
        signs=bool(values["signing_key"]),
    )


def _setting(parameter: str) -> str:
    name = re.sub("(?<=[a-z])(?=[A-Z])", "_", parameter).lower()
    return {"max_concurrent_runs": "max_runs"}.get(name, name)


def measured(account: Account, load: Load, minutes: int, patience: int) -> Simulation:
    """The uploads of so many minutes, and as many minutes more as are needed, at most `patience`."""
    simulation = Simulation(account._replace(splits=load.kind == "split"))
    simulation.hour(minutes, load.small, load.large, load.kind)
    simulation.run(minutes * 60)
    while simulation.time.now_ < (minutes + patience) * 60 and not simulation.is_over():
        simulation.run(simulation.time.now_ + 60)
    return simulation
