"""Slices built again from the accepted originals beside them, and compared with the chain (`lakegate verify --replay`)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from lakegate.cli import terminal
from lakegate.cli.damages import Compared, compared_in_words
from lakegate.cli.data_folder import is_as_stated
from lakegate.cli.slice_integrity import damaged_slice, fetched_object
from lakegate.contracts.door.terms import terms_of
from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.block import Block, deliveries
from lakegate.contracts.lake.erasures import erasures_of
from lakegate.contracts.plan.plan import Plan
from lakegate.contracts.plan.request import StagedPart
from lakegate.functions.usecases.audit import Damage, DamagedObject
from lakegate.functions.usecases.layout import is_original
from lakegate.functions.usecases.steps import Alarm

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lakegate.contracts.lake.block import AnyBlock
    from lakegate.contracts.lake.block_parts import LedgerSlice
    from lakegate.contracts.lake.erasures import Erasures
    from lakegate.engine.slices.current import CurrentRows
    from lakegate.engine.slices.replay import RowsBefore
    from lakegate.functions.usecases.dependencies import Dependencies


@dataclass(frozen=True, slots=True)
class _Before:
    """What the slices below a delivery are to it, where rows are merged."""

    folder: Path
    """Of slices that stay on this machine."""
    rows: RowsBefore
    snapshots: CurrentRows
    erasures: Erasures
    """By which a restored object has another version."""


def replayed_slices(dependencies: Dependencies, chain: str, blocks: Sequence[AnyBlock]) -> Compared:
    """Every slice of the chain: the file is what its block states, and its rows are those of what arrived."""
    damaged: list[DamagedObject] = []
    from lakegate.engine.slices.current import CurrentRows  # noqa: PLC0415 - the engine is for this option alone
    from lakegate.engine.slices.replay import RowsBefore  # noqa: PLC0415 - likewise

    count = 0
    with terminal.working("building slices again") as progress, TemporaryDirectory(prefix="lakegate-slices-") as name:
        before = _Before(Path(name), RowsBefore(), CurrentRows(), erasures_of(blocks))
        for block in deliveries(blocks):
            for each, damage in _replayed(dependencies, chain, block, before) if block.slices else ():
                count += 1
                progress(f"building slices again: {count:,}")
                if damage is not None:
                    damaged.append(damaged_slice(damage, each, block))
    return Compared(count, 0, tuple(damaged))


def _replayed(
    dependencies: Dependencies, chain: str, block: Block, before: _Before
) -> Iterator[tuple[LedgerSlice, Damage | None]]:
    """Each slice of a delivery, and what is wrong with it."""
    slices, objects = block.slices or (), {each.key: each for each in before.erasures.objects_of(block)}
    originals = sorted((key for key in objects if is_original(block, chain, key)), key=lambda key: (len(key), key))
    with TemporaryDirectory(prefix="lakegate-replay-") as name:
        folder = Path(name)
        paths = {
            key: fetched_object(dependencies, folder / str(number), objects[key])
            for number, key in enumerate((*originals, *(each.key for each in slices)))
        }
        arrived = [path for key in originals if (path := paths[key])]
        present = [path for each in slices if (path := paths[each.key])]
        is_whole = len(arrived) == len(originals)
        hashes = _hashes(dependencies, folder, block, before, arrived, present[0]) if is_whole and present else ()
        for at, each in enumerate(slices):
            path = paths[each.key]
            if path is None or not is_whole:
                yield each, Damage.LOST
            elif not is_as_stated(path, each):
                yield each, Damage.ALTERED
            elif len(hashes) != len(slices) or hashes[at] != each.logical:
                yield each, Damage.IRREPRODUCIBLE
            else:
                yield each, None
        _remember(dependencies, block, before, present)


def _remember(dependencies: Dependencies, block: Block, before: _Before, slices: list[Path]) -> None:
    """Add the keys of a delivery whose rows were merged: rows of later ones are compared with them."""
    with suppress(Alarm, InputError):  # without its plan, or a slice that can be read, its own slices are damaged
        terms = terms_of(dependencies.plan_at(block.plan, block.workload))
        if terms.snapshots:
            stay = [each.replace(before.folder / f"{block.height}-{at}") for at, each in enumerate(slices)]
            before.snapshots.add(stay, terms.merge_key, terms.event_time)
        elif terms.merge_key:
            before.rows.add(slices, terms.merge_key)


def _hashes(  # noqa: PLR0913, PLR0917 - a delivery as it arrived, and what is known of its slices
    dependencies: Dependencies, folder: Path, block: Block, before: _Before, originals: list[Path], a_slice: Path
) -> tuple[str, ...]:
    """The logical hashes that the slices of a delivery must have; none where they cannot be built."""
    from lakegate.engine.digest.files import slice_in  # noqa: PLC0415 - the engine is for this option alone
    from lakegate.engine.read.local import LocalStore  # noqa: PLC0415 - likewise
    from lakegate.engine.slices.replay import logical_hashes  # noqa: PLC0415 - likewise
    from lakegate.engine.slices.writer import Begin  # noqa: PLC0415 - likewise

    slices = block.slices or ()
    parts = tuple(StagedPart(each.as_uri(), each.stat().st_size) for each in originals)
    counts = [each.rows for each in slices]
    if not originals:
        return ()
    try:
        body = dependencies.plan_at(block.plan, block.workload)
        terms, found = terms_of(body), slice_in(a_slice)
        begin = Begin(slices[0].offset, found.system_times[0], terms.event_time)
        if terms.snapshots:
            begin = replace(begin, event_time=None, moment=found.event_times[0])
        below = before.snapshots if terms.snapshots else before.rows
        return logical_hashes(Plan.from_bytes(body), parts, LocalStore(), begin, counts, folder, below)
    except (Alarm, InputError):  # the plan is missing or another one, or an original cannot be read by it
        return ()


def replay_in_words(compared: Compared) -> Iterator[str]:
    """For people."""
    kept = "the rows of each are the same, and its file is as recorded"
    return compared_in_words(compared, "slice", "built again from what arrived", kept)
