"""The embedded AWS is as strict as AWS in what it refuses to make, what a creation leaves, and times of objects."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import boto3
import pytest
from botocore.exceptions import ClientError

from infra.local import local_stack
from infra.local.aws.strictness import is_schedule
from lakegate.aws import open_stack
from lakegate.features.deployment import trial, trial_steps
from lakegate.features.deployment.trial_steps import IMPOSSIBLE
from tests.infra.local.test_key_uses import own_policy

pytestmark = pytest.mark.service
REGION, ACCOUNT, SECRET = "eu-west-1", "000000000000", "embedded"


@pytest.fixture(scope="module")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Any]]:
    """Makes clients of the embedded AWS."""
    if not local_stack.PYTHON_OF_AWS.is_file():
        pytest.skip("`make stack-tools` installs the embedded AWS")
    scratch = tmp_path_factory.mktemp("aws")
    listening = local_stack.listen(0)
    environment = local_stack.aws_environment(scratch, scratch / "emr", SECRET)
    with (scratch / "log").open("wb") as log:
        process = subprocess.Popen(  # noqa: S603 - from the lock file
            local_stack.aws_command(listening.fileno()),
            env=environment,
            stdout=log,
            stderr=log,
            pass_fds=(listening.fileno(),),
            start_new_session=True,
        )
    keys = {"aws_access_key_id": ACCOUNT, "aws_secret_access_key": SECRET, "region_name": REGION}
    endpoint = f"http://127.0.0.1:{listening.getsockname()[1]}"
    try:
        limit = time.monotonic() + 60
        while not answers(endpoint):
            assert time.monotonic() < limit, (scratch / "log").read_text()
            time.sleep(0.1)
        yield lambda service: boto3.client(service, endpoint_url=endpoint, **keys)  # type: ignore[call-overload] # any
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        listening.close()


def answers(endpoint: str) -> bool:
    """Whether the program has begun to serve."""
    try:
        with urlopen(f"{endpoint}/_ministack/health", timeout=1) as response:  # noqa: S310 - of this machine
            return bool(response.status == 200)
    except OSError:
        return False


def created(aws: Callable[[str], Any], name: str, resources: dict[str, Any]) -> tuple[str, str]:
    """The status of a stack when its creation has ended, and the reason of the first resource that failed."""
    formation = aws("cloudformation")
    formation.create_stack(StackName=name, TemplateBody=json.dumps({"Resources": resources}))
    limit = time.monotonic() + 60
    while True:
        (stack,) = formation.describe_stacks(StackName=name)["Stacks"]
        if not stack["StackStatus"].endswith("IN_PROGRESS"):
            break
        assert time.monotonic() < limit, stack["StackStatus"]
        time.sleep(0.1)
    events = formation.describe_stack_events(StackName=name)["StackEvents"]
    failed = [each for each in reversed(events) if each["ResourceStatus"] == "CREATE_FAILED"]
    return stack["StackStatus"], failed[0].get("ResourceStatusReason", "") if failed else ""


def with_key(*sids: str) -> dict[str, Any]:
    """A log group under a key whose policy has some statements of the template's."""
    text = (
        json.dumps(own_policy()).replace("123456789012", ACCOUNT).replace("/lakegate/lakegate/*", "/lakegate/keyed/*")
    )
    policy = json.loads(text)
    policy["Statement"] = [each for each in policy["Statement"] if each["Sid"] in sids]
    group = {"LogGroupName": "/lakegate/keyed/intake", "KmsKeyId": {"Fn::GetAtt": ["Key", "Arn"]}}
    return {
        "Key": {"Type": "AWS::KMS::Key", "DeletionPolicy": "RetainExceptOnCreate", "Properties": {"KeyPolicy": policy}},
        "Log": {"Type": "AWS::Logs::LogGroup", "Properties": group},
    }


def test_a_log_group_needs_a_key_that_logs_may_use(aws: Callable[[str], Any]) -> None:
    """With the statements of the template it is made; without that of Logs the creation fails by AWS's error."""
    assert created(aws, "keyed", with_key("PoliciesOfThisAccountDecide", "EncryptedLogs")) == ("CREATE_COMPLETE", "")
    aws("cloudformation").delete_stack(StackName="keyed")
    status, reason = created(aws, "keyed-not", with_key("PoliciesOfThisAccountDecide"))

    assert status == "ROLLBACK_COMPLETE"
    assert (
        "InvalidParameterException: The specified KMS key does not exist or is not allowed to be used with Arn"
        in reason
    )


def test_a_creation_that_fails_keeps_nothing_but_what_is_locked(aws: Callable[[str], Any]) -> None:
    """`RetainExceptOnCreate` deletes at the rollback of a creation, `Retain` does not."""
    for policy, kept in (("RetainExceptOnCreate", False), ("Retain", True)):
        bucket = f"failing-{policy.lower()}"
        resources = with_key("PoliciesOfThisAccountDecide")
        resources["Bucket"] = {
            "Type": "AWS::S3::Bucket",
            "DeletionPolicy": policy,
            "Properties": {"BucketName": bucket},
        }
        resources["Log"]["DependsOn"] = "Bucket"
        status, _ = created(aws, bucket, resources)
        names = {each["Name"] for each in aws("s3").list_buckets()["Buckets"]}

        assert (status, bucket in names) == ("ROLLBACK_COMPLETE", kept)


def test_a_bucket_with_a_locked_object_is_deleted_by_nobody(aws: Callable[[str], Any]) -> None:
    """In COMPLIANCE no version is deleted before its day, so that the bucket cannot go either (S3 user guide, Object Lock)."""
    s3 = aws("s3")
    s3.create_bucket(
        Bucket="locked",
        ObjectLockEnabledForBucket=True,
        CreateBucketConfiguration={"LocationConstraint": REGION},
    )
    rule = {"DefaultRetention": {"Mode": "COMPLIANCE", "Days": 1}}
    s3.put_object_lock_configuration(
        Bucket="locked", ObjectLockConfiguration={"ObjectLockEnabled": "Enabled", "Rule": rule}
    )
    version = s3.put_object(Bucket="locked", Key="a", Body=b"1")["VersionId"]
    for refused in (
        lambda: s3.delete_object(Bucket="locked", Key="a", VersionId=version, BypassGovernanceRetention=True),
        lambda: s3.delete_bucket(Bucket="locked"),
    ):
        with pytest.raises(ClientError, match=r"AccessDenied|BucketNotEmpty"):
            refused()


def test_a_bucket_keeps_the_notifications_of_its_owner(
    aws: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The step of `lakegate stack prove`, as it is; nothing of it is left."""
    monkeypatch.setattr(open_stack, "client", aws)
    there = open_stack.DeployedStack(trial.STACK, ACCOUNT, REGION, {})
    monkeypatch.setattr(trial.Trial, "there", there)
    found = trial_steps.given_bucket(trial.Trial(lambda *_: None, tmp_path, ()))

    assert found.difference == ""
    assert not [each for each in aws("s3").list_buckets()["Buckets"] if each["Name"].startswith(trial.STACK)]
    assert not aws("sqs").list_queues(QueueNamePrefix=trial.STACK).get("QueueUrls")


def test_an_object_in_parts_is_as_old_as_its_upload(aws: Callable[[str], Any]) -> None:
    """As in S3, whatever its versions: a part of the delivery of a folder may look older than what was there before it."""
    s3 = aws("s3")
    s3.create_bucket(Bucket="parts", CreateBucketConfiguration={"LocationConstraint": REGION})
    s3.put_bucket_versioning(Bucket="parts", VersioningConfiguration={"Status": "Enabled"})
    place = {"Bucket": "parts", "Key": "slow"}
    upload = {**place, "UploadId": s3.create_multipart_upload(**place)["UploadId"]}
    tag = s3.upload_part(**upload, PartNumber=1, Body=b"1")["ETag"]
    time.sleep(2)
    s3.put_object(Bucket="parts", Key="quick", Body=b"1")
    s3.complete_multipart_upload(**upload, MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": tag}]})
    s3.put_object(**place | {"Body": b"2"})
    listed = {
        (each["Key"], each["Size"], each["IsLatest"]): each
        for each in s3.list_object_versions(Bucket="parts")["Versions"]
    }
    quick = listed["quick", 1, True]["LastModified"]

    assert listed["slow", 1, False]["LastModified"] < quick <= listed["slow", 1, True]["LastModified"]


TAKEN = (
    "rate(1 minute)",
    "rate(5 minutes)",
    "cron(0 6 * * ? *)",
    "cron(0/15 8-18 ? * MON-FRI *)",
    "cron(0 0 L * ? 2030)",
)
REFUSED = (
    IMPOSSIBLE,
    "rate(0 days)",
    "rate(1 days)",
    "rate(5 minute)",
    "cron(0 6 * * * *)",
    "cron(0 6 ? * ? *)",
    "cron(0 6)",
)


def test_schedules_are_those_that_scheduler_takes() -> None:
    """User guide, "Schedule types": rates with their units, six fields of cron within their bounds."""
    assert [each for each in TAKEN if not is_schedule(each)] == []
    assert [each for each in REFUSED if is_schedule(each)] == []


def test_a_schedule_that_scheduler_refuses_fails_a_creation(aws: Callable[[str], Any]) -> None:
    """The one that `lakegate stack prove` lets a first deployment fail by."""
    target = {"Arn": f"arn:aws:sqs:{REGION}:{ACCOUNT}:q", "RoleArn": f"arn:aws:iam::{ACCOUNT}:role/r"}
    properties = {"FlexibleTimeWindow": {"Mode": "OFF"}, "Target": target, "ScheduleExpression": IMPOSSIBLE}
    status, reason = created(aws, "late", {"Every": {"Type": "AWS::Scheduler::Schedule", "Properties": properties}})

    assert status == "ROLLBACK_COMPLETE"
    assert f"ValidationException: Invalid Schedule Expression {IMPOSSIBLE}." in reason
