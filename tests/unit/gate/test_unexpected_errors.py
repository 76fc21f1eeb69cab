"""An error that nobody foresaw, or an item that cannot be read, at one workload, line, message or notice: it stops no other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from lakegate.base.errors import LakegateError, UnreadableItem
from lakegate.gate.datasets import freshness_deadlines
from lakegate.gate.datasets.pauses import pause, resume
from lakegate.gate.delivery import advance
from lakegate.gate.delivery.find_deliveries import at_rest, readable_row
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery_store import Workloads
from lakegate.gate.effects import Defect, run
from lakegate.gate.send_messages import notify
from lakegate.gate.sweep import sweep
from tests.simulation.environment import LANDING, PREFIX, Environment
from tests.unit.gate.datasets.test_freshness_deadlines import late, promising
from tests.unit.gate.delivery.test_small_file_batches import LIMITS, arrived, finished, rows
from tests.unit.gate.notified_gate import Gate
from tests.unit.gate.scenarios import drive, quarantined

SECRET = "what a producer wrote"


def refusing(usual: Callable[..., Any], bad: str, error: Exception) -> Callable[..., Any]:
    """A function that raises for one of its first arguments, or for what has it as its id."""

    def refused(*given: Any, **named: Any) -> Any:
        items = [item for each in given for item in (each if isinstance(each, tuple) else (each,))]
        named_by = (getattr(getattr(each, "row", each), "id", each) for each in items)
        if bad in {each for each in named_by if isinstance(each, str)}:
            raise error
        return usual(*given, **named)

    return refused


def of(failures: list[LakegateError]) -> list[str]:
    return [str(each) for each in failures]


@pytest.mark.parametrize("act", ["get", "lease"])
def test_a_sweep_goes_on(monkeypatch: pytest.MonkeyPatch, act: str) -> None:
    """Also where an effect of the workload raises; the failure is named by the workload, without the text of the error."""
    env = Environment()
    workloads = [env.upload(f"{PREFIX}{number}.csv", b"good:%d" % number).workload for number in range(2)]
    for number in range(2):
        steps = intake(env.dependencies, LANDING, f"{PREFIX}{number}.csv")
        next(steps).do()
        steps.close()
    usual = getattr(Workloads, act)
    monkeypatch.setattr(Workloads, act, refusing(usual, workloads[0], ValueError(SECRET)))
    env.memory.clock.sleep(600)
    swept = run(sweep(env.dependencies), env.dependencies.clock)

    assert f"ValueError @ {workloads[0]}" in of(swept.failures)
    assert all(isinstance(each, Defect) and SECRET not in str(each) for each in swept.failures)
    assert env.memory.workloads[workloads[1]].state is State.VALIDATING


def test_what_is_held_and_cannot_be_read_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other deliveries of a resumed line are judged; so are those of a line beside one whose pause cannot be read."""
    env = Environment()
    drive(env.dependencies, pause(env.dependencies, "orders/lines_v1", "r"))
    workloads = [env.upload(f"{PREFIX}{number}.csv", b"good:%d" % number).workload for number in range(2)]
    for number in range(2):
        drive(env.dependencies, intake(env.dependencies, LANDING, f"{PREFIX}{number}.csv"))
    drive(env.dependencies, resume(env.dependencies, "orders/lines_v1"))
    unreadable = UnreadableItem(f"workload#{workloads[0]}", "it is not JSON")
    monkeypatch.setattr(Workloads, "get", refusing(Workloads.get, workloads[0], unreadable))
    env.memory.clock.sleep(600)
    swept = run(sweep(env.dependencies), env.dependencies.clock)

    assert unreadable in swept.failures
    assert env.memory.workloads[workloads[1]].state is State.VALIDATING
    assert list(env.memory.pauses) == ["orders/lines_v1"]


def test_a_batch_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """One member with an error that nobody foresaw: the others have their verdicts."""
    env = Environment(batch=LIMITS)
    workloads = arrived(env, b"good:1", b"good:2", b"good:3")
    monkeypatch.setattr(advance, "advance", refusing(advance.advance, workloads[0], ZeroDivisionError()))
    monkeypatch.setattr(advance, "complete", refusing(advance.complete, workloads[0], ZeroDivisionError()))
    with pytest.raises(Defect, match=f"ZeroDivisionError @ {workloads[0]}"):
        finished(env)

    assert [each.state for each in rows(env, workloads)] == [State.SUBMITTING, State.PUBLISHED, State.PUBLISHED]


def test_notify_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A message that cannot be sent waits; one whose row cannot be read is sent, once; the others are sent."""
    gate = Gate()
    broken, unreadable, good = (gate.ends("published", "accepted", ()).id for _ in range(3))
    ids = {each.workload: each.id for each in gate.env.memory.messages.values()}
    sender = gate.env.memory.notifier
    monkeypatch.setattr(sender, "send", refusing(sender.send, ids[broken], ZeroDivisionError()))
    refused = UnreadableItem(f"workload#{unreadable}", "it is not JSON")
    monkeypatch.setattr(Workloads, "get", refusing(Workloads.get, unreadable, refused))
    gate.env.memory.clock.sleep(60)
    notified = run(notify(gate.env.dependencies), gate.env.dependencies.clock)

    assert of(notified.failures) == [f"ZeroDivisionError @ {ids[broken]}", str(refused)]
    assert [each.workload for each in notified.sent] == [unreadable, good]
    assert [each.workload for each in gate.env.memory.messages.values()] == [broken]


@pytest.mark.parametrize("error", [ZeroDivisionError(), UnreadableItem("promise#orders/lines_v1", "it is not JSON")])
def test_a_promise_of_one_line_stops_nothing(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """The failure is named by the line."""
    gate = promising(("frequency", 3_600))

    def broken(*_: object) -> Any:
        raise error

    monkeypatch.setattr(freshness_deadlines, "TASK", replace(freshness_deadlines.TASK, step=broken))
    notified = gate.turn(hours=2)

    assert [str(each).endswith("lines_v1") or "promise#orders/lines_v1" in str(each) for each in notified.failures] == [
        True
    ]
    assert late(gate) == []


def test_a_row_that_cannot_be_read_leaves_its_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a finished delivery the block says what became of it; the row is reported."""
    env, row = quarantined()
    refused = UnreadableItem(f"workload#{row.id}", "it is not JSON")
    monkeypatch.setattr(Workloads, "find", refusing(Workloads.find, row.id, refused))
    (block,) = env.memory.chains["orders/lines_v1"]
    found = at_rest(env.dependencies, block)  # type: ignore[arg-type] # of a delivery

    assert (found.id, found.row, found.block) == (row.id, None, block)
    assert (readable_row(env.dependencies, row.id), env.dependencies.taken_out()) == (None, [refused])
    assert env.dependencies.taken_out() == []
