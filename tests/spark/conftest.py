"""One Spark session for all tests of this folder, and deliveries put before the gate through the job's own entry."""

from __future__ import annotations

import gc
import os
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from lakegate.plan.plan import Plan
from lakegate.spark.local_spark import use_local_spark
from tests.deliveries.delivery import Judged, judge_delivery
from tests.spark.jobs import ROOT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


OTHERS_WARNINGS = (
    "ignore:distutils Version classes:DeprecationWarning",  # PySpark asks Arrow's version with the old classes
    "ignore:The distutils package is deprecated:DeprecationWarning",  # the same, without the distutils of setuptools
    "ignore:unclosed <socket:ResourceWarning",  # PySpark and py4j leave their loopback sockets to the collector
    "ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning",  # the same, seen by pytest
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Warnings are errors here too, but for those of PySpark itself."""
    for item in items:
        if item.get_closest_marker("spark"):
            for warning in OTHERS_WARNINGS:
                item.add_marker(pytest.mark.filterwarnings(warning))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session of the job, on this machine, with the quick compiler: every delivery here is small."""
    use_local_spark(tmp_path_factory.mktemp("spark"), size=0, memory="1g")
    from lakegate.spark.spark_session import start  # noqa: PLC0415 - reads the settings made above

    session = start()
    yield session
    session.stop()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture(scope="session")
def judge_files(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Judged]:
    """Judge the bytes of one or several objects as one delivery; the session's memory is given back after each."""
    from lakegate.spark.spark_job import validate  # noqa: PLC0415 - Spark's settings must be made first

    def judged(plan: Plan, *objects: bytes) -> Judged:
        found = judge_delivery(validate, plan, tmp_path_factory.mktemp("delivery"), *objects)
        spark.catalog.clearCache()
        return found

    return judged


@pytest.fixture
def environment_of_a_process(spark: SparkSession) -> dict[str, str]:
    """The environment in which another process starts the same Spark as this session."""
    assert spark.version

    return dict(os.environ)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a job on this machine."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("JAVA_HOME", "SPARK_LOCAL_IP", "SPARK_LOCAL_DIRS", "PYSPARK_SUBMIT_ARGS"):
            patch.setenv(name, os.environ.get(name, ""))
        use_local_spark(tmp_path_factory.mktemp("job"), size=0, memory="1g")
        return dict(os.environ) | {"PYTHONPATH": str(ROOT)}
