"""The readers' manifest compared with the ledger, of which it is derived: the one in the lake, and a copy in a folder."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from typing import Any, Final, NamedTuple

from lakegate.base.errors import NotFound
from lakegate.base.extension_points import names
from lakegate.base.json_codec import DecodeError, decode
from lakegate.gate.datasets.current_deliveries import (
    NotCurrent,
    is_change,
    may_be_change,
    not_current,
    not_current_after,
)
from lakegate.gate.datasets.manifest_documents import (
    FORMAT,
    SEGMENT_FORMAT,
    AcceptedDelivery,
    ManifestHead,
    ManifestSegment,
    StaleMark,
)
from lakegate.gate.datasets.readers_manifest import (
    dialect_of,
    lifecycle_by,
    listed_delivery,
    not_current_in,
    stale_by,
    stored_head,
)
from lakegate.gate.delivery.find_deliveries import readable_row
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.lake_layout import manifest_key, segment_folder, segment_key
from lakegate.gate.ledger.blocks import AnyBlock, Block, BlockKind, Record, parse_block
from lakegate.gate.ledger.record_contents import LifecycleState
from lakegate.gate.ledger.stored_objects import DONE, RESTORED, erasures_of, is_recorded
from lakegate.gate.ports import ObjectVersion

UNTRUE: Final = "untrue"
"""A document cannot be read, or says something else than the ledger."""
UNLISTED: Final = "unlisted"
"""A document is missing, or the manifest ends below a block that it should show: readers do not see what is there."""
UNKNOWN: Final = "unknown"
"""No fault: a document has members that this release does not know. A newer release may have written them."""
SETTLED: Final = timedelta(hours=1)
"""After this time, what a person did is in the manifest; that of a delivery is, as soon as its row is closed."""
_SEGMENT: Final = re.compile(r"_manifest/(?:erased-([0-9]{12})/)?([0-9]{12})\.json", re.ASCII)


class ManifestFault(NamedTuple):
    """A document of the manifest in the lake that is not as the ledger says."""

    what: str
    """UNTRUE, UNLISTED or UNKNOWN."""
    key: str
    version: str
    """That readers get; empty where they get none."""
    members: tuple[str, ...] = ()
    """Of UNKNOWN: their places in the document."""


# ---- The manifest in the lake ----


def manifest_faults(dependencies: Dependencies, chain: str, top: int) -> Iterator[ManifestFault]:
    """Head and segments of a dataset compared with what the ledger says up to the height of the head, and that with the top.

    One segment at a time is in memory. Members of a newer release may be there, too.
    """
    where = dependencies.in_lake(manifest_key(chain))
    version, height = "", -1
    with suppress(NotFound):
        there = dependencies.objects.head(where)
        version, height = there.version, stored_head(dependencies, where).height
        if height < 0:
            yield ManifestFault(UNTRUE, there.key, version)
            return
        yield from _compared(dependencies, chain, there)
    if _is_unlisted(dependencies, chain, height, top):
        yield ManifestFault(UNLISTED, where.key, version)


def is_segment(key: str, chain: str, top: int, heights: int, erased: Collection[int]) -> bool:
    """Whether a key of a dataset is that of a segment, by its top and the heights of its erasures and restorations."""
    found = _SEGMENT.fullmatch(key.removeprefix(f"accepted/{chain}/"))
    if found is None:
        return False
    first = int(found[2])
    is_of_dataset = found[1] is None or int(found[1]) in erased
    return is_of_dataset and first % heights == 0 and first + heights <= top + 1


def _compared(dependencies: Dependencies, chain: str, there: ObjectVersion) -> Iterator[ManifestFault]:
    """Faults of a head, and of the segments that it counts."""
    where = dependencies.in_lake(there.key)
    head, document = stored_head(dependencies, where), _stored(dependencies, there.key, there.version)
    heights, folder = dependencies.places.segment_heights, segment_folder(head.erased)
    texts = partial(dependencies.ledger.texts, chain)
    erasures = erasures_of(
        filter(None, (parse_block(text) for text in islice(texts(), head.height + 1) if is_recorded(text)))
    )
    changes = (parse_block(text) for text in islice(texts(), head.height + 1) if may_be_change(text))
    state = not_current(filter(None, changes))
    listed: list[dict[str, Any]] = []
    unread: list[int] = []
    """Heights of blocks that are none, which the verification of the chain reports."""
    new_row: tuple[dict[str, Any] | None, dict[str, Any] | None] = None, None
    height = -1
    for height, block in enumerate(map(parse_block, islice(texts(), head.height + 1))):
        if block is None:
            unread.append(height)
        else:
            new_row = lifecycle_by((block,)) or new_row[0], stale_by((block,), new_row[1])
            if isinstance(block, Block) and block.kind is BlockKind.PUBLISHED:
                listed.append(listed_delivery(block, erasures, dialect_of(dependencies, block)))
        number, rest = divmod(height + 1, heights)
        if rest == 0 and number <= head.segments:
            key = segment_key(chain, (number - 1) * heights, folder)
            yield from _of_segment(dependencies, key, (SEGMENT_FORMAT, chain, height), listed, unread)
            listed = []
    said = (document["line"], head.height, head.segments, document["segments"]["heights"], head.erased)
    is_true = said == (chain, height, (height + 1) // heights, heights, erasures.height)
    is_of_dataset = _agrees([head.lifecycle, head.stale], list(new_row)) and head.not_current == state
    is_whole = head.gapless or bool(unread)
    if not is_true or not is_of_dataset or not is_whole or not _lists(head.deliveries, listed, unread):
        yield ManifestFault(UNTRUE, there.key, there.version)
    elif unknown := unknown_members(document, ManifestHead):
        yield ManifestFault(UNKNOWN, there.key, there.version, unknown)


def _of_segment(
    dependencies: Dependencies,
    key: str,
    expected: tuple[str, str, int],
    deliveries: list[dict[str, Any]],
    unread: list[int],
) -> Iterator[ManifestFault]:
    try:
        there = dependencies.objects.head(dependencies.in_lake(key))
    except NotFound:
        yield ManifestFault(UNLISTED, key, "")
        return
    document = _stored(dependencies, key, there.version)
    said = tuple(map(document.get, ("format", "line", "height")))
    if said != expected or not _lists(document.get("deliveries"), deliveries, unread):
        yield ManifestFault(UNTRUE, key, there.version)
    elif unknown := unknown_members(document, ManifestSegment):
        yield ManifestFault(UNKNOWN, key, there.version, unknown)


def _stored(dependencies: Dependencies, key: str, version: str) -> dict[str, Any]:
    """A document of the manifest; an empty one where it is none."""
    with suppress(ValueError, RecursionError):
        document = json.loads(dependencies.objects.read(dependencies.in_lake(key, version)))
        return document if isinstance(document, dict) else {}
    return {}


def _is_unlisted(dependencies: Dependencies, chain: str, height: int, top: int) -> bool:
    """Whether the manifest ends at a height below a block whose effects are finished, also after a second look."""
    missing = (
        block.height
        for text in islice(dependencies.ledger.texts(chain), height + 1, top + 1)
        if (block := parse_block(text)) is not None and _should_be_listed(dependencies, block)
    )
    first = next(missing, None) if height < top else None
    if first is None:
        return False
    return stored_head(dependencies, dependencies.in_lake(manifest_key(chain))).height < first


def _should_be_listed(dependencies: Dependencies, block: AnyBlock) -> bool:
    if isinstance(block, Record):
        is_shown = is_change(block) or block.kind in {"lifecycle", DONE, RESTORED, *names("manifest marks")}
        return is_shown and datetime.fromisoformat(block.system_time) + SETTLED < dependencies.now
    if block.kind is not BlockKind.PUBLISHED:
        return False
    row = readable_row(dependencies, block.workload)
    return row is None or row.due_at is None


# ---- A copy in a folder ----


DIALECT: Final = ("format", "compression", "records", "csv")
"""Of a delivery, what its plan says, which a chain alone does not have."""


def copy_faults(
    document: Mapping[str, Any],
    chain: str,
    blocks: Sequence[AnyBlock],
    is_there: Callable[[Block], bool],
    dialect: Callable[[Block], Mapping[str, Any]] | None,
) -> Iterator[str]:
    """Members of a copy, made by `lakegate get`, that say something else than the chain.

    `is_there`: whether the folder has an object of a delivery: then the copy lists it. `dialect`: by the plan of a delivery,
    where plans can be read; else the copy is believed.
    """
    top = blocks[-1].height if blocks else -1
    height = document["height"]
    expected = {"format": FORMAT, "line": chain, "gapless": True}
    yield from (name for name, value in expected.items() if document.get(name) != value)
    if document["segments"]["count"]:
        yield "segments/count"  # a copy has no segments beside it
    heights = [each["height"] for each in document["deliveries"]]
    if heights != sorted(set(heights)):
        yield "deliveries"
    if not max(heights, default=-1) <= height <= top:
        yield "height"
    erasures = erasures_of(blocks)
    known = {each.height: each for each in blocks if isinstance(each, Block) and each.kind is BlockKind.PUBLISHED}
    if any(at not in heights and is_there(block) for at, block in known.items()):
        yield "deliveries"
    for number, each in enumerate(document["deliveries"]):
        own = known.get(each["height"])
        read = (
            {name: each[name] for name in DIALECT if name in each} if dialect is None or own is None else dialect(own)
        )
        if own is None or not _lists([each], [listed_delivery(own, erasures, read)], []):
            yield f"deliveries/{number}"
    yield from _faults_of_dataset(document, blocks, height)


def _faults_of_dataset(document: Mapping[str, Any], blocks: Sequence[AnyBlock], height: int) -> Iterator[str]:
    """Members about the dataset, as of the height that was reached, or of a later one where the download was interrupted."""
    shown: list[tuple[Any, Any]] = [(None, None)]
    for block in blocks:
        lifecycle, stale = shown[-1]
        shown = shown if block.height > height else []
        shown.append((lifecycle_by((block,)) or lifecycle, stale_by((block,), stale)))
    for name, cls, values in zip(
        ("lifecycle", "stale"), (LifecycleState, StaleMark), zip(*shown, strict=True), strict=True
    ):
        found = document.get(name)
        if not any(_agrees(found, value) and _same(found, value, cls) for value in values):
            yield name
    if not_current_in(document) not in _states(blocks, height):
        yield "not_current"


def _states(blocks: Sequence[AnyBlock], height: int) -> Iterator[NotCurrent]:
    """Deliveries that were not current at a height, and at each later one."""
    changes = [block for block in blocks if is_change(block)]
    first = sum(block.height <= height for block in changes)
    yield (state := not_current(changes[:first]))
    for number, block in enumerate(changes[first:], first + 1):
        yield (state := not_current_after(state, [block]) or not_current(changes[:number]))


# ---- Documents ----


def unknown_members(document: Any, cls: type) -> tuple[str, ...]:  # noqa: ANN401 - of JSON
    """Places of members in a document of the manifest that this release does not know, as JSON Pointers; the first ones."""
    try:
        decode(cls, document, strict=True)
    except DecodeError as error:
        return tuple(each.pointer for each in (error, *error.others))
    return ()


def _lists(stored: Any, expected: Sequence[dict[str, Any]], unread: list[int]) -> bool:  # noqa: ANN401 - of JSON
    """Whether deliveries are listed as the ledger has them; those of blocks that are none may be."""
    if not isinstance(stored, list | tuple) or not all(isinstance(each, dict) for each in stored):
        return False
    listed = [each for each in stored if each.get("height") not in unread]
    wanted = json.loads(json.dumps(expected))
    return _agrees(listed, wanted) and all(map(_same, listed, wanted, [AcceptedDelivery] * len(wanted)))


def _agrees(stored: Any, expected: Any) -> bool:  # noqa: ANN401 - of JSON
    """Whether a document says what is expected; a newer release may have written further members."""
    if isinstance(expected, dict) and isinstance(stored, dict):
        return all(name in stored and _agrees(stored[name], value) for name, value in expected.items())
    if isinstance(expected, list) and isinstance(stored, list):
        return len(stored) == len(expected) and all(map(_agrees, stored, expected))
    return bool(stored == expected)


def _same(stored: Any, expected: Any, cls: type) -> bool:  # noqa: ANN401 - of JSON
    """Whether this release reads the same from both: no member that it knows is there beside those of the ledger."""
    if stored is None or expected is None:
        return stored is expected
    try:
        return bool(decode(cls, stored) == decode(cls, expected))
    except DecodeError:
        return False
