"""One attempt: the steps from a request to its result, over a backend that evaluates the shares and computes metrics.

1. Open the delivery: a file that is not as declared ends the attempt (`unreadable`). Of a derived dataset the query is run first,
   and its rows are written: they are the delivery.
2. Evaluate its shares; every byte (of a table, every row) is accounted for.
3. Measure each check from the partial results of the shares.
4. Count the rejected records; read the few shares that contain samples of failed checks again, and mask their values.
5. Write the accepted and the rejected records separately, if the contract rejects single rows.
6. Run the contract's own queries, each separately, and after the others, so that none of them delays other checks.
7. If the request wants accepted rows in another form, and the delivery is accepted, read it once more and write them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from lakegate.admission.file_signatures import UTF_8, UnreadableError
from lakegate.base.extension_points import load_extension
from lakegate.contract.delivery_policy import OnReject, PublishAs
from lakegate.engine.accepted_rows import AcceptedRows
from lakegate.engine.evaluate.predicate_sql import Program, Programs, program
from lakegate.engine.masked_samples import Samples, columns_of_records, lines_before, malformed_records
from lakegate.engine.measure.delivered_period import delivered_period, period_column
from lakegate.engine.measure.metric_values import event_time
from lakegate.engine.measure.partial_results import LevelCounts, Partial
from lakegate.engine.measure.share_evaluation import Evaluation
from lakegate.engine.read.data_source import Level, Source, Store
from lakegate.engine.read.open_delivery import account_for, open_source
from lakegate.engine.rejected_rows import Rejected
from lakegate.plan.check import Check, Keys, Query
from lakegate.plan.plan import Plan
from lakegate.plan.request import Request, StagedPart
from lakegate.plan.result import Measurement, Result, Shares, WrittenFile
from lakegate.verdict.check_status import BROKEN
from lakegate.verdict.measured_values import QueryResult, conceal_number, shows_values, without_classified
from lakegate.verdict.verdict import ACCEPTING, judge, row_rules

if TYPE_CHECKING:
    import duckdb
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from lakegate.engine.measure.delivered_period import ChunkPeriods

    Keep = Callable[[Path, str], str]
    """Puts a file at an address that has no object yet; returns the ETag or checksum of the object."""
    KeepRejected = Callable[[Source, Rejected, list[int]], None]
    """Is called with the rejected records, and the lines of the same object before each share (`rejected_records`)."""

Part = TypeVar("Part")
Written = TypeVar("Written")

MAX_SAMPLES = 20
"""The most failing records of each check that are shown."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """Means to write accepted rows."""

    store: Store
    connection: duckdb.DuckDBPyConnection
    """To a database that is not locked, as queries have locked the one of the attempt."""
    folder: Path
    """Of this machine."""
    keep: Keep


class Backend(Protocol):
    """Evaluates shares and computes metrics: in this process, or by Spark."""

    def begin(self) -> dict[str, str]:
        """Start the engine; returns names and versions."""
        ...

    def database(self) -> duckdb.DuckDBPyConnection:
        """A database of this process, for samples."""
        ...

    def evaluate(self, evaluation: Evaluation) -> list[Partial]:
        """The partial results of all shares, in order. UnreadableError if an object is damaged."""
        ...

    def measure(
        self, programs: Programs, counts: Mapping[Level, LevelCounts], partials: list[Partial]
    ) -> Iterable[Measurement]:
        """The measurement of each check."""
        ...

    def sharing(self, own: Program, keys: Keys, limit: int) -> pa.Table:
        """See `lakegate.engine.measure.duckdb_tables.Sharing`."""
        ...

    def shared(self, own: Program, keys: Keys) -> Iterator[pa.Array]:
        """See `lakegate.engine.measure.duckdb_tables.Shared`."""
        ...

    def split(self, source: Source, rejected: Rejected) -> Shares | None:
        """Write accepted and rejected records separately; None if nothing is written."""
        ...

    def run_queries(self, checks: tuple[Check, ...], rows: int) -> Iterable[QueryResult]:
        """The results of queries, in order, with the ids of at most `rows` rows that break a check."""
        ...

    def write_rows(
        self, query: Query, write: Callable[[Iterable[pa.RecordBatch], Workspace, int], Written]
    ) -> list[Written]:
        """Results of a function that is given the rows of a query over accepted data, in order, in one or more tasks.

        The number is that of the task; a task without rows is left out. UnreadableError where the rows cannot be computed.
        """
        ...

    def in_tasks(self, write: Callable[[Part, Workspace], Written], parts: Sequence[Part]) -> list[Written]:
        """Results of a function for each part, in their order; where the engine has tasks, each part is written by one."""
        ...

    def in_driver(self, write: Callable[[Workspace], Written]) -> Written:
        """The result of a function that writes in this process."""
        ...


class RowWriter(Protocol):
    """Writes accepted rows in another form than they arrived: a row of the extension point `row writers`, by `publishAs`."""

    @property
    def step(self) -> str:
        """The name of its step."""
        ...

    def memory(self, request: Request) -> int:
        """Bytes that it needs at least, however small the delivery is."""
        ...

    def write(self, accepted: AcceptedRows, request: Request, backend: Backend) -> dict[str, Any]:
        """Write them below the folder of the attempt; returns what the result says of them, by the names of its fields."""
        ...


class RowSource(Protocol):
    """Makes the rows of a delivery that no producer has brought: the row of the extension point `row sources`."""

    def write(self, plan: Plan, request: Request, backend: Backend) -> tuple[WrittenFile, ...]:
        """Write them as files below the folder of the attempt, in order; one at least."""
        ...


def row_writer(request: Request) -> RowWriter | None:
    """The writer of the form that a request wants; None: it wants no other form."""
    if request.written_as is PublishAs.ORIGINAL:
        return None
    found: RowWriter = load_extension("row writers", request.written_as.value)
    return found


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


@dataclass(frozen=True, slots=True)
class Attempt:
    """A request, its plan, and the backend that measures it."""

    request: Request
    plan: Plan
    store: Store
    backend: Backend
    samples: int = MAX_SAMPLES
    keep_rejected: KeepRejected | None = None

    def result(self, watch: Callable[[str], None] = lambda _: None) -> Result:
        """The result, without its cost. InputError if the delivery's bytes are not the pinned ones."""
        request, stopwatch = self.request, Stopwatch(watch)
        with stopwatch.step("start"):
            engines = self.backend.begin()
        result = Result(request.workload, request.attempt, self.plan.digest, request.source_version, rows=0)
        try:
            found = self._measured(result, stopwatch)
        except UnreadableError as error:
            found = replace(result, unreadable=error.finding)
        return replace(found, engines=engines, timings=dict(stopwatch.seconds))

    def _measured(self, result: Result, stopwatch: Stopwatch) -> Result:
        plan, request, backend = self.plan, self.request, self.backend
        parts = request.parts
        if plan.derived is not None:
            with stopwatch.step("derive"):
                rows: RowSource = load_extension("row sources", "derived")
                result = replace(result, derived=rows.write(plan, request, backend))
                parts = tuple(StagedPart(each.uri, each.size, "rows of the query") for each in result.derived)
        with stopwatch.step("open"):
            source = open_source(plan, parts, self.store)
            absent = source.columns.lacking
            checks = tuple(check for check in plan.checks if check.needs_rows and not absent & check.reads)
            programs = _programs(plan, checks)
        with stopwatch.step("read"):
            evaluation = Evaluation(plan, source, programs, self.samples, period_column(plan, source))
            partials = backend.evaluate(evaluation)
            _account_for(source, partials)
            columns = columns_of_records(plan, source, partials) if plan.storage.format.is_json else source.columns
            checks = tuple(check for check in checks if not columns.lacking & check.reads)
            queries = tuple(check for check in checks if check.metric.is_query)
        with stopwatch.step("measure"):
            counts = {level: _added(partials, level) for level in programs}
            wanted = {check.id for check in checks}
            measurements = {
                each.check: each for each in backend.measure(programs, counts, partials) if each.check in wanted
            }
            judged, malformed = counts[()].rows, malformed_records(source, partials, self.samples)
            result = replace(
                result,
                rows=judged + sum(each.rows for each, _, _ in malformed),
                columns=columns,
                is_marked=source.is_marked,
                is_utf_8=_is_utf_8(source, partials),
                malformed=tuple(each for each, _, _ in malformed),
                measurements=tuple(measurements.values()),
                event_time=event_time(programs[()], counts[()]) if judged else None,
            )
        with stopwatch.step("explain"):
            rejected = Rejected.of(row_rules(plan, result), programs, partials, backend.shared)
            result = replace(
                result,
                rejected_rows=result.rows - judged + rejected.count(),
                period=delivered_period(_periods(plan, partials, rejected)),
            )
            explain = Samples(
                plan,
                programs,
                partials,
                source,
                backend.database(),
                backend.sharing,
                self.samples,
                lines_before(source, partials),
            )
            result = replace(result, malformed=explain.with_first_records(malformed))
            measurements = {
                each.check: each for each in explain.with_evidence(measurements.values(), _bad(plan, result, programs))
            }
        if plan.policy.on_reject is OnReject.ROWS and result.rejected_rows:
            with stopwatch.step("split"):
                result = replace(result, shares=backend.split(source, rejected))
        if self.keep_rejected is not None:
            with stopwatch.step("split"):
                self.keep_rejected(source, rejected, lines_before(source, partials))
        if queries:
            with stopwatch.step("ask"):
                queried = list(backend.run_queries(queries, self.samples if plan.policy.samples else 0))
                measurements |= {answer.check: answer for answer in explain.with_rows(queries, queried)}
        found = [(check, measurements[check.id]) for check in checks]
        kept = (conceal_number(check, each) if shows_values(plan, check) else each for check, each in found)
        result = replace(
            result, measurements=tuple(without_classified(plan, *each) for each in zip(checks, kept, strict=True))
        )
        writer = row_writer(request)
        if writer is not None and judge(plan, result).verdict in ACCEPTING:
            with stopwatch.step(writer.step):
                result = replace(result, **writer.write(AcceptedRows(plan, source, rejected), request, backend))
        return result


def _bad(plan: Plan, result: Result, programs: Programs) -> tuple[Check, ...]:
    """The checks of which failing records are shown."""
    outcomes = judge(plan, result).outcomes if plan.policy.samples else ()
    bad = {outcome.id for outcome in outcomes if outcome.status in BROKEN} & result.measured.keys()
    return tuple(check for own in programs.values() for check in own.checks if check.id in bad)


def _periods(
    plan: Plan, partials: list[Partial], rejected: Rejected
) -> Iterator[tuple[ChunkPeriods, NDArray[np.bool_] | None]]:
    """The periods of each chunk, with its rejected records where the contract rejects single rows."""
    by_rows = plan.policy.on_reject is OnReject.ROWS
    for partial in partials:
        for broken, periods in zip(partial.broken, partial.periods, strict=False):
            yield periods, rejected.in_chunk(partial.number, broken) if by_rows else None


def _programs(plan: Plan, checks: tuple[Check, ...]) -> dict[Level, Program]:
    """The program of each level, that of records (without a level) first, even where it has no checks."""
    relations = [
        relation for check in checks if check.query for relation in check.query.relations if relation.delivered
    ]
    read = {column.field for relation in relations for column in relation.columns} if relations else None
    levels: dict[Level, list[Check]] = {(): []}
    for check in checks:
        if not check.metric.is_query:
            level = plan.field(check.fields[0]).level if check.of_elements else ()
            levels.setdefault(level, []).append(check)
    return {level: program(plan, level, tuple(own), None if level else read) for level, own in levels.items()}


def _account_for(source: Source, partials: list[Partial]) -> None:
    """UnreadableError where a table has other rows than it counts, InputError if not every byte of a text was read."""
    read = [0] * len(source.sizes)
    for partial in partials:
        read[source.shares[partial.number].part] += partial.size
    account_for(source, read)


def _is_utf_8(source: Source, partials: list[Partial]) -> bool:
    """Whether all that is beyond ASCII in an object is UTF-8, where the contract declares another encoding."""
    found: dict[int, frozenset[str]] = {}
    for partial in partials:
        part = source.shares[partial.number].part
        found[part] = found.get(part, frozenset()) | partial.evidence
    return frozenset({UTF_8}) in found.values()


def _added(partials: list[Partial], level: Level) -> LevelCounts:
    total = LevelCounts()
    for partial in partials:
        total.add(partial.levels.get(level, LevelCounts()))
    return total
