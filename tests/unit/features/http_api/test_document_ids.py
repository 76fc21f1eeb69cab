"""DCM's id of a contract ends in the version: versions of its documents are one contract, by whichever id it is named."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from lakegate.base.errors import InputError
from lakegate.base.extension_points import ROOT
from lakegate.contract.contract_model import split_release
from lakegate.features.http_api.api_routes import ROUTES
from lakegate.gate.datasets.dataset_names import dataset_named, datasets_fitting
from lakegate.gate.registry.named_contract import chosen
from tests.fakes.identity import ALICE
from tests.unit.features.http_api.conftest import CONTRACTS, Api, document

CONTRACT = "brazil-se-weather-contract-inmet-weather-domain"
ID = f"{CONTRACT}-1.0.0"
FIRST = (ROOT / "contracts/examples/weather.dcm.yaml").read_text()
DESCRIPTION = "Contract to ingest hourly weather data"
OF_CONTRACT = "POST /api/v1/data-contract/{id}/workload"


def weather(version: str, **changes: str) -> str:
    """Appendix A with another number, and with the id of it."""
    text = FIRST.replace(f"id: {ID}", f"id: {CONTRACT}-{version}").replace("version: 1.0.0", f"version: {version}", 1)
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return text


def token(*contracts: str, scopes: Sequence[str] = ("lakegate/publish", "lakegate/read")) -> dict[str, Any]:
    claims = {"iss": "https://issuer.example", "sub": "a", "lakegate_contracts": f"[{' '.join(contracts)}]"}
    return {"jwt": {"claims": claims, "scopes": list(scopes)}}


@pytest.fixture
def api(served: Api) -> Api:
    """An API with two versions of the thesis's contract, and the route that its location proposes."""
    assert served.publish(FIRST).body == ID
    assert served.publish(weather("1.0.1", **{DESCRIPTION: "Hourly weather"})).body == f"{CONTRACT}-1.0.1"
    return served


def test_another_description_is_a_patch_and_routes_follow(api: Api) -> None:
    """Both are versions of one contract, on one line."""
    snapshot = api.env.dependencies.registry.contract(CONTRACT)

    assert [each.version for each in snapshot.versions] == ["1.0.0", "1.0.1"]
    assert [(each.full_name, each.version) for each in snapshot.routes] == [(f"{CONTRACT}/weather_record_v1", "1.0.1")]
    assert [
        (each["id"], each["version"]) for each in api.find().body["contracts"] if each["id"].startswith(CONTRACT)
    ] == [(f"{CONTRACT}-1.0.1", "1.0.1")]


def test_a_breaking_version_needs_a_major_number(api: Api) -> None:
    """It is compared with the version before it, though the ids in the documents differ."""
    without = "    - {name: elev, dataType: number, description: elev}\n"
    response = api.publish(weather("1.1.0", **{without: "", ", elev]": "]"}))

    assert (response.status, response.body["type"]) == (409, "urn:lakegate:problem:incompatible-version")
    assert response.body["comparison"]["sufficient"] == "2.0.0"


@pytest.mark.parametrize(
    ("name", "version", "status", "found"),
    [
        (CONTRACT, None, 200, "1.0.1"),
        (CONTRACT, "1.0.0", 200, "1.0.0"),
        (ID, None, 200, "1.0.0"),
        (ID, "1.0.0", 200, "1.0.0"),
        (ID, "1.0.1", 404, None),
        (f"{CONTRACT}-1.0.1", None, 200, "1.0.1"),
        (f"{CONTRACT}-1.0.2", None, 404, None),
        (f"{CONTRACT}-", None, 404, None),
    ],
)
def test_a_document_is_read_by_its_id_and_by_its_contract(
    api: Api, name: str, version: str | None, status: int, found: str | None
) -> None:
    """The id of a version leads to that one; that of a version that is not published to none."""
    response = api.contract(name, **({"version": version} if version else {}))

    assert response.status == status
    assert response.body.get("version") == found
    assert found is None or response.body["id"] == f"{CONTRACT}-{found}"
    assert found is None or response.body["content"].startswith("# Appendix A")


@pytest.mark.parametrize("name", [CONTRACT, ID, f"{CONTRACT}-1.0.1"])
def test_a_delivery_is_announced_by_either_id(api: Api, name: str) -> None:
    """It is judged by the version of its line that is in force, which the response names."""
    holder = token(CONTRACT, scopes=["lakegate/deliver", "lakegate/read"])
    by_body = api.call("POST /api/v1/workload", json.dumps(name).encode())
    by_address = api.call(OF_CONTRACT, b"{}", path=name, authorizer=holder)
    both = api.call(OF_CONTRACT, json.dumps({"contract": CONTRACT}).encode(), path=name, authorizer=holder)

    for response in (by_body, by_address, both):
        assert response.status == 200
        assert response.body["dataContractId"] == f"{CONTRACT}-1.0.1"
        assert response.body["dataContractVersion"] == "1.0.1"
        assert response.body["upload"]["key"].startswith("files/weather/se/")
        assert api.workload(response.body["workloadId"]).body["dataContractId"] == f"{CONTRACT}-1.0.1"
        place = f"{name} / {response.body['workloadId']}"
        one = api.call(f"GET {CONTRACTS}/{{id}}/workload/{{workload}}", path=place, authorizer=holder)
        assert one.status == 200


@pytest.mark.parametrize("name", [f"{CONTRACT}-1.2.0", f"{CONTRACT}-2.0.0", "shop-1.0.0"])
def test_the_id_of_a_version_that_is_not_published_is_no_contract(api: Api, name: str) -> None:
    """Neither is the id of a contract of another format with a number behind it."""
    api.publish(document())
    answers = [api.call("POST /api/v1/workload", json.dumps(name).encode()), api.call(OF_CONTRACT, b"{}", path=name)]

    assert [each.status for each in answers] == [404, 404]
    assert api.contract(name).status == 404


def test_a_version_of_another_major_number_has_routes_of_its_own(api: Api) -> None:
    """The id of 2.0.0 does not announce to the line of 1.0.1."""
    without = "    - {name: elev, dataType: number, description: elev}\n"
    assert api.publish(weather("2.0.0", **{without: "", ", elev]": "]"}), confirm="true").status == 200

    assert api.call("POST /api/v1/workload", json.dumps(f"{CONTRACT}-2.0.0").encode()).status == 404
    assert api.call("POST /api/v1/workload", json.dumps(ID).encode()).status == 200


def test_who_may_write_to_an_address_may_write_to_that_contract_alone(served: Api) -> None:
    """By IAM the address is what a policy names: `sales-…` is not the contract `sales` of another owner."""
    first = FIRST.replace(ID, "sales-1.0.0")
    second = first.replace("1.0.0", "1.1.0")
    put = f"PUT {CONTRACTS}/{{id}}"
    assert served.publish(first).status == 200
    for address in ("sales-1.0.0", "sales-1.1.0"):
        refused = served.call(put, json.dumps(second).encode(), path=address)
        assert (refused.status, refused.body["type"]) == (400, "urn:lakegate:problem:invalid-parameter")
        assert "`sales`" in refused.body["detail"]

    assert [each.version for each in served.env.dependencies.registry.contract("sales").versions] == ["1.0.0"]
    assert served.call(put, json.dumps(second).encode(), path="sales").status == 200


OF_CONTRACTS = [each for each in ROUTES if "/data-contract/{id}/" in each]


@pytest.mark.parametrize("route", OF_CONTRACTS)
def test_by_iam_the_address_of_a_version_reaches_nothing_of_the_contract(api: Api, route: str) -> None:
    """A policy for `sales-*` also fits the address `sales-1.0.0`: it leads to nothing of the contract `sales`."""
    path = " / ".join([ID, *["a" * 64] * (route.count("{") - 1)])
    answered = api.call(route, b"{}", path=path)
    document_ = api.contract(ID)

    assert (answered.status, answered.body["detail"]) == (
        404,
        "By IAM, whose policies name contracts, the address has the id of the contract, without the version.",
    )
    assert document_.status == 200


def test_by_iam_the_address_of_a_version_changes_nothing(api: Api) -> None:
    """Neither routes; a token, whose claim names the contract, may use either address."""
    route = "POST /api/v1/data-contract/{id}/route"
    body = json.dumps({"prefix": f"{CONTRACT}/"}).encode()
    own = token(CONTRACT)

    assert api.call(route, body, path=ID).status == 404
    assert api.call(route, body, path=CONTRACT).status == 200
    assert api.call(f"GET {CONTRACTS}/{{id}}/route", path=ID).status == 404
    assert api.call(f"GET {CONTRACTS}/{{id}}/route", path=ID, authorizer=own).status == 200
    assert api.call(route, body, path=ID, authorizer=own).status == 200
    by_body = json.dumps({"prefix": "third-in/", "contract": ID}).encode()
    assert api.call("POST /api/v1/route", by_body).body["line"] == f"{CONTRACT}/weather_record_v1"


def test_a_token_names_contracts_without_the_number(served: Api) -> None:
    """What names the beginning `sales-` does not name the contract `sales`, whose versions are `sales-…` in documents."""
    body = json.dumps(FIRST).encode()
    for claims, status in (([f"{CONTRACT}-*"], 403), ([ID], 403), ([CONTRACT], 200)):
        assert served.call(f"POST {CONTRACTS}", body, authorizer=token(*claims)).status == status
    read = f"GET {CONTRACTS}/{{id}}"

    assert served.call(read, path=ID, authorizer=token(f"{CONTRACT}-*")).status == 404
    assert served.call(read, path=ID, authorizer=token(CONTRACT)).status == 200


def test_no_contract_of_any_format_has_the_id_of_a_version(api: Api) -> None:
    """It would be found in the place of the version that has this id in its document."""
    response = api.publish(document(**{"id: shop": f"id: {CONTRACT}-1.0.0"}))

    assert (response.status, [each["code"] for each in response.body["errors"]]) == (400, ["versioned-id"])


def test_commands_name_a_version_by_its_id(api: Api) -> None:
    """`show`, `withdraw`, `route add`; no other version may be given beside it, and an abbreviation is none."""
    snapshot = api.env.dependencies.registry.snapshot()

    assert chosen(snapshot, ID).version == "1.0.0"
    assert chosen(snapshot, ID, "1.0.0").version == "1.0.0"
    assert chosen(snapshot, CONTRACT).version == "1.0.1"
    for name, version in ((ID, "1.0.1"), (f"{CONTRACT}-1.0.9", None), (ID[:-1], None)):
        with pytest.raises(InputError, match="no such contract is published"):
            chosen(snapshot, name, version)


def test_commands_name_lines_by_the_id_of_a_version(api: Api) -> None:
    """`status --contract`, `log`: those of its major number, alone and before a dataset."""
    dependencies, line = api.env.dependencies, f"{CONTRACT}/weather_record_v1"

    assert dataset_named(dependencies, ID) == line
    assert dataset_named(dependencies, f"{ID}/weather_record") == line
    assert dataset_named(dependencies, f"{ID}/weather_record_v1") == line
    assert datasets_fitting(dependencies, f"{CONTRACT}-1.0.1") == {line}
    for name in (f"{CONTRACT}-3.0.0", f"{ID}/weather_record_v2"):
        with pytest.raises(InputError, match="is not a dataset"):
            dataset_named(dependencies, name)


def test_publishing_by_the_id_is_recorded_for_the_contract(api: Api) -> None:
    """The ledger has one chain for all versions."""
    records = api.env.memory.ledger.blocks(f"_contracts/{CONTRACT}", -1)

    assert len(records) == 2
    assert {each.actor for each in records} >= {ALICE}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("shop-1.0.0", ("shop", "1.0.0")),
        ("a-1.0.0-2.0.0", ("a-1.0.0", "2.0.0")),
        ("shop", None),
        ("-1.0.0", None),
        ("1.0.0", None),
        ("shop-1.0", None),
        ("shop-1.0.0-rc.1", None),
        ("shop-1.0.0\n", None),
        ("kafka-2.8.0-topics", None),
    ],
)
def test_a_name_ends_in_a_release_or_not(name: str, expected: tuple[str, str] | None) -> None:
    """Contract and version."""
    assert split_release(name) == expected
