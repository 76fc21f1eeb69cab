"""Every lint code has an example with the problem and one without."""

from __future__ import annotations

from typing import Any

import pytest

from lakegate.base.errors import ContractError
from lakegate.lints.findings import LintLevel
from lakegate.lints.lint_codes import CODES
from lakegate.lints.linter import examine, read
from tests.unit.lints import examples
from tests.unit.lints.examples import CASES, document

SEMANTIC = ("reading", "meaning", "measuring")
FAR_ABOVE = 60


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["code"])
def test_a_bad_example_is_reported_at_its_place(case: dict[str, Any]) -> None:
    """The bad example gives a problem with its code, path, line and message."""
    examined = examples.examined(case, "bad")
    found = {(problem.code, problem.path): problem for problem in (*examined.errors, *examined.warnings)}

    assert (case["code"], case["path"]) in found
    assert all(problem.line and problem.message.endswith((".", "?")) for problem in found.values())
    assert {code for code, _ in found} <= set(CODES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["code"])
def test_a_good_example_is_not_reported(case: dict[str, Any]) -> None:
    """The good example is valid and gives no warning of this code."""
    examined = examples.examined(case, "good")

    assert examined.errors == ()
    assert case["code"] not in {problem.code for problem in examined.warnings}


def test_every_code_has_its_examples() -> None:
    """A code without an example fails this test."""
    assert set(CODES) == {case["code"] for case in CASES}


def test_there_are_at_least_sixty_semantic_codes() -> None:
    """At least sixty codes are about problems that a JSON Schema cannot express."""
    assert sum(code.family in SEMANTIC for code in CODES.values()) >= FAR_ABOVE


@pytest.mark.parametrize("code", CODES)
def test_an_error_refuses_and_a_warning_does_not(code: str) -> None:
    """The level in the table is the level of the reported problem."""
    for case in (case for case in CASES if case["code"] == code):
        examined = examples.examined(case, "bad")
        side = examined.errors if CODES[code].level is LintLevel.ERROR else examined.warnings

        assert code in {problem.code for problem in side}


def test_all_mistakes_are_reported_at_once() -> None:
    """Schema violations and semantic problems are returned together, in order of lines."""
    text = document("dcm", {"version": "1.0", "rules": "{id: r, name: r, type: uniq, columns: [m]}", "name": "x"})

    with pytest.raises(ContractError) as refusal:
        read(text)

    expected = [("wrong-type", 5), ("unknown-column", 12), ("not-allowed", 12)]
    assert sorted(expected) == sorted((problem.code, problem.line) for problem in refusal.value.problems)
    assert [problem.line for problem in refusal.value.problems] == [5, 12, 12]


def test_the_compiler_does_not_repeat_a_problem() -> None:
    """If the schema or a lint reports a rule, the compiler does not report it again."""
    text = document("dcm", {"rules": "{id: r, name: r, type: mean, columns: [m], parameter: 1}"})

    assert [problem.code for problem in examine(text).errors] == ["unknown-column"]


def test_a_list_of_mappings_is_refused_by_the_schema() -> None:
    """Mappings in place of values are refused by the schema and do not break a lint."""
    text = document("dcm", {"rules": "{id: r, name: r, type: mean, columns: [n], parameter: [{a: 1}, {a: 1}, [1]]}"})

    assert [problem.code for problem in examine(text).errors] == ["wrong-type"]


def test_a_hint_contains_the_similar_name() -> None:
    """If a name is similar to a known one, the message contains the known one."""
    text = document(
        "dcm",
        {
            "columns": "{name: station_code, dataType: text}",
            "rules": "{id: r, name: r, type: unique, columns: [staton_code]}",
        },
    )

    assert examine(text).errors[0].message.endswith("Did you mean `station_code`?")


def test_rules_that_can_never_be_measured_are_listed_apart() -> None:
    """`unmeasured` contains exactly the rules whose checks are always skipped, without text rules."""
    quality = "{type: custom, engine: dbt, implementation: x}, {type: text, description: be good}"
    examined = examine(document("odcs", {"quality": quality}))

    assert [(each.code, each.path) for each in examined.unmeasured] == [("not-measured", "$.schema[0].quality[0]")]
    assert set(examined.unmeasured) <= set(examined.warnings)


@pytest.mark.parametrize("files", ["csv", "jsonl"])
@pytest.mark.parametrize("read", ["n", "x", "o", "s", "l"])
def test_sql_at_a_property_may_read_a_column_of_any_level(files: str, read: str) -> None:
    """A query at a column or a nested field may read columns of other levels."""
    rule = f'quality: [{{type: sql, query: "SELECT count({read}) FROM d WHERE n > 0", mustBe: 1}}]'  # noqa: S608 -- a document, no database
    inner = f"{{name: s, logicalType: string, {rule}}}"
    properties = (
        f"{{name: x, logicalType: string, {rule}}}, {{name: o, logicalType: object, properties: [{inner}]}}, "
        f"{{name: l, logicalType: array, items: {{logicalType: object, properties: [{inner}]}}}}"
    )
    top = f"customProperties: [{{property: lakegate, value: {{format: {files}}}}}]"

    assert examine(document("odcs", {"properties": properties, "top": top})).errors == ()


@pytest.mark.parametrize(
    ("pattern", "errors"),
    [
        (r"^\p{L}+$", []),
        ("^[a-z]{2}++$", ["possessive quantifiers"]),
        (r"^\\++$", ["possessive quantifiers"]),
        (r"^\++$", []),
        (r"^(?i)\p{L}+$", ["flags (`(?i)`)"]),
    ],
)
def test_a_pattern_of_another_dialect_has_its_own_error_alone(pattern: str, errors: list[str]) -> None:
    """A brace that ends a property is no quantifier, and a plus after a backslash is a plus."""
    options = f"properties: [{{name: a, logicalType: string, logicalTypeOptions: {{pattern: '{pattern}'}}}}]"
    head = "apiVersion: v3.1.0\nkind: DataContract\nid: x\nversion: 1.0.0\nstatus: active\n"
    found = examine(f"{head}schema: [{{name: t, {options}}}]\n".encode()).errors

    assert [each.message.split(" has no ")[-1].split(": ")[0] for each in found] == errors
