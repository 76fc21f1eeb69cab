"""ODCS is read whole, judged by the official schema of the version a document declares."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakegate.base.errors import ContractError, SetUpError
from lakegate.contract.contract_model import Dataset, Rule, Severity
from lakegate.contract.delivery_policy import FieldTreatment
from lakegate.contract.documents.schema_validation import load
from lakegate.contract.file_formats import Csv
from lakegate.lints.linter import examine, read
from tests.reference.cases import only_plan

EXAMPLE = Path(__file__).parents[4] / "contracts/examples/orders.odcs.yaml"
CONTRACT = """\
apiVersion: {version}
kind: DataContract
id: x
version: 1.0.0
status: active
{top}
schema:
  - name: d
    properties: [{properties}]
    quality: [{quality}]
    {keys}
  - name: e
    properties: [{{name: id, logicalType: string}}, {{name: a, logicalType: number}}, {{name: b, logicalType: date}}]
"""
COLUMN = "{name: n, logicalType: number}"


def dataset(
    properties: str = COLUMN, quality: str = "", keys: str = "", top: str = "", version: str = "v3.1.0"
) -> Dataset:
    text = CONTRACT.format(properties=properties, quality=quality, keys=keys, top=top, version=version)
    return read(text.encode()).datasets[0]


def quality_rule(text: str, version: str = "v3.1.0") -> Rule:
    return next(
        each for each in dataset(quality=text, version=version).rules if each.origin.path.startswith("$.schema[0].q")
    )


def test_the_orders_example_is_read_and_measured_whole() -> None:
    """Our own example has no error and no warning; only its service levels are not measured."""
    examined = examine(EXAMPLE.read_bytes())
    contract = read(EXAMPLE.read_bytes())
    skipped = [check.kind for check in only_plan(contract).checks if check.skip]

    assert (examined.errors, examined.warnings) == ((), ())
    assert skipped == ["serviceLevel"] * 3
    assert (contract.format, contract.name, contract.status) == ("ODCS v3.1.0", "Web shop orders", "active")
    assert FieldTreatment.WARN is contract.datasets[0].policy.additional_fields
    assert Csv(delimiter=";", null_values=("",)) == contract.datasets[0].csv


def test_parts_of_a_key_stand_in_the_order_of_their_positions() -> None:
    """A part without a position comes last."""
    key = "primaryKey: true, logicalType: date"
    properties = (
        f"{{name: c, {key}}}, {{name: b, {key}, primaryKeyPosition: 2}}, {{name: a, {key}, primaryKeyPosition: 1}}"
    )
    rules = [rule for rule in dataset(properties).rules if rule.kind == "primaryKey"]

    assert [(rule.id, rule.fields) for rule in rules] == [("a,b,c:primaryKey:1", ("a", "b", "c"))]


def test_constraints_of_nested_properties_are_their_rules() -> None:
    """No constraint of a nested property is lost."""
    inner = "{name: street, logicalType: string, required: true}, {name: geo, logicalType: object, properties: []}"
    tags = "{name: tags, logicalType: array, items: {logicalType: string, logicalTypeOptions: {minLength: 1}}}"
    rules = dataset(f"{{name: address, logicalType: object, required: true, properties: [{inner}]}}, {tags}").rules
    expected = [
        ("address", "required"),
        ("address", "nested"),
        ("address.street", "type"),
        ("address.street", "required"),
        ("address.geo", "nested"),
        ("tags", "nested"),
        ("tags[]", "type"),
        ("tags[]", "minLength"),
    ]

    assert expected == [(rule.fields[0], rule.kind) for rule in rules]


def test_each_version_is_judged_by_its_own_schema() -> None:
    """What one version requires another refuses."""
    metric, older = "{metric: rowCount, mustBe: 0}", "{type: library, rule: rowCount, mustBe: 0}"

    for text, version in ((metric, "v3.0.2"), (older, "v3.1.0")):
        with pytest.raises(ContractError):
            quality_rule(text, version)


def test_relationships_of_an_object_name_its_own_fields() -> None:
    """By shorthand or by qualified id, one field or several."""
    keys = "relationships: [{from: d.n, to: e.a}, {from: [d.n, schema/d/properties/two], to: [e.a, e.b]}]"
    rules = dataset(f"{COLUMN}, {{id: two, name: m, logicalType: date}}", keys=keys).rules
    expected = [("n:foreignKey:1", ("n",), "e.a"), ("n,m:foreignKey:1", ("n", "m"), "e.a,e.b")]

    assert expected == [(r.id, r.fields, r.arguments["to"]) for r in rules if r.kind == "foreignKey"]


def test_references_by_ids_are_known_by_names() -> None:
    """A reference by ids and slashes is the one by names and dots; what leads out of the document stays as it is."""
    targets = {
        "schema/d/properties/two": "d.m",
        "/schema/d/properties/m": "d.m",
        "people_v2.yaml#/schema/e/properties/a": "people_v2.yaml#/schema/e/properties/a",
    }
    keys = ", ".join(f"{{from: d.n, to: {to}}}" for to in targets)
    text = f"{COLUMN}, {{id: two, name: m, logicalType: string}}"
    rules = dataset(text, keys=f"relationships: [{keys}]").rules

    assert list(targets.values()) == [rule.arguments["to"] for rule in rules if rule.kind == "foreignKey"]


def test_service_levels_belong_to_the_dataset_of_their_element() -> None:
    """A level of another dataset is not this one's; one of no element is everybody's."""
    mine, other = "{property: latency, value: 4, unit: d, element: d.n}", "{property: x, value: 1, element: e.a}"
    levels = f"slaProperties: [{mine}, {other}, {{property: retention, value: 3}}]"
    found = [rule.name for rule in dataset(top=levels).rules if rule.kind == "serviceLevel"]

    assert found == ["latency", "retention"]


def test_the_extension_of_an_object_wins_over_the_contracts() -> None:
    """Keys that the object does not set are taken from the contract."""
    entry = "customProperties: [{{property: other, value: 1}}, {{property: lakegate, value: {{{}}}}}]"
    both = dataset(
        keys=entry.format("allowEmpty: true, csv: {quote: '|'}"), top=entry.format("allowEmpty: false, samples: false")
    )

    assert (both.policy.allow_empty, both.policy.samples) == (True, False)
    assert Csv(quote="|") == both.csv


def test_an_uncritical_dataset_warns_at_worst() -> None:
    """`critical: false` keeps every rule from refusing a delivery."""
    found = dataset(keys="customProperties: [{property: lakegate, value: {critical: false}}]")

    assert {Severity.WARN} == {rule.severity for rule in found.rules}


def test_a_schema_that_set_up_has_not_fetched_is_named() -> None:
    """The error contains the command to run."""
    with pytest.raises(SetUpError, match="run make setup"):
        load("official/odcs-9.9.9")


def test_an_unknown_version_is_refused_with_the_known_ones() -> None:
    """No guess is made at a version nobody has seen."""
    with pytest.raises(ContractError, match=r"v9\.9\.9.*v3\.0\.0.*v3\.1\.0"):
        dataset(version="v9.9.9")


DEEP = "{name: a, logicalType: array, items: " + "{logicalType: array, items: " * 20 + "{logicalType: date}" + "}" * 21


def test_the_deepest_document_is_judged() -> None:
    """Nesting up to the limit of the reader breaks neither the schema's judge nor our own."""
    assert [field.name for field in dataset(DEEP).fields] == ["a"]


@pytest.mark.parametrize("items", ["1, 1.0", "0.1, 0.10", "1e1, 10"])
def test_a_number_is_itself_however_it_is_written(items: str) -> None:
    """Two bounds that are one number are one too few."""
    quality = f"{{metric: rowCount, mustBeBetween: [{items}]}}"
    text = CONTRACT.format(properties=COLUMN, quality=quality, keys="", top="", version="v3.1.0")

    assert [problem.code for problem in examine(text.encode()).errors] == ["repeated-item"]


def test_keys_of_several_forms_are_refused_together() -> None:
    """Of two operators one is one too many, even where the other one is written wrongly."""
    with pytest.raises(ContractError):
        dataset(quality="{metric: rowCount, mustBe: 1, mustBeBetween: x}")


def test_properties_of_newer_versions_are_read() -> None:
    """ODCS 3.2 lists values as objects, and has maps and computed properties."""
    properties = (
        "{name: a, logicalType: string, enum: [{value: x, label: X}, {value: '1.10'}]},"
        "{name: b, logicalType: map, map: {key: {logicalType: string}, value: {logicalType: date, required: true}}},"
        "{name: c, logicalType: number, semanticType: measure}, {name: d, physicalType: date, semanticType: column}"
    )
    found = dataset(properties, version="v3.2.0")
    values = [rule.arguments["values"] for rule in found.rules if rule.kind == "enum"]
    inner = [(rule.kind, *rule.fields) for rule in found.rules if "b." in rule.fields[0]]

    assert [field.name for field in found.fields] == ["a", "b", "d"]
    assert values == [("x", "1.10")]
    assert inner == [("type", "b.key"), ("type", "b.value"), ("required", "b.value")]


def test_a_computed_property_gives_a_warning() -> None:
    """A measure is not a column of a delivery."""
    properties = "{name: c, logicalType: number, semanticType: measure}"
    text = CONTRACT.format(properties=properties, quality="", keys="", top="", version="v3.2.0")

    assert "not-a-column" in {warning.code for warning in examine(text.encode()).warnings}


def test_variables_are_replaced_before_a_document_is_judged() -> None:
    """Given values win over defaults; placeholders of queries stay; other versions know no variables."""
    text = CONTRACT.format(
        properties=COLUMN, quality="", keys="", top="name: '${A:-b} ${B:-c} ${table}'", version="v3.2.0"
    )
    older = text.replace("v3.2.0", "v3.1.0").encode()

    assert read(text.encode(), {"A": "1"}).name == "1 c ${table}"
    assert read(older, {"A": "1"}).name == "${A:-b} ${B:-c} ${table}"


def test_a_variable_without_a_value_is_an_error() -> None:
    """It is never an empty text."""
    text = CONTRACT.format(properties=COLUMN, quality="", keys="", top="name: 'x ${A}'", version="v3.2.0").encode()

    assert [(problem.code, problem.path) for problem in examine(text).errors] == [("unresolved-variable", "$.name")]
    assert read(text, {"A": ""}).name == "x "
