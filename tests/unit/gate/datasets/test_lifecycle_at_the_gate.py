"""Lifecycle and subscriptions of lines: by command, by date, at the gate, and in what readers and subscribers receive."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import pytest

from lakegate.aws.wiring import detail, detail_type
from lakegate.base.errors import ConditionFailed, InputError, Unanswered
from lakegate.base.timestamps import moment
from lakegate.contract.delivery_policy import Mode, Policy
from lakegate.gate.datasets.dataset_states import DatasetState, DatasetStatus, Ending, Notice, Subscription
from lakegate.gate.datasets.lifecycle import (
    TASK,
    TRIES_OF_DECISION,
    IllegalTransition,
    acknowledge,
    begin_draft,
    begin_with_notice,
    change,
    deprecate,
    reactivate,
    replacement,
    retire,
    sunset,
)
from lakegate.gate.datasets.subscriptions import add_subscription, remove_subscription
from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.delivery_row import Workload
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.effects import Effect, run
from lakegate.gate.ledger.blocks import Record
from lakegate.gate.scheduled_tasks import run_row
from lakegate.gate.sweep import sweep
from tests.fakes.identity import ALICE
from tests.published_schemas import validate
from tests.simulation.contract import PLAN
from tests.simulation.environment import LANDING, LINE, PREFIX, Environment
from tests.simulation.stage import Fault, Stage, settle

if TYPE_CHECKING:
    Decide = Callable[[DatasetState, str], DatasetState]

S = DatasetStatus
DAY = 24 * 3600
ENDING = Ending("replaced", "orders/lines_v2", "https://wiki.example/orders")
DEPRECATE = partial(deprecate, ending=ENDING)
REPLACED = "line-replaced: deliver to orders/lines_v2 (https://wiki.example/orders)"


class Gate:
    """An environment whose workers finish without a fault."""

    def __init__(self) -> None:
        self.env = Environment()
        self.stage = Stage(self.env, lambda _: Fault.NONE)

    def changed(self, act: str, decide: Decide) -> DatasetState:
        """A command, driven to its end."""
        return run(change(self.env.dependencies, LINE, act, decide), self.env.dependencies.clock)

    def delivered(self, body: bytes, key: str = f"{PREFIX}a.csv") -> Workload:
        """The row of an upload, at its end."""
        upload = self.env.upload(key, body)
        settle(self.stage)
        return self.env.memory.workloads[upload.workload]


def records(env: Environment) -> list[Record]:
    """The records of the line."""
    return [block for block in env.memory.chains.get(LINE, ()) if isinstance(block, Record)]


def in_sunset() -> Gate:
    """A gate whose line is in sunset, after an accepted delivery."""
    gate = Gate()
    env = gate.env
    gate.delivered(b"good:0")
    gate.changed("deprecate", DEPRECATE)
    env.memory.clock.sleep(30 * DAY)
    return gate


# --- commands and dates


def test_a_command_writes_line_record_and_message_at_once() -> None:
    """The ledger has who did what, the outbox an event for the subscribers, in the transaction of the line."""
    gate = Gate()
    env = gate.env
    gate.changed("", partial(add_subscription, team="finance"))
    began = moment(env.memory.clock.now())
    line = gate.changed("deprecate", DEPRECATE)
    (record,), (message,) = records(env), env.memory.messages.values()
    plan = [{"status": each.status.value, "at": each.at} for each in line.changes[1:]]
    state = {
        "status": "deprecated",
        "since": began,
        "planned": plan,
        "reason": "replaced",
        "replacement": "orders/lines_v2",
        "guide": "https://wiki.example/orders",
    }

    assert env.memory.datasets.get(LINE) == line
    assert (record.kind, record.actor, record.content) == (
        "lifecycle",
        ALICE,
        {"act": "deprecate", **state, "notice": None},
    )
    assert detail_type(message) == "line deprecated"
    assert detail(message) == {
        "id": f"{LINE}:deprecated:2",
        "line": LINE,
        "kind": "deprecated",
        "body": {
            "line": LINE,
            **state,
            "version": None,
            "follows": None,
            "subscribers": [{"team": "finance", "audience": "consumer", "to": []}],
        },
    }


def test_a_date_waits_for_the_next_sweep_where_time_is_short() -> None:
    """A sweep with too little time records nothing; the next one records the change at its planned time."""
    gate = Gate()
    env = gate.env
    gate.changed("deprecate", DEPRECATE)
    env.memory.clock.sleep(90 * DAY)
    counts = []
    for left in (30.0, 900.0):
        env.dependencies = replace(env.dependencies, remaining=lambda left=left: left)  # type: ignore[misc]
        run(sweep(env.dependencies), env.dependencies.clock)
        counts.append(len(records(env)))

    assert counts[0] == 1 < counts[1]


def test_dates_are_recorded_by_the_sweep_at_the_time_they_were_planned_for() -> None:
    """Sunset and retirement need no command; a sweep that comes late records the planned time, and each change."""
    gate = Gate()
    env = gate.env
    line = gate.changed("deprecate", DEPRECATE)
    env.memory.clock.sleep(90 * DAY)
    for _ in range(2):
        run(sweep(env.dependencies), env.dependencies.clock)
        env.memory.clock.sleep(60)
    kinds = [each.kind for each in env.memory.messages.values()]

    assert [(each.content["act"], each.content["status"], each.content["since"]) for each in records(env)] == [
        ("deprecate", "deprecated", line.changes[0].at),
        ("date", "sunset", line.changes[1].at),
        ("date", "retired", line.changes[2].at),
    ]
    assert [[p["status"] for p in each.content["planned"]] for each in records(env)] == [
        ["sunset", "retired"],
        ["retired"],
        [],
    ]
    assert kinds == ["deprecated", "sunset", "retired"]
    assert (env.memory.datasets.get(LINE).recorded, env.memory.datasets.get(LINE).listed) == (3, True)


def test_a_plan_and_its_change_are_announced() -> None:
    """A deprecation on a later day is an event of its own, and so is another reason; the same again is none."""
    gate = Gate()
    env = gate.env
    later = moment(env.memory.clock.now() + timedelta(days=10))
    for ending in (ENDING, ENDING, Ending("another reason")):
        gate.changed("deprecate", partial(deprecate, ending=ending, on=later))
    (first, second) = env.memory.messages.values()

    assert [first.kind, second.kind] == ["planned", "planned"]
    assert [json.loads(each.body)["status"] for each in (first, second)] == ["active", "active"]
    assert [each.content["reason"] for each in records(env)] == ["replaced", "another reason"]


def test_a_command_records_what_began_before() -> None:
    """Between the date and the sweep, a command finds the change in force: nothing is skipped in the ledger."""
    gate = in_sunset()
    env = gate.env
    line = gate.changed("reactivate", reactivate)

    assert [each.content["status"] for each in records(env)] == ["deprecated", "sunset", "active"]
    assert line.status_at(moment(env.memory.clock.now())) is S.ACTIVE
    assert line.due == line.changes[-1].at


def test_an_illegal_command_writes_nothing() -> None:
    """It is refused with the legal way before any effect."""
    gate = Gate()
    env = gate.env
    for command in (sunset, retire):
        with pytest.raises(IllegalTransition, match="an active line is deprecated first"):
            gate.changed(command.__name__, command)

    assert env.memory.datasets_written == []


def test_a_command_without_an_answer_is_repeated_without_a_second_record() -> None:
    """Who got no answer gives the command again."""
    gate = Gate()
    env = gate.env
    steps = change(env.dependencies, LINE, "deprecate", DEPRECATE)
    next(steps).do()
    with pytest.raises(Unanswered):
        steps.throw(Unanswered())
    env.memory.clock.sleep(3600)
    gate.changed("deprecate", DEPRECATE)

    assert len(records(env)) == 1


def test_a_write_that_was_performed_twice_is_one_change() -> None:
    """The second one finds its own line."""
    env = Environment()
    steps = change(env.dependencies, LINE, "deprecate", DEPRECATE)
    call = next(steps)
    call.do()
    with pytest.raises(ConditionFailed) as refused:
        call.do()
    with pytest.raises(StopIteration) as ended:
        steps.throw(refused.value)

    assert ended.value.value == env.memory.datasets.get(LINE)
    assert len(records(env)) == 1


def test_two_commands_at_once_are_decided_one_after_the_other() -> None:
    """The slower one is decided again, by the line as the faster one left it."""
    gate = Gate()
    env = gate.env
    slow = change(env.dependencies, LINE, "deprecate", DEPRECATE)
    call = next(slow)
    other = gate.changed("deprecate", partial(deprecate, ending=Ending("another reason")))
    with pytest.raises(ConditionFailed) as refused:
        call.do()
    steps = slow.throw(refused.value)
    steps.do()
    with pytest.raises(StopIteration) as ended:
        slow.send(None)

    assert [each.content["reason"] for each in records(env)] == ["another reason", "replaced"]
    assert ended.value.value.changes == other.changes


def test_the_first_change_of_a_line_may_be_planned() -> None:
    """It is listed at once and recorded on its day; what is planned can be dropped before anything of the line is recorded."""
    gate, dropped = Gate(), Gate()
    env = gate.env
    gate.delivered(b"good:0")
    day = moment(env.memory.clock.now() + timedelta(days=1))
    gate.changed("deprecate", partial(DEPRECATE, on=day))
    env.memory.clock.sleep(60)
    run(sweep(env.dependencies), env.memory.clock)
    planned = env.memory.datasets.get(LINE)
    env.memory.clock.sleep(DAY)
    run(sweep(env.dependencies), env.memory.clock)
    begun = env.memory.datasets.get(LINE)
    dropped.changed("deprecate", partial(DEPRECATE, on=day))
    dropped.changed("reactivate", reactivate)

    assert (planned.listed, planned.recorded, planned.due) == (True, 0, day)
    assert (begun.listed, begun.recorded, [each.content["act"] for each in records(env)]) == (
        True,
        1,
        ["deprecate", "date"],
    )
    assert dropped.env.memory.datasets.get(LINE).changes == ()


def test_of_two_sweeps_at_once_one_settles_a_line() -> None:
    """The slower one finds the line settled, or leaves it to anyone who has written it."""
    gate = Gate()
    lines = gate.env.memory.datasets
    gate.changed("deprecate", DEPRECATE)
    slow = run_row(gate.env.dependencies, TASK, LINE)
    call = next(slow)
    while call.effect is not Effect.WRITE_ROW:
        call = slow.send(call.do())
    for _ in range(2):
        run(run_row(gate.env.dependencies, TASK, LINE), gate.env.memory.clock)
    settled = lines.get(LINE)
    lines.write(settled)
    with pytest.raises(ConditionFailed) as refused:
        call.do()
    with pytest.raises(StopIteration):
        slow.throw(refused.value)

    assert (settled.listed, lines.get(LINE).revision) == (True, settled.revision + 1)


@pytest.mark.parametrize("days", [1, 31], ids=["a command", "what began by its date"])
def test_a_line_that_others_write_all_the_time_is_given_up(days: int) -> None:
    """Nothing runs for ever."""
    gate = Gate()
    lines = gate.env.memory.datasets
    gate.changed("deprecate", DEPRECATE)
    gate.env.memory.clock.sleep(days * DAY)
    steps = change(gate.env.dependencies, LINE, "reactivate", reactivate)
    call = next(steps)
    for left in reversed(range(TRIES_OF_DECISION)):
        lines.write(lines.get(LINE))
        with pytest.raises(ConditionFailed) as lost:
            call.do()
        if left:
            call = steps.throw(lost.value)
    with pytest.raises(InputError, match="others are changing orders/lines_v1 all the time"):
        steps.throw(lost.value)


# --- the gate


STATUSES = {
    "deprecated": (0, "accepted_with_warnings", ["line-deprecated"]),
    "sunset": (30, "accepted_with_warnings", ["line-sunset"]),
    "retired": (37, "rejected", ["contract-retired", "line-replaced"]),
}


@pytest.mark.parametrize("status", STATUSES)
def test_the_gate_enforces_the_status(status: str) -> None:
    """A known producer is warned until the line is retired; then it is refused at the door, and what is there stays."""
    days, verdict, reasons = STATUSES[status]
    gate = Gate()
    env = gate.env
    gate.delivered(b"good:0")
    gate.changed("deprecate", DEPRECATE)
    env.memory.clock.sleep(days * DAY)
    row = gate.delivered(b"good:1")
    accepted = [key for key in env.lake if key.startswith("accepted/") and "/workload=" in key]

    assert row.decision is not None
    assert row.pin is not None
    assert (row.pin.status, row.decision.verdict) == (status, verdict)
    assert [each.partition(":")[0] for each in row.decision.reasons] == reasons
    assert len(accepted) == (2 if verdict != "rejected" else 1)


def test_a_rejected_delivery_is_warned_too() -> None:
    """What is wrong with the data comes first."""
    gate = Gate()
    gate.changed("deprecate", DEPRECATE)
    row = gate.delivered(b"bad:1")

    assert row.decision is not None
    assert row.decision.verdict == "rejected"
    assert row.decision.reasons[-1] == row.pin.warning  # type: ignore[union-attr]
    assert len(row.decision.reasons) > 1


def test_a_line_in_sunset_refuses_new_producers() -> None:
    """A producer is known by the prefix of its route, once a delivery below it was accepted; a rejected one does not count.

    It is told what replaces the line, in a reason beside the code by which deliveries are counted.
    """
    gate = Gate()
    env = gate.env
    gate.delivered(b"bad:1")
    gate.changed("deprecate", DEPRECATE)
    env.memory.clock.sleep(30 * DAY)
    row = gate.delivered(b"good:1")

    assert row.decision is not None
    assert (row.state, row.decision.reasons) == (State.QUARANTINED, ("contract-sunset", REPLACED))
    assert replacement(env.memory.datasets.get(LINE), "contract-draft") == ()


def test_the_judging_time_decides_however_late_the_delivery_is_judged() -> None:
    """A delivery that was pinned before the sunset is finished under the status it was pinned with (P21)."""
    gate = Gate()
    env = gate.env
    gate.changed("deprecate", DEPRECATE)
    env.memory.clock.sleep(30 * DAY - 60)
    stage = Stage(env, lambda _: Fault.NONE)
    upload = env.upload(f"{PREFIX}a.csv", b"good:1")
    stage.deliver(0)
    while (row := env.memory.workloads.get(upload.workload)) is None or row.state is State.RECEIVED:
        stage.step(stage.workers[0])
    env.memory.clock.sleep(90 * DAY)
    settle(stage)
    row = env.memory.workloads[upload.workload]

    assert row.decision is not None
    assert (row.state, row.pin.status, row.decision.verdict) == (  # type: ignore[union-attr]
        State.PUBLISHED,
        "deprecated",
        "accepted_with_warnings",
    )


@pytest.mark.parametrize("mode", Mode)
def test_a_draft_is_refused_or_observed(mode: Mode) -> None:
    """Who asks for it (`mode: observe`) sees what a draft would do, with a warning."""
    env = Gate().env
    env.publish("1.0.0", "active", replace(PLAN, policy=Policy(mode=mode)))
    run(change(env.dependencies, LINE, "draft", begin_draft), env.dependencies.clock)
    upload = env.upload(f"{PREFIX}a.csv", b"bad:1")
    run(intake(env.dependencies, LANDING, upload.version.key), env.dependencies.clock)
    for _, job in env.new_jobs():
        run(job, env.dependencies.clock)
    row = run(advance(DeliveryTurn(env.dependencies, env.memory.workloads[upload.workload])), env.dependencies.clock)

    assert row.decision is not None
    if mode is Mode.ENFORCE:
        assert (row.state, row.decision.reasons) == (State.QUARANTINED, ("contract-draft",))
    else:
        assert (row.state, row.decision.verdict) == (State.PUBLISHED, "accepted_with_warnings")
        assert row.decision.reasons[-1].startswith("line-draft: ")


def test_a_retired_version_of_an_active_line_is_refused() -> None:
    """The stricter status counts: of the version's document, or of its line."""
    gate = Gate()
    env = gate.env
    env.publish("1.0.0", "retired")
    row = gate.delivered(b"good:1")

    assert row.decision is not None
    assert row.decision.reasons == ("contract-retired",)


# --- readers and subscribers


def test_the_manifest_states_the_lifecycle_of_its_line() -> None:
    """Readers find it in the head, from the command on, and with every later delivery."""
    gate = Gate()
    env = gate.env
    gate.delivered(b"good:0")
    key = f"accepted/{LINE}/_manifest.json"
    heads = [json.loads(env.lake[key][-1].body)]
    line = gate.changed("deprecate", DEPRECATE)
    run(sweep(env.dependencies), env.dependencies.clock)
    env.memory.clock.sleep(60)
    run(sweep(env.dependencies), env.dependencies.clock)
    heads.append(json.loads(env.lake[key][-1].body))
    gate.delivered(b"good:1")
    heads.append(json.loads(env.lake[key][-1].body))
    for head in heads:
        validate("manifest", head)

    assert [head["lifecycle"] and head["lifecycle"]["status"] for head in heads] == [None, "deprecated", "deprecated"]
    assert heads[1]["lifecycle"]["planned"][0] == {"status": "sunset", "at": line.changes[1].at}
    assert heads[2]["deliveries"][-1]["verdict"] == "accepted_with_warnings"


def test_rejected_deliveries_name_the_subscribers_who_asked() -> None:
    """On request, and for the deliveries of their line alone."""
    gate = Gate()
    env = gate.env
    gate.changed("", partial(add_subscription, team="finance", on=["rejected"]))
    gate.changed("", partial(add_subscription, team="sales"))
    gate.delivered(b"bad:1")
    gate.delivered(b"good:1", f"{PREFIX}b.csv")
    gate.delivered(b"good:1", "elsewhere/c.csv")
    sent = {(each.kind, json.loads(each.body)["line"]): each for each in env.memory.notifier.sent}
    finance = [{"team": "finance", "audience": "consumer", "to": []}]

    assert [json.loads(each.body)["subscribers"] for each in sent.values()] == [finance, [], []]


def test_a_breaking_version_is_announced_and_acknowledged() -> None:
    """The subscribers of the line before get one event; the last acknowledgement puts the version in force, with another."""
    gate = Gate()
    env = gate.env
    for team in ("finance", "sales", "gone"):
        gate.changed("", partial(add_subscription, team=team))
    notice = Notice("2.0.0", LINE, ("finance", "gone", "sales"))
    name = "orders/lines_v2"
    wait = partial(begin_with_notice, notice=notice, period=timedelta(days=14))
    run(change(env.dependencies, name, "notice", wait), env.dependencies.clock)
    gate.changed("", lambda line, _now: remove_subscription(line, "gone"))
    lines = [
        run(acknowledge(env.dependencies, name, "2.0.0", team), env.dependencies.clock) for team in ("sales", "finance")
    ]
    breaking, active = env.memory.messages.values()
    now = moment(env.memory.clock.now())
    acts = [each.content for each in env.memory.chains[name] if isinstance(each, Record)]

    assert [each.status_at(now) for each in lines] == [S.DRAFT, S.ACTIVE]
    assert [detail_type(each) for each in (breaking, active)] == ["line breaking", "line active"]
    assert [each["team"] for each in json.loads(breaking.body)["subscribers"]] == ["finance", "gone", "sales"]
    assert [json.loads(breaking.body)[key] for key in ("version", "follows", "status")] == ["2.0.0", LINE, "draft"]
    assert [(each["act"], each["status"], each["notice"]["acknowledged"]) for each in acts] == [
        ("notice", "draft", []),
        ("acknowledge", "draft", ["sales"]),
        ("acknowledge", "active", ["finance", "sales"]),
    ]
    with pytest.raises(InputError, match="no version"):
        run(acknowledge(env.dependencies, LINE, "2.0.0", "sales"), env.dependencies.clock)


def test_every_event_about_a_line_fits_its_schema() -> None:
    """Whatever happens to a line, its event is what the schema promises."""
    gate = in_sunset()
    env = gate.env
    run(sweep(env.dependencies), env.dependencies.clock)
    env.memory.clock.sleep(7 * DAY)
    run(sweep(env.dependencies), env.dependencies.clock)
    gate.changed("reactivate", reactivate)
    gate.changed("deprecate", partial(deprecate, ending=ENDING, on=moment(env.memory.clock.now() + timedelta(days=1))))
    run(change(env.dependencies, "orders/lines_v2", "draft", begin_draft), env.dependencies.clock)
    messages = [each for each in env.memory.messages.values() if each.dataset]
    for each in messages:
        validate("line-event", detail(each))

    assert {each.kind for each in messages} == {"deprecated", "sunset", "retired", "active", "planned", "draft"}


def test_a_line_fits_into_an_item() -> None:
    """What DynamoDB would refuse is refused before, with a sentence."""
    gate = Gate()
    channels = tuple(f"channel-{number:04}" + "x" * 90 for number in range(5_000))
    large = (Subscription("finance", moment(gate.env.memory.clock.now()), to=channels),)
    with pytest.raises(InputError, match=r"^the subscriptions of orders/lines_v1 need more than 390,000 bytes$"):
        run(
            change(gate.env.dependencies, LINE, "", lambda line, _: replace(line, subscriptions=large)),
            gate.env.dependencies.clock,
        )

    assert gate.env.memory.datasets.get(LINE) == DatasetState(LINE)
