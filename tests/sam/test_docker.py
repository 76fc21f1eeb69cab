"""The real `sam local`, in containers: `make test-docker`. What runs in them is the built template and its bundle."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config

from infra.setup.environments import program
from lakegate.gate.delivery.delivery_row import workload_id
from tests.sam.aws import Aws, Deployed
from tests.sam.conftest import local
from tests.sam.emulator import CREDENTIALS, REGION, free_port
from tests.sam.engine import NoEngineError, engine, gateway
from tests.sam.events import by_queue, landed, moved, scheduled

pytestmark = pytest.mark.skipif("LAKEGATE_DOCKER" not in os.environ, reason="containers: make test-docker runs these")
NAMES = ("IntakeFunction", "CompletionFunction", "SweepFunction", "NotifyFunction")
NOBODYS = moved("00f1cbn5g4bb0c01", "00f1982r1uukb925")
CASES = [
    ("IntakeFunction", by_queue, (landed("in/a.csv"),), {"batchItemFailures": []}),
    ("CompletionFunction", by_queue, ("no json", NOBODYS), {"batchItemFailures": [{"itemIdentifier": "m0"}]}),
    ("SweepFunction", scheduled, (), {"looked_at": 0, "failures": 0}),
    ("NotifyFunction", scheduled, (), {"unsent": 0}),
]


class Local:
    """`sam local`, and the AWS that its containers use."""

    def __init__(self, built: Path, aws: Aws, reached: dict[str, str], folder: Path) -> None:
        self.deployed = Deployed.on(aws)
        stack = local(built, aws)
        variables = {name: stack.function(name)["Environment"]["Variables"] for name in NAMES}
        (folder / "variables.json").write_text(json.dumps(variables))
        values = {"ServiceEndpoint": aws.address, "EmrApplicationId": "00f1"}
        parameters = " ".join(f"ParameterKey={name},ParameterValue={value}" for name, value in values.items())
        self.words = ["--template", str(built), "--skip-pull-image", "--env-vars", str(folder / "variables.json")]
        self.words += ["--parameter-overrides", parameters]
        self.environment = {
            **os.environ,
            **reached,
            **CREDENTIALS,
            "AWS_DEFAULT_REGION": REGION,
            "SAM_CLI_TELEMETRY": "0",
        }
        self.environment |= {"AWS_ENDPOINT_URL": aws.address}
        self.folder = folder

    def invoke(self, function: str, event: Any) -> Any:
        """What `sam local invoke` prints."""
        (self.folder / "event.json").write_text(json.dumps(event))
        command = [program("sam/sam"), "local", "invoke", function, "--event", self.folder / "event.json", *self.words]
        ended = subprocess.run(  # noqa: S603 - SAM
            command, env=self.environment, capture_output=True, text=True, check=False
        )
        assert not ended.returncode, ended.stderr
        return json.loads(ended.stdout.strip().splitlines()[-1])


@pytest.fixture(scope="module")
def sam_local(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    """An engine, an image, and an AWS that containers reach."""
    folder = tmp_path_factory.mktemp("docker")
    try:
        with engine(folder) as reached:
            aws = Aws()
            aws.start(gateway(reached))
            with closing(aws):
                yield Local(built, aws, reached, folder)
    except NoEngineError as error:
        pytest.skip(f"no container can run here: {error}")


@pytest.mark.parametrize(("function", "event", "arguments", "expected"), CASES, ids=NAMES)
def test_sam_local_invoke(
    sam_local: Local, function: str, event: Any, arguments: tuple[str, ...], expected: object
) -> None:
    """Each function answers in its container as it does in Lambda."""
    assert expected == sam_local.invoke(function, event(*arguments))


def test_an_object_goes_its_way_in_a_container(sam_local: Local) -> None:
    """The object of an event to the container ends in quarantine on the AWS outside."""
    version = sam_local.deployed.land("in/b.csv")

    sam_local.invoke("IntakeFunction", by_queue(landed("in/b.csv")))

    assert sam_local.deployed.states()[workload_id("landing", "in/b.csv", version)] == "QUARANTINED"


def test_sam_local_start_lambda(sam_local: Local) -> None:
    """boto3 invokes each function by its name, as it would in AWS."""
    port = free_port()
    command = [program("sam/sam"), "local", "start-lambda", "--port", str(port), *sam_local.words]
    log = sam_local.folder / "lambda.log"
    with log.open("wb") as output:
        server = subprocess.Popen(command, env=sam_local.environment, stdout=output, stderr=output)  # noqa: S603 - SAM
    try:
        while b"Running on" not in log.read_bytes():
            assert server.poll() is None, log.read_text()
            time.sleep(0.1)
        patient = Config(read_timeout=60, retries={"total_max_attempts": 1})
        known = {name.lower(): value for name, value in CREDENTIALS.items()}
        client = boto3.client(
            "lambda", endpoint_url=f"http://127.0.0.1:{port}", region_name=REGION, config=patient, **known
        )  # type: ignore[arg-type] # three texts
        for function, event, arguments, expected in CASES:
            answer = client.invoke(FunctionName=function, Payload=json.dumps(event(*arguments)))

            assert expected == json.loads(answer["Payload"].read())
    finally:
        server.terminate()
        server.wait()
