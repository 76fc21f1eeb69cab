"""Another system answers for a delivery that waits, by a token of its own (`waitsFor: callback`). docs/approvals.md explains it.

1. `invited`: before a channel is notified, the token is made and the hash of it is kept. Sent again, it is the same token.
2. `called_back`: who has the token answers as a person does. The hash finds what the token is for.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from lakegate.contracts.errors import LakegateError
from lakegate.contracts.lake.lifecycle import moment
from lakegate.contracts.lake.workflow import CALLBACK
from lakegate.functions.ports.callbacks import CallbackToken
from lakegate.functions.ports.channels import CallbackInvitation
from lakegate.functions.usecases.steps import Alarm, Effect, perform
from lakegate.functions.workload import State

if TYPE_CHECKING:
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.steps import Steps
    from lakegate.functions.workload import Workload


class UnknownToken(LakegateError):  # noqa: N818 - the name is what happened
    """There is no such token, or it is for something else, or its time is over: nothing says which."""


@dataclass(frozen=True, slots=True)
class CallbackCaller:
    """Identity: who has a token."""

    channel: str
    """That it was sent to."""

    def caller(self) -> str:
        """The author of the answer."""
        return f"callback:{self.channel}"


def invited(dependencies: Dependencies, channel: str, workload: str) -> Steps[CallbackInvitation | None]:
    """What a channel is sent so that it can answer; None if nothing waits for a callback, or the channel takes no token."""
    row = dependencies.workloads.get(workload)
    if row.state is not State.AWAITING or row.deadline is None or not _waits_for_callback(dependencies, row):
        return None
    token = dependencies.channels.token(channel, f"{row.id}.{row.attempt}")
    if not token:
        return None
    kept = CallbackToken(row.id, row.attempt, channel, row.deadline)
    yield from perform(Effect.KEEP_CALLBACK, partial(dependencies.callbacks.keep, _digest(token), kept))
    return CallbackInvitation(token, f"/api/v1/workload/{row.id}/callback", moment(row.deadline))


def called_back(dependencies: Dependencies, workload: str, token: str, declined: str | None = None) -> Steps[Workload]:
    """The workload with the answer of who has the token; it is not advanced. Idempotent.

    A token answers what waits for an answer, and withdraws nothing. Raises UnknownToken, and InputError as `answered` does.
    """
    from lakegate.functions.usecases.answering import answered  # noqa: PLC0415 - the engine; `notify` has no use for it

    kept = dependencies.callbacks.get(_digest(token))
    if kept is None or not hmac.compare_digest(kept.workload.encode(), workload.encode(errors="replace")):
        raise UnknownToken
    if dependencies.clock.now() >= kept.until or dependencies.workloads.get(workload).attempt != kept.attempt:
        raise UnknownToken
    by = replace(dependencies, identity=CallbackCaller(kept.channel))
    return (yield from answered(by, workload, declined, withdraws=False))


def _waits_for_callback(dependencies: Dependencies, row: Workload) -> bool:
    """Not where the plan cannot be read: the notification is sent without a token."""
    try:
        return dependencies.terms(row).workflow.waits_for == CALLBACK
    except Alarm:
        return False


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
