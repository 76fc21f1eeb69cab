"""One job run: a request or a batch; Spark as the backend of attempts."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pyspark
from pyspark.sql import SparkSession

from lakegate.engine.attempt import MAX_SAMPLES, Attempt, Part, Workspace, Written
from lakegate.engine.evaluate.predicate_sql import Program, Programs
from lakegate.engine.measure.duckdb_tables import database, identity
from lakegate.engine.measure.partial_results import LevelCounts, Partial
from lakegate.engine.measure.share_evaluation import Evaluation
from lakegate.engine.read.data_source import AT, Level, Source
from lakegate.engine.rejected_rows import Rejected
from lakegate.job.job_storage import ANYWHERE, Addresses, read_request, versions_of, write
from lakegate.plan.check import Check, Keys, Query
from lakegate.plan.plan import Plan
from lakegate.plan.request import Request
from lakegate.plan.result import Measurement, Result, Shares
from lakegate.spark import spark_session, spark_tasks
from lakegate.spark.deequ_metrics import DeequMetrics, find_shared, sharing
from lakegate.spark.spark_queries import AcceptedRecords, SparkTables, run_queries, write_rows
from lakegate.spark.spark_row_split import split
from lakegate.spark.spark_session import FEW_ROWS, settings, start
from lakegate.spark.spark_tasks import Pass
from lakegate.verdict.measured_values import QueryResult

if TYPE_CHECKING:
    from pyspark import SparkContext

    from lakegate.engine.attempt import KeepRejected


# ---- Spark as the backend of an attempt ----
# The interface is `lakegate.engine.attempt.Backend`.


SMALL_DELIVERY = 1 << 20
"""Bytes up to which a delivery, with the accepted data that it is compared with, is planned as one of few rows."""


@dataclass(slots=True)
class Spark:
    """The session of one attempt."""

    plan: Plan
    request: Request
    _folder: tempfile.TemporaryDirectory[str] = field(default_factory=lambda: tempfile.TemporaryDirectory("-lakegate"))
    _settings: ExitStack = field(default_factory=ExitStack)
    _session: SparkSession | None = None
    _passed: Pass | None = None
    _programs: Programs = field(default_factory=dict)
    worker_seconds: float = 0.0
    """Processor seconds of the Python workers that evaluated shares."""

    @property
    def session(self) -> SparkSession:
        """The session, after `begin`."""
        assert self._session is not None
        return self._session

    @property
    def passed(self) -> Pass:
        """The pass over all shares, after `evaluate`."""
        assert self._passed is not None
        return self._passed

    def begin(self) -> dict[str, str]:
        """See `Backend`."""
        self._session = start()
        sizes = [part.size for part in self.request.parts]
        sizes += [part.size for reference in self.request.references for part in reference.parts]
        if sum(sizes) <= SMALL_DELIVERY:
            self._settings.enter_context(settings(self.session, FEW_ROWS))
        own = {"spark": self.session.version, "pyspark": pyspark.__version__, "duckdb": duckdb.__version__}
        return own | {"deequ": spark_session.version(self.session)}

    def database(self) -> duckdb.DuckDBPyConnection:
        """See `Backend`."""
        return database(Path(self._folder.name))

    def evaluate(self, evaluation: Evaluation) -> list[Partial]:
        """See `Backend`."""
        self._programs = evaluation.programs
        self._passed, partials = spark_tasks.run(self.session, evaluation)
        self.worker_seconds += sum(partial.cpu_seconds for partial in partials)
        return partials

    def measure(
        self, programs: Programs, counts: Mapping[Level, LevelCounts], partials: list[Partial]
    ) -> Iterator[Measurement]:
        """See `Backend`."""
        for level, program in programs.items():
            metrics = DeequMetrics(program, counts[level], self.request.judged_at, self.session, partials, self.passed)
            yield from metrics.measurements()

    def sharing(self, own: Program, keys: Keys, limit: int) -> pa.Table:
        """See `Backend`."""
        found = sharing(own, self.passed.rows(own), keys, limit).collect()
        types = {"id": pa.int64(), AT: pa.string()}
        return pa.table({name: pa.array([row[name] for row in found], types[name]) for name in identity(own)})

    def shared(self, own: Program, keys: Keys) -> Iterator[pa.Array]:
        """See `Backend`."""
        return find_shared(own, self.passed.rows(own), keys)

    def split(self, source: Source, rejected: Rejected) -> Shares | None:
        """See `Backend`."""
        return split(self.session, self.plan, source, rejected, self.request.output_uri)

    def write_rows(
        self, query: Query, write: Callable[[Iterable[pa.RecordBatch], Workspace, int], Written]
    ) -> list[Written]:
        """See `Backend`."""
        return write_rows(self.session, query, AcceptedRecords(self.session, self.request), write)

    def in_tasks(self, write: Callable[[Part, Workspace], Written], parts: Sequence[Part]) -> list[Written]:
        """See `Backend`."""
        return spark_tasks.write_parts(self.session, write, parts)

    def in_driver(self, write: Callable[[Workspace], Written]) -> Written:
        """See `Backend`."""
        with spark_tasks.workspace() as found:
            return write(found)

    def run_queries(self, checks: tuple[Check, ...], rows: int) -> tuple[QueryResult, ...]:
        """See `Backend`."""
        delivered = self.passed.rows(self._programs[()]) if self._programs[()].is_queried else None
        tables = SparkTables(self.plan, self.request.judged_at, delivered, AcceptedRecords(self.session, self.request))
        return run_queries(self.session, checks, tables, rows=rows)

    def close(self) -> None:
        """Release the memory of the attempt."""
        if self._passed is not None:
            self._passed.frame.unpersist()
        self._settings.close()
        self._folder.cleanup()


# ---- Processor seconds of an attempt ----
# On one machine (`local[*]`) tasks run inside the driver's JVM, whose own clock counts them with all else: compiling, planning,
# collecting garbage. On a cluster the executors are other processes, and Spark's status of its stages has their tasks' time.
# The Python workers that evaluate shares report their own time (`lakegate.spark.spark_job`). Not counted: executors that idle.


NANOSECONDS = 1e9


@dataclass(frozen=True, slots=True)
class Meter:
    """Readings of the clocks of processor time."""

    python: float
    spark: float

    @classmethod
    def read(cls) -> Meter:
        """The clocks now; that of a JVM that has not started is zero."""
        session = SparkSession.getActiveSession()
        return cls(time.process_time(), _spark_seconds(session) if session else 0)

    def since(self, before: Meter) -> float:
        """Processor seconds between two readings."""
        return round(self.python - before.python + self.spark - before.spark, 3)


def _spark_seconds(session: SparkSession) -> float:
    context = session.sparkContext
    jvm = context._jvm  # noqa: SLF001 - PySpark has no other way to the JVM's own clock
    assert jvm is not None
    driver: int = jvm.java.lang.ProcessHandle.current().info().totalCpuDuration().get().toNanos()
    tasks = 0 if str(context.master).startswith("local") else _tasks(context)
    return (driver + tasks) / NANOSECONDS


def _tasks(context: SparkContext) -> int:
    """Nanoseconds of all tasks in Spark's status (its last thousand stages)."""
    jvm, gateway = context._jvm, context._gateway  # noqa: SLF001 - PySpark has no other way to Spark's status
    assert jvm is not None
    assert gateway is not None
    nothing, no_quantiles = jvm.java.util.ArrayList(), gateway.new_array(jvm.double, 0)
    stages = context._jsc.sc().statusStore().stageList(nothing, False, False, no_quantiles, nothing)  # noqa: SLF001 - as above
    return sum(stages.apply(at).executorCpuTime() for at in range(stages.size()))


def validate(  # noqa: PLR0913, PLR0917 - an attempt, and how it is watched
    request: Request,
    plan: Plan,
    watch: Callable[[str], None] = lambda _: None,
    samples: int = MAX_SAMPLES,
    store: Addresses = ANYWHERE,
    keep_rejected: KeepRejected | None = None,
) -> Result:
    """Measure the delivery of a request against its plan; its objects are read by `store`.

    `keep_rejected` is given the rejected records, in this process.
    """
    before, spark = Meter.read(), Spark(plan, request)
    try:
        found = Attempt(request, plan, store, spark, samples, keep_rejected).result(watch)
    finally:
        spark.close()
    return replace(found, vcpu_seconds=round(Meter.read().since(before) + spark.worker_seconds, 3))


def run(request_uri: str) -> Result:
    """Measure the request at an address; its result is written once."""
    request, plan = read_request(request_uri)
    result = validate(request, plan, store=versions_of(request))
    write(request, result)
    return result
