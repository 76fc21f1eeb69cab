"""The built template, as tests/sam has it, and what is deployed with it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from lakegate.infra.local.clone import ROOT, TOOLS
from lakegate.infra.packaging.bundles import bundle_functions, bundle_job
from tests.sam.conftest import built, stack

__all__ = ["build", "built", "stack"]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the bundles; the job's is for a machine that has its Python where this one has.

    The functions' bundle stands for the judge function's, which takes a minute: `test_bundles.py` reads and runs that one.
    """
    folder = tmp_path_factory.mktemp("build")
    functions = bundle_functions(ROOT, TOOLS, folder)
    (folder / "judge").mkdir()
    shutil.copyfile(functions, folder / "judge/judge.zip")
    bundle_job(ROOT, TOOLS, folder, Path(sys.executable).resolve())
    return folder
