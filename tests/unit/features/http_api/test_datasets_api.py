"""Datasets over HTTP: the kept overview, and of it what the caller may see."""

from __future__ import annotations

from typing import Any

from lakegate.gate.datasets.datasets_overview import keep_overview
from lakegate.gate.effects import run
from lakegate.gate.lake_layout import OVERVIEW
from lakegate.gate.ports import Address
from tests.simulation.environment import LAKE
from tests.unit.features.http_api.conftest import CONTRACTS, Api, document, signed
from tests.unit.features.http_api.test_contract_owners import token

ALL, OF_CONTRACT = "GET /api/v1/dataset", f"GET {CONTRACTS}/{{id}}/dataset"


def kept(api: Api, *contracts: str) -> None:
    for each in contracts:
        api.publish(document(**{"id: shop": f"id: {each}"}))
    run(keep_overview(api.env.dependencies), api.env.dependencies.clock)


def lines(api: Api, route: str = ALL, **parts: Any) -> list[str]:
    return [each["line"] for each in api.call(route, **parts).body["datasets"]]


def test_all_datasets_are_listed_with_what_is_known_of_them(served: Api) -> None:
    """As the last sweep has kept them; a dataset without a delivery has nothing yet."""
    kept(served, "sale", "other")
    found = served.call(ALL).body
    by_name = {each["line"]: each for each in found["datasets"]}

    assert {"other/orders_v1", "sale/orders_v1"} <= set(by_name)
    assert by_name["sale/orders_v1"] == {
        "line": "sale/orders_v1",
        "name": "Shop",
        "owner": None,
        "version": "1.0.0",
        "status": "active",
        "last_accepted": None,
        "due": None,
        "missed": False,
        "verdicts": [],
        "rows": 0,
        "rejected_rows": 0,
        "rejected_share": None,
        "broken_rules": [],
        "causes": [],
        "planned": [],
        "height": -1,
    }


def test_a_caller_sees_datasets_of_own_contracts_alone(served: Api) -> None:
    """By the claim of a token, or by the address, which policies of IAM name; another contract is not there."""
    kept(served, "sale", "other")

    assert lines(served, authorizer=token("sale*")) == ["sale/orders_v1"]
    assert lines(served, OF_CONTRACT, path="sale", authorizer=signed()) == ["sale/orders_v1"]
    assert served.call(OF_CONTRACT, path="other", authorizer=token("sale*")).status == 404
    assert served.call(OF_CONTRACT, path="nobody").status == 404


def test_an_overview_that_no_sweep_has_kept_is_not_found(served: Api) -> None:
    """The response says what writes it."""
    served.env.memory.objects.delete(Address(LAKE, OVERVIEW))
    response = served.call(ALL)

    assert (response.status, response.body["type"]) == (404, "urn:lakegate:problem:not-found")
    assert "the next sweep writes it" in response.body["detail"]
