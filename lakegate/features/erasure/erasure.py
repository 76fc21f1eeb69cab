"""Erases a data subject's rows from finished deliveries. The command finds the rows and stages what is left of each object.

1. `erasure` is recorded: which objects, and what will be left of each. Nothing is changed without a record.
2. Each object is replaced by its staged copy. 3. `erased` is recorded, with the new versions.
4. The readers' manifest lists the new versions.
5. Every version before is deleted for ever, and every other copy: rows of a split, staged objects.

Of typed files the rest is published under another key in step 2; the record `erased` says which files the delivery then has. The
files before are deleted in step 5, once the table shows them no more, also in no earlier snapshot.

Two erasures of one object follow each other: one is recorded only on what the last one left, and if none is unfinished.

The command, repeated after a crash, completes what is recorded: the ledger and the staged copies are enough for that. An
object of which nothing is left is not replaced: step 5 deletes all its versions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import chain as joined
from typing import Any, Final, NamedTuple, Protocol

from lakegate.base.errors import InputError, NotFound
from lakegate.base.timestamps import instant_of
from lakegate.gate import lake_layout
from lakegate.gate.datasets import readers_manifest
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Effect, Steps, perform
from lakegate.gate.ledger import stored_objects
from lakegate.gate.ledger.blocks import AnyBlock, Block, Record, deliveries, event_id
from lakegate.gate.ledger.commit import append, append_agreed
from lakegate.gate.ledger.compare_objects import version_in_lake
from lakegate.gate.ledger.stored_objects import BEGUN, DONE, Erasures, Left, erasures_of, versions_of
from lakegate.gate.ports import Address, ObjectVersion
from lakegate.transfer.staged_files import Staged

COPIES: Final = re.compile(
    rf"(?:runs/(?:[^/]+/)?(?P<run>[^/]+)/attempt=[0-9]+/{lake_layout.WRITTEN_BY_RUNS}|staging/(?:[^/]+/)?(?P<staged>[^/]+))/"
)
"""Keys of other copies of a delivery's data, by its workload."""
IN_FLIGHT: Final = timedelta(hours=1)
"""How long a typed file may be on its way from its copy to its record."""
CHANGED: Final = "another erasure changed this delivery meanwhile: repeat the command"
ADOPTED_SINCE: Final = "this delivery has typed files since it was searched: repeat the command"


class Erasing(NamedTuple):
    """An object of a delivery with rows to erase."""

    key: str
    version: str
    """The current one, which is replaced."""
    rows: int | None
    """To erase; None: all of them, unread."""
    left: Staged | None
    """None: nothing."""


class TypedLeft(NamedTuple):
    """The rest of a typed file."""

    key: str
    """Under which it is published."""
    rows: int
    staged: Staged


class ErasingTyped(NamedTuple):
    """A typed file with rows to erase."""

    key: str
    version: str
    rows: int | None
    """As of an object."""
    left: TypedLeft | None
    """None: nothing."""


class Why(NamedTuple):
    """The statements of the record beside the objects."""

    reason: str
    fields: tuple[str, ...]
    """By which the rows were found; none where objects are erased unread."""


def erase(  # noqa: PLR0913, PLR0917 - a delivery, what is erased of it, and why
    dependencies: Dependencies,
    dataset: str,
    workload: str,
    objects: tuple[Erasing, ...],
    why: Why,
    table: tuple[ErasingTyped, ...] = (),
    *,
    searched: int,
) -> Steps[None]:
    """Steps 1 to 3 for the objects of one delivery. Raises InputError where they changed since they were read, or staged.

    `searched`: the height of the last block when they were read. A typed file that came later was not.
    """
    content: dict[str, Any] = {
        "workload": workload,
        "reason": why.reason,
        "rows": _total(erasing.rows for erasing in objects),
        "fields": list(why.fields),
        "objects": [_plan_object(erasing) for erasing in objects],
    }
    if table:
        content["table"] = [_plan_typed(erasing) for erasing in table]
    event = yield from _begin(dependencies, dataset, content, searched)
    yield from resume(dependencies, dataset)
    blocks = dependencies.ledger.blocks(dataset)
    done = next(block for block in blocks if isinstance(block, Record) and block.content.get("erasure") == event)
    if done.content["rows"] != content["rows"]:
        raise InputError(CHANGED)


def _plan_object(erasing: Erasing) -> dict[str, object]:
    left = erasing.left and _plan_copy(erasing.left)
    return {"key": erasing.key, "version": erasing.version, "rows": erasing.rows, "left": left}


def _plan_typed(erasing: ErasingTyped) -> dict[str, object]:
    left = erasing.left and {"key": erasing.left.key, "rows": erasing.left.rows, **_plan_copy(erasing.left.staged)}
    return {"key": erasing.key, "version": erasing.version, "rows": erasing.rows, "left": left}


def _plan_copy(staged: Staged) -> dict[str, object]:
    return {"staged": staged.key, "version": staged.version, "size": staged.size, "checksum": staged.checksum}


def _begin(dependencies: Dependencies, dataset: str, content: Mapping[str, Any], searched: int) -> Steps[str]:
    """Append the record before, and return its event."""
    objects = _planned(content)
    parts = [
        part
        for each in objects
        for part in (each["key"], each["version"], each["left"]["version"] if each["left"] else "")
    ]
    workload = content["workload"]
    event = event_id(BEGUN, workload, *parts)

    def agree(blocks: tuple[AnyBlock, ...]) -> None:
        own = [delivery for delivery in deliveries(blocks) if delivery.workload == workload]
        if any(delivery.slices is not None for delivery in own):
            raise InputError(
                f"{workload} was published as slices: their offsets are counted without gaps, so no row can be erased"
            )
        if erasures_of(blocks).adopted.get(workload, -1) > searched:
            raise InputError(ADOPTED_SINCE)
        if not _is_current(blocks, objects):
            raise InputError(CHANGED)

    yield from append_agreed(dependencies, BEGUN, dataset, content, event, -1, agree)
    return event


def _planned(content: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Objects and typed files of a record before."""
    return (*content["objects"], *content.get("table", ()))


def _is_current(blocks: tuple[AnyBlock, ...], objects: Iterable[Mapping[str, Any]]) -> bool:
    """Whether each object is what its block, or the last erasure of it, states, and no erasure of it is unfinished."""
    erasures = erasures_of(blocks)
    standing = (
        entry for block in deliveries(blocks) for entry in (*erasures.objects_of(block), *erasures.added_to(block))
    )
    current = {entry.key: entry.version for entry in standing}
    return all(current.get(each["key"]) == each["version"] and not erasures.planned(each["key"]) for each in objects)


def resume(dependencies: Dependencies, dataset: str) -> Steps[int]:
    """Steps 2 and 3 of every erasure that is recorded as begun. Returns how many there were."""
    blocks = dependencies.ledger.blocks(dataset)
    erasures = erasures_of(blocks)
    by_workload = {block.workload: block for block in deliveries(blocks)}
    for record in erasures.unfinished:
        planned: list[dict[str, Any]] = record.content["objects"]
        workload, objects = record.content["workload"], list[dict[str, Any]]()
        block = by_workload[workload]
        typed = yield from _publish_typed(dependencies, record.content, block.plan)
        for entry in planned:
            if typed is None:
                objects += [_unchanged(dependencies, entry)]
                continue
            tag = stored_objects.tag_of(dependencies, entry["key"], block.plan, workload)
            objects += [(yield from _replace(dependencies, entry, tag))]
        for copy in _unrecorded(dependencies, block, erasures, instant_of(record.system_time)):
            yield from perform(Effect.ERASE, dependencies.objects.delete, _lake(dependencies, copy.key, copy.version))
        content = {
            "erasure": record.event,
            "workload": workload,
            "rows": _total(member["rows"] for member in objects),
            "objects": objects,
        }
        if typed:
            content["table"] = typed
        yield from append(dependencies, DONE, record.chain, content, event_id(DONE, record.event))
        for item in filter(None, (member["left"] for member in _planned(record.content))):
            staged = _lake(dependencies, item["staged"], item["version"])
            yield from perform(Effect.ERASE, dependencies.objects.delete, staged)
    return len(erasures.unfinished)


def _unrecorded(dependencies: Dependencies, block: Block, erasures: Erasures, before: datetime) -> list[ObjectVersion]:
    """Typed files from before a time that no record names: of an adoption that was interrupted, or refused.

    Those from before an erasure began can be recorded no more; others are, a moment after they are copied.
    """
    folder = lake_layout.typed_folder(block)
    known = {*erasures.keys_of(block), *erasures.coming}
    found = versions_of(dependencies, folder) if folder else ()
    return [each for each in found if each.key not in known and each.modified < before]


def _publish_typed(
    dependencies: Dependencies, content: Mapping[str, Any], plan: str
) -> Steps[list[dict[str, Any]] | None]:
    """Copy the rests of typed files to their keys. Returns what the record after states; None where not all is staged any more.

    Nothing is published then: what arrived and its typed files stay as they are, and the next run finds the rows.
    """
    stated, planned = list[dict[str, Any]](), content.get("table", ())
    lefts = (each["left"] for each in _planned(content) if planned and each["left"])
    if any(version_in_lake(dependencies, left["staged"], left["version"]) is None for left in lefts):
        return None
    for entry in planned:
        left, done = entry["left"], {"key": entry["key"], "rows": entry["rows"], "left": None}
        if left is not None:
            source = _lake(dependencies, left["staged"], left["version"])
            staged = dependencies.objects.head(source)
            found = version_in_lake(dependencies, left["key"])
            if found is None or (found.size, found.checksum) != (staged.size, staged.checksum):
                where, tag = (
                    _lake(dependencies, left["key"]),
                    stored_objects.tag_of(dependencies, left["key"], plan, content["workload"]),
                )
                found = yield from perform(
                    Effect.REPLACE, dependencies.objects.copy, source, staged.etag, where, tag=tag
                )
            done["left"] = {"key": left["key"], "rows": left["rows"], **_describe_version(found)}
        stated.append(done)
    return stated


def _unchanged(dependencies: Dependencies, planned: Mapping[str, Any]) -> dict[str, Any]:
    """The statement of the record after about an object that the erasure did not reach."""
    current = version_in_lake(dependencies, planned["key"])
    return {"key": planned["key"], "rows": 0, "left": current and _describe_version(current)}


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


class TableOfErasure(Protocol):
    """What a catalog shows of a dataset whose typed files were erased (extension point `erased tables`)."""

    def follows(self, erased: Mapping[str, int]) -> bool:
        """Whether it shows no typed file of these keys, which records of these heights erased, also not in an earlier snapshot.

        A table that is behind is told, and waited for.
        """
        ...

    def unused(self) -> Iterator[ObjectVersion]:
        """Versions of its metadata, which has values of the files that it lists, that nothing refers to any more."""
        ...


class Settled(NamedTuple):
    """What was done for the erasures of a dataset."""

    deleted: int
    """Versions."""
    is_followed: bool
    """Whether nothing waits for the table of the dataset."""


def settle(dependencies: Dependencies, dataset: str, table: TableOfErasure | None = None) -> Steps[Settled]:
    """Steps 4 and 5 for every erasure of a dataset. `table`: None where no catalog of the stack shows the dataset."""
    blocks = dependencies.ledger.blocks(dataset)
    erasures = erasures_of(blocks)
    done = [block for block in blocks if isinstance(block, Record) and block.kind == DONE]
    typed = {each["key"]: record.height for record in done for each in record.content.get("table", ())}
    is_followed = not typed or table is None or table.follows(typed)
    left = {key: value for key, value in erasures.left.items() if is_followed or key not in typed}
    versions = [version for key, value in left.items() for version in _before(dependencies, key, value)]
    if typed and table is not None and is_followed:
        versions += table.unused()
    if left:
        yield from readers_manifest.update(dependencies, dataset)
        erased = {block.workload for block in deliveries(blocks) if any(item.key in left for item in block.objects)}
        copies = joined(versions_of(dependencies, "runs/"), versions_of(dependencies, lake_layout.STAGING))
        versions += [copy for copy in copies if _workload(copy.key) in erased]
        owners = (block for block in deliveries(blocks) if block.workload in erased)
        before = dependencies.now - IN_FLIGHT
        versions += joined.from_iterable(_unrecorded(dependencies, block, erasures, before) for block in owners)
    unused = {block.workload for block in deliveries(blocks)} - {e.content["workload"] for e in erasures.unfinished}
    staged = versions_of(dependencies, lake_layout.erasure_prefix())
    versions += [version for version in staged if version.key.split("/")[1] in unused]
    for entry in versions:
        where = _lake(dependencies, entry.key, entry.version)
        yield from perform(Effect.ERASE, dependencies.objects.delete, where)
    return Settled(len(versions), is_followed)


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
