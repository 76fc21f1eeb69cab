"""Workloads over HTTP, in DCM's representation (DCM 3.2.3, GET /api/v1/workload/{workloadId})."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lakegate.contracts.judge.verdict import ACCEPTING
from lakegate.functions.http.messages import HttpAnswer, HttpProblem
from lakegate.functions.ports.announcements import Announcement, is_unused
from lakegate.functions.usecases.delivery import IDENTIFIER, row_of
from lakegate.functions.workload import State

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lakegate.contracts.judge.outcomes import CheckOutcome
    from lakegate.contracts.plan.check import Check
    from lakegate.contracts.report.delivery import Report
    from lakegate.functions.http.messages import HttpRequest
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.workload import Workload

STATUSES: Final[Mapping[State, str]] = {
    State.RECEIVED: "Created",
    State.HELD: "Held",
    State.PINNED: "DataTransferInProgress",
    State.STAGED: "DataTransferInProgress",
    State.SUBMITTING: "RuntimeValidationInProgress",
    State.VALIDATING: "RuntimeValidationInProgress",
    State.AWAITING: "AwaitingApproval",
    State.ANSWERED: "RuntimeValidationInProgress",
    State.SCHEDULED: "Scheduled",
    State.DECIDED: "RuntimeValidationInProgress",
    State.PUBLISHED: "Accepted",
    State.QUARANTINED: "Rejected",
    State.FAILED: "Failed",
    State.GONE: "Gone",
    State.JOINED: "Joined",
}
"""DCM's names where it has one: Created, RuntimeValidationInProgress, Accepted, Rejected."""
EXPIRED: Final = "announcement-expired"
RUNNING: Final = frozenset(STATUSES) - {State.PUBLISHED, State.QUARANTINED, State.FAILED, State.GONE}


def workload(dependencies: Dependencies, request: HttpRequest) -> HttpAnswer:
    """GET /api/v1/workload/{id}, and …/data-contract/{id}/workload/{workload} for those of one contract: status and result.

    Of a part of a delivery, and of an announcement whose data landed, those of the delivery.
    """
    return HttpAnswer(200, representation(dependencies, *found(dependencies, request)))


def found(dependencies: Dependencies, request: HttpRequest) -> tuple[Workload | Announcement, Announcement | None]:
    """The workload that the address names, or the announcement that nothing has landed for; and of a workload without a pin its
    announcement. Raises HttpProblem.

    Until its contract is pinned, a workload belongs to the one that it was announced for.
    """
    name = request.path.get("workload", request.path.get("id", ""))
    is_id = IDENTIFIER.fullmatch(name) is not None
    row = row_of(dependencies, name) if is_id else None
    if row is not None and row.joined:
        row = row_of(dependencies, row.joined)
    announced = dependencies.announcements.get(name) if is_id and (row is None or row.pin is None) else None
    there = row or announced
    source = announced or (row.pin if row else None)
    if there is None or not _is_visible(request, source.contract if source else ""):
        raise HttpProblem(404, "not-found", "No workload has this id.")
    return there, announced


def _is_visible(request: HttpRequest, contract: str) -> bool:
    """Whether it is of the contract that the address names, and of one that the caller may use."""
    return request.allows(contract) and ("workload" not in request.path or contract == request.path["id"])


def representation(
    dependencies: Dependencies, row: Workload | Announcement, announced: Announcement | None = None
) -> dict[str, object]:
    """A workload as DCM has it; before its pin, with the contract that it was `announced` for.

    Raises Alarm where the result is not the one that was decided on.
    """
    if isinstance(row, Announcement):
        expired = is_unused(row, dependencies.clock.now())
        info = {"dataSummary": None, "errors": [EXPIRED], "results": [], "success": "fail"}
        return {
            "workloadId": row.id,
            "dataContractId": row.contract,
            "dataContractVersion": row.version,
            "status": "Expired" if expired else STATUSES[State.RECEIVED],
            "verdict": None,
            "result": {"result": "NOK", "info": info} if expired else {"result": "Running", "info": None},
        }
    source = row.pin or announced
    return {
        "workloadId": row.id,
        "dataContractId": source.contract or None if source else None,
        "dataContractVersion": source.version or None if source else None,
        "status": STATUSES[row.state],
        "verdict": row.decision.verdict if row.decision else None,
        "result": _result(dependencies, row),
    }


def _result(dependencies: Dependencies, row: Workload) -> dict[str, object]:
    if row.state in RUNNING:
        return {"result": "Running", "info": None}
    from lakegate.functions.usecases.judged import judged  # noqa: PLC0415 - plans are read by jsonschema

    found = judged(dependencies, row)
    reasons = row.decision.reasons if row.decision else [each.cause.value for each in row.failed[-1:]]
    info = {
        "dataSummary": None,
        "errors": list(reasons),
        "results": list(results_of(found)) if found else [],
        "success": _success(row),
    }
    return {"result": "OK" if row.state is State.PUBLISHED else "NOK", "info": info}


def _success(row: Workload) -> str:
    """The worst severity that was broken: `fail`, `warn`, or `pass`."""
    verdict = row.decision.verdict if row.decision else ""
    return "fail" if verdict not in ACCEPTING else "warn" if verdict.endswith("warnings") else "pass"


def results_of(found: Report) -> Iterator[dict[str, Any]]:
    """Each check with what was measured, and by what."""
    from lakegate.contracts.judge.technology import technologies  # noqa: PLC0415 - as above

    outcomes = {each.id: each for each in found.judgement.outcomes}
    measured_by = technologies(found.plan, found.judgement, found.result)
    for check in found.plan.checks:
        outcome = outcomes[check.id]
        numbers, technology = outcome.numbers, measured_by.get(check.id)
        yield {
            "id": check.rule,
            "column": ", ".join(check.fields) or None,
            "metric": numbers.value if numbers else None,
            "unit": numbers.unit if numbers else None,
            "technology": technology.name if technology else None,
            "version": technology.version if technology else None,
            "severity": severity_of(check, outcome),
            "success": outcome.status.value,
        }


def severity_of(check: Check, outcome: CheckOutcome) -> dict[str, object]:
    """By severity of the rule, whether the measurement keeps to it; null for a severity that the rule does not have.

    A rule without a tolerance has one severity; with one, the tolerance is what fails and the requirement what warns.
    """
    from lakegate.contracts.judge.outcomes import Status  # noqa: PLC0415 - as above
    from lakegate.contracts.model.contract import Severity  # noqa: PLC0415 - likewise

    kept: dict[str, bool | None] = {
        "fail": outcome.status in {Status.PASS, Status.WARN},
        "warn": outcome.status is Status.PASS,
    }
    has = {
        "fail": check.worst is Severity.FAIL,
        "warn": check.tolerate is not None or check.worst is Severity.WARN or outcome.status is Status.WARN,
    }
    exception = None
    if outcome.status in {Status.ERROR, Status.SKIP}:
        is_error = outcome.status is Status.ERROR
        kept = dict.fromkeys(kept, False if is_error else None)
        exception = {"raisedException": is_error, "exceptionMessage": outcome.message}
    return {name: {"success": kept[name], "exceptionInfoModel": exception} if has[name] else None for name in has}
