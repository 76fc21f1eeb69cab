"""Tables of a catalog: one snapshot at a time, on the one that was read; in memory, and with Iceberg's library."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import parquet_file_to_data_file
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update import AddSnapshotUpdate

from lakegate.base.errors import ConditionFailed, InputError
from lakegate.features.tables.iceberg_tables import IcebergTables
from lakegate.features.tables.keep_table import (
    CatalogTables,
    FilesRewritten,
    ShownState,
    TableSnapshot,
    table_name,
)
from lakegate.gate.ledger.blocks import TableFile
from lakegate.gate.ports import Address
from tests.fakes import Memory
from tests.fakes.tables import MemoryTables

DATASET = "shop/orders_v1"


class Catalog(Protocol):
    """A catalog, and the lake that its tables are of."""

    tables: CatalogTables

    def write(self, key: str, *rows: int) -> TableFile:
        """A data file."""
        ...

    def read(self) -> list[int]:
        """The rows that a reader of the table gets."""
        ...

    def rewrite(self) -> None:
        """Another program puts all rows into one file."""
        ...

    def change(self) -> None:
        """Another program adds a row."""
        ...


class InMemory:
    def __init__(self) -> None:
        self.objects = Memory.of("lake").objects
        self.tables = MemoryTables(self.objects, "lake")
        self.rows: dict[str, tuple[int, ...]] = {}

    def write(self, key: str, *rows: int) -> TableFile:
        self.objects.put(Address("lake", key), bytes(rows))
        self.rows[key] = rows
        return TableFile(key, len(rows))

    def read(self) -> list[int]:
        return sorted(row for key in self.tables.rows(DATASET) for row in self.rows[key])

    def rewrite(self) -> None:
        self.rows["rewritten"] = tuple(self.read())
        self.tables.write_foreign(DATASET, ("rewritten",), replaces=True)

    def change(self) -> None:
        self.rows["foreign"] = (99,)
        self.tables.write_foreign(DATASET, (*self.tables.rows(DATASET), "foreign"), replaces=False)


class OnIceberg:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.catalog = SqlCatalog("lake", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}")
        self.catalog.create_namespace("accepted")
        self.tables = IcebergTables(lambda: self.catalog, "accepted", f"file://{folder}")

    def write(self, key: str, *rows: int) -> TableFile:
        pq.write_table(pa.table({"n": pa.array(rows, pa.int64())}), self.folder / key, compression="zstd")
        return TableFile(key, len(rows))

    def read(self) -> list[int]:
        return sorted(self.catalog.load_table(self.name).scan().to_arrow()["n"].to_pylist())

    @property
    def name(self) -> tuple[str, str]:
        return "accepted", table_name(DATASET)

    def rewrite(self) -> None:
        """As a compaction of Spark or Glue does: pyiceberg has none."""
        table = self.catalog.load_table(self.name)
        pq.write_table(table.scan().to_arrow(), self.folder / "rewritten.parquet")
        transaction = table.transaction()
        with transaction.update_snapshot().overwrite() as files:
            for each in table.scan().plan_files():
                files.delete_data_file(each.file)
            address = f"file://{self.folder}/rewritten.parquet"
            files.append_data_file(parquet_file_to_data_file(table.io, table.metadata, address))
        for update in transaction._updates:  # noqa: SLF001 - pyiceberg makes no snapshot of this kind
            if isinstance(update, AddSnapshotUpdate) and update.snapshot.summary is not None:
                object.__setattr__(update.snapshot.summary, "operation", Operation.REPLACE)
        transaction.commit_transaction()

    def change(self) -> None:
        self.catalog.load_table(self.name).append(pa.table({"n": pa.array([99], pa.int64())}))


@pytest.fixture(params=["memory", "iceberg"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Catalog:
    """The same suite for both."""
    return InMemory() if request.param == "memory" else OnIceberg(tmp_path)


def snapshot(height: int, *added: TableFile, removed: tuple[str, ...] = (), is_whole: bool = False) -> TableSnapshot:
    about = (("workload", f"w{height}"), ("verdict", "accepted"))
    return TableSnapshot(DATASET, height, f"d{height}", about, added, removed, is_whole)


def made(catalog: Catalog) -> tuple[TableFile, ShownState]:
    """A table with one delivery of two rows."""
    first = catalog.write("a", 1, 2)
    catalog.tables.make(DATASET, first)
    return first, catalog.tables.commit(snapshot(0, first), ShownState())


def test_a_table_is_made_once_and_is_empty(catalog: Catalog) -> None:
    assert catalog.tables.shown(DATASET) is None
    first = catalog.write("a", 1, 2)
    catalog.tables.make(DATASET, first)
    catalog.tables.make(DATASET, first)

    assert catalog.tables.shown(DATASET) == ShownState()


def test_a_table_shows_the_height_and_the_rows_of_its_newest_snapshot(catalog: Catalog) -> None:
    _, shown = made(catalog)
    after = catalog.tables.commit(snapshot(4, catalog.write("b", 3)), shown)

    assert (shown.height, shown.digest, after.height, after.digest) == (0, "d0", 4, "d4")
    assert catalog.tables.shown(DATASET) == after
    assert catalog.read() == [1, 2, 3]


def test_of_two_commits_on_one_snapshot_the_second_is_refused(catalog: Catalog) -> None:
    """Also the same one again: whoever lost the answer reads what the table shows."""
    _, shown = made(catalog)
    following = snapshot(1, catalog.write("b", 3))
    after = catalog.tables.commit(following, shown)
    for again in (following, snapshot(1, catalog.write("c", 4))):
        with pytest.raises(ConditionFailed):
            catalog.tables.commit(again, shown)

    assert (catalog.tables.shown(DATASET), catalog.read()) == (after, [1, 2, 3])


def test_a_table_that_is_not_there_is_not_changed(catalog: Catalog) -> None:
    with pytest.raises(ConditionFailed):
        catalog.tables.commit(snapshot(0, catalog.write("a", 1)), ShownState())


def test_files_leave_the_table_in_the_snapshot_that_others_come_in(catalog: Catalog) -> None:
    first, shown = made(catalog)
    after = catalog.tables.commit(snapshot(1, catalog.write("b", 3), removed=(first.key,)), shown)
    back = catalog.tables.commit(snapshot(2, first, removed=("b",)), after)

    assert (after.height, back.height, catalog.read()) == (1, 2, [1, 2])


def test_the_last_rows_leave_a_table(catalog: Catalog) -> None:
    first, shown = made(catalog)
    after = catalog.tables.commit(snapshot(1, removed=(first.key,)), shown)

    assert (catalog.tables.shown(DATASET), catalog.read()) == (after, [])


def test_a_file_that_is_not_in_the_table_cannot_leave_it(catalog: Catalog) -> None:
    _, shown = made(catalog)
    with pytest.raises(FilesRewritten):
        catalog.tables.commit(snapshot(1, removed=("b",)), shown)

    assert (catalog.tables.shown(DATASET), catalog.read()) == (shown, [1, 2])


def test_rows_in_other_files_are_the_same_rows_and_all_files_can_be_listed_again(catalog: Catalog) -> None:
    """A compaction keeps the height that is shown; of a delivery that is to leave, its files are not there any more."""
    first, _ = made(catalog)
    catalog.rewrite()
    shown = catalog.tables.shown(DATASET)
    assert shown is not None
    second = catalog.write("b", 3)
    after = catalog.tables.commit(snapshot(1, second), shown)

    assert (shown.height, after.height, catalog.read()) == (0, 1, [1, 2, 3])
    with pytest.raises(FilesRewritten):
        catalog.tables.commit(snapshot(2, removed=(first.key,)), after)
    catalog.tables.commit(snapshot(2, second, is_whole=True), after)
    assert catalog.read() == [3]


def test_rows_that_another_program_changed_are_an_error(catalog: Catalog) -> None:
    made(catalog)
    catalog.change()
    with pytest.raises(InputError, match="another program has changed rows"):
        catalog.tables.shown(DATASET)
