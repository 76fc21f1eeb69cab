"""Routes over HTTP: the owner of a contract says which prefixes of the landing bucket deliver to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated

from lakegate.base.errors import InputError
from lakegate.base.json_codec import Bounds, encode, omit_default
from lakegate.contract.semantic_versions import major
from lakegate.features.http_api.registry_pages import page_of_registry
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.registry.routes import RouteOwner
from lakegate.library.http_messages import (
    HttpProblem,
    HttpRequest,
    HttpResponse,
    body_of,
    contract_wanted,
    published_contract,
)
from lakegate.library.published_routes import WantedRoute, described_route, folders, publish_route, withdraw_route


def routes(dependencies: Dependencies, request: HttpRequest) -> HttpResponse:
    """GET /api/v1/route: the routes of contracts that the caller may use, one page of the registry."""
    page, cursor = page_of_registry(dependencies, request)
    found = [one for contract in page.contracts for one in contract.routes if request.allows(one.contract)]
    return HttpResponse(200, {"routes": list(map(encode, map(described_route, found))), "cursor": cursor})


def routes_of_contract(dependencies: Dependencies, request: HttpRequest) -> HttpResponse:
    """GET /api/v1/data-contract/{id}/route: those of one contract."""
    found = published_contract(dependencies, request, request.path["id"]).routes
    return HttpResponse(200, {"routes": [encode(described_route(route)) for route in found], "cursor": None})


@dataclass(frozen=True, slots=True)
class RouteBody:
    """What lands below a prefix is to belong to a dataset."""

    prefix: Annotated[str, Bounds(1, 1024)]
    """Folders of the landing bucket."""
    contract: Annotated[str, Bounds(1, 1000)] = omit_default("")
    """Required where the address has none."""
    dataset: Annotated[str, Bounds(None, 1000)] | None = omit_default(None)
    """Required if the contract has several."""
    major: Annotated[int, Bounds(0, 999_999_999)] | None = omit_default(None, "line")
    """The major version; default: the newest."""


def add(dependencies: Dependencies, request: HttpRequest) -> HttpResponse:
    """POST /api/v1/route, POST /api/v1/data-contract/{id}/route: let what lands below a prefix belong to a dataset."""
    body = body_of(request, RouteBody)
    contract, version = contract_wanted(dependencies, request, body.contract)
    seen = published_contract(dependencies, request, contract)
    _refuse_two_people(dependencies)
    number = major(version) if version and body.major is None else body.major
    wanted = WantedRoute(body.prefix, contract, body.dataset, number)
    owner = RouteOwner((*request.own, contract), request.prefixes)
    return HttpResponse(200, encode(publish_route(dependencies, seen, wanted, _agreed(request), owner)))


def remove(dependencies: Dependencies, request: HttpRequest) -> HttpResponse:
    """DELETE /api/v1/route, DELETE /api/v1/data-contract/{id}/route: let nothing below `prefix` be delivered any more."""
    prefix = folders(request.query.get("prefix", ""))
    if prefix == "/":
        raise HttpProblem(400, "invalid-parameter", "`prefix` is missing: the folders of the route.")
    standing = dependencies.registry.routes(dependencies.places.landing, (prefix,))
    contract = request.path.get("id") or next((route.contract for route in standing), "")
    if not any(route.contract == contract and request.allows(contract) for route in standing):
        raise HttpProblem(404, "not-found", "There is no such route.")
    _refuse_two_people(dependencies)
    return HttpResponse(200, encode(withdraw_route(dependencies, prefix, contract)))


def _agreed(request: HttpRequest) -> Callable[[Iterable[str]], None]:
    def agree(effects: Iterable[str]) -> None:
        found = list(effects)
        if found and not request.flag("confirm"):
            detail = "The route has effects that may be unexpected: repeat the request with `confirm=true`."
            raise HttpProblem(409, "confirmation-needed", detail, effects=found, children=[])

    return agree


def _refuse_two_people(dependencies: Dependencies) -> None:
    """Raise InputError where two people publish: the function has no right to change routes by itself."""
    if dependencies.places.needs_approval:
        raise InputError("on this stack routes are changed with rights in the account (lakegate route)")
