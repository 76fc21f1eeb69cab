"""Messages of the outbox are sent ten at a time, in order, each at least once."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.gate.effects import run
from lakegate.gate.ports import Message
from lakegate.gate.send_messages import MAX_BODIES_OF_CALL, Notified, notify
from tests.reference.sampling import sampled
from tests.simulation.environment import Environment


@pytest.fixture
def env() -> Environment:
    return Environment()


def posted(env: Environment, body: str = "{}") -> str:
    """The id of one more message, a second after the one before."""
    identity = f"m{len(env.memory.messages) + len(env.memory.notifier.sent):03}"
    env.memory.post(Message(identity, f"w{identity}", "gone", body, env.dependencies.now))
    env.memory.clock.sleep(1)
    return identity


def notified(env: Environment) -> Notified:
    """A turn of notify, when the index has what was posted."""
    env.memory.clock.sleep(60)
    return run(notify(env.dependencies), env.dependencies.clock)


def calls_of(env: Environment, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The ids of each call of the event bus, as they come."""
    calls, send = list[list[str]](), env.memory.notifier.send

    def counted(messages: Sequence[Message]) -> frozenset[str]:
        calls.append([message.id for message in messages])
        return send(messages)

    monkeypatch.setattr(env.memory.notifier, "send", counted)
    return calls


def test_a_call_has_ten_messages_in_order(env: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last one has the rest."""
    ids = [posted(env) for _ in range(25)]
    calls = calls_of(env, monkeypatch)
    turn = notified(env)

    assert calls == [ids[:10], ids[10:20], ids[20:]]
    assert [message.id for message in turn.sent] == ids
    assert env.memory.messages == {}


@given(st.lists(st.integers(0, MAX_BODIES_OF_CALL + 10), max_size=14))
@sampled(40, 2_000)
def test_a_call_has_no_more_bytes_than_the_bus_takes(sizes: list[int]) -> None:
    """One message alone may have more: it could not be sent otherwise; each is sent once, in order."""
    env = Environment()
    ids = [posted(env, json.dumps({"text": "x" * size})) for size in sizes]
    with pytest.MonkeyPatch.context() as patch:
        calls = calls_of(env, patch)
        bodies = {identity: len(message.body) for identity, message in env.memory.messages.items()}
        notified(env)

    assert [identity for call in calls for identity in call] == ids
    assert all(len(call) == 1 or sum(map(bodies.__getitem__, call)) <= MAX_BODIES_OF_CALL for call in calls)


def test_what_is_refused_beside_others_is_sent_alone(env: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stays pending with the reason where it is refused then, too."""
    first, bad, last = (posted(env) for _ in range(3))
    env.memory.notifier.refused = {bad}
    calls = calls_of(env, monkeypatch)
    turn = notified(env)

    assert calls == [[first, bad, last], [bad]]
    assert [str(failure) for failure in turn.failures] == ["PutEvents: InternalFailure"]
    assert [message.id for message in turn.sent] == [first, last]
    assert list(env.memory.messages) == [bad]


def test_no_message_of_a_dataset_overtakes_one_in_another_call(env: Environment) -> None:
    """It waits for the next turn; those of other datasets do not."""
    bad = posted(env, json.dumps({"line": "c/a_v1"}))
    beside = [posted(env) for _ in range(9)]
    later = posted(env, json.dumps({"line": "c/a_v1"}))
    other = posted(env, json.dumps({"line": "c/b_v1"}))
    env.memory.notifier.refused = {bad}
    first = notified(env)
    env.memory.notifier.refused = set()
    second = notified(env)

    assert [message.id for message in first.sent] == [*beside, other]
    assert [message.id for message in second.sent] == [bad, later]


def test_a_turn_without_messages_calls_nobody(env: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    """PutEvents refuses a call without entries."""
    calls = calls_of(env, monkeypatch)

    assert (notified(env).sent, calls) == ([], [])
