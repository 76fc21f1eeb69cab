"""Metrics of the Lambda that sweeps: measurements by schedule."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from functions import sweep_handler
from lakegate.aws import lambda_runtime
from tests.unit.aws.test_delivery_over_aws import settings
from tests.unit.features.revalidation.revalidation_stage import measured_hourly
from tests.unit.functions.test_handlers import Context

if TYPE_CHECKING:
    import pytest


def test_a_sweep_counts_how_measurements_ended(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One run that holds, then one that does not; a sweep in which none ended counts none."""
    for name, value in settings("00app").items():
        monkeypatch.setenv(name, value)
    stage = measured_hourly()
    monkeypatch.setattr(sweep_handler, "dependencies", lambda: stage.env.dependencies)
    for broken in (set[str](), {"once"}):
        stage.broken = broken
        stage.env.memory.clock.sleep(3_600)
        for _ in range(2):
            sweep_handler.handler({}, Context())
            stage.answer(stage.runs[-1])
            stage.env.memory.clock.sleep(360)
    lambda_runtime.INVOCATION.set(None)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if "RevalidationsHeld" in line]
    names = ("RevalidationsHeld", "RevalidationsBroken", "RevalidationsFailed")

    assert [tuple(each[name][0] for name in names) for each in lines] == [
        (0.0, 0.0, 0.0),
        (1.0, 0.0, 0.0),
        (0.0, 0.0, 0.0),
        (0.0, 1.0, 0.0),
    ]
