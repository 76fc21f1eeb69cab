"""Accepted deliveries of a dataset as the gate needs them, without its whole chain.

They are read from the readers' manifest and, above its height, from the ledger. The manifest follows from the ledger, may lag
behind it and may be damaged: where it is not what this release writes, or an erasure above it changed what it lists, the whole
chain is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from lakegate.base.errors import AccessDenied, InputError, NotFound
from lakegate.base.extension_points import names
from lakegate.base.json_codec import MAX_INTEGER, decode_document
from lakegate.gate.datasets.current_deliveries import ALL_CURRENT, NotCurrent, not_current, not_current_after
from lakegate.gate.datasets.manifest_documents import ManifestHead, ManifestSegment
from lakegate.gate.lake_layout import SEGMENTS, erased_of, is_published, manifest_key, segment_key
from lakegate.gate.ledger.blocks import AnyBlock, BlockKind, LedgerObject, LedgerSlice, Record, deliveries
from lakegate.gate.ledger.stored_objects import DONE, RESTORED, Erasures, erasures_of

if TYPE_CHECKING:
    from lakegate.gate.dependencies import Dependencies

T = TypeVar("T", ManifestHead, ManifestSegment)


class AcceptedBlock(NamedTuple):
    """The part of the block of an accepted delivery that tells how it is read."""

    height: int
    workload: str
    plan: str
    """Digest of the plan that it was accepted by."""
    objects: tuple[LedgerObject, ...]
    """Those that consumers read, as they are now."""
    slices: tuple[LedgerSlice, ...]
    as_committed: bool
    """Whether no object of the dataset was erased or restored after it, so that its block states what there is."""


class _NotUsable(Exception):  # noqa: N818 - the name is what is wrong
    """The manifest, or a part of it, does not say what the ledger does."""


def newest_accepted(dependencies: Dependencies, dataset: str, height: int) -> Iterator[AcceptedBlock]:
    """The deliveries that were current at a height, the newest first; segments of the manifest are read as they are asked for."""
    below = height + 1
    try:
        head, above = _manifest(dependencies, dataset)
        state = _not_current(head, above, height)
        for each in _by_manifest(dependencies, dataset, head, above, below):
            below = each.height
            if each.height not in state:
                yield each
    except _NotUsable:
        blocks = dependencies.ledger.blocks(dataset)
        state = not_current(block for block in blocks if block.height <= height)
        yield from (each for each in _of_blocks(blocks, erasures_of(blocks), below) if each.height not in state)


def not_current_at(dependencies: Dependencies, dataset: str, height: int = MAX_INTEGER) -> NotCurrent:
    """The accepted deliveries of a dataset that were not part of its current state at a height, by default now."""
    try:
        return _not_current(*_manifest(dependencies, dataset), height)
    except (_NotUsable, AccessDenied):  # people who may read the ledger may not all read accepted data
        return not_current(
            block for block in dependencies.ledger.blocks(dataset, strict=False) if block.height <= height
        )


class ChangedState(NamedTuple):
    """How the current state of a dataset has changed for deliveries up to a height, by their heights."""

    left: frozenset[int] = frozenset()
    """Those that were current then, and are not any more."""
    returned: frozenset[int] = frozenset()
    """Those that were not, and are again."""


def changed_since(dependencies: Dependencies, dataset: str, state: NotCurrent, height: int) -> ChangedState:
    """The changes of the state at a height to a later one."""
    if height < 0 or state.height <= height:
        return ChangedState()
    before = not_current_at(dependencies, dataset, height)
    return ChangedState(state.returned(before, height), before.returned(state, height))


def _not_current(head: ManifestHead, above: Iterable[AnyBlock], height: int) -> NotCurrent:
    """The deliveries that were not current at a height. Raises _NotUsable where the manifest does not say."""
    state = head.not_current or ALL_CURRENT
    later = not_current_after(state, (block for block in above if block.height <= height))
    if state.height > height or later is None:
        raise _NotUsable
    return later


def _by_manifest(
    dependencies: Dependencies, dataset: str, head: ManifestHead, above: tuple[AnyBlock, ...], below: int
) -> Iterator[AcceptedBlock]:
    if any(each.kind in {DONE, RESTORED} for each in above):
        raise _NotUsable
    folder, heights = head.segments.folder or SEGMENTS, head.segments.heights
    erased = erased_of(folder)
    yield from _of_blocks(above, erasures_of(above), below)
    yield from _of_document(head, erased, below)
    for number in range(min(head.segments.count - 1, (below - 1) // heights), -1, -1):
        key = segment_key(dataset, number * heights, folder)
        segment = _document(dependencies, key, ManifestSegment, dataset)
        if segment.height != (number + 1) * heights - 1:
            raise _NotUsable
        yield from _of_document(segment, erased, below)


def _manifest(dependencies: Dependencies, dataset: str) -> tuple[ManifestHead, tuple[AnyBlock, ...]]:
    """The head, and the blocks above it. Raises _NotUsable."""
    head = _document(dependencies, manifest_key(dataset), ManifestHead, dataset)
    if not head.gapless:
        raise _NotUsable
    above = dependencies.ledger.blocks(dataset, head.height)
    if not above and dependencies.ledger.head(dataset).height < head.height:  # the ledger is that of an earlier time
        raise _NotUsable
    return head, above


def _document(dependencies: Dependencies, key: str, of: type[T], dataset: str) -> T:
    try:
        body = dependencies.read_lake(key)
        found = decode_document(of, "manifest", json.loads(body), strict=False)
    except (NotFound, InputError, ValueError, RecursionError):
        raise _NotUsable from None
    if found.dataset != dataset:
        raise _NotUsable
    return found


def _of_blocks(blocks: Iterable[AnyBlock], erasures: Erasures, below: int) -> Iterator[AcceptedBlock]:
    for block in reversed(deliveries(blocks)):
        if block.height < below and block.kind is BlockKind.PUBLISHED:
            left = tuple(stored for stored in erasures.objects_of(block) if is_published(block, stored.key))
            is_untouched = erasures.height < block.height
            yield AcceptedBlock(block.height, block.workload, block.plan, left, block.slices or (), is_untouched)


def _of_document(document: ManifestHead | ManifestSegment, erased: int, below: int) -> Iterator[AcceptedBlock]:
    for delivery in reversed(document.deliveries):
        if delivery.height < below:
            slices = delivery.slices or ()
            yield AcceptedBlock(
                delivery.height, delivery.workload, delivery.plan, delivery.objects, slices, erased < delivery.height
            )


def standing_mark(dependencies: Dependencies, dataset: str, height: int) -> Record | None:
    """The record by which accepted data is marked (`stale` in the manifest), up to a height; None where there is none.

    Where the last such record took the mark away, that one, or None. Raises UnreadableItem.
    """
    marked = -1
    try:
        head, blocks = _manifest(dependencies, dataset)
        marked = head.stale.height if head.stale else -1
    except _NotUsable:
        blocks = dependencies.ledger.blocks(dataset)
    marking = names("manifest marks")
    for block in reversed(blocks):
        if isinstance(block, Record) and block.kind in marking and block.height <= height:
            return block
    found = dependencies.ledger.block(dataset, marked) if marked >= 0 else None
    return found if isinstance(found, Record) else None
