"""The built template, as tests/sam has it, and what is deployed with it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from infra.packaging import bundles
from infra.packaging.bundles import bundle_job
from lakegate.base.extension_points import ROOT, TOOLS
from tests.sam.conftest import built, stack
from tests.unit.cli.conftest import fresh_clients, lakegate  # noqa: F401 - fixtures

__all__ = ["build", "built", "stack"]


@pytest.fixture(scope="session")
def build(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the bundles; the job's finds the Python of any machine.

    The functions' bundle is the deployed one. It stands for the judge's and the pull function's, which take time:
    `test_bundles.py` reads and runs those.
    """
    folder = tmp_path_factory.mktemp("build")
    for name in ("lambda/functions", "judge/judge", "pull/pull", "table/table"):
        place = folder / f"{name}.zip"
        place.parent.mkdir()
        shutil.copyfile(built.parents[2] / "build/lambda/functions.zip", place)
    quick_job(folder)
    return folder


def quick_job(folder: Path) -> Path:
    """The job's release, packed without compression, which takes three times as long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bundles, "LEVEL", 0)
        return bundle_job(ROOT, TOOLS, folder)
