"""All routes of the HTTP API: each is a route of the template, with what answers it and what it answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from lakegate.base.extension_points import load_extensions
from lakegate.features.http_api.contracts_api import contract, contracts, publish, retire
from lakegate.features.http_api.datasets_api import datasets
from lakegate.features.http_api.routes_api import RouteBody, add, remove, routes, routes_of_contract
from lakegate.features.http_api.workloads_api import transition, workload, workloads
from lakegate.gate.person_decisions import PERSON_DECISIONS, WantedDecision
from lakegate.library.http_messages import OPERATE, PUBLISH, READ, Endpoint, HttpProblem, HttpRequest

*OTHERS, LAST = PERSON_DECISIONS


def _of_features() -> dict[str, Endpoint]:
    """Those of the extension point `http routes`: of each feature its own."""
    tables: Iterator[Mapping[str, Endpoint]] = load_extensions("http routes")
    return {route: endpoint for table in tables for route, endpoint in table.items()}


PUBLISH_CONTRACT: Final = Endpoint(
    "publishContract",
    publish,
    PUBLISH,
    "Lint, compile and publish a contract document",
    {200: "Published", 202: "Proposal"},
    (400, 403, 409, 413, 415),
    query=("from",),
    flags=("confirm", "allowUnmeasured", "details"),
    takes=str,
)
READ_WORKLOAD: Final = Endpoint(
    "readWorkload",
    workload,
    READ,
    "Read status and result of a delivery",
    {200: "Workload"},
    (404,),
    flags=("details",),
)
FIND_WORKLOADS: Final = Endpoint(
    "findWorkloads",
    workloads,
    READ,
    "List the deliveries to a contract: those that are not finished, then the newest of each dataset first",
    {200: "WorkloadPage"},
    (404,),
    query=("dataContractId", "line", "cursor"),
    flags=("details",),
)
TRANSITION: Final = Endpoint(
    "transitionWorkload",
    transition,
    OPERATE,
    f"{', '.join(OTHERS)} or {LAST} a delivery".capitalize(),
    {200: "Workload"},
    (400, 404, 409, 413, 415),
    flags=("details",),
    takes=WantedDecision,
)
ADD_ROUTE: Final = Endpoint(
    "addRoute",
    add,
    PUBLISH,
    "Let what lands below a prefix belong to a dataset",
    {200: "Route"},
    (404, 409, 413, 415),
    flags=("confirm",),
    takes=RouteBody,
)
REMOVE_ROUTE: Final = Endpoint(
    "removeRoute",
    remove,
    PUBLISH,
    "Let what lands below a prefix belong to nobody",
    {200: "Route"},
    (404,),
    query=("prefix",),
)

FIND_DATASETS: Final = Endpoint(
    "findDatasets",
    datasets,
    READ,
    "All datasets: owner, last accepted, due, newest verdicts, rejected rows, what is open and planned",
    {200: "DatasetsOverview"},
    (404,),
)

ROUTES: Final[Mapping[str, Endpoint]] = {
    "POST /api/v1/data-contract": PUBLISH_CONTRACT,
    "PUT /api/v1/data-contract/{id}": replace(
        PUBLISH_CONTRACT, name="putContract", summary="The same for a document of one contract"
    ),
    "GET /api/v1/data-contract": Endpoint(
        "findContracts",
        contracts,
        READ,
        "Find contracts by their labels",
        {200: "ContractPage"},
        (400,),
        query=("tag", "producer", "consumer", "cursor"),
        flags=("details",),
    ),
    "GET /api/v1/data-contract/{id}": Endpoint(
        "readContract",
        contract,
        READ,
        "Read a contract",
        {200: "Contract"},
        (404,),
        query=("version",),
        flags=("details", "inUse"),
    ),
    "GET /api/v1/data-contract/{id}/workload/{workload}": READ_WORKLOAD.of_contract(
        "The same for a delivery to one contract"
    ),
    "DELETE /api/v1/data-contract/{id}": Endpoint(
        "retireContract",
        retire,
        PUBLISH,
        "Begin the end of a contract: its datasets are deprecated, later in sunset, and after that retired; nothing is deleted",
        {200: "Retirement"},
        (404, 409),
        query=("reason", "replacement"),
        flags=("confirm",),
    ),
    "GET /api/v1/workload": FIND_WORKLOADS,
    "GET /api/v1/data-contract/{id}/workload": FIND_WORKLOADS.of_contract(
        "The same by the address of the contract", query=("line", "cursor")
    ),
    "GET /api/v1/workload/{id}": READ_WORKLOAD,
    "POST /api/v1/workload/{id}/transition": TRANSITION,
    "POST /api/v1/data-contract/{id}/workload/{workload}/transition": TRANSITION.of_contract(
        "The same for a delivery to one contract"
    ),
    "GET /api/v1/dataset": FIND_DATASETS,
    "GET /api/v1/data-contract/{id}/dataset": FIND_DATASETS.of_contract("The same for one contract"),
    "GET /api/v1/route": Endpoint(
        "findRoutes",
        routes,
        READ,
        "List routes: which prefixes deliver to which dataset",
        {200: "RoutePage"},
        (),
        query=("cursor",),
    ),
    "POST /api/v1/route": ADD_ROUTE,
    "DELETE /api/v1/route": REMOVE_ROUTE,
    "GET /api/v1/data-contract/{id}/route": Endpoint(
        "findRoutesOfContract",
        routes_of_contract,
        READ,
        "The same for one contract",
        {200: "RoutePage"},
        (404,),
    ),
    "POST /api/v1/data-contract/{id}/route": ADD_ROUTE.of_contract("The same for one contract"),
    "DELETE /api/v1/data-contract/{id}/route": REMOVE_ROUTE.of_contract("The same for one contract"),
    **_of_features(),
}
"""By route key: API Gateway has chosen the route, so that no second router can choose otherwise."""


def endpoint_of(request: HttpRequest) -> Endpoint:
    """The responder of a request. Raises HttpProblem for a route that fits none, and for parameters that it does not have."""
    endpoint = ROUTES.get(request.route)
    named = re.findall(r"\{(\w+)\}", request.route)
    if endpoint is None or not all(request.path.get(each) for each in named):
        raise HttpProblem(404, "not-found", "No endpoint has this method and address; no id in it has a slash.")
    endpoint.refuse_unknown(request)
    return endpoint
