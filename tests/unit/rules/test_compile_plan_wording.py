"""The description of what a check wants."""

import pytest

from tests.reference.cases import contract_of, only_plan, rule_of
from tests.unit.rules.test_compile_plan import plan_of_rules, rule


@pytest.mark.parametrize(
    ("kind", "logical", "written", "expected"),
    [
        ("type", "date", {}, "a calendar date as YYYY-MM-DD"),
        ("required", "string", {}, "present"),
        ("unique", "string", {}, "unique"),
        ("enum", "string", {"values": ["SP", "RJ"]}, "one of SP, RJ"),
        ("enum", "string", {"values": ["x" * 50, "y" * 50]}, f"one of {'x' * 50}, {'y' * 27}…"),
        ("pattern", "string", {"pattern": "^a$"}, "matching ^a$"),
        ("minLength", "string", {"value": 2}, "at least 2 characters"),
        ("maximum", "number", {"value": 100}, "at most 100"),
        ("minimum", "number", {"value": 0, "exclusive": True}, "more than 0"),
        ("maximum", "integer", {"value": 9, "exclusive": True}, "less than 9"),
        ("multipleOf", "number", {"value": 0.01}, "a multiple of 0.01"),
        ("format", "string", {"value": "UUID"}, "a UUID"),
        ("rowCount", "string", {"mustBeBetween": [1, 5]}, "at least 1 and at most 5 rows"),
        ("nullValues", "string", {"mustBe": 0}, "no null rows"),
        ("nullValues", "string", {"mustBeLessThan": 5, "percent": True}, "less than 5 % null"),
        (
            "invalidValues",
            "string",
            {"validValues": ["SP", None, "RJ"], "mustBe": 0},
            "no invalid rows (valid: one of SP, RJ)",
        ),
        (
            "invalidValues",
            "decimal",
            {"validValues": [1, 2.5], "mustBeLessThan": 5, "percent": True},
            "less than 5 % invalid (valid: one of 1, 2.5)",
        ),
        (
            "invalidValues",
            "string",
            {"validValues": ["x" * 50, "y" * 50], "mustBe": 0},
            f"no invalid rows (valid: one of {'x' * 50}, {'y' * 27}…)",
        ),
        (
            "invalidValues",
            "string",
            {"pattern": "^a{0}$", "minLength": 2, "maxLength": 3, "mustBeLessOrEqualTo": 2},
            "at most 2 rows invalid (valid: matching ^a{0}$ and at least 2 characters and at most 3 characters)",
        ),
        (
            "invalidValues",
            "number",
            {"exclusiveMinimum": 0, "maximum": 10, "mustBe": 0},
            "no invalid rows (valid: at most 10 and more than 0)",
        ),
        ("duplicateValues", "string", {"mustBe": 0}, "no duplicates"),
        ("complete", "string", {"parameter": 0.95}, "at least 95 % present"),
        ("complete", "string", {"parameter": 1}, "present"),
        ("distinct", "string", {"tolerance": {"fail": 0.1}}, "all values distinct (tolerance: fail 0.1)"),
        (
            "size",
            "string",
            {"parameter": 100, "tolerance": {"warn": 0.1, "fail": 0.2}},
            "100 rows (tolerance: warn 0.1 and fail 0.2)",
        ),
        ("min", "number", {"parameter": 0}, "at least 0"),
        ("mean", "number", {"parameter": 2.5}, "a mean of 2.5"),
        ("stdev", "number", {"parameter": 2}, "a standard deviation of 2"),
        ("text", "string", {"name": "be nice"}, "text"),
    ],
)
def test_what_is_wanted_reads_as_words(kind: str, logical: str, written: dict[str, object], expected: str) -> None:
    """Every check describes its requirement in words, short enough for a table."""
    assert expected == plan_of_rules({"a": logical}, rule(kind, **written)).checks[0].wanted


def test_invalid_values_name_the_enum_of_their_field() -> None:
    """A rule invalidValues without arguments names the values that its field's `enum` allows."""
    rules = (rule("enum", values=["SP", "RJ"]), rule("invalidValues", identity="s", mustBe=0))

    assert plan_of_rules({"a": "string"}, *rules).checks[1].wanted == "no invalid rows (valid: one of SP, RJ)"


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (
            {"call": "invalid_count(a) < 5", "args": {"valid values": ["SP", "RJ"], "invalid regex": "^S"}},
            "less than 5 rows invalid (valid: one of SP, RJ and not matching ^S)",
        ),
        (
            {"call": "invalid_percent(a) = 0", "args": {"valid format": "email", "valid min length": 3}},
            "exactly 0 % invalid (valid: in the format email and at least 3 characters)",
        ),
    ],
)
def test_soda_names_what_is_valid(call: dict[str, object], expected: str) -> None:
    """A check of Soda that counts invalid values names the conditions of its settings."""
    assert plan_of_rules({"a": "string"}, rule("custom", engine="soda", **call)).checks[0].wanted == expected


def test_mostly_is_said_in_percent() -> None:
    """A share of values is shown as a percentage without idle digits."""
    call = {"engine": "gx", "call": "expect_column_values_to_be_unique", "args": {"mostly": 0.95}}

    assert plan_of_rules({"a": "string"}, rule("custom", **call)).checks[0].wanted == "unique, in at least 95 %"


def test_service_levels_are_said_in_hours_and_days() -> None:
    """What a level wants reads as a person would say it."""
    levels = (
        rule_of("serviceLevel", {"property": "freshness", "value": "25h"}, ("a",)),
        rule_of("serviceLevel", {"property": "retention", "value": "P1Y"}, ("a",)),
        rule_of("serviceLevel", {"property": "latency", "value": 90, "unit": "m"}, ("a", "b")),
        rule_of("custom", {"engine": "soda", "call": "freshness(a) < 1d"}, ()),
    )
    contract = contract_of({"a": "timestamp", "b": "timestamp"}, *levels)
    plan = only_plan(contract)

    assert [check.wanted for check in plan.checks] == [
        "the youngest row at most 25 hours old",
        "the oldest row at most 366 days old",
        "every row at most 90 minutes on its way",
        "the youngest row less than 24 hours old",
    ]
