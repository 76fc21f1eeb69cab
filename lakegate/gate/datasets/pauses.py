"""Paused datasets: deliveries held in landing, then resumed."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from lakegate.errors import ConditionFailed, InputError
from lakegate.gate.effects import Effect, perform

if TYPE_CHECKING:
    from datetime import datetime

    from lakegate.gate.dependencies import Dependencies
    from lakegate.gate.effects import Steps

# ---- Lines whose deliveries are kept in landing --------------------------------------------------------------------


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


# ---- A line is paused: its deliveries stay in landing. It is resumed: what was held is judged in order of arrival ----
#
# Nothing is read for it while deliveries are pinned: the write that pins one has the condition that its line is not
# paused.
# Where the condition fails, the delivery is HELD. `sweep` lets go what is held of a resumed line, the oldest first;
# what arrives
# meanwhile is held behind it. The pause ends with the last of them.


LONGEST_REASON: Final = 500
"""Characters."""


def pause(dependencies: Dependencies, line: str, reason: str) -> Steps[Pause]:
    """Keep the deliveries of a line in landing from now on. Idempotent: a paused line stays as it is.

    Deliveries that are pinned already are judged. Raises InputError for a reason that is too long.
    """
    if len(reason) > LONGEST_REASON:
        raise InputError(f"a reason has at most {LONGEST_REASON} characters")
    wanted = Pause(line, dependencies.clock.now(), dependencies.identity.caller(), reason)
    with suppress(ConditionFailed):
        yield from perform(Effect.PAUSE, partial(dependencies.pauses.begin, wanted))
    return dependencies.pauses.pause_of(line) or wanted


def resume(dependencies: Dependencies, line: str) -> Steps[Pause | None]:
    """Let the next sweep judge what is held. Idempotent. Returns the pause with what is still held; None: there is none."""
    with suppress(ConditionFailed):
        yield from perform(Effect.RESUME, partial(dependencies.pauses.resume, line, dependencies.clock.now()))
    return dependencies.pauses.pause_of(line)
