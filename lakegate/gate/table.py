"""Table port: get, due, transact; conditions as values; row kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from datetime import datetime

    from lakegate.gate.delivery.delivery_row import Workload
    from lakegate.gate.delivery.protocol import State
    from lakegate.gate.ports import Message

# ---- Which workloads are due, who owns a content, and where listings stopped ---------------------------------------


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


# ---- The rows of workloads -----------------------------------------------------------------------------------------


class Expected(NamedTuple):
    """The fence of every write on a workload: what its row must still say."""

    state: State
    attempt: int


class Workloads(Protocol):
    """The rows of workloads. `get` is strongly consistent."""

    def create(self, workload: Workload) -> None:
        """Put if absent. Raises ConditionFailed when the id is taken."""
        ...

    def get(self, workload: str) -> Workload:
        """The row. Raises NotFound."""
        ...

    def save(
        self,
        workload: Workload,
        expected: Expected,
        *,
        message: Message | None = None,
        content: str | None = None,
        accepted: bool = False,
    ) -> None:
        """Replace the row if it is still at `expected`, together with an outbox row and a claim on a content.

        `content` is put if absent or already this workload's. `accepted`: the producer of the pin is marked as known to
        the line. All or nothing. ConditionFailed.reasons has one entry each for row, message, content and pause, in this
        order: `""` where it held, else `state`, `content` or `pause`. The pause of its line
        (`lakegate.gate.datasets.pauses`) decides whether a row becomes HELD or PINNED.

        A decision with slices (`Decision.offsets`) is written only at the next offset of its line, by its watermark
        (`Decision.watermarks`) and its merge state (`Decision.before`), and while no other one is DECIDED there; else the last
        reason is `turn`.
        `lakegate.gate.ledger.commit.Ledger.commit` lets the next one in.
        """
        ...

    def lease(self, workload: Workload, until: datetime, tries: int = 0) -> None:
        """Set `due_at` to `until`, and `tries`, if `due_at` is still that of `workload`. Raises ConditionFailed."""
        ...
