"""Promises of lines: items of the table `workloads`, whose index finds those that are missed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lakegate.contracts.lake.promises import PromisingLine
from lakegate.contracts.plan.serialization import decode, encode
from lakegate.functions.adapters.tables import instant, number, shard, text

if TYPE_CHECKING:
    from datetime import datetime

    from lakegate.functions.adapters.dynamodb import DynamoTable

KIND: Final = "promise"
"""Of keys, and of the shards of the index."""


@dataclass(frozen=True, slots=True)
class DynamoPromises:
    """Promises."""

    table: DynamoTable

    def get(self, line: str) -> PromisingLine:
        """A strongly consistent read."""
        item = self.table.get(_key(line))
        return decode(PromisingLine, json.loads(item["promises"]["S"])) if item else PromisingLine(line)

    def write(self, line: PromisingLine) -> None:
        """A conditional put."""
        content = json.dumps(encode(line), separators=(",", ":"), ensure_ascii=False)
        item = {**_key(line.line), "revision": number(line.revision), "promises": text(content)}
        due = {"shard": text(shard(KIND, line.line)), "at": text(line.due)} if line.due else {}
        condition: dict[str, Any] = {"ConditionExpression": "attribute_not_exists(id)"}
        if line.revision > 1:
            condition = {
                "ConditionExpression": "revision = :seen",
                "ExpressionAttributeValues": {":seen": number(line.revision - 1)},
            }
        self.table.put({**item, **due}, "promises", **condition)

    def due(self, now: datetime, limit: int) -> tuple[str, ...]:
        """All shards of the index, merged."""
        return tuple(self.table.oldest(KIND, limit, instant(now)))


def _key(line: str) -> dict[str, dict[str, str]]:
    return {"id": text(f"{KIND}#{line}")}
