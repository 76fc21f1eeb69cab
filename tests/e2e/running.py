"""A local stack on free ports and in a folder of its own, with small contracts; it runs beside any other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from click.testing import CliRunner

from infra.local.local_stack import Stack, StackOptions
from lakegate.aws import clients
from lakegate.aws.open_stack import VARIABLE, open_deployed
from lakegate.cli.main import app
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import run
from lakegate.gate.registry.publish_contract import compile_document, publish, referred_of
from lakegate.gate.registry.routes import add_route
from tests.e2e.deployed import Deployed

if TYPE_CHECKING:
    from click.testing import Result


HERE = Path(__file__).parent
CONTRACTS = {
    f"{name}/": HERE / f"{name}.odcs.yaml" for name in ("shop", "rows", "parts", "listed", "sliced", "snapshots")
}
"""Small contracts, by the prefix that delivers to them."""


def lakegate(*words: str) -> Result:
    """What a command ends with. It runs in this process; what it would report instead of a traceback fails the test."""
    return CliRunner().invoke(app, words, catch_exceptions=False)


@contextmanager
def running(folder: Path, **parameters: str) -> Iterator[Deployed]:
    """The stack, with these parameters of the template; it is gone afterwards."""
    before = dict(os.environ)
    path = folder / "local.json"
    os.environ[VARIABLE] = str(path)
    local = Stack(path)
    try:
        state = local.up(StackOptions(warm=False, parameters=parameters))
        with open_deployed(local=True) as there:
            dependencies = there.working_dependencies()
            for prefix, contract in CONTRACTS.items():
                publish_contract(dependencies, prefix, contract.read_bytes())
            named = clients.client("cloudformation").describe_stack_resources(StackName=there.name)["StackResources"]
            yield Deployed(
                state, there, dependencies, {each["LogicalResourceId"]: each["PhysicalResourceId"] for each in named}
            )
    finally:
        local.down()
        clients._create_client.cache_clear()  # noqa: SLF001 - the clients of a stack that is gone
        os.environ.clear()
        os.environ.update(before)


def publish_contract(dependencies: Dependencies, prefix: str, body: bytes) -> None:
    """Publish a contract whose dataset is `sales`, and route a prefix to it."""
    compiled = compile_document(body, referred_of(dependencies, body))
    published = run(publish(dependencies, compiled), dependencies.clock)
    run(add_route(dependencies, prefix, published.contract, "sales", 1), dependencies.clock)
