"""Description, keywords and licence of a contract, in the plans of its slices."""

from __future__ import annotations

from typing import Any

import pytest

from lakegate.contract.contract_model import About
from lakegate.features.odf.odf_settings import dataset_about
from lakegate.lints.linter import examine
from lakegate.plan.dataset_about import DatasetAbout, License
from lakegate.plan.plan import Plan
from lakegate.rules.compile_plan import compile_plan

URL = "https://example.com/terms"


@pytest.mark.parametrize(
    ("sections", "expected"),
    [
        ({}, None),
        ({"license": "MIT"}, License("MIT")),
        ({"licence": "MIT"}, License("MIT")),
        ({"license": {"name": "MIT", "shortName": "m", "spdx": "MIT", "url": URL}}, License("MIT", "m", "MIT", URL)),
        ({"license": {"spdx": "MIT"}}, License("MIT", "", "MIT")),
        ({"license": {"url": URL}}, None),
        ({"license": 1}, None),
        ({"license": ""}, None),
        (
            {"customProperties": [{"property": "other", "value": "x"}, {"property": "License", "value": "MIT"}]},
            License("MIT"),
        ),
        ({"customProperties": "text", "authoritativeDefinitions": [7]}, None),
        ({"authoritativeDefinitions": [{"type": "license", "url": URL}]}, License(URL, url=URL)),
        ({"license": "MIT", "authoritativeDefinitions": [{"type": "license", "url": URL}]}, License("MIT", url=URL)),
        ({"authoritativeDefinitions": [{"type": "license"}, {"type": "tutorial", "url": URL}]}, None),
        (
            {
                "terms": {
                    "policies": [{"name": "privacy"}, {"name": "license", "description": "By contract", "url": URL}]
                }
            },
            License("By contract", url=URL),
        ),
        ({"terms": {"policies": [{"name": "license", "url": URL}]}}, License(URL, url=URL)),
        ({"terms": "text", "links": {"license": URL}}, License(URL, url=URL)),
        ({"links": {"license": 3}}, None),
    ],
)
def test_a_licence_is_read_where_documents_have_it(sections: dict[str, Any], expected: License | None) -> None:
    """Its name where one is stated, else its address."""
    found = dataset_about(About(sections=sections))

    assert found == (None if expected is None else DatasetAbout(license=expected))


def test_description_and_keywords() -> None:
    """The description, else the purpose; each tag once."""
    assert dataset_about(About(description="Visits", purpose="to count")) == DatasetAbout("Visits")
    assert dataset_about(About(purpose="to count", tags=("a", "b", "a"))) == DatasetAbout("to count", ("a", "b"))
    assert dataset_about(About()) is None


def test_texts_without_end_are_cut() -> None:
    """Plans are read often: they have the beginning of a long text, and the first hundred keywords."""
    found = dataset_about(
        About(description="x" * 3000, tags=tuple(map(str, range(200))), sections={"license": "y" * 3000})
    )

    assert found == DatasetAbout("x" * 2000, tuple(map(str, range(100))), License("y" * 500))


ODCS = f"""
apiVersion: v3.1.0
kind: DataContract
id: shop
version: 1.0.0
status: active
tags: [shop]
description: {{purpose: Counts visits}}
authoritativeDefinitions: [{{type: license, url: "{URL}"}}]
customProperties: [{{property: license, value: MIT}}]
schema:
  - name: visits
    properties: [{{name: id, logicalType: integer}}]
    customProperties: [{{property: lakegate, value: {{publishAs: parquet}}}}]
"""
DCS = f"""
dataContractSpecification: 1.2.1
id: shop
info: {{title: Shop, version: 1.0.0, description: Visits of a shop}}
terms: {{policies: [{{name: license, description: By contract, url: "{URL}"}}]}}
models:
  visits:
    fields: {{id: {{type: long}}}}
    config: {{lakegate: {{publishAs: parquet}}}}
"""


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (ODCS, DatasetAbout("Counts visits", ("shop",), License("MIT", url=URL))),
        (DCS, DatasetAbout("Visits of a shop", (), License("By contract", url=URL))),
        (ODCS.replace("publishAs: parquet", "publishAs: original"), None),
    ],
)
def test_plans_of_slices_have_what_their_document_states(document: str, expected: DatasetAbout | None) -> None:
    """A plan of another line has nothing of it: who changes a description there does not change how it is judged."""
    contract = examine(document.encode()).contract
    assert contract is not None
    plan = compile_plan(contract, contract.datasets[0])

    assert plan.about == expected
    assert Plan.from_bytes(plan.to_bytes()) == plan
