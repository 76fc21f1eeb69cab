"""Every effect by six kinds of fault, alone and in pairs, for each way a delivery can go."""

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
    effects: frozenset[Effect]
    steps: int
    left: int
    """Planned faults that never came to be."""


def play(scenario: Scenario, planned: tuple[Planned, ...] = (), story: list[str] | None = None) -> Told:
    """One delivery from upload to rest, with each planned fault at the first occurrence of its effect still free."""
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
    return Told(end, frozenset(stage.counted), world.effects, len(left))


def faults_of(scenario: Scenario) -> tuple[Planned, ...]:
    """Every fault at every effect that happens, or that recovery from a single fault brings about."""
    effects = set(play(scenario).effects)
    for effect in sorted(effects):
        for kind in KINDS:
            effects |= play(scenario, ((effect, kind),)).effects
    return tuple((effect, kind) for effect in Effect if effect in effects for kind in KINDS)


def pairs_of(scenario: Scenario) -> Iterator[tuple[Planned, Planned]]:
    return combinations_with_replacement(faults_of(scenario), 2)
