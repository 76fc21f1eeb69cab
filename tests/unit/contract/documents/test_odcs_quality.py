"""Quality rules of ODCS documents."""

from __future__ import annotations

from decimal import Decimal

import pytest

from lakegate.contract.contract_model import Comparison, Severity
from tests.unit.contract.documents.test_odcs import dataset, quality_rule

QUALITY = {
    "{metric: rowCount, mustBe: 5}": ("rowCount", (), {}, Comparison("mustBe", (Decimal(5),))),
    "{metric: rowCount, mustBeBetween: [1, 2.5], unit: ROWS}": (
        "rowCount",
        (),
        {},
        Comparison("mustBeBetween", (Decimal(1), Decimal("2.5"))),
    ),
    "{type: library, metric: duplicateValues, mustBeLessThan: 5, unit: '%', arguments: {properties: [n]}}": (
        "duplicateValues",
        ("n",),
        {},
        Comparison("mustBeLessThan", (Decimal(5),), percent=True),
    ),
    "{metric: invalidValues, mustBe: 0, arguments: {properties: [n], validValues: [1.10, 2]}}": (
        "invalidValues",
        ("n",),
        {"validValues": ("1.10", "2")},
        Comparison("mustBe", (Decimal(0),)),
    ),
    "{metric: missingValues, mustBe: 0, arguments: {properties: [n], missingValues: [null, '', 0]}}": (
        "missingValues",
        ("n",),
        {"missingValues": (None, "", "0")},
        Comparison("mustBe", (Decimal(0),)),
    ),
    "{type: sql, metric: rowCount, query: SELECT 1, mustBe: true}": (
        "sql",
        (),
        {"query": "SELECT 1", "mustBe": True},
        None,
    ),
    "{type: text, description: be good}": ("text", (), {}, None),
    "{description: be good}": ("text", (), {}, None),
    "{type: custom, engine: soda, implementation: 'checks: ['}": (
        "custom",
        (),
        {"engine": "soda", "call": "", "args": {}},
        None,
    ),
    "{type: custom, engine: gx, implementation: {type: expect_x, kwargs: {column: n, min_value: 1}}}": (
        "custom",
        (),
        {"engine": "gx", "call": "expect_x", "args": {"column": "n", "min_value": Decimal(1)}},
        None,
    ),
    "{type: custom, engine: gx, implementation: {type: expect_x, severity: warning, id: 2f, kwargs: {column: n}, meta: {}}}": (
        "custom",
        (),
        {"engine": "gx", "call": "expect_x", "args": {"severity": "warning", "id": "2f", "column": "n"}},
        None,
    ),
    "{type: custom, engine: gx, implementation: {name: suite, expectations: [{type: expect_x}]}}": (
        "custom",
        (),
        {"engine": "gx", "call": "expect_x", "args": {}},
        None,
    ),
    "{type: custom, engine: soda, implementation: {dataset: n, checks: [{row_count: {threshold: {must_be: 1}}}]}}": (
        "custom",
        (),
        {"engine": "soda", "call": "row_count", "args": {"threshold": {"must_be": Decimal(1)}}},
        None,
    ),
    "{type: custom, engine: soda, implementation: {checks for n: [row_count > 1], checks for m: [row_count > 2]}}": (
        "custom",
        (),
        {
            "engine": "soda",
            "call": "",
            "args": {"checks for n": ("row_count > 1",), "checks for m": ("row_count > 2",)},
        },
        None,
    ),
    "{type: custom, engine: soda, implementation: {filter: n > 1, checks: [row_count > 1]}}": (
        "custom",
        (),
        {"engine": "soda", "call": "", "args": {"filter": "n > 1", "checks": ("row_count > 1",)}},
        None,
    ),
    "{type: custom, engine: soda, implementation: {'checks for n [daily]': [row_count > 1], 'filter n [daily]': {where: x}}}": (
        "custom",
        (),
        {
            "engine": "soda",
            "call": "",
            "args": {"checks for n [daily]": ("row_count > 1",), "filter n [daily]": {"where": "x"}},
        },
        None,
    ),
    "{type: custom, engine: gx, implementation: '{expectation_type: expect_x}'}": (
        "custom",
        (),
        {"engine": "gx", "call": "expect_x", "args": {}},
        None,
    ),
}


@pytest.mark.parametrize("text", QUALITY)
def test_every_quality_rule_is_read(text: str) -> None:
    """Library metrics, SQL, custom engines and text keep what they say, exactly as written."""
    rule = quality_rule(text)

    assert QUALITY[text] == (rule.kind, rule.fields, dict(rule.arguments), rule.comparison)


@pytest.mark.parametrize(
    ("severity", "worst"),
    [
        ("info", "warn"),
        ("Warning", "warn"),
        ("low", "warn"),
        ("minor", "warn"),
        ("error", "fail"),
        ("critical", "fail"),
    ],
)
def test_a_mild_severity_warns_at_worst(severity: str, worst: str) -> None:
    """Info, warning, low and minor never refuse; anything else does."""
    assert Severity(worst) is quality_rule(f"{{metric: rowCount, mustBe: 1, severity: {severity}}}").severity


def test_rules_have_ids() -> None:
    """A rule's own id is kept; a generated id has the field, the kind and an ordinal."""
    rules = (
        "{id: mine, metric: rowCount, mustBe: 1}, {metric: rowCount, mustNotBe: 2}, {metric: rowCount, mustNotBe: 3}"
    )
    found = [rule.id for rule in dataset(quality=rules).rules if rule.kind == "rowCount"]

    assert found == ["mine", "d:rowCount:1", "d:rowCount:2"]


def test_older_rules_are_read_by_their_older_key() -> None:
    """ODCS 3.0 calls the metric `rule`; a name nobody knows stays the rule's kind, to be named."""
    kinds = [
        quality_rule(
            f"{{type: library, rule: {name}, mustBe: 0, arguments: {{properties: [n]}}}}", version="v3.0.1"
        ).kind
        for name in ("duplicateCount", "rowCount", "somethingElse")
    ]

    assert kinds == ["duplicateValues", "rowCount", "somethingElse"]
