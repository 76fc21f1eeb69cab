"""Callbacks over HTTP: another system answers for a delivery that waits, by a token (DCM 3.3, passive states).

The one route without an authorizer. Who has no token learns nothing: every refusal before the token was found is the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from lakegate.base.errors import InputError
from lakegate.base.json_codec import Pattern
from lakegate.gate.delivery.protocol import State
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.person_decisions import Reason
from lakegate.library.http_messages import (
    CALLBACK_ROUTE,
    STATUSES,
    Endpoint,
    HttpProblem,
    HttpRequest,
    HttpResponse,
    body_of,
)

LARGEST: Final = 4_096
"""Bytes of a body: a token and a reason."""


Token = Annotated[str, Pattern("[A-Za-z0-9_-]{43}")]


@dataclass(frozen=True, slots=True)
class ApprovingCallback:
    """The approval of a delivery that waits, by another system."""

    transition: Literal["approve"]
    token: Token
    """Of the notification."""


@dataclass(frozen=True, slots=True)
class DecliningCallback:
    """The refusal of a delivery that waits, by another system."""

    transition: Literal["decline"]
    token: Token
    """Of the notification."""
    reason: Reason
    """One line, which every consumer can read."""


Callback = ApprovingCallback | DecliningCallback


def call_back(dependencies: Dependencies, request: HttpRequest) -> HttpResponse:
    """POST /api/v1/workload/{id}/callback: approve or decline; the next sweep carries it out."""
    from lakegate.features.workflows.callbacks import UnknownToken, called_back  # noqa: PLC0415 - for this route alone

    if len(request.body) > LARGEST:
        raise HttpProblem(413, "too-large", f"A callback has at most {LARGEST:,} bytes.")
    wanted: ApprovingCallback | DecliningCallback = body_of(request, Callback)
    workload, reason = (
        request.path.get("id", ""),
        None if isinstance(wanted, ApprovingCallback) else wanted.reason.strip(),
    )
    at_once = dependencies.without_lease()
    try:
        row = dependencies.run(called_back(at_once, workload, wanted.token, reason))
    except UnknownToken:
        raise HttpProblem(404, "not-found", "No answer is awaited by this token.") from None
    except InputError as refused:
        row = dependencies.workloads.get(workload)
        if row.state is State.AWAITING:
            raise
        detail, status = f"No answer can be given: {refused}.", STATUSES[row.state]
        raise HttpProblem(409, "illegal-transition", detail, workloadStatus=status, transitions=[]) from None
    return HttpResponse(200, {"workloadId": row.id, "status": STATUSES[row.state]})


ROUTES: Final[Mapping[str, Endpoint]] = {
    CALLBACK_ROUTE: Endpoint(
        "callBack",
        call_back,
        "",
        "Answer for a delivery that waits for a callback",
        {200: "CalledBack"},
        (400, 404, 409, 413, 415),
        takes=Callback,
    ),
}
