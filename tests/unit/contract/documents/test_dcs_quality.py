"""Quality of the Data Contract Specification: rules of fields, of models and at the root; service levels."""

from __future__ import annotations

from decimal import Decimal

import pytest

from lakegate.contract.contract_model import Comparison, Severity
from lakegate.lints.linter import examine
from tests.unit.contract.documents.dcs import dataset, document, quality, warnings

KEYS = {
    "primaryKey: [a, b]": ("$.models.m.primaryKey", ("a", "b")),
    "title: x": ("$.models.m.fields.b.primaryKey", ("b", "c")),
}


@pytest.mark.parametrize("model", KEYS)
def test_a_primary_key_is_one_rule(model: str) -> None:
    """By the model's list, in its order, or by the fields that say so, in the older spelling too."""
    flagged = "" if model.startswith("primaryKey") else ", primaryKey: true"
    older = flagged.replace("primaryKey", "primary")
    found = dataset(f"a: {{type: long}}, b: {{type: long{flagged}}}, c: {{type: long{older}}}", model=model)

    assert [KEYS[model]] == [(rule.origin.path, rule.fields) for rule in found.rules if rule.kind == "primaryKey"]


QUALITY: dict[str, list[tuple[str, tuple[str, ...], dict[str, object], Comparison | None]]] = {
    "{type: library, metric: rowCount, mustBe: 5}": [("rowCount", (), {}, Comparison("mustBe", (Decimal(5),)))],
    "{type: library, metric: rowCount, mustBeGreaterOrEqualTo: 5}": [
        ("rowCount", (), {}, Comparison("mustBeGreaterOrEqualTo", (Decimal(5),)))
    ],
    "{type: library, metric: rowCount, mustBeGreaterThanOrEqualTo: 5, mustBeLessThanOrEqualTo: 9}": [
        ("rowCount", (), {}, Comparison("mustBeGreaterOrEqualTo", (Decimal(5),))),
        ("rowCount", (), {}, Comparison("mustBeLessOrEqualTo", (Decimal(9),))),
    ],
    "{type: library, metric: duplicateValues, arguments: {properties: [n]}, mustBeLessThan: 5, unit: percent}": [
        ("duplicateValues", ("n",), {}, Comparison("mustBeLessThan", (Decimal(5),), percent=True))
    ],
    "{type: sql, query: SELECT 1, dialect: duckdb, mustBeGreaterThanOrEqualTo: 1}": [
        ("sql", (), {"query": "SELECT 1", "mustBeGreaterOrEqualTo": Decimal(1), "dialect": "duckdb"}, None)
    ],
    "{type: text, description: be good}": [("text", (), {}, None)],
    "{type: custom, engine: soda, implementation: {type: duplicate_percent, columns: [n], must_be_less_than: 1.0}}": [
        (
            "custom",
            (),
            {
                "engine": "soda",
                "call": "duplicate_percent",
                "args": {"columns": ("n",), "must_be_less_than": Decimal("1.0")},
            },
            None,
        )
    ],
    "{type: custom, engine: soda, mustBeLessThan: 3, implementation: {type: row_count, must_be: 2}}": [
        (
            "custom",
            (),
            {"engine": "soda", "call": "row_count", "args": {"mustBeLessThan": Decimal(3), "must_be": Decimal(2)}},
            None,
        )
    ],
    "{type: custom, engine: soda, implementation: {checks for m: [row_count > 1, row_count < 9]}}": [
        ("custom", (), {"engine": "soda", "call": "row_count > 1", "args": {}}, None),
        ("custom", (), {"engine": "soda", "call": "row_count < 9", "args": {}}, None),
    ],
    "{type: custom, engine: great-expectations, implementation: [{expectation_type: a, kwargs: {column: n}}, {type: b}]}": [
        ("custom", (), {"engine": "great-expectations", "call": "a", "args": {"column": "n"}}, None),
        ("custom", (), {"engine": "great-expectations", "call": "b", "args": {}}, None),
    ],
}


@pytest.mark.parametrize("text", QUALITY)
def test_every_quality_rule_is_read(text: str) -> None:
    """All types, both spellings of the operators; of several operators each is a rule."""
    expected = QUALITY[text]

    assert expected == [(rule.kind, rule.fields, dict(rule.arguments), rule.comparison) for rule in quality(text)]


def test_quality_of_a_field_has_that_field() -> None:
    """The field is the rule's; DCS knows no severities, so every rule may refuse."""
    rule = dataset("n: {type: long, quality: [{type: library, metric: nullValues, mustBe: 0, severity: info}]}").rules[
        1
    ]

    assert (rule.kind, rule.fields, rule.severity) == ("nullValues", ("n",), Severity.FAIL)


def test_older_metrics_are_read_by_their_older_key() -> None:
    """DCS 1.1 calls the metric `rule`."""
    rule = quality("{type: library, rule: duplicateCount, arguments: {properties: [n]}, mustBe: 0}", version="1.1.0")[0]

    assert (rule.kind, rule.fields) == ("duplicateValues", ("n",))


def test_rules_of_several_operators_differ_in_their_ids() -> None:
    """A rule's own id names its first operator; the others are counted."""
    found = quality("{id: r, type: library, metric: rowCount, mustBeGreaterThan: 1, mustBeLessThan: 9}")

    assert [rule.id for rule in found] == ["r", "r:2"]


SODA = """
quality:
  type: SodaCL
  specification:
    checks for m:
      - row_count > 5
      - missing_count(n) < 5:
          warn: when > 2
    checks for k:
      - duplicate_count(n) = 0
"""
EXPECTATIONS = """
quality:
  type: great-expectations
  specification:
    m: '[{"expectation_type": "expect_column_values_to_not_be_null", "kwargs": {"column": "n"}, "meta": {}}]'
"""
OTHER_ENGINE = "quality: {type: montecarlo, specification: x}"
UNREADABLE = "quality: {type: SodaCL, specification: 'checks: ['}"


def older(top: str) -> list[tuple[str, str, object]]:
    rules = dataset(top=top, version="0.9.3").rules
    return [
        (rule.origin.path, str(rule.arguments["call"]), rule.arguments["args"])
        for rule in rules
        if rule.kind == "custom"
    ]


def test_quality_at_the_root_is_sorted_by_model() -> None:
    """The older block of one engine's checks gives each model its own."""
    path = '$.quality.specification["checks for m"]'

    examined = examine(document(top=SODA, version="0.9.3"))

    assert examined.errors == ()
    assert [(each.code, each.path) for each in examined.unmeasured] == [
        ("unknown-model", '$.quality.specification["checks for k"][0]')
    ]
    assert older(SODA.partition("    checks for k")[0]) == [
        (f"{path}[0]", "row_count > 5", {}),
        (f"{path}[1]", "missing_count(n) < 5", {"warn": "when > 2"}),
    ]
    assert older(EXPECTATIONS) == [("$.quality.specification", "expect_column_values_to_not_be_null", {"column": "n"})]


def test_quality_at_the_root_that_cannot_be_sorted_is_named_at_every_model() -> None:
    """Checks of another engine, or in a text that cannot be read, do not vanish."""
    assert older(OTHER_ENGINE) == [("$.quality.specification", "", {})]
    assert older(UNREADABLE) == [("$.quality.specification", "", {})]
    assert "unread-checks" in {warning.code for warning in warnings(document(top=UNREADABLE, version="0.9.3"))}


def test_service_levels_belong_to_the_model_of_their_field() -> None:
    """By the timestamp they name; a level of no timestamp is everybody's, one of our own words is kept."""
    levels = (
        "servicelevels: {freshness: {threshold: 25h, timestampField: other.t}, latency: {threshold: PT1H, "
        "sourceTimestampField: m.n, processedTimestampField: m.n}, availability: {percentage: 99.9%}, ours: {a: 1}}"
    )
    found = [dict(rule.arguments) for rule in dataset(top=levels).rules if rule.kind == "serviceLevel"]

    assert found == [
        {
            "property": "latency",
            "value": "PT1H",
            "unit": None,
            "sourceTimestampField": "m.n",
            "processedTimestampField": "m.n",
        },
        {"property": "availability", "value": "99.9%", "unit": None},
        {"property": "ours", "value": {"a": Decimal(1)}, "unit": None},
    ]
