"""Which workloads are due, who owns a content, and where listings stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from datetime import datetime


class Agenda(Protocol):
    """What is due, by a sharded, sparse index that lags behind the rows: every find is re-read by key."""

    def due(self, now: datetime, limit: int) -> tuple[str, ...]:
        """Ids of workloads whose `due_at` is not after `now`, the oldest first."""
        ...

    def owner(self, content: str) -> str | None:
        """The workload that has claimed this content; strongly consistent."""
        ...

    def cursor(self, name: str) -> str | None:
        """Where a listing stopped the last time; None: start at the beginning."""
        ...

    def keep(self, name: str, cursor: str | None) -> None:
        """Remember where a listing stopped."""
        ...

    def keep_first(self, name: str, cursor: str) -> str:
        """Keep a cursor unless there is one; the one that is kept then."""
        ...
