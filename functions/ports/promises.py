"""What lines promise about time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from datetime import datetime

    from lakegate.contracts.lake.promises import PromisingLine


class Promises(Protocol):
    """Promises by line. `get` is strongly consistent, `due` reads an index that lags."""

    def get(self, line: str) -> PromisingLine:
        """The promises of a line; one that nobody has written promises nothing and has revision 0."""
        ...

    def write(self, line: PromisingLine) -> None:
        """Replace them if they are one revision older. Raises ConditionFailed."""
        ...

    def due(self, now: datetime, limit: int) -> tuple[str, ...]:
        """Names of lines with a promise that is missed and not reported, the oldest first."""
        ...
