"""Rules with a schedule on the embedded AWS: the deployed sweep schedules them, a job measures, its end is recorded."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lakegate.features.revalidation.revalidation import KIND, stale_rules
from lakegate.gate.effects import run
from lakegate.gate.lake_layout import manifest_key
from lakegate.gate.ledger.blocks import Record
from lakegate.gate.ports import Address
from lakegate.gate.registry.publish_contract import compile_document, publish, referred_of
from lakegate.gate.registry.routes import add_route
from tests.e2e.deployed import SMALL, Deployed, until
from tests.e2e.running import lakegate

LINE = "e2e-scheduled/rows_v1"
MANY = SMALL
"""Rows of a delivery: too many for the judge function."""
CONTRACT = b"""
apiVersion: v3.1.0
kind: DataContract
id: e2e-scheduled
version: 1.0.0
status: active
schema:
  - name: rows
    logicalType: object
    properties: [{name: id, logicalType: integer, required: true}]
    quality:
      - {id: once, metric: duplicateValues, arguments: {properties: [id]}, mustBe: 0, scheduler: cron, schedule: "0 * * * *"}
"""


@pytest.mark.full  # tests/unit/features/revalidation/test_revalidation_commands.py has the same, in one process
def test_accepted_data_is_measured_by_a_job_run(stack: Deployed) -> None:
    """Two deliveries are accepted that share a key: the run reads both by version; its end marks the manifest."""
    dependencies = stack.dependencies
    run(publish(dependencies, compile_document(CONTRACT, referred_of(dependencies, CONTRACT))), dependencies.clock)
    run(add_route(dependencies, "scheduled/", "e2e-scheduled", "rows", 1), dependencies.clock)
    for first in (1, MANY):
        ids = "".join(f"{number}\n" for number in range(first, first + MANY))
        stack.finished(stack.upload(f"id\n{ids}".encode(), f"scheduled/{first}.csv"))
    stack.sweep()
    stack.sweep_later(60)

    until("the end of the run is recorded", lambda: dependencies.rows("revalidations").get(LINE).ends)
    document: dict[str, Any] = json.loads(
        dependencies.objects.read(Address(dependencies.places.lake, manifest_key(LINE)))
    )
    shown = lakegate("history", LINE, "--local")
    (record,) = (each for each in dependencies.ledger.newest(LINE) if isinstance(each, Record) and each.kind == KIND)

    assert [each["rule"] for each in stale_rules(record)] == ["once"]
    assert [each["rule"] for each in document["stale"]["rules"]] == ["once"]
    assert "BROKEN, does not hold: `once`" in shown.stdout
