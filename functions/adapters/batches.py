"""Batches: items of the table `workloads`. A member is one text of a list, so that joining is one conditional update."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from lakegate.functions.adapters.tables import decoded, instant, number, text
from lakegate.functions.ports.batches import Batch, Member
from lakegate.functions.ports.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakegate.functions.adapters.dynamodb import DynamoTable

NAMES = {"#members": "members", "#request": "request"}


@dataclass(frozen=True, slots=True)
class DynamoBatches:
    """Batches."""

    table: DynamoTable

    def get(self, batch: str) -> Batch:
        """A strongly consistent read."""
        item = self.table.get(_key(batch))
        if item is None:
            raise NotFound(batch)
        return decoded(item, partial(_batch, batch))

    def join(self, batch: Batch, member: Member) -> None:
        """An update that creates the item where there is none; the limits of the item count."""
        self._update(
            batch.id,
            "SET #members = list_append(if_not_exists(#members, :none), :one),"
            " #total = if_not_exists(#total, :zero) + :size, #files = if_not_exists(#files, :files),"
            " #most = if_not_exists(#most, :most), #closes = if_not_exists(#closes, :closes)",
            "attribute_not_exists(#members) OR (attribute_not_exists(#request) AND size(#members) < #files"
            " AND #total < #most AND NOT contains(#members, :member))",
            {"#total": "total", "#files": "files", "#most": "most", "#closes": "closes"},
            {
                ":none": {"L": []},
                ":one": {"L": [text(_text(member))]},
                ":member": text(_text(member)),
                ":zero": number(0),
                ":size": number(member.size),
                ":files": number(batch.files),
                ":most": number(batch.bytes),
                ":closes": text(instant(batch.closes_at)),
            },
        )

    def close(self, batch: Batch, request: str) -> None:
        """An update, once. Members are only ever added, so their number identifies them."""
        self._update(
            batch.id,
            "SET #request = :request",
            "attribute_not_exists(#request) AND size(#members) = :seen",
            {},
            {":request": text(request), ":seen": number(len(batch.members))},
        )

    def started(self, batch: str, run: str) -> None:
        """An update; every caller stores the same id."""
        self.table.update(
            _key(batch),
            UpdateExpression="SET #run = :run",
            ExpressionAttributeNames={"#run": "run"},
            ExpressionAttributeValues={":run": text(run)},
        )

    def _update(self, batch: str, change: str, condition: str, names: dict[str, str], values: dict[str, Any]) -> None:
        self.table.update(
            _key(batch),
            "batch",
            UpdateExpression=change,
            ConditionExpression=condition,
            ExpressionAttributeNames={**NAMES, **names},
            ExpressionAttributeValues=values,
        )


def _batch(batch: str, item: Mapping[str, Any]) -> Batch:
    return Batch(
        id=batch,
        files=int(item["files"]["N"]),
        bytes=int(item["most"]["N"]),
        closes_at=datetime.fromisoformat(item["closes"]["S"]),
        members=tuple(_member(each["S"]) for each in item["members"]["L"]),
        request=item.get("request", text(""))["S"],
        run=item.get("run", text(""))["S"],
    )


def _key(batch: str) -> dict[str, dict[str, str]]:
    return {"id": text(f"batch#{batch}")}


def _text(member: Member) -> str:
    return f"{member.workload}/{member.attempt}/{member.size}"


def _member(item: str) -> Member:
    workload, attempt, size = item.split("/")
    return Member(workload, int(attempt), int(size))
