"""Tables of Iceberg, read by pyiceberg: of a catalog, or of a folder without one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyarrow.dataset import ParquetFileFormat, Scanner
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.exceptions import (
    NoSuchIcebergTableError,
    NoSuchNamespaceError,
    NoSuchTableError,
    NotInstalledError,
    ResolveError,
    RESTError,
    ValidationError,
)
from pyiceberg.io.pyarrow import ArrowScan, PyArrowFile, PyArrowFileIO, schema_to_pyarrow
from pyiceberg.io.pyarrow import _read_all_delete_files as read_deletes
from pyiceberg.manifest import DataFileContent, FileFormat, ManifestEntry, clear_manifest_cache
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import DataScan, FileScanTask, StaticTable, Table

from lakegate.base.errors import InputError, SetUpError
from lakegate.base.text import printable, quote
from lakegate.features.table_readers.parquet_rows import columns_of, write_rows
from lakegate.local_check.table_readers import (
    METADATA_SUFFIXES,
    TableFolder,
    TablePlace,
    WrittenTable,
    newest_metadata,
)

if TYPE_CHECKING:
    from pyiceberg.typedef import Properties

LONGEST_ERROR: Final = 300
S3_PROPERTIES: Final = {
    "AWS_REGION": "s3.region",
    "AWS_ENDPOINT_URL": "s3.endpoint",
    "AWS_ACCESS_KEY_ID": "s3.access-key-id",
    "AWS_SECRET_ACCESS_KEY": "s3.secret-access-key",
    "AWS_SESSION_TOKEN": "s3.session-token",
}
MALFORMED: Final = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, RuntimeError, SystemError, TypeError, ValueError),
    *(ResolveError, ValidationError),
)
"""What pyiceberg raises for metadata that it does not support, or that nobody should have written."""
GLUE: Final = "glue"
"""The catalog that needs no configuration."""


def write_table(place: TablePlace, file: Path, stated: Mapping[str, str]) -> WrittenTable:
    """A row of the extension point `table readers`."""
    with _errors(place.name):
        table = _in_catalog(place) if place.in_catalog else _in_folder(place.name)
        scan = _pinned(table, place.snapshot)
        declared = schema_to_pyarrow(scan.projection(), include_field_ids=False)
        write_rows(_batches(table, scan, place.only), declared, file, stated)
        snapshot = scan.snapshot()
    number, words = "", "Iceberg, without a snapshot"
    if snapshot is not None:
        number, words = str(snapshot.snapshot_id), f"Iceberg, snapshot {snapshot.snapshot_id}"
    return WrittenTable(number, words, columns_of(declared), table.metadata.properties.get("comment", ""))


# ---- Finding the table ----


def _in_catalog(place: TablePlace) -> Table:
    """A table that a catalog of pyiceberg's configuration names."""
    catalog_name, *identifier = place.name.split(".")
    catalog = _catalog(catalog_name)
    table = catalog.load_table(tuple(identifier))
    files = OwnFiles(
        _properties(table, catalog), table.metadata_location, whole_store=place.whole_store, without=place.without
    )
    return Table(table.name(), table.metadata, table.metadata_location, files, catalog)


def _catalog(name: str) -> Catalog:
    try:
        return load_catalog(name)
    except ValueError:
        if name == GLUE:
            return load_catalog(name, type=GLUE, **_access())
        raise SetUpError(
            f"pyiceberg knows no catalog {quote(name)}: describe it in ~/.pyiceberg.yaml, or in variables such as "
            f"PYICEBERG_CATALOG__{name.upper()}__URI"
        ) from None


def _properties(table: Table, catalog: Catalog) -> Properties:
    """The settings of the catalog. A table's own properties may choose no endpoint, which would get signed requests."""
    own = table.metadata.properties
    from_catalog = {name: value for name, value in table.io.properties.items() if own.get(name) != value}
    return from_catalog | {name: value for name, value in catalog.properties.items() if name not in from_catalog}


def _in_folder(name: str) -> Table:
    """A table of a folder, or of one of its metadata files."""
    properties = _access() if name.startswith("s3://") else {}
    location = name if name.endswith(METADATA_SUFFIXES) else f"{name}/metadata/{_newest(name)}"
    files = OwnFiles(properties, location)
    metadata = FromInputFile.table_metadata(files.new_input(location))
    return StaticTable(("table", location), metadata, location, files, NoopCatalog("none"))


def _access() -> Properties:
    from lakegate.local_check.access_to_s3 import access_to_s3  # noqa: PLC0415 - boto3, for objects alone

    return {S3_PROPERTIES[name]: value for name, value in access_to_s3().items()}


def _newest(folder: str) -> str:
    if folder.startswith("s3://"):
        from lakegate.local_check.data_in_s3 import names_in  # noqa: PLC0415 - boto3, for objects alone

        return newest_metadata(names_in(f"{folder}/metadata"), folder)
    return newest_metadata([each.name for each in Path(folder, "metadata").iterdir()], folder)


class OwnFiles(PyArrowFileIO):
    """Reads the files of one table only: those in its folder, and, where a catalog vouches for it, all of the same store.

    A metadata file may name any address.
    """

    def __init__(
        self,
        properties: Properties,
        metadata_location: str,
        *,
        whole_store: bool = False,
        without: frozenset[str] = frozenset(),
    ) -> None:
        """`metadata_location`: as the person or the catalog named it."""
        super().__init__(properties)
        self._folder = TableFolder.above(metadata_location)
        self._whole_store = whole_store and self._folder.scheme != "file"
        self._without = without

    def new_input(self, location: str) -> PyArrowFile:
        """As pyiceberg's own. InputError for a file that is not of the table."""
        scheme, _, path = self.parse_location(location, self.properties)
        if not self._is_own(location, scheme, path):
            raise InputError(
                f"the table has the file {quote(location)}, which is not in {self._folder.path} and is not read: "
                "name the table by its catalog, or copy it with all its files by Iceberg's own procedures"
            )
        return super().new_input(location)

    def _is_own(self, location: str, scheme: str, path: str) -> bool:
        if scheme != "file" and path.partition("/")[0] in self._without:
            return False
        return self._folder.has(location) or (self._whole_store and self._folder.shares_store(scheme))


# ---- Reading it ----


def _pinned(table: Table, snapshot: str | None) -> DataScan:
    """A scan of one snapshot. InputError where it is not there."""
    if snapshot is None:
        return table.scan()
    found = table.snapshot_by_id(int(snapshot)) if snapshot.isdecimal() else table.snapshot_by_name(snapshot)
    if found is None:
        known = ", ".join(sorted(table.refs())) or "none"
        raise InputError(
            f"the table has no snapshot, branch or tag {quote(snapshot)}: its branches and tags are {known}"
        )
    return table.scan(snapshot_id=found.snapshot_id)


def _batches(table: Table, scan: DataScan, only: frozenset[str] | None) -> Iterator[pa.RecordBatch]:
    """The rows of a scan, file by file. pyiceberg's own reader of batches would keep all rows of a file in memory, of several.

    What another snapshot says about the same manifest is not taken for what this one says: pyiceberg keeps it for the process.
    """
    clear_manifest_cache()
    arrow = ArrowScan(table.metadata, table.io, scan.projection(), scan.row_filter)
    for task in scan.plan_files() if only is None else _tasks(table, scan, only):
        if task.file.file_format is FileFormat.PARQUET:
            _require_lists(table, task.file.file_path)
        yield from arrow._record_batches_from_scan_tasks_and_deletes([task], read_deletes(table.io, [task]))  # noqa: SLF001


def _tasks(table: Table, scan: DataScan, only: frozenset[str]) -> Iterator[FileScanTask]:
    """Those of some data files; of others nothing is kept. InputError where one has deletes, or is not of the snapshot."""
    snapshot, found = scan.snapshot(), set[str]()
    manifests = [] if snapshot is None else snapshot.manifests(table.io)

    def is_wanted(entry: ManifestEntry) -> bool:
        return entry.data_file.content is not DataFileContent.DATA or entry.data_file.file_path in only

    for task in scan._manifest_planner.plan_files(manifests, is_wanted):  # noqa: SLF001
        if task.delete_files:
            raise InputError(f"rows of the file {quote(task.file.file_path)} are deleted")
        found.add(task.file.file_path)
        yield task
    if found != only:
        raise InputError("a file is none of the snapshot")


def _require_lists(table: Table, location: str) -> None:
    """InputError where pyiceberg would read a list or map of records that is null as an empty one, as 0.12 does."""
    with table.io.new_input(location).open() as stream:
        fragment = ParquetFileFormat().make_fragment(stream)
        wanted = [each.name for each in fragment.physical_schema if _has_lists(each.type)]
        for batch in Scanner.from_fragment(fragment, columns=wanted).to_batches() if wanted else ():
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                if _lacks_list(column):
                    raise InputError(
                        f"the column {quote(name)} has lists or maps of records that are null, which pyiceberg reads as empty "
                        "ones: write empty ones, or check the rows as Parquet files"
                    )


def _has_lists(kind: pa.DataType) -> bool:
    """Whether a type has lists or maps of records."""
    if pa.types.is_struct(kind):
        return any(_has_lists(each.type) for each in kind)
    inner = _inner(kind)
    return inner is not None and (pa.types.is_struct(inner) or _has_lists(inner))


def _lacks_list(values: pa.Array) -> bool:
    if pa.types.is_struct(values.type):
        return any(map(_lacks_list, values.flatten()))
    if not _has_lists(values.type):
        return False
    inner = values.items if pa.types.is_map(values.type) else values.values
    own = pa.types.is_struct(inner.type) and values.null_count > 0
    return own or _lacks_list(inner)


def _inner(kind: pa.DataType) -> pa.DataType | None:
    if pa.types.is_map(kind):
        return kind.item_type
    return kind.value_type if pa.types.is_list(kind) or pa.types.is_large_list(kind) else None


@contextmanager
def _errors(table: str) -> Iterator[None]:
    """Turn errors of pyiceberg, and of the store, into a sentence."""
    try:
        yield
    except (NoSuchTableError, NoSuchNamespaceError, NoSuchIcebergTableError):
        raise InputError(f"the catalog has no Iceberg table {table}") from None
    except FileNotFoundError as error:
        raise InputError(f"a file of the table {table} is not there: {_first_line(error)}") from None
    except NotInstalledError as error:
        raise SetUpError(f"{table} cannot be read: {_first_line(error)}") from None
    except pa.ArrowException as error:  # its text may have values
        raise InputError(f"{table} cannot be read by pyiceberg ({type(error).__name__})") from None
    except MALFORMED as error:
        words = f"{type(error).__name__}: {_first_line(error)}"
        raise InputError(f"{table} cannot be read by pyiceberg ({words})") from None
    except (OSError, RESTError) as error:
        raise SetUpError(f"{table} cannot be read: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    return printable(str(error).partition("\n")[0])[:LONGEST_ERROR]
