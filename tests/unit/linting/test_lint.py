"""Every code of the linter has an example that has it, and one that has not."""

from __future__ import annotations

from typing import Any

import pytest

from contracts.errors import ContractError
from contracts.formats import examine, read
from contracts.linting.codes import CODES
from contracts.linting.finding import Level
from tests.unit.linting.examples import CASES, document

SEMANTIC = ("reading", "meaning", "measuring")
FAR_ABOVE = 60


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["code"])
def test_a_bad_example_is_blamed_where_it_is_bad(case: dict[str, Any]) -> None:
    """The example that has the mistake is told so, at its place, with a line and a sentence."""
    examined = examine(document(case["base"], case["bad"]))
    told = {(problem.code, problem.path): problem for problem in (*examined.errors, *examined.warnings)}

    assert (case["code"], case["path"]) in told
    assert all(problem.line and problem.message.endswith((".", "?")) for problem in told.values())
    assert {code for code, _ in told} <= set(CODES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["code"])
def test_a_good_example_is_not_blamed(case: dict[str, Any]) -> None:
    """The example without the mistake is valid, and not warned of it."""
    examined = examine(document(case["base"], case["good"]))

    assert examined.errors == ()
    assert case["code"] not in {problem.code for problem in examined.warnings}


def test_every_code_has_its_examples() -> None:
    """A new code without a case is red."""
    assert set(CODES) == {case["code"] for case in CASES}


def test_there_are_codes_enough() -> None:
    """At least sixty codes speak of what a schema cannot say."""
    assert sum(code.family in SEMANTIC for code in CODES.values()) >= FAR_ABOVE


@pytest.mark.parametrize("code", CODES)
def test_an_error_refuses_and_a_warning_does_not(code: str) -> None:
    """The level in the table is the level a person sees."""
    for case in (case for case in CASES if case["code"] == code):
        examined = examine(document(case["base"], case["bad"]))
        side = examined.errors if CODES[code].level is Level.ERROR else examined.warnings

        assert code in {problem.code for problem in side}


def test_all_mistakes_are_told_at_once() -> None:
    """Mistakes against the schema and against the meaning come in one answer, in order of lines."""
    text = document("dcm", {"version": "1.0", "rules": "{id: r, name: r, type: uniq, columns: [m]}", "name": "x"})

    with pytest.raises(ContractError) as refusal:
        read(text)

    expected = [("wrong-type", 5), ("unknown-column", 12), ("not-allowed", 12)]
    assert sorted(expected) == sorted((problem.code, problem.line) for problem in refusal.value.problems)
    assert [problem.line for problem in refusal.value.problems] == [5, 12, 12]


def test_a_mistake_is_told_once() -> None:
    """What a schema or a lint has said of a rule, the compiler does not say again."""
    text = document("dcm", {"rules": "{id: r, name: r, type: mean, columns: [m], parameter: 1}"})

    assert [problem.code for problem in examine(text).errors] == ["unknown-column"]


def test_a_list_of_what_cannot_be_compared_ends_in_problems() -> None:
    """Mappings where values should stand are refused by the schema, and break no lint."""
    text = document("dcm", {"rules": "{id: r, name: r, type: mean, columns: [n], parameter: [{a: 1}, {a: 1}, [1]]}"})

    assert [problem.code for problem in examine(text).errors] == ["wrong-type"]


def test_a_hint_names_the_word_that_was_meant() -> None:
    """Where a name is close to a known one, the sentence says so."""
    text = document(
        "dcm",
        {
            "columns": "{name: station_code, dataType: text}",
            "rules": "{id: r, name: r, type: unique, columns: [staton_code]}",
        },
    )

    assert examine(text).errors[0].message.endswith("Did you mean `station_code`?")


def test_rules_that_can_never_be_measured_are_listed_apart() -> None:
    """Publishing can refuse exactly the rules that every delivery would skip; rules in words are not among them."""
    quality = "{type: custom, engine: dbt, implementation: x}, {type: text, description: be good}"
    examined = examine(document("odcs", {"quality": quality}))

    assert [(each.code, each.path) for each in examined.unmeasured] == [("not-measured", "$.schema[0].quality[0]")]
    assert set(examined.unmeasured) <= set(examined.warnings)


@pytest.mark.parametrize("files", ["csv", "jsonl"])
@pytest.mark.parametrize("read", ["n", "x", "o", "s", "l"])
def test_sql_at_a_property_may_read_a_column_of_any_level(files: str, read: str) -> None:
    """A query at a column, or at a part of one, over columns elsewhere is judged without a crash."""
    rule = f'quality: [{{type: sql, query: "SELECT count({read}) FROM d WHERE n > 0", mustBe: 1}}]'  # noqa: S608 -- a document, no database
    inner = f"{{name: s, logicalType: string, {rule}}}"
    properties = (
        f"{{name: x, logicalType: string, {rule}}}, {{name: o, logicalType: object, properties: [{inner}]}}, "
        f"{{name: l, logicalType: array, items: {{logicalType: object, properties: [{inner}]}}}}"
    )
    top = f"customProperties: [{{property: lakegate, value: {{format: {files}}}}}]"

    assert examine(document("odcs", {"properties": properties, "top": top})).errors == ()
