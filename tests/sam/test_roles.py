"""The stack on an embedded AWS that enforces IAM: what the template grants is enough, and plain HTTP is refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import boto3
import pytest
from botocore.exceptions import BotoCoreError, ClientError

from infra.setup.environments import program
from lakegate.aws import clients
from lakegate.base.errors import SetUpError
from lakegate.cli.main import main
from lakegate.local_check import data_in_s3
from tests.sam.built import ROOT, sam
from tests.sam.emulator import REGION, free_port

ROOT_USER = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": REGION}
PATIENCE_SECONDS = 300
CONTRACT = str(ROOT / "contracts/examples/weather.dcm.yaml")
PARAMETERS = ("EmrApplicationId=00f1local", "SweepSchedule=rate(1 day)", "NotifySchedule=rate(1 day)")


class Guarded:
    """The deployed stack."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self.s3 = self.client("s3")
        self.outputs: dict[str, str] = {}

    def client(self, service: str) -> Any:
        """A client with all rights."""
        return boto3.client(service, endpoint_url=self.endpoint, region_name=REGION, **_keys())  # type: ignore[call-overload]  # any

    def invoke(self, output: str) -> Any:
        """What a function answers, run with its own role."""
        answer = self.client("lambda").invoke(FunctionName=self.outputs[output], Payload=b"{}")
        return json.loads(answer["Payload"].read())

    def allow_plain_http(self) -> None:
        """Take away the policies that refuse it."""
        for bucket in ("LandingBucket", "LakeBucket"):
            self.s3.delete_bucket_policy(Bucket=self.outputs[bucket])

    def deploy_tenant(self, **parameters: str) -> None:
        """Deploy the policies of one owner of contracts; they are among the outputs from then on."""
        given = [{"ParameterKey": name, "ParameterValue": value} for name, value in parameters.items()]
        formation = self.client("cloudformation")
        body = (ROOT / "tenant.yaml").read_text()
        formation.create_stack(
            StackName="lakegate-tenant", TemplateBody=body, Parameters=given, Capabilities=["CAPABILITY_IAM"]
        )
        formation.get_waiter("stack_create_complete").wait(StackName="lakegate-tenant")
        (made,) = formation.describe_stacks(StackName="lakegate-tenant")["Stacks"]
        self.outputs |= {each["OutputKey"]: each["OutputValue"] for each in made["Outputs"]}

    def person(self, name: str, *policies: str) -> Callable[..., int]:
        """The command line of somebody who has these policies; it gives the exit code."""
        iam = self.client("iam")
        iam.create_user(UserName=name)
        for policy in policies:
            iam.attach_user_policy(UserName=name, PolicyArn=self.outputs[policy])
        key = iam.create_access_key(UserName=name)["AccessKey"]
        known = {"AWS_ACCESS_KEY_ID": key["AccessKeyId"], "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"]}
        environment = {**os.environ, **known, "AWS_DEFAULT_REGION": REGION, "AWS_ENDPOINT_URL": self.endpoint}
        return partial(_lakegate, environment)

    def states(self) -> set[str]:
        """The states of all workloads."""
        items = self.client("dynamodb").scan(TableName=self.outputs["WorkloadsTable"], ConsistentRead=True)["Items"]
        return {item["state"]["S"] for item in items if item["id"]["S"].startswith("workload#")}


@pytest.fixture(scope="module")
def guarded(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """An embedded AWS with IAM, and the stack on it."""
    try:
        binary = program("ministack/ministack")
    except SetUpError as error:
        pytest.skip(str(error))
    folder, port = tmp_path_factory.mktemp("ministack"), free_port()
    own = {
        "AUTH": "true",
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(port),
        "TMPDIR": str(folder),
        "HOME": str(folder),
    }
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(  # noqa: S603 - from the lock file
            [binary], env={"PATH": os.environ["PATH"], **own}, stdout=log, stderr=log, start_new_session=True
        )
    try:
        there = Guarded(f"http://127.0.0.1:{port}")
        until(lambda: there.s3.list_buckets() is not None)
        deploy = ("deploy", "--no-confirm-changeset", "--parameter-overrides", *PARAMETERS)
        sam(*deploy, folder=built.parents[2], AWS_ENDPOINT_URL=there.endpoint, **ROOT_USER)
        (made,) = there.client("cloudformation").describe_stacks(StackName="lakegate")["Stacks"]
        there.outputs = {each["OutputKey"]: each["OutputValue"] for each in made["Outputs"]}
        yield there
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _lakegate(environment: dict[str, str], *words: str) -> int:
    """The exit code of a command in this process, with that environment and clients of its own."""
    caches = clients._create_client, data_in_s3._client  # noqa: SLF001 - a process makes one client of each service
    with patch.dict(os.environ, environment, clear=True), patch("sys.argv", ["lakegate", *words]):
        for each in caches:
            each.cache_clear()
        with pytest.raises(SystemExit) as ended:
            main()
    for each in caches:
        each.cache_clear()
    assert isinstance(ended.value.code, int)
    return ended.value.code


def until(holds: Callable[[], bool]) -> None:
    """Wait for something to hold."""
    limit = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < limit:
        try:
            if holds():
                return
        except (BotoCoreError, ClientError):
            pass  # not there yet
        time.sleep(0.1)
    raise AssertionError("it never held")


def _keys() -> dict[str, str]:
    return {name.lower(): value for name, value in ROOT_USER.items() if "KEY" in name}


def test_plain_http_is_refused_by_the_buckets_whoever_asks(guarded: Guarded) -> None:
    """A function with every right it needs reaches no object without TLS: here, where there is none, sweep is denied."""
    assert guarded.invoke("SweepFunction")["errorMessage"] == "AccessDenied"


def test_each_function_can_do_its_work_with_its_own_role(guarded: Guarded) -> None:
    """Once plain HTTP is allowed: claim, copy, commit, delete by version, sweep, notify; nothing is denied."""
    guarded.allow_plain_http()
    guarded.s3.put_object(Bucket=guarded.outputs["LandingBucket"], Key="in/a.csv", Body=b"a\n1\n")

    until(lambda: guarded.states() == {"QUARANTINED"})

    assert guarded.invoke("SweepFunction") == {"looked_at": 0, "failures": 0}
    assert guarded.invoke("NotifyFunction") == {"unsent": 0}
    assert "Contents" not in guarded.s3.list_objects_v2(Bucket=guarded.outputs["LandingBucket"])


def test_people_can_do_what_their_policies_say_and_no_more(guarded: Guarded, tmp_path: Path) -> None:
    """A steward publishes and routes; an operator looks at everything; a producer uploads below the prefix; no more."""
    guarded.allow_plain_http()
    guarded.deploy_tenant(Prefix="in/", Contract="brazil-se-weather*")
    steward = guarded.person("steward", "StewardPolicy")
    operator = guarded.person("operator", "OperatorPolicy")
    producer = guarded.person("producer", "ProducerPolicy")
    file = tmp_path / "b.csv"
    file.write_text("a\n2\n")

    publishing = [
        steward("publish", CONTRACT),
        steward("route", "add", "in/weather/", "brazil-se-weather", "--yes"),
        operator("publish", CONTRACT),
        producer("publish", CONTRACT),
        producer("route", "add", "x/", "brazil-se-weather", "--yes"),
    ]
    looking = [operator("status"), operator("route", "list"), producer("route", "list"), producer("status")]
    uploading = [
        producer("upload", str(file), "--to", "in/weather/", "--wait"),
        producer("upload", str(file), "--to", "other/"),
        operator("upload", str(file), "--to", "in/weather/"),
        steward("upload", str(file), "--to", "in/weather/"),
    ]

    assert publishing == [0, 0, 2, 2, 2]
    assert looking == [0, 0, 0, 2]
    assert uploading == [1, 2, 2, 2]


def test_a_grant_taken_away_is_missed(guarded: Guarded) -> None:
    """IAM is enforced here, or the test before would mean nothing: without its policy, sweep is denied."""
    iam = guarded.client("iam")
    (role,) = [each["RoleName"] for each in iam.list_roles()["Roles"] if "SweepRole" in each["RoleName"]]
    iam.detach_role_policy(RoleName=role, PolicyArn=guarded.outputs["EnginePolicy"])

    assert guarded.invoke("SweepFunction")["errorMessage"] == "AccessDenied"
