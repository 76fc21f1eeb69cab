"""The clock of use cases: the current time, and pauses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from datetime import datetime


class Clock(Protocol):
    """Time, and the only way to let it pass."""

    def now(self) -> datetime:
        """Aware, UTC."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...
