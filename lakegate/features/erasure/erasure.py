"""Erases a data subject's rows from finished deliveries. The command finds the rows and stages what is left of each object.

1. `erasure` is recorded: which objects, and what will be left of each. Nothing is changed without a record.
2. Each object is replaced by its staged copy. 3. `erased` is recorded, with the new versions.
4. The readers' manifest lists the new versions.
5. Every version before is deleted for ever, and every other copy: rows of a split, staged objects.

Two erasures of one object follow each other: one is recorded only on what the last one left, and if none is unfinished.

The command, repeated after a crash, completes what is recorded: the ledger and the staged copies are enough for that. An
object of which nothing is left is not replaced: step 5 deletes all its versions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain as joined
from typing import Any, Final, NamedTuple

from lakegate.base.errors import ConditionFailed, InputError, NotFound, TransactionConflict
from lakegate.gate import lake_layout
from lakegate.gate.datasets import readers_manifest
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Effect, Steps, perform
from lakegate.gate.ledger import stored_objects
from lakegate.gate.ledger.blocks import AnyBlock, Record, deliveries, event_id
from lakegate.gate.ledger.commit import TRIES_OF_COMMIT, append, record_at_head
from lakegate.gate.ledger.stored_objects import BEGUN, DONE, Left, erasures_of, versions_of
from lakegate.gate.ports import Address, ObjectVersion

COPIES: Final = re.compile(
    rf"(?:runs/(?:[^/]+/)?(?P<run>[^/]+)/attempt=[0-9]+/{lake_layout.WRITTEN_BY_RUNS}|staging/(?:[^/]+/)?(?P<staged>[^/]+))/"
)
"""Keys of other copies of a delivery's data, by its workload."""
CHANGED: Final = "another erasure changed this delivery meanwhile: repeat the command"


class Staged(NamedTuple):
    """The rest of an object, to replace it."""

    key: str
    version: str
    size: int
    checksum: str
    """SHA-256, as S3 writes it."""


class Erasing(NamedTuple):
    """An object of a delivery with rows to erase."""

    key: str
    version: str
    """The current one, which is replaced."""
    rows: int | None
    """To erase; None: all of them, unread."""
    left: Staged | None
    """None: nothing."""


class Why(NamedTuple):
    """The statements of the record beside the objects."""

    reason: str
    fields: tuple[str, ...]
    """By which the rows were found; none where objects are erased unread."""


def erase(
    dependencies: Dependencies, dataset: str, workload: str, objects: tuple[Erasing, ...], why: Why
) -> Steps[None]:
    """Steps 1 to 3 for the objects of one delivery. Raises InputError where they changed since they were read, or staged."""
    content = {
        "workload": workload,
        "reason": why.reason,
        "rows": _total(erasing.rows for erasing in objects),
        "fields": list(why.fields),
        "objects": [_plan_object(erasing) for erasing in objects],
    }
    event = yield from _begin(dependencies, dataset, content, objects)
    yield from resume(dependencies, dataset)
    blocks = dependencies.ledger.blocks(dataset)
    done = next(block for block in blocks if isinstance(block, Record) and block.content.get("erasure") == event)
    if done.content["rows"] != content["rows"]:
        raise InputError(CHANGED)


def _plan_object(erasing: Erasing) -> dict[str, object]:
    left = erasing.left
    staged = left and {"staged": left.key, "version": left.version, "size": left.size, "checksum": left.checksum}
    return {"key": erasing.key, "version": erasing.version, "rows": erasing.rows, "left": staged}


def _begin(
    dependencies: Dependencies, dataset: str, content: Mapping[str, Any], objects: tuple[Erasing, ...]
) -> Steps[str]:
    """Append the record before, and return its event."""
    parts = [
        part
        for erasing in objects
        for part in (erasing.key, erasing.version, erasing.left.version if erasing.left else "")
    ]
    event = event_id(BEGUN, content["workload"], *parts)
    for _ in range(TRIES_OF_COMMIT):
        blocks = dependencies.ledger.blocks(dataset)
        record = record_at_head(dependencies, BEGUN, dataset, content, event)
        if record.height != len(blocks):
            continue
        workload = content["workload"]
        own = [delivery for delivery in deliveries(blocks) if delivery.workload == workload]
        refuse_tables(own)
        if any(delivery.slices is not None for delivery in own):
            raise InputError(
                f"{workload} was published as slices: their offsets are counted without gaps, so no row can be erased"
            )
        if any(isinstance(block, Record) and block.event == event for block in blocks):
            return event
        if not _is_current(blocks, objects):
            raise InputError(CHANGED)
        with suppress(ConditionFailed):
            yield from perform(Effect.RECORD, dependencies.ledger.append, record)
    raise TransactionConflict


def refuse_tables(blocks: Iterable[AnyBlock]) -> None:
    """Raise InputError where rows of deliveries are in typed files, too."""
    found = next((delivery for delivery in deliveries(blocks) if delivery.table is not None), None)
    if found is not None:
        raise InputError(
            f"{found.workload} was published as a table, too (`publishAs: iceberg`), and no erasure reaches the typed files of a "
            "table yet, so no row can be erased: `lakegate recall` takes the delivery out of the dataset"
        )


def _is_current(blocks: tuple[AnyBlock, ...], objects: tuple[Erasing, ...]) -> bool:
    """Whether each object is what its block, or the last erasure of it, states, and no erasure of it is unfinished."""
    erasures = erasures_of(blocks)
    current = {entry.key: entry.version for block in deliveries(blocks) for entry in erasures.objects_of(block)}
    return all(current.get(erasing.key) == erasing.version and not erasures.planned(erasing.key) for erasing in objects)


def resume(dependencies: Dependencies, dataset: str) -> Steps[int]:
    """Steps 2 and 3 of every erasure that is recorded as begun. Returns how many there were."""
    blocks = dependencies.ledger.blocks(dataset)
    begun = erasures_of(blocks).unfinished
    plans = {block.workload: block.plan for block in deliveries(blocks)}
    for record in begun:
        planned: list[dict[str, Any]] = record.content["objects"]
        workload, objects = record.content["workload"], list[dict[str, Any]]()
        for entry in planned:
            tag = stored_objects.tag_of(dependencies, entry["key"], plans[workload], workload)
            objects += [(yield from _replace(dependencies, entry, tag))]
        content = {
            "erasure": record.event,
            "workload": workload,
            "rows": _total(member["rows"] for member in objects),
            "objects": objects,
        }
        yield from append(dependencies, DONE, record.chain, content, event_id(DONE, record.event))
        for item in filter(None, (member["left"] for member in planned)):
            staged = _lake(dependencies, item["staged"], item["version"])
            yield from perform(Effect.ERASE, dependencies.objects.delete, staged)
    return len(begun)


def _replace(dependencies: Dependencies, planned: Mapping[str, Any], tag: str) -> Steps[dict[str, Any]]:
    """Replace an object by its staged copy, unless that was done. Returns what the record after states."""
    key, left = planned["key"], planned["left"]
    done = {"key": key, "rows": planned["rows"], "left": None}
    where = _lake(dependencies, key)
    try:
        current = dependencies.objects.head(where)
    except NotFound:  # a quarantined copy, which expired, or whose replay ended meanwhile
        return done
    if left is None:
        return done
    source = _lake(dependencies, left["staged"], left["version"])
    try:
        staged = dependencies.objects.head(source)
    except NotFound:  # it expired: the rows are still there, and the next run finds them
        return done | {"rows": 0, "left": _describe_version(current)}
    if current.version == planned["version"] or (current.size, current.checksum) != (staged.size, staged.checksum):
        current = yield from perform(Effect.REPLACE, dependencies.objects.copy, source, staged.etag, where, tag=tag)
    return done | {"left": _describe_version(current)}


def _describe_version(version: ObjectVersion) -> dict[str, object]:
    return {"version": version.version, "size": version.size, "checksum": version.checksum}


def _total(rows: Iterable[int | None]) -> int | None:
    known = list(rows)
    return None if None in known else sum(row for row in known if row)


def settle(dependencies: Dependencies, dataset: str) -> Steps[int]:
    """Steps 4 and 5 for every erasure of a dataset. Returns how many versions were deleted."""
    blocks = dependencies.ledger.blocks(dataset)
    erasures = erasures_of(blocks)
    left = erasures.left
    versions = [version for key, value in left.items() for version in _before(dependencies, key, value)]
    if left:
        yield from readers_manifest.update(dependencies, dataset)
        erased = {block.workload for block in deliveries(blocks) if any(item.key in left for item in block.objects)}
        copies = joined(versions_of(dependencies, "runs/"), versions_of(dependencies, lake_layout.STAGING))
        versions += [copy for copy in copies if _workload(copy.key) in erased]
    unused = {block.workload for block in deliveries(blocks)} - {e.content["workload"] for e in erasures.unfinished}
    staged = versions_of(dependencies, lake_layout.erasure_prefix())
    versions += [version for version in staged if version.key.split("/")[1] in unused]
    for entry in versions:
        where = _lake(dependencies, entry.key, entry.version)
        yield from perform(Effect.ERASE, dependencies.objects.delete, where)
    return len(versions)


def _before(dependencies: Dependencies, key: str, left: Left) -> Iterator[ObjectVersion]:
    """The versions of an object below the one that an erasure left. What lies above is of a later one, or of somebody else."""
    is_below = left.current is None
    for version in versions_of(dependencies, key):
        if version.key == key and is_below:
            yield version
        is_below = is_below or (
            version.key == key and left.current is not None and version.version == left.current.version
        )


def _workload(key: str) -> str | None:
    """The workload whose data a key of `runs/` or `staging/` holds; None for another object."""
    match = COPIES.match(key)
    return match and (match["run"] or match["staged"])


def _lake(dependencies: Dependencies, key: str, version: str | None = None) -> Address:
    return dependencies.in_lake(key, version)
