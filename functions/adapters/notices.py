"""Notices: items of the table `workloads`, whose index finds those that are due."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lakegate.contracts.lake.lifecycle import instant_of
from lakegate.contracts.lake.notices import ChannelNotice
from lakegate.contracts.plan.serialization import decode, encode
from lakegate.functions.adapters.rows import REMEMBERED
from lakegate.functions.adapters.tables import ALWAYS, decoded, instant, number, shard, text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from lakegate.functions.adapters.dynamodb import DynamoTable

KIND: Final = "notice"
DEAD: Final = "dead-notice"
"""Kinds of shards of the index; the first one also of keys."""


@dataclass(frozen=True, slots=True)
class DynamoNotices:
    """Notices."""

    table: DynamoTable

    def get(self, notice: str) -> ChannelNotice | None:
        """A strongly consistent read."""
        item = self.table.get(_key(notice))
        return decoded(item, _notice) if item else None

    def write(self, notice: ChannelNotice) -> None:
        """A conditional put."""
        content = json.dumps(encode(notice), separators=(",", ":"), ensure_ascii=False)
        item = {**_key(notice.id), "revision": number(notice.revision), "notice": text(content), **_index(notice)}
        if notice.ended:  # with its message
            item["expires"] = number(int((instant_of(notice.ended) + REMEMBERED).timestamp()))
        condition: dict[str, Any] = {"ConditionExpression": "attribute_not_exists(id)"}
        if notice.revision > 1:
            condition = {
                "ConditionExpression": "revision = :seen",
                "ExpressionAttributeValues": {":seen": number(notice.revision - 1)},
            }
        self.table.put(item, "notice", **condition)

    def due(self, now: datetime, limit: int) -> tuple[str, ...]:
        """All shards of the index, merged."""
        return tuple(self.table.oldest(KIND, limit, instant(now)))

    def dead(self, limit: int) -> tuple[str, ...]:
        """All shards of the index, merged."""
        return tuple(self.table.oldest(DEAD, limit, ALWAYS))


def _notice(item: Mapping[str, Any]) -> ChannelNotice:
    return decode(ChannelNotice, json.loads(item["notice"]["S"]))


def _key(notice: str) -> dict[str, dict[str, str]]:
    return {"id": text(f"{KIND}#{notice}")}


def _index(notice: ChannelNotice) -> dict[str, dict[str, str]]:
    if notice.dead:
        return {"shard": text(shard(DEAD, notice.id)), "at": text(notice.not_before)}
    return {"shard": text(shard(KIND, notice.id)), "at": text(notice.due)} if notice.due else {}
