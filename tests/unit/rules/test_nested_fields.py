"""Parts of values: where each is found, and what its rules are measured over."""

from __future__ import annotations

import pytest

from lakegate.contract.contract_model import NO_SHAPE, Field, Origin, Rule, Shape, shape_of
from lakegate.contract.logical_types import LogicalType
from lakegate.lints.linter import read
from lakegate.plan.plan import Plan
from lakegate.plan.predicates import All, Not, Present
from lakegate.rules.compile_plan import NO_PARTS, SEVERAL_LEVELS
from lakegate.rules.field_constraints import with_parts
from tests.reference.cases import only_plan

CONTRACT = """
dataContractSpecification: 1.2.1
id: x
info: {{title: t, version: 1.0.0}}
models:
  m:
    config: {{lakegate: {{format: {format}}}}}
    fields:
      id: {{type: long}}
      address: {{type: record, fields: {{street: {{type: text, required: true}}, zip: {{type: text}}}}}}
      items:
        type: array
        items: {{type: record, fields: {{sku: {{type: text, required: true}}, tags: {{type: array, items: {{type: text}}}}}}}}
      prices: {{type: map, keys: {{type: text}}, values: {{type: decimal, required: true}}}}
      any: {{type: variant}}
{quality}
"""


def nested_plan(form: str = "jsonl", quality: str = "") -> Plan:
    contract = read(CONTRACT.format(format=form, quality=quality).encode())
    return only_plan(contract)


def test_every_part_has_a_place_and_a_level() -> None:
    """Parts of records belong to their row, parts of lists and maps to an element of it."""
    found = {field.name: (field.place, field.level) for field in nested_plan().fields if field.path}
    items = (".items", "[]")

    assert found == {
        "address.street": ((".address", ".street"), ()),
        "address.zip": ((".address", ".zip"), ()),
        "items[]": (items, items),
        "items[].sku": ((*items, ".sku"), items),
        "items[].tags": ((*items, ".tags"), items),
        "items[].tags[]": ((*items, ".tags", "[]"), (*items, ".tags", "[]")),
        "prices.key": ((".prices", "{key}"), (".prices", "{}")),
        "prices.value": ((".prices", "{value}"), (".prices", "{}")),
    }


def test_columns_come_first_and_have_their_shapes() -> None:
    """A plan's columns are those of the file; aliases are given in order."""
    plan = nested_plan()

    assert [(field.name, field.shape) for field in plan.columns] == [
        ("id", Shape.VALUE),
        ("address", Shape.RECORD),
        ("items", Shape.LIST),
        ("prices", Shape.MAP),
        ("any", Shape.ANY),
    ]
    assert [field.alias for field in plan.fields] == [f"c{at}" for at in range(len(plan.fields))]
    assert Plan.from_json(plan.to_json()) == plan


def test_a_part_is_required_where_its_parent_is() -> None:
    """A row without an address lacks no street; an element of a list always is there."""
    wanted = {check.fields[0]: check.accept.predicate for check in nested_plan().checks if check.kind == "required"}

    assert wanted == {
        "address.street": Not(All((Present("address"), Not(Present("address.street"))))),
        "items[].sku": Not(All((Present("items[]"), Not(Present("items[].sku"))))),
        "prices.value": Present("prices.value"),
    }


def test_a_csv_file_has_no_parts() -> None:
    """What a contract requires of parts is named, with the reason, and its columns stay texts."""
    plan = nested_plan("csv")
    named = {check.fields[0]: check.skip for check in plan.checks if check.skip}

    assert [field.name for field in plan.fields] == ["id", "address", "items", "prices", "any"]
    assert {field.shape for field in plan.fields} == {Shape.VALUE}
    assert named["items[].sku"] == NO_PARTS
    assert named["address"] == NO_SHAPE


def test_what_is_not_declared_is_not_judged() -> None:
    """A value of any form is named."""
    assert [check.skip for check in nested_plan().checks if check.fields == ("any",)] == [NO_SHAPE]


def test_fields_of_several_levels_are_not_measured_together() -> None:
    """A rule that names a column and a part of an element is skipped with the reason."""
    call = "{expectation_type: expect_compound_columns_to_be_unique, kwargs: {column_list: [id, 'items[].sku']}}"
    custom = f"{{type: custom, engine: great-expectations, implementation: {call}}}"
    plan = nested_plan(quality=f"    quality: [{custom}]")

    assert SEVERAL_LEVELS in {check.skip for check in plan.checks}


@pytest.mark.parametrize(
    ("declared", "shape"),
    [
        ("object", Shape.RECORD),
        ("STRUCT", Shape.RECORD),
        ("array", Shape.LIST),
        ("vector", Shape.LIST),
        ("map", Shape.MAP),
        ("variant", Shape.ANY),
        ("json", Shape.VALUE),
        ("varchar", Shape.VALUE),
        (None, Shape.VALUE),
    ],
)
def test_a_documents_word_says_what_values_consist_of(declared: str | None, shape: Shape) -> None:
    """Whatever its case; JSON in a text is a text."""
    assert shape is shape_of(Field("f", LogicalType.STRING, Origin("$"), declared=declared))


def test_an_unknown_option_of_a_list_is_only_named() -> None:
    """It has its reason."""
    rule = Rule("r", "nested", Origin("$"), ("items",), {"option": "sorted", "value": True})
    field = Field("items", LogicalType.STRING, Origin("$"), declared="array")
    check = with_parts(rule, field)

    assert check.skip == "the option sorted of values with parts is not measured"
