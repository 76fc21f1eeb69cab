"""The cost of an attempt is measured, wherever its tasks run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.deliveries.delivery import Judged, plan_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


pytestmark = pytest.mark.spark


def work(spark: SparkSession) -> float:
    """Some seconds of tasks, by the tasks' own clocks."""
    from lakegate.spark.spark_job import _tasks  # noqa: PLC0415 - Spark's settings must be made first

    context = spark.sparkContext
    before = _tasks(context)
    spark.range(20_000_000).selectExpr("sum(sqrt(id) * sin(id))").collect()
    return (_tasks(context) - before) / 1e9


def test_the_meter_sees_the_work_of_tasks(spark: SparkSession) -> None:
    """On one machine the JVM's clock counts at least the time of the tasks by the clocks that are read on a cluster."""
    from lakegate.spark.spark_job import Meter  # noqa: PLC0415 - Spark's settings must be made first

    before = Meter.read()
    tasks = work(spark)
    taken = Meter.read().since(before)

    assert 0 < tasks <= taken + 0.1


def test_every_result_says_what_it_cost(judge_files: Callable[..., Judged]) -> None:
    """Be the delivery judged or unreadable, its result records processor seconds, and more of them than none."""
    plan = plan_of({"id": "integer"})

    costs = [judge_files(plan, content).result.vcpu_seconds for content in (b"id\n1\n", b"")]

    assert all(cost is not None and cost > 0 for cost in costs)


def test_processor_seconds_of_workers_are_counted(
    judge_files: Callable[..., Judged], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time of Python workers is in the result even if the clocks of the driver and its JVM do not advance."""
    from lakegate.spark.spark_job import Meter  # noqa: PLC0415 - Spark's settings must be made first

    monkeypatch.setattr(Meter, "since", lambda *_: 0.0)

    cost = judge_files(plan_of({"id": "integer"}), b"id\n" + b"1\n" * 50_000).result.vcpu_seconds

    assert cost is not None
    assert cost > 0
