"""Rules with a schedule over what several deliveries left: the plan of a run reads files as they are accepted, and slices."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lakegate.contract.delivery_policy import Policy, PublishAs
from lakegate.engine.read.data_source import path_of
from lakegate.lints.linter import read
from lakegate.plan.plan import Plan, ScheduledCheck
from lakegate.plan.slice_order import SliceOrder
from lakegate.verdict.check_status import Status
from tests.deliveries.delivery import judge_delivery, measure_natively, plan_of, rule
from tests.deliveries.sliced import slices
from tests.reference.cases import only_plan

HOURLY = "cron(0 * * * ? *)"
FIRST, SECOND, OTHER = b"id,amount\na,1\nb,2\n", b"id,amount\nb,3\n", b"id,amount\nc,3\n"


def scheduled(publish_as: PublishAs) -> Plan:
    """A plan whose rule about keys has a schedule."""
    plan = plan_of({"id": "string", "amount": "integer"}, rule("unique", "id"), policy=Policy(publish_as=publish_as))
    (unique,) = (each for each in plan.checks if each.rule == "unique")
    checks = tuple(replace(each, skip="measured by schedule") if each is unique else each for each in plan.checks)
    return replace(plan, checks=checks, scheduled=(ScheduledCheck(HOURLY, unique),))


@pytest.mark.parametrize("publish_as", PublishAs)
@pytest.mark.parametrize(("second", "status"), [(SECOND, Status.FAIL), (OTHER, Status.PASS)])
def test_a_key_that_two_deliveries_share_is_found(
    tmp_path: Path, publish_as: PublishAs, second: bytes, status: Status
) -> None:
    """Each delivery holds the rule alone; accepted data is read as files of the contract, or as slices."""
    plan = scheduled(publish_as)
    if publish_as is PublishAs.PARQUET:
        written = [
            slices(plan, tmp_path / str(at), body, order=SliceOrder(at * 2)) for at, body in enumerate((FIRST, second))
        ]
        bodies = [path_of(each.uri).read_bytes() for found in written for each in found]
    else:
        bodies = [FIRST, second]
    judged = judge_delivery(measure_natively, plan.of_schedules([HOURLY]), tmp_path, *bodies)

    own = {name: found for name, found in judged.statuses().items() if not name.startswith("file/")}

    assert own == {each.check.id: status for each in plan.scheduled}


CONTRACT = b"""
apiVersion: v3.1.0
kind: DataContract
id: shop
version: 1.0.0
status: active
schema:
  - name: rows
    physicalName: rows.csv
    properties:
      - {name: id, logicalType: string}
      - {name: amount, logicalType: integer}
      - {name: sold_at, logicalType: timestamp}
    quality:
      - {id: enough, metric: rowCount, mustBeGreaterOrEqualTo: 4, scheduler: cron, schedule: "0 * * * *"}
      - {id: total, type: sql, query: SELECT SUM(amount) FROM rows, mustBe: 10, scheduler: cron, schedule: "0 * * * *"}
      - id: recent
        type: custom
        engine: soda
        implementation: "freshness(sold_at) < 1d"
        scheduler: cron
        schedule: "0 * * * *"
"""
HEADER = b"id,amount,sold_at\n"


@pytest.mark.parametrize(
    ("second", "broken"),
    [
        (b"c,3,2026-01-01T09:00:00Z\nd,4,2026-01-01T10:00:00Z\n", set()),
        (b"c,7,2026-01-01T10:00:00Z\n", {"enough"}),
        (b"c,3,2026-01-01T09:00:00Z\nd,5,2026-01-01T10:00:00Z\n", {"total"}),
        (b"c,3,2025-12-30T09:00:00Z\nd,4,2025-12-30T10:00:00Z\n", {"recent"}),
    ],
)
def test_rules_of_a_document_are_about_all_accepted_data(tmp_path: Path, second: bytes, broken: set[str]) -> None:
    """The number of rows, a query, and how old the newest row is now: over two deliveries together."""
    plan = only_plan(read(CONTRACT))
    first = HEADER + b"a,1,2025-12-01T09:00:00Z\nb,2,2025-12-01T10:00:00Z\n"
    judged = judge_delivery(measure_natively, plan.of_schedules([HOURLY]), tmp_path, first, HEADER + second)
    rules = {each.check.id: each.check.rule for each in plan.scheduled}
    found = {rules[name]: status for name, status in judged.statuses().items() if name in rules}

    assert found == {rule: Status.FAIL if rule in broken else Status.PASS for rule in ("enough", "total", "recent")}
