"""Decimals of 38 digits in every format, by Spark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakegate.contract.contract_model import Origin, Rule
from lakegate.contract.file_formats import Format, Storage
from lakegate.plan.request import Reference
from lakegate.verdict.check_status import Status
from tests.deliveries.delivery import Judged, measure_natively, plan_of, request_for
from tests.engine.decimals import FAILING, content, plan
from tests.engine.formats import failing
from tests.spark.test_references import accepted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


pytestmark = pytest.mark.spark


@pytest.mark.parametrize("form", [Format.CSV, Format.JSONL, Format.PARQUET, Format.AVRO, Format.ORC])
def test_all_digits_of_a_decimal_are_judged(form: Format, judge_files: Callable[..., Judged]) -> None:
    """Bounds, lists, keys and pairs of columns of several scales are compared exactly; so does SQL."""
    judged = judge_files(plan(Storage(form)), content(form))
    found = failing(judged)

    assert found | FAILING == found
    assert judged.statuses()["sql"] is Status.PASS


@pytest.mark.parametrize("engine", ["native", "spark"])
def test_accepted_decimals_of_another_scale_are_compared_exactly(
    engine: str, spark: SparkSession, tmp_path: Path
) -> None:
    """Of a line of another contract, whose plan has other digits: a value beyond the digits of the reference equals none."""
    from lakegate.spark.spark_job import validate  # noqa: PLC0415 - Spark's settings must be made first

    assert spark
    to = Rule("fk", "foreignKey", Origin("$"), ("key",), {"to": "lakegate://other/keys_v1/key"})
    measure, found = {"native": measure_natively, "spark": validate}[engine], {}
    for own, other in (
        ("decimal(38,0)", "decimal"),
        ("decimal", "decimal(38,0)"),
        ("decimal(38,10)", "decimal(38,30)"),
    ):
        folder = tmp_path / f"{own} {other}"
        folder.mkdir()
        plan = plan_of({"key": own}, to)
        parts = accepted(folder, plan_of({"key": other}), b"key\n" + ACCEPTED[other])
        request = request_for(plan, folder, b"key\n1\n2\n12345678901234567890\n")
        measured = measure(replace(request, references=(Reference("other/keys_v1", 1, parts),)), plan)
        found[own, other] = [each.accept and each.accept.failing for each in measured.measurements]

    assert found == {
        ("decimal(38,0)", "decimal"): [0, 1],
        ("decimal", "decimal(38,0)"): [0, 0],
        ("decimal(38,10)", "decimal(38,30)"): [0, 2],
    }


ACCEPTED = {
    "decimal": b"1\n1.5\n12345678901234567890.000000000000000000\n",
    "decimal(38,0)": b"1\n2\n12345678901234567890\n99999999999999999999999999999999999999\n",
    "decimal(38,30)": b"1.000000000000000000000000000000\n1.9999999999999\n0.5\n",
}
