"""A suite of Great Expectations: what it says of columns is read as the checks of the contract."""

from __future__ import annotations

import json
from typing import Any

from lakegate.features.convert.expectation_suite import great_expectations
from lakegate.rules.compile_plan import compile_plan
from tests.unit.features.convert.test_declared_types import contract

PROPERTIES: list[dict[str, Any]] = [
    {
        "name": "code",
        "logicalType": "string",
        "logicalTypeOptions": {"pattern": "^[A-Z]{2}[0-9]+$", "minLength": 3, "maxLength": 9},
    },
    {"name": "pieces", "logicalType": "integer", "logicalTypeOptions": {"minimum": 1, "exclusiveMaximum": 1000}},
    {"name": "price", "logicalType": "number", "logicalTypeOptions": {"exclusiveMinimum": 0.5, "maximum": 99}},
]


def predicates(properties: list[dict[str, Any]], quality: list[dict[str, Any]]) -> set[str]:
    """What is measured of values beside their types."""
    found = contract(
        [
            {**each, "quality": [one for one in quality if one["implementation"]["kwargs"]["column"] == each["name"]]}
            for each in properties
        ]
    )
    plan = compile_plan(found, found.datasets[0])
    return {repr((check.accept, check.worst)) for check in plan.checks if ":type" not in check.id}


def test_bounds_lengths_and_patterns_are_read_as_the_same_checks() -> None:
    """Of the reader of Great Expectations: the same predicates as those of the contract; nothing of it is listed as left out."""
    found = contract(PROPERTIES)
    converted = great_expectations(found, found.datasets[0])
    expectations = json.loads(converted.text)["expectations"][1:]
    rules = [
        {
            "type": "custom",
            "engine": "great-expectations",
            "implementation": {"expectation_type": each["type"], "kwargs": each["kwargs"]},
        }
        for each in expectations
    ]
    plain = [{"name": each["name"], "logicalType": each["logicalType"]} for each in PROPERTIES]

    assert converted.omitted == ()
    assert predicates(plain, rules) == predicates(PROPERTIES, [])
    assert [(each["type"], each["kwargs"]) for each in expectations[-2:]] == [
        ("expect_column_values_to_be_between", {"column": "price", "min_value": 0.5, "strict_min": True}),
        ("expect_column_values_to_be_between", {"column": "price", "max_value": 99}),
    ]
