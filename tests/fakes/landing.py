"""The landing bucket as producers without rights of their own see it."""

from __future__ import annotations

from tests.fakes.fault_injector import FaultInjector


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
