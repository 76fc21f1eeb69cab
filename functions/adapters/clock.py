"""The clock of the machine."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class SystemClock:
    """Clock."""

    def now(self) -> datetime:
        """Aware, UTC."""
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)
