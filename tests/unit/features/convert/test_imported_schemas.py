"""Schemas of other tools in detail: what each keyword becomes, what is listed, and what is refused."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from lakegate.base.errors import ContractError, InputError
from lakegate.contract.contract_model import Contract
from lakegate.features.convert import dbt_manifest, json_schema, sql_ddl
from lakegate.features.convert.odcs_export import odcs_of_schema
from lakegate.lints.linter import examine

HOSTILE = "a\"b`c'; DROP TABLE x --"


def rules(contract: Contract) -> list[tuple[str, tuple[str, ...], dict[str, Any]]]:
    """The rules of the first dataset but for those of types."""
    found = contract.datasets[0].rules
    return [(each.kind, each.fields, dict(each.arguments)) for each in found if each.kind not in {"type", "nested"}]


def of_property(**schema: Any) -> tuple[Contract, tuple[str, ...]]:
    """A JSON Schema of records with one described property, and another one."""
    return json_schema.read(
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
        (
            {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3, "uniqueItems": True},
            ["minItems", "maxItems", "uniqueItems", "required"],
        ),
        ({"type": "array", "items": {"type": "string"}, "uniqueItems": False}, ["required"]),
        ({"properties": {"x": {"type": "string"}}, "minProperties": 1}, ["minProperties", "required"]),
        (
            {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 9},
            ["maxProperties", "required"],
        ),
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
        json_schema.read(json.dumps(document).encode(), "orders")

    assert message in str(error.value)


@pytest.mark.parametrize(
    ("name", "reference"),
    [("a/b c", "#/$defs/a~1b%20c"), ("a b", "#/$defs/a b"), ("é%", "#/%24defs/%C3%A9%25"), ("~1", "#/$defs/%7E01")],
)
def test_a_reference_may_escape_characters(name: str, reference: str) -> None:
    """A pointer in a fragment is first decoded as a part of an address, then as a pointer (RFC 6901 §6)."""
    document = {"properties": {"a": {"$ref": reference}}, "$defs": {name: {"type": "integer"}}}
    contract, lost = json_schema.read(json.dumps(document).encode(), "orders")

    assert [(each.name, each.type.value) for each in contract.datasets[0].fields] == [("a", "integer")]
    assert lost == ()


def test_a_root_that_is_a_list_has_its_records() -> None:
    """As a file of JSON has them; what it says of the list itself is listed."""
    items = {"properties": {"a": {"type": "string"}, "b": {"$ref": "#/$defs/n"}}}
    document = {"type": "array", "minItems": 1, "items": items, "$defs": {"n": {"type": "integer"}}}
    contract, lost = json_schema.read(json.dumps(document).encode(), "orders")

    assert [(each.name, each.type.value) for each in contract.datasets[0].fields] == [("a", "string"), ("b", "integer")]
    assert lost == ("$.minItems: the keyword has no equivalent",)


def test_references_that_multiply_are_refused() -> None:
    """Definitions that use each other twice grow beyond the limit of fields, and end soon."""
    levels = {
        f"d{at}": {"properties": {name: {"$ref": f"#/$defs/d{at + 1}"} for name in ("x", "y")}} for at in range(18)
    }
    last = {"d18": {"type": "string"}}
    document = {"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": levels | last}

    with pytest.raises(InputError, match="more than 5,000 fields"):
        json_schema.read(json.dumps(document).encode(), "orders")


def test_a_text_beyond_the_limits_of_documents_is_refused() -> None:
    """Deep nesting is refused before it is read."""
    with pytest.raises(ContractError):
        json_schema.read(b'{"a":' * 200 + b"1" + b"}" * 200, "orders")


def test_options_of_lists_and_objects_are_those_of_odcs() -> None:
    """A list as a whole, and an object, have the same options in the written document."""
    schema = {"type": "array", "items": {"type": "string"}, "minItems": 1, "uniqueItems": True}
    contract, _ = of_property(type="object", properties={"x": schema}, maxProperties=2)
    found = odcs_of_schema(contract)
    examined = examine(found.text.encode())

    assert (found.omitted, examined.errors) == ((), ())
    assert examined.contract is not None
    assert sorted(map(str, rules(examined.contract))) == sorted(map(str, rules(contract)))


def test_hostile_names_stay_names() -> None:
    """Names and descriptions of a schema cannot end a text of the document."""
    contract, _ = json_schema.read(
        json.dumps({"properties": {HOSTILE: {"type": "string", "description": HOSTILE}}}).encode(), HOSTILE
    )
    examined = examine(odcs_of_schema(contract).text.encode())

    assert examined.contract is not None
    assert (examined.errors, examined.contract.datasets[0].fields[0].name) == ((), HOSTILE)
    assert examined.contract.datasets[0].fields[0].description == HOSTILE


def of_column(column: str, *more: str) -> tuple[Contract, tuple[str, ...]]:
    """A table with a column and a second one."""
    return sql_ddl.read(f"CREATE TABLE t ({', '.join([column, 'b INT', *more])})".encode(), "orders")


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
        ("a INT CHECK (a % 2 = 0)", (), "t.table: `CHECK (a % 2 = 0)` has no equivalent"),
        ("a INTERVAL", (), "t.a: left out: no logical type has values of `INTERVAL`"),
        ("a", (), "t.a: left out: it has no type"),
        ("a STRUCT<x INTERVAL>", (), "t.a: left out: no logical type has values of `STRUCT<x INTERVAL>`"),
        ("a MAP<VARCHAR, INTERVAL>", (), "t.a: left out"),
        ("a ARRAY<INTERVAL>", (), "t.a: left out"),
        ("a INT", ("UNIQUE (a, none)",), "t.a, none: `UNIQUE (a, none)` has no equivalent"),
        ("a INT", ("CONSTRAINT c FOREIGN KEY (a) REFERENCES o (id)",), "t.a: `REFERENCES o (id)` has no equivalent"),
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
    """Each table is a dataset, the first of a name; what creates none is named with its line."""
    text = b"CREATE TABLE a.t (x INT); CREATE TABLE b.t (y INT); INSERT INTO t VALUES (1); CREATE TABLE c AS SELECT 1;;"
    contract, lost = sql_ddl.read(text, "orders")

    assert [each.fields[0].name for each in contract.datasets] == ["x"]
    assert lost == (
        "line 1: `INSERT INTO t VALUES (1)` creates no table with columns, and adds nothing to one",
        "line 1: `CREATE TABLE c AS SELECT 1` creates no table with columns, and adds nothing to one",
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
        sql_ddl.read(text, "orders")


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
    contract, lost = dbt_manifest.read(
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


NONE_OF = "m.t: the test has no equivalent: "


@pytest.mark.parametrize(
    ("name", "config", "rules", "lost"),
    [
        ("not_null", {"warn_if": "!= 0", "error_if": "!= 0", "fail_calc": "count(*)", "limit": 9}, ["required"], ()),
        ("not_null", {"error_if": ">10"}, ["nullValues fail mustBeLessOrEqualTo 10", "nullValues warn mustBe 0"], ()),
        ("not_null", {"error_if": ">= 10", "warn_if": ">= 10"}, ["nullValues fail mustBeLessThan 10"], ()),
        ("not_null", {"warn_if": "> 3"}, ["required"], ()),
        ("not_null", {"severity": "warn", "warn_if": ">= 100"}, ["nullValues warn mustBeLessThan 100"], ()),
        ("not_null", {"severity": "warn", "error_if": "> 3"}, ["nullValues warn mustBe 0"], ()),
        ("not_null", {"error_if": "> 0", "warn_if": ">= 1"}, ["required"], ()),
        (
            "not_null",
            {"error_if": "between 1 and 5", "warn_if": "= 7"},
            ["nullValues fail mustNotBeBetween 1 5", "nullValues warn mustNotBe 7"],
            (),
        ),
        ("not_null", {"error_if": "> 10", "limit": 5}, [], (f"{NONE_OF}`limit: 5` bounds what is counted",)),
        ("not_null", {"limit": 0}, [], (f"{NONE_OF}`limit: 0` bounds what is counted",)),
        ("not_null", {"fail_calc": "max(n)"}, [], (f"{NONE_OF}`fail_calc: max(n)` is no count of failures",)),
        ("not_null", {"where": "a > 0"}, [], (f"{NONE_OF}`where: a > 0` leaves rows out",)),
        ("not_null", {"error_if": "> 1%"}, [], (f"{NONE_OF}`error_if: > 1%` is no comparison with a number",)),
        ("not_null", {"severity": "loud"}, [], (f"{NONE_OF}the severity `loud` is not one of dbt",)),
        ("not_null", {"enabled": False}, [], (f"{NONE_OF}it is disabled",)),
        (
            "unique",
            {"error_if": "> 3"},
            ["duplicateValues warn mustBe 0"],
            (f"{NONE_OF}`error_if: > 3` with the severity fail",),
        ),
        ("unique", {"limit": 10}, ["unique"], ()),
        (
            "accepted_values",
            {"error_if": "> 5"},
            ["invalidValues warn mustBe 0"],
            (f"{NONE_OF}`error_if: > 5` with the severity fail",),
        ),
        (
            "relationships",
            {"error_if": "> 5", "warn_if": "> 5"},
            [],
            (f"{NONE_OF}`error_if: > 5` with the severity fail",),
        ),
        ("relationships", {"severity": "warn"}, [], (f"{NONE_OF}`warn_if: != 0` with the severity warn",)),
    ],
)
def test_the_configuration_of_a_test_counts(
    name: str, config: dict[str, Any], rules: list[str], lost: tuple[str, ...]
) -> None:
    """A threshold, a severity or a condition of a test is kept, or the test is listed with it."""
    given = {"accepted_values": {"values": ["x"]}, "relationships": {"to": "ref('orders')", "field": "a"}}.get(name, {})
    column = {"name": "a", "data_type": "varchar"}
    about = {"name": name, "kwargs": {"column_name": "a", "arguments": given}}
    nodes = manifest(m=model(column), t=dbt_test(name, test_metadata=about, config=config))
    contract, found_lost = dbt_manifest.read(nodes, "shop")

    found = []
    for each in contract.datasets[0].rules[1:]:
        good = each.comparison
        compared = (each.severity.value, good.operator, *map(str, good.operands)) if good else ()
        found.append(" ".join((each.kind, *compared)))
    assert (found, found_lost) == (rules, lost)


def test_a_test_with_an_argument_that_is_not_known_is_listed() -> None:
    """What else a test is given may change what it counts."""
    about = {"name": "not_null", "kwargs": {"column_name": "a", "group_by": ["b"]}}
    nodes = manifest(m=model({"name": "a", "data_type": "int"}), t=dbt_test("", test_metadata=about))

    assert dbt_manifest.read(nodes, "shop")[1] == ("m.t: the test has no equivalent",)


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
    assert dbt_manifest.read(manifest(**nodes), "shop")[1][0].startswith(listed)


def versions(*, alias: bool) -> dict[str, Any]:
    """Two versions of one model, and a seed that refers to the first, to the latest and to one that is not there."""
    number = {"name": "id", "data_type": "int"}
    named = {each: {"alias": f"dim_{each}"} if alias else {} for each in (1, 2)}
    target = {"field": "id", "column_name": "a"}
    return {
        **{
            f"v{each}": model(number, name="dim", version=each, latest_version=2, access="public", **named[each])
            for each in (1, 2)
        },
        "m": model({"name": "a", "data_type": "int"}),
        **{
            f"t{at}": dbt_test("", test_metadata={"name": "relationships", "kwargs": {"to": to} | target})
            for at, to in enumerate(
                ("ref('dim', v=1)", "ref('dim')", "ref('p', 'dim', version='2')", "ref('dim', v=3)")
            )
        },
    }


@pytest.mark.parametrize(("alias", "names"), [(True, ("dim_1", "dim_2")), (False, ("dim_v1", "dim_v2"))])
def test_versions_of_a_model_are_tables_of_their_own(alias: bool, names: tuple[str, str]) -> None:  # noqa: FBT001 - a column of the table
    """Each has its alias; a reference leads to the version that it names, and without one to the latest."""
    contract, lost = dbt_manifest.read(manifest(**versions(alias=alias)), "shop")
    first, last = names

    assert [each.name for each in contract.datasets] == [first, last, "orders"]
    assert [each.arguments["to"] for each in contract.datasets[2].rules if each.kind == "foreignKey"] == [
        f"{first}.id",
        f"{last}.id",
        f"{last}.id",
    ]
    assert lost == ("m.a: a reference to `dim_v3.id`, which the manifest does not describe",)


def test_the_latest_version_of_a_public_model_has_its_name() -> None:
    """The routes of public models lead to that name; older versions are listed."""
    contract, lost = dbt_manifest.read_public(manifest(**versions(alias=True)), "shop")

    assert ([each.name for each in contract.datasets], lost) == (
        ["dim"],
        ("v1: left out: a later version of the model is there",),
    )


def test_a_unique_constraint_of_several_columns_is_a_metric() -> None:
    """Together they are distinct, each alone is not."""
    columns = [{"name": each, "data_type": "int"} for each in ("a", "b")]
    constraint = {"type": "unique", "columns": ["a", "b"]}
    contract, lost = dbt_manifest.read(manifest(m=model(*columns, constraints=[constraint])), "shop")

    assert (rules(contract), lost) == ([("duplicateValues", ("a", "b"), {})], ())


def test_a_manifest_without_types_is_refused() -> None:
    """Nothing can be declared without the types of columns."""
    with pytest.raises(InputError, match="columns with `data_type`"):
        dbt_manifest.read(manifest(m=model({"name": "a"})), "shop")


def test_references_of_dbt_lead_to_resources_of_the_manifest() -> None:
    """Tests and constraints by `ref`, `source` or a name; others are listed."""
    number = {"data_type": "bigint"}

    def refers(column: str, to: object, field: object = "id") -> dict[str, Any]:
        about = {"name": "relationships", "kwargs": {"to": to, "field": field}}
        return {
            "resource_type": "test", "attached_node": "model.a", "column_name": column,
            "test_metadata": about, "config": {},
        }  # fmt: skip

    keys = [
        {"type": "foreign_key", "columns": ["x", "y"], "to": "db.s.dim", "to_columns": ["id", "n"]},
        {"type": "foreign_key", "columns": ["x"], "to": "ref('dim')", "to_columns": []},
    ]
    a = model({"name": "x"} | number, {"name": "y"} | number) | {"name": "a", "constraints": keys}
    dim = model({"name": "id"} | number, {"name": "n"} | number) | {"name": "Dim"}
    tests = {
        f"test.{at}": refers(*each)
        for at, each in enumerate(
            [("x", "ref('Dim')"), ("y", "source('s', 'dim')", "none"), ("y", "ref('other')"), ("y", None)]
        )
    }
    contract, lost = dbt_manifest.read(manifest(**{"model.a": a, "model.dim": dim}, **tests), "shop")

    assert rules(contract) == [
        ("foreignKey", ("x", "y"), {"to": "dim.id,dim.n"}),
        ("foreignKey", ("x",), {"to": "dim.id"}),
    ]
    assert [each.partition(": ")[2][:16] for each in lost] == [
        "the constraint `",
        "the test has no ",
        *["a reference to `"] * 2,
    ]


@pytest.mark.parametrize(
    ("schema", "kinds", "listed"),
    [
        ({"anyOf": [{"type": "string", "maxLength": 9}, {"type": "null"}], "default": None}, ["maxLength"], True),
        ({"oneOf": [{"type": "null"}, {"type": "integer", "minimum": 1}], "title": "N"}, ["minimum"], True),
        ({"anyOf": [{"$ref": "#/properties/b"}, {"enum": [None]}]}, [], True),
        ({"allOf": [{"$ref": "#/properties/b"}]}, ["required"], False),
        ({"allOf": [{"anyOf": [{"$ref": "#/properties/b"}, {"type": "null"}]}]}, [], True),
        ({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]}, [], True),
        ({"type": "string", "anyOf": [{"minLength": 2}]}, ["required"], True),
    ],
)
def test_the_only_alternative_beside_null_describes_a_field(
    schema: dict[str, Any],
    kinds: list[str],
    listed: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """As pydantic 2 writes fields that may be null, and references with keywords beside them."""
    contract, lost = of_property(**schema)

    assert [each.name for each in contract.datasets[0].fields] == ["a", "b"]
    assert ([kind for kind, *_ in rules(contract)], lost != ()) == (kinds, listed)


def test_alternatives_and_what_stands_beside_them_keep_their_texts() -> None:
    """The description of the place comes before that of what it refers to; alternatives of two types are listed."""
    described = {"type": "string", "description": "inner"}
    own, _ = of_property(anyOf=[described, {"type": "null"}], description="outer")
    inner, _ = of_property(anyOf=[described, {"type": "null"}])
    several, lost = of_property(anyOf=[{"type": "string"}, {"type": "integer"}])

    assert [each.datasets[0].fields[0].description for each in (own, inner)] == ["outer", "inner"]
    assert [each.name for each in several.datasets[0].fields] == ["b"]
    assert lost[0].startswith("a: left out: its values are of several types")


def sql(
    text: str, dialect: str = "postgres"
) -> tuple[list[list[tuple[str, tuple[str, ...], dict[str, Any]]]], list[str]]:
    """The rules of each table but for those of types, and what is listed; the draft is a valid document."""
    contract, lost = sql_ddl.read(text.encode(), "shop", dialect)
    assert examine(odcs_of_schema(contract).text.encode()).errors == ()
    found = [
        [(each.kind, each.fields, dict(each.arguments)) for each in table.rules if each.kind not in {"type", "nested"}]
        for table in contract.datasets
    ]
    return found, [each.split(": ", 1)[1] for each in lost]


NO_VALUES: dict[str, Any] = {}
KEY = ("primaryKey", ("ID",), NO_VALUES)


@pytest.mark.parametrize(
    ("columns", "dialect", "found", "listed"),
    [
        ("ID int, CONSTRAINT k PRIMARY KEY CLUSTERED ([ID] ASC)", "tsql", [KEY], 0),
        ("ID int, CONSTRAINT k PRIMARY KEY NONCLUSTERED ([id] DESC)", "tsql", [KEY], 0),
        (
            "ID int, b bit, CONSTRAINT u UNIQUE NONCLUSTERED (b, ID)",
            "tsql",
            [("duplicateValues", ("b", "ID"), NO_VALUES)],
            0,
        ),
        ("ID int, CONSTRAINT u UNIQUE CLUSTERED (ID)", "tsql", [("unique", ("ID",), NO_VALUES)], 0),
        ("ID int, PRIMARY KEY (id)", "postgres", [KEY], 0),
        ("ID int, PRIMARY KEY (other)", "postgres", [], 1),
        ("ID int, UNIQUE (other, id)", "postgres", [], 1),
        ("a serial, b bigserial, c smallserial", "postgres", [("required", (each,), NO_VALUES) for each in "abc"], 0),
        ("a bit, b bit(1), c bit(3)", "postgres", [], 1),
        ("a decimal(10,2) unsigned", "mysql", [("minimum", ("a",), {"value": 0, "exclusive": False})], 0),
        ("a int unsigned", "mysql", [("minimum", ("a",), {"value": 0, "exclusive": False})], 0),
        (
            "a STRUCT<zip STRING NOT NULL, n INT64>, b ARRAY<STRUCT<x INT64 NOT NULL>>",
            "bigquery",
            [("required", ("a.zip",), NO_VALUES), ("required", ("b[].x",), NO_VALUES)],
            0,
        ),
        ("a STRUCT<zip: STRING COMMENT 'z', n: STRING DEFAULT 'x'>", "databricks", [], 1),
        ("a text CHECK (a IN ('x', 'y'))", "postgres", [("enum", ("a",), {"values": ("x", "y")})], 0),
        ("a text, CONSTRAINT c CHECK (a IN ('x'))", "postgres", [("enum", ("a",), {"values": ("x",)})], 0),
        ("a int, CHECK (a IN (1, -2))", "postgres", [("enum", ("a",), {"values": ("1", "-2")})], 0),
        (
            "a text, CHECK (((a)::text = ANY ((ARRAY['x'::varchar, 'y'::varchar])::text[])))",
            "postgres",
            [("enum", ("a",), {"values": ("x", "y")})],
            0,
        ),
        (
            "a int CHECK (a >= 0 AND 10 > a)",
            "postgres",
            [
                ("minimum", ("a",), {"value": 0, "exclusive": False}),
                ("maximum", ("a",), {"value": 10, "exclusive": True}),
            ],
            0,
        ),
        (
            "a int, CHECK (A BETWEEN -1 AND 1.5)",
            "postgres",
            [
                ("minimum", ("a",), {"value": -1, "exclusive": False}),
                ("maximum", ("a",), {"value": Decimal("1.5"), "exclusive": False}),
            ],
            0,
        ),
        ("a text CHECK (a > 5)", "postgres", [], 1),
        ("a int CHECK (a > 1e99999999999999999999)", "postgres", [], 1),
        ("a STRUCT<x STRING NULL, y STRING>", "bigquery", [], 0),
        ("a int CHECK (a > b + 1), b int", "postgres", [], 1),
        ("a int CHECK (other > 5)", "postgres", [], 1),
        ("a int CHECK (a IN (SELECT 1))", "postgres", [], 1),
        ("a int CHECK (a IN (b, 1)), b int", "postgres", [], 1),
        ("a int CHECK (a = ANY (b)), b int[]", "postgres", [], 1),
        ("a int CHECK (a % 2 = 0 OR a > 5)", "postgres", [], 1),
        ("a int DEFAULT 5 NULL", "postgres", [], 1),
        ("a int foreign key references t(a)", "snowflake", [("foreignKey", ("a",), {"to": "t.a"})], 0),
    ],
)
def test_constraints_of_tables_are_rules(
    columns: str, dialect: str, found: list[tuple[str, tuple[str, ...], dict[str, Any]]], listed: int
) -> None:
    """In whichever form a dialect writes them; what has another meaning is listed."""
    (table,), lost = sql(f"CREATE TABLE t (z text, {columns})", dialect)

    assert (table, len(lost)) == (found, listed)


def test_scripts_refer_to_their_own_tables() -> None:
    """References by names in any case, to several columns, or to a key; a table that is not in the text is listed."""
    tables, lost = sql(
        "CREATE TABLE Dept (id int PRIMARY KEY, x int, y int, UNIQUE (x, y));"
        "CREATE TABLE staff (a int REFERENCES DEPT (ID), b int REFERENCES dept, c int, d int REFERENCES other(id),"
        " FOREIGN KEY (b, c) REFERENCES dept (x, y), FOREIGN KEY (a) REFERENCES staff (none), e int REFERENCES staff)"
    )

    assert tables[1] == [
        ("foreignKey", ("a",), {"to": "dept.id"}),
        ("foreignKey", ("b",), {"to": "dept.id"}),
        ("foreignKey", ("b", "c"), {"to": "dept.x,dept.y"}),
    ]
    assert {each.split("`")[1] for each in lost} == {
        "REFERENCES other (id)",
        "REFERENCES staff (none)",
        "REFERENCES staff",
    }


def test_later_statements_add_to_their_tables() -> None:
    """Comments and constraints that a dump adds behind its tables; batches of SQL Server end with GO."""
    text = (
        "CREATE TABLE s.place (id int, day date, st text);\nGO\n"
        "COMMENT ON TABLE s.place IS 'Where it is.'; COMMENT ON COLUMN s.place.ID IS 'Its \"number\".';\n"
        "ALTER TABLE ONLY s.place ADD CONSTRAINT k PRIMARY KEY (id);\n"
        "ALTER TABLE place ALTER COLUMN day SET NOT NULL; ALTER TABLE place ALTER COLUMN day SET DEFAULT now();\n"
        "ALTER TABLE none ADD CONSTRAINT k UNIQUE (id); COMMENT ON SCHEMA s IS 'x'; CREATE VIEW v AS SELECT 1;\n  go 2\n"
    )
    contract, lost = sql_ddl.read(text.encode(), "shop", "postgres")
    (table,) = contract.datasets

    assert (table.description, table.fields[0].description) == ("Where it is.", 'Its "number".')
    assert rules(contract) == [("primaryKey", ("id",), {}), ("required", ("day",), {})]
    assert len(lost) == 4
    assert "description: Where it is." in odcs_of_schema(contract).text


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ("CREATE TABLE t (a int COMMENT 'c') COMMENT 'd'", "databricks"),
        ("CREATE TABLE t (a int COMMENT 'c') COMMENT='d'", "mysql"),
        ("CREATE TABLE t (a INT64 OPTIONS(description='c')) OPTIONS(description='d')", "bigquery"),
    ],
)
def test_comments_of_dialects_are_descriptions(text: str, dialect: str) -> None:
    """Of tables and of columns, wherever a dialect writes them."""
    contract, lost = sql_ddl.read(text.encode(), "shop", dialect)
    (table,) = contract.datasets

    assert (table.description, table.fields[0].description, lost) == ("d", "c", ())


def test_options_of_a_column_that_are_no_description_are_listed() -> None:
    """They have no equivalent, and neither have those of a table."""
    contract, lost = sql_ddl.read(
        b"CREATE TABLE t (a INT64 OPTIONS(rounding_mode='x')) OPTIONS(expiration_timestamp=NULL)", "shop", "bigquery"
    )

    assert (contract.datasets[0].description, contract.datasets[0].fields[0].description, len(lost)) == (None, None, 2)
