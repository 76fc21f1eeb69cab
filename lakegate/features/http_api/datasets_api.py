"""Datasets over HTTP: the overview that the stack keeps."""

from __future__ import annotations

from lakegate.base.errors import NotFound
from lakegate.base.json_codec import encode
from lakegate.contract.contract_model import parts_of
from lakegate.gate.datasets.datasets_overview import kept_overview
from lakegate.gate.dependencies import Dependencies
from lakegate.library.http_messages import HttpProblem, HttpRequest, HttpResponse, published_contract
from lakegate.report.overview_page import DatasetsOverview


def datasets(dependencies: Dependencies, request: HttpRequest) -> HttpResponse:
    """GET /api/v1/dataset, GET /api/v1/data-contract/{id}/dataset: datasets of contracts that the caller may use, or of one."""
    contract = request.path.get("id")
    if contract is not None:
        published_contract(dependencies, request, contract)
    try:
        found = kept_overview(dependencies)
    except NotFound:
        raise HttpProblem(404, "not-found", "No overview is kept yet: the next sweep writes it.") from None
    names = ((each, parts_of(each.dataset)[0]) for each in found.datasets)
    own = tuple(each for each, name in names if request.allows(name) and contract in {None, name})
    return HttpResponse(200, encode(DatasetsOverview(found.at, own)))
