"""`lakegate stack pause`: nothing starts a job run any more when it ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import Mock

import pytest

from lakegate.aws import open_stack, stack_operations
from lakegate.base.errors import AccessDenied
from tests.unit.cli.conftest import Lakegate


@dataclass
class Running:
    """Lambda and EMR Serverless with runs that end only when they are cancelled; pages have two of them."""

    runs: dict[str, str] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    is_enabled: bool = True
    state: str = "STARTED"

    def list_event_source_mappings(self, FunctionName: str) -> dict[str, Any]:  # noqa: N803 - as boto3 has it
        return {"EventSourceMappings": [{"UUID": FunctionName, "State": "Enabled" if self.is_enabled else "Disabled"}]}

    def update_event_source_mapping(self, UUID: str, Enabled: bool) -> None:  # noqa: N803, ARG002, FBT001 - likewise
        self.is_enabled = Enabled

    def put_function_concurrency(self, **_: object) -> None:
        self.calls.append("no sweep")

    def list_job_runs(self, nextToken: str = "0", **_: object) -> dict[str, Any]:  # noqa: N803 - likewise
        first = int(nextToken)
        found = [{"id": name, "state": state} for name, state in self.runs.items()]
        more = {"nextToken": str(first + 2)} if len(found) > first + 2 else {}
        return {"jobRuns": found[first : first + 2], **more}

    def cancel_job_run(self, jobRunId: str, **_: object) -> None:  # noqa: N803 - likewise
        self.calls.append(f"cancel {jobRunId}")
        del self.runs[jobRunId]

    def get_application(self, **_: object) -> dict[str, Any]:
        return {"application": {"state": self.state}}

    def stop_application(self, **_: object) -> None:
        self.calls.append("stop")
        self.state = "STOPPED"


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Running:
    """The account of the stack, in which nobody waits."""
    found, client = Running(), open_stack.client
    replaced = {"lambda", "emr-serverless"}
    monkeypatch.setattr(open_stack, "client", lambda service: found if service in replaced else client(service))
    monkeypatch.setattr(open_stack.DeployedStack, "output", lambda stack, name: stack.outputs.get(name, name))
    monkeypatch.setattr(stack_operations, "TICK_SECONDS", 0)
    return found


def test_a_sweep_that_is_under_way_is_waited_for(lakegate: Lakegate, running: Running) -> None:
    """It may start a run until it ends: one that is noted, and one whose time is over without a note."""
    agenda, now = lakegate.dependencies.agenda, datetime.now(UTC)
    agenda.note_sweep(now + timedelta(minutes=4))
    waiting = lakegate("stack", "pause", "--timeout", "1")
    agenda.note_end_of_sweep(now + timedelta(minutes=4))
    ended = lakegate("stack", "pause", "--timeout", "1")
    agenda.note_sweep(now - timedelta(seconds=1))
    over = lakegate("stack", "pause", "--timeout", "1")

    assert "a sweep, starts or job runs have not ended (--cancel ends them) within 1 second" in str(waiting.exception)
    assert [each.exit_code for each in (ended, over)] == [0, 0]
    assert running.calls == ["no sweep", "no sweep", "stop", "no sweep"]


def test_who_may_not_read_the_tables_turns_nothing_off(
    lakegate: Lakegate, running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pause could not see its end: the right is asked for first."""
    refuse = Mock(side_effect=AccessDenied("dynamodb:GetItem"))
    monkeypatch.setattr(type(lakegate.dependencies.agenda), "is_sweeping", refuse)
    result = lakegate("stack", "pause")

    assert "dynamodb:GetItem" in str(result.exception)
    assert (running.is_enabled, running.calls) == (True, [])


def test_who_makes_the_starts_of_a_burst_is_waited_for(lakegate: Lakegate, running: Running) -> None:
    """It starts one run after the other until it ends."""
    agenda, now = lakegate.dependencies.agenda, datetime.now(UTC)
    agenda.lead_starts(now, now + timedelta(minutes=3))
    waiting = lakegate("stack", "pause", "--timeout", "1")
    agenda.end_lead(now + timedelta(minutes=3))
    ended = lakegate("stack", "pause", "--timeout", "1")

    assert "a sweep, starts or job runs have not ended (--cancel ends them) within 1 second" in str(waiting.exception)
    assert (ended.exit_code, running.calls) == (0, ["no sweep", "no sweep", "stop"])


def test_the_end_of_a_sweep_leaves_the_note_of_another_one(lakegate: Lakegate) -> None:
    """Two sweeps may overlap: the later one is still under way."""
    agenda, now = lakegate.dependencies.agenda, datetime.now(UTC)
    agenda.note_sweep(now + timedelta(minutes=2))
    agenda.note_sweep(now + timedelta(minutes=4))
    agenda.note_end_of_sweep(now + timedelta(minutes=2))

    assert agenda.is_sweeping(now)


def test_runs_that_wait_are_cancelled_if_that_is_confirmed(lakegate: Lakegate, running: Running) -> None:
    """The command says how many runs there are, on all pages, before anything is paused."""
    running.runs = dict.fromkeys("abcde", "QUEUED")
    asked = lakegate("stack", "pause", "--cancel")
    before = list(running.calls)
    done = lakegate("stack", "pause", "--cancel", "--yes")

    assert "5 job runs" in str(asked.exception)
    assert (before, running.is_enabled, done.exit_code) == ([], False, 0)
    assert running.calls == ["no sweep", *(f"cancel {name}" for name in "abcde"), "stop"]


def test_without_the_option_no_run_is_cancelled(lakegate: Lakegate, running: Running) -> None:
    """The command ends in time and says how runs are ended; what was paused stays paused."""
    running.runs = {"a": "RUNNING"}
    result = lakegate("stack", "pause", "--timeout", "1")

    assert "--cancel" in str(result.exception)
    assert (running.runs, running.is_enabled) == ({"a": "RUNNING"}, False)
