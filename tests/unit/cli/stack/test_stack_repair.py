"""`lakegate stack repair`: what was changed by hand is set back, and nothing else."""

from __future__ import annotations

import json
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from lakegate.aws import open_stack, stack_operations
from lakegate.aws.open_stack import DeployedStack
from lakegate.aws.stack_operations import delete_bucket, own_parameters
from lakegate.base.errors import SetUpError
from lakegate.cli.stack import stack_command
from tests.fakes.cloudformation import TABLES, CloudFormation, Resource
from tests.unit.cli.conftest import Lakegate

QUEUE = {"QueueConfigurations": [{"QueueArn": "arn:aws:sqs:::theirs", "Events": ["s3:ObjectCreated:*"]}]}


class Bucket(SimpleNamespace):
    """The notifications of a landing bucket, which a call replaces as a whole."""

    notifications: dict[str, Any]

    def get_bucket_notification_configuration(self, Bucket: str) -> dict[str, Any]:  # noqa: N803, ARG002 - as boto3 has it
        return {**self.notifications, "ResponseMetadata": {"HTTPStatusCode": 200}}

    def put_bucket_notification_configuration(
        self,
        Bucket: str,  # noqa: N803, ARG002 - as boto3 has it
        NotificationConfiguration: dict[str, Any],  # noqa: N803 - likewise
    ) -> None:
        self.notifications = NotificationConfiguration


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> CloudFormation:
    """A stack whose rule was deleted by hand, with parameters other than the defaults."""
    rule = Resource("AWS::Events::Rule", "as deployed", None)
    table = Resource("AWS::DynamoDB::Table", "as deployed", "as deployed")
    cloud = CloudFormation(
        {"KmsKey": "", "MaxVcpu": "16"}, {"KmsKey": "own", "MaxVcpu": "64"}, {"Rule": rule, "Table": table}
    )
    fakes = {"cloudformation": cloud, "s3": Bucket(notifications=dict(QUEUE))}
    client = open_stack.client
    monkeypatch.setattr(open_stack, "client", lambda service: fakes.get(service) or client(service))
    return cloud


def repaired(lakegate: Lakegate, *options: str) -> tuple[int, Any]:
    result = lakegate("stack", "repair", "--json", *options)
    return result.exit_code, json.loads(result.stdout) if result.stdout else str(result.exception)


def test_what_was_deleted_is_created_and_every_parameter_is_kept(lakegate: Lakegate, cloud: CloudFormation) -> None:
    """The second time there is nothing to do; other notifications of the landing bucket are kept."""
    first, second = repaired(lakegate, "--yes"), repaired(lakegate)
    bucket = open_stack.client("s3")

    assert first == (
        0,
        {
            "stack": "lakegate",
            "region": "us-east-1",
            "changes": ["creates Rule (AWS::Events::Rule)", "sends the events of landing to EventBridge again"],
        },
    )
    assert second == (0, {"stack": "lakegate", "region": "us-east-1", "changes": []})
    assert cloud.parameters == {"KmsKey": "own", "MaxVcpu": "64"}
    assert cloud.resources["Rule"].there == "as deployed"
    assert bucket.notifications == {**QUEUE, "EventBridgeConfiguration": {}}
    assert cloud.made == {}


def test_nothing_is_done_that_nobody_confirmed(lakegate: Lakegate, cloud: CloudFormation) -> None:
    """Every change is named, and no change set is left."""
    code, error = repaired(lakegate)

    assert code
    assert "the stack lakegate in us-east-1: creates Rule (AWS::Events::Rule). Nothing was changed" in error
    assert (cloud.made, cloud.resources["Rule"].there) == ({}, None)


def test_nothing_that_holds_data_is_replaced(lakegate: Lakegate, cloud: CloudFormation) -> None:
    """Not even where a person says yes: the data of a table is restored otherwise."""
    cloud.resources["Table"] = Resource("AWS::DynamoDB::Table", "as deployed", "other keys", is_replaced=True)
    code, error = repaired(lakegate, "--yes")

    assert code
    assert "nothing was changed: the repair replaces Table (AWS::DynamoDB::Table)" in error
    assert (cloud.made, cloud.resources["Rule"].there) == ({}, None)


def test_a_repair_that_is_rolled_back_says_why(
    lakegate: Lakegate, cloud: CloudFormation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the resource that failed first; a state from before the execution is not taken for its end."""
    monkeypatch.setattr(stack_operations, "TICK_SECONDS", 0)
    cloud.late = 3
    cloud.failure = "Access denied for events:PutRule"
    code, error = repaired(lakegate, "--yes")

    assert code
    assert error.endswith("is UPDATE_ROLLBACK_COMPLETE: Rule: Access denied for events:PutRule")


def test_a_repair_is_not_rolled_back_by_the_alarm_that_it_is_to_end(lakegate: Lakegate, cloud: CloudFormation) -> None:
    """Alarms of the last deployment would count again if the change set named none."""
    cloud.triggers = [{"Arn": "arn:alarm:SweepFails", "Type": "AWS::CloudWatch::Alarm"}]
    cloud.ringing = frozenset({"arn:alarm:SweepFails"})
    code, document = repaired(lakegate, "--yes")

    assert (code, document["changes"][0]) == (0, "creates Rule (AWS::Events::Rule)")
    assert cloud.triggers == []


def test_job_runs_are_paused_where_a_repair_needs_it(
    lakegate: Lakegate, cloud: CloudFormation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CloudFormation changes the application only while it is stopped; the person is told before."""
    cloud.resources["Application"] = Resource("AWS::EMRServerless::Application", "as deployed", "by hand")
    calls: list[str] = []
    monkeypatch.setattr(stack_operations, "is_paused", lambda _: False)
    monkeypatch.setattr(stack_operations, "pause_stack", lambda *_: calls.append("pause"))
    monkeypatch.setattr(stack_operations, "resume_stack", lambda _: calls.append("resume"))
    unconfirmed, (code, document) = repaired(lakegate), repaired(lakegate, "--yes")

    assert "job runs are paused meanwhile (Application: CloudFormation changes it only while it is" in unconfirmed[1]
    assert (code, document["changes"][1]) == (0, "changes Application (AWS::EMRServerless::Application)")
    assert calls == ["pause", "resume"]


def test_versions_that_cannot_be_deleted_end_the_deletion_of_a_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    """S3 answers 200 and names them: listing them again would never end."""
    calls: list[str] = []

    class Locked:
        def list_object_versions(self, **_: str) -> dict[str, Any]:
            calls.append("list")
            return {"Versions": [{"Key": "a", "VersionId": "1"}, {"Key": "b", "VersionId": "2"}]}

        def delete_objects(self, **_: object) -> dict[str, Any]:
            return {"Errors": [{"Key": "a", "VersionId": "1", "Code": "AccessDenied", "Message": "locked"}]}

    monkeypatch.setattr(open_stack, "client", lambda _: Locked())
    with pytest.raises(SetUpError, match="1 of 2 versions in ours cannot be deleted"):
        delete_bucket("ours")

    assert calls == ["list"]


def test_the_versions_of_a_bucket_are_deleted_several_pages_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages with delete markers only are deleted, too; each request waits until another one is under way."""
    pages = {f"{number:02}": [f"k{number}-{at}" for at in range(3)] for number in range(24)}
    both = threading.Barrier(2, timeout=10)

    class Full:
        def list_object_versions(self, KeyMarker: str = "", **_: str) -> dict[str, Any]:  # noqa: N803 - as boto3 has it
            left = sorted(each for each in pages if each > KeyMarker)
            if not left:
                return {"IsTruncated": False}
            kind = "DeleteMarkers" if int(left[0]) % 2 else "Versions"
            found = {kind: [{"Key": key, "VersionId": left[0]} for key in pages[left[0]]]}
            return {**found, "IsTruncated": True, "NextKeyMarker": left[0], "NextVersionIdMarker": "v"}

        def delete_objects(self, Delete: dict[str, Any], **_: object) -> dict[str, Any]:  # noqa: N803 - likewise
            both.wait()
            for each in Delete["Objects"]:
                pages.pop(each["VersionId"], None)
            return {}

        def delete_bucket(self, **_: str) -> None:
            assert pages == {}

    full = Full()
    monkeypatch.setattr(open_stack, "client", lambda _: full)
    delete_bucket("ours")

    assert pages == {}


def test_a_stack_whose_bus_has_rules_of_others_is_not_deleted(
    lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """EventBridge would refuse to delete the bus in the middle of the deletion; whose they are is said before any pause."""
    own_rules = [{"Name": "lakegate-FailedRule-1"}]
    rules = [{"Name": each} for each in ("lakegate-dashboards", "dashboard-of-sales")]
    pages = {"": {"Rules": own_rules, "NextToken": "2"}, "2": {"Rules": rules}}
    events = SimpleNamespace(list_rules=lambda NextToken="", **_: pages[NextToken])  # noqa: N803 - as boto3 has it
    client = open_stack.client
    monkeypatch.setattr(open_stack, "client", lambda service: events if service == "events" else client(service))
    own = {"FailedRule": "lakegate|lakegate-FailedRule-1"}
    monkeypatch.setattr(stack_operations, "resources_of", lambda _there, _ask: own)
    monkeypatch.setattr(stack_command, "pause_stack", pytest.fail)
    result = lakegate("stack", "delete", "--yes")

    assert result.exit_code
    assert str(result.exception) == (
        "others have rules on the event bus default: lakegate-dashboards, dashboard-of-sales. Let them be deleted first"
    )
    assert client("cloudformation").describe_stacks(StackName="lakegate")["Stacks"]


def test_a_deleted_stack_names_all_that_was_no_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys that it made by their ARN, because data and chains need them; code is of the next release."""
    values = {"KmsKey": "own", "SigningKey": "own", "MaxVcpu": "64", "LogDays": "90", "JobCode": "1", "Empty": ""}
    described = {"Parameters": [{"ParameterKey": name, "ParameterValue": value} for name, value in values.items()]}
    defaults = {"KmsKey": "", "SigningKey": "", "MaxVcpu": "16", "LogDays": "90", "JobCode": "current"}
    summary = [{"ParameterKey": name, "DefaultValue": value} for name, value in defaults.items()]
    fake = SimpleNamespace(
        describe_stacks=lambda **_: {"Stacks": [described]},
        get_template_summary=lambda **_: {"Parameters": [*summary, {"ParameterKey": "Empty"}]},
    )
    monkeypatch.setattr(open_stack, "client", lambda _: fake)
    outputs = {"KeyArn": "arn:data", "SigningKeyArn": "arn:signs"}
    own = {"KmsKey": "arn:data", "SigningKey": "arn:signs", "MaxVcpu": "64"}
    anchors = {"AnchorBucket": "lakegate-anchors"}

    assert own_parameters(DeployedStack("lakegate", "1", "us-east-1", outputs)) == own
    assert own_parameters(DeployedStack("lakegate", "1", "us-east-1", outputs | anchors)) == {
        **own,
        "ExistingAnchorBucket": "lakegate-anchors",
    }


def test_a_protected_stack_and_its_tables_cannot_be_deleted(lakegate: Lakegate, cloud: CloudFormation) -> None:
    """Until the protection is taken away; the command may be repeated."""

    def protection(*options: str) -> tuple[Any, bool, set[bool]]:
        document = lakegate.json("stack", "protect", *options)
        tables = [lakegate.clients["dynamodb"].describe_table(TableName=each)["Table"] for each in TABLES]
        return document, cloud.is_protected, {each["DeletionProtectionEnabled"] for each in tables}

    off, *on = protection("--off"), protection(), protection()

    assert off == ({"stack": "lakegate", "region": "us-east-1", "protected": False}, False, {False})
    assert on == [({"stack": "lakegate", "region": "us-east-1", "protected": True}, True, {True})] * 2


def test_a_protected_stack_is_not_deleted(
    lakegate: Lakegate, cloud: CloudFormation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command says how the deletion is permitted."""
    cloud.is_protected = True
    monkeypatch.setattr(stack_command, "pause_stack", pytest.fail)
    monkeypatch.setattr(stack_operations, "_rules_of_others", lambda _there: [])
    result = lakegate("stack", "delete", "--yes")

    assert result.exit_code
    assert str(result.exception) == (
        "the stack lakegate in us-east-1 is protected: lakegate stack protect --off permits its deletion"
    )
