"""Pulls over HTTP: the owner of a contract has its datasets pulled now (docs/pull.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lakegate.base.errors import InputError
from lakegate.base.text import plural
from lakegate.contract.contract_model import is_usable
from lakegate.features.pull.pull_task import FinishedPull
from lakegate.features.pull.pulled_dataset import PATH, PullStatus, pulled_dataset, status_of, status_of_object
from lakegate.gate.datasets.dataset_names import names_of
from lakegate.gate.dependencies import Dependencies
from lakegate.library.http_messages import DELIVER, Endpoint, HttpProblem, HttpRequest, HttpResponse

MOST_LINES: Final = 100
"""Of one request: each is read and written, and a request has seconds."""


def run_pulls(dependencies: Dependencies, request: HttpRequest) -> HttpResponse:
    """POST /api/v1/data-contract/{id}/pull: the next tick pulls all datasets of the contract, or those that `line` names.

    The request fetches nothing. A dataset that is due or being fetched stays as it is, so that a repetition changes nothing.

    `object` names one object of the contract's folder instead, and `version` its version: it is delivered once. Where it is the
    branch of a table that a contract names, that is looked at: its newest snapshot is delivered once.
    """
    from lakegate.features.pull.pull_task import pulled_datasets  # noqa: PLC0415 - for this route alone

    if "object" in request.query:
        return _named(dependencies, request)

    contract, wanted = request.path.get("id", ""), request.query.get("line")
    datasets = pulled_datasets(dependencies, contract) if is_usable(contract) and request.allows(contract) else ()
    found = [dataset for dataset in datasets if wanted is None or wanted in names_of(dataset)]
    if not found:
        raise HttpProblem(404, "not-found", "No contract with this id has such a dataset that is pulled.")
    if len(found) > MOST_LINES:
        detail = f"The contract pulls {plural(len(found), 'line')}, and a request has at most {MOST_LINES}: name one by `line`."
        raise HttpProblem(400, "refused", detail)
    return HttpResponse(200, {"pulls": [_asked(dependencies, request, each) for each in found]})


def _named(dependencies: Dependencies, request: HttpRequest) -> HttpResponse:
    """The object that the request names, for the dataset whose folder it is in; how its delivery ended."""
    from lakegate.features.pull.named_objects import (  # noqa: PLC0415 - for this route alone
        datasets_of,
        datasets_of_branch,
        name_object,
    )

    contract, wanted, source = request.path.get("id", ""), request.query.get("line"), request.query["object"]
    find = datasets_of_branch if source.startswith("iceberg:") else datasets_of
    datasets = find(dependencies, contract, source) if is_usable(contract) and request.allows(contract) else ()
    found = [dataset for dataset in datasets if wanted is None or wanted in names_of(dataset)]
    if not found:
        what = "such a branch" if find is datasets_of_branch else "a folder with such an object"
        raise HttpProblem(404, "not-found", f"No contract with this id has {what}.")
    if len(found) > 1:
        detail = "Several datasets have this folder: name one by `line`."
        raise HttpProblem(400, "refused", detail)
    if find is datasets_of_branch:
        return HttpResponse(200, {"pulls": [_asked(dependencies, request, found[0])]})
    try:
        row = dependencies.run(name_object(dependencies, found[0], source, request.query.get("version", "")))
    except InputError as refused:
        raise HttpProblem(400, "refused", f"{refused}.") from None
    return HttpResponse(200, {"pulls": [_document(row.dataset, "", status_of_object(row), row.end)]})


def _asked(dependencies: Dependencies, request: HttpRequest, dataset: str) -> dict[str, object]:
    """One dataset, which the next tick pulls; without its source, which the contract states, unless the caller wants details."""
    from lakegate.features.pull.pull_task import is_table, pulls, run_now  # noqa: PLC0415 - for this route alone

    row = pulls(dependencies).get(dataset)
    if row.plan and (row.schedule or is_table(row)):
        row = dependencies.run(run_now(dependencies, dataset))
    document = _document(dataset, row.version, status_of(row), next(iter(row.ends), None))
    return document | request.details(lambda: pulled_dataset(row))


def _document(dataset: str, version: str, status: PullStatus, end: FinishedPull | None) -> dict[str, object]:
    latest = end and {
        "outcome": end.outcome.value,
        "at": end.at,
        "key": end.key or None,
        "size": end.size if end.key else None,
        "reason": end.reason or None,
    }
    return {"line": dataset, "contractVersion": version or None, "status": status, "latest": latest}


ROUTES: Final[Mapping[str, Endpoint]] = {
    f"POST {PATH}": Endpoint(
        "pullContract",
        run_pulls,
        DELIVER,
        "Pull the data of a contract now, whatever its schedule is",
        {200: "Pulls"},
        (400, 404, 413),
        query=("line", "object", "version"),
        flags=("details",),
    ),
}
