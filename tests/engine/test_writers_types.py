"""Types that only the Arrow schema of a Parquet file has, and enumerations: each column is what Parquet says that it is."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lakegate.contract.file_formats import Format, Storage
from lakegate.engine.read.data_source import LocalStore
from lakegate.engine.read.open_delivery import READERS
from lakegate.verdict.verdict import Verdict
from tests.deliveries.delivery import Judged, plan_of, rule
from tests.deliveries.parquet_footers import STRUCT, Fields, put, value, with_footer
from tests.deliveries.written import as_parquet
from tests.engine.formats import failing, nested_plan, stored

UUID = pa.array([b"0123456789abcdef"], pa.binary(16))
COLUMNS: dict[str, tuple[pa.Array, str, str]] = {
    "string view": (pa.array(["a"], pa.string_view()), "string", "string"),
    "bytes view": (pa.array([b"a"], pa.binary_view()), "binary", "binary"),
    "large string": (pa.array(["a"], pa.large_string()), "string", "string"),
    "large bytes": (pa.array([b"a"], pa.large_binary()), "binary", "binary"),
    "32-bit decimal": (pa.array([Decimal("1.10")], pa.decimal32(5, 2)), "decimal", "decimal128(5, 2)"),
    "64-bit decimal": (pa.array([Decimal("1.10")], pa.decimal64(15, 2)), "decimal", "decimal128(15, 2)"),
    "dictionary": (pa.array(["a"]).dictionary_encode(), "string", "string"),
    "dictionary of numbers": (pa.array([1]).dictionary_encode(), "integer", "int64"),
    "days in milliseconds": (pa.array([86_400_000]).view(pa.date64()), "date", "date32[day]"),
    "UUID": (pa.ExtensionArray.from_storage(pa.uuid(), UUID), "binary", "fixed_size_binary[16]"),
    "JSON": (pa.ExtensionArray.from_storage(pa.json_(), pa.array(["{}"])), "string", "string"),
    "boolean of 8 bits": (pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1], pa.int8())), "integer", "int8"),
    "opaque": (
        pa.ExtensionArray.from_storage(pa.opaque(pa.string(), "geo", "them"), pa.array(["x"])),
        "string",
        "string",
    ),
}
"""Of each column: its values, a type that it holds, and its type in Parquet."""


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_has_the_type_of_parquet(name: str, judge_files: Callable[..., Judged], tmp_path: Path) -> None:
    """With the Arrow schema, and without it: the file is the same table."""
    array, logical, words = COLUMNS[name]
    plan = stored(plan_of({"x": logical}, rule("required", "x")), Storage(Format.PARQUET))
    for store_schema in (True, False):
        path = tmp_path / f"{store_schema}.parquet"
        path.write_bytes(as_parquet(pa.table({"x": array}), store_schema=store_schema))
        table = READERS[Format.PARQUET](LocalStore()).described(path.as_uri())

        assert [(name, part.words) for name, part in table.schema.parts] == [("x", words)]
        assert judge_files(plan, path.read_bytes()).verdict is Verdict.ACCEPTED


LISTS = {
    "list view": pa.list_view(pa.int64()),
    "large list view": pa.large_list_view(pa.int64()),
    "large list": pa.large_list(pa.int64()),
    "list of a fixed size": pa.list_(pa.int64(), 2),
}
CODES = """\
dataContractSpecification: 1.2.1
id: parts
info: {title: Parts, version: 1.0.0}
models:
  m:
    fields:
      codes: {type: array, items: {type: long, maximum: 3}}
"""


@pytest.mark.parametrize("name", LISTS)
def test_lists_of_every_type_are_lists(name: str, judge_files: Callable[..., Judged]) -> None:
    """Their elements are judged."""
    table = pa.table({"codes": pa.array([[1, 2], None, [3, 4]], LISTS[name])})
    judged = judge_files(nested_plan(Storage(Format.PARQUET), CODES), as_parquet(table))

    assert {check: count for check, count in failing(judged).items() if count} == {"codes[]:maximum:1/codes[]": 1}


DURATIONS = {
    "a column": pa.duration("us"),
    "a member": pa.struct([("d", pa.duration("us"))]),
    "an element": pa.list_(pa.duration("us")),
    "a value of a map": pa.map_(pa.string(), pa.duration("us")),
}


@pytest.mark.parametrize("name", DURATIONS)
def test_a_duration_is_no_number(name: str, tmp_path: Path) -> None:
    """Parquet stores it as one, and the Arrow schema says what it is."""
    path = tmp_path / "x.parquet"
    path.write_bytes(as_parquet(pa.table({"x": pa.nulls(1, DURATIONS[name])})))
    kind = READERS[Format.PARQUET](LocalStore()).described(path.as_uri()).schema

    assert "duration[us]" in {each.words for each in kind.leaves()}


def added(fields: Fields) -> None:
    """An Arrow schema that nothing can read."""
    for pair in value(fields, 5)[1]:
        if value(pair, 1) == b"ARROW:schema":
            put(pair, 2, 8, b"/////wAAAAA=")


def test_an_arrow_schema_that_is_unknown_costs_nothing(judge_files: Callable[..., Judged]) -> None:
    """Of polars with 128-bit integers, of a later Arrow: Parquet says enough."""
    plan = stored(plan_of({"x": "integer"}), Storage(Format.PARQUET))
    content = with_footer(as_parquet(pa.table({"x": [1]})), added)

    assert judge_files(plan, content).verdict is Verdict.ACCEPTED


def enumeration(*, converted: bool, logical: bool) -> Callable[[Fields], None]:
    """Makes every text of a file an enumeration, as parquet-java writes it."""

    def change(fields: Fields) -> None:
        for leaf in value(fields, 2)[1]:
            if [6, 5, 0] in leaf:
                leaf[:] = [each for each in leaf if each[0] not in {6, 10}]
                if converted:
                    put(leaf, 6, 5, 4)
                if logical:
                    put(leaf, 10, STRUCT, [[4, STRUCT, []]])

    return change


COLORS = """\
dataContractSpecification: 1.2.1
id: parts
info: {title: Parts, version: 1.0.0}
models:
  m:
    fields:
      color: {type: string, enum: [RED, GREEN]}
      box: {type: record, fields: {color: {type: string, enum: [RED, GREEN]}}}
      colors: {type: array, items: {type: string, enum: [RED, GREEN]}}
"""


@pytest.mark.parametrize(("converted", "logical"), [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("store_schema", [True, False])
def test_an_enumeration_is_text(
    converted: bool,  # noqa: FBT001 - of a table
    logical: bool,  # noqa: FBT001 - likewise
    store_schema: bool,  # noqa: FBT001 - likewise
    judge_files: Callable[..., Judged],
) -> None:
    """In columns, records and lists ("interpret ENUM as UTF-8")."""
    row: dict[str, Any] = {"color": "RED", "box": {"color": "GREEN"}, "colors": ["RED", "BLUE"]}
    content = as_parquet(pa.Table.from_pylist([row]), store_schema=store_schema)
    judged = judge_files(
        nested_plan(Storage(Format.PARQUET), COLORS),
        with_footer(content, enumeration(converted=converted, logical=logical)),
    )
    columns = judged.result.columns
    assert columns is not None

    assert columns.foreign == ()
    assert {check: count for check, count in failing(judged).items() if count} == {"colors[]:enum:1/colors[]": 1}
