"""One local stack for all tests of this folder, on free ports and in a temporary folder: it runs beside any other."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.aws import opened
from cli.publish import edition_of
from functions.adapters import clients
from functions.usecases.publish import publish
from functions.usecases.routing import add_route
from functions.usecases.steps import run
from infra.local.stack import Stack, Wishes
from infra.local.state import VARIABLE
from tests.e2e.deployed import Deployed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from functions.usecases.gate import Gate

HERE = Path(__file__).parent
CONTRACTS = {"shop/": HERE / "shop.odcs.yaml", "rows/": HERE / "rows.odcs.yaml"}
"""Two small contracts, by the prefix that delivers to them."""


@pytest.fixture(scope="package")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """The stack, with one small contract; it is gone when the tests are."""
    before = dict(os.environ)
    path = tmp_path_factory.mktemp("stack") / "local.json"
    os.environ[VARIABLE] = str(path)
    local = Stack(path)
    try:
        state = local.up(Wishes(warm=False))
        with opened(local=True) as there:
            gate = there.working_gate()
            _publish(gate)
            named = clients.client("cloudformation").describe_stack_resources(StackName=there.name)["StackResources"]
            yield Deployed(
                state, there, gate, {each["LogicalResourceId"]: each["PhysicalResourceId"] for each in named}
            )
    finally:
        local.down()
        clients._client.cache_clear()  # noqa: SLF001 - the clients of a stack that is gone
        os.environ.clear()
        os.environ.update(before)


@pytest.fixture
def stack(deployed: Deployed) -> Iterator[Deployed]:
    """The stack, without faults that an earlier test ordered."""
    deployed.forget_orders()
    yield deployed
    deployed.forget_orders()


def _publish(gate: Gate) -> None:
    for prefix, contract in CONTRACTS.items():
        published = run(publish(gate, edition_of(str(contract))), gate.clock)
        run(add_route(gate, prefix, published.contract, "sales", 1), gate.clock)
