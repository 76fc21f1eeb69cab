"""`lakegate dataset export`: a line that publishes slices as a dataset of Open Data Fabric, in a folder or on S3.

The blocks follow from the chain of the line alone, so every export writes the same ones, and what is there already is left alone.
Data is written first, then blocks, then the head: who reads meanwhile has a whole dataset.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from lakegate.cli import terminal
from lakegate.cli.aws import opened
from lakegate.cli.download import DiffersError, File, ListedDelivery, fetched
from lakegate.cli.escape import escaped
from lakegate.cli.odf_dataset import check_file, head_of
from lakegate.cli.odf_places import is_whole
from lakegate.cli.odf_repositories import place_of
from lakegate.cli.signing import signatures_by
from lakegate.contracts.convert.chain_odf import dataset_of, odf_blocks
from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.block import stored_block
from lakegate.contracts.lake.erasures import erasures_of
from lakegate.contracts.lake.ledger import verify_signed
from lakegate.contracts.plan.plan import Plan
from lakegate.contracts.words import counted
from lakegate.functions.usecases.lines import line_named

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lakegate.cli.odf_places import OdfPlace
    from lakegate.contracts.convert.chain_odf import AddedSlice, Fields, OdfBlock
    from lakegate.contracts.lake.block import Block
    from lakegate.contracts.lake.block_parts import LedgerObject
    from lakegate.contracts.lake.erasures import Left
    from lakegate.functions.usecases.dependencies import Dependencies


@dataclass(frozen=True, slots=True)
class Exported:
    """What a run wrote."""

    line: str
    id: str
    blocks: Sequence[OdfBlock]
    """Of the whole dataset."""
    new: int
    """Blocks that were not there."""
    size: int
    """Bytes of data that were not there."""

    @property
    def slices(self) -> int:
        """Slices of the new blocks."""
        return sum(each.added is not None for each in self.blocks[len(self.blocks) - self.new :])


def export_dataset(line: str, destination: str, stack: str, *, local: bool, as_json: bool) -> None:
    """Write what is new of a line, and print what it is."""
    with opened(stack, local=local) as there:
        dependencies = there.dependencies()
        found = exported(dependencies, line_named(dependencies, line), place_of(destination))
    if as_json:
        head = found.blocks[-1].name
        counts = {"blocks": found.new, "slices": found.slices, "bytes": found.size}
        terminal.print_json({"line": found.line, "id": found.id, "destination": destination, "head": head, **counts})
        return
    written = f"{counted(found.slices, 'new slice')}, {counted(found.size, 'byte')}"
    for text in (
        f"{found.line}: {found.new:,} new of {counted(len(found.blocks), 'block')}, {written}",
        f"  identity  {found.id}",
        f"  head      {found.blocks[-1].name}",
    ):
        terminal.answers().print(escaped(text), markup=False, soft_wrap=True)


def exported(dependencies: Dependencies, line: str, place: OdfPlace) -> Exported:
    """Write what is new of a line. InputError where its chain is broken, or the place has something else."""
    head = dependencies.ledger.head(line)
    stored = list(islice(dependencies.ledger.signed(line), head.height + 1))
    if verify_signed(stored, line, signatures_by(None), head.digest):
        raise InputError(f"the chain of {line} is broken: `lakegate verify {line}` names the block")
    plans = _Plans(dependencies, {})
    blocks = list(odf_blocks(stored, plans.fields, plans.text))
    if not any(each.added for each in blocks):
        raise InputError(f"{line} has no slices: its contract needs `publishAs: parquet`, and a delivery")
    with place.locked():
        before = place.head()
        known = _known(blocks, head_of(place), line)
        moved = erasures_of(each for text in stored if (each := stored_block(text.text)) is not None).left
        size = _write(dependencies, place, blocks[known:], moved)
        if known < len(blocks):
            place.set_head(blocks[-1].name, before)
    return Exported(line, str(dataset_of(stored[0].text)), blocks, len(blocks) - known, size)


@dataclass(frozen=True, slots=True)
class _Plans:
    """The plans of deliveries, and the columns of slices that were written by them."""

    dependencies: Dependencies
    known: dict[str, Fields]

    def text(self, block: Block) -> bytes:
        """See `odf_blocks`."""
        return self.dependencies.plan_at(block.plan, block.workload)

    def fields(self, block: Block) -> Fields:
        """See `odf_blocks`."""
        from lakegate.engine.slices.fields import plan_fields  # noqa: PLC0415 - the engine is for this command alone

        if block.plan not in self.known:
            self.known[block.plan] = plan_fields(Plan.from_bytes(self.text(block)))
        return self.known[block.plan]


def _known(blocks: Sequence[OdfBlock], head: str | None, line: str) -> int:
    """How many of the blocks are there."""
    if head is None:
        return 0
    names = [each.name for each in blocks]
    if head not in names:
        raise InputError(f"the destination has another dataset than {line}, or a longer one: name another place")
    return names.index(head) + 1


def _write(dependencies: Dependencies, place: OdfPlace, blocks: Sequence[OdfBlock], moved: Mapping[str, Left]) -> int:
    """Write data, then blocks; how many bytes of data were not there. `moved`: objects that have another version now."""
    missing = [
        (each.added, each.fields)
        for each in blocks
        if each.added and not is_whole(place, f"data/{each.added.data.physical}")
    ]
    size = sum(added.data.size for added, _ in missing)
    with terminal.bytes_arriving("slices", size) as arrived:
        for added, fields in missing:
            left = moved.get(added.file.key)
            source = left.current if left and left.current else added.file
            _copy(dependencies, place, added, source, fields, arrived)
    for each in blocks:
        place.put(f"blocks/{each.name}", each.body)
    return size


def _copy(  # noqa: PLR0913, PLR0917 - a slice on its way has these parts
    dependencies: Dependencies,
    place: OdfPlace,
    added: AddedSlice,
    source: LedgerObject,
    fields: Fields,
    arrived: Callable[[int], object],
) -> None:
    """One slice from the lake, compared with its block and its schema."""
    with TemporaryDirectory(prefix="lakegate-export-") as name:
        file = File(source.key, source.version, source.size, source.checksum, "slice")
        try:
            fetched(dependencies, Path(name), ListedDelivery({}, (file,)), arrived)
            check_file(Path(name, file.place), added.data, fields, added.stated.event_time)
        except DiffersError as error:
            raise InputError(f"{error}; `lakegate verify LINE --objects` names every such object") from None
        except InputError as error:
            text = "is not what its block states"
            raise InputError(
                f"{source.key} {text}: {error}; `lakegate verify LINE --replay` names every such slice"
            ) from None
        place.put(f"data/{added.data.physical}", Path(name, file.place))
