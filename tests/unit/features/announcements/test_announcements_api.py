"""Announced deliveries over HTTP: the summary is judged before anything is sent, and each announcement has one workload."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from lakegate.contract.delivery_policy import DeliveryUnit, Mode, OnReject, Policy
from lakegate.features.announcements.announced_delivery import LARGEST_PUT
from lakegate.gate.datasets.dataset_states import Ending
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.protocol import State
from lakegate.gate.effects import run
from lakegate.gate.registry.routes import add_route
from lakegate.patterns.name_patterns import file_names
from tests.simulation.contract import PLAN
from tests.simulation.environment import LANDING, LINE, PREFIX
from tests.simulation.stage import Fault, Stage, settle
from tests.unit.features.http_api.conftest import Api, Response
from tests.unit.features.http_api.conftest import document as contract

ANNOUNCE, NOTIFY = "POST /api/v1/workload", "POST /api/v1/workload/notify/{id}"
OF_CONTRACT = "POST /api/v1/data-contract/{id}/workload"
SHA = "sha256:" + "A" * 43 + "="
SUMMARY: dict[str, Any] = {"rows": 2, "columns": [{"name": "name", "nulls": 0}, {"name": "amount", "type": "integer"}]}


def body(**members: Any) -> bytes:
    """An announcement of a file to the contract of the simulation."""
    return json.dumps({"contract": "orders", **members}).encode()


def announced(api: Api, **members: Any) -> Response:
    return api.call(ANNOUNCE, body(**members))


def judged_by_file(api: Api, **policy: Any) -> None:
    """From now on the contract rejects whole files, by a policy that has this besides."""
    api.env.publish("1.1.0", "active", replace(PLAN, policy=Policy(on_reject=OnReject.FILE, **policy)))


def take_in(api: Api, key: str) -> None:
    run(intake(api.env.dependencies, LANDING, key), api.env.memory.clock)


def test_a_summary_that_proves_nothing_bad_gets_an_upload_url(served: Api) -> None:
    """Created, with a URL that is bound to key, size and checksum for fifteen minutes."""
    response = announced(served, name="day.csv", size=6, checksum=SHA, summary=SUMMARY)
    workload = response.body["workloadId"]
    key = f"{PREFIX}{workload}/day.csv"

    assert response.status == 200
    assert response.body == {
        "workloadId": workload,
        "deliveryId": None,
        "dataContractId": "orders",
        "dataContractVersion": "1.0.0",
        "status": "Created",
        "verdict": None,
        "result": {"result": "OK", "info": None},
        "upload": {
            "bucket": LANDING,
            "key": key,
            "url": f"https://landing.example/{key}?size=6&sha256={SHA.removeprefix('sha256:')}&seconds=900",
            "method": "PUT",
            "headers": {
                "content-length": "6",
                "if-none-match": "*",
                "x-amz-checksum-sha256": SHA.removeprefix("sha256:"),
            },
            "expiresAt": "2026-01-05T12:15:00.000000Z",
        },
    }


@pytest.mark.parametrize("written", [b'"orders"', b"orders", b" orders\n"])
def test_the_id_of_a_contract_alone_is_an_announcement(served: Api, written: bytes) -> None:
    """As DCM has it, "a plain string": the answer names a key to upload to with rights of one's own, and no URL."""
    response = served.call(ANNOUNCE, written)
    workload = response.body["workloadId"]

    assert response.status == 200
    assert response.body["upload"] == {"bucket": LANDING, "key": f"{PREFIX}{workload}/data.csv"}


def test_an_address_may_name_the_contract(served: Api) -> None:
    """Then the body need not, and may name no other."""
    assert served.call(OF_CONTRACT, b"{}", path="orders").body["dataContractId"] == "orders"
    assert served.call(OF_CONTRACT, b'"orders"', path="orders").status == 200
    refused = served.call(OF_CONTRACT, b'"other"', path="orders")
    assert (refused.status, refused.body["type"]) == (400, "urn:lakegate:problem:invalid-parameter")


def test_a_summary_that_proves_a_violation_is_refused_before_anything_is_sent(served: Api) -> None:
    """Every reason has a stable code, the check, and its position in the request; the refusal is kept with the summary."""
    judged_by_file(served, max_bytes=100)
    columns = [{"name": "name", "nulls": 1}, {"name": "amount", "type": "string"}]
    summary = {"rows": 2, "format": "parquet", "columns": columns}
    response = announced(served, size=101, checksum=SHA, summary=summary)

    assert (response.status, response.body["type"]) == (422, "urn:lakegate:problem:summary-refused")
    assert response.body["errors"] == [
        {
            "code": "size",
            "check": "file/size",
            "path": "/size",
            "message": "the object has 101 bytes, the contract allows 100",
        },
        {
            "code": "readable",
            "check": "file/readable",
            "path": "/summary/format",
            "message": "the contract promises plain CSV",
        },
        {
            "code": "required",
            "check": "name",
            "path": "/summary/columns/0",
            "message": "name: wanted ; measured 1 of 2 rows fails (50 %)",
        },
    ]
    known = served.workload(response.body["workloadId"]).body
    assert (known["status"], known["verdict"], known["result"]["result"]) == ("Rejected", "rejected", "NOK")
    assert known["result"]["info"] == {
        "dataSummary": summary_of(summary),
        "errors": [f"{each['check']}: {each['message']}" for each in response.body["errors"]],
        "results": [],
        "success": "fail",
    }
    assert served.call(NOTIFY, path=response.body["workloadId"]).status == 400


def summary_of(stated: dict[str, Any]) -> dict[str, Any]:
    """The summary as it is shown: every column with its smallest and its largest value, or null."""
    return stated | {"columns": [{"minimum": None, "maximum": None} | each for each in stated["columns"]]}


def test_the_summary_stays_with_the_workload(served: Api) -> None:
    """Until its result, with all that the producer stated but the values of a column that the contract classifies."""
    fields = tuple(
        replace(each, classification="confidential" if each.name == "name" else None) for each in PLAN.fields
    )
    served.env.publish("1.1.0", "active", replace(PLAN, fields=fields))
    columns = [
        {"name": "name", "nulls": 0, "minimum": "carol", "maximum": "zoe"},
        {"name": "amount", "minimum": 1, "maximum": 1},
    ]
    examples = [{"name": "carol", "amount": 1}]
    more = {"size": 6, "shape": [1, 2], "metadata": {"source": "sensor"}, "format": "csv"}
    made = announced(
        served, size=6, checksum=SHA, summary={"rows": 1, "columns": columns, "examples": examples, **more}
    )
    served.env.upload(made.body["upload"]["key"], b"good:1")
    settle(Stage(served.env, lambda _: Fault.NONE))
    after = served.workload(made.body["workloadId"]).body
    shown = {"rows": 1, "columns": [{"name": "name", "nulls": 0}, columns[1]], "examples": [{"amount": 1}], **more}

    assert (made.status, after["status"]) == (200, "Accepted")
    assert after["result"]["info"]["dataSummary"] == summary_of(shown)
    assert "carol" not in str(served.env.memory.announcements[made.body["workloadId"]])


def test_what_lands_beside_an_announcement_has_no_summary(served: Api) -> None:
    """Another name in its folder is another delivery."""
    made = announced(served, summary=SUMMARY).body
    other = served.env.upload(f"{made['upload']['key']}.csv", b"good:1")
    settle(Stage(served.env, lambda _: Fault.NONE))

    assert served.workload(other.workload).body["result"]["info"]["dataSummary"] is None


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"shape": [2, 3]}, "another shape"),
        ({"size": 7}, "another size"),
        ({"examples": [{"name": "a"}] * 3}, "more examples than rows"),
        ({"metadata": {str(at): "x" * 1_000 for at in range(300)}}, "at most 262,144 bytes"),
    ],
)
def test_a_summary_that_contradicts_itself_or_is_too_large_is_refused(
    served: Api, more: dict[str, Any], words: str
) -> None:
    """Before anything is kept."""
    response = announced(served, size=6, checksum=SHA, summary=SUMMARY | more)

    assert (response.status, words in response.body["detail"]) == (400, True)
    assert served.env.memory.announcements == {}


@pytest.mark.parametrize("policy", [{"mode": Mode.OBSERVE}, {}])
def test_a_summary_refuses_nothing_that_the_policy_lets_through(served: Api, policy: dict[str, Any]) -> None:
    """With `mode: observe` rules refuse nothing, with `onReject: rows` only rows."""
    if policy:
        judged_by_file(served, **policy)
    summary = {"rows": 2, "columns": [{"name": "name", "nulls": 1}]}

    assert announced(served, size=1, checksum=SHA, summary=summary).status == 200


def test_a_file_of_another_name_than_the_contract_has_is_refused(served: Api) -> None:
    """Before it is sent where it is announced, else at the door and under every policy; one that fits is judged."""
    judged_by_file(served, file_names=file_names(r"(.*)southeast_\\d{4}.csv"), mode=Mode.OBSERVE)
    refused = [announced(served, name="day.csv"), announced(served, size=6, checksum=SHA)]
    nameless = announced(served).body
    taken = announced(served, name="southeast_2026.csv", size=6, checksum=SHA)
    landed = [served.env.upload(f"{PREFIX}{name}", b"good:1") for name in ("day.csv", "x-southeast_2026.csv")]
    for each in landed:
        take_in(served, each.version.key)
    found = [served.workload(each.workload).body for each in landed]
    rows = [served.env.memory.workloads[each.workload] for each in landed]

    words = r"file/name: the name `day.csv` does not match the pattern `(.*)southeast_\\d{4}.csv` of the contract"
    assert [(each.status, words.partition(" does")[2] in each.body["detail"]) for each in refused] == [(400, True)] * 2
    assert taken.status == 200
    assert nameless["upload"]["key"] == f"{PREFIX}{nameless['workloadId']}/"
    assert [each["status"] for each in found] == ["Rejected", "RuntimeValidationInProgress"]
    assert [each.decision and each.decision.reasons for each in rows] == [(words,), None]


def test_an_announcement_becomes_the_workload_of_what_lands_at_its_key(served: Api) -> None:
    """Under the id of the announcement: Created, then accepted."""
    stage = Stage(served.env, lambda _: Fault.NONE)
    made = announced(served, size=6, checksum=SHA).body
    before = served.workload(made["workloadId"]).body
    upload = served.env.upload(made["upload"]["key"], b"good:1")
    settle(stage)
    after = served.workload(made["workloadId"]).body

    assert before == {name: value for name, value in made.items() if name != "upload"}
    assert (after["workloadId"], after["deliveryId"]) == (made["workloadId"], upload.workload)
    assert after["status"] == "Accepted"
    assert served.workload(upload.workload).body == after | {"workloadId": upload.workload}


def test_an_announcement_that_nothing_landed_for_expires(served: Api) -> None:
    """A day after its URL ended, not before; what lands still later is its delivery all the same."""
    made = announced(served, size=6, checksum=SHA).body
    served.env.memory.clock.sleep(timedelta(minutes=15, days=1).total_seconds() - 1)
    before = served.workload(made["workloadId"]).body
    served.env.memory.clock.sleep(1)
    after = served.workload(made["workloadId"]).body
    late = served.env.upload(made["upload"]["key"], b"good:1")
    take_in(served, late.version.key)
    found = served.workload(made["workloadId"]).body

    assert before["status"] == "Created"
    info = {"dataSummary": None, "errors": ["announcement-expired"], "results": [], "success": "fail"}
    assert after == {**before, "status": "Expired", "result": {"result": "NOK", "info": info}}
    assert (found["deliveryId"], found["status"]) == (late.workload, "RuntimeValidationInProgress")


def test_a_workload_whose_contract_is_not_pinned_belongs_to_the_announced_one(served: Api) -> None:
    """A caller who is limited to the contract follows its announcement through every state, and always reads its contract."""
    made = announced(served).body
    upload = served.env.upload(made["upload"]["key"], b"good:1")
    take_in(served, upload.version.key)
    row = served.env.dependencies.workloads.get(upload.workload)
    served.env.memory.write(row._replace(state=State.RECEIVED, pin=None))
    limited = {"jwt": {"claims": {"iss": "https://i", "sub": "s", "lakegate_contracts": "orders"}}}
    other = {"jwt": {"claims": {"iss": "https://i", "sub": "s", "lakegate_contracts": "other"}}}
    route = "GET /api/v1/workload/{id}"

    answers = []
    for _ in range(2):
        answers.append(served.call(route, path=made["workloadId"], authorizer=limited).body)
        served.env.memory.clock.sleep(3 * 86_400)  # later than the announcement would expire

    del made["upload"]
    running = {"deliveryId": upload.workload, "result": {"result": "Running", "info": None}}
    assert answers == [made | running] * 2
    assert served.call(route, path=made["workloadId"], authorizer=other).status == 404


def test_a_notification_gives_intake_the_hint_that_an_event_gives(served: Api) -> None:
    """Once and twice: one hint each, until the data is taken in. As in DCM, the response says that it is being transferred."""
    made = announced(served).body
    key = made["upload"]["key"]
    upload = served.env.upload(key, b"good:1")
    served.env.inbox.clear()
    answers = [served.call(NOTIFY, path=made["workloadId"]) for _ in range(2)]
    hints = list(served.env.inbox)
    take_in(served, key)
    served.env.inbox.clear()
    late = served.call(NOTIFY, path=made["workloadId"])

    assert [each.body["status"] for each in answers] == ["DataTransferInProgress"] * 2
    assert [each.body["result"] for each in answers] == [{"result": "Running", "info": None}] * 2
    assert (late.body["deliveryId"], late.body["status"]) == (upload.workload, "RuntimeValidationInProgress")
    assert (hints, served.env.inbox) == ([("landed", key)] * 2, [])


def test_a_notification_is_refused_where_nothing_has_landed(served: Api) -> None:
    """DCM: 400. A typing error in the key is found at once, not a day later; what lands beside the key is not the data."""
    made = announced(served).body
    key = made["upload"]["key"]
    served.env.upload(f"{key}.gz", b"good:1")
    served.env.inbox.clear()
    response = served.call(NOTIFY, path=made["workloadId"])

    assert (response.status, response.body["type"]) == (400, "urn:lakegate:problem:refused")
    assert key in response.body["detail"]
    assert served.env.inbox == []
    assert served.workload(made["workloadId"]).body["result"] == {"result": "OK", "info": None}


def test_any_workload_can_be_notified_and_nothing_changes(served: Api) -> None:
    """One that nobody announced is under way already."""
    upload = served.env.upload(f"{PREFIX}day.csv", b"good:1")
    take_in(served, upload.version.key)
    served.env.inbox.clear()
    route = "POST /api/v1/data-contract/{id}/workload/{workload}/notify"

    assert served.call(NOTIFY, path=upload.workload).status == 200
    assert served.call(route, path=f"orders / {upload.workload}").status == 200
    assert served.call(route, path=f"other / {upload.workload}").status == 404
    assert served.env.inbox == []


def test_an_announcement_is_of_a_contract_that_the_caller_may_use(served: Api) -> None:
    """Another one does not exist for it, nor do its announcements."""
    other = {"jwt": {"claims": {"iss": "https://i", "sub": "s", "lakegate_contracts": "other"}}}
    made = announced(served).body

    assert served.call(ANNOUNCE, body(), authorizer=other).status == 404
    assert served.call(NOTIFY, path=made["workloadId"], authorizer=other).status == 404
    assert announced(served, contract="unknown").status == 404


def test_a_second_version_at_the_key_is_a_workload_of_its_own(served: Api) -> None:
    """The announcement stays linked to the first one."""
    made = announced(served).body
    key = made["upload"]["key"]
    first = served.env.upload(key, b"good:1")
    take_in(served, key)
    second = served.env.upload(key, b"good:2")
    take_in(served, key)

    assert served.workload(made["workloadId"]).body["deliveryId"] == first.workload
    assert served.workload(second.workload).status == 200


def test_a_key_that_only_looks_announced_is_a_key_like_any_other(served: Api) -> None:
    """A producer cannot make links by choosing folders, nor for another key of an announcement."""
    made = announced(served).body
    for key in (f"{PREFIX}{'0' * 64}/data.csv", f"{PREFIX}{made['workloadId']}/other.csv"):
        take_in(served, served.env.upload(key, b"good:1").version.key)

    assert served.workload("0" * 64).status == 404
    assert served.workload(made["workloadId"]).body["deliveryId"] is None


def test_what_a_contract_lacks_for_deliveries_is_told_to_who_may_use_it(served: Api) -> None:
    """A route; of several folders of its dataset the first is taken. Others hear what is true of any id."""
    served.publish(contract())
    dependencies = served.env.dependencies
    other = {"jwt": {"claims": {"iss": "https://i", "sub": "s", "lakegate_contracts": "other"}}}
    routeless = announced(served, contract="shop")
    hidden = served.call(ANNOUNCE, body(contract="shop"), authorizer=other)
    for prefix in ("a/", "b/"):
        run(add_route(dependencies, prefix, "shop", "orders", 1), dependencies.clock)
    several = announced(served, contract="shop")
    chosen = announced(served, contract="shop", prefix="b/")

    assert (routeless.status, "its owner adds a route" in routeless.body["detail"]) == (404, True)
    assert (hidden.status, hidden.body) == (404, announced(served, contract="unknown").body)
    assert [each.body["upload"]["key"].partition("/")[0] for each in (several, chosen)] == ["a", "b"]


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"dataset": "else"}, "no such dataset"),
        ({"prefix": "else/"}, "no such dataset"),
        ({"name": "x.crc"}, "ignores"),
        ({"summary": {"rows": 1, "columns": [{"name": "a"}, {"name": "a"}]}}, "twice"),
        ({"summary": {"rows": 1, "columns": [{"name": "a", "nulls": 2}]}}, "more nulls than rows"),
    ],
)
def test_what_cannot_be_announced_is_refused(served: Api, members: dict[str, Any], reason: str) -> None:
    """With what to do instead."""
    response = announced(served, **members)

    assert (response.status, response.body["type"], reason in response.body["detail"]) == (
        400,
        "urn:lakegate:problem:refused",
        True,
    )


def test_a_file_that_one_request_cannot_carry_is_refused_where_its_size_is(served: Api) -> None:
    """The largest one is announced; of a larger one the refusal names the size, and the ways that remain."""
    largest = announced(served, size=LARGEST_PUT, checksum=SHA)
    refused = announced(served, size=LARGEST_PUT + 1, checksum=SHA)

    assert largest.status == 200
    assert (refused.status, refused.body["type"], "in parts" in refused.body["detail"]) == (
        400,
        "urn:lakegate:problem:refused",
        True,
    )
    assert refused.body["errors"] == [{"path": "/size", "message": "one upload URL takes 5,368,709,120 bytes"}]


def test_a_delivery_of_several_objects_cannot_be_announced(served: Api) -> None:
    """Its parts are uploaded as always."""
    judged_by_file(served, delivery=DeliveryUnit.SUCCESS)

    assert "several objects" in announced(served).body["detail"]


def test_a_retired_contract_takes_no_announcement(served: Api) -> None:
    """As the door would refuse the data."""
    served.env.publish("1.0.0", "retired")
    refused = announced(served).body["detail"]
    line = served.env.memory.datasets.get(LINE)
    served.env.memory.datasets.write(replace(line, ending=Ending(replacement="orders/lines_v2")))
    named = announced(served).body["detail"]

    assert refused == "nothing can be delivered: contract-retired."
    assert named == "nothing can be delivered: contract-retired, line-replaced: deliver to orders/lines_v2."


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ([], ""),
        ({"size": 1}, ""),
        ({"name": "../x"}, "/name"),
        ({"name": "a/b"}, "/name"),
        ({"name": "a\n"}, "/name"),
        ({"checksum": f"{SHA}\n", "size": 6}, "/checksum"),
        ({"checksum": "sha256:00", "size": 1}, "/checksum"),
        ({"size": 1.0, "checksum": SHA}, "/size"),
        ({"else": 1}, "/else"),
        ({"contract": ""}, "/contract"),
        ({"summary": {"rows": 1}}, "/summary"),
        ({"summary": {"rows": -1, "columns": []}}, "/summary/rows"),
        ({"summary": {"rows": 1, "columns": [{"name": "a", "type": "uuid"}]}}, "/summary/columns/0/type"),
        ({"summary": {"rows": 1, "columns": [{}] * 2_001}}, "/summary/columns"),
    ],
)
def test_a_body_of_another_form_is_located(served: Api, document: Any, path: str) -> None:
    """By JSON Pointer and the requirement, without the text of the body."""
    response = served.call(OF_CONTRACT, json.dumps(document).encode(), path="orders")

    assert (response.status, response.body["type"]) == (400, "urn:lakegate:problem:invalid-body")
    assert path in [each["path"] for each in response.body["errors"]]


def test_all_mistakes_of_a_body_are_located_at_once(served: Api) -> None:
    """Of nested objects, too; at most twenty."""
    columns = [{"name": "a", "minimum": []}, {"nam": "b"}]
    response = served.call(ANNOUNCE, json.dumps({"name": "a/b", "summary": {"columns": columns}, "else": 1}).encode())
    many = served.call(ANNOUNCE, json.dumps({"summary": {"rows": 1, "columns": [{}] * 1_000}}).encode())

    assert response.body["errors"] == [
        {"path": "/name", "message": 'must fit pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"'},
        {
            "path": "/summary/columns/0/minimum",
            "message": 'must fit type: ["boolean", "integer", "number", "string"]',
        },
        {"path": "/summary/columns/1/nam", "message": "There is no such member. Did you mean `name`?"},
        {"path": "/summary/columns/1", "message": 'must fit required: ["name"]'},
        {"path": "/summary", "message": 'must fit required: ["rows"]'},
        {"path": "/else", "message": "There is no such member."},
    ]
    assert len(many.body["errors"]) == 20


def test_an_announcement_without_a_contract_is_refused(served: Api) -> None:
    """Where the address names none."""
    assert served.call(ANNOUNCE, b"{}").body["detail"] == "`contract` is missing."


@pytest.mark.parametrize("text", [b"", b"{", b"NaN", b'{"size": NaN}', b"[" * 100_000, b"\xff"])
def test_a_body_that_is_no_json_is_refused(served: Api, text: bytes) -> None:
    """Whatever its bytes."""
    response = served.call(ANNOUNCE, text)

    assert (response.status, response.body["type"]) == (400, "urn:lakegate:problem:invalid-body")


@pytest.mark.parametrize(
    "members", [{"metadata": {"by": "\ud800"}}, {"metadata": {"\udfff": "x"}}, {"examples": [{"amount": "\ud800x"}]}]
)
def test_half_a_pair_of_surrogates_is_no_text(served: Api, members: dict[str, Any]) -> None:
    """The refusal is the caller's, and no error of the function."""
    answer = announced(served, summary={"rows": 1, "columns": [{"name": "amount"}, {"name": "name"}], **members})

    assert (answer.status, answer.body["type"]) == (400, "urn:lakegate:problem:refused")
    assert announced(served, summary={"rows": 1, "columns": [], "metadata": {"by": "\U0001f600"}}).status == 200


def test_a_number_without_end_is_no_work(served: Api) -> None:
    """An exponent of a producer's is never written out."""
    columns = b'[{"name": "amount", "minimum": 1e999999999, "maximum": -1e-999999999}]'
    text = b'{"contract": "orders", "summary": {"rows": 1, "columns": ' + columns + b"}}"

    assert served.call(ANNOUNCE, text).status == 200


def test_an_announcement_is_json(served: Api) -> None:
    """Another content type is not read."""
    assert served.call(ANNOUNCE, body(), headers={"content-type": "application/yaml"}).status == 415
