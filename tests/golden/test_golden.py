"""Hundreds of documents, in every version of their formats, are read or refused as the golden files say."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from lakegate.contracts.compile.dataset import compile_plan
from lakegate.contracts.documents.document import parse
from lakegate.contracts.lint.examine import FORMATS
from tests.golden.cases import FILES, Golden, examined, golden, outcome

CASES = [case for name in FILES for case in golden(name)]
LEAST = 30
DOCUMENTS = sorted((Path(__file__).parents[2] / "contracts/examples").glob("*.yaml"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_document_is_read_or_refused_as_expected(case: Golden) -> None:
    """Its model, or its errors with their places; and its warnings."""
    assert case.expected == outcome(case.text, case.base)


def test_every_version_has_documents_enough() -> None:
    """At least thirty for each version of each format, valid ones and invalid ones."""
    every = Counter(case.id.partition(":")[0] for case in CASES)
    valid = Counter(case.id.partition(":")[0] for case in CASES if "errors" not in case.expected)
    known = {f"{each.name.lower()} {version}" for each in FORMATS for version in each.versions}

    assert known == set(every)
    assert all(count >= LEAST for count in every.values())
    assert all(LEAST / 3 < valid[version] < every[version] for version in known)


@pytest.mark.parametrize("case", [case for case in CASES if "errors" not in case.expected], ids=lambda case: case.id)
def test_a_valid_document_compiles_to_checks(case: Golden) -> None:
    """Every rule of every dataset has at least one check, measured or named."""
    contract = examined(case.text).contract
    assert contract is not None
    for dataset in contract.datasets:
        checked = {check.rule for check in compile_plan(contract, dataset).checks}

        assert {rule.id for rule in dataset.rules} == checked


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_problem_stands_in_its_document(case: Golden) -> None:
    """Every reported path leads to a place of the document, on the reported line."""
    found = examined(case.text)
    document = parse(case.text)
    for problem in (*found.errors, *found.warnings):
        assert document.at(problem.path).present
        assert problem.line == document.line(problem.path)
