"""One row for each line, in the table `workloads`: promises, pulls and measurements; an index finds those that are due."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from lakegate.contracts.lake.promises import PromisingLine
from lakegate.contracts.lake.pulls import PullingLine
from lakegate.contracts.lake.revalidations import RevalidatedLine
from lakegate.contracts.plan.serialization import decode, encode
from lakegate.functions.adapters.tables import decoded, instant, number, shard, text, with_unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from lakegate.functions.adapters.dynamodb import DynamoTable


class LineRow(Protocol):
    """What a row is about, how often it was written, and when it is due (empty: never)."""

    @property
    def line(self) -> str: ...  # noqa: D102 - as above
    @property
    def revision(self) -> int: ...  # noqa: D102 - as above
    @property
    def due(self) -> str: ...  # noqa: D102 - as above


T = TypeVar("T", bound=LineRow)


@dataclass(frozen=True, slots=True)
class DynamoLineRows(Generic[T]):
    """Rows of one kind."""

    table: DynamoTable
    kind: str
    """Of keys, and of the shards of the index."""
    attribute: str
    """With the content of the row; also what a condition that fails is called."""
    of_line: Callable[[str], T]
    """Makes the row of a line that nobody has written; the class of rows."""

    def get(self, line: str) -> T:
        """A strongly consistent read."""
        item = self.table.get(self._key(line))
        return decoded(item, self._row) if item else self.of_line(line)

    def write(self, line: T) -> None:
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

    def _row(self, item: Mapping[str, Any]) -> T:
        cls: Any = self.of_line
        row: T = decode(cls, json.loads(item[self.attribute]["S"]))
        return row

    def _key(self, line: str) -> dict[str, dict[str, str]]:
        return {"id": text(f"{self.kind}#{line}")}


def promises(table: DynamoTable) -> DynamoLineRows[PromisingLine]:
    """Promises."""
    return DynamoLineRows(table, "promise", "promises", PromisingLine)


def revalidations(table: DynamoTable) -> DynamoLineRows[RevalidatedLine]:
    """Measurements of accepted data by schedule."""
    return DynamoLineRows(table, "revalidation", "revalidation", RevalidatedLine)


def pulls(table: DynamoTable) -> DynamoLineRows[PullingLine]:
    """Pulls."""
    return DynamoLineRows(table, "pull", "pull", PullingLine)
