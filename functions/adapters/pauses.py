"""Pauses: one item for each paused line in the table of workloads, and the conditions that a workload's writes have on it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from lakegate.functions.adapters.errors import port_errors
from lakegate.functions.adapters.tables import ALWAYS, INDEX, decoded, held_shard, instant, number, shard, text
from lakegate.functions.ports.pauses import Pause
from lakegate.functions.workload import State

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakegate.functions.adapters.dynamodb import DynamoTable
    from lakegate.functions.ports.workloads import Expected
    from lakegate.functions.workload import Workload

MOST: Final = 1_000
"""Paused lines that are listed."""
OFF = "attribute_not_exists(id)"
ON = "attribute_exists(id)"
RESUMED = "attribute_exists(resumed)"
PAUSED = "attribute_exists(id) AND attribute_not_exists(resumed)"
BEGIN = "SET #since = :since, #by = :by, #reason = :reason, #shard = :shard, #at = :since, #held = if_not_exists(#held, :zero)"


@dataclass(frozen=True, slots=True)
class DynamoPauses:
    """Pauses."""

    table: DynamoTable

    def pause_of(self, line: str) -> Pause | None:
        """A strongly consistent read."""
        item = self.table.get(pause_key(line))
        return decoded(item, partial(_pause, line)) if item else None

    def listed(self) -> tuple[str, ...]:
        """All shards of the index, merged."""
        return tuple(self.table.oldest("pause", MOST, ALWAYS))

    def held(self, line: str, limit: int) -> tuple[str, ...]:
        """The partition of the index that belongs to the line."""
        names = {"#shard": "shard"}
        query = self.table.client.get_paginator("query").paginate(
            TableName=self.table.name,
            IndexName=INDEX,
            KeyConditionExpression="#shard = :shard",
            ExpressionAttributeNames=names,
            ExpressionAttributeValues={":shard": text(held_shard(line))},
            PaginationConfig={"MaxItems": limit},
        )
        with port_errors():
            return tuple(item["id"]["S"].partition("#")[2] for page in query for item in page["Items"])

    def begin(self, pause: Pause) -> None:
        """One update."""
        self.table.update(
            pause_key(pause.line),
            "pause",
            UpdateExpression=f"{BEGIN} REMOVE resumed",
            ConditionExpression=f"{OFF} OR {RESUMED}",
            ExpressionAttributeNames={f"#{name}": name for name in ("since", "by", "reason", "shard", "at", "held")},
            ExpressionAttributeValues={
                ":since": text(instant(pause.since)),
                ":by": text(pause.by),
                ":reason": text(pause.reason),
                ":shard": text(shard("pause", pause.line)),
                ":zero": number(0),
            },
        )

    def resume(self, line: str, at: datetime) -> None:
        """One update."""
        self.table.update(
            pause_key(line),
            "pause",
            UpdateExpression="SET resumed = :at",
            ConditionExpression=PAUSED,
            ExpressionAttributeValues={":at": text(instant(at))},
        )

    def end(self, line: str) -> None:
        """One conditional delete."""
        with port_errors("pause"):
            self.table.client.delete_item(
                TableName=self.table.name,
                Key=pause_key(line),
                ConditionExpression=f"{RESUMED} AND held = :zero",
                ExpressionAttributeValues={":zero": number(0)},
            )


def pause_key(line: str) -> dict[str, dict[str, str]]:
    """The key of the item of a paused line."""
    return {"id": text(f"pause#{line}")}


def pause_writes(table: str, workload: Workload, expected: Expected) -> list[dict[str, Any]]:
    """What a write of a row does to the pause of its line, or requires of it; nothing for most writes."""
    line = workload.pin.chain if workload.pin else ""
    if workload.state is State.HELD:
        return [_counted(table, workload.held, 1, ON)]
    if expected.state is State.HELD:
        is_pinned = workload.state is State.PINNED
        moved = [_unpaused(table, line)] if is_pinned and line != workload.held else []
        return [_counted(table, workload.held, -1, RESUMED if is_pinned else ON), *moved]
    return [_unpaused(table, line)] if expected.state is State.RECEIVED and workload.state is State.PINNED else []


def _counted(table: str, line: str, change: int, condition: str) -> dict[str, Any]:
    update = {
        "TableName": table,
        "Key": pause_key(line),
        "UpdateExpression": "SET held = held + :change",
        "ConditionExpression": condition,
        "ExpressionAttributeValues": {":change": number(change)},
    }
    return {"Update": update}


def _unpaused(table: str, line: str) -> dict[str, Any]:
    return {"ConditionCheck": {"TableName": table, "Key": pause_key(line), "ConditionExpression": OFF}}


def _pause(line: str, item: Mapping[str, Any]) -> Pause:
    resumed = item.get("resumed")
    return Pause(
        line,
        datetime.fromisoformat(item["since"]["S"]),
        item["by"]["S"],
        item["reason"]["S"],
        int(item["held"]["N"]),
        datetime.fromisoformat(resumed["S"]) if resumed else None,
    )
