"""Announced deliveries over HTTP (DCM 3.2.3, POST /api/v1/workload and /api/v1/workload/notify/{workloadId})."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Final

from lakegate.base.timestamps import instant_of
from lakegate.contract.contract_model import is_usable
from lakegate.features.announcements.wanted_delivery import Announced, WantedDelivery
from lakegate.library.http_messages import (
    DELIVER,
    JSON,
    Endpoint,
    HttpProblem,
    HttpRequest,
    HttpResponse,
    asked_for,
    body_of,
    contract_wanted,
    media_type,
    other_form,
    representation,
    workload_named,
)

if TYPE_CHECKING:
    from lakegate.features.announcements.announced_delivery import Announcement
    from lakegate.gate.dependencies import Dependencies


def announce_delivery(dependencies: Dependencies, request: HttpRequest) -> HttpResponse:
    """POST /api/v1/workload, POST /api/v1/data-contract/{id}/workload: judge what is stated of the data, and where to put it."""
    from lakegate.features.announcements.announced_delivery import NO_CONTRACT, SummaryRefused, UnknownContract  # noqa: PLC0415 - what judges takes 100 ms to import
    from lakegate.features.announcements.announced_delivery import announce as keep  # noqa: PLC0415 - likewise

    wanted, version = _wanted(dependencies, request)
    if not request.allows(wanted.contract):
        raise HttpProblem(404, "not-found", NO_CONTRACT)
    try:
        made = dependencies.run(keep(dependencies, wanted, request.token, version))
    except UnknownContract as unknown:
        raise HttpProblem(404, "not-found", str(unknown)) from None
    except SummaryRefused as refused:
        detail = "The data would be rejected. Numbers of rows are the fewest that the summary proves."
        errors = [asdict(refusal) for refusal in refused.refusals]
        raise HttpProblem(422, "summary-refused", detail, errors=errors, workloadId=refused.identity) from None
    return HttpResponse(200, {**representation(dependencies, made), "upload": _upload(dependencies, made)})


def notify(dependencies: Dependencies, request: HttpRequest) -> HttpResponse:
    """POST /api/v1/workload/notify/{id}, and …/data-contract/{id}/workload/{workload}/notify: the data is there.

    Changes nothing once the data was taken in. Refused where nothing has landed.
    """
    from lakegate.features.announcements.announced_delivery import Announcement, available, landed_keys  # noqa: PLC0415 - as above

    there, announced = workload_named(dependencies, request)
    body = representation(dependencies, there, announced, asked_for(request))
    if isinstance(there, Announcement):
        landed = landed_keys(dependencies, there)
        if not landed:
            detail = f"Nothing has landed at {there.key}: upload the data first, then notify."
            raise HttpProblem(400, "refused", detail)
        dependencies.run(available(dependencies, landed))
        # intake will have the hint in a moment
        body |= {"status": "DataTransferInProgress", "result": {"result": "Running", "info": None}}
    return HttpResponse(200, body)


def _bare_id(request: HttpRequest) -> str:
    """The id of a contract without the quotation marks of JSON, which "a plain string" of DCM may be; empty for other bodies."""
    body = request.body.decode(errors="replace").strip()
    if body[:1] in set('{["') or "\ufffd" in body or not is_usable(body) or media_type(request) != JSON:
        return ""
    try:
        json.loads(body)
    except ValueError:
        return body
    return ""


def _wanted(dependencies: Dependencies, request: HttpRequest) -> tuple[WantedDelivery, str]:
    """The contract's id alone, as DCM has it, or an object; and the version, where DCM's id names one."""
    from lakegate.features.announcements.announced_delivery import LARGEST_PUT  # noqa: PLC0415 - likewise

    body: str | WantedDelivery = _bare_id(request) or body_of(request, Announced)
    wanted = WantedDelivery(body) if isinstance(body, str) else body
    if (wanted.size is None) != (not wanted.checksum):
        raise other_form([{"path": "", "message": "must have `size` and `checksum`, or neither"}])
    contract, version = contract_wanted(dependencies, request, wanted.contract)
    if (wanted.size or 0) > LARGEST_PUT:
        detail = (
            "Announce the file without size and checksum, and upload it in parts to the key of the response, with rights of your "
            "own; or deliver several files."
        )
        errors = [{"path": "/size", "message": f"one upload URL takes {LARGEST_PUT:,} bytes"}]
        raise HttpProblem(400, "refused", detail, errors=errors)
    return replace(wanted, contract=contract), version


def _upload(dependencies: Dependencies, made: Announcement) -> dict[str, object]:
    """The place for the data; with a URL, if size and checksum are known and its time is not over."""
    from lakegate.features.announcements.announced_delivery import headers, uploads  # noqa: PLC0415 - likewise

    place: dict[str, object] = {"bucket": dependencies.places.landing, "key": made.key}
    seconds = int((instant_of(made.until) - dependencies.now).total_seconds())
    if made.size is None or seconds < 1:
        return place
    url = uploads(dependencies).url(made.key, made.size, made.sha256, seconds)
    signed = headers(made.size, made.sha256)
    return {**place, "url": url, "method": "PUT", "headers": signed, "expiresAt": made.until}


ANNOUNCE: Final = Endpoint(
    "announceWorkload",
    announce_delivery,
    DELIVER,
    "Announce a delivery: judge its summary, and get an upload URL",
    {200: "Workload"},
    (400, 404, 413, 415, 422),
    takes=Announced,
)
NOTIFY: Final = Endpoint(
    "notifyWorkload",
    notify,
    DELIVER,
    "The data of an announced delivery is there",
    {200: "Workload"},
    (400, 404, 413),
)
ROUTES: Final[Mapping[str, Endpoint]] = {
    "POST /api/v1/workload": ANNOUNCE,
    "POST /api/v1/data-contract/{id}/workload": ANNOUNCE.of_contract("The same for a delivery to one contract"),
    "POST /api/v1/workload/notify/{id}": NOTIFY,
    "POST /api/v1/data-contract/{id}/workload/{workload}/notify": NOTIFY.of_contract(
        "The same for a delivery to one contract"
    ),
}
