"""The Spark examples of docs/manifest.md run unchanged."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.unit.cli.conftest import Lakegate, lakegate
from tests.unit.docs.consumer_page import BY_COUNTRY, fill, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["lakegate"]
pytestmark = pytest.mark.spark


def test_the_example_of_spark_reads_every_dialect(
    lakegate: Lakegate,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Values, nulls and quotes are those that were delivered, in both dialects; and what was recalled is left out."""
    assert spark.version
    monkeypatch.chdir(tmp_path)
    fill(lakegate)
    lakegate.ok("get", "orders_v1", "data")
    found = {row.country: (row.orders, row.amount) for row in run("pyspark").collect()}

    assert found == BY_COUNTRY

    second = lakegate.json("get", "orders_v1", "--dry-run")["deliveries"][1]["workload"]
    lakegate.ok("recall", second, "--reason", "the wrong month")
    lakegate.ok("get", "orders_v1", "data", "--all")
    assert {row.country: row.orders for row in run("pyspark").collect()} == {None: 1, "BR": 2, "PT": 1}


def test_the_example_of_spark_takes_no_title_for_a_header(
    lakegate: Lakegate, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends where a delivery has lines above its header."""
    assert spark.version
    monkeypatch.chdir(tmp_path)
    fill(lakegate, titles="Orders\n")
    lakegate.ok("get", "orders_v1", "data")

    with pytest.raises(ValueError, match="height 1 has lines above its header"):
        run("pyspark")
