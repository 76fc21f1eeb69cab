"""The header `Idempotency-Key`: what is sent twice under one key is one request."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lakegate.base.errors import ConditionFailed
from lakegate.features.announcements.announced_delivery import WantedDelivery, announce
from lakegate.gate.effects import run
from tests.fakes.identity import BOB
from tests.unit.features.http_api.conftest import CONTRACTS, Api, Response, document, signed

ANNOUNCE = "POST /api/v1/workload"
SHA = "sha256:" + "A" * 43 + "="
WANTED = json.dumps({"contract": "orders", "size": 6, "checksum": SHA}).encode()


def sent(api: Api, key: str, body: bytes = WANTED, **more: Any) -> Response:
    return api.call(ANNOUNCE, body, headers={"idempotency-key": key}, **more)


def test_an_announcement_that_is_sent_again_is_the_same(served: Api) -> None:
    """With the URL for the time that is left, then without one; another key, caller or no key makes another one."""
    first = sent(served, "a").body
    served.env.memory.clock.sleep(60)
    again = sent(served, "a").body
    served.env.memory.clock.sleep(900)
    late = sent(served, "a").body
    others = [sent(served, "b"), sent(served, "a", authorizer=signed(BOB)), served.call(ANNOUNCE, WANTED)]

    assert first["workloadId"] == again["workloadId"] == late["workloadId"]
    assert (first["upload"]["expiresAt"], again["upload"]["url"][-11:]) == (again["upload"]["expiresAt"], "seconds=840")
    assert late["upload"] == {name: first["upload"][name] for name in ("bucket", "key")}
    assert len({first["workloadId"], *(each.body["workloadId"] for each in others)}) == 4


def test_another_request_with_the_key_is_refused(served: Api) -> None:
    """Another body, and another route."""
    sent(served, "a")
    headers = {"idempotency-key": "a"}
    answers = [
        sent(served, "a", b'"orders"'),
        served.call(f"POST {CONTRACTS}", json.dumps(document()).encode(), headers=headers),
    ]

    assert {(each.status, each.body["type"]) for each in answers} == {(422, "urn:lakegate:problem:key-reused")}
    assert "shop#1.0.0" not in served.env.memory.versions


def test_a_publication_can_be_sent_again(served: Api) -> None:
    """The second time changes nothing, and has the same answer."""
    body, headers = json.dumps(document()).encode(), {"idempotency-key": "a"}
    answers = [served.call(f"POST {CONTRACTS}", body, headers=headers) for _ in range(2)]

    assert [(each.status, each.body) for each in answers] == [(200, "shop")] * 2


@pytest.mark.parametrize("key", ["", " ", "a b", "a" * 256, "\u00e9", "a\nb", "\x00"])
def test_a_key_of_another_form_is_refused(served: Api, key: str) -> None:
    """Before anything is kept."""
    response = sent(served, key)

    assert (response.status, response.body["type"]) == (400, "urn:lakegate:problem:invalid-parameter")
    assert served.env.memory.requests == {}


def test_reading_needs_no_key(served: Api) -> None:
    """A key of a GET is not looked at."""
    response = served.call(f"GET {CONTRACTS}", headers={"idempotency-key": "a b"})

    assert (response.status, served.env.memory.requests) == (200, {})


def test_the_same_announcement_at_once_is_kept_once(served: Api) -> None:
    """Anyone who is second gets what the first one kept."""
    own = served.env.dependencies
    steps = announce(own, WantedDelivery("orders"), "0" * 64)
    next(steps)
    first = run(announce(own, WantedDelivery("orders"), "0" * 64), own.clock)
    served.env.memory.clock.sleep(60)
    with pytest.raises(StopIteration) as ended:
        steps.throw(ConditionFailed("announcement"))

    assert ended.value.value == first
