"""Bodies of requests: documents of a schema, bounded before they are read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from lakegate.contracts.schemas import problems
from lakegate.functions.http.messages import JSON, HttpProblem

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.functions.http.messages import HttpRequest

SCHEMA: Final = "api"
MAX_ERRORS: Final = 20


def media_type(request: HttpRequest) -> str:
    """The content type without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def document_of(request: HttpRequest, definition: str, number: Callable[[str], object] = str) -> Any:  # noqa: ANN401 - what the definition allows
    """The JSON document of a definition in contracts/schemas/api.json; numbers with a point are texts, to keep their digits.

    `number` reads these otherwise; its ValueError refuses the body. Raises HttpProblem for another content type, and for a body
    that is no such document, with the position of each error.
    """
    if media_type(request) != JSON:
        raise HttpProblem(415, "unsupported-media-type", f"Send a JSON document (`{JSON}`).")
    try:
        document = json.loads(request.body, parse_float=number, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise HttpProblem(400, "invalid-body", "The body is not a JSON document.") from None
    if errors := problems(SCHEMA, definition, document, MAX_ERRORS):
        located = [{"path": path, "message": message} for path, message in errors]
        raise HttpProblem(400, "invalid-body", "The body does not have the form that it should have.", errors=located)
    return document


def _refuse_constant(name: str) -> None:
    raise ValueError(name)
