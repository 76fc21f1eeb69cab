"""Paused datasets: deliveries held in landing, then resumed."""

from __future__ import annotations

from contextlib import suppress

from lakegate.base.errors import ConditionFailed, InputError
from lakegate.gate.delivery_store import Pause
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Effect, Steps, perform
from lakegate.gate.ledger.commit import is_one_line
from lakegate.gate.person_decisions import LONGEST_REASON

# ---- Pause and resume ----
# Nothing is read for it while deliveries are pinned: the write that pins one has the condition that its dataset is not paused.
# Where the condition fails, the delivery is HELD. `sweep` lets go what is held of a resumed dataset, the oldest first; what
# arrives meanwhile is held behind it. The pause ends with the last of them.


def pause(dependencies: Dependencies, dataset: str, reason: str) -> Steps[Pause]:
    """Keep the deliveries of a dataset in landing from now on. Idempotent: a paused dataset stays as it is.

    Deliveries that are pinned already are judged. Raises InputError for a reason that is not one line, or too long.
    """
    if not is_one_line(reason):
        raise InputError(f"the reason of a pause is one line of at most {LONGEST_REASON} characters")
    wanted = Pause(dataset, dependencies.now, dependencies.identity.caller(), reason)
    with suppress(ConditionFailed):
        yield from perform(Effect.PAUSE, dependencies.pauses.begin, wanted)
    return dependencies.pauses.pause_of(dataset) or wanted


def resume(dependencies: Dependencies, dataset: str) -> Steps[Pause | None]:
    """Let the next sweep judge what is held. Idempotent. Returns the pause with what is still held; None: there is none."""
    with suppress(ConditionFailed):
        yield from perform(Effect.RESUME, dependencies.pauses.resume, dataset, dependencies.now)
    return dependencies.pauses.pause_of(dataset)
