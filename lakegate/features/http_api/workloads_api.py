"""Deliveries over HTTP: read, decide, replay."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from lakegate.base.timestamps import moment
from lakegate.gate.datasets.dataset_names import datasets_of_versions
from lakegate.gate.delivery.delivery_row import IDENTIFIER, Workload, replay_id
from lakegate.gate.delivery.find_deliveries import Delivery, ListPosition, find_delivery, page_of
from lakegate.gate.delivery.protocol import State
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.person_decisions import WantedDecision, WantedReplay, WantedWaiver
from lakegate.library.http_messages import (
    STATUSES,
    HttpProblem,
    HttpRequest,
    HttpResponse,
    announced_body,
    asked_for,
    body_of,
    contract_named,
    published_contract,
    representation,
    result_word,
    workload_named,
)

if TYPE_CHECKING:
    from lakegate.library.described_deliveries import DecidedDelivery, DeliveryStatus, StartedReplay


def workload(dependencies: Dependencies, request: HttpRequest) -> HttpResponse:
    """GET /api/v1/workload/{id}, and …/data-contract/{id}/workload/{workload} for those of one contract: status and result.

    Of a part of a delivery, and of an announcement whose data landed, those of the delivery, under the id that was asked for.
    """
    row, announced = workload_named(dependencies, request)
    body = representation(dependencies, row, announced, asked_for(request))
    return HttpResponse(
        200, body | request.details(lambda: _with_next(dependencies, find_delivery(dependencies, row.id, 0)))
    )


def _with_next(dependencies: Dependencies, delivery: Delivery) -> DeliveryStatus:
    from lakegate.library.described_deliveries import one_delivery  # noqa: PLC0415 - plans are read, for this parameter alone

    return one_delivery(dependencies, delivery)


def _described(dependencies: Dependencies, delivery: Delivery) -> DeliveryStatus:
    from lakegate.library.described_deliveries import delivery_status  # noqa: PLC0415 - plans are read, for this parameter alone

    return delivery_status(dependencies, delivery)


# ---- Workloads of a contract ----


LONGEST_CURSOR: Final = 2_000
PAGE: Final = 50
DETAILED_PAGE: Final = 20
PLACE: Final = re.compile(r"([^\n]{1,500})\n([0-9]{1,15})|\n([0-9TZ:.-]{20,30}#[0-9a-f]{64})", re.ASCII)
"""A place in the list, as the cursor of a page has it: below a height of a dataset, or among announcements."""


def workloads(dependencies: Dependencies, request: HttpRequest) -> HttpResponse:
    """GET /api/v1/workload, GET /api/v1/data-contract/{id}/workload: the deliveries to a contract, one page of them.

    Without their results, which each has at its own address. With `line`, only those to this dataset. With the parameter
    `details` each has what commands print of it, which is read for each: such a page is shorter, and the first one has what
    features say about the datasets.
    """
    name = request.path.get("id") or contract_named(dependencies, request.query.get("dataContractId", ""))[0]
    if not name:
        raise HttpProblem(400, "invalid-parameter", "`dataContractId` is missing: the id of a contract.")
    seen = published_contract(dependencies, request, name)
    datasets = datasets_of_versions(seen.versions) | {route.full_name for route in seen.routes}
    if (wanted := request.query.get("line")) is not None:
        if wanted not in datasets:
            raise HttpProblem(404, "not-found", "The contract has no such dataset.")
        datasets = {wanted}
    routes = [route for route in seen.routes if route.full_name in datasets]
    limit = DETAILED_PAGE if request.flag("details") else PAGE
    place = _place(request)
    listed, after = page_of(dependencies, datasets, routes, place, limit)
    ids = {version.version: version.id for version in seen.versions}
    shown = [
        _summary(dependencies, each, name, ids) | request.details(partial(_described, dependencies, each))
        for each in listed
    ]
    page: dict[str, object] = {"workloads": shown, "cursor": _cursor(after) if after else None}
    if request.flag("details") and place == ListPosition():
        from lakegate.library.described_deliveries import STATUS_SECTIONS, sections_of  # noqa: PLC0415 - likewise

        page["details"] = sections_of(STATUS_SECTIONS, dependencies, datasets)
    return HttpResponse(200, page)


def _place(request: HttpRequest) -> ListPosition:
    written = _written(request.query.get("cursor", ""))
    found = PLACE.fullmatch(written or "")
    if written is None or (written and found is None):
        raise HttpProblem(400, "invalid-parameter", "`cursor` is not one that a page had.")
    if found is None or found[3]:
        return ListPosition(announced=found[3] if found else "")
    return ListPosition(found[1], int(found[2]))


def _written(cursor: str) -> str | None:
    """The text of a cursor; None where it is none."""
    if len(cursor) > LONGEST_CURSOR:
        return None
    with suppress(ValueError):
        return base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    return None


def _cursor(place: ListPosition) -> str:
    """The cursor of the page after a place, which names nothing but a dataset of the contract that was asked for."""
    text = f"{place.dataset}\n{place.announced or place.below}"
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _summary(
    dependencies: Dependencies, delivery: Delivery, contract: str, ids: Mapping[str, str]
) -> dict[str, object]:
    """A delivery in DCM's representation, without its result; without its row, what its block has. `ids`: of the versions."""
    if (announced := delivery.announced) is not None:
        return announced_body(announced, ids.get(announced.version, contract), dependencies.now)
    row, block = delivery.row, delivery.block
    if row is not None:
        state, verdict = row.state, row.decision.verdict if row.decision else None
    else:
        assert block is not None
        state, verdict = State[block.kind.name], block.verdict
    version = row.pin.version if row is not None and row.pin else block.contract_version if block is not None else ""
    return {
        "workloadId": _announced_id(dependencies, row) if row is not None else delivery.id,
        "deliveryId": delivery.id,
        "dataContractId": ids.get(version, contract),
        "dataContractVersion": version or None,
        "status": STATUSES[state],
        "verdict": verdict,
        "result": {"result": result_word(state, verdict), "info": None},
    }


def _announced_id(dependencies: Dependencies, row: Workload) -> str:
    """The id under which a workload was announced; its own, if it was not."""
    *_, folder, _name = ("", *row.landing_key.split("/"))
    link = dependencies.workloads.find(folder) if IDENTIFIER.fullmatch(folder) else None
    return folder if link is not None and link.joined == row.id else row.id


# ---- Transitions over HTTP ----
# What the commands of the same names do, by the same use cases. A request has seconds, and copying a
# delivery takes longer: here the person is recorded and the workload is due, and the next sweep carries it on.


def transition(dependencies: Dependencies, request: HttpRequest) -> HttpResponse:
    """POST /api/v1/workload/{id}/transition, and …/data-contract/{id}/workload/{workload}/transition: a decision
    of the table.

    Answers the workload that is judged or accepted now. A replay of what is being judged changes nothing.
    """
    from lakegate.gate.carry_out_decision import carry_out, kind_of, legal  # noqa: PLC0415 - the engine, for this route alone

    wanted: WantedDecision = body_of(request, WantedDecision)
    row, announced = workload_named(dependencies, request)
    possible = legal(dependencies, row) if isinstance(row, Workload) else ()
    if not isinstance(row, Workload) or wanted.transition not in possible:
        kind, refusal = kind_of(wanted.transition), ""
        body = representation(dependencies, row, announced, asked_for(request))
        if isinstance(row, Workload) and kind is not None:
            if kind.is_made(row):
                made = partial(_result, dependencies, wanted, row, row.id, started=False)
                return HttpResponse(200, body | request.details(made))
            refusal = kind.refusal(row)
        status = body["status"]
        detail = refusal or f"A workload that is `{status}` has no transition `{wanted.transition}`."
        raise HttpProblem(409, "illegal-transition", detail, workloadStatus=status, transitions=list(possible))
    begins = row.state is not State.QUARANTINED or dependencies.workloads.find(replay_id(row.id)) is None
    steps = carry_out(dependencies.without_lease(), row.id, _usable(dependencies, request, wanted))
    after = dependencies.run(steps)
    body = representation(dependencies, after, asked=asked_for(request) if after.id == row.id else "")
    return HttpResponse(
        200, body | request.details(lambda: _result(dependencies, wanted, after, row.id, started=begins))
    )


def _result(
    dependencies: Dependencies, wanted: WantedDecision, after: Workload, before: str, *, started: bool
) -> StartedReplay | DecidedDelivery:
    """The output of the command of the transition."""
    from lakegate.library.described_deliveries import (  # noqa: PLC0415 - for this parameter alone
        AnsweredDelivery,
        RecalledDelivery,
        WaivedDelivery,
        replay_of,
    )

    if isinstance(wanted, WantedReplay):
        return replay_of(after, before, started=started)
    forms: dict[str, type[DecidedDelivery]] = {
        "waive": WaivedDelivery,
        "recall": RecalledDelivery,
        "restore": RecalledDelivery,
    }
    return forms.get(wanted.transition, AnsweredDelivery).of(dependencies, after, started=started)


def _usable(dependencies: Dependencies, request: HttpRequest, wanted: WantedDecision) -> WantedDecision:
    """The wanted decision, with the whole name of a version. Raises HttpProblem for what its form allows and is not there."""
    if isinstance(wanted, WantedWaiver):
        try:
            moment(wanted.end)
        except ValueError:
            raise HttpProblem(400, "invalid-body", "`expires` is no time that there is.") from None
    if not isinstance(wanted, WantedReplay):
        return wanted
    whole = contract_named(dependencies, wanted.contract)
    version = "@".join(whole) if whole[1] else wanted.contract
    contract = version.rpartition("@")[0]
    # the caller may judge by a contract that its rights have, and by no other one than that of the address
    is_of_address = "workload" not in request.path or contract == request.path["id"]
    if version and not (request.allows(contract) and is_of_address):
        raise HttpProblem(404, "not-found", "No contract has this id, or none that the delivery may be judged by.")
    return WantedReplay("replay", version)
