"""What all tests of the simulation share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.simulation.contract import results_remembered


@pytest.fixture(scope="module", autouse=True)
def _remembered() -> Iterator[None]:
    with results_remembered():
        yield
