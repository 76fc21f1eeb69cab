"""Lines whose deliveries are kept in landing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from datetime import datetime

LONG: Final = timedelta(days=3)
"""A pause that lasts longer may have been forgotten: an operator is told of it."""


@dataclass(frozen=True, slots=True)
class Pause:
    """A paused line; also one that was resumed, until all that was held is judged."""

    line: str
    since: datetime
    by: str
    """The ARN of the caller."""
    reason: str = ""
    held: int = 0
    """Workloads in the state HELD: counted in the transactions that change that state."""
    resumed: datetime | None = None

    def is_long(self, now: datetime) -> bool:
        """Whether it has lasted so long that it may have been forgotten."""
        return self.resumed is None and now - self.since > LONG


class Pauses(Protocol):
    """Paused lines. `listed` and `held` read an index that lags; all else is strongly consistent.

    Workloads.save holds a delivery only while its line is paused or being resumed, pins one only while neither is the case,
    and lets one go only while its line is being resumed.
    """

    def pause_of(self, line: str) -> Pause | None:
        """The pause of a line; None where there is none."""
        ...

    def listed(self) -> tuple[str, ...]:
        """Lines with a pause, the oldest first."""
        ...

    def held(self, line: str, limit: int) -> tuple[str, ...]:
        """Ids of the workloads that are held, in order of arrival."""
        ...

    def begin(self, pause: Pause) -> None:
        """Pause a line, also one that is being resumed; what is held stays counted. Raises ConditionFailed if it is paused."""
        ...

    def resume(self, line: str, at: datetime) -> None:
        """Let the sweep judge what is held. Raises ConditionFailed if the line is not paused."""
        ...

    def end(self, line: str) -> None:
        """Remove the pause. Raises ConditionFailed unless the line was resumed and nothing is held."""
        ...
