"""The states of applications and job runs, as AWS names them."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class ApplicationState(StrEnum):
    """Of an application."""

    CREATING = "CREATING"
    CREATED = "CREATED"
    STARTING = "STARTING"
    STARTED = "STARTED"
    STOPPING = "STOPPING"
    STOPPED = "STOPPED"
    TERMINATED = "TERMINATED"


class RunState(StrEnum):
    """Of a job run."""

    SUBMITTED = "SUBMITTED"
    QUEUED = "QUEUED"
    """The application runs as many as it may at once."""
    PENDING = "PENDING"
    SCHEDULED = "SCHEDULED"
    """Taken by the application, waiting for what it runs on."""
    RUNNING = "RUNNING"
    SUCCESS = "SUCCESS"
    FAILED = "FAILED"
    CANCELLING = "CANCELLING"
    CANCELLED = "CANCELLED"


ENDS: Final = frozenset({RunState.SUCCESS, RunState.FAILED, RunState.CANCELLED})


WAITING: Final = frozenset({RunState.SUBMITTED, RunState.QUEUED})
