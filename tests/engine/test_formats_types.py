"""Types that files bring with them, and values of JSON, against declared types."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from lakegate.contract.delivery_policy import Policy
from lakegate.contract.file_formats import Format, Storage
from lakegate.lints.linter import read
from lakegate.plan.plan import Plan
from lakegate.rules.compile_plan import compile_plan
from tests.deliveries.delivery import Judged, plan_of, rule
from tests.deliveries.written import as_parquet, written
from tests.engine.formats import failing, moment, stored

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


MOMENT_TYPES = {
    "with": pa.array([1_767_254_400_000_000], pa.timestamp("us", "UTC")),
    "without": pa.array([1_767_254_400_000_000], pa.timestamp("us")),
}


def zoned(form: Format) -> Plan:
    """A column and a list of each type of DCS that says whether moments have a zone."""
    fields = "".join(
        f"{name}: {{type: {kind}}}, l{name}: {{type: array, items: {{type: {kind}}}}}, "
        for name, kind in (("t", "timestamp"), ("z", "timestamp_tz"), ("n", "timestamp_ntz"))
    )
    text = f"""dataContractSpecification: 1.2.1
id: zones
info: {{title: t, version: 1.0.0}}
config: {{lakegate: {{format: {form.value}}}}}
models: {{m: {{fields: {{{fields}}}}}}}
"""
    contract = read(text.encode())
    return compile_plan(contract, contract.datasets[0])


def with_lists(**columns: pa.Array) -> pa.Table:
    """Each column, and beside it a list of its value."""
    lists = {f"l{name}": pa.array([each.to_pylist()], pa.list_(each.type)) for name, each in columns.items()}
    return pa.table({**columns, **lists})


@pytest.mark.parametrize("form", [Format.PARQUET, Format.ORC, Format.AVRO])
def test_the_type_of_a_column_says_whether_moments_have_a_zone(
    form: Format, judge_files: Callable[..., Judged]
) -> None:
    """Parquet `isAdjustedToUTC`, ORC `timestamp with local time zone`, Avro `local-timestamp-*`, in lists too."""
    plan, zone, none = zoned(form), MOMENT_TYPES["with"], MOMENT_TYPES["without"]
    fine = judge_files(plan, written(with_lists(t=zone, z=zone, n=none), Storage(form)))
    swapped = judge_files(plan, written(with_lists(t=none, z=none, n=zone), Storage(form)))

    assert set(failing(fine).values()) == {0}
    assert {check.rpartition(":")[0] for check, number in failing(swapped).items() if number} == {
        f"{name}:{kind}" for name in ("z", "n", "lz[]", "ln[]") for kind in ("type", "offset")
    }


def test_moments_of_int96_have_a_zone_or_none(judge_files: Callable[..., Judged]) -> None:
    """Spark writes them for both of its types."""
    none = MOMENT_TYPES["without"]
    body = as_parquet(with_lists(t=none, z=none, n=none), use_deprecated_int96_timestamps=True, store_schema=False)

    assert set(failing(judge_files(zoned(Format.PARQUET), body)).values()) == {0}


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
