"""In-memory clock, fault injection and notifier."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from lakegate.base.errors import PortError
from lakegate.gate.ports import Message

MOST = 10
"""Entries of one PutEvents."""
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
        self.refused: set[str] = set()
        """Ids of messages whose entries are refused."""

    def send(self, messages: Sequence[Message]) -> frozenset[str]:
        """Keep them, but for those that are to be refused; one alone is refused by an error, as the call itself is."""
        assert 0 < len(messages) <= MOST
        self._faults.pass_or_refuse()
        refused = frozenset(message.id for message in messages if message.id in self.refused)
        if refused and len(messages) == 1:
            raise PortError("PutEvents: InternalFailure")
        self.sent += [message for message in messages if message.id not in refused]
        return refused
