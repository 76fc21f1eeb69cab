"""Snapshots of Iceberg that an erasure takes out of a table, and files that no snapshot uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from pyarrow.fs import FileSelector, FileType
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.serializers import FromInputFile

from lakegate.features.tables.keep_table import EXPIRED

if TYPE_CHECKING:
    from pyiceberg.io import FileIO
    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot

    from lakegate.features.tables.merged_files import MergedFiles

IN_FLIGHT: Final = {True: timedelta(hours=1), False: timedelta(days=3)}
"""How long a file that no snapshot uses may be of a commit that follows. Metadata is written when everything else is there, and a
commit is tried again for half an hour at most; of data files it is Iceberg's own default for files without an owner."""


def snapshots_with_others(table: Table, standing: AbstractSet[str], merged: MergedFiles) -> set[int]:
    """The ids of the snapshots of a table that name other files than those that stand, or were made of such."""
    others = _Others(standing, merged)
    return {each.snapshot_id for each in table.metadata.snapshots if _names(table.io, each, others)}


def unused_files(table: Table, now: datetime, erased: AbstractSet[str], merged: MergedFiles) -> set[str]:
    """See `lakegate.features.tables.keep_table.CatalogTables.leftovers`."""
    used = set(_used_files(table.io, table.metadata, table.metadata.snapshots))
    used |= {table.metadata_location, *(each.metadata_file for each in table.metadata.metadata_log)}
    below = f"{table.metadata.location}/"
    expired = {each for each in _expired_files(table) if each.startswith(below)}
    listed = list(_listed_files(table.io, below))
    old = {each for each, modified in listed if now - modified > IN_FLIGHT[each.startswith(f"{below}metadata/")]}
    found = merged.parts({each for each, _ in listed} - used)
    made = {each for each, parts in found.items() if not parts.isdisjoint(erased)}
    return (expired | old | made) - used


@dataclass(frozen=True, slots=True)
class _Others:
    """Files that do not stand, looked for in manifests, which snapshots share."""

    standing: AbstractSet[str]
    merged: MergedFiles
    known: dict[str, bool] = field(default_factory=dict)
    """By manifest, whether it names one."""

    def among(self, manifest: str, named: Iterable[str]) -> bool:
        """Whether a manifest names one."""
        if manifest not in self.known:
            rest = set(named) - self.standing
            parts = self.merged.parts(rest)
            self.known[manifest] = any(each not in parts or not parts[each] <= self.standing for each in rest)
        return self.known[manifest]


def _names(io: FileIO, snapshot: Snapshot, others: _Others) -> bool:
    """Whether manifests of a snapshot name such a file, or cannot be read, so that nobody can tell."""
    try:
        for manifest in snapshot.manifests(io):
            named = (each.data_file.file_path for each in manifest.fetch_manifest_entry(io, discard_deleted=False))
            if others.among(manifest.manifest_path, named):
                return True
    except FileNotFoundError:
        return True
    return False


def _expired_files(table: Table) -> Iterator[str]:
    """The files that the metadata from before the last erasure uses."""
    io, before = table.io, table.properties.get(EXPIRED)
    if before is not None:
        with suppress(FileNotFoundError):
            metadata = FromInputFile.table_metadata(io.new_input(before))
            known = {each.snapshot_id for each in table.metadata.snapshots}
            gone = [each for each in metadata.snapshots if each.snapshot_id not in known]
            yield from _used_files(io, metadata, gone)


def _used_files(io: FileIO, metadata: TableMetadata, snapshots: Iterable[Snapshot]) -> Iterator[str]:
    """Of snapshots the manifests and the files that they name; what was deleted already is left out."""
    of = set[int]()
    read = set[str]()
    for snapshot in snapshots:
        of.add(snapshot.snapshot_id)
        yield snapshot.manifest_list
        with suppress(FileNotFoundError):
            for manifest in snapshot.manifests(io):
                yield manifest.manifest_path
                if manifest.manifest_path not in read:
                    read.add(manifest.manifest_path)
                    with suppress(FileNotFoundError):
                        yield from (each.data_file.file_path for each in manifest.fetch_manifest_entry(io))
    for statistics in (*metadata.statistics, *metadata.partition_statistics):
        if statistics.snapshot_id in of:
            yield statistics.statistics_path


def _listed_files(io: FileIO, folder: str) -> Iterator[tuple[str, datetime]]:
    """All files below a folder, each with its time."""
    assert isinstance(io, PyArrowFileIO)
    scheme, place, path = io.parse_location(folder)
    files = io.fs_by_scheme(scheme, place)
    for each in files.get_file_info(FileSelector(path, allow_not_found=True, recursive=True)):
        if each.type is FileType.File:
            yield f"{folder}{each.path.removeprefix(path)}", each.mtime
