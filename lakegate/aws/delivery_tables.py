"""Deliveries, pauses and small-file batches in DynamoDB."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from lakegate.aws.clients import port_errors
from lakegate.aws.delivery_items import (
    message_item,
    message_key,
    message_of,
    producer_key,
    workload_item,
    workload_key,
    workload_of,
)
from lakegate.aws.dynamodb_table import (
    ALWAYS,
    INDEX,
    DynamoTable,
    decoded,
    held_shard,
    instant,
    number,
    shard,
    text,
    transact,
)
from lakegate.errors import ConditionFailed, NotFound, Throttled, UnreadableItem
from lakegate.extension_points import registered
from lakegate.gate.delivery.delivery_row import producer_id
from lakegate.gate.delivery.protocol import State
from lakegate.gate.table import Batch, Member, Pause

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lakegate.gate.delivery.delivery_row import Workload
    from lakegate.gate.ports import Message
    from lakegate.gate.table import Expected

# ---- Batches: joining is one conditional update ----


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
                ":one": {"L": [text(_batch_text(member))]},
                ":member": text(_batch_text(member)),
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


def _batch_text(member: Member) -> str:
    return f"{member.workload}/{member.attempt}/{member.size}"


def _member(item: str) -> Member:
    workload, attempt, size = item.split("/")
    return Member(workload, int(attempt), int(size))


# ---- Pauses: items, and conditions on the writes of workloads ----


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
    """Changes and conditions of a write of a row on the pause of its dataset; nothing for most writes."""
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


# ---- Workloads, agenda and outbox ----


ABSENT = {"ConditionExpression": "attribute_not_exists(id)"}


def fenced(expected: Expected) -> dict[str, Any]:
    """The condition that state and attempt of a row are what its writer read."""
    return {
        "ConditionExpression": "#state = :state AND attempt = :attempt",
        "ExpressionAttributeNames": {"#state": "state"},
        "ExpressionAttributeValues": {":state": text(expected.state), ":attempt": number(expected.attempt)},
    }


class RowConditions(Protocol):
    """Writes of a feature in the transactions of a row (reason `turn`): a row of the extension point `row conditions`."""

    def decided(self, table: str, workload: Workload, expected: Expected) -> list[dict[str, Any]]:
        """Those that belong to the write of a decision; none for other writes."""
        ...

    def committed(self, table: str, workload: Workload) -> list[dict[str, Any]]:
        """Those that belong to the commit."""
        ...


@dataclass(frozen=True, slots=True)
class DynamoWorkloads:
    """Workloads."""

    table: DynamoTable

    def create(self, workload: Workload) -> None:
        """Put if absent."""
        self.table.put(workload_item(workload), "state", **ABSENT)

    def get(self, workload: str) -> Workload:
        """A strongly consistent read."""
        item = self.table.get(workload_key(workload))
        if item is None:
            raise NotFound(workload)
        return decoded(item, workload_of)

    def save(
        self,
        workload: Workload,
        expected: Expected,
        *,
        message: Message | None = None,
        content: str | None = None,
        accepted: bool = False,
    ) -> None:
        """A transaction of up to four puts, and of what they require of the pause and the turn of the line."""
        row = {"Item": workload_item(workload), **fenced(expected)}
        news = {"Item": message_item(message)} if message else None
        claim = _claim(content, workload.id) if content else None
        known = {"Item": _producer(workload)} if accepted else None
        writes = (("state", row), ("", news), ("content", claim), ("", known))
        puts = [(why, {"Put": {"TableName": self.table.name, **write}}) for why, write in writes if write]
        pauses = [("pause", write) for write in pause_writes(self.table.name, workload, expected)]
        conditions: Iterator[RowConditions] = registered("row conditions")
        turns = [("turn", write) for each in conditions for write in each.decided(self.table.name, workload, expected)]
        why, writes = zip(*puts, *pauses, *turns, strict=True)
        try:
            transact(self.table.client, list(writes), why)
        except ConditionFailed as failed:
            state, content, pause, turn = (
                each if each in failed.reasons else "" for each in ("state", "content", "pause", "turn")
            )
            raise ConditionFailed(state, "", content, pause or turn) from None

    def lease(self, workload: Workload, until: datetime, tries: int = 0) -> None:
        """Move `at`, if it is still where this worker saw it."""
        if workload.due_at is None:
            raise ConditionFailed("due_at")
        self.table.update(
            workload_key(workload.id),
            "due_at",
            UpdateExpression="SET #at = :until, tries = :tries",
            ConditionExpression="#at = :seen",
            ExpressionAttributeNames={"#at": "at"},
            ExpressionAttributeValues={
                ":until": text(instant(until)),
                ":tries": number(tries),
                ":seen": text(instant(workload.due_at)),
            },
        )


RESERVATIONS: Final = 3
"""Tries of both updates of a reservation: each round fails only if another worker reserves at that moment."""


@dataclass(frozen=True, slots=True)
class DynamoAgenda:
    """Agenda."""

    table: DynamoTable

    def due(self, now: datetime, limit: int) -> tuple[str, ...]:
        """All shards of the index, merged."""
        return tuple(self.table.oldest("due", limit, instant(now)))

    def owner(self, content: str) -> str | None:
        """A strongly consistent read."""
        return _text(self.table.get(_content_key(content)), "owner")

    def cursor(self, name: str) -> str | None:
        """A strongly consistent read. One that cannot be read counts as absent: what is listed begins again."""
        with suppress(UnreadableItem):
            return _text(self.table.get(_cursor_key(name)), "cursor")
        return None

    def keep(self, name: str, cursor: str | None) -> None:
        """An unconditional put: losing a cursor only repeats a listing."""
        self.table.put({**_cursor_key(name), **({"cursor": text(cursor)} if cursor else {})})

    def keep_first(self, name: str, cursor: str) -> str:
        """Put if absent, then a strongly consistent read: what was kept first is never taken away."""
        with suppress(ConditionFailed):
            self.table.put({**_cursor_key(name), "cursor": text(cursor)}, "cursor", **ABSENT)
        return _text(self.table.get(_cursor_key(name)), "cursor") or cursor

    def reserve_start(self, now: datetime, interval: timedelta, burst: int) -> datetime:
        """One atomic update: `free` is when all tokens will be there again, in milliseconds, and moves on by an interval.

        Of the two updates one fits, because an expression knows no maximum; unless another worker comes between them.
        """
        moment, step = int(now.timestamp() * 1000), int(interval.total_seconds() * 1000)
        later = ("#free + :step", "#free >= :now", {":now": moment, ":step": step})
        idle = (":next", "attribute_not_exists(#free) OR #free < :now", {":now": moment, ":next": moment + step})
        for expression, condition, values in (later, idle) * RESERVATIONS:
            with suppress(ConditionFailed):
                stored = self.table.update(
                    _cursor_key("starts"),
                    "free",
                    UpdateExpression=f"SET #free = {expression}",
                    ConditionExpression=condition,
                    ExpressionAttributeNames={"#free": "free"},
                    ExpressionAttributeValues={name: number(value) for name, value in values.items()},
                    ReturnValues="UPDATED_NEW",
                )
                wait = int(stored["free"]["N"]) - burst * step - moment
                return now + timedelta(milliseconds=max(wait, 0))
        raise Throttled("UpdateItem")


@dataclass(frozen=True, slots=True)
class DynamoOutbox:
    """Outbox."""

    table: DynamoTable

    def add(self, message: Message) -> bool:
        """Put if absent."""
        try:
            self.table.put(message_item(message), "message", **ABSENT)
        except ConditionFailed:
            return False
        return True

    def pending(self, limit: int) -> tuple[Message, ...]:
        """All shards of the index, merged; each read again by key, because the index lags."""
        items = [self.table.get(message_key(name)) for name in self.table.oldest("message", limit, ALWAYS)]
        return tuple(self.table.readable((item for item in items if item and "at" in item), message_of))

    def sent(self, message: Message) -> None:
        """Take the message out of the index; its row stays until it expires."""
        try:
            self.table.update(
                message_key(message.id),
                UpdateExpression="REMOVE #at, #shard",
                ConditionExpression="attribute_exists(id)",
                ExpressionAttributeNames={"#at": "at", "#shard": "shard"},
            )
        except ConditionFailed:
            return


def _claim(content: str, workload: str) -> dict[str, Any]:
    return {
        "Item": {**_content_key(content), "owner": text(workload)},
        "ConditionExpression": "attribute_not_exists(id) OR #owner = :workload",
        "ExpressionAttributeNames": {"#owner": "owner"},
        "ExpressionAttributeValues": {":workload": text(workload)},
    }


def _producer(workload: Workload) -> dict[str, Any]:
    """Put without a condition: whichever accepted delivery is named, there is one."""
    assert workload.pin is not None
    return {**producer_key(producer_id(workload.pin.chain, workload.pin.prefix)), "owner": text(workload.id)}


def _content_key(content: str) -> dict[str, dict[str, str]]:
    return {"id": text(f"content#{content}")}


def _cursor_key(name: str) -> dict[str, dict[str, str]]:
    return {"id": text(f"cursor#{name}")}


def _text(item: Mapping[str, Any] | None, attribute: str) -> str | None:
    return decoded(item, lambda each: str(each[attribute]["S"])) if item and attribute in item else None
