"""The routes of the HTTP API: each is a route of the template with what answers it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lakegate.functions.http.contracts import contract, contracts, publish
from lakegate.functions.http.workloads import workload

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lakegate.functions.http.messages import HttpAnswer, HttpRequest
    from lakegate.functions.usecases.dependencies import Dependencies


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What answers a route."""

    answer: Callable[[Dependencies, HttpRequest], HttpAnswer]
    scope: str
    """That a token must have; with IAM, the ARN of the route is what is granted."""


READ, PUBLISH = "lakegate/read", "lakegate/publish"
ROUTES: Final[Mapping[str, Endpoint]] = {
    "POST /api/v1/data-contract": Endpoint(publish, PUBLISH),
    "GET /api/v1/data-contract": Endpoint(contracts, READ),
    "GET /api/v1/data-contract/{id}": Endpoint(contract, READ),
    "GET /api/v1/workload/{id}": Endpoint(workload, READ),
}
"""By route key: API Gateway has chosen the route, so that no second router can choose otherwise."""
