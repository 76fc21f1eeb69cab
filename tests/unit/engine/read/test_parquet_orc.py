"""Parquet, ORC and Avro as the engine reads them: columns of the file's own types, each with its rows and places."""

from __future__ import annotations

import base64
import datetime as dt
import pickle
import signal
import subprocess
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lakegate.admission.file_signatures import UnreadableError
from lakegate.contract.delivery_policy import OnReject, Policy
from lakegate.contract.file_formats import Format, Storage
from lakegate.engine.read import avro, parquet_orc, stored_columns
from lakegate.engine.read.stored_columns import count_inside
from lakegate.lints.linter import read as contract_of
from lakegate.plan.plan import Plan
from lakegate.plan.result import Columns, IncompatibleType
from tests.deliveries.delivery import plan_of
from tests.deliveries.written import as_parquet, written
from tests.engine.formats import FIELDS, KINDS, NESTED, ROWS, TABLE, nested_plan
from tests.reference.cases import only_plan
from tests.unit.engine.read.opened import opened, read, read_all

CODES_OF_NESTED = "codes: {type: array, items: {type: long, maximum: 9}}"
FORMATS = [Format.PARQUET, Format.ORC, Format.AVRO]
ITEMS, TAGS, CODES = (".items", "[]"), (".items", "[]", ".tags", "[]"), (".codes", "[]")


def plan(form: Format, **fields: str) -> Plan:
    return replace(plan_of(fields or FIELDS), storage=Storage(form))


@pytest.mark.parametrize("form", FORMATS)
def test_values_are_what_the_file_says(form: Format, tmp_path: Path) -> None:
    """In every format the same texts and values; each row is accounted for."""
    found = read(plan(form), tmp_path, written(TABLE, Storage(form)))
    exact = Decimal("0E-18")

    assert found.values == [
        {
            **row,
            "at": row["at"] and (row["at"] + "00:00:00.000000000"[len(row["at"]) :]),
            "price": row["price"] if row["price"] is None else row["price"] + exact,
        }
        for row in TABLE.to_pylist()
    ]
    assert found.texts[0] == {
        "id": "1",
        "name": "Ana",
        "ok": "true",
        "share": "0.5",
        "price": "1.50",
        "day": "2020-02-29",
        "at": "12:00",
        "seen": "2020-01-01 01:02:03.000004",
    }
    assert found.texts[3]["share"] == "1.0E10"
    assert (found.rows, found.lines, found.sizes) == ([(0, at) for at in range(4)], {0: 4}, {0: 4})


@pytest.mark.parametrize("form", FORMATS)
def test_parts_of_values_stand_at_their_places(form: Format, tmp_path: Path) -> None:
    """Members by rows, elements by row and place, whatever is null on the way."""
    found = read(nested_plan(Storage(form)), tmp_path, written(pa.Table.from_pylist(ROWS, KINDS), Storage(form)))
    streets = [(row["address"], row["address.street"], row["address.no"]) for row in found.texts]
    items = [(row, at, texts["items[].sku"], values["items[].price"]) for row, at, texts, values in found.levels[ITEMS]]
    tags = [(row, at, values["items[].tags[]"]) for row, at, _, values in found.levels[TAGS]]
    codes = [(row, at, values["codes[]"]) for row, at, _, values in found.levels[CODES]]

    assert streets == [("{...}", "a", "1"), ("{...}", None, None), (None, None, None), ("{...}", "long", "2")]
    assert items == [
        (0, "items[0]", "x", Decimal(1)),
        (2, "items[0]", "y", None),
        (2, "items[1]", "Z", Decimal("-0.25")),
        (2, "items[2]", None, None),
    ]
    assert tags == [
        (0, "items[0].tags[0]", "new"),
        *((2, f"items[1].tags[{at}]", tag) for at, tag in enumerate(["old", "odd", None])),
    ]
    assert codes == [(0, "codes[0]", 1), (2, "codes[0]", 9), (2, "codes[1]", 10), (2, "codes[2]", None)]


@pytest.mark.parametrize("form", FORMATS)
def test_entries_of_maps_have_keys_and_values(form: Format, tmp_path: Path) -> None:
    """And lists in their values have places of their own."""
    prices = "prices: {type: map, keys: {type: text}, values: {type: array, required: true, items: {type: long}}}"
    config = f"    config: {{lakegate: {{format: {form.value}}}}}"
    contract = contract_of(NESTED.replace("  m:\n", f"  m:\n{config}\n").replace(CODES_OF_NESTED, prices).encode())
    wanted = only_plan(contract)
    column = pa.array(
        [[("a", [1, 2]), ("b", None)], None, [], [("c", [3])]], pa.map_(pa.string(), pa.list_(pa.int64()))
    )
    found = read(wanted, tmp_path, written(pa.table({"id": [1, 2, 3, 4], "prices": column}), Storage(form)))
    entries = [
        (row, at, texts["prices.key"], texts["prices.value"]) for row, at, texts, _ in found.levels[".prices", "{}"]
    ]
    inner = [(row, at, values["prices.value[]"]) for row, at, _, values in found.levels[".prices", "{}", "[]"]]

    assert entries == [(0, "prices[0]", "a", "[...]"), (0, "prices[1]", "b", None), (3, "prices[0]", "c", "[...]")]
    assert inner == [(0, "prices[0][0]", 1), (0, "prices[0][1]", 2), (3, "prices[0][0]", 3)]


@pytest.mark.parametrize("form", FORMATS)
def test_the_files_own_columns_are_compared_with_the_declared_ones(form: Format, tmp_path: Path) -> None:
    """Bound by name in any order: absent, extra, and of another type."""
    table = pa.table({"name": [5], "more": [1], "id": [1]})
    source = opened(plan(form, id="integer", name="string", lost="string"), tmp_path, written(table, Storage(form)))

    words = "long" if form is Format.AVRO else "int64"
    expected = Columns(("name", "more", "id"), ("lost",), ("more",), foreign=(IncompatibleType("name", words),))
    assert source.columns == expected


def test_lists_in_slices_and_large_lists_are_read_alike(tmp_path: Path) -> None:
    """However Arrow holds a list, and whatever stands under a null."""
    rows = [[1, 2], None, [], [3, None]]
    for kind in (pa.list_(pa.int64()), pa.large_list(pa.int64())):
        table = pa.Table.from_pylist([{"id": 1, "codes": row} for row in rows])
        table = table.set_column(1, "codes", table["codes"].cast(kind))
        found = read(nested_plan(Storage(Format.PARQUET)), tmp_path, as_parquet(table.slice(1)))

        assert [(row, at, values["codes[]"]) for row, at, _, values in found.levels[CODES]] == [
            (2, "codes[0]", 3),
            (2, "codes[1]", None),
        ]
    fixed = pa.table({"id": [1, 2], "codes": pa.array([[1, 2], None], pa.list_(pa.int64(), 2))})
    found = read(nested_plan(Storage(Format.PARQUET)), tmp_path, as_parquet(fixed))
    assert [values["codes[]"] for _, _, _, values in found.levels[CODES]] == [1, 2]


@pytest.mark.parametrize("form", FORMATS)
def test_a_long_text_makes_its_record_malformed(form: Format, tmp_path: Path) -> None:
    """Counted with its row; its neighbours keep theirs."""
    table = pa.table({"id": [1, 2, 3], "name": ["a", "x" * ((1 << 20) + 1), None]})
    found = read(plan(form, id="integer", name="string"), tmp_path, written(table, Storage(form)))

    assert (found.rows, found.malformed, found.sizes) == ([(0, 0), (0, 2)], [("too_long", 1, 1)], {0: 3})


@pytest.mark.parametrize("form", FORMATS)
def test_a_record_with_too_many_elements_is_malformed(
    form: Format, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted with its row, and its elements are not measured; those of its neighbours are, some rows at a time."""
    monkeypatch.setattr(stored_columns, "MAX_INSIDE", 4)
    codes = [[1, 2], [3, 4, 5, 6], [1, 2, 3, 4, 5], None, [], [7], [8, 9, 10], [11]]
    table = pa.table({"id": list(range(8)), "codes": pa.array(codes, pa.list_(pa.int64()))})
    found = read(nested_plan(Storage(form)), tmp_path, written(table, Storage(form)))

    assert ([row for _, row in found.rows], found.malformed) == ([0, 1, 3, 4, 5, 6, 7], [("elements", 1, 2)])
    assert [values["codes[]"] for _, _, _, values in found.levels[CODES]] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
    assert found.sizes == {0: 8}


def test_values_inside_are_counted_at_every_level() -> None:
    """Members of elements too: each of them is a column of the level."""
    record = pa.struct({"a": pa.int64(), "b": pa.list_(pa.int64())})
    rows = [[{"a": 1, "b": [1, 2]}, {"a": 2, "b": None}], None, [{"a": 3, "b": []}]]

    assert count_inside(pa.array(rows, pa.list_(record))) == 3 * 3 + 2
    assert count_inside(pa.array(rows, pa.list_(record)).slice(2)) == 3
    assert count_inside(pa.array([{"a": 1, "b": [1, 2]}], record)) == 2
    assert count_inside(pa.array([[("x", [1, 2])], None], pa.map_(pa.string(), pa.list_(pa.int64())))) == 1 + 1 + 2
    assert count_inside(pa.array([[1, 2], [3, 4]], pa.list_(pa.int64(), 2))) == 4
    assert count_inside(pa.array([1, 2])) == 0


@pytest.mark.parametrize("form", FORMATS)
def test_shares_are_read_by_themselves(form: Format, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Row groups, stripes and blocks: each row once, in any process."""
    monkeypatch.setattr(parquet_orc, "SHARE_ROWS", 70)
    monkeypatch.setattr(avro, "SHARE_BYTES", 100)
    monkeypatch.setattr(avro, "BATCH_ROWS", 30)
    table = pa.table({"id": list(range(200)), "name": [f"n{at}" for at in range(200)]})
    content = {
        Format.PARQUET: lambda: as_parquet(table, row_group_size=30),
        Format.ORC: lambda: written(table, Storage(form)),
        Format.AVRO: lambda: avro_of(table, block=30),
    }[form]()
    wanted = plan(form, id="integer", name="string")
    source = opened(wanted, tmp_path, content, content)
    found = read_all(wanted, pickle.loads(pickle.dumps(source)))  # noqa: S301 - our own bytes

    assert len(source.shares) == {Format.PARQUET: 8, Format.ORC: 2, Format.AVRO: 14}[form]
    assert [row["id"] for row in found.values] == [*range(200), *range(200)]
    assert (found.sizes, source.sizes) == ({0: 200, 1: 200}, (200, 200))


def avro_of(table: pa.Table, **options: Any) -> bytes:
    from tests.deliveries.avro import write_avro  # noqa: PLC0415 - of this helper alone

    return write_avro(table, **options)


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_without_rows_has_columns(form: Format, tmp_path: Path) -> None:
    """And nothing else."""
    source = opened(plan(form), tmp_path, written(TABLE.slice(0, 0), Storage(form)))

    assert (source.columns, source.sizes) == (Columns(tuple(FIELDS)), (0,))
    assert sum(chunk.lines for share in source.shares for chunk in source.chunks(share)) == 0


def test_all_columns_are_read_where_rows_are_written_again(tmp_path: Path) -> None:
    """And a type that cannot be written is refused there alone."""
    wanted = replace(plan(Format.PARQUET, id="integer"), policy=Policy(on_reject=OnReject.ROWS))
    content = as_parquet(pa.table({"more": ["x"], "id": [1]}))

    assert read(wanted, tmp_path, content).values == [{"id": 1}]


def test_no_text_makes_the_memory_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dictionary's text is written out some MiB at a time."""
    monkeypatch.setattr(parquet_orc, "MAX_AT_ONCE", 100_000)
    column = pa.array(["x" * 10_000] * 100).dictionary_encode()
    source = opened(plan(Format.PARQUET, name="string"), tmp_path, as_parquet(pa.table({"name": column})))
    sizes = [chunk.records.nbytes for share in source.shares for chunk in source.chunks(share)]

    assert len(sizes) >= 10
    assert max(sizes) < 250_000


def test_what_duckdb_cannot_write_has_a_text_all_the_same(tmp_path: Path) -> None:
    """Moments at the ends of 64 bits and days at the ends of 32: there, and no values."""
    table = pa.table(
        {
            "seen": pa.array([2**63 - 1, -(2**63), -(2**63) + 1], pa.timestamp("us")),
            "day": pa.array([2**31 - 1, -(2**31), None], pa.int32()).cast(pa.date32()),
        }
    )
    found = read(plan(Format.PARQUET, seen="timestamp", day="date"), tmp_path, as_parquet(table))

    assert found.values == [{"seen": None, "day": None}] * 3
    assert [row["seen"] for row in found.texts] == ["beyond all calendars"] * 3
    assert [row["day"] for row in found.texts] == ["beyond all calendars", "-5877641-06-23", None]


def test_times_of_day_are_texts(tmp_path: Path) -> None:
    """Of any unit, by the grammar."""
    table = pa.table({"at": pa.array([dt.time(1, 2, 3), None, dt.time(23, 59, 59, 5)], pa.time64("us"))})
    found = read(plan(Format.PARQUET, at="time"), tmp_path, as_parquet(table))

    assert [row["at"] for row in found.values] == ["01:02:03.000000000", None, "23:59:59.000005000"]


def test_a_delivery_of_orc_is_read_by_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of its files footers and shares, one after the other; with the delivery it ends."""
    started: list[subprocess.Popen[bytes]] = []

    class Noted(subprocess.Popen[bytes]):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Noted)
    storage = Storage(Format.ORC)
    source = opened(plan(Format.ORC), tmp_path, *(written(TABLE, storage) for _ in range(2)))
    found = read_all(plan(Format.ORC), source)
    running = [each.poll() for each in started]
    del source

    assert found.sizes == {0: 4, 1: 4}
    assert running == [None]
    assert [each.poll() for each in started] == [-signal.SIGKILL]


@pytest.mark.parametrize("form", FORMATS)
def test_the_damaged_object_of_a_delivery_is_named(form: Format, tmp_path: Path) -> None:
    """By its number, whatever its format."""
    good = written(TABLE, Storage(form))
    with pytest.raises(UnreadableError) as refused:
        opened(plan(form), tmp_path, good, good[:-30], good)

    assert refused.value.finding.part == 1


@pytest.mark.parametrize("form", [Format.PARQUET, Format.AVRO])
def test_a_file_without_columns_says_so(form: Format, tmp_path: Path) -> None:
    """It has none of the declared ones, because it has none."""
    nothing = written(pa.table({"id": [1]}).select([]), Storage(form))
    with pytest.raises(UnreadableError) as refused:
        opened(plan(form), tmp_path, nothing)

    assert refused.value.finding.message == "the file has no columns: write it with its columns"


WHOLE_ORC = base64.b64decode("""
T1JDKwAAChMKAwAAABIMCAMSBggAEAQYBlAACQAARgICQDcAAAoGCAYQABgYCgYIARAAGAcSBAgCEAAaA1VUQyEAAAoOCgwIAxIGCAAQBBgGUA
BtAAAIAxA9GgoIAxAYGAcgHigDIggIAyAAKAAwADADOgwIAxIGCAAQBBgGUABAkE5IAWIFMi4zLjEIORABGICABCICAAwoEzAGgvQDA09SQxc=
""")
"""An ORC file of three whole numbers, without a struct around them."""


def test_orc_without_a_struct_has_no_columns(tmp_path: Path) -> None:
    """The file is whole, and is no table."""
    with pytest.raises(UnreadableError) as refused:
        opened(plan(Format.ORC), tmp_path, WHOLE_ORC)

    assert refused.value.finding.code == "no-struct"
