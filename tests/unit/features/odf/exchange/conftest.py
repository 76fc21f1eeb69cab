"""A signed line of slices, and the dataset of ODF that it is shared as."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.features.odf.exchange.shared_dataset import Lake, a_line


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A line that no test changes."""
    return a_line(tmp_path_factory.mktemp("line"))


@pytest.fixture
def line(made: Lake, tmp_path: Path) -> Lake:
    """A copy of the line for one test."""
    return replace(made, folder=tmp_path / "made", objects=dict(made.objects), stored=list(made.stored))


@pytest.fixture
def shared(made: Lake, tmp_path: Path) -> Path:
    """The line as a dataset in a folder."""
    made.export(tmp_path / "shared")
    return tmp_path / "shared"
