"""Routes that documents of DCM propose: a wish of the contract's owner, which takes nothing from anybody."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from lakegate.base.extension_points import ROOT
from lakegate.gate.effects import run
from lakegate.gate.registry.routes import add_route
from lakegate.library.published_routes import proposed_prefix
from tests.simulation.environment import Environment
from tests.unit.features.http_api.conftest import CONTRACTS, Api, Response, document, signed
from tests.unit.features.http_api.test_contract_owners import token
from tests.unit.features.http_api.test_routes_api import prefixes

DCM = (ROOT / "contracts/examples/weather.dcm.yaml").read_text()
CONTRACT = "brazil-se-weather-contract-inmet-weather-domain"
PROPOSED = "files/weather/se/"


def published(api: Api, text: str = DCM, authorizer: dict[str, Any] | None = None) -> Response:
    return api.call(f"POST {CONTRACTS}", json.dumps(text).encode(), authorizer=authorizer)


def warned(response: Response) -> str:
    """The warning about the proposed route."""
    found = json.loads(response.headers["lakegate-warnings"])["warnings"]
    return next((each["message"] for each in found if each["code"] == "proposed-route"), "")


def test_what_a_client_registers_can_be_delivered_to(served: Api) -> None:
    """The route that a new contract proposes is added and told; the bare id then announces a workload."""
    response = published(served)
    again = published(served)
    made = served.call("POST /api/v1/workload", json.dumps(response.body).encode())

    assert (response.status, PROPOSED in prefixes(served)) == (200, True)
    assert warned(response) == (
        f"What lands below `{PROPOSED}` is delivered to the contract: the route that it proposes was added."
    )
    assert warned(again) == ""
    assert (made.status, made.body["status"]) == (200, "Created")
    assert made.body["upload"]["key"].startswith(PROPOSED)


@pytest.mark.parametrize("taken", [PROPOSED, "files/", "files/weather/se/2023/"])
@pytest.mark.parametrize("who", [signed(), {"jwt": {"claims": {"iss": "https://i", "sub": "s"}}}])
def test_a_prefix_of_somebody_else_is_never_taken(served: Api, taken: str, who: dict[str, Any]) -> None:
    """Whoever publishes, and wherever the other route lies: above, below, or at the prefix."""
    served.publish(document())
    dependencies = served.env.dependencies
    run(add_route(dependencies, taken, "shop", "orders", 1), dependencies.clock)
    response = published(served, authorizer=who)

    assert response.status == 200
    assert f"proposes `{PROPOSED}`, which was not added" in warned(response)
    assert "shop" not in warned(response)
    assert dependencies.registry.contract(CONTRACT).routes == ()


def test_a_limited_caller_adds_only_prefixes_of_its_own(served: Api) -> None:
    """Not the location of the document, until a token names it; a document without a folder takes that of the contract."""
    limited = token("brazil*")
    response = published(served, authorizer=limited)
    other = (
        DCM.replace("/files/weather/se", "ftp://ec2.example")
        .replace("brazil", "brazil-b")
        .replace("Brazil", "Brazil b")
    )
    own = published(served, other, limited)

    assert (response.status, "is not among your prefixes" in warned(response)) == (200, True)
    assert own.status == 200, own.text
    assert [each for each in prefixes(served) if each.startswith("brazil")] == [f"{own.body.removesuffix('-1.0.0')}/"]


def test_a_route_that_its_owner_removed_stays_removed(served: Api) -> None:
    """By a later version; and where two people publish, no route is added."""
    published(served)
    served.call("DELETE /api/v1/route", query={"prefix": PROPOSED})
    later = published(served, DCM.replace("1.0.0", "1.0.1"))
    places = replace(served.env.dependencies.places, needs_approval=True)
    served.env.dependencies = replace(served.env.dependencies, places=places)

    assert later.status == 200
    assert "only the first version" in warned(later)
    assert PROPOSED not in prefixes(served)


@pytest.mark.parametrize(
    ("location", "prefix"),
    [
        ("/files/weather/se", "files/weather/se/"),
        ("s3://landing/weather/", "weather/"),
        ("s3://landing", "c/"),
        ("s3://other/weather/", "c/"),
        ("ftp://ec2.example.com", "c/"),
        ("https://example.com/in/", "in/"),
        ("http://[", "c/"),
        ("../../secret", "c/"),
        ("a//b", "c/"),
        ("a/./b", "c/"),
        ("a/" * 40, "c/"),
        ("é" * 600, "c/"),
    ],
)
def test_a_location_is_a_prefix_or_the_folder_of_the_contract(location: str, prefix: str) -> None:
    """Hostile ones, too: no folder above, none that the stack ignores, and only what can be a prefix."""
    text = f"specVersion: 0.1.3\nkind: DataContract\naccess: {{eventType: push, location: {json.dumps(location)}}}\n"
    places = Environment().dependencies.places

    assert proposed_prefix(text.encode(), "c", places) == prefix
    assert proposed_prefix(text.replace("push", "pull").encode(), "c", places) == ""
    assert proposed_prefix(text.encode(), "c", replace(places, landing_prefix="in/")).startswith("in/")
    assert proposed_prefix(document().encode(), "shop", places) == ""
