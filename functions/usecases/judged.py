"""The result of a delivery, judged again by the same pure function as at the gate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.functions.usecases.delivery import result_of
from lakegate.functions.usecases.judging import reported
from lakegate.functions.workload import State

if TYPE_CHECKING:
    from lakegate.contracts.report.delivery import Report
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.workload import Workload


def judged(dependencies: Dependencies, row: Workload) -> Report | None:
    """The outcomes behind the verdict; None where nothing was measured, or nothing is decided yet.

    Raises Alarm where plan or result are missing or are not those that were decided on, and InputError where the result
    cannot be read.
    """
    if row.pin is None or not row.pin.plan or (row.decision is None and row.state is not State.FAILED):
        return None
    body = result_of(dependencies, row)
    if body is None:
        return None
    return reported(dependencies.plan(row), body, row, ((row.landed or row.source).key,))
