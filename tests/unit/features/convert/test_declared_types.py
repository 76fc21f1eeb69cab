"""Digits, offsets, bits and lengths that a contract declares, in the types of each format."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from importlib import import_module
from typing import Any

import pytest
import sqlglot

from lakegate.contract.contract_model import Contract, Server
from lakegate.contract.physical_types import length_of, zone_of
from lakegate.diff.compared_versions import read_version
from lakegate.features.convert import sql_ddl
from lakegate.features.convert.convert_command import WRITERS, Target
from lakegate.features.convert.odcs_export import dcs, dcs_of_schema
from lakegate.lints.linter import examine, read

PROPERTIES: list[dict[str, Any]] = [
    {"name": "exact", "logicalType": "number", "physicalType": "decimal(12,2)"},
    {"name": "plain", "logicalType": "number", "physicalType": "decimal"},
    {"name": "zoned", "logicalType": "timestamp", "physicalType": "timestamptz"},
    {"name": "local", "logicalType": "timestamp", "physicalType": "timestamp_ntz"},
    {"name": "open", "logicalType": "timestamp"},
    {"name": "small", "logicalType": "integer", "physicalType": "smallint"},
    {"name": "int", "logicalType": "integer", "physicalType": "int"},
    {"name": "short", "logicalType": "string", "physicalType": "varchar(30)", "logicalTypeOptions": {"maxLength": 30}},
]
TYPES = {
    "duckdb": [
        "DECIMAL(12,2)",
        "DECIMAL(38,18)",
        "TIMESTAMPTZ",
        "TIMESTAMP",
        "TIMESTAMP",
        "SMALLINT",
        "INTEGER",
        "VARCHAR",
    ],
    "postgres": [
        *("DECIMAL(12,2)", "DECIMAL(38,18)", "TIMESTAMPTZ", "TIMESTAMP", "TIMESTAMP"),
        *("SMALLINT", "INTEGER", "VARCHAR(30)"),
    ],
    "redshift": [
        *("DECIMAL(12,2)", "DECIMAL(38,18)", "TIMESTAMPTZ", "TIMESTAMP", "TIMESTAMP"),
        *("SMALLINT", "INTEGER", "VARCHAR(120)"),
    ],
    "snowflake": [
        *("DECIMAL(12,2)", "DECIMAL(38,18)", "TIMESTAMP_TZ", "TIMESTAMP_NTZ", "TIMESTAMP_NTZ"),
        *("BIGINT", "BIGINT", "VARCHAR(30)"),
    ],
    "sqlserver": [
        *("DECIMAL(12,2)", "DECIMAL(38,18)", "DATETIMEOFFSET", "DATETIME2", "DATETIME2"),
        *("SMALLINT", "INT", "NVARCHAR(30)"),
    ],
    "bigquery": [
        *("NUMERIC(12,2)", "BIGNUMERIC(38,18)", "TIMESTAMP", "DATETIME", "TIMESTAMP"),
        *("INT64", "INT64", "STRING(30)"),
    ],
    "databricks": [
        *("DECIMAL(12,2)", "DECIMAL(38,18)", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP"),
        *("SMALLINT", "INT", "VARCHAR(30)"),
    ],
}
LISTED = {
    "duckdb": {"short:maxLength:1"},
    "redshift": {"short:maxLength:1"},
    "snowflake": {"small (`smallint`: written as BIGINT)", "int (`int`: written as BIGINT)"},
    "bigquery": {"small (`smallint`: written as INT64)", "int (`int`: written as INT64)"},
}


def contract(properties: list[dict[str, Any]]) -> Contract:
    """A contract of one dataset with some properties."""
    document = {
        "apiVersion": "v3.2.0",
        "kind": "DataContract",
        "id": "shop",
        "version": "1.0.0",
        "status": "active",
        "schema": [
            {
                "name": "orders",
                "properties": properties,
                "customProperties": [{"property": "lakegate", "value": {"format": "jsonl"}}],
            }
        ],
    }
    return read(json.dumps(document).encode())


def written(target: Target, found: Contract) -> tuple[str, set[str]]:
    """The only dataset in a format, and what is listed."""
    module, _, name = WRITERS[target].partition(":")
    converted = getattr(import_module(module), name)(found, found.datasets[0])
    return converted.text, set(converted.omitted)


@pytest.mark.parametrize("name", TYPES)
def test_a_table_has_the_types_that_the_contract_declares(name: str) -> None:
    """Of digits, offsets, bits and lengths; what a system has no type for is listed."""
    text, listed = written(Target(name), contract(PROPERTIES))
    lines = [line.strip().rstrip(",") for line in text.splitlines()[1:-1]]

    assert [line.partition(" ")[2] for line in lines] == TYPES[name]
    assert listed == LISTED.get(name, set())
    assert sqlglot.parse_one(text, read={"sqlserver": "tsql"}.get(name, name)).key == "create"


def test_avro_has_the_types_that_the_contract_declares() -> None:
    """Moments without an offset are local ones; a length is listed."""
    text, listed = written(Target.AVRO, contract(PROPERTIES))
    types = {each["name"]: each["type"][1] for each in json.loads(text)["fields"]}

    assert types == {
        "exact": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2},
        "plain": {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 18},
        "zoned": {"type": "long", "logicalType": "timestamp-micros"},
        "local": {"type": "long", "logicalType": "local-timestamp-micros"},
        "open": {"type": "long", "logicalType": "timestamp-micros"},
        "small": "int",
        "int": "int",
        "short": "string",
    }
    assert listed == {"small (`smallint`: written as int)", "short:maxLength:1"}


def test_json_schema_has_the_formats_of_dates_and_moments() -> None:
    """Where its `date-time` says more than the contract, or it has no format, that is listed."""
    text, listed = written(
        Target.JSON_SCHEMA,
        contract([*PROPERTIES[2:5], {"name": "day", "logicalType": "date"}, {"name": "clock", "logicalType": "time"}]),
    )
    found = json.loads(text)["properties"]

    assert {name: each.get("format") for name, each in found.items()} == {
        "zoned": "date-time",
        "local": None,
        "open": "date-time",
        "day": "date",
        "clock": None,
    }
    assert {name for name, each in found.items() if "pattern" in each} == {"local", "clock"}
    assert listed == {
        "local (`timestamp_ntz`: written as a text with a pattern)",
        "open (`timestamp`: written as `format: date-time`, which demands an offset from UTC)",
        "clock (`time`: written as a text with a pattern)",
    }


@pytest.mark.parametrize("target", [Target.ATHENA, Target.ODF, Target.GREAT_EXPECTATIONS])
def test_a_target_with_types_of_its_own_lists_the_declared_ones(target: Target) -> None:
    """The data that they are about has these types: a table over it cannot have others."""
    _, listed = written(target, contract(PROPERTIES))
    fields = {"exact", "zoned", "local", "small", "int"}

    assert {each.partition(" (")[0] for each in listed if "written as" in each} == fields


@pytest.mark.parametrize(
    ("server", "written_as"), [("snowflake", "BIGINT"), ("bigquery", "BIGINT"), ("postgres", "INTEGER")]
)
def test_a_word_for_whole_numbers_means_what_it_means_on_the_server(server: str, written_as: str) -> None:
    """An INT of Snowflake, BigQuery or Oracle has more than 32 bits: no other system gets fewer."""
    found = contract([PROPERTIES[6]])
    found = replace(found, about=replace(found.about, servers=(Server("own", server, {}, found.datasets[0].origin),)))
    tables = sql_ddl.read(b"CREATE TABLE t (a INT)", "shop", server)[0]

    assert f'"int" {written_as}' in written(Target.POSTGRES, found)[0]
    assert f'"a" {written_as}' in written(Target.POSTGRES, tables)[0]


def test_parts_that_a_column_does_not_describe_are_listed() -> None:
    """A record is one column of JSON in PostgreSQL, and has its members in DuckDB."""
    record = {"name": "who", "logicalType": "object", "properties": [PROPERTIES[0]]}

    assert written(Target.POSTGRES, contract([record]))[1] == {"who (`object`: written as JSONB)"}
    assert written(Target.DUCKDB, contract([record]))[1] == set()


def test_bounds_of_dcs_are_those_of_the_type() -> None:
    """What precision and scale say is not listed, other bounds are."""
    found = read(
        b"{dataContractSpecification: 1.2.1, id: x, info: {title: t, version: 1.0.0}, models: {m: {config: {lakegate: {format: "
        b"jsonl}}, fields: {a: {type: decimal, precision: 5, scale: 2}, b: {type: decimal, precision: 5, scale: 2, minimum: 0},"
        b" c: {type: int}}}}}"
    )
    text, listed = written(Target.POSTGRES, found)

    assert '"a" DECIMAL(5,2),\n  "b" DECIMAL(5,2),\n  "c" INTEGER\n' in text
    assert listed == {"b:minimum:1"}


def test_the_bounds_of_many_digits_are_exact() -> None:
    """29 digits and more are not rounded to 28."""
    found = read(
        b"{dataContractSpecification: 1.2.1, id: x, info: {title: t, version: 1.0.0}, models: {m: {fields: {a: {type: decimal,"
        b" precision: 30, scale: 3}}}}}"
    )
    bounds = {each.kind: each.arguments["value"] for each in found.datasets[0].rules if each.kind.endswith("imum")}
    high = "9" * 27 + ".999"

    assert bounds == {"minimum": Decimal(f"-{high}"), "maximum": Decimal(high)}


def test_a_draft_in_dcs_has_moments_and_a_status_of_dcs() -> None:
    """The types of a table say which moments have an offset; a draft is `in development` there."""
    found, _ = sql_ddl.read(b"CREATE TABLE t (a TIMESTAMP_NTZ, b TIMESTAMP, c DECIMAL(12, 2))", "shop", "databricks")
    text = dcs_of_schema(found).text
    examined = examine(text.encode())
    assert examined.contract is not None

    assert [each.declared for each in examined.contract.datasets[0].fields] == [
        "timestamp_ntz",
        "timestamp_tz",
        "decimal",
    ]
    assert (examined.contract.status, examined.errors, examined.warnings) == ("in development", (), ())


def test_physical_types_that_dcs_has_no_place_for_are_listed() -> None:
    """Those that its types or lengths say are not."""
    document = {
        "apiVersion": "v3.2.0",
        "kind": "DataContract",
        "id": "shop",
        "version": "1.0.0",
        "status": "active",
        "schema": [
            {
                "name": "orders",
                "properties": [*PROPERTIES, {"name": "id", "logicalType": "string", "physicalType": "uuid"}],
            }
        ],
    }
    listed = dcs(read_version(json.dumps(document).encode())).omitted

    assert [each for each in listed if "physicalType" in each] == [
        f"orders.{each}.physicalType" for each in ("zoned", "local", "small", "int", "id")
    ]


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("TIMESTAMP(6) WITH TIME ZONE", True),
        ("timestamp without time zone", False),
        ("TIMESTAMP WITH LOCAL TIME ZONE", True),
        ("timestamptz(7)", True),
        ("TIMESTAMP_LTZ", True),
        ("datetimeoffset(7)", True),
        ("TIMESTAMP_NTZ(9)", False),
        ("datetime2", False),
        ("timestamp", None),
        (None, None),
    ],
)
def test_a_physical_type_says_whether_moments_have_an_offset(text: str | None, zone: bool | None) -> None:  # noqa: FBT001 - a column of the table
    """By the words of the usual systems."""
    assert zone_of(text) is zone


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("varchar(30)", 30),
        ("VARCHAR2(30 CHAR)", 30),
        ("char (3)", 3),
        ("varchar(max)", None),
        ("text", None),
        (None, None),
    ],
)
def test_a_physical_type_has_a_length(text: str | None, length: int | None) -> None:
    """In brackets, also with the unit of Oracle."""
    assert length_of(text) == length


TEXT = "it's \\ a 'text'; DROP TABLE x; --\nof {0} two lines"


@pytest.mark.parametrize("name", [*TYPES, "athena"])
def test_descriptions_are_part_of_a_table_or_listed(name: str) -> None:
    """Of its columns, as texts that the parser of the system reads as they are; of parts they are listed."""
    record = {
        "name": "who",
        "logicalType": "object",
        "description": "r",
        "properties": [PROPERTIES[0] | {"description": "p"}],
    }
    found = contract([PROPERTIES[1] | {"description": TEXT}, record])
    text, listed = written(Target(name), found)
    described = {each for each in listed if "description" in each}

    if name == "sqlserver":
        assert described == {f"{each} (its description)" for each in ("plain", "who", "who.exact")}
        return
    again, _ = sql_ddl.read(text.encode(), "orders", name)
    assert described == {"who.exact (its description)"}
    assert {each.name: each.description for each in again.datasets[0].fields if each.name == "plain"} == {"plain": TEXT}


@pytest.mark.parametrize("name", ["duckdb", "postgres", "redshift"])
def test_the_description_of_a_table_is_one_again(name: str) -> None:
    """Of those that were read from a table; it is listed where a system has no statement for it."""
    table, _ = sql_ddl.read(b"CREATE TABLE orders (a INT); COMMENT ON TABLE orders IS 'it''s'", "orders", name)
    text, listed = written(Target(name), table)

    assert (sql_ddl.read(text.encode(), "orders", name)[0].datasets[0].description, listed) == ("it's", set())
    assert "the description of the table" in written(Target.SNOWFLAKE, table)[1]
