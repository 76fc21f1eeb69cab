"""Values that do not fit the type that their file gives them, by Spark: as natively, and never written as another value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError

from lakegate.contract.delivery_policy import OnReject, Policy
from lakegate.contract.file_formats import Format, Storage
from tests.deliveries.delivery import Judged, plan_of, rule
from tests.deliveries.written import as_parquet
from tests.engine.formats import failing
from tests.engine.unfit import FAR, UNFIT, far
from tests.spark.test_formats_rows import rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("name", UNFIT)
def test_a_value_that_does_not_fit_its_type_is_none_of_it(name: str, judge_files: Callable[..., Judged]) -> None:
    """The same failing values as natively."""
    case = UNFIT[name]
    plan = replace(plan_of({"x": case.declared}, rule("required", "x")), storage=Storage(case.form))

    assert failing(judge_files(plan, case.content)) == {"type-0/x": case.failing, "required/x": 0}


KINDS = pa.schema({"id": pa.int64(), "x": pa.timestamp("ms")})
BY_ROWS = Policy(on_reject=OnReject.ROWS)


def test_such_a_value_is_written_as_no_other_one(judge_files: Callable[..., Judged], spark: SparkSession) -> None:
    """In the rejected row it is null, beside its reason."""
    plan = replace(plan_of({"id": "integer", "x": "timestamp"}, policy=BY_ROWS), storage=Storage(Format.PARQUET))
    judged = judge_files(plan, as_parquet(pa.table({"id": [1, 2], "x": far("ms", 0, FAR)})))
    shares = judged.result.shares
    assert shares is not None

    assert [row["id"] for row in rows_of(spark, Format.PARQUET, shares.accepted)] == [1]
    assert rows_of(spark, Format.PARQUET, shares.rejected) == [{"_reasons": "type-1/x", "id": 2, "x": None}]


def test_accepted_rows_lose_no_value(judge_files: Callable[..., Judged]) -> None:
    """A column that is not declared has no rule that would reject the row."""
    plan = plan_of({"id": "integer"}, rule("required", "id"), policy=BY_ROWS)

    with pytest.raises(Py4JJavaError, match="cannot be written again"):
        judge_files(
            replace(plan, storage=Storage(Format.PARQUET)),
            as_parquet(pa.table({"id": [None, 2], "x": far("ms", 0, FAR)}, schema=KINDS)),
        )
