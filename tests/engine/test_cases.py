"""Every case of every kind of rule by the native engine and the judge function, against the case and the reference evaluator."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from lakegate.plan.plan import Plan
from lakegate.plan.request import Request
from lakegate.plan.result import Result
from tests.deliveries.delivery import measure_by_function, measure_natively, request_for
from tests.deliveries.side_by_side import as_csv, compared, of_one_case, side_by_side
from tests.reference.cases import good_cases, good_cases_by_kind
from tests.reference.evaluator import measure
from tests.unit.rules.test_cases import found, wanted

GOOD = good_cases()
NUMBERED = list(enumerate(GOOD))
KINDS = good_cases_by_kind()
BATCH = 60
"""Cases in one delivery: what one SELECT of hundreds of them costs grows faster than their number."""
ALIKE = {rows: [each for each in NUMBERED if len(each[1].rows) == rows] for rows in {len(case.rows) for case in GOOD}}
PLACES = {number: (rows, at // BATCH) for rows, alike in ALIKE.items() for at, (number, _) in enumerate(alike)}
"""The delivery of each case: the number of its rows, and of the batch among those with as many."""


@pytest.fixture(scope="module", params=[measure_natively, measure_by_function], ids=["process", "function"])
def answers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[int, int], Result]:
    """The result of the engine for a batch of cases with that many rows."""
    engine: Callable[[Request, Plan], Result] = request.param

    @cache
    def answer(rows: int, batch: int) -> Result:
        alike = ALIKE[rows][batch * BATCH : (batch + 1) * BATCH]
        plan, folder = side_by_side(alike), tmp_path_factory.mktemp("batch")
        return engine(request_for(plan, folder, as_csv(alike)), plan)

    return answer


@pytest.mark.parametrize("kind", KINDS)
def test_the_engine_measures_and_decides_as_written(kind: str, answers: Callable[[int, int], Result]) -> None:
    """The engine finds the numbers the case names, and so does the reference evaluator."""
    results = {case.id: of_one_case(number, case, answers(*PLACES[number])) for number, case in KINDS[kind]}
    references = {case.id: measure(case.plan, case.header, case.rows) for _, case in KINDS[kind]}

    assert {case.id: found(case, results[case.id]) for _, case in KINDS[kind]} == {
        case.id: wanted(case) for _, case in KINDS[kind]
    }
    assert compared(references) == compared(results)
