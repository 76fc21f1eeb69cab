"""Which technology measured a check."""

from __future__ import annotations

import pytest

from lakegate.plan.check import Unit
from lakegate.plan.metrics import Metric
from lakegate.plan.result import Measured, Measurement
from lakegate.report.dcm_results import technologies
from lakegate.verdict.verdict import judge
from tests.unit.verdict.test_verdict import CLEAN, answer, check, measured, plan

JOB = {"spark": "3.5.8", "duckdb": "1.5.0", "deequ": "2.1.0-spark-3.5"}
INVOCATION = {"duckdb": "1.5.0", "pyarrow": "23.0.0"}
OWN = Measured(of=10, failing=0)
ANSWERED = Measured(of=1, number=0.0)
ROWS = check()
QUERY = check(metric=Metric.ANSWER, unit=Unit.VALUE, fields=())
HEADER = check(metric=Metric.COLUMN_COUNT, unit=Unit.VALUE, fields=())


@pytest.mark.parametrize(
    ("of", "found", "engines", "expected"),
    [
        (ROWS, measured(CLEAN), JOB, ("Deequ", "2.1.0-spark-3.5")),
        (ROWS, measured(CLEAN), {"spark": "3.5.8", "duckdb": "1.5.0"}, ("Deequ", None)),
        (ROWS, measured(Measured(of=0, failing=0)), JOB, ("DuckDB", "1.5.0")),
        (ROWS, measured(OWN), INVOCATION, ("DuckDB", "1.5.0")),
        (ROWS, measured(OWN), {}, ("DuckDB", None)),
        (QUERY, measured(ANSWERED), JOB, ("Spark", "3.5.8")),
        (QUERY, measured(ANSWERED), INVOCATION, ("DuckDB", "1.5.0")),
        (HEADER, None, JOB, ("Lakegate", None)),
        (ROWS, None, JOB, None),
        (ROWS, Measurement("r/n", error="not measured"), JOB, None),
        (ROWS, measured(Measured(of=10, failing=3, engine_passed=True)), JOB, None),
        (check(skip="the engine Dqx is not measured by this version"), None, JOB, None),
    ],
)
def test_a_measured_check_names_what_measured_it(of: object, found: object, engines: object, expected: object) -> None:
    """Deequ where it gave the number, the engine of a query, DuckDB else; nothing where nothing was measured."""
    compiled = plan(of)  # type: ignore[arg-type]
    result = answer(*([found] if found else ()), engines=engines)  # type: ignore[list-item]

    assert technologies(compiled, judge(compiled, result), result).get("r/n") == expected
