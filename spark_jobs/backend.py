"""Spark as what evaluates shares: the native engine in its workers, Deequ over what they hand over (`engine.attempt.Backend`)."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pyspark

from engine.measure.tables import database
from spark_jobs.checks import LevelChecks
from spark_jobs.keys import sharing
from spark_jobs.queries import Tables, ask
from spark_jobs.references import Accepted
from spark_jobs.session import start
from spark_jobs.split import split
from spark_jobs.tasks import run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray
    from pyspark.sql import SparkSession

    from contracts.answer import Answer
    from contracts.check import Check
    from contracts.plan import Plan
    from contracts.population import Keys
    from contracts.request import Request
    from contracts.result import Measurement, Shares
    from engine.evaluate.program import Program
    from engine.explain.rejected import Rejected
    from engine.measure.partial import LevelCounts, Partial
    from engine.measure.shares import Evaluation
    from engine.read.chunk import Level, Source
    from spark_jobs.tasks import Pass


@dataclass(slots=True)
class Spark:
    """The session of one attempt."""

    plan: Plan
    request: Request
    _folder: tempfile.TemporaryDirectory[str] = field(default_factory=lambda: tempfile.TemporaryDirectory("-lakegate"))
    _session: SparkSession | None = None
    _passed: Pass | None = None
    _programs: Mapping[Level, Program] = field(default_factory=dict)
    worker_seconds: float = 0.0
    """Processor seconds of the Python workers that evaluated shares."""

    @property
    def session(self) -> SparkSession:
        """The session, once it was begun."""
        assert self._session is not None
        return self._session

    @property
    def passed(self) -> Pass:
        """The pass over all shares, once it was made."""
        assert self._passed is not None
        return self._passed

    def begin(self) -> dict[str, str]:
        """See `Backend`."""
        self._session = start()
        return {"spark": self.session.version, "pyspark": pyspark.__version__, "duckdb": duckdb.__version__}

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
            checks = LevelChecks(self.session, program, counts[level], partials, self.passed, self.request.judged_at)
            yield from checks.measurements()

    def sharing(self, own: Program, keys: Keys, limit: int | None) -> NDArray[np.int64]:
        """See `Backend`."""
        found = sharing(own, self.passed.rows(own), keys, limit).collect()
        return np.array([row["id"] for row in found], np.int64)

    def split(self, source: Source, rejected: Rejected) -> Shares | None:
        """See `Backend`."""
        return split(self.session, self.plan, source, rejected, self.request.output_uri)

    def ask(self, checks: tuple[Check, ...], rows: int) -> tuple[Answer, ...]:
        """See `Backend`."""
        delivered = self.passed.rows(self._programs[()]) if self._programs[()].is_asked else None
        tables = Tables(self.plan, self.request.judged_at, delivered, Accepted(self.session, self.request))
        return ask(self.session, checks, tables, rows=rows)

    def close(self) -> None:
        """Give the memory of the attempt back."""
        if self._passed is not None:
            self._passed.frame.unpersist()
        self._folder.cleanup()
