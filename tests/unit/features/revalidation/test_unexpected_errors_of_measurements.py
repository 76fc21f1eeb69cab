"""An error that nobody foresaw, in the schedule of one dataset: it stops no other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lakegate.contract.contract_model import REVALIDATED
from lakegate.features.revalidation import revalidation
from lakegate.gate.effects import run
from lakegate.gate.scheduled_tasks import Discovery, Turn, discover
from tests.unit.features.revalidation.revalidation_stage import measured_hourly
from tests.unit.gate.test_unexpected_errors import of


def test_a_schedule_of_one_line_stops_no_other() -> None:
    """What is found in the registry."""
    stage = measured_hourly(b"good:1")

    def broken(*_: object) -> Any:
        raise ZeroDivisionError

    turn, found = Turn(), Discovery(REVALIDATED, "cursor", broken)
    run(
        discover(stage.env.dependencies, turn, replace(revalidation.TASK, discovery=found)),
        stage.env.dependencies.clock,
    )

    assert of(turn.failures) == [f"ZeroDivisionError @ {stage.row.dataset}"]
