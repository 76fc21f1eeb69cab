"""Workloads and messages as items of the table `workloads`, and back.

What conditions and the index read has attributes of its own (`state`, `attempt`, `result`, `shard`, `at`). The whole row
is stored beside them as JSON, except `due_at`: a lease changes it without writing the others.
"""

from __future__ import annotations

import json
from dataclasses import asdict, is_dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from lakegate.contracts.judge.counts import BrokenRule, Counts
from lakegate.contracts.lake.answers import ApprovalAnswer
from lakegate.contracts.lake.versions import ChosenVersion
from lakegate.contracts.lake.waiver import Waiver
from lakegate.contracts.plan.billing import BilledCost
from lakegate.contracts.plan.slices import StateRun
from lakegate.functions.adapters.tables import held_shard, instant, number, shard, text
from lakegate.functions.workload import (
    Decision,
    Enforced,
    FailedAttempt,
    FailureCause,
    Message,
    Pin,
    Referred,
    SourceObject,
    State,
    Workload,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_PARTS: Final[Mapping[str, Any]] = {
    "source": lambda part: SourceObject(**part),
    "staged": lambda part: SourceObject(**part),
    "parts": lambda part: SourceObject(**part),
    "landed": lambda part: SourceObject(**part),
    "pin": lambda part: _pin(**part),
    "decision": lambda part: _decision(**part),
    "candidate": lambda part: _decision(**part),
    "answer": lambda part: ApprovalAnswer(**part),
    "chosen": lambda part: ChosenVersion(**part),
    "waiver": lambda part: Waiver(**part),
    "cost": lambda part: BilledCost(**part),
    "state": State,
    "failed": lambda part: tuple(map(_failed, part)),
    "not_before": datetime.fromisoformat,
    "deadline": datetime.fromisoformat,
}
REMEMBERED: Final = timedelta(days=90)
"""How long a message stays after it was written; by then it was sent, or an alarm has rung for months."""


def _pin(references: Iterable[Mapping[str, Any]] = (), **part: Any) -> Pin:  # noqa: ANN401 - of JSON
    """A pin, of rows too that were written before any plan referred to another line."""
    return Pin(**part, references=tuple(Referred(**each) for each in references))


def _decision(  # noqa: PLR0913, PLR0917 - the members that are no plain values
    reasons: Iterable[str],
    counts: Mapping[str, Any] | None = None,
    broken: Iterable[Mapping[str, Any]] = (),
    enforced: Mapping[str, Any] | None = None,
    offsets: tuple[int, int] | None = None,
    watermarks: tuple[str, str] = ("", ""),
    before: Iterable[Mapping[str, Any]] = (),
    runs: Iterable[Mapping[str, Any]] = (),
    **part: Any,  # noqa: ANN401 - of JSON
) -> Decision:
    """A decision, of rows too that were written before decisions held counts and rules."""
    return Decision(
        **part,
        reasons=tuple(reasons),
        counts=Counts(**counts) if counts else None,
        broken=tuple(BrokenRule(**each) for each in broken),
        enforced=Enforced(**enforced) if enforced else None,
        offsets=(offsets[0], offsets[1]) if offsets else None,
        watermarks=(watermarks[0], watermarks[1]),
        before=tuple(StateRun(**each) for each in before),
        runs=tuple(StateRun(**each) for each in runs),
    )


def _failed(part: Mapping[str, Any]) -> FailedAttempt:
    return FailedAttempt(part["number"], part["run"], FailureCause(part["cause"]), datetime.fromisoformat(part["at"]))


def workload_key(workload: str) -> dict[str, dict[str, str]]:
    """The key of a workload's row."""
    return {"id": text(f"workload#{workload}")}


def message_key(message: str) -> dict[str, dict[str, str]]:
    """The key of an outbox row."""
    return {"id": text(f"message#{message}")}


def producer_key(producer: str) -> dict[str, dict[str, str]]:
    """The key of the mark that a delivery of a producer was accepted."""
    return {"id": text(f"producer#{producer}")}


def due(workload: Workload) -> dict[str, dict[str, str]]:
    """The attributes that put a workload into the index, a HELD one beside its line; none once nothing is left to do."""
    place = held_shard(workload.held) if workload.state is State.HELD else shard("due", workload.id)
    return {"shard": text(place), "at": text(instant(workload.due_at))} if workload.due_at else {}


def workload_item(workload: Workload) -> dict[str, dict[str, str]]:
    """The item of a row."""
    row = {name: value for name, value in workload._asdict().items() if value is not None and name != "due_at"}
    return {
        **workload_key(workload.id),
        "state": text(workload.state),
        "attempt": number(workload.attempt),
        "result": text(workload.decision.result if workload.decision else ""),
        "row": text(json.dumps(row, default=_plain, separators=(",", ":"))),
        **due(workload),
    }


def _plain(part: Any) -> object:  # noqa: ANN401 - a time, or a part of a row
    return asdict(part) if is_dataclass(part) and not isinstance(part, type) else instant(part)


def workload_of(item: Mapping[str, Any]) -> Workload:
    """The row of an item."""
    row = json.loads(item["row"]["S"])
    parts = {name: _PARTS[name](value) if name in _PARTS else value for name, value in row.items()}
    return Workload(**parts, due_at=datetime.fromisoformat(item["at"]["S"]) if "at" in item else None)


def message_item(message: Message) -> dict[str, dict[str, str]]:
    """The item of an outbox row not yet sent."""
    return {
        **message_key(message.id),
        "workload": text(message.workload),
        **({"line": text(message.line)} if message.line else {}),
        "kind": text(message.kind),
        "body": text(message.body),
        "shard": text(shard("message", message.id)),
        "at": text(instant(message.at)),
        "expires": number(int((message.at + REMEMBERED).timestamp())),
    }


def message_of(item: Mapping[str, Any]) -> Message:
    """The message of an item not yet sent."""
    return Message(
        id=item["id"]["S"].removeprefix("message#"),
        workload=item["workload"]["S"],
        kind=item["kind"]["S"],
        body=item["body"]["S"],
        at=datetime.fromisoformat(item["at"]["S"]),
        line=item["line"]["S"] if "line" in item else "",
    )
