"""Every case of every kind of rule by the native engine and the judge function, against the case and the reference evaluator."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest

from tests.deliveries.delivery import measure_by_function, measure_natively, request_for
from tests.deliveries.side_by_side import as_csv, comparable, of_one_case, side_by_side
from tests.reference.cases import good_cases
from tests.reference.evaluator import measure
from tests.unit.rules.test_cases import found, wanted

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.contracts.plan.plan import Plan
    from lakegate.contracts.plan.request import Request
    from lakegate.contracts.plan.result import Result
    from tests.reference.cases import Case

GOOD = good_cases()
NUMBERED = list(enumerate(GOOD))
BATCH = 60
"""Cases in one delivery: what one SELECT of hundreds of them costs grows faster than their number."""


@pytest.fixture(scope="module", params=[measure_natively, measure_by_function], ids=["process", "function"])
def answers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[int, int], Result]:
    """The result of the engine for a batch of cases with that many rows."""
    engine: Callable[[Request, Plan], Result] = request.param

    @cache
    def answer(rows: int, batch: int) -> Result:
        alike = [(number, case) for number, case in NUMBERED if len(case.rows) == rows and number // BATCH == batch]
        plan, folder = side_by_side(alike), tmp_path_factory.mktemp("batch")
        return engine(request_for(plan, folder, as_csv(alike)), plan)

    return answer


@pytest.mark.parametrize(("number", "case"), NUMBERED, ids=[case.id for case in GOOD])
def test_the_engine_measures_and_decides_as_written(
    number: int, case: Case, answers: Callable[[int, int], Result]
) -> None:
    """The engine finds the numbers the case names, and so does the reference evaluator."""
    result = of_one_case(number, case, answers(len(case.rows), number // BATCH))
    reference = measure(case.plan, case.header, case.rows)

    assert wanted(case) == found(case, result)
    assert [comparable(each) for each in reference.measurements] == [comparable(each) for each in result.measurements]
