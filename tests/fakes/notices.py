"""Notices and channels in memory: a condition on the revision of a notice, an index that lags, receivers that fail."""

from __future__ import annotations

import base64
import hashlib
from datetime import timedelta
from typing import TYPE_CHECKING, Generic, TypeVar

from lakegate.errors import ConditionFailed, PortError
from lakegate.gate.channel_kinds import channel_of
from lakegate.timestamps import instant_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from lakegate.aws.dataset_tables import LineRow
    from lakegate.features.notifications.notices import ChannelNotice
    from lakegate.features.openlineage.openlineage_events import JudgedDelivery
    from lakegate.gate.channel_kinds import Notification
    from tests.fakes.fault_injector import FaultInjector, VirtualClock


T = TypeVar("T", bound="LineRow")


class MemoryNotices:
    """Notices; its index is `lag` seconds behind."""

    def __init__(self, clock: VirtualClock, faults: FaultInjector, lag: float = 0.0) -> None:
        self._clock = clock
        self._faults = faults
        self._lag = timedelta(seconds=lag)
        self.notices: dict[str, ChannelNotice] = {}
        self._late: list[tuple[datetime, ChannelNotice]] = []
        self._index: dict[str, ChannelNotice] = {}

    def get(self, notice: str) -> ChannelNotice | None:
        """The notice."""
        return self.notices.get(notice)

    def write(self, notice: ChannelNotice) -> None:
        """A conditional put."""
        self._faults.pass_or_refuse()
        before = self.notices.get(notice.id)
        if (before.revision if before else 0) != notice.revision - 1:
            raise ConditionFailed("notice")
        self.notices[notice.id] = notice
        self._late.append((self._clock.now() + self._lag, notice))

    def due(self, now: datetime, limit: int) -> tuple[str, ...]:
        """Ids by the index."""
        found = sorted((each.due, each.id) for each in self._indexed() if each.due and instant_of(each.due) <= now)
        return tuple(name for _, name in found[:limit])

    def dead(self, limit: int) -> tuple[str, ...]:
        """Ids by the index."""
        return tuple(
            name for _, name in sorted((each.not_before, each.id) for each in self._indexed() if each.dead)[:limit]
        )

    def _indexed(self) -> tuple[ChannelNotice, ...]:
        while self._late and self._late[0][0] <= self._clock.now():
            _, notice = self._late.pop(0)
            self._index[notice.id] = notice
        return tuple(self._index.values())


class MemoryLineRows(Generic[T]):
    """Promises or pulls, by line; its index does not lag."""

    def __init__(self, faults: FaultInjector, attribute: str, of_line: Callable[[str], T]) -> None:
        self._faults = faults
        self._attribute = attribute
        self._of_line = of_line
        self.lines: dict[str, T] = {}

    def get(self, line: str) -> T:
        """The row."""
        return self.lines.get(line) or self._of_line(line)

    def write(self, line: T) -> None:
        """A conditional put."""
        self._faults.pass_or_refuse()
        if self.get(line.line).revision != line.revision - 1:
            raise ConditionFailed(self._attribute)
        self.lines[line.line] = line

    def due(self, now: datetime, limit: int) -> tuple[str, ...]:
        """Names by the time when they are due."""
        found = sorted(
            (each.due, name) for name, each in self.lines.items() if each.due and instant_of(each.due) <= now
        )
        return tuple(name for _, name in found[:limit])


class MemoryChannels:
    """Keeps every notification with its channel, doubles included; a channel of `broken` fails."""

    def __init__(self, faults: FaultInjector) -> None:
        self._faults = faults
        self.sent: list[tuple[str, Notification]] = []
        self.reported: list[tuple[str, JudgedDelivery]] = []
        self.broken: dict[str, PortError] = {}

    def deliver(self, channel: str, notification: Notification) -> None:
        """Keep it."""
        self._pass(channel)
        self.sent.append((channel, notification))

    def token(self, channel: str, about: str) -> str:
        """Of webhooks."""
        self._pass(channel)
        made = hashlib.sha256(f"{channel} {about}".encode()).digest()
        return base64.urlsafe_b64encode(made).decode().rstrip("=") if channel.startswith("webhook:") else ""

    def report(self, channel: str, delivery: JudgedDelivery) -> None:
        """Keep it."""
        self._pass(channel)
        self.reported.append((channel, delivery))

    def _pass(self, channel: str) -> None:
        channel_of(channel)
        self._faults.pass_or_refuse()
        if channel in self.broken:
            raise self.broken[channel]
