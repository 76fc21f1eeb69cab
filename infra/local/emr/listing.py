"""Lists: what a request wants of them, and one page of it."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Final

from infra.local.emr.errors import Invalid
from infra.local.emr.states import RunState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from infra.local.emr.runs import Run

Members = dict[str, Any]


PAGE: Final = 50


def wanted(run: Run, request: Members) -> bool:
    """Whether a ListJobRuns request means this run."""
    return (
        run.state in request.get("states", RunState)
        and request.get("createdAtAfter", run.created_at) <= run.created_at
        and run.created_at <= request.get("createdAtBefore", run.created_at)
        and request.get("mode", "BATCH") == "BATCH"
    )


def page(name: str, items: Sequence[Members], request: Members) -> Members:
    """The page that a request asks for, and the token of the next one where there is one."""
    start = _place(request["nextToken"]) if "nextToken" in request else 0
    end = start + request.get("maxResults", PAGE)
    following = {"nextToken": base64.urlsafe_b64encode(str(end).encode()).decode()} if end < len(items) else {}
    return {name: list(items[start:end]), **following}


def _place(token: str) -> int:
    try:
        return int(base64.urlsafe_b64decode(token))
    except ValueError:
        raise Invalid("Value at 'nextToken' is none that was given out") from None
