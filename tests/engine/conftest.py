"""Deliveries judged by the native engine, in this process and without a JVM."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lakegate.plan.plan import Plan
from tests.deliveries.delivery import Judged, judge_delivery, measure_natively


@pytest.fixture(scope="session")
def judge_files(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Judged]:
    """Judge the bytes of one or several objects as one delivery."""

    def judged(plan: Plan, *objects: bytes) -> Judged:
        return judge_delivery(measure_natively, plan, tmp_path_factory.mktemp("delivery"), *objects)

    return judged
