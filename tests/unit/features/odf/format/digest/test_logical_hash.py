"""The logical hash: that of the reference crate, of the rows whatever file contains them, and of every value."""

from __future__ import annotations

import hashlib
import json
import shutil
from io import BytesIO
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lakegate.base.errors import InputError
from lakegate.features.odf.format.logical_hash import LogicalHash
from tests.reference.sampling import sampled
from tests.unit.features.odf.format.digest.tables import TYPES, tables
from tests.unit.features.odf.format.digest.vectors import VECTORS, by_the_crate

TABLES = tables()
BY_THE_CRATE = json.loads(VECTORS.read_text())
NOT_IN_PARQUET = {"decimal32", "decimal64", "binary view", "string view", "decimal128 of thousands"}
KINDS = {name: each for name, each in TYPES.items() if name not in NOT_IN_PARQUET}
COMPRESSIONS = ("none", "snappy", "zstd", "gzip", "lz4", "brotli")


def digest(*batches: pa.RecordBatch, schema: pa.Schema | None = None) -> str:
    """The hash of rows in batches, in hexadecimal digits."""
    found = LogicalHash(batches[0].schema if schema is None else schema)
    for each in batches:
        found.update(each)
    return found.digest().hex()


@st.composite
def kinds(draw: Any, depth: int = 2) -> tuple[Any, Any]:
    """A type with values of it; a record has its fields instead of values."""
    if depth and draw(st.integers(0, 3)) == 0:
        fields = draw(st.dictionaries(st.text("abżc.", max_size=3), kinds(depth - 1), min_size=1, max_size=3))
        return pa.struct([(name, kind) for name, (kind, _) in fields.items()]), fields
    return KINDS[draw(st.sampled_from(sorted(KINDS)))]


def values(kind: tuple[Any, Any]) -> st.SearchStrategy[Any]:
    """A value of a type, or null."""
    _, known = kind
    if isinstance(known, dict):
        return st.none() | st.fixed_dictionaries({name: values(each) for name, each in known.items()})
    return st.none() | st.sampled_from(known)


@st.composite
def rows(draw: Any) -> tuple[pa.Schema, dict[str, tuple[Any, Any]], list[dict[str, Any]]]:
    """A schema with the values of its columns, and rows."""
    columns = draw(st.dictionaries(st.text("abżc.", max_size=3), kinds(), min_size=1, max_size=4))
    one = st.fixed_dictionaries({name: values(each) for name, each in columns.items()})
    schema = pa.schema([(name, kind) for name, (kind, _) in columns.items()])
    return schema, columns, draw(st.lists(one, max_size=30))


def differing() -> set[str]:
    """The tables whose digest by the crate depends on how they are divided into batches."""
    return {name for name, each in BY_THE_CRATE.items() if each["batches"] != each["rows"]}


@pytest.mark.parametrize("name", TABLES)
def test_the_hash_is_that_of_the_crate(name: str) -> None:
    """Every table has the digest that the crate computes of its rows."""
    assert digest(*TABLES[name]) == BY_THE_CRATE[name]["rows"]


def test_the_crate_has_one_digest_but_for_nulls_in_and_below_records() -> None:
    """Batches matter to the crate only where a record and a field in it are null in different rows of a batch."""
    assert {name for name in differing() if not name.startswith("random ")} == {
        "record, null in other rows",
        "records in records, all null",
    }
    assert all("struct" in str(TABLES[name][0].schema) for name in differing())


def has_nulls_in_and_below(array: pa.Array) -> bool:
    """Whether a record is null in some row of a batch, and a field of a record that is there in another one."""
    if not pa.types.is_struct(array.type):
        return False
    is_there = np.asarray(array.is_valid())
    return any(
        (array.null_count > 0 and bool((is_there & ~np.asarray(each.is_valid())).any())) or has_nulls_in_and_below(each)
        for each in array.flatten()
    )


def test_the_form_in_which_both_have_one_digest() -> None:
    """No record is null, or no field of a record that is there: docs/odf.md advises it."""
    found = {
        name for name, each in TABLES.items() if any(map(has_nulls_in_and_below, (c for b in each for c in b.columns)))
    }

    assert differing() <= found


def test_there_is_a_digest_of_each_table() -> None:
    """No table lacks a digest by the crate, and no digest its table."""
    assert set(BY_THE_CRATE) == set(TABLES)


@pytest.mark.full
@pytest.mark.skipif(shutil.which("cargo") is None, reason="the crate needs cargo")
def test_the_crate_makes_these_digests() -> None:
    """The committed digests are those that the crate makes today."""
    assert by_the_crate() == BY_THE_CRATE


@sampled(40, 3_000)
@given(rows(), st.data())
def test_a_file_that_is_written_again_keeps_its_hash(found: Any, data: st.DataObject) -> None:
    """Row groups, compression, dictionaries, page versions and batches of reading do not change the hash."""
    schema, _, listed = found
    table = read(written(pa.Table.from_pylist(listed, schema)))
    again = pq.ParquetFile(
        written(
            table,
            row_group_size=data.draw(st.integers(1, 31)),
            compression=data.draw(st.sampled_from(COMPRESSIONS)),
            use_dictionary=data.draw(st.booleans()),
            data_page_version=data.draw(st.sampled_from(("1.0", "2.0"))),
            store_schema=True,
        )
    )
    batches = again.iter_batches(data.draw(st.integers(1, 31)))

    assert digest(*batches, schema=again.schema_arrow) == digest(*table.to_batches(), schema=table.schema)


@sampled(60, 5_000)
@given(rows(), st.data())
def test_rows_may_come_in_any_batches(found: Any, data: st.DataObject) -> None:
    """Slices of a batch have the hash of the batch, wherever it is cut."""
    schema, _, listed = found
    batch = pa.RecordBatch.from_pylist(listed, schema)
    cuts = sorted({0, len(listed), *data.draw(st.sets(st.integers(0, len(listed))))})
    slices = [batch.slice(begin, end - begin) for begin, end in pairwise(cuts)]

    assert digest(*slices, schema=schema) == digest(batch)


@sampled(60, 5_000)
@given(rows(), st.data())
def test_another_value_has_another_hash(found: Any, data: st.DataObject) -> None:
    """A change of any one value that is not null, to another that is not null, changes the hash."""
    schema, columns, listed = found
    places = [(row, path, known) for row in listed for path, known in leaves(columns, row)]
    assume(places)
    row, path, known = data.draw(st.sampled_from(places))
    others = [each for each in known if repr(each) != repr(at(row, path))]
    before = digest(pa.RecordBatch.from_pylist(listed, schema))
    at(row, path[:-1])[path[-1]] = data.draw(st.sampled_from(others))

    assert digest(pa.RecordBatch.from_pylist(listed, schema)) != before


def test_how_arrow_encodes_values_does_not_count() -> None:
    """Dictionaries, runs, views, long offsets and extension types have the hash of the plain values."""
    texts = pa.array(["a", "b", None, "a", "żółć, longer than an inline view"])
    numbers = pa.array([7, 7, None, 9])
    ids = pa.array([bytes(range(16)), None], pa.binary(16))
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3, 4], pa.int32()), pa.array([7, None, 9]))
    lists = pa.array([["a", None], None, [], ["b"]])
    encoded = pa.ListArray.from_arrays(lists.offsets, lists.values.dictionary_encode(), mask=lists.is_null())
    records = pa.StructArray.from_arrays(
        [texts.dictionary_encode()], ["text"], mask=pa.array([False, True] + [False] * 3)
    )
    plain = pa.StructArray.from_arrays([texts], ["text"], mask=pa.array([False, True] + [False] * 3))
    pairs = [
        *(
            (texts, each)
            for each in (texts.dictionary_encode(), texts.cast(pa.large_string()), texts.cast(pa.string_view()))
        ),
        *((numbers, each) for each in (numbers.dictionary_encode(), runs)),
        (ids, pa.ExtensionArray.from_storage(pa.uuid(), ids)),
        (lists, encoded),
        (lists, lists.cast(pa.large_list(pa.large_string()))),
        (plain, records),
    ]

    assert [column(each) for _, each in pairs] == [column(each) for each, _ in pairs]
    assert [column(each[1:]) for _, each in pairs] == [column(each[1:]) for each, _ in pairs]


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        (pa.null(), "null"),
        (pa.duration("s"), "duration[s]"),
        (pa.month_day_nano_interval(), "month_day_nano_interval"),
        (pa.map_(pa.string(), pa.int32()), "map<string, int32>"),
        (pa.list_(pa.struct([("a", pa.int32())])), "list<item: struct<a: int32>>"),
        (pa.list_view(pa.int32()), "list_view<item: int32>"),
        (pa.dense_union([pa.field("a", pa.int32())]), "dense_union<a: int32=0>"),
    ],
)
def test_a_type_that_the_crate_refuses_is_refused(kind: Any, shown: str) -> None:
    """No hash is made up: the column is named, with its type."""
    with pytest.raises(InputError) as error:
        LogicalHash(pa.schema([("record", pa.struct([("field", kind)]))]))

    assert str(error.value) == f"the logical hash is not defined for the type of record.field ({shown})"


def test_no_columns_have_the_hash_of_nothing() -> None:
    """Without columns nothing is hashed."""
    assert LogicalHash(pa.schema([])).digest() == hashlib.sha3_256(b"").digest()


def column(array: Any) -> str:
    """The hash of one column."""
    return digest(pa.record_batch([array], ["column"]))


def leaves(columns: dict[str, tuple[Any, Any]], row: dict[str, Any]) -> Any:
    """The path of each value of a row that is not null, with the values that could be there."""
    for name, (_, known) in columns.items():
        if row[name] is None:
            continue
        if isinstance(known, dict):
            yield from (((name, *path), there) for path, there in leaves(known, row[name]))
        else:
            yield (name,), known


def at(row: Any, path: tuple[str, ...]) -> Any:
    """What is at a path of a row."""
    for each in path:
        row = row[each]
    return row


def written(table: pa.Table, **settings: Any) -> BytesIO:
    """A Parquet file in memory."""
    file = BytesIO()
    pq.write_table(table, file, **settings)
    file.seek(0)
    return file


def read(file: BytesIO) -> pa.Table:
    """The rows of a Parquet file."""
    return pq.ParquetFile(file).read()
