"""A judged delivery waits for another system: who gets a token, what it is good for, and what it is not."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import partial

import pytest

from lakegate.base.errors import InputError
from lakegate.base.timestamps import moment
from lakegate.features.workflows.callbacks import CallbackToken, UnknownToken, called_back, invite_channel
from lakegate.gate.channel_ports import CallbackInvitation
from lakegate.gate.datasets.lifecycle import change
from lakegate.gate.datasets.subscriptions import add_subscription
from lakegate.gate.delivery.delivery_row import Workload
from lakegate.gate.delivery.protocol import State
from lakegate.gate.sweep import sweep
from lakegate.plan.planned_workflow import PlannedWorkflow
from tests.fakes.identity import ALICE
from tests.simulation.environment import LINE, Environment
from tests.simulation.stage import Fault, Stage, settle
from tests.simulation.workflows import ASKING, DATED, following
from tests.unit.gate.delivery.test_decide_verdict import approved, records
from tests.unit.gate.scenarios import KEY, drive

CALLING = replace(ASKING, waits_for="callback")
ERP, OTHER, PEOPLE = "webhook:lakegate-channel-erp", "webhook:lakegate-channel-other", "slack:lakegate-channel-people"
REASON = "the totals are those of last month"


def asked(
    *channels: str, workflow: PlannedWorkflow = CALLING, body: bytes = b"split:12"
) -> tuple[Environment, Workload, dict[str, CallbackInvitation | None]]:
    """An environment with a delivery that waits, and what each channel was sent to answer with."""
    with following(workflow):
        env = Environment()
        for channel in channels or (ERP,):
            decide = partial(add_subscription, team=channel, on=["awaiting"], to=[channel], audience="operator")
            drive(env.dependencies, change(env.dependencies, LINE, "", decide))
        upload = env.upload(KEY, body)
        settle(Stage(env, lambda _: Fault.NONE))
    sent = {channel: each.callback for channel, each in env.memory.channels.sent if each.kind == "awaiting"}
    return env, env.dependencies.workloads.get(upload.workload), sent


def token_of(sent: dict[str, CallbackInvitation | None], channel: str = ERP) -> str:
    """The token that a channel got."""
    found = sent[channel]
    assert found is not None
    return found.token


def called(env: Environment, row: Workload, token: str, reason: str | None = None) -> Workload:
    """The row after a callback and the sweep that follows."""
    drive(env.dependencies, called_back(env.dependencies, row.id, token, reason))
    env.memory.clock.sleep(3_600)
    drive(env.dependencies, sweep(env.dependencies))
    return env.dependencies.workloads.get(row.id)


def test_each_webhook_gets_a_token_of_its_own_and_hashes_alone_are_kept() -> None:
    """Other channels get none; the token is not in what a log would show of the notification."""
    env, row, sent = asked(ERP, OTHER, PEOPLE)
    assert row.deadline is not None
    tokens = [token_of(sent, each) for each in (ERP, OTHER)]

    assert sent[PEOPLE] is None
    assert sent[ERP] == CallbackInvitation(tokens[0], f"/api/v1/workload/{row.id}/callback", moment(row.deadline))
    assert tokens[0] != tokens[1]
    assert env.memory.callbacks == {
        hashlib.sha256(token.encode()).hexdigest(): CallbackToken(row.id, 1, channel, row.deadline)
        for token, channel in zip(tokens, (ERP, OTHER), strict=True)
    }
    assert not [token for token in tokens if token in repr(env.memory.channels.sent) + repr(env.memory.workloads)]


def test_a_token_that_is_sent_again_is_the_same_one() -> None:
    """A channel that did not answer gets it once more, and both are one."""
    env, row, sent = asked()
    kept = dict(env.memory.callbacks)
    again = drive(env.dependencies, invite_channel(env.dependencies, ERP, row.id))

    assert (again, env.memory.callbacks) == (sent[ERP], kept)


def test_who_has_the_token_approves() -> None:
    """The delivery is published as it was judged; the channel is the author, in the row and in the ledger."""
    env, row, sent = asked()
    after = called(env, row, token_of(sent))
    again = called(env, row, token_of(sent))
    with pytest.raises(InputError, match="it was approved before, by callback:webhook:lakegate-channel-erp"):
        called(env, row, token_of(sent), REASON)

    assert (after.state, after.decision) == (State.PUBLISHED, row.candidate)
    assert after.answer is not None
    assert (after.answer.actor, after.answer.approved) == (f"callback:{ERP}", True)
    assert again == after
    assert [each[:2] for each in records(env)] == [("approval", f"callback:{ERP}")]


def test_who_has_the_token_declines() -> None:
    """The first reason has the words and the channel."""
    env, row, sent = asked()
    after = called(env, row, token_of(sent), REASON)

    assert after.decision is not None
    assert (after.state, after.decision.reasons[0]) == (
        State.QUARANTINED,
        f"declined: {REASON} (by callback:{ERP})",
    )


def test_a_token_is_for_one_attempt_of_one_delivery_until_a_time() -> None:
    """Anything else is unknown in the same way, and records nothing."""
    env, row, sent = asked()
    token = token_of(sent)
    other = row._replace(id="1" * 64)
    env.memory.write(other)
    for workload, given in (
        (row.id, token[:-1] + "x"),
        (row.id, ""),
        (other.id, token),
        ("unknown", token),
        ("\ud800", token),
    ):
        with pytest.raises(UnknownToken):
            called(env, row._replace(id=workload), given)
    env.memory.write(row._replace(attempt=2))
    with pytest.raises(UnknownToken):
        called(env, row, token)
    env.memory.write(row)
    env.memory.clock.sleep(8 * 24 * 3_600)
    with pytest.raises(UnknownToken):
        called(env, row, token)

    assert records(env) == []


def test_a_person_may_answer_before_the_callback() -> None:
    """The first answer counts; the token says so."""
    env, row, sent = asked()
    after = approved(env, row)
    with pytest.raises(InputError, match=f"it was approved before, by {ALICE}"):
        called(env, row, token_of(sent), REASON)

    assert env.dependencies.workloads.get(row.id) == after


def test_a_token_withdraws_nothing() -> None:
    """What was approved and waits for its date is a matter of people."""
    env, row, sent = asked(workflow=replace(DATED, waits_for="callback"))
    drive(env.dependencies, called_back(env.dependencies, row.id, token_of(sent)))
    drive(env.dependencies, sweep(env.dependencies))
    env.memory.clock.sleep(3_600)
    drive(env.dependencies, sweep(env.dependencies))
    waits = env.dependencies.workloads.get(row.id)
    with pytest.raises(InputError, match="it was approved before"):
        drive(env.dependencies, called_back(env.dependencies, row.id, token_of(sent), REASON))

    assert waits.state is State.SCHEDULED
    assert env.dependencies.workloads.get(row.id) == waits


@pytest.mark.parametrize("why", ["person", "answered", "plan"])
def test_nobody_is_invited_without_a_delivery_that_waits_for_it(why: str) -> None:
    """Where a person is asked, where somebody answered meanwhile, and where the plan cannot be read."""
    env, row, sent = asked(workflow=ASKING if why == "person" else CALLING)
    if why == "answered":
        approved(env, row)
    if why == "plan":
        assert row.pin is not None
        env.lake.pop(f"plans/{row.pin.plan}.json")
        env.dependencies.plans.clear()
    found = drive(env.dependencies, invite_channel(env.dependencies, ERP, row.id))

    assert found is None
    assert (sent[ERP] is None) is (why == "person")
