"""The fields of an object, by its head or footer alone, in every format; and what of them is drift."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pytest

from lakegate.admission.file_signatures import UnreadableError
from lakegate.contract.file_formats import Csv, Format, Storage
from lakegate.engine.read.data_source import AddressedFile, LocalStore
from lakegate.features.drift.schema_drift import OTHER_KIND, SchemaDifference, columns_in, differences
from lakegate.plan.plan import Plan
from lakegate.plan.result import Columns, IncompatibleType
from tests.deliveries.delivery import plan_of, rule
from tests.deliveries.written import STORAGES, written
from tests.engine.formats import KINDS, NESTED, ROWS, nested_plan
from tests.unit.engine.read.opened import parts_in

TABLES = (Format.PARQUET, Format.ORC, Format.AVRO)
JSONS = [each for each in STORAGES if each.format in {Format.JSON, Format.JSONL}]
NESTED_STORAGES = [each for each in STORAGES if each.format is not Format.CSV]


@dataclass
class Counting(LocalStore):
    """Files of this machine, and how many bytes were read of them."""

    read: list[int] = field(default_factory=list)

    def part(self, address: str, start: int, length: int) -> bytes:
        found = super().part(address, start, length)
        self.read.append(len(found))
        return found

    def stream(self, address: str) -> BinaryIO:
        return BufferedReader(AddressedFile(self, address))


def found_of(plan: Plan, folder: Path, content: bytes) -> Columns:
    return columns_in(plan, parts_in(folder, content)[0], LocalStore())


def drift_of(plan: Plan, folder: Path, content: bytes) -> list[SchemaDifference]:
    return list(differences(plan, plan, found_of(plan, folder, content)))


@pytest.mark.parametrize("storage", STORAGES, ids=str)
def test_an_object_with_all_fields_has_no_difference(storage: Storage, tmp_path: Path) -> None:
    """In every format and codec; columns beyond the declared ones are free."""
    plan = replace(plan_of({"id": "integer", "name": "string"}, rule("required", "name")), storage=storage)
    table = pa.table({"name": ["a", "b"], "more": [1, 2], "id": [1, 2]})

    assert drift_of(plan, tmp_path, written(table, storage)) == []


@pytest.mark.parametrize("storage", STORAGES, ids=str)
def test_a_required_field_that_is_not_there_is_absent(storage: Storage, tmp_path: Path) -> None:
    """In every format and codec."""
    plan = replace(plan_of({"id": "integer", "name": "string"}, rule("required", "name")), storage=storage)

    assert drift_of(plan, tmp_path, written(pa.table({"id": [1, 2]}), storage)) == [SchemaDifference("absent", "name")]


@pytest.mark.parametrize("storage", JSONS, ids=str)
def test_an_optional_key_of_json_may_be_missing(storage: Storage, tmp_path: Path) -> None:
    """A missing key is a null, also in all of the records that were read."""
    plan = replace(plan_of({"id": "integer", "name": "string"}), storage=storage)

    assert drift_of(plan, tmp_path, written(pa.table({"id": [1, 2]}), storage)) == []


@pytest.mark.parametrize("form", TABLES)
def test_an_optional_column_of_a_table_is_absent(form: Format, tmp_path: Path) -> None:
    """A table has a schema: the contract promises the column, whether or not values are required."""
    plan = replace(plan_of({"id": "integer", "name": "string"}), storage=Storage(form))

    assert drift_of(plan, tmp_path, written(pa.table({"id": [1]}), Storage(form))) == [
        SchemaDifference("absent", "name")
    ]


@pytest.mark.parametrize("storage", NESTED_STORAGES, ids=str)
def test_nested_and_repeated_fields_are_looked_for(storage: Storage, tmp_path: Path) -> None:
    """Members of records, elements of lists and their members: all there, then without some of them."""
    plan = nested_plan(storage)
    whole = pa.Table.from_pylist(ROWS, KINDS)
    less = pa.Table.from_pylist(
        [{"id": 1, "address": {"no": 1}, "items": [{"price": 1}, {"price": 2}], "codes": [1]}],
        pa.schema(
            [
                ("id", pa.int64()),
                ("address", pa.struct([("no", pa.int32())])),
                ("items", pa.list_(pa.struct([("price", pa.int32())]))),
                ("codes", pa.list_(pa.int32())),
            ]
        ),
    )
    schema = storage.format in TABLES
    lost = ["address.street", "items[].sku", *(["items[].tags"] if schema else [])]

    assert drift_of(plan, tmp_path, written(whole, storage)) == []
    assert [(each.difference, each.field) for each in drift_of(plan, tmp_path, written(less, storage))] == [
        ("absent", name) for name in lost
    ]


@pytest.mark.parametrize("storage", JSONS, ids=str)
def test_a_part_of_a_missing_record_of_json_is_not_absent(storage: Storage, tmp_path: Path) -> None:
    """What is required of an optional record is required where the record is; elements are looked for where there are some."""
    document = NESTED.replace("address: {type: record, required: true,", "address: {type: record,")
    table = pa.table({"id": [1], "items": pa.array([[]], pa.list_(pa.int64()))})

    assert drift_of(nested_plan(storage, document), tmp_path, written(table, storage)) == []


@pytest.mark.parametrize("storage", NESTED_STORAGES, ids=str)
def test_a_repeated_field_that_is_no_list_is_of_another_type(storage: Storage, tmp_path: Path) -> None:
    """A record instead of a list, a text instead of a record; their parts are not listed besides."""
    table = pa.table({"id": [1], "address": ["here"], "items": [{"sku": "x"}], "codes": [[1]]})
    found = drift_of(nested_plan(storage), tmp_path, written(table, storage))

    assert [(each.difference, each.field) for each in found] == [("type", "address"), ("type", "items")]


def test_a_type_is_named_as_the_file_has_it(tmp_path: Path) -> None:
    """The words of the format; JSON has none."""
    table = pa.table({"id": ["one"], "name": ["x"]})
    plan = plan_of({"id": "integer", "name": "string"})
    parquet, jsonl = (
        found_of(replace(plan, storage=each), tmp_path, written(table, each)).foreign
        for each in (Storage(Format.PARQUET), Storage(Format.JSONL))
    )

    assert (parquet, jsonl) == ((IncompatibleType("id", "string"),), (IncompatibleType("id", OTHER_KIND),))


def test_a_field_that_the_contract_declared_later_is_no_difference() -> None:
    """What was accepted before could not have it."""
    older, newer = plan_of({"id": "integer"}), plan_of({"id": "integer", "name": "string"})

    assert differences(newer, older, Columns(("id",), absent=("name",))) == ()
    assert differences(newer, newer, Columns(("id",), absent=("name",))) == (SchemaDifference("absent", "name"),)


@pytest.mark.parametrize("form", [Format.JSONL, Format.JSON, Format.ANY_JSON])
def test_records_that_are_no_objects_are_passed_over(form: Format, tmp_path: Path) -> None:
    """Malformed and blank ones show no fields; neither does a file without any record."""
    plan = replace(plan_of({"id": "integer"}, rule("required", "id")), storage=Storage(form))
    lines = b'{"id": null}\n7\n\n{"other": 1}' if form is not Format.JSON else b'[7, {"id": null}, {"other": 1}]'
    empty = b"[]" if form is Format.JSON else b"\n"

    assert drift_of(plan, tmp_path, lines) == [SchemaDifference("absent", "id")]
    assert drift_of(plan, tmp_path, empty) == []


@pytest.mark.parametrize("form", [Format.CSV, Format.JSONL, Format.JSON, Format.AVRO, Format.PARQUET, Format.ORC])
def test_only_a_beginning_or_an_end_is_read(form: Format, tmp_path: Path) -> None:
    """Of a file of several MiB a fraction, however many records it has; a record that is cut off is not read."""
    rows = 100_000 if form in {Format.PARQUET, Format.ORC} else 60_000
    texts = [f"{number * 2654435761 % 2**64:020} {number}" for number in range(rows)]
    content = written(pa.table({"id": list(range(rows)), "name": texts}), Storage(form))
    plan = plan_of({"id": "integer", "name": "string", "lost": "string"}, rule("required", "lost"))
    plan = replace(plan, storage=Storage(form))
    part, store = parts_in(tmp_path, content)[0], Counting()

    assert columns_in(plan, part, store).absent == ("lost",)
    assert len(content) > 1_500_000
    assert sum(store.read) < 1_300_000


def test_a_header_that_does_not_exist_is_not_compared(tmp_path: Path) -> None:
    """Without a header line a CSV file names no column."""
    plan = plan_of({"id": "integer", "name": "string"}, csv=Csv(header=False))

    assert drift_of(plan, tmp_path, b"1,a\n") == []


@pytest.mark.parametrize(
    ("form", "content", "code"),
    [
        (Format.CSV, b"x,y\n1,2\n", "header"),
        (Format.PARQUET, b"id,name\n1,a\n", "other-format"),
        (Format.AVRO, b"Obj\x01nothing", "inside"),
        (Format.JSON, b'[{"id": ?}]', "array"),
    ],
)
def test_an_object_of_another_kind_is_unreadable(form: Format, content: bytes, code: str, tmp_path: Path) -> None:
    """With the code that the gate would refuse it by."""
    plan = replace(plan_of({"id": "integer", "name": "string"}), storage=Storage(form))
    with pytest.raises(UnreadableError) as caught:
        found_of(plan, tmp_path, content)

    assert caught.value.finding.code == code


@pytest.mark.parametrize("form", [Format.JSONL, Format.JSON])
def test_a_first_record_beyond_the_head_shows_nothing(form: Format, tmp_path: Path) -> None:
    """Only whole records are read; without any, no field is known to be absent."""
    plan = replace(plan_of({"id": "integer"}, rule("required", "id")), storage=Storage(form))
    table = pa.table({"other": ["x" * 300_000]})

    assert drift_of(plan, tmp_path, written(table, Storage(form))) == []


def test_a_record_in_the_place_of_a_map_is_of_another_type(tmp_path: Path) -> None:
    """In a table; in JSON both are objects."""
    codes, storage = "codes: {type: array, items: {type: long, maximum: 9}}", Storage(Format.PARQUET)
    document = NESTED.replace(codes, "codes: {type: map, keys: {type: text}, values: {type: long}}")
    table = pa.Table.from_pylist(ROWS, KINDS).set_column(3, "codes", pa.array([{"a": 1}] * len(ROWS)))

    assert drift_of(nested_plan(storage, document), tmp_path, written(table, storage)) == [
        SchemaDifference("type", "codes", "record")
    ]
