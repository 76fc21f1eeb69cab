"""The port of the stack's tables: rows, conditions as values, and writes of which all happen or none.

=========  =======================  ================================================================================
table      key                      rows
=========  =======================  ================================================================================
registry   `id`                     `route#<bucket>/<prefix>`, `version#<contract>#<version>`,
                                    `contract#<contract>`, `proposal#<contract>#<version>`
workloads  `id`                     `workload#<id>`, `message#<id>`, `content#<digest>`, `cursor#<name>`,
                                    `upload#<digest>`, `pause#<line>`, `batch#<id>`, `line#<line>`,
                                    `producer#<digest>`, `notice#<id>`, `promise#<line>`, `pull#<line>`,
                                    `revalidation#<line>`, `announcement#<id>`, `request#<digest>`,
                                    `validation#<digest>`, `callback#<digest>`, `slices#<line>`,
                                    `object#<digest>`, `snapshot#<digest>`, `arrival#<id>`,
                                    `derivation#<line>`
ledger     `chain`, `height`        one row a block; the head of the chain at height -1; `event#<id>`, at height 0,
                                    for each record; `workload#<id>`, at height 0, for each delivery that has a
                                    block; the index of finished deliveries: `<chain>#verdict#<verdict>`,
                                    `<chain>#rule#<digest>`; their numbers: `<chain>#verdict#numbers`; the key that
                                    signs a chain: `<chain>#key`, at height 0; the last delivery of a name:
                                    `<chain>#name#<digest>`, at height 0
=========  =======================  ================================================================================

Index `agenda` of workloads is sparse and sharded: `shard` (`due#<n>` for open workloads, `held#<line>` for those that are HELD,
`pause#<n>` for paused lines, `message#<n>` for messages not yet sent, `line#<n>` for lines with a change to record,
`notice#<n>` and `dead-notice#<n>` for notices with a message to send and for those that were given up, `promise#<n>` for lines
with a service level to watch, `pull#<n>` for lines that are pulled, `object#<n>` and `snapshot#<n>` for objects, and snapshots
of tables, that were named and are not delivered, `revalidation#<n>` for lines that are measured by schedule, `derivation#<n>` for
lines that are derived from others, `announced#<contract>` for announcements that nothing has landed for) and `at`. A row leaves
it by losing both. It holds keys only and lags: what is found is read again by key.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from lakegate.base.errors import InputError, UnreadableItem

T = TypeVar("T")
SHARDS: Final = 8
"""One partition of the index takes 1,000 writes a second; a workload writes its row about a dozen times."""
ALWAYS: Final = "9999"
"""Later than any time there will be."""
UNREADABLE: Final = (LookupError, ValueError, TypeError, AttributeError, RecursionError, InputError)
"""Whatever decoding raises."""
FORMAT: Final = 1
"""The attribute `format` of rows, 1 where they have none. What older releases must not act on has a higher one."""
MOST_WRITES: Final = 100
"""Writes of one transaction; likewise keys of one batch."""
HEAD: Final = -1
"""The height of the row that holds the head of a chain."""


class TableName(StrEnum):
    """The three tables."""

    REGISTRY = "registry"
    WORKLOADS = "workloads"
    LEDGER = "ledger"


class RowKey(NamedTuple):
    """The key of a row."""

    table: TableName
    name: str
    """The attribute `id`, or `chain` in the ledger."""
    height: int = 0
    """In the ledger alone."""

    def __str__(self) -> str:
        """As people are told it."""
        return f"{self.name} {self.height}" if self.table is TableName.LEDGER else self.name

    @property
    def identity(self) -> str:
        """The name behind its kind."""
        return self.name.partition("#")[2]


def workloads_key(kind: str, name: str) -> RowKey:
    """The key of a row of a kind in the table of workloads."""
    return RowKey(TableName.WORKLOADS, f"{kind}#{name}")


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """An immutable record as an attribute; its text is made when it is sent."""

    record: Any
    write: Callable[[], str] = field(compare=False)


class Row(NamedTuple):
    """A row: texts, whole numbers, bytes, documents, and lists and mappings of texts."""

    key: RowKey
    values: Mapping[str, Any]
    """By attribute, without those of the key."""

    def text(self, name: str) -> str:
        """An attribute that is a text. Raises TypeError where it is something else, and KeyError where it is absent."""
        value = self.values[name]
        if isinstance(value, StoredRecord):
            return value.write()
        if not isinstance(value, str):
            raise TypeError(name)
        return value

    def number(self, name: str) -> int:
        """Likewise of a whole number."""
        value = self.values[name]
        if not isinstance(value, int):
            raise TypeError(name)
        return value

    def has(self, name: str) -> bool:
        """Whether an attribute is there."""
        return name in self.values

    def record(self, name: str, of: Callable[[str], T]) -> T:
        """The record of an attribute, by its text; a document that was not sent is still there as it is."""
        value = self.values[name]
        if isinstance(value, StoredRecord):
            there: T = value.record
            return there
        return of(self.text(name))

    def decoded(self, of: Callable[[Row], T]) -> T:
        """The decoded contents of the row. Raises UnreadableItem with its key."""
        try:
            if not self.has("format") or self.number("format") <= FORMAT:
                return of(self)
        except UNREADABLE as error:
            raise unreadable(str(self.key), error) from None
        raise UnreadableItem(str(self.key), "a newer release wrote it")


# ---- Conditions: what the row of a write must be when it is written ----


@dataclass(frozen=True, slots=True)
class RowAbsent:
    """There is no row."""


@dataclass(frozen=True, slots=True)
class RowExists:
    """There is a row."""


@dataclass(frozen=True, slots=True)
class Has:
    """The row has the attribute."""

    name: str


@dataclass(frozen=True, slots=True)
class Lacks:
    """There is no row, or it does not have the attribute."""

    name: str


@dataclass(frozen=True, slots=True)
class Equals:
    """The attribute has the value."""

    name: str
    value: str | int


@dataclass(frozen=True, slots=True)
class Below:
    """A number is smaller than another one, or than another attribute."""

    name: str
    limit: str | int


@dataclass(frozen=True, slots=True)
class AtLeast:
    """A number is not smaller than another one."""

    name: str
    limit: int


@dataclass(frozen=True, slots=True)
class Shorter:
    """A list has fewer members than another attribute says."""

    name: str
    limit: str


@dataclass(frozen=True, slots=True)
class HasLength:
    """A list has so many members."""

    name: str
    members: int


@dataclass(frozen=True, slots=True)
class Without:
    """A list does not have the member, or is absent."""

    name: str
    member: str


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every one of these."""

    of: tuple[Condition, ...]

    def __init__(self, *of: Condition) -> None:
        object.__setattr__(self, "of", of)


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one of these."""

    of: tuple[Condition, ...]

    def __init__(self, *of: Condition) -> None:
        object.__setattr__(self, "of", of)


Condition = (
    RowAbsent | RowExists | Has | Lacks | Equals | Below | AtLeast | Shorter | HasLength | Without | AllOf | AnyOf
)


def at_revision(revision: int) -> Condition:
    """The row was written so often; 0: there is none."""
    return Equals("revision", revision) if revision else RowAbsent()


# ---- Writes ----


class ConditionName(StrEnum):
    """Conditions of transactions, by what another one has written."""

    ROW = "row"
    """The row itself; of a single write, and of others that nobody asks for."""
    STATE = "state"
    """Of a delivery, with its attempt."""
    CONTENT = "content"
    """It belongs to another delivery."""
    PAUSE = "pause"
    """The dataset is paused, or is not."""
    TURN = "turn"
    """Another delivery's slices are next."""
    HEAD = "head"
    """The chain is higher."""
    KEY = "key"
    """The chain is signed by another key."""
    NAME = "name"
    """Another delivery was accepted with the name."""
    EVENT = "event"
    """It is recorded."""
    REPEATED = "repeated"
    """The delivery is committed."""
    VERSION = "version"
    """It is published with another content."""
    PREFIX = "prefix"
    """It belongs to another dataset."""
    CONTRACT = "contract"
    PARENT = "parent"
    PROPOSAL = "proposal"


@dataclass(frozen=True, slots=True)
class Put:
    """Write a whole row in the place of whatever is there."""

    row: Row
    if_: Condition | None = None
    reason: ConditionName = ConditionName.ROW
    """The name of the condition where it fails."""

    @property
    def key(self) -> RowKey:
        """Of the row."""
        return self.row.key


@dataclass(frozen=True, slots=True)
class Update:
    """Change attributes of a row; one that is not there is made."""

    key: RowKey
    sets: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Set where they are absent."""
    adds: Mapping[str, int] = field(default_factory=dict)
    """Added to numbers; an absent one counts as 0."""
    appends: Mapping[str, str] = field(default_factory=dict)
    """Members put at the end of lists; an absent one counts as empty."""
    removes: tuple[str, ...] = ()
    if_: Condition | None = None
    reason: ConditionName = ConditionName.ROW


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove a row; absent is done."""

    key: RowKey
    if_: Condition | None = None
    reason: ConditionName = ConditionName.ROW


@dataclass(frozen=True, slots=True)
class CheckRow:
    """Write nothing, and require something of a row."""

    key: RowKey
    if_: Condition
    reason: ConditionName = ConditionName.ROW


Write = Put | Update | Delete | CheckRow


# ---- The port ----


class Tables(Protocol):
    """The tables of a stack. Reads are strongly consistent, but for `due` and `listed`, which read an index that lags."""

    @property
    def left_out(self) -> list[UnreadableItem]:
        """Rows that were left out because this release cannot read them: the caller reports them."""
        ...

    def get(self, key: RowKey) -> Row | None:
        """The row; None where there is none."""
        ...

    def batch(self, keys: Sequence[RowKey]) -> Iterator[Row]:
        """The rows of keys of one table that are there, in no order and not of one moment. Raises Throttled."""
        ...

    def write(self, write: Put | Update | Delete) -> None:
        """One write. Raises ConditionFailed with its reason."""
        ...

    def update(self, update: Update) -> Row:
        """Likewise one update; the attributes that it has set, as they are then."""
        ...

    def transact(self, writes: Sequence[Write], token: str = "") -> None:
        """All writes or none, at most 100, each of another row. What is sent twice without an answer happens once.

        Raises ConditionFailed. With a token the same writes again within ten minutes do nothing, and others raise
        IdempotencyMismatch. Raises TransactionConflict.
        """
        ...

    def due(self, kind: str, limit: int, until: str = ALWAYS) -> tuple[str, ...]:
        """The names, without their kinds, of rows in all shards of the index, the oldest first; `until`: the latest `at`."""
        ...

    def listed(self, shard: str, limit: int) -> tuple[str, ...]:
        """The names of rows in one shard of the index, the oldest first."""
        ...

    def latest(self, shard: str, limit: int, since: str, until: str) -> tuple[tuple[str, str], ...]:
        """Likewise those between two values of `at`, both included, the newest first, each with its `at`."""
        ...

    def heights(
        self, chain: str, above: int = HEAD, below: int | None = None, *, newest: bool = False, page: int | None = None
    ) -> Iterator[Row]:
        """The rows of a chain of the ledger between two heights, in order or the newest first, read page by page."""
        ...

    def scan(self, table: TableName) -> Iterator[Row]:
        """All rows of a table, in no order."""
        ...

    def page(self, table: TableName, kind: str, after: str, items: int) -> tuple[tuple[Row, ...], str]:
        """The rows of a kind among the next so many, and where the next page begins; empty after the last one."""
        ...


# ---- What rows hold ----


def instant(at: datetime) -> str:
    """A time as sortable text: UTC, microseconds."""
    return at.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def shard(kind: str, name: str) -> str:
    """The partition of the index that holds a row."""
    return f"{kind}#{zlib.crc32(name.encode()) % SHARDS}"


def shards(kind: str) -> tuple[str, ...]:
    """All partitions of one kind."""
    return tuple(f"{kind}#{n}" for n in range(SHARDS))


def due_at(kind: str, name: str, at: str) -> dict[str, str]:
    """The attributes that put a row into the index; none without a time."""
    return {"shard": shard(kind, name), "at": at} if at else {}


def unreadable(name: str, error: Exception) -> UnreadableItem:
    """The error for what decoding raised: what is stored is not what this release writes."""
    is_json = not isinstance(error, json.JSONDecodeError)
    return UnreadableItem(name, "it has another form than this release knows" if is_json else "it is not JSON")


def read_row(table: Tables, key: RowKey, of: Callable[[Row], T]) -> T | None:
    """The decoded contents of the row of a key; None where there is none. Raises UnreadableItem."""
    row = table.get(key)
    return None if row is None else row.decoded(of)


def batched_rows(table: Tables, keys: Sequence[RowKey]) -> Iterator[Row]:
    """The rows of these keys of one table, as far as they are there, in no order; strongly consistent. Raises Throttled."""
    for first in range(0, len(keys), MOST_WRITES):
        yield from table.batch(keys[first : first + MOST_WRITES])


def all_readable(table: Tables, rows: Iterable[Row], of: Callable[[Row], T]) -> Iterator[T]:
    """The decoded contents of rows; one that cannot be read is left out, and hides none of the others."""
    for row in rows:
        try:
            content = row.decoded(of)
        except UnreadableItem as refused:
            table.left_out.append(refused)
        else:
            yield content
