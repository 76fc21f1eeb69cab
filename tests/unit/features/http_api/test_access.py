"""Who may use which contract: by the address, which policies of IAM name, and by a claim of tokens."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.simulation.environment import Environment
from tests.unit.features.http_api.conftest import CONTRACTS, Api, document
from tests.unit.gate.scenarios import landed

OF_CONTRACT = f"GET {CONTRACTS}/{{id}}/workload/{{workload}}"


def token(**claims: str) -> dict[str, Any]:
    """What API Gateway says of a caller with a token."""
    return {"jwt": {"claims": {"iss": "https://issuer.example", "sub": "s", **claims}, "scopes": []}}


def limited(contracts: str) -> dict[str, Any]:
    return token(lakegate_contracts=contracts)


def put(api: Api, name: str, text: str, **given: Any) -> tuple[int, Any]:
    response = api.call(f"PUT {CONTRACTS}/{{id}}", json.dumps(text).encode(), path=name, **given)
    return response.status, response.body


def test_a_document_is_put_under_its_own_id_alone(served: Api) -> None:
    """So that a policy of IAM that names the address names the contract; nothing else is published."""
    status, problem = put(served, "other", document())

    assert (status, problem["type"]) == (400, "urn:lakegate:problem:invalid-parameter")
    assert served.env.dependencies.registry.contract("shop").versions == ()
    assert put(served, "shop", document()) == (200, "shop")


def test_a_workload_is_read_below_its_own_contract_alone(serve: Callable[[Environment], Api]) -> None:
    """Below another contract it is not there, not even for who knows its id."""
    env, row = landed()
    api = serve(env)
    answers = [api.call(OF_CONTRACT, path=f"{name} / {row.id}").status for name in ("orders", "shop", "order*", "*")]

    assert answers == [200, 404, 404, 404]


@pytest.mark.parametrize(
    ("claim", "allowed"),
    [
        ("shop", True),
        ("other shop", True),
        ("[other shop]", True),
        ("other,shop", True),
        ("sh*", True),
        ("*", True),
        ("", False),
        ("[]", False),
        ("sho", False),
        ("shop.eu", False),
        ("SHOP", False),
        ("s*p", False),
        ("?hop", False),
    ],
)
def test_a_token_may_be_limited_to_contracts(served: Api, claim: str, allowed: bool) -> None:  # noqa: FBT001 - a column
    """Ids, or the beginning of ids and a star: what is not named can neither be read, found nor published."""
    served.publish(document())
    holder = limited(claim)
    read = served.call(f"GET {CONTRACTS}/{{id}}", path="shop", authorizer=holder).status
    found: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = served.call(f"GET {CONTRACTS}", query={"cursor": cursor}, authorizer=holder).body
        found, cursor = [*found, *(each["id"] for each in page["contracts"])], page["cursor"]
    published = put(served, "shop", document("1.0.1"), authorizer=holder)[0]
    posted = served.call(f"POST {CONTRACTS}", json.dumps(document("1.0.2")).encode(), authorizer=holder).status

    assert (read, "shop" in found, published, posted) == ((200, True, 200, 200) if allowed else (404, False, 403, 403))
    assert len(served.env.dependencies.registry.contract("shop").versions) == (3 if allowed else 1)


@pytest.mark.parametrize(("route", "listed"), [(f"GET {CONTRACTS}", "contracts"), ("GET /api/v1/route", "routes")])
def test_cursors_say_nothing_of_contracts_of_others(
    served: Api, monkeypatch: pytest.MonkeyPatch, route: str, listed: str
) -> None:
    """Each page ends at a contract that the token may not see; its cursor is random, and leads on once and again."""
    monkeypatch.setattr("lakegate.gate.registry.registry_store.PAGE_ITEMS", 2)
    for name in ("aa.secret", "shop", "zz.secret", "zz.secret2"):
        served.publish(document(**{"id: shop": f"id: {name}"}))
    cursors: list[str] = []

    def walked() -> list[Any]:
        found, cursor = [], ""
        while cursor is not None:
            page = served.call(route, query={"cursor": cursor} if cursor else {}, authorizer=limited("shop")).body
            cursor = page["cursor"]
            found += page[listed]
            cursors.extend([cursor] if cursor else [])
        return found

    assert walked() == walked()
    assert len(cursors) > 2
    assert len(set(cursors)) == len(cursors)
    for each in cursors:
        assert re.fullmatch("[0-9a-f]{64}", each)
        assert served.call(route, query={"cursor": each}, authorizer=limited("shop")).status == 200


def test_a_limited_token_reads_workloads_of_its_contracts(serve: Callable[[Environment], Api]) -> None:
    """By either address; a workload without a contract is nobody's who is limited."""
    env, row = landed()
    env.memory.write(row._replace(id="b" * 64, pin=None))
    api = serve(env)

    def statuses(claim: dict[str, Any]) -> list[int]:
        plain = [
            api.call("GET /api/v1/workload/{id}", path=name, authorizer=claim).status for name in (row.id, "b" * 64)
        ]
        return [*plain, api.call(OF_CONTRACT, path=f"orders / {row.id}", authorizer=claim).status]

    assert statuses(limited("orders")) == [200, 404, 200]
    assert statuses(limited("shop")) == [404, 404, 404]
    assert statuses(token()) == [200, 200, 200]
