"""The job finds the same periods as the native engine."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.deliveries.delivery import Judged
from tests.deliveries.periods import PERIODS, PeriodCase
from tests.engine.test_delivered_period import essence

pytestmark = pytest.mark.spark
FEW = (
    "a day",
    "of several objects",
    "a number, written twice",
    "two days in two objects",
    "the row of another day is rejected",
)
"""Per commit; nightly all."""


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=name, marks=[] if name in FEW else pytest.mark.full) for name, case in PERIODS.items()],
)
def test_a_job_finds_the_same_period(case: PeriodCase, judge_files: Callable[..., Judged]) -> None:
    """Each case of the table: period, verdict and reason."""
    found = judge_files(case.plan, *case.objects)

    assert essence(found) == (case.period, case.verdict, [case.reason] if case.reason else [])
