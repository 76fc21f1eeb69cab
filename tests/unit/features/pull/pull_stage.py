"""A stack with one contract whose data is pulled every hour, a source, and ticks that a test starts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from lakegate.base.timestamps import instant_of
from lakegate.contract.delivery_policy import Policy, Pull
from lakegate.features.pull.pull_task import FinishedPull, PullState, tick
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Steps, run
from lakegate.gate.ports import Address
from lakegate.gate.registry.registry_rows import Publication, Route
from lakegate.gate.scheduled_tasks import Turn
from tests.deliveries.delivery import plan_of
from tests.fakes.pulls import MemoryLandingParts, MemorySource
from tests.simulation.environment import LAKE, LANDING, Environment

LINE = "partner/rows_v1"
PREFIX = "partner/rows/"
PULL = Pull("https://data.example.com/exports/rows.csv?all=1", "rate(1 hour)")
PART = 4
"""Bytes."""


@dataclass
class PullStage:
    """What a test plays with."""

    env: Environment = field(default_factory=Environment)
    source: MemorySource = field(default_factory=MemorySource)
    left: float = float("inf")
    """Seconds that each tick has."""
    landing: MemoryLandingParts = field(init=False)
    dependencies: Dependencies = field(init=False)

    def __post_init__(self) -> None:
        self.landing = MemoryLandingParts(self.env.memory.objects, LANDING)
        self.dependencies = replace(self.env.dependencies, remaining=lambda: self.left)

    def publish(
        self, version: str = "1.0.0", pull: Pull | None = PULL, status: str = "active", prefix: str = PREFIX
    ) -> None:
        """Publish a version of the contract with a route."""
        plan = replace(plan_of({"id": "integer"}), policy=Policy(pull=pull, max_bytes=100), contract_version=version)
        self.env.memory.objects.put(Address(LAKE, f"plans/{plan.digest}.json"), plan.to_bytes())
        routes = (Route(LANDING, prefix, "partner", "rows", 1, version, status, plan.digest),) if prefix else ()
        labels = (("pull", "rows"),) if pull else ()
        self.env.memory.registry.publish(
            Publication("partner", version, status, "c", routes, plans=(("rows", plan.digest),), labels=labels)
        )

    def tick(self, hours: float = 0) -> Turn:
        """One tick, after so many hours."""
        self.env.memory.clock.sleep(hours * 3600)
        return run(self.steps(), self.env.memory.clock)

    def steps(self) -> Steps[Turn]:
        """The effects of one tick."""
        return tick(self.dependencies, self.source, self.landing, PART)

    @property
    def row(self) -> PullState:
        return self.env.memory.pulls.get(LINE)

    @property
    def due(self) -> datetime:
        return instant_of(self.row.next)

    @property
    def ends(self) -> list[tuple[str, str]]:
        """Outcomes and reasons, the first one first."""
        return [(each.outcome.value, each.reason) for each in reversed(self.row.ends)]

    @property
    def landed(self) -> dict[str, bytes]:
        """What is in landing, by key."""
        objects = self.env.memory.objects
        versions = objects.versions(LANDING, PREFIX).versions
        return {each.key: objects.read(Address(LANDING, each.key, each.version)) for each in versions}

    @property
    def bodies(self) -> list[bytes]:
        """Of every version in landing."""
        objects = self.env.memory.objects
        versions = objects.versions(LANDING, PREFIX).versions
        return [objects.read(Address(LANDING, each.key, each.version)) for each in versions]

    def until_end(self, most: int = 30) -> FinishedPull:
        """Ticks every five minutes, until the pull has ended."""
        before = len(self.row.ends)
        for _ in range(most):
            self.tick(timedelta(minutes=5) / timedelta(hours=1))
            if len(self.row.ends) > before:
                return self.row.ends[0]
        raise AssertionError(f"the pull does not end: {self.row}")


def scheduled(body: bytes = b"", **source: object) -> PullStage:
    """A stage whose contract is published and scheduled; the clock is at its first due time."""
    stage = PullStage(source=MemorySource(body, **source))  # type: ignore[arg-type] # fields of the source
    stage.publish()
    stage.tick()
    stage.env.memory.clock.sleep((stage.due - stage.env.memory.clock.now()).total_seconds())
    return stage
