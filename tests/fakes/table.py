"""The tables in memory: conditions and writes are the values of the port, executed; the index lags."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Final, NamedTuple

from lakegate.base.errors import ConditionFailed, IdempotencyMismatch, InputError, UnreadableItem
from lakegate.gate.table import (
    ALWAYS,
    HEAD,
    MOST_WRITES,
    AllOf,
    AnyOf,
    AtLeast,
    Below,
    CheckRow,
    Condition,
    Delete,
    Equals,
    Has,
    HasLength,
    Lacks,
    Put,
    Row,
    RowAbsent,
    RowExists,
    RowKey,
    Shorter,
    TableName,
    Update,
    Without,
    Write,
)
from tests.fakes.fault_injector import FaultInjector, VirtualClock

TOKEN_LIFE: Final = timedelta(minutes=10)
PAGE: Final = 3
"""Rows of a page at most, so that every test meets several pages."""


class Change(NamedTuple):
    """One write of a row."""

    at: datetime
    key: RowKey
    row: Row | None
    """None where it was deleted."""


class MemoryTable:
    """Table. Reads by key are consistent; the index is `lag` seconds behind."""

    def __init__(self, clock: VirtualClock, faults: FaultInjector, lag: float = 0.0) -> None:
        self._clock = clock
        self._faults = faults
        self._lag = timedelta(seconds=lag)
        self.left_out: list[UnreadableItem] = []
        self.rows: defaultdict[tuple[str, str], dict[str | int, Row]] = defaultdict(dict)
        """By table and kind, or chain of the ledger: rows by the name behind the kind, or by their heights."""
        self.changes: defaultdict[tuple[str, str], list[Change]] = defaultdict(list)
        """Likewise every write: for tests that check only what changed."""
        self.blocks_written = 0
        """Writes of the ledger: for the same."""
        self._tokens: dict[str, tuple[datetime, list[Write]]] = {}
        self._late: list[tuple[datetime, str, str, str]] = []
        """When the index follows, with the name of a row, its new shard and time."""
        self._kind_of: dict[str, str] = {}
        """Of the shards in which rows are."""
        self._index: defaultdict[str, dict[str, tuple[str, str]]] = defaultdict(dict)
        """By kind of shard: names with their times and shards."""
        self._heights: defaultdict[str, list[int]] = defaultdict(list)
        """By chain of the ledger: those that have a row, sorted."""

    def get(self, key: RowKey) -> Row | None:
        """The row."""
        kind, name = place_of(key)
        rows = self.rows.get(kind)
        return rows.get(name) if rows else None

    def batch(self, keys: Sequence[RowKey]) -> Iterator[Row]:
        """The rows."""
        if len(keys) > MOST_WRITES:
            raise InputError("a batch reads at most 100 keys")
        return (row for key in keys if (row := self.get(key)) is not None)

    def write(self, write: Put | Update | Delete) -> None:
        """One write, if its condition holds."""
        self._faults.pass_or_refuse()
        if not self._may(write):
            raise ConditionFailed(write.reason)
        self._apply(write)

    def update(self, update: Update) -> Row:
        """One update, if its condition holds."""
        self.write(update)
        row = self.get(update.key)
        assert row is not None
        names = {*update.sets, *update.defaults, *update.adds, *update.appends}
        return Row(row.key, {name: value for name, value in row.values.items() if name in names})

    def transact(self, writes: Sequence[Write], token: str = "") -> None:
        """All writes, if all conditions hold; the same token within ten minutes is the same transaction."""
        self._faults.pass_or_refuse()
        if len(writes) > MOST_WRITES:
            raise InputError("a transaction has at most 100 writes")
        assert len({each.key for each in writes}) == len(writes), "two writes of one row"
        if token and token in self._tokens:
            at, before = self._tokens[token]
            if self._clock.now() - at <= TOKEN_LIFE:
                if before != list(writes):
                    raise IdempotencyMismatch
                return
        if reasons := [each.reason for each in writes if not self._may(each)]:
            raise ConditionFailed(*reasons)
        for each in writes:
            self._apply(each)
        if token:
            self._tokens[token] = (self._clock.now(), list(writes))

    def due(self, kind: str, limit: int, until: str = ALWAYS) -> tuple[str, ...]:
        """By the index."""
        self._catch_up()
        found = sorted([(at, name) for name, (at, _) in self._index[kind].items() if at <= until])
        return tuple([name for _, name in found[:limit]])

    def listed(self, shard: str, limit: int) -> tuple[str, ...]:
        """By the index."""
        self._catch_up()
        kind = shard.partition("#")[0]
        found = sorted([(at, name) for name, (at, its) in self._index[kind].items() if its == shard])
        return tuple([name for _, name in found[:limit]])

    def latest(self, shard: str, limit: int, since: str, until: str) -> tuple[tuple[str, str], ...]:
        """By the index."""
        self._catch_up()
        kind = shard.partition("#")[0]
        found = [(at, name) for name, (at, its) in self._index[kind].items() if its == shard and since <= at <= until]
        return tuple(sorted(found, reverse=True)[:limit])

    def heights(
        self, chain: str, above: int = HEAD, below: int | None = None, *, newest: bool = False, page: int | None = None
    ) -> Iterator[Row]:
        """The rows of a chain."""
        del page
        heights, rows = self._heights[chain], self.rows[TableName.LEDGER, chain]
        found = heights[bisect_left(heights, above + 1) : None if below is None else bisect_left(heights, below)]
        return (rows[at] for at in (reversed(found) if newest else found))

    def scan(self, table: TableName) -> Iterator[Row]:
        """All rows."""
        return (row for (of, _), rows in list(self.rows.items()) if of == table for row in list(rows.values()))

    def page(self, table: TableName, kind: str, after: str, items: int) -> tuple[tuple[Row, ...], str]:
        """By their names."""
        rows = sorted(
            (row for row in self.rows[table, kind].values() if row.key.name > after), key=lambda row: row.key.name
        )
        shown = rows[: min(items, PAGE)]
        return tuple(shown), shown[-1].key.name if len(rows) > len(shown) else ""

    def expire(self) -> int:
        """Delete what is over by the attribute `expires`, as DynamoDB does within days. Returns how many rows that were."""
        now = int(self._clock.now().timestamp())
        of_workloads = [rows for (table, _), rows in self.rows.items() if table == TableName.WORKLOADS]
        over = [row for rows in of_workloads for row in rows.values() if 0 < row.values.get("expires", 0) < now]
        for row in over:
            self.remove(row.key)
        return len(over)

    def put(self, row: Row) -> None:
        """Write a row without a condition, and without a fault: somebody else did."""
        self._apply(Put(row))

    def remove(self, key: RowKey) -> None:
        """Likewise remove one."""
        self._apply(Delete(key))

    def _may(self, write: Write) -> bool:
        row = self.get(write.key)
        return write.if_ is None or holds(write.if_, None if row is None else row.values)

    def _apply(self, write: Write) -> None:
        if isinstance(write, CheckRow):
            return
        kind, name = place_of(write.key)
        before = self.rows[kind].get(name)
        if isinstance(name, int) and isinstance(write, Delete) != (before is None):
            heights = self._heights[kind[1]]
            if before is None:
                insort(heights, name)
            else:
                heights.remove(name)
        if isinstance(write, Delete):
            row = None
            self.rows[kind].pop(name, None)
        else:
            row = (
                write.row if isinstance(write, Put) else Row(write.key, changed(write, before.values if before else {}))
            )
            self.rows[kind][name] = row
        now = self._clock.now()
        self.changes[kind].append(Change(now, write.key, row))
        if write.key.table == TableName.LEDGER:
            self.blocks_written += 1
        elif write.key.table == TableName.WORKLOADS:
            shard, at = (row.values.get("shard", ""), row.values.get("at", "")) if row else ("", "")
            if at or before is None or before.has("at"):
                self._late.append((now + self._lag, write.key.name, shard, at))

    def _catch_up(self) -> None:
        now = self._clock.now()
        late = self._late
        count = 0
        for at, name, shard, due in late:
            if at > now:
                break
            count += 1
            identity = name.partition("#")[2]
            if name in self._kind_of:
                self._index[self._kind_of.pop(name)].pop(identity, None)
            if shard and due:
                kind = self._kind_of[name] = shard.partition("#")[0]
                self._index[kind][identity] = (due, shard)
        del late[:count]


@lru_cache(10_000)
def place_of(key: RowKey) -> tuple[tuple[str, str], str | int]:
    """Where a row is kept."""
    kind, _, name = key.name.partition("#")
    if key.table == TableName.LEDGER and kind not in {"event", "workload"}:
        return (key.table, key.name), key.height
    return (key.table, kind), name


def holds(condition: Condition, values: Mapping[str, Any] | None) -> bool:
    """Whether a row is as a condition wants it; None: there is no row."""
    return _HOLDS[type(condition)](condition, values)


_HOLDS: Final[dict[type, Callable[[Any, Any], bool]]] = {
    RowAbsent: lambda _, values: values is None,
    RowExists: lambda _, values: values is not None,
    Has: lambda each, values: values is not None and each.name in values,
    Lacks: lambda each, values: values is None or each.name not in values,
    Equals: lambda each, values: values is not None and values.get(each.name) == each.value,
    Below: lambda each, values: (
        values[each.name] < each.limit
        if isinstance(each.limit, int) and values is not None and each.name in values
        else _are(each, values) and values[each.name] < values[each.limit]
    ),
    AtLeast: lambda each, values: values is not None and each.name in values and values[each.name] >= each.limit,
    Shorter: lambda each, values: _are(each, values) and len(values[each.name]) < values[each.limit],
    HasLength: lambda each, values: (
        values is not None and each.name in values and len(values[each.name]) == each.members
    ),
    Without: lambda each, values: values is None or each.member not in values.get(each.name, ()),
    AllOf: lambda each, values: False not in [holds(one, values) for one in each.of],
    AnyOf: lambda each, values: True in [holds(one, values) for one in each.of],
}


def _are(each: Below | Shorter, values: Mapping[str, Any] | None) -> bool:
    return values is not None and each.name in values and each.limit in values


def changed(update: Update, before: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a row after an update."""
    return {
        **{name: value for name, value in before.items() if name not in update.removes},
        **update.sets,
        **{name: value for name, value in update.defaults.items() if name not in before},
        **{name: before.get(name, 0) + value for name, value in update.adds.items()},
        **{name: [*before.get(name, ()), one] for name, one in update.appends.items()},
    }
