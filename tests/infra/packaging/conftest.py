"""The built template, as tests/sam has it, and what is deployed with it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from lakegate.infra.local.clone import ROOT, TOOLS
from lakegate.infra.packaging import archives
from lakegate.infra.packaging.bundles import bundle_functions, bundle_job
from tests.sam.conftest import built, stack

__all__ = ["build", "built", "stack"]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the bundles; the job's is for a machine that has its Python where this one has.

    The functions' bundle stands for the judge's and the pull function's, which take time: `test_bundles.py` reads and runs those.
    """
    folder = tmp_path_factory.mktemp("build")
    functions = bundle_functions(ROOT, TOOLS, folder)
    for name in ("judge", "pull"):
        (folder / name).mkdir()
        shutil.copyfile(functions, folder / f"{name}/{name}.zip")
    quick_job(folder)
    return folder


def quick_job(folder: Path) -> Path:
    """The job's release, packed quickly and not as small as it can be: that takes three times as long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(archives, "LEVEL", 1)
        return bundle_job(ROOT, TOOLS, folder, Path(sys.executable).resolve())
