"""Applications: what a job run belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from threading import Timer
from typing import Any, Final

from local_emr.api_shapes import ApplicationState, RunState, Stop
from local_emr.faults import RunFault

# ---- Applications ----


MAXIMUM: Final = 15
"""Runs of one application at a time, where its scheduler configuration does not say."""
QUEUE_MINUTES: Final = 360
_DEFAULTS: Final[Mapping[str, Any]] = {
    "architecture": "X86_64",
    "autoStartConfiguration": {"enabled": True},
    "autoStopConfiguration": {"enabled": True, "idleTimeoutMinutes": 15},
}

SUMMARY: Final = (
    "name",
    "arn",
    "releaseLabel",
    "type",
    "state",
    "stateDetails",
    "createdAt",
    "updatedAt",
    "architecture",
)


@dataclass(slots=True)
class Application:
    """An application; its request holds all members that its creator sent."""

    id: str
    arn: str
    request: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    state: ApplicationState = ApplicationState.CREATING

    @property
    def maximum(self) -> int:
        """The largest number of its runs at once."""
        return int(self._scheduler.get("maxConcurrentRuns", MAXIMUM))

    @property
    def queue_minutes(self) -> float:
        """Minutes for which a run may be QUEUED."""
        return float(self._scheduler.get("queueTimeoutMinutes", QUEUE_MINUTES))

    @property
    def capacity(self) -> Mapping[str, str]:
        """The capacity of all its workers together, where it is stated."""
        capacity: Mapping[str, str] = self.request.get("maximumCapacity", {})
        return capacity

    @property
    def starts_itself(self) -> bool:
        """Whether a run starts it."""
        return bool(self.document()["autoStartConfiguration"].get("enabled", True))

    def document(self) -> dict[str, Any]:
        """The application as GetApplication returns it."""
        return {
            **_DEFAULTS,
            **self.request,
            "applicationId": self.id,
            "arn": self.arn,
            "type": self.request["type"].title(),
            "state": self.state,
            "createdAt": self.created_at,
            "updatedAt": self.updated_at,
        }

    def kept(self) -> dict[str, Any]:
        """The document from which `restored` makes the application."""
        times = {"created_at": self.created_at.isoformat(), "updated_at": self.updated_at.isoformat()}
        return {"id": self.id, "arn": self.arn, "request": self.request, **times}

    def summary(self) -> dict[str, Any]:
        """The application as ListApplications returns it."""
        document = self.document()
        return {"id": self.id} | {name: document[name] for name in SUMMARY if name in document}

    def detail(self, previous: str) -> dict[str, Any]:
        """The detail of the event of a change."""
        return {
            "applicationId": self.id,
            "applicationName": self.request.get("name", ""),
            "arn": self.arn,
            "releaseLabel": self.request["releaseLabel"],
            "state": self.state,
            "previousState": previous,
            "createdAt": self.created_at,
            "updatedAt": self.updated_at,
            "autoStopConfig": self.document()["autoStopConfiguration"],
        }

    @property
    def _scheduler(self) -> Mapping[str, Any]:
        settings: Mapping[str, Any] = self.request.get("schedulerConfiguration", {})
        return settings


def restored(kept: Mapping[str, Any]) -> Application:
    """An application of a service that has ended; a run starts it again."""
    times = {name: datetime.fromisoformat(kept[name]) for name in ("created_at", "updated_at")}
    return Application(kept["id"], kept["arn"], kept["request"], **times, state=ApplicationState.CREATED)


# ---- Job runs and attempts ----


MINUTES: Final = 720
"""A run's time limit where its request names none."""
MINUTE: Final = 60.0
"""Seconds that a worker is billed at least (EMR Serverless API, ResourceUtilization)."""
DETAILS: Final = 256
"""Characters that stateDetails may have."""

_SUMMARY: Final = (
    "applicationId",
    "name",
    "mode",
    "arn",
    "createdBy",
    "createdAt",
    "updatedAt",
    "executionRole",
    "state",
    "stateDetails",
    "releaseLabel",
    "attempt",
    "attemptCreatedAt",
    "attemptUpdatedAt",
)

_COPIED: Final = ("name", "configurationOverrides", "executionIamPolicy", "retryPolicy", "tags")
"""Members of the request that the run repeats."""


@dataclass(slots=True)
class RunAttempt:
    """One try of a run."""

    number: int
    created_at: datetime
    updated_at: datetime
    state: RunState = RunState.SUBMITTED
    details: str = "-"
    started_at: datetime | None = None
    ended_at: datetime | None = None


@dataclass(slots=True)
class Run:
    """One job run. All of it changes under the lock of `Life` alone."""

    id: str
    arn: str
    application: Application
    request: dict[str, Any]
    caller: str
    created_at: datetime
    fault: RunFault = field(default_factory=RunFault)
    attempts: list[RunAttempt] = field(default_factory=list)
    queued_at: datetime | None = None
    left_queue_at: datetime | None = None
    stop: Stop = field(default_factory=Stop)
    limits: list[Timer] = field(default_factory=list)
    """The timer that ends the run when its time is over; of no use once it has ended."""

    def __post_init__(self) -> None:
        self.attempts.append(RunAttempt(1, self.created_at, self.created_at))

    @property
    def latest(self) -> RunAttempt:
        """The attempt that counts."""
        return self.attempts[-1]

    @property
    def state(self) -> RunState:
        """The run's state is that of its latest attempt."""
        return self.latest.state

    @property
    def most_attempts(self) -> int:
        """The largest number of attempts of the run."""
        return int(self.request.get("retryPolicy", {}).get("maxAttempts", 1))

    @property
    def minutes(self) -> float:
        """The run's time limit."""
        return float(self.request.get("executionTimeoutMinutes", MINUTES))

    def document(self, attempt: RunAttempt | None = None) -> dict[str, Any]:
        """The run as GetJobRun returns it, at an attempt (the latest)."""
        current = attempt or self.latest
        seconds = _seconds(current.started_at, current.ended_at)
        document: dict[str, Any] = {
            "applicationId": self.application.id,
            "jobRunId": self.id,
            "arn": self.arn,
            "createdBy": self.caller,
            "createdAt": self.created_at,
            "updatedAt": current.updated_at,
            "executionRole": self.request["executionRoleArn"],
            "state": current.state,
            "stateDetails": current.details,
            "releaseLabel": self.application.request["releaseLabel"],
            "jobDriver": self.request.get("jobDriver", {}),
            "executionTimeoutMinutes": int(self.minutes),
            "mode": self.request.get("mode", "BATCH"),
            "attempt": current.number,
            "attemptCreatedAt": current.created_at,
            "attemptUpdatedAt": current.updated_at,
            "totalExecutionDurationSeconds": int(seconds),
            "queuedDurationMilliseconds": int(1000 * _seconds(self.queued_at, self.left_queue_at)),
            "startedAt": current.started_at,
            "endedAt": current.ended_at,
            "billedResourceUtilization": _billed(seconds) if current.ended_at and current.started_at else None,
        }
        document |= {name: self.request[name] for name in _COPIED if name in self.request}
        return {name: value for name, value in document.items() if value is not None}

    def summary(self, attempt: RunAttempt | None = None) -> dict[str, Any]:
        """The run as ListJobRuns returns it."""
        document = self.document(attempt)
        return {"id": self.id} | {name: document[name] for name in _SUMMARY if name in document}

    def attempt_summary(self, attempt: RunAttempt) -> dict[str, Any]:
        """An attempt as ListJobRunAttempts returns it."""
        summary = self.summary(attempt)
        del summary["attemptCreatedAt"], summary["attemptUpdatedAt"]
        return {**summary, "jobCreatedAt": self.created_at, "createdAt": attempt.created_at}

    def detail(self, previous: RunState | None) -> dict[str, Any]:
        """The detail of the event of a change."""
        before: dict[str, Any] = {"previousState": previous} if previous else {}
        return {**self._common_detail(), "state": self.state, **before, "attempt": self.latest.number}

    def retry_detail(self, previous: RunAttempt) -> dict[str, Any]:
        """The detail of the event of a retry."""
        return {
            **self._common_detail(),
            "previousAttempt": previous.number,
            "previousAttemptState": previous.state,
            "previousAttemptCreatedAt": previous.created_at,
            "previousAttemptEndedAt": previous.ended_at,
            "newAttempt": self.latest.number,
            "newAttemptCreatedAt": self.latest.created_at,
        }

    def _common_detail(self) -> dict[str, Any]:
        return {
            "jobRunId": self.id,
            "applicationId": self.application.id,
            "arn": self.arn,
            "releaseLabel": self.application.request["releaseLabel"],
            "createdBy": self.caller,
            "updatedAt": self.latest.updated_at,
            "createdAt": self.created_at,
        }


def _billed(seconds: float) -> dict[str, float]:
    """The bill of two workers of 2 vCPU and 7 GB, at least a minute each; beyond the first 20 GB no storage."""
    hours = max(seconds, MINUTE) / 3600
    return {"vCPUHour": round(4 * hours, 6), "memoryGBHour": round(14 * hours, 6), "storageGBHour": 0.0}


def _seconds(start: datetime | None, end: datetime | None) -> float:
    return (end - start).total_seconds() if start and end else 0.0
