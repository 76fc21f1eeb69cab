"""Deliveries over HTTP: read, decide, replay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lakegate.features.http_api.api_router import HttpAnswer, HttpProblem, document_of
from lakegate.gate.delivery.delivery_objects import IDENTIFIER, row_of
from lakegate.gate.delivery.delivery_row import Workload
from lakegate.gate.delivery.protocol import END_STATES, State
from lakegate.gate.effects import run
from lakegate.report.dcm_results import results_of
from lakegate.timestamps import instant_of, moment
from lakegate.verdict.verdict import ACCEPTING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakegate.features.announcements.announced_delivery import Announcement
    from lakegate.features.http_api.api_router import HttpRequest
    from lakegate.gate.delivery.people_decisions import ApprovalAnswer
    from lakegate.gate.dependencies import Dependencies
    from lakegate.gate.effects import Steps

# ---- Workloads over HTTP, in DCM's representation (DCM 3.2.3, GET /api/v1/workload/{workloadId}) -------------------


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
    announced = dependencies.of("announcements").get(name) if is_id and (row is None or row.pin is None) else None
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
    from lakegate.features.announcements.announced_delivery import (  # noqa: PLC0415 - a feature
        Announcement,
        is_unused,
    )

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
    from lakegate.gate.delivery.find_deliveries import judged  # noqa: PLC0415 - plans are read by jsonschema

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


# ---- A person's transition of a workload over HTTP (DCM 3.2.3: transitions that a user triggers by an endpoint) ----
#
# What the commands `replay`, `waive`, `approve` and `decline` do, by the same use cases. A request has seconds, and
# copying a
# delivery takes longer: here the person is recorded and the workload is due, and the next sweep carries it on.


def transition(dependencies: Dependencies, request: HttpRequest) -> HttpAnswer:
    """POST /api/v1/workload/{id}/transition, and …/data-contract/{id}/workload/{workload}/transition: replay, waive,
    approve or decline.

    Answers the workload that is judged or accepted now. A replay of what is being judged changes nothing.
    """
    from lakegate.features.announcements.announced_delivery import Announcement  # noqa: PLC0415 - a feature
    from lakegate.gate.decisions import PersonTransition, legal  # noqa: PLC0415 - as below

    document: dict[str, Any] = document_of(request, "Transition")
    wanted = PersonTransition(document["transition"])
    row, announced = found(dependencies, request)
    possible = () if isinstance(row, Announcement) else legal(dependencies, row)
    if isinstance(row, Announcement) or wanted not in possible:
        if wanted is PersonTransition.REPLAY and isinstance(row, Workload) and row.state not in END_STATES:
            return HttpAnswer(200, representation(dependencies, row, announced))
        if isinstance(row, Workload) and row.answer is not None and wanted == _given(row.answer):
            return HttpAnswer(200, representation(dependencies, row))
        status = representation(dependencies, row, announced)["status"]
        raise HttpProblem(
            409, "illegal-transition", _detail(row, wanted, status), workloadStatus=status, transitions=list(possible)
        )
    at_once = dependencies.without_lease()
    after = run(_steps(at_once, request, row, document), dependencies.clock)
    return HttpAnswer(200, representation(dependencies, after))


def _given(answer: ApprovalAnswer) -> str:
    """The transition that an answer was."""
    return "approve" if answer.approved else "decline"


def _detail(row: Workload | Announcement, wanted: str, status: object) -> str:
    from lakegate.gate.decisions import excluded  # noqa: PLC0415 - as below

    if isinstance(row, Workload) and wanted in {"approve", "decline"}:
        from lakegate.features.workflows.approvals import unanswerable  # noqa: PLC0415 - as below

        return f"No answer can be given: {unanswerable(row)}."
    if isinstance(row, Workload) and row.state is State.QUARANTINED:
        if code := excluded(row):
            return f"A delivery that is rejected as `{code}` cannot be waived."
        return "It was replayed or waived before: what came of that is a workload of its own."
    return f"A workload that is `{status}` has no transition `{wanted}`."


def _steps(
    dependencies: Dependencies, request: HttpRequest, row: Workload, document: dict[str, Any]
) -> Steps[Workload]:
    if document["transition"] == "waive":
        from lakegate.features.waivers.waiver import let_through  # noqa: PLC0415 - the engine, for this route alone

        return let_through(dependencies, row.id, document["reason"].strip(), _end(document["expires"]))
    if document["transition"] != "replay":
        from lakegate.features.workflows.approvals import answered  # noqa: PLC0415 - likewise

        return answered(dependencies, row.id, document["reason"].strip() if "reason" in document else None)
    from lakegate.gate.delivery.replay import judge_again  # noqa: PLC0415 - likewise

    version = document.get("contract", "")
    if version and not _is_usable(request, version.rpartition("@")[0]):
        raise HttpProblem(404, "not-found", "No contract has this id, or none that the delivery may be judged by.")
    return judge_again(dependencies, row.id, version)


def _is_usable(request: HttpRequest, contract: str) -> bool:
    """Whether the caller may judge by a contract: the one of the address, if it names one."""
    return request.allows(contract) and ("workload" not in request.path or contract == request.path["id"])


def _end(written: str) -> str:
    """The end of a waiver as the ledger has it."""
    try:
        return moment(instant_of(written))
    except ValueError:
        raise HttpProblem(400, "invalid-body", "`expires` is no time that there is.") from None
