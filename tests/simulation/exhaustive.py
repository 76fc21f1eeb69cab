"""Every effect by seven kinds of fault, alone and in pairs, for each way a delivery can go."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

from functions.memory.jobs import Ending
from functions.usecases.steps import Effect
from tests.simulation.stage import KINDS, Fault, Stage, settle
from tests.simulation.world import PREFIX, Upload, World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KEY = f"{PREFIX}day.csv"
Planned = tuple[Effect, Fault]


@dataclass(frozen=True, slots=True)
class Scenario:
    """One way a delivery can go when nothing befalls it."""

    name: str
    body: bytes
    ends: str
    endings: tuple[Ending, ...] = ()
    before: tuple[tuple[Effect, Callable[[World, Upload], None]], ...] = ()
    """What else happens, right before an effect first does."""
    may_end: tuple[str, ...] = field(default=())
    """Other ends that a fault may lead to."""


def _delete(world: World, upload: Upload) -> None:
    world.delete(upload)


def _overwrite(world: World, _upload: Upload) -> None:
    world.upload(KEY, b"bad:overwritten")


def _publish(world: World, _upload: Upload) -> None:
    world.publish("1.1.0", "active")


def _retire(world: World, _upload: Upload) -> None:
    world.publish("1.0.0", "retired")


THREE = 3
SCENARIOS = (
    Scenario("accepted", b"good:1", "PUBLISHED"),
    Scenario("rejected", b"bad:1", "QUARANTINED"),
    Scenario("refused at the door", b"junk:1", "QUARANTINED"),
    Scenario("rows split", b"split:12", "PUBLISHED"),
    Scenario("job failed", b"good:1", "PUBLISHED", (Ending.FAILED, Ending.CANCELLED), may_end=("FAILED",)),
    Scenario("job hung", b"good:1", "PUBLISHED", (Ending.HUNG, Ending.TIMED_OUT), may_end=("FAILED",)),
    Scenario("result without event", b"good:1", "PUBLISHED", (Ending.SILENT,)),
    Scenario("event without result", b"good:1", "PUBLISHED", (Ending.EMPTY, Ending.LATE_FAILURE), may_end=("FAILED",)),
    Scenario("version deleted", b"good:1", "GONE", before=((Effect.STAGE, _delete),), may_end=("PUBLISHED",)),
)
MORE = (
    Scenario("never measurable", b"error:1", "FAILED"),
    Scenario("key overwritten", b"good:1", "PUBLISHED", before=((Effect.STAGE, _overwrite),)),
    Scenario("contract changed", b"mild:1", "PUBLISHED", before=((Effect.STAGE, _publish),), may_end=("QUARANTINED",)),
    Scenario("contract retired", b"good:1", "PUBLISHED", before=((Effect.DECIDE, _retire),)),
    Scenario("refused and deleted", b"junk:1", "GONE", before=((Effect.COPY, _delete),), may_end=("QUARANTINED",)),
    Scenario("deleted while judged", b"good:1", "PUBLISHED", before=((Effect.DECIDE, _delete),)),
)


@dataclass(slots=True)
class Told:
    """One schedule and what became of it."""

    end: str
    effects: dict[Effect, int]
    """How often each happened, or was about to."""
    steps: int
    left: int
    """Planned faults that never came to be."""


class Failed(AssertionError):  # noqa: N818 - what a promise did
    """A schedule that breaks a promise, with its whole story as text: a worker process can hand it over."""


def play(scenario: Scenario, planned: tuple[Planned, ...] = ()) -> Told:
    """One delivery from upload to rest, with each planned fault at the first occurrence of its effect still free.

    Raises Failed where a promise breaks.
    """
    try:
        return _played(scenario, planned, None)
    except AssertionError:
        return _again(scenario, planned)


def _again(scenario: Scenario, planned: tuple[Planned, ...]) -> Told:
    """The same schedule once more, now with its story: a story costs more than the schedule itself."""
    story: list[str] = []
    try:
        return _played(scenario, planned, story)
    except AssertionError as broken:
        faults = ", ".join(f"{kind.name} at {effect.name}" for effect, kind in planned) or "no fault"
        raise Failed("\n".join((f"BROKEN: {scenario.name}, {faults}: {broken}", *story))) from None


def _played(scenario: Scenario, planned: tuple[Planned, ...], story: list[str] | None) -> Told:
    left = list(planned)

    def fault_at(effect: Effect) -> Fault:
        for each in left:
            if each[0] is effect:
                left.remove(each)
                return each[1]
        return Fault.NONE

    world = World(list(scenario.endings))
    upload = world.upload(KEY, scenario.body)
    stage = Stage(world, fault_at, story)
    stage.before = [(effect, lambda act=act: act(world, upload)) for effect, act in scenario.before]  # type: ignore[misc]
    settle(stage)
    row = world.memory.rows.rows.get(upload.workload)
    end = str(row.state) if row else "never claimed"
    assert end in {scenario.ends, *scenario.may_end} or (row is None and upload.deleted), f"{scenario.name} ended {end}"
    return Told(end, stage.counted, world.effects, len(left))


def singles_of(scenario: Scenario) -> dict[Planned, Told]:
    """Every fault at every effect that happens, or that recovery from one fault brings about, and what became of it."""
    told: dict[Planned, Told] = {}
    met = dict.fromkeys(play(scenario).effects)
    for effect in met:
        for kind in KINDS:
            told[effect, kind] = play(scenario, ((effect, kind),))
    recovery = dict.fromkeys(effect for each in told.values() for effect in each.effects if effect not in met)
    return told | {(effect, kind): play(scenario, ((effect, kind),)) for effect in recovery for kind in KINDS}


def pairs_of(told: dict[Planned, Told]) -> Iterator[tuple[Planned, Planned]]:
    """Every two faults that meet in one schedule.

    Where either keeps the other away, the pair is a single over again; so it is beside a throttled call, which a lone worker
    repeats at once.
    """
    lasting = [each for each in told if each[1] is not Fault.THROTTLED]
    for one, other in combinations_with_replacement(lasting, 2):
        again = 2 if one[0] is other[0] else 1
        if told[one].effects.get(other[0], 0) >= again and told[other].effects.get(one[0], 0) >= again:
            yield one, other
