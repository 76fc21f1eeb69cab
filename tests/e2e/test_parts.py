"""Deliveries of several files on the deployed stack: written by a real Spark job, and listed by a manifest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from infra.local.local_stack import ENDS, RELEASE, ROLE
from lakegate.aws.clients import client
from lakegate.base.extension_points import ROOT
from lakegate.gate.delivery.delivery_row import Workload
from lakegate.gate.delivery.protocol import State
from lakegate.gate.ledger.blocks import Block, deliveries
from lakegate.library.api import check
from tests.e2e.deployed import Deployed, until
from tests.e2e.running import CONTRACTS

pytestmark = pytest.mark.e2e
WRITING = 300
"""Seconds that the producer's Spark job may take on a busy machine."""
JUDGED = 480.0
"""The same for two deliveries on the way through the gate: where a function fails on a busy machine a sweep goes on, after five
minutes."""


def written_by_spark(*targets: str) -> None:
    """Run the producer's job on the local EMR Serverless, in an application of its own."""
    jobs = client("emr-serverless")
    application = jobs.create_application(name="producer", releaseLabel=RELEASE, type="SPARK")["applicationId"]
    submit = {"entryPoint": str(ROOT / "tests/e2e/spark_writer.py"), "entryPointArguments": list(targets)}
    run = jobs.start_job_run(applicationId=application, executionRoleArn=ROLE, jobDriver={"sparkSubmit": submit})
    place = {"applicationId": application, "jobRunId": run["jobRunId"]}

    def ended() -> dict[str, Any] | None:
        found: dict[str, Any] = jobs.get_job_run(**place)["jobRun"]
        return found if found["state"] in ENDS else None

    found = until("the producer's job ends", ended, WRITING)
    assert found["state"] == "SUCCESS", found["stateDetails"]


def finished(stack: Deployed, line: str, many: int) -> list[tuple[Block, Workload]]:
    """The blocks of a line in the order of their deliveries' keys, with their rows, when there are so many."""

    def blocks() -> tuple[Block, ...]:
        found = deliveries(stack.dependencies.ledger.blocks(line))
        return found if len(found) >= many else ()

    rows = [(block, stack.finished(block.workload)) for block in until(f"{many} deliveries of {line}", blocks, JUDGED)]
    return sorted(rows, key=lambda each: each[1].source.key)


def test_what_a_spark_job_writes_is_one_delivery(stack: Deployed, tmp_path: Path) -> None:
    """Three part files and `_SUCCESS` by `df.write.parquet`: one verdict, one block, and ids are unique across the parts.

    `lakegate check` of the same folder on this machine has the same verdict and counts.
    """
    landing = stack.dependencies.places.landing
    local = {1000: tmp_path / "good", -1: tmp_path / "repeated"}
    targets = [f"s3a://{landing}/parts/run={number}/={first}" for number, first in enumerate(local)]
    written_by_spark(*targets, *(f"{path.as_uri()}={first}" for first, path in local.items()))
    (good, accepted), (bad, rejected) = finished(stack, "e2e-parts/sales_v1", 2)
    checked = [check(CONTRACTS["parts/"], path) for path in local.values()]

    assert (accepted.state, good.rows, len(good.objects)) == (State.PUBLISHED, 30, 3)
    assert (rejected.state, bad.rows, len(bad.objects)) == (State.QUARANTINED, 30, 3)
    assert [each.decision.verdict for each in (accepted, rejected) if each.decision] == [
        each.verdict.value for each in checked
    ]
    assert [each.rows for each in checked] == [good.rows, bad.rows]
    assert sorted(stack.destinations(accepted)) == [each.key for each in good.objects]
    left = client("s3").list_object_versions(Bucket=landing, Prefix="parts/").get("Versions", ())
    assert [each["Key"] for each in left if "_temporary" not in each["Key"] and not each["Key"].endswith("/")] == []


def test_a_manifest_makes_a_delivery_of_what_it_lists(stack: Deployed) -> None:
    """Two CSV files with their sizes are accepted together; a wrong size rejects both, by the entry's number."""
    for run, added in (("a", 0), ("b", 1)):
        bodies = [f"id,name\n{number},{run}{number}\n".encode() for number in (1, 2)]
        for number, body in enumerate(bodies):
            stack.upload(body, f"listed/{run}/{number}.csv")
        parts = [{"key": f"{number}.csv", "size": len(body)} for number, body in enumerate(bodies)]
        parts[1]["size"] += added
        stack.upload(
            json.dumps({"format": "lakegate-delivery/1", "parts": parts}).encode(), f"listed/{run}/_delivery.json"
        )
    (good, accepted), (bad, rejected) = finished(stack, "e2e-listed/sales_v1", 2)

    assert (accepted.state, good.rows, len(good.objects)) == (State.PUBLISHED, 2, 2)
    assert (rejected.state, bad.rows) == (State.QUARANTINED, None)
    assert [each.key.rpartition("/")[2] for each in bad.objects] == ["_delivery.json", "part-00000.csv"]
    assert rejected.decision is not None
    assert rejected.decision.reasons[0].startswith(
        "file/parts: entry 2 of 2 in `_delivery.json` states 14 bytes, the object has 13"
    )
