"""Job runs of EMR Serverless."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping


class JobState(StrEnum):
    """Where a job run is; everything else before an end is RUNNING."""

    QUEUED = "QUEUED"
    """It waits for its turn: the application's limit of runs at once is reached. EMR itself ends a wait that is too long."""
    RUNNING = "RUNNING"
    SUCCESS = "SUCCESS"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


@dataclass(frozen=True, slots=True)
class JobRun:
    """One job run as EMR Serverless describes it; events name a run by its id only, `name` is the workload."""

    name: str
    state: JobState
    queued: timedelta = timedelta()
    """How long it waited for its turn."""
    started: bool = True
    """Whether it ever was RUNNING; one that only waited did nothing."""


class JobRunner(Protocol):
    """EMR Serverless."""

    def start(self, request: Mapping[str, object]) -> str:
        """StartJobRun, the request as stored; the same clientToken again returns the same run.

        Returns the run's id. Raises IdempotencyMismatch (the token was used with another request), Throttled (also
        while the application starts, stops or is updated).
        """
        ...

    def describe(self, run: str) -> JobRun:
        """GetJobRun. Raises NotFound."""
        ...

    def cancel(self, run: str) -> None:
        """Cancel the run; does nothing for an ended or unknown run."""
        ...
