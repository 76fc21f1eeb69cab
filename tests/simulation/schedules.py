"""Random schedules: two to four workers at a time, a producer with a mind of its own, events that lie."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

from contracts.workflow import State
from functions.memory.jobs import Ending
from tests.simulation.choices import Choices
from tests.simulation.promises import Violation
from tests.simulation.stage import Fault, Stage, settle
from tests.simulation.world import PREFIX, World

if TYPE_CHECKING:
    from functions.usecases.steps import Effect
    from functions.workload import Workload

BODIES = (b"good:1", b"good:2", b"bad:1", b"mild:1", b"split:12", b"junk:1", b"", b"error:1")
KEYS = (f"{PREFIX}a.csv", f"{PREFIX}b.csv", "elsewhere/c.csv")
FAULTS = tuple(Fault)
EFFECT_OF = attrgetter("call.effect")
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
    world = stage.world
    for _ in range(TURNS):
        working = len(stage.workers)
        free = working < crowd
        others = [_deliver] * len(world.inbox) if free else []
        if acts:
            others.append(_act)
        if not working and not others:
            break
        if free:
            others.append(_sweep)
            if world.memory.rows.messages:
                others.append(_notify)
        if stage.asleep:
            others.append(_wake)
        chosen = choices.pick(working + len(others))
        if chosen < working:
            stage.step(stage.workers[chosen])
        else:
            move = others[chosen - working]
            acts -= move is _act
            move(stage, choices, chosen - working)
        standing = map(id, map(EFFECT_OF, stage.workers))
        states.add(hash((stage.promises.rows_mark, len(world.inbox), len(stage.asleep), *standing)))


def _deliver(stage: Stage, choices: Choices, place: int) -> None:
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


def _sweep(stage: Stage, choices: Choices, _place: int) -> None:
    stage.pass_time((6.0, 0.0, 90.0)[choices.pick(3)])
    if stage.promises.anything_open():  # else the sweep would read, do nothing, and take most of a run's time
        stage.sweep(0.0)


def _wake(stage: Stage, choices: Choices, _place: int) -> None:
    stage.wake(choices.pick(len(stage.asleep)))


def _act(stage: Stage, choices: Choices, _place: int) -> None:
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


def _notify(stage: Stage, _choices: Choices, _place: int) -> None:
    stage.notify()


ACTS = (_upload, _delete, _publish, _retire, _replay, _collide, _deploy, _upload)


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
