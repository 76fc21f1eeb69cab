"""Random schedules: two to four workers at a time, a producer who acts at random, unreliable events."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import count
from operator import attrgetter

from lakegate.base.errors import AccessDenied, Archived
from lakegate.contract.delivery_policy import MergeStrategy
from lakegate.features.workflows.callbacks import Callbacks, CallbackToken
from lakegate.gate.delivery.delivery_row import Workload
from lakegate.gate.delivery.protocol import State
from lakegate.gate.effects import Effect
from lakegate.gate.ports import UNSIGNED
from tests.fakes.identity import ALICE, BOB
from tests.fakes.jobs import Ending
from tests.simulation.cancellations import OPEN
from tests.simulation.choices import Choices
from tests.simulation.environment import ALONE, BATCHES, LAKE, LANDING, PREFIX, SIGNED, Environment
from tests.simulation.lifecycle import BEGINNINGS, COMMANDS, begin, command
from tests.simulation.own_states import WAITING
from tests.simulation.promises import Violation
from tests.simulation.sliced_acts import BODIES as SLICED_BODIES
from tests.simulation.sliced_acts import mark, rebuild, slicing
from tests.simulation.stage import Fault, Stage, settle
from tests.simulation.typed import with_typed_files
from tests.simulation.workflows import ASKING, DATED, waiting

BODIES = (b"good:1", b"good:2", b"bad:1", b"mild:1", b"split:12", b"%PDF:12", b"", b"error:1", b"poison:1")
ALGORITHMS = ("sha256", "crc32", "crc64nvme", "")
REFUSALS = (None, AccessDenied, Archived)
LINES: tuple[Callable[[], AbstractContextManager[bool | None]], ...] = (
    nullcontext,
    partial(waiting, ASKING),
    partial(waiting, DATED),
    nullcontext,
)
"""What the line of a schedule is, mostly the first; the last one publishes slices."""
SLICED = len(LINES) - 1
CANCELLING = len(LINES)
"""The kind of schedules in which people end deliveries, too: of any line."""
TYPED = CANCELLING + 1
"""The kind of schedules of a line that publishes typed files, too: by this number alone, which no seed of others draws."""
STRATEGIES = (MergeStrategy.APPEND, MergeStrategy.LEDGER)
KEYS = (f"{PREFIX}a.csv", f"{PREFIX}b.csv", "elsewhere/c.csv", f"{PREFIX}_temporary/0/a.csv", f"{PREFIX}folder/")
FAULTS = tuple(Fault)
ENDINGS = tuple(Ending)
EFFECT_OF = attrgetter("call.effect")
CHANNEL = "webhook:lakegate-channel-erp"
FAULT_SHARE, LOSS_SHARE, TURNS = 0.07, 0.12, 120
MOST_WAITS = 60
"""Rounds of a month in which something waits: more than all entries of a machine that a test makes."""


@dataclass(slots=True)
class Ran:
    """What one schedule covered."""

    steps: int
    faults: int
    sweeps: int
    """The most that one recovery took."""
    states: set[int]
    taken: set[tuple[State, State]]


def run(choices: Choices, trace: list[str] | None = None) -> Ran:
    """One schedule: faults, recovery, and sometimes a replay with more faults. Raises Violation."""
    kind = choices.rarely(len(LINES) + 1, 0.3)
    is_cancelling, is_typed = kind == CANCELLING, kind == TYPED
    kind = choices.pick(len(LINES)) if is_cancelling else choices.pick(SLICED) if is_typed else kind
    line = LINES[kind] if kind < SLICED else partial(slicing, STRATEGIES[choices.pick(len(STRATEGIES))])
    with line() as is_sliced, with_typed_files() if is_typed else nullcontext():
        return _run(choices, trace, is_sliced=bool(is_sliced), is_cancelling=is_cancelling)


def _run(choices: Choices, trace: list[str] | None, *, is_sliced: bool, is_cancelling: bool) -> Ran:
    gloom = 0.3 + 0.6 * choices.rarely(2, 0.12)
    endings = [ENDINGS[choices.rarely(len(ENDINGS), gloom)] for _ in range(3)]
    judge, batch = choices.rarely(2, 0.4), (ALONE, BATCHES)[choices.rarely(2, 0.4)]
    env = Environment(endings, judge=bool(judge), batch=batch, signing=(UNSIGNED, SIGNED)[judge], sliced=is_sliced)
    calm, rarely, kinds = False, choices.rarely, len(FAULTS)

    def fault_at(_effect: Effect) -> Fault:
        return Fault.NONE if calm else FAULTS[rarely(kinds, FAULT_SHARE)]

    beginning = BEGINNINGS[choices.rarely(len(BEGINNINGS), 0.2)]
    if beginning is not None:
        begin(env, beginning)
    stage = Stage(env, fault_at, trace, is_cancelling=is_cancelling)
    stage.log(f"the line begins as {beginning or 'active'}")
    states: set[int] = set()
    sweeps = 0
    for _ in range(3 if is_sliced else 1):
        _upload(stage, choices)
    for is_last in (False, True):
        _storm(stage, choices, states)
        calm = True
        env.memory.objects.read_hooks.clear()
        stage.log("nothing more goes wrong")
        sweeps = max(sweeps, settle(stage))
        if env.memory.pauses:
            _withdraw(stage, choices)
            stage.resume()
            sweeps = max(sweeps, settle(stage))
        for _ in _rounds_of_waits(stage):
            calm = False
            for _ in range(choices.pick(4)):
                _answer(stage, choices)
            _storm(stage, choices, states)
            calm = True
            env.memory.objects.read_hooks.clear()
            sweeps = max(sweeps, settle(stage))
            stage.pass_time(31 * 24 * 60)
            sweeps = max(sweeps, settle(stage))
        calm = False
        if is_last or not _goes_on(stage, choices):
            break
    return Ran(env.effects, stage.faults, sweeps, states, stage.promises.taken)


def _rounds_of_waits(stage: Stage) -> Iterator[int]:
    """A round as long as something waits: with states of a workflow's own, one wait may follow another."""
    for waited in count():
        if not any(map(_waits, _rows(stage))):
            return
        if waited > MOST_WAITS:
            raise Violation("P4", "a delivery waits again and again")
        yield waited


def _goes_on(stage: Stage, choices: Choices) -> bool:
    """Begin what a second round is about: to a line of slices more is delivered, of another one something is judged again."""
    if stage.env.sliced:
        _upload(stage, choices)
        _upload(stage, choices)
        return True
    if not _replayable(stage) or not choices.rarely(2, 0.35):
        return False
    (_replay, _waive)[choices.rarely(2, 0.5)](stage, choices)
    return True


def _storm(stage: Stage, choices: Choices, states: set[int]) -> None:
    crowd, acts = 2 + choices.pick(3), choices.pick(6) + 4 * stage.env.sliced
    env, workers, promises = stage.env, stage.workers, stage.promises
    inbox, asleep, messages = env.inbox, stage.asleep, env.memory.messages
    for _ in range(TURNS):
        working = len(workers)
        free = working < crowd
        others = [_deliver] * len(inbox) if free else []
        if acts:
            others.append(_act)
        if not working and not others:
            break
        if free:
            others.append(_sweep)
            if messages:
                others.append(_notify)
        if asleep:
            others.append(_wake)
        chosen = choices.pick(working + len(others))
        if chosen < working:
            stage.step(workers[chosen])
        else:
            move = others[chosen - working]
            acts -= move is _act
            move(stage, choices, chosen - working)
        standing = map(id, map(EFFECT_OF, workers))
        states.add(hash((promises.rows_mark, len(inbox), len(asleep), *standing)))


def _deliver(stage: Stage, choices: Choices, place: int) -> None:
    event = stage.env.inbox[place]
    luck = choices.rarely(3, LOSS_SHARE)
    if luck == 1:
        stage.log(f"the event {event[0]} is lost")
        stage.env.inbox.pop(place)
        return
    if luck == 2:
        stage.log(f"the event {event[0]} comes twice")
        stage.env.inbox.append(event)
    stage.deliver(place)


def _sweep(stage: Stage, choices: Choices, _place: int) -> None:
    stage.pass_time((6, 0, 90)[choices.pick(3)])
    if stage.promises.anything_open():  # else the sweep would read, do nothing, and take most of a run's time
        stage.sweep(0)


def _wake(stage: Stage, choices: Choices, _place: int) -> None:
    stage.wake(choices.pick(len(stage.asleep)))


def _act(stage: Stage, choices: Choices, _place: int) -> None:
    acts = SLICED_ACTS if stage.env.sliced else ACTS
    acts = (*acts, *(_cancel,) * 8) if stage.is_cancelling else acts
    acts[choices.pick(len(acts))](stage, choices)
    stage.promises.hold()


def _upload(stage: Stage, choices: Choices) -> None:
    bodies = SLICED_BODIES if stage.env.sliced else BODIES
    key, body = (
        KEYS[choices.rarely(len(KEYS), 0.4)],
        bodies[choices.rarely(len(bodies), 0.8 if stage.env.sliced else 0.6)],
    )
    algorithm, refusal = ALGORITHMS[choices.rarely(4, 0.3)], REFUSALS[choices.rarely(3, 0.1)]
    stage.log(f"the producer uploads {body.decode() or 'nothing'!r} to {key} with {algorithm or 'no checksum'}")
    upload = stage.env.upload(key, body, algorithm)
    if refusal is not None:
        stage.log(f"it cannot be read: {refusal.__name__}")
        stage.env.lock(upload, refusal)


def _unlock(stage: Stage, _choices: Choices) -> None:
    stage.log("somebody grants the right to read, and restores what is archived")
    stage.env.unlock()


def _withdraw(stage: Stage, choices: Choices) -> None:
    """Some of what a pause holds cannot be read any more when its line is resumed."""
    rows = stage.env.memory.workloads.values()
    for upload in map(stage.promises.upload_of, (row for row in rows if row.state is State.HELD)):
        if not upload.deleted and choices.rarely(2, 0.3):
            stage.log(f"the right to read version {upload.version.version} is withdrawn")
            stage.env.lock(upload, AccessDenied)


def _delete(stage: Stage, choices: Choices) -> None:
    upload = stage.env.uploads[choices.pick(len(stage.env.uploads))]
    stage.log(f"the producer deletes version {upload.version.version}")
    stage.env.delete(upload)


def _exchange(stage: Stage, choices: Choices) -> None:
    """Right after a read of what others can write, one of them does: who reads it again finds another object."""
    env, kind, passed = stage.env, choices.pick(4), choices.pick(3)
    upload = env.uploads[choices.pick(len(env.uploads))]
    version = upload.version
    stage.log(f"somebody waits until what follows was read {1 + passed} times")
    if kind == 0:
        stage.log(f"    then the producer deletes version {version.version}")
        env.after_read(LANDING, version.key, passed, lambda _: env.delete(upload))
    elif kind == 1:
        body = BODIES[choices.pick(len(BODIES))]
        stage.log(f"    then the producer uploads {body.decode() or 'nothing'!r} to {version.key}")
        env.after_read(LANDING, version.key, passed, lambda key: env.upload(key, body) and None)
    else:
        stage.log(f"    then somebody exchanges the result of version {version.version}")
        row = stage.promises.row_of(upload)
        result = f"/{upload.workload}/attempt={max(row.attempt, 1) if row else 1}/result.json"
        env.after_read(LAKE, result, passed, lambda key: env.exchange(upload, key))


def _publish(stage: Stage, choices: Choices) -> None:
    version = ("1.1.0", "1.0.0")[choices.pick(2)]
    stage.log(f"contract {version} is published")
    stage.env.publish(version, "active")


def _retire(stage: Stage, _choices: Choices) -> None:
    stage.log("contract 1.0.0 is retired")
    stage.env.publish("1.0.0", "retired")


def _replayable(stage: Stage) -> list[Workload]:
    rows = stage.env.memory.workloads.values()
    return [row for row in rows if row.state in {State.FAILED, State.QUARANTINED}]


def _replay(stage: Stage, choices: Choices) -> None:
    if rows := _replayable(stage):
        stage.replay(rows[choices.pick(len(rows))].id)


def _rows(stage: Stage) -> list[Workload]:
    return list(stage.env.memory.workloads.values())


def _waits(row: Workload) -> bool:
    return row.state in WAITING


def _answer(stage: Stage, choices: Choices) -> None:
    """A person approves or declines what waits, or what was answered or never asked about."""
    rows = _rows(stage)
    waiting = [each for each in rows if _waits(each)] if choices.rarely(2, 0.2) == 0 else rows
    if waiting:
        row, kind = waiting[choices.pick(len(waiting))], choices.pick(3)
        if kind != 1 or not _call_back(stage, row, (None, "a reason")[choices.pick(2)]):
            stage.answer(row.id, (None, None, "a reason")[kind], (ALICE, BOB)[choices.pick(2)])


def _call_back(stage: Stage, row: Workload, reason: str | None) -> bool:
    """By the token of what waits, which is sent meanwhile, else by one of another delivery, or of an earlier attempt."""
    if row.state is State.AWAITING and row.deadline is not None:
        token = CallbackToken(row.id, row.attempt, CHANNEL, row.deadline, len(row.passed))
        Callbacks(stage.env.memory.table).keep(hashlib.sha256(_text(token).encode()).hexdigest(), token)
    made = list(map(_text, stage.env.memory.callbacks.values()))
    own = [each for each in made if each.startswith(row.id)] or made
    if own:
        stage.call_back(row.id, own[-1 if row.passed else 0], reason)
    return bool(own)


def _text(token: CallbackToken) -> str:
    passed = f" {token.passed}" if token.passed else ""
    return f"{token.workload} {token.attempt}{passed}"


def _cancel(stage: Stage, choices: Choices) -> None:
    """A person ends what is open, or what nothing is left to end of."""
    rows, wanted = _rows(stage), (OPEN, {State.VALIDATING})[choices.pick(2)]
    rows = [each for each in rows if each.state in wanted] or rows
    if rows:
        stage.cancel(rows[choices.pick(len(rows))].id, (ALICE, BOB)[choices.pick(2)])


def _waive(stage: Stage, choices: Choices) -> None:
    if rows := [each for each in _replayable(stage) if each.state is State.QUARANTINED]:
        stage.waive(rows[choices.pick(len(rows))].id, (40 * 24 * 60, 10)[choices.pick(2)])


def _collide(stage: Stage, choices: Choices) -> None:
    rows = list(stage.env.memory.workloads.values())
    if rows:
        row = rows[choices.pick(len(rows))]
        stage.log("somebody uses the tokens of the next attempts")
        for ahead in range(1, 2 + choices.pick(3)):
            stage.env.collide(row.id, row.attempt + ahead)


def _deploy(stage: Stage, _choices: Choices) -> None:
    stage.log("a new release is deployed")
    stage.env.deploy()


def _command(stage: Stage, choices: Choices) -> None:
    name = tuple(COMMANDS)[choices.pick(len(COMMANDS))]
    stage.log(f"somebody commands: {name}")
    stage.start(name, command(stage.env, name))


def _days(stage: Stage, choices: Choices) -> None:
    stage.pass_time((8, 31)[choices.pick(2)] * 24 * 60)


def _notify(stage: Stage, _choices: Choices, _place: int) -> None:
    stage.notify()


def _pause(stage: Stage, _choices: Choices) -> None:
    stage.pause()


def _resume(stage: Stage, _choices: Choices) -> None:
    stage.resume()


def _rebuild(stage: Stage, _choices: Choices) -> None:
    stage.log("somebody rebuilds the merge state")
    stage.start("rebuild", rebuild(stage.env))


def _mark(stage: Stage, choices: Choices) -> None:
    day = 1 + choices.pick(8)
    stage.log(f"somebody sets the watermark to day {day}")
    stage.start("mark", mark(stage.env, day))


def _announced(stage: Stage, choices: Choices) -> None:
    """A delivery is announced; data lands for one that was, or its producer says so, in any order and any number of times."""
    kept = list(stage.env.memory.announcements.values())
    chosen = choices.pick(3) if kept else 0
    if chosen == 0:
        stage.announce()
        return
    announced = kept[choices.pick(len(kept))]
    if chosen == 1:
        stage.say_available(announced)
    else:
        stage.log("data lands for an announcement")
        stage.env.upload(announced.key, (b"good:1", b"bad:1", b"good:2")[choices.pick(3)])


ACTS = (
    _upload,
    _delete,
    _publish,
    _retire,
    _replay,
    _collide,
    _deploy,
    _upload,
    _unlock,
    _pause,
    _resume,
    _upload,
    _command,
    _days,
    _waive,
    _announced,
    _announced,
    _answer,
    _exchange,
    _exchange,
)
SLICED_ACTS = (
    *(_upload,) * 6,
    *(_rebuild, _mark) * 3,
    _replay,
    _publish,
    _delete,
    _collide,
    _deploy,
    _pause,
    _resume,
    _command,
    _waive,
)


def broken(choices: Choices, trace: list[str] | None = None) -> Violation | None:
    """The violation a schedule leads to, if any."""
    try:
        run(choices, trace)
    except Violation as violation:
        return violation
    return None


def shrunk(script: tuple[int, ...], promise: str, until: float = float("inf")) -> tuple[int, ...]:
    """The shortest list of numbers that still breaks the promise: cut, then drop, then calm each number.

    `until`: of the monotonic clock; what is the shortest by then is returned.
    """

    def breaks(candidate: tuple[int, ...]) -> bool:
        violation = broken(Choices(script=candidate))
        return violation is not None and violation.promise == promise

    while True:
        for candidate in _simpler(script):
            if time.monotonic() > until:
                return script
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


def trace_text(script: tuple[int, ...]) -> str:
    """The trace of a schedule, a line for each step."""
    trace: list[str] = []
    violation = broken(Choices(script=script), trace)
    return "\n".join(f"  {number:3}  {line}" for number, line in enumerate([*trace, f"=> {violation}"], 1))
