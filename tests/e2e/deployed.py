"""The stack that the tests of this folder use, and what a producer, an operator or a fault may do to it."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

from local_emr.guard import HEADER

from infra.local.local_stack import Stack
from lakegate.aws.clients import client
from lakegate.aws.open_stack import DeployedStack, LocalState
from lakegate.base.errors import NotFound
from lakegate.gate.delivery.delivery_row import Workload, workload_id
from lakegate.gate.delivery.protocol import END_STATES, State
from lakegate.gate.delivery_store import Agenda
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import run
from lakegate.gate.ledger.blocks import deliveries
from lakegate.gate.ports import Clock
from lakegate.gate.sweep import sweep

LIMIT = 720.0
"""Seconds after which what should have happened counts as lost.

Longer than a lease and the period of the sweep, five minutes each: a function that failed is retried by the sweep.
"""
SMALL = 800
"""Bytes below which the judge function reads a delivery, without a job run."""
FAULTS = ("Error", "Exception", "timed out", "died")
"""Words in the log of a function that failed."""
TICK = threading.Event()


def until(
    what: str, condition: Callable[[], Any], limit: float = LIMIT, found_at_the_end: Callable[[], str] = str
) -> Any:
    """What the condition answers as soon as it is true; the test fails where it is not within the limit.

    Looks cost processor time: their pauses grow with what was waited already. The message ends with what the last function
    answers when time is over.
    """
    began = time.monotonic()
    while (waited := time.monotonic() - began) < limit:
        if found := condition():
            return found
        TICK.wait(min(0.05 + waited / 20, 1.0))
    raise AssertionError(f"not within {limit:.0f} seconds: {what}\n{found_at_the_end()}")


@dataclass(frozen=True, slots=True)
class Later:
    """The clock of somebody who looks later."""

    clock: Clock
    by: timedelta

    def now(self) -> datetime:
        return self.clock.now() + self.by

    def sleep(self, seconds: float) -> None:
        self.clock.sleep(seconds)


@dataclass(frozen=True, slots=True)
class Landed:
    """One version in the landing bucket."""

    key: str
    version: str
    workload: str
    body: bytes


@dataclass(slots=True)
class Deployed:
    """The stack."""

    state: LocalState
    stack: DeployedStack
    dependencies: Dependencies
    resources: dict[str, str]
    """Physical names by logical ones."""
    landed: list[Landed] = field(default_factory=list)

    # ---- what a producer does ------------------------------------------------------------------------------------------

    def fresh(self, rows: int = 3) -> bytes:
        """A delivery that keeps every promise of the shop's contract, with content that nobody has delivered before."""
        lines = "".join(f"{number},{uuid4().hex}\n" for number in range(1, rows + 1))
        return f"id,name\n{lines}".encode()

    def larger(self) -> bytes:
        """Likewise, too large for the judge function: a job run judges it."""
        return self.fresh(rows=25)

    def upload(self, body: bytes, key: str | None = None) -> Landed:
        """Let a version land; without a key, under a new one that the shop's contract covers."""
        name = key if key is not None else f"shop/{uuid4().hex}.csv"
        answer = client("s3").put_object(Bucket=self.dependencies.places.landing, Key=name, Body=body)
        landed = Landed(
            name, answer["VersionId"], workload_id(self.dependencies.places.landing, name, answer["VersionId"]), body
        )
        self.landed.append(landed)
        return landed

    def upload_unseen(self, body: bytes, key: str | None = None) -> Landed:
        """Let a version land whose event is lost."""
        rule = self.resources["LandedRule"]
        client("events").disable_rule(Name=rule)
        try:
            return self.upload(body, key)
        finally:
            client("events").enable_rule(Name=rule)

    # ---- what can be seen ----------------------------------------------------------------------------------------------

    def row(self, landed: Landed | str) -> Workload | None:
        """The workload's row; None before it is claimed."""
        try:
            return self.dependencies.workloads.get(landed if isinstance(landed, str) else landed.workload)
        except NotFound:
            return None

    def reached(self, landed: Landed | str, *states: State, limit: float = LIMIT) -> Workload:
        """The row as soon as it is in one of the states."""

        def in_one_of_them() -> Workload | None:
            row = self.row(landed)
            return row if row is not None and row.state in states else None

        row: Workload = until(" or ".join(states), in_one_of_them, limit, lambda: self.report(landed))
        return row

    def finished(self, landed: Landed | str, limit: float = LIMIT) -> Workload:
        """The row when all is done: finished, and nothing is left to tidy."""

        def done() -> Workload | None:
            row = self.row(landed)
            return row if row is not None and row.state in END_STATES and row.due_at is None else None

        row: Workload = until("finished", done, limit, lambda: self.report(landed))
        return row

    def report(self, landed: Landed | str) -> str:
        """Why a test waited in vain: the row, and the lines in the logs of functions that name the workload or a fault."""
        workload = landed if isinstance(landed, str) else landed.workload
        logs = client("logs")
        lines = [f"row: {self.row(landed)}"]
        for group in logs.describe_log_groups(logGroupNamePrefix="/lakegate/")["logGroups"]:
            name = group["logGroupName"]
            found = (each["message"] for each in logs.filter_log_events(logGroupName=name)["events"])
            lines += [f"{name}: {text[:2000]}" for text in found if any(each in text for each in (workload, *FAULTS))]
        return "\n".join(lines)

    def objects(self, prefix: str) -> list[str]:
        """Keys in the lake below a prefix."""
        pages = (
            client("s3").get_paginator("list_objects_v2").paginate(Bucket=self.dependencies.places.lake, Prefix=prefix)
        )
        return [each["Key"] for page in pages for each in page.get("Contents", ())]

    def body(self, key: str) -> bytes:
        """An object of the lake."""
        content: bytes = client("s3").get_object(Bucket=self.dependencies.places.lake, Key=key)["Body"].read()
        return content

    def destinations(self, row: Workload) -> list[str]:
        """Keys of the lake that carry the workload and are no scratch."""
        shares = ("accepted/", "quarantine/")
        return [key for share in shares for key in self.objects(share) if f"workload={row.id}/" in key]

    def blocks(self, row: Workload) -> int:
        """How many blocks of its chain are the workload's."""
        assert row.pin is not None
        return sum(each.workload == row.id for each in deliveries(self.dependencies.ledger.blocks(row.pin.dataset, -1)))

    def in_landing(self, landed: Landed) -> bool:
        """Whether the version still lies where it landed."""
        page = self.dependencies.objects.versions(self.dependencies.places.landing, landed.key)
        return landed.version in {each.version for each in page.versions if each.key == landed.key}

    def runs(self, landed: Landed) -> list[dict[str, Any]]:
        """The job runs of a workload, the oldest first."""
        pages = (
            client("emr-serverless")
            .get_paginator("list_job_runs")
            .paginate(applicationId=self.stack.output("ApplicationId"))
        )
        found = [each for page in pages for each in page["jobRuns"] if each.get("name") == landed.workload]
        return sorted(found, key=lambda each: each["createdAt"])

    # ---- what goes wrong -----------------------------------------------------------------------------------------------

    def order(self, landed_name: str = "", times: int = 1, **fault: str) -> None:
        """Ask the local EMR Serverless for a fault of the next runs, of one workload or of any."""
        match = {"name": landed_name} if landed_name else {}
        document = {"fault": {name.replace("_", "-"): word for name, word in fault.items()}, "times": times}
        self._faults("POST", json.dumps(document | {"match": match}).encode())

    def refuse(self, operation: str, error: str, times: int = 1) -> None:
        """Ask the local EMR Serverless to refuse the next calls of an operation."""
        self._faults("POST", json.dumps({"operation": operation, "error": error, "times": times}).encode())

    def forget_orders(self) -> None:
        """No faults any more."""
        self._faults("DELETE")

    def _faults(self, method: str, body: bytes | None = None) -> None:
        request = urllib.request.Request(  # noqa: S310 - our own service on loopback
            f"{self.state.emr_endpoint}/_faults",
            body,
            {"Content-Type": "application/json", HEADER: self.state.secret_key},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310 - likewise
            assert answer.status < 300

    def kill_function(self, name: str) -> int:
        """SIGKILL every process that runs a function of this stack; how many there were. Stacks name their functions alike."""
        started = str(Stack().folder / "tmp" / f"ministack-lambda-{self.resources[name]}-").encode()
        found = [
            int(folder.name)
            for folder in Path("/proc").iterdir()
            if folder.name.isdigit() and started in _command(folder)
        ]
        for process in found:
            os.kill(process, signal.SIGKILL)
        return len(found)

    # ---- what an operator, or a schedule, does ---------------------------------------------------------------------------

    def sweep(self) -> dict[str, Any]:
        """Invoke the deployed sweep, now."""
        answer = client("lambda").invoke(FunctionName=self.stack.output("SweepFunction"), Payload=b"{}")
        payload: dict[str, Any] = json.loads(answer["Payload"].read())
        assert "FunctionError" not in answer, payload
        return payload

    def sweep_later(self, minutes: float) -> None:
        """The sweep of a later time: the same use case on the same stack, whose clock is ahead."""
        dependencies = self.later(minutes)
        run(sweep(dependencies), dependencies.clock)

    def later(self, minutes: float) -> Dependencies:
        """The gate of a later time."""
        clock = Later(self.dependencies.clock, timedelta(minutes=minutes))
        values = {each.name: getattr(self.dependencies, each.name) for each in fields(Dependencies)}
        return LaterDependencies(**values | {"clock": clock})


class Starting(Agenda):
    """The agenda of a gate whose clock is ahead: starts are reserved by the time of all others, who would wait until then."""

    def reserve_start(self, _now: datetime, interval: timedelta, burst: int) -> datetime:
        """See `Agenda`."""
        return super().reserve_start(datetime.now(UTC), interval, burst)


class LaterDependencies(Dependencies):
    """Those of a gate whose clock is ahead."""

    @property
    def agenda(self) -> Agenda:
        """Reserves starts by the time of all others."""
        return Starting(self.table)


def _command(folder: Path) -> bytes:
    try:
        return (folder / "cmdline").read_bytes()
    except OSError:
        return b""
