"""A contract in another format, and back: each difference is listed on the way there, or on the way back.

The comparison shares no code with the converters: it knows types by the words of a contract, and what they say of values.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lakegate.contract.contract_model import Contract, Dataset, Field, Rule
from lakegate.contract.logical_types import LogicalType
from lakegate.diff.compared_versions import read_version
from lakegate.features.convert.convert_command import WRITERS, SchemaFormat, Target, import_schema
from lakegate.features.convert.odcs_export import dcs, odcs
from lakegate.lints.linter import read
from tests.reference.sampling import sampled

SQL = {
    Target.DUCKDB: "duckdb",
    Target.POSTGRES: "postgres",
    Target.SQLSERVER: "sqlserver",
    Target.SNOWFLAKE: "snowflake",
    Target.REDSHIFT: "redshift",
    Target.BIGQUERY: "bigquery",
    Target.DATABRICKS: "databricks",
    Target.ATHENA: "athena",
}
SCHEMAS = {Target.JSON_SCHEMA: SchemaFormat.JSON_SCHEMA, Target.AVRO: SchemaFormat.AVRO, Target.ODF: SchemaFormat.ODF}

# ---- Contracts ----


@st.composite
def decimals(draw: st.DrawFn) -> dict[str, Any]:
    """An exact number with or without digits."""
    precision = draw(st.integers(1, 38))
    scale = draw(st.integers(0, precision))
    return {
        "logicalType": "number",
        "physicalType": draw(st.sampled_from([f"decimal({precision},{scale})", "decimal"])),
    }


def typed(logical: str, *physical: str | None, **options: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A property of a type with some options, and a physical type or none."""
    return st.builds(
        lambda kind, chosen: (
            {"logicalType": logical}
            | ({"physicalType": kind} if kind else {})
            | ({"logicalTypeOptions": chosen} if chosen else {})
        ),
        st.sampled_from(physical or [None]),
        st.fixed_dictionaries({}, optional=options),
    )


SCALARS = st.one_of(
    decimals(),
    typed("integer", None, "int", "smallint", "bigint", minimum=st.integers(-9, 0), maximum=st.integers(1, 9)),
    typed("number", maximum=st.integers(1, 9)),
    typed("string", None, "varchar(30)", "text", maxLength=st.integers(20, 40), pattern=st.just("^a")),
    typed("string", "binary"),
    typed("timestamp", None, "timestamptz", "timestamp_ntz"),
    typed("timestamp", None, timezone=st.just(True)),
    typed("date"),
    typed("time"),
    typed("boolean"),
)
NESTED = st.one_of(
    SCALARS,
    SCALARS.map(lambda each: {"logicalType": "object", "properties": [{"name": "x"} | each]}),
    SCALARS.map(lambda each: {"logicalType": "array", "items": each}),
    SCALARS.map(lambda each: {"logicalType": "map", "map": {"key": {"logicalType": "string"}, "value": each}}),
)
FLAGS = st.fixed_dictionaries(
    {},
    optional={
        "required": st.just(True),
        "unique": st.just(True),
        "description": st.sampled_from(["d", 'it\'s \\ "x"']),
    },
)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """A document of ODCS with one dataset of JSON."""
    fields = [
        {"name": f"f{at}"} | kind | draw(FLAGS)
        for at, kind in enumerate(draw(st.lists(NESTED, min_size=1, max_size=5)))
    ]
    key = {"name": "k", "logicalType": "integer", "required": True, "primaryKey": True, "primaryKeyPosition": 1}
    storage = {"property": "lakegate", "value": {"format": "jsonl"}}
    return {
        "apiVersion": "v3.2.0",
        "kind": "DataContract",
        "id": "shop",
        "version": "1.0.0",
        "status": "active",
        "schema": [{"name": "orders", "properties": [key, *fields], "customProperties": [storage]}],
    }


OF_DCS = st.lists(
    st.one_of(
        st.sampled_from(["int", "long", "string", "timestamp", "timestamp_tz", "timestamp_ntz", "date", "bytes"]).map(
            lambda each: {"type": each}
        ),
        st.tuples(st.integers(1, 38), st.integers(0, 18)).map(
            lambda each: {"type": "decimal", "precision": max(each), "scale": each[1]}
        ),
    ),
    min_size=1,
    max_size=5,
).map(
    lambda kinds: {
        "dataContractSpecification": "1.2.1",
        "id": "shop",
        "info": {"title": "shop", "version": "1.0.0"},
        "models": {
            "orders": {
                "config": {"lakegate": {"format": "jsonl"}},
                "fields": {f"f{at}": each for at, each in enumerate(kinds)},
            }
        },
    }
)
DOCUMENTS = st.one_of(documents(), OF_DCS)

# ---- What a type says, in the words of a contract ----


def words_of(each: Field) -> dict[str, object]:
    """What a field's type says of its values."""
    physical = re.sub(r"\s+", "", (each.physical_type or "").lower())
    digits = re.fullmatch(r"(?:decimal|numeric|bigdecimal|bignumeric)\((\d+)(?:,(\d+))?\)", physical)
    length = re.fullmatch(r"(?:n?varchar|char|text|string)\((\d+)\)", physical)
    bits = {"int": 32, "integer": 32, "smallint": 16}.get(physical)
    zone = None
    if each.type is LogicalType.TIMESTAMP and physical:
        zone = (
            "ntz" not in physical and not physical.startswith("datetime")
            if "tz" in physical or "date" in physical
            else None
        )
    return {
        "shape": re.sub("object|struct|record", "record", each.declared or "") if each.parts else each.type.value,
        "digits": (int(digits[1]), int(digits[2] or 0)) if digits else None,
        "length": int(length[1]) if length else None,
        "bits": bits,
        "zone": zone,
        "description": each.description,
    }


def implied(each: Field) -> set[tuple[str, str]]:
    """The rules that a field's physical type says as well: bounds, step, length and offset."""
    words, found = words_of(each), set[tuple[str, str]]()
    if isinstance(words["digits"], tuple):
        precision, scale = words["digits"]
        high = "9" * (precision - scale) + ("." + "9" * scale if scale else "")
        high = "0" * (precision == scale) + high
        found |= {
            ("minimum", f"-{high}"),
            ("maximum", high),
            ("multipleOf", f"0.{'0' * (scale - 1)}1" if scale else "1"),
        }
    if words["bits"]:
        most = 2 ** (int(str(words["bits"])) - 1)
        found |= {("minimum", f"{-most}"), ("maximum", f"{most - 1}")}
    found |= set() if words["zone"] is None else {("offset", str(words["zone"]))}
    return found | ({("maxLength", str(words["length"]))} if words["length"] else set())


def said(rule: Rule) -> tuple[str, str]:
    """The kind of a rule and its argument."""
    value = rule.arguments.get("value", rule.arguments.get("pattern", ""))
    if rule.kind in {"offset", "timezone"}:
        return "offset", str(rule.arguments.get("value", True))
    if rule.kind == "invalidValues" and "[T ]" in str(rule.arguments.get("pattern")):
        return "offset", "False"
    return rule.kind, f"{value:f}" if isinstance(value, Decimal) else str(value)


def fields_of(fields: tuple[Field, ...]) -> Iterator[Field]:
    """All fields, nested ones included."""
    for each in fields:
        yield each
        yield from fields_of(each.parts)


def unlisted(old: Dataset, new: Dataset, listed: tuple[str, ...]) -> list[str]:
    """The differences that no line names by the path of the field, or by the id of the rule."""
    before, after = ({each.name: each for each in fields_of(side.fields)} for side in (old, new))
    named = {each.name for each in fields_of(old.fields) if any(_names(line, each.name) for line in listed)}
    found = []
    for path, each in before.items():
        is_listed = any(path == name or path.startswith((f"{name}.", f"{name}[")) for name in named)
        if is_listed:
            continue
        if path not in after:
            found.append(f"{path} is not there")
            continue
        was, now = words_of(each), words_of(after[path])
        by_rule = {said(rule) for rule in (*old.rules, *new.rules) if rule.fields == (path,)}
        found += [
            f"{path} {key}: {was[key]} -> {now[key]}"
            for key in ("shape", "digits", "bits", "zone", "description")
            if was[key] is not None and was[key] != now[key] and not (key == "zone" and ("offset", "True") in by_rule)
        ]
    for side, other, fields in ((old, new, after), (new, old, before)):
        theirs = {(said(rule), rule.fields) for rule in other.rules}
        for rule in side.rules:
            is_typed = (
                len(rule.fields) == 1 and rule.fields[0] in fields and said(rule) in implied(fields[rule.fields[0]])
            )
            is_named = (
                rule.id in listed
                or any(name in named for name in rule.fields)
                or any(rule.id in each for each in listed)
            )
            if (
                rule.kind not in {"type", "nested"}
                and (said(rule), rule.fields) not in theirs
                and not (is_typed or is_named)
            ):
                found.append(f"{'-' if side is old else '+'} {rule.id} {said(rule)}")
    return found


def _names(line: str, path: str) -> bool:
    """Whether a line names a field by its path, with or without the name of its table."""
    return (
        re.match(rf"(?:orders\.)?{re.escape(path)}(?![\w.\[])", line) is not None
        or re.match(rf"(?:orders\.)?{re.escape(path)}(?:\.physicalType|#\w+)", line) is not None
    )


# ---- There and back ----


def converted(target: Target, contract: Contract) -> tuple[str, tuple[str, ...]]:
    """A dataset in another format, and what it lists."""
    module, _, name = WRITERS[target].partition(":")
    found = getattr(import_module(module), name)(contract, contract.datasets[0])
    return found.text, found.omitted


def back(form: SchemaFormat, text: str, dialect: str | None = None) -> tuple[Dataset, tuple[str, ...]]:
    """The dataset of a schema, and what is listed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "orders"
        path.write_text(text)
        contract, lost = import_schema(form, path, "orders", dialect)
    return contract.datasets[0], lost


@pytest.mark.parametrize("target", SQL)
@sampled(25, 500)
@given(document=DOCUMENTS)
def test_a_table_has_what_is_not_listed(target: Target, document: dict[str, Any]) -> None:
    """`CREATE TABLE` of each system, read in its dialect."""
    contract = read(json.dumps(document).encode())
    text, there = converted(target, contract)
    again, lost = back(SchemaFormat.SQL, text, SQL[target])

    assert unlisted(contract.datasets[0], again, (*there, *lost)) == []


@pytest.mark.parametrize("target", SCHEMAS)
@sampled(25, 500)
@given(document=DOCUMENTS)
def test_a_schema_has_what_is_not_listed(target: Target, document: dict[str, Any]) -> None:
    """JSON Schema, Avro and ODF."""
    contract = read(json.dumps(document).encode())
    text, there = converted(target, contract)
    again, lost = back(SCHEMAS[target], text)

    assert unlisted(contract.datasets[0], again, (*there, *lost)) == []


@sampled(25, 500)
@given(document=DOCUMENTS)
def test_a_source_of_dbt_has_what_is_not_listed(document: dict[str, Any]) -> None:
    """Its columns in a manifest, as dbt writes one of it."""
    contract = read(json.dumps(document).encode())
    text, there = converted(Target.DBT, contract)
    table = yaml.safe_load(text)["sources"][0]["tables"][0]
    tests = {
        f"test.{column['name']}.{test}": {
            "resource_type": "test",
            "attached_node": "source.shop",
            "column_name": column["name"],
            "test_metadata": {"name": test, "kwargs": {}},
        }
        for column in table["columns"]
        for test in column.get("data_tests", ())
    }
    source = {"resource_type": "source", "name": "orders", "columns": {each["name"]: each for each in table["columns"]}}
    schema = {"dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json"}
    manifest = {"metadata": schema, "nodes": tests, "sources": {"source.shop": source}}
    again, lost = back(SchemaFormat.DBT, json.dumps(manifest), "duckdb")
    key = tuple(rule.id for rule in contract.datasets[0].rules if rule.kind == "primaryKey")
    kept = ("k:required:1", "k:unique:1")

    assert unlisted(contract.datasets[0], again, (*there, *lost, *key, *kept)) == []


@pytest.mark.parametrize("write", [odcs, dcs])
@sampled(25, 500)
@given(document=DOCUMENTS)
def test_a_document_has_what_is_not_listed(write: Any, document: dict[str, Any]) -> None:
    """ODCS and DCS."""
    version = read_version(json.dumps(document).encode())
    found = write(version)
    again = read(found.text.encode()).datasets[0]

    assert unlisted(version.contract.datasets[0], again, found.omitted) == []
