"""Hundreds of documents, in every version of their formats, are read or refused as the golden files say."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from pathlib import Path

import pytest

from lakegate.contract.documents.document_formats import FORMATS
from lakegate.contract.documents.read_document import parse
from lakegate.rules.compile_plan import compile_plan
from tests.golden.cases import FILES, Golden, examined, golden, outcome


def version_of(case: Golden) -> str:
    return case.id.partition(":")[0]


CASES = [case for name in FILES for case in golden(name)]
VERSIONS = {version: [*cases] for version, cases in groupby(sorted(CASES, key=version_of), version_of)}
"""The cases of each version of a format: one test each, because pytest takes longer for a test than for a document."""
LEAST = 30
DOCUMENTS = sorted((Path(__file__).parents[2] / "contracts/examples").glob("*.yaml"))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_document_is_read_or_refused_as_expected(version: str) -> None:
    """Its model, or its errors with their places; and its warnings."""
    cases = VERSIONS[version]
    found = {case.id: outcome(case.text, case.base) for case in cases}

    assert found == {case.id: case.expected for case in cases}


def test_every_version_has_documents_enough() -> None:
    """At least thirty for each version of each format, valid ones and invalid ones."""
    every = Counter(map(version_of, CASES))
    valid = Counter(version_of(case) for case in CASES if "errors" not in case.expected)
    known = {f"{each.name.lower()} {version}" for each in FORMATS for version in each.versions}

    assert known == set(every)
    assert all(count >= LEAST for count in every.values())
    assert all(LEAST / 3 < valid[version] < every[version] for version in known)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_valid_document_compiles_to_checks(version: str) -> None:
    """Every rule of every dataset has at least one check, measured or named."""
    for case in (case for case in VERSIONS[version] if "errors" not in case.expected):
        contract = examined(case.text).contract
        assert contract is not None, case.id
        rules = {dataset.name: {rule.id for rule in dataset.rules} for dataset in contract.datasets}
        checked = {
            dataset.name: {check.rule for check in compile_plan(contract, dataset).checks}
            for dataset in contract.datasets
        }
        assert (case.id, checked) == (case.id, rules)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_problem_stands_in_its_document(version: str) -> None:
    """Every reported path leads to a place of the document, on the reported line."""
    for case in VERSIONS[version]:
        found = examined(case.text)
        document = parse(case.text)
        problems = [*found.errors, *found.warnings]
        places = [(document.at(each.path).present, document.line(each.path)) for each in problems]
        assert (case.id, places) == (case.id, [(True, each.line) for each in problems])
