"""Routes over HTTP: listed, added and removed by the owner of a contract, and by nobody else."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner

from lakegate.cli.main import app
from lakegate.gate.effects import run
from lakegate.gate.registry.routes import add_route
from tests.simulation.environment import LANDING
from tests.unit.features.http_api.api_server import Server
from tests.unit.features.http_api.conftest import CONTRACTS, Api, Response, document, encoded, signed
from tests.unit.features.http_api.test_contract_owners import token

OF_CONTRACT, ROUTE = f"{CONTRACTS}/{{id}}/route", "/api/v1/route"
SALE, OTHER = (document(**{"id: shop": f"id: {each}"}) for each in ("sale", "other"))
ALL: dict[str, Any] = {"jwt": {"claims": {"iss": "https://i", "sub": "s"}}}


def wanted(
    api: Api, prefix: str, contract: str = "sale", authorizer: dict[str, Any] | None = None, **query: str
) -> Response:
    """A route, by the address of its contract."""
    body = json.dumps({"prefix": prefix}).encode()
    return api.call(f"POST {OF_CONTRACT}", body, path=contract, authorizer=authorizer, query=query)


def prefixes(api: Api, **parts: Any) -> list[str]:
    """Those that are listed."""
    return [each["prefix"] for each in api.call(f"GET {ROUTE}", **parts).body["routes"]]


@pytest.fixture
def two(served: Api) -> Api:
    """A contract `sale`, and one of another owner with the route `secret/`."""
    served.publish(SALE)
    served.publish(OTHER)
    dependencies = served.env.dependencies
    run(add_route(dependencies, "secret/", "other", "orders", 1), dependencies.clock)
    return served


def test_a_route_is_added_listed_and_removed(served: Api) -> None:
    """By the address of the contract, and by the one of all routes; adding twice is once."""
    served.publish(SALE)
    added = wanted(served, "in/sale", authorizer=ALL)
    again = wanted(served, "in/sale/", authorizer=ALL)
    listed = served.call(f"GET {OF_CONTRACT}", path="sale")
    body = json.dumps({"prefix": "in/2", "contract": "sale", "dataset": "orders", "line": 1}).encode()
    other = served.call(f"POST {ROUTE}", body)
    removed = served.call(f"DELETE {OF_CONTRACT}", path="sale", query={"prefix": "in/sale"})
    gone = served.call(f"DELETE {ROUTE}", query={"prefix": "in/sale/"})

    assert (added.status, added.body["prefix"], added.body["line"]) == (200, "in/sale/", "sale/orders_v1")
    assert (added.body["bucket"], added.body["version"], added.body["status"]) == (LANDING, "1.0.0", "active")
    assert again.body == added.body
    assert listed.body == {"routes": [added.body], "cursor": None}
    assert (other.status, removed.body) == (200, added.body)
    assert (gone.status, gone.body["type"]) == (404, "urn:lakegate:problem:not-found")
    assert "in/2/" in prefixes(served)
    assert served.call("POST /api/v1/data-contract/{id}/workload", b'"sale"', path="sale").status == 200


def test_effects_of_a_route_are_confirmed(two: Api) -> None:
    """Whoever may use every contract decides about every prefix, as by the command, and confirms what changes."""
    body = json.dumps({"prefix": "secret/inner/", "contract": "sale"}).encode()
    asked = two.call(f"POST {ROUTE}", body)
    confirmed = two.call(f"POST {ROUTE}", body, query={"confirm": "true"})

    assert (asked.status, asked.body["type"]) == (409, "urn:lakegate:problem:confirmation-needed")
    assert "is delivered to other/orders_v1 by the route secret/" in asked.body["effects"][0]
    assert (confirmed.status, confirmed.body["line"]) == (200, "sale/orders_v1")


LIMITED = {"token": token("sale*"), "IAM, by the address": signed()}
"""Callers who may use `sale` alone."""
TAKEN = ("secret/", "secret/inner/", "sec/../secret/", "", "/", "elsewhere/", "other/in/", "sale-2/", "secret")
"""Prefixes that are not theirs: another's route, below it, no prefix at all, or free ones that nobody gave them."""


@pytest.mark.parametrize("who", LIMITED)
@pytest.mark.parametrize("prefix", TAKEN)
def test_a_limited_caller_adds_no_route_elsewhere(two: Api, who: str, prefix: str) -> None:
    """Neither confirmed nor told whose it is."""
    response = wanted(two, prefix, authorizer=LIMITED[who], confirm="true")

    assert response.status == 400
    assert "other" not in response.text.replace("another", "").replace(f"{prefix!r}", "")
    assert [each.prefix for each in two.env.dependencies.registry.contract("sale").routes] == []


@pytest.mark.parametrize("who", LIMITED)
def test_a_limited_caller_adds_routes_below_its_own(two: Api, who: str) -> None:
    """Below the folder with the name of the contract, and below a route that its owner was given."""
    dependencies = two.env.dependencies
    run(add_route(dependencies, "given/", "sale", "orders", 1), dependencies.clock)
    answers = [wanted(two, each, authorizer=LIMITED[who]) for each in ("sale/", "sale/deep/er", "given/inner/")]

    assert [each.status for each in answers] == [200, 200, 200]


@pytest.mark.parametrize("who", LIMITED)
def test_a_limited_caller_adds_no_route_around_another_owners(two: Api, who: str) -> None:
    """Its own folder has a route of somebody else in it: what that one is for is not taken when it goes."""
    dependencies = two.env.dependencies
    run(add_route(dependencies, "sale/theirs/", "other", "orders", 1), dependencies.clock)
    answers = [wanted(two, each, authorizer=LIMITED[who], confirm="true") for each in ("sale/", "sale/theirs/x/")]

    assert [(each.status, "is not free" in each.body["detail"]) for each in answers] == [(400, True)] * 2
    assert wanted(two, "sale/ours/", authorizer=LIMITED[who]).status == 200


@pytest.mark.parametrize("claim", [["weather/"], ["weather"], "weather/,x", ["x", "weather/se"]])
def test_a_token_names_prefixes(two: Api, claim: object) -> None:
    """By its claim: below these its holder adds routes, and nowhere else, whatever contracts it may use."""
    for contracts in ({}, {"lakegate_contracts": "[sale]"}):
        claims = {"iss": "https://i", "sub": "s", "lakegate_prefixes": "[…]", **contracts}
        written = {"lakegate_prefixes": claim, "lakegate_contracts": ["sale"]}
        parts = {"authorizer": {"jwt": {"claims": claims}}, "headers": {"authorization": f"Bearer {encoded(written)}"}}
        body = [
            json.dumps({"prefix": each, "contract": "sale"}).encode() for each in ("weather/se/", "weatherx/", "z/")
        ]

        assert [two.call(f"POST {ROUTE}", each, **parts).status for each in body] == [200, 400, 400]


def test_routes_of_others_are_neither_listed_nor_removed(two: Api) -> None:
    """As if they did not exist."""
    mine = token("sale*")
    wanted(two, "sale/", authorizer=mine)
    asked = [
        two.call(f"GET {OF_CONTRACT}", path="other", authorizer=mine),
        two.call(f"DELETE {OF_CONTRACT}", path="other", query={"prefix": "secret/"}, authorizer=mine),
        two.call(f"DELETE {OF_CONTRACT}", path="sale", query={"prefix": "secret/"}, authorizer=mine),
        two.call(f"DELETE {OF_CONTRACT}", path="sale", query={"prefix": "secret/"}),
        two.call(f"DELETE {ROUTE}", query={"prefix": "secret/"}, authorizer=mine),
        wanted(two, "other/", "other", mine),
        wanted(two, "nothing/", "nothing", mine),
    ]

    assert prefixes(two, authorizer=mine) == ["sale/"]
    assert [each.status for each in asked] == [404] * len(asked)
    assert "secret/" in prefixes(two)


def test_a_route_that_is_lost_or_wrong_is_refused(served: Api) -> None:
    """A dataset and a line that the contract does not have; no prefix; where two people publish, nothing is changed."""
    served.publish(SALE)
    bodies = [{"dataset": "else"}, {"line": 2}, {"prefix": "/a"}, {"prefix": "a/" * 40}]
    answers = [
        served.call(f"POST {ROUTE}", json.dumps({"prefix": "a/", "contract": "sale", **each}).encode())
        for each in bodies
    ]
    missing = served.call(f"POST {ROUTE}", b'{"prefix": "a/"}')
    another = served.call(f"POST {OF_CONTRACT}", b'{"prefix": "a/", "contract": "b"}', path="sale")

    assert [(each.status, each.body["type"].rpartition(":")[2]) for each in answers] == [(400, "refused")] * 4
    assert (missing.status, another.status) == (400, 400)
    assert served.call(f"DELETE {ROUTE}").status == 400


def test_where_two_people_publish_routes_need_rights_in_the_account(two: Api) -> None:
    """The API's function has no right to change them there."""
    places = replace(two.env.dependencies.places, needs_approval=True)
    two.env.dependencies = replace(two.env.dependencies, places=places)
    body = json.dumps({"prefix": "a/", "contract": "sale"}).encode()
    answers = [two.call(f"POST {ROUTE}", body), two.call(f"DELETE {ROUTE}", query={"prefix": "secret/"})]

    assert [(each.status, "lakegate route" in each.body["detail"]) for each in answers] == [(400, True)] * 2


def ran(server: Server, *arguments: str) -> tuple[int, Any]:
    """Exit code and document of a command with `--api`."""
    ended = CliRunner().invoke(app, [*arguments, "--api", server.url, "--json"])
    printed = "".join(each for each in ended.stdout.splitlines() if '"_aws"' not in each)
    return ended.exit_code, json.loads(printed) if printed else ended.stderr


def test_the_commands_work_through_the_api(server: Server) -> None:
    """`route add`, `list` and `remove` with `--api`: documents are those of the commands with rights in the account."""
    server.authorizer = ALL
    for text in (SALE, OTHER):
        server.api.publish(text)
    added = ran(server, "route", "add", "in", "sale")
    refused = ran(server, "route", "add", "in/x/", "other")
    confirmed = ran(server, "route", "add", "in/x/", "other", "--yes")
    listed = ran(server, "route", "list")
    removed = ran(server, "route", "remove", "in/x", "--contract", "other")
    again = ran(server, "route", "remove", "in/x")

    assert (added[0], added[1]["prefix"], set(added[1])) == (
        0,
        "in/",
        {"bucket", "prefix", "contract", "dataset", "line", "version", "status", "plan"},
    )
    assert (refused[0], confirmed[0], confirmed[1]["line"]) == (1, 0, "other/orders_v1")
    assert [each["prefix"] for each in listed[1]["routes"]][:2] == ["in/", "in/x/"]
    assert removed == (0, confirmed[1])
    assert again[0] == 1
