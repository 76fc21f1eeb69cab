"""Channels in memory: receivers that fail."""

from __future__ import annotations

import base64
import hashlib

from lakegate.base.errors import PortError
from lakegate.features.openlineage.openlineage_events import JudgedDelivery
from lakegate.gate.channel_ports import Notification, channel_of
from tests.fakes.fault_injector import FaultInjector


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
