"""`lakegate subscribe` with channels, and `lakegate notify`."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from lakegate.base.timestamps import moment
from lakegate.features.notifications import notify_command
from lakegate.features.notifications.notices import TRIES_OF_NOTICE, ChannelNotice, Occurrence, failed, occurred
from tests.unit.cli.conftest import Lakegate

CHANNEL = "slack:lakegate-channel-orders"


def test_a_team_subscribes_a_channel(lakegate: Lakegate) -> None:
    """Audience, causes, channels, quiet hours and digest are data of the line; each audience is left on its own."""
    lakegate.routed()
    words = [
        "subscribe",
        "orders",
        "--as",
        "finance",
        "--audience",
        "operator",
        "--on",
        "rejected,warned",
        "--on",
        "failed",
    ]
    lakegate.ok(*words, "--to", CHANNEL, "--to", "teams:x", "--quiet", "22:00-06:00", "--digest", "4")
    listed = lakegate.ok("subscribers", "orders")
    [entry] = lakegate.json("subscribers", "orders")["subscribers"]
    kept = lakegate.json("unsubscribe", "orders", "--as", "finance")["subscribers"]
    gone = lakegate.json("unsubscribe", "orders", "--as", "finance", "--audience", "operator")["subscribers"]

    assert f"  finance (operator): breaking, deprecated, failed, rejected, warned to {CHANNEL}, teams:x" in listed
    assert {name: value for name, value in entry.items() if name != "since"} == {
        "team": "finance",
        "on": ["breaking", "deprecated", "failed", "rejected", "warned"],
        "audience": "operator",
        "to": [CHANNEL, "teams:x"],
        "quiet": "22:00-06:00",
        "digest": 4,
    }
    assert (len(kept), gone) == (1, [])


def test_a_secret_in_place_of_its_name_is_refused(lakegate: Lakegate) -> None:
    """Nothing is stored, and the text is not repeated."""
    lakegate.routed()
    refused = lakegate(
        "subscribe", "orders", "--as", "finance", "--to", "slack:https://hooks.slack.com/services/T/B/s3cret"
    )

    assert refused.exception is not None
    assert "never an address or a key" in str(refused.exception)
    assert "s3cret" not in str(refused.exception) + refused.output
    assert lakegate.json("subscribers", "orders")["subscribers"] == []


@pytest.mark.parametrize(
    ("answer", "code", "text"),
    [
        ({"delivered": True, "error": ""}, 0, "Delivered.\n"),
        ({"delivered": False, "error": "PortError: http-404"}, 1, "Not delivered: PortError: http-404\n"),
    ],
)
def test_a_channel_is_tested_by_the_function_of_the_stack(
    lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch, answer: dict[str, Any], code: int, text: str
) -> None:
    """The answer of the function decides about the exit code."""
    asked: list[Any] = []

    def ask(*what: Any, **request: Any) -> dict[str, Any]:
        asked.append((*what, request["Payload"]))
        return {"Payload": io.BytesIO(json.dumps(answer).encode())}

    monkeypatch.setattr(notify_command, "ask_service", ask)
    result = lakegate("notify", "test", "--to", CHANNEL)
    machine = lakegate("notify", "test", "--to", CHANNEL, "--json")

    assert (result.exit_code, result.stdout, json.loads(machine.stdout)) == (code, text, answer)
    assert asked == [("lambda", "invoke", json.dumps({"test": CHANNEL}).encode())] * 2


@pytest.mark.parametrize(
    "answer", [{"FunctionError": "Unhandled", "Payload": b"{}"}, {"Payload": b"null"}, {"Payload": b"{}"}]
)
def test_a_function_that_fails_is_no_answer(
    lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch, answer: dict[str, Any]
) -> None:
    """A stack of an older release does not know the request, either."""
    monkeypatch.setattr(
        notify_command, "ask_service", lambda *_, **__: answer | {"Payload": io.BytesIO(answer["Payload"])}
    )

    assert "the function notify failed" in str(lakegate("notify", "test", "--to", CHANNEL).exception)


def test_dead_letters_are_listed_and_sent_again(lakegate: Lakegate) -> None:
    """With the last error, for all channels or for one."""
    notices, now = lakegate.dependencies.rows("notices"), lakegate.dependencies.now
    for channel in (CHANNEL, "teams:x"):
        notice = occurred(
            ChannelNotice("shop/orders_v1", channel), Occurrence("e", moment(now), "rejected", title="Rejected")
        )
        notice = notices.write(notice)
        for _ in range(TRIES_OF_NOTICE):
            notice = notices.write(failed(notice, moment(now), "PortError: http-404"))
    listed, machine = lakegate.ok("notify", "dead"), lakegate.json("notify", "dead")
    one, rest = lakegate.ok("notify", "retry", "--to", "teams:x"), lakegate.json("notify", "retry")

    assert sorted(listed.splitlines()) == [
        f"shop/orders_v1  {CHANNEL}  PortError: http-404",
        "shop/orders_v1  teams:x  PortError: http-404",
    ]
    assert sorted(each["channel"] for each in machine["dead"]) == [CHANNEL, "teams:x"]
    assert (one, rest) == ("1 will be sent again.\n", {"retried": 1})
    assert lakegate.ok("notify", "dead") == "None.\n"
