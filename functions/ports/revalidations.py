"""Which lines have accepted data to measure by schedule, and where that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from datetime import datetime

    from lakegate.contracts.lake.revalidations import RevalidatedLine


class Revalidations(Protocol):
    """Measurements by line. `get` is strongly consistent, `due` reads an index that lags."""

    def get(self, line: str) -> RevalidatedLine:
        """The row of a line; one that nobody has written has revision 0."""
        ...

    def write(self, line: RevalidatedLine) -> None:
        """Replace it if it is one revision older. Raises ConditionFailed."""
        ...

    def due(self, now: datetime, limit: int) -> tuple[str, ...]:
        """Names of lines that are due, the oldest first."""
        ...
