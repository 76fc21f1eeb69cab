"""Lifecycle and subscriptions of dataset lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from datetime import datetime

    from lakegate.contracts.lake.lifecycle import Line
    from lakegate.contracts.lake.records import Record
    from lakegate.functions.workload import Message


class DatasetLines(Protocol):
    """Lifecycle and subscriptions of dataset lines; `due` reads an index that lags, all else is strongly consistent."""

    def get(self, name: str) -> Line:
        """The line; one that nobody has written is active and has revision 0."""
        ...

    def write(self, line: Line, record: Record | None = None, message: Message | None = None) -> None:
        """Replace the line if it is one revision older, together with a record of the ledger and an outbox row.

        All or nothing. ConditionFailed.reasons: one entry each for line, head and event, `""` where it held, else `line`,
        `head` or `event` (as `Ledger.append`). Raises TransactionConflict.
        """
        ...

    def due(self, now: datetime, limit: int) -> tuple[str, ...]:
        """Names of lines with a change to record, or to list in the manifest, the oldest first."""
        ...

    def knows(self, name: str, prefix: str) -> bool:
        """Whether a delivery to the line was accepted before that landed below the route of this prefix."""
        ...
