"""Every command that shows a delivery counts published and rejected rows, and the checks that were not measured."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lakegate.aws.wiring import SystemClock
from lakegate.base.json_codec import canonical
from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.delivery_row import workload_id
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.effects import run
from lakegate.gate.lake_layout import attempt_prefix
from lakegate.gate.ports import Address
from lakegate.plan.plan import Plan
from lakegate.plan.result import Columns, Measured, Measurement, Result
from tests.unit.cli.conftest import Lakegate
from tests.unit.cli.deployed_stack import LAKE, LANDING

BY_ROWS = """logicalType: object
    quality: [{type: text, description: Looks like orders.}]
    customProperties: [{property: lakegate, value: {onReject: rows}}]
"""
COUNTED = {"rows": 4, "published_rows": 3, "rejected_rows": 1}
CHECKS = {"pass": 2, "warn": 0, "fail": 1, "error": 0, "skip": 1}


def split(lakegate: Lakegate, workload: str) -> None:
    """The job's answer: one of four rows is refused, a rule in words is not measured; then completion."""
    row = lakegate.dependencies.workloads.get(workload)
    assert row.pin is not None
    plan = Plan.from_json(json.loads(lakegate.dependencies.plan(row)))
    folder = attempt_prefix(workload, row.attempt)
    bad = {each.id: int("required" in each.id) for each in plan.checks if each.skip is None}
    answers = [
        Measurement(check, Measured(4, count, engine_passed=not count), Measured(4, count, engine_passed=not count))
        for check, count in bad.items()
    ]
    result = Result(workload, row.attempt, plan.digest, row.source.version, 4, 1, columns=Columns(("id", "amount")))
    document = json.loads(canonical(result)) | {"measurements": json.loads(canonical(answers)), "shares": {}}
    for share in ("accepted", "rejected"):
        key = f"{folder}/rows/{share}/part-00000.csv"
        stored = lakegate.dependencies.objects.put(Address(LAKE, key), share.encode())
        document["shares"][share] = [{"uri": f"s3://{LAKE}/{key}", "size": stored.size, "etag": stored.etag}]
    lakegate.dependencies.objects.put(Address(LAKE, f"{folder}/result.json"), canonical(document))
    run(advance(DeliveryTurn(lakegate.dependencies, row)), lakegate.dependencies.clock)


@pytest.fixture
def by_rows(lakegate: Lakegate) -> Lakegate:
    lakegate.ok("publish", lakegate.contract(**{"logicalType: object\n": BY_ROWS}))
    lakegate.ok("route", "add", "orders/", "shop")
    return lakegate


def test_upload_with_wait_counts_rows_and_checks(by_rows: Lakegate, monkeypatch: pytest.MonkeyPatch) -> None:
    """A delivery that is split is not shown as if all its rows were accepted."""

    def meanwhile(*_: Any) -> None:
        (version,) = by_rows.dependencies.objects.versions(LANDING, "orders/").versions
        by_rows.intake()
        split(by_rows, workload_id(LANDING, version.key, version.version))

    monkeypatch.setattr(SystemClock, "sleep", meanwhile)
    lines = by_rows.ok("upload", by_rows.file(), "--to", "orders/", "--wait").splitlines()

    assert "    checks  2 passed, 1 failed, 1 not measured" in lines
    assert "      rows  3 of 4 rows published, 1 rejected" in lines


def test_status_counts_rows_and_checks(by_rows: Lakegate) -> None:
    """In the table, of one delivery, and for machines."""
    workload = by_rows.upload()
    by_rows.intake()
    split(by_rows, workload)
    one, (listed,) = by_rows.json("status", workload), by_rows.json("status")["deliveries"]

    assert "  2 passed, 1 failed, 1 not measured     4         1  " in by_rows.ok("status").splitlines()[1]
    assert "      rows  3 of 4 rows published, 1 rejected" in by_rows.ok("status", workload).splitlines()
    assert one == listed
    assert {name: one[name] for name in COUNTED} == COUNTED
    assert one["counts"] == CHECKS
    assert {name: by_rows.json("reasons", workload)[name] for name in COUNTED} == COUNTED


def test_log_counts_the_same_rows(by_rows: Lakegate) -> None:
    """The list of a line agrees with the list of deliveries."""
    workload = by_rows.upload()
    by_rows.intake()
    split(by_rows, workload)
    (block,) = by_rows.json("log", "orders")["blocks"]

    assert {name: block[name] for name in COUNTED} == COUNTED
