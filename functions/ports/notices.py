"""What channels were notified of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from datetime import datetime

    from lakegate.contracts.lake.notices import ChannelNotice


class Notices(Protocol):
    """Notices, by id. `get` is strongly consistent; `due` and `dead` read an index that lags."""

    def get(self, notice: str) -> ChannelNotice | None:
        """The notice; None where nobody has written it."""
        ...

    def write(self, notice: ChannelNotice) -> None:
        """Replace the notice if it is one revision older. Raises ConditionFailed."""
        ...

    def due(self, now: datetime, limit: int) -> tuple[str, ...]:
        """Ids of notices with a message to send, the oldest first."""
        ...

    def dead(self, limit: int) -> tuple[str, ...]:
        """Ids of notices that were given up, the oldest first."""
        ...
