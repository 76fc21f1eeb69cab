"""One local stack for all tests of a process: it has every optional function, so that any process runs the tests of any file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from infra.samples.demo import PARTNER
from lakegate.aws.open_stack import ACCOUNT
from tests.e2e.deployed import SMALL, Deployed
from tests.e2e.running import running


@pytest.fixture(scope="session")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """The stack, with small contracts, a judge function for deliveries below 800 bytes, the drift function, anchors and pulls.

    It is in a VPC that has the endpoints of docs/deploy.md and no others: what a function calls besides makes a test fail.
    """
    options = {"SmallFileBytes": str(SMALL), "DriftSchedule": "rate(1 day)", "AnchorDays": "1"}
    options |= {"PullObjects": f"arn:aws:s3:::{PARTNER}/*", "PullHosts": "localhost", "ValidatorHosts": "localhost"}
    options |= {"NamingSenders": ACCOUNT, "TableDatabase": "accepted"}
    options |= {"SubnetIds": "subnet-00000001,subnet-00000002", "SecurityGroupIds": "sg-00000001"}
    with running(tmp_path_factory.mktemp("stack"), **options) as stack:
        yield stack


@pytest.fixture
def stack(deployed: Deployed) -> Iterator[Deployed]:
    """The stack, without faults that an earlier test ordered."""
    deployed.forget_orders()
    yield deployed
    deployed.forget_orders()
