"""A stack with a dataset that is derived from one with deliveries, and sweeps and runs that a test starts."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from lakegate.base.errors import ConditionFailed
from lakegate.engine.duckdb_queries import ABSENT_INPUT
from lakegate.features.derived.derivation_task import DerivationState, derivations
from lakegate.gate.delivery.advance import completion
from lakegate.gate.delivery.intake import intake
from lakegate.gate.effects import Steps, run
from lakegate.gate.ledger.blocks import Block, deliveries
from lakegate.gate.ports import Address, JobState
from lakegate.gate.registry.registry_rows import Publication, Route
from lakegate.gate.sweep import Swept, sweep
from lakegate.lints.linter import read
from lakegate.plan.plan import Plan
from lakegate.plan.request import Request
from lakegate.plan.result import Measured, Measurement, Result, Unreadable, WrittenFile
from lakegate.rules.compile_plan import compile_plan
from tests.fakes.jobs import Ending, Run
from tests.simulation.contract import digest
from tests.simulation.environment import LAKE, LANDING, LINE, PREFIX, Environment, key_of, request_of

TOTALS = "totals/names_v1"
FOLDER = "shop/totals/"


def document(query: str, version: str = "1.0.0") -> str:
    """The contract of the derived dataset."""
    derive = {
        "inputs": {"lines": {"dataset": LINE, "columns": {"name": "string", "amount": "integer"}}},
        "query": query,
    }
    return json.dumps(
        {
            "apiVersion": "v3.1.0",
            "kind": "DataContract",
            "id": "totals",
            "version": version,
            "status": "active",
            "customProperties": [
                {"property": "lakegate", "value": {"replaces": "delivery", "derive": derive}},
            ],
            "schema": [
                {
                    "name": "names",
                    "properties": [
                        {"name": "name", "logicalType": "string", "required": True},
                        {"name": "total", "logicalType": "integer"},
                    ],
                }
            ],
        }
    )


QUERY = "SELECT name, sum(amount) AS total FROM lines GROUP BY name"


@dataclass
class DerivedStage:
    """What a test plays with."""

    env: Environment = field(default_factory=Environment)
    delivered: int = 0

    def publish(
        self, query: str = QUERY, version: str = "1.0.0", folder: str = FOLDER, own: tuple[str, ...] = ("orders",)
    ) -> Plan:
        """Publish a version of the derived dataset, with a route."""
        contract = read(document(query, version).encode())
        plan = compile_plan(contract, contract.datasets[0])
        address = digest(plan.to_bytes())
        self.env.memory.objects.put(Address(LAKE, f"plans/{address}.json"), plan.to_bytes())
        route = Route(LANDING, folder, "totals", "names", 1, version, "active", address)
        publication = Publication(
            "totals",
            version,
            "active",
            f"contracts/{version}",
            (route,),
            plans=(("names", address),),
            labels=(("derived", "names"),),
            own=own,
        )
        self.env.memory.registry.publish(publication)
        return plan

    def deliver(self, body: bytes = b"good") -> None:
        """One delivery of the input from its upload to its end."""
        self.delivered += 1
        self.env.deliver(f"{PREFIX}{self.delivered}.csv", b"%s:%d" % (body, self.delivered))

    def sweep(self, minutes: float = 0) -> Swept:
        """A sweep, after so many minutes."""
        self.env.memory.clock.sleep(minutes * 60)
        return run(self.steps(), self.env.memory.clock)

    def steps(self) -> Steps[Swept]:
        return sweep(self.env.dependencies)

    @property
    def row(self) -> DerivationState:
        return derivations(self.env.dependencies).get(TOTALS)

    @property
    def requests(self) -> dict[str, dict[str, Any]]:
        """The requests that lie in landing, by their keys."""
        listed = self.env.memory.objects.versions(LANDING, "").versions
        keys = [each.key for each in listed if "/derived-" in each.key]
        return {key: json.loads(self.env.memory.objects.read(Address(LANDING, key))) for key in keys}

    def derive(self, failing: int = 0, *, absent: bool = False) -> None:
        """Let the run of the request in landing end; with so many rows that break a rule, or without an input."""
        for key in self.requests:
            dependencies = self.env.dependencies
            run(intake(dependencies, LANDING, key), dependencies.clock)
            for each in list(self.env.memory.jobs.runs.values()):
                if each.request["jobDriver"] and each.state is JobState.RUNNING:
                    self._answer(each, failing, absent=absent)
            for each in list(self.env.memory.jobs.runs):
                run(completion(dependencies, each), dependencies.clock)

    def _answer(self, job: Run, failing: int, *, absent: bool) -> None:
        with suppress(KeyError, IndexError):
            where = Address(LAKE, key_of(request_of(job.request)))
            asked = Request.from_bytes(self.env.memory.objects.read(where))
            plan = Plan.from_bytes(self.env.memory.objects.read(Address(LAKE, key_of(asked.plan_uri))))
            if plan.derived is None:
                return
            folder = key_of(asked.output_uri)
            body = json.dumps([[each.dataset, each.height] for each in asked.references]).encode()
            with suppress(ConditionFailed):
                stored = self.env.memory.objects.put(
                    Address(LAKE, f"{folder}/rows/derived/part-00000.parquet"), body, absent=True
                )
                written = WrittenFile(f"{asked.output_uri}/rows/derived/part-00000.parquet", len(body), stored.etag, 2)
                numbers = tuple(Measurement(each.id, Measured(2, failing)) for each in plan.checks)
                result = Result(
                    asked.workload,
                    asked.attempt,
                    asked.plan_digest,
                    asked.source_version,
                    rows=2,
                    measurements=numbers,
                    derived=(written,),
                )
                if absent:
                    result = replace(result, rows=0, measurements=(), derived=(), unreadable=Unreadable(*ABSENT_INPUT))
                self.env.memory.objects.put(Address(LAKE, f"{folder}/result.json"), result.to_bytes(), absent=True)
            self.env.memory.jobs.end(job.id, Ending.ANSWERED)

    @property
    def blocks(self) -> list[Block]:
        """Deliveries of the derived dataset."""
        return list(deliveries(self.env.dependencies.ledger.blocks(TOTALS)))
