"""The same rows in every format and codec: one verdict, the same numbers, the same places."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from lakegate.contracts.judge.outcomes import Status
from lakegate.contracts.judge.verdict import Verdict
from lakegate.contracts.lint.examine import read
from lakegate.contracts.model.policy import Additional, Policy
from lakegate.contracts.model.storage import Compression, Format, Storage
from lakegate.contracts.plan.result import Columns
from tests.deliveries.delivery import plan_of, rule
from tests.deliveries.written import STORAGES, as_parquet, packed, written
from tests.reference.cases import only_plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.contracts.plan.plan import Plan
    from tests.deliveries.delivery import Judged

moment = dt.datetime.fromisoformat

TABLE = pa.table(
    {
        "id": pa.array([1, 2, 2, None], pa.int64()),
        "name": ["Ana", "João", None, "x"],
        "ok": [True, False, None, True],
        "share": [0.5, -1.25, None, 1e10],
        "price": pa.array([Decimal("1.50"), Decimal("-2.25"), None, Decimal(0)], pa.decimal128(10, 2)),
        "day": [dt.date(2020, 2, 29), None, dt.date(1700, 2, 3), dt.date(2200, 12, 31)],
        "at": ["12:00", "23:59:59.5", None, "00:00"],
        "seen": pa.array([moment("2020-01-01T01:02:03.000004"), None, moment("1700-01-01"), None], pa.timestamp("us")),
    }
)
FIELDS = {
    "id": "integer",
    "name": "string",
    "ok": "boolean",
    "share": "number",
    "price": "decimal",
    "day": "date",
    "at": "time",
    "seen": "timestamp",
}
RULES = (
    rule("required", "name"),
    rule("unique", "id"),
    rule("minLength", "name", value=2),
    rule("pattern", "name", pattern="^[A-Z]"),
    rule("enum", "ok", values=["true"]),
    rule("minimum", "share", value=0),
    rule("maximum", "price", value="1.49"),
    rule("multipleOf", "price", value="0.75"),
    rule("minimum", "day", value="2000-01-01"),
    rule("maximum", "at", value="23:00"),
    rule("maximum", "seen", value="2020-01-01T01:02:03.000003Z"),
)
EXPECTED = {
    **{f"type-{at}/{name}": 0 for at, name in enumerate(FIELDS)},
    "required/name": 1,
    "unique/id": 2,
    "minLength/name": 1,
    "pattern/name": 1,
    "enum/ok": 1,
    "minimum/share": 1,
    "maximum/price": 1,
    "multipleOf/price": 0,
    "minimum/day": 1,
    "maximum/at": 1,
    "maximum/seen": 1,
}


def stored(plan: Plan, storage: Storage) -> Plan:
    return replace(plan, storage=storage)


def failing(judged: Judged) -> dict[str, int]:
    return {each.check: each.accept.failing or 0 for each in judged.result.measurements if each.accept}


@pytest.mark.parametrize("storage", STORAGES, ids=lambda storage: storage.suffix)
def test_the_same_rows_give_the_same_verdict(storage: Storage, judge_files: Callable[..., Judged]) -> None:
    """In every format and every codec each check finds the same rows."""
    judged = judge_files(stored(plan_of(FIELDS, *RULES), storage), written(TABLE, storage))

    assert failing(judged) == EXPECTED
    assert (judged.verdict, judged.result.rows, judged.result.rejected_rows) == (Verdict.REJECTED, 4, 4)
    assert Status.ERROR not in judged.statuses().values()
    assert judged.result.columns == Columns(tuple(FIELDS))


ONE_CODEC = [each for each in STORAGES if each.compression in {Compression.NONE, Compression.GZIP}]


@pytest.mark.parametrize("storage", ONE_CODEC, ids=lambda storage: storage.suffix)
def test_a_delivery_of_two_objects_is_one(storage: Storage, judge_files: Callable[..., Judged]) -> None:
    """Keys are compared across objects, and a sample contains the number of its object."""
    plan = stored(plan_of({"id": "integer", "name": "string"}, rule("unique", "id")), storage)
    table = TABLE.select(["id", "name"])

    judged = judge_files(plan, written(table.slice(0, 1), storage), written(table.slice(0, 2), storage))
    samples = next(each.samples for each in judged.result.measurements if each.check == "unique/id")
    first = 2 if storage.format is Format.CSV else 1

    assert (judged.result.rows, failing(judged)["unique/id"]) == (3, 2)
    assert [(each.part, each.row) for each in samples] == [(0, first), (1, first)]


EMPTY = [each for each in ONE_CODEC if each.format is not Format.CSV]


@pytest.mark.parametrize("storage", EMPTY, ids=lambda storage: storage.suffix)
@pytest.mark.parametrize("allowed", [True, False])
def test_no_rows_are_no_success(storage: Storage, allowed: bool, judge_files: Callable[..., Judged]) -> None:  # noqa: FBT001 - a case
    """A file without rows is rejected, unless its contract allows that (P22)."""
    content = b"\n" if storage == Storage(Format.JSONL) else written(TABLE.slice(0, 0), storage)

    judged = judge_files(stored(plan_of(FIELDS, policy=Policy(allow_empty=allowed)), storage), content)

    assert (judged.result.unreadable, judged.result.rows) == (None, 0)
    assert judged.verdict is (Verdict.ACCEPTED if allowed else Verdict.REJECTED)


# --- parts of values

NESTED = """
dataContractSpecification: 1.2.1
id: x
info: {title: t, version: 1.0.0}
models:
  m:
    fields:
      id: {type: long}
      address: {type: record, required: true, fields: {street: {type: text, required: true, maxLength: 3}, no: {type: int}}}
      items:
        type: array
        items:
          type: record
          fields:
            sku: {type: text, required: true, pattern: "^[a-z]+$"}
            price: {type: decimal, minimum: 0}
            tags: {type: array, items: {type: text, enum: [new, old], required: true}}
      codes: {type: array, items: {type: long, maximum: 9}}
"""
KINDS = pa.schema(
    [
        ("id", pa.int64()),
        ("address", pa.struct([("street", pa.string()), ("no", pa.int32())])),
        (
            "items",
            pa.list_(
                pa.struct([("sku", pa.string()), ("price", pa.decimal128(8, 2)), ("tags", pa.list_(pa.string()))])
            ),
        ),
        ("codes", pa.list_(pa.int32())),
    ]
)
ROWS: list[dict[str, Any]] = [
    {
        "id": 1,
        "address": {"street": "a", "no": 1},
        "items": [{"sku": "x", "price": Decimal(1), "tags": ["new"]}],
        "codes": [1],
    },
    {"id": 2, "address": {"street": None, "no": None}, "items": [], "codes": None},
    {
        "id": 3,
        "address": None,
        "items": [
            {"sku": "y", "price": None, "tags": None},
            {"sku": "Z", "price": Decimal("-0.25"), "tags": ["old", "odd", None]},
            None,
        ],
        "codes": [9, 10, None],
    },
    {"id": 4, "address": {"street": "long", "no": 2}, "items": None, "codes": []},
]
OF_PARTS = {
    "address:required:1/address": (4, 1, ""),
    "address.street:required:1/address.street": (4, 1, ""),
    "address.street:maxLength:1/address.street": (4, 1, ""),
    "items[].sku:required:1/items[].sku": (4, 0, ""),
    "items[].sku:pattern:1/items[].sku": (4, 1, "items[1]"),
    "items[].price:minimum:1/items[].price": (4, 1, "items[1]"),
    "items[].tags[]:enum:1/items[].tags[]": (4, 1, "items[1].tags[1]"),
    "items[].tags[]:required:1/items[].tags[]": (4, 1, "items[1].tags[2]"),
    "codes[]:maximum:1/codes[]": (4, 1, "codes[1]"),
}


def nested_plan(storage: Storage, document: str = NESTED) -> Plan:
    """The plan of a contract with nested fields, in some format."""
    form = f"    config: {{lakegate: {{format: {storage.format.value}, compression: {storage.compression.value}}}}}\n"
    contract = read(document.replace("  m:\n", f"  m:\n{form}").encode())
    return only_plan(contract)


NESTING = [each for each in STORAGES if each.format is not Format.CSV and each.compression is Compression.NONE]


@pytest.mark.parametrize("storage", NESTING, ids=lambda storage: storage.suffix)
def test_parts_of_values_are_measured_where_they_stand(storage: Storage, judge_files: Callable[..., Judged]) -> None:
    """Parts of records by rows, parts of lists by elements; the reason names row and place."""
    judged = judge_files(nested_plan(storage), written(pa.Table.from_pylist(ROWS, KINDS), storage))
    found = {
        each.check: (each.accept.of, each.accept.failing, each.samples[0].at if each.samples else "")
        for each in judged.result.measurements
        if each.accept
    }

    assert {name: found[name] for name in OF_PARTS} == OF_PARTS
    assert {number for name, (_, number, _) in found.items() if name not in OF_PARTS} == {0}
    assert (judged.result.rows, judged.result.rejected_rows) == (4, 3)
    assert "items[].sku: wanted matching ^[a-z]+$; measured 1 of 4 elements fail (25 %)" in judged.reasons
    assert Status.ERROR not in judged.statuses().values()


TWICE = """\
dataContractSpecification: 1.2.1
id: parts
info: {title: Parts, version: 1.0.0}
models:
  m:
    fields:
      id: {type: long}
      items: {type: array, items: {type: record, fields: {sku: {type: string, unique: true}}}}
"""


@pytest.mark.parametrize("storage", NESTING, ids=lambda storage: storage.suffix)
def test_elements_that_share_a_key_are_sampled_by_their_places(
    storage: Storage, judge_files: Callable[..., Judged]
) -> None:
    """A key twice in one record is two elements of it; each sample names record and place, those of one key together."""
    kinds = pa.schema({"id": pa.int64(), "items": pa.list_(pa.struct({"sku": pa.string()}))})
    rows = [{"id": 1, "items": [{"sku": "b"}, {"sku": "a"}]}, {"id": 2, "items": [{"sku": "a"}, {"sku": "a"}]}]

    judged = judge_files(nested_plan(storage, TWICE), written(pa.Table.from_pylist(rows, kinds), storage))
    found = next(each for each in judged.result.measurements if "unique" in each.check)

    assert found.accept is not None
    assert (found.accept.of, found.accept.failing) == (4, 3)
    assert [(each.row, each.at) for each in found.samples] == [(1, "items[1]"), (2, "items[0]"), (2, "items[1]")]


def test_what_a_file_lacks_of_a_part_is_absent(judge_files: Callable[..., Judged]) -> None:
    """A record without a declared member, and a list that is none, fail the rules that need them; extra members are noted."""
    table = pa.table({"id": [1], "address": [{"no": 1, "zip": "x"}], "items": ["none"], "codes": [[1]]})
    judged = judge_files(nested_plan(Storage(Format.PARQUET)), as_parquet(table))
    columns = judged.result.columns
    assert columns is not None
    statuses = judged.statuses()

    assert columns.absent == ("address.street",)
    assert columns.extra == ("address.zip",)
    assert [(each.field, each.physical) for each in columns.foreign] == [("address.no", "int64")] * 0 + [
        ("items", "string")
    ]
    assert statuses["address.street:required:1/address.street"] is Status.FAIL
    assert statuses["items:nested:1/items"] is Status.FAIL
    assert "the file has it as string" in judged.reasons


# --- columns, types and values


@pytest.mark.parametrize(
    "storage", [Storage(Format.PARQUET), Storage(Format.ORC), Storage(Format.AVRO)], ids=lambda it: it.suffix
)
def test_columns_are_bound_by_name(storage: Storage, judge_files: Callable[..., Judged]) -> None:
    """Extra, absent and reordered columns are what they are in CSV."""
    fields = {"id": "integer", "name": "string", "lost": "string"}
    plan = stored(
        plan_of(fields, rule("required", "lost"), policy=Policy(additional_fields=Additional.FORBID)), storage
    )
    table = pa.table({"name": ["a"], "more": [1], "id": [1]})

    judged = judge_files(plan, written(table, storage))

    assert judged.result.columns == Columns(("name", "more", "id"), absent=("lost",), extra=("more",), reordered=True)
    assert {"file/column-order", "file/additional-columns", "required/lost"} <= set(judged.statuses())


def test_keys_that_nobody_declared_are_noted_in_json(judge_files: Callable[..., Judged]) -> None:
    """By name where they look like names; keys that are data are masked."""
    plan = stored(plan_of({"id": "integer"}, policy=Policy(additional_fields=Additional.WARN)), Storage(Format.JSONL))
    judged = judge_files(plan, b'{"id": 1, "more": 2}\n{"id": 2, "ana@example.com": 1}\n')

    assert judged.verdict is Verdict.ACCEPTED_WITH_WARNINGS
    assert judged.result.columns == Columns(("id",), extra=("aaa@aaaaaaa.aaa", "more"))


TYPES = {
    "string": pa.array(["1"]),
    "binary": pa.array([b"1"]),
    "int32": pa.array([1], pa.int32()),
    "int64": pa.array([1], pa.int64()),
    "uint64": pa.array([1], pa.uint64()),
    "float": pa.array([1.0], pa.float32()),
    "double": pa.array([1.0], pa.float64()),
    "decimal128(5, 0)": pa.array([Decimal(1)], pa.decimal128(5, 0)),
    "decimal128(5, 2)": pa.array([Decimal(1)], pa.decimal128(5, 2)),
    "bool": pa.array([True]),
    "date32[day]": pa.array([dt.date(2020, 1, 1)]),
    "time64[us]": pa.array([dt.time(1, 2)], pa.time64("us")),
    "timestamp[ns]": pa.array([1], pa.timestamp("ns")),
    "timestamp[us, tz=UTC]": pa.array([1], pa.timestamp("us", "UTC")),
    "duration[s]": pa.array([1], pa.duration("s")),
    "halffloat": pa.array([1.5], pa.float16()),
    "list": pa.array([[1]]),
    "record": pa.array([{"a": 1}]),
}
HELD = {
    "string": {"string"},
    "integer": {"int32", "int64", "uint64", "decimal128(5, 0)"},
    "number": {"int32", "int64", "uint64", "float", "double", "decimal128(5, 0)", "decimal128(5, 2)", "halffloat"},
    "decimal": {"int32", "int64", "uint64", "decimal128(5, 0)", "decimal128(5, 2)"},
    "boolean": {"bool"},
    "date": {"date32[day]"},
    "time": {"time64[us]"},
    "timestamp": {"timestamp[ns]", "timestamp[us, tz=UTC]"},
}


@pytest.mark.parametrize("logical", HELD)
def test_physical_types_are_compared_with_declared_ones(logical: str, judge_files: Callable[..., Judged]) -> None:
    """Eighteen types of Parquet against each declared type: a column that cannot hold its values fails, and is named."""
    plan = stored(plan_of(dict.fromkeys(TYPES, logical), policy=Policy(samples=False)), Storage(Format.PARQUET))

    judged = judge_files(plan, as_parquet(pa.table(TYPES)))
    columns = judged.result.columns
    assert columns is not None
    held = {name for name, number in zip(TYPES, failing(judged).values(), strict=True) if not number}

    # "1" as a time of day is text of the right kind, and no value of it
    assert held == HELD[logical]
    assert {each.field for each in columns.foreign} == set(TYPES) - held - ({"string"} if logical == "time" else set())
    assert all(each.physical == each.field for each in columns.foreign)


def test_values_that_no_text_could_write_are_none_of_their_type(judge_files: Callable[..., Judged]) -> None:
    """NaN and infinities, days beyond the calendar of four digits, decimals beyond their digits; -0 is 0."""
    table = pa.table(
        {
            "float": pa.array([float("nan"), float("inf"), -0.0, 0.1], pa.float32()),
            "double": [float("-inf"), float("nan"), -0.0, 0.1],
            "day": pa.array([2932896 + 1, -719528 - 1, 0, None], pa.date32()),
            "seen": pa.array([253402300800000000, -62167219200000001, 0, None], pa.timestamp("us")),
            "exact": pa.array([Decimal(10**21), Decimal(1), None, None], pa.decimal128(38, 16)),
            "fine": pa.array([Decimal("1e-20"), Decimal("0.5"), None, None], pa.decimal128(38, 20)),
            "long": pa.array([2**63, 2**64 - 1, 1, None], pa.uint64()),
        }
    )
    fields = {
        "float": "number",
        "double": "number",
        "day": "date",
        "seen": "timestamp",
        "exact": "decimal",
        "fine": "decimal",
        "long": "integer",
    }
    zero = (rule("enum", "float", values=["0", "0.1"]), rule("unique", "double"))

    judged = judge_files(stored(plan_of(fields, *zero), Storage(Format.PARQUET)), as_parquet(table))

    assert failing(judged) == {
        "type-0/float": 2,
        "type-1/double": 2,
        "type-2/day": 2,
        "type-3/seen": 2,
        "type-4/exact": 1,
        "type-5/fine": 1,
        "type-6/long": 2,
        "enum/float": 0,
        "unique/double": 0,
    }


def test_int96_is_a_moment(judge_files: Callable[..., Judged]) -> None:
    """The timestamps of older writers, of any century."""
    plan = stored(plan_of({"seen": "timestamp"}, rule("minimum", "seen", value="1500-01-01")), Storage(Format.PARQUET))
    table = pa.table({"seen": pa.array([moment("1500-01-01"), moment("1499-12-31")], pa.timestamp("us"))})

    judged = judge_files(plan, as_parquet(table, use_deprecated_int96_timestamps=True))

    assert failing(judged) == {"type-0/seen": 0, "minimum/seen": 1}


@pytest.mark.parametrize(
    "options", [{"compression": codec} for codec in ("none", "snappy", "gzip", "zstd", "brotli", "lz4")]
)
def test_parquet_unpacks_itself(options: dict[str, Any], judge_files: Callable[..., Judged]) -> None:
    """Codecs inside of a file are the file's own; several row groups are read in their order."""
    table = pa.table({"id": [*range(100), 7]})
    plan = stored(plan_of({"id": "integer"}, rule("unique", "id")), Storage(Format.PARQUET))

    judged = judge_files(plan, as_parquet(table, row_group_size=30, **options))
    samples = next(each.samples for each in judged.result.measurements if each.check == "unique/id")

    assert (judged.result.rows, failing(judged)["unique/id"]) == (101, 2)
    assert [each.row for each in samples] == [8, 101]


def test_a_file_may_hold_no_declared_values_but_rows(judge_files: Callable[..., Judged]) -> None:
    """Rows are counted though no column is read but one without rules."""
    plan = stored(replace(plan_of({"id": "integer"}), checks=()), Storage(Format.PARQUET))
    judged = judge_files(plan, as_parquet(pa.table({"id": [1, 2]})))

    assert judged.result.rows == 2


JSON_VALUES = {
    "integer": (["5", "-0", "007"], ['"5"', "5.0", "5e0", "true", "{}", "[5]", "9223372036854775808"]),
    "number": (["5", "5.50", "1e3", "-0.0"], ['"5"', "1e400", "false", "[]"]),
    "decimal": (["1.10", "5"], ['"1.10"', "1e1", "0.1234567890123456789"]),
    "boolean": (["true", "false"], ['"true"', "1", "0"]),
    "string": (['"5"', '""', '"\\u0000"'], ["5", "true", '{"a": 1}', "[]"]),
    "date": (['"2020-02-29"'], ["20200229", '"2021-02-29"', '"29.02.2020"']),
    "time": (['"12:00"'], ["1200", '"24:00"']),
    "timestamp": (['"2020-01-01T00:00:00Z"'], ["1577836800", '"2020-01-01"']),
}


def test_json_values_are_judged_by_the_written_grammar(judge_files: Callable[..., Judged]) -> None:
    """Each token against each type: a number's own text, no lenient cast, no text for a number."""
    names = {
        f"{logical}-{at}": logical for logical, (good, bad) in JSON_VALUES.items() for at in range(len(good + bad))
    }
    tokens = [token for good, bad in JSON_VALUES.values() for token in good + bad if token != "007"]
    names.pop("integer-2")
    plan = stored(plan_of(names, policy=Policy(samples=False)), Storage(Format.JSONL))
    row = ", ".join(f'"{name}": {token}' for name, token in zip(names, tokens, strict=True))
    expected = [int(token in bad) for good, bad in JSON_VALUES.values() for token in good + bad if token != "007"]

    judged = judge_files(plan, b"{" + row.encode() + b"}\n")

    assert judged.result.malformed == ()
    assert list(failing(judged).values()) == expected


def test_a_packed_file_is_accounted_for_by_its_packed_bytes(judge_files: Callable[..., Judged]) -> None:
    """Two members of gzip are one file, and a quoted value may hold line breaks there too."""
    plan = plan_of({"id": "integer", "text": "string"})
    plan = replace(plan, storage=Storage(compression=Compression.GZIP), csv=replace(plan.csv, multi_line=True))
    content = packed(b'id,text\n1,"a\nb"\n', Compression.GZIP) + packed(b'2,"c\n\n"\n3,d', Compression.GZIP)

    judged = judge_files(plan, content)

    assert (judged.verdict, judged.result.rows, judged.result.malformed) == (Verdict.ACCEPTED, 3, ())


ORDERS = """
apiVersion: v3.1.0
kind: DataContract
id: x
version: 1.0.0
status: active
servers: [{{server: a, type: s3, location: s3://b/p, format: {form}}}]
schema: [{{name: rows, properties: [{{name: id, logicalType: integer, required: true}}]}}]
"""


@pytest.mark.parametrize("objects", [(b'\n {"id": 1}\n{"id": 2}\n',), (b' [{"id": 1}, {"id": 2}]',)])
@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP])
def test_a_server_of_json_is_read_as_lines_or_as_one_array(
    objects: tuple[bytes, ...], codec: Compression, judge_files: Callable[..., Judged]
) -> None:
    """If a server declares `json` without a delimiter, the first character of the file decides."""
    contract = read(ORDERS.format(form="json").encode())
    plan = only_plan(contract)
    plan = replace(plan, storage=replace(plan.storage, compression=codec))

    judged = judge_files(plan, *(packed(each, codec) for each in objects))

    assert (judged.verdict, judged.result.rows) == (Verdict.ACCEPTED, 2)


def test_objects_of_one_delivery_have_one_form_of_json(judge_files: Callable[..., Judged]) -> None:
    """JSON lines beside an array are rejected, with that reason."""
    contract = read(ORDERS.format(form="json").encode())

    judged = judge_files(only_plan(contract), b'{"id": 1}\n', b'[{"id": 2}]')

    assert judged.result.unreadable is not None
    assert judged.result.unreadable.code == "forms"


def test_a_format_that_is_not_read_is_never_taken_for_csv(judge_files: Callable[..., Judged]) -> None:
    """A contract whose server declares `delta` has every file refused, with the key to declare."""
    contract = read(ORDERS.format(form="delta").encode())

    judged = judge_files(only_plan(contract), b"id\n1\n")

    assert Verdict.REJECTED is judged.verdict
    assert "say `format` in its `lakegate` extension" in judged.reasons
