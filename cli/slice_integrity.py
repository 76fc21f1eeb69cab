"""Slices in the store, each read and compared with what its block states (`lakegate verify --integrity`)."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from lakegate.cli import terminal
from lakegate.cli.damages import Compared, compared_in_words
from lakegate.cli.data_folder import is_as_stated
from lakegate.cli.download import DiffersError, File, ListedDelivery, fetched
from lakegate.contracts.lake.block import deliveries
from lakegate.contracts.lake.erasures import erasures_of
from lakegate.functions.usecases.audit import Damage, DamagedObject

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lakegate.contracts.lake.block import AnyBlock, Block
    from lakegate.contracts.lake.block_parts import LedgerObject, LedgerSlice
    from lakegate.contracts.lake.erasures import Erasures
    from lakegate.functions.usecases.dependencies import Dependencies


def read_slices(dependencies: Dependencies, blocks: Sequence[AnyBlock]) -> Compared:
    """Every slice of a chain: offset, rows, event times and both hashes are those of its block.

    One slice at a time is on this machine.
    """
    damaged: list[DamagedObject] = []
    count = 0
    with terminal.working("reading slices") as progress:
        erasures = erasures_of(blocks)
        for block in deliveries(blocks):
            for each, damage in _read(dependencies, block, erasures):
                count += 1
                progress(f"reading slices: {count:,}")
                if damage is not None:
                    damaged.append(damaged_slice(damage, each, block))
    return Compared(count, 0, tuple(damaged))


def _read(dependencies: Dependencies, block: Block, erasures: Erasures) -> Iterator[tuple[LedgerSlice, Damage | None]]:
    objects = {each.key: each for each in erasures.objects_of(block)}
    for each in block.slices or ():
        with TemporaryDirectory(prefix="lakegate-slice-") as name:
            path = fetched_object(dependencies, Path(name), objects[each.key])
            yield each, Damage.LOST if path is None else None if is_as_stated(path, each) else Damage.ALTERED


def damaged_slice(damage: Damage, stated: LedgerSlice, block: Block) -> DamagedObject:
    """A slice that is not as its block states."""
    return DamagedObject(damage, stated.key, "", "", block.height, block.workload, stated.key)


def fetched_object(dependencies: Dependencies, folder: Path, judged: LedgerObject) -> Path | None:
    """An object of a block on this machine; None where the store does not have it as recorded."""
    file = File(judged.key, judged.version, judged.size, judged.checksum, "object")
    try:
        fetched(dependencies, folder, ListedDelivery({}, (file,)), lambda _: None)
    except DiffersError:
        return None
    return folder / file.place


def integrity_in_words(compared: Compared) -> Iterator[str]:
    """For people."""
    return compared_in_words(
        compared, "slice", "read", "offsets, event times and both hashes of each are those of its block"
    )
