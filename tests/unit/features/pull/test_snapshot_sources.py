"""Snapshots as sources of deliveries: the rows of exactly one, with what was pinned in the footer, and what is refused."""

from __future__ import annotations

import hashlib
import io
import json
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg import catalog as pyiceberg_catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import DataFileContent
from pyiceberg.types import StringType
from pyiceberg.utils.config import Config

from lakegate.base.errors import InputError, NotFound, PortError
from lakegate.base.extension_points import load_extension
from lakegate.contract.delivery_policy import Pull
from lakegate.features.pull.pull_sources import OpenedSource, SourceChanged, SourceIdentity
from lakegate.features.pull.snapshots import iceberg_branches, snapshot_files
from lakegate.features.pull.snapshots.gated_tables import PINS, GatedBranch, version_of
from lakegate.features.pull.snapshots.iceberg_branches import IcebergBranches, S3Files, SnapshotSource
from lakegate.local_check.table_readers import POINT, TablePlace
from tests.contract.test_gated_tables import identify
from tests.deliveries.tables import add_deletes, add_file, deleted_positions, listed_again, newer
from tests.unit.aws.conftest import Cloud

SOURCE = Pull("iceberg://sales/orders?branch=audit")
ADDED = replace(SOURCE, rows="added")
BRANCH = GatedBranch("sales", "orders", "audit")


class Producer:
    """A table in a database of this machine, which pyiceberg finds by variables."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        settings = {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}"}
        for name, value in settings.items():
            monkeypatch.setenv(f"PYICEBERG_CATALOG__LAKE__{name.upper()}", value)
        monkeypatch.setattr(pyiceberg_catalog, "_ENV_CONFIG", Config())
        self.catalog = SqlCatalog("lake", **{name: value for name, value in settings.items() if name != "type"})
        self.catalog.create_namespace("sales")
        columns = pa.schema([("n", pa.int64()), ("name", pa.string())])
        self.table = self.catalog.create_table("sales.orders", columns, properties={"format-version": "2"})
        self.table.append(columns.empty_table())  # pyiceberg writes to no branch of a table without a snapshot
        self.begin = self.table.metadata.current_snapshot_id or 0
        self.table.manage_snapshots().create_branch(self.begin, "audit").commit()
        self.tables = IcebergBranches(lambda: self.catalog, identify, frozenset({"lake", "landing"}))
        self.source = SnapshotSource(self.tables, frozenset({"lake"}), "lake")
        self.append(1, 2)

    def append(self, *numbers: int, branch: str = "audit", **more: Any) -> None:
        self.table = self.catalog.load_table("sales.orders")
        rows = {"n": pa.array(numbers, pa.int64()), "name": [f"row {each}" for each in numbers]}
        self.table.append(pa.table(rows | {name: pa.array(each) for name, each in more.items()}), branch=branch)
        self.table = self.catalog.load_table("sales.orders")

    @property
    def version(self) -> str:
        state = self.tables.state(BRANCH)
        assert state is not None
        return version_of(state.uuid, *state.heads)

    def opened(
        self, version: str = "", etag: str = "", at: int = 0, pull: Pull = SOURCE
    ) -> AbstractContextManager[OpenedSource]:
        begun = SourceIdentity(etag, "", version or self.version)
        return self.source.open("shop", pull, SourceIdentity(), begun, at)

    def read(self, version: str = "", pull: Pull = SOURCE) -> pa.Table:
        with self.opened(version, pull=pull) as found:
            return pq.read_table(io.BytesIO(found.read(1 << 20)))

    def reason(self, version: str = "", pull: Pull = SOURCE) -> str:
        with pytest.raises(PortError) as refused, self.opened(version, pull=pull):
            pass
        return str(refused.value)


@pytest.fixture
def producer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Producer:
    return Producer(tmp_path, monkeypatch)


def test_a_snapshot_has_its_own_rows_and_says_what_it_is(producer: Producer) -> None:
    """Whatever the branch has afterwards."""
    version, first = producer.version, producer.read()
    with producer.opened() as found:
        footer = pq.read_metadata(io.BytesIO(found.read(1 << 20))).metadata
    producer.append(3)
    again = producer.read(version)
    stated = json.loads(footer[PINS.encode()])
    files = producer.tables.files(BRANCH, int(stated["snapshot"]))

    assert files is not None
    assert (first["n"].to_pylist(), again.equals(first, check_metadata=True)) == ([1, 2], True)
    assert stated == {
        "source": SOURCE.source,
        "uuid": str(producer.table.metadata.table_uuid),
        "snapshot": version.partition("/")[2],
        "main": str(producer.begin),
        "files": files.digest,
        "number": files.number,
    }


def moved(producer: Producer, branch: str = "audit") -> int:
    """The newest snapshot of a branch is main."""
    table = producer.catalog.load_table("sales.orders")
    found = table.snapshot_by_name(branch)
    assert found is not None
    table.manage_snapshots().set_current_snapshot(snapshot_id=found.snapshot_id).commit()
    producer.table = producer.catalog.load_table("sales.orders")
    return found.snapshot_id


def with_deletes(producer: Producer, position: int) -> None:
    """A row of the oldest data file of main is deleted."""
    *_, task = producer.table.scan().plan_files()
    deletes = deleted_positions(producer.table, position)
    deletes = deletes.set_column(0, deletes.schema.field(0), pa.array([task.file.file_path]))
    add_deletes(producer.table, deletes, DataFileContent.POSITION_DELETES)
    producer.table = producer.catalog.load_table("sales.orders")


def test_what_a_snapshot_added_are_its_rows_alone(producer: Producer) -> None:
    """Beyond main, which has deletes; after a change of columns. Its footer says so, and since which snapshot."""
    moved(producer)
    with_deletes(producer, 1)
    main = producer.table.metadata.current_snapshot_id or 0
    producer.table.manage_snapshots().remove_branch("audit").commit()
    producer.table.manage_snapshots().create_branch(main, "audit").commit()
    producer.append(3, 4)
    with producer.table.update_schema() as change:
        change.add_column("state", StringType())
    producer.append(5, state=["new"])
    with producer.opened(pull=ADDED) as found:
        body = found.read(1 << 20)
    rows, again = pq.read_table(io.BytesIO(body)), producer.read(pull=ADDED)
    stated = json.loads(pq.read_metadata(io.BytesIO(body)).metadata[PINS.encode()])
    files = producer.tables.files(BRANCH, int(stated["snapshot"]), main)

    assert sorted(rows.to_pylist(), key=lambda row: row["n"]) == [
        {"n": 3, "name": "row 3", "state": None},
        {"n": 4, "name": "row 4", "state": None},
        {"n": 5, "name": "row 5", "state": "new"},
    ]
    assert again.equals(rows, check_metadata=True)
    assert files is not None
    assert (stated["rows"], stated["main"], stated["files"]) == ("added", str(main), files.digest)
    assert producer.read()["n"].to_pylist().count(1) == 1


def test_a_snapshot_that_adds_no_row_is_an_empty_file(producer: Producer) -> None:
    moved(producer)
    before = producer.version
    producer.table.append(producer.table.schema().as_arrow().empty_table(), branch="audit")
    found = producer.read(pull=ADDED)

    assert producer.version != before
    assert (found.num_rows, found.column_names) == (0, ["n", "name"])


def test_a_snapshot_that_deletes_adds_nothing(producer: Producer) -> None:
    moved(producer)
    producer.table.delete("n = 1", branch="audit")

    assert producer.reason(pull=ADDED) == "rows-changed"
    assert producer.read()["n"].to_pylist() == [2]


def test_what_was_added_to_another_main_is_not_known(producer: Producer) -> None:
    """Main went elsewhere, or to the snapshot."""
    version = producer.version
    producer.append(7, branch="main")
    assert producer.reason(version, pull=ADDED) == "main-moved"
    moved(producer)

    assert producer.reason(version, pull=ADDED) == "main-moved"


def test_added_rows_that_are_deleted_and_files_that_are_not_there_are_refused(
    producer: Producer, tmp_path: Path
) -> None:
    """Which files a reader is asked for was found by other reading."""
    moved(producer)
    with_deletes(producer, 0)
    (task,) = producer.table.scan().plan_files()
    write = load_extension(POINT, "iceberg")
    place = TablePlace("lake.sales.orders", in_catalog=True, only=frozenset({task.file.file_path}))
    with pytest.raises(InputError, match="are deleted"):
        write(place, tmp_path / "rows", {})
    with pytest.raises(InputError, match="none of the snapshot"):
        write(replace(place, only=frozenset({"s3://a/b"})), tmp_path / "rows", {})


def test_a_snapshot_has_the_rows_that_its_own_list_of_manifests_says(producer: Producer) -> None:
    """By the number of a manifest that deletes are compared with, which another list has said otherwise before."""
    moved(producer)
    with_deletes(producer, 0)
    producer.append(3, branch="main")
    table = producer.table
    newest, before = table.metadata.snapshots[-1], table.metadata.snapshots[-2]
    listed_again(table, newest.snapshot_id, newer)
    before.manifests(table.io)
    version = version_of(str(table.metadata.table_uuid), newest.snapshot_id)

    assert sorted(producer.read(version)["n"].to_pylist()) == [1, 2, 3]


def test_a_copy_is_gone_on_with_where_it_stopped(producer: Producer) -> None:
    """Written once more it has the same bytes; of other bytes nothing is gone on with."""
    with producer.opened() as found:
        body, identity, size = found.read(1 << 20), found.identity, found.size
    with producer.opened(etag=identity.etag, at=100) as rest:
        assert (rest.identity, rest.size, rest.read(1 << 20)) == (identity, size, body[100:])
    with pytest.raises(SourceChanged), producer.opened(etag="0" * 64):
        pass

    assert (identity.etag, size) == (hashlib.sha256(body).hexdigest(), len(body))


def test_deletes_and_other_schemas_are_applied_by_the_library(producer: Producer) -> None:
    """Position deletes, a column that came later, and one that was renamed."""
    with producer.table.update_schema() as change:
        change.add_column("state", StringType())
        change.rename_column("name", "title")
    producer.table = producer.catalog.load_table("sales.orders")
    rows = {"n": pa.array([3], pa.int64()), "title": ["row 3"], "state": ["new"]}
    producer.table.append(pa.table(rows), branch="audit")
    producer.table = producer.catalog.load_table("sales.orders")
    table = producer.table
    table.manage_snapshots().set_current_snapshot(snapshot_id=table.snapshot_by_name("audit").snapshot_id).commit()  # type: ignore[union-attr]
    table = producer.catalog.load_table("sales.orders")
    (task,) = (each for each in table.scan().plan_files() if each.file.record_count == len((1, 2)))
    deletes = deleted_positions(table, 1)
    deletes = deletes.set_column(0, deletes.schema.field(0), pa.array([task.file.file_path]))
    add_deletes(table, deletes, DataFileContent.POSITION_DELETES)
    newest = producer.catalog.load_table("sales.orders").metadata.current_snapshot_id
    found = producer.read(version_of(str(table.metadata.table_uuid), newest or 0))

    assert sorted(found.to_pylist(), key=lambda row: row["n"]) == [
        {"n": 1, "title": "row 1", "state": None},
        {"n": 3, "title": "row 3", "state": "new"},
    ]


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        (lambda producer: producer.catalog.drop_table("sales.orders"), "table-missing"),
        (lambda producer: producer.catalog.rename_table("sales.orders", "sales.other"), "table-missing"),
        (lambda producer: _data(producer).unlink(), "snapshot-expired"),
    ],
)
def test_what_is_not_there_is_named(producer: Producer, act: Any, reason: str) -> None:
    version = producer.version
    act(producer)

    assert producer.reason(version) == reason


def test_another_table_and_another_snapshot_are_named(producer: Producer) -> None:
    uuid, _, snapshot = producer.version.partition("/")

    assert producer.reason(f"{uuid[:-1]}x/{snapshot}") == "table-replaced"
    assert producer.reason(f"{uuid}/99") == "snapshot-expired"


def test_equality_deletes_are_refused(producer: Producer) -> None:
    """Pyiceberg does not apply them: rows that are deleted would be judged."""
    producer.append(5, branch="main")
    field = pa.field("n", pa.int64(), metadata={"PARQUET:field_id": "1"})
    add_deletes(producer.table, pa.table({"n": [5]}, schema=pa.schema([field])), DataFileContent.EQUALITY_DELETES, [1])
    newest = producer.catalog.load_table("sales.orders").metadata.current_snapshot_id

    assert producer.reason(version_of(str(producer.table.metadata.table_uuid), newest or 0)) == "table-refused"


@pytest.mark.parametrize("pull", [SOURCE, ADDED])
@pytest.mark.parametrize(
    ("module", "limit", "most", "reason"),
    [
        (iceberg_branches, "MOST_BYTES", 1, "too-large"),
        (snapshot_files, "MOST_FILES", 1, "too-many-files"),
        (snapshot_files, "MOST_FILES", 5, "too-many-files"),
    ],
)
def test_a_table_beyond_a_limit_is_refused(  # noqa: PLR0913, PLR0917 - a limit
    producer: Producer,
    monkeypatch: pytest.MonkeyPatch,
    module: ModuleType,
    limit: str,
    most: int,
    reason: str,
    pull: Pull,
) -> None:
    """The limit of files is one of their names, and one of what a manifest says."""
    for number in range(most):
        producer.append(number)
    monkeypatch.setattr(module, limit, most)

    assert producer.reason(pull=pull) == reason


@pytest.mark.parametrize("address", ["s3://lake/accepted/other/part.parquet", "s3a://landing/x.parquet"])
def test_a_file_of_the_stack_is_no_file_of_a_table(producer: Producer, address: str) -> None:
    """Its rows are of other datasets, which the producer may have no right to."""
    producer.append(5, branch="main")
    add_file(producer.table, address)
    newest = producer.catalog.load_table("sales.orders").metadata.current_snapshot_id

    assert producer.reason(version_of(str(producer.table.metadata.table_uuid), newest or 0)) == "bucket-refused"


def test_the_copy_reads_the_folder_of_the_table_alone(producer: Producer, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a catalog names may be another table since its files were asked for."""
    places, written = list[TablePlace](), load_extension(POINT, "iceberg")

    def write(place: TablePlace, *more: Any) -> Any:
        places.append(place)
        return written(place, *more)

    monkeypatch.setattr(iceberg_branches, "load_extension", lambda *_: write)
    version = producer.version
    producer.read(version)

    wanted = TablePlace("lake.sales.orders", version.partition("/")[2], True, frozenset({"lake"}), whole_store=False)
    assert places == [wanted]


def _data(producer: Producer) -> Path:
    (task,) = producer.table.scan(snapshot_id=int(producer.version.partition("/")[2])).plan_files()
    return Path(task.file.file_path.removeprefix("file://"))


def test_s3_says_what_an_object_is(cloud: Cloud) -> None:
    """By its size and ETag."""
    cloud.s3.create_bucket(Bucket="sales")
    files, said = S3Files(cloud.s3), []
    for body in (b"one", b"two", b"one"):
        cloud.s3.put_object(Bucket="sales", Key="a b.parquet", Body=body)
        said.append(files.identify("s3a://sales/a b.parquet"))
    with pytest.raises(NotFound):
        files.identify("s3://sales/absent")

    assert said[0] == said[2] != said[1]
    assert said[0].startswith("3:")
