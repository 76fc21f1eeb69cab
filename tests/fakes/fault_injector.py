"""In-memory clock, fault injection and notifier."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from lakegate.base.errors import PortError
from lakegate.gate.ports import Message

BEGINNING = datetime(2026, 1, 5, 12, tzinfo=UTC)


class VirtualClock:
    """A clock that advances only when somebody sleeps."""

    def __init__(self, now: datetime = BEGINNING) -> None:
        self._now = now

    def now(self) -> datetime:
        """The virtual time."""
        return self._now

    def sleep(self, seconds: float) -> None:
        """Let time pass at once."""
        self._now += timedelta(seconds=seconds)


@dataclass(slots=True)
class FaultInjector:
    """Errors of the next calls, of any worker: throttling and conflicts happen before a condition is evaluated."""

    refusals: deque[PortError] = field(default_factory=deque)

    def pass_or_refuse(self) -> None:
        """Raise the next refusal that was ordered, if any."""
        if self.refusals:
            raise self.refusals.popleft()


class MemoryNotifier:
    """Keeps every message it was handed, in order, doubles included."""

    def __init__(self, faults: FaultInjector) -> None:
        self._faults = faults
        self.sent: list[Message] = []

    def send(self, message: Message) -> None:
        """Keep it."""
        self._faults.pass_or_refuse()
        self.sent.append(message)
