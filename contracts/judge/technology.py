"""The technology that measured a check, with its version, as results of DCM name it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from lakegate.contracts.judge.validations import ENGINE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contracts.judge.judgement import Judgement
    from lakegate.contracts.plan.check import Check
    from lakegate.contracts.plan.plan import Plan
    from lakegate.contracts.plan.result import Measurement, Result

NAMES: Final = {"deequ": "Deequ", "spark": "Spark", "duckdb": "DuckDB", "lakegate": "Lakegate"}
"""By the names of engines in results."""


class Technology(NamedTuple):
    """What measured a check."""

    name: str
    version: str | None
    """None where the result does not have it."""


def technologies(plan: Plan, judgement: Judgement, result: Result) -> dict[str, Technology]:
    """By check, what measured it; without the checks that were not measured."""
    return dict(_technologies(plan, judgement, result))


def _technologies(plan: Plan, judgement: Judgement, result: Result) -> Iterator[tuple[str, Technology]]:
    measured = {each.id for each in judgement.outcomes if each.numbers is not None}
    answers = {each.check: each for each in result.measurements}
    external = {each.check: each.technology for each in plan.external}
    for check in plan.checks:
        if check.id in measured and check.id in external:
            name = external[check.id]
            yield check.id, Technology(name, result.engines.get(f"{ENGINE}{name}"))
        elif check.id in measured:
            engine = _engine(check, answers.get(check.id), is_job="spark" in result.engines)
            yield check.id, Technology(NAMES[engine], result.engines.get(engine))


def _engine(check: Check, answer: Measurement | None, *, is_job: bool) -> str:
    """Deequ has no metric of no records: their count, which is zero, is the native engine's, in a job too."""
    if check.metric.of_header:
        return "lakegate"
    if is_job and check.metric.is_query:
        return "spark"
    is_deequ = answer is not None and answer.accept is not None and answer.accept.engine_passed is not None
    return "deequ" if is_deequ else "duckdb"
