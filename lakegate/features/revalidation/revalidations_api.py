"""Rules with a schedule over HTTP: when they are measured next, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lakegate.gate.datasets.dataset_names import datasets_of_versions
from lakegate.gate.dependencies import Dependencies
from lakegate.library.http_messages import READ, Endpoint, HttpRequest, HttpResponse, published_contract


def revalidations_of_contract(dependencies: Dependencies, request: HttpRequest) -> HttpResponse:
    """GET /api/v1/data-contract/{id}/revalidation: of each dataset whose rules are, or were, measured by schedule.

    The document of each is that of `lakegate status --json`.
    """
    from lakegate.features.revalidation.revalidation import as_document, measured_datasets  # noqa: PLC0415 - for this route alone

    seen = published_contract(dependencies, request, request.path["id"])
    found = measured_datasets(dependencies, datasets_of_versions(seen.versions))
    return HttpResponse(200, {"revalidations": [as_document(each) for each in found]})


ROUTES: Final[Mapping[str, Endpoint]] = {
    "GET /api/v1/data-contract/{id}/revalidation": Endpoint(
        "findRevalidationsOfContract",
        revalidations_of_contract,
        READ,
        "Read when rules with a schedule are measured, and what came of it",
        {200: "Revalidations"},
        (404,),
    ),
}
