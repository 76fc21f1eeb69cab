"""The built template, as tests/sam has it, and what is deployed with it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lakegate.infra.local.places import ROOT, TOOLS
from lakegate.infra.packaging.bundles import bundle_functions, bundle_job
from tests.sam.conftest import built, stack

__all__ = ["build", "built", "stack"]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of both bundles; the job's is for a machine that has its Python where this one has."""
    folder = tmp_path_factory.mktemp("build")
    bundle_functions(ROOT, TOOLS, folder)
    bundle_job(ROOT, TOOLS, folder, Path(sys.executable).resolve())
    return folder
