"""Our reading of Great Expectations is its own, on generated cases (`python -m tests.agreement --against great-expectations`)."""

from __future__ import annotations

import os

import pytest

from infra.setup.environments import install
from tests.agreement.great_expectations.cases import EXPECTATIONS, cases
from tests.agreement.great_expectations.compare import ENVIRONMENT, differences, named_only

SEED = 20260102
"""Fixed, so that a nightly run can be repeated."""

pytestmark = [
    pytest.mark.tools,
    pytest.mark.skipif("LAKEGATE_FULL" not in os.environ, reason="the full number belongs to make nightly"),
]


def test_great_expectations_and_we_answer_alike() -> None:
    """Success, and the number of unexpected rows, are theirs on every one of 4,000 generated cases."""
    install(ENVIRONMENT)

    assert list(differences(cases(SEED, 4_000))) == []


def test_no_generated_case_is_only_named() -> None:
    """Every case is measured: skipped rules would be no comparison."""
    assert [each for each in cases(SEED, 10 * len(EXPECTATIONS)) if named_only(each)] == []
