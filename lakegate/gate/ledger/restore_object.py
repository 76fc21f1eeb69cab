"""A lost object of an accepted delivery is put back: the same bytes, under a new version that the ledger records.

1. The ledger states size and checksum of the lost version. The caller compares the file with them, and uploads it.
2. `restoration` is recorded, with the new version.
3. The readers' manifest lists the new version.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from lakegate.base.errors import InputError
from lakegate.base.json_codec import encode, select_fields
from lakegate.gate.datasets import readers_manifest
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Steps
from lakegate.gate.ledger.blocks import LedgerObject, deliveries, event_id
from lakegate.gate.ledger.commit import append
from lakegate.gate.ledger.compare_objects import version_in_lake
from lakegate.gate.ledger.record_contents import RestorationContent
from lakegate.gate.ledger.stored_objects import RESTORED, erasures_of
from lakegate.gate.ports import ObjectVersion

FOLDERS: Final = 3
"""Of a key: `accepted`, the contract and the dataset."""


class LostObject(NamedTuple):
    """An object of a delivery whose version was deleted."""

    chain: str
    workload: str
    stated: LedgerObject
    """As the ledger has it: version, size and checksum."""
    current: ObjectVersion | None
    """The object at its key now, which may be the same bytes."""


def lost_object(dependencies: Dependencies, key: str) -> LostObject:
    """Read only. Raises InputError for a key that no delivery has, an erased object, and one that is not lost."""
    folders = key.split("/")
    if folders[0] != "accepted" or len(folders) <= FOLDERS:
        raise InputError(f"{key} is no accepted object: `lakegate verify DATASET --objects` names those that are lost")
    chain = "/".join(folders[1:FOLDERS])
    blocks = dependencies.ledger.blocks(chain)
    erasures = erasures_of(blocks)
    delivery = next((block for block in deliveries(blocks) if key in erasures.keys_of(block)), None)
    if delivery is None:
        raise InputError(f"no delivery of {chain} has the object {key} (lakegate log {chain})")
    standing = (*erasures.objects_of(delivery), *erasures.added_to(delivery))
    stated = next((stored for stored in standing if stored.key == key), None)
    if stated is None:
        raise InputError(f"an erasure left nothing of {key}: it is not put back")
    if erasures.planned(key):
        raise InputError(f"an erasure of {key} is not finished: repeat that `lakegate erase` first")
    if version_in_lake(dependencies, key, stated.version) is not None:
        raise InputError(
            f"version {stated.version} of {key} is there: `lakegate verify {chain} --objects` has what to do"
        )
    if not stated.checksum:
        raise InputError(f"the ledger has no checksum of {key}: nothing proves that a file is the same")
    return LostObject(chain, delivery.workload, stated, version_in_lake(dependencies, key))


def record_restored(dependencies: Dependencies, lost: LostObject, version: str) -> Steps[None]:
    """Steps 2 and 3, once the bytes are there as a version. Repeating it does no harm."""
    stated, new = lost.stated, version_in_lake(dependencies, lost.stated.key, version)
    if new is None or new.size != stated.size:
        raise InputError(f"version {version} of {stated.key} is not what was sent: repeat the command")
    content = encode(select_fields(RestorationContent, lost, key=stated.key, lost=stated, left=new))
    event = event_id(RESTORED, lost.chain, stated.key, stated.version)
    yield from append(dependencies, RESTORED, lost.chain, content, event)
    yield from readers_manifest.update(dependencies, lost.chain)
