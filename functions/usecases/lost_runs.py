"""Why the run of an attempt will write no result any more."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from lakegate.contracts.lake.failures import FailureCause
from lakegate.functions.ports.errors import NotFound
from lakegate.functions.ports.jobs import JobState

if TYPE_CHECKING:
    from lakegate.functions.ports.jobs import JobRun
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.workload import Workload

CAUSES = {
    JobState.FAILED: FailureCause.RUN_FAILED,
    JobState.CANCELLED: FailureCause.RUN_CANCELLED,
    JobState.RUNNING: FailureCause.RUN_HUNG,
    JobState.SUCCESS: FailureCause.NO_RESULT,
    JobState.INVOKED: FailureCause.NO_ANSWER,
}
"""Why a run that may not answer any more has no result, by its state."""
UNANSWERED = frozenset({*CAUSES.values(), FailureCause.NOT_STARTED, FailureCause.BATCH_FAILED})
SHORTEST_QUEUE_TIMEOUT = timedelta(minutes=15)
"""Of EMR Serverless. Its documentation leaves open whether a run ends FAILED or CANCELLED when its time in the queue is over."""
ENDLESS = frozenset({JobState.RUNNING, JobState.INVOKED})
"""States in which a run may still answer, until its deadline."""


def described_run(dependencies: Dependencies, workload: Workload) -> JobRun | None:
    """The run of the current attempt; None where it is not known."""
    try:
        return dependencies.jobs.describe(workload.run)
    except NotFound:
        return None


def cause_of_run(dependencies: Dependencies, workload: Workload, run: JobRun | None) -> FailureCause | None:
    """Why the run will write no result any more; None: it may. Time in the queue counts as none: a burst hangs no job."""
    if run is None:
        return FailureCause.NO_RESULT
    in_time = workload.deadline is None or dependencies.clock.now() < workload.deadline + run.queued
    if run.state is JobState.QUEUED or (run.state in ENDLESS and in_time):
        return None
    return FailureCause.NOT_STARTED if _only_waited(run) else CAUSES[run.state]


def _only_waited(run: JobRun) -> bool:
    """Whether a run ended, or has to be ended, without having begun; one that FAILED at once had another reason."""
    return not run.started and (run.state is not JobState.FAILED or run.queued >= SHORTEST_QUEUE_TIMEOUT)
