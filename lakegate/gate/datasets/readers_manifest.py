"""Readers' manifest in accepted/."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, Final, NamedTuple

from lakegate.base.errors import ConditionFailed, InputError, NotFound, TransactionConflict
from lakegate.base.extension_points import load_extension, names
from lakegate.base.json_codec import decode, decode_document, encode, select_fields
from lakegate.gate.datasets.current_deliveries import (
    ALL_CURRENT,
    NotCurrent,
    not_current,
    not_current_after,
)
from lakegate.gate.datasets.manifest_documents import FORMAT, SEGMENT_FORMAT, AcceptedDelivery, Manifest, ManifestHead
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Effect, Steps, perform
from lakegate.gate.lake_layout import (
    SEGMENTS,
    erased_of,
    is_published,
    manifest_key,
    report_key,
    segment_folder,
    segment_key,
)
from lakegate.gate.ledger.blocks import AnyBlock, Block, BlockKind, Record, deliveries
from lakegate.gate.ledger.record_contents import LifecycleState
from lakegate.gate.ledger.stored_objects import DONE, RESTORED, Erasures, erasures_of
from lakegate.gate.ports import Address
from lakegate.gate.registry.next_dataset import next_dataset

# ---- The manifest: a head and segments ----
# A segment lists the deliveries of so many heights. The head states how many segments there are and lists what lies above them,
# so that a delivery writes as many bytes to a dataset of 10,000 as to a dataset of 50. Both follow from the ledger and the plans:
# every writer of a segment writes the same bytes. It is written before the head that counts it.
#
# A completed erasure, or a lost object that was put back, changes what earlier deliveries consist of: all is listed again, the
# segments in another folder.
#
# `manifest_documents.py` defines both.


TAG: Final = "manifest"
"""Of heads: what a newer one replaced expires."""
BEGINS: Final = b'{"deliveries": ['
"""Every head: its keys are sorted."""
TRIES_OF_MANIFEST: Final = 5
LIFECYCLE: Final = tuple(each.name for each in fields(LifecycleState))
"""The statement of a head about the dataset's lifecycle."""


class StoredHead(NamedTuple):
    """A head as it was read; one of no deliveries where there is none, or one that this release cannot read."""

    etag: str | None
    height: int = -1
    segments: int = 0
    deliveries: tuple[dict[str, Any], ...] = ()
    """Above the segments."""
    lifecycle: dict[str, Any] | None = None
    """Of the dataset, as its last record has it."""
    stale: dict[str, Any] | None = None
    """Rules that do not hold for accepted data, likewise."""
    erased: int = -1
    """Height of the last erasure that head and segments show; -1: none."""
    gapless: bool = True
    """Whether it lists all that it should: else everything is listed again."""
    not_current: NotCurrent = ALL_CURRENT
    next: dict[str, Any] | None = None
    """The dataset that replaces it, as the head has it."""


def update(dependencies: Dependencies, dataset: str, height: int | None = None) -> Steps[None]:
    """Bring the manifest of a dataset up to the top of its chain; its height never decreases.

    `height`: of the block that it is to show. Where others write at the same time that is enough: who extends a busy chain next
    writes the next head.
    """
    where, heights = dependencies.in_lake(manifest_key(dataset)), dependencies.places.segment_heights
    for attempt in range(TRIES_OF_MANIFEST):
        head = stored_head(dependencies, where)
        head = head if head.gapless else StoredHead(head.etag, next=head.next)
        if attempt and height is not None and head.height >= height:
            return  # one that was written since we began
        blocks = dependencies.ledger.blocks(dataset, head.height, strict=False)
        if not blocks:
            if head.height <= dependencies.ledger.head(dataset).height:
                return
            head = StoredHead(
                head.etag, next=head.next
            )  # the ledger is that of an earlier time: what is listed above it is not in it
            blocks = dependencies.ledger.blocks(dataset, strict=False)
        if any(block.kind in {DONE, RESTORED} for block in blocks):  # what is listed already changes, too
            blocks = dependencies.ledger.blocks(dataset, strict=False)
            head = StoredHead(head.etag, erased=erasures_of(blocks).height, next=head.next)
        erasures = erasures_of(blocks)
        published = (block for block in deliveries(blocks) if block.kind is BlockKind.PUBLISHED)
        read = [(block, dialect_of(dependencies, block)) for block in published]
        listed = (
            *head.deliveries,
            *(listed_delivery(block, erasures, dialect) for block, dialect in read),
        )
        folder = segment_folder(head.erased)
        segments = (blocks[-1].height + 1) // heights
        parts = {number: list(each) for number, each in groupby(listed, lambda each: each["height"] // heights)}
        document = {
            "format": FORMAT,
            "line": dataset,
            "height": blocks[-1].height,
            "segments": {"count": segments, "heights": heights} | ({"folder": folder} if head.erased >= 0 else {}),
            "deliveries": [each for each in listed if each["height"] >= segments * heights],
            "gapless": len(blocks) == blocks[-1].height - head.height,
            **_about_dataset(dependencies, dataset, head, blocks),
        }
        for number in range(head.segments, segments):
            yield from _write_segment(dependencies, dataset, folder, number, parts.get(number, []))
        try:
            put, body = dependencies.objects.put, _json(document)
            yield from perform(
                Effect.WRITE_MANIFEST, put, where, body, absent=head.etag is None, etag=head.etag, tag=TAG
            )
        except ConditionFailed:
            continue  # another worker's head came first; ours must be built on it
        return
    raise TransactionConflict


def _about_dataset(
    dependencies: Dependencies, dataset: str, head: StoredHead, blocks: tuple[AnyBlock, ...]
) -> dict[str, Any]:
    """Statements of a head about its dataset, by the head before and the blocks above it."""
    members: dict[str, Any] = {"lifecycle": lifecycle_by(blocks) or head.lifecycle}
    if stale := stale_by(blocks, head.stale):
        members["stale"] = stale
    state = not_current_after(head.not_current, blocks)
    if state is None:
        whole_chain = dependencies.ledger.blocks(dataset, strict=False)
        state = not_current(block for block in whole_chain if block.height <= blocks[-1].height)
    if state != ALL_CURRENT:
        members["not_current"] = encode(state)
    return members | ({"next": head.next} if head.next else {})


def write_lost(dependencies: Dependencies, dataset: str) -> Steps[None]:
    """Write the manifest of a dataset that has blocks and no head, or one that does not begin as a head does."""
    begins = b""
    with suppress(NotFound):
        begins = dependencies.objects.read(dependencies.in_lake(manifest_key(dataset)), 0, len(BEGINS))
    if begins != BEGINS:
        yield from update(dependencies, dataset)


def write_next(dependencies: Dependencies, dataset: str) -> Steps[None]:
    """Let the head of a dataset name the dataset that replaces it now, where it names another one or none.

    Deliveries leave the name as it is. A head that is lost, or that somebody writes meanwhile, is left to the next call.
    """
    where = dependencies.in_lake(manifest_key(dataset))
    try:
        there = dependencies.objects.head(where)
        document = json.loads(dependencies.objects.read(Address(where.bucket, where.key, there.version)))
        named = decode(ManifestHead, document).next
    except (NotFound, ValueError, RecursionError):
        return
    following = next_dataset(dependencies, dataset)
    if following != named:
        others = {name: value for name, value in document.items() if name != "next"}
        body = _json(others | ({"next": encode(following)} if following else {}))
        with suppress(ConditionFailed):
            yield from perform(Effect.WRITE_MANIFEST, dependencies.objects.put, where, body, etag=there.etag, tag=TAG)


def _write_segment(
    dependencies: Dependencies, dataset: str, folder: str, number: int, deliveries: list[dict[str, Any]]
) -> Steps[None]:
    heights = dependencies.places.segment_heights
    document = {
        "format": SEGMENT_FORMAT,
        "line": dataset,
        "height": (number + 1) * heights - 1,
        "deliveries": deliveries,
    }
    where, body = dependencies.in_lake(segment_key(dataset, number * heights, folder)), _json(document)
    try:
        yield from perform(Effect.WRITE_SEGMENT, dependencies.objects.put, where, body, absent=True)
    except ConditionFailed:
        there = dependencies.objects.head(where)
        if dependencies.objects.read(Address(where.bucket, where.key, there.version)) == body:
            return  # an earlier worker wrote the same bytes
        with suppress(ConditionFailed):  # another worker has replaced it
            yield from perform(Effect.WRITE_SEGMENT, dependencies.objects.put, where, body, etag=there.etag)


def stored_head(dependencies: Dependencies, where: Address) -> StoredHead:
    """The head at an address, as this release reads it."""
    try:
        found = dependencies.objects.head(where)
    except NotFound:
        return StoredHead(None)
    body = dependencies.objects.read(Address(where.bucket, where.key, found.version))
    with suppress(ValueError, RecursionError):
        document = json.loads(body)
        head = decode(ManifestHead, document)
        new_row = document["lifecycle"], document.get("stale"), erased_of(head.segments.folder or SEGMENTS)
        deliveries = tuple(document["deliveries"])  # with members of a newer release
        state = head.not_current or ALL_CURRENT
        return StoredHead(
            found.etag,
            head.height,
            head.segments.count,
            deliveries,
            *new_row,
            head.gapless,
            state,
            document.get("next"),
        )
    return StoredHead(found.etag)


def lifecycle_by(blocks: tuple[AnyBlock, ...]) -> dict[str, Any] | None:
    """The status of the dataset by the last of its blocks that changed it; None if none did."""
    contents = [block.content for block in blocks if block.kind == "lifecycle" and isinstance(block, Record)]
    return {name: contents[-1][name] for name in LIFECYCLE} if contents else None


def stale_by(blocks: tuple[AnyBlock, ...], before: dict[str, Any] | None) -> dict[str, Any] | None:
    """The mark by the last of the blocks of a kind that marks accepted data; the one before if there is none.

    Features register at the point `manifest marks`, by the kind of their records, what follows from a record.
    """
    marking = names("manifest marks")
    record = next((block for block in reversed(blocks) if isinstance(block, Record) and block.kind in marking), None)
    if record is None:
        return before
    mark_of: Callable[[Record], dict[str, Any] | None] = load_extension("manifest marks", record.kind)
    return mark_of(record)


def _json(document: object) -> bytes:
    return json.dumps(document, sort_keys=True).encode()


def dialect_of(dependencies: Dependencies, block: Block) -> Mapping[str, Any]:
    """How a delivery is to be read, by its plan."""
    return dependencies.terms_at(block.plan, block.workload).dialect


def listed_delivery(block: Block, erasures: Erasures, dialect: Mapping[str, Any]) -> dict[str, Any]:
    """An accepted delivery: what was published and is left of it, under which version, and how it is to be read."""
    accepted = [stored for stored in block.objects if stored.key.startswith("accepted/")]
    left = [stored for stored in erasures.objects_of(block) if is_published(block, stored.key)]
    rejected = None if block.rows is None else (block.rejected_rows or 0) * (len(accepted) < len(block.objects))
    published = None if block.rows is None or rejected is None else block.rows - rejected
    if block.slices is not None:
        published = sum(each.rows for each in block.slices)
    erased = erasures.rows_of(each for each in accepted if is_published(block, each.key)) if left else published
    listed: dict[str, Any] = encode(
        select_fields(
            AcceptedDelivery,
            block,
            published_at=block.system_time,
            published_rows=None if published is None or erased is None else published - erased,
            rejected_rows=rejected,
            report=report_key(block.workload),
            objects=left,
            **dialect,
        )
    )
    return listed


# ---- The manifest for a reader ----


def not_current_in(manifest: Mapping[str, Any]) -> NotCurrent:
    """The deliveries of a head that are not part of the current state of its dataset."""
    found = manifest.get("not_current")
    return decode(NotCurrent, found) if found else ALL_CURRENT


def current_in(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """A head with those of its deliveries alone that are current."""
    state = not_current_in(manifest)
    return {**manifest, "deliveries": [each for each in manifest["deliveries"] if each["height"] not in state]}


CLOCKS: Final = timedelta(hours=1)
"""The most by which the clocks of two Lambdas differ: a delivery of a greater height may state a time that is earlier by this."""
MAX_SEGMENTS: Final = 20
"""Segments that are read for the newest deliveries: one may list few, where many deliveries were rejected."""


def read_manifest(dependencies: Dependencies, key: str, dataset: str) -> dict[str, Any]:
    """A head, or a segment, of a dataset. Raises NotFound; InputError for what is none of this dataset."""
    body = dependencies.read_lake(key)
    try:
        manifest: dict[str, Any] = json.loads(body)
    except (ValueError, RecursionError):
        raise InputError(f"the manifest of {dataset} is not JSON") from None
    decode_document(Manifest, "manifest", manifest, strict=False)
    if manifest["line"] != dataset:
        raise InputError(f"the manifest of {dataset} is that of another line")
    return manifest


def whole(
    dependencies: Dependencies, head: dict[str, Any], since: int, until: datetime | None = None
) -> dict[str, Any]:
    """The manifest with the deliveries of every segment that reaches above a height, and with no segments.

    Of deliveries that were published after a time it may have none, but those whose turn had come before. Raises InputError
    where a segment is missing, or is another one than its key names.
    """
    segments = head["segments"]
    heights, folder = segments["heights"], segments.get("folder", SEGMENTS)
    firsts = range(max(since + 1, 0) // heights * heights, segments["count"] * heights, heights)
    found = []
    for first in firsts:
        part = _segment(dependencies, head["line"], folder, first, heights)
        found += part
        if until is not None and part and all(_published(each) > until + CLOCKS for each in part):
            break
    else:
        found += head["deliveries"]
    return {**head, "segments": {**segments, "count": 0}, "deliveries": found}


def published_since(dependencies: Dependencies, head: dict[str, Any], begin: datetime) -> tuple[dict[str, Any], int]:
    """The manifest with what was published since a time, and with no segments; and the height above which that is.

    Segments are read from the newest one down to one that lists an earlier delivery, by more than clocks differ. Raises
    InputError as `whole` does.
    """
    segments = head["segments"]
    heights, folder = segments["heights"], segments.get("folder", SEGMENTS)
    part = found = head["deliveries"]
    number = segments["count"]
    while number > 0 and all(_published(each) + CLOCKS >= begin for each in part):
        number -= 1
        part = _segment(dependencies, head["line"], folder, number * heights, heights)
        found = part + found
    first = min((each["height"] for each in found if _published(each) >= begin), default=head["height"] + 1)
    before = max((each["height"] for each in found if each["height"] < first), default=number * heights - 1)
    return {**head, "segments": {**segments, "count": 0}, "deliveries": found}, before


def _published(delivery: dict[str, Any]) -> datetime:
    """The time of a delivery."""
    return datetime.fromisoformat(delivery["published_at"])


def newest(dependencies: Dependencies, dataset: str, limit: int) -> list[dict[str, Any]]:
    """At most so many current deliveries of a dataset, the newest first; fewer where they are far apart. Raises InputError."""
    try:
        head = read_manifest(dependencies, manifest_key(dataset), dataset)
    except NotFound:
        return []
    found: list[dict[str, Any]] = current_in(head)["deliveries"]
    state = not_current_in(head)
    segments = head["segments"]
    last, folder = segments["count"] - 1, segments.get("folder", SEGMENTS)
    for number in range(last, max(last - MAX_SEGMENTS, -1), -1):
        if len(found) >= limit:
            break
        listed = _segment(dependencies, dataset, folder, number * segments["heights"], segments["heights"])
        found = [*(each for each in listed if each["height"] not in state), *found]
    return found[::-1][:limit]


def _segment(dependencies: Dependencies, dataset: str, folder: str, first: int, heights: int) -> list[dict[str, Any]]:
    try:
        segment = read_manifest(dependencies, segment_key(dataset, first, folder), dataset)
    except NotFound:
        raise InputError(f"the segment of the manifest of {dataset} from height {first} is missing") from None
    if segment["height"] != first + heights - 1:
        raise InputError(f"the segment of the manifest of {dataset} from height {first} is another one")
    deliveries: list[dict[str, Any]] = segment["deliveries"]
    return deliveries
