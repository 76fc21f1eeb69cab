"""Built once for all tests of a process: the bundle and the template, as `make package` builds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from contracts.errors import SetUpError
from infra.setup.environments import program
from tests.sam.built import Stack, build

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built template."""
    try:
        program("sam/sam")
    except SetUpError as error:
        pytest.skip(str(error))
    return build(tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="session")
def stack(built: Path) -> Stack:
    """The stack it becomes, with an application that exists already."""
    return Stack.read(built, EmrApplicationId="00f1982r1uukb925")
