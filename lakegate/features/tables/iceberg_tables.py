"""Tables of Iceberg, through pyiceberg: in Glue, behind a REST catalog, or in a database."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final

import pyarrow.parquet as pq
from pyiceberg.exceptions import (
    NoSuchTableError,
    TableAlreadyExistsError,
    ValidationError,
)
from pyiceberg.io import FileIO, load_file_io
from pyiceberg.io.pyarrow import parquet_file_to_data_file
from pyiceberg.manifest import DataFile, ManifestContent, ManifestEntry, ManifestEntryStatus, ManifestFile
from pyiceberg.schema import index_by_id
from pyiceberg.table import Table, TableProperties, Transaction
from pyiceberg.table.snapshots import Operation, Snapshot
from pyiceberg.table.update import AssertTableUUID, RemoveSnapshotRefUpdate, RemoveSnapshotsUpdate
from pyiceberg.table.update.snapshot import _FastAppendFiles, _OverwriteFiles

from lakegate.aws.iceberg_errors import catalog_errors
from lakegate.base.errors import ConditionFailed, InputError
from lakegate.base.json_codec import sha256_of
from lakegate.features.tables.compact_table import ListedFile, MergedFile
from lakegate.features.tables.erased_snapshots import snapshots_with_others, unused_files
from lakegate.features.tables.keep_table import (
    BLOCK,
    DATASET,
    EXPIRED,
    HEIGHT,
    UNTIL,
    FilesRewritten,
    ShownState,
    TableKind,
    TableSnapshot,
    table_folder,
    table_name,
)
from lakegate.features.tables.merged_files import MergedFiles, Replaced, at_once
from lakegate.features.tables.rejected_columns import REJECTED_SCHEMA
from lakegate.features.tables.table_description import COMPACTED, MANAGED, MOST_AGE, TableDescription
from lakegate.gate.ledger.blocks import TableFile

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.catalog import Catalog
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.types import NestedField

PROPERTIES: Final = {
    TableProperties.MANIFEST_MERGE_ENABLED: "true",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "100",
    "gc.enabled": "false",
}
"""Of every table: manifests are merged, of its metadata files the last hundred are kept, and no program that expires snapshots
deletes data files: those of a recalled delivery may come back."""
OF_REJECTED: Final = {"write.metadata.metrics.column.record": "counts"}
"""Of tables of rejected rows: their metadata has no beginning of any record."""
COLUMNS: Final = "lakegate.columns"
"""The property with the digest of the columns and partitions that this module has left."""
OF_DELIVERY: Final = frozenset(
    f"lakegate.{name}" for name in ("time", "contract-version", "verdict", "rows", "rejected-rows")
)
"""The statements about the newest delivery that are properties of the table, too."""
KIND, COMPACTION = "lakegate.kind", "compaction"
"""In the summary of a snapshot of ours, as of those of blocks."""
MOST_SNAPSHOTS: Final = 1_000
"""The snapshots of a table; older ones leave, because each commit reads and writes all of them."""


@dataclass(frozen=True, slots=True)
class IcebergTables:
    """See `lakegate.features.tables.keep_table.CatalogTables`, and `CompactedTables` of `compact_table`."""

    open_catalog: Callable[[], Catalog]
    """Returns the same one each time."""
    database: str
    """The namespace of all tables."""
    lake: str
    """The address of the bucket, without a slash at its end: `s3://lake`."""
    kind: TableKind = TableKind.ACCEPTED

    def shown(self, dataset: str) -> ShownState | None:
        table = self._table(dataset)
        if table is None:
            return None
        if table.properties.get(DATASET) != dataset:
            raise InputError(
                f"the catalog has a table {self.database}.{table_name(dataset, self.kind)}, which is not that of {dataset}: "
                "rename that table"
            )
        return _shown(table)

    def make(self, dataset: str, first: TableFile | None) -> None:
        with catalog_errors():
            catalog, properties = self.open_catalog(), {"format-version": "2", **PROPERTIES, DATASET: dataset}
            if self.kind is TableKind.REJECTED:
                columns, properties = REJECTED_SCHEMA, properties | OF_REJECTED
            else:
                assert first is not None
                columns = _columns(load_file_io(catalog.properties, self.lake), f"{self.lake}/{first.key}")
            name, folder = (self.database, table_name(dataset, self.kind)), table_folder(dataset, self.kind)
            with suppress(TableAlreadyExistsError):
                catalog.create_table(name, columns, f"{self.lake}/{folder}", properties=properties)

    def commit(self, snapshot: TableSnapshot, shown: ShownState) -> ShownState:
        table = self._table(snapshot.dataset)
        if table is None or table.metadata.current_snapshot_id != shown.snapshot:
            raise ConditionFailed
        with catalog_errors():
            transaction, identity = self._changed(table, snapshot)
            transaction.commit_transaction()
        expired = table.metadata_location if snapshot.standing is not None else shown.expired
        return ShownState(snapshot.height, snapshot.digest, identity, expired, snapshot.until)

    def leftovers(self, dataset: str, now: datetime, erased: AbstractSet[str]) -> tuple[str, ...]:
        table = self._table(dataset)
        if table is None:
            return ()
        with catalog_errors():
            return tuple(sorted(unused_files(table, now, self._addresses(erased), self._merged_files(table))))

    def discard(self, dataset: str, address: str) -> None:
        table = self._table(dataset)
        with catalog_errors(), suppress(FileNotFoundError):
            if table is not None and address.startswith(f"{table.metadata.location}/"):
                table.io.delete(address)

    def clear(self, dataset: str, shown: ShownState) -> ShownState:
        table = self._table(dataset)
        if table is None or table.metadata.current_snapshot_id != shown.snapshot:
            raise ConditionFailed
        if EXPIRED in table.properties:
            with catalog_errors():
                transaction = _OneTry(table)
                transaction.remove_properties(EXPIRED)
                transaction.commit_transaction()
        return shown._replace(expired="")

    def files(self, dataset: str, shown: ShownState) -> tuple[ListedFile, ...]:
        table = self._table(dataset)
        if table is None or table.metadata.current_snapshot_id != shown.snapshot or COMPACTED not in table.properties:
            return ()
        with catalog_errors():
            merged = self._merged_files(table)
            listed = sorted(_entries(table), key=lambda each: (each.sequence_number or 0, each.data_file.file_path))
            files = [(each.data_file.file_path, each.data_file.file_size_in_bytes) for each in listed]
            counts = merged.counts([address for address, _ in files])
            return tuple(ListedFile(*each, count) for each, count in zip(files, counts, strict=True) if count)

    def merge(self, dataset: str, group: Sequence[ListedFile]) -> MergedFile:
        with catalog_errors():
            table = self.open_catalog().load_table((self.database, table_name(dataset, self.kind)))
            return self._merged_files(table).write(table, group)

    def put(self, dataset: str, merged: MergedFile, shown: ShownState) -> None:
        table = self._table(dataset)
        if table is None or table.metadata.current_snapshot_id != shown.snapshot:
            raise ConditionFailed
        with catalog_errors():
            listed = {each.data_file.file_path: each.data_file for each in _entries(table)}
            if merged.address in listed:
                return
            if not listed.keys() >= set(merged.of):
                raise FilesRewritten
            transaction, about = _OneTry(table), {KIND: COMPACTION}
            with Replaced(Operation.OVERWRITE, transaction, table.io, snapshot_properties=about) as files:
                for each in merged.of:
                    files.delete_data_file(listed[each])
                files.append_data_file(_described(table.io, table.metadata, merged.address))
            transaction.commit_transaction()

    def _table(self, dataset: str) -> Table | None:
        with catalog_errors(), suppress(NoSuchTableError):
            return self.open_catalog().load_table((self.database, table_name(dataset, self.kind)))
        return None

    def _changed(self, table: Table, snapshot: TableSnapshot) -> tuple[_OneTry, int]:
        """The change, with its files of metadata, before it is committed, and the id of its snapshot. Raises as `commit` does."""
        addresses, removed = self._difference(table, snapshot)
        transaction = _OneTry(table)
        try:
            for columns in dict.fromkeys(at_once(partial(_columns, table.io), addresses)):
                with transaction.update_schema() as schema:
                    schema.union_by_name(columns)
        except (ValidationError, TypeError, ValueError):  # what pyiceberg raises for types that do not agree
            raise InputError(
                f"the table of {snapshot.dataset} cannot have the columns of version "
                f"{dict(snapshot.about).get('contract-version')}: another type needs a new major version"
            ) from None
        metadata = _comment(transaction, snapshot.description)
        position = {HEIGHT: str(snapshot.height), BLOCK: snapshot.digest}
        about = {f"lakegate.{name}": value for name, value in snapshot.about}
        with _producer(transaction, table, position | about, (snapshot.is_whole, bool(removed))) as files:
            for found in removed:
                files.delete_data_file(found)
            for each in at_once(partial(_described, table.io, metadata), addresses):
                files.append_data_file(each)
        properties = PROPERTIES | position | {COLUMNS: _digest_of_columns(metadata)}
        properties |= {UNTIL: snapshot.until} if snapshot.until or UNTIL in metadata.properties else {}
        if metadata.name_mapping() is None:
            properties[TableProperties.DEFAULT_NAME_MAPPING] = metadata.schema().name_mapping.model_dump_json()
        if snapshot.description is not None:
            properties |= {name: value for name, value in about.items() if name in OF_DELIVERY}
            properties |= dict(snapshot.description.properties)
            if stale := MANAGED & metadata.properties.keys() - properties.keys():
                transaction.remove_properties(*sorted(stale))
        gone = _old_snapshots(transaction.table_metadata, metadata.snapshots, properties)
        if snapshot.standing is not None:
            gone |= snapshots_with_others(table, self._addresses(snapshot.standing), self._merged_files(table))
            properties[EXPIRED] = table.metadata_location
        transaction.set_properties(properties)
        transaction.remove_snapshots(gone)
        return transaction, files.snapshot_id

    def _difference(self, table: Table, snapshot: TableSnapshot) -> tuple[list[str], list[DataFile]]:
        """The addresses of the files that are to come, and the files that are to leave the table.

        Where a file was put together with others, these come back one by one.
        """
        added = list(dict.fromkeys(f"{self.lake}/{each.key}" for each in snapshot.added))
        left = self._addresses(snapshot.removed)
        known = [each.data_file for each in _entries(table)] if left or snapshot.is_whole else []
        listed = {each.file_path for each in known}
        inside = self._merged_files(table).parts(listed) if snapshot.is_whole or not left <= listed else {}
        stay = listed.intersection(added) if snapshot.is_whole else listed - left
        for address, parts in inside.items():
            if parts <= set(added) if snapshot.is_whole else parts.isdisjoint(left):
                stay.add(address)
            else:
                stay.discard(address)
                added += [] if snapshot.is_whole else sorted(parts - left)
        if not left <= listed.union(*inside.values()):
            raise FilesRewritten
        there = listed.union(*(parts for address, parts in inside.items() if address in stay))
        return [each for each in added if each not in there], [each for each in known if each.file_path not in stay]

    def _merged_files(self, table: Table) -> MergedFiles:
        return MergedFiles(table.io, table.metadata.location, self.lake)

    def _addresses(self, keys: Iterable[str]) -> frozenset[str]:
        return frozenset(f"{self.lake}/{key}" for key in keys)


class _OneTry(Transaction):
    """Commits once, on the snapshot that was read.

    pyiceberg would put a commit that was refused on top of whatever is current then, and delete the files of one that failed:
    where an answer was lost, a delivery would have two snapshots, or a snapshot no manifests.
    """

    _known: tuple[int, TableMetadata] | None = None

    @property
    def table_metadata(self) -> TableMetadata:
        """The metadata with all changes until now, made once for each change: pyiceberg copies all of it at each access."""
        if self._known is None or self._known[0] != len(self._updates):
            self._known = len(self._updates), super().table_metadata
        return self._known[1]

    def remove_snapshots(self, identities: AbstractSet[int]) -> None:
        """Take snapshots out of the table, with branches and tags that are about them. No file is deleted."""
        of_them = (name for name, ref in self.table_metadata.refs.items() if ref.snapshot_id in identities)
        refs = [RemoveSnapshotRefUpdate.model_validate({"ref-name": name}) for name in of_them]
        snapshots = [RemoveSnapshotsUpdate.model_validate({"snapshot-ids": list(identities)})] if identities else []
        self._stage((*refs, *snapshots))

    def commit_transaction(self) -> Table:
        """Raises CommitFailedException where the table was changed since it was read."""
        table = self._table
        requirements = (*self._requirements, AssertTableUUID(uuid=table.metadata.table_uuid))
        table.catalog.commit_table(table, requirements, self._updates)
        return table  # as it was read: nobody asks it again


def _comment(transaction: Transaction, description: TableDescription | None) -> TableMetadata:
    """Give fields the comments of a contract; returns the metadata with all changes until now.

    A column that is new with a delivery without rows is not there yet.
    """
    metadata = transaction.table_metadata
    schema = metadata.schema()
    fields = {schema.find_column_name(number): field for number, field in index_by_id(schema).items()}
    changed = [
        (path, text)
        for path, text in (description.comments if description else ())
        if (field := fields.get(".".join(path))) is not None and field.doc != text
    ]
    if not changed:
        return metadata
    with transaction.update_schema() as update:
        for path, text in changed:
            update.update_column(path, doc=text)
    return transaction.table_metadata


def _old_snapshots(metadata: TableMetadata, snapshots: Sequence[Snapshot], properties: Mapping[str, str]) -> set[int]:
    """The ids of snapshots that are older than the table's property says, and of those beyond the most that it has.

    Branches and tags that others have made keep theirs.
    """
    before = snapshots[1 - MOST_SNAPSHOTS].timestamp_ms if len(snapshots) >= MOST_SNAPSHOTS else 0
    if age := properties.get(MOST_AGE):
        before = max(before, int(datetime.now(UTC).timestamp() * 1000) - int(age))
    kept = {ref.snapshot_id for ref in metadata.refs.values()}
    return {each.snapshot_id for each in snapshots if each.timestamp_ms < before} - kept


def _digest_of_columns(metadata: TableMetadata) -> str:
    """Of ids, names and types of all fields, also nested ones, and of the partitions; not of comments."""
    schema = metadata.schema()
    fields = [
        (number, schema.find_column_name(number), field.required, _type_of(field))
        for number, field in sorted(index_by_id(schema).items())
    ]
    return sha256_of(json.dumps([fields, [str(each) for each in metadata.spec().fields]]))


def _type_of(field: NestedField) -> str:
    return str(field.field_type) if field.field_type.is_primitive else type(field.field_type).__name__


def _producer(
    transaction: Transaction, table: Table, summary: dict[str, str], of: tuple[bool, bool]
) -> _OverwriteFiles | _FastAppendFiles:
    """What makes a snapshot: one of all files again, one that removes some, or one that adds some."""
    is_whole, removes = of
    if is_whole:
        operation = Operation.OVERWRITE if table.current_snapshot() else Operation.APPEND
        return _ListedAgain(operation, transaction, table.io, snapshot_properties=summary)
    update = transaction.update_snapshot(snapshot_properties=summary)
    return update.overwrite() if removes else update.merge_append()


class _ListedAgain(_OverwriteFiles):
    """A snapshot whose files are all named by manifests of its own: those of before that it has on, and those that are added.

    No manifest of before is used, and none states what was removed: both may have values of files that were erased.
    """

    def _existing_manifests(self) -> list[ManifestFile]:
        parent = self._transaction.table_metadata.snapshot_by_name(self._target_branch)
        entries: dict[int, list[ManifestEntry]] = {}
        for manifest in parent.manifests(self._io) if parent is not None else ():
            if manifest.content is ManifestContent.DATA:
                stays = (
                    each
                    for each in manifest.fetch_manifest_entry(self._io)
                    if each.data_file not in self._deleted_data_files
                )
                entries.setdefault(manifest.partition_spec_id, []).extend(stays)
        return [self._write(spec, found) for spec, found in entries.items() if found]

    def _write(self, spec: int, entries: Iterable[ManifestEntry]) -> ManifestFile:
        with self.new_manifest_writer(self.spec(spec)) as writer:
            for each in entries:
                writer.add_entry(
                    ManifestEntry.from_args(
                        status=ManifestEntryStatus.EXISTING,
                        snapshot_id=each.snapshot_id,
                        sequence_number=each.sequence_number,
                        file_sequence_number=each.file_sequence_number,
                        data_file=each.data_file,
                    )
                )
        return writer.to_manifest_file()

    def _deleted_entries(self) -> list[ManifestEntry]:
        return []


def _shown(table: Table) -> ShownState:
    """The state that a table shows: that of its newest snapshot, whose rows no later one has changed.

    Where the snapshots of before have expired, the table's own properties have it. Raises InputError where another program has
    changed rows, columns or partitions; one that put rows into other files has not.
    """
    properties, current = table.properties, table.metadata.current_snapshot_id
    if properties.get(COLUMNS) not in {None, _digest_of_columns(table.metadata)}:
        raise InputError(
            f"another program has changed columns or partitions of the table {'.'.join(table.name())}: "
            "change them back, or drop it, and it is made again from the ledger"
        )
    snapshot = table.current_snapshot()
    while snapshot is not None and HEIGHT not in _summary(snapshot):
        if snapshot.summary is None or snapshot.summary.operation is not Operation.REPLACE:
            raise InputError(
                f"another program has changed rows of the table {'.'.join(table.name())} (snapshot {snapshot.snapshot_id}): "
                "roll it back to the snapshot before, or drop it, and it is made again from the ledger"
            )
        snapshot = None if snapshot.parent_snapshot_id is None else table.snapshot_by_id(snapshot.parent_snapshot_id)
    stated = properties if snapshot is None else _summary(snapshot)
    expired, until = properties.get(EXPIRED, ""), properties.get(UNTIL, "")
    if current is None or HEIGHT not in stated:
        return ShownState(snapshot=current, expired=expired, until=until)
    return ShownState(int(stated[HEIGHT]), stated[BLOCK], current, expired, until)


def _summary(snapshot: Snapshot) -> dict[str, str]:
    return snapshot.summary.additional_properties if snapshot.summary is not None else {}


def _entries(table: Table) -> Iterator[ManifestEntry]:
    """Of the data files that the current snapshot of a table lists."""
    snapshot = table.current_snapshot()
    for manifest in snapshot.manifests(table.io) if snapshot is not None else ():
        if manifest.content is ManifestContent.DATA:
            yield from manifest.fetch_manifest_entry(table.io)


def _described(io: FileIO, metadata: TableMetadata, address: str) -> DataFile:
    """A file with its statistics; one that has days or moments of other years than Python knows has counts alone."""
    try:
        return parquet_file_to_data_file(io, metadata, address)
    except (OverflowError, ValueError):
        counts = {**metadata.properties, TableProperties.DEFAULT_WRITE_METRICS_MODE: "counts"}
        return parquet_file_to_data_file(io, metadata.model_copy(update={"properties": counts}), address)


def _columns(io: FileIO, address: str) -> pa.Schema:
    with io.new_input(address).open() as stream:
        return pq.read_schema(stream).remove_metadata()
