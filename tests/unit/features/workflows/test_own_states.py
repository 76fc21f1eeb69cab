"""Deliveries in states of their workflow's own: people, callbacks, notices, comparisons and waits, by the real use cases."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from lakegate.base.errors import ConditionFailed, InputError
from lakegate.base.extension_points import ROOT
from lakegate.features.workflows.callbacks import UnknownToken, called_back
from lakegate.features.workflows.published_workflows import publish_workflow, workflow_named
from lakegate.features.workflows.workflow_document import read_workflow
from lakegate.gate.datasets.lifecycle import change
from lakegate.gate.datasets.subscriptions import add_subscription
from lakegate.gate.delivery import publish_data
from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.decide_verdict import BEFORE_IT_EXPIRES, STAGED_FOR
from lakegate.gate.delivery.delivery_row import Anomaly, Workload
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.effects import Effect
from lakegate.gate.ledger.blocks import Record
from lakegate.gate.ports import Address
from lakegate.gate.send_messages import notify
from lakegate.plan.planned_workflow import PlannedState, PlannedTransition, PlannedWorkflow
from tests.decisions import approve, decline
from tests.fakes.identity import ALICE, BOB, MemoryIdentity
from tests.published_schemas import validate
from tests.simulation.environment import LAKE, LINE, Environment
from tests.simulation.promises import Promises
from tests.simulation.stage import Fault, Stage, settle
from tests.simulation.workflows import following
from tests.unit.gate.delivery.test_decide_verdict import later
from tests.unit.gate.scenarios import KEY, drive

EXAMPLES = ROOT / "contracts/examples/workflows"
TWO_PEOPLE, RELEASED = (read_workflow((EXAMPLES / f"{name}.yaml").read_bytes()) for name in ("two-people", "released"))
ERP = "webhook:lakegate-channel-erp"
DAY = 24 * 60
UNUSUAL = Anomaly("rows", "", 1.0, 2.0, 3.0, 2.5, 9, "", "The number of rows is 1, and 2 to 3 are usual")


def judged(*channels: str) -> tuple[Environment, Workload]:
    """An environment with a delivery that was judged; channels are notified of what waits and what passes."""
    env = Environment()
    for channel in channels:
        kinds = ["awaiting", "passing"]
        decide = partial(add_subscription, team=channel, on=kinds, to=[channel], audience="operator")
        drive(env.dependencies, change(env.dependencies, LINE, "", decide))
    upload = env.upload(KEY, b"good:1")
    settle(Stage(env, lambda _: Fault.NONE))
    return env, env.dependencies.workloads.get(upload.workload)


def now(env: Environment, row: Workload) -> Workload:
    return env.dependencies.workloads.get(row.id)


def notified(env: Environment) -> None:
    """All messages of the outbox are sent."""
    drive(env.dependencies, notify(env.dependencies))


def approved(env: Environment, row: Workload, actor: str) -> Workload:
    by = replace(env.dependencies, identity=MemoryIdentity(actor))
    drive(by, approve(by, row.id))
    return now(env, row)


@contextmanager
def differing(*anomalies: Anomaly) -> Iterator[None]:
    """What is compared with the deliveries before it has these anomalies."""
    with pytest.MonkeyPatch.context() as patch:

        def compared(turn: DeliveryTurn, *_: object) -> Workload:
            return turn.row._replace(anomalies=anomalies) if turn.row.state is State.PUBLISHED else turn.row

        patch.setattr(publish_data, "_compared", compared)
        yield


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.yaml")), ids=lambda each: each.stem)
def test_every_example_is_published_and_read_again(example: Path) -> None:
    """A contract that names it gets it, whole."""
    env = Environment()
    drive(env.dependencies, publish_workflow(env.dependencies, example.read_bytes()))

    assert workflow_named(env.dependencies, f"{example.stem}@1") == read_workflow(example.read_bytes())


def test_two_people_approve() -> None:
    """One after the other, and not the same one twice; both are recorded with the state that they answered in."""
    with following(TWO_PEOPLE):
        env, row = judged()
        first = approved(env, row, ALICE)
        with pytest.raises(InputError, match=f"{ALICE} has approved of it at .*: another person has to approve now"):
            approved(env, row, ALICE)
        seen = Promises(env).places(row.id)
        second = approved(env, row, BOB)
        later(env, 10)
        after = now(env, row)
    records = [each for each in env.dependencies.ledger.blocks(LINE) if isinstance(each, Record)]

    assert (row.state, row.passed) == (State.AWAITING, ("first-approval",))
    assert (first.state, first.passed) == (State.AWAITING, ("first-approval", "second-approval"))
    assert ([each.actor for each in first.approvals], first.answer, seen) == ([ALICE], None, {})
    assert second.answer is not None
    assert (second.answer.actor, after.state, after.decision) == (BOB, State.PUBLISHED, row.candidate)
    assert [(each.kind, each.actor, each.content["workflow_state"]) for each in records] == [
        ("approval", ALICE, "first-approval"),
        ("approval", BOB, "second-approval"),
    ]


def test_who_answers_while_an_answer_is_carried_on_is_told() -> None:
    """Whoever comes second has answered nothing, and must not believe so."""
    with following(TWO_PEOPLE):
        env, row = judged()
        by = replace(env.dependencies, identity=MemoryIdentity(ALICE))
        steps = approve(by, row.id)
        call = next(steps)
        while now(env, row).state is State.AWAITING:
            call = steps.send(call.do())
        steps.close()
        with pytest.raises(InputError, match=f"{ALICE} has just answered"):
            approved(env, row, BOB)
        later(env, 60)

        assert now(env, row).passed == ("first-approval", "second-approval")


def test_who_is_asked_is_reminded_and_then_it_is_rejected() -> None:
    """A self transition, as often as `entries` says; each time a message with an id of its own is sent."""
    with following(TWO_PEOPLE):
        env, row = judged()
        seen = [row]
        for _ in range(3):
            later(env, 2 * DAY)
            seen.append(now(env, row))
        notified(env)
    asked = [message for message in env.memory.notifier.sent if message.kind == "awaiting"]

    assert [each.passed.count("first-approval") for each in seen[:3]] == [1, 2, 3]
    assert seen[3].decision is not None
    assert (seen[3].state, seen[3].decision.reasons) == (State.QUARANTINED, ("approval-expired",))
    assert len({each.id for each in asked}) == len(asked) == 3


def test_a_stale_answer_does_not_count_for_the_next_question() -> None:
    """Who read the first question, and writes when the second one is asked, is refused: both are the state AWAITING."""
    with following(TWO_PEOPLE):
        env, row = judged()
        stale = decline(env.dependencies, row.id, "wrong month")
        write = stale.send(next(stale).do())
        approved(env, row, ALICE)
        with pytest.raises(ConditionFailed):
            write.do()

        assert (now(env, row).state, now(env, row).passed[-1]) == (State.AWAITING, "second-approval")


def test_what_is_unusual_is_released_by_a_callback_and_waits_for_the_morning() -> None:
    """Compared, notified of, released by the token of the second state, and published at its time."""
    with following(RELEASED), differing(UNUSUAL):
        env, row = judged(ERP)
        sent = {each.kind: each for _, each in env.memory.channels.sent}
        token = sent["awaiting"].callback
        assert token is not None
        drive(env.dependencies, called_back(env.dependencies, row.id, token.token))
        later(env, 60)
        waits = now(env, row)
        later(env, DAY)
        notified(env)
        after = now(env, row)
    events = {each.kind: json.loads(each.body) for each in env.memory.notifier.sent}

    assert (row.state, row.passed, row.anomalies) == (State.AWAITING, ("history", "announced", "release"), (UNUSUAL,))
    assert any(UNUSUAL.text in line for line in sent["awaiting"].text)
    assert sent["passing"].text == ("State of its workflow: announced",)
    assert [events[kind]["workflow_state"] for kind in ("passing", "awaiting")] == ["announced", "release"]
    assert (waits.state, waits.own_state, f"{waits.deadline:%H:%M}") == (State.SCHEDULED, "morning", "06:00")
    assert (after.state, after.decision) == (State.PUBLISHED, row.candidate)
    for message in env.memory.notifier.sent:
        if not message.dataset:
            detail = {"id": message.id, "workload": message.workload, "kind": message.kind}
            validate("event", {**detail, "body": json.loads(message.body)})


def test_what_is_usual_waits_for_the_morning_alone() -> None:
    """The first preference of a comparison."""
    with following(RELEASED), differing():
        _, row = judged()

    assert (row.state, row.passed) == (State.SCHEDULED, ("history", "morning"))


def test_a_token_is_for_one_state() -> None:
    """Where the same state is entered again, a new token is sent, and the one of the first time approves nothing more."""
    again = PlannedWorkflow(
        "again@1.0.0",
        3,
        (
            PlannedTransition("VALIDATING", "accepted", "release"),
            PlannedTransition("release", "approved", "release"),
            PlannedTransition("release", "approved", "PUBLISHED"),
        ),
        states=(PlannedState("release", "call-back", 2, another=False),),
    )
    with following(again):
        env, row = judged(ERP)
        tokens = []
        for _ in range(2):
            notified(env)
            callback = [each.callback for _, each in env.memory.channels.sent if each.kind == "awaiting"][-1]
            assert callback is not None
            tokens.append(callback.token)
            drive(env.dependencies, called_back(env.dependencies, row.id, callback.token))
            later(env, 60)
            if len(tokens) == 1:
                with pytest.raises(UnknownToken):
                    drive(env.dependencies, called_back(env.dependencies, row.id, callback.token))

    assert len(set(tokens)) == 2
    assert (now(env, row).state, now(env, row).passed) == (State.PUBLISHED, ("release", "release"))


def test_a_workflow_rejects_what_is_unusual() -> None:
    """With a reason that names the state; the judgement follows it."""
    strict = PlannedWorkflow(
        "strict@1.0.0",
        3,
        (
            PlannedTransition("VALIDATING", "accepted", "history"),
            PlannedTransition("history", "usual", "PUBLISHED"),
            PlannedTransition("history", "unusual", "QUARANTINED"),
        ),
        states=(PlannedState("history", "compare"),),
    )
    with following(strict), differing(UNUSUAL):
        _, row = judged()

    assert row.decision is not None
    assert (row.state, row.decision.reasons, row.anomalies) == (
        State.QUARANTINED,
        ("workflow: unusual in history",),
        (),
    )


def test_what_is_declined_is_told_and_stays_declined() -> None:
    """A notice on the way changes nothing of it."""
    told = PlannedWorkflow(
        "told@1.0.0",
        3,
        (
            PlannedTransition("VALIDATING", "accepted", "first"),
            PlannedTransition("first", "approved", "PUBLISHED"),
            PlannedTransition("first", "declined", "told"),
            PlannedTransition("told", "done", "PUBLISHED"),
        ),
        states=(PlannedState("first", "ask"), PlannedState("told", "notify")),
    )
    with following(told):
        env, row = judged()
        drive(env.dependencies, decline(env.dependencies, row.id, "wrong month"))
        later(env, 60)
        after = now(env, row)

    assert after.decision is not None
    assert (after.state, after.decision.reasons[0]) == (
        State.QUARANTINED,
        f"declined: wrong month (by {ALICE})",
    )


def test_all_waits_together_end_before_the_staged_copy_expires() -> None:
    """A copy that is older than usual leaves less time for the first answer: that for the others is kept free."""
    with following(TWO_PEOPLE):
        env = Environment()
        upload = env.upload(KEY, b"good:1")
        late: list[bool] = []
        stage = Stage(env, lambda effect: Fault.CRASH_BEFORE if effect is Effect.ASK and not late else Fault.NONE)
        while stage.workers or env.inbox:
            if stage.workers:
                stage.step(stage.workers[0])
            else:
                stage.deliver(0)
        staged = env.dependencies.workloads.get(upload.workload).staged
        assert staged is not None
        written = env.dependencies.objects.head(Address(LAKE, staged.key)).modified
        stage.pass_time(33 * DAY)
        late.append(True)
        settle(stage)
        row = env.dependencies.workloads.get(upload.workload)

    assert row.state is State.AWAITING
    assert row.deadline == written + STAGED_FOR - BEFORE_IT_EXPIRES - timedelta(days=2 * 2 + 5)


def test_a_stale_worker_does_not_enter_a_state_twice() -> None:
    """Two sweeps that read the same row: one write is refused, and one message is sent."""
    with following(TWO_PEOPLE):
        env, row = judged()
        assert row.deadline is not None
        env.memory.clock.sleep((row.deadline - env.memory.clock.now()).total_seconds())
        stale = advance(DeliveryTurn(env.dependencies, row))
        write = next(stale)
        drive(env.dependencies, advance(DeliveryTurn(env.dependencies, row)))
        with pytest.raises(ConditionFailed):
            write.do()

        assert now(env, row).passed == ("first-approval", "first-approval")


def test_the_first_transition_that_can_be_taken_is() -> None:
    """The order of the document is an order of preference: who was asked twice in vain is followed by somebody else."""
    twice = PlannedWorkflow(
        "twice@1.0.0",
        3,
        (
            PlannedTransition("VALIDATING", "accepted", "owner"),
            PlannedTransition("owner", "expired", "owner"),
            PlannedTransition("owner", "expired", "duty"),
            PlannedTransition("owner", "approved", "PUBLISHED"),
            PlannedTransition("duty", "approved", "PUBLISHED"),
        ),
        states=(PlannedState("owner", "ask", 2, days=1), PlannedState("duty", "ask", days=1)),
    )
    with following(twice):
        env, row = judged()
        later(env, DAY)
        second = now(env, row)
        later(env, DAY)
        third = now(env, row)
        after = approved(env, third, BOB)
        later(env, 60)

    assert [each.passed[-1] for each in (row, second, third)] == ["owner", "owner", "duty"]
    assert (after.approvals, now(env, row).state) == ((), State.PUBLISHED)
