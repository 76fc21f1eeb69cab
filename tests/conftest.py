"""What the tests of a folder need, as a marker: `make quick` passes over all of these, `make test` runs them all."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")  # how long an example takes says more of the machine than of the code

HERE = Path(__file__).parent
NEEDS = {
    HERE / "e2e": pytest.mark.e2e,
    HERE / "engine": pytest.mark.corpus,
    HERE / "golden": pytest.mark.corpus,
    HERE / "infra/emr": pytest.mark.service,
    HERE / "infra/packaging": pytest.mark.tools,
    HERE / "sam": pytest.mark.tools,
    HERE / "security": pytest.mark.corpus,
    HERE / "simulation": pytest.mark.simulation,
    HERE / "unit/formats/test_conversions.py": pytest.mark.corpus,
    HERE / "unit/formats/test_document.py": pytest.mark.corpus,
    HERE / "unit/formats/test_examine.py": pytest.mark.corpus,
    HERE / "unit/linting": pytest.mark.corpus,
    HERE / "unit/queries": pytest.mark.corpus,
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test by the file and the folders it lies in."""
    for item in items:
        for place in (item.path, *item.path.parents):
            if place in NEEDS:
                item.add_marker(NEEDS[place])
