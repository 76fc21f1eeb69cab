"""Decimals of 38 digits in every format, by the native engine."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lakegate.contract.file_formats import Format, Storage
from lakegate.verdict.check_status import Status
from tests.deliveries.delivery import Judged
from tests.engine.decimals import FAILING, content, plan
from tests.engine.formats import failing


@pytest.mark.parametrize("form", [Format.CSV, Format.JSONL, Format.PARQUET, Format.AVRO, Format.ORC])
def test_all_digits_of_a_decimal_are_judged(form: Format, judge_files: Callable[..., Judged]) -> None:
    """Bounds, lists, keys and pairs of columns of several scales are compared exactly; so does SQL."""
    judged = judge_files(plan(Storage(form)), content(form))
    found = failing(judged)

    assert found | FAILING == found
    assert judged.statuses()["sql"] is Status.PASS
