from __future__ import annotations

from collections.abc import Callable

import pytest

from lakegate.contract.file_formats import Format
from tests.deliveries.delivery import Judged
from tests.deliveries.hostile_names import hostile_dataset, of_bounds

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("form", [Format.JSONL, Format.PARQUET])
def test_each_field_is_measured_by_its_own_rule(form: Format, judge_files: Callable[..., Judged]) -> None:
    """Columns named like the paths of nested fields: no rule falls on another field, as with the native engine."""
    for seed in range(4):
        case = hostile_dataset(seed, form)
        plan = case.plan(form)

        assert (seed, of_bounds(plan, judge_files(plan, case.file(form)).result)) == (seed, case.expected)
