"""The interactions that the thesis draws, call by call, with its own contract (Appendix A) and nothing that its calls lack.

3.7 a push: registered, created, notified, polled to the end. 3.8 a contract is parsed before it is registered. 3.10 and 3.13
a validation is started, and polled. 3.11 the notification returns before the checks have run.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lakegate.base.extension_points import ROOT
from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.effects import run
from lakegate.gate.lake_layout import attempt_prefix
from lakegate.gate.ports import Address
from lakegate.plan.plan import Plan
from tests.deliveries.delivery import measure_natively, request_for
from tests.simulation.environment import LAKE, LANDING, Environment, Upload
from tests.unit.features.http_api.conftest import CONTRACTS, Api, document

CONTRACT = "brazil-se-weather-contract-inmet-weather-domain"
ID = f"{CONTRACT}-1.0.0"
PATTERN = r"(.*)southeast_\\d{4}.csv"
TEXT = (ROOT / "contracts/examples/weather.dcm.yaml").read_text().replace("'(.*).csv'", f"'{PATTERN}'")
"""Appendix A with its pattern, as printed."""
FOLDER = "files/weather/se/"
WORKLOAD = "POST /api/v1/workload"
NOTIFY = "POST /api/v1/workload/notify/{id}"
COLUMNS = tuple(each.partition(",")[0] for each in TEXT.partition("schema:")[2].split("{name: ")[1:28])
OWNER = {"iss": "https://issuer.example", "sub": "manager"}
MANAGER = {"jwt": {"claims": OWNER, "scopes": ["lakegate/publish", "lakegate/read", "lakegate/deliver"]}}


def registered(api: Api, text: str = TEXT) -> Any:
    """The document as a plain string."""
    return api.call(f"POST {CONTRACTS}", json.dumps(text).encode())


def created(api: Api, identity: str = ID) -> Any:
    """The id as the whole body."""
    return api.call(WORKLOAD, json.dumps(identity).encode())


def rows(state: str) -> bytes:
    """Two hours of a station."""
    texts = {"date": "2020-01-01", "region": "SE", "state": state, "station": "x", "station_code": "A1"}
    lines = (
        ",".join({**texts, "index": str(each), "hour": f"0{each}:00"}.get(name, "1") for name in COLUMNS)
        for each in (1, 2)
    )
    return "".join(f"{line}\n" for line in (",".join(COLUMNS), *lines)).encode()


def finished(env: Environment, upload: Upload, folder: Path) -> None:
    """Taken in, measured by the native engine, and decided."""
    run(intake(env.dependencies, LANDING, upload.version.key), env.dependencies.clock)
    row = env.dependencies.workloads.get(upload.workload)
    assert row.pin is not None
    plan = Plan.from_json(json.loads(env.dependencies.plan(row)))
    measured = measure_natively(request_for(plan, folder, upload.body), plan)
    found = replace(measured, workload=row.id, attempt=row.attempt, source_version=row.source.version)
    place = Address(LAKE, f"{attempt_prefix(row.id, row.attempt)}/result.json")
    env.memory.objects.put(place, found.to_bytes())
    run(advance(DeliveryTurn(env.dependencies, row)), env.dependencies.clock)


@pytest.mark.parametrize(("state", "result"), [("SP", "OK"), ("ZZ", "NOK")])
def test_a_push_from_registration_to_the_end(served: Api, tmp_path: Path, state: str, result: str) -> None:
    """3.7, 3.8 and 3.11: the workload that `POST /workload` created is the one that is notified, and polled to the end."""
    contract = registered(served)
    described = served.contract(contract.body)
    made = created(served, contract.body).body
    identity = made["workloadId"]
    early = served.call(NOTIFY, path=identity)
    key = f"{made['upload']['key']}southeast_2020.csv"
    upload = served.env.upload(key, rows(state))
    notified = served.call(NOTIFY, path=identity).body
    finished(served.env, upload, tmp_path)
    polled = served.workload(identity).body

    assert (contract.status, contract.body) == (200, ID)
    assert {name: described.body[name] for name in ("id", "version", "content")} == {
        "id": ID,
        "version": "1.0.0",
        "content": TEXT,
    }
    assert made["upload"] == {"bucket": LANDING, "key": f"{FOLDER}{identity}/"}
    assert (made["dataContractId"], made["status"], made["result"]) == (ID, "Created", {"result": "OK", "info": None})
    assert (early.status, early.body["type"]) == (400, "urn:lakegate:problem:refused")
    assert (notified["workloadId"], notified["status"], notified["result"]) == (
        identity,
        "DataTransferInProgress",
        {"result": "Running", "info": None},
    )
    assert (polled["workloadId"], polled["dataContractId"], polled["result"]["result"]) == (identity, ID, result)
    assert ("allowed_states_rule" in json.dumps(polled["result"]["info"]["errors"])) == (result == "NOK")


def test_the_name_is_judged_when_the_object_lands(served: Api) -> None:
    """Another one is rejected by the contract's pattern, and is still what was announced."""
    registered(served)
    made = created(served).body
    key = f"{made['upload']['key']}north_2020.csv"
    served.env.upload(key, b"index,date\n")
    run(intake(served.env.dependencies, LANDING, key), served.env.dependencies.clock)
    polled = served.workload(made["workloadId"]).body

    assert polled["workloadId"] == made["workloadId"]
    assert polled["result"]["result"] == "NOK"
    assert "does not match the pattern" in polled["result"]["info"]["errors"][0]


def test_a_contract_with_errors_is_not_registered(served: Api) -> None:
    """3.8: 400 with what is wrong; nothing is created for it."""
    refused = registered(served, TEXT.replace("type: unique", "type: unheard-of"))

    assert (refused.status, refused.body["type"]) == (400, "urn:lakegate:problem:invalid-contract")
    assert [served.contract(ID).status, created(served).status] == [404, 404]


def test_the_plain_call_has_an_answer_after_a_second_route(served: Api) -> None:
    """Both folders are of one dataset; the first in the order of their names is taken, and each may be named."""
    registered(served)
    route = f"POST {CONTRACTS}/{{id}}/route"
    added = served.call(route, json.dumps({"prefix": f"{CONTRACT}/"}).encode(), path=ID, authorizer=MANAGER)
    plain = [created(served).body["upload"]["key"] for _ in range(2)]
    named = served.call(WORKLOAD, json.dumps({"contract": ID, "prefix": FOLDER}).encode()).body["upload"]["key"]

    assert added.status == 200
    assert {each[: len(CONTRACT) + 1] for each in plain} == {f"{CONTRACT}/"}
    assert named.startswith(FOLDER)


def test_a_registration_without_a_route_says_so_in_its_body(served: Api) -> None:
    """The folder that it proposes is another contract's; with a route of its own, added under the id of the answer, it works."""
    registered(served)
    other = "other-contract-1.0.0"
    answered = registered(served, TEXT.replace(ID, other))
    before = created(served, other)
    route = f"POST {CONTRACTS}/{{id}}/route"
    body = json.dumps({"prefix": "other/"}).encode()
    added = served.call(route, body, path=answered.body["id"], authorizer=MANAGER)

    assert answered.status == 200
    assert {name: answered.body[name] for name in ("id", "routes")} == {"id": other, "routes": []}
    (warning,) = [each for each in answered.body["warnings"] if each["code"] == "proposed-route"]
    assert warning["message"].startswith("No route delivers to the contract.")
    assert (before.status, before.body["type"]) == (404, "urn:lakegate:problem:not-found")
    assert added.status == 200
    assert created(served, other).status == 200


def test_a_validation_is_started_and_polled(serve: Callable[[Environment], Api]) -> None:
    """3.10 and 3.13, with the body of the thesis: started at once, and without results until they are there."""
    env = Environment()
    job = replace(env.dependencies.places.job, judge="judge", small=1_000)
    env.dependencies = replace(env.dependencies, places=replace(env.dependencies.places, job=job))
    api = serve(env)
    registered(api)
    env.upload(f"{FOLDER}trips_data/southeast_2020.csv", b"index,state\n1,SP\n")
    severity = {"warn": {"tolerance": 0.1}, "fail": {"tolerance": 0.15}}
    size = {"id": "row_size_rule_id", "dimension": "completeness", "ruleType": "size", "parameter": 10000}
    values = {"id": "allowed_values_id", "dimension": "validity", "ruleType": "allowedValues", "columns": ["state"]}
    body = {
        "workloadId": "64f92252-a20d-45a2-b09c-c61f472a6023",
        "validations": [size | {"severity": severity}, values | {"parameter": ["SP", "RJ", "MG", "ES"]}],
        "access": {"path": f"{FOLDER}trips_data/"},
    }
    started = api.call("POST /v1/validation/start", json.dumps(body).encode())
    polled = api.call("GET /v1/validation/{workloadId}", path=body["workloadId"])

    assert started.status == 200
    assert started.body == {"workloadId": body["workloadId"], "status": "OK", "cause": None, "result": []}
    assert polled.status == 200
    assert (polled.body["workloadId"], polled.body["result"]) == (body["workloadId"], [])


def test_a_contract_of_another_format_keeps_its_answer(served: Api) -> None:
    """It proposes no route, and its id is the body."""
    assert registered(served, document()).body == "shop"
