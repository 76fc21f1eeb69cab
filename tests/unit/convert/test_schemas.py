"""Schemas of other tools in detail: what each keyword becomes, what is listed, and what is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from lakegate.contracts.convert import from_dbt, from_json_schema, from_sql
from lakegate.contracts.convert.odcs import odcs_of_schema
from lakegate.contracts.errors import ContractError, InputError
from lakegate.contracts.lint.examine import examine

if TYPE_CHECKING:
    from lakegate.contracts.model.contract import Contract

HOSTILE = "a\"b`c'; DROP TABLE x --"


def rules(contract: Contract) -> list[tuple[str, tuple[str, ...], dict[str, Any]]]:
    """The rules of the first dataset but for those of types."""
    found = contract.datasets[0].rules
    return [(each.kind, each.fields, dict(each.arguments)) for each in found if each.kind not in {"type", "nested"}]


def of_property(**schema: Any) -> tuple[Contract, tuple[str, ...]]:
    """A JSON Schema of records with one described property, and another one."""
    return from_json_schema.read(
        json.dumps({"properties": {"a": schema, "b": {"type": "string"}}, "required": ["a"]}).encode(), "orders"
    )


@pytest.mark.parametrize(
    ("schema", "kinds"),
    [
        ({"type": "string", "minLength": 2}, ["minLength", "required"]),
        ({"enum": ["x", "y"]}, ["enum", "required"]),
        ({"const": 5}, ["enum", "required"]),
        ({"type": "string", "format": "uuid"}, ["format", "required"]),
        ({"type": "string", "format": "date"}, ["required"]),
        ({"type": "array", "items": {"type": "integer", "maximum": 3}}, ["maximum", "required"]),
        ({"items": {"type": "string"}}, ["required"]),
        ({"properties": {"x": {"type": "string"}}}, ["required"]),
        ({"$ref": "#/properties/b", "description": "beside"}, ["required"]),
    ],
)
def test_keywords_of_json_schema_are_rules(schema: dict[str, Any], kinds: list[str]) -> None:
    """Each keyword that is known becomes the rule of the same meaning, and nothing is listed."""
    contract, lost = of_property(**schema)

    assert ([kind for kind, *_ in rules(contract)], lost) == (kinds, ())


@pytest.mark.parametrize(
    ("schema", "listed", "is_left_out"),
    [
        (
            {"type": "string", "contentEncoding": "base64"},
            "$.properties.a.contentEncoding: the keyword has no equivalent",
            False,
        ),
        ({"type": "string", "format": "hostname2"}, "a: the format `hostname2`", False),
        (
            {"type": "number", "minimum": 1, "exclusiveMinimum": True},
            "a: `exclusiveMinimum`: it has another form",
            False,
        ),
        ({"type": "string", "enum": ["x", 1]}, "a: `enum` or `const` with values of another type", False),
        ({"type": ["string", "null"]}, "a: `required` of a key whose value may be null", False),
        ({"type": ["string", "integer"]}, "a: left out: its values are of several types", True),
        ({"type": "any"}, "a: left out: its values are of several types", True),
        ({}, "a: left out: its values are of several types", True),
        ({"type": "object"}, "a: left out: an object without `properties`", True),
        ({"type": "object", "properties": {"x": {}}}, "a.x: left out", True),
        ({"type": "array"}, "a: left out: the type of its items", True),
        (
            {"type": "object", "additionalProperties": False, "properties": {"x": {"type": "string"}}},
            "$.properties.a.additionalProperties: use `additionalFields: forbid`",
            False,
        ),
    ],
)
def test_what_a_contract_cannot_have_is_listed(schema: dict[str, Any], listed: str, is_left_out: bool) -> None:  # noqa: FBT001 - a column of the table
    """It is named with its place; a property without one type is left out."""
    contract, lost = of_property(**schema)

    assert lost[0].startswith(listed)
    assert ("a" not in {each.name for each in contract.datasets[0].fields}) == is_left_out


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"$ref": "#"}, "`#` leads back to itself"),
        (
            {"properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"properties": {"x": {"$ref": "#/$defs/n"}}}}},
            "leads back",
        ),
        ({"properties": {"a": {"$ref": "http://x/y.json"}}}, "is outside of this document"),
        ({"properties": {"a": {"$ref": "#/$defs/none"}}}, "names nothing in this document"),
        ({"type": "string"}, "describes no object with `properties`"),
        ({"properties": {"a": {}}}, "has no column that a contract can describe"),
        ({"properties": {" ": {"type": "string"}}}, "has no column that a contract can describe"),
    ],
)
def test_a_schema_that_leads_nowhere_is_refused(document: dict[str, Any], message: str) -> None:
    """Cycles, references to other documents, and schemas of no record have one clear error."""
    with pytest.raises(InputError) as error:
        from_json_schema.read(json.dumps(document).encode(), "orders")

    assert message in str(error.value)


def test_references_that_multiply_are_refused() -> None:
    """Definitions that use each other twice grow beyond the limit of fields, and end soon."""
    levels = {
        f"d{at}": {"properties": {name: {"$ref": f"#/$defs/d{at + 1}"} for name in ("x", "y")}} for at in range(18)
    }
    last = {"d18": {"type": "string"}}
    document = {"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": levels | last}

    with pytest.raises(InputError, match="more than 5,000 fields"):
        from_json_schema.read(json.dumps(document).encode(), "orders")


def test_a_text_beyond_the_limits_of_documents_is_refused() -> None:
    """Deep nesting is refused before it is read."""
    with pytest.raises(ContractError):
        from_json_schema.read(b'{"a":' * 200 + b"1" + b"}" * 200, "orders")


def test_hostile_names_stay_names() -> None:
    """Names and descriptions of a schema cannot end a text of the document."""
    contract, _ = from_json_schema.read(
        json.dumps({"properties": {HOSTILE: {"type": "string", "description": HOSTILE}}}).encode(), HOSTILE
    )
    examined = examine(odcs_of_schema(contract).text.encode())

    assert examined.contract is not None
    assert (examined.errors, examined.contract.datasets[0].fields[0].name) == ((), HOSTILE)
    assert examined.contract.datasets[0].fields[0].description == HOSTILE


def of_column(column: str, *more: str) -> tuple[Contract, tuple[str, ...]]:
    """A table with a column and a second one."""
    return from_sql.read(f"CREATE TABLE t ({', '.join([column, 'b INT', *more])})".encode(), "orders")


@pytest.mark.parametrize(
    ("column", "kinds"),
    [
        ("a INT NOT NULL", ["required"]),
        ("a INT NULL", []),
        ("a VARCHAR(9) UNIQUE COMMENT 'x'", ["maxLength", "unique"]),
        ("a INT PRIMARY KEY", ["primaryKey"]),
        ("a ENUM('x', 'y')", ["enum"]),
        ("a INT[]", []),
        ("a MAP<VARCHAR, INT>", []),
        ("a STRUCT<x INT, y VARCHAR(3)>", ["maxLength"]),
    ],
)
def test_columns_of_sql_are_fields(column: str, kinds: list[str]) -> None:
    """Types and constraints become types and rules, and nothing is listed."""
    contract, lost = of_column(column)

    assert ([kind for kind, *_ in rules(contract)], lost) == (kinds, ())


@pytest.mark.parametrize(
    ("column", "more", "listed"),
    [
        ("a INT DEFAULT 0", (), "t.a: `DEFAULT 0` has no equivalent"),
        ("a INT CHECK (a > 0)", (), "t.a: `CHECK (a > 0)` has no equivalent"),
        ("a INTERVAL", (), "t.a: left out: no logical type has values of `INTERVAL`"),
        ("a", (), "t.table: `a` has no equivalent"),
        ("a STRUCT<x INTERVAL>", (), "t.a: left out: no logical type has values of `STRUCT<x INTERVAL>`"),
        ("a MAP<VARCHAR, INTERVAL>", (), "t.a: left out"),
        ("a ARRAY<INTERVAL>", (), "t.a: left out"),
        ("a INT", ("UNIQUE (a, b)",), "t.table: `UNIQUE (a, b)` has no equivalent"),
        ("a INT", ("CONSTRAINT c FOREIGN KEY (a) REFERENCES o (id)",), "t.table: `FOREIGN KEY (a) REFERENCES o (id)`"),
    ],
)
def test_what_a_contract_lacks_of_sql_is_listed(column: str, more: tuple[str, ...], listed: str) -> None:
    """Defaults, conditions, foreign keys and types without a logical type are named with their column."""
    assert of_column(column, *more)[1][0].startswith(listed)


def test_keys_of_tables_are_rules() -> None:
    """Keys of several columns, and unique columns, also with a name."""
    contract, lost = of_column("a INT", "CONSTRAINT k PRIMARY KEY (b, a)", "UNIQUE (a)")

    assert ([each[:2] for each in rules(contract)], lost) == ([("primaryKey", ("b", "a")), ("unique", ("a",))], ())


def test_other_statements_are_listed() -> None:
    """Each table is a dataset, the first of a name; what creates none is named by its number."""
    text = b"CREATE TABLE a.t (x INT); CREATE TABLE b.t (y INT); INSERT INTO t VALUES (1); CREATE TABLE c AS SELECT 1;;"
    contract, lost = from_sql.read(text, "orders")

    assert [each.fields[0].name for each in contract.datasets] == ["x"]
    assert lost == (
        "statement 3: it creates no table with columns",
        "statement 4: it creates no table with columns",
        "t: left out: another table has this name",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"SELECT 1", "no CREATE TABLE"),
        (b"CREATE TABLE t (", "not SQL of this dialect"),
        (b"\xff", "not UTF-8"),
        (b"CREATE TABLE t (a INT CHECK (" + b"(" * 20_000 + b"))", "not SQL of this dialect"),
        (b"CREATE TABLE t (a " + b"STRUCT<a " * 3_000 + b")", "not SQL of this dialect"),
        (b"a " * 60_000 + b"," * 60_000, "more than 1,048,576 characters or 100,000 tokens"),
    ],
)
def test_text_that_is_no_table_is_refused(text: bytes, message: str) -> None:
    """Wrong, deep and long texts have one clear error."""
    with pytest.raises(InputError, match=message):
        from_sql.read(text, "orders")


def manifest(**nodes: dict[str, Any]) -> bytes:
    """A manifest of dbt with some nodes."""
    schema = {"dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json"}
    return json.dumps({"metadata": schema, "nodes": nodes, "sources": {}}).encode()


def model(*columns: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A model with some columns."""
    named = {each.get("name", "?"): each for each in columns}
    return {"resource_type": "model", "name": "orders", "columns": named} | more


def dbt_test(name: str, **more: Any) -> dict[str, Any]:
    """A test of the model's column `a`."""
    about = {"resource_type": "test", "attached_node": "m", "column_name": "a", "test_metadata": {"name": name}}
    return about | more


A = {"name": "a", "data_type": "varchar", "description": "", "constraints": [{"type": "not_null"}]}


def test_a_manifest_has_constraints_and_tests() -> None:
    """Constraints of columns and models, and tests by their severity."""
    values = {"name": "accepted_values", "kwargs": {"values": ["x", 1]}}
    contract, lost = from_dbt.read(
        manifest(
            m=model(A, constraints=[{"type": "primary_key", "columns": ["a"]}]),
            t1=dbt_test("unique", config={"severity": "WARN"}),
            t2=dbt_test("", test_metadata=values),
            t3=dbt_test("not_null", config={"severity": "warn"}),
        ),
        "shop",
    )
    found = [(each.kind, each.severity.value) for each in contract.datasets[0].rules if each.kind != "type"]

    assert (found, lost) == (
        [
            ("required", "fail"),
            ("primaryKey", "fail"),
            ("duplicateValues", "warn"),
            ("enum", "fail"),
            ("nullValues", "warn"),
        ],
        (),
    )


@pytest.mark.parametrize(
    ("nodes", "listed"),
    [
        ({"m": model(A, {"name": "b"})}, "m.b: left out: it has no `data_type`"),
        (
            {"m": model(A, {"name": "b", "data_type": "geography"})},
            "m.b: left out: no logical type has values of `geography`",
        ),
        ({"m": model(A, {"name": "b", "data_type": "int(("})}, "m.b: left out"),
        (
            {"m": model(A, constraints=[{"type": "check", "expression": "a > 0"}])},
            "m.constraints: the constraint `check`",
        ),
        ({"m": model(A), "n": model()}, "n: it describes no columns"),
        ({"m": model(A), "t": dbt_test("unique", config={"where": "a > 0"})}, "m.t: the test has no equivalent"),
        ({"m": model(A), "t": dbt_test("relationships")}, "m.t: the test has no equivalent"),
        ({"m": model(A), "t": dbt_test("accepted_values")}, "m.t: the test has no equivalent"),
        (
            {"m": model(A), "t": [], "u": {"resource_type": "test", "attached_node": "m"}},
            "m.u: the test has no equivalent",
        ),
    ],
)
def test_what_a_contract_lacks_of_a_manifest_is_listed(nodes: dict[str, Any], listed: str) -> None:
    """Columns without a type, other constraints and other tests are named with their resource."""
    assert from_dbt.read(manifest(**nodes), "shop")[1][0].startswith(listed)


def test_a_manifest_without_types_is_refused() -> None:
    """Nothing can be declared without the types of columns."""
    with pytest.raises(InputError, match="columns with `data_type`"):
        from_dbt.read(manifest(m=model({"name": "a"})), "shop")
