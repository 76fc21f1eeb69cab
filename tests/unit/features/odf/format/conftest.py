from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def odf_schema() -> Path:
    """ODF's published schema for FlatBuffers, where `ODF_SCHEMA` names it."""
    if "ODF_SCHEMA" not in os.environ:
        pytest.skip("ODF_SCHEMA names no opendatafabric.fbs")
    return Path(os.environ["ODF_SCHEMA"])
