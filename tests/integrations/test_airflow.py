"""The provider in a real Airflow with its scheduler and its triggerer, against the real handler of the API (`make nightly`)."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

import pytest

from infra.setup.environments import program
from lakegate.base.errors import SetUpError
from lakegate.base.extension_points import ROOT
from tests.sam.emulator import free_port
from tests.unit.features.http_api.api_server import Server

PROVIDER = ROOT / "integrations/client"
EXAMPLE = PROVIDER / "example_dags/lakegate_example.py"
PATIENCE_SECONDS = 1_200
T = TypeVar("T")
SET = {
    '"orders/orders_v1"': '"orders/lines_v1"',
    "poke_interval=60": "poke_interval=1",
    '"retries": 3': '"retries": 0, "poll_interval": 1',
    "/data/orders-{{ ds }}.csv": "{{ dag_run.conf['file'] }}",
}
"""What a person who copies the example sets, and shorter pauses."""


class Airflow:
    """An Airflow with a database of its own."""

    def __init__(self, home: Path, server: Server) -> None:
        self.program = program("airflow/airflow")
        self.home = home
        connection = {"conn_type": "lakegate", "host": server.url, "password": "the-token"}
        port = str(free_port())
        self.environment = {
            "PATH": f"{self.program.parent}:{os.defpath}",
            "HOME": str(home),
            "PYTHONPATH": str(PROVIDER),
            "NO_PROXY": "127.0.0.1,localhost",
            "AIRFLOW_HOME": str(home),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
            "AIRFLOW__API__PORT": port,
            "AIRFLOW__API__BASE_URL": f"http://127.0.0.1:{port}",
            "AIRFLOW__API__WORKERS": "1",
            "AIRFLOW__SCHEDULER__TRIGGERER_HEALTH_CHECK_THRESHOLD": "300",
            "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(free_port()),
            "AIRFLOW__TRIGGERER__TRIGGER_LOG_SERVER_PORT": str(free_port()),
            "AIRFLOW_CONN_LAKEGATE_DEFAULT": json.dumps(connection),
        }
        (home / "dags").mkdir()
        text = EXAMPLE.read_text()
        for old, new in SET.items():
            assert old in text
            text = text.replace(old, new)
        (home / "dags/lakegate_example.py").write_text(text)
        with (home / "standalone.log").open("wb") as log:
            self.process = subprocess.Popen(  # noqa: S603 - from the lock file
                [self.program, "standalone"], env=self.environment, stdout=log, stderr=log, start_new_session=True
            )

    def rows(self, query: str, *values: str) -> list[tuple[str, str | None]]:
        """Rows of its database; a command would load all of Airflow each time. Empty while there is no table."""
        try:
            with closing(sqlite3.connect(f"file:{self.home}/airflow.db?mode=ro", uri=True)) as database:
                return database.execute(query, values).fetchall()
        except sqlite3.OperationalError:
            return []

    def trigger(self, dag: str, run: str, **conf: str) -> None:
        """Start a run, once Airflow has read the example."""
        self.until(lambda: self.rows("SELECT dag_id, 1 FROM serialized_dag WHERE dag_id = ?", dag), dag)
        words = ["dags", "trigger", dag, "--run-id", run, "--conf", json.dumps(conf)]
        subprocess.run([self.program, *words], env=self.environment, capture_output=True, check=True)  # noqa: S603 - likewise

    def states(self, dag: str, run: str) -> dict[str, str | None]:
        """The state of each task of a run."""
        return dict(self.rows("SELECT task_id, state FROM task_instance WHERE dag_id = ? AND run_id = ?", dag, run))

    def finished(self, dag: str, run: str) -> dict[str, str | None]:
        """The same, when all of them are finished."""

        def ended() -> dict[str, str | None]:
            found = self.states(dag, run)
            return found if set(found.values()) <= {"success", "failed", "upstream_failed"} else {}

        return self.until(ended, run)

    def until(self, asked: Callable[[], T], what: str) -> T:
        """The first answer that is not empty."""
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            if self.process.poll() is None and (found := asked()):
                return found
            time.sleep(2)
        raise AssertionError(f"{what}: {(self.home / 'standalone.log').read_text()[-5_000:]}")

    def log(self, dag: str, run: str, task: str) -> str:
        """The log of the last try of a task."""
        files = sorted((self.home / f"logs/dag_id={dag}/run_id={run}/task_id={task}").glob("attempt=*.log"))
        return "".join(each.read_text() for each in files)


@pytest.fixture
def airflow(server: Server, tmp_path: Path) -> Iterator[Airflow]:
    try:
        program("airflow/airflow")
    except SetUpError as error:
        pytest.skip(str(error))
    clock = server.api.env.memory.clock
    clock.sleep(
        (datetime.now(UTC) - clock.now() + timedelta(hours=1)).total_seconds()
    )  # deliveries land after runs begin
    home = tmp_path / "airflow"
    home.mkdir()
    made = Airflow(home, server)
    try:
        yield made
    finally:
        os.killpg(made.process.pid, signal.SIGTERM)
        try:
            made.process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(made.process.pid, signal.SIGKILL)
            made.process.wait()
        shutil.rmtree(home)


@pytest.mark.full
def test_the_example_delivers_and_waits_for_accepted_data(airflow: Airflow, server: Server, tmp_path: Path) -> None:
    """The consumer's run waits in the triggerer until the producer's file is accepted; a rejected one is a failed task."""
    good, bad = tmp_path / "day.csv", tmp_path / "other.csv"
    good.write_bytes(b"good:1")
    bad.write_bytes(b"bad:1")
    airflow.trigger("orders_report", "waits")
    airflow.trigger("deliver_orders", "rejected", file=str(bad))
    rejected = airflow.finished("deliver_orders", "rejected")
    airflow.until(lambda: airflow.states("orders_report", "waits")["accepted"] == "deferred", "waits")
    airflow.trigger("deliver_orders", "accepted", file=str(good))
    accepted = airflow.finished("deliver_orders", "accepted")
    report = airflow.finished("orders_report", "waits")

    assert (rejected, accepted) == ({"deliver": "failed"}, {"deliver": "success"})
    assert report == {"accepted": "success", "report": "success"}
    assert ": Rejected" in airflow.log("deliver_orders", "rejected", "deliver")
    assert "the-token" not in "".join(each.read_text(errors="replace") for each in airflow.home.rglob("*.log"))
    assert {each["authorization"] for each in server.seen} == {"Bearer the-token"}
