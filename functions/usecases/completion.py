"""Steps 8 to 12, on the hint that a job run has moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from functions.ports import NotFound
from functions.usecases.advance import complete

if TYPE_CHECKING:
    from functions.usecases.gate import Gate
    from functions.usecases.steps import Steps


def completion(gate: Gate, run: str) -> Steps[None]:
    """Carry on the workload whose run it is. What the event says of the run's end is not even looked at.

    A run that failed is tried again at once: the back-off is seconds, and is waited for here.
    """
    try:
        workload = gate.workloads.get(gate.jobs.describe(run).name)
    except NotFound:
        return  # a run of somebody else's in the same application
    yield from complete(gate, workload)
