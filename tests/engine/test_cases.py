"""Every case of every kind of rule by the native engine, against the case and the reference evaluator."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest

from tests.reference.evaluator import measure
from tests.spark.test_cases import GOOD, NUMBERED, as_csv, comparable, of_one_case, side_by_side
from tests.unit.rules.test_cases import found, wanted

if TYPE_CHECKING:
    from collections.abc import Callable

    from contracts.result import Result
    from tests.deliveries.delivery import Judged
    from tests.reference.cases import Case


@pytest.fixture(scope="module")
def answers(judge_files: Callable[..., Judged]) -> Callable[[int], Result]:
    """What the engine answers to the delivery of all cases with that many rows."""

    @cache
    def answer(rows: int) -> Result:
        together = [(number, case) for number, case in NUMBERED if len(case.rows) == rows]
        return judge_files(side_by_side(together), as_csv(together)).result

    return answer


@pytest.mark.parametrize(("number", "case"), NUMBERED, ids=[case.id for case in GOOD])
def test_the_engine_measures_and_decides_as_written(number: int, case: Case, answers: Callable[[int], Result]) -> None:
    """The engine finds the numbers the case names, and so does the reference evaluator."""
    result = of_one_case(number, case, answers(len(case.rows)))
    reference = measure(case.plan, case.header, case.rows)

    assert wanted(case) == found(case, result)
    assert [comparable(each) for each in reference.measurements] == [comparable(each) for each in result.measurements]
