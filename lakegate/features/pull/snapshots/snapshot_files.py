"""The files that a snapshot consists of, and those that it has beside all rows of another one, by their metadata alone.

What a summary says about a snapshot (`append`, `replace`) is its writer's word, and is not read. A snapshot adds to another one
if it has each of its data files and deletes as that one has them, and no further deletes. Two entries are the same one only if
all their fields are: a data file with a higher sequence number has no deletes any more, and one that is listed twice has its
rows twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from pyiceberg.manifest import DataFileContent, ManifestEntry, ManifestFile, read_manifest_list
from pyiceberg.typedef import Record

from lakegate.base.errors import PortError
from lakegate.features.pull.snapshots.gated_tables import SnapshotStep

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

T = TypeVar("T")

MOST_FILES: Final = 20_000
"""Of a snapshot, or of those that it added: each is asked for, twice for a delivery and once for its publication."""


class ListedFiles(NamedTuple):
    """Files by their addresses."""

    sizes: Mapping[str, int]
    """Bytes of those that have rows or deletes, of others 0."""
    added: frozenset[str] | None
    """Of these the data files whose rows another snapshot does not have; None: there is no other one."""


def files_of(table: Table, snapshot: Snapshot, since: Snapshot | None, require: Callable[[str], None]) -> ListedFiles:
    """The files of a snapshot, or the metadata of two and what the first one added. `require`: called before a file is read.

    Raises PortError where the rows of `since` are not all there as they were.
    """
    reader = _Metadata(table, require)
    if since is None:
        for entry in reader.entries(reader.manifests(snapshot)):
            reader.note(entry.data_file.file_path, entry.data_file.file_size_in_bytes)
        return ListedFiles(reader.sizes, None)
    ours, theirs = _unlike(reader.manifests(snapshot), reader.manifests(since), _fields)  # no other one is read
    new, gone = _unlike(list(reader.entries(ours)), list(reader.entries(theirs)), _key)
    if gone or any(each.data_file.content is not DataFileContent.DATA for each in new):
        raise PortError(SnapshotStep.ROWS_CHANGED.value)
    for entry in new:
        reader.note(entry.data_file.file_path, entry.data_file.file_size_in_bytes)
    return ListedFiles(reader.sizes, frozenset(each.data_file.file_path for each in new))


@dataclass(frozen=True, slots=True)
class _Metadata:
    """Reads the metadata of a table, and notes the files that it comes to."""

    table: Table
    require: Callable[[str], None]
    sizes: dict[str, int] = field(default_factory=dict)

    def note(self, address: str, size: int = 0) -> None:
        self.require(address)
        self.sizes[address] = size
        if len(self.sizes) > MOST_FILES:
            raise PortError("too-many-files")

    def manifests(self, of: Snapshot) -> list[ManifestFile]:
        """Not by `Snapshot.manifests`, which takes what another list has said about a manifest for what this one says."""
        self.note(of.manifest_list)
        found = list[ManifestFile]()
        for each in read_manifest_list(self.table.io.new_input(of.manifest_list)):
            self.note(each.manifest_path)
            found.append(each)
        return found

    def entries(self, of: Iterable[ManifestFile]) -> Iterator[ManifestEntry]:
        found = chain.from_iterable(each.fetch_manifest_entry(self.table.io, discard_deleted=True) for each in of)
        for number, entry in enumerate(found):
            if number >= MOST_FILES:
                raise PortError("too-many-files")
            yield entry


def _unlike(ours: list[T], theirs: list[T], key: Callable[[T], object]) -> tuple[list[T], list[T]]:
    """What only one of two lists has. What one has twice, and the other one once, is among it."""
    return _without(ours, theirs, key), _without(theirs, ours, key)


def _without(items: list[T], others: list[T], key: Callable[[T], object]) -> list[T]:
    left, found = Counter(map(key, others)), list[T]()
    for each in items:
        if left[own := key(each)] > 0:
            left[own] -= 1
        else:
            found.append(each)
    return found


def _key(entry: ManifestEntry) -> object:
    """What an entry says about its file, whichever manifest it is in."""
    return entry.sequence_number, entry.data_file.spec_id, _fields(entry.data_file)


def _fields(value: object) -> object:
    """A value that is equal for equal records alone, whatever texts are in them."""
    if isinstance(value, Record):
        return tuple(_fields(value[at]) for at in range(len(value)))
    if isinstance(value, Mapping):
        return repr(sorted(value.items()))
    return tuple(map(_fields, value)) if isinstance(value, list) else repr(value)
