"""An error that nobody foresaw, in the schedule of one dataset: it stops no other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakegate.features.pull import pull_task
from tests.unit.features.pull.pull_stage import scheduled
from tests.unit.gate.test_unexpected_errors import of

if TYPE_CHECKING:
    import pytest


def test_a_pull_of_one_line_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is due."""

    def broken(*_: object) -> Any:
        raise ZeroDivisionError

    pull = scheduled()
    monkeypatch.setattr(pull_task, "_pull", broken)

    assert of(pull.tick().failures) == [f"ZeroDivisionError @ {pull.row.dataset}"]
