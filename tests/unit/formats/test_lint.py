"""Every code of the linter has an example that has it, and one that has not."""

from __future__ import annotations

from pathlib import Path
from string import Template
from typing import Any

import pytest
import yaml

from contracts.errors import ContractError
from contracts.formats import examine, read
from contracts.lint import LINTS, NOT_MEASURED
from contracts.linting.finding import Level

CASES: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("lint_cases.yaml").read_text())
BASES = {
    "dcm": Template("""\
specVersion: 0.1.3
id: x-p-1.0.0
name: $name
kind: DataContract
version: $version
description: d
tags: []
producer: {name: p, group: g}
access: {eventType: push, protocol: FTP, location: /, accessConfiguration: {}}
dataSharingAgreements: {}
dataset: {name: d, schema: [{name: n, dataType: number}, {name: t, dataType: text}, {name: d, dataType: date}, $columns]}
quality: [$rules]
$top
"""),
    "odcs": Template("""\
apiVersion: $apiVersion
kind: $kind
id: x
version: $version
status$status: active
schema: $schema
$top
"""),
}
OBJECT = Template("""
  - name: d
    properties: [{name: n, logicalType: number}, {name: t, logicalType: string}, {name: d, logicalType: date}, $properties]
    quality: [$quality]
    $objectKeys
""")
WORDS = {
    **dict.fromkeys(("columns", "rules", "top", "properties", "quality", "objectKeys", "status"), ""),
    "name": "x",
    "kind": "DataContract",
    "version": "1.0.0",
    "apiVersion": "v3.1.0",
}


def document(base: str, parts: dict[str, Any]) -> bytes:
    words = WORDS | parts
    return BASES[base].substitute({"schema": OBJECT.substitute(words)} | words).encode()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["code"])
def test_a_bad_example_is_blamed_where_it_is_bad(case: dict[str, Any]) -> None:
    """The example that has the mistake is told so, at its place, with a line and a sentence."""
    examined = examine(document(case["base"], case["bad"]))
    told = {(problem.code, problem.path): problem for problem in (*examined.errors, *examined.warnings)}

    assert (case["code"], case["path"]) in told
    assert all(problem.line and problem.message.endswith((".", "?")) for problem in told.values())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["code"])
def test_a_good_example_is_not_blamed(case: dict[str, Any]) -> None:
    """The example without the mistake is valid, and not warned of it."""
    examined = examine(document(case["base"], case["good"]))

    assert examined.errors == ()
    assert case["code"] not in {problem.code for problem in examined.warnings}


def test_every_code_has_its_examples() -> None:
    """A new code without a case is red."""
    assert set() == {*LINTS, NOT_MEASURED} - {case["code"] for case in CASES}


@pytest.mark.parametrize("code", LINTS)
def test_an_error_refuses_and_a_warning_does_not(code: str) -> None:
    """The level in the table is the level a person sees."""
    for case in (case for case in CASES if case["code"] == code):
        examined = examine(document(case["base"], case["bad"]))
        side = examined.errors if LINTS[code].level is Level.ERROR else examined.warnings

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
