"""The native judge: one attempt measured in this process, without a JVM.

1. Open the delivery: what is no file of the promised shape is answered at once (`unreadable`).
2. Evaluate its shares in threads, each with a connection of its own to one database; every byte is accounted for.
3. Add the shares up to the metric of each check; ask the contract's queries last.
4. Read the few shares that hold samples of failed checks again, and mask what is shown.
"""

from __future__ import annotations

import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

from contracts.errors import InputError
from contracts.kinds import UnreadableError
from contracts.outcome import Status
from contracts.result import Malformed, Result
from contracts.verdict import judge, row_rules
from engine.evaluate.program import program
from engine.explain.rejected import count_rejected
from engine.explain.samples import Samples
from engine.measure.metrics import LevelMetrics
from engine.measure.partial import LevelCounts, Partial
from engine.measure.shares import Evaluation
from engine.measure.tables import create, database
from engine.read.open import open_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from contracts.check import Check
    from contracts.plan import Plan
    from contracts.request import Request
    from engine.read.chunk import Level, Source, Store

SAMPLES = 20
"""Failing rows of each check that are shown at the most."""


@dataclass(slots=True)
class Stopwatch:
    """Seconds spent in each step; `watch` is called with its name when it begins."""

    watch: Callable[[str], None]
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time one step."""
        self.watch(name)
        began = time.perf_counter()
        yield
        self.seconds[name] = round(time.perf_counter() - began, 3)


def measure(
    request: Request, plan: Plan, store: Store, watch: Callable[[str], None] = lambda _: None, samples: int = SAMPLES
) -> Result:
    """Measure the delivery of a request against its plan. InputError where its bytes are not the pinned ones."""
    stopwatch, before = Stopwatch(watch), time.process_time()
    engines = {"duckdb": duckdb.__version__, "pyarrow": pa.__version__}
    answer = Result(request.workload, request.attempt, plan.digest, request.source_version, rows=0, engines=engines)
    with tempfile.TemporaryDirectory(prefix="lakegate-") as folder:
        connection = database(Path(folder))
        try:
            found = _Judge(request, plan, store, connection, stopwatch, samples).measured(answer)
        except UnreadableError as error:
            found = replace(answer, unreadable=error.finding)
        finally:
            connection.close()
    seconds = round(time.process_time() - before, 3)
    return replace(found, timings=dict(stopwatch.seconds), vcpu_seconds=seconds)


@dataclass(frozen=True, slots=True)
class _Judge:
    request: Request
    plan: Plan
    store: Store
    connection: duckdb.DuckDBPyConnection
    stopwatch: Stopwatch
    samples: int

    def measured(self, answer: Result) -> Result:
        plan, step = self.plan, self.stopwatch.step
        with step("open"):
            source = open_source(plan, self.request.parts, self.store)
            absent = set(source.columns.absent)
            checks = tuple(check for check in plan.checks if check.needs_rows and not absent & check.reads)
            shared = tuple(check for check in checks if not check.metric.asked)
            programs = {level: program(plan, level, own) for level, own in by_level(plan, shared).items()}
            for each in programs.values():
                create(self.connection, each)
        with step("read"):
            partials = self._partials(Evaluation(plan, source, programs, self.samples), source)
            self._account_for_bytes(source, partials)
        with step("measure"):
            levels = {
                level: LevelMetrics(each, _added(partials, level), self.connection, self.request.judged_at)
                for level, each in programs.items()
            }
            answers = [each for level in levels.values() for each in level.measurements()]
            malformed = _malformed(source, partials)
            judged = levels[()].counts.rows
            answer = replace(
                answer,
                rows=judged + sum(each.rows for each in malformed),
                columns=source.columns,
                malformed=malformed,
                measurements=tuple(answers),
                event_time=levels[()].event_time() if judged else None,
            )
        with step("explain"):
            rejected = count_rejected(row_rules(plan, answer), programs, partials, self.connection)
            answer = replace(answer, rejected_rows=answer.rows - judged + rejected)
            bad = {each.id for each in judge(plan, answer).outcomes if each.status in {Status.FAIL, Status.WARN}}
            failed = tuple(check for check in shared if check.id in bad) if plan.policy.samples else ()
            explain = Samples(plan, programs, partials, source, self.connection, self.samples)
            samples = explain.of(failed, lines_before(source, partials))
        by_check = {each.check: replace(each, samples=samples.get(each.check, ())) for each in answers}
        return replace(answer, measurements=tuple(by_check[check.id] for check in checks if check.id in by_check))

    def _partials(self, evaluation: Evaluation, source: Source) -> list[Partial]:
        """The shares of the delivery, in order; those that are not begun are left when one fails."""
        numbers = range(len(source.shares))
        with ThreadPoolExecutor(max(1, min(len(source.shares), os.cpu_count() or 1))) as pool:
            found = [pool.submit(self._share, evaluation, number) for number in numbers]
            try:
                return [each.result() for each in found]
            finally:
                pool.shutdown(cancel_futures=True)

    def _share(self, evaluation: Evaluation, number: int) -> Partial:
        with self.connection.cursor() as cursor:
            return evaluation.share(number, cursor)

    def _account_for_bytes(self, source: Source, partials: list[Partial]) -> None:
        read = [0] * len(self.request.parts)
        for partial in partials:
            read[source.shares[partial.number].part] += partial.size
        wanted = [source.sizes[number] for number in range(len(read))]
        if read != wanted:
            raise InputError(f"the engine read {sum(read):,} of {sum(wanted):,} units of the delivery: stage it again")


def by_level(plan: Plan, checks: tuple[Check, ...]) -> dict[Level, tuple[Check, ...]]:
    """The checks of each level, those of records (without a level) first, even where there are none."""
    levels: dict[Level, list[Check]] = {(): []}
    for check in checks:
        level = plan.field(check.fields[0]).level if check.of_elements else ()
        levels.setdefault(level, []).append(check)
    return {level: tuple(own) for level, own in levels.items()}


def _added(partials: list[Partial], level: Level) -> LevelCounts:
    total = LevelCounts()
    for partial in partials:
        total.add(partial.levels.get(level, LevelCounts()))
    return total


def lines_before(source: Source, partials: list[Partial]) -> list[int]:
    """Lines of the same object before each share."""
    before, lines = [], dict.fromkeys((share.part for share in source.shares), 0)
    for share, partial in zip(source.shares, partials, strict=True):
        before.append(lines[share.part])
        lines[share.part] += partial.lines
    return before


def _malformed(source: Source, partials: list[Partial]) -> tuple[Malformed, ...]:
    """By reason, with the line (from 1) of the first one of the delivery."""
    found: dict[str, Malformed] = {}
    for before, partial in zip(lines_before(source, partials), partials, strict=True):
        for each in partial.malformed:
            known = found.get(each.reason)
            first = replace(each, first_row=before + each.first_row + 1)
            found[each.reason] = replace(known, rows=known.rows + each.rows) if known else first
    return tuple(found[reason] for reason in sorted(found))
