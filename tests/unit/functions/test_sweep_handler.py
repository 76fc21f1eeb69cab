"""Metrics of the Lambda that sweeps: pauses that last for days."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta

import pytest

from functions import sweep_handler
from lakegate.aws import lambda_runtime
from lakegate.aws.lambda_runtime import HandlerError
from lakegate.base.errors import PortError
from tests.unit.aws.test_delivery_over_aws import settings
from tests.unit.functions.test_handlers import Context
from tests.unit.gate.datasets.test_pauses import held, resumed


def test_a_sweep_counts_lines_that_are_paused_for_days(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The operator is told after three days, once for each line and sweep, until the line is resumed."""
    for name, value in settings("00app").items():
        monkeypatch.setenv(name, value)
    env = held("a", "b")
    monkeypatch.setattr(sweep_handler, "dependencies", lambda: env.dependencies)
    for hours in (71, 2):
        env.memory.clock.sleep(hours * 3_600)
        sweep_handler.handler({}, Context())
    resumed(env)
    env.memory.clock.sleep(60)
    sweep_handler.handler({}, Context())
    lambda_runtime.INVOCATION.set(None)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if "LongPauses" in line]

    assert [each["LongPauses"] for each in lines] == [[0.0], [1.0], [0.0]]


def test_a_sweep_is_noted_as_long_as_it_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """The note ends with the invocation at the latest, and is taken away when the sweep ends, even by an error."""
    for name, value in settings("00app").items():
        monkeypatch.setenv(name, value)
    env = held("a")
    now = env.dependencies.now
    seen: list[bool] = []

    def swept(_: object) -> Iterator[None]:
        agenda = env.dependencies.agenda
        seen.extend(agenda.is_sweeping(now + timedelta(seconds=each)) for each in (0, 89, 91))
        raise PortError("GetItem: Unknown")
        yield

    monkeypatch.setattr(sweep_handler, "dependencies", lambda: env.dependencies)
    monkeypatch.setattr(sweep_handler, "sweep", swept)
    with pytest.raises(HandlerError):
        sweep_handler.handler({}, Context())
    lambda_runtime.INVOCATION.set(None)

    assert seen == [True, True, False]
    assert not env.dependencies.agenda.is_sweeping(now)
