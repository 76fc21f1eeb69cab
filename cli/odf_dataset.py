"""The chain of an ODF dataset at a place, read from its head and checked block by block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lakegate.cli.odf_places import HEAD, LONGEST_HEAD, read
from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.lifecycle import moment
from lakegate.contracts.odf.chain import follow
from lakegate.contracts.odf.metadata import AddData, block_hash, block_in
from lakegate.contracts.odf.multihash import HashCode, hash_in, multihash
from lakegate.contracts.words import shown
from lakegate.functions.ports.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from lakegate.cli.odf_places import FolderPlace, OdfSource
    from lakegate.contracts.odf.chain import ChainState
    from lakegate.contracts.odf.metadata import DataSlice, MetadataBlock

LARGEST_BLOCK: Final = 16 << 20
"""Bytes."""
MOST_BLOCKS: Final = 1_000_000
MOST_BYTES: Final = 1 << 30
"""Of all blocks that are new."""


@dataclass(frozen=True, slots=True)
class Link:
    """One block, by its name."""

    name: str
    block: MetadataBlock


@dataclass(frozen=True, slots=True)
class Added:
    """A slice of the chain, and the columns that it has."""

    sequence: int
    published_at: str
    data: DataSlice
    fields: tuple[Mapping[str, Any], ...]


def head_of(source: OdfSource) -> str | None:
    """The name of the last block; None where there is no dataset. InputError where it names no block."""
    try:
        text = read(source, HEAD, LONGEST_HEAD).decode(errors="replace").strip()
    except NotFound:
        return None
    code, digest = hash_in(text)
    if code is not HashCode.SHA3_256:
        raise InputError(f"{HEAD} names no block: {shown(text)}")
    return multihash(code, digest)


def walked(source: OdfSource, head: str, known: Collection[str] = (), copy: FolderPlace | None = None) -> list[Link]:
    """The blocks from the first unknown one up to the head. `copy`: where blocks are kept, and read if they are there."""
    links: list[Link] = []
    size = 0
    name: str | None = head
    while name is not None and name not in known:
        body = _body(source, name, copy)
        size += len(body)
        block = _parsed(name, body)
        if links and block.sequence != links[-1].block.sequence - 1:
            raise InputError(f"the block {name} has the number {block.sequence}, not the one before its successor's")
        if block.sequence >= MOST_BLOCKS or size > MOST_BYTES:
            raise InputError(
                f"the chain has more than {MOST_BLOCKS:,} blocks, or blocks of more than {MOST_BYTES:,} bytes"
            )
        links.append(Link(name, block))
        name = block.previous
    return links[::-1]


def followed(state: ChainState | None, links: Iterable[Link]) -> tuple[ChainState | None, list[Added]]:
    """The state after these blocks, and the slices that they add. InputError, with the number of the block that is wrong."""
    added = []
    for number, each in enumerate(links, 0 if state is None else state.sequence + 1):
        try:
            state = follow(state, each.name, each.block)
        except InputError as error:
            raise InputError(f"block {number} ({each.name}): {error}") from None
        event = each.block.event
        if isinstance(event, AddData) and event.data is not None:
            published_at = each.block.system_time.time.isoformat()
            added.append(Added(state.sequence, published_at, event.data, state.schema))
    return state, added


def _body(source: OdfSource, name: str, copy: FolderPlace | None) -> bytes:
    place = f"blocks/{name}"
    if copy is not None and copy.size(place) is not None:
        body = read(copy, place, LARGEST_BLOCK)
        if block_hash(body) == name:
            return body
    try:
        body = read(source, place, LARGEST_BLOCK)
    except NotFound:
        raise InputError(f"the block {name} is missing") from None
    if block_hash(body) != name:
        raise InputError(f"the bytes of the block {name} are others than its name says")
    if copy is not None:
        copy.put(place, body)
    return body


def _parsed(name: str, body: bytes) -> MetadataBlock:
    try:
        return block_in(body)
    except InputError as error:
        raise InputError(f"the block {name} cannot be read: {error}") from None


def check_file(path: Path, data: DataSlice, fields: Iterable[Mapping[str, Any]], times: tuple[str, str] | None) -> None:
    """A file of data against its event, its schema and, if there are any, the event times that a ledger states. InputError."""
    from lakegate.engine.slices.arrived import checked_slice  # noqa: PLC0415 - the engine is for data alone

    found = checked_slice(path, data, fields)
    if times is not None and times != tuple(map(moment, found.event_times)):
        raise InputError("its event times are others than the ledger states")


def names(links: Sequence[Link]) -> frozenset[str]:
    """Of all blocks."""
    return frozenset(each.name for each in links)
