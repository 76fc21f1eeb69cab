"""Tables of Iceberg, through pyiceberg: in Glue, behind a REST catalog, or in a database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow.parquet as pq
from pyiceberg.exceptions import (
    CommitFailedException,
    NoSuchTableError,
    RESTError,
    TableAlreadyExistsError,
    ValidationError,
)
from pyiceberg.io import FileIO, load_file_io
from pyiceberg.io.pyarrow import parquet_file_to_data_file
from pyiceberg.manifest import DataFile, ManifestContent
from pyiceberg.table import Table, TableProperties, Transaction
from pyiceberg.table.snapshots import Operation, Snapshot
from pyiceberg.table.update import AssertTableUUID

from lakegate.aws.clients import port_errors
from lakegate.base.errors import ConditionFailed, InputError, Unanswered
from lakegate.features.tables.keep_table import (
    BLOCK,
    DATASET,
    HEIGHT,
    FilesRewritten,
    ShownState,
    TableSnapshot,
    table_name,
)
from lakegate.gate.ledger.blocks import TableFile

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.catalog import Catalog

PROPERTIES: Final = {
    "format-version": "2",
    TableProperties.MANIFEST_MERGE_ENABLED: "true",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "100",
}
"""Of every table that is made: manifests are merged, and of its metadata files the last hundred are kept."""


@dataclass(frozen=True, slots=True)
class IcebergTables:
    """See `lakegate.features.tables.keep_table.CatalogTables`."""

    open_catalog: Callable[[], Catalog]
    """Returns the same one each time."""
    database: str
    """The namespace of all tables."""
    lake: str
    """The address of the bucket, without a slash at its end: `s3://lake`."""

    def shown(self, dataset: str) -> ShownState | None:
        table = self._table(dataset)
        if table is None:
            return None
        if table.properties.get(DATASET) != dataset:
            raise InputError(
                f"the catalog has a table {self.database}.{table_name(dataset)}, which is not that of {dataset}: "
                "rename that table"
            )
        return _shown(table)

    def make(self, dataset: str, first: TableFile) -> None:
        with _catalog_errors():
            catalog = self.open_catalog()
            columns = _columns(load_file_io(catalog.properties, self.lake), f"{self.lake}/{first.key}")
            name, location = (self.database, table_name(dataset)), f"{self.lake}/tables/{dataset}"
            with suppress(TableAlreadyExistsError):
                catalog.create_table(name, columns, location, properties=PROPERTIES | {DATASET: dataset})

    def commit(self, snapshot: TableSnapshot, shown: ShownState) -> ShownState:
        table = self._table(snapshot.dataset)
        if table is None or table.metadata.current_snapshot_id != shown.snapshot:
            raise ConditionFailed
        with _catalog_errors():
            transaction, identity = self._changed(table, snapshot)
            transaction.commit_transaction()
        return ShownState(snapshot.height, snapshot.digest, identity)

    def _table(self, dataset: str) -> Table | None:
        with _catalog_errors(), suppress(NoSuchTableError):
            return self.open_catalog().load_table((self.database, table_name(dataset)))
        return None

    def _changed(self, table: Table, snapshot: TableSnapshot) -> tuple[_OneTry, int]:
        """The change, with its files of metadata, before it is committed, and the id of its snapshot. Raises as `commit` does."""
        addresses = [f"{self.lake}/{each.key}" for each in snapshot.added]
        removed = list(self._removed(table, snapshot))
        transaction = _OneTry(table)
        try:
            for columns in dict.fromkeys(_columns(table.io, address) for address in addresses):
                with transaction.update_schema() as schema:
                    schema.union_by_name(columns)
        except (ValidationError, TypeError, ValueError):  # what pyiceberg raises for types that do not agree
            raise InputError(
                f"the table of {snapshot.dataset} cannot have the columns of version "
                f"{dict(snapshot.about).get('contract-version')}: another type needs a new major version"
            ) from None
        metadata = transaction.table_metadata  # each access applies all updates again
        if metadata.name_mapping() is None:
            mapping = metadata.schema().name_mapping.model_dump_json()
            transaction.set_properties({TableProperties.DEFAULT_NAME_MAPPING: mapping})
        position = {HEIGHT: str(snapshot.height), BLOCK: snapshot.digest}
        summary = position | {f"lakegate.{name}": value for name, value in snapshot.about}
        update = transaction.update_snapshot(snapshot_properties=summary)
        with update.overwrite() if removed else update.merge_append() as files:
            for found in removed:
                files.delete_data_file(found)
            for address in addresses:
                files.append_data_file(parquet_file_to_data_file(table.io, metadata, address))
        transaction.set_properties(position)
        return transaction, files.snapshot_id

    def _removed(self, table: Table, snapshot: TableSnapshot) -> Iterator[DataFile]:
        """The data files that are to leave the table."""
        left = {f"{self.lake}/{key}" for key in snapshot.removed}
        current = table.current_snapshot()
        for found in () if current is None or not (left or snapshot.is_whole) else _data_files(table, current):
            if snapshot.is_whole or found.file_path in left:
                left.discard(found.file_path)
                yield found
        if left:
            raise FilesRewritten


class _OneTry(Transaction):
    """Commits once, on the snapshot that was read.

    pyiceberg would put a commit that was refused on top of whatever is current then, and delete the files of one that failed:
    where an answer was lost, a delivery would have two snapshots, or a snapshot no manifests.
    """

    def commit_transaction(self) -> Table:
        """Raises CommitFailedException where the table was changed since it was read."""
        table = self._table
        requirements = (*self._requirements, AssertTableUUID(uuid=table.metadata.table_uuid))
        table.catalog.commit_table(table, requirements, self._updates)
        return table  # as it was read: nobody asks it again


@contextmanager
def _catalog_errors() -> Iterator[None]:
    """Turn what the catalog, or the store of its files, raises inside into the errors of ports."""
    try:
        with port_errors():
            yield
    except CommitFailedException:
        raise ConditionFailed from None
    except (OSError, RESTError) as error:
        raise Unanswered(type(error).__name__) from None


def _shown(table: Table) -> ShownState:
    """The state that a table shows: that of its newest snapshot, whose rows no later one has changed.

    Where the snapshots of before have expired, the table's own properties have it. Raises InputError where another program has
    changed rows; one that put them into other files has not.
    """
    properties, current = table.properties, table.metadata.current_snapshot_id
    snapshot = table.current_snapshot()
    while snapshot is not None and HEIGHT not in _summary(snapshot):
        if snapshot.summary is None or snapshot.summary.operation is not Operation.REPLACE:
            raise InputError(
                f"another program has changed rows of the table {'.'.join(table.name())} (snapshot {snapshot.snapshot_id}): "
                "roll it back to the snapshot before, or drop it, and it is made again from the ledger"
            )
        snapshot = None if snapshot.parent_snapshot_id is None else table.snapshot_by_id(snapshot.parent_snapshot_id)
    stated = properties if snapshot is None else _summary(snapshot)
    if current is None or HEIGHT not in stated:
        return ShownState(snapshot=current)
    return ShownState(int(stated[HEIGHT]), stated[BLOCK], current)


def _summary(snapshot: Snapshot) -> dict[str, str]:
    return snapshot.summary.additional_properties if snapshot.summary is not None else {}


def _data_files(table: Table, snapshot: Snapshot) -> Iterator[DataFile]:
    for manifest in snapshot.manifests(table.io):
        if manifest.content is ManifestContent.DATA:
            for entry in manifest.fetch_manifest_entry(table.io):
                yield entry.data_file


def _columns(io: FileIO, address: str) -> pa.Schema:
    with io.new_input(address).open() as stream:
        return pq.read_schema(stream).remove_metadata()
