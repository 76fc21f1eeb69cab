"""Random schedules: two to four workers at a time, a producer with a mind of its own, events that lie."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from contracts.workflow import State
from functions.memory.jobs import Ending
from tests.simulation.choices import Choices
from tests.simulation.promises import Violation
from tests.simulation.stage import Fault, Stage, settle
from tests.simulation.world import PREFIX, World

if TYPE_CHECKING:
    from collections.abc import Callable

    from functions.usecases.steps import Effect
    from functions.workload import Workload

BODIES = (b"good:1", b"good:2", b"bad:1", b"mild:1", b"split:12", b"junk:1", b"", b"error:1")
KEYS = (f"{PREFIX}a.csv", f"{PREFIX}b.csv", "elsewhere/c.csv")
FAULTS = tuple(Fault)
FAULT_SHARE, LOSS_SHARE, TURNS = 0.07, 0.12, 120


@dataclass(slots=True)
class Ran:
    """What one schedule covered."""

    steps: int
    faults: int
    sweeps: int
    """The most that one recovery took."""
    states: set[int]
    taken: set[tuple[State, State]]


def run(choices: Choices, story: list[str] | None = None) -> Ran:
    """One schedule: a stormy time, rest, and sometimes a replay with another storm. Raises Violation."""
    gloom = 0.3 + 0.6 * choices.rarely(2, 0.12)
    world = World([tuple(Ending)[choices.rarely(len(Ending), gloom)] for _ in range(3)])
    calm = False

    def fault_at(_effect: Effect) -> Fault:
        return Fault.NONE if calm else FAULTS[choices.rarely(len(FAULTS), FAULT_SHARE)]

    stage = Stage(world, fault_at, story)
    states: set[int] = set()
    sweeps = 0
    _upload(stage, choices)
    for _ in range(2):
        _storm(stage, choices, states)
        calm = True
        stage.tell("nothing more goes wrong")
        sweeps = max(sweeps, settle(stage))
        calm = False
        if not _replayable(stage) or not choices.rarely(2, 0.35):
            break
        _replay(stage, choices)
    return Ran(world.effects, stage.faults, sweeps, states, stage.promises.taken)


def _storm(stage: Stage, choices: Choices, states: set[int]) -> None:
    crowd, acts = 2 + choices.pick(3), choices.pick(6)
    for _ in range(TURNS):
        moves = _moves(stage, crowd, acts)
        if not moves:
            break
        act = moves[choices.pick(len(moves))]
        acts -= act is _act
        act(stage, choices)
        states.add(_seen(stage))


def _moves(stage: Stage, crowd: int, acts: int) -> list[Callable[[Stage, Choices], None]]:
    moves: list[Callable[[Stage, Choices], None]] = [partial(_step, worker) for worker in stage.workers]
    if len(stage.workers) < crowd:
        moves += [partial(_deliver, place) for place in range(len(stage.world.inbox))]
    if acts > 0:
        moves.append(_act)
    if not moves:
        return []
    if len(stage.workers) < crowd:
        moves.append(_sweep)
        if stage.world.memory.rows.messages:
            moves.append(_notify)
    return moves + ([_wake] if stage.asleep else [])


def _step(worker: object, stage: Stage, _choices: Choices) -> None:
    stage.step(worker)  # type: ignore[arg-type]


def _deliver(place: int, stage: Stage, choices: Choices) -> None:
    event = stage.world.inbox[place]
    luck = choices.rarely(3, LOSS_SHARE)
    if luck == 1:
        stage.tell(f"the event {event[0]} is lost")
        stage.world.inbox.pop(place)
        return
    if luck == 2:
        stage.tell(f"the event {event[0]} comes twice")
        stage.world.inbox.append(event)
    stage.deliver(place)


def _sweep(stage: Stage, choices: Choices) -> None:
    stage.sweep((6.0, 0.0, 90.0)[choices.pick(3)])


def _wake(stage: Stage, choices: Choices) -> None:
    stage.wake(choices.pick(len(stage.asleep)))


def _act(stage: Stage, choices: Choices) -> None:
    ACTS[choices.pick(len(ACTS))](stage, choices)
    stage.promises.hold()


def _upload(stage: Stage, choices: Choices) -> None:
    key, body = KEYS[choices.rarely(len(KEYS), 0.4)], BODIES[choices.rarely(len(BODIES), 0.6)]
    stage.tell(f"the producer uploads {body.decode() or 'nothing'!r} to {key}")
    stage.world.upload(key, body)


def _delete(stage: Stage, choices: Choices) -> None:
    upload = stage.world.uploads[choices.pick(len(stage.world.uploads))]
    stage.tell(f"the producer deletes version {upload.version.version}")
    stage.world.delete(upload)


def _publish(stage: Stage, choices: Choices) -> None:
    version = ("1.1.0", "1.0.0")[choices.pick(2)]
    stage.tell(f"contract {version} is published")
    stage.world.publish(version, "active")


def _retire(stage: Stage, _choices: Choices) -> None:
    stage.tell("contract 1.0.0 is retired")
    stage.world.publish("1.0.0", "retired")


def _replayable(stage: Stage) -> list[Workload]:
    rows = stage.world.memory.rows.rows.values()
    return [row for row in rows if row.state in {State.FAILED, State.QUARANTINED}]


def _replay(stage: Stage, choices: Choices) -> None:
    if rows := _replayable(stage):
        stage.replay(rows[choices.pick(len(rows))].id)


def _collide(stage: Stage, choices: Choices) -> None:
    rows = list(stage.world.memory.rows.rows.values())
    if rows:
        row = rows[choices.pick(len(rows))]
        stage.tell("somebody uses the tokens of the next attempts")
        for ahead in range(1, 2 + choices.pick(3)):
            stage.world.collide(row.id, row.attempt + ahead)


def _deploy(stage: Stage, _choices: Choices) -> None:
    stage.tell("a new release is deployed")
    stage.world.deploy()


def _notify(stage: Stage, _choices: Choices) -> None:
    stage.notify()


ACTS = (_upload, _delete, _publish, _retire, _replay, _collide, _deploy, _upload)


def _seen(stage: Stage) -> int:
    rows = stage.world.memory.rows.rows.values()
    seen = [len(stage.world.inbox), len(stage.asleep)]
    for row in rows:
        seen += (id(row.state), row.attempt, row.due_at is None)
    for worker in stage.workers:
        seen.append(id(worker.call.effect))
    return hash(tuple(seen))


def broken(choices: Choices, story: list[str] | None = None) -> Violation | None:
    """The violation a schedule leads to, if any."""
    try:
        run(choices, story)
    except Violation as violation:
        return violation
    return None


def shrunk(script: tuple[int, ...], promise: str) -> tuple[int, ...]:
    """The shortest list of numbers that still breaks the promise: cut, then drop, then calm each number."""

    def breaks(candidate: tuple[int, ...]) -> bool:
        violation = broken(Choices(script=candidate))
        return violation is not None and violation.promise == promise

    while True:
        for candidate in _simpler(script):
            if breaks(candidate):
                script = candidate
                break
        else:
            return script


def _simpler(script: tuple[int, ...]) -> list[tuple[int, ...]]:
    length = len(script)
    cuts = [script[: length // 2], script[:-1]] if script else []
    chunks = [script[:i] + script[i + size :] for size in (8, 4, 2, 1) for i in range(0, length, size)]
    calmer = [(*script[:i], 0, *script[i + 1 :]) for i in range(length) if script[i]]
    lower = [(*script[:i], script[i] - 1, *script[i + 1 :]) for i in range(length) if script[i] > 1]
    return [each for each in (*cuts, *chunks, *calmer, *lower) if each != script]


def told(script: tuple[int, ...]) -> str:
    """The schedule as a story."""
    story: list[str] = []
    violation = broken(Choices(script=script), story)
    return "\n".join(f"  {number:3}  {line}" for number, line in enumerate([*story, f"=> {violation}"], 1))
