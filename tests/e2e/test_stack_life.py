"""The life of a stack on an AWS as strict as the real one: first deployment, update, deletion, and all of it again."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.local.local_stack import (
    Stack,
    StackOptions,
    bundle,
    client,
    deploy,
    job_files,
    outputs_of,
    template,
)
from lakegate.aws import clients
from lakegate.aws.open_stack import VARIABLE, LocalState, open_deployed
from lakegate.aws.stack_operations import GIVEN
from lakegate.base.errors import SetUpError
from lakegate.features.deployment import account_steps
from lakegate.features.deployment.account_steps import STEPS
from lakegate.features.deployment.prove_report import read_report
from lakegate.gate.delivery.find_deliveries import recent
from lakegate.gate.delivery.protocol import State
from tests.e2e.deployed import Deployed, until
from tests.e2e.running import lakegate
from tests.sam.other_values import NOT_UPDATED, OTHER_VALUES


@pytest.fixture
def local(tmp_path: Path) -> Iterator[tuple[Stack, LocalState]]:
    """A local stack of this test's own, deployed."""
    before = dict(os.environ)
    path = tmp_path / "local.json"
    os.environ[VARIABLE] = str(path)
    clients._create_client.cache_clear()  # noqa: SLF001 - those of another stack
    stack = Stack(path)
    try:
        yield stack, stack.up(StackOptions(mode="submit", warm=False))
    finally:
        stack.down()
        clients._create_client.cache_clear()  # noqa: SLF001 - the clients of a stack that is gone
        os.environ.clear()
        os.environ.update(before)


def run(*words: str) -> dict[str, Any]:
    """What a command of `lakegate stack` answers."""
    result = lakegate("stack", *words, "--local", "--json")
    assert result.exit_code == 0, result.output
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer


def packaged(folder: Path) -> str:
    """What `make package` makes, for this machine: the folder of `stack deploy`."""
    code = folder / "build/code/current"
    code.mkdir(parents=True)
    template(folder, {})
    (folder / "build/release").write_text("current")
    for name, body in job_files().items():
        (code / name).write_bytes(body)
    return str(folder)


def status(state: LocalState) -> str:
    """The state of the stack in CloudFormation."""
    (found,) = client(state, "cloudformation").describe_stacks(StackName="lakegate")["Stacks"]
    return str(found["StackStatus"])


def application(state: LocalState) -> dict[str, Any]:
    """The application of the stack."""
    identity = outputs_of(state)["ApplicationId"]
    found: dict[str, Any] = client(state, "emr-serverless").get_application(applicationId=identity)["application"]
    return found


def start(state: LocalState) -> None:
    """Start the application, as a job run does."""
    client(state, "emr-serverless").start_application(applicationId=outputs_of(state)["ApplicationId"])


def is_updated_by_one_command(state: LocalState, command: tuple[str, ...]) -> None:
    """What is equal is no update; a started application is paused for one, and continues; a plan leaves nothing."""
    start(state)
    assert run(*command)["outcome"] == "unchanged"
    update = run(*command, "--parameter", "MaxVcpu=48")
    assert "Application: CloudFormation changes it only while it is stopped" in update["pauses"]
    assert update["parameters"] == ["MaxVcpu: 32 → 48"]
    assert {each["action"] for each in update["changes"]} == {"Modify"}
    assert (status(state), application(state)["maximumCapacity"]["cpu"]) == ("UPDATE_COMPLETE", "48 vCPU")
    (mapping, *_) = client(state, "lambda").list_event_source_mappings(
        FunctionName=outputs_of(state)["IntakeFunction"]
    )["EventSourceMappings"]
    assert mapping["State"] == "Enabled"
    assert run(*command, "--plan", "--parameter", "LogDays=30")["outcome"] == "planned"
    sets = client(state, "cloudformation").list_change_sets(StackName="lakegate")["Summaries"]
    assert "AVAILABLE" not in {each["ExecutionStatus"] for each in sets}


def test_a_stack_is_updated_deleted_and_deployed_again(local: tuple[Stack, LocalState], tmp_path: Path) -> None:
    """While its application is started neither works by itself; with `pause` and `delete` both do, and no upload is lost."""
    stack, state = local
    start(state)

    with pytest.raises(SetUpError):
        deploy(state, stack.folder / "refused.log", {"MaxVcpu": "32"})
    assert (status(state), application(state)["maximumCapacity"]["cpu"]) == ("UPDATE_ROLLBACK_COMPLETE", "16 vCPU")

    run("pause")
    with open_deployed(local=True) as there:
        deployed = Deployed(state, there, there.working_dependencies(), {})
        landed = deployed.upload(b"a\n1\n", "nobody/a.csv")
    assert application(state)["state"] == "STOPPED"
    deploy(state, stack.folder / "update.log", {"MaxVcpu": "32"})
    assert (status(state), application(state)["maximumCapacity"]["cpu"]) == ("UPDATE_COMPLETE", "32 vCPU")
    assert deployed.row(landed) is None

    run("resume")
    deployed.reached(landed, State.QUARANTINED)

    start(state)
    first = outputs_of(state)
    client(state, "cloudformation").delete_stack(StackName="lakegate")
    until("the deletion fails", lambda: status(state) == "DELETE_FAILED")
    deletion = run("delete", "--yes")
    kept = deletion["kept"]
    buckets = {each["Name"] for each in client(state, "s3").list_buckets()["Buckets"]}
    assert {first["LandingBucket"], first["LakeBucket"]} < buckets
    assert set(kept) == {
        first[name] for name in ("LandingBucket", "LakeBucket", "RegistryTable", "WorkloadsTable", "LedgerTable")
    }

    command = ("deploy", "--from", packaged(tmp_path / "release"), "--no-smoke", "--yes")
    values = [word for name, value in deletion["parameters"].items() for word in ("--parameter", f"{name}={value}")]
    deployment = run(*command, "--profile", "trial", *values)
    third = outputs_of(state)
    assert deployment["outcome"] == "deployed"
    assert {each["level"] for each in deployment["findings"]} <= {"ok", "warning"}
    assert third["SigningKeyArn"] == first["SigningKeyArn"]
    assert {name: third[name] for name in GIVEN} == {name: first[name] for name in GIVEN}
    with open_deployed(local=True) as there:
        (delivery,) = recent(there.dependencies(), 10)
    assert delivery.id == landed.workload
    assert delivery.row is not None
    assert delivery.row.pin is not None
    assert lakegate("verify", delivery.row.pin.dataset, "--local").exit_code == 0
    is_updated_by_one_command(state, command)
    assert set(run("delete", "--yes", "--data")["kept"]) == set(kept)  # what is given is never deleted

    second = deploy(state, stack.folder / "again.log", {})
    assert second["LakeBucket"] != first["LakeBucket"]
    client(state, "s3").put_object(Bucket=second["LandingBucket"], Key="nobody/b.csv", Body=b"b\n")
    assert run("delete", "--yes", "--data")["kept"] == []
    buckets = {each["Name"] for each in client(state, "s3").list_buckets()["Buckets"]}
    assert {second["LandingBucket"], second["LakeBucket"]} & buckets == set()


ASKED = (8, 9, 10, 12, 13, 14)
ASKED_NIGHTLY = (3, 4, 6, 7)
"""With seven job runs; the embedded CloudFormation has no change sets that revert drift."""
NOT_ASKED = {
    1: "4.5 GB are more than this AWS holds in memory",
    2: "forty job runs, one after the other",
    5: "Lambda's detection of loops, which is not here",
    11: "drift-aware change sets and rollback triggers, which are not here",
    15: "ten minutes; test_embedded_creations.py has the time of the object",
    16: "10 GiB are more than this AWS holds in memory",
    17: "metrics of DynamoDB and reports of starts, which are not here",
    18: "a VPC; tests/e2e/test_network.py has the endpoints",
    19: "a trail by CloudFormation, which is not here",
}
"""Steps that this AWS cannot be asked, with the reason; test_account_steps.py plays them on answers of the form of AWS's."""


def test_each_step_is_asked_or_has_a_reason() -> None:
    assert sorted([*ASKED, *ASKED_NIGHTLY, *NOT_ASKED]) == list(range(1, len(STEPS) + 1))


@pytest.mark.parametrize(
    ("steps", "outcomes"),
    [
        (ASKED, ["ok"] * len(ASKED)),
        pytest.param(ASKED_NIGHTLY, ["ok", "ok", "not ok", "ok"], marks=pytest.mark.full),
    ],
)
def test_an_account_is_asked(
    local: tuple[Stack, LocalState],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    steps: tuple[int, ...],
    outcomes: list[str],
) -> None:
    """On a scratch stack, of which nothing stays but what is named."""
    _, state = local
    monkeypatch.setattr(account_steps, "KEY_REUSE_SECONDS", 0)  # of SQS in AWS
    run("delete", "--yes", "--data")
    report = tmp_path / "prove-report.json"
    options = ("--from", packaged(tmp_path / "release"), "--parameter", f"EmrEndpoint={state.emr_endpoint}", "--yes")
    options += ("--report", str(report))
    result = lakegate("stack", "prove", "--local", "--json", *options, *(f"--step={each}" for each in steps))
    proof = json.loads(result.stdout)

    assert [each["outcome"] for each in proof["steps"]] == outcomes, proof
    assert [step.outcome for step in read_report(report).steps] == outcomes
    assert [each.split()[1] for each in proof["left"]] == ["key", "bucket"]
    assert not client(state, "cloudformation").list_stacks(StackStatusFilter=["CREATE_COMPLETE"])["StackSummaries"]
    assert not [
        *(each for each in client(state, "dynamodb").list_tables()["TableNames"] if "day-one" in each),
        *(each["Name"] for each in client(state, "s3").list_buckets()["Buckets"] if "day-one" in each["Name"]),
        *client(state, "sqs").list_queues(QueueNamePrefix="lakegate-day-one").get("QueueUrls", ()),
    ]


@pytest.mark.full  # some twenty updates: `make test` plays one
def test_every_parameter_can_be_changed(local: tuple[Stack, LocalState]) -> None:
    """One update changes every parameter that a deployed stack may get another value of, and another changes them back."""
    stack, state = local
    bundle(OTHER_VALUES)
    run("pause")
    deploy(state, stack.folder / "changed.log", OTHER_VALUES)
    (changed,) = client(state, "cloudformation").describe_stacks(StackName="lakegate")["Stacks"]
    values = {each["ParameterKey"]: each["ParameterValue"] for each in changed["Parameters"]}

    assert set(OTHER_VALUES) | set(NOT_UPDATED) == set(values)
    assert {name: values[name] for name in OTHER_VALUES} == OTHER_VALUES
    assert application(state)["initialCapacity"].keys() == {"Driver", "Executor"}

    run("pause")
    deploy(state, stack.folder / "back.log", {})
    assert status(state) == "UPDATE_COMPLETE"
