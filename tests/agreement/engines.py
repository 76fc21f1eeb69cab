"""A case by both engines and the judge function, and where their answers differ: results, verdicts, and records written apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass, replace
from math import isclose
from pathlib import Path
from typing import TYPE_CHECKING

from lakegate.base.errors import LakegateError
from lakegate.engine.attempt import Attempt
from lakegate.engine.measure.duckdb_tables import database
from lakegate.engine.native_backend import Process
from lakegate.engine.read.data_source import LocalStore, Source
from lakegate.engine.rejected_rows import Rejected
from lakegate.job.judge_function import JudgeError
from lakegate.plan.plan import Plan
from lakegate.plan.request import Request
from lakegate.plan.result import Measured, Result, Shares
from lakegate.verdict.verdict import judge
from tests.agreement.cases import Case
from tests.agreement.split_rows import Records, found_apart, written_apart
from tests.deliveries.delivery import measure_by_function

if TYPE_CHECKING:
    Engine = Callable[[Request, Plan], Result]

NEAR = 1e-12
"""The relative difference that an aggregate of floating point may have if it is summed in another order."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of an engine to a case."""

    result: Result | None
    """But for the names of the engines, their own findings, and what it cost; None where it refuses the request."""
    verdict: str
    statuses: tuple[tuple[str, str, str], ...] = ()
    """Of each outcome its id, status and message."""
    accepted: Records | None = None
    rejected: Records | None = None
    """The records of each share, where the delivery is split."""


@dataclass(frozen=True, slots=True)
class Splitting(Process):
    """The native engine, which remembers what it would write apart."""

    kept: list[tuple[Source, Rejected]] = field(default_factory=list)

    def split(self, source: Source, rejected: Rejected) -> Shares | None:
        """See `Backend`."""
        self.kept.append((source, rejected))
        return None


def native(case: Case, folder: Path) -> Answer:
    """The answer of the native engine, in this process."""
    store, request = LocalStore(), case.request(folder)
    with database(folder) as connection:
        process = Splitting(connection, request, case.plan, store, lambda _: None)
        try:
            answer = _answer(case.plan, Attempt(request, case.plan, store, process).result())
        except LakegateError as error:
            return Answer(None, str(error))
    for source, rejected in process.kept:
        good, bad = found_apart(case.plan, source, rejected)
        answer = replace(answer, accepted=good, rejected=bad)
    return answer


def by(engine: Engine, case: Case, folder: Path) -> Answer:
    """The answer of an engine that writes what it splits: `lakegate.spark.spark_job.validate`."""
    try:
        found = engine(case.request(folder), case.plan)
    except LakegateError as error:
        return Answer(None, str(error))
    answer = _answer(case.plan, found)
    if found.shares is None:
        return answer
    good, bad = written_apart(case.plan, found.shares)
    return replace(answer, accepted=good, rejected=bad)


def differences(case: Case, engine: Engine, folder: Path) -> list[str]:
    """Where the answers to a case differ, one line each; none where all agree."""
    for name in ("native", "spark", "function"):
        (folder / name).mkdir(parents=True)
    ours = native(case, folder / "native")
    theirs = different("", ours, by(engine, case, folder / "spark"))
    return [*theirs, *_different_by_function(case, ours, folder / "function")]


def _different_by_function(case: Case, ours: Answer, folder: Path) -> Iterator[str]:
    """Where the judge function answers differently; it refuses what the engine refuses, and what has to be split."""
    try:
        found = measure_by_function(case.request(folder), case.plan)
    except JudgeError:
        if ours.result is not None:
            yield ".function: it failed, and the engine did not"
        return
    if found.does_not_fit:
        if found.does_not_fit != "rows" or ours.accepted is None:
            yield f".function: {found.does_not_fit} does not fit"
        return
    yield from different(".function", replace(ours, accepted=None, rejected=None), _answer(case.plan, found))


def _answer(plan: Plan, result: Result) -> Answer:
    judgement = judge(plan, result)
    statuses = tuple((each.id, each.status.value, each.message) for each in judgement.outcomes)

    def own(it: Measured | None) -> Measured | None:
        return it and replace(it, engine_passed=None)

    measured = tuple(
        replace(each, accept=own(each.accept), tolerate=own(each.tolerate)) for each in result.measurements
    )
    same = replace(result, engines={}, timings={}, vcpu_seconds=None, measurements=measured, shares=None)
    return Answer(same, judgement.verdict.value, statuses)


def different(path: str, ours: object, theirs: object) -> Iterator[str]:
    if is_dataclass(ours) and type(ours) is type(theirs):
        for each in fields(ours):
            yield from different(f"{path}.{each.name}", getattr(ours, each.name), getattr(theirs, each.name))
    elif isinstance(ours, tuple) and isinstance(theirs, tuple) and len(ours) == len(theirs):
        for at, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from different(f"{path}[{at}]", one, other)
    elif isinstance(ours, float) and isinstance(theirs, float):
        if not isclose(ours, theirs, rel_tol=NEAR):
            yield f"{path}: native {ours!r}, spark {theirs!r}"
    elif ours != theirs:
        yield f"{path}: native {ours!r}, spark {theirs!r}"
