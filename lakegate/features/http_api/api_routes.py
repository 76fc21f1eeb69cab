"""The routes of the HTTP API: each is a route of the template, with what answers it and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lakegate.features.http_api.announcements_api import announce_delivery, notify
from lakegate.features.http_api.api_router import CALLBACK_ROUTE
from lakegate.features.http_api.callbacks_api import call_back
from lakegate.features.http_api.contracts_api import contract, contracts, publish
from lakegate.features.http_api.pulls_api import run_pulls
from lakegate.features.http_api.validations_api import start_validation, validation
from lakegate.features.http_api.workloads_api import transition, workload

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lakegate.features.http_api.api_router import HttpAnswer, HttpRequest
    from lakegate.gate.dependencies import Dependencies


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What answers a route; docs/openapi.json is made of it."""

    name: str
    """Of the operation."""
    answer: Callable[[Dependencies, HttpRequest], HttpAnswer]
    scope: str
    """That a token must have; with IAM, the ARN of the route is what is granted. Empty: who has a token of a callback."""
    summary: str
    answers: Mapping[int, str]
    """By status, the definition in lakegate/schemas/api.json of the body."""
    problems: tuple[int, ...]
    """Statuses of its problem details, beside those of every route."""
    query: tuple[str, ...] = ()
    """Parameters that are texts."""
    flags: tuple[str, ...] = ()
    """Parameters that are `true` or `false`."""
    takes: str = ""
    """The definition of its body: `DocumentText` also as YAML, others as JSON; empty: it has none."""


READ, PUBLISH, DELIVER, OPERATE = "lakegate/read", "lakegate/publish", "lakegate/deliver", "lakegate/operate"


VALIDATE: Final = "lakegate/validate"


ROUTES: Final[Mapping[str, Endpoint]] = {
    "POST /api/v1/data-contract": Endpoint(
        "publishContract",
        publish,
        PUBLISH,
        "Lint, compile and publish a contract document",
        {200: "ContractId", 202: "Proposal"},
        (400, 403, 409, 413, 415),
        query=("from",),
        flags=("confirm", "allowUnmeasured"),
        takes="DocumentText",
    ),
    "PUT /api/v1/data-contract/{id}": Endpoint(
        "putContract",
        publish,
        PUBLISH,
        "The same for a document of one contract",
        {200: "ContractId", 202: "Proposal"},
        (400, 403, 409, 413, 415),
        query=("from",),
        flags=("confirm", "allowUnmeasured"),
        takes="DocumentText",
    ),
    "GET /api/v1/data-contract": Endpoint(
        "findContracts",
        contracts,
        READ,
        "Find contracts by their labels",
        {200: "ContractPage"},
        (400,),
        query=("tag", "producer", "consumer", "cursor"),
    ),
    "GET /api/v1/data-contract/{id}": Endpoint(
        "readContract", contract, READ, "Read a contract", {200: "Contract"}, (404,), query=("version",)
    ),
    "GET /api/v1/data-contract/{id}/workload/{workload}": Endpoint(
        "readWorkloadOfContract", workload, READ, "The same for a delivery to one contract", {200: "Workload"}, (404,)
    ),
    "GET /api/v1/workload/{id}": Endpoint(
        "readWorkload", workload, READ, "Read status and result of a delivery", {200: "Workload"}, (404,)
    ),
    "POST /api/v1/workload": Endpoint(
        "announceWorkload",
        announce_delivery,
        DELIVER,
        "Announce a delivery: judge its summary, and get an upload URL",
        {200: "Workload"},
        (400, 404, 413, 415, 422),
        takes="WantedDelivery",
    ),
    "POST /api/v1/data-contract/{id}/workload": Endpoint(
        "announceWorkloadOfContract",
        announce_delivery,
        DELIVER,
        "The same for a delivery to one contract",
        {200: "Workload"},
        (400, 404, 413, 415, 422),
        takes="WantedDelivery",
    ),
    "POST /api/v1/workload/notify/{id}": Endpoint(
        "notifyWorkload", notify, DELIVER, "The data of an announced delivery is there", {200: "Workload"}, (404, 413)
    ),
    "POST /api/v1/data-contract/{id}/workload/{workload}/notify": Endpoint(
        "notifyWorkloadOfContract",
        notify,
        DELIVER,
        "The same for a delivery to one contract",
        {200: "Workload"},
        (404, 413),
    ),
    "POST /api/v1/workload/{id}/transition": Endpoint(
        "transitionWorkload",
        transition,
        OPERATE,
        "Replay, waive, approve or decline a delivery",
        {200: "Workload"},
        (400, 404, 409, 413, 415),
        takes="Transition",
    ),
    "POST /api/v1/data-contract/{id}/workload/{workload}/transition": Endpoint(
        "transitionWorkloadOfContract",
        transition,
        OPERATE,
        "The same for a delivery to one contract",
        {200: "Workload"},
        (400, 404, 409, 413, 415),
        takes="Transition",
    ),
    "POST /api/v1/data-contract/{id}/pull": Endpoint(
        "pullContract",
        run_pulls,
        DELIVER,
        "Pull the data of a contract now, whatever its schedule is",
        {200: "Pulls"},
        (400, 404, 413),
        query=("line",),
    ),
    CALLBACK_ROUTE: Endpoint(
        "callBack",
        call_back,
        "",
        "Answer for a delivery that waits for a callback",
        {200: "CalledBack"},
        (400, 404, 409, 413, 415),
        takes="Callback",
    ),
    "POST /v1/validation/start": Endpoint(
        "startValidation",
        start_validation,
        VALIDATE,
        "Measure rules of another manager over data that landed here",
        {200: "ValidationStatus"},
        (400, 404, 409, 413, 415),
        takes="WantedValidation",
    ),
    "GET /v1/validation/{workloadId}": Endpoint(
        "readValidation", validation, VALIDATE, "Read what a validation has come to", {200: "ValidationStatus"}, (404,)
    ),
    "POST /api/v1/data-contract/{id}/v1/validation/start": Endpoint(
        "startValidationOfContract",
        start_validation,
        VALIDATE,
        "The same over data of one contract",
        {200: "ValidationStatus"},
        (400, 404, 409, 413, 415),
        takes="WantedValidation",
    ),
    "GET /api/v1/data-contract/{id}/v1/validation/{workloadId}": Endpoint(
        "readValidationOfContract",
        validation,
        VALIDATE,
        "The same over data of one contract",
        {200: "ValidationStatus"},
        (404,),
    ),
}
"""By route key: API Gateway has chosen the route, so that no second router can choose otherwise."""
