"""The objects of a line, compared with its ledger: versions, sizes and checksums, as the store describes them.

Every object that a block names costs one HeadObject, and the accepted folder of the line one listing. What is kept in
memory meanwhile is one batch of objects, and a digest of 16 bytes for each accepted key.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
from itertools import islice, repeat
from typing import Final

from lakegate.base.errors import NotFound
from lakegate.gate import lake_layout
from lakegate.gate.datasets import compare_manifest
from lakegate.gate.delivery.delivery_row import TERMINAL, Workload, replay_id
from lakegate.gate.delivery.find_deliveries import readable_row
from lakegate.gate.delivery.protocol import State
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.ledger import stored_objects
from lakegate.gate.ledger.blocks import AnyBlock, Block, BlockKind, LedgerObject, deliveries, parse_block
from lakegate.gate.ledger.stored_objects import DONE, RESTORED, Erasures, erasures_of, is_recorded, versions_of
from lakegate.gate.ports import ObjectVersion, agree
from lakegate.verdict.verdict import ACCEPTING

# ---- Objects compared with the ledger ----
# Every object that a block names costs one HeadObject, and the accepted folder of the dataset one listing. What is kept in memory
# meanwhile is one batch of objects, and a digest of 16 bytes for each accepted key.


BATCH: Final = 256
AT_ONCE: Final = 8
"""Requests to the store at the same time."""
GRACE: Final = timedelta(days=7)
"""S3 expires objects in the days after their time."""
DELIVERY_FOLDER: Final = re.compile(r"/workload=([0-9a-f]{64})/")


class Damage(StrEnum):
    """Differences of the store to the ledger."""

    REPLACED = "replaced"
    """Another version is current; the judged one is below it."""
    HIDDEN = "hidden"
    """A delete marker is current; the judged version is below it."""
    LOST = "lost"
    """The judged version was deleted."""
    ALTERED = "altered"
    """The judged version has another size or checksum than recorded."""
    EXTRA = "extra"
    """A current object of the accepted folder that no block names."""
    UNERASED = "unerased"
    """A recorded erasure is not finished: versions from before it still exist."""
    EXPIRED = "expired"
    """No damage: a quarantined object that is not kept any longer, as its contract says."""
    OVERDUE = "overdue"
    """A quarantined object that should have expired, and is still there."""
    RESTORED = "restored"
    """An object of which an erasure left nothing is there again."""
    UNTRUE = compare_manifest.UNTRUE
    """A head or a segment of the readers' manifest that cannot be read, or differs from the ledger, of which it is derived."""
    UNLISTED = compare_manifest.UNLISTED
    """A head or a segment of the readers' manifest that is missing, or a head that was set back below finished deliveries."""
    UNKNOWN = compare_manifest.UNKNOWN
    """No damage: a head or a segment of the readers' manifest with members that only a newer release may know."""
    IRREPRODUCIBLE = "irreproducible"
    """A slice whose rows are not those of the accepted originals beside it."""


@dataclass(frozen=True, slots=True)
class DamagedObject:
    """One object that differs from the ledger."""

    damage: Damage
    key: str
    version: str
    """The judged version; empty for an extra object."""
    current: str
    """The version that readers get; empty where they get none."""
    height: int | None
    """Of the block; None for an extra object."""
    workload: str
    file: str
    """The landing key of the delivery: text of the producer's. Empty where the delivery is not known."""


def damages(
    dependencies: Dependencies, chain: str, height: int, compared: Callable[[int], None]
) -> Iterator[DamagedObject]:
    """Objects that differ from the chain up to a height, or have expired; `compared` receives how many were compared."""
    known: set[bytes] = set()
    recorded = _recorded(dependencies, chain)
    erasures = erasures_of(recorded)
    known.update(map(_digest, erasures.coming))
    named = _named(dependencies, chain, height, erasures)
    count = 0
    with ThreadPoolExecutor(AT_ONCE) as workers:
        while batch := tuple(islice(named, BATCH)):
            yield from filter(None, workers.map(partial(_compare, dependencies, erasures), batch))
            known.update(_digest(stored.key) for _, stored in batch)
            count += len(batch)
            compared(count)
    replaced = {block.height for block in recorded if block.kind in {DONE, RESTORED}}
    yield from _extra(dependencies, chain, height, known, replaced)
    for fault in compare_manifest.manifest_faults(dependencies, chain, height):
        yield DamagedObject(Damage(fault.what), fault.key, "", fault.version, None, "", ", ".join(fault.members))


def _named(
    dependencies: Dependencies, chain: str, height: int, erasures: Erasures
) -> Iterator[tuple[Block, LedgerObject]]:
    for text in islice(dependencies.ledger.texts(chain), height + 1):
        if isinstance(block := parse_block(text), Block):
            added = (each.stored for each in erasures.typed.get(block.workload, ()))
            yield from zip(repeat(block), (*block.objects, *added), strict=False)


def _recorded(dependencies: Dependencies, chain: str) -> tuple[AnyBlock, ...]:
    """Erasures and restorations of the whole chain: one that was recorded meanwhile is no damage."""
    recorded = (parse_block(text) for text in dependencies.ledger.texts(chain) if is_recorded(text))
    return tuple(block for block in recorded if block is not None)


def _compare(dependencies: Dependencies, erasures: Erasures, named: tuple[Block, LedgerObject]) -> DamagedObject | None:
    block, judged = named
    left = erasures.left.get(judged.key)
    wanted = left.current if left else judged
    current = version_in_lake(dependencies, judged.key)
    damage = _damage(
        dependencies, block, wanted, current, stored_objects.kept_until(dependencies, block, judged.key, erasures)
    )
    unerased = _unerased(dependencies, erasures, judged.key)
    if unerased and (damage is None or (current and unerased(current))):
        damage = Damage.UNERASED
    if damage is None:
        return None
    row = readable_row(dependencies, block.workload)
    version = current.version if current else ""
    judged_version = (wanted or judged).version
    return DamagedObject(damage, judged.key, judged_version, version, block.height, block.workload, _file(row))


def _unerased(dependencies: Dependencies, erasures: Erasures, key: str) -> Callable[[ObjectVersion], bool] | None:
    """Whether a current version is explained by an erasure that is not finished; None if all of them are finished."""
    planned, left = erasures.planned(key), erasures.left.get(key)
    before = left.before if left else frozenset()
    remaining = before and any(version.version in before for version in versions_of(dependencies, key))
    if not planned and not remaining:
        return None
    return lambda current: (
        current.version in before
        or any(each and each["size"] == current.size and agree(each["checksum"], current.checksum) for each in planned)
    )


def _damage(
    dependencies: Dependencies,
    block: Block,
    wanted: LedgerObject | None,
    current: ObjectVersion | None,
    kept_until: datetime | None,
) -> Damage | None:
    if wanted is None:
        return Damage.RESTORED if current else None
    overdue = dependencies.now - kept_until if kept_until else timedelta(-1)
    if current is None and overdue >= timedelta():
        return None if _was_replayed(dependencies, block) else Damage.EXPIRED
    is_current = current is not None and current.version == wanted.version
    version = current if is_current else version_in_lake(dependencies, wanted.key, wanted.version)
    if version is None:
        return None if _was_replayed(dependencies, block) else Damage.LOST
    if version.size != wanted.size or (wanted.checksum and version.checksum != wanted.checksum):
        return Damage.ALTERED
    if is_current:
        return Damage.OVERDUE if overdue > GRACE else None
    return Damage.REPLACED if current else Damage.HIDDEN


def _extra(
    dependencies: Dependencies, chain: str, height: int, known: set[bytes], replaced: Collection[int]
) -> Iterator[DamagedObject]:
    """Current objects of the accepted folder that no block names. `replaced`: heights of erasures and restorations."""
    top = max(height, dependencies.ledger.head(chain).height)
    heights = dependencies.places.segment_heights
    for version in itertools.chain(versions_of(dependencies, f"accepted/{chain}/"), _beside(dependencies, chain)):
        if not version.current or version.key == lake_layout.manifest_key(chain) or _digest(version.key) in known:
            continue
        if lake_layout.is_rebuilt(chain, version.key) or compare_manifest.is_segment(
            version.key, chain, top, heights, replaced
        ):
            continue
        folder = DELIVERY_FOLDER.search(version.key)
        row = readable_row(dependencies, folder[1]) if folder else None
        if row is None or not _is_arriving(dependencies, row, version.key, height):
            yield DamagedObject(Damage.EXTRA, version.key, "", version.version, None, row.id if row else "", _file(row))


def _beside(dependencies: Dependencies, chain: str) -> Iterator[ObjectVersion]:
    """Versions in the folder of the contract that are of no dataset: of one there is a first block."""
    contract = f"accepted/{chain.rpartition('/')[0]}/"
    entries = dependencies.objects.entries(dependencies.places.lake, contract)
    places = [(entry.removeprefix("accepted/").removesuffix("/"), 0) for entry in entries]
    for each, (dataset, _), digest in zip(entries, places, dependencies.ledger.digests(places), strict=True):
        if not (each.endswith("/") and (digest or dataset == chain)):
            yield from (one for one in versions_of(dependencies, each) if each.endswith("/") or one.key == each)


def _is_arriving(dependencies: Dependencies, row: Workload, key: str, height: int) -> bool:
    """Whether the object is copied before the commit, which follows, or was committed since the chain was read."""
    if row.pin is None or not key.startswith(lake_layout.destination_key("accepted", row.pin, row.id, "")):
        return False
    if row.state is State.DECIDED:
        return row.decision is not None and row.decision.verdict in ACCEPTING
    later = deliveries(dependencies.ledger.blocks(row.pin.dataset, height, strict=False))
    return any(key == stored.key for block in later for stored in block.objects)


def _was_replayed(dependencies: Dependencies, block: Block) -> bool:
    """Whether a replay of a quarantined delivery is finished, and has deleted the copy in quarantine."""
    replayed = readable_row(dependencies, replay_id(block.workload)) if block.kind is BlockKind.QUARANTINED else None
    return replayed is not None and replayed.state in TERMINAL


def version_in_lake(dependencies: Dependencies, key: str, version: str | None = None) -> ObjectVersion | None:
    """A version of an object of the lake, by default the current one; None where there is none."""
    try:
        return dependencies.objects.head(dependencies.in_lake(key, version))
    except NotFound:
        return None


def _file(row: Workload | None) -> str:
    return row.landing_key if row else ""


def _digest(key: str) -> bytes:
    return hashlib.blake2b(key.encode(errors="surrogatepass"), digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class Compared:
    """Findings of a comparison of `lakegate verify`."""

    count: int
    expired: int
    """As their contract says."""
    damaged: tuple[DamagedObject, ...]
    notes: tuple[str, ...] = ()
    """What was not compared, and what differs in a document: for people."""


def compared_objects(dependencies: Dependencies, chain: str, height: int, progress: Callable[[int], None]) -> Compared:
    """Compare every object that a chain names with the store; `progress` receives how many were compared so far."""
    count = 0

    def compared(so_far: int) -> None:
        nonlocal count
        count = so_far
        progress(so_far)

    damaged: list[DamagedObject] = []
    notes: list[str] = []
    expired = 0
    for damage in damages(dependencies, chain, height, compared):
        if damage.damage is Damage.EXPIRED:
            expired += 1
        elif damage.damage is Damage.UNKNOWN:
            notes.append(
                f"{damage.key} has members that this release does not know, and that no reader of it uses: {damage.file}"
            )
        else:
            damaged.append(damage)
    return Compared(count, expired, tuple(damaged), tuple(notes))
