"""Pulls over HTTP: the owner of a contract has its lines pulled now (docs/pull.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lakegate.contracts.words import counted
from lakegate.functions.http.messages import HttpAnswer, HttpProblem
from lakegate.functions.usecases.lines import names_of
from lakegate.functions.usecases.names import is_usable
from lakegate.functions.usecases.pull_plans import pulled_lines, run_now
from lakegate.functions.usecases.steps import run

if TYPE_CHECKING:
    from lakegate.contracts.lake.pulls import PullingLine
    from lakegate.functions.http.messages import HttpRequest
    from lakegate.functions.usecases.dependencies import Dependencies

MOST_LINES: Final = 100
"""Of one request: each is read and written, and a request has seconds."""


def run_pulls(dependencies: Dependencies, request: HttpRequest) -> HttpAnswer:
    """POST /api/v1/data-contract/{id}/pull: the next tick pulls all lines of the contract, or those that `line` names.

    The request fetches nothing. A line that is due or being fetched stays as it is, so that a repetition changes nothing.
    """
    contract, wanted = request.path.get("id", ""), request.query.get("line")
    lines = pulled_lines(dependencies, contract) if is_usable(contract) and request.allows(contract) else ()
    found = [each for each in lines if wanted is None or wanted in names_of(each)]
    if not found:
        raise HttpProblem(404, "not-found", "No contract with this id has such a line that is pulled.")
    if len(found) > MOST_LINES:
        detail = f"The contract pulls {counted(len(found), 'line')}, and a request has at most {MOST_LINES}: name one by `line`."
        raise HttpProblem(400, "refused", detail)
    return HttpAnswer(200, {"pulls": [_asked(dependencies, each) for each in found]})


def _asked(dependencies: Dependencies, line: str) -> dict[str, object]:
    """One line, which the next tick pulls; without its source, which the contract states."""
    row = dependencies.pulls.get(line)
    if row.plan:
        row = run(run_now(dependencies, line), dependencies.clock)
    return {
        "line": line,
        "contractVersion": row.version or None,
        "status": _status(row),
        "latest": _latest(row),
    }


def _status(row: PullingLine) -> str:
    """`Unscheduled`: no tick has seen what was published, or the stack does not pull."""
    if not row.plan:
        return "Unscheduled"
    return "Fetching" if row.leased or row.fetch else "Due"


def _latest(row: PullingLine) -> dict[str, object] | None:
    if not row.ends:
        return None
    end = row.ends[0]
    return {
        "outcome": end.outcome.value,
        "at": end.at,
        "key": end.key or None,
        "size": end.size if end.key else None,
        "reason": end.reason or None,
    }
