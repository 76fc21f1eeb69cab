"""JSON Schemas of columns by their worst authors and the worst values: everything ends, nothing is fetched."""

from __future__ import annotations

import json
from time import process_time
from typing import Any

import pytest

from lakegate.engine.evaluate.json_documents import LONGEST_DOCUMENT, conforms
from lakegate.rules.json_schema_rules import MOST_PARTS, UnmeasuredSchemaError, UnusableSchemaError, measured_schema


def doubling(levels: int) -> dict[str, Any]:
    """A schema whose references double at every level."""
    parts = {str(at): {"allOf": [{"$ref": f"#/$defs/{at + 1}"}] * 2} for at in range(levels)}
    return {"$defs": {**parts, str(levels): {"type": "object"}}, "$ref": "#/$defs/0"}


def nested(levels: int, key: str = "not") -> str:
    return f'{{"{key}": ' * levels + "true" + "}" * levels


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "https://example.com/a.json"},
        {"$ref": "file:///etc/passwd"},
        {"$ref": "other.json#/a"},
        {"$ref": "#/none"},
        {"$ref": "#/default/x", "default": {"x": {"allOf": 5}}},
        {"pattern": "(a+)+$x(?=b)c"},
        {"pattern": r"(a)\1"},
        {"patternProperties": {"(": True}},
        {"type": 5},
        {"enum": list(range(MOST_PARTS + 1))},
        {"description": list(range(20_000))},
        doubling(20),
        5,
        [],
        None,
    ],
)
def test_a_schema_that_cannot_be_used_is_refused(schema: object) -> None:
    """In moments, whatever it holds."""
    began = process_time()
    with pytest.raises(UnusableSchemaError):
        measured_schema(json.dumps(schema))

    assert process_time() - began < 5


@pytest.mark.parametrize(
    "text", ["", "{", nested(100), nested(100_000), '{"title": "' + "x" * 70_000 + '"}', "9" * 5_000]
)
def test_a_text_that_is_no_schema_is_refused(text: str) -> None:
    """Too deep, too long, or no JSON."""
    with pytest.raises(UnusableSchemaError):
        measured_schema(text)


@pytest.mark.parametrize(
    "schema",
    [
        {"uniqueItems": True},
        {"unevaluatedProperties": False},
        {"$dynamicRef": "#x"},
        {"dependencies": {}},
        {"properties": {"a": {"$id": "https://example.com/a", "$ref": "#/b"}}},
        {"$defs": {"tree": {"properties": {"child": {"$ref": "#/$defs/tree"}}}}, "$ref": "#/$defs/tree"},
    ],
)
def test_a_keyword_that_is_not_measured_is_named(schema: dict[str, Any]) -> None:
    """None of them is left out in silence."""
    with pytest.raises(UnmeasuredSchemaError, match=r"the (keyword|reference) `"):
        measured_schema(json.dumps(schema))


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "9" * 5_000,
        "NaN",
        "1e999999",
        '"' + "a" * LONGEST_DOCUMENT + '"',
        '{"a": ' * 900 + "1" + "}" * 900,
        "\ud800",
        '"\\ud800"',
    ],
)
def test_the_worst_value_has_no_form_or_has_it_in_a_moment(text: str) -> None:
    """A value of a producer ends no evaluation."""
    schema = measured_schema(json.dumps({"multipleOf": 0.1, "pattern": "^(a|b)*$", "items": {"items": {}}}))
    began = process_time()
    found = conforms(text, schema)

    assert found in {True, False}
    assert process_time() - began < 2


def test_patterns_are_those_of_ecma_262() -> None:
    """Digits are ASCII, and the end is the very end; of names, too."""
    schema = measured_schema(
        '{"additionalProperties": false, "patternProperties": {"^\\\\d$": {"pattern": "^\\\\w$"}}}'
    )

    assert [
        conforms(json.dumps(each), schema)
        for each in ({"1": "a"}, {"1": "a\n"}, {"1\n": "a"}, {"\u0661": "a"}, {"1": "é"})
    ] == [
        True,
        False,
        False,
        False,
        False,
    ]
