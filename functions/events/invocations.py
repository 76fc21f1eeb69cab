"""Records of asynchronous invocations, as Lambda sends them to a destination."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lakegate.functions.events.fields import identifier, mapping, text
from lakegate.functions.events.hints import Decoded, InvocationEnded, RefusalReason, UnintelligibleError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_ENDS: Final = frozenset({"Success", "RetriesExhausted", "EventAgeExceeded"})
"""Conditions of a record (Lambda developer guide, Capturing records of Lambda asynchronous invocations)."""


def record_of(record: Mapping[str, object], path: str, _depth: int) -> Iterator[Decoded]:
    """The hint of a record of the judge function."""
    if text(record, path, "version") != "1.0":
        raise UnintelligibleError(RefusalReason.UNKNOWN_VERSION, f"{path}.version")
    condition = text(record, path, "requestContext.condition")
    if condition not in _ENDS:
        raise UnintelligibleError(RefusalReason.UNKNOWN_STATE, f"{path}.requestContext.condition")
    attempt = mapping(record["requestPayload"], f"{path}.requestPayload").get("attempt")
    if not isinstance(attempt, int) or isinstance(attempt, bool):
        raise UnintelligibleError(RefusalReason.WRONG_TYPE, f"{path}.requestPayload.attempt")
    yield InvocationEnded(identifier(record, path, "requestPayload.workload"), attempt, condition != "Success")
