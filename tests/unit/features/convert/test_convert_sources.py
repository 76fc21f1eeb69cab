"""Contracts from schemas of other tools: they lint clean, accept what fits the schema, and list what they lack."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

from lakegate.base.errors import InputError
from lakegate.base.extension_points import ROOT
from lakegate.cli.main import app
from lakegate.contract.file_formats import Format, Storage
from tests.deliveries.written import written

if TYPE_CHECKING:
    from click.testing import Result

RECORD_SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$defs": {"code": {"type": "string", "pattern": "^[A-Z]{2}$"}},
    "type": "object",
    "required": ["id", "who"],
    "properties": {
        "id": {"type": "integer", "minimum": 1, "exclusiveMaximum": 100},
        "country": {"$ref": "#/$defs/code"},
        "state": {"type": ["string", "null"], "enum": ["on", "off", None]},
        "mail": {"type": "string", "format": "email", "maxLength": 40},
        "day": {"type": "string", "format": "date"},
        "share": {"type": "number", "multipleOf": 0.5},
        "who": {"type": "object", "required": ["age"], "properties": {"age": {"type": "integer"}}},
        "tags": {"type": "array", "items": {"type": "string"}},
        "prices": {"type": "object", "additionalProperties": {"type": "number"}},
    },
}
RECORD = {
    "id": 1,
    "country": "PL",
    "state": None,
    "mail": "a@b.pl",
    "day": "2026-01-01",
    "share": 1.5,
    "who": {"age": 3},
    "tags": ["x"],
    "prices": {"a": 1.5},
}
TABLE = """
CREATE TABLE shop.orders (
  id BIGINT NOT NULL,
  code VARCHAR(3) UNIQUE,
  price DECIMAL(10, 2),
  day DATE,
  at TIMESTAMP,
  ok BOOLEAN,
  PRIMARY KEY (id)
);
"""
ROWS = "id,code,price,day,at,ok\n1,abc,1.50,2026-01-01,2026-01-01 10:00:00,true\n2,,,,,\n"
COLUMNS = {
    "id": {"name": "id", "data_type": "bigint", "constraints": [{"type": "not_null"}, {"type": "primary_key"}]},
    "code": {"name": "code", "data_type": "varchar(3)", "description": "A code"},
    "price": {"name": "price", "data_type": "numeric(10,2)"},
    "day": {"name": "day", "data_type": "date"},
    "at": {"name": "at", "data_type": "timestamp"},
    "ok": {"name": "ok", "data_type": "boolean"},
}


def a_test(name: str, column: str, **more: Any) -> dict[str, Any]:
    """A generic test of dbt."""
    kwargs = more.pop("kwargs", {})
    about = {"resource_type": "test", "attached_node": "model.shop.orders", "column_name": column}
    return about | {"test_metadata": {"name": name, "kwargs": kwargs}} | more


MANIFEST = {
    "metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json"},
    "nodes": {
        "model.shop.orders": {"resource_type": "model", "name": "orders", "columns": COLUMNS},
        "test.shop.1": a_test(
            "accepted_values", "code", kwargs={"values": ["abc", "abd"]}, config={"severity": "warn"}
        ),
        "test.shop.2": a_test("unique", "code"),
    },
    "sources": {},
}
ARROW = pa.table(
    {
        "id": pa.array([1, 2], pa.int32()),
        "price": pa.array([Decimal("1.50"), None], pa.decimal128(10, 2)),
        "at": pa.array([0, 1], pa.timestamp("us", "UTC")),
        "tags": pa.array([["a"], None], pa.list_(pa.string())),
        "who": pa.array([{"age": 1}, None], pa.struct([("age", pa.int64())])),
        "raw": pa.array([b"x", b"y"], pa.binary()),
    },
    schema=pa.schema(
        [
            pa.field("id", pa.int32(), nullable=False),
            pa.field("price", pa.decimal128(10, 2)),
            pa.field("at", pa.timestamp("us", "UTC")),
            pa.field("tags", pa.list_(pa.string())),
            pa.field("who", pa.struct([("age", pa.int64())])),
            pa.field("raw", pa.binary()),
        ]
    ),
)
AVRO = written(ARROW.drop_columns(["who"]), Storage(Format.AVRO))
OTHER_AVRO = written(ARROW.set_column(0, "id", [["a", "b"]]).drop_columns(["who"]), Storage(Format.AVRO))
ODF_SCHEMA = """\
kind: SetDataSchema
schema:
  fields:
    - {name: offset, type: {kind: UInt64}}
    - {name: id, type: {kind: Int32}}
    - {name: price, type: {kind: Option, inner: {kind: Decimal, precision: 10, scale: 2}}}
    - {name: at, type: {kind: Option, inner: {kind: Timestamp, unit: Microsecond, timezone: UTC}}}
    - {name: tags, type: {kind: Option, inner: {kind: List, itemType: {kind: Option, inner: {kind: String}}}}}
    - {name: who, type: {kind: Option, inner: {kind: Struct, fields: [{name: age, type: {kind: Option, inner: Int64}}]}}}
    - {name: raw, type: {kind: Option, inner: {kind: Binary}}}
"""
SOURCES: dict[str, tuple[str, bytes, str, bytes, bytes]] = {
    "json-schema": (
        "orders.json",
        json.dumps(RECORD_SCHEMA).encode(),
        "rows.jsonl",
        json.dumps(RECORD).encode(),
        json.dumps(RECORD | {"id": 0}).encode(),
    ),
    "sql": ("orders.sql", TABLE.encode(), "rows.csv", ROWS.encode(), ROWS.replace("abc", "abcd").encode()),
    "dbt": (
        "manifest.json",
        json.dumps(MANIFEST).encode(),
        "rows.csv",
        ROWS.encode(),
        ROWS.replace("2,", ",").encode(),
    ),
    "avro": ("orders.avro", AVRO, "rows.avro", AVRO, OTHER_AVRO),
    "odf": (
        "orders.yaml",
        ODF_SCHEMA.encode(),
        "rows.parquet",
        written(ARROW, Storage(Format.PARQUET)),
        written(ARROW.drop_columns(["id"]), Storage(Format.PARQUET)),
    ),
    "parquet": (
        "orders.parquet",
        written(ARROW, Storage(Format.PARQUET)),
        "rows.parquet",
        written(ARROW, Storage(Format.PARQUET)),
        written(ARROW.drop_columns(["id"]), Storage(Format.PARQUET)),
    ),
}
"""The schema of each format, a file that fits it, and one that does not."""


def run(*words: str) -> Result:
    """Run a command."""
    return CliRunner().invoke(app, list(words))


@pytest.mark.parametrize("form", SOURCES)
def test_what_fits_a_schema_is_accepted(form: str, tmp_path: Path) -> None:
    """The contract lints clean, accepts the file that fits the schema, and rejects the other one; nothing is lost."""
    name, schema, rows, good, bad = SOURCES[form]
    contract, wrong = tmp_path / "contract.yaml", tmp_path / f"wrong-{rows}"
    for path, content in ((tmp_path / name, schema), (tmp_path / rows, good), (wrong, bad)):
        path.write_bytes(content)
    made = run("convert", str(tmp_path / name), "--from", form, "-o", str(contract))
    linted = run("lint", str(contract))
    checked = [run("check", "--contract", str(contract), str(path)).exit_code for path in (tmp_path / rows, wrong)]

    assert (made.exit_code, made.stderr) == (0, ""), made.exception
    assert "valid (0 errors, 0 warnings)" in linted.stdout
    assert checked == [0, 1]


def test_a_schema_is_written_in_every_format(tmp_path: Path) -> None:
    """What is read from one tool is written for another one; --dataset chooses a table, --name names the contract."""
    path = tmp_path / "tables.sql"
    path.write_text(TABLE + TABLE.replace("shop.orders", "clicks"))
    table = run("convert", str(path), "--from", "sql", "--dialect", "Postgres", "--to", "duckdb", "--dataset", "clicks")
    document = json.loads(
        run("convert", str(path), "--from", "sql", "--dataset", "orders", "--name", "My shop", "--json").stdout
    )

    assert table.stdout.startswith('CREATE TABLE "clicks" (\n  "id" BIGINT')
    assert (document["dataset"], "id: my-shop\nname: My shop" in document["text"], "clicks" in document["text"]) == (
        "orders",
        True,
        False,
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--from", "sql", "--dialect", "klingon"], "the dialect klingon is not known; known are"),
        (["--from", "json-schema", "--dialect", "spark"], "--from json-schema has no dialect"),
        (["--name", "x"], "--name and --dialect belong to a schema: name its format with --from"),
        (["--from", "avro"], "it is neither an Avro file nor a schema of Avro"),
        (["--from", "parquet"], "orders.odcs.yaml: "),
        (["--from", "dbt"], "the manifest is not JSON"),
    ],
)
def test_a_source_that_cannot_be_read_is_refused(words: list[str], message: str) -> None:
    """Each refusal is one sentence."""
    found = run("convert", str(ROOT / "contracts/examples/orders.odcs.yaml"), *words)

    assert isinstance(found.exception, InputError)
    assert message in str(found.exception)


@pytest.mark.parametrize("form", SOURCES)
def test_a_file_that_does_not_exist_is_refused(form: str, tmp_path: Path) -> None:
    """The name of the file is in the message; a large text is not read."""
    found = run("convert", str(tmp_path / "none"), "--from", form)

    assert isinstance(found.exception, InputError)
    assert "cannot be read" in str(found.exception)


def test_a_large_text_is_refused(tmp_path: Path) -> None:
    """At one byte more than is read."""
    path = tmp_path / "large.sql"
    path.write_bytes(b" " * ((1 << 20) + 1))

    assert str(run("convert", str(path), "--from", "sql").exception) == f"{path} has more than 1,048,576 bytes"


def avsc(path: Path, *fields: dict[str, object], **more: object) -> Result:
    """Convert a schema of Avro as text."""
    path.write_text(json.dumps({"type": "record", "name": "r", "fields": fields} | more))
    return run("convert", str(path), "--from", "avro", "--json")


def test_a_schema_of_avro_is_read_as_text(tmp_path: Path) -> None:
    """What is no union with null is required; unions of several types are left out; what is no type is listed."""
    found = avsc(
        tmp_path / "r.avsc",
        {"name": "id", "type": "long", "doc": "the number"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "kind", "type": {"type": "enum", "name": "k", "symbols": ["A"]}},
        {"name": "odd", "type": ["int", "string"]},
        {"name": "prices", "type": {"type": "map", "values": "double"}},
    )
    document = json.loads(found.stdout)
    lines = document["text"].splitlines()

    assert [lines[at - 2].strip() for at, line in enumerate(lines) if line.strip() == "required: true"] == [
        "- name: id",
        "- name: kind",
        "- name: prices",
    ]
    assert sorted(document["omitted"]) == [
        "id: `doc` has no equivalent",
        "k: `symbols` has no equivalent",
        "note: `default` has no equivalent",
        "odd: left out: no logical type has values of the type union",
    ]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ([{"name": "a", "type": "r"}], "leads back to itself"),
        (
            [{"name": "id", "type": {"name": "U", "type": "string"}}, {"name": "a", "type": ["null", "x.U"]}],
            "defines no type `x.U`, which it uses",
        ),
        ([{"name": "a", "type": "null"}], "has no column that a contract can describe"),
        (
            [
                {"name": f"f{at}", "type": {"type": "record", "name": f"t{at}", "fields": inner}}
                for at in range(30)
                for inner in [[{"name": name, "type": f"t{at - 1}" if at else "int"} for name in ("x", "y")]]
            ],
            "cannot be read",
        ),
    ],
)
def test_a_hostile_schema_of_avro_is_refused(fields: list[dict[str, object]], message: str, tmp_path: Path) -> None:
    """Recursive types, types that multiply, and schemas without a column have one clear error."""
    assert message in str(avsc(tmp_path / "r.avsc", *fields).exception)


@pytest.mark.parametrize(
    ("kind", "listed"),
    [
        ({"type": "fixed", "name": "d", "size": 12, "logicalType": "duration"}, "`duration`: values are read as fixed"),
        ({"type": "string", "logicalType": "uuid"}, "`uuid`: values are read as string"),
        ({"type": "string", "logicalType": "date"}, "`date`: values are read as string"),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 5},
            "`decimal`: values are read as bytes",
        ),
    ],
)
def test_logical_types_of_avro_that_are_not_read_are_listed(
    kind: dict[str, object], listed: str, tmp_path: Path
) -> None:
    """Also those that are invalid: the draft describes the type that they annotate."""
    found = avsc(tmp_path / "r.avsc", {"name": "a", "type": ["null", kind]}, {"name": "b", "type": {"type": "int"}})

    assert f"a logical type has no equivalent: {listed}" in json.loads(found.stdout)["omitted"]


@pytest.mark.parametrize(
    ("size", "digits", "declared"),
    [
        (1, 2, "decimal(2,0)"),
        (1, 3, "binary"),
        (8, 18, "decimal(18,0)"),
        (8, 19, "binary"),
        (16, 38, "decimal(38,0)"),
        (15, 36, "binary"),
        (8, 10**9, "binary"),
    ],
)
def test_a_fixed_decimal_has_the_digits_that_fit_in_its_bytes(
    size: int, digits: int, declared: str, tmp_path: Path
) -> None:
    """Any other is invalid and ignored, at once: a precision is a number of the producer (Avro 1.12, "Decimal")."""
    kind = {"type": "fixed", "name": "f", "size": size, "logicalType": "decimal", "precision": digits}
    text = json.loads(avsc(tmp_path / "r.avsc", {"name": "a", "type": kind}).stdout)["text"]

    assert re.findall(r'physicalType: "?([^"\n]*)', text) == [declared]


def test_logical_types_of_avro_that_are_read_are_not_listed(tmp_path: Path) -> None:
    """A decimal and a day have their own types in a contract."""
    exact = {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2}
    found = avsc(
        tmp_path / "r.avsc",
        {"name": "a", "type": exact},
        {"name": "b", "type": {"type": "int", "logicalType": "date"}},
    )

    assert json.loads(found.stdout)["omitted"] == []


def test_namespaces_of_avro_are_listed(tmp_path: Path) -> None:
    """A contract has no place for them: the schema that is written of it has other full names."""
    inner = {"type": "record", "name": "p", "namespace": "com.y", "fields": [{"name": "x", "type": "int"}]}
    within_name = {"type": "record", "name": "com.z.q", "fields": [{"name": "y.z", "type": "int"}]}
    found = avsc(
        tmp_path / "r.avsc", {"name": "a", "type": inner}, {"name": "b", "type": within_name}, namespace="com.x"
    )

    assert sorted(json.loads(found.stdout)["omitted"]) == [
        "com.z.q: `namespace` has no equivalent",
        "p: `namespace` has no equivalent",
        "r: `namespace` has no equivalent",
    ]


def test_a_schema_of_avro_that_is_no_record_is_refused(tmp_path: Path) -> None:
    """A row is a record."""
    assert "not one of records" in str(avsc(tmp_path / "r.avsc", type="array", items="int").exception)
