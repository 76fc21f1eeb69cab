"""Rules with a schedule, from the contract to what the commands show: measured by the engine itself over accepted objects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lakegate.features.revalidation.revalidation import DueSchedule
from lakegate.gate.effects import run
from lakegate.gate.lake_layout import manifest_key
from lakegate.gate.ports import Address
from lakegate.gate.sweep import sweep
from lakegate.job import job_storage
from lakegate.job.job_storage import read_request, versions_of, write
from lakegate.job.judge_function import measure
from tests.published_schemas import validate
from tests.unit.cli.conftest import Lakegate
from tests.unit.cli.deployed_stack import LAKE

LINE = "shop/orders_v1"
QUALITY = """\
    quality:
      - {id: once, metric: duplicateValues, arguments: {properties: [id]}, mustBe: 0, scheduler: cron, schedule: "0 6 * * *"}
"""
AMOUNT = "      - {name: amount, logicalType: integer, classification: public}\n"


@pytest.fixture
def scheduled(lakegate: Lakegate) -> Iterator[Lakegate]:
    """A contract with a rule by schedule, two deliveries that share an id, and the engine's own client of S3."""
    job_storage._buckets.cache_clear()  # noqa: SLF001 - a client of this test's own environment
    lakegate.routed(**{AMOUNT: AMOUNT + QUALITY})
    lakegate.delivered(body=b"id,amount\na,1\nb,2\n", name="1.csv")
    lakegate.delivered(body=b"id,amount\nb,3\nc,4\n", name="2.csv")
    swept(lakegate)
    yield lakegate
    job_storage._buckets.cache_clear()  # noqa: SLF001 - likewise


def swept(lakegate: Lakegate) -> None:
    """One sweep, for which everything that waits for a time is due."""
    row = lakegate.dependencies.rows("revalidations").get(LINE)
    due = replace(row, schedules=tuple(DueSchedule(each.text, "2026-01-01T00:00:00.000000Z") for each in row.schedules))
    if row.revision:
        lakegate.dependencies.rows("revalidations").write(
            replace(due, look="2026-01-01T00:00:00.000000Z" if row.run else "")
        )
    found = run(sweep(lakegate.dependencies), lakegate.dependencies.clock)
    assert found.failures == []


def measured(lakegate: Lakegate) -> None:
    """A run from its beginning to its end, by the native engine."""
    swept(lakegate)
    row = lakegate.dependencies.rows("revalidations").get(LINE)
    assert row.run is not None
    request, plan = read_request(f"s3://{LAKE}/runs/{row.run.id}/attempt=1/request.json")
    write(request, measure(request, plan, store=versions_of(request)))
    swept(lakegate)


def manifest(lakegate: Lakegate) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(lakegate.dependencies.objects.read(Address(LAKE, manifest_key(LINE))))
    return found


def test_a_key_that_two_deliveries_share_is_found(scheduled: Lakegate) -> None:
    """Each delivery is accepted, both together break the rule: recorded, marked, and shown by every command."""
    before = manifest(scheduled)
    measured(scheduled)
    after = manifest(scheduled)
    (end,) = scheduled.json("history", "orders")["revalidation"]["ends"]
    (row,) = scheduled.json("status", "--contract", "shop")["revalidations"]

    validate("manifest", after)
    assert ([each["rule"] for each in after["stale"]["rules"]], "stale" in before) == (["once"], False)
    assert after["deliveries"] == before["deliveries"]
    assert (end["outcome"], end["stale"], end["height"], row["ends"]) == ("BROKEN", ["once"], 1, [end])
    assert "BROKEN, does not hold: `once`; next at" in scheduled.ok("history", "orders")
    assert f"rules with a schedule of {LINE}: " in scheduled.ok("status", "--contract", "shop")
    assert "height 1, rules 1, stale `once`; by arn:" in scheduled.ok("log", "orders")
    assert scheduled("verify", "orders").exit_code == 0
    assert scheduled.json("get", LINE, str(scheduled.folder / "data"))["stale"] == after["stale"]
    fetched = scheduled.ok("get", LINE, str(scheduled.folder / "data"))
    assert f"stale    once does not hold for all accepted data since {after['stale']['since'][:19]} UTC" in fetched


def test_a_folder_gets_the_mark_where_no_delivery_is_new(scheduled: Lakegate, tmp_path: Path) -> None:
    """`--since` the last height fetches nothing; the manifest of a folder with deliveries states the mark all the same."""
    folder, empty = tmp_path / "data", tmp_path / "empty"
    scheduled.ok("get", LINE, str(folder))
    before = json.loads((folder / "_manifest.json").read_text())
    measured(scheduled)
    for each in (folder, empty):
        scheduled.ok("get", LINE, str(each), "--since", "1")
    after = json.loads((folder / "_manifest.json").read_text())

    assert ("stale" in before, after["stale"]) == (False, manifest(scheduled)["stale"])
    assert (after["deliveries"], (empty / "_manifest.json").exists()) == (before["deliveries"], False)


def test_what_holds_again_is_shown(scheduled: Lakegate) -> None:
    """After the erasure of one of the two deliveries."""
    measured(scheduled)
    workload = manifest(scheduled)["deliveries"][1]["workload"]
    scheduled.ok("erase", "orders", "--delivery", workload, "--reason", "sent twice", "--yes")
    measured(scheduled)

    assert "stale" not in manifest(scheduled)
    assert "HELD; next at" in scheduled.ok("history", "orders")
    assert "rules 1, stale none" in scheduled.ok("log", "orders")


def test_a_delivery_names_the_rule_as_a_skip(scheduled: Lakegate) -> None:
    """In the plan, and in the check of local files."""
    contract = scheduled.contract(**{AMOUNT: AMOUNT + QUALITY})
    checked = scheduled.json("check", "--contract", contract, scheduled.file(b"id,amount\na,1\na,2\n"))
    (once,) = (each for each in checked["checks"] if each["rule"] == "once")

    assert (checked["verdict"], once["status"]) == ("accepted", "skip")
    assert once["message"] == "measured by schedule: cron(0 6 * * ? *)"


def test_states_of_a_line_are_shown(scheduled: Lakegate) -> None:
    """Before the first run, during one, and after one that failed."""
    waiting = scheduled.ok("history", "orders")
    swept(scheduled)
    busy = scheduled.ok("history", "orders")
    measuring = scheduled.json("history", "orders")["revalidation"]["measuring"]
    row = scheduled.dependencies.rows("revalidations").get(LINE)
    assert row.run is not None
    scheduled.dependencies.rows("revalidations").write(
        replace(row, run=replace(row.run, attempt=3, deadline="2026-01-01T00:00:00.000000Z"))
    )
    swept(scheduled)
    failed = scheduled.ok("history", "orders")

    assert "Rules with a schedule: next at" in waiting
    assert "Rules with a schedule: is being measured since" in busy
    assert (measuring["height"], measuring["attempt"]) == (1, 1)
    assert "FAILED (lost); next at" in failed


def test_a_line_without_such_rules_is_shown_as_before(lakegate: Lakegate) -> None:
    """No further line, no further key."""
    lakegate.routed()
    lakegate.delivered()

    assert "revalidation" not in lakegate.json("history", "orders")
    assert "Rules with a schedule" not in lakegate.ok("history", "orders")
