"""`lakegate stack deploy`: what is checked, said, uploaded and changed, and what a person has to confirm."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from lakegate.aws import open_stack, stack_operations
from lakegate.base.extension_points import ROOT
from lakegate.features.deployment.release_folder import ReleaseFolder
from tests.fakes.cloudformation import DeployableCloudFormation, refusal
from tests.unit.cli.conftest import Lakegate
from tests.unit.cli.deployed_stack import LAKE

if TYPE_CHECKING:
    from click.testing import Result


BUCKET = "lakegate-artifacts-123456789012-us-east-1"
TEMPLATE = """\
Description: "Lakegate: data contracts enforced at the door of a data lake"
Parameters:
  JobCode: {Type: String, Default: current}
  SmallFileBytes: {Type: Number, Default: 0, MinValue: 0, MaxValue: 1073741824}
  BatchFiles: {Type: Number, Default: 1, MinValue: 1, MaxValue: 250}
  MaxVcpu: {Type: Number, Default: 16, MinValue: 4}
  JobMinutes: {Type: Number, Default: 60}
  MaxConcurrentRuns: {Type: Number, Default: 2}
  LogDays: {Type: Number, Default: 90, AllowedValues: [7, 90]}
  ExistingLakeBucket: {Type: String, Default: "", AllowedPattern: "([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])?"}
  ExistingLandingBucket: {Type: String, Default: ""}
  TableName: {Type: String, Default: ledger}
Resources:
  Application:
    Type: AWS::EMRServerless::Application
    Properties: {ReleaseLabel: emr-7.14.0, Cpu: !Ref MaxVcpu}
  JobRole: {Type: AWS::IAM::Role, Properties: {Minutes: !Ref JobMinutes}}
  IntakeFunction:
    Type: AWS::Serverless::Function
    Properties: {CodeUri: build/lambda/functions.zip, Bytes: !Ref SmallFileBytes, Code: !Ref JobCode}
  IntakeFails: {Type: AWS::CloudWatch::Alarm, Properties: {}}
  CompletionFails: {Type: AWS::CloudWatch::Alarm, Properties: {}}
  Table: {Type: AWS::DynamoDB::Table, Properties: {TableName: !Ref TableName}}
  Lake: {Type: AWS::S3::Bucket, Condition: ExistingLakeBucket, Properties: {Days: !Ref LogDays}}
"""


@dataclass
class Account:
    """The rest of an account, and what was done to it."""

    denied: bool = False
    ringing: tuple[str, ...] = ()
    enabled: bool = True
    """Whether queues reach functions."""
    application: str = "STARTED"
    calls: list[str] = field(default_factory=list)

    def list_service_quotas(self, ServiceCode: str) -> dict[str, Any]:  # noqa: N803 - as boto3 has it
        assert ServiceCode == "emr-serverless"
        if self.denied:
            raise refusal("ListServiceQuotas", "AccessDeniedException")
        return {"Quotas": [{"QuotaName": "Max concurrent vCPUs per account", "Value": 16.0}]}

    def list_aws_default_service_quotas(self, ServiceCode: str) -> dict[str, Any]:  # noqa: N803 - likewise
        return self.list_service_quotas(ServiceCode)

    def get_account_settings(self) -> dict[str, Any]:
        return {"AccountLimit": {"ConcurrentExecutions": 1000, "UnreservedConcurrentExecutions": 900}}

    def list_release_labels(self, Filters: dict[str, str]) -> dict[str, Any]:  # noqa: N803 - likewise
        return {"ReleaseLabels": [Filters["Prefix"]]}

    def describe_alarms(self, AlarmNames: list[str]) -> dict[str, Any]:  # noqa: N803 - likewise
        states = {each: "ALARM" if each in self.ringing else "OK" for each in AlarmNames}
        return {
            "MetricAlarms": [{"AlarmArn": f"arn:alarm:{name}", "StateValue": state} for name, state in states.items()]
        }

    def list_event_source_mappings(self, FunctionName: str) -> dict[str, Any]:  # noqa: N803 - likewise
        return {"EventSourceMappings": [{"UUID": FunctionName, "State": "Enabled" if self.enabled else "Disabled"}]}

    def update_event_source_mapping(self, UUID: str, Enabled: bool) -> None:  # noqa: N803, FBT001 - likewise
        self.enabled = Enabled
        self.calls.append(f"{'enable' if Enabled else 'disable'} {UUID}")

    def put_function_concurrency(self, **_: object) -> None:
        self.calls.append("reserve")

    def delete_function_concurrency(self, **_: object) -> None:
        self.calls.append("unreserve")

    def list_job_runs(self, **_: object) -> dict[str, Any]:
        return {"jobRuns": []}

    def get_application(self, **_: object) -> dict[str, Any]:
        return {"application": {"state": self.application}}

    def stop_application(self, **_: object) -> None:
        self.application = "STOPPED"
        self.calls.append("stop")


@dataclass
class Buckets:
    """moto's S3, but for bucket policies, whose conditions it passes over, and notifications, whose EventBridge it forgets."""

    client: Any
    policies: dict[str, Any] = field(default_factory=dict)
    notifications: dict[str, Any] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)

    def put_bucket_policy(self, Bucket: str, Policy: str, ExpectedBucketOwner: str) -> None:  # noqa: N803 - as boto3 has it
        assert ExpectedBucketOwner == "123456789012"
        self.policies[Bucket] = json.loads(Policy)["Statement"]

    def put_bucket_notification_configuration(self, Bucket: str, NotificationConfiguration: Any) -> None:  # noqa: N803 - likewise
        self.notifications[Bucket] = NotificationConfiguration


@dataclass
class Deployer:
    """Who deploys: a packaged clone, an account, and CloudFormation."""

    lakegate: Lakegate
    folder: Path
    cloud: DeployableCloudFormation
    account: Account
    buckets: Buckets

    def __call__(self, *words: str) -> Result:
        return self.lakegate("stack", "deploy", "--no-smoke", "--from", str(self.folder), *words)

    def deployed(self, *words: str) -> dict[str, Any]:
        result = self(*words, "--yes", "--json")
        assert result.exit_code == 0, result.output
        document: dict[str, Any] = json.loads(result.stdout)
        return document

    def keys(self, bucket: str) -> set[str]:
        return {
            each["Key"]
            for each in self.lakegate.clients["s3"]
            .get_paginator("list_objects_v2")
            .paginate(Bucket=bucket)
            .build_full_result()
            .get("Contents", ())
        }


@pytest.fixture
def deployer(lakegate: Lakegate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Deployer:
    """An account without a stack, whose lake bucket CloudFormation makes by naming it."""
    folder = tmp_path / "clone"
    for name, text in {
        "template.yaml": TEMPLATE,
        "build/lambda/functions.zip": "functions",
        "build/release": "1-abc\n",
        "build/code/1-abc/validate.py": "job",
        "build/code/1-abc/environment.tar.gz": "environment",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)

    def read(url: str) -> bytes:
        bucket, key = urlsplit(url).path.removeprefix("/").split("/", 1)
        body: bytes = lakegate.clients["s3"].get_object(Bucket=bucket, Key=key)["Body"].read()
        return body

    monkeypatch.setattr(stack_operations, "TICK_SECONDS", 0)
    cloud, account = DeployableCloudFormation(read), Account()
    buckets = Buckets(lakegate.clients["s3"])
    fakes: dict[str, Any] = {"cloudformation": cloud, "s3": buckets}
    fakes |= dict.fromkeys(("service-quotas", "lambda", "emr", "emr-serverless", "cloudwatch"), account)
    client = open_stack.client
    monkeypatch.setattr(open_stack, "client", lambda service: fakes.get(service) or client(service))
    return Deployer(lakegate, folder, cloud, account, buckets)


def test_a_first_deployment_makes_bucket_stack_and_code(deployer: Deployer) -> None:
    """With the profile of most people; code that is there is not uploaded again, and what is equal is no update."""
    first = deployer.deployed()
    uploaded = deployer.keys(BUCKET)
    again = deployer("--yes")

    assert first["outcome"] == "deployed"
    assert {each["action"] for each in first["changes"]} == {"Add"}
    assert first["parameters"] == ["BatchFiles is 100", "JobCode is 1-abc", "SmallFileBytes is 67108864"]
    assert deployer.cloud.values == {
        **{name: str(each["Default"]) for name, each in ReleaseFolder(deployer.folder).template["Parameters"].items()},
        "BatchFiles": "100",
        "JobCode": "1-abc",
        "SmallFileBytes": "67108864",
    }
    assert deployer.keys(LAKE) >= {"code/1-abc/validate.py", "code/1-abc/environment.tar.gz"}
    assert len(uploaded) == 2
    ((only_tls,),) = deployer.buckets.policies.values()
    assert (only_tls["Effect"], only_tls["Condition"]) == ("Deny", {"Bool": {"aws:SecureTransport": "false"}})
    assert again.exit_code == 0
    assert "is there already: functions.zip" in again.stderr
    assert "uploaded" not in again.stderr
    assert again.stdout == "The stack lakegate in us-east-1 is as it should be: nothing was to be changed.\n"
    assert deployer.keys(BUCKET) == uploaded
    assert deployer.cloud.made == {}


def test_a_first_deployment_says_that_alarms_may_ring(deployer: Deployer) -> None:
    """Those of what has not run yet: an alarm that waited for a first run would be silent where there is none."""
    said = "In its first hour alarms of what has not run yet may ring (docs/runbooks.md): they end by themselves.\n"
    first, again = deployer("--yes"), deployer("--yes", "--parameter", "MaxVcpu=64")

    assert [said in each.stdout for each in (first, again)] == [True, False]
    assert "is deployed." in again.stdout


def test_an_update_keeps_what_nobody_names(deployer: Deployer) -> None:
    """Neither the profile of a first deployment nor a default of the template comes back; a profile says what it changes."""
    deployer.deployed("--parameter", "BatchFiles=7", "--parameter", "LogDays=7")
    update = deployer.deployed("--parameter", "JobMinutes=90")
    of_profile = deployer.deployed("--profile", "large-files", "--parameter", "MaxVcpu=32")

    assert update["parameters"] == ["JobMinutes: 60 → 90"]
    assert of_profile["parameters"] == ["JobMinutes: 90 → 240", "MaxConcurrentRuns: 2 → 4", "MaxVcpu: 16 → 32"]
    assert deployer.cloud.values["BatchFiles"] == deployer.cloud.values["LogDays"] == "7"
    assert deployer.cloud.values["SmallFileBytes"] == "67108864"


def test_a_plan_changes_nothing(deployer: Deployer) -> None:
    """No change set is left, nor the stack that it was made for, and no code is uploaded."""
    new = deployer("--plan")
    after = (deployer.cloud.status, deployer.cloud.made, {each.rpartition(".")[2] for each in deployer.keys(BUCKET)})
    deployer.deployed()
    update = deployer("--plan", "--parameter", "MaxVcpu=32")

    assert new.exit_code == update.exit_code == 0, new.output
    assert after == ("", {}, {"template"})
    assert "Nothing was changed." in new.stdout
    assert update.stdout == (
        "the stack lakegate in us-east-1 changes Application (AWS::EMRServerless::Application)\n"
        "parameter MaxVcpu: 16 → 32\n"
        "job runs are paused meanwhile (Application: CloudFormation changes it only while it is stopped)\n"
        "Nothing was changed.\n"
    )
    assert (deployer.cloud.status, deployer.cloud.made, deployer.cloud.values["MaxVcpu"]) == (
        "CREATE_COMPLETE",
        {},
        "16",
    )
    assert deployer.account.calls == []


def test_nothing_is_deployed_that_nobody_confirmed(deployer: Deployer) -> None:
    """A script has to say --yes."""
    result = deployer()

    assert result.exit_code
    assert "creates Application" in str(result.exception)
    assert "confirm it with --yes" in str(result.exception)
    assert (deployer.cloud.status, deployer.cloud.made) == ("", {})


def test_a_bucket_or_table_is_neither_replaced_nor_removed(deployer: Deployer) -> None:
    """Unless a person says that this is wanted."""
    deployer.deployed()
    replaced = deployer("--yes", "--parameter", "TableName=other")
    removed = deployer("--yes", "--parameter", "ExistingLakeBucket=lakegate-lake")
    kept = deployer.cloud.values["TableName"], deployer.cloud.made

    assert "nothing was changed: the update replaces Table (AWS::DynamoDB::Table)" in str(replaced.exception)
    assert "nothing was changed: the update deletes Lake (AWS::S3::Bucket)" in str(removed.exception)
    assert kept == ("ledger", {})
    deployer.deployed("--allow-replacement", "--parameter", "TableName=other")
    assert deployer.cloud.values["TableName"] == "other"


@pytest.mark.parametrize("parameter", ["MaxVcpu=32", "JobMinutes=90"])
def test_runs_are_paused_where_the_change_needs_it(deployer: Deployer, parameter: str) -> None:
    """For the application and the role of its runs, and no longer than the update."""
    deployer.deployed()
    deployer.deployed("--parameter", "SmallFileBytes=0")
    before = list(deployer.account.calls)
    deployer.deployed("--parameter", parameter)

    assert before == []
    assert deployer.account.calls == [
        *("disable intake", "disable completion", "reserve", "stop"),
        *("enable intake", "enable completion", "unreserve"),
    ]


def test_a_stack_that_was_paused_stays_paused(deployer: Deployer) -> None:
    """Whoever paused it has a reason, and is told."""
    deployer.deployed()
    deployer.account.enabled = False
    result = deployer("--yes", "--parameter", "MaxVcpu=32")

    assert result.exit_code == 0, result.output
    assert "It was paused before, and stays so: lakegate stack resume --stack lakegate" in result.stdout
    assert not deployer.account.enabled


def test_a_pause_that_fails_leaves_the_gate_on(deployer: Deployer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The update is not begun, its change set is gone, and events reach the functions again."""
    deployer.deployed()
    monkeypatch.setattr(deployer.account, "list_job_runs", lambda **_: {"jobRuns": [{"id": "1", "state": "RUNNING"}]})
    result = deployer("--yes", "--parameter", "MaxVcpu=32", "--timeout", "1")

    assert "job runs have not ended" in str(result.exception)
    assert deployer.account.enabled
    assert deployer.account.calls[-1] == "unreserve"
    assert (deployer.cloud.made, deployer.cloud.values["MaxVcpu"]) == ({}, "16")


def test_an_update_that_fails_says_why_and_continues(deployer: Deployer) -> None:
    """The reason of the failure comes first; the stack is as it was, and takes in deliveries again."""
    deployer.deployed()
    deployer.cloud.failure = "Access denied for events:PutRule"
    result = deployer("--yes", "--parameter", "MaxVcpu=32")

    assert str(result.exception) == (
        "the stack lakegate in us-east-1 is UPDATE_ROLLBACK_COMPLETE: Rule: Access denied for events:PutRule"
    )
    assert "Access denied for events:PutRule: Rule UPDATE_FAILED" in result.stderr
    assert deployer.account.calls[-1] == "unreserve"


def test_a_creation_that_fails_leaves_nothing_in_the_way(deployer: Deployer) -> None:
    """The next deployment creates the stack."""
    deployer.cloud.failure = "quota exceeded"
    result = deployer("--yes")
    left, deployer.cloud.failure = deployer.cloud.status, ""

    assert "is ROLLBACK_COMPLETE: Rule: quota exceeded" in str(result.exception)
    assert deployer.cloud.requests[-1]["OnStackFailure"] == "ROLLBACK"
    assert left == "DELETE_COMPLETE"
    assert deployer.deployed()["outcome"] == "deployed"


def test_an_update_is_rolled_back_by_the_alarms_of_the_stack(deployer: Deployer) -> None:
    """An alarm that rings already would roll back what is to end it."""
    deployer.account.ringing = ("lakegate-CompletionFails",)
    deployer.deployed()
    deployer.deployed("--parameter", "SmallFileBytes=0", "--watch", "10")
    first, second = deployer.cloud.requests
    deployer.deployed("--parameter", "MaxVcpu=32", "--watch", "10")
    paused = deployer.cloud.requests[-1]

    triggers = [{"Arn": "arn:alarm:lakegate-IntakeFails", "Type": "AWS::CloudWatch::Alarm"}]
    assert "RollbackConfiguration" not in first
    assert second["RollbackConfiguration"] == {"RollbackTriggers": triggers, "MonitoringTimeInMinutes": 10}
    # nothing rings in a stack that is paused, which it would be for longer
    assert paused["RollbackConfiguration"] == {"RollbackTriggers": triggers, "MonitoringTimeInMinutes": 0}
    assert deployer.cloud.made == {}


def test_a_template_with_other_parameters_is_deployed(deployer: Deployer) -> None:
    """One that is gone is not sent, and a new one has its default."""
    deployer.deployed("--parameter", "JobMinutes=90")
    path = deployer.folder / "template.yaml"
    path.write_text(
        path.read_text()
        .replace("  JobMinutes: {Type: Number, Default: 60}\n", "  NewOne: {Type: String, Default: new}\n")
        .replace("{Minutes: !Ref JobMinutes}", "{}")
    )
    deployer.deployed()

    assert deployer.cloud.values["NewOne"] == "new"
    assert "JobMinutes" not in deployer.cloud.values


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--parameter", "MaxVCPU=32"), "--parameter MaxVCPU: there is no such parameter; MaxVcpu?"),
        (("--parameter", "MaxVcpu"), "--parameter MaxVcpu: write NAME=VALUE"),
        (("--parameter", "MaxVcpu=8", "--parameter", "MaxVcpu=9"), "--parameter MaxVcpu is given twice"),
        (("--from", "/nonexistent"), "/nonexistent has no template.yaml"),
    ],
)
def test_what_cannot_be_deployed_is_refused_before_anything_is_asked(
    deployer: Deployer, words: tuple[str, ...], reason: str
) -> None:
    """By its name."""
    result = deployer("--yes", *words)

    assert reason in str(result.exception)
    assert deployer.cloud.requests == []


@pytest.mark.parametrize(
    ("parameter", "reason"),
    [
        ("MaxVcpu=two", "MaxVcpu: two is no number"),
        ("MaxVcpu=2", "MaxVcpu: 2 is not from 4 to …"),
        ("LogDays=8", "LogDays: 8 is none of 7, 90"),
        ("ExistingLakeBucket=$(reboot)", "ExistingLakeBucket: $(reboot) does not have the form"),
        ("ExistingLakeBucket=ours\n", "ExistingLakeBucket: ours"),
    ],
)
def test_a_value_that_the_template_refuses_has_its_sentence(deployer: Deployer, parameter: str, reason: str) -> None:
    """CloudFormation would only say that something is wrong; nothing is made before."""
    result = deployer("--yes", "--parameter", parameter)

    assert result.exit_code == 2
    assert f"refused  parameters: {reason}" in result.stderr
    assert result.stdout == "The stack lakegate in us-east-1 is not deployed: a check refuses it.\n"
    assert deployer.cloud.requests == []
    assert BUCKET not in {each["Name"] for each in deployer.lakegate.clients["s3"].list_buckets()["Buckets"]}


def test_a_folder_that_is_not_packaged_says_so(deployer: Deployer) -> None:
    """Bundles and the release of the job are made by one command."""
    (deployer.folder / "build/lambda/functions.zip").unlink()
    without_bundle = deployer("--yes")
    (deployer.folder / "build/release").unlink()
    without_job = deployer("--yes")

    assert "has no build/lambda/functions.zip: run `make package` there" in str(without_bundle.exception)
    assert "has no packaged code: run `make package` there" in str(without_job.exception)
    assert deployer.cloud.requests == []


def test_the_template_is_what_sam_makes_of_it() -> None:
    """Aliases are written out, and short forms are long, without a difference to SAM's own reader."""
    import subprocess  # noqa: PLC0415 - for this test alone

    python = ROOT / ".tools/sam/bin/python"
    if not python.is_file():
        pytest.skip("SAM is not installed: make tools")
    code = "import json, sys; from samcli.yamlhelper import yaml_parse; print(json.dumps(yaml_parse(open(sys.argv[1]).read())))"
    ended = subprocess.run([python, "-c", code, ROOT / "template.yaml"], capture_output=True, check=True)  # noqa: S603 - ours

    assert ReleaseFolder(ROOT).template == json.loads(ended.stdout)


def test_a_given_landing_bucket_sends_its_events(deployer: Deployer) -> None:
    """Beside the notifications that it has."""
    s3 = deployer.lakegate.clients["s3"]
    s3.create_bucket(Bucket="ours")
    s3.put_bucket_versioning(Bucket="ours", VersioningConfiguration={"Status": "Enabled"})
    result = deployer("--yes", "--parameter", "ExistingLandingBucket=ours")

    assert result.exit_code == 0, result.output
    assert "ours sends its events to EventBridge now" in result.stderr
    assert deployer.buckets.notifications == {"ours": {"EventBridgeConfiguration": {}}}


def test_the_bucket_of_another_account_is_not_used(deployer: Deployer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name can be guessed: each call names the account that must own it."""
    asked: list[str] = []

    def head_bucket(Bucket: str, ExpectedBucketOwner: str) -> None:  # noqa: N803, ARG001 - as boto3 has it
        asked.append(ExpectedBucketOwner)
        raise refusal("HeadBucket", "403")

    client = open_stack.client
    theirs = SimpleNamespace(head_bucket=head_bucket)
    monkeypatch.setattr(open_stack, "client", lambda service: theirs if service == "s3" else client(service))
    result = deployer("--yes")

    assert asked == ["123456789012"]
    assert f"the bucket {BUCKET} is not for you, or another account's" in str(result.exception)
