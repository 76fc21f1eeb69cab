"""DCM's Validator API: rules of other managers over data that landed here, and nothing else changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from lakegate.base.errors import AccessDenied, ConditionFailed, Throttled
from lakegate.base.json_codec import decode
from lakegate.features.validator_api.validation_run import OtherValidation, WantedValidation, find, observed, start
from lakegate.features.validator_api.wanted_validation import ValidationRule
from lakegate.gate.delivery.advance import invocation_ended
from lakegate.gate.effects import Effect, Steps, run
from lakegate.gate.ports import Address
from lakegate.gate.registry.registry_rows import Publication, Route
from lakegate.gate.sweep import sweep
from lakegate.plan.plan import Plan
from lakegate.plan.request import Request
from lakegate.plan.result import Measured, Measurement, Result, Unreadable
from tests.fakes.identity import ALICE, BOB
from tests.simulation.environment import LAKE, LINE, PREFIX, Environment
from tests.simulation.stage import Fault, Stage, settle
from tests.unit.features.http_api.conftest import Api, Response, signed
from tests.unit.features.http_api.test_access import limited
from tests.unit.features.waivers.test_waiver import rejected
from tests.unit.gate.scenarios import KEY, landed, resumed, swapped

START = "POST /v1/validation/start"
READ = "GET /v1/validation/{workloadId}"
OF_CONTRACT = "/api/v1/data-contract/{id}/v1/validation"
NAME = "64f92252-a20d-45a2-b09c-c61f472a6023"
SIZE = {
    "id": "rows",
    "dimension": "completeness",
    "ruleType": "size",
    "parameter": 2,
    "severity": {"warn": {"tolerance": 0.5}},
}
COMPLETE = {"id": "names", "ruleType": "complete", "columns": ["name"], "parameter": 0.95}
SMALL = 1_000


def stack(env: Environment | None = None, judge: str = "judge") -> Environment:
    """An environment whose stack has a judge function, and one object in landing."""
    env = env or Environment()
    job = replace(env.dependencies.places.job, judge=judge, small=SMALL)
    env.dependencies = replace(env.dependencies, places=replace(env.dependencies.places, job=job))
    return env


def with_upload(body: bytes = b"good:1") -> Environment:
    env = stack()
    env.upload(KEY, body)
    return env


def wanted(path: str = KEY, *rules: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"workloadId": NAME, "validations": rules or [SIZE, COMPLETE], "access": {"path": path}, **changes}


def begun(api: Api, body: object, route: str = START, path: str = "", **more: Any) -> Response:
    return api.call(route, json.dumps(body).encode(), path=path, **more)


def read(api: Api, name: str = NAME, **more: Any) -> Response:
    return api.call(READ, path=name, **more)


def payloads(env: Environment) -> list[dict[str, Any]]:
    """What the judge function was invoked with, each time."""
    runs = env.memory.jobs.runs.values()
    return [json.loads(str(each.request["Payload"])) for each in runs if "Payload" in each.request]


def asked(env: Environment) -> tuple[Request, Plan]:
    """Request and plan of the last invocation."""
    key = payloads(env)[-1]["request"].removeprefix(f"s3://{LAKE}/")
    request = Request.from_bytes(env.memory.objects.read(Address(LAKE, key)))
    return request, Plan.from_bytes(env.memory.objects.read(Address(LAKE, f"plans/{request.plan_digest}.json")))


def answered(env: Environment, **changes: Any) -> None:
    """The result that the judge function writes: three rows, one of them without a name."""
    request, plan = asked(env)
    measured = {"rows": Measured(of=3, number=3.0), "names": Measured(of=3, failing=1)}
    found = Result(
        request.workload,
        request.attempt,
        request.plan_digest,
        request.source_version,
        rows=3,
        engines={"duckdb": "1.5.0"},
        measurements=tuple(Measurement(each.id, measured[each.rule], measured[each.rule]) for each in plan.checks),
    )
    key = f"{request.output_uri.removeprefix(f's3://{LAKE}/')}/result.json"
    env.memory.objects.put(Address(LAKE, key), replace(found, **changes).to_bytes())


def severity(success: bool) -> dict[str, object]:  # noqa: FBT001 - DCM's member
    return {"success": success, "exception_info": {"raised_exception": False, "exception_message": None}}


def test_rules_are_measured_and_answered_in_dcms_form(serve: Callable[[Environment], Api]) -> None:
    """Started, running, then one result for each rule; the pinned version is read by a plan of these rules alone."""
    env = with_upload()
    env.upload(f"{KEY}.old", b"good:2")
    api = serve(env)
    started, running = begun(api, wanted()), read(api)
    request, plan = asked(env)
    answered(env)
    done = read(api)

    assert (started.status, started.body) == (200, {"workloadId": NAME, "status": "OK", "cause": None, "result": []})
    assert running.body == {"workloadId": NAME, "status": "Running", "cause": None, "result": []}
    assert [(each.uri, each.size, each.version) for each in request.parts] == [
        (f"s3://landing/{KEY}", 6, env.uploads[0].version.version)
    ]
    assert [each.rule for each in plan.checks] == ["rows", "names"]
    assert plan.policy.samples is False
    assert done.body == {
        "workloadId": NAME,
        "status": "OK",
        "cause": None,
        "result": [
            {
                "id": "rows",
                "column": None,
                "metric": 3,
                "unit": "rows",
                "failingRows": None,
                "technology": "DuckDB",
                "version": "1.5.0",
                "severity": {"fail": None, "warn": severity(success=True)},
                "success": "pass",
            },
            {
                "id": "names",
                "column": "name",
                "metric": pytest.approx(2 / 3, abs=1e-3),
                "unit": "share",
                "failingRows": 1,
                "technology": "DuckDB",
                "version": "1.5.0",
                "severity": {"fail": severity(success=False), "warn": None},
                "success": "fail",
            },
        ],
    }


def test_nothing_but_the_row_of_the_validation_is_written(serve: Callable[[Environment], Api]) -> None:
    """No workload, message or block; the end of its invocation, and a sweep, change nothing about its result."""
    env, row = rejected()
    api = serve(stack(env))
    before = (dict(env.memory.workloads), dict(env.memory.messages), env.dependencies.ledger.blocks(LINE))
    keys = set(env.lake)
    begun(api, wanted(row.id))
    name = payloads(env)[-1]["workload"]
    answered(env)
    for failed in (False, True):
        run(invocation_ended(env.dependencies, name, 1, failed=failed), env.dependencies.clock)
    run(sweep(env.dependencies), env.dependencies.clock)
    after = (dict(env.memory.workloads), dict(env.memory.messages), env.dependencies.ledger.blocks(LINE))

    assert after == before
    assert {each.partition("/")[0] for each in set(env.lake) - keys} == {"plans", "runs"}
    assert read(api).body["status"] == "OK"


@pytest.mark.parametrize(("body", "folder"), [(b"good:1", "accepted"), (b"bad:1", "quarantine")])
def test_a_finished_delivery_is_read_where_it_is(serve: Callable[[Environment], Api], body: bytes, folder: str) -> None:
    """By the id of its workload, or of a part of it, each object by its version."""
    env, row = rejected(body)
    env.memory.write(row._replace(id="a" * 64, due_at=None, joined=row.id))
    api = serve(stack(env))
    begun(api, wanted(row.id))
    request, _ = asked(env)
    begun(api, wanted("a" * 64, workloadId="other"))

    assert [each.uri.startswith(f"s3://lake/{folder}/{LINE}/") for each in request.parts] == [True]
    assert all(each.version for each in request.parts)
    assert asked(env)[0].parts == request.parts


def test_a_delivery_that_is_being_judged_is_read_in_landing(serve: Callable[[Environment], Api]) -> None:
    """The version that its workload is about."""
    env, row = landed()
    begun(serve(stack(env)), wanted(row.id))

    assert [(each.uri, each.version) for each in asked(env)[0].parts] == [(f"s3://landing/{KEY}", row.source.version)]


def test_a_folder_is_all_of_its_objects(serve: Callable[[Environment], Api]) -> None:
    """Not what lies beside the data, and of each key the current version."""
    env = stack()
    for name in ("a.csv", "b.csv", "b.csv", "_temporary/c.csv"):
        env.upload(f"{PREFIX}{name}", b"good:1")
    begun(serve(env), wanted(PREFIX))

    assert [(each.uri, each.version) for each in asked(env)[0].parts] == [
        (f"s3://landing/{PREFIX}{name}", env.uploads[at].version.version) for name, at in (("a.csv", 0), ("b.csv", 2))
    ]


def test_a_folder_reaches_no_objects_of_another_owner_below_it(serve: Callable[[Environment], Api]) -> None:
    """Of each object its own route counts, as for intake, at any depth; one without a route of its own is of the folder's."""
    env = stack()
    nested = Route("landing", f"{PREFIX}eu/sales/", "sales", "day", 1, "1.0.0", "active", "0" * 64)
    publication = Publication("sales", "1.0.0", "active", "contracts/s", (nested,), plans=(("day", "0" * 64),))
    env.memory.registry.publish(publication)
    for name in ("own.csv", "eu/own.csv", "eu/sales/day.csv", "eu/sales/deep/day.csv", "eu/salesx/own.csv"):
        env.upload(f"{PREFIX}{name}", b"good:1")
    api = serve(env)
    foreign = [begun(api, wanted(f"{PREFIX}eu/sales/{each}"), authorizer=limited("orders")) for each in ("", "day.csv")]
    allowed = begun(api, wanted(PREFIX), authorizer=limited("orders"))

    assert ([each.status for each in foreign], allowed.status) == ([404, 404], 200)
    assert [each.uri.removeprefix(f"s3://landing/{PREFIX}") for each in asked(env)[0].parts] == [
        *("eu/own.csv", "eu/salesx/own.csv", "own.csv")
    ]


def test_a_start_that_is_sent_again_starts_one_run(serve: Callable[[Environment], Api]) -> None:
    """Running, and answered; another caller's validation of the same name is another one."""
    env = with_upload()
    api = serve(env)
    first = begun(api, wanted())
    env.memory.clock.sleep(61)
    second = begun(api, wanted())
    answered(env)
    third = begun(api, wanted())
    once = len(payloads(env))
    begun(api, wanted(), authorizer=signed(BOB))

    assert (first.body, once, len(payloads(env))) == (second.body, 1, 2)
    assert third.body == first.body
    assert read(api, authorizer=signed(BOB)).body["status"] == "Running"
    assert read(api).body["status"] == "OK"


def rule(document: dict[str, Any]) -> ValidationRule:
    return decode(ValidationRule, document, strict=True)


def asking(path: str = KEY, **changes: Any) -> WantedValidation:
    given: dict[str, Any] = {
        "caller": ALICE,
        "name": NAME,
        "rules": (rule(SIZE),),
        "path": path,
        "allows": lambda _: True,
    }
    return WantedValidation(**given | changes)


@pytest.mark.parametrize("stop", range(5))
def test_two_starts_at_once_are_one_run(stop: int) -> None:
    """Whatever the first request has done when the second one comes."""
    env = with_upload()
    steps = start(env.dependencies, asking(), "first")
    call = next(steps)
    for _ in range(stop):
        call = steps.send(call.do())
    second = run(start(env.dependencies, asking(), "second"), env.dependencies.clock)
    try:
        while True:
            try:
                response = call.do()
            except ConditionFailed as refused:
                call = steps.throw(refused)
            else:
                call = steps.send(response)
    except StopIteration as ended:
        first = ended.value

    assert (first.run, len(payloads(env))) == (second.run, 1)


def test_who_is_second_with_other_rules_is_refused() -> None:
    """Also where both were sent at once; what it wrote is not what the first one runs."""
    env = with_upload()
    steps = start(env.dependencies, asking(), "second")
    call = next(steps)
    while call.effect is not Effect.WRITE_REQUEST:
        call = steps.send(call.do())
    run(start(env.dependencies, asking(rules=(rule(COMPLETE),)), "first"), env.dependencies.clock)
    call = steps.send(call.do())
    with pytest.raises(ConditionFailed) as refused:
        call.do()
    with pytest.raises(OtherValidation):
        steps.throw(refused.value)

    assert [each.rule for each in asked(env)[1].checks] == ["names"]
    assert len(payloads(env)) == 1


@pytest.mark.parametrize("done", [3, 4])
def test_an_interrupted_start_is_completed_by_the_next_one(done: int) -> None:
    """Not while the first one may still be at it; the invocation is repeated, and both have one result."""
    env = with_upload()
    steps = start(env.dependencies, asking(), "first")
    call = next(steps)
    for _ in range(done):
        call = steps.send(call.do())
    steps.close()
    again = lambda: run(start(env.dependencies, asking(), "second"), env.dependencies.clock)  # noqa: E731 - used three times
    before = len(payloads(env))
    again()
    waited = len(payloads(env))
    env.memory.clock.sleep(61)
    last = again()
    again()

    assert (before, waited, len(payloads(env))) == (done - 3, done - 3, done - 2)
    assert {each["workload"] for each in payloads(env)} == {last.run}


def test_of_two_who_complete_a_start_one_does() -> None:
    """The lease is taken once."""
    env = with_upload()
    steps = start(env.dependencies, asking(), "first")
    call = next(steps)
    while call.effect is not Effect.VALIDATE:
        call = steps.send(call.do())
    call.do()
    steps.close()
    env.memory.clock.sleep(61)
    slow = start(env.dependencies, asking(), "slow")
    lease = next(slow)
    run(start(env.dependencies, asking(), "quick"), env.dependencies.clock)
    with pytest.raises(ConditionFailed) as refused:
        lease.do()
    with pytest.raises(StopIteration):
        slow.throw(refused.value)

    assert len(payloads(env)) == 1


def test_a_run_that_cannot_be_started_is_started_by_the_next_request(
    serve: Callable[[Environment], Api], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The refusal is answered, and no time has to pass."""
    env = with_upload()
    api = serve(env)
    with monkeypatch.context() as patched:
        patched.setattr(env.memory.jobs, "start", lambda _: (_ for _ in ()).throw(Throttled("Invoke")))
        busy = begun(api, wanted())
    after = begun(api, wanted())

    assert (busy.status, after.status, len(payloads(env))) == (503, 200, 1)


def test_a_validation_that_failed_is_started_anew(serve: Callable[[Environment], Api]) -> None:
    """Without a result at its deadline it is NOK, never OK; a new run has a folder of its own."""
    env = with_upload()
    api = serve(env)
    begun(api, wanted())
    first = asked(env)
    env.memory.clock.sleep(601)
    failed = read(api)
    begun(api, wanted())
    running = read(api)
    second = asked(env)[0]

    assert failed.body == {"workloadId": NAME, "status": "NOK", "cause": "no-answer", "result": []}
    assert running.body["status"] == "Running"
    assert (first[0].workload != second.workload, len(payloads(env))) == (True, 2)


def ended(env: Environment, run_: str = "", *, failed: bool = True, attempt: int = 1) -> Steps[object]:
    """What the event about the end of an invocation carries on: of the last one unless a run is named."""
    name = run_ or payloads(env)[-1]["workload"]
    return invocation_ended(env.dependencies, name, attempt, failed=failed)


def test_a_run_that_failed_is_told_at_once(serve: Callable[[Environment], Api]) -> None:
    """As an attempt of a delivery is; the event again changes nothing, and the validation can be started anew."""
    env = with_upload()
    api = serve(env)
    begun(api, wanted())
    lost = payloads(env)[-1]["workload"]
    states = [read(api).body["status"]]
    for event in (ended(env, failed=False), ended(env, attempt=2), ended(env, "b" * 64)):
        run(event, env.dependencies.clock)
        states.append(read(api).body["status"])
    found = [run(ended(env), env.dependencies.clock) for _ in range(2)]
    told = read(api)
    begun(api, wanted())
    run(ended(env, lost), env.dependencies.clock)
    states.append(read(api).body["status"])
    answered(env)

    assert states == ["Running"] * 5
    assert (found, told.body) == (
        [None, None],
        {"workloadId": NAME, "status": "NOK", "cause": "no-answer", "result": []},
    )
    assert read(api).body["status"] == "OK"


def test_a_result_counts_whatever_became_of_the_run(serve: Callable[[Environment], Api]) -> None:
    """It was written before the function failed, or by the other of two invocations."""
    env = with_upload()
    api = serve(env)
    begun(api, wanted())
    run(ended(env), env.dependencies.clock)
    answered(env)

    assert read(api).body["status"] == "OK"


@pytest.mark.parametrize("first", ["start", "event"])
def test_the_end_of_a_run_is_told_whoever_writes_first(first: str) -> None:
    """Its invocation fails before the request that started it has stored that."""
    env = with_upload()
    steps = start(env.dependencies, asking(), "first")
    call = next(steps)
    while call.effect is not Effect.START_JOB:
        call = steps.send(call.do())
    started = steps.send(call.do())
    event = ended(env)
    if first == "start":
        deadline = next(event)
        run(resumed(steps, started), env.dependencies.clock)
        run(resumed(event, deadline), env.dependencies.clock)
    else:
        run(event, env.dependencies.clock)
        run(resumed(steps, started), env.dependencies.clock)
    known = find(env.dependencies, ALICE, NAME)

    assert known is not None
    assert observed(env.dependencies, known).failed == "no-answer"
    again = run(start(env.dependencies, asking(), "second"), env.dependencies.clock)
    assert (again.run != known.run, len(payloads(env))) == (True, 2)


def test_an_event_that_others_overtake_all_the_time_leaves_it_to_the_deadline(
    serve: Callable[[Environment], Api],
) -> None:
    """It gives up after some tries, without an error."""
    env = with_upload()
    begun(serve(env), wanted())
    event = ended(env)
    next(event)
    for _ in range(4):
        event.throw(ConditionFailed("validation"))
    with pytest.raises(StopIteration):
        event.throw(ConditionFailed("validation"))


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"workload": "b" * 64}, "wrong-result"),
        ({"attempt": 2}, "wrong-result"),
        ({"plan_digest": "b" * 64}, "wrong-result"),
        ({"source_version": "other"}, "wrong-result"),
        ({"does_not_fit": "memory"}, "does-not-fit"),
        ({"unreadable": Unreadable("gzip", "it is no gzip")}, "unreadable"),
    ],
)
def test_a_result_that_is_none_is_a_failure(
    serve: Callable[[Environment], Api], changes: dict[str, Any], cause: str
) -> None:
    """Of another run, of other data, or one that measured nothing."""
    env = with_upload()
    api = serve(env)
    begun(api, wanted())
    answered(env, **changes)

    assert read(api).body == {"workloadId": NAME, "status": "NOK", "cause": cause, "result": []}


def test_a_result_that_cannot_be_read_is_a_failure(serve: Callable[[Environment], Api]) -> None:
    """Nothing of its text is answered."""
    env = with_upload()
    api = serve(env)
    begun(api, wanted())
    request, _ = asked(env)
    env.memory.objects.put(Address(LAKE, f"runs/{request.workload}/attempt=1/result.json"), b"{}")

    assert read(api).body["cause"] == "wrong-result"


def test_a_plan_that_was_exchanged_is_a_defect(serve: Callable[[Environment], Api]) -> None:
    """No result is computed by another plan."""
    env = with_upload()
    api = serve(env)
    begun(api, wanted())
    answered(env)
    swapped(env, f"plans/{asked(env)[0].plan_digest}.json", b"{}")

    assert read(api).status == 500


def test_a_rule_that_could_not_be_measured_says_so(serve: Callable[[Environment], Api]) -> None:
    """Its exception is named, and it is no success."""
    env = with_upload()
    api = serve(env)
    begun(api, wanted(KEY, SIZE))
    _, plan = asked(env)
    answered(env, measurements=(Measurement(plan.checks[0].id, error="the engine refused it"),))
    (result,) = read(api).body["result"]

    assert result["severity"]["warn"]["success"] is False
    assert result["severity"]["warn"]["exception_info"]["raised_exception"] is True
    assert result["success"] == "error"


def test_a_validation_is_forgotten(serve: Callable[[Environment], Api]) -> None:
    """After a week it is not there, also where the table still has the row; its name can be used again."""
    env = with_upload()
    api = serve(env)
    begun(api, wanted())
    env.memory.clock.sleep(7 * 86_400)
    gone = read(api)
    other = begun(api, wanted(KEY, COMPLETE))

    assert (gone.status, other.status, read(api).body["status"]) == (404, 200, "Running")


def test_another_validation_under_the_name_is_refused(serve: Callable[[Environment], Api]) -> None:
    """Other rules, and other data."""
    env = with_upload()
    env.upload(f"{PREFIX}other.csv", b"good:2")
    api = serve(env)
    begun(api, wanted())
    answers = [begun(api, wanted(KEY, SIZE)), begun(api, wanted(f"{PREFIX}other.csv"))]

    assert [(each.status, each.body["type"]) for each in answers] == [
        (409, "urn:lakegate:problem:other-validation")
    ] * 2


def test_data_of_others_is_as_if_it_were_not_there(serve: Callable[[Environment], Api]) -> None:
    """One answer, whether there is none, it belongs to another contract, or no contract covers it."""
    env, row = landed()
    env.upload("elsewhere/day.csv", b"good:1")
    env.upload(f"{PREFIX}_temporary/c.csv", b"good:1")
    deleted = env.upload(f"{PREFIX}gone.csv", b"good:1")
    env.delete(deleted)
    env.memory.write(row._replace(id="b" * 64, pin=None))
    api = serve(stack(env))
    paths = [
        *(
            "elsewhere/day.csv",
            "nowhere",
            f"{PREFIX}none.csv",
            f"{PREFIX}gone.csv",
            f"{PREFIX}_temporary/c.csv",
            "/",
            "*",
        ),
        *("b" * 64, "c" * 64, f"../{KEY}", f"s3://lake/plans/{KEY}", "\ud800", "a\x00b", f"{PREFIX[:-1]}", "accepted/"),
    ]
    absent = [begun(api, wanted(each)) for each in paths]
    foreign = [begun(api, wanted(each), authorizer=limited("shop")) for each in (KEY, row.id, PREFIX)]
    below = begun(api, wanted(), f"POST {OF_CONTRACT}/start", "shop")
    every = [*absent, *foreign, below]

    assert {(each.status, each.body["type"], each.body["detail"]) for each in every} == {
        (404, "urn:lakegate:problem:not-found", "`access.path` names no data that you may have validated.")
    }
    assert payloads(env) == []
    assert env.memory.validations == {}


def test_the_address_may_name_the_contract(serve: Callable[[Environment], Api]) -> None:
    """So that policies of IAM can: what was started is read below its own contract alone, and by its own caller."""
    env = with_upload()
    api = serve(env)
    started = begun(api, wanted(), f"POST {OF_CONTRACT}/start", "orders")

    def status(contract: str, **more: Any) -> int:
        return api.call(f"GET {OF_CONTRACT}/{{workloadId}}", path=f"{contract} / {NAME}", **more).status

    assert started.status == 200
    assert [status("orders"), status("shop"), status("orders", authorizer=signed(BOB))] == [200, 404, 404]
    assert [read(api, authorizer=each).status for each in (signed(), signed(BOB), limited("orders"))] == [200, 404, 404]


def test_what_a_token_may_not_use_any_more_is_not_read(serve: Callable[[Environment], Api]) -> None:
    """The claim holds when it is read, too."""
    env = with_upload()
    api = serve(env)
    begun(api, wanted(), authorizer=limited("orders"))

    assert [read(api, authorizer=limited(each)).status for each in ("orders", "shop")] == [200, 404]


def test_a_stack_without_a_judge_function_says_so(serve: Callable[[Environment], Api]) -> None:
    """In its settings, or because it is gone: nothing is kept that would look started."""
    env = with_upload()
    off = begun(serve(stack(env, judge="")), wanted())
    env.memory.jobs.functions.clear()
    gone = begun(serve(stack(env)), wanted())

    assert {(each.status, each.body["type"]) for each in (off, gone)} == {(400, "urn:lakegate:problem:refused")}
    assert "SmallFileBytes" in off.body["detail"]
    assert off.body["detail"] == gone.body["detail"]


def test_large_data_and_many_objects_are_refused(serve: Callable[[Environment], Api]) -> None:
    """As large as the function takes, one page of objects, and addresses without other meaning."""
    env = stack()
    env.upload(KEY, b"x" * SMALL)
    env.upload(f"{PREFIX}a b.csv", b"good:1")
    for number in range(1_001):
        env.upload(f"{PREFIX}many/{number}", b"x")
    api = serve(env)
    answers = [begun(api, wanted(each)) for each in (KEY, f"{PREFIX}a b.csv", f"{PREFIX}many/")]

    assert [(each.status, each.body["type"]) for each in answers] == [(400, "urn:lakegate:problem:refused")] * 3
    assert [each.body["detail"].partition(":")[0] for each in answers] == [
        "the data has 1,000 bytes",
        "the key of an object has a space, a control character, `#` or `?`",
        "there are too many objects",
    ]
    assert payloads(env) == []


GE = {"technology": "GreatExpectations", "call": "expect_column_values_to_match_strftime_format"}


@pytest.mark.parametrize(
    ("rule", "path", "code"),
    [
        (
            {"id": "a", "ruleType": "min", "columns": ["nope"], "parameter": 0},
            "/validations/0/columns/0",
            "unknown-column",
        ),
        ({"id": "a", "ruleType": "min", "columns": ["name"]}, "/validations/0", None),
        ({"id": "a", "ruleType": "complete", "columns": ["name"], "parameter": 2}, "/validations/0/parameter", None),
        ({"id": "a", "ruleType": "size", "parameter": "many"}, "/validations/0/parameter", None),
        ({"id": "a", "ruleType": "custom", "technology": "Other", "call": "x"}, "/validations/0", "not-measured"),
        ({"id": "a", "ruleType": "custom"}, "/validations/0", None),
        ({"id": "a", "ruleType": "custom", **GE, "columns": ["nope"], "args": {"strftime_format": "%Y"}}, None, None),
        ({"id": "\ud800", "ruleType": "size", "parameter": 1}, None, None),
    ],
)
def test_rules_that_cannot_be_measured_are_refused_with_their_places(
    serve: Callable[[Environment], Api], rule: dict[str, Any], path: str | None, code: str | None
) -> None:
    """Nothing is started, and nothing skipped silently."""
    env = with_upload()
    response = begun(serve(env), wanted(KEY, rule))
    first = response.body["errors"][0]

    assert (response.status, response.body["type"]) == (400, "urn:lakegate:problem:invalid-rules")
    assert path in {None, first["path"]}
    assert code in {None, first["code"]}
    assert payloads(env) == []


def test_two_rules_of_one_id_are_refused(serve: Callable[[Environment], Api]) -> None:
    """It distinguishes results."""
    response = begun(serve(with_upload()), wanted(KEY, SIZE, {**COMPLETE, "id": "rows"}))

    assert [(each["path"], each["code"]) for each in response.body["errors"]] == [
        ("/validations/1/id", "duplicate-rule")
    ]


def test_an_expectation_is_measured(serve: Callable[[Environment], Api]) -> None:
    """A custom rule whose expectation the engine knows, over any declared column."""
    env = with_upload()
    rule = {"id": "a", "ruleType": "custom", **GE, "columns": ["name"], "args": {"strftime_format": "%Y-%m-%d"}}
    response = begun(serve(env), wanted(KEY, rule))

    assert response.status == 200, response.text
    assert [each.fields for each in asked(env)[1].checks] == [("name",)]


NESTED = json.dumps(wanted()).replace(
    '"parameter": 2', '"args": ' + '{"a":' * 900 + "1" + "}" * 900 + ', "parameter": 2'
)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"[]",
        b'"a"',
        b"[" * 100_000,
        json.dumps(wanted(workloadId="")).encode(),
        json.dumps(wanted(workloadId="a b")).encode(),
        json.dumps(wanted(workloadId="\u00e9")).encode(),
        json.dumps(wanted(workloadId="a" * 201)).encode(),
        json.dumps(wanted(validations=[])).encode(),
        json.dumps(wanted(validations=[SIZE] * 201)).encode(),
        json.dumps(wanted("")).encode(),
        json.dumps(wanted("a" * 1_025)).encode(),
        json.dumps(wanted(access={})).encode(),
        json.dumps(wanted(access={"path": KEY, "token": "x"})).encode(),
        json.dumps(wanted(KEY, {**SIZE, "ruleType": "exec"})).encode(),
        json.dumps(wanted(KEY, {**SIZE, "severity": {"fail": {"tolerance": -1}}})).encode(),
        json.dumps(wanted(KEY, SIZE)).replace('"parameter": 2', '"parameter": 0.12345678901234567890').encode(),
        json.dumps(wanted(KEY, SIZE)).replace('"parameter": 2', '"parameter": 1e999').encode(),
        json.dumps(wanted(KEY, SIZE)).replace('"parameter": 2', '"parameter": NaN').encode(),
    ],
)
def test_a_body_that_is_no_validation_is_refused(serve: Callable[[Environment], Api], body: bytes) -> None:
    """Before anything is looked up."""
    env = with_upload()
    response = serve(env).call(START, body)

    assert (response.status, response.body["type"]) == (400, "urn:lakegate:problem:invalid-body")
    assert env.memory.validations == {}


def test_large_and_deep_bodies_are_refused(serve: Callable[[Environment], Api]) -> None:
    """A quarter of a MiB, and as deep as documents are."""
    env = with_upload()
    api = serve(env)
    large, deep = api.call(START, b" " * (256 << 10) + b"{}"), api.call(START, NESTED.encode())

    assert (large.status, large.body["type"]) == (413, "urn:lakegate:problem:too-large")
    assert (deep.status, payloads(env)) == (400, [])


@pytest.mark.parametrize("name", ["", "a b", "\x00", "\ud800", "a" * 201, NAME, "../" + NAME])
def test_what_nobody_started_is_not_there(serve: Callable[[Environment], Api], name: str) -> None:
    """Whatever the name."""
    assert read(serve(stack()), name or " ").status == 404


def test_data_that_may_not_be_listed_is_a_defect(
    serve: Callable[[Environment], Api], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A right that the function lacks is not answered as absent data."""
    env = with_upload()
    monkeypatch.setattr(env.memory.objects, "versions", lambda *_: (_ for _ in ()).throw(AccessDenied("s3")))

    assert begun(serve(env), wanted()).status == 500


def test_a_validation_disturbs_no_delivery(serve: Callable[[Environment], Api]) -> None:
    """What is validated while it is judged comes to the same end."""
    env = with_upload()
    stage = Stage(env, lambda _: Fault.NONE)
    begun(serve(env), wanted())
    answered(env)
    env.memory.jobs.runs = {name: each for name, each in env.memory.jobs.runs.items() if "Payload" not in each.request}
    settle(stage)

    assert [each.state.value for each in env.memory.workloads.values()] == ["PUBLISHED"]
