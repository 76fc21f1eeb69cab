"""Runs of attempts: job runs of EMR Serverless, and asynchronous invocations of the judge function."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

INVOCATION = "lambda/"
"""How the name of an invocation begins. Ids of job runs are letters and digits (EMR Serverless API, JobRunId)."""


class JobState(StrEnum):
    """Where a run is; everything else before an end is RUNNING."""

    QUEUED = "QUEUED"
    """It waits for its turn: the application's limit of runs at once is reached. EMR itself ends a wait that is too long."""
    RUNNING = "RUNNING"
    SUCCESS = "SUCCESS"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    INVOKED = "INVOKED"
    """An invocation, whose progress Lambda does not report. It may still answer until its deadline."""


@dataclass(frozen=True, slots=True)
class JobRun:
    """One run; events of EMR Serverless name it by its id only, `name` is the workload."""

    name: str
    state: JobState
    queued: timedelta = timedelta()
    """How long it waited for its turn."""
    started: bool = True
    """Whether it ever was RUNNING; one that only waited did nothing."""
    billed: tuple[float, float] | None = None
    """vCPU-hours and GB-hours that were billed; None while that is not known."""


class JobRunner(Protocol):
    """EMR Serverless, and the judge function."""

    def start(self, request: Mapping[str, object]) -> str:
        """StartJobRun, or Invoke for a request with `FunctionName`: the request as stored.

        The same clientToken again returns the same run. An invocation has no token: it is made again, under the same
        name, and both write one result. Returns the run's id.
        Raises IdempotencyMismatch (the token was used with another request), Throttled (also while the application
        starts, stops or is updated), NotFound (no such function or application).
        """
        ...

    def describe(self, run: str) -> JobRun:
        """GetJobRun; an invocation is INVOKED. Raises NotFound."""
        ...

    def cancel(self, run: str) -> None:
        """Cancel the run; does nothing for an invocation, and for an ended or unknown run."""
        ...


def invocation(workload: str, attempt: int) -> str:
    """The name of the invocations of an attempt: the same for each of them."""
    return f"{INVOCATION}{workload}/{attempt}"


def names_invocation(run: str) -> bool:
    """Whether a run is an invocation of the judge function."""
    return run.startswith(INVOCATION)


def is_invocation(request: Mapping[str, object]) -> bool:
    """Whether a stored request invokes the judge function."""
    return "FunctionName" in request
