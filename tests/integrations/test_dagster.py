"""Assets and their checks in a real Dagster, against the real handler of the API (`make nightly`)."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from infra.setup.environments import program
from lakegate.base.errors import SetUpError
from lakegate.base.extension_points import ROOT
from tests.unit.features.http_api.api_server import Server

CLIENT = ROOT / "integrations/client"
EXAMPLE = CLIENT / "example_assets/lakegate_example.py"
DRIVER = """
import json, sys
from dagster import DagsterInstance
from lakegate_example import defs

with DagsterInstance.get() as instance:
    job = defs.resolve_implicit_global_asset_job_def()
    found = job.execute_in_process(instance=instance, raise_on_error=False)
    print(json.dumps({
        "success": found.success,
        "checks": {
            each.asset_key.to_user_string(): [
                each.passed, each.description, {name: value.value for name, value in each.metadata.items()}
            ]
            for each in found.get_asset_check_evaluations()
        },
        "materialized": sorted(each.step_key for each in found.get_asset_materialization_events()),
        "failures": [each.event_specific_data.error_display_string for each in found.get_step_failure_events()],
    }))
"""
"""Executes the job of the example in a process of its own, as a run of Dagster with an instance that is kept."""


RETRIES = """
import json, logging
from types import SimpleNamespace
from dagster import AssetKey
from lakegate_example import FILE, LakegateResource, defs

def delivered(run, root=None, partition=None):
    context = SimpleNamespace(
        asset_key=AssetKey("orders"), has_partition_key=partition is not None, partition_key=partition,
        run=SimpleNamespace(run_id=run, root_run_id=root), log=logging.getLogger(),
    )
    return LakegateResource(url=URL, token="the-token").deliver(context, "orders", FILE).metadata["lakegate_workload"]

runs = [("a",), ("a",), ("b", "a"), ("b",), ("a", None, "monday")]
print(json.dumps([delivered(*each) for each in runs]))
"""
"""Delivers one file in runs: the same again, one that retries it, another one, and one of a partition."""


class Dagster:
    """A Dagster with an instance of its own, and the example as a person has set it."""

    def __init__(self, home: Path, server: Server) -> None:
        self.python = program("dagster/python")
        self.home, self.file, self.url = home, home / "orders.csv", server.url
        home.mkdir()
        (home / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
        text = EXAMPLE.read_text()
        for old, new in {
            "orders/orders_v1": "orders/lines_v1",
            "/data/orders.csv": str(self.file),
            "https://api.example": server.url,
        }.items():
            assert old in text
            text = text.replace(old, new)
        (home / "lakegate_example.py").write_text(text)

    def run(self, body: bytes, program: str = DRIVER) -> Any:
        """What a run did whose file has this content."""
        self.file.write_bytes(body)
        environment = {
            "PATH": os.defpath,
            "HOME": str(self.home),
            "DAGSTER_HOME": str(self.home),
            "PYTHONPATH": f"{CLIENT}{os.pathsep}{self.home}",
            "NO_PROXY": "127.0.0.1,localhost",
            "LAKEGATE_TOKEN": "the-token",
        }
        command = [self.python, "-c", f"URL = {self.url!r}\n{program}"]
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603 - from the lock file
        assert ended.returncode == 0, ended.stderr[-5_000:]
        assert "the-token" not in ended.stdout + ended.stderr
        return json.loads(ended.stdout.splitlines()[-1])


@pytest.fixture
def dagster(server: Server, tmp_path: Path) -> Dagster:
    clock = server.api.env.memory.clock
    clock.sleep((datetime.now(UTC) - clock.now()).total_seconds())  # upload URLs are of today
    try:
        return Dagster(tmp_path / "dagster", server)
    except SetUpError as error:
        pytest.skip(str(error))


@pytest.mark.full
def test_the_example_delivers_and_what_is_downstream_waits_for_the_verdict(dagster: Dagster, server: Server) -> None:
    """Accepted: all is materialized. Rejected: the check has the reasons, and what reads the data is not materialized."""
    accepted, rejected = dagster.run(b"good:1"), dagster.run(b"bad:1")

    assert accepted["failures"] == []
    assert accepted["materialized"] == ["orders", "orders_report"]
    passed, text, about = accepted["checks"]["orders"]
    assert (passed, about["lakegate_contract_version"]) == (True, "1.0.0")
    assert text.startswith("workload ")
    assert text.endswith(": Accepted")
    assert (rejected["success"], rejected["materialized"]) == (False, ["orders"])
    assert rejected["checks"]["orders"][0] is False
    assert ": Rejected\n  " in rejected["checks"]["orders"][1]
    assert {each["authorization"] for each in server.seen} == {"Bearer the-token"}


@pytest.mark.full
def test_data_of_others_is_checked_by_its_latest_verdict(dagster: Dagster) -> None:
    """Without a delivery of its own, an asset has the newest verdict of the dataset; none is no pass.

    Within a run, its check may come before or after the delivery of the other asset.
    """
    partner = [dagster.run(body)["checks"]["partner_orders"] for body in (b"bad:1", b"good:1", b"good:2")]

    assert (partner[0][0], partner[2][0]) == (False, True)
    assert partner[2][1].endswith(": Accepted")


@pytest.mark.full
def test_a_refusal_of_the_api_fails_the_step(dagster: Dagster, server: Server) -> None:
    """With the words of the problem; nothing is materialized."""
    server.answer = (404, b'{"detail": "no such contract"}', {"content-type": "application/problem+json"})
    found = dagster.run(b"good:1")

    assert (found["success"], found["materialized"]) == (False, [])
    assert any("the API refused it with status 404: no such contract" in each for each in found["failures"])


@pytest.mark.full
def test_a_retry_of_a_run_is_the_same_delivery(dagster: Dagster) -> None:
    """Another run, and another partition, is another delivery."""
    first, again, retried, other, of_partition = dagster.run(b"good:1", RETRIES)

    assert first == again == retried
    assert len({first, other, of_partition}) == 3
