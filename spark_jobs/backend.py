"""Spark as the backend of an attempt: the native engine in its workers, Deequ over their partial results.

The interface is `lakegate.engine.attempt.Backend`.
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pyspark

from lakegate.engine.measure.tables import database, identity
from lakegate.engine.read.chunk import AT
from lakegate.spark_jobs import deequ
from lakegate.spark_jobs.checks import DeequMetrics
from lakegate.spark_jobs.keys import sharing
from lakegate.spark_jobs.queries import SparkTables, answer_queries
from lakegate.spark_jobs.references import AcceptedRecords
from lakegate.spark_jobs.session import FEW_ROWS, settings, start
from lakegate.spark_jobs.slices import merge_slices, write_slices
from lakegate.spark_jobs.split import split
from lakegate.spark_jobs.tasks import run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

    from lakegate.contracts.judge.answers import Answer
    from lakegate.contracts.plan.check import Check
    from lakegate.contracts.plan.plan import Plan
    from lakegate.contracts.plan.population import Keys
    from lakegate.contracts.plan.request import Request
    from lakegate.contracts.plan.result import Measurement, Shares
    from lakegate.contracts.plan.slices import Merged, WrittenSlice
    from lakegate.engine.evaluate.program import Program
    from lakegate.engine.measure.partial import LevelCounts, Partial
    from lakegate.engine.measure.shares import Evaluation
    from lakegate.engine.read.chunk import Level, Source
    from lakegate.engine.slices.delivery import AcceptedSlices
    from lakegate.engine.slices.merging import MergedDelivery
    from lakegate.engine.split.rejected import Rejected
    from lakegate.spark_jobs.tasks import Pass

SMALL = 1 << 20
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
    _programs: Mapping[Level, Program] = field(default_factory=dict)
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
        if sum(sizes) <= SMALL:
            self._settings.enter_context(settings(self.session, FEW_ROWS))
        own = {"spark": self.session.version, "pyspark": pyspark.__version__, "duckdb": duckdb.__version__}
        return own | {"deequ": deequ.version(self.session)}

    def database(self) -> duckdb.DuckDBPyConnection:
        """See `Backend`."""
        return database(Path(self._folder.name))

    def evaluate(self, evaluation: Evaluation) -> list[Partial]:
        """See `Backend`."""
        self._programs = evaluation.programs
        self._passed, partials = run(self.session, evaluation)
        self.worker_seconds += sum(partial.cpu_seconds for partial in partials)
        return partials

    def measure(
        self, programs: Mapping[Level, Program], counts: Mapping[Level, LevelCounts], partials: list[Partial]
    ) -> Iterator[Measurement]:
        """See `Backend`."""
        for level, program in programs.items():
            metrics = DeequMetrics(program, counts[level], self.request.judged_at, self.session, partials, self.passed)
            yield from metrics.measurements()

    def sharing(self, own: Program, keys: Keys, limit: int | None) -> pa.Table:
        """See `Backend`."""
        found = sharing(own, self.passed.rows(own), keys, limit).collect()
        types = {"id": pa.int64(), AT: pa.string()}
        return pa.table({name: pa.array([row[name] for row in found], types[name]) for name in identity(own)})

    def split(self, source: Source, rejected: Rejected) -> Shares | None:
        """See `Backend`."""
        return split(self.session, self.plan, source, rejected, self.request.output_uri)

    def slices(self, accepted: AcceptedSlices) -> tuple[WrittenSlice, ...]:
        """See `Backend`."""
        return write_slices(self.session, accepted)

    def merge(self, delivery: MergedDelivery) -> tuple[tuple[WrittenSlice, ...], Merged]:
        """See `Backend`: in the driver, because each row is compared with those before it."""
        return merge_slices(delivery)

    def answer_queries(self, checks: tuple[Check, ...], rows: int) -> tuple[Answer, ...]:
        """See `Backend`."""
        delivered = self.passed.rows(self._programs[()]) if self._programs[()].is_queried else None
        tables = SparkTables(self.plan, self.request.judged_at, delivered, AcceptedRecords(self.session, self.request))
        return answer_queries(self.session, checks, tables, rows=rows)

    def close(self) -> None:
        """Release the memory of the attempt."""
        if self._passed is not None:
            self._passed.frame.unpersist()
        self._settings.close()
        self._folder.cleanup()
