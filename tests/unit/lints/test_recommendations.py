"""Recommendations of the linter work: applied to the document, they remove the finding and cause no new error."""

from __future__ import annotations

import re
from typing import Any

import pytest

from lakegate.lints.linter import examine
from tests.unit.lints.examples import CASES, document

HINT = re.compile(r"`(?P<wrong>[^`]+)`.*Did you mean `(?P<right>[^`]+)`\?", re.DOTALL)
LIST = "quality: [{metric: invalidValues, arguments: {validValues: [a, b]}, mustBe: 0}]"
Example = tuple[str, str, dict[str, Any], str, dict[str, Any]]
EXAMPLES: list[Example] = [
    (
        "another contract in ODCS",
        "odcs",
        {"properties": "{name: x, logicalType: date, relationships: [{to: e.f}]}"},
        "a field of another contract is written `contract_v1.yaml#/schema/dataset/properties/field`",
        {
            "properties": "{name: x, logicalType: date, "
            "relationships: [{to: contract_v1.yaml#/schema/dataset/properties/field}]}"
        },
    ),
    (
        "another contract in DCS",
        "dcs",
        {"fields": "x: {type: long, references: other.k}"},
        "a field of another contract is written `lakegate://contract/dataset_v1/field`",
        {"fields": "x: {type: long, references: lakegate://contract/dataset_v1/field}"},
    ),
    (
        "an option at the property",
        "odcs",
        {"properties": "{name: x, logicalType: string, pattern: ^a$}"},
        "The key `pattern` is an option of the type: write it into `logicalTypeOptions`.",
        {"properties": "{name: x, logicalType: string, logicalTypeOptions: {pattern: ^a$}}"},
    ),
    (
        "an option of another type",
        "odcs",
        {"properties": "{name: x, logicalType: integer, logicalTypeOptions: {minLength: 3}}"},
        "The option `minLength` is none of the type `integer`: say another `logicalType`, or remove it.",
        {"properties": "{name: x, logicalType: string, logicalTypeOptions: {minLength: 3}}"},
    ),
    (
        "the word of another format for a type",
        "odcs",
        {"properties": "{name: x, type: string}"},
        "The key `type` is not known here. Did you mean `logicalType`?",
        {"properties": "{name: x, logicalType: string}"},
    ),
    (
        "the word of other tools for a bound",
        "odcs",
        {"properties": "{name: x, logicalType: integer, logicalTypeOptions: {min: 3}}"},
        "The key `min` is not known here. Did you mean `minimum`?",
        {"properties": "{name: x, logicalType: integer, logicalTypeOptions: {minimum: 3}}"},
    ),
    (
        "the word of other tools for a query",
        "odcs",
        {"quality": "{type: sql, sql: SELECT COUNT(*) FROM d, mustBe: 0}"},
        "The key `sql` is not known here. Did you mean `query`?",
        {"quality": "{type: sql, query: SELECT COUNT(*) FROM d, mustBe: 0}"},
    ),
    (
        "a list in 3.1, as a rule",
        "odcs",
        {"properties": "{name: x, logicalType: string, enum: [a, b]}"},
        "write `quality: [{metric: invalidValues, arguments: {validValues: [...]}, mustBe: 0}]`",
        {"properties": f"{{name: x, logicalType: string, {LIST}}}"},
    ),
    (
        "a list in 3.1, in 3.2",
        "odcs",
        {"properties": "{name: x, logicalType: string, enum: [a, b]}"},
        "or say `apiVersion: v3.2.0` and `enum: [{value: ...}]`",
        {"apiVersion": "v3.2.0", "properties": "{name: x, logicalType: string, enum: [{value: a}, {value: b}]}"},
    ),
    (
        "a list in 3.0",
        "odcs",
        {"apiVersion": "v3.0.2", "properties": "{name: x, logicalType: string, enum: [a, b]}"},
        "The key `enum` came with ODCS 3.2: say `apiVersion: v3.2.0` and `enum: [{value: ...}]`.",
        {"apiVersion": "v3.2.0", "properties": "{name: x, logicalType: string, enum: [{value: a}, {value: b}]}"},
    ),
    (
        "bare values in a list of 3.2",
        "odcs",
        {"apiVersion": "v3.2.0", "properties": "{name: x, logicalType: string, enum: [a]}"},
        "Write `{value: a}` here, not a text.",
        {"apiVersion": "v3.2.0", "properties": "{name: x, logicalType: string, enum: [{value: a}]}"},
    ),
    (
        "a percentage",
        "odcs",
        {"properties": "{name: x, logicalType: string, quality: [{metric: nullValues, mustBeLessThan: 80%}]}"},
        "Write a number here, `80`, and `unit: percent` beside it.",
        {
            "properties": "{name: x, logicalType: string, quality: [{metric: nullValues, mustBeLessThan: 80, unit: percent}]}"
        },
    ),
    (
        "a percentage that a query is compared with",
        "odcs",
        {"quality": "{type: sql, query: 'SELECT 100.0 * count_if(n < 0) / count(*) FROM d', mustBeLessThan: 5%}"},
        "Write a number here, `5`: the query itself answers in percent.",
        {"quality": "{type: sql, query: 'SELECT 100.0 * count_if(n < 0) / count(*) FROM d', mustBeLessThan: 5}"},
    ),
    (
        "a query in percent",
        "odcs",
        {"quality": "{type: sql, query: 'SELECT count_if(n < 0) FROM d', mustBeLessThan: 5, unit: percent}"},
        "let the query answer in percent (`SELECT 100.0 * … / count(*) FROM …`), and remove `unit`",
        {"quality": "{type: sql, query: 'SELECT 100.0 * count_if(n < 0) / count(*) FROM d', mustBeLessThan: 5}"},
    ),
    (
        "yes",
        "odcs",
        {"properties": "{name: x, logicalType: string, required: yes}"},
        "Write true or false here, not a text: write `true`, without quotes.",
        {"properties": "{name: x, logicalType: string, required: true}"},
    ),
    (
        "valid values as 3.0 has them",
        "odcs",
        {"properties": "{name: x, logicalType: string, quality: [{rule: validValues, validValues: [a, b]}]}"},
        "write `metric: invalidValues` with `arguments: {validValues: [...]}` and `mustBe: 0`",
        {"properties": f"{{name: x, logicalType: string, {LIST}}}"},
    ),
    (
        "a metric as 3.0 has it",
        "odcs",
        {"properties": "{name: x, logicalType: string, quality: [{rule: duplicateCount, mustBe: 0}]}"},
        "write `metric: duplicateValues` and an operator, e.g. `mustBe: 0`",
        {"properties": "{name: x, logicalType: string, quality: [{metric: duplicateValues, mustBe: 0}]}"},
    ),
    (
        "an argument beside its metric",
        "odcs",
        {"quality": "{metric: duplicateValues, properties: [n], mustBe: 0}"},
        "The key `properties` is an argument of the metric: write `arguments: {properties: …}`.",
        {"quality": "{metric: duplicateValues, arguments: {properties: [n]}, mustBe: 0}"},
    ),
    (
        "an argument by the word of other tools",
        "odcs",
        {"quality": "{metric: duplicateValues, columns: [n], mustBe: 0}"},
        "The key `columns` is an argument of the metric: write `arguments: {properties: …}`.",
        {"quality": "{metric: duplicateValues, arguments: {properties: [n]}, mustBe: 0}"},
    ),
    (
        "a bound beside its metric",
        "odcs",
        {"properties": "{name: x, logicalType: integer, quality: [{metric: invalidValues, max: 9, mustBe: 0}]}"},
        "The key `max` is an argument of the metric: write `arguments: {maximum: …}`.",
        {
            "properties": "{name: x, logicalType: integer, "
            "quality: [{metric: invalidValues, arguments: {maximum: 9}, mustBe: 0}]}"
        },
    ),
    (
        "a key that is no argument",
        "odcs",
        {"quality": "{metric: rowCount, musstBe: 0}"},
        "Did you mean `mustBe`?",
        {"quality": "{metric: rowCount, mustBe: 0}"},
    ),
    (
        "the word of another tool for an operator",
        "odcs",
        {"quality": "{metric: rowCount, mustBeNotBetween: [5, 6]}"},
        "Did you mean `mustNotBeBetween`?",
        {"quality": "{metric: rowCount, mustNotBeBetween: [5, 6]}"},
    ),
    (
        "an operator without a metric",
        "odcs",
        {"quality": "{mustBeGreaterThan: 0}"},
        "The key `mustBeGreaterThan` compares a metric: write one beside it, such as `metric: rowCount`.",
        {"quality": "{metric: rowCount, mustBeGreaterThan: 0}"},
    ),
    (
        "an operator beside a check of Soda",
        "odcs",
        {"quality": "{type: custom, engine: soda, implementation: {type: row_count}, mustBeGreaterThan: 0}"},
        "is no threshold of a custom check: write it into `implementation`, in its words.",
        {"quality": "{type: custom, engine: soda, implementation: {type: row_count, must_be_greater_than: 0}}"},
    ),
    (
        "a type of a later version",
        "odcs",
        {"apiVersion": "v3.0.2", "properties": "{name: x, logicalType: timestamp}"},
        "The type `timestamp` came with ODCS 3.1: say `apiVersion: v3.1.0`",
        {"apiVersion": "v3.1.0", "properties": "{name: x, logicalType: timestamp}"},
    ),
    (
        "a type of a later version in the words of an older one",
        "odcs",
        {"properties": "{name: x, logicalType: map}"},
        "The type `map` came with ODCS 3.2: say `apiVersion: v3.2.0`, or `logicalType: object`.",
        {"properties": "{name: x, logicalType: object, properties: [{name: y, logicalType: string}]}"},
    ),
    (
        "rules at the root",
        "odcs",
        {"top": "quality: [{metric: rowCount, mustBeGreaterThan: 0}]"},
        "Rules of quality stand at a table of `schema`, or at one of its properties: move `quality` there.",
        {"quality": "{metric: rowCount, mustBeGreaterThan: 0}"},
    ),
    (
        "an exact number",
        "odcs",
        {"properties": "{name: x, logicalType: decimal}"},
        "Did you mean `number`? For exact numbers add `physicalType: decimal(18,2)`.",
        {"properties": "{name: x, logicalType: number, physicalType: 'decimal(18,2)'}"},
    ),
    (
        "a quantifier that is not closed",
        "odcs",
        {"properties": "{name: x, logicalType: string, logicalTypeOptions: {pattern: '^SKU[0-9]{4'}}"},
        "The pattern cannot be used: the `{` at character 10 begins no quantifier: write `{4}` or `\\{`.",
        {"properties": "{name: x, logicalType: string, logicalTypeOptions: {pattern: '^SKU[0-9]{4}'}}"},
    ),
]


@pytest.mark.parametrize(
    ("base", "bad", "message", "good"), [each[1:] for each in EXAMPLES], ids=[each[0] for each in EXAMPLES]
)
def test_a_recomcorrected_form_fixes_the_document(
    base: str, bad: dict[str, Any], message: str, good: dict[str, Any]
) -> None:
    """One problem recommends a form; with that form the document has neither the problem nor a new error."""
    before, after = examine(document(base, bad)), examine(document(base, good))
    (finding,) = [each for each in (*before.errors, *before.warnings) if message in each.message]

    assert finding.code not in {each.code for each in after.warnings}
    assert after.errors == ()


SUGGESTED = {
    "dangling-reference",
    "dangling-relationship",
    "unknown-level",
    "unknown-member",
    "unknown-metric",
    "unknown-severity",
    "unknown-status",
    "unknown-type",
}
"""The codes with a bad example that is close to a known name."""


def test_names_are_suggested_where_one_is_close() -> None:
    """Each code that can suggest a name does so for one of its bad examples."""
    found = {
        case["code"]
        for case in CASES
        if case["code"] in SUGGESTED
        for examined in [examine(document(case["base"], case["bad"]))]
        for problem in (*examined.errors, *examined.warnings)
        if HINT.match(problem.message)
    }

    assert found == SUGGESTED


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["code"])
def test_a_suggested_name_fixes_the_document(case: dict[str, Any]) -> None:
    """The name after "Did you mean" removes the problem and adds no error; where no name is close, none is suggested."""
    text = document(case["base"], case["bad"])
    examined = examine(text)
    problems = (*examined.errors, *examined.warnings)
    hinted = [(problem, hint) for problem in problems if (hint := HINT.match(problem.message))]

    assert case["code"] in SUGGESTED or not hinted
    for problem, hint in hinted:
        after = examine(text.replace(hint["wrong"].encode(), hint["right"].encode()))

        assert (problem.code, problem.path) not in {(each.code, each.path) for each in after.errors}
        assert {each.code for each in after.errors} <= {each.code for each in examined.errors}


@pytest.mark.parametrize(
    ("word", "meant"),
    [("datetime", "timestamp"), ("int", "integer"), ("bigint", "integer"), ("decimal", "number"), ("float", "number"),
     ("varchar", "string"), ("text", "string"), ("bool", "boolean"), ("struct", "object"), ("list", "array")],
)  # fmt: skip
def test_a_type_of_a_database_is_recognised(word: str, meant: str) -> None:
    """A logical type with a database's name gives one message, with the standard's name."""
    examined = examine(document("odcs", {"properties": f"{{name: x, logicalType: {word}}}"}))
    corrected = examine(document("odcs", {"properties": f"{{name: x, logicalType: {meant}}}"}))

    assert [f"Did you mean `{meant}`?" in each.message for each in examined.errors] == [True]
    assert (examined.warnings, corrected.errors) == ((), ())


@pytest.mark.parametrize(
    ("base", "bad", "code"),
    [
        ("odcs", {"quality": "{metric: rowcount, mustBe: 1}"}, "not-allowed"),
        ("odcs", {"apiVersion": "v3.0.2", "quality": "{rule: rowcount, mustBe: 1}"}, "unknown-metric"),
        ("dcs", {"model": "quality: [{type: library, metric: rowcount, mustBe: 1}]"}, "not-allowed"),
        ("odcs", {"properties": "{name: x, logicalType: string, enum: [a, b]}"}, "unknown-key"),
        ("odcs", {"properties": "{name: x, logicalType: string, required: yes}"}, "wrong-type"),
        ("odcs", {"top": "quality: [{metric: rowCount, mustBeGreaterThan: 0}]"}, "unknown-key"),
        ("odcs", {"quality": "{mustBeGreaterThan: 0}"}, "key-does-not-fit"),
        (
            "odcs",
            {"quality": "{type: custom, engine: soda, implementation: {type: row_count}, mustBeGreaterThan: 0}"},
            "key-does-not-fit",
        ),
        (
            "odcs",
            {
                "apiVersion": "v3.0.2",
                "properties": "{name: x, logicalType: timestamp, "
                "logicalTypeOptions: {timezone: true, defaultTimezone: Europe/Paris}}",
            },
            "not-allowed",
        ),
        (
            "odcs",
            {
                "quality": "{metric: duplicateValues, arguments: {properties: [n]}, mustBe: 0}, "
                "{metric: duplicateValues, arguments: {properties: [n]}, properties: [n], mustBe: 0}"
            },
            "unknown-key",
        ),
        (
            "odcs",
            {
                "properties": "{name: x, logicalType: string, quality: ["
                "{metric: invalidValues, arguments: {validValues: [a]}, mustBe: 0}, "
                "{metric: invalidValues, validValues: [b], mustBe: 0}]}"
            },
            "unknown-key",
        ),
        (
            "dcs",
            {"fields": "x: {type: text, quality: [{type: library, metric: nullValues, mustBe: 80%}]}"},
            "operand",
        ),
    ],
)
def test_one_mistake_gives_one_problem(base: str, bad: dict[str, Any], code: str) -> None:
    """A mistake that several checks detect gives one problem."""
    examined = examine(document(base, bad))

    assert [each.code for each in (*examined.errors, *examined.warnings)] == [code]


@pytest.mark.parametrize(
    ("base", "parts"),
    [
        ("odcs", {"top": "$schema: lakegate-odcs-3.1.0.schema.json"}),
        ("dcs", {"top": "$schema: lakegate-dcs-1.2.1.schema.json"}),
        (
            "odcs",
            {
                "apiVersion": "v3.0.2",
                "properties": "{name: x, logicalType: string, quality: [{rule: validValues, validValues: [a, b]}]}",
            },
        ),
    ],
)
def test_a_key_that_is_read_or_that_editors_read_is_no_problem(base: str, parts: dict[str, Any]) -> None:
    """The schema for editors is allowed at the root, and the list of ODCS 3.0 beside its rule is measured."""
    examined = examine(document(base, parts))

    assert (*examined.errors, *examined.warnings) == ()
