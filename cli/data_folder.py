"""The files of a folder that `lakegate get` filled, compared with the chain of their line (`lakegate verify --data`)."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC
from typing import TYPE_CHECKING

from lakegate.cli.damages import Compared, compared_in_words
from lakegate.cli.download import file_of, is_as_listed
from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.block import BlockKind, deliveries
from lakegate.contracts.lake.erasures import erasures_of
from lakegate.contracts.lake.lifecycle import moment
from lakegate.functions.usecases.audit import Damage, DamagedObject
from lakegate.functions.usecases.layout import is_published

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from lakegate.cli.download import File
    from lakegate.contracts.lake.block import AnyBlock
    from lakegate.contracts.lake.block_parts import LedgerSlice
    from lakegate.contracts.lake.erasures import Erasures

HIDDEN = ("_", ".")
"""What names begin with that readers of folders pass over: manifests, and what is left of a download."""


def compared_files(folder: Path, line: str, blocks: Sequence[AnyBlock]) -> Compared:
    """Every published object of the chain by size and checksum, and every other file that a reader would read.

    Of a slice also what its block states: offset, rows, event times and both hashes.

    InputError where the folder is none, or the chain names an object that has no place in it.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; `lakegate get {line} DIR` fills one")
    erasures, places, count = erasures_of(blocks), set(), 0
    damaged: list[DamagedObject] = []
    for block in deliveries(blocks):
        slices = {each.key: each for each in block.slices or ()}
        for judged in block.objects if block.kind is BlockKind.PUBLISHED else ():
            if not is_published(block, judged.key):
                continue
            left = erasures.left.get(judged.key)
            wanted = left.current if left else judged
            file = file_of(f"accepted/{line}/", asdict(wanted or judged))
            places.add(file.place)
            count += 1
            damage = _damage(folder, file, erasures, slices.get(judged.key), is_wanted=wanted is not None)
            if damage is not None:
                damaged.append(
                    DamagedObject(damage, file.key, file.version, "", block.height, block.workload, file.place)
                )
    extra = sorted(set(_visible(folder)) - places)
    damaged += [DamagedObject(Damage.EXTRA, "", "", "", None, "", place) for place in extra]
    return Compared(count, 0, tuple(damaged))


def _damage(
    folder: Path, file: File, erasures: Erasures, stated: LedgerSlice | None, *, is_wanted: bool
) -> Damage | None:
    path = folder / file.place
    is_there = path.is_file() and not path.is_symlink()
    if not is_wanted:
        return Damage.RESTORED if is_there else None
    if is_there and is_as_listed(path, file) and (stated is None or is_as_stated(path, stated)):
        return None
    if erasures.planned(file.key):
        return Damage.UNERASED
    return Damage.ALTERED if is_there else Damage.LOST


def is_as_stated(path: Path, stated: LedgerSlice) -> bool:
    """Whether a file is the slice that a block describes; a file that is no slice is not."""
    from lakegate.engine.digest.files import digest_of, slice_in  # noqa: PLC0415 - pyarrow is for lines of slices alone

    try:
        found, digests = slice_in(path), digest_of(path)
    except InputError:
        return False
    times = tuple(moment(each.astimezone(UTC)) for each in found.event_times)
    return (found.first_offset, digests.rows, times, digests.logical, digests.physical) == (
        stated.offset,
        stated.rows,
        stated.event_time,
        stated.logical,
        stated.physical,
    )


def _visible(folder: Path) -> Iterator[str]:
    for each in folder.rglob("*"):
        place = each.relative_to(folder)
        if not each.is_dir() and not any(part.startswith(HIDDEN) for part in place.parts):
            yield place.as_posix()


def files_in_words(compared: Compared | None) -> Iterator[str]:
    """For people; nothing where nothing was compared."""
    if compared is None:
        return
    kept = "size and checksum of each are as recorded; no file is extra"
    yield from compared_in_words(compared, "file", "compared with the chain", kept)
