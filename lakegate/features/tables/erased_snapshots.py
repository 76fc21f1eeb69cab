"""Snapshots of Iceberg that an erasure takes out of a table, and files that no snapshot uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import suppress
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

IN_FLIGHT: Final = {True: timedelta(hours=1), False: timedelta(days=3)}
"""How long a file that no snapshot uses may be of a commit that follows. Metadata is written when everything else is there, and a
commit is tried again for half an hour at most; of data files it is Iceberg's own default for files without an owner."""


def snapshots_with_others(table: Table, standing: AbstractSet[str]) -> set[int]:
    """The ids of the snapshots of a table that name other files than those that stand."""
    return {each.snapshot_id for each in table.metadata.snapshots if _names_others(table.io, each, standing)}


def unused_files(table: Table, now: datetime) -> set[str]:
    """See `lakegate.features.tables.keep_table.CatalogTables.leftovers`."""
    used = set(_used_files(table.io, table.metadata, table.metadata.snapshots))
    used |= {table.metadata_location, *(each.metadata_file for each in table.metadata.metadata_log)}
    below = f"{table.metadata.location}/"
    expired = {each for each in _expired_files(table) if each.startswith(below)}
    listed = _listed_files(table.io, below)
    old = {each for each, modified in listed if now - modified > IN_FLIGHT[each.startswith(f"{below}metadata/")]}
    return (expired | old) - used


def _names_others(io: FileIO, snapshot: Snapshot, standing: AbstractSet[str]) -> bool:
    """Whether manifests of a snapshot name a file that does not stand, or cannot be read, so that nobody can tell."""
    try:
        for manifest in snapshot.manifests(io):
            for each in manifest.fetch_manifest_entry(io, discard_deleted=False):
                if each.data_file.file_path not in standing:
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
