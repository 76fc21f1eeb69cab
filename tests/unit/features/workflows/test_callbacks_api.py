"""Callbacks over HTTP: without a signature, by the token of one delivery; who has none learns nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from lakegate.features.workflows.callbacks_api import LARGEST
from lakegate.gate.delivery.delivery_row import Workload
from lakegate.gate.delivery.protocol import State
from lakegate.library.http_messages import CALLBACK_ROUTE
from tests.simulation.environment import Environment
from tests.unit.features.http_api.conftest import Api, Response
from tests.unit.features.http_api.test_workloads_api_transitions import swept
from tests.unit.features.workflows.test_callbacks import ERP, asked, called, records, token_of

WRONG = "A" * 43


def sent(api: Api, workload: str, body: object, **more: Any) -> Response:
    """A callback, as API Gateway sends it where nobody is authorised."""
    return api.call(CALLBACK_ROUTE, json.dumps(body).encode(), path=workload, authorizer={}, **more)


def waiting(serve: Callable[[Environment], Api]) -> tuple[Api, Workload, str]:
    """A delivery that waits, and the token for it."""
    env, row, invitations = asked()
    return serve(env), row, token_of(invitations)


def test_a_callback_is_carried_out_by_the_next_sweep(serve: Callable[[Environment], Api]) -> None:
    """The answer has nothing but the status; a repetition is the same answer, and another one is refused."""
    api, row, token = waiting(serve)
    body = {"token": token, "transition": "approve"}
    first, again = sent(api, row.id, body), sent(api, row.id, body)
    claimed = dict(api.env.memory.contents)
    swept(api.env)
    late = sent(api, row.id, {"token": token, "transition": "decline", "reason": "known"})

    assert [(each.status, each.body) for each in (first, again)] == [
        (200, {"workloadId": row.id, "status": "RuntimeValidationInProgress"})
    ] * 2
    assert claimed == {}
    assert api.env.dependencies.workloads.get(row.id).state is State.PUBLISHED
    assert [each[:2] for each in records(api.env)] == [("approval", f"callback:{ERP}")]
    assert (late.status, late.body["type"], late.body["workloadStatus"]) == (
        409,
        "urn:lakegate:problem:illegal-transition",
        "Accepted",
    )
    assert token not in api.log.getvalue()


def test_a_callback_declines_with_a_reason(serve: Callable[[Environment], Api]) -> None:
    """The next sweep rejects the delivery."""
    api, row, token = waiting(serve)
    response = sent(api, row.id, {"token": token, "transition": "decline", "reason": " known "})
    swept(api.env)
    after = api.env.dependencies.workloads.get(row.id)

    assert response.status == 200
    assert after.decision is not None
    assert after.decision.reasons[0] == f"declined: known (by callback:{ERP})"


@pytest.mark.parametrize("body", [{"transition": "approve"}, {"transition": "decline", "reason": "a\nb"}])
def test_who_has_no_token_learns_nothing(serve: Callable[[Environment], Api], body: dict[str, str]) -> None:
    """Of deliveries that wait, ended, do not exist or cannot exist the answer is the same, and nothing is kept."""
    api, row, token = waiting(serve)
    names = (row.id, row.id[:12], "0" * 64, "a\x00b", "\ud800", "x" * 5_000, "..")
    before = [sent(api, each, body | {"token": WRONG}, headers={"idempotency-key": "k"}) for each in names]
    elsewhere = sent(api, "0" * 64, body | {"token": token})
    called(api.env, row, token)
    ended = sent(api, row.id, body | {"token": WRONG})

    assert {(each.status, each.text) for each in (*before, elsewhere, ended)} == {(404, ended.text)}
    assert ended.body["detail"] == "No answer is awaited by this token."
    assert api.env.memory.requests == {}
    assert len(records(api.env)) == 1


def test_a_callback_has_one_form(serve: Callable[[Environment], Api]) -> None:
    """Other bodies are refused before anything is looked up, with a token and without one."""
    api, row, token = waiting(serve)
    bodies = (
        {},
        [],
        {"token": token},
        {"token": token + "x", "transition": "approve"},
        {"token": token, "transition": "replay"},
        {"token": token, "transition": "decline"},
        {"token": token, "transition": "approve", "reason": "known"},
        {"token": token, "transition": "decline", "reason": " "},
        {"token": token, "transition": "decline", "reason": "a\nb"},
    )
    answers = [sent(api, row.id, each) for each in bodies]
    large = sent(api, row.id, {"token": token, "transition": "approve", "reason": "x" * LARGEST})
    plain = sent(api, row.id, {}, headers={"content-type": "text/plain"})

    assert [each.status for each in answers] == [400] * len(bodies)
    assert (large.status, plain.status) == (413, 415)
    assert api.env.dependencies.workloads.get(row.id) == row
