"""A missed promise raises a message of its own, also where nothing arrives at all."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from lakegate.aws.wiring import detail
from lakegate.base.errors import AccessDenied, Throttled
from lakegate.base.extension_points import ROOT
from lakegate.base.timestamps import instant_of, moment
from lakegate.contract.service_levels import ServiceLevel
from lakegate.gate.datasets.dataset_states import (
    DatasetDeadlines,
    DatasetRowStore,
    DatasetState,
    DatasetStatus,
    Deadline,
    StatusChange,
)
from lakegate.gate.datasets.freshness_deadlines import begin_latency, mark_reported, missed_deadlines, restart_deadlines
from lakegate.gate.datasets.lifecycle import change
from lakegate.gate.datasets.subscriptions import add_subscription
from lakegate.gate.delivery.delivery_row import FailedAttempt, FailureCause, Pin
from lakegate.gate.effects import run
from lakegate.gate.ports import Message
from lakegate.gate.send_messages import notify
from lakegate.lints.linter import examine
from lakegate.rules.compile_plan import compile_plan
from tests.fakes.fault_injector import BEGINNING
from tests.published_schemas import validate
from tests.unit.gate.notified_gate import LINE, OPERATOR, Gate

DAY = ServiceLevel("frequency", 86_400)


class PromisingGate(Gate):
    """A gate whose contract promises something."""

    def taken(self, hours: float) -> Pin:
        """The pin of a delivery that was taken in so many hours ago."""
        assert self.row.pin is not None
        at = self.env.memory.clock.now() - timedelta(hours=hours)
        return replace(self.row.pin, judging_time=at.isoformat())


def promising(*promises: tuple[str, int], accepted: bool = True) -> PromisingGate:
    """Such a gate, and one accepted delivery."""
    gate = PromisingGate()
    assert gate.row.pin is not None
    plan = json.loads(gate.env.dependencies.plan(gate.row))
    plan["promises"] = [{"name": name, "seconds": seconds} for name, seconds in promises]
    gate.env.dependencies.plans[gate.row.pin.plan] = json.dumps(plan).encode()
    gate.subscribe(OPERATOR, "late")
    if accepted:
        gate.ends("published", "accepted", ())
        gate.turn()
    return gate


def late(gate: Gate) -> list[Message]:
    return [each for each in gate.env.memory.notifier.sent if each.kind == "late"]


def test_a_line_without_a_delivery_in_time_is_late_once() -> None:
    """The event bus and the channel hear of it when the time is over, and once again when a delivery is accepted."""
    gate = promising(("frequency", 86_400))
    gate.turn(23.8)
    early = (late(gate), gate.sent())
    for _ in range(5):
        gate.turn(0.2)
    [event] = late(gate)
    during = gate.sent()
    gate.ends("published", "accepted", ())
    gate.turn()
    over = gate.sent()
    for _ in range(2):
        gate.turn(25)
    again = late(gate)

    assert early == ([], [])
    assert (during, over) == ([(OPERATOR, "late", 1, False)], [(OPERATOR, "late", 1, True)])
    assert len(again) == len({each.id for each in again}) == 2
    validate("line-event", detail(event))
    body = json.loads(event.body)
    assert (body["promise"], body["seconds"], [each["team"] for each in body["subscribers"]]) == (
        "frequency",
        86_400,
        [OPERATOR],
    )


def test_each_promise_is_missed_on_its_own() -> None:
    """A title names the promise, and a text the time that was promised."""
    gate = promising(("freshness", 3_600), ("frequency", 7_200))
    for _ in range(3):
        gate.turn(1.1)
    sent = [each for _, each in gate.env.memory.channels.sent]

    assert [(each.title, each.text) for each in sent] == [
        (
            f"Late: {LINE} has missed its {name}",
            (f"No delivery was accepted within {seconds} seconds after 2026-01-05 12:00 UTC",),
        )
        for name, seconds in [("freshness", "3,600"), ("frequency", "7,200")]
    ]


def test_service_levels_that_a_consumer_writes_in_dcm_are_watched() -> None:
    """Appendix A's own: hourly data, which is accepted within a minute; two hours of nothing, then a rejection."""
    thesis = examine((ROOT / "contracts/examples/weather.dcm.yaml").read_bytes()).contract
    assert thesis is not None
    found = compile_plan(thesis, thesis.datasets[0]).service_levels
    gate = promising(*((each.name, each.seconds) for each in found))
    for _ in range(3):
        gate.turn(0.8)
    nothing = [json.loads(each.body)["promise"] for each in late(gate)]
    gate.ends("quarantined", "rejected", pin=gate.taken(0))
    for _ in range(3):
        gate.turn(0.1)

    assert nothing == ["frequency"]
    assert [json.loads(each.body)["promise"] for each in late(gate)] == ["frequency", "latency"]


def test_a_rejected_delivery_keeps_no_promise() -> None:
    """What consumers can read is what was promised."""
    gate = promising(("frequency", 3_600))
    gate.turn(0.5)
    gate.ends("quarantined", "rejected")
    gate.turn(0.6)
    gate.turn()

    assert len(late(gate)) == 1


def test_data_that_is_not_accepted_in_time_misses_the_latency_of_its_line() -> None:
    """The oldest delivery that waits counts, from when it was taken in; also where the line has accepted nothing yet."""
    gate = promising(("latency", 7_200), accepted=False)
    taken_in = gate.taken(0)
    gate.ends("quarantined", "rejected", pin=taken_in)
    gate.turn(1)
    failed = (FailedAttempt(1, "run", FailureCause.RUN_HUNG, gate.env.memory.clock.now()),)
    gate.ends("failed", None, pin=gate.taken(0), failed=failed)
    gate.ends("failed", None, pin=None, failed=failed)
    gate.turn(0.5)
    early = late(gate)
    for _ in range(3):
        gate.turn(0.6)
    [event] = late(gate)
    [sent] = [each for _, each in gate.env.memory.channels.sent]
    gate.env.memory.channels.sent.clear()
    gate.ends("published", "accepted", (), pin=gate.taken(0))
    gate.turn()
    over = gate.sent()
    gate.turn(9)

    assert (early, over, len(late(gate))) == ([], [(OPERATOR, "late", 1, True)], 1)
    validate("line-event", detail(event))
    body = json.loads(event.body)
    since = moment(instant_of(taken_in.judging_time))
    assert (body["promise"], body["last_accepted"], body["since"]) == ("latency", None, since)
    words = f"What was taken in at {since[:16].replace('T', ' ')} UTC was not accepted within 7,200 seconds"
    assert (sent.title, sent.text) == (f"Late: {LINE} has missed its latency", (words,))


@pytest.mark.parametrize(("hours", "times"), [(1.9, 0), (2.1, 1)])
def test_a_delivery_that_is_accepted_too_late_misses_the_latency(hours: float, times: int) -> None:
    """What consumers can read now is older than was promised, whatever its rows contain."""
    gate = promising(("latency", 7_200), accepted=False)
    gate.ends("published", "accepted", (), pin=gate.taken(hours))
    for _ in range(3):
        gate.turn()

    assert len(late(gate)) == times


def test_the_oldest_delivery_that_waits_decides_about_the_latency() -> None:
    """A message that comes late, or twice, begins no promise again; a line that promises no latency has none."""
    hours = [moment(BEGINNING + timedelta(hours=each)) for each in range(4)]
    latency = (ServiceLevel("latency", 3_600),)
    first = begin_latency(DatasetDeadlines(LINE), hours[1], "1.0.0", latency, hours[0])
    over = restart_deadlines(first, hours[2], "1.1.0", latency, hours[2])

    assert first == DatasetDeadlines(LINE, "", "1.0.0", (Deadline("latency", 3_600, since=hours[0]),))
    assert begin_latency(first, hours[2], "1.0.0", latency, hours[2]) is first
    assert begin_latency(over, hours[1], "1.0.0", latency, hours[0]) is over
    assert begin_latency(over, hours[3], "1.0.0", (DAY,), hours[3]) is over
    assert (first.due, over.deadlines) == (hours[1], ())
    assert begin_latency(over, hours[3], "1.0.0", latency, hours[2]).version == "1.1.0"


def test_a_frequency_in_cron_ends_with_the_period_of_its_schedule() -> None:
    """What is due on working days is missed on Monday and not on Saturday, as long after its time as on Friday."""
    working_days = (ServiceLevel("frequency", 3 * 86_400, "cron(0 6 ? * 2-6 *)"),)
    due = [
        restart_deadlines(DatasetDeadlines(LINE), f"2026-02-{day}T06:10:00.000000Z", "1.0.0", working_days, "").due
        for day in (26, 27)
    ]

    assert due == ["2026-02-27T06:10:00.000000Z", "2026-03-02T06:10:00.000000Z"]


def test_a_retired_line_promises_nothing() -> None:
    """Its producers have been told to stop."""
    gate = promising(("frequency", 3_600))
    lines = gate.env.memory.datasets
    retired = StatusChange(DatasetStatus.RETIRED, moment(gate.env.memory.clock.now()))
    before = lines.get(LINE)
    lines.write(replace(before, changes=(retired,), recorded=1))
    gate.turn(2)
    gate.turn()

    assert late(gate) == []
    assert gate.env.dependencies.deadlines.due(gate.env.memory.clock.now(), 10) == ()


@pytest.mark.parametrize("lost", ["row", "plan"])
def test_an_event_is_sent_once_where_its_promises_cannot_be_read(lost: str) -> None:
    """What the function may not read is no reason to send the event again."""
    gate = Gate()
    row = gate.ends("published", "accepted", ())

    def refuse(*_: Any) -> None:
        raise AccessDenied("GetObject")

    if lost == "row":
        del gate.env.memory.workloads[row.id]
    else:
        gate.env.dependencies = replace(gate.env.dependencies, plans={})
        gate.env.memory.objects.read = refuse  # type: ignore[method-assign,assignment]
    for _ in range(2):
        assert gate.turn().failures == []

    assert len(gate.env.memory.notifier.sent) == 1


def test_lines_that_fail_and_an_index_that_fails_are_failures_of_the_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next turn reports them; channels are served meanwhile."""
    gate = promising(("frequency", 3_600))
    gate.env.memory.clock.sleep(7_200)

    def refuse(*_: Any) -> None:
        raise Throttled("GetItem")

    for name in ("get", "due"):
        monkeypatch.setattr(DatasetRowStore, name, refuse)
        assert [str(each) for each in run(notify(gate.env.dependencies), gate.env.dependencies.clock).failures] == [
            "GetItem"
        ]
        monkeypatch.undo()
    gate.turn()
    gate.turn()

    assert len(late(gate)) == 1


def test_an_accepted_delivery_that_another_turn_has_noted_is_not_written_again() -> None:
    """Messages come more than once and in any order; a notice of an index that lags reports nothing twice."""
    first = restart_deadlines(DatasetDeadlines(LINE), moment(BEGINNING), "1.0.0", (DAY,), "")
    after = moment(BEGINNING + timedelta(days=1))
    found = missed_deadlines(first, after)

    assert first == DatasetDeadlines(LINE, moment(BEGINNING), "1.0.0", (Deadline("frequency", 86_400),))
    assert restart_deadlines(first, moment(BEGINNING), "1.0.0", (DAY,), "") is first
    assert restart_deadlines(DatasetDeadlines(LINE), moment(BEGINNING), "1.0.0", (), "") == DatasetDeadlines(LINE)
    assert (first.due, found, missed_deadlines(first, moment(BEGINNING))) == (after, first.deadlines, ())
    assert (mark_reported(first, found).due, missed_deadlines(mark_reported(first, found), after)) == ("", ())
    assert restart_deadlines(mark_reported(first, found), after, "2.0.0", (), "").deadlines == ()


def test_two_turns_report_a_missed_promise_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both find it in the index; the second finds it reported, or its write refused."""
    gate = promising(("frequency", 3_600))
    gate.env.memory.clock.sleep(7_200)
    due = gate.env.memory.deadlines.due(gate.env.memory.clock.now(), 10)
    gate.turn()
    monkeypatch.setattr(DatasetRowStore, "due", lambda *_: due)
    gate.turn()
    with monkeypatch.context() as patch:
        patch.setattr(DatasetRowStore, "write", lambda *_: (_ for _ in ()).throw(AssertionError))
        gate.turn()

    assert len(late(gate)) == 1
    run(change(gate.env.dependencies, LINE, "", partial(add_subscription, team="x")), gate.env.dependencies.clock)
    assert gate.env.dependencies.datasets.get(LINE) != DatasetState(LINE)
