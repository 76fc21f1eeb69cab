"""The job, too, answers as Great Expectations does: a sample of the generated cases through Spark and Deequ (`make nightly`)."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from infra.setup.environments import install
from lakegate.plan.result import Result
from tests.agreement.great_expectations.cases import AgreedCase, cases
from tests.agreement.great_expectations.compare import ENVIRONMENT, contract_of_case, differences
from tests.deliveries.delivery import Judged
from tests.deliveries.side_by_side import as_csv, of_one_case, side_by_side
from tests.reference.cases import Case

SEED = 20260103

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif("LAKEGATE_FULL" not in os.environ, reason="the full number belongs to make nightly"),
]


def test_great_expectations_and_the_job_answer_alike(judge_files: Callable[..., Judged]) -> None:
    """Success, and the number of unexpected rows, are theirs on 380 generated cases."""
    install(ENVIRONMENT)
    drawn = cases(SEED, 380)
    results: list[Result | None] = [None] * len(drawn)
    for rows in {len(each.rows) for each in drawn}:
        together = [(at, as_case(each)) for at, each in enumerate(drawn) if len(each.rows) == rows]
        answer = judge_files(side_by_side(together), as_csv(together)).result
        for at, case in together:
            results[at] = of_one_case(at, case, answer)

    assert list(differences(drawn, results)) == []


def as_case(agreed: AgreedCase) -> Case:
    return Case(agreed.expectation, "custom", contract_of_case(agreed), agreed.rows, ())
