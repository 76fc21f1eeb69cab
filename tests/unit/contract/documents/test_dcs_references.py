"""References of the Data Contract Specification: definitions, and what leads nowhere or in circles."""

from __future__ import annotations

from decimal import Decimal

import pytest

from lakegate.base.text import MAX_HINTS
from lakegate.contract.documents.ref_definitions import MAX_FIELDS
from lakegate.contract.logical_types import LogicalType
from lakegate.lints.linter import examine
from tests.unit.contract.documents.dcs import dataset, document, errors, warnings

DEFINED = (
    "definitions: {code: {type: text, maxLength: 5, pii: true}, deep/code: {type: long}, "
    "other: {type: varchar, $ref: '#/definitions/code'}}"
)


@pytest.mark.parametrize(
    ("reference", "logical"),
    [
        ("#/definitions/code", LogicalType.STRING),
        ("#/definitions/deep/code", LogicalType.INTEGER),
        ("#/definitions/deep~1code", LogicalType.INTEGER),
        ("#/models/m/fields/k", LogicalType.BOOLEAN),
        ("#/definitions/other", LogicalType.STRING),
    ],
)
def test_a_reference_is_followed(reference: str, logical: LogicalType) -> None:
    """To a definition by its name, whatever it holds, or step by step to any other field."""
    found = dataset(f"n: {{$ref: '{reference}'}}, k: {{type: boolean}}", top=DEFINED)

    assert logical is found.fields[0].type


def test_a_field_wins_over_its_definition() -> None:
    """The field's own keys have precedence; others are inherited, also over several definitions."""
    field = dataset("n: {$ref: '#/definitions/other', maxLength: 3, type: text}", top=DEFINED)
    lengths = [rule.arguments["value"] for rule in field.rules if rule.kind == "maxLength"]

    assert (field.fields[0].type, field.fields[0].personal, lengths) == (LogicalType.STRING, True, [Decimal(3)])


@pytest.mark.parametrize(
    ("reference", "code"),
    [
        ("#/definitions/cod", "dangling-reference"),
        ("#/id", "dangling-reference"),
        ("https://example.com/definitions.yaml#/x", "external-reference"),
        ("other.yaml", "external-reference"),
    ],
)
def test_a_reference_that_leads_nowhere_is_an_error(reference: str, code: str) -> None:
    """Nothing is fetched, and nothing is left out in silence."""
    assert (code, "$.models.m.fields.n.$ref") in {
        (problem.code, problem.path.replace('["$ref"]', ".$ref"))
        for problem in examine(document(f"n: {{type: long, $ref: '{reference}'}}", top=DEFINED)).errors
    }


def test_a_hint_is_looked_for_a_bounded_number_of_times() -> None:
    """All of hundreds of dangling references are reported, but hints are searched only for the first ones."""
    fields = ", ".join(f"n{number}: {{$ref: '#/definitions/cod'}}" for number in range(MAX_HINTS + 5))
    found = examine(document(fields, top=DEFINED)).errors

    assert [len(found), sum("Did you mean" in each.message for each in found)] == [MAX_HINTS + 5, MAX_HINTS]


def test_references_in_a_circle_are_an_error() -> None:
    """Definitions that name each other, straight or through their inner fields, end."""
    array = "b: {type: array, items: {$ref: '#/definitions/a'}}"
    circle = f"definitions: {{a: {{type: record, fields: {{b: {{$ref: '#/definitions/b'}}}}}}, {array}}}"
    straight = "definitions: {a: {type: text, $ref: '#/definitions/a'}}"

    for top in (circle, straight):
        assert {"circular-reference"} == {code for code, _ in errors(document("n: {$ref: '#/definitions/a'}", top=top))}


def test_references_that_multiply_are_refused() -> None:
    """Ten nested definitions of ten fields each give 10^10 fields: the reader stops with one problem."""
    inner = ", ".join(f"f{number}: {{$ref: '#/definitions/d%d'}}" for number in range(10))
    rows = [f"d{number}: {{type: record, fields: {{{inner.replace('%d', str(number + 1))}}}}}" for number in range(10)]
    text = document("n: {$ref: '#/definitions/d0'}", top=f"definitions: {{{', '.join(rows)}, d10: {{type: text}}}}")

    assert [code for code, _ in errors(text)] == ["too-many-fields"]
    assert MAX_FIELDS < 10**10


def test_references_that_nest_too_deep_are_refused() -> None:
    """A chain of records longer than a document may be deep is not followed to its end."""
    rows = [
        f"d{number}: {{type: record, fields: {{f: {{$ref: '#/definitions/d{number + 1}'}}}}}}" for number in range(90)
    ]
    text = document("n: {$ref: '#/definitions/d0'}", top=f"definitions: {{{', '.join(rows)}, d90: {{type: text}}}}")

    assert [code for code, _ in errors(text)] == ["too-many-fields"]


def test_a_definition_that_nobody_uses_is_warned_of() -> None:
    """It may be a reference that was forgotten."""
    found = warnings(document("n: {$ref: '#/definitions/code'}", top=DEFINED))

    assert [each.path for each in found if each.code == "unused-definition"] == [
        "$.definitions.other",
        '$.definitions["deep/code"]',
    ]
