"""Faults on request: how a run ends and what becomes of its events, given by the run's tags or by the control address."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from local_emr import api_shapes
from local_emr.api_shapes import Invalid, RunState, ServiceError, model

TAG: Final = "fault:"
"""A run's tags that begin so are its faults: `fault:end`, `fault:events`, …"""


class RunEnd(StrEnum):
    """The end of a run against the will of its program."""

    NORMAL = "normal"
    FAIL_BEFORE = "fail-before"
    """FAILED, and the program never ran: no result."""
    FAIL_AFTER = "fail-after"
    """The program ran to its end, its result is written, and the run is FAILED."""
    HANG = "hang"
    """RUNNING for ever, and the program never ran."""
    HANG_AFTER = "hang-after"
    """The program ran to its end, its result is written, and the run is RUNNING for ever."""


class EventDelivery(StrEnum):
    """The delivery of a run's events."""

    NORMAL = "normal"
    DROP = "drop"
    DUPLICATE = "duplicate"
    DELAY = "delay"
    """Each is sent `delay-seconds` later."""
    REORDER = "reorder"
    """All are held until the run has ended, and sent last one first."""


@dataclass(frozen=True, slots=True)
class RunFault:
    """The fault of one run; the default is none."""

    end: RunEnd = RunEnd.NORMAL
    events: EventDelivery = EventDelivery.NORMAL
    states: frozenset[RunState] = frozenset(RunState)
    """The states whose events are meant."""
    delay_seconds: float = 0.0
    start_seconds: float = 0.0
    """Further seconds for which the run stays SCHEDULED."""

    def delivery(self, state: RunState) -> EventDelivery:
        """The delivery of the event of a state."""
        return self.events if state in self.states else EventDelivery.NORMAL


def read_fault(words: Mapping[str, Any]) -> RunFault:
    """A fault from its words: `{"end": "fail-after", "events": "drop", "states": "SUCCESS FAILED"}`; Invalid if unknown."""
    unknown = words.keys() - WORDS.keys()
    if unknown:
        raise Invalid(f"unknown faults: {', '.join(sorted(unknown))}; known: {', '.join(WORDS)}")
    try:
        read: dict[str, Any] = {name.replace("-", "_"): WORDS[name](str(word)) for name, word in words.items()}
        return RunFault(**read)
    except ValueError as error:
        raise Invalid(f"{error} (in a fault)") from None


def of_tags(tags: Mapping[str, str]) -> RunFault | None:
    """The fault that a run's tags ask for; None if they ask for none."""
    words = {name.removeprefix(TAG): value for name, value in tags.items() if name.startswith(TAG)}
    return read_fault(words) if words else None


def _states(words: str) -> frozenset[RunState]:
    return frozenset(RunState(word) for word in words.split())


WORDS: Final[Mapping[str, Callable[[str], object]]] = {
    "end": RunEnd,
    "events": EventDelivery,
    "states": _states,
    "delay-seconds": float,
    "start-seconds": float,
}


@dataclass(slots=True)
class FaultOrder:
    """A fault that waits for the next runs it fits, or an error that waits for the next calls of an operation."""

    document: Mapping[str, Any]
    times: int
    fault: RunFault | None = None
    match: Mapping[str, str] = field(default_factory=dict)
    """`name` and `argument`: texts that the run's name, or one of its arguments, must contain."""
    operation: str = ""
    error: type[ServiceError] = ServiceError

    def fits(self, request: Mapping[str, Any]) -> bool:
        """Whether a StartJobRun request is meant."""
        arguments = request.get("jobDriver", {}).get("sparkSubmit", {}).get("entryPointArguments", [])
        held = {"name": [request.get("name", "")], "argument": arguments}
        return all(any(text in value for value in held[name]) for name, text in self.match.items())


def read_order(document: Mapping[str, Any]) -> FaultOrder:
    """An order of `POST /_faults`; Invalid if it has an unknown value."""
    times = document.get("times", 1)
    if not isinstance(times, int) or times < 1:
        raise Invalid("times is a whole number from 1")
    if document.keys() <= {"operation", "error", "times"} and "operation" in document:
        error = _ERRORS.get(document.get("error", "ThrottlingException"))
        if error is None or document["operation"] not in model().operation_names:
            raise Invalid(f"an operation of AWS, and one of the errors {', '.join(_ERRORS)}")
        return FaultOrder(document, times, operation=document["operation"], error=error)
    match = document.get("match", {})
    if document.keys() <= {"fault", "match", "times"} and "fault" in document and match.keys() <= {"name", "argument"}:
        return FaultOrder(document, times, fault=read_fault(document["fault"]), match=match)
    raise Invalid(
        'an order is {"fault": …, "match": {"name": …, "argument": …}, "times": 1} or {"operation": …, "error": …}'
    )


_ERRORS: Final = {
    kind.code: kind
    for kind in (
        api_shapes.ThrottlingError,
        api_shapes.QuotaExceeded,
        api_shapes.InternalServerError,
        api_shapes.Conflict,
        api_shapes.Absent,
        Invalid,
    )
}


class Orders:
    """The orders that wait, oldest first. The caller holds the service's lock."""

    def __init__(self) -> None:
        self._waiting: list[FaultOrder] = []

    def add(self, document: Mapping[str, Any]) -> None:
        self._waiting.append(read_order(document))

    def clear(self) -> None:
        self._waiting.clear()

    def documents(self) -> list[dict[str, Any]]:
        """Waiting faults, with the times that are left."""
        return [{**order.document, "times": order.times} for order in self._waiting]

    def refuse(self, operation: str) -> None:
        """Raise the error that waits for this operation, if one does."""
        order = self._take(lambda order: order.operation == operation)
        if order is not None:
            raise order.error(f"ordered by POST /_faults for {operation}")

    def fault_for(self, request: Mapping[str, Any]) -> RunFault:
        """The fault of a new run: its tags' own, else that of the first order that fits, else none."""
        tagged = of_tags(request.get("tags", {}))
        if tagged is not None:
            return tagged
        order = self._take(lambda order: order.fault is not None and order.fits(request))
        return order.fault if order is not None and order.fault is not None else RunFault()

    def _take(self, wanted: Callable[[FaultOrder], bool]) -> FaultOrder | None:
        order = next(filter(wanted, self._waiting), None)
        if order is not None:
            order.times -= 1
            if order.times == 0:
                self._waiting.remove(order)
        return order
