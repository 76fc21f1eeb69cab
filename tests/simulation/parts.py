"""Deliveries of several objects: every effect by every kind of fault, for each way such a delivery can go.

The promises are those of the project, in the form that they have for parts:

* P1: a version that landed is in landing, or in exactly one of accepted and quarantine; none is in two deliveries.
* P2, P22: what is visible in accepted/ belongs to a delivery that was decided accepted, of all its parts and nothing else.
* P3: one block, which lists every object of the delivery, and one entry of the readers' manifest.
* P4: nothing is left open, nor in staging.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta

from lakegate.contract.delivery_policy import DeliveryUnit, OnReject
from lakegate.gate.delivery.delivery_row import Workload
from lakegate.gate.delivery.protocol import State
from lakegate.gate.effects import Effect
from tests.fakes.jobs import Ending
from tests.simulation.contract import PLAN
from tests.simulation.environment import LINE, PREFIX, Environment
from tests.simulation.promises import ACCEPTED, ENDED, NOBODY, Violation, manifest_deliveries
from tests.simulation.stage import KINDS, Fault, Stage

FOLDER = f"{PREFIX}run=1/"
HOUR = 60
LAST = {DeliveryUnit.SUCCESS: "_SUCCESS", DeliveryUnit.MANIFEST: "_delivery.json"}
ENOUGH_SWEEPS = 12


@dataclass(frozen=True, slots=True)
class PartsScenario:
    """One way a delivery of parts can go without a fault."""

    name: str
    unit: DeliveryUnit
    parts: tuple[bytes, ...]
    ends: dict[str, int]
    """How many deliveries end in which state: of the parts together, and of objects that belong to none."""
    act: Callable[[Environment], None] | None = None
    """What the producer does at the end instead of completing the delivery."""
    before: tuple[tuple[Effect, Callable[[Environment], None]], ...] = ()
    """What it does right before an effect first happens."""
    later: tuple[Callable[[Environment], None], ...] = ()
    """What it does after the first sweep, after the second one, and so on."""
    quiet: int = 10
    """Minutes."""
    endings: tuple[Ending, ...] = ()
    on_reject: OnReject = OnReject.FILE
    may_end: tuple[dict[str, int], ...] = ()
    deleted: int = 0
    """Parts that the producer deletes."""


def complete(env: Environment, unit: DeliveryUnit, folder: str = FOLDER, **changed: object) -> None:
    """Write the object that completes a delivery of what is in the folder."""
    if unit is DeliveryUnit.QUIET:
        return
    body = b""
    if unit is DeliveryUnit.MANIFEST:
        there = [each for each in env.uploads if each.version.key.startswith(folder)]
        uploads = {each.version.key: each for each in there if not each.version.key.endswith(LAST[unit])}
        listed = [{"key": key.removeprefix(folder), "size": len(uploads[key].body)} for key in sorted(uploads)]
        body = json.dumps({"format": "lakegate-delivery/1", "parts": listed} | changed).encode()
    env.upload(folder + LAST[unit], body)


def _late(env: Environment) -> None:
    env.memory.clock.sleep(60)
    env.upload(f"{FOLDER}z.csv", b"good:late")


def _changed(env: Environment) -> None:
    env.memory.clock.sleep(60)
    env.upload(f"{FOLDER}0.csv", b"bad:changed")


def _remove(env: Environment) -> None:
    env.delete(next(each for each in env.uploads if each.version.key == f"{FOLDER}0.csv"))


def _twice(env: Environment) -> None:
    env.inbox += env.inbox


def _never(_env: Environment) -> None:
    """The producer stops before it completes the delivery."""


def _missing(env: Environment) -> None:
    complete(env, DeliveryUnit.MANIFEST)
    _remove(env)


def _extra(env: Environment) -> None:
    complete(env, DeliveryUnit.MANIFEST)
    env.upload(f"{FOLDER}extra.csv", b"good:extra")


def _hostile(env: Environment) -> None:
    env.upload(f"{FOLDER}_delivery.json", b'{"format": "lakegate-delivery/1", "parts": [{"key": "../x", "size": 1}]}')


def _lists_three(env: Environment) -> None:
    """The manifest comes before the last part."""
    listed = [{"key": name, "size": 6} for name in ("0.csv", "1.csv", "2.csv")]
    complete(env, DeliveryUnit.MANIFEST, parts=listed)


def _third(env: Environment) -> None:
    env.upload(f"{FOLDER}2.csv", b"good:3")


def _slow(env: Environment) -> None:
    """An upload in parts, which began with the others, ends two hours later."""
    env.upload(f"{FOLDER}z.csv", b"good:slow", took=timedelta(minutes=120))


def _another(env: Environment) -> None:
    env.upload(f"{FOLDER}y.csv", b"good:another")


def _of_the_next(env: Environment) -> None:
    """A part of the next delivery began before this one was completed, and ends after it; then the next one is complete."""
    env.memory.clock.sleep(60)
    env.upload(f"{FOLDER}z.csv", b"good:slow", took=timedelta(hours=1))
    env.memory.clock.sleep(60)
    complete(env, DeliveryUnit.SUCCESS)


def _for_a_day(env: Environment) -> None:
    """An upload that took longer than parts wait for their delivery."""
    env.upload(f"{FOLDER}z.csv", b"good:slow", took=timedelta(hours=25))


def _completed(env: Environment) -> None:
    complete(env, DeliveryUnit.SUCCESS)


S, M, Q = DeliveryUnit.SUCCESS, DeliveryUnit.MANIFEST, DeliveryUnit.QUIET
TWO = (b"good:1", b"good:2")
ONE_OF = {"PUBLISHED": 1}
PARTS_SCENARIOS = (
    PartsScenario("published by _SUCCESS", S, TWO, ONE_OF),
    PartsScenario("published by a manifest", M, TWO, ONE_OF),
    PartsScenario("published after a quiet time", Q, TWO, ONE_OF),
    PartsScenario("rejected together", S, (b"bad:1", b"good:2"), {"QUARANTINED": 1}),
    PartsScenario("one refused at the door", M, (b"good:1", b"%PDF:2"), {"QUARANTINED": 1}),
    PartsScenario("rows split", S, (b"split:12", b"good:1"), ONE_OF, on_reject=OnReject.ROWS),
    PartsScenario("job failed", S, TWO, ONE_OF, endings=(Ending.FAILED,), may_end=({"FAILED": 1},)),
    PartsScenario("late part", S, TWO, {"PUBLISHED": 1, "QUARANTINED": 1}, before=((Effect.CLAIM, _late),)),
    PartsScenario("part changed after", S, TWO, {"PUBLISHED": 1, "QUARANTINED": 1}, before=((Effect.CLAIM, _changed),)),
    PartsScenario("events come twice", S, TWO, ONE_OF, before=((Effect.CLAIM, _twice),)),
    PartsScenario("never completed", S, TWO, {"QUARANTINED": 2}, act=_never),
    PartsScenario("part deleted", S, TWO, {"QUARANTINED": 1}, before=((Effect.JOIN, _remove),), deleted=1),
    PartsScenario("part of a manifest missing", M, TWO, {"QUARANTINED": 1}, act=_missing, deleted=1),
    PartsScenario(
        "part arrives after its manifest", M, TWO, ONE_OF, act=_lists_three, before=((Effect.LEASE, _third),)
    ),
    PartsScenario("extra object", M, TWO, {"PUBLISHED": 1, "QUARANTINED": 1}, act=_extra),
    PartsScenario("hostile manifest", M, TWO, {"QUARANTINED": 3}, act=_hostile),
    PartsScenario("part after the quiet time", Q, TWO, {"PUBLISHED": 2}, before=((Effect.MARK_STAGED, _late),)),
    PartsScenario(
        "part while another is judged",
        Q,
        TWO,
        {"PUBLISHED": 2},
        before=((Effect.MARK_STAGED, _late),),
        endings=(Ending.HUNG,),
    ),
    PartsScenario("slow part of a quiet folder", Q, TWO, ONE_OF, act=_never, later=(_slow, _another), quiet=200),
    PartsScenario(
        "slow part of the next delivery", S, TWO, {"PUBLISHED": 2}, before=((Effect.MARK_STAGED, _of_the_next),)
    ),
    PartsScenario("part that took a day", S, TWO, ONE_OF, act=_for_a_day, later=(_completed,)),
)


class PartsPromises:
    """What must hold after every effect; what is read for it is computed from the buckets, the ledger and the rows."""

    def __init__(self, env: Environment) -> None:
        self.env = env
        self.barred = NOBODY
        self.replays: dict[str, str] = {}
        """None: nobody replays deliveries of parts here."""

    def cancelled(self, _run: str) -> None:
        """Healthy runs are the other promises' subject."""

    def hold(self) -> None:
        """Raise Violation if a promise is broken now."""
        self._one_delivery_each()
        self._visible_is_decided()
        self._nothing_is_lost()

    def rows(self) -> Iterator[Workload]:
        """The deliveries."""
        return (row for row in self.env.memory.workloads.values() if row.state is not State.JOINED)

    def stored(self, share: str, workload: str) -> list[bytes]:
        """The bytes of the data at a destination."""
        found = self.env.memory.objects.current(LAKE_BUCKET, f"{share}/")
        last = tuple(LAST.values())
        return [body for key, body in found.items() if f"/workload={workload}/" in key and not key.endswith(last)]

    def parts(self, row: Workload) -> list[bytes]:
        """The bytes of the landed versions that a delivery consists of."""
        joined = [each for each in self.env.memory.workloads.values() if each.joined == row.id]
        if row.completed_by:
            return [self.env.by_version[each.source.version].body for each in joined]
        return [self.env.by_version[row.source.version].body]

    def _one_delivery_each(self) -> None:
        rows = self.env.memory.workloads
        blocks = Counter(block.workload for chain in self.env.memory.chains.values() for block in chain)
        if any(number > 1 for number in blocks.values()):
            raise Violation("P3", "one delivery has two blocks")
        for identity in blocks:
            if rows[identity].state not in ENDED:
                raise Violation("P3", "a block is of a delivery that is not finished")

    def _visible_is_decided(self) -> None:
        for key in self.env.memory.objects.current(LAKE_BUCKET, "accepted/"):
            if "/workload=" not in key:
                continue
            row = self.env.memory.workloads[key.split("/workload=")[1].partition("/")[0]]
            if row.decision is None or row.decision.verdict not in ACCEPTED:
                raise Violation("P2", "bytes are visible that nobody decided to accept")

    def _nothing_is_lost(self) -> None:
        for upload in self.env.uploads:
            key = upload.version.key
            is_data = not key.endswith(("_SUCCESS", "_delivery.json"))
            there = any(each.version == upload.version.version for each in self.env.landing.get(key, ()))
            if not is_data or there or upload.deleted:
                continue
            row = self.env.memory.workloads.get(upload.workload)
            delivery = self.env.memory.workloads[row.joined] if row and row.joined else row
            if delivery is None or delivery.state not in ENDED:
                raise Violation("P1", "a part was removed before its delivery was finished")
            whole = b"".join(self.stored("accepted", delivery.id) + self.stored("quarantine", delivery.id))
            if upload.body not in whole:
                raise Violation("P1", "a part was removed and is not in the lake")

    def kept_in_the_end(self) -> None:
        """Raise Violation unless every delivery ended as promised."""
        self.hold()
        memory = self.env.memory
        for row in self.rows():
            if row.state not in {*ENDED, State.FAILED, State.GONE} or row.due_at is not None:
                raise Violation("P4", f"a delivery stays {row.state}")
            if row.state is State.PUBLISHED:
                self._published(row)
        for upload in self.env.uploads:
            if not upload.deleted and not upload.version.key.endswith("_SUCCESS"):
                self._ended(upload.workload)
        if any(
            memory.workloads[key.split("/")[1]].state in ENDED
            for key in memory.objects.current(LAKE_BUCKET, "staging/")
        ):
            raise Violation("P4", "a staging copy was left behind")

    def _ended(self, workload: str) -> None:
        row = self.env.memory.workloads.get(workload)
        if row is None:
            raise Violation("P1", "a version belongs to no delivery")
        delivery = self.env.memory.workloads[row.joined] if row.joined else row
        there = any(each.version == row.source.version for each in self.env.landing.get(row.source.key, ()))
        if delivery.state in ENDED and there:
            raise Violation("P4", "a judged version was left behind")
        if delivery.state not in {*ENDED, State.FAILED}:
            raise Violation("P1", "a part belongs to a delivery that has not ended")

    def _published(self, row: Workload) -> None:
        accepted = sorted(self.stored("accepted", row.id))
        rejected = b"".join(self.stored("quarantine", row.id))
        whole = b"".join(self.parts(row))
        if (b"".join(accepted) + rejected if rejected else accepted) != (
            whole if rejected else sorted(self.parts(row))
        ):
            raise Violation("P2", "other bytes are published than those of the delivery's parts")
        block = next(each for each in self.env.memory.chains[LINE] if each.workload == row.id)
        listed = manifest_deliveries(self.env.lake, f"accepted/{LINE}/_manifest.json") or []
        entries = [each for each in listed if each["workload"] == row.id]
        if len(entries) != 1 or len(entries[0]["objects"]) != len(accepted):
            raise Violation("P2", "the manifest does not list all parts in one entry")
        if len(block.objects) != len(accepted) + bool(rejected):
            raise Violation("P3", "the block does not list the objects of the delivery")


LAKE_BUCKET = "lake"


@dataclass(slots=True)
class PartsPlayed:
    """What became of a schedule."""

    ends: dict[str, int]
    effects: dict[Effect, int] = field(default_factory=dict)


def play_parts(scenario: PartsScenario, planned: tuple[Effect, int, Fault] | None = None) -> PartsPlayed:
    """One delivery of parts from its first upload to its end, with a fault at one occurrence of an effect.

    Raises AssertionError, with the trace, where a promise breaks.
    """
    trace: list[str] = []
    try:
        return _played(scenario, planned, trace)
    except AssertionError as broken:
        raise AssertionError("\n".join((f"BROKEN: {scenario.name}, {planned}: {broken!r}", *trace))) from broken


def _played(scenario: PartsScenario, planned: tuple[Effect, int, Fault] | None, trace: list[str]) -> PartsPlayed:
    def fault_at(effect: Effect) -> Fault:
        is_it = planned is not None and (effect, stage.counted[effect]) == planned[:2]
        return planned[2] if planned is not None and is_it else Fault.NONE

    env = Environment(list(scenario.endings))
    policy = replace(PLAN.policy, delivery=scenario.unit, on_reject=scenario.on_reject, quiet_minutes=scenario.quiet)
    env.publish("1.0.0", "active", replace(PLAN, policy=policy))
    stage = Stage(env, fault_at, trace)
    promises = PartsPromises(env)
    stage.promises = promises  # type: ignore[assignment]  # the same promises, of parts
    stage.before = [(effect, lambda act=act: act(env)) for effect, act in scenario.before]  # type: ignore[misc]
    for number, body in enumerate(scenario.parts):
        env.upload(f"{FOLDER}{number}.csv", body)
        env.memory.clock.sleep(2)
    if scenario.act is None:
        complete(env, scenario.unit)
    else:
        scenario.act(env)
    _settle(stage, promises, scenario.later)
    ends = dict(Counter(str(row.state) for row in promises.rows() if row.state is not State.GONE))
    assert ends in (scenario.ends, *scenario.may_end), f"{scenario.name} ended {ends}"
    return PartsPlayed(ends, stage.counted)


def _settle(stage: Stage, promises: PartsPromises, later: tuple[Callable[[Environment], None], ...]) -> None:
    """Sweeps, ninety minutes apart until a day is over, then until everything has ended."""
    for turn in range(ENOUGH_SWEEPS):
        _drain(stage)
        for act in later[turn - 1 : turn] if turn else ():
            act(stage.env)
            _drain(stage)
        stage.sweep(HOUR * (25 if turn == 4 else 2))
        while stage.asleep:
            stage.wake()
    _drain(stage)
    promises.kept_in_the_end()


def _drain(stage: Stage) -> None:
    while stage.workers or stage.env.inbox:
        if stage.workers:
            stage.step(stage.workers[0])
        else:
            stage.deliver(0)


def faults_of(scenario: PartsScenario) -> Iterator[tuple[Effect, int, Fault]]:
    """Every kind of fault at every occurrence of every effect of the schedule without faults."""
    for effect, count in play_parts(scenario).effects.items():
        for occurrence in range(1, min(count, 3) + 1):
            for kind in KINDS:
                yield effect, occurrence, kind
