"""Example rows of a model of DCS are judged as rows: nulls, absent and unknown columns, and repeated keys are found."""

from __future__ import annotations

import json

import pytest

from lakegate.lints.linter import examine

FIELDS = {"x": {"type": "long", "required": True}, "u": {"type": "text", "unique": True}, "o": {"type": "date"}}


def found(example: object, model: dict[str, object] | None = None) -> list[str]:
    """The messages about the only example of a model."""
    document = {
        "dataContractSpecification": "1.2.1",
        "id": "shop",
        "info": {"title": "t", "version": "1.0.0"},
        "models": {"m": {"fields": FIELDS, "examples": [example], **(model or {})}},
    }
    examined = examine(json.dumps(document).encode())
    assert examined.errors == ()
    return [each.message for each in examined.warnings if each.code == "example-breaks-field"]


NULL = "In this example the required field `x` has no value in a row."
TWICE = "In this example two rows have the same `u`, which is unique."
UNKNOWN = "In this example `zz` is no field of the model."
KEY = "In this example two rows have the same `x` and `o`, which is unique."


@pytest.mark.parametrize(
    ("example", "messages"),
    [
        ([{"x": 1, "u": "a"}, {"x": 2, "u": "b", "o": "2026-01-01"}], []),
        ([{"x": 1, "u": "a"}, {"x": 1, "u": None}, {"x": 1}], []),
        ([{"x": 1, "u": "a"}, {"x": None, "u": "a"}, {"zz": 2}], [NULL, TWICE, UNKNOWN]),
        ({"u": "a"}, [NULL]),
        ("x,u\n1,a\n2,b\n", []),
        ("x,u,zz\n1,a,\n2,a,\n", [TWICE, UNKNOWN]),
        ("u,o\na,2026-01-01\n", [NULL]),
        ("x,u\n1,a\n,b\n", [NULL]),
        ("x,u\none,a\n", ["In this example `one` breaks the field `x`."]),
        ("no header of this model\n1\n", []),
        ('{"x": 1}', []),
    ],
)
def test_rows_of_an_example_are_judged_as_rows(example: object, messages: list[str]) -> None:
    """Records in YAML, or CSV with a header; a text of another form is no example of rows."""
    assert found(example) == messages


def test_a_repeated_primary_key_is_found() -> None:
    """Of several columns only as a whole, and its columns are required."""
    rows = [{"x": 1, "o": "2026-01-01"}, {"x": 1, "o": "2026-01-02"}, {"x": 1, "o": "2026-01-01"}]

    assert found(rows, {"primaryKey": ["x", "o"]}) == [KEY]
    assert found(rows[:2], {"primaryKey": ["x", "o"]}) == []


def test_further_columns_are_free_where_the_model_says_so() -> None:
    """By `additionalFields: true`."""
    rows = [{"x": 1, "zz": 1}]

    assert found(rows) == [UNKNOWN]
    assert found(rows, {"additionalFields": True}) == []
