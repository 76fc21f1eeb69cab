"""The processor seconds of an attempt: of this process, its JVM, and the executors' tasks.

On one machine (`local[*]`) tasks run inside the driver's JVM, whose own clock counts them with all else: compiling, planning,
collecting garbage. On a cluster the executors are other processes, and Spark's status of its stages has their tasks' time.
The Python workers that evaluate shares report their own time (`lakegate.spark_jobs.backend`). Not counted: executors that idle.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

if TYPE_CHECKING:
    from pyspark import SparkContext

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
