"""A stack with a line whose contract has two rules with schedules, deliveries, runs, and sweeps that a test starts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from lakegate.base.errors import ConditionFailed, NotFound
from lakegate.base.timestamps import moment
from lakegate.features.revalidation.revalidation import KIND, RevalidationState
from lakegate.gate.effects import run
from lakegate.gate.lake_layout import manifest_key
from lakegate.gate.ledger.blocks import Record
from lakegate.gate.ports import Address, JobState
from lakegate.gate.sweep import Swept, sweep
from lakegate.plan.check import NONE, Check, Interval, Tier, Unit
from lakegate.plan.metrics import Metric
from lakegate.plan.plan import Plan, ScheduledCheck
from lakegate.plan.request import Request
from lakegate.plan.result import Measured, Measurement, Result
from tests.fakes.jobs import Ending, Run
from tests.simulation.contract import PLAN
from tests.simulation.environment import LAKE, LINE, PREFIX, Environment, key_of, request_of

HOURLY, DAILY = "cron(0 * * * ? *)", "cron(30 6 * * ? *)"
ONCE = Check("once", "once", "unique", ("name",), Metric.DUPLICATE_ROWS, Unit.ROWS, Tier(NONE))
MANY = Check("many", "many", "sum", ("amount",), Metric.SUM, Unit.VALUE, Tier(Interval(low=Decimal(1))))
SCHEDULED = (ScheduledCheck(HOURLY, ONCE), ScheduledCheck(DAILY, MANY))


def plan_with(*scheduled: ScheduledCheck, version: str = "1.0.0") -> Plan:
    """The simulated plan, with checks of rules that have schedules."""
    skips = tuple(replace(each.check, skip=f"measured by schedule: {each.schedule}") for each in scheduled)
    return replace(PLAN, contract_version=version, checks=(*PLAN.checks, *skips), scheduled=scheduled)


@dataclass
class RevalidationStage:
    """What a test plays with."""

    env: Environment = field(default_factory=Environment)
    broken: set[str] = field(default_factory=set)
    """Ids of checks that accepted data breaks now."""
    delivered: int = 0

    def publish(self, *scheduled: ScheduledCheck, version: str = "1.0.0") -> Plan:
        """Publish a version of the contract, as `lakegate publish` does."""
        plan = plan_with(*scheduled, version=version)
        self.env.publish(version, "active", plan)
        registry = self.env.memory.registry
        found = next(each for each in registry.contract("orders").versions if each.version == version)
        registry.publish(replace(found, labels=(("revalidated", "lines"),) if scheduled else ()))
        return plan

    def deliver(self, body: bytes = b"good") -> None:
        """One delivery from its upload to its end."""
        self.delivered += 1
        self.env.deliver(f"{PREFIX}{self.delivered}.csv", b"%s:%d" % (body, self.delivered))

    def sweep(self, minutes: float = 0) -> Swept:
        """A sweep, after so many minutes."""
        self.env.memory.clock.sleep(minutes * 60)
        return run(sweep(self.env.dependencies), self.env.memory.clock)

    @property
    def row(self) -> RevalidationState:
        return self.env.memory.revalidations.get(LINE)

    @property
    def runs(self) -> list[Run]:
        """Job runs and invocations that measure accepted data, the first one first."""
        jobs = self.env.memory.jobs.runs.values()
        return [each for each in jobs if _names(each) not in {*self.env.memory.workloads, "somebody-else"}]

    def request(self, run_: Run) -> Request:
        body = self.env.memory.objects.read(Address(LAKE, key_of(request_of(run_.request))))
        return Request.from_bytes(body)

    def answer(self, run_: Run, ending: Ending = Ending.ANSWERED, **changes: Any) -> None:
        """A correct data plane: it reads the versions that its request names, and writes one result."""
        if run_.state is not JobState.RUNNING:
            return
        asked = self.request(run_)
        if ending is Ending.ANSWERED and not self._reads(asked):
            ending = Ending.FAILED
        if ending is Ending.ANSWERED:
            where = Address(LAKE, f"{key_of(asked.output_uri)}/result.json")
            result = replace(self.result(asked), **changes)
            with suppress(ConditionFailed):  # another invocation of the attempt has answered
                self.env.memory.objects.put(where, result.to_bytes(), absent=True)
        self.env.memory.jobs.end(run_.id, ending)

    def result(self, asked: Request) -> Result:
        """What a run measures: of broken checks one failing row, or no row."""
        plan = Plan.from_bytes(self.env.memory.objects.read(Address(LAKE, key_of(asked.plan_uri))))
        rows = sum(each.size for each in asked.parts)
        numbers = {
            check.id: Measured(of=rows, failing=int(check.id in self.broken))
            if check.metric is Metric.DUPLICATE_ROWS
            else Measured(of=rows, number=0.0 if check.id in self.broken else float(rows))
            for check in plan.checks
        }
        measurements = tuple(Measurement(name, number) for name, number in numbers.items())
        return Result(
            asked.workload, asked.attempt, asked.plan_digest, asked.source_version, rows=rows, measurements=measurements
        )

    def _reads(self, asked: Request) -> bool:
        try:
            for each in asked.parts:
                assert each.version
                assert len(self.env.memory.objects.read(Address(LAKE, key_of(each.uri), each.version))) == each.size
        except NotFound:  # erased since
            return False
        return True

    def measure(self, hours: float = 1) -> None:
        """What is due after some hours, from its beginning to its end."""
        self.sweep(hours * 60)
        for each in self.runs:
            self.answer(each)
        self.sweep(6)

    @property
    def records(self) -> list[Mapping[str, Any]]:
        """Contents of the records of the line."""
        blocks = self.env.dependencies.ledger.blocks(LINE)
        return [each.content for each in blocks if isinstance(each, Record) and each.kind == KIND]

    @property
    def manifest(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.env.memory.objects.read(Address(LAKE, manifest_key(LINE))))
        return found

    @property
    def stale(self) -> list[str]:
        """The rules that the manifest marks."""
        return [each["rule"] for each in self.manifest.get("stale", {"rules": []})["rules"]]

    @property
    def messages(self) -> list[dict[str, Any]]:
        """What is reported of the line, the oldest first."""
        self.env.memory.clock.sleep(60)  # the index lags
        pending = self.env.dependencies.outbox.pending(10_000)
        return [json.loads(each.body) for each in pending if each.kind == KIND]

    @property
    def ends(self) -> list[tuple[str, str]]:
        """Ends and reasons, the first one first."""
        return [(each.end.value, each.reason) for each in reversed(self.row.ends)]

    @property
    def now(self) -> str:
        return moment(self.env.memory.clock.now())


def _names(run_: Run) -> str:
    request: Any = run_.request
    return str(json.loads(request["Payload"])["workload"] if "Payload" in request else request["name"])


def measured_hourly(*bodies: bytes, judge: bool = False) -> RevalidationStage:
    """A stage with accepted deliveries whose contract is published and scheduled."""
    stage = RevalidationStage(Environment(judge=judge))
    stage.publish(*SCHEDULED)
    for body in bodies or (b"good",):
        stage.deliver(body)
    stage.sweep()
    return stage
