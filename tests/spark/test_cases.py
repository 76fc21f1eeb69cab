"""Every case of every kind of rule, through the job: the reader, Spark and Deequ, against the case and the reference evaluator.

Cases with equally many rows stand side by side in one delivery, each with columns of its own: a dozen deliveries instead of
three hundred, and what is measured of one case must not depend on its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from lakegate.plan.result import Result
from tests.deliveries.delivery import Judged
from tests.deliveries.side_by_side import as_csv, comparable, of_one_case, side_by_side
from tests.reference.cases import Case, good_cases
from tests.reference.evaluator import measure
from tests.unit.rules.test_cases import found, wanted

pytestmark = pytest.mark.spark
GOOD = good_cases()
NUMBERED = list(enumerate(GOOD))


@pytest.fixture(scope="module")
def answers(judge_files: Callable[..., Judged]) -> Callable[[int], Result]:
    """The result of the job for all cases with that many rows."""

    @cache
    def answer(rows: int) -> Result:
        together = [(number, case) for number, case in NUMBERED if len(case.rows) == rows]
        return judge_files(side_by_side(together), as_csv(together)).result

    return answer


@pytest.mark.parametrize(("number", "case"), NUMBERED, ids=[case.id for case in GOOD])
def test_the_engine_measures_and_decides_as_written(number: int, case: Case, answers: Callable[[int], Result]) -> None:
    """Spark and Deequ find the numbers the case names, Deequ's own status agrees, and so does the reference evaluator."""
    together = answers(len(case.rows))
    result = of_one_case(number, case, together)
    reference = measure(case.plan, case.header, case.rows)

    assert (len(case.rows), ()) == (together.rows, together.malformed)
    assert wanted(case) == found(case, result)
    assert [comparable(each) for each in reference.measurements] == [comparable(each) for each in result.measurements]
