"""Tables that several workers keep at the same time, in one catalog, beside a compaction and another program."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from lakegate.base.errors import ConditionFailed, InputError
from lakegate.features.tables.iceberg_tables import IcebergTables
from lakegate.features.tables.keep_table import HEIGHT, FilesRewritten, ShownState, TableSnapshot, table_name
from lakegate.features.tables.table_description import COMPACTED, TableDescription
from lakegate.gate.ledger.blocks import TableFile
from tests.contract.test_tables import DATASET, Catalog, InMemory, OnIceberg, made, snapshot

DELIVERIES = 20
WORKERS = 5
DATASETS = ("shop/orders_v1", "shop/returns_v1")
ASKED = TableDescription(((COMPACTED, "true"),))


@pytest.fixture(params=["memory", "iceberg"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Catalog:
    """The same suite for both."""
    return InMemory() if request.param == "memory" else OnIceberg(tmp_path)


def test_another_program_that_writes_before_a_commit_is_not_overwritten(catalog: Catalog) -> None:
    """The commit is refused, and the next look reports it."""
    _, shown = made(catalog)
    following = snapshot(1, catalog.write("b", 3))
    catalog.change()
    with pytest.raises(ConditionFailed):
        catalog.tables.commit(following, shown)
    with pytest.raises(InputError, match="another program has changed rows"):
        catalog.tables.shown(DATASET)

    assert catalog.read() == [1, 2, 99]


class Lake:
    """Two datasets in one catalog, each with the same ledger of deliveries of one row."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.opened().create_namespace("accepted")
        for place, dataset in enumerate(DATASETS):
            for height in range(DELIVERIES):
                rows = pa.table({"n": pa.array([100 * place + height], pa.int64())})
                pq.write_table(rows, folder / self.file(dataset, height).key)

    def opened(self) -> SqlCatalog:
        """A connection of its own, as another function has; one that finds the database locked waits."""
        address = f"sqlite:///{self.folder}/catalog.db?timeout=60"
        return SqlCatalog("lake", uri=address, warehouse=f"file://{self.folder}")

    def file(self, dataset: str, height: int) -> TableFile:
        return TableFile(f"{table_name(dataset)}-{height}", 1)

    def tables(self) -> IcebergTables:
        catalog = self.opened()
        return IcebergTables(lambda: catalog, "accepted", f"file://{self.folder}")

    def keep(self, _worker: int) -> None:
        """Both tables up to the top, as `keep_table` does: on what is shown, and again where another one was first."""
        tables, open_ones = self.tables(), set(DATASETS)
        while open_ones:
            for dataset in sorted(open_ones):
                shown = tables.shown(dataset)
                if shown is None:
                    tables.make(dataset, self.file(dataset, 0))
                elif shown.height == DELIVERIES - 1:
                    open_ones.remove(dataset)
                else:
                    self.attempt(lambda: tables.commit(self.next(dataset, shown), shown))  # noqa: B023 - called at once

    def next(self, dataset: str, shown: ShownState) -> TableSnapshot:
        height = shown.height + 1
        one = TableSnapshot(dataset, height, f"d{height}", (), (self.file(dataset, height),))
        return replace(one, description=ASKED)

    def attempt(self, do: Callable[[], object]) -> None:
        try:
            do()
        except (ConditionFailed, FilesRewritten):
            return

    def compact(self, _worker: int) -> None:
        """Files are put together, whatever others commit."""
        tables = self.tables()
        for dataset in DATASETS * DELIVERIES:
            shown = tables.shown(dataset)
            listed = tables.files(dataset, shown) if shown is not None else ()
            if len(listed) > 1:
                merged, now = tables.merge(dataset, listed[:3]), tables.shown(dataset)
                assert now is not None
                self.attempt(lambda: tables.put(dataset, merged, now))  # noqa: B023 - called at once


def test_two_tables_in_one_catalog_are_kept_by_five_workers_while_two_compact_them(tmp_path: Path) -> None:
    """Twenty deliveries each: every one has one snapshot, in the order of the ledger, and every row is there once."""
    lake = Lake(tmp_path)
    with ThreadPoolExecutor(WORKERS + 2) as pool:
        running = [pool.submit(lake.keep, number) for number in range(WORKERS)]
        running += [pool.submit(lake.compact, number) for number in range(2)]
        for each in running:
            each.result()

    for place, dataset in enumerate(DATASETS):
        table = lake.opened().load_table(("accepted", table_name(dataset)))
        summaries = [each.summary.additional_properties for each in table.snapshots() if each.summary]
        assert [int(each[HEIGHT]) for each in summaries if HEIGHT in each] == list(range(DELIVERIES))
        expected = [100 * place + height for height in range(DELIVERIES)]
        assert sorted(table.scan().to_arrow()["n"].to_pylist()) == expected
