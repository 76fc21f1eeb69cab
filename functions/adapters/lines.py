"""Lines: items of the table `workloads`, because their changes are due, recorded and announced like those of workloads."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.lifecycle import Line
from lakegate.contracts.plan.serialization import decode, encode
from lakegate.functions.adapters.dynamodb import DynamoTable, transact
from lakegate.functions.adapters.ledger import RECORD_REASONS, record_puts, record_reasons
from lakegate.functions.adapters.rows import message_item, producer_key
from lakegate.functions.adapters.tables import decoded, instant, number, shard, text, with_unknown
from lakegate.functions.ports.errors import ConditionFailed
from lakegate.functions.workload import producer_id

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from lakegate.contracts.lake.records import Record
    from lakegate.functions.workload import Message

KIND: Final = "line"
"""Of keys, and of the shards of the index."""
MAX_CONTENT: Final = 390_000
"""Bytes of a line: an item of DynamoDB has at most 400 KB."""


@dataclass(frozen=True, slots=True)
class DynamoLines:
    """DatasetLines."""

    table: DynamoTable
    ledger: DynamoTable

    def get(self, name: str) -> Line:
        """A strongly consistent read."""
        item = self.table.get(_key(name))
        return decoded(item, _line) if item else Line(name)

    def write(self, line: Line, record: Record | None = None, message: Message | None = None) -> None:
        """One transaction: the line, head, record and event, and the message."""
        writes = [{"Put": {"TableName": self.table.name, **_written(line, self.table.get(_key(line.name)))}}]
        reasons = ["line"]
        if record is not None:
            writes += record_puts(self.ledger.name, record)
            reasons += RECORD_REASONS
        if message is not None:
            writes.append({"Put": {"TableName": self.table.name, "Item": message_item(message)}})
            reasons.append("")
        try:
            transact(self.table.client, writes, reasons)
        except ConditionFailed as failed:
            of_record = failed.reasons[1 : 1 + len(RECORD_REASONS)] if record else ("",) * len(RECORD_REASONS)
            raise ConditionFailed(failed.reasons[0], *record_reasons(of_record)) from None

    def due(self, now: datetime, limit: int) -> tuple[str, ...]:
        """All shards of the index, merged."""
        return tuple(self.table.oldest(KIND, limit, instant(now)))

    def knows(self, name: str, prefix: str) -> bool:
        """A strongly consistent read."""
        return self.table.get(producer_key(producer_id(name, prefix))) is not None


def _line(item: Mapping[str, Any]) -> Line:
    return decode(Line, json.loads(item["line"]["S"]))


def _key(name: str) -> dict[str, dict[str, str]]:
    return {"id": text(f"{KIND}#{name}")}


def _written(line: Line, before: Mapping[str, Any] | None) -> dict[str, Any]:
    content = json.dumps(with_unknown(before, KIND, encode(line)), separators=(",", ":"), ensure_ascii=False)
    if len(content.encode()) > MAX_CONTENT:
        raise InputError(f"the subscriptions of {line.name} need more than {MAX_CONTENT:,} bytes")
    item: Mapping[str, Any] = {**_key(line.name), "revision": number(line.revision), "line": text(content)}
    due = {"shard": text(shard(KIND, line.name)), "at": text(line.due)} if line.due else {}
    if line.revision == 1:
        return {"Item": {**item, **due}, "ConditionExpression": "attribute_not_exists(id)"}
    return {
        "Item": {**item, **due},
        "ConditionExpression": "revision = :seen",
        "ExpressionAttributeValues": {":seen": number(line.revision - 1)},
    }
