"""Who moves next, and what befalls them: use cases, jobs and events over one world, one effect at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from contracts.errors import InputError, LakegateError
from functions.ports import PortError, Throttled, Unanswered
from functions.usecases.completion import completion
from functions.usecases.intake import intake
from functions.usecases.notify import notify
from functions.usecases.replay import replay
from functions.usecases.steps import Alarm, Effect
from functions.usecases.sweep import Swept, sweep
from tests.simulation.promises import Promises, Violation

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from functions.usecases.steps import Call
    from tests.simulation.world import World


class Fault(StrEnum):
    """What can befall a worker at an effect."""

    NONE = "does"
    CRASH_BEFORE = "dies before it can"
    CRASH_AFTER = "dies right after it did"
    UNANSWERED = "gets no answer, though it happened:"
    THROTTLED = "is throttled and will try again:"
    TWICE = "does, twice,"
    LATE = "falls asleep before it can"
    REFUSED = "is throttled for good:"


KINDS = tuple(Fault)[1:7]
"""The six kinds of the exhaustive run; REFUSED is a seventh, for random schedules."""


@dataclass(slots=True)
class Worker:
    """One invocation, standing before its next effect."""

    name: str
    steps: Generator[Call, Any, Any]
    call: Call
    run: tuple[str, str] = ("", "")
    """Workload and run, of a job."""


@dataclass(slots=True)
class Stage:
    """A world with everybody who moves in it."""

    world: World
    fault_at: Callable[[Effect], Fault]
    story: list[str] | None = None
    workers: list[Worker] = field(default_factory=list)
    asleep: list[Worker] = field(default_factory=list)
    before: list[tuple[Effect, Callable[[], None]]] = field(default_factory=list)
    """What the producer does right before an effect first happens."""
    counted: dict[Effect, int] = field(default_factory=dict)
    faults: int = 0
    started: int = 0
    promises: Promises = field(init=False)

    def __post_init__(self) -> None:
        self.promises = Promises(self.world)

    def tell(self, line: str) -> None:
        if self.story is not None:
            self.story.append(line)

    def start(self, what: str, steps: Generator[Call, Any, Any], job: tuple[str, str] = ("", "")) -> None:
        """Let a worker run up to its first effect."""
        self.started += 1
        worker = Worker(f"{what} #{self.started}", steps, None, job)  # type: ignore[arg-type]
        self._go(worker, steps.__next__)

    def deliver(self, place: int) -> None:
        """An event reaches its function."""
        kind, what = self.world.inbox.pop(place)
        if kind == "landed":
            self.start("intake", intake(self.world.gate, "landing", what))
        else:
            self.start("completion", completion(self.world.gate, what))

    def sweep(self, minutes: float) -> None:
        """Time passes, then the schedule fires."""
        self.tell(f"{minutes:g} minutes pass")
        self.world.memory.clock.sleep(minutes * 60)
        self.start("sweep", sweep(self.world.gate))

    def notify(self) -> None:
        """The outbox's own schedule fires, a minute later: its index lags."""
        self.world.memory.clock.sleep(60)
        self.start("notify", notify(self.world.gate))

    def replay(self, workload: str) -> None:
        self.tell("the operator replays")
        self.start("replay", replay(self.world.gate, workload))

    def step(self, worker: Worker) -> None:
        """One effect of one worker, and what befalls it; then every promise is looked at."""
        effect = worker.call.effect
        if self.before:
            self._producer_first(effect)
        self.counted[effect] = self.counted.get(effect, 0) + 1
        fault = self.fault_at(effect)
        if self.story is not None:  # telling costs more than doing
            self.story.append(f"{worker.name} {fault} {effect}")
        if fault is not Fault.NONE:
            self.faults += 1
        self.world.effects += 1
        DO[fault](self, worker)
        self.look()

    def _producer_first(self, effect: Effect) -> None:
        for trigger, act in [each for each in self.before if each[0] is effect]:
            self.before.remove((trigger, act))
            act()

    def look(self) -> None:
        self.promises.hold()
        for name, job in self.world.new_jobs():
            self.start("job", job, name)
            self.promises.hold()

    def wake(self, place: int = 0) -> None:
        """A zombie goes on as if nothing had happened."""
        worker = self.asleep.pop(place)
        self.tell(f"{worker.name} wakes up")
        self.workers.append(worker)

    def _go(self, worker: Worker, on: Callable[..., Call], *answer: object) -> None:
        try:
            worker.call = on(*answer)
        except StopIteration as end:
            self._end(worker, end.value)
        except LakegateError as trouble:
            self._end(worker, None)
            if not isinstance(trouble, PortError | InputError):
                raise Violation("P4", f"{worker.name} raised {trouble!r}") from trouble
            self.tell(f"{worker.name} ends with {trouble!r}")
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
        if isinstance(value, Swept):
            for trouble in value.troubles:
                if isinstance(trouble, Alarm):
                    raise Violation("P4", f"an alarm: {trouble!r}")

    def _die(self, worker: Worker) -> None:
        self.workers.remove(worker)
        worker.steps.close()

    def _answer(self, worker: Worker) -> None:
        try:
            answer = worker.call.do()
        except LakegateError as refused:
            self._go(worker, worker.steps.throw, refused)
        else:
            self._go(worker, worker.steps.send, answer)

    def _silently(self, worker: Worker) -> None:
        try:
            worker.call.do()
        except LakegateError as refused:
            self.tell(f"    (refused: {refused!r})")

    def crash_after(self, worker: Worker) -> None:
        self._silently(worker)
        self._die(worker)

    def unanswered(self, worker: Worker) -> None:
        self._silently(worker)
        self._go(worker, worker.steps.throw, Unanswered())

    def twice(self, worker: Worker) -> None:
        self._silently(worker)
        self._answer(worker)

    def refused(self, worker: Worker) -> None:
        self._go(worker, worker.steps.throw, Throttled())

    def late(self, worker: Worker) -> None:
        self.workers.remove(worker)
        self.asleep.append(worker)
        if worker.call.effect is Effect.WRITE_RESULT:
            self.world.dead.add(worker.run)

    def throttled(self, worker: Worker) -> None:
        """Nothing happens; the driver says the same call again at its next turn."""


DO: dict[Fault, Callable[[Stage, Worker], None]] = {
    Fault.NONE: Stage._answer,  # noqa: SLF001 - the table belongs to the class
    Fault.CRASH_BEFORE: Stage._die,  # noqa: SLF001 - likewise
    Fault.CRASH_AFTER: Stage.crash_after,
    Fault.UNANSWERED: Stage.unanswered,
    Fault.THROTTLED: Stage.throttled,
    Fault.TWICE: Stage.twice,
    Fault.LATE: Stage.late,
    Fault.REFUSED: Stage.refused,
}
ROUND = 90.0
"""Minutes: longer than every lease, back-off and deadline."""
SWEEPS = 2
"""What recovery may take, beyond what dead job runs and new faults cost."""
SWEEPS_OF_A_DEATH = 1
"""The sweep that finds a dead run prepares the next attempt, waits its back-off and starts it."""


def settle(stage: Stage) -> int:
    """Everybody finishes; then sweeps, until every promise of the end holds. Zombies wake when all is at rest.

    A run that died before costs as much as one that dies now: nobody may have noticed it yet. Returns the most sweeps
    that one recovery took.
    """
    _finish(stage)
    faults, sweeps, most = stage.faults, 0, 0
    while True:
        try:
            stage.promises.kept_in_the_end()
        except Violation:
            sweeps += 1
            if sweeps > SWEEPS + stage.faults - faults + SWEEPS_OF_A_DEATH * stage.world.deaths():
                raise
            stage.sweep(ROUND)
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
    while stage.workers or stage.world.inbox:
        if stage.workers:
            stage.step(stage.workers[0])
        else:
            stage.deliver(0)
