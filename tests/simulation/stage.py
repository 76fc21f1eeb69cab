"""Which worker moves next, and with which fault: use cases, jobs and events on one environment, one effect at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from typing import Any

from lakegate.base.errors import (
    ConditionFailed,
    InputError,
    LakegateError,
    PortError,
    Throttled,
    TransactionConflict,
    Unanswered,
)
from lakegate.base.timestamps import moment
from lakegate.features.announcements.announced_delivery import Announcement, WantedDelivery, announce, available
from lakegate.features.workflows.callbacks import UnknownToken, called_back
from lakegate.gate.datasets.dataset_states import DatasetState
from lakegate.gate.datasets.pauses import pause, resume
from lakegate.gate.delivery.advance import completion, invocation_ended
from lakegate.gate.delivery.delivery_row import Workload
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.paced_starts import start_waiting
from lakegate.gate.delivery.protocol import State
from lakegate.gate.effects import RETRIES, Alarm, Call, Defect, Effect, Steps, patiently
from lakegate.gate.ports import JobState
from lakegate.gate.scheduled_tasks import Turn
from lakegate.gate.send_messages import notify
from lakegate.gate.sweep import sweep
from tests.decisions import approve, cancel, decline, replay, waive
from tests.fakes.identity import ALICE, MemoryIdentity
from tests.simulation import own_states
from tests.simulation.cancellations import is_cancelled
from tests.simulation.environment import Environment
from tests.simulation.final_promises import kept_in_the_end
from tests.simulation.pauses import LINE
from tests.simulation.promises import NOBODY, Promises, Violation


class Fault(StrEnum):
    """The faults of a worker at an effect."""

    NONE = "does"
    CRASH_BEFORE = "dies before it can"
    CRASH_AFTER = "dies right after it did"
    UNANSWERED = "gets no answer, though it happened:"
    THROTTLED = "is throttled and will try again:"
    TWICE = "does, twice,"
    LATE = "falls asleep before it can"
    CONFLICT = "meets another transaction for good:"
    REFUSED = "is throttled for good:"


KINDS = tuple(Fault)[1:8]
"""The seven kinds of the exhaustive run; REFUSED is an eighth, for random schedules."""
CONTENDED = frozenset(Effect) - {
    Effect.WRITE_REQUEST,
    Effect.START_JOB,
    Effect.CANCEL_JOB,
    Effect.DELETE_SOURCE,
    Effect.DELETE_STAGING,
    Effect.HINT,
    Effect.SEND,
    Effect.WAIT,
}
"""Effects that AWS may refuse because another request is on the same row or key: DynamoDB's writes and S3's conditional ones."""


DAY = 24 * 60
"""Minutes."""
COPIED = frozenset({State.VALIDATING, *own_states.WAITING, State.DECIDED})
"""States in which a staged copy is what is copied to its destination next."""
OF_HELD = frozenset({Effect.PIN, Effect.FAIL, Effect.VANISH, Effect.SETTLE})
"""Effects by which what is held leaves that state."""
LONGEST = 10_000
"""Effects of one worker: more than any sweep has."""


def at_once() -> float:
    """No jitter: the driver's pauses take no time."""
    return 0.0


@dataclass(slots=True, eq=False)  # compared by identity, at every step
class Worker:
    """One invocation, stopped before its next effect."""

    what: str
    number: int
    steps: Generator[Call, Any, Any]
    call: Call
    run: str = ""
    """Id of its run, of a job."""
    asked: Workload | None = None
    """The row that a replay, or a waiver, was asked for."""
    cancels: str = ""
    """The workload that a person cancels."""
    done: int = 0
    """Effects, so far."""
    barred: set[str] = field(default_factory=set)
    """Workloads whose lease it was refused."""

    @property
    def name(self) -> str:
        """Its name in a trace."""
        return f"{self.what} #{self.number}"


def _called_back(env: Environment, workload: str, token: str, reason: str | None) -> Steps[str]:
    try:
        return (yield from called_back(env.dependencies, workload, token, reason)).id
    except UnknownToken:
        raise InputError("unknown token") from None


@dataclass(slots=True)
class Stage:
    """An environment with all workers in it."""

    env: Environment
    fault_at: Callable[[Effect], Fault]
    trace: list[str] | None = None
    is_cancelling: bool = False
    """Whether people end deliveries."""
    workers: list[Worker] = field(default_factory=list)
    asleep: list[Worker] = field(default_factory=list)
    before: list[tuple[Effect, Callable[[], None]]] = field(default_factory=list)
    """What the producer does right before an effect first happens."""
    counted: dict[Effect, int] = field(default_factory=dict)
    faults: int = 0
    started: int = 0
    promises: Promises = field(init=False)

    def __post_init__(self) -> None:
        self.promises = Promises(self.env)

    def log(self, line: str) -> None:
        if self.trace is not None:
            self.trace.append(line)

    def start(
        self,
        what: str,
        steps: Generator[Call, Any, Any],
        run: str = "",
        asked: Workload | None = None,
        cancels: str = "",
    ) -> None:
        """Let a worker run up to its first effect."""
        self.started += 1
        worker = Worker(what, self.started, steps, None, run, asked, cancels)  # type: ignore[arg-type]
        self._go(worker, steps.__next__)

    def deliver(self, place: int) -> None:
        """An event reaches its function."""
        kind, what = self.env.inbox.pop(place)
        if kind == "landed":
            key, _, version = what.partition("\0")
            self.start("intake", self._taken_in(key, version))
        elif kind == "invocation":
            run = self.env.memory.jobs.runs[what]
            workload, attempt = self.env.attempt_of(run)
            failed = run.state is not JobState.SUCCESS
            self.start("completion", invocation_ended(self.env.dependencies, workload, attempt, failed=failed))
        else:
            self.start("completion", self._ended(what))

    def _ended(self, run: str) -> Steps[Turn]:
        """The end of a run; then what waits is started."""
        yield from completion(self.env.dependencies, run)
        return (yield from start_waiting(self.env.dependencies))

    def _taken_in(self, key: str, version: str) -> Steps[Turn]:
        """Intake of an event; what it has looked for is remembered once it ends well. Then what waits is started."""
        upload = self.env.by_version.get(version)
        said = (upload.version.size, upload.arrived) if upload else ()
        yield from intake(self.env.dependencies, "landing", key, version, *said)
        self.env.looked_for.add(version)
        return (yield from start_waiting(self.env.dependencies))

    def sweep(self, minutes: int) -> None:
        """Time passes, then the schedule fires."""
        self.pass_time(minutes)
        self.start("sweep", sweep(self.env.dependencies))

    def minutes_aside(self) -> Iterator[int]:
        """Minutes until sweep takes up again what several workers took and did not finish: ever longer ones."""
        now = self.env.memory.clock.now()
        for row in self.env.memory.workloads.values():
            if row.tries and row.due_at is not None:
                yield math.ceil((row.due_at - now) / timedelta(minutes=1))

    def pass_time(self, minutes: int) -> None:
        """Nothing happens for a while."""
        if minutes:
            if self.trace is not None:
                self.log(f"{minutes:g} minutes pass")
            if minutes >= DAY:
                self.swept_in_time()
            self.env.memory.clock.sleep(minutes * 60)
            if minutes >= DAY:
                self.swept_in_time()
                self.env.expire()

    def swept_in_time(self) -> None:
        """Days do not pass without a sweep: it has copied what it must, before staged copies of what was deleted expire.

        Of everything else the next sweep comes as late as a schedule has it.
        """
        for _ in range(self.env.dependencies.timing.tries):
            now = self.env.memory.clock.now()
            rows = [row for row in self.env.memory.workloads.values() if row.state in COPIED]
            late = [row for row in rows if row.due_at is not None and row.due_at <= now]
            uploads = (self.env.by_version.get((row.landed or row.source).version) for row in late)
            if not any(upload.deleted for upload in uploads if upload):  # what time completed is no upload
                return
            self.log("the sweep that comes every five minutes is not disturbed")
            self.start("sweep", sweep(self.env.dependencies))
            number, fault_at = self.started, self.fault_at
            self.fault_at = lambda _: Fault.NONE
            while mine := [each for each in self.workers if each.number == number]:
                self.step(mine[0])
            self.fault_at = fault_at

    def notify(self) -> None:
        """The outbox's own schedule fires, a minute later: its index lags."""
        self.env.memory.clock.sleep(60)
        self.start("notify", notify(self.env.dependencies))

    def announce(self) -> None:
        """A producer announces a delivery to the dataset."""
        identity = f"{len(self.env.memory.announcements) + self.started:064x}"
        self.log("a producer announces a delivery")
        self.start("announce", announce(self.env.dependencies, WantedDelivery("orders"), identity))

    def say_available(self, announced: Announcement) -> None:
        self.log("a producer says that its data is there")
        self.start("available", available(self.env.dependencies, [announced.key]))

    def replay(self, workload: str) -> None:
        self.log("the operator replays")
        asked = self.env.memory.workloads.get(workload)
        self.start("replay", replay(self.env.dependencies, workload), asked=asked)

    def waive(self, workload: str, minutes: int) -> None:
        self.log(f"somebody waives the rejection for {minutes} minutes")
        asked = self.env.memory.workloads.get(workload)
        expires = moment(self.env.memory.clock.now() + timedelta(minutes=minutes))
        self.start("waive", waive(self.env.dependencies, workload, "a reason", expires), asked=asked)

    def answer(self, workload: str, reason: str | None, actor: str = ALICE) -> None:
        """Somebody approves, or declines for a reason."""
        self.log(f"{actor} answers: {reason or 'approved'}")
        by = replace(self.env.dependencies, identity=MemoryIdentity(actor))
        steps = approve(by, workload) if reason is None else decline(by, workload, reason)
        self.start("answer", steps)

    def cancel(self, workload: str, actor: str = ALICE) -> None:
        """Somebody ends a delivery."""
        self.log(f"{actor} cancels")
        by = replace(self.env.dependencies, identity=MemoryIdentity(actor))
        self.start("cancel", cancel(by, workload, "a reason"), cancels=workload)

    def call_back(self, workload: str, token: str, reason: str | None) -> None:
        """Another system approves, or declines for a reason."""
        self.log(f"a callback answers: {reason or 'approved'}")
        self.start("answer", _called_back(self.env, workload, token, reason))

    def pause(self) -> None:
        self.log("the operator pauses the line")
        self.env.pauses_begun += 1
        self.start("pause", pause(self.env.dependencies, LINE, "a reason"))

    def resume(self) -> None:
        self.log("the operator resumes the line")
        self.start("resume", resume(self.env.dependencies, LINE))

    def step(self, worker: Worker) -> None:
        """One effect of one worker, with its fault; then every promise is checked."""
        call = worker.call
        effect = call.effect
        if self.before:
            self._producer_first(effect)
        self.counted[effect] = self.counted.get(effect, 0) + 1
        fault = self.fault_at(effect)
        if self.trace is not None:  # a trace costs more than the step
            self.trace.append(f"{worker.name} {fault} {effect}{self._about(call)}")
        if fault is not Fault.NONE:
            self.faults += 1
        self.env.effects += 1
        worker.done += 1
        if worker.done > LONGEST:
            raise Violation("P4", f"{worker.name} does not end")
        if worker.barred and effect in OF_HELD:
            self._by_the_pause(worker)
        promises = self.promises
        # whose lease was refused may ask for another one later, and moves nothing by it
        promises.barred = frozenset(worker.barred) if worker.barred and effect is not Effect.LEASE else NOBODY
        DO[fault](self, worker)
        if effect is Effect.CANCEL_JOB:
            promises.cancelled(call.do.args[0])
        self.look()
        promises.barred = NOBODY

    def _about(self, call: Call) -> str:
        """Which deliveries an effect is about, for the trace: by the numbers of their uploads, and their keys."""
        words = repr([*call.do.args, *call.do.keywords.values()])
        named = []
        for number, upload in enumerate(self.env.uploads, 1):
            replay = self.promises.replays.get(upload.workload, "")
            version = f"{upload.version.key}', version='{upload.version.version}'"
            if upload.workload in words or (replay and replay in words) or version in words:
                named.append(
                    f"delivery {number} ({upload.version.key})" + (" as replayed" if replay and replay in words else "")
                )
        return f": {', '.join(named)}" if named else ""

    def _by_the_pause(self, worker: Worker) -> None:
        """What is held is let go by the pause of its dataset: a lease that was refused before it was held does not count."""
        after, expected = worker.call.do.args
        if expected.state is State.HELD:
            worker.barred.discard(after.id)

    def _producer_first(self, effect: Effect) -> None:
        for trigger, act in [each for each in self.before if each[0] is effect]:
            self.before.remove((trigger, act))
            act()

    def look(self) -> None:
        self.promises.hold()
        env = self.env
        if env.memory.jobs.unknown:
            env.note_missing()
        if len(env.memory.jobs.runs) == env.runs_seen:
            return
        for run, job in env.new_jobs():
            self.start("job", job, run)
            self.promises.hold()

    def wake(self, place: int = 0) -> None:
        """A paused worker continues as if nothing had happened."""
        worker = self.asleep.pop(place)
        self.log(f"{worker.name} wakes up")
        self.workers.append(worker)

    def _go(self, worker: Worker, on: Callable[..., Call], *answer: object) -> None:
        try:
            worker.call = on(*answer)
        except StopIteration as end:
            self._end(worker, end.value)
        except LakegateError as failure:
            self._end(worker, None)
            if not isinstance(failure, PortError | InputError) and not self._is_healed(failure):
                raise Violation("P4", f"{worker.name} raised {failure!r}") from failure
            if self.trace is not None:
                self.log(f"{worker.name} ends with {failure!r}")
            failure.__traceback__ = None  # as in `_answer`: a worker may raise what it has collected
        except Violation:
            raise
        except Exception as defect:
            raise Violation("P4", f"{worker.name} broke: {defect!r}") from defect
        else:
            if worker not in self.workers:
                self.workers.append(worker)

    def _end(self, worker: Worker, value: object) -> None:
        if worker in self.workers:
            self.workers.remove(worker)
        if worker.asked is not None and value is not None:
            self._replayed(worker.asked)
        if worker.cancels and value is not None and not is_cancelled(self.env.memory.workloads[worker.cancels]):
            raise Violation("P4", "a cancellation was answered, and the delivery goes on")
        if (
            isinstance(value, DatasetState)
            and value.revision
            and all(value != line for _, line in self.env.memory.datasets_written)
        ):
            raise Violation("P4", "a command was answered, and the line is another one")
        if isinstance(value, Turn):
            for failure in value.failures:
                if isinstance(failure, Alarm | Defect) and not self._is_healed(failure):
                    raise Violation("P4", f"an alarm: {failure!r}")

    def _is_healed(self, failure: LakegateError) -> bool:
        """Whether an alarm is about a result that somebody exchanged: a person puts back what was decided on."""
        if not isinstance(failure, Alarm) or failure.code != "result-differs":
            return False
        decided = self.env.exchanged(failure.workload)
        if decided is None:
            return False
        if self.env.restore(*decided):
            self.log("    (a person puts back the result that was decided on)")
            self.faults += 1
        return True

    def _replayed(self, asked: Workload) -> None:
        """A replay that was answered has begun."""
        rows = self.env.memory.workloads
        if asked.state is State.FAILED and rows[asked.id] is asked:
            raise Violation("P4", "a replay was answered, and the delivery is still FAILED")
        if asked.state is State.QUARANTINED and all(row.replay_of != asked.id for row in rows.values()):
            raise Violation("P4", "a replay was answered, and nothing was created")

    def _die(self, worker: Worker) -> None:
        self.workers.remove(worker)
        worker.steps.close()

    def _answer(self, worker: Worker) -> None:
        call, memory = worker.call, self.env.memory
        try:
            answer = patiently(call, memory.clock, at_once) if memory.faults.refusals else call.do()
        except LakegateError as refused:
            if call.effect is Effect.LEASE and isinstance(refused, ConditionFailed):
                worker.barred.add(call.do.args[0].id)
            self._go(worker, worker.steps.throw, refused)
            refused.__traceback__ = None  # it holds the frames of its callers, and with them the whole environment
        else:
            if worker.barred and call.effect is Effect.LEASE:
                worker.barred.discard(call.do.args[0].id)
            self._go(worker, worker.steps.send, answer)

    def _silently(self, worker: Worker) -> None:
        try:
            worker.call.do()
        except LakegateError as refused:
            self.log(f"    (refused: {refused!r})")

    def crash_after(self, worker: Worker) -> None:
        self._silently(worker)
        self._die(worker)

    def unanswered(self, worker: Worker) -> None:
        self._silently(worker)
        refused = Unanswered()
        self._go(worker, worker.steps.throw, refused)
        refused.__traceback__ = None  # as in `_answer`

    def twice(self, worker: Worker) -> None:
        self._silently(worker)
        self._answer(worker)

    def refused(self, worker: Worker) -> None:
        self._refuse(worker, Throttled)

    def conflict(self, worker: Worker) -> None:
        self._refuse(worker, TransactionConflict if worker.call.effect in CONTENDED else Throttled)

    def _refuse(self, worker: Worker, how: type[PortError]) -> None:
        """AWS refuses as often as the driver of a use case tries."""
        refusals = self.env.memory.faults.refusals
        refusals.extend(how() for _ in range(1 + RETRIES))
        self._answer(worker)
        refusals.clear()

    def late(self, worker: Worker) -> None:
        self.workers.remove(worker)
        self.asleep.append(worker)
        if worker.call.effect is Effect.WRITE_RESULT:
            run = self.env.memory.jobs.runs[worker.run]
            for at in self.env.attempts_of(run):
                if not self.env.has_result(run, at):
                    self.env.lost(run, at)

    def throttled(self, worker: Worker) -> None:
        """Nothing happens; the driver repeats the call at its next turn."""


DO: dict[Fault, Callable[[Stage, Worker], None]] = {
    Fault.NONE: Stage._answer,  # noqa: SLF001 - the table belongs to the class
    Fault.CRASH_BEFORE: Stage._die,  # noqa: SLF001 - likewise
    Fault.CRASH_AFTER: Stage.crash_after,
    Fault.UNANSWERED: Stage.unanswered,
    Fault.THROTTLED: Stage.throttled,
    Fault.TWICE: Stage.twice,
    Fault.LATE: Stage.late,
    Fault.CONFLICT: Stage.conflict,
    Fault.REFUSED: Stage.refused,
}
ROUND = 90
"""Minutes: longer than every back-off and deadline, and than every lease but that of what ended its workers."""
SWEEPS = 2
"""What recovery may take, beyond what dead job runs and new faults cost."""
SWEEPS_OF_A_DEATH = 1
"""The sweep that finds a dead run prepares the next attempt, waits its back-off and starts it."""
SWEEPS_OF_A_PAUSE = 1
"""What lands between the end of a pause and the sweep that carries it out is held behind what waits, until the next one."""


def settle(stage: Stage) -> int:
    """All workers finish; then sweeps, until every final promise holds. Paused workers wake when all is finished.

    A run that died before costs as much as one that dies now: nobody may have noticed it yet. Returns the most sweeps
    that one recovery took.
    """
    _finish(stage)
    faults, sweeps, most = stage.faults, 0, 0
    pauses = sum(each.resumed is not None for each in stage.env.memory.pauses.values())
    while True:
        try:
            kept_in_the_end(stage.promises)
        except Violation:
            sweeps += 1
            batches = len(stage.env.memory.batches)
            dead = SWEEPS_OF_A_DEATH * (stage.env.deaths() + batches)
            if sweeps > SWEEPS + stage.faults - faults + dead + SWEEPS_OF_A_PAUSE * pauses:
                raise
            stage.sweep(max([ROUND, *stage.minutes_aside()]))
            _finish(stage)
            stage.notify()
            _finish(stage)
            continue
        most = max(most, sweeps)
        if not stage.asleep:
            return most
        faults, sweeps = stage.faults, 0
        while stage.asleep:
            stage.wake()
        _finish(stage)


def _finish(stage: Stage) -> None:
    while stage.workers or stage.env.inbox:
        if stage.workers:
            stage.step(stage.workers[0])
        else:
            stage.deliver(0)
