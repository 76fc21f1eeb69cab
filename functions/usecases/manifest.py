"""The readers' manifest of a line: a small head that is replaced, and segments that are written once.

A segment lists the deliveries of so many heights. The head states how many segments there are and lists what lies above
them, so that a delivery writes as many bytes to a line of 10,000 as to a line of 50. Both follow from the ledger and the
plans: every writer of a segment writes the same bytes. It is written before the head that counts it.

A completed erasure changes what earlier deliveries consist of: all is listed again, the segments in another folder.

The JSON Schema of both is contracts/schemas/manifest.json.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from lakegate.contracts.door.terms import terms_of
from lakegate.contracts.lake.block import BlockKind, deliveries
from lakegate.contracts.lake.erasures import DONE, erasures_of
from lakegate.contracts.lake.records import Record
from lakegate.contracts.lake.revalidations import KIND as MEASURED
from lakegate.contracts.lake.revalidations import mark_of
from lakegate.contracts.plan.serialization import encode
from lakegate.functions.ports.errors import ConditionFailed, NotFound, TransactionConflict
from lakegate.functions.ports.objects import Address
from lakegate.functions.usecases.layout import (
    SEGMENTS,
    erased_of,
    is_published,
    manifest_key,
    report_key,
    segment_folder,
    segment_key,
)
from lakegate.functions.usecases.steps import Effect, perform

if TYPE_CHECKING:
    from lakegate.contracts.lake.block import AnyBlock, Block
    from lakegate.contracts.lake.erasures import Erasures
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.steps import Steps

FORMAT: Final = "lakegate-manifest/3"
"""Part of every head; one of another format is rebuilt from the whole ledger."""
SEGMENT_FORMAT: Final = "lakegate-manifest-segment/3"
"""Part of every segment. Another format, or another number of heights, needs another folder of segments."""
TAG: Final = "manifest"
"""Of heads: what a newer one replaced expires."""
TRIES: Final = 5
LIFECYCLE: Final = ("status", "since", "planned", "reason", "replacement", "guide")
"""What a head states of the line's lifecycle."""


class _Head(NamedTuple):
    """A head as it was read; one of no deliveries where there is none, or one of another format."""

    etag: str | None
    height: int = -1
    segments: int = 0
    deliveries: tuple[dict[str, Any], ...] = ()
    """Above the segments."""
    lifecycle: dict[str, Any] | None = None
    """Of the line, as its last record has it."""
    stale: dict[str, Any] | None = None
    """What does not hold for accepted data, likewise."""
    erased: int = -1
    """Height of the last erasure that head and segments show; -1: none."""


def update(dependencies: Dependencies, chain: str) -> Steps[None]:
    """Bring the manifest of a line up to the top of its chain; its height never decreases."""
    where = Address(dependencies.places.lake, manifest_key(chain))
    for _ in range(TRIES):
        head = _head(dependencies, where)
        blocks = dependencies.ledger.blocks(chain, head.height)
        if not blocks:
            return
        if any(block.kind == DONE for block in blocks):  # what is listed already changes, too
            blocks = dependencies.ledger.blocks(chain)
            head = _Head(head.etag, erased=erasures_of(blocks).height)
        erasures = erasures_of(blocks)
        published = [block for block in deliveries(blocks) if block.kind is BlockKind.PUBLISHED]
        listed = (*head.deliveries, *(_delivery(dependencies, block, erasures) for block in published))
        heights, folder = dependencies.places.segment_heights, segment_folder(head.erased)
        segments = (blocks[-1].height + 1) // heights
        for number in range(head.segments, segments):
            part = [each for each in listed if each["height"] // heights == number]
            yield from _write_segment(dependencies, chain, folder, number, part)
        document = {
            "format": FORMAT,
            "line": chain,
            "height": blocks[-1].height,
            "segments": {"count": segments, "heights": heights} | ({"folder": folder} if head.erased >= 0 else {}),
            "deliveries": [each for each in listed if each["height"] >= segments * heights],
            "lifecycle": _lifecycle(blocks) or head.lifecycle,
        }
        if stale := _stale(blocks, head.stale):
            document["stale"] = stale
        put = partial(
            dependencies.objects.put, where, _json(document), absent=head.etag is None, etag=head.etag, tag=TAG
        )
        try:
            yield from perform(Effect.WRITE_MANIFEST, put)
        except ConditionFailed:
            continue  # another worker's head came first; ours must be built on it
        return
    raise TransactionConflict


def _write_segment(
    dependencies: Dependencies, chain: str, folder: str, number: int, deliveries: list[dict[str, Any]]
) -> Steps[None]:
    heights = dependencies.places.segment_heights
    document = {
        "format": SEGMENT_FORMAT,
        "line": chain,
        "height": (number + 1) * heights - 1,
        "deliveries": deliveries,
    }
    where = Address(dependencies.places.lake, segment_key(chain, number * heights, folder))
    try:
        yield from perform(Effect.WRITE_SEGMENT, partial(dependencies.objects.put, where, _json(document), absent=True))
    except ConditionFailed:
        return  # an earlier worker wrote the same bytes


def _head(dependencies: Dependencies, where: Address) -> _Head:
    try:
        found = dependencies.objects.head(where)
    except NotFound:
        return _Head(None)
    document = json.loads(dependencies.objects.read(Address(where.bucket, where.key, found.version)))
    if document.get("format") != FORMAT:
        return _Head(found.etag)
    deliveries, segments = tuple(document["deliveries"]), document["segments"]
    erased = erased_of(segments.get("folder", SEGMENTS))
    of_line = document.get("lifecycle"), document.get("stale")
    return _Head(found.etag, document["height"], segments["count"], deliveries, *of_line, erased)


def _lifecycle(blocks: tuple[AnyBlock, ...]) -> dict[str, Any] | None:
    """The status of the line by the last of its blocks that changed it; None if none did."""
    contents = [block.content for block in blocks if block.kind == "lifecycle" and isinstance(block, Record)]
    return {name: contents[-1][name] for name in LIFECYCLE} if contents else None


def _stale(blocks: tuple[AnyBlock, ...], before: dict[str, Any] | None) -> dict[str, Any] | None:
    """The mark by the last of the blocks that records what was measured by schedule; the one before if none does."""
    records = [block for block in blocks if block.kind == MEASURED and isinstance(block, Record)]
    return mark_of(records[-1]) if records else before


def _json(document: dict[str, Any]) -> bytes:
    return json.dumps(document, sort_keys=True).encode()


def _delivery(dependencies: Dependencies, block: Block, erasures: Erasures) -> dict[str, Any]:
    """An accepted delivery: what was published and is left of it, under which version, and how it is to be read."""
    accepted = [each for each in block.objects if each.key.startswith("accepted/")]
    left = [each for each in erasures.objects_of(block) if is_published(block, each.key)]
    rejected = None if block.rows is None else (block.rejected_rows or 0) * (len(accepted) < len(block.objects))
    published = None if block.rows is None or rejected is None else block.rows - rejected
    if block.slices is not None:
        published = sum(each.rows for each in block.slices)
    erased = erasures.rows_of(accepted) if left else published
    return {
        "height": block.height,
        "workload": block.workload,
        "contract_version": block.contract_version,
        "verdict": block.verdict,
        "published_at": block.system_time,
        "event_time": list(block.event_time) if block.event_time else None,
        "rows": block.rows,
        "published_rows": None if published is None or erased is None else published - erased,
        "rejected_rows": rejected,
        **terms_of(dependencies.plan_at(block.plan, block.workload)).dialect,
        "report": report_key(block.workload),
        "objects": [{"key": o.key, "version": o.version, "size": o.size, "checksum": o.checksum} for o in left],
        **({"waiver": asdict(block.waiver)} if block.waiver else {}),
        **({"slices": [encode(each) for each in block.slices]} if block.slices is not None else {}),
        **({"watermark": block.watermark} if block.watermark else {}),
    }
