"""Tables of Iceberg and Delta, written by pyiceberg and deltalake, with what both cannot write made by hand."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestFile,
    ManifestWriterV2,
    read_manifest_list,
    write_manifest_list,
)
from pyiceberg.table import Transaction
from pyiceberg.table.update import AddSnapshotUpdate
from pyiceberg.typedef import Record

if TYPE_CHECKING:
    from pyiceberg.partitioning import PartitionSpec
    from pyiceberg.table import Table

NAME = ("shop", "orders")


def catalog_in(folder: Path) -> SqlCatalog:
    """A catalog of Iceberg whose tables are in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    catalog = SqlCatalog("lake", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}")
    catalog.create_namespace_if_not_exists(NAME[0])
    return catalog


def iceberg_table(folder: Path, *parts: pa.Table, spec: PartitionSpec | None = None, **properties: str) -> Table:
    """A table of Iceberg with one snapshot for each part."""
    catalog = catalog_in(folder)
    more = {} if spec is None else {"partition_spec": spec}
    table = catalog.create_table(NAME, parts[0].schema, properties={"format-version": "2", **properties}, **more)
    for part in parts:
        table.append(part)
    return catalog.load_table(NAME)


def folder_of(table: Table) -> Path:
    """The folder of a table of Iceberg."""
    return Path(table.location().removeprefix("file://"))


class _Deletes(ManifestWriterV2):
    """A manifest of delete files, which pyiceberg does not write."""

    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


def add_deletes(
    table: Table, rows: pa.Table, content: DataFileContent, equality_ids: Sequence[int] | None = None
) -> None:
    """Add a delete file to a table of Iceberg, in one snapshot."""
    file = folder_of(table) / "data" / f"{uuid4()}-deletes.parquet"
    pq.write_table(rows, file)
    _append(table, f"file://{file}", rows.num_rows, file.stat().st_size, content, equality_ids)


def add_file(table: Table, address: str, rows: int = 1, size: int = 1) -> None:
    """Add a data file to a table of Iceberg as a hostile writer would: whatever its address is."""
    _append(table, address, rows, size, DataFileContent.DATA, None)


def _append(  # noqa: PLR0913, PLR0917 - what a file of a table has
    table: Table, address: str, rows: int, size: int, content: DataFileContent, equality_ids: Sequence[int] | None
) -> None:
    described = DataFile.from_args(
        2,
        content=content,
        file_path=address,
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=rows,
        file_size_in_bytes=size,
        equality_ids=equality_ids,
    )
    described.spec_id = 0
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as update:
        if content is not DataFileContent.DATA:
            update.new_manifest_writer = lambda spec: _Deletes(  # type: ignore[method-assign]
                spec, table.schema(), update.new_manifest_output(), update.snapshot_id, "gzip"
            )
        update.append_data_file(described)


def stage(table: Table, rows: pa.Table, name: str) -> int:
    """Add rows to main in a snapshot that no branch has, as Spark does with `spark.wap.id`; its id."""
    transaction = Transaction(table)
    transaction.append(rows, {"wap.id": name})
    (update,) = (each for each in transaction._updates if isinstance(each, AddSnapshotUpdate))  # noqa: SLF001
    table.catalog.commit_table(table, (), (update,))
    return update.snapshot.snapshot_id


def listed_again(table: Table, snapshot: int, change: Callable[[list[ManifestFile]], list[ManifestFile]]) -> None:
    """Another list of manifests for a snapshot, in the place of its own."""
    found = table.snapshot_by_id(snapshot)
    assert found is not None
    manifests = change(list(read_manifest_list(table.io.new_input(found.manifest_list))))
    file = Path(found.manifest_list.removeprefix("file://"))
    file.unlink()
    with write_manifest_list(
        2, table.io.new_output(found.manifest_list), snapshot, found.parent_snapshot_id, found.sequence_number, "gzip"
    ) as writer:
        writer.add_manifests(manifests)


def newer(manifests: list[ManifestFile]) -> list[ManifestFile]:
    """The oldest data has a sequence number after that of its deletes, which are of it no more."""
    data = (each for each in manifests if each.content is ManifestContent.DATA and each.added_rows_count)
    oldest = min(data, key=lambda each: each.sequence_number)
    oldest.sequence_number = oldest.min_sequence_number = 9
    return manifests


def deleted_positions(table: Table, *positions: int) -> pa.Table:
    """The rows of a file of position deletes for the first data file of a table of Iceberg."""
    (task, *_) = table.scan().plan_files()
    names = [task.file.file_path] * len(positions)
    return pa.table({"file_path": names, "pos": pa.array(positions, pa.int64())}, schema=_POSITIONS)


_POSITIONS = pa.schema(
    [
        pa.field("file_path", pa.string(), nullable=False, metadata={"PARQUET:field_id": "2147483546"}),
        pa.field("pos", pa.int64(), nullable=False, metadata={"PARQUET:field_id": "2147483545"}),
    ]
)


def add_to_log(table: Path, *actions: dict[str, Any]) -> None:
    """Add a version to a table of Delta, as a hostile writer would."""
    number = 1 + max(int(each.name[:20]) for each in (table / "_delta_log").glob("*.json"))
    text = "".join(f"{json.dumps(each)}\n" for each in actions)
    (table / "_delta_log" / f"{number:020d}.json").write_text(text)


def added(path: str, size: int, **more: Any) -> dict[str, Any]:
    """The action of Delta that adds a data file."""
    return {
        "add": {"path": path, "partitionValues": {}, "size": size, "modificationTime": 1, "dataChange": True, **more}
    }


def deletion_vector(*rows: int) -> dict[str, Any]:
    """A deletion vector of Delta that is in the log itself: no writer in Python makes one."""
    bitmap = struct.pack("<IIHHI", 12346, 1, 0, len(rows) - 1, 16) + b"".join(struct.pack("<H", row) for row in rows)
    body = struct.pack("<IQI", 1681511377, 1, 0) + bitmap
    padded = body + bytes(-len(body) % 4)
    return {
        "storageType": "i",
        "pathOrInlineDv": _z85(padded),
        "sizeInBytes": len(body),
        "cardinality": len(rows),
    }


def _z85(data: bytes) -> str:
    standard = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
    z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    return base64.b85encode(data).decode().translate(str.maketrans(standard, z85))
