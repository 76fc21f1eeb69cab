"""Objects written again without some of their records."""

from __future__ import annotations

import bz2
import gzip
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakegate.admission.file_signatures import UnreadableError
from lakegate.base.errors import InputError
from lakegate.contract.delivery_policy import OnReject, Policy
from lakegate.contract.file_formats import Compression, Csv, Format, Storage
from lakegate.engine.measure.duckdb_tables import database
from lakegate.engine.read.data_source import LocalStore
from lakegate.features.erasure.rows_to_erase import Found, Key, without
from lakegate.plan.plan import Plan
from lakegate.plan.request import StagedPart
from tests.deliveries.delivery import plan_of
from tests.deliveries.written import STORAGES, as_parquet, packed, written
from tests.engine.formats import FIELDS, TABLE

UNPACKED = {
    Compression.NONE: bytes,
    Compression.GZIP: gzip.decompress,
    Compression.BZIP2: bz2.decompress,
    Compression.ZSTD: lambda body: pa.input_stream(pa.BufferReader(body), "zstd").read(),
}


def left(
    folder: Path, plan: Plan, body: bytes, *keys: tuple[str, str], is_rejected: bool = False
) -> tuple[Found, bytes | None]:
    """What was found, and what is left; None if nothing was written."""
    at, target = folder / "object", folder / "left"
    at.write_bytes(body)
    with database(folder) as connection:
        found = without(
            plan,
            StagedPart(at.as_uri(), len(body)),
            LocalStore(),
            tuple(Key(*each) for each in keys),
            connection,
            target,
            is_rejected=is_rejected,
        )
    return found, target.read_bytes() if target.exists() else None


def csv_plan(**settings: Any) -> Plan:
    return plan_of({"id": "integer", "name": "string"}, csv=Csv(**settings))


@pytest.mark.parametrize(("key", "erased"), [("1.5", 0), ("2.0", 1)])
def test_a_key_of_more_digits_than_its_field_equals_no_value(key: str, erased: int, tmp_path: Path) -> None:
    """It is not rounded to another row's value."""
    found, _ = left(tmp_path, plan_of({"id": "decimal(38,0)"}), b"id\n1\n2\n3\n", ("id", key))

    assert found == Found(3, erased)


WRITABLE = [each for each in STORAGES if each.format not in {Format.ORC, Format.AVRO}]


@pytest.mark.parametrize("storage", WRITABLE, ids=lambda storage: storage.suffix)
def test_the_records_of_a_value_are_left_out_of_every_format(storage: Storage, tmp_path: Path) -> None:
    """What is left is what the other rows alone would be, in the same format and codec."""
    plan = replace(plan_of(FIELDS), storage=storage)
    found, rest = left(tmp_path, plan, written(TABLE, storage), ("name", "João"))
    others = pa.concat_tables([TABLE.slice(0, 1), TABLE.slice(2)])
    assert rest is not None

    assert found == Found(4, 1)
    if storage.format is Format.PARQUET:
        assert pq.read_table(io.BytesIO(rest)) == others
    elif storage.format is Format.JSON:
        records = json.loads(UNPACKED[storage.compression](rest))
        for name in storage.path:
            assert list(records) == [name]
            records = records[name]
        assert records == json.loads(written(others, Storage(storage.format)))
    else:
        assert UNPACKED[storage.compression](rest) == written(others, Storage(storage.format))


@pytest.mark.parametrize(
    ("key", "erased"),
    [
        (("id", "2"), 2),
        (("id", "02"), 2),
        (("price", "1.5"), 1),
        (("share", "1e10"), 1),
        (("day", "2020-02-29"), 1),
        (("seen", "2020-01-01T01:02:03.000004Z"), 1),
        (("ok", "TRUE"), 2),
        (("id", "x"), 0),
        (("price", "1e60"), 0),
        (("name", "ana"), 0),
    ],
)
@pytest.mark.parametrize("form", [Format.CSV, Format.JSONL, Format.PARQUET])
def test_a_value_is_compared_by_its_type(key: tuple[str, str], erased: int, form: Format, tmp_path: Path) -> None:
    """A number may be written in another way; texts are equal to the letter. Without a match nothing is written."""
    plan = replace(plan_of(FIELDS), storage=Storage(form))
    found, rest = left(tmp_path, plan, written(TABLE, Storage(form)), key)

    assert found == Found(4, erased)
    assert (rest is None) == (not erased)


def test_all_values_must_be_those_of_the_record(tmp_path: Path) -> None:
    """Several keys name one record."""
    body = b"id,name\n1,Ana\n1,Bo\n2,Ana\n"

    assert left(tmp_path, csv_plan(), body, ("id", "1"), ("name", "Ana")) == (Found(3, 1), b"id,name\n1,Bo\n2,Ana\n")


@pytest.mark.parametrize(
    ("settings", "body", "rest"),
    [
        ({}, b'id,name\r\n\r\n1,"a ""b"""\r\n2,x\r\n\r\n3,y', b"id,name\r\n\r\n2,x\r\n\r\n3,y"),
        ({"header": False}, b'1,"a ""b"""\n2,x\n', b"2,x\n"),
        ({"multi_line": True}, b'id,name\n3,"x\n\ny"\n1,"a ""b"""\n', b'id,name\n3,"x\n\ny"\n'),
        ({}, b'\xef\xbb\xbfid,name\n1,"a ""b"""\n2,x\n', b"\xef\xbb\xbfid,name\n2,x\n"),
        ({"header": False}, b'\xef\xbb\xbf2,x\n1,"a ""b"""\n', b"\xef\xbb\xbf2,x\n"),
        ({"skip_rows": 2}, b'"T\r\n\nid,name\r\n1,"a ""b"""\n2,x\n', b'"T\r\n\nid,name\r\n2,x\n'),
        ({"skip_rows": 1, "header": False}, b'\xef\xbb\xbfT\n1,"a ""b"""\n2,x\n', b"\xef\xbb\xbfT\n2,x\n"),
        ({"delimiter": ";", "quote": "'"}, b"id;name\n1;'a \"b\"'\n2;x\n", b"id;name\n2;x\n"),
    ],
)
def test_all_other_bytes_of_a_csv_file_stay(settings: dict[str, Any], body: bytes, rest: bytes, tmp_path: Path) -> None:
    """Line ends, blank lines, quotes, the header and a byte order mark are as they were."""
    found, after = left(tmp_path, csv_plan(**settings), body, ("name", 'a "b"'))

    assert (found.erased, after) == (1, rest)


def test_values_are_found_in_the_encoding_of_the_file(tmp_path: Path) -> None:
    """The value is given as text; the file has one byte for each letter."""
    body = "id,name\n1,João\n2,x\n".encode("latin-1")

    assert left(tmp_path, csv_plan(encoding="iso-8859-1"), body, ("name", "João"))[1] == b"id,name\n2,x\n"


def test_a_record_of_several_shares_is_found_by_its_own_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large files are read share by share, of row groups or bytes: the numbers of records begin again in each."""
    monkeypatch.setattr("lakegate.engine.read.csv.SHARE_BYTES", 16)
    monkeypatch.setattr("lakegate.engine.read.parquet_orc.SHARE_ROWS", 4)
    table = pa.table({"id": list(range(20)), "name": [f"n{each % 7}" for each in range(20)]})
    others = table.filter(pa.array([each % 7 != 3 for each in range(20)]))
    for storage, body in (
        (Storage(Format.CSV), written(table, Storage(Format.CSV))),
        (Storage(Format.PARQUET), as_parquet(table, row_group_size=3)),
    ):
        found, rest = left(tmp_path, replace(csv_plan(), storage=storage), body, ("name", "n3"))
        assert found == Found(20, 3)
        assert rest is not None
        after = pq.read_table(io.BytesIO(rest)) if storage.format is Format.PARQUET else rest
        assert after == (others if storage.format is Format.PARQUET else written(others, storage))


def test_a_parquet_file_keeps_its_schema_metadata_and_codecs(tmp_path: Path) -> None:
    """Undeclared columns, nested ones, old timestamps, dictionaries and the writer's own notes are still there."""
    kinds = pa.schema(
        [
            ("id", pa.int32()),
            ("name", pa.dictionary(pa.int32(), pa.string())),
            ("more", pa.list_(pa.struct([("a", pa.decimal128(9, 2))]))),
        ],
        metadata={"writer": "ours"},
    )
    rows = [{"id": at, "name": name, "more": [{"a": at}]} for at, name in enumerate(["Ana", "Bo", "Ana"])]
    table = pa.Table.from_pylist(rows, kinds)
    body = as_parquet(table, compression={"id": "gzip", "name": "zstd", "more.list.element.a": "none"})
    _, rest = left(tmp_path, replace(csv_plan(), storage=Storage(Format.PARQUET)), body, ("name", "Ana"))
    assert rest is not None
    opened = pq.ParquetFile(io.BytesIO(rest))
    codecs = [opened.metadata.row_group(0).column(at).compression for at in range(3)]

    assert opened.read() == table.slice(1, 1)
    assert (opened.schema_arrow.metadata[b"writer"], codecs) == (b"ours", ["GZIP", "ZSTD", "UNCOMPRESSED"])


def test_old_timestamps_of_a_parquet_file_stay_old(tmp_path: Path) -> None:
    """INT96, as Hive and older Spark write them, is written again as INT96."""
    table = pa.table({"id": [1, 2], "name": ["a", "b"], "at": pa.array([0, 1], pa.timestamp("us"))})
    body = as_parquet(table, use_deprecated_int96_timestamps=True)
    _, rest = left(tmp_path, replace(csv_plan(), storage=Storage(Format.PARQUET)), body, ("id", "1"))
    assert rest is not None

    assert pq.ParquetFile(io.BytesIO(rest)).schema.column(2).physical_type == "INT96"


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("Ana", b'9,Ana,"'),
        ("João", "9,João\xff".encode("latin-1")),
        ("João", "9,João,,".encode()),
        ('a"b', b'9,"a""b",,,'),
    ],
)
def test_a_record_that_cannot_be_read_is_left_out_if_it_contains_the_value(
    value: str, line: bytes, tmp_path: Path
) -> None:
    """Nothing else tells whose record it is: a doubtful one is erased."""
    body = b"id,name\n1,x\n" + line + b"\n8,Other,,\n"

    assert left(tmp_path, csv_plan(), body, ("name", value)) == (Found(3, 1), b"id,name\n1,x\n8,Other,,\n")


def test_a_json_record_that_cannot_be_read_is_left_out_if_it_contains_the_value(tmp_path: Path) -> None:
    """Also where its letters are escaped; blank lines stay."""
    plan = replace(csv_plan(), storage=Storage(Format.JSONL))
    body = b'{"id": 1, "name": "Jo\\u00e3o"\n\n{"id": 2, "name": "x"}\n{"id": 3, "name": "Jo\\u00e3o"}\n'

    assert left(tmp_path, plan, body, ("name", "João")) == (Found(3, 2), b'\n{"id": 2, "name": "x"}\n')


def test_a_nested_field_is_a_key(tmp_path: Path) -> None:
    """A part of a record has one value in each row."""
    plan = only_nested()
    body = b'{"customer": {"mail": "a@x"}}\n{"customer": {"mail": "b@x"}}\n{"customer": null}\n'

    assert left(tmp_path, plan, body, ("customer.mail", "a@x")) == (
        Found(3, 1),
        b'{"customer": {"mail": "b@x"}}\n{"customer": null}\n',
    )


def only_nested() -> Plan:
    from lakegate.lints.linter import read  # noqa: PLC0415 - one test reads a document
    from tests.reference.cases import only_plan  # noqa: PLC0415 - likewise

    document = """
dataContractSpecification: 1.2.1
id: x
info: {title: t, version: 1.0.0}
models:
  m:
    config: {lakegate: {format: jsonl}}
    fields:
      customer: {type: record, fields: {mail: {type: text}}}
      tags: {type: array, items: {type: text}}
"""
    contract = read(document.encode())
    assert contract is not None
    return only_plan(contract)


REJECTED = {
    Format.CSV: b'_reasons,id,name\n"a/id; b",1,Ana\nrecords,2,"Bo\n',
    Format.JSONL: b'{"_reasons":"a/id","_record":{"id": 1, "name": "Ana"}}\n{"_reasons":"records","_record":"{Bo"}\n',
}


@pytest.mark.parametrize("form", REJECTED)
@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP])
@pytest.mark.parametrize(("value", "at"), [("Ana", -2), ("Bo", -1)])
def test_rejected_rows_of_a_split_are_searched_behind_their_reasons(
    form: Format, codec: Compression, value: str, at: int, tmp_path: Path
) -> None:
    """Records that could not be read are texts there."""
    plan = replace(csv_plan(), storage=Storage(form, codec), policy=Policy(on_reject=OnReject.ROWS))
    body = REJECTED[form]
    found, rest = left(tmp_path, plan, packed(body, codec), ("name", value), is_rejected=True)
    lines = body.splitlines(keepends=True)
    del lines[at]
    assert rest is not None

    assert (found, UNPACKED[codec](rest)) == (Found(2, 1), b"".join(lines))
    assert sorted(each.name for each in tmp_path.iterdir()) == ["left", "object"]


def test_rejected_rows_without_a_header_begin_with_their_reasons(tmp_path: Path) -> None:
    """The columns of a file without a header are those of the contract, after the reasons."""
    body = b'"a/id",1,Ana\n"b",2,Bo\n'

    assert left(tmp_path, csv_plan(header=False), body, ("name", "Ana"), is_rejected=True)[1] == b'"b",2,Bo\n'


def test_rejected_rows_are_searched_in_the_encoding_of_the_delivery(tmp_path: Path) -> None:
    """They are written as they came."""
    body = '_reasons,id,name\n"a/id",1,João\n"b",2,Bo\n'.encode("windows-1252")
    rest = left(tmp_path, csv_plan(encoding="windows-1252"), body, ("name", "João"), is_rejected=True)[1]

    assert rest == b'_reasons,id,name\n"b",2,Bo\n'


def test_rejected_rows_of_a_table_have_their_reasons_in_a_column(tmp_path: Path) -> None:
    """It is a column like any other."""
    table = pa.table({"_reasons": ["a", "b"], "id": [1, 2], "name": ["Ana", "Bo"]})
    plan = replace(csv_plan(), storage=Storage(Format.PARQUET), policy=Policy(on_reject=OnReject.ROWS))
    _, rest = left(tmp_path, plan, as_parquet(table), ("name", "Ana"), is_rejected=True)
    assert rest is not None

    assert pq.read_table(io.BytesIO(rest)) == table.slice(1, 1)


@pytest.mark.parametrize("form", [Format.ORC, Format.AVRO])
def test_a_format_that_cannot_be_written_is_refused(form: Format, tmp_path: Path) -> None:
    """One clear error names the format."""
    with pytest.raises(
        InputError, match=f"a file of the format {form.value} cannot be written without some of its rows"
    ):
        left(tmp_path, replace(plan_of(FIELDS), storage=Storage(form)), written(TABLE, Storage(form)), ("name", "Ana"))


@pytest.mark.parametrize(
    ("body", "key", "message"),
    [
        (b"id,other\n1,Ana\n", "name", "the file has no column name"),
        (b"id,name\n1,Ana\n", "mail", "the contract has no field mail"),
    ],
)
def test_a_field_that_is_not_there_cannot_be_searched(body: bytes, key: str, message: str, tmp_path: Path) -> None:
    """Not found is not the same as not there: the object has to be looked at, or erased whole."""
    with pytest.raises(InputError, match=message):
        left(tmp_path, csv_plan(), body, (key, "Ana"))


@pytest.mark.parametrize("field", ["customer", "tags", "tags[]"])
def test_a_field_without_a_single_value_cannot_be_searched(field: str, tmp_path: Path) -> None:
    """Records and lists are no keys."""
    with pytest.raises(InputError, match="has no single value in each row"):
        left(tmp_path, only_nested(), b"{}\n", (field, "Ana"))


def test_a_value_beyond_the_longest_record_refuses_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its row is not read, so nobody knows whose it is."""
    monkeypatch.setattr("lakegate.engine.read.stored_columns.LONGEST_RECORD", 4)
    table = pa.table({"id": [1, 2], "name": ["Ana", "x" * 5]})
    with pytest.raises(InputError, match="longer than a record may be"):
        left(tmp_path, replace(csv_plan(), storage=Storage(Format.PARQUET)), as_parquet(table), ("name", "Ana"))


def test_a_damaged_object_is_not_written(tmp_path: Path) -> None:
    """What cannot be read to its end cannot be written again."""
    plan = replace(csv_plan(), storage=Storage(Format.CSV, Compression.GZIP))
    with pytest.raises(UnreadableError):
        left(tmp_path, plan, gzip.compress(b"id,name\n1,Ana\n" * 99)[:-9], ("name", "Ana"))
    assert not (tmp_path / "left").exists()
