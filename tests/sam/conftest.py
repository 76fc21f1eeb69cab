"""Built once for all tests of a process: the bundle and the template, as `make package` builds them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from infra.setup.environments import program
from lakegate.base.errors import SetUpError
from tests.fakes.receiver import certificate
from tests.sam.aws import BUS, Aws, Deployed
from tests.sam.built import Stack, build
from tests.sam.emulator import Emulator, unpacked


@cache
def _built(folder: Path) -> Path:
    """Once for the tests of all folders: pytest runs a session's fixture again for each conftest.py that imports it."""
    folder.mkdir()
    return build(folder)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built template."""
    try:
        program("sam/sam")
    except SetUpError as error:
        pytest.skip(str(error))
    return _built(tmp_path_factory.getbasetemp() / "built")


@pytest.fixture(scope="session")
def stack(built: Path) -> Stack:
    """The stack it becomes, with an application that exists already."""
    return Stack.read(built, EmrApplicationId="00f1982r1uukb925")


@dataclass
class Environment:
    """The deployed stack and its functions."""

    deployed: Deployed
    functions: dict[str, Emulator]

    def __getattr__(self, name: str) -> Any:
        """`intake`, `completion`, `sweep`, `notify`."""
        return self.functions[name]


@pytest.fixture(scope="session")
def aws() -> Iterator[Aws]:
    """One server for all tests."""
    aws = Aws()
    aws.start()
    yield aws
    aws.close()


@pytest.fixture(scope="session")
def emulators(built: Path, aws: Aws, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Emulator]]:
    """The four functions, each in an emulator that stays warm from test to test."""
    folder = tmp_path_factory.mktemp("emulators")
    stack = local(built, aws)
    unpacked(stack, built, folder)
    names = ("intake", "completion", "sweep", "notify")
    made = {
        name: Emulator(stack.function(f"{name.capitalize()}Function"), folder, folder / f"{name}.log", certificate())
        for name in names
    }
    yield made
    for each in made.values():
        each.stop()


@pytest.fixture
def env(aws: Aws, emulators: dict[str, Emulator], monkeypatch: pytest.MonkeyPatch) -> Iterator[Environment]:
    """The stack, empty; what the functions wrote before is forgotten. Job runs go on until a test ends them."""
    monkeypatch.setattr("moto.emrserverless.models.JOB_STATUS", "RUNNING")
    aws.fault, aws.released = None, threading.Event()
    for each in emulators.values():
        each.log.write_text("")
    yield Environment(Deployed.on(aws), emulators)
    aws.fault = None
    aws.released.set()


def local(built: Path, aws: Aws) -> Stack:
    """The stack as it is deployed on that server."""
    deployed = Deployed.on(aws)
    return Stack.read(
        built,
        ServiceEndpoint=aws.address,
        EmrApplicationId=deployed.application,
        LandingBucket="landing",
        LakeBucket="lake",
        RegistryTable="registry",
        WorkloadsTable="workloads",
        LedgerTable="ledger",
        EventBus=BUS,
    )
