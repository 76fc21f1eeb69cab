"""Workloads over HTTP: DCM's representation in every state."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from lakegate.contract.contract_model import Severity
from lakegate.features.http_api import workloads_api
from lakegate.gate.delivery.delivery_row import FailedAttempt, FailureCause
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.protocol import State
from lakegate.gate.effects import run
from lakegate.library.http_messages import STATUSES
from lakegate.plan.check import NONE, Check, Interval, Tier, Unit
from lakegate.plan.metrics import Metric
from lakegate.report.dcm_results import severity_of
from lakegate.verdict.check_status import CheckOutcome, Status
from tests.simulation.environment import LANDING, PREFIX, Environment
from tests.simulation.stage import Fault, Stage, settle
from tests.unit.features.http_api.conftest import Api
from tests.unit.gate.scenarios import landed, swapped


def settled(body: bytes) -> tuple[Environment, str]:
    """An environment in which one upload has come to its end."""
    env = Environment()
    upload = env.upload(f"{PREFIX}day.csv", body)
    settle(Stage(env, lambda _: Fault.NONE))
    return env, upload.workload


def both(kept: bool | None, exception: dict[str, Any] | None = None) -> dict[str, Any]:  # noqa: FBT001 - DCM's member
    return {"success": kept, "exceptionInfoModel": exception}


def test_a_running_workload_has_no_result_yet(serve: Callable[[Environment], Api]) -> None:
    """Status and `Running`, without information."""
    env, row = landed()
    response = serve(env).workload(row.id)

    assert response.status == 200
    assert response.body == {
        "workloadId": row.id,
        "deliveryId": row.id,
        "dataContractId": "orders",
        "dataContractVersion": "1.0.0",
        "status": "RuntimeValidationInProgress",
        "verdict": None,
        "result": {"result": "Running", "info": None},
    }


def test_an_accepted_workload_has_the_result_of_every_rule(serve: Callable[[Environment], Api]) -> None:
    """`OK`, with rule, column, metric and severities."""
    env, workload = settled(b"good:1")
    body = serve(env).workload(workload).body

    assert (body["status"], body["verdict"], body["result"]["result"]) == ("Accepted", "accepted", "OK")
    assert body["result"]["info"] == {
        "dataSummary": None,
        "errors": [],
        "results": [
            {
                "id": "name",
                "column": "name",
                "metric": 0,
                "unit": "rows",
                "failingRows": 0,
                "technology": "DuckDB",
                "version": "2.0.0",
                "severity": {"fail": both(True), "warn": None},
                "success": "pass",
            },
            {
                "id": "amount",
                "column": "amount",
                "metric": 0,
                "unit": "value",
                "failingRows": None,
                "technology": "DuckDB",
                "version": "2.0.0",
                "severity": {"fail": both(True), "warn": None},
                "success": "pass",
            },
        ],
        "success": "pass",
    }


def test_a_rejected_workload_names_the_rules_that_it_breaks(serve: Callable[[Environment], Api]) -> None:
    """`NOK`: the measured number, and false for the severity that is broken; the reasons, first why no row is published."""
    env, workload = settled(b"bad:1")
    body = serve(env).workload(workload).body
    info = body["result"]["info"]

    assert (body["status"], body["result"]["result"], info["success"]) == ("Rejected", "NOK", "fail")
    assert [(each["id"], each["metric"], each["severity"]["fail"]["success"]) for each in info["results"]] == [
        ("name", 1, False),
        ("amount", 2, False),
    ]
    assert [each.partition(":")[0] for each in info["errors"]] == ["file/whole", "name", "amount"]


def test_an_acceptance_with_warnings_says_so(serve: Callable[[Environment], Api]) -> None:
    """`WARNING` with the success `warn`: rows were kept out."""
    env, workload = settled(b"split:1")
    body = serve(env).workload(workload).body

    assert (body["status"], body["verdict"]) == ("Accepted", "accepted_with_warnings")
    assert (body["result"]["result"], body["result"]["info"]["success"]) == ("WARNING", "warn")


def test_repeated_content_names_the_workload_that_brought_it(serve: Callable[[Environment], Api]) -> None:
    """The reason is a sentence: a producer who repeats an upload after a lost response finds what became of the first one."""
    env = Environment()
    uploads = [env.upload(f"{PREFIX}{name}.csv", b"good:1") for name in ("day", "again")]
    settle(Stage(env, lambda _: Fault.NONE))
    bodies = {each.workload: serve(env).workload(each.workload).body for each in uploads}
    (first,) = (name for name, each in bodies.items() if each["status"] == "Accepted")
    (second,) = (each for each in bodies.values() if each["status"] == "Rejected")

    assert second["result"]["result"] == "NOK"
    assert second["result"]["info"]["errors"] == [
        f"duplicate-content: the very same content was accepted before, as workload {first}"
    ]


def test_a_refusal_at_the_door_has_reasons_and_no_results(serve: Callable[[Environment], Api]) -> None:
    """Nothing was measured."""
    env, workload = settled(b"%PDF")
    body = serve(env).workload(workload).body

    assert (body["status"], body["result"]["result"]) == ("Rejected", "NOK")
    assert body["result"]["info"]["results"] == []
    assert len(body["result"]["info"]["errors"]) == 1


def test_a_workload_that_failed_names_the_cause(serve: Callable[[Environment], Api]) -> None:
    """It is neither accepted nor rejected."""
    env, row = landed()
    attempt = FailedAttempt(1, "r", FailureCause.NO_RESULT, env.dependencies.now)
    env.memory.write(row._replace(state=State.FAILED, due_at=None, failed=(attempt,)))
    body = serve(env).workload(row.id).body

    assert (body["status"], body["verdict"], body["result"]["result"]) == ("Failed", None, "NOK")
    assert body["result"]["info"]["errors"] == ["no-result"]


def test_an_upload_that_could_not_be_read_names_the_cause(serve: Callable[[Environment], Api]) -> None:
    """It failed before a contract was found for it."""
    env, row = landed()
    attempt = FailedAttempt(0, "", FailureCause.ACCESS_DENIED, env.dependencies.now)
    env.memory.write(row._replace(state=State.FAILED, due_at=None, pin=None, failed=(attempt,)))
    body = serve(env).workload(row.id).body

    assert (body["status"], body["dataContractId"]) == ("Failed", None)
    assert body["result"]["info"]["errors"] == ["access-denied"]


def test_a_part_is_answered_with_its_delivery(serve: Callable[[Environment], Api]) -> None:
    """What a part of a delivery of several objects became is what the delivery became."""
    env, row = landed()
    env.memory.write(row._replace(id="a" * 64, state=State.JOINED, due_at=None, joined=row.id))

    found = serve(env).workload("a" * 64).body

    assert (found["workloadId"], found["deliveryId"]) == ("a" * 64, row.id)


def test_a_result_that_was_exchanged_is_not_shown(serve: Callable[[Environment], Api]) -> None:
    """500 without any of its text: the result is not the one that was decided on."""
    env, workload = settled(b"good:1")
    swapped(env, f"runs/{workload}/attempt=1/result.json", b"{}")
    response = serve(env).workload(workload)

    assert (response.status, response.body["type"]) == (500, "urn:lakegate:problem:internal")


def test_every_state_has_a_status() -> None:
    """DCM's words where it has one."""
    assert set(STATUSES) == set(State)


TOLERATED = Tier(Interval(high=Decimal(5)))
ONE, TWO = None, TOLERATED


@pytest.mark.parametrize(
    ("tolerate", "worst", "status", "fail", "warn"),
    [
        (ONE, Severity.FAIL, Status.PASS, both(True), None),
        (ONE, Severity.FAIL, Status.FAIL, both(False), None),
        (ONE, Severity.FAIL, Status.WARN, both(True), both(False)),
        (ONE, Severity.WARN, Status.PASS, None, both(True)),
        (ONE, Severity.WARN, Status.WARN, None, both(False)),
        (TWO, Severity.FAIL, Status.PASS, both(True), both(True)),
        (TWO, Severity.FAIL, Status.WARN, both(True), both(False)),
        (TWO, Severity.FAIL, Status.FAIL, both(False), both(False)),
    ],
)
def test_severities_are_those_of_the_rule(
    tolerate: Tier | None, worst: Severity, status: Status, fail: dict[str, Any] | None, warn: dict[str, Any] | None
) -> None:
    """A rule without a tolerance has one severity; with one, DCM's `fail` and `warn`."""
    check = Check("a", "a", "sum", ("a",), Metric.SUM, Unit.VALUE, Tier(NONE), tolerate, worst)
    outcome = CheckOutcome("a", "a", "sum", ("a",), status, "", "", None, "m")

    assert severity_of(check, outcome) == {"fail": fail, "warn": warn}


@pytest.mark.parametrize(("status", "raised", "kept"), [(Status.ERROR, True, False), (Status.SKIP, False, None)])
def test_what_was_not_measured_has_an_exception(status: Status, raised: bool, kept: bool | None) -> None:  # noqa: FBT001 - a case
    """An error is a failure, a skip is neither; both say why."""
    check = Check("a", "a", "sum", ("a",), Metric.SUM, Unit.VALUE, Tier(NONE))
    outcome = CheckOutcome("a", "a", "sum", ("a",), status, "", "", None, "why")
    exception = {"raisedException": raised, "exceptionMessage": "why"}

    assert severity_of(check, outcome) == {"fail": both(kept, exception), "warn": None}


OF_CONTRACT = "GET /api/v1/data-contract/{id}/workload"


def test_the_deliveries_to_a_contract_are_listed_by_page(
    serve: Callable[[Environment], Api], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Open and failed ones first, then the newest of each dataset; every one is listed once, under the id of its announcement."""
    monkeypatch.setattr(workloads_api, "PAGE", 3)
    env = Environment()
    api, stage = serve(env), Stage(env, lambda _: Fault.NONE)
    made = api.call("POST /api/v1/workload", b'"orders"').body
    keys = [made["upload"]["key"], *(f"{PREFIX}{each}.csv" for each in range(6))]
    for at, key in enumerate(keys):
        env.upload(key, b"good:%d" % at if at % 2 else b"bad:%d" % at)
        settle(stage)
    running = env.upload(f"{PREFIX}now.csv", b"good:9")
    run(intake(env.dependencies, LANDING, running.version.key), env.memory.clock)
    pages, cursor = [], {}
    while True:
        page = api.call("GET /api/v1/workload", query={"dataContractId": "orders", **cursor}).body
        pages.append(page["workloads"])
        if page["cursor"] is None:
            break
        cursor = {"cursor": page["cursor"]}
    listed = [each for page in pages for each in page]
    first = api.call(OF_CONTRACT, path="orders").body["workloads"]

    assert len(pages) == 3
    assert first == pages[0]
    assert [each["status"] for each in listed].count("Accepted") + 5 == len(listed) == 8
    assert (listed[0]["workloadId"], listed[0]["result"]["result"]) == (running.workload, "Running")
    assert listed[-1]["workloadId"] == made["workloadId"] != listed[-1]["deliveryId"]
    assert len({each["deliveryId"] for each in listed}) == 8
    for each in listed:
        own = api.workload(each["workloadId"]).body
        assert own | {"result": {**own["result"], "info": None}} == each


def test_the_deliveries_to_one_dataset_are_listed(serve: Callable[[Environment], Api]) -> None:
    """A dataset of the contract, by its whole name; one that it does not have is refused."""
    env, workload = settled(b"good:1")
    api = serve(env)
    name = {"dataContractId": "orders"}
    new_row = api.call("GET /api/v1/workload", query={**name, "line": "orders/lines_v1"})
    unknown = [
        api.call("GET /api/v1/workload", query={**name, "line": line}) for line in ("", "orders/x_v1", "other/lines_v1")
    ]

    assert [each["deliveryId"] for each in new_row.body["workloads"]] == [workload]
    assert api.call(OF_CONTRACT, path="orders", query={"line": "orders/lines_v1"}).body == new_row.body
    assert [each.status for each in unknown] == [404, 404, 404]


def test_a_failed_delivery_is_listed(serve: Callable[[Environment], Api]) -> None:
    """It has no block, and is due no more."""
    env, row = landed()
    attempt = FailedAttempt(1, "r", FailureCause.NO_RESULT, env.dependencies.now)
    env.memory.write(row._replace(state=State.FAILED, due_at=None, failed=(attempt,)))
    api = serve(env)

    assert [
        (each["deliveryId"], each["status"]) for each in api.call(OF_CONTRACT, path="orders").body["workloads"]
    ] == [(row.id, "Failed")]


def test_deliveries_are_listed_of_contracts_that_the_caller_may_use(serve: Callable[[Environment], Api]) -> None:
    """Others do not exist; a cursor of something else is refused."""
    env, _ = settled(b"good:1")
    api = serve(env)
    other = {"jwt": {"claims": {"iss": "https://i", "sub": "s", "lakegate_contracts": "other"}}}
    asked = [
        api.call(OF_CONTRACT, path="orders", authorizer=other),
        api.call("GET /api/v1/workload", query={"dataContractId": "orders"}, authorizer=other),
        api.call(OF_CONTRACT, path="unknown"),
        api.call("GET /api/v1/workload"),
        api.call(OF_CONTRACT, path="orders", query={"cursor": "b3JkZXJz"}),
        api.call(OF_CONTRACT, path="orders", query={"cursor": "b3RoZXIvbGluZXNfdjEKNQ"}),
    ]

    assert [each.status for each in asked] == [404, 404, 404, 400, 400, 200]
    assert {each["dataContractId"] for each in asked[-1].body["workloads"]} <= {"orders"}


WITHOUT_DATASETS = "apiVersion: v3.1.0\nkind: DataContract\nid: plain\nversion: 1.0.0\nstatus: draft\nname: Plain\n"


def test_a_contract_without_datasets_has_an_empty_list(serve: Callable[[Environment], Api]) -> None:
    """A draft may have no schema yet."""
    api = serve(Environment())
    assert api.publish(WITHOUT_DATASETS).status == 200

    assert api.call(OF_CONTRACT, path="plain").body == {"workloads": [], "cursor": None}
