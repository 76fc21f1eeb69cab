"""Gated tables through pyiceberg, and their snapshots as sources of deliveries."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from pyiceberg.exceptions import (
    NoSuchIcebergTableError,
    NoSuchPropertyException,
    NoSuchTableError,
    ValidationError,
)
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.update import AssertRefSnapshotId, AssertTableUUID, SetSnapshotRefUpdate
from pyiceberg.typedef import EMPTY_DICT

from lakegate.aws.clients import port_errors
from lakegate.aws.iceberg_errors import catalog_errors
from lakegate.base.errors import ConditionFailed, InputError, NotFound, PortError, SetUpError, Unanswered
from lakegate.base.extension_points import load_extension
from lakegate.base.json_codec import encode, sha256_of
from lakegate.contract.delivery_policy import ADDED
from lakegate.features.pull.pull_sources import OpenedSource, SourceChanged, SourceIdentity
from lakegate.features.pull.snapshots.gated_tables import (
    PINS,
    GatedBranch,
    GatedTables,
    SnapshotFiles,
    SnapshotPins,
    SnapshotStep,
    TableState,
    branch_of,
    next_step,
    staged,
)
from lakegate.features.pull.snapshots.snapshot_files import files_of
from lakegate.local_check.table_readers import POINT, TableFolder, TablePlace, WriteTable

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata

    from lakegate.contract.delivery_policy import Pull

MAIN: Final = "main"
S3: Final = ("s3://", "s3a://", "s3n://")
MOST_BYTES: Final = 4 << 30
"""Of its data files: their rows are written to the disk of a function, which has 10 GB, in one invocation."""
AT_ONCE: Final = 16
"""Files that are asked for."""
REFUSED_PROPERTIES: Final = ("py-io-impl", "write.py-location-provider.impl", "write.metadata.path")
"""By which a table would choose code of the function, or a place that its metadata is written to."""
MALFORMED: Final = (ArithmeticError, AttributeError, EOFError, LookupError, TypeError, ValueError, ValidationError)
"""What pyiceberg raises for metadata that nobody should have written."""


@dataclass(frozen=True, slots=True)
class IcebergBranches:
    """See `lakegate.features.pull.snapshots.gated_tables.GatedTables`."""

    open_catalog: Callable[[], Catalog]
    """Returns the same one each time."""
    identify: Callable[[str], str]
    """What a store says about the bytes of an address: size and ETag. Raises NotFound."""
    own: frozenset[str]
    """The buckets of the stack, which have no files of such tables: their rows are of other datasets."""

    def state(self, branch: GatedBranch) -> TableState | None:
        """As documented there."""
        table = self._table(branch)
        if table is None:
            return None
        metadata = table.metadata
        head = metadata.refs.get(branch.branch)
        state = TableState(
            str(metadata.table_uuid),
            metadata.current_snapshot_id,
            (head.snapshot_id,) if head is not None and head.snapshot_ref_type is SnapshotRefType.BRANCH else (),
            {each.snapshot_id: each.parent_snapshot_id for each in metadata.snapshots},
            frozenset(each.snapshot_id for each in metadata.snapshot_log),
        )
        return state if branch.branch else replace(state, heads=_staged(metadata, state))

    def files(self, branch: GatedBranch, snapshot: int, since: int | None = None) -> SnapshotFiles | None:
        """As documented there: manifests, data and deletes."""
        table = self._table(branch)
        if table is None:
            return None
        found, before = table.snapshot_by_id(snapshot), None if since is None else table.snapshot_by_id(since)
        if found is None or (before is None and since is not None):
            return None
        with catalog_errors(MALFORMED):
            try:
                listed, added = files_of(table, found, before, lambda address: self._require_own(address, table))
            except FileNotFoundError:
                return None
        try:
            with ThreadPoolExecutor(AT_ONCE) as readers:
                stated = list(readers.map(self.identify, listed))
        except NotFound:
            return None
        digest = sha256_of(json.dumps(sorted(zip(listed, stated, strict=True))))
        return SnapshotFiles(digest, len(listed), sum(listed.values()), added)

    def set_main(self, branch: GatedBranch, state: TableState, snapshot: int) -> None:
        """As documented there; how long snapshots of main are kept stays as it is."""
        table = self._table(branch)
        if table is None or snapshot not in {each.snapshot_id for each in table.metadata.snapshots}:
            raise ConditionFailed
        kept = table.metadata.refs.get(MAIN)
        update: dict[str, Any] = {"ref-name": MAIN, "type": SnapshotRefType.BRANCH, "snapshot-id": snapshot}
        if kept is not None:
            ages = {"max-ref-age-ms": kept.max_ref_age_ms, "max-snapshot-age-ms": kept.max_snapshot_age_ms}
            update |= {**ages, "min-snapshots-to-keep": kept.min_snapshots_to_keep}
        requirements = (
            AssertTableUUID.model_validate({"uuid": state.uuid}),
            AssertRefSnapshotId.model_validate({"ref": MAIN, "snapshot-id": state.main}),
        )
        with catalog_errors(MALFORMED):
            table.catalog.commit_table(table, requirements, (SetSnapshotRefUpdate.model_validate(update),))

    def _table(self, branch: GatedBranch) -> Table | None:
        """The table of a branch, whose own properties choose neither code nor endpoint."""
        with catalog_errors(MALFORMED):
            catalog: Any = self.open_catalog()
            catalog._load_file_io = lambda properties=EMPTY_DICT, location=None: PyArrowFileIO(catalog.properties)  # noqa: ARG005, SLF001 - those of the table are the producer's
            with suppress(NoSuchTableError, NoSuchIcebergTableError, NoSuchPropertyException):
                table: Table = catalog.load_table((branch.database, branch.table))
                if any(name in table.metadata.properties for name in REFUSED_PROPERTIES):
                    raise PortError("table-refused")
                self._require_own(table.metadata_location, table)
                # where the function's own commit writes metadata to
                if TableFolder.above(f"{table.metadata.location.rstrip('/')}/metadata/") != _folder(table):
                    raise PortError("table-refused")
                return table
        return None

    def _require_own(self, address: str, table: Table) -> None:
        """Raise PortError for a file of a bucket of the stack, or outside of the table's folder.

        The function reads tables of several producers: one names none of another's files.
        """
        if address.startswith(S3) and address.partition("://")[2].partition("/")[0] in self.own:
            raise PortError("bucket-refused")
        if not _folder(table).has(address):
            raise PortError("table-refused")


def _folder(table: Table) -> TableFolder:
    """As the catalog has it: the metadata may state any `location`."""
    return TableFolder.above(table.metadata_location)


def _staged(metadata: TableMetadata, state: TableState) -> tuple[int, ...]:
    """What is staged, unless its writer has published the same changes as another snapshot."""
    of_refs = (each for ref in metadata.refs.values() for each in state.line(ref.snapshot_id))
    summaries: Mapping[int, Mapping[str, str]] = {each.snapshot_id: each.summary or {} for each in metadata.snapshots}
    published = {summary.get("published-wap-id") for summary in summaries.values()} | {None}
    ids = [each for each, about in summaries.items() if each == state.main or about.get("wap.id") not in published]
    order = {each.snapshot_id: (each.sequence_number or 0, each.timestamp_ms) for each in metadata.snapshots}
    return staged(state, frozenset(of_refs), sorted(ids, key=order.__getitem__))


@dataclass(frozen=True, slots=True)
class S3Files:
    """`IcebergBranches.identify` for objects of S3."""

    client: Any

    def identify(self, address: str) -> str:
        """HeadObject."""
        bucket, _, key = address.partition("://")[2].partition("/")
        with port_errors():
            found = self.client.head_object(Bucket=bucket, Key=key)
        return f"{found['ContentLength']}:{found['ETag']}"


# ---- Snapshots as sources ----


@dataclass(frozen=True, slots=True)
class SnapshotSource:
    """Transfer: the rows of a named snapshot, as a Parquet file whose footer has its pins."""

    tables: GatedTables
    own: frozenset[str]
    """As `IcebergBranches.own`."""
    catalog: str = "glue"
    """Its name among those of pyiceberg."""

    @contextmanager
    def open(
        self, _contract: str, pull: Pull, _unless: SourceIdentity, begun: SourceIdentity | None = None, at: int = 0
    ) -> Iterator[OpenedSource]:
        """Of the version that is begun. Its ETag is the SHA-256 of the file, which is the same if it is written once more."""
        assert begun is not None  # a snapshot is named before it is read
        pins, added = self._pins(pull, begun.version)
        with TemporaryDirectory() as folder:
            file = Path(folder, "rows.parquet")
            digest = self._copied(file, pins, added)
            if begun.etag not in {"", digest}:
                raise SourceChanged("source-changed")
            with file.open("rb") as body:
                body.seek(at)
                identity = SourceIdentity(digest, "", begun.version)
                yield OpenedSource(identity, file.stat().st_size, resumable=True, read=body.read)

    def _pins(self, pull: Pull, version: str) -> tuple[SnapshotPins, frozenset[str] | None]:
        """What is going to be copied, with the data files that have its rows. Raises PortError where it cannot be."""
        branch, (uuid, _, number) = branch_of(pull.source), version.partition("/")
        state, snapshot = self.tables.state(branch), int(number)
        if state is None:
            raise PortError(SnapshotStep.TABLE_MISSING.value)
        if state.uuid != uuid:
            raise PortError(SnapshotStep.TABLE_REPLACED.value)
        if snapshot not in state.parents:
            raise PortError(SnapshotStep.SNAPSHOT_EXPIRED.value)
        since = None if pull.rows != ADDED else state.main
        if since is not None and next_step(state, uuid, snapshot, since) is not SnapshotStep.SET:
            raise PortError(SnapshotStep.MAIN_MOVED.value)  # to this one, too: what it added is not known any more
        files = self.tables.files(branch, snapshot, since)
        if files is None:
            raise PortError(SnapshotStep.SNAPSHOT_EXPIRED.value)
        if files.size > MOST_BYTES:
            raise PortError("too-large")
        main = None if state.main is None else str(state.main)
        return SnapshotPins(pull.source, uuid, number, main, files.digest, files.number, pull.rows), files.added

    def _copied(self, file: Path, pins: SnapshotPins, added: frozenset[str] | None) -> str:
        """Write the copy; its SHA-256. Raises SourceChanged where files of the table are other ones afterwards."""
        branch = branch_of(pins.source)
        self._write(branch, file, pins, added)
        after = self.tables.files(branch, int(pins.snapshot), pins.since)
        if after is None or after.digest != pins.files:
            raise SourceChanged("source-changed")
        return _digest(file)

    def _write(self, branch: GatedBranch, file: Path, pins: SnapshotPins, added: frozenset[str] | None) -> None:
        write: WriteTable = load_extension(POINT, "iceberg")
        name = f"{self.catalog}.{branch.database}.{branch.table}"
        place = TablePlace(name, pins.snapshot, in_catalog=True, without=self.own, whole_store=False, only=added)
        try:
            write(place, file, {PINS: json.dumps(encode(pins))})
        except InputError:  # `lakegate check --table` says why
            raise PortError("table-refused") from None
        except SetUpError:
            raise Unanswered("table-unreachable") from None


def _digest(file: Path) -> str:
    with file.open("rb") as body:
        return hashlib.file_digest(body, "sha256").hexdigest()
