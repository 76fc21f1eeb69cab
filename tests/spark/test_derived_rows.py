"""The job derives the rows that the native engine derives, in the same order and files of the same bytes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from lakegate.plan.result import Result
from tests.deliveries.derived import derived, derived_plan, input_of, rows_of
from tests.engine.test_derived_rows import BUYERS, BY_BUYER, BY_TOWN, DELIVERIES, OF_TYPES, ORDERS

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


def bytes_of(result: Result) -> list[bytes]:
    return [Path(urlsplit(each.uri).path).read_bytes() for each in result.derived]


def test_both_engines_derive_the_same_rows(tmp_path: Path) -> None:
    """Every type, nulls, an aggregate, and a join."""
    from lakegate.spark.spark_job import validate  # noqa: PLC0415 - Spark's settings must be made first

    references = (
        input_of(tmp_path, "orders", ORDERS, *DELIVERIES),
        input_of(tmp_path, "buyers", BUYERS, b"buyer,town\na,x\nb,y\n"),
    )
    for number, plan in enumerate((OF_TYPES, BY_BUYER, BY_TOWN)):
        native = derived(plan, tmp_path / f"native-{number}", *references)
        job = derived(plan, tmp_path / f"job-{number}", *references, engine=validate)

        assert rows_of(job) == rows_of(native) != []
        assert bytes_of(job) == bytes_of(native)


def test_the_job_refuses_what_the_native_engine_refuses(tmp_path: Path) -> None:
    from lakegate.spark.spark_job import validate  # noqa: PLC0415 - likewise

    plan = derived_plan("SELECT CAST(buyer AS BIGINT) AS x FROM orders", {"x": "integer"}, orders=ORDERS)
    one = input_of(tmp_path, "orders", ORDERS, DELIVERIES[0])
    failed = derived(plan, tmp_path / "failed", one, engine=validate)
    empty = derived(BY_BUYER, tmp_path / "empty", replace(one, parts=()), engine=validate)
    absent = derived(BY_BUYER, tmp_path / "absent", replace(one, height=-1), engine=validate)

    assert failed.unreadable is not None
    assert absent.unreadable is not None
    assert (failed.unreadable.code, absent.unreadable.code) == ("query-failed", "input-absent")
    assert (empty.unreadable, rows_of(empty)) == (None, [])
