"""Deliveries over HTTP: read, decide, replay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal

from lakegate.gate.delivery.delivery_objects import row_of
from lakegate.gate.delivery.delivery_row import Workload, replay_id
from lakegate.gate.delivery.protocol import PersonTransition, State
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import run
from lakegate.http_messages import (
    AnnouncedWorkload,
    HttpAnswer,
    HttpProblem,
    HttpRequest,
    asked_for,
    body_of,
    found,
    representation,
)
from lakegate.json_codec import OMITTED, Bounds, Pattern, encode
from lakegate.timestamps import instant_of, moment

if TYPE_CHECKING:
    from lakegate.stack import AnsweredDelivery, DeliveryStatus, StartedReplay, WaivedDelivery


def workload(dependencies: Dependencies, request: HttpRequest) -> HttpAnswer:
    """GET /api/v1/workload/{id}, and …/data-contract/{id}/workload/{workload} for those of one contract: status and result.

    Of a part of a delivery, and of an announcement whose data landed, those of the delivery, under the id that was asked for.
    """
    row, announced = found(dependencies, request)
    body = representation(dependencies, row, announced, asked_for(request))
    return HttpAnswer(200, body | _details(request, lambda: _status(dependencies, row)))


def _details(request: HttpRequest, made: Callable[[], object]) -> dict[str, object]:
    """With the parameter `details`, what commands print of a response, beside DCM's representation."""
    return {"details": encode(made())} if request.flag("details") else {}


def _status(dependencies: Dependencies, row: Workload | AnnouncedWorkload) -> DeliveryStatus:
    from lakegate.gate.delivery.find_deliveries import named  # noqa: PLC0415 - plans are read, for this parameter alone
    from lakegate.stack import announced_status, delivery_status  # noqa: PLC0415 - likewise

    if isinstance(row, Workload):
        return delivery_status(dependencies, named(dependencies, row.id, 0))
    expired = row.has_expired(dependencies.clock.now())
    return announced_status(row.id, row.contract, row.version, expired=expired)


# ---- Transitions over HTTP ----
# What the commands `replay`, `waive`, `approve` and `decline` do, by the same use cases. A request has seconds, and copying a
# delivery takes longer: here the person is recorded and the workload is due, and the next sweep carries it on.


Reason = Annotated[str, Bounds(1, 500)]


@dataclass(frozen=True, slots=True)
class WantedReplay:
    """A delivery that failed or was rejected is judged again."""

    transition: Literal["replay"]
    contract: Annotated[str, Bounds(1, 1000)] = field(default="", metadata={OMITTED: True})
    """CONTRACT@VERSION to judge by; default: the version that is valid."""


@dataclass(frozen=True, slots=True)
class WantedWaiver:
    """A rejected delivery is accepted as an exception."""

    transition: Literal["waive"]
    reason: Reason
    """One line, which every consumer can read."""
    expires: Annotated[str, Pattern("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?Z")]
    """When the exception ends (UTC), within 366 days."""


@dataclass(frozen=True, slots=True)
class WantedApproval:
    """A delivery that waits is published."""

    transition: Literal["approve"]


@dataclass(frozen=True, slots=True)
class WantedDecline:
    """A delivery that waits is rejected."""

    transition: Literal["decline"]
    reason: Reason
    """One line, which every consumer can read."""


Transition = WantedReplay | WantedWaiver | WantedApproval | WantedDecline


def transition(dependencies: Dependencies, request: HttpRequest) -> HttpAnswer:
    """POST /api/v1/workload/{id}/transition, and …/data-contract/{id}/workload/{workload}/transition: replay, waive,
    approve or decline.

    Answers the workload that is judged or accepted now. A replay of what is being judged changes nothing.
    """
    from lakegate.gate.decisions import carried_out, kind_of, legal  # noqa: PLC0415 - the engine, for this route alone

    asked: Transition = body_of(request, Transition)
    wanted = PersonTransition(asked.transition)
    row, announced = found(dependencies, request)
    possible = legal(dependencies, row) if isinstance(row, Workload) else ()
    if not isinstance(row, Workload) or wanted not in possible:
        kind, body, refusal = kind_of(wanted), representation(dependencies, row, announced, asked_for(request)), ""
        if isinstance(row, Workload) and kind is not None:
            if kind.is_made(row):
                return HttpAnswer(200, body | _details(request, lambda: _result(wanted, row, row.id, started=False)))
            refusal = kind.refusal(row)
        status = body["status"]
        detail = refusal or f"A workload that is `{status}` has no transition `{wanted}`."
        raise HttpProblem(409, "illegal-transition", detail, workloadStatus=status, transitions=list(possible))
    begins = row.state is not State.QUARANTINED or row_of(dependencies, replay_id(row.id)) is None
    at_once = dependencies.without_lease()
    steps = carried_out(at_once, wanted, row.id, **_given(request, asked))
    after = run(steps, dependencies.clock)
    body = representation(dependencies, after, asked=asked_for(request) if after.id == row.id else "")
    return HttpAnswer(200, body | _details(request, lambda: _result(wanted, after, row.id, started=begins)))


def _result(
    wanted: PersonTransition, after: Workload, before: str, *, started: bool
) -> StartedReplay | AnsweredDelivery | WaivedDelivery:
    """The output of the command of the transition."""
    from lakegate.stack import answer_of, replay_of, waiver_of  # noqa: PLC0415 - for this parameter alone

    if wanted == "replay":
        return replay_of(after, before, started=started)
    return waiver_of(after, started=started) if wanted == "waive" else answer_of(after)


def _given(request: HttpRequest, wanted: Transition) -> dict[str, str]:
    """The arguments of a person's transition. Raises HttpProblem."""
    match wanted:
        case WantedReplay(contract=version):
            if version and not _is_usable(request, version.rpartition("@")[0]):
                detail = "No contract has this id, or none that the delivery may be judged by."
                raise HttpProblem(404, "not-found", detail)
            return {"version": version}
        case WantedWaiver(reason=reason, expires=end):
            return {"reason": reason.strip(), "expires": _end(end)}
        case WantedDecline(reason=reason):
            return {"reason": reason.strip()}
        case _:
            return {}


def _is_usable(request: HttpRequest, contract: str) -> bool:
    """Whether the caller may judge by a contract: the one of the address, if it names one."""
    return request.allows(contract) and ("workload" not in request.path or contract == request.path["id"])


def _end(written: str) -> str:
    """The end of a waiver as the ledger has it."""
    try:
        return moment(instant_of(written))
    except ValueError:
        raise HttpProblem(400, "invalid-body", "`expires` is no time that there is.") from None
