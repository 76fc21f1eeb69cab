"""The rows of a table are those that a delivery is accepted with, for generated contracts and files, compacted and not."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from pyiceberg.catalog.sql import SqlCatalog

from lakegate.engine.read.data_source import path_of
from lakegate.features.tables.iceberg_tables import IcebergTables
from lakegate.features.tables.keep_table import ShownState, TableSnapshot, table_name
from lakegate.features.tables.table_description import COMPACTED, TableDescription
from lakegate.gate.ledger.blocks import TableFile
from lakegate.plan.plan import Plan
from tests.deliveries.typed import plan_in, stored_values, typed_files
from tests.reference.sampling import sampled
from tests.reference.typed_rows import Delivered, as_csv, as_json_lines, of_csv, of_json, values_of_csv, values_of_json

DATASET = "x/m_v1"
ASKED = TableDescription(((COMPACTED, "true"),))


@dataclass(frozen=True, slots=True)
class Published:
    """The table of a dataset, of which each delivery is one snapshot."""

    folder: Path
    catalog: SqlCatalog
    tables: IcebergTables

    def deliver(self, plan: Plan, bodies: Sequence[bytes]) -> None:
        shown = ShownState()
        for number, body in enumerate(bodies):
            written = typed_files(plan, self.folder / str(number), body)
            files = tuple(TableFile(str(path_of(each.uri).relative_to(self.folder)), each.rows) for each in written)
            if not files:
                continue
            self.tables.make(DATASET, files[0])
            snapshot = TableSnapshot(DATASET, number, "d", (), files, description=ASKED)
            shown = self.tables.commit(snapshot, shown)

    def compact(self) -> None:
        shown = self.tables.shown(DATASET)
        if shown is not None:
            merged = self.tables.merge(DATASET, self.tables.files(DATASET, shown))
            self.tables.put(DATASET, merged, shown)

    def rows(self) -> list[list[Any]]:
        """What is in the files that the table lists, in the order in which they came."""
        shown = self.tables.shown(DATASET)
        listed = [] if shown is None else self.tables.files(DATASET, shown)
        found = [stored_values(pq.read_table(each.address.removeprefix("file://"))) for each in listed]
        return [row for rows in found for row in rows]

    def read(self) -> list[list[Any]]:
        """What a reader of the catalog gets, by the number of the row."""
        if self.tables.shown(DATASET) is None:
            return []
        table: pa.Table = self.catalog.load_table(("accepted", table_name(DATASET))).scan().to_arrow()
        return stored_values(table.sort_by("row"))


@contextmanager
def published() -> Iterator[Published]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        catalog = SqlCatalog("lake", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}")
        catalog.create_namespace("accepted")
        yield Published(folder, catalog, IcebergTables(lambda: catalog, "accepted", f"file://{folder}"))


def halves(found: Delivered) -> tuple[Delivered, Delivered]:
    """Two deliveries."""
    middle = len(found.rows) // 2
    return replace(found, rows=found.rows[:middle]), replace(found, rows=found.rows[middle:])


def enforced(contract: bytes) -> bytes:
    """The contract, by which rows that are not as declared are rejected alone."""
    document = json.loads(contract)
    del document["models"]["m"]["config"]["lakegate"]["mode"]
    document["models"]["m"]["config"]["lakegate"] |= {"onReject": "rows", "maxRejectedShare": 1}
    return json.dumps(document).encode()


@sampled(6, 200)
@given(of_csv())
def test_a_table_has_the_rows_that_are_accepted(found: Delivered) -> None:
    """Each once, with its values, after a compaction, too; and none that is rejected, because a value is none of its type."""
    typed = values_of_csv(found)
    accepted = [
        values
        for texts, values in zip(found.rows, typed, strict=True)
        if not any(text and value is None for text, value in zip(texts, values, strict=True))
    ]
    for contract, expected in ((found.contract("csv"), typed), (enforced(found.contract("csv")), accepted)):
        with published() as table:
            table.deliver(plan_in(contract), [as_csv(each) for each in halves(found) if each.rows])
            before = table.rows(), table.read()
            table.compact()
            after = table.rows(), table.read()

            assert before == after == (expected, expected)


@sampled(6, 200)
@given(of_json())
def test_a_table_has_the_nested_rows_that_are_accepted(found: Delivered) -> None:
    """A list or record that is not there stays away, and is not empty."""
    with published() as table:
        plan = plan_in(found.contract("jsonl"))
        table.deliver(plan, [as_json_lines(each) for each in halves(found) if each.rows])
        before = table.rows()
        table.compact()

        assert before == table.rows() == values_of_json(found)
