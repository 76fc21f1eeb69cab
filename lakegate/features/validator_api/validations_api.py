"""DCM's Validator API (DCM 3.3.3): rules of other managers are measured here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from lakegate.base.errors import ContractError
from lakegate.features.validator_api.wanted_validation import ValidationRequest
from lakegate.library.http_messages import VALIDATE, Endpoint, HttpProblem, HttpRequest, HttpResponse, body_of
from lakegate.report.dcm_results import results_of

if TYPE_CHECKING:
    from lakegate.features.validator_api.validation_run import Observed
    from lakegate.gate.dependencies import Dependencies

LARGEST: Final = 256 << 10
"""Bytes of a body."""
NAME: Final = re.compile(r"[!-~]{1,200}", re.ASCII)
"""Of a validation, by its caller; DCM's are UUIDs."""


def start_validation(dependencies: Dependencies, request: HttpRequest) -> HttpResponse:
    """POST /v1/validation/start, and the same below …/data-contract/{id}: measure rules over data of the caller's."""
    from lakegate.features.validator_api.validation_run import (  # noqa: PLC0415 - documents and judgement, for this route alone
        NoSuchData,
        OtherValidation,
        WantedValidation,
        start,
    )

    if len(request.body) > LARGEST:
        raise HttpProblem(413, "too-large", f"A validation has at most {LARGEST:,} bytes.")
    body = body_of(request, ValidationRequest, exact)
    wanted = WantedValidation(request.caller, body.name, body.rules, body.access.path, partial(_allows, request))
    try:
        dependencies.run(start(dependencies, wanted, request.token))
    except OtherValidation:
        detail = "The `workloadId` belongs to a validation of other rules or other data: choose a new one."
        raise HttpProblem(409, "other-validation", detail) from None
    except NoSuchData:
        raise HttpProblem(404, "not-found", "`access.path` names no data that you may have validated.") from None
    except ContractError as refused:
        errors = [
            {"path": problem.path, "code": problem.code, "message": problem.message} for problem in refused.problems
        ]
        raise HttpProblem(400, "invalid-rules", "The rules cannot be measured.", errors=errors) from None
    return HttpResponse(200, {"workloadId": body.name, "status": "OK", "cause": None, "result": []})


def validation(dependencies: Dependencies, request: HttpRequest) -> HttpResponse:
    """GET /v1/validation/{workloadId}, and the same below …/data-contract/{id}.

    `Running`, `OK` with the results, or `NOK` where there will be none.
    """
    from lakegate.features.validator_api.validation_run import find, observed  # noqa: PLC0415 - as above

    name = request.path.get("workloadId", "")
    known = find(dependencies, request.caller, name) if NAME.fullmatch(name) else None
    if known is None or not _allows(request, known.contract):
        raise HttpProblem(404, "not-found", "You have started no validation with this id, or it was forgotten.")
    seen = observed(dependencies, known)
    status = "NOK" if seen.failed else "OK" if seen.report else "Running"
    body = {"workloadId": name, "status": status, "cause": seen.failed or None, "result": list(_results(seen))}
    return HttpResponse(200, body)


def _allows(request: HttpRequest, contract: str) -> bool:
    """Whether the caller may use a contract: the one of the address, if it names one."""
    return request.allows(contract) and contract == request.path.get("id", contract)


def exact(written: str) -> float:
    """A number with a point; ValueError for one that has more digits than JSON numbers of other programs keep."""
    number = float(written)
    if Decimal(repr(number)) != Decimal(written):
        raise ValueError
    return number


def _results(seen: Observed) -> Iterator[Mapping[str, object]]:
    for result in results_of(seen.report) if seen.report else ():
        yield {**result, "severity": {name: _of_validator(one) for name, one in result["severity"].items()}}


def _of_validator(severity: Any) -> dict[str, object] | None:  # noqa: ANN401 - JSON
    """A severity as validators of DCM write it: the manager's `exceptionInfoModel` is their `exception_info`."""
    if severity is None:
        return None
    raised = severity["exceptionInfoModel"] or {"raisedException": False, "exceptionMessage": None}
    info = {"raised_exception": raised["raisedException"], "exception_message": raised["exceptionMessage"]}
    return {"success": severity["success"], "exception_info": info}


START: Final = Endpoint(
    "startValidation",
    start_validation,
    VALIDATE,
    "Measure rules of another manager over data that landed here",
    {200: "ValidationStatus"},
    (400, 404, 409, 413, 415),
    takes=ValidationRequest,
)
READ: Final = Endpoint(
    "readValidation",
    validation,
    VALIDATE,
    "Read what a validation has come to",
    {200: "ValidationStatus"},
    (404,),
)
ROUTES: Final[Mapping[str, Endpoint]] = {
    "POST /v1/validation/start": START,
    "GET /v1/validation/{workloadId}": READ,
    "POST /api/v1/data-contract/{id}/v1/validation/start": START.of_contract("The same over data of one contract"),
    "GET /api/v1/data-contract/{id}/v1/validation/{workloadId}": READ.of_contract("The same over data of one contract"),
}
