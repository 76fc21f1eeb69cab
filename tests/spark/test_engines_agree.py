"""The job gives the result of the native engine for generated cases."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from lakegate.contract.delivery_policy import OnReject
from lakegate.contract.file_formats import Compression
from lakegate.plan.plan import Plan
from lakegate.plan.request import Request
from lakegate.plan.result import Result
from tests.agreement.cases import case_of
from tests.agreement.choice import chosen
from tests.agreement.engines import differences, native
from tests.agreement.run import disagreements

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


pytestmark = pytest.mark.spark
CASES = 100
"""`make nightly` compares 20,000, from a seed that it prints."""


def test_both_engines_give_one_answer(spark: SparkSession) -> None:
    """Generated contracts and damaged deliveries with every kind of 100: results, verdicts and both shares are the same."""
    from lakegate.spark.spark_job import validate  # noqa: PLC0415 - Spark's settings must be made first

    assert list(map(str, disagreements(chosen(map(case_of, range(CASES))), validate, spark))) == []


@pytest.mark.usefixtures("spark")
def test_a_record_that_is_not_written_is_found(tmp_path: Path) -> None:
    """Where an engine loses an accepted record while it writes the shares, the comparison reports it."""
    from lakegate.spark.spark_job import validate  # noqa: PLC0415 - Spark's settings must be made first

    def losing(request: Request, plan: Plan) -> Result:
        found = validate(request, plan)
        assert found.shares is not None
        for each in found.shares.accepted:
            path = Path(urlsplit(each.uri).path)
            path.write_bytes(path.read_bytes().rsplit(b"\n", 2)[0] + b"\n")
        return found

    def is_split(seed: int) -> bool:
        case = case_of(seed)
        plan, folder = case.plan, tmp_path / str(seed)
        folder.mkdir()
        if plan.policy.on_reject is OnReject.FILE or plan.storage.compression is not Compression.NONE:
            return False
        answer = native(case, folder)
        return plan.storage.format.is_text and bool(answer.accepted and answer.rejected)

    case = case_of(next(filter(is_split, count(319))))  # the first one that is split

    (found,) = differences(case, losing, tmp_path / "losing")
    assert found.startswith(".accepted")
