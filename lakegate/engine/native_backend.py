"""The native engine: an attempt in this process, without a JVM.

Threads evaluate shares; DuckDB groups keys and runs queries.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from threading import Lock
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

from lakegate.engine.attempt import MAX_SAMPLES, Attempt, Workspace
from lakegate.engine.duckdb_queries import (
    OPERATION,
    TAKES_BACK,
    QueryTables,
    accepted_sources,
    accepted_value,
    run_queries,
    use_rows,
)
from lakegate.engine.evaluate.predicate_sql import SOURCE, Program, Programs, program
from lakegate.engine.evaluate.typed_values import sql_type
from lakegate.engine.measure.chunk_queries import ChunkQueries
from lakegate.engine.measure.duckdb_tables import RECORDS, append, create, database, find_shared, sharing
from lakegate.engine.measure.metric_values import NativeMetrics
from lakegate.engine.measure.partial_results import LevelCounts, Partial
from lakegate.engine.measure.share_evaluation import Evaluation
from lakegate.engine.read.data_source import Level, Source, Store
from lakegate.engine.rejected_rows import Rejected
from lakegate.plan.check import Check, Keys, Query, QueryColumn
from lakegate.plan.plan import Plan, PlanField
from lakegate.plan.request import Reference, Request
from lakegate.plan.result import Measurement, Result, Shares
from lakegate.verdict.measured_values import QueryResult

if TYPE_CHECKING:
    from lakegate.engine.attempt import Keep, KeepRejected, Part, Written


def measure(  # noqa: PLR0913, PLR0917 - a request and its plan, and where and how they are measured
    request: Request,
    plan: Plan,
    store: Store,
    folder: Path,
    watch: Callable[[str], None] = lambda _: None,
    samples: int = MAX_SAMPLES,
    read: Callable[[int], None] = lambda _: None,
    keep: Keep | None = None,
    keep_rejected: KeepRejected | None = None,
) -> Result:
    """Measure the delivery of a request against its plan; what does not fit into memory is spilled below `folder`.

    `watch` is called with the name of each step when it begins, `read` with numbers of bytes (of packed objects, packed
    ones) while they are read, by one thread at a time; they add up to the delivery's size. `keep` stores slices, if the
    request wants some; `keep_rejected` is given the rejected records.

    InputError where the bytes are not the pinned ones, duckdb.Error where memory or disk do not suffice.
    """
    before = time.process_time()
    with database(folder) as connection:
        process = Process(connection, request, plan, store, read, keep)
        found = Attempt(request, plan, store, process, samples, keep_rejected).result(watch)
    return replace(found, vcpu_seconds=round(time.process_time() - before, 3))


class LeftError(Exception):
    """Ends a share whose result is no longer needed."""


@dataclass(slots=True)
class ReadProgress:
    """Counts what several threads have read of the delivery."""

    units: int
    """Bytes, of tables rows, that chunks add up to."""
    size: int
    """Bytes of the delivery."""
    read: Callable[[int], None]
    """Is called with bytes that were read, by one thread at a time."""
    _units: int = 0
    _is_left: bool = False
    _lock: Lock = field(default_factory=Lock)

    def leave(self) -> None:
        """Read no further: the next chunk of each share is its last one."""
        self._is_left = True

    def add(self, units: int) -> None:
        """A chunk was read; LeftError if no more is wanted."""
        with self._lock:
            if self._is_left:
                raise LeftError
            before = self.size * self._units // max(1, self.units)
            self._units += units
            self.read(self.size * self._units // max(1, self.units) - before)


@dataclass(frozen=True, slots=True)
class Process:
    """This process as the backend of an attempt (`lakegate.engine.attempt.Backend`)."""

    connection: duckdb.DuckDBPyConnection
    request: Request
    plan: Plan
    store: Store
    read: Callable[[int], None]
    keep: Keep | None = None

    def begin(self) -> dict[str, str]:
        """See `Backend`."""
        return {"duckdb": duckdb.__version__, "pyarrow": pa.__version__}

    def database(self) -> duckdb.DuckDBPyConnection:
        """See `Backend`."""
        return self.connection

    def evaluate(self, evaluation: Evaluation) -> list[Partial]:
        """See `Backend`; after a failure or Ctrl-C, waiting shares are cancelled, and running ones end at their next chunk."""
        for each in evaluation.programs.values():
            create(self.connection, each)
        numbers = range(len(evaluation.source.shares))
        reading = ReadProgress(sum(evaluation.source.sizes), sum(part.size for part in self.request.parts), self.read)
        threads = max(1, min(len(numbers), os.cpu_count() or 1))
        with ExitStack() as cursors, ThreadPoolExecutor(threads) as pool:
            free = SimpleQueue[ChunkQueries]()
            for _ in range(threads):
                free.put(ChunkQueries(cursors.enter_context(self.connection.cursor())))
            found = [pool.submit(self._share, evaluation, number, reading, free) for number in numbers]
            try:
                return [each.result() for each in found]
            except BaseException:
                reading.leave()
                raise
            finally:
                pool.shutdown(cancel_futures=True)

    def _share(
        self, evaluation: Evaluation, number: int, reading: ReadProgress, free: SimpleQueue[ChunkQueries]
    ) -> Partial:
        queries = free.get()
        try:
            return evaluation.share(number, queries, partial(append, queries), reading.add)
        finally:
            free.put(queries)

    def measure(
        self, programs: Programs, counts: Mapping[Level, LevelCounts], _: list[Partial]
    ) -> Iterator[Measurement]:
        """See `Backend`."""
        self.connection.execute(f"SET threads = {os.cpu_count() or 1}")
        for level, own in programs.items():
            yield from NativeMetrics(own, counts[level], self.request.judged_at, self.connection).measurements()

    def sharing(self, own: Program, keys: Keys, limit: int) -> pa.Table:
        """See `Backend`."""
        return sharing(self.connection, own, keys, limit)

    def shared(self, own: Program, keys: Keys) -> Iterator[pa.Array]:
        """See `Backend`."""
        return find_shared(self.connection, own, keys)

    def split(self, _source: Source, _rejected: Rejected) -> Shares | None:
        """See `Backend`: `lakegate check` counts rejected records and writes none."""
        return None

    def run_queries(self, checks: tuple[Check, ...], rows: int) -> tuple[QueryResult, ...]:
        """See `Backend`; the database is locked by it, and of no use for anything else afterwards."""
        tables = QueryTables(self.plan, self.request.judged_at, RECORDS, self._accepted, self.request.references)
        return run_queries(self.connection, checks, tables, rows=rows)

    def write_rows(
        self, query: Query, write: Callable[[Iterable[pa.RecordBatch], Workspace, int], Written]
    ) -> list[Written]:
        """See `Backend`."""

        def written(workspace: Workspace) -> list[Written]:
            accepted = replace(self, connection=workspace.connection)._accepted  # noqa: SLF001 - of its own class
            tables = QueryTables(self.plan, self.request.judged_at, RECORDS, accepted, self.request.references)
            return [use_rows(workspace.connection, query, tables, lambda rows: write(rows, workspace, 0))]

        return self.in_driver(written)

    def in_tasks(self, write: Callable[[Part, Workspace], Written], parts: Sequence[Part]) -> list[Written]:
        """See `Backend`."""
        return self.in_driver(lambda workspace: [write(part, workspace) for part in parts])

    def in_driver(self, write: Callable[[Workspace], Written]) -> Written:
        """See `Backend`."""
        keep = self.keep
        assert keep is not None
        with tempfile.TemporaryDirectory() as folder, database(Path(folder)) as connection:
            return write(Workspace(self.store, connection, Path(folder), keep))

    def _accepted(self, line: str, columns: tuple[QueryColumn, ...]) -> str:
        """A table of the accepted rows of a line, read by the plans that accepted them."""
        reference = next(reference for reference in self.request.references if reference.dataset == line)
        if not reference.is_corrected:
            return self._read(reference, columns)
        events = self._read(reference, (*columns, OPERATION))
        rows = f"SELECT {', '.join(f'c{at}' for at in range(len(columns))) or '0 AS c0'} FROM {events}"  # noqa: S608 - generated names
        is_former = f"c{len(columns)} {TAKES_BACK}"
        name = f"{events}_current"
        current = f"{rows} WHERE NOT {is_former} EXCEPT ALL {rows} WHERE {is_former}"
        self.connection.execute(f"CREATE TABLE {name} AS {current}")
        self.connection.execute(f"DROP TABLE {events}")
        return name

    def _read(self, reference: Reference, columns: tuple[QueryColumn, ...]) -> str:
        """A table of the rows of accepted objects."""
        (number,) = self.connection.execute("SELECT count(*) FROM duckdb_tables()").fetchall()[0]
        name = f"accepted{number}"
        described = ", ".join(f"c{at} {sql_type(each)}" for at, each in enumerate(columns))
        self.connection.execute(f"CREATE TABLE {name} ({described or 'c0 INTEGER'})")
        queries = ChunkQueries(self.connection)
        for plan, source in accepted_sources(reference, self.store):
            known = plan.columns_by_path
            own = program(plan, (), (), [known[column.field].name for column in columns if column.field in known])

            def keep(_: Program, bits: pa.Table, __: int, known: Mapping[str, PlanField] = known) -> None:
                found = (
                    accepted_value(known[column.field], column) if column.field in known else "NULL"
                    for column in columns
                )
                values = ", ".join(found) or "0"
                queries.run(bits, f"INSERT INTO {name} SELECT {values} FROM {SOURCE}")  # noqa: S608 - generated names

            evaluation = Evaluation(plan, source, {(): own}, samples=0)
            for share in range(len(source.shares)):
                evaluation.share(share, queries, keep)
        return name
