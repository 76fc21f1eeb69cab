"""Events of EMR Serverless."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lakegate.functions.events.fields import identifier, text
from lakegate.functions.events.hints import Decoded, JobMoved, Nothing, RefusalReason, UnintelligibleError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

JOB_STATES: Final = frozenset(
    {"SUBMITTED", "QUEUED", "PENDING", "SCHEDULED", "RUNNING", "SUCCESS", "FAILED", "CANCELLING", "CANCELLED"}
)
_JOB_MOVED: Final = "EMR Serverless Job Run State Change"
_EMR_OTHERS: Final = frozenset(
    {
        "EMR Serverless Application State Change",
        "EMR Serverless Job Run Retry",
        "EMR Serverless Job Resource Utilization Update",
    }
)


def event_of(event: Mapping[str, object], path: str, _depth: int) -> Iterator[Decoded]:
    """The hint of an event from EventBridge."""
    kind = text(event, path, "detail-type")
    if kind in _EMR_OTHERS:
        yield Nothing(kind)
        return
    if kind != _JOB_MOVED:
        raise UnintelligibleError(RefusalReason.UNKNOWN_KIND, f"{path}.detail-type")
    state = text(event, path, "detail.state")
    if state not in JOB_STATES:
        raise UnintelligibleError(RefusalReason.UNKNOWN_STATE, f"{path}.detail.state")
    yield JobMoved(identifier(event, path, "detail.applicationId"), identifier(event, path, "detail.jobRunId"), state)
