"""Workloads, agenda and outbox: the table `workloads` and its one index."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakegate.functions.adapters.dynamodb import DynamoTable, transact
from lakegate.functions.adapters.pauses import pause_writes
from lakegate.functions.adapters.rows import (
    message_item,
    message_key,
    message_of,
    producer_key,
    workload_item,
    workload_key,
    workload_of,
)
from lakegate.functions.adapters.tables import ALWAYS, decoded, instant, number, text
from lakegate.functions.adapters.turns import next_slice, state_replaced, turn_ended, turn_key, turn_taken
from lakegate.functions.ports.errors import ConditionFailed, NotFound, UnreadableItem
from lakegate.functions.workload import producer_id

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from lakegate.contracts.plan.slices import StateRun
    from lakegate.functions.ports.workloads import Expected, NextSlice
    from lakegate.functions.workload import Message, Workload

ABSENT = {"ConditionExpression": "attribute_not_exists(id)"}


def fenced(expected: Expected) -> dict[str, Any]:
    """The condition that state and attempt of a row are what its writer read."""
    return {
        "ConditionExpression": "#state = :state AND attempt = :attempt",
        "ExpressionAttributeNames": {"#state": "state"},
        "ExpressionAttributeValues": {":state": text(expected.state), ":attempt": number(expected.attempt)},
    }


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
        turns = [("turn", write) for write in turn_taken(self.table.name, workload, expected)]
        why, writes = zip(*puts, *pauses, *turns, strict=True)
        try:
            transact(self.table.client, list(writes), why)
        except ConditionFailed as failed:
            state, content, pause, turn = (
                each if each in failed.reasons else "" for each in ("state", "content", "pause", "turn")
            )
            raise ConditionFailed(state, "", content, pause or turn) from None

    def next_slice(self, line: str) -> NextSlice:
        """A strongly consistent read."""
        return next_slice(self.table.get(turn_key(line)))

    def end_turn(self, workload: Workload) -> None:
        """An update of the item of the line."""
        for each in turn_ended(self.table.name, workload):
            transact(self.table.client, [each], ("turn",))

    def replace_state(self, line: str, before: NextSlice, runs: tuple[StateRun, ...]) -> None:
        """An update of the item of the line."""
        self.table.update(turn_key(line), "turn", **state_replaced(before, runs))

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
