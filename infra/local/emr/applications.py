"""Applications: what a job run belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from infra.local.emr.states import ApplicationState

if TYPE_CHECKING:
    from collections.abc import Mapping

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
        """How many runs it may have at once."""
        return int(self._scheduler.get("maxConcurrentRuns", MAXIMUM))

    @property
    def queue_minutes(self) -> float:
        """How long a run may be QUEUED."""
        return float(self._scheduler.get("queueTimeoutMinutes", QUEUE_MINUTES))

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
        """What `restored` makes the application of."""
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
        found: Mapping[str, Any] = self.request.get("schedulerConfiguration", {})
        return found


def restored(kept: Mapping[str, Any]) -> Application:
    """An application of a service that has ended; a run starts it again."""
    times = {name: datetime.fromisoformat(kept[name]) for name in ("created_at", "updated_at")}
    return Application(kept["id"], kept["arn"], kept["request"], **times, state=ApplicationState.CREATED)
