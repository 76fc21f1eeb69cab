"""Typed rows on a disk are those that `lakegate.read` has, for generated contracts and files."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lakegate as api
from lakegate.base.errors import InputError
from lakegate.contract.delivery_policy import Policy
from lakegate.engine.read.data_source import path_of
from lakegate.gate.ports import Address
from lakegate.library import stack_api
from lakegate.library.dataset_rows import RowsOfDataset
from lakegate.plan.dataset_about import DatasetAbout, FieldAbout
from lakegate.plan.plan import Plan
from lakegate.plan.slice_order import SliceOrder, WrittenSlice
from lakegate.transfer.download_files import RowsForm
from lakegate.transfer.download_rows import bring_rows
from tests.deliveries.delivery import plan_of
from tests.deliveries.sliced import slices
from tests.deliveries.typed import plan_in, stored_values
from tests.engine.test_snapshots import PLAN, Line, csv
from tests.fakes.fault_injector import FaultInjector
from tests.fakes.objects import MemoryObjects
from tests.reference.sampling import sampled
from tests.reference.typed_rows import Delivered, as_csv, as_json_lines, of_csv, of_json

DATASET, LAKE = "x/m_v1", "lake"
PLACE = f"accepted/{DATASET}/ingest_date=2026-11-30/workload={{}}/part-{{:05}}.{{}}"
MOMENT = "2026-11-30T00:00:00.000000Z"


class Lake(SimpleNamespace):
    """The accepted deliveries of a dataset in a lake bucket, and what `RowsOfDataset` asks of a gate."""

    def __init__(self) -> None:
        clock = SimpleNamespace(now=lambda: datetime(2026, 11, 30, tzinfo=UTC))
        super().__init__(objects=MemoryObjects(clock, FaultInjector(), (LAKE,)), listed=[], plans={})  # type: ignore[arg-type] # its time alone

    def in_lake(self, key: str, version: str) -> Address:
        return Address(LAKE, key, version)

    def plan_at(self, digest: str, _workload: str) -> bytes:
        return bytes(self.plans[digest])

    def accept(self, plan: Plan, bodies: Sequence[bytes], end: str, **more: object) -> None:
        written = json.dumps(plan.to_json()).encode()
        digest, workload = sha256(written).hexdigest(), sha256(str(len(self.listed)).encode()).hexdigest()
        self.plans[digest] = written
        own = {"height": len(self.listed), "workload": workload, "plan": digest, "published_at": MOMENT, "objects": []}
        for number, body in enumerate(bodies):
            key = PLACE.format(workload, number, end)
            stored = self.objects.put(Address(LAKE, key), body)
            own["objects"].append({"key": key, "version": stored.version, "size": len(body), "checksum": ""})
        self.listed.append(own | more)

    def accept_slices(self, plan: Plan, slices: Sequence[WrittenSlice]) -> None:
        """As slices, whose offsets follow those of before."""
        self.accept(plan, [path_of(each.uri).read_bytes() for each in slices], "parquet", slices=[])
        listed = zip(self.listed[-1]["objects"], slices, strict=True)
        self.listed[-1]["slices"] = [
            {"key": stored["key"], "offset": each.offset, "event_time": [MOMENT]} for stored, each in listed
        ]

    def head(self) -> dict[str, Any]:
        segments = {"count": 0, "heights": 1000}
        return {"line": DATASET, "height": len(self.listed) - 1, "segments": segments, "deliveries": self.listed}

    def read(self) -> pa.Table:
        """As a program reads it."""
        opened = nullcontext((None, self))
        with (
            patch.object(stack_api, "_open", lambda *_, **_of: opened),
            patch.object(stack_api, "head_of", lambda *_: self.head()),
            patch.object(stack_api, "changed_since", lambda *_: (frozenset(), frozenset())),
        ):
            return api.read(DATASET).to_arrow()

    def brought(self, form: RowsForm, folder: Path) -> list[bool]:
        """Whether each file was written."""
        done = bring_rows(RowsOfDataset(self, self.head(), -1), form, folder, skip_lost=False)  # type: ignore[arg-type] # likewise
        assert (done.problem, done.lost, done.removed) == ("", [], [])
        return [each.written for each in done.files]


def with_column(found: Delivered) -> bytes:
    """The contract of a later version, with a column more."""
    document = json.loads(found.contract("csv" if isinstance(found.rows[0], tuple) else "jsonl"))
    document["models"]["m"]["fields"]["added"] = {"type": "string"}
    return json.dumps(document).encode()


def in_files(folder: Path, names: Sequence[str]) -> pa.Table:
    return pa.concat_tables(pq.read_table(folder / each).replace_schema_metadata() for each in names)


def in_database(folder: Path) -> pa.Table:
    with duckdb.connect(str(folder / "m_v1.duckdb"), read_only=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        return connection.sql("FROM m_v1").to_arrow_table()


@pytest.mark.parametrize(
    ("deliveries", "written", "end"), [(of_csv(), as_csv, "csv"), (of_json(), as_json_lines, "jsonl")]
)
def test_rows_on_a_disk_are_those_that_a_program_reads(
    deliveries: st.SearchStrategy[Delivered], written: Callable[[Delivered], bytes], end: str
) -> None:
    """In the order of the deliveries, with the same columns and types, also where a later version added one."""

    @sampled(6, 200)
    @given(deliveries)
    def compare(found: Delivered) -> None:
        middle, lake = len(found.rows) // 2, Lake()
        for number, rows in enumerate((found.rows[:middle], found.rows[middle:])):
            if rows:
                contract = with_column(found) if number else found.contract(end)
                lake.accept(plan_in(contract), [written(replace(found, rows=rows))], end)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            expected, names = lake.read(), [f"{each['height']:012}.parquet" for each in lake.listed]
            assert lake.brought(RowsForm.PARQUET, folder / "it's") == [True] * len(names)
            assert lake.brought(RowsForm.DUCKDB, folder / "it's") == [True]
            assert sorted(each.name for each in (folder / "it's").iterdir()) == [*names, "m_v1.duckdb"]

            for table in (in_files(folder / "it's", names), in_database(folder / "it's")):
                assert table.schema.equals(expected.schema)
                assert repr(stored_values(table)) == repr(stored_values(expected))
            assert lake.brought(RowsForm.PARQUET, folder / "it's") == [False] * len(names)
            assert lake.brought(RowsForm.DUCKDB, folder / "it's") == [False]

    compare()


def test_rows_of_slices_are_those_that_were_not_taken_back(tmp_path: Path) -> None:
    """A snapshot corrects and takes back rows of those before it, so all slices are one file."""
    line, lake = Line(tmp_path / "line"), Lake()
    for rows in ([(1, "a"), (2, "b")], [(1, "a"), (2, "c"), (3, None)], [(1, "a"), (2, "c"), (3, None)], [(3, "d")]):
        line.deliver(csv(rows))
        lake.accept_slices(line.plan, line.results[-1].slices)

    assert lake.brought(RowsForm.PARQUET, tmp_path / "x") == [True]
    assert lake.brought(RowsForm.PARQUET, tmp_path / "x") == [False]
    assert lake.brought(RowsForm.DUCKDB, tmp_path / "x") == [True]
    expected = pa.table({"id": pa.array([3], pa.int64()), "name": ["d"]})
    assert [lake.read(), in_files(tmp_path / "x", ["rows.parquet"]), in_database(tmp_path / "x")] == [expected] * 3


def test_slices_that_take_nothing_back_are_files_of_their_own(tmp_path: Path) -> None:
    """So what is new is fetched alone; a delivery without new rows has an empty file."""
    plan, lake, first = replace(PLAN, policy=Policy()), Lake(), 0
    for number, rows in enumerate(([(1, "a"), (2, "b")], [], [(3, "c")])):
        found = slices(plan, tmp_path / str(number), csv(rows), order=SliceOrder(first)) if rows else ()
        lake.accept_slices(plan, found)
        first += len(rows)

    names = ["000000000000.parquet", "000000000001.parquet", "000000000002.parquet"]
    assert lake.brought(RowsForm.PARQUET, tmp_path / "x") == [True, True, True]
    assert sorted(each.name for each in (tmp_path / "x").iterdir()) == names
    expected = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "name": ["a", "b", "c"]})
    assert [lake.read(), in_files(tmp_path / "x", names)] == [expected] * 2


def test_names_that_differ_in_their_case_alone(tmp_path: Path) -> None:
    """Of two versions: Parquet has both columns, and DuckDB is said to have none."""
    lake = Lake()
    for name in ("id", "ID"):
        plan = plan_of({name: "integer"})
        lake.accept(plan, [f"{name}\n1\n".encode()], "csv")
    lake.brought(RowsForm.PARQUET, tmp_path / "x")
    with pytest.raises(InputError, match="DuckDB cannot have two columns whose names differ in their case alone"):
        lake.brought(RowsForm.DUCKDB, tmp_path / "x")

    assert in_files(tmp_path / "x", ["000000000000.parquet"]).to_pylist() == [{"id": 1, "ID": None}]
    assert not list((tmp_path / "x").glob("*duckdb*"))


def test_a_column_that_a_later_version_adds_is_in_every_file(tmp_path: Path) -> None:
    """Files that are there are written again with it: all files of a folder have the same columns."""
    lake = Lake()
    lake.accept(plan_of({"id": "integer"}), [b"id\n1\n"], "csv")
    before = lake.brought(RowsForm.PARQUET, tmp_path)
    lake.accept(plan_of({"id": "integer", "name": "string"}), [b"id,name\n2,b\n"], "csv")

    assert (before, lake.brought(RowsForm.PARQUET, tmp_path)) == ([True], [True, True])
    expected = pa.table({"id": pa.array([1, 2], pa.int64()), "name": pa.array([None, "b"], pa.string())})
    assert in_files(tmp_path, ["000000000000.parquet", "000000000001.parquet"]) == expected


def test_descriptions_are_comments_of_columns(tmp_path: Path) -> None:
    """As the newest version has them, whatever is in them."""
    lake, texts = Lake(), {"id": "It's an id'; DROP TABLE m_v1; --", "name": "Two\nlines"}
    about = DatasetAbout(fields=tuple(FieldAbout(name, text) for name, text in texts.items()))
    lake.accept(replace(plan_of(dict.fromkeys(texts, "string")), about=about), [b"id,name\na,b\n"], "csv")
    lake.brought(RowsForm.DUCKDB, tmp_path)

    with duckdb.connect(str(tmp_path / "m_v1.duckdb"), read_only=True) as connection:
        query = "SELECT column_name, comment FROM duckdb_columns() WHERE table_name = 'm_v1'"
        assert dict(connection.execute(query).fetchall()) == {"id": texts["id"], "name": "Two\\nlines"}
    assert in_database(tmp_path).to_pylist() == [{"id": "a", "name": "b"}]
