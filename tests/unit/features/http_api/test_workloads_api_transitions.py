"""A person's transition of a workload over HTTP: replay and waive, recorded, and only where the state has them."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from lakegate.base.timestamps import moment
from lakegate.features.http_api.api_routes import ROUTES
from lakegate.gate.datasets.pauses import pause
from lakegate.gate.delivery.delivery_row import FailedAttempt, FailureCause, replay_id
from lakegate.gate.delivery.protocol import State
from lakegate.gate.effects import run
from lakegate.gate.ledger.blocks import Record
from lakegate.gate.ports import JobState
from lakegate.gate.sweep import sweep
from lakegate.plan.planned_workflow import PlannedWorkflow
from tests.decisions import replay
from tests.fakes.identity import ALICE, BOB
from tests.simulation.environment import LINE, Environment
from tests.simulation.stage import Fault, Stage, settle
from tests.simulation.workflows import ASKING, DATED, following
from tests.unit.features.http_api.conftest import CONTRACTS, Api, Response, signed
from tests.unit.features.http_api.test_access import limited
from tests.unit.features.waivers.test_waiver import REASON, rejected
from tests.unit.gate.scenarios import KEY, landed

TRANSITION = "POST /api/v1/workload/{id}/transition"
OF_CONTRACT = f"POST {CONTRACTS}/{{id}}/workload/{{workload}}/transition"
WORKLOAD = "GET /api/v1/workload/{id}"
REPLAY: dict[str, str] = {"transition": "replay"}


def asked(api: Api, workload: str, body: object, **more: Any) -> Response:
    return api.call(TRANSITION, json.dumps(body).encode(), path=workload, **more)


def waiver(env: Environment, **changes: str) -> dict[str, str]:
    """The body of a waiver for an hour."""
    expires = moment(env.memory.clock.now() + timedelta(hours=1))
    return {"transition": "waive", "reason": REASON, "expires": expires, **changes}


def records(env: Environment) -> list[tuple[str, str]]:
    return [(each.kind, each.actor) for each in env.dependencies.ledger.blocks(LINE) if isinstance(each, Record)]


def failed() -> tuple[Environment, str]:
    """An environment with a workload that has no verdict."""
    env, row = landed()
    attempt = FailedAttempt(1, "r", FailureCause.NO_RESULT, env.dependencies.now)
    env.memory.write(row._replace(state=State.FAILED, due_at=None, failed=(attempt,)))
    return env, row.id


def swept(env: Environment) -> None:
    """What the next sweeps, and the runs that they start, come to."""
    for _ in range(3):
        run(sweep(env.dependencies), env.dependencies.clock)
        for _, job in env.new_jobs():
            run(job, env.dependencies.clock)
        env.memory.clock.sleep(600)


def test_a_waiver_is_recorded_and_the_next_sweep_accepts(serve: Callable[[Environment], Api]) -> None:
    """By the name of the caller; the answer is the workload that is accepted, and no copy is made in the request."""
    env, row = rejected()
    objects, now = len(env.lake), env.memory.clock.now()
    response = asked(serve(env), row.id, waiver(env))
    made = env.dependencies.workloads.get(replay_id(row.id))
    copied = len(env.lake) - objects
    swept(env)
    after = env.dependencies.workloads.get(made.id)

    assert (response.status, response.body["workloadId"], response.body["status"]) == (200, made.id, "Created")
    assert (made.state, made.due_at, copied) == (State.RECEIVED, now, 0)
    assert made.waiver is not None
    assert (made.waiver.actor, made.waiver.reason, made.waiver.rejected) == (ALICE, REASON, row.id)
    assert records(env) == [("waiver", ALICE)]
    assert (after.state, after.decision and after.decision.verdict) == (State.PUBLISHED, "accepted_with_warnings")


def test_a_rejected_delivery_is_replayed_once(serve: Callable[[Environment], Api]) -> None:
    """A repetition has the same answer and no second record."""
    env, row = rejected(b"bad:1")
    api = serve(env)
    answers = [asked(api, row.id, REPLAY) for _ in range(2)]
    swept(env)

    assert [(each.status, each.body["workloadId"]) for each in answers] == [(200, replay_id(row.id))] * 2
    assert records(env) == [("replay", ALICE)]
    assert env.dependencies.workloads.get(replay_id(row.id)).state is State.QUARANTINED


def test_a_failed_workload_is_judged_again(serve: Callable[[Environment], Api]) -> None:
    """It is due at once, and the request that is sent again finds it under way."""
    env, workload = failed()
    api = serve(env)
    first, second = asked(api, workload, REPLAY), asked(api, workload, REPLAY)
    due = env.dependencies.workloads.get(workload).due_at
    now = env.memory.clock.now()
    swept(env)

    assert [(each.status, each.body["status"]) for each in (first, second)] == [(200, "Created")] * 2
    assert due is not None
    assert due <= now
    assert records(env) == [("replay", ALICE)]
    assert env.dependencies.workloads.get(workload).state is State.PUBLISHED


def test_a_version_is_chosen_for_a_replay(serve: Callable[[Environment], Api]) -> None:
    """One that is published; another one is refused, and so is one of a contract that the caller may not use."""
    env, row = rejected()
    api = serve(env)
    unknown = asked(api, row.id, REPLAY | {"contract": "orders@9.9.9"})
    foreign = asked(api, row.id, REPLAY | {"contract": "shop@1.0.0"}, authorizer=limited("orders"))
    elsewhere = api.call(
        OF_CONTRACT, json.dumps(REPLAY | {"contract": "shop@1.0.0"}).encode(), path=f"orders / {row.id}"
    )
    before = records(env)
    done = asked(api, row.id, REPLAY | {"contract": "orders@1.0.0"}, authorizer=limited("orders"))
    chosen = env.dependencies.workloads.get(replay_id(row.id)).chosen

    assert (unknown.status, unknown.body["type"]) == (400, "urn:lakegate:problem:refused")
    assert [(each.status, each.body["type"]) for each in (foreign, elsewhere)] == [
        (404, "urn:lakegate:problem:not-found")
    ] * 2
    assert (before, done.status, chosen and chosen.version) == ([], 200, "1.0.0")


def problem(response: Response) -> tuple[object, ...]:
    return (
        response.status,
        response.body["type"].rpartition(":")[2],
        response.body["workloadStatus"],
        response.body["transitions"],
    )


def test_a_transition_that_the_state_does_not_have_is_refused_with_those_that_it_has(
    serve: Callable[[Environment], Api],
) -> None:
    """Running and accepted workloads, announced ones, failed ones that cannot be waived."""
    env, row = landed()
    api = serve(env)
    running = asked(api, row.id, waiver(env))
    done, upload = rejected(b"good:1")
    accepted = [asked(serve(done), upload.id, each) for each in (REPLAY, waiver(done))]
    api = serve(env)
    announced = api.call("POST /api/v1/workload", b'"orders"').body["workloadId"]
    waiting = asked(api, announced, REPLAY)
    other, workload = failed()
    unwaived = asked(serve(other), workload, waiver(other))

    assert problem(running) == (409, "illegal-transition", "RuntimeValidationInProgress", ["cancel"])
    assert running.body["detail"] == "A workload that is `RuntimeValidationInProgress` has no transition `waive`."
    assert [problem(each) for each in accepted] == [(409, "illegal-transition", "Accepted", ["recall"])] * 2
    assert problem(waiting) == (409, "illegal-transition", "Created", [])
    assert problem(unwaived) == (409, "illegal-transition", "Failed", ["replay"])
    assert records(env) == records(other) == []


def test_what_no_waiver_is_for_names_the_reason(serve: Callable[[Environment], Api]) -> None:
    """A file that nobody can read may be replayed only."""
    env = Environment()
    upload = env.upload("elsewhere/day.csv", b"good:1")
    settle(Stage(env, lambda _: Fault.NONE))
    response = asked(serve(env), upload.workload, waiver(env))

    assert problem(response) == (409, "illegal-transition", "Rejected", ["replay"])
    assert response.body["detail"] == "A delivery that is rejected as `unrouted` cannot be waived."


def test_what_was_replayed_is_not_waived_and_the_other_way_round(serve: Callable[[Environment], Api]) -> None:
    """The first transition wins; what came of it is another workload."""
    env, row = rejected()
    api = serve(env)
    asked(api, row.id, REPLAY)
    late = asked(api, row.id, waiver(env))
    other, again = rejected()
    api = serve(other)
    twice = [asked(api, again.id, waiver(other)).body["workloadId"] for _ in range(2)]
    undone = asked(api, again.id, REPLAY)

    assert problem(late) == (409, "illegal-transition", "Rejected", ["replay"])
    assert late.body["detail"] == "It was replayed or waived before: what came of that is a workload of its own."
    assert twice == [replay_id(again.id)] * 2
    assert problem(undone) == (409, "illegal-transition", "Rejected", ["waive"])
    assert (records(env), records(other)) == ([("replay", ALICE)], [("waiver", ALICE)])


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        "replay",
        {"transition": "publish"},
        {"transition": "waive"},
        {"transition": "waive", "reason": "r"},
        {"transition": "waive", "reason": "", "expires": "2027-01-31T00:00:00Z"},
        {"transition": "waive", "reason": "r" * 501, "expires": "2027-01-31T00:00:00Z"},
        {"transition": "waive", "reason": "r", "expires": "2027-01-31"},
        {"transition": "waive", "reason": "r", "expires": "2027-13-31T00:00:00Z"},
        {"transition": "waive", "reason": "r", "expires": "2027-01-31T00:00:00Z", "contract": "orders@1.0.0"},
        {"transition": "replay", "reason": "r"},
        {"transition": "replay", "expires": "2027-01-31T00:00:00Z"},
        {"transition": "replay", "contract": ""},
        {"transition": "replay", "actor": BOB},
    ],
)
def test_a_body_that_is_no_transition_is_refused(serve: Callable[[Environment], Api], body: object) -> None:
    """Before anything is recorded; nobody names an actor."""
    env, row = rejected()
    response = asked(serve(env), row.id, body)

    assert (response.status, response.body["type"]) == (400, "urn:lakegate:problem:invalid-body")
    assert records(env) == []


@pytest.mark.parametrize(
    "changes",
    [{"expires": "2001-01-01T00:00:00.5Z"}, {"expires": "9999-12-31T23:59:59Z"}, {"reason": "a\nb"}, {"reason": " "}],
)
def test_a_waiver_that_the_command_would_refuse_is_refused(
    serve: Callable[[Environment], Api], changes: dict[str, str]
) -> None:
    """An end that is past or too far ahead, and a reason that is no line."""
    env, row = rejected()
    response = asked(serve(env), row.id, waiver(env, **changes))

    assert (response.status, response.body["type"]) == (400, "urn:lakegate:problem:refused")
    assert records(env) == []


def test_a_workload_of_another_contract_is_not_there(serve: Callable[[Environment], Api]) -> None:
    """Neither below another contract's address nor for a token that is limited to one; below its own it is."""
    env, row = rejected()
    api = serve(env)
    body = json.dumps(REPLAY).encode()
    refused = [
        asked(api, row.id, REPLAY, authorizer=limited("shop")),
        asked(api, "0" * 64, REPLAY),
        asked(api, "../" + row.id, REPLAY),
        api.call(OF_CONTRACT, body, path=f"shop / {row.id}"),
    ]
    before = records(env)
    done = api.call(OF_CONTRACT, body, path=f"orders / {row.id}", authorizer=signed(BOB))

    assert [each.status for each in refused] == [404] * 4
    assert (before, done.status, records(env)) == ([], 200, [("replay", BOB)])


def test_a_key_belongs_to_one_transition(serve: Callable[[Environment], Api]) -> None:
    """The same request again has the same answer, another one with the key is refused."""
    env, row = rejected()
    api, headers = serve(env), {"idempotency-key": "a"}
    first, again = (asked(api, row.id, REPLAY, headers=headers) for _ in range(2))
    other = asked(api, row.id, waiver(env), headers=headers)

    assert (first.status, first.body) == (again.status, again.body)
    assert (other.status, other.body["type"]) == (422, "urn:lakegate:problem:key-reused")


def test_a_command_at_the_same_time_is_one_replay(serve: Callable[[Environment], Api]) -> None:
    """Who is second gets the workload of who was first."""
    env, row = rejected()
    first = run(replay(env.dependencies, row.id), env.dependencies.clock)
    response = asked(serve(env), row.id, REPLAY, authorizer=signed(BOB))

    assert (response.status, response.body["workloadId"]) == (200, first)
    assert records(env) == [("replay", ALICE)]


def test_who_announces_may_not_waive_by_a_token() -> None:
    """Transitions have a scope of their own."""
    assert [route for route, each in ROUTES.items() if each.scope == "lakegate/operate"] == [TRANSITION, OF_CONTRACT]


def waiting(serve: Callable[[Environment], Api], workflow: PlannedWorkflow = ASKING) -> tuple[Environment, Api, str]:
    """An environment with a delivery that waits for approval, or as its workflow says."""
    with following(workflow):
        env = Environment()
        upload = env.upload(KEY, b"good:1")
        settle(Stage(env, lambda _: Fault.NONE))
    return env, serve(env), upload.workload


def test_an_approval_is_recorded_and_the_next_sweep_publishes(serve: Callable[[Environment], Api]) -> None:
    """By the name of the caller; the request claims and copies nothing, and a repetition has the same answer."""
    env, api, workload = waiting(serve)
    before = api.call(WORKLOAD, path=workload)
    first, again = asked(api, workload, {"transition": "approve"}), asked(api, workload, {"transition": "approve"})
    row, claimed = env.dependencies.workloads.get(workload), dict(env.memory.contents)
    swept(env)
    late = asked(api, workload, {"transition": "decline", "reason": "known"})
    repeated = asked(api, workload, {"transition": "approve"})

    assert (before.body["status"], before.body["verdict"], before.body["result"]["result"]) == (
        "AwaitingApproval",
        None,
        "Running",
    )
    assert [(each.status, each.body["status"]) for each in (first, again)] == [(200, "RuntimeValidationInProgress")] * 2
    assert (row.state, row.answer and row.answer.actor, row.due_at == env.memory.clock.now() or claimed) == (
        State.ANSWERED,
        ALICE,
        {},
    )
    assert records(env) == [("approval", ALICE)]
    assert env.dependencies.workloads.get(workload).state is State.PUBLISHED
    assert (late.status, late.body["workloadStatus"], late.body["transitions"]) == (409, "Accepted", ["recall"])
    assert f"it was approved before, by {ALICE}" in late.body["detail"]
    assert (repeated.status, repeated.body["status"]) == (200, "Accepted")


def test_a_delivery_is_declined_with_a_reason(serve: Callable[[Environment], Api]) -> None:
    """The next sweep rejects it; a reason is needed, and belongs to nothing else."""
    env, api, workload = waiting(serve)
    wrong = [
        asked(api, workload, {"transition": "decline"}),
        asked(api, workload, {"transition": "approve", "reason": "known"}),
        asked(api, workload, {"transition": "decline", "reason": "known", "contract": "orders@1.0.0"}),
        asked(api, workload, {"transition": "decline", "reason": "known", "expires": "2027-01-31T00:00:00Z"}),
        asked(api, workload, {"transition": "decline", "reason": " "}),
    ]
    waived = asked(api, workload, waiver(env))
    response = asked(api, workload, {"transition": "decline", "reason": " known "})
    swept(env)
    row = env.dependencies.workloads.get(workload)

    assert [each.status for each in wrong] == [400] * 5
    assert (waived.status, waived.body["transitions"]) == (409, ["approve", "decline", "cancel"])
    assert (response.status, row.state) == (200, State.QUARANTINED)
    assert row.decision is not None
    assert row.decision.reasons == (f"declined: known (by {ALICE})",)


def test_a_delivery_is_declined_before_its_date(serve: Callable[[Environment], Api]) -> None:
    """Nobody approves it once more; the next sweep rejects what was declined."""
    env, api, workload = waiting(serve, DATED)
    approved = asked(api, workload, {"transition": "approve"})
    declined = asked(api, workload, {"transition": "decline", "reason": "wrong month"})
    swept(env)

    assert (approved.status, approved.body["workloadStatus"], approved.body["transitions"]) == (
        409,
        "Scheduled",
        ["decline", "cancel"],
    )
    assert "No answer can be given: it needs no approval: it is published at" in approved.body["detail"]
    assert (declined.status, env.dependencies.workloads.get(workload).state) == (200, State.QUARANTINED)


def test_a_delivery_is_cancelled_while_its_job_runs(serve: Callable[[Environment], Api]) -> None:
    """The request ends the run and decides; the next sweep moves the data. Repeated, and when it is done, it changes nothing."""
    env, row = landed()
    api, body = serve(env), {"transition": "cancel", "reason": " wrong month "}
    first, again = asked(api, row.id, body), asked(api, row.id, body)
    after, copied = (
        env.dependencies.workloads.get(row.id),
        [each for each in env.lake if each.startswith("quarantine/")],
    )
    swept(env)
    late, end = asked(api, row.id, body), env.dependencies.workloads.get(row.id)

    assert [(each.status, each.body["status"]) for each in (first, again)] == [(200, first.body["status"])] * 2
    assert (after.state, after.due_at, copied) == (State.DECIDED, env.memory.clock.now() - timedelta(seconds=1800), [])
    assert env.memory.jobs.runs[row.run].state is JobState.CANCELLED
    assert records(env) == [("cancellation", ALICE)]
    assert (end.state, end.decision and end.decision.reasons) == (
        State.QUARANTINED,
        (f"cancelled: wrong month (by {ALICE})",),
    )
    assert (late.status, late.body["verdict"]) == (200, "rejected")


def test_what_is_held_is_cancelled_and_what_is_decided_is_not(serve: Callable[[Environment], Api]) -> None:
    """The pause counts it no longer; the reason is needed, and what is over says so."""
    env, body = Environment(), {"transition": "cancel", "reason": "known"}
    run(pause(env.dependencies, LINE, "a reason"), env.dependencies.clock)
    _, row = landed(env=env)
    api = serve(env)
    wrong = asked(api, row.id, {"transition": "cancel"})
    response = asked(api, row.id, body)
    other, rejection = rejected()
    refused = asked(serve(other), rejection.id, body)
    kept = env.memory.pauses[LINE]

    assert (row.state, wrong.status, response.status, kept.held) == (State.HELD, 400, 200, 0)
    assert env.dependencies.workloads.get(row.id).state is State.DECIDED
    assert (refused.status, refused.body["transitions"], refused.body["detail"]) == (
        409,
        ["replay", "waive"],
        "It cannot be cancelled: it is QUARANTINED already.",
    )


def test_an_accepted_delivery_is_recalled_and_restored(serve: Callable[[Environment], Api]) -> None:
    """The record counts at once, the next sweep lists it; repeated, it changes nothing; what was not recalled is not restored."""
    env, row = rejected(b"good:1")
    api, body = serve(env), {"transition": "recall", "reason": " wrong month "}
    early = asked(api, row.id, {"transition": "restore", "reason": "known"})
    first, again = asked(api, row.id, body), asked(api, row.id, body)
    back = asked(api, row.id, {"transition": "restore", "reason": "it was right"})
    wrong = [asked(api, row.id, {"transition": "recall", "reason": reason}) for reason in ("", "a\nb", "x" * 501)]
    other, rejection = rejected()
    refused = asked(serve(other), rejection.id, body)

    assert (early.status, early.body["detail"], early.body["transitions"]) == (409, "It was not recalled.", ["recall"])
    assert [(each.status, each.body["status"]) for each in (first, again, back)] == [(200, "Accepted")] * 3
    assert records(env) == [("recall", ALICE), ("restore", ALICE)]
    assert [each.status for each in wrong] == [400, 400, 400]
    assert (refused.status, refused.body["detail"]) == (
        409,
        "Only an accepted delivery can be recalled, and it is QUARANTINED.",
    )


def test_what_does_not_wait_has_no_answer(serve: Callable[[Environment], Api]) -> None:
    """A rejected delivery is told to be replayed or waived."""
    env, row = rejected()
    refused = asked(serve(env), row.id, {"transition": "approve"})

    assert (refused.status, refused.body["transitions"]) == (409, ["replay", "waive"])
    assert "it does not wait for approval: it is QUARANTINED" in refused.body["detail"]
