"""`$ref` of ODCS and DCM uses the definitions of the document, within the limits of a document, and reads nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lakegate.base.text import MAX_HINTS
from lakegate.contract.documents.document_tree import Notes
from lakegate.contract.documents.read_document import DEEPEST_LEVEL, MAX_NODES, parse
from lakegate.contract.documents.ref_definitions import expand_references
from lakegate.lints.linter import examine
from lakegate.rules.compile_plan import compile_plan
from tests.unit.diff.builder import compared, document

CASES: list[dict[str, Any]] = yaml.load(
    Path(__file__).with_name("hostile_references.yaml").read_text(), yaml.CSafeLoader
)
EMAIL = {"logicalType": "string", "classification": "confidential", "logicalTypeOptions": {"maxLength": 254}}
AT = "$.schema[0].properties[0]"


def contract(definitions: dict[str, Any], *properties: dict[str, Any], version: str = "1.0.0") -> bytes:
    return document({"properties": list(properties), "root": {"definitions": definitions}}, version)


def test_a_field_has_what_its_definition_says() -> None:
    """Type, classification and rules come from the definition; keys of the field itself override them."""
    text = contract(
        {"email": EMAIL},
        {"name": "a", "$ref": "#/definitions/email"},
        {"name": "b", "$ref": "#/definitions/email", "classification": "internal", "required": True},
    )
    examined = examine(text)
    assert examined.contract is not None
    first, second = examined.contract.datasets[0].fields
    plan = compile_plan(examined.contract, examined.contract.datasets[0])

    assert (examined.errors, examined.warnings) == ((), ())
    assert (first.classification, second.classification) == ("confidential", "internal")
    assert {each.rule for each in plan.checks} == {
        *("a:type:1", "a:maxLength:1", "b:type:1", "b:maxLength:1", "b:required:1")
    }


def test_definitions_use_definitions_at_any_level() -> None:
    """A definition may be a nested field, a rule, or a whole dataset."""
    definitions = {
        "email": EMAIL,
        "person": {"logicalType": "object", "properties": [{"name": "mail", "$ref": "#/definitions/email"}]},
        "some/rows~": {"metric": "rowCount", "mustBeGreaterThan": 0},
    }
    rule = {"id": "some", "$ref": "#/definitions/some~1rows~0"}
    text = document(
        {
            "object": {"quality": [rule]},
            "properties": [{"name": "buyer", "$ref": "#/definitions/person"}],
            "root": {"definitions": definitions},
        }
    )
    examined = examine(text)
    assert examined.contract is not None
    (dataset,) = examined.contract.datasets

    assert examined.errors == ()
    assert dataset.fields[0].parts[0].classification == "confidential"
    assert "some" in {each.id for each in dataset.rules}


def test_dcm_has_definitions_too() -> None:
    """Columns of the thesis's format share their types."""
    text = """specVersion: 0.1.3
id: x-p-1.0.0
name: x
kind: DataContract
version: 1.0.0
description: d
tags: []
producer: {name: p, group: g}
access: {eventType: push, protocol: HTTP, location: /, accessConfiguration: {}}
dataSharingAgreements: {}
definitions: {code: {dataType: text, constraint: NOT_NULL}}
dataset: {name: d, schema: [{name: n, $ref: '#/definitions/code'}]}
quality: []
"""
    examined = examine(text.encode())
    assert examined.contract is not None

    assert examined.errors == ()
    assert {each.id for each in examined.contract.datasets[0].rules} == {"n:type:1", "n:required:1"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["case"]))
def test_a_hostile_reference_is_refused_at_its_place(case: dict[str, Any]) -> None:
    """The error has the line of the document and a remedy; nothing is read."""
    definitions = {"a": EMAIL, **case.get("definitions", {})}
    errors = examine(contract(definitions, {"name": "x", "$ref": case["at"]})).errors
    found = [each for each in errors if each.code == case["code"]]

    assert found
    assert all(
        each.path.startswith((AT, "$.definitions")) and each.line and each.message.endswith((".", "?"))
        for each in found
    )


def test_definitions_that_use_each_other_cannot_grow_without_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten references in each of twelve definitions would be 10^12 fields; a limit stops them (here a low one, which is fast)."""
    monkeypatch.setattr("lakegate.contract.documents.ref_definitions.MAX_NODES", 1_000)
    bomb = {}
    for at in range(12):
        fields = [{"name": f"p{number}", "$ref": f"#/definitions/d{at + 1}"} for number in range(10)]
        bomb[f"d{at}"] = {"logicalType": "object", "properties": fields}
    errors = examine(contract({**bomb, "d12": EMAIL}, {"name": "x", "$ref": "#/definitions/d0"})).errors

    assert [each.code for each in errors] == ["too-many-nodes"]


def test_a_long_chain_of_nested_definitions_is_too_deep() -> None:
    """The expanded document has at most as many levels as a document."""
    chain = {
        f"d{at}": {"logicalType": "object", "properties": [{"name": "p", "$ref": f"#/definitions/d{at + 1}"}]}
        for at in range(DEEPEST_LEVEL)
    }
    text = contract({**chain, f"d{DEEPEST_LEVEL}": EMAIL}, {"name": "x", "$ref": "#/definitions/d0"})

    assert "too-deep" in {each.code for each in examine(text).errors}


def test_an_unused_definition_is_a_warning() -> None:
    """It is named with its line."""
    warnings = examine(contract({"email": EMAIL}, {"name": "a", "logicalType": "integer"})).warnings

    assert [(each.code, each.path) for each in warnings] == [("unused-definition", "$.definitions.email")]


def test_a_similar_name_is_a_hint_for_the_first_references_only() -> None:
    """Looking for one takes long, so that a document full of wrong references has hints for the first fifty."""
    fields = [{"name": f"f{at}", "$ref": "#/definitions/emial"} for at in range(60)]
    errors = [each for each in examine(contract({"email": EMAIL}, *fields)).errors if each.code == "dangling-reference"]

    assert len(errors) == len(fields)
    assert sum(each.message.endswith("Did you mean `email`?") for each in errors) == MAX_HINTS


def test_versions_are_compared_with_their_definitions() -> None:
    """A changed definition changes the fields that use it; written out, the contract is the same."""
    field = {"name": "a", "$ref": "#/definitions/email"}
    before = contract({"email": EMAIL}, field)
    after = contract({"email": {**EMAIL, "logicalTypeOptions": {"maxLength": 100}}}, field)
    written = document({"properties": [{"name": "a", **EMAIL}]})

    assert ("rule-stricter", "orders.a#maxLength") in {
        (each.kind, each.path) for each in compared(before, after).changes
    }
    assert {each.kind for each in compared(before, written).changes} <= {"metadata"}


LEAVES = st.none() | st.booleans() | st.text("ab#/", max_size=4)
NAMES = st.sampled_from(["$ref", "a", "definitions"])
TARGETS = st.sampled_from(["#/definitions/a", "#/definitions/b"])


@given(
    st.recursive(
        LEAVES,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner | TARGETS, max_size=3),
        max_leaves=20,
    )
)
def test_any_document_is_expanded_within_the_limits(value: Any) -> None:
    """No document breaks the expansion, and none grows beyond the limit."""
    text = json.dumps({"definitions": {"a": value, "b": {"x": {"$ref": "#/definitions/a"}}}, "y": value})
    root = expand_references(parse(text.encode()), Notes()).root

    assert root.size <= MAX_NODES
    assert "definitions" not in root.content  # type: ignore[operator]  # a mapping
