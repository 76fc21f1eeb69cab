"""The job gives the result of the native engine, in every format; a worker that dies gives none."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from py4j.protocol import Py4JJavaError

from contracts.model import Compression
from engine import attempt
from engine.measure.shares import Evaluation
from tests.deliveries.delivery import judge_delivery, measure_natively, plan_of
from tests.deliveries.written import STORAGES, written
from tests.engine.test_formats import FIELDS, RULES, TABLE
from tests.spark.test_validate import staged

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from contracts.model import Storage
    from contracts.result import Measured, Result
    from tests.deliveries.delivery import Judged

pytestmark = pytest.mark.spark
PLAIN = [each for each in STORAGES if each.compression is Compression.NONE]


def comparable(result: Result) -> Result:
    """A result but for its engines, their own findings, and what it cost."""

    def own(it: Measured | None) -> Measured | None:
        return it and replace(it, engine_passed=None)

    measurements = tuple(
        replace(each, accept=own(each.accept), tolerate=own(each.tolerate)) for each in result.measurements
    )
    return replace(result, engines={}, timings={}, vcpu_seconds=None, measurements=measurements)


@pytest.mark.parametrize("storage", PLAIN, ids=lambda storage: storage.suffix)
def test_both_engines_give_one_document(storage: Storage, judge_files: Callable[..., Judged], tmp_path: Path) -> None:
    """Two objects of each format: counts, samples, columns and reasons are the same."""
    plan = replace(plan_of(FIELDS, *RULES), storage=storage)
    objects = written(TABLE, storage), written(TABLE.slice(1, 2), storage)

    native = judge_delivery(measure_natively, plan, tmp_path, *objects).result

    assert comparable(judge_files(plan, *objects).result) == comparable(native)


def test_a_worker_that_is_killed_fails_the_attempt(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dead worker ends the job with an exception, and never with a result."""
    from spark_jobs.validate import main  # noqa: PLC0415 - Spark's settings must be made first

    class Killed(Evaluation):
        """An evaluation whose process is killed, as for want of memory."""

        def share(self, *_: object) -> None:  # type: ignore[override]
            os.kill(os.getpid(), signal.SIGKILL)

    assert spark.version
    monkeypatch.setattr(attempt, "Evaluation", Killed)

    with pytest.raises(Py4JJavaError):
        main(["--request", staged(tmp_path)])

    assert list(tmp_path.glob("out/*")) == []
