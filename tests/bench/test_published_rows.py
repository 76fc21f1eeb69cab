from __future__ import annotations

from pathlib import Path

import pytest

from infra.samples.sample_data import SAMPLES, write
from lakegate.contract.delivery_policy import PublishAs
from tests.bench.data import CLEAN
from tests.bench.published_rows import WAYS, judge, plan_of


@pytest.mark.parametrize("way", WAYS)
def test_each_way_publishes_the_same_accepted_rows(tmp_path: Path, way: str) -> None:
    """As slices and as typed files bytes are written; what is published as it arrived is not written again."""
    data = tmp_path / "data.csv"
    write(SAMPLES[CLEAN], data, 300, 1)

    assert (judge(way, data, tmp_path) > 0) == (way != "original")
    assert plan_of(way).policy.publish_as is PublishAs(way)
