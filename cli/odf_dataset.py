"""The chain of an ODF dataset at a place, read from its head and checked block by block."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeVar

from lakegate.cli.odf_places import HEAD, LONGEST_HEAD, is_whole, read
from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.lifecycle import moment
from lakegate.contracts.odf.chain import follow
from lakegate.contracts.odf.metadata import AddData, SetDataSchema, block_hash, block_in, link_in
from lakegate.contracts.odf.multihash import HashCode, hash_in, multihash
from lakegate.contracts.words import shown
from lakegate.functions.ports.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from lakegate.cli.odf_places import FolderPlace, OdfSource
    from lakegate.contracts.odf.chain import ChainState
    from lakegate.contracts.odf.metadata import DataSlice, MetadataBlock

Found = TypeVar("Found")
LARGEST_BLOCK: Final = 16 << 20
"""Bytes."""
MOST_BLOCKS: Final = 1_000_000
MOST_BYTES: Final = 16 << 30
"""Of all blocks that are read from a place, on the disk: in memory there is one at a time."""


@dataclass(frozen=True, slots=True)
class Link:
    """One block in a folder, by its name."""

    name: str
    folder: FolderPlace

    @property
    def block(self) -> MetadataBlock:
        """Read and compared with its name each time: a chain may be larger than memory. InputError."""
        return _parsed(self.name, _checked(self.folder, self.name), block_in)


@dataclass(frozen=True, slots=True)
class Added:
    """A slice of the chain, and the block with the columns that it has."""

    sequence: int
    published_at: str
    data: DataSlice
    schema: Link

    @property
    def fields(self) -> tuple[Mapping[str, Any], ...]:
        """The columns."""
        return _fields(self.schema)


@lru_cache(maxsize=1)
def _fields(schema: Link) -> tuple[Mapping[str, Any], ...]:
    """One slice after the other has the same columns."""
    event = schema.block.event
    assert isinstance(event, SetDataSchema)
    return event.fields


def head_of(source: OdfSource) -> str | None:
    """The name of the last block; None where there is no dataset. InputError where it names no block."""
    try:
        text = read(source, HEAD, LONGEST_HEAD).decode(errors="replace").strip()
    except NotFound:
        return None
    try:
        code, digest = hash_in(text)
    except InputError:
        code, digest = None, b""
    if code is not HashCode.SHA3_256:
        raise InputError(f"{source}/{HEAD} names no block of a dataset: {shown(text) if text else 'it is empty'}")
    return multihash(code, digest)


def walked(
    folder: FolderPlace,
    head: str,
    known: Collection[str] = (),
    source: OdfSource | None = None,
    brought: Callable[[str], None] = lambda _: None,
) -> tuple[list[Link], str | None]:
    """The blocks from the first unknown one up to the head, and the name of the one before.

    `source`: where missing ones are; `brought` is called with the names of those that were copied from there.
    """
    links: list[Link] = []
    size, above = 0, None
    name: str | None = head
    while name is not None and name not in known:
        body = _checked(folder, name) if source is None else _brought(source, name, folder, brought)
        size += len(body)
        previous, sequence = _parsed(name, body, link_in)
        if above is not None and sequence != above - 1:
            raise InputError(f"the block {name} has the number {sequence}, not the one before its successor's")
        if above is None and sequence >= MOST_BLOCKS:
            raise InputError(
                f"the last block {name} has the number {sequence:,}: no more than {MOST_BLOCKS:,} are read"
            )
        if len(links) >= MOST_BLOCKS or size > MOST_BYTES:
            raise InputError(
                f"the chain has more than {MOST_BLOCKS:,} blocks, or blocks of more than {MOST_BYTES:,} bytes"
            )
        links.append(Link(name, folder))
        name, above = previous, sequence
    return links[::-1], name


def followed(links: Iterable[Link]) -> tuple[ChainState, list[Added]]:
    """The state after the blocks of a chain, and the slices that they add. InputError names a block that is wrong."""
    state: ChainState | None = None
    schema: Link | None = None
    added = []
    for number, each in enumerate(links):
        block = each.block
        try:
            state = follow(state, each.name, block)
        except InputError as error:
            raise InputError(f"block {number} ({each.name}): {error}") from None
        if isinstance(block.event, SetDataSchema):
            schema = each
        if isinstance(block.event, AddData) and block.event.data is not None:
            assert schema is not None  # else the block does not follow
            added.append(Added(number, block.system_time.time.isoformat(), block.event.data, schema))
    assert state is not None  # there is a head
    return state, added


def _brought(source: OdfSource, name: str, folder: FolderPlace, brought: Callable[[str], None]) -> bytes:
    place = f"blocks/{name}"
    if is_whole(folder, place):
        return read(folder, place, LARGEST_BLOCK)
    body = _checked(source, name)
    brought(place)
    folder.put(place, body)
    return body


def _checked(source: OdfSource, name: str) -> bytes:
    place = f"blocks/{name}"
    try:
        body = read(source, place, LARGEST_BLOCK)
    except NotFound:
        raise InputError(f"the block {name} is missing") from None
    if block_hash(body) != name:
        raise InputError(f"the bytes of the block {name} are others than its name says")
    return body


def _parsed(name: str, body: bytes, reader: Callable[[bytes], Found]) -> Found:
    try:
        return reader(body)
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
