"""The session of the job."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spark_jobs.session import start

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
