"""Objects of blocks: which stand, how long they are kept; compared with the store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from lakegate.gate.ledger.blocks import AnyBlock, Block, LedgerObject, Record, TableFile
from lakegate.gate.ports import ObjectVersion, every_version

if TYPE_CHECKING:
    from lakegate.gate.dependencies import Dependencies

# ---- Erasures and restorations ----
# An erasure has two records: `erasure` is appended before anything is changed and states the digest of what will be left of
# each object, `erased` when each is replaced and states its new version. Versions before are deleted afterwards.
#
# Typed files are not replaced: a table states size and statistics of the file of a key. What is left of one is another file.
#
# A lost object that was put back has one record, `restoration`: the same bytes under a new version.
#
# A delivery that was accepted without typed files may get them later: one record, `adoption`, names all of them.


BEGUN: Final = "erasure"
"""The kind of the record before."""
DONE: Final = "erased"
"""The kind of the record after."""
RESTORED: Final = "restoration"
"""The kind of the record of a lost object that was put back."""
ADOPTED: Final = "adoption"
"""The kind of the record of the typed files of a delivery that was accepted without them."""
_KINDS: Final = tuple(f'"kind":"{kind}"'.encode() for kind in (BEGUN, DONE, RESTORED, ADOPTED))


@dataclass(frozen=True, slots=True)
class Left:
    """The rest of an object after an erasure, or after the restoration of a lost version."""

    height: int
    """Of the record."""
    at: str
    """Its time."""
    rows: int | None
    """Rows that were erased, by this and all earlier erasures; None where one erased the object unread."""
    current: LedgerObject | None
    """The object that readers get; None where nothing is left."""
    before: frozenset[str]
    """Versions that were replaced."""


class TypedRest(NamedTuple):
    """A typed file that its block does not name: what an erasure left of another one, or one of an adoption."""

    file: TableFile
    stored: LedgerObject


@dataclass(frozen=True, slots=True)
class Erasures:
    """All erasures of a dataset."""

    left: Mapping[str, Left]
    """By key of the object: what the last completed erasure left."""
    unfinished: tuple[Record, ...]
    """Of the kind BEGUN, without a record that completes them; the lowest first."""
    height: int
    """Of the last record by which an object has another version; -1 where there is none."""
    typed: Mapping[str, tuple[TypedRest, ...]] = field(default_factory=dict)
    """By workload: typed files that its block does not name, also those that a later erasure replaced."""
    adopted: Mapping[str, int] = field(default_factory=dict)
    """By workload: the height of the record by which a delivery that was accepted without typed files has them."""

    def planned(self, key: str) -> tuple[Mapping[str, Any] | None, ...]:
        """The rest of an object after unfinished erasures: size and checksum, or nothing."""
        objects = (each for record in self.unfinished for each in record.content["objects"])
        typed = (None for record in self.unfinished for each in _typed(record) if each["key"] == key)
        return (*(stored["left"] for stored in objects if stored["key"] == key), *typed)

    @property
    def gone(self) -> frozenset[str]:
        """Keys of objects of which nothing is left under the same key."""
        return frozenset(key for key, left in self.left.items() if left.current is None)

    @property
    def coming(self) -> frozenset[str]:
        """Keys of typed files that unfinished erasures publish."""
        typed = chain.from_iterable(map(_typed, self.unfinished))
        return frozenset(each["left"]["key"] for each in typed if each["left"])

    def objects_of(self, block: Block) -> tuple[LedgerObject, ...]:
        """Those objects of its block that a delivery has, as they are now."""
        return self._standing(block.objects)

    def keys_of(self, block: Block) -> tuple[str, ...]:
        """The keys of all objects that a delivery has, or had."""
        return tuple(
            each.key for each in (*block.objects, *(each.stored for each in self.typed.get(block.workload, ())))
        )

    def added_to(self, block: Block) -> tuple[LedgerObject, ...]:
        """The typed files of a delivery that its block does not name, as they are now."""
        return self._standing(each.stored for each in self.typed.get(block.workload, ()))

    def typed_ever(self, block: Block) -> tuple[TableFile, ...]:
        """All typed files that a delivery has, or had."""
        rests = (each.file for each in self.typed.get(block.workload, ()))
        return (*(block.table or ()), *(block.rejected_table or ()), *rests)

    def table_of(self, block: Block) -> tuple[TableFile, ...]:
        """The typed files of its accepted rows as they are now, in the order of their rows."""
        return self._files(block, is_rejected=False)

    def rejected_table_of(self, block: Block) -> tuple[TableFile, ...]:
        """Likewise of its rejected rows."""
        return self._files(block, is_rejected=True)

    def _files(self, block: Block, *, is_rejected: bool) -> tuple[TableFile, ...]:
        files = (each for each in self.typed_ever(block) if each.key.startswith(FOLDER) is is_rejected)
        standing = (each for each in files if each.key not in self.left or self.left[each.key].current is not None)
        return tuple(sorted(standing, key=lambda each: each.key))

    def _standing(self, stated: Iterable[LedgerObject]) -> tuple[LedgerObject, ...]:
        objects = (self.left[stored.key].current if stored.key in self.left else stored for stored in stated)
        return tuple(stored for stored in objects if stored is not None)

    def rows_of(self, objects: Iterable[LedgerObject]) -> int | None:
        """The number of rows erased from objects of blocks; None where that is not known."""
        total = 0
        for stored in objects:
            rows = self.left[stored.key].rows if stored.key in self.left else 0
            if rows is None:
                return None
            total += rows
        return total


def erasures_of(blocks: Iterable[AnyBlock]) -> Erasures:
    """The erasures, restorations and adoptions that a chain records, given its blocks from height 0."""
    begun: dict[str, Record] = {}
    left: dict[str, Left] = {}
    typed: dict[str, tuple[TypedRest, ...]] = {}
    adopted: dict[str, int] = {}
    height = -1
    for block in blocks:
        if not isinstance(block, Record):
            continue
        if block.kind == BEGUN:
            begun[block.event] = block
        elif block.kind == DONE:
            replaced = _replaced(begun.pop(block.content["erasure"], None))
            for each in block.content["objects"]:
                left[each["key"]] = _left(each, block, left.get(each["key"]), replaced.get(each["key"]))
            for each in _typed(block):
                gone = {**each, "left": None}
                left[each["key"]] = _left(gone, block, left.get(each["key"]), replaced.get(each["key"]))
            rests = tuple(_rest(each["left"]) for each in _typed(block) if each["left"])
            typed[block.content["workload"]] = typed.get(block.content["workload"], ()) + rests
            height = block.height
        elif block.kind == RESTORED:
            left[block.content["key"]] = _restored(block, left.get(block.content["key"]))
            height = block.height
        elif block.kind == ADOPTED:
            typed[block.content["workload"]] = tuple(map(_rest, _typed(block)))
            adopted[block.content["workload"]] = block.height
    return Erasures(left, tuple(begun.values()), height, typed, adopted)


def is_recorded(text: bytes) -> bool:
    """Whether the stored text of a block may be one of these records: without decoding it."""
    return any(kind in text for kind in _KINDS)


def _restored(record: Record, before: Left | None) -> Left:
    """The new version; as many rows are erased of it as of the lost one."""
    stored = LedgerObject(record.content["key"], **record.content["left"])
    erased = (before.rows, before.before) if before else (0, frozenset[str]())
    return Left(record.height, record.system_time, erased[0], stored, erased[1])


def _replaced(begun: Record | None) -> dict[str, str]:
    """The version that an erasure replaces, or deletes, by key."""
    return {each["key"]: each["version"] for each in (*begun.content["objects"], *_typed(begun))} if begun else {}


def _typed(record: Record) -> tuple[Mapping[str, Any], ...]:
    """The typed files of a record of an erasure, or of an adoption."""
    return tuple(record.content.get("table", ()))


def _rest(stated: Mapping[str, Any]) -> TypedRest:
    stored = {name: value for name, value in stated.items() if name != "rows"}
    return TypedRest(TableFile(stated["key"], stated["rows"]), LedgerObject(**stored))


def _left(described: Mapping[str, Any], record: Record, before: Left | None, replaced: str | None) -> Left:
    rows, current = described["rows"], described["left"]
    versions = {replaced} if replaced else set()
    if before is not None:
        rows = None if rows is None or before.rows is None else rows + before.rows
        versions |= before.before
    stored = LedgerObject(described["key"], **current) if current else None
    return Left(
        record.height, record.system_time, rows, stored, frozenset(versions - {stored.version if stored else ""})
    )


def versions_of(dependencies: Dependencies, prefix: str) -> Iterator[ObjectVersion]:
    """Every version below a prefix of the lake bucket."""
    return every_version(dependencies.objects, dependencies.places.lake, prefix)


# ---- Days of quarantine ----
# A block names the plan that its delivery was judged by, which never changes: the ledger pins how long its objects are kept.


FOLDER: Final = "quarantine/"


def tag_of(dependencies: Dependencies, key: str, plan: str, workload: str) -> str:
    """The tag of an object that is written to the lake: `quarantine-30`; empty for one that is kept."""
    days = _days(dependencies, key, plan, workload)
    return f"quarantine-{days}" if days else ""


def kept_until(dependencies: Dependencies, block: Block, key: str, erasures: Erasures) -> datetime | None:
    """Until when an object of a delivery is kept at least; None: for ever. What an erasure rewrote is as old as its record."""
    days = _days(dependencies, key, block.plan, block.workload)
    if days is None:
        return None
    left = erasures.left.get(key)
    return datetime.fromisoformat(left.at if left else block.system_time) + timedelta(days=days)


def _days(dependencies: Dependencies, key: str, plan: str, workload: str) -> int | None:
    if not plan or not key.startswith(FOLDER):
        return None
    return dependencies.terms_at(plan, workload).quarantine_days
