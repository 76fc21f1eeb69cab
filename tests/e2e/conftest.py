"""One local stack for all tests of this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lakegate.infra.samples.demo import PARTNER
from tests.e2e.running import running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.deployed import Deployed


@pytest.fixture(scope="package")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """The stack, with small contracts and what the demo pulls; it is gone when the tests are."""
    with running(tmp_path_factory.mktemp("stack"), PullObjects=f"arn:aws:s3:::{PARTNER}/*") as stack:
        yield stack


@pytest.fixture
def stack(deployed: Deployed) -> Iterator[Deployed]:
    """The stack, without faults that an earlier test ordered."""
    deployed.forget_orders()
    yield deployed
    deployed.forget_orders()
