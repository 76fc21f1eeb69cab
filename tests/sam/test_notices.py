"""Notifications by the built function notify, as the built template configures it, to a receiver on this machine."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from lakegate.aws.settings import read
from lakegate.aws.wiring import bootstrap
from lakegate.features.notifications.webhook import signature
from lakegate.gate.datasets.lifecycle import change
from lakegate.gate.datasets.subscriptions import add_subscription
from lakegate.gate.effects import run
from tests.fakes.receiver import Receiver, receiving
from tests.sam.conftest import Environment
from tests.sam.events import by_queue, moved, scheduled
from tests.sam.test_functions import TAKEN, answer, submitted

SECRET, KEY = "lakegate-channel-ours", "whsec_" + base64.b64encode(b"k" * 32).decode()
CHANNEL = f"webhook:{SECRET}"


@pytest.fixture
def receiver(env: Environment) -> Iterator[Receiver]:
    """A receiver, whose address and key are a secret of the stack."""
    with receiving() as receiver:
        content = {"url": receiver.url, "key": KEY}
        env.deployed.aws.client("secretsmanager").create_secret(Name=SECRET, SecretString=json.dumps(content))
        yield receiver


def subscribe(env: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `lakegate subscribe` does."""
    monkeypatch.setattr("lakegate.aws.wiring.client", env.deployed.aws.client)
    dependencies = bootstrap(read(env.notify.properties["Environment"]["Variables"]))
    decide = partial(add_subscription, team="finance", on=["rejected"], to=[CHANNEL], audience="consumer")
    run(change(dependencies, "orders/lines_v1", "", decide), dependencies.clock)


def received(receiver: Receiver) -> list[Any]:
    """The notifications, whose signatures are those of the secret."""
    for _, headers, body in receiver.requests:
        at = headers["webhook-timestamp"]
        assert headers["webhook-signature"] == signature(KEY, headers["webhook-id"], at, body)
    return [json.loads(body) for _, _, body in receiver.requests]


def test_a_rejected_delivery_is_a_message_to_who_subscribed(
    env: Environment, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Intake, completion and notify as they are deployed: one signed message arrives, and the next turn repeats nothing."""
    subscribe(env, monkeypatch)
    workload, job = submitted(env)
    answer(env, workload)
    job.state = "SUCCESS"
    assert env.completion.invoke(by_queue(moved(job.id, env.deployed.application))) == TAKEN

    assert [env.notify.invoke(scheduled()) for _ in range(3)] == [{"unsent": 0}] * 3

    assert [(each["kind"], each["line"], each["workload"]) for each in received(receiver)] == [
        ("rejected", "orders/lines_v1", workload)
    ]


def test_a_channel_is_tested_from_where_it_is_used(env: Environment, receiver: Receiver) -> None:
    """The function answers whether the receiver took the message, and the code of the failure if it did not."""
    assert env.notify.invoke({"test": CHANNEL}) == {"delivered": True, "error": ""}
    receiver.answer = b"HTTP/1.1 404 Not Found\r\n\r\n"
    assert env.notify.invoke({"test": CHANNEL}) == {"delivered": False, "error": "PortError: http-404"}

    assert [each["kind"] for each in received(receiver)] == ["test", "test"]
