"""A delivery in words: where it stands, what was measured, where its data is now, how long it took."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from contracts.errors import InputError
from functions.usecases import layout
from functions.usecases.deliveries import result_of
from functions.usecases.steps import Alarm
from functions.workload import TERMINAL, State

if TYPE_CHECKING:
    from contracts.plan import Plan
    from contracts.result import Result
    from contracts.verdict import Judgement
    from functions.usecases.deliveries import Delivery
    from functions.usecases.gate import Gate
    from functions.workload import Pin

CODES = {
    "unrouted": "no route covers this key: ask for one, or upload below a prefix that `lakegate route list` shows",
    "contract-retired": "the contract version is retired: deliver under a newer line",
    "duplicate-content": "the very same content was accepted before",
}
"""Reasons that are no check of a contract."""
STANDING = {
    None: "landed, not yet taken in",
    State.RECEIVED: "taken in",
    State.PINNED: "contract found, looked at from outside",
    State.STAGED: "staged for the job",
    State.SUBMITTING: "waiting for its job to start",
    State.VALIDATING: "validating: the job is reading and measuring",
    State.DECIDED: "decided, coming to rest",
    State.PUBLISHED: "published",
    State.QUARANTINED: "quarantined",
    State.FAILED: "failed: no verdict, the data rests where it landed",
    State.GONE: "gone: deleted before it was staged",
}


@dataclass(frozen=True, slots=True)
class Measured:
    """What the job measured, judged again by the same pure function as at the gate."""

    plan: Plan
    result: Result
    judgement: Judgement


@dataclass(frozen=True, slots=True)
class Account:
    """A delivery with everything that is said of it."""

    delivery: Delivery
    measured: Measured | None
    lake: str
    landing: str
    trouble: str = ""
    """Why what was measured cannot be read, though there is something: a matter for the operator."""

    @property
    def state(self) -> State | None:
        """Where it stands; None while nobody has taken it in."""
        return self.delivery.row.state if self.delivery.row else None

    @property
    def pin(self) -> Pin | None:
        """What was fixed when it was taken in."""
        return self.delivery.row.pin if self.delivery.row else None

    @property
    def verdict(self) -> str | None:
        """What was decided, if it was."""
        row = self.delivery.row
        return row.decision.verdict if row and row.decision else None

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why: of rules, with field and figures; masked."""
        row = self.delivery.row
        said = row.decision.reasons if row and row.decision else ()
        return tuple(f"{each}: {CODES[each]}" if each in CODES else each for each in said)

    @property
    def rows(self) -> int | None:
        """Rows that were measured."""
        return self.measured.result.rows if self.measured else None

    @property
    def seconds(self) -> float | None:
        """From taking in to rest; None while it is on its way."""
        if self.delivery.block is None or self.pin is None:
            return None
        began, ended = map(datetime.fromisoformat, (self.pin.judging_time, self.delivery.block.system_time))
        return round((ended - began).total_seconds(), 3)

    @property
    def where(self) -> tuple[str, ...]:
        """Where the data is now: objects at rest, else what landed."""
        if self.delivery.block is not None:
            return tuple(f"s3://{self.lake}/{each.key}" for each in self.delivery.block.objects)
        if self.state is State.GONE:
            return ()
        if self.state in TERMINAL and self.pin is not None:
            share = "accepted" if self.state is State.PUBLISHED else "quarantine"
            return (f"s3://{self.lake}/{layout.resting_key(share, self.pin, self.delivery.id, '')}",)
        row = self.delivery.row
        return (f"s3://{row.source.bucket}/{row.source.key}" if row else f"s3://{self.landing}/{self.delivery.key}",)

    @property
    def counts(self) -> dict[str, int] | None:
        """Checks by what became of them; None where nothing was measured."""
        if self.measured is None:
            return None
        statuses = [each.status.value for each in self.measured.judgement.outcomes]
        return {status: statuses.count(status) for status in ("pass", "warn", "fail", "error", "skip")}


def account(gate: Gate, delivery: Delivery) -> Account:
    """Everything about a delivery. Reads the result and the plan, where there are any.

    A plan that is missing, or a result that is none, hides neither this delivery nor the others of a list.
    """
    measured, trouble = None, ""
    try:
        measured = _measured(gate, delivery)
    except (Alarm, InputError) as error:
        trouble = str(error)
    return Account(delivery, measured, gate.places.lake, gate.places.landing, trouble)


def as_document(each: Account) -> dict[str, object]:
    """One delivery for machines."""
    delivery, pin = each.delivery, each.pin
    contract = {"id": pin.contract, "version": pin.version, "line": pin.chain} if pin and pin.contract else None
    return {
        "workload": delivery.id,
        "key": delivery.key,
        "size": delivery.size,
        "at": delivery.at.isoformat() if delivery.at else None,
        "state": each.state.value if each.state else None,
        "verdict": each.verdict,
        "contract": contract,
        "attempt": delivery.row.attempt if delivery.row else 0,
        "run": delivery.row.run or None if delivery.row else None,
        "counts": each.counts,
        "rows": each.rows,
        "rejected_rows": each.measured.result.rejected_rows if each.measured else None,
        "reasons": list(each.reasons),
        "where": list(each.where),
        "seconds": each.seconds,
        "trouble": each.trouble or None,
        "replay_of": delivery.row.replay_of or None if delivery.row else None,
    }


def _measured(gate: Gate, delivery: Delivery) -> Measured | None:
    row = delivery.row
    if row is None or row.pin is None or not row.pin.plan or (row.decision is None and row.state is not State.FAILED):
        return None
    body = result_of(gate, row)
    return None if body is None else _judged(gate.plan(row), body, row.decision.verdict if row.decision else None)


def _judged(plan_body: bytes, body: bytes, verdict: str | None) -> Measured:
    """The outcomes behind the verdict; the verdict itself is the one that was decided, whatever is computed today."""
    from contracts.plan import Plan  # noqa: PLC0415 - start-up is paid by every command
    from contracts.result import Result  # noqa: PLC0415 - likewise
    from contracts.verdict import Verdict, judge  # noqa: PLC0415 - likewise

    try:
        plan, result = Plan.from_json(json.loads(plan_body)), Result.from_json(json.loads(body))
    except (ValueError, RecursionError):
        raise InputError("result.json is not JSON") from None
    judgement = judge(plan, result)
    return Measured(plan, result, replace(judgement, verdict=Verdict(verdict)) if verdict else judgement)
