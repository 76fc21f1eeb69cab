"""Announcements, keys of requests, tokens and validations in memory, and the landing bucket as producers see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.errors import ConditionFailed

if TYPE_CHECKING:
    from datetime import datetime

    from lakegate.features.announcements.announced_delivery import Announcement
    from lakegate.features.http_api.idempotency_keys import KeptRequest
    from lakegate.features.validator_api.validation_run import Validation
    from lakegate.features.workflows.callbacks import CallbackToken
    from tests.fakes.fault_injector import FaultInjector


class MemoryAnnouncements:
    """Announcements."""

    def __init__(self, faults: FaultInjector) -> None:
        self._faults = faults
        self.kept: dict[str, Announcement] = {}

    def create(self, announcement: Announcement) -> None:
        """A conditional put."""
        self._faults.pass_or_refuse()
        if announcement.id in self.kept:
            raise ConditionFailed("announcement")
        self.kept[announcement.id] = announcement

    def get(self, announcement: str) -> Announcement | None:
        """The announcement."""
        return self.kept.get(announcement)


class MemoryRequestKeys:
    """Keys of requests; none expires."""

    def __init__(self, faults: FaultInjector) -> None:
        self._faults = faults
        self.kept: dict[str, KeptRequest] = {}

    def keep(self, key: str, request: KeptRequest, until: datetime) -> KeptRequest:  # noqa: ARG002 - as the port has it
        """The first request with the key."""
        self._faults.pass_or_refuse()
        return self.kept.setdefault(key, request)


class MemoryValidations:
    """Validations."""

    def __init__(self, faults: FaultInjector) -> None:
        self._faults = faults
        self.kept: dict[str, Validation] = {}

    def create(self, validation: Validation) -> None:
        """A conditional put."""
        self._faults.pass_or_refuse()
        if validation.id in self.kept:
            raise ConditionFailed("validation")
        self.kept[validation.id] = validation

    def get(self, validation: str) -> Validation | None:
        """The validation."""
        return self.kept.get(validation)

    def replace(self, before: Validation, after: Validation) -> None:
        """A put where it is as it was."""
        self._faults.pass_or_refuse()
        if self.kept.get(before.id) != before:
            raise ConditionFailed("validation")
        self.kept[after.id] = after


class MemoryCallbacks:
    """Tokens of callbacks; none expires."""

    def __init__(self, faults: FaultInjector) -> None:
        self._faults = faults
        self.kept: dict[str, CallbackToken] = {}

    def keep(self, digest: str, token: CallbackToken) -> None:
        """A put."""
        self._faults.pass_or_refuse()
        self.kept[digest] = token

    def get(self, digest: str) -> CallbackToken | None:
        """What it is for."""
        return self.kept.get(digest)


class MemoryUploads:
    """URLs that nobody can use, and the hints that were given."""

    def __init__(self, faults: FaultInjector) -> None:
        self._faults = faults
        self.hints: list[tuple[str, str]] = []
        """As the events of a simulation are: (`landed`, key)."""

    def url(self, key: str, size: int, sha256: str, seconds: int) -> str:
        """What the URL is bound to, in its query."""
        return f"https://landing.example/{key}?size={size}&sha256={sha256}&seconds={seconds}"

    def landed(self, key: str) -> None:
        """Keep the hint."""
        self._faults.pass_or_refuse()
        self.hints.append(("landed", key))
