"""Workloads and messages as items of the table `workloads`, and back.

What conditions and the index read has attributes of its own (`state`, `attempt`, `result`, `shard`, `at`). The whole row
is stored beside them as JSON, except `due_at`: a lease changes it without writing the others. Members of the row and of its
decision that the core does not know are written again as they were; those within other parts are ignored.
"""

from __future__ import annotations

import json
from dataclasses import asdict, fields, is_dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from lakegate.aws.dynamodb_table import held_shard, instant, number, shard, text
from lakegate.contract.semantic_versions import ChosenVersion
from lakegate.gate.delivery.delivery_row import (
    Decision,
    Enforced,
    FailedAttempt,
    FailureCause,
    Pin,
    Referred,
    SourceObject,
    Workload,
)
from lakegate.gate.delivery.people_decisions import ApprovalAnswer, Waiver
from lakegate.gate.delivery.protocol import State
from lakegate.gate.ports import Message
from lakegate.plan.billed_cost import BilledCost
from lakegate.verdict.verdict import BrokenRule, Counts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

T = TypeVar("T")
_BESIDE: Final = frozenset({"due_at", "tries", "unknown"})
"""Fields that are not in the JSON of a row under their names."""
REMEMBERED: Final = timedelta(days=90)
"""The time for which a message stays after it was written; by then it was sent, or an alarm has been raised for months."""


def _known(cls: Callable[..., T], part: Mapping[str, Any], **read: Any) -> T:  # noqa: ANN401 - of JSON
    """A part of a row, of what this release knows of it: a newer one may have written more (docs/functions.md)."""
    names = [each.name for each in fields(cls) if each.name in part]  # type: ignore[arg-type] # a dataclass
    return cls(**{name: part[name] for name in names} | read)


def _each(cls: Callable[..., T], parts: Iterable[Mapping[str, Any]]) -> tuple[T, ...]:
    return tuple(_known(cls, each) for each in parts)


def _pin(part: Mapping[str, Any]) -> Pin:
    """A pin, of rows too that were written before any plan referred to another line."""
    return _known(Pin, part, references=_each(Referred, part.get("references", ())))


def _decision(part: Mapping[str, Any]) -> Decision:
    """A decision, of rows too that were written before decisions held counts and rules."""
    counts, enforced = (part.get(name) for name in ("counts", "enforced"))
    own = {each.name for each in fields(Decision)}
    return _known(
        Decision,
        part,
        reasons=tuple(part["reasons"]),
        counts=_known(Counts, counts) if counts else None,
        broken=_each(BrokenRule, part.get("broken", ())),
        enforced=_known(Enforced, enforced) if enforced else None,
        extensions=json.dumps({name: value for name, value in part.items() if name not in own}),
    )


def _failed(part: Mapping[str, Any]) -> FailedAttempt:
    return FailedAttempt(part["number"], part["run"], FailureCause(part["cause"]), datetime.fromisoformat(part["at"]))


_PARTS: Final[Mapping[str, Any]] = {
    "source": partial(_known, SourceObject),
    "staged": partial(_known, SourceObject),
    "parts": partial(_known, SourceObject),
    "landed": partial(_known, SourceObject),
    "pin": _pin,
    "decision": _decision,
    "candidate": _decision,
    "answer": partial(_known, ApprovalAnswer),
    "chosen": partial(_known, ChosenVersion),
    "waiver": partial(_known, Waiver),
    "cost": partial(_known, BilledCost),
    "state": State,
    "failed": lambda part: tuple(map(_failed, part)),
    "not_before": datetime.fromisoformat,
    "deadline": datetime.fromisoformat,
}


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
    known = {name: value for name, value in workload._asdict().items() if value is not None and name not in _BESIDE}
    row = json.loads(workload.unknown) | known
    return {
        **workload_key(workload.id),
        "state": text(workload.state),
        "attempt": number(workload.attempt),
        "result": text(workload.decision.result if workload.decision else ""),
        "row": text(json.dumps(row, default=_plain, separators=(",", ":"))),
        **({"tries": number(workload.tries)} if workload.tries else {}),
        **due(workload),
    }


def _plain(part: Any) -> object:  # noqa: ANN401 - a time, or a part of a row
    if isinstance(part, Decision):
        own = asdict(part)
        return own | json.loads(own.pop("extensions"))
    return asdict(part) if is_dataclass(part) and not isinstance(part, type) else instant(part)


def workload_of(item: Mapping[str, Any]) -> Workload:
    """The row of an item. Raises ValueError where its attributes contradict it: every condition would fail."""
    row: dict[str, Any] = json.loads(item["row"]["S"])
    known = {name: row.pop(name) for name in Workload._fields if name in row and name not in _BESIDE}
    parts = {name: _PARTS[name](value) if name in _PARTS else value for name, value in known.items()}
    due_at = datetime.fromisoformat(item["at"]["S"]) if "at" in item else None
    tries = int(item["tries"]["N"]) if "tries" in item else 0
    workload = Workload(**parts, due_at=due_at, tries=tries, unknown=json.dumps(row))
    kept = (workload_key(workload.id)["id"], text(workload.state), number(workload.attempt))
    if kept != (item["id"], item["state"], item["attempt"]):
        raise ValueError("state or attempt of the item are not those of its row")
    return workload


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
    """The message of an item not yet sent. Raises ValueError where its body is not JSON: nobody could send it."""
    json.loads(item["body"]["S"])
    return Message(
        id=item["id"]["S"].removeprefix("message#"),
        workload=item["workload"]["S"],
        kind=item["kind"]["S"],
        body=item["body"]["S"],
        at=datetime.fromisoformat(item["at"]["S"]),
        line=item["line"]["S"] if "line" in item else "",
    )
