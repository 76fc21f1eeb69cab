"""Deliveries judged by the native engine, in this process and without a JVM."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.deliveries.delivery import Judged, judge_delivery, measure_natively

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.plan.plan import Plan


@pytest.fixture(scope="session")
def judge_files(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Judged]:
    """Judge the bytes of one or several objects as one delivery."""

    def judged(plan: Plan, *objects: bytes) -> Judged:
        return judge_delivery(measure_natively, plan, tmp_path_factory.mktemp("delivery"), *objects)

    return judged
