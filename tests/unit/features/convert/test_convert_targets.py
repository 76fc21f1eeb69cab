"""Datasets in formats of other tools, each judged by the tool itself."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import duckdb as engine
import pytest
import sqlglot
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import Environment, nodes
from jsonschema import Draft202012Validator

from lakegate.base.errors import InputError
from lakegate.base.extension_points import ROOT
from lakegate.contract.contract_model import Contract, Rule
from lakegate.contract.delivery_policy import MergeStrategy, PublishAs
from lakegate.contract.file_formats import Csv, Format, NullWords, Storage
from lakegate.features.convert.athena_table import NOT_CURRENT, athena
from lakegate.features.convert.avro_schema import avro
from lakegate.features.convert.dbt_manifest import dbt, text_of
from lakegate.features.convert.json_schema import json_schema
from lakegate.features.convert.warehouse_tables import (
    bigquery,
    databricks,
    duckdb,
    postgres,
    redshift,
    snowflake,
    sqlserver,
)
from lakegate.features.odf.exchange.odf_schema import odf
from lakegate.lints.linter import read

HOSTILE = "a\"b`c'; DROP TABLE x"
DOCUMENT: dict[str, Any] = {
    "apiVersion": "v3.2.0",
    "kind": "DataContract",
    "id": "shop",
    "version": "1.2.0",
    "status": "active",
    "schema": [
        {
            "name": "orders",
            "properties": [
                {
                    "name": "id",
                    "logicalType": "integer",
                    "required": True,
                    "primaryKey": True,
                    "description": "the number",
                    "logicalTypeOptions": {"minimum": 1, "exclusiveMaximum": 100, "multipleOf": 1},
                },
                {
                    "name": "code",
                    "logicalType": "string",
                    "required": True,
                    "unique": True,
                    "logicalTypeOptions": {"pattern": "^A", "minLength": 2, "maxLength": 4},
                },
                {"name": HOSTILE, "logicalType": "string", "enum": [{"value": HOSTILE}, {"value": "no"}]},
                {
                    "name": "state",
                    "logicalType": "string",
                    "required": True,
                    "quality": [
                        {"metric": "invalidValues", "arguments": {"validValues": ["on", "off"]}, "mustBe": 0},
                        {"id": "few_nulls", "metric": "nullValues", "mustBeLessThan": 5, "unit": "percent"},
                        {
                            "id": "most",
                            "metric": "invalidValues",
                            "arguments": {"validValues": ["on"]},
                            "mustBeLessThan": 9,
                        },
                        {"id": "long", "metric": "invalidValues", "arguments": {"minLength": 2}, "mustBe": 0},
                    ],
                },
                {"name": "level", "logicalType": "integer", "enum": [{"value": 1}, {"value": 2}]},
                {"name": "ok", "logicalType": "boolean"},
                {"name": "share", "logicalType": "number", "logicalTypeOptions": {"maximum": 0.5}},
                {"name": "price", "logicalType": "number", "physicalType": "decimal(10,2)"},
                {"name": "fine", "logicalType": "number", "physicalType": "decimal(38,30)"},
                {"name": "day", "logicalType": "date"},
                {"name": "clock", "logicalType": "time"},
                {"name": "at", "logicalType": "timestamp"},
                {"name": "raw", "logicalType": "string", "physicalType": "binary"},
                {
                    "name": "who",
                    "logicalType": "object",
                    "properties": [{"name": "age", "logicalType": "integer", "required": True}],
                },
                {"name": "tags", "logicalType": "array", "items": {"logicalType": "string", "required": True}},
                {"name": "more", "logicalType": "array"},
                {
                    "name": "prices",
                    "logicalType": "map",
                    "map": {"key": {"logicalType": "string"}, "value": {"logicalType": "number"}},
                },
                {
                    "name": "some",
                    "logicalType": "map",
                    "map": {each: {"logicalType": "string"} for each in ("key", "value")},
                },
                {"name": "none", "logicalType": "object"},
            ],
            "customProperties": [{"property": "lakegate", "value": {"format": "jsonl"}}],
        }
    ],
}
RECORD = {
    "id": 5,
    "code": "A1",
    "state": "on",
    "level": None,
    "share": 0.25,
    "who": {"age": 3},
    "tags": ["x"],
    "prices": {"a": 1.5},
    HOSTILE: None,
}


def contract(**changes: Any) -> Contract:
    """The contract, whose only dataset has some other settings."""
    found = read(json.dumps(DOCUMENT).encode())
    fields = tuple(replace(each, parts=()) if each.name == "some" else each for each in found.datasets[0].fields)
    return replace(found, datasets=(replace(found.datasets[0], **({"fields": fields} | changes)),))


def converted(convert: Any, found: Contract | None = None) -> Any:
    """The only dataset in another format."""
    found = found or contract()
    return convert(found, found.datasets[0])


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({}, []),
        ({"id": 100}, ["id"]),
        ({"id": "5"}, ["id"]),
        ({"id": None}, ["id"]),
        ({"code": "B1"}, ["code"]),
        ({"code": "A"}, ["code"]),
        ({"state": "none"}, ["state"]),
        ({"level": 3}, ["level"]),
        ({"share": 0.75}, ["share"]),
        ({HOSTILE: "yes"}, [HOSTILE]),
        ({HOSTILE: HOSTILE}, []),
        ({"who": {}}, ["who"]),
        ({"who": None}, []),
        ({"tags": [None]}, ["tags"]),
        ({"prices": {"a": "x"}}, ["prices"]),
        ({"prices": {"a": None}}, []),
    ],
)
def test_a_json_schema_accepts_what_the_gate_accepts(changes: dict[str, Any], wrong: list[str]) -> None:
    """Types, lists, bounds, patterns and nested fields reject the same records."""
    schema = json.loads(converted(json_schema).text)
    Draft202012Validator.check_schema(schema)
    errors = Draft202012Validator(schema).iter_errors(RECORD | changes)

    assert [str(error.absolute_path[0]) for error in errors] == wrong


def test_several_patterns_all_hold() -> None:
    """A field with two patterns has both."""
    found = contract()
    (rule,) = (each for each in found.datasets[0].rules if each.kind == "pattern")
    other = replace(rule, id="other", arguments={"pattern": "1$"})
    schema = json.loads(converted(json_schema, contract(rules=(*found.datasets[0].rules, other))).text)

    assert schema["properties"]["code"]["allOf"] == [{"pattern": "^A"}, {"pattern": "1$"}]


def test_what_a_format_cannot_express_is_listed() -> None:
    """Each rule is expressed or listed by its id."""
    others = ("few_nulls", "most", "long")
    bounds = ("id:minimum:1", "id:maximum:1", "id:multipleOf:1", "share:maximum:1")
    texts = ("code:minLength:1", "code:maxLength:1", "code:pattern:1")
    lists = (f"{HOSTILE}:enum:1", "state:invalidValues:1", "level:enum:1")
    inner = ("who.age:required:1", "tags[]:required:1")

    of_json = {
        "at (`timestamp`: written as `format: date-time`, which demands an offset from UTC)",
        "clock (`time`: written as a text with a pattern)",
        "fine (`decimal(38,30)`: written as a number)",
        "price (`decimal(10,2)`: written as a number)",
        "raw (`binary`: written as a text)",
    }
    assert set(converted(json_schema).omitted) == {"code:unique:1", "id:primaryKey:1", *others, *of_json}
    assert set(converted(duckdb).omitted) == {*others, *bounds, *texts, *lists, *inner}
    assert set(converted(dbt).omitted) == {*others, *bounds, *texts, *inner}
    kept = [each for each in contract().datasets[0].rules if each.kind not in {"type", "nested"}]
    types = [
        "price (`decimal(10,2)`: written as decimal(38,18))",
    ]
    rules = (each.id for each in kept)
    assert converted(athena).omitted == (*types, "clock (`time`: written as string)", *rules, NOT_CURRENT)


def test_duckdb_makes_the_table() -> None:
    """Hostile names are quoted; nulls and repeated keys are refused by the table."""
    with engine.connect() as connection:
        connection.execute(converted(duckdb).text)
        described = connection.execute("DESCRIBE orders").fetchall()
        connection.execute("INSERT INTO orders (id, code, state) VALUES (1, 'A1', 'on')")
        with pytest.raises(engine.ConstraintException):
            connection.execute("INSERT INTO orders (id, code, state) VALUES (1, 'A2', 'on')")

    assert [(name, kind) for name, kind, *_ in described] == [
        ("id", "BIGINT"),
        ("code", "VARCHAR"),
        (HOSTILE, "VARCHAR"),
        ("state", "VARCHAR"),
        ("level", "BIGINT"),
        ("ok", "BOOLEAN"),
        ("share", "DOUBLE"),
        ("price", "DECIMAL(10,2)"),
        ("fine", "DECIMAL(38,30)"),
        ("day", "DATE"),
        ("clock", "TIME"),
        ("at", "TIMESTAMP"),
        ("raw", "BLOB"),
        ("who", "STRUCT(age BIGINT)"),
        ("tags", "VARCHAR[]"),
        ("more", "VARCHAR[]"),
        ("prices", "MAP(VARCHAR, DOUBLE)"),
        ("some", "MAP(VARCHAR, VARCHAR)"),
        ("none", "VARCHAR"),
    ]


WAREHOUSES: dict[str, tuple[Any, str, str, str]] = {
    "postgres": (postgres, "", "smallint", "BIGINT"),
    "sqlserver": (sqlserver, "sqlserverType", "varchar(10)", "VARCHAR(10)"),
    "snowflake": (snowflake, "snowflakeType", "NUMBER(10, 0)", "DECIMAL(10, 0)"),
    "redshift": (redshift, "redshiftType", "smallint", "SMALLINT"),
    "bigquery": (bigquery, "bigqueryType", "STRUCT<a INT64, b ARRAY<STRING>>", "STRUCT<a INT64, b ARRAY<STRING>>"),
    "databricks": (databricks, "databricksType", "timestamp_ntz", "TIMESTAMP_NTZ"),
}


@pytest.mark.parametrize("name", WAREHOUSES)
def test_a_warehouse_gets_a_table_with_the_types_that_the_contract_names_for_it(name: str) -> None:
    """Every name is quoted, whatever it is, and a type of the system's own stands instead of the usual one."""
    convert, key, written, read_again = WAREHOUSES[name]
    found = contract()
    ids = replace(found.datasets[0].fields[0], native={key: written, "otherType": "x"} if key else {"glueType": "int"})
    converted_one = converted(convert, contract(fields=(ids, *found.datasets[0].fields[1:])))
    dialect = {"sqlserver": "tsql"}.get(name, name)
    statement, *comments = sqlglot.parse(converted_one.text, read=dialect)
    assert isinstance(statement, sqlglot.exp.Create)
    assert {type(each).__name__ for each in comments if each is not None} <= {"Comment"}
    columns = {each.name: each for each in statement.find_all(sqlglot.exp.ColumnDef) if each.parent is statement.this}

    assert list(columns) == [each.name for each in found.datasets[0].fields]
    assert columns["id"].args["kind"].sql(dialect) == read_again
    assert ("id:primaryKey:1" in converted_one.omitted) is (name not in {"postgres", "snowflake", "redshift"})


@pytest.mark.parametrize(
    "text",
    [
        "int); DROP TABLE x; --",
        "int, b int",
        "int DEFAULT f()",
        "varchar(10)) (",
        "array<int> > x",
        "a(b) c(d)",
        "int /* x */",
        "'x'",
        "(int)",
        "a(b>)",
        "x" * 501,
        "",
    ],
)
def test_a_type_that_has_not_the_form_of_one_is_listed(text: str) -> None:
    """It never comes into a statement."""
    found = contract()
    fields = tuple(replace(each, native={"glueType": text, "redshiftType": text}) for each in found.datasets[0].fields)
    mine = contract(fields=fields)

    assert converted(redshift, mine).text == converted(redshift).text
    assert "id (redshiftType: it has not the form of a type)" in converted(redshift, mine).omitted
    assert converted(athena, mine).text == converted(athena).text
    assert "id (glueType: it has not the form of a type)" in converted(athena, mine).omitted


def test_a_column_of_the_glue_catalog_has_its_own_type() -> None:
    """Also inside of a record."""
    found = read(
        b"""\
dataContractSpecification: 1.2.1
id: x
info: {title: t, version: 1.0.0}
models:
  m:
    config: {lakegate: {format: parquet}}
    fields:
      n: {type: long, config: {glueType: smallint}}
      r: {type: record, fields: {k: {type: decimal, config: {glueType: "decimal(5, 2)"}}}}
"""
    )
    text = athena(found, found.datasets[0]).text

    assert "`n` smallint,\n  `r` struct<`k`: decimal(5, 2)>" in text


def test_avro_gets_a_record() -> None:
    """Optional fields may be null; names of records are their paths; the contract's own types and name space are taken."""
    found = read(
        b"""\
dataContractSpecification: 1.2.1
id: x
info: {title: t, version: 1.0.0}
models:
  m:
    config: {avroNamespace: org.example}
    fields:
      a: {type: int, required: true, description: words, config: {avroType: int}}
      b: {type: timestamp, config: {avroLogicalType: timestamp-millis, avroType: long}}
      c: {type: decimal, precision: 38, scale: 2}
      m: {type: record, fields: {x: {type: bytes}}}
      l: {type: array, items: {type: record, fields: {y: {type: date, required: true}}}}
      p: {type: map, keys: {type: string}, values: {type: time}}
      q: {type: text, config: {avroType: fixed}}
      v: {type: variant}
"""
    )
    written = converted(avro, found)
    schema = json.loads(written.text)

    assert schema["namespace"] == "org.example"
    assert [each["type"] for each in schema["fields"]] == [
        "int",
        ["null", {"type": "long", "logicalType": "timestamp-millis"}],
        ["null", {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 2}],
        [
            "null",
            {"type": "record", "name": "m_2", "fields": [{"name": "x", "type": ["null", "bytes"], "default": None}]},
        ],
        [
            "null",
            {
                "type": "array",
                "items": [
                    "null",
                    {
                        "type": "record",
                        "name": "l_",
                        "fields": [{"name": "y", "type": {"type": "int", "logicalType": "date"}}],
                    },
                ],
            },
        ],
        ["null", {"type": "map", "values": ["null", {"type": "long", "logicalType": "time-micros"}]}],
        ["null", "string"],
        ["null", "string"],
    ]
    assert schema["fields"][0]["doc"] == "words"
    assert [each for each in written.omitted if " (" in each] == [
        "q (avroType, avroLogicalType: Avro has no such type)",
        "v (Avro has no values of any type: it is a text)",
    ]


def test_what_avro_cannot_name_is_refused_or_listed() -> None:
    """A column stops the conversion, a name space does not."""
    found = contract()
    named = replace(found.datasets[0], fields=found.datasets[0].fields[:1], native={"avroNamespace": "a..b"})

    assert "avroNamespace (it is no name of Avro)" in avro(found, named).omitted
    with pytest.raises(InputError, match="Avro has no name"):
        converted(avro)


def test_a_table_without_rules_is_one() -> None:
    """No promise, no constraint."""
    text = converted(duckdb, contract(rules=())).text

    assert not any(word in text for word in ("NULL", "UNIQUE", "PRIMARY KEY"))


@pytest.mark.parametrize("form", [Format.JSONL, Format.PARQUET, Format.ORC, Format.AVRO, Format.CSV])
def test_athena_can_read_the_statement(form: Format) -> None:
    """Another program reads it by the grammar of Hive, which Athena follows; the location is the line's."""
    found = contract(storage=Storage(form), csv=Csv(delimiter="\t", quote="'", header=False))
    text = converted(athena, found).text
    tables = sqlglot.parse(text, dialect="hive")

    assert len([each for each in tables if each is not None]) == 1
    assert "LOCATION 's3://LAKE-BUCKET/accepted/shop/orders_v1/'" in text
    assert ("'separatorChar' = '\\t', 'quoteChar' = '\\''" in text) == (form is Format.CSV)
    assert ("`id` string" in text, "`id` bigint" in text) == (form is Format.CSV, form is not Format.CSV)
    assert ("'orc.column.index.access' = 'false'" in text) == (form is Format.ORC)
    assert ("`clock` string" in text) == (form is not Format.PARQUET)


@pytest.mark.parametrize(
    ("storage", "words"),
    [
        (Storage(Format.JSON), "a JSON array"),
        (Storage(Format.JSON, records="data"), "a JSON object with its records in data"),
    ],
)
def test_athena_reads_no_json_whose_records_are_no_lines(storage: Storage, words: str) -> None:
    """A table over such files would have no row, or one of nulls; over slices it reads them."""
    with pytest.raises(InputError, match=f"a file of orders is {words}: declare `publishAs: iceberg`"):
        converted(athena, contract(storage=storage))

    policy = replace(contract().datasets[0].policy, publish_as=PublishAs.PARQUET)
    sliced = contract(storage=storage, policy=policy)
    assert "STORED AS PARQUET" in converted(athena, sliced).text


GERMAN = Csv(
    header=False,
    encoding="iso-8859-1",
    multi_line=True,
    null_values=("NA", "-"),
    null_values_by_column=(NullWords("code", ("none",)),),
    decimal_separator=",",
    thousands_separator=".",
)
NUMBERS = [f"{name}: csv.{each}" for name in ("share", "price") for each in ("decimalSeparator", "thousandsSeparator")]


@pytest.mark.parametrize(
    ("convert", "csv", "lost"),
    [
        (athena, Csv(header=False), []),
        (athena, Csv(header=False, null_values=("NA",)), ["csv.nullValues"]),
        (athena, GERMAN, ["csv.encoding", "csv.multiLine", "csv.nullValues", "code: csv.nullValuesByColumn", *NUMBERS]),
        (athena, Csv(header=False, skip_rows=2), ["csv.skipRows"]),
        (odf, Csv(skip_rows=2), ["csv.skipRows"]),
        (odf, Csv(null_values=("NA",)), []),
        (odf, GERMAN, ["csv.nullValues", "code: csv.nullValuesByColumn", *NUMBERS]),
    ],
)
def test_how_csv_is_read_and_a_target_cannot_state_is_listed_by_column(convert: Any, csv: Csv, lost: list[str]) -> None:
    """Separators of numbers and words for null: a reader would take 1.234,5 for a text, and NA for a value."""
    names = ("code", "share", "price")
    full = contract(storage=Storage(Format.CSV), csv=csv, rules=()).datasets[0]
    found = replace(
        contract(),
        datasets=(
            replace(
                full, fields=tuple(replace(each, physical_type=None) for each in full.fields if each.name in names)
            ),
        ),
    )

    always = [NOT_CURRENT] if convert is athena else []
    assert converted(convert, found).omitted == (*lost, *always)
    records = replace(found.datasets[0], storage=Storage(Format.JSONL))
    assert converted(convert, replace(found, datasets=(records,))).omitted == tuple(always)


@pytest.mark.parametrize("strategy", MergeStrategy)
def test_athena_gets_the_current_rows_of_slices(strategy: MergeStrategy) -> None:
    """Where slices take rows back, by a view: the last row of each key that is not retracted, whatever columns are called."""
    settings = {"publishAs": "parquet", "mergeStrategy": strategy.value}
    fields = {name: {"type": "string", "required": True} for name in ("id", 'it"s', "nth", "Nth_")}
    model = {"config": {"lakegate": settings}, "primaryKey": ["id", 'it"s'], "fields": fields}
    head = {"dataContractSpecification": "1.2.1", "id": "shop", "info": {"title": "t", "version": "1.0.0"}}
    table, _, view = converted(athena, read(json.dumps(head | {"models": {"orders": model}}).encode())).text.partition(
        ";\n\n"
    )
    events = [
        (0, 0, "1", "a", "5", "x"),
        (1, 0, "2", "a", "5", "x"),
        (2, 0, "1", "b", "5", "x"),
        (3, 1, "2", "a", "5", "x"),
        (4, 2, "1", "a", "5", "x"),
        (5, 3, "1", "a", "6", "x"),
    ]

    assert table.startswith("CREATE EXTERNAL TABLE `orders` (")
    assert bool(view) is (strategy in {MergeStrategy.SNAPSHOT, MergeStrategy.UPSERT})
    if view:
        with engine.connect() as connection:
            columns = ", ".join(f"{name} VARCHAR" for name in ("id", '"it""s"', "nth", '"Nth_"'))
            connection.execute(f'CREATE TABLE orders ("offset" BIGINT, op INT, {columns})')
            connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?)", events)
            connection.execute(view)
            current = connection.execute("FROM orders_current ORDER BY 2").fetchall()
        assert current == [("1", "a", "6", "x"), ("1", "b", "5", "x")]
        assert len(sqlglot.parse(view, dialect="athena")) == 1


def test_athena_gets_no_second_table_of_a_dataset_that_is_one() -> None:
    """Below its location are typed files beside those that arrived."""
    policy = replace(contract().datasets[0].policy, publish_as=PublishAs.ICEBERG)
    with pytest.raises(InputError, match=r"is a table already .* `lakegate table \S+/\S+_v1 --for athena` prints"):
        converted(athena, contract(storage=Storage(Format.PARQUET), policy=policy))


def test_athena_reads_no_column_by_position_that_the_gate_accepts_by_name() -> None:
    """The columns of CSV with a header have no order at the gate: as slices they have names."""
    found = contract(storage=Storage(Format.CSV))
    with pytest.raises(InputError, match=r"by position.*publishAs: iceberg"):
        converted(athena, found)
    policy = replace(found.datasets[0].policy, publish_as=PublishAs.PARQUET)
    sliced = converted(athena, contract(storage=Storage(Format.CSV), policy=policy))
    columns = [line.strip().rstrip(",") for line in sliced.text.partition("(\n")[2].partition("\n)")[0].splitlines()]

    assert "STORED AS PARQUET" in sliced.text
    assert "Serde" not in sliced.text
    assert columns[:5] == [
        "`offset` bigint",
        "`op` int",
        "`system_time` timestamp",
        "`event_time` timestamp",
        "`id` bigint COMMENT 'the number'",
    ]
    assert sliced.omitted[0] == "clock (left out: Athena reads no time of day)"


@given(st.text(alphabet=st.sampled_from("{}%# 'ab\\\n\"-")))
def test_dbt_reads_every_text_as_it_is(text: str) -> None:
    """Jinja renders the texts of a source: no text of a contract is a tag of it."""
    assert Environment(keep_trailing_newline=True, autoescape=False).from_string(text_of(text)).render() == text  # noqa: S701 - no HTML


def test_no_text_of_a_contract_is_run_by_dbt() -> None:
    """Names, descriptions, types and values, each with a call."""
    call = "{{ env_var('SECRET') }}{% set x = 1 %}{# y #}"
    found = contract()
    dataset = found.datasets[0]
    fields = tuple(replace(each, description=call) for each in dataset.fields)
    record = next(each for each in fields if each.name == "who")
    part = replace(record, name=call, parts=(replace(record.parts[0], name=f"{call}.{call}"),))
    enum = next(each for each in dataset.rules if each.fields == (HOSTILE,) and each.kind == "enum")
    rules = (*dataset.rules, replace(enum, id="own", fields=("raw",), arguments={"values": (call,)}))
    hostile = replace(found, name=call, datasets=(replace(dataset, name=call, fields=(*fields, part), rules=rules),))
    text = dbt(hostile, hostile.datasets[0]).text
    tags = list(Environment(autoescape=False).parse(text).find_all((nodes.Call, nodes.Name, nodes.Assign)))  # noqa: S701 - no HTML

    assert tags == []
    assert text.count("env_var") > len(fields)


def test_dbt_tests_the_keys_and_references_that_it_can_express() -> None:
    """A column of a key is never null; one that refers to a dataset of the contract has a relationship."""
    found = contract()
    key = next(each for each in found.datasets[0].rules if each.kind == "primaryKey")
    to = {"ok": "orders.id", "day": "lakegate://other/days_v1/day", "at": "it's.at", "raw": "orders.{{ x }}"}
    references = tuple(Rule(f"{name}:fk", "foreignKey", key.origin, (name,), {"to": each}) for name, each in to.items())
    kept = [each for each in found.datasets[0].rules if each.kind not in {"required", "primaryKey"}]
    converted_ = converted(dbt, contract(rules=(*kept, replace(key, fields=("id", "level")), *references)))
    columns = {
        each["name"]: each.get("data_tests")
        for each in yaml.safe_load(converted_.text)["sources"][0]["tables"][0]["columns"]
    }

    assert columns["id"] == ["not_null"]
    assert columns["level"] == ["not_null", {"accepted_values": {"values": ["1", "2"]}}]
    assert columns["ok"] == [{"relationships": {"to": "source('shop', 'orders')", "field": "id"}}]
    assert columns["raw"] == [{"relationships": {"to": "source('shop', 'orders')", "field": "{{ '{{' }} x }}"}}]
    assert (columns["day"], columns["at"]) == (None, None)
    assert {"id:primaryKey:1", "day:fk", "at:fk"} <= set(converted_.omitted)


def test_formats_of_texts_are_those_of_json_schema() -> None:
    """The last one, where a field has several."""
    found = contract()
    rule = next(each for each in found.datasets[0].rules if each.fields == ("state",))
    forms = tuple(Rule(f"f{each}", "format", rule.origin, ("code",), {"value": each}) for each in ("uri", "email"))
    answer = converted(json_schema, contract(rules=(*found.datasets[0].rules, *forms)))

    assert json.loads(answer.text)["properties"]["code"]["format"] == "email"


def test_dbt_gets_a_source_with_its_own_tests() -> None:
    """Types, and the generic tests of dbt."""
    source = yaml.safe_load(converted(dbt).text)["sources"][0]
    columns = {each["name"]: each for each in source["tables"][0]["columns"]}

    assert (source["name"], source["tables"][0]["name"]) == ("shop", "orders")
    number = {"name": "id", "description": "the number", "data_type": "BIGINT"}
    assert columns["id"] == number | {"data_tests": ["not_null", "unique"]}
    assert columns["state"]["data_tests"] == ["not_null", {"accepted_values": {"values": ["on", "off"]}}]
    assert columns[HOSTILE]["data_tests"] == [{"accepted_values": {"values": [HOSTILE, "no"]}}]
    assert columns["ok"] == {"name": "ok", "data_type": "BOOLEAN"}


def test_a_key_of_two_columns_is_no_test_of_dbt() -> None:
    """Dbt itself has no test of several columns."""
    found = contract()
    rules = [
        replace(each, fields=("id", "code")) if each.kind == "primaryKey" else each for each in found.datasets[0].rules
    ]

    assert "id:primaryKey:1" in converted(dbt, contract(rules=tuple(rules))).omitted


@pytest.mark.parametrize("name", ["orders.odcs.yaml", "weather.dcm.yaml"])
@pytest.mark.parametrize("convert", [json_schema, duckdb, athena, avro, postgres, bigquery, dbt, odf])
def test_the_examples_are_converted(name: str, convert: Any) -> None:
    """Contracts of every format have a text, and list what it lacks."""
    found = read((ROOT / "contracts/examples" / name).read_bytes())
    if convert is athena:
        (dataset,) = found.datasets
        found = replace(found, datasets=(replace(dataset, storage=Storage(Format.AVRO)),))
    answer = convert(found, found.datasets[0])

    assert all(each.name in answer.text for each in found.datasets[0].fields)
    types = {each for each in answer.omitted if "written as" in each}
    assert set(answer.omitted) - types - {NOT_CURRENT} < {each.id for each in found.datasets[0].rules}
    assert {each.partition(" ")[0] for each in types} <= {each.name for each in found.datasets[0].fields}
