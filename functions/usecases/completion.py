"""Steps 8 to 12, on the hint that a job run has moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.functions.ports.errors import NotFound
from lakegate.functions.usecases.advance import complete

if TYPE_CHECKING:
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.steps import Steps


def completion(dependencies: Dependencies, run: str) -> Steps[None]:
    """Continue the workload of a run. The state in the event is not used.

    A failed run is retried at once: the back-off is seconds long, and is waited for here.
    """
    try:
        workload = dependencies.workloads.get(dependencies.jobs.describe(run).name)
    except NotFound:
        return  # a run of somebody else's in the same application
    yield from complete(dependencies, workload)
