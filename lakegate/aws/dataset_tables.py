"""Rows of datasets in DynamoDB: lifecycle and scheduled tasks."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from lakegate.aws.delivery_items import message_item, producer_key
from lakegate.aws.dynamodb_table import DynamoTable, decoded, instant, number, shard, text, transact, with_unknown
from lakegate.aws.ledger_table import RECORD_REASONS, record_puts, record_reasons
from lakegate.errors import ConditionFailed, InputError
from lakegate.gate.datasets.dataset_lines import Line, PromisingLine
from lakegate.gate.delivery.delivery_row import producer_id
from lakegate.json_codec import decode, encode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from lakegate.gate.ledger.blocks import Record
    from lakegate.gate.ports import Message

# ---- Rows of datasets in the table `workloads` ----


class LineRow(Protocol):
    """The subject of a row, its revision, and when it is due (empty: never)."""

    @property
    def line(self) -> str: ...  # noqa: D102 - as above
    @property
    def revision(self) -> int: ...  # noqa: D102 - as above
    @property
    def due(self) -> str: ...  # noqa: D102 - as above


RowT = TypeVar("RowT", bound=LineRow)


@dataclass(frozen=True, slots=True)
class DynamoLineRows(Generic[RowT]):
    """Rows of one kind."""

    table: DynamoTable
    kind: str
    """Of keys, and of the shards of the index."""
    attribute: str
    """With the content of the row; also what a condition that fails is called."""
    of_line: Callable[[str], RowT]
    """Makes the row of a line that nobody has written; the class of rows."""

    def get(self, line: str) -> RowT:
        """A strongly consistent read."""
        item = self.table.get(self._key(line))
        return decoded(item, self._row) if item else self.of_line(line)

    def write(self, line: RowT) -> None:
        """A conditional put."""
        stored = with_unknown(self.table.get(self._key(line.line)), self.attribute, encode(line))
        content = json.dumps(stored, separators=(",", ":"), ensure_ascii=False)
        item = {**self._key(line.line), "revision": number(line.revision), self.attribute: text(content)}
        due = {"shard": text(shard(self.kind, line.line)), "at": text(line.due)} if line.due else {}
        condition: dict[str, Any] = {"ConditionExpression": "attribute_not_exists(id)"}
        if line.revision > 1:
            condition = {
                "ConditionExpression": "revision = :seen",
                "ExpressionAttributeValues": {":seen": number(line.revision - 1)},
            }
        self.table.put({**item, **due}, self.attribute, **condition)

    def due(self, now: datetime, limit: int) -> tuple[str, ...]:
        """All shards of the index, merged."""
        return tuple(self.table.oldest(self.kind, limit, instant(now)))

    def _row(self, item: Mapping[str, Any]) -> RowT:
        cls: Any = self.of_line
        row: RowT = decode(cls, json.loads(item[self.attribute]["S"]))
        return row

    def _key(self, line: str) -> dict[str, dict[str, str]]:
        return {"id": text(f"{self.kind}#{line}")}


def promises(table: DynamoTable) -> DynamoLineRows[PromisingLine]:
    """Promises."""
    return DynamoLineRows(table, "promise", "promises", PromisingLine)


# ---- Datasets in the table `workloads` ----


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
