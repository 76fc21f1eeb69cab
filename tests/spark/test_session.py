"""The session of the job."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from lakegate.spark.local_spark import pinned_jars
from lakegate.spark.spark_session import settings, start
from tests.deliveries.delivery import Judged, plan_of, rule

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


pytestmark = pytest.mark.spark


def test_a_name_of_the_jvm_is_asked_for_once(spark: SparkSession) -> None:
    """A package, a class and a method that were mentioned before are known, whichever way PySpark came to them."""
    jvm = spark._jvm  # noqa: SLF001 - where PySpark and PyDeequ look it up
    again = start().sparkContext._jvm  # type: ignore[attr-defined]  # noqa: SLF001 - likewise

    assert jvm.java.lang.Math.abs is again.java.lang.Math.abs
    assert jvm.java.lang.Math.abs(-3) == 3
    assert jvm.java.util.ArrayList().isEmpty()


def test_settings_apply_to_a_block_alone(spark: SparkSession) -> None:
    """Afterwards a setting has the value of before, and one that had none is unset, also after an exception."""
    known, unknown = "spark.sql.ansi.enabled", "spark.lakegate.unknown"
    before = spark.conf.get(known)

    def fails() -> None:
        with settings(spark, {known: "true", unknown: "1"}):
            assert (spark.conf.get(known), spark.conf.get(unknown)) == ("true", "1")
            raise ArithmeticError

    with pytest.raises(ArithmeticError):
        fails()

    assert (before, spark.conf.get(known), spark.conf.get(unknown, None)) == ("false", "false", None)


def test_a_small_delivery_takes_few_jobs_of_one_task(spark: SparkSession, judge_files: Callable[..., Judged]) -> None:
    """The pass, the sums of shares, and one grouping of keys, each without a shuffle."""
    store = spark.sparkContext._jsc.sc().statusStore()  # type: ignore[attr-defined]  # noqa: SLF001 - where Spark counts its jobs
    before = store.jobsList(None).size()

    judge_files(plan_of({"id": "integer"}, rule("unique", "id"), rule("required", "id")), b"id\n1\n2\n")

    jobs = store.jobsList(None)
    own = sorted((jobs.apply(at) for at in range(jobs.size() - before)), key=lambda job: job.jobId())
    assert [(job.stageIds().size(), job.numTasks()) for job in own] == [(1, 1)] * 3


def test_every_result_names_the_version_of_deequ_that_ran(judge_files: Callable[..., Judged]) -> None:
    """It is that of the pinned jar, whatever PyDeequ was made for."""
    result = judge_files(plan_of({"id": "integer"}), b"id\n1\n").result

    assert f"deequ-{result.engines['deequ']}.jar" == pinned_jars()[0].file


def test_workers_have_the_engine_and_read_no_list_of_an_archive_again(spark: SparkSession) -> None:
    """A worker imports nothing of the engine, and at the start of a task reads no list of files in PySpark's archive."""

    def found(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        list(batches)
        opened: list[str] = []
        sys.addaudithook(lambda event, words: opened.append(str(words[0])) if event == "open" else None)
        importlib.invalidate_caches()
        is_loaded, archives = (
            "lakegate.engine.measure.share_evaluation" in sys.modules,
            sum(".zip" in each for each in opened),
        )
        yield pa.record_batch([pa.array([is_loaded]), pa.array([archives])], names=["loaded", "opened"])

    (row,) = spark.range(0, 1, 1, 1).mapInArrow(found, "loaded BOOLEAN, opened LONG").collect()

    assert (row["loaded"], row["opened"]) == (True, 0)
