"""Announced deliveries: items of the table `workloads`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakegate.contracts.plan.serialization import decode, encode
from lakegate.functions.adapters.tables import decoded, text
from lakegate.functions.ports.announcements import Announcement

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakegate.functions.adapters.dynamodb import DynamoTable


@dataclass(frozen=True, slots=True)
class DynamoAnnouncements:
    """Announcements."""

    table: DynamoTable

    def create(self, announcement: Announcement) -> None:
        """A conditional put."""
        content = json.dumps(encode(announcement), separators=(",", ":"), ensure_ascii=False)
        item = {**_key(announcement.id), "announcement": text(content)}
        self.table.put(item, "announcement", ConditionExpression="attribute_not_exists(id)")

    def get(self, announcement: str) -> Announcement | None:
        """A strongly consistent read."""
        item = self.table.get(_key(announcement))
        return decoded(item, _announcement) if item else None


def _announcement(item: Mapping[str, Any]) -> Announcement:
    return decode(Announcement, json.loads(item["announcement"]["S"]))


def _key(announcement: str) -> dict[str, dict[str, str]]:
    return {"id": text(f"announcement#{announcement}")}
