"""What all tests of the simulation share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.simulation.contract import results_remembered

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session", autouse=True)
def _remembered() -> Iterator[None]:
    with results_remembered():
        yield
