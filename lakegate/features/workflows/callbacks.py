"""Approval by another system's token; HTTP route."""

from __future__ import annotations

import hmac
import math
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from lakegate.base.errors import LakegateError
from lakegate.base.json_codec import sha256_of
from lakegate.base.timestamps import moment
from lakegate.gate.channel_ports import CallbackInvitation, Channels
from lakegate.gate.delivery.protocol import State
from lakegate.gate.effects import Alarm, Effect, Steps, perform
from lakegate.gate.person_decisions import OF_SYSTEM
from lakegate.gate.table import Put, Row, Tables, instant, read_row, workloads_key
from lakegate.plan.planned_workflow import CALL_BACK

if TYPE_CHECKING:
    from lakegate.gate.delivery.delivery_row import Workload
    from lakegate.gate.dependencies import Dependencies

# ---- Tokens ----


class CallbackToken(NamedTuple):
    """The purpose of a token."""

    workload: str
    attempt: int
    channel: str
    """The channel that it was sent to, such as `webhook:lakegate-channel-erp`."""
    until: datetime
    """The end of its validity."""
    passed: int = 0
    """The number of own states of the workflow that the delivery had entered."""


@dataclass(frozen=True, slots=True)
class Callbacks:
    """The uses of tokens, by the SHA-256 of each: rows that expire."""

    table: Tables

    def keep(self, digest: str, token: CallbackToken) -> None:
        """Put it; the same again changes nothing."""
        values = {**token._asdict(), "until": instant(token.until), "expires": math.ceil(token.until.timestamp())}
        self.table.write(Put(Row(workloads_key("callback", digest), values)))

    def get(self, digest: str) -> CallbackToken | None:
        """A strongly consistent read; None for a token that nobody has made, or that has been forgotten."""
        return read_row(self.table, workloads_key("callback", digest), _token)


def callbacks(dependencies: Dependencies) -> Callbacks:
    """Tokens of this stack."""
    return Callbacks(dependencies.table)


def _token(row: Row) -> CallbackToken:
    until = datetime.fromisoformat(row.text("until"))
    passed = row.number("passed") if row.has("passed") else 0
    return CallbackToken(row.text("workload"), row.number("attempt"), row.text("channel"), until, passed)


# ---- Decisions by a token (docs/approvals.md) ----
# 1. `invited`: before a channel is notified, the token is made and the hash of it is kept. Sent again, it is the same token.
# 2. `called_back`: who has the token answers as a person does. The hash finds what the token is for.


class UnknownToken(LakegateError):  # noqa: N818 - the name is what happened
    """There is no such token, or it is for something else, or its time is over: nothing says which."""


@dataclass(frozen=True, slots=True)
class CallbackCaller:
    """Identity: who has a token."""

    channel: str
    """The channel that it was sent to."""

    def caller(self) -> str:
        """The author of the answer."""
        return f"{OF_SYSTEM}{self.channel}"


def invite_channel(dependencies: Dependencies, channel: str, workload: str) -> Steps[CallbackInvitation | None]:
    """The invitation of a channel to decide; None if nothing waits for a callback, or the channel takes no token."""
    row = dependencies.workloads.get(workload)
    if row.state is not State.AWAITING or row.deadline is None or not _waits_for_callback(dependencies, row):
        return None
    channels: Channels = dependencies.of("channels")
    passed = len(row.passed)
    token = channels.token(channel, f"{row.id}.{row.attempt}.{passed}" if passed else f"{row.id}.{row.attempt}")
    if not token:
        return None
    kept = CallbackToken(row.id, row.attempt, channel, row.deadline, passed)
    yield from perform(Effect.KEEP_CALLBACK, callbacks(dependencies).keep, _digest(token), kept)
    return CallbackInvitation(token, f"/api/v1/workload/{row.id}/callback", moment(row.deadline))


def called_back(dependencies: Dependencies, workload: str, token: str, declined: str | None = None) -> Steps[Workload]:
    """The workload with the answer of who has the token; it is not advanced. Idempotent.

    A token answers what waits for an answer, and withdraws nothing. Raises UnknownToken, and InputError as `answered` does.
    """
    from lakegate.features.workflows.approvals import store_answer  # noqa: PLC0415 - the engine; `notify` has no use for it

    kept = callbacks(dependencies).get(_digest(token))
    if kept is None or not hmac.compare_digest(kept.workload.encode(), workload.encode(errors="replace")):
        raise UnknownToken
    row = dependencies.workloads.get(workload)
    if dependencies.now >= kept.until or (row.attempt, len(row.passed)) != (kept.attempt, kept.passed):
        raise UnknownToken
    by = replace(dependencies, identity=CallbackCaller(kept.channel))
    return (yield from store_answer(by, workload, declined, withdraws=False))


def _waits_for_callback(dependencies: Dependencies, row: Workload) -> bool:
    """Not where the plan cannot be read: the notification is sent without a token."""
    try:
        return dependencies.terms(row).workflow.own(row.own_state).operation == CALL_BACK
    except Alarm:
        return False


def _digest(token: str) -> str:
    return sha256_of(token)
