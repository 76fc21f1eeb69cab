"""Rejected rows of a delivery that is a table: what a typed file has of each record, from every format, and what it hides."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakegate.contract.delivery_policy import OnReject, Policy
from lakegate.contract.file_formats import Compression, Csv, Format, Storage
from lakegate.engine import accepted_rows
from lakegate.engine.read import csv
from lakegate.engine.read.data_source import path_of
from lakegate.features.tables.rejected_columns import REJECTED_SCHEMA
from lakegate.lints.linter import read
from lakegate.plan.plan import Plan
from lakegate.rules.compile_plan import compile_plan
from tests.deliveries.delivery import plan_of, rule, with_classification
from tests.deliveries.typed import both_files, rows_of
from tests.deliveries.written import STORAGES, as_parquet, written
from tests.engine.formats import FIELDS, TABLE, stored
from tests.reference.evaluator import JUDGED_AT

BY_ROWS = Policy(on_reject=OnReject.ROWS)
SPLIT = [each for each in STORAGES if each.splits_rows]


def by_rows(plan: Plan) -> Plan:
    return replace(plan, policy=BY_ROWS)


def rejected(plan: Plan, folder: Path, *objects: bytes) -> list[dict[str, Any]]:
    """The rejected rows of a delivery."""
    _, files = both_files(by_rows(plan), folder, *objects)
    found = rows_of(files)
    assert found.schema == REJECTED_SCHEMA
    rows: list[dict[str, Any]] = found.to_pylist()
    return rows


def records(plan: Plan, folder: Path, *objects: bytes) -> list[Any]:
    """Their records, parsed."""
    return [json.loads(each["record"]) for each in rejected(plan, folder, *objects)]


def test_a_row_says_which_record_of_which_delivery_breaks_which_rules(tmp_path: Path) -> None:
    """Of several files, with a header and a line that cannot be read."""
    plan = plan_of({"id": "integer", "n": "integer"}, rule("maximum", "n", value=9), rule("unique", "id"))
    first, second = b"id,n\n1,1\n2,10\n", b"id,n\n2,x\n3,3,3\n4,\n"
    found = rejected(plan, tmp_path, first, second)
    whole = {
        "delivery": "0" * 64,
        "contract_version": "1.0.0",
        "time": dt.datetime.fromisoformat(JUDGED_AT),
    }

    assert found == [
        whole | {"part": 0, "row": 3, "reasons": ["maximum/n", "unique/id"], "record": '{"id": "2", "n": "10"}'},
        whole | {"part": 1, "row": 2, "reasons": ["type-1/n", "unique/id"], "record": '{"id": "2", "n": "x"}'},
        whole | {"part": 1, "row": 3, "reasons": ["file/records"], "record": '"3,3,3"'},
    ]


@pytest.mark.parametrize("storage", SPLIT, ids=lambda storage: storage.suffix)
def test_records_of_every_format_are_objects_of_their_columns(storage: Storage, tmp_path: Path) -> None:
    """Of text as it is written, of tables by their types; nulls are nulls."""
    plan = stored(plan_of(FIELDS, rule("maximum", "id", value=0)), storage)
    (found, *_) = records(plan, tmp_path, written(TABLE, storage))
    is_csv, is_table = storage.format is Format.CSV, not storage.format.is_text
    expected: dict[str, Any] = {"id": 1, "name": "Ana", "ok": True, "share": 0.5, "day": "2020-02-29", "at": "12:00"}
    if is_csv:
        expected |= {"id": "1", "ok": "true", "share": "0.5"}

    assert {name: found[name] for name in expected} == expected
    assert list(found) == list(FIELDS)
    assert float(found["price"]) == 1.5
    assert found["seen"].replace(" ", "T")[:26] == "2020-01-01T01:02:03.000004"
    assert not is_table or isinstance(found["price"], float)


TYPED = pa.table(
    {
        "id": pa.array([1], pa.int64()),
        "raw": [b"\x00\xff"],
        "far": pa.array([10**17], pa.timestamp("us")),
        "zoned": pa.array([dt.datetime(2020, 1, 2, 3, 4, 5, 678901, dt.UTC)], pa.timestamp("us", "+02:00")),
        "wide": pa.array([Decimal("9" * 38)], pa.decimal128(38, 0)),
        "nan": [float("nan")],
        "inner": [{"days": [dt.date(2020, 1, 2), None], "by": [("k", dt.datetime(2020, 1, 2, tzinfo=dt.UTC))]}],
    },
    schema=pa.schema(
        [
            ("id", pa.int64()),
            ("raw", pa.binary()),
            ("far", pa.timestamp("us")),
            ("zoned", pa.timestamp("us", "+02:00")),
            ("wide", pa.decimal128(38, 0)),
            ("nan", pa.float64()),
            (
                "inner",
                pa.struct([("days", pa.list_(pa.date32())), ("by", pa.map_(pa.string(), pa.timestamp("us", "UTC")))]),
            ),
        ]
    ),
)


def test_values_that_json_or_python_do_not_have(tmp_path: Path) -> None:
    """Bytes, moments after the year 9999, no number, all digits of a decimal, maps: also in columns that nobody declares."""
    plan = stored(plan_of({"id": "integer"}, rule("maximum", "id", value=0)), Storage(Format.PARQUET))
    two = pa.concat_tables([TYPED, TYPED.set_column(0, "id", pa.array([0], pa.int64()))])
    (found,) = rejected(plan, tmp_path, as_parquet(two))

    assert found["record"] == (
        '{"id": 1, "raw": "00ff", "far": "5138-11-16T09:46:40.000000", "zoned": "2020-01-02T03:04:05.678901Z", '
        f'"wide": {"9" * 38}, "nan": "nan", '
        '"inner": {"days": ["2020-01-02", null], "by": {"k": "2020-01-02T00:00:00.000000Z"}}}'
    )


def test_a_text_is_as_it_was_written(tmp_path: Path) -> None:
    """Quotes, separators, line breaks, other encodings, numbers of JSON, empty values with and without quotes."""
    plan = plan_of(
        {"id": "integer", "t": "string"}, rule("maximum", "id", value=0), csv=Csv(delimiter=";", encoding="cp1252")
    )
    found = records(plan, tmp_path / "a", 'id;t\n1;"a;""é"\n2;""\n3;\n0;x\n'.encode("cp1252"))
    lines = b'{"id": 1.50, "t": "\\u00e9", "more": [1e400, {"k": null}]}\n{"id": 0}\n{"id": 2\n'
    of_json = rejected(
        stored(plan_of({"id": "number", "t": "string"}, rule("maximum", "id", value=0)), Storage(Format.JSONL)),
        tmp_path / "b",
        lines,
    )

    assert found == [{"id": "1", "t": 'a;"é'}, {"id": "2", "t": ""}, {"id": "3", "t": None}]
    assert [each["record"] for each in of_json] == [
        '{"id": 1.50, "t": "é", "more": [1e400, {"k": null}]}',
        '"{\\"id\\": 2"',
    ]


def test_classified_fields_are_masked_with_all_that_cannot_be_told_from_them(tmp_path: Path) -> None:
    """Public and unclassified ones are shown; a record that cannot be read, and columns without a declaration, are not."""
    plan = plan_of({"id": "integer", "mail": "string", "note": "string"}, rule("maximum", "id", value=0))
    plan = with_classification(plan, mail="personal data", note="Public ")
    body = b"id,mail,note,extra\n1,Jane@x.com,n1,secret\n2,,n2,secret\n3,Jane@x.com,n3\n0,a,b,c\n"

    assert records(plan, tmp_path, body) == [
        {"id": "1", "mail": "Aaaa@a.aaa", "note": "n1"},
        {"id": "2", "mail": None, "note": "n2"},
        "9,Aaaa@a.aaa,a9",
    ]


MODEL = """\
dataContractSpecification: 1.2.1
id: nested
info: {title: Nested, version: 1.0.0}
models:
  m:
    config: {lakegate: {format: jsonl}}
    fields:
      id: {type: long, config: {}}
      who:
        type: record
        fields: {name: {type: string, classification: pii}, land: {type: string}}
      tags: {type: array, items: {type: record, fields: {text: {type: string, classification: pii}, n: {type: long}}}}
      prices:
        type: map
        keys: {type: string}
        values: {type: record, fields: {net: {type: long, classification: pii}, cur: {type: string}}}
"""


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ('"who": {"name": "Jane", "land": "PT", "other": "Jane"}', {"who": {"name": "Aaaa", "land": "PT"}}),
        ('"who": "Jane"', {"who": "Aaaa"}),
        ('"who": ["Jane"]', {"who": '["Aaaa"]'}),
        ('"who": null', {"who": None}),
        ('"tags": [{"text": "ab", "n": 12}, null, 7]', {"tags": [{"text": "aa", "n": 12}, None, "9"]}),
        ('"prices": {"a": {"net": 12, "cur": "EUR"}}', {"prices": {"a": {"net": "99", "cur": "EUR"}}}),
        ('"more": {"mail": "Jane"}', {}),
    ],
)
def test_nested_fields_are_masked_where_they_are_classified(
    given: str, expected: dict[str, Any], tmp_path: Path
) -> None:
    """Also where a value has another form than the contract declares."""
    contract = read(MODEL.encode())
    plan = compile_plan(contract, contract.datasets[0])
    body = f'{{"id": "x", {given}}}\n{{"id": 1}}\n'.encode()

    assert records(plan, tmp_path, body) == [{"id": "x", **expected}]


def test_the_ways_to_divide_rows_are_those_of_accepted_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files end with a share; shares without rejected rows are not read again."""
    plan = by_rows(plan_of({"id": "integer"}, rule("minimum", "id", value=1000)))
    body = b"id\n" + b"".join(b"%d\n" % number for number in range(2000))
    whole = both_files(plan, tmp_path / "whole", body)[1]
    monkeypatch.setattr(csv, "SHARE_BYTES", 1000)
    monkeypatch.setattr(accepted_rows, "FILE_SHARES", 2)
    divided = both_files(plan, tmp_path / "shares", body)[1]

    assert (len(whole), len(divided)) == (1, 2)
    assert rows_of(whole).equals(rows_of(divided))
    assert rows_of(whole).column("row").to_pylist() == list(range(2, 1002))
    assert pq.ParquetFile(path_of(whole[0].uri)).metadata.row_group(0).column(0).compression == "ZSTD"


def test_nothing_is_written_where_no_row_is_rejected_or_rows_are_not_rejected_alone(tmp_path: Path) -> None:
    plan = plan_of({"id": "integer"}, rule("minimum", "id", value=1))

    assert both_files(by_rows(plan), tmp_path / "good", b"id\n1\n")[1] == ()
    assert both_files(by_rows(plan), tmp_path / "bad", b"id\n0\n") == ((), ())
    assert both_files(plan, tmp_path / "whole", b"id\n1\n2\n")[1] == ()


def test_a_packed_delivery_is_read_as_any_other(tmp_path: Path) -> None:
    plan = stored(plan_of({"id": "integer"}, rule("minimum", "id", value=1)), Storage(Format.CSV, Compression.GZIP))

    assert records(plan, tmp_path, written(pa.table({"id": [0, 1]}), plan.storage)) == [{"id": "0"}]
