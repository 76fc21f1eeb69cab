"""Steps of the trial that compare what a step expects, by the stack's own parameters, with what the account has.

They are those of a first hour: an update that pauses, a repair while an alarm rings, a creation that fails, a deployer who is no
administrator, a given bucket, an upload that takes its time, ten gigabytes, latencies, and the parameters of `regulated`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import uuid4

from lakegate.aws.open_stack import DeployedStack, ask_service, find_stack, parameters_of
from lakegate.aws.stack_operations import announce_objects, event_source_mappings
from lakegate.aws.wiring import most_executors
from lakegate.base.errors import NotFound
from lakegate.base.text import plural
from lakegate.features.deployment.smoke_command import SECONDS_OF_SMOKE_TEST, SmokeError
from lakegate.features.deployment.trial import (
    GIBIBYTE,
    JUDGED,
    PREFIX,
    READING,
    STACK,
    TICK_SECONDS,
    StepObservation,
    Trial,
    land_large,
    large_block,
    run_of,
)

FAILING: Final = f"{STACK}-fails"
"""A second one, which is never made."""
IMPOSSIBLE: Final = "cron(99 99 * * ? *)"
"""A schedule that the template's pattern takes and EventBridge Scheduler refuses, when buckets and tables are made."""
TEN_GIGABYTES: Final = 10
"""GiB."""
QUIET_MINUTES: Final = 5
SLOW_SECONDS: Final = 200.0
"""Of an upload: less than the folder's quiet minutes, and more than half of them, so that both times differ by a sweep."""
OTHER_VCPU: Final = 2
"""Less than the stack has: its application is changed, which CloudFormation does only at rest."""
ROLE_SECONDS: Final = 20.0
"""IAM takes so long until a new role may be assumed everywhere ("eventually consistent", user guide)."""
SESSION_SECONDS: Final = 3600
WITHHELD: Final = ("iam:CreatePolicyVersion", "dynamodb:DeleteTable", "s3:DeleteBucket", "kms:ScheduleKeyDeletion")
"""Actions of an administrator that no deployer has."""
PERIOD: Final = timedelta(hours=3)
ASSUMED_MILLISECONDS: Final = (5, 20)
"""Of a transaction of DynamoDB: what the model assumes, and with what a chain still takes 1,000 commits a minute (limits.md)."""
FUNCTIONS: Final = ("IntakeFunction", "CompletionFunction", "JudgeFunction")
REGULATED: Final[Mapping[str, str]] = {
    "AnchorDays": "1",
    "AuditQuarantine": "yes",
    "RequireApproval": "yes",
    "SigningKey": "own",
}
"""Of the profile `regulated`, with the shortest lock."""
# ---- CloudFormation ----


def pausing_update(trial: Trial) -> StepObservation:
    """An update that changes the application, and so pauses the stack: what was on before is on afterwards."""
    there = trial.there
    given = parameters_of(there)
    before = _switches(there)
    changed = str(int(given["MaxVcpu"]) - OTHER_VCPU)
    try:
        trial.deploy(MaxVcpu=changed)
        seen = {**_switches(there), "MaxVcpu": parameters_of(there)["MaxVcpu"]}
    finally:
        trial.deploy(MaxVcpu=given["MaxVcpu"])
    return StepObservation({**before, "MaxVcpu": changed}, seen, "queues, sweep and schedule are as before the update")


def _switches(there: DeployedStack) -> dict[str, Any]:
    sweep = ask_service("lambda", "get_function_concurrency", FunctionName=there.output("SweepFunction"))
    schedule = ask_service("scheduler", "get_schedule", Name=there.resource("SweepEvery"))
    return {
        "mappings": sorted({str(each.get("State")) for each in event_source_mappings(there)}),
        "reserved for sweep": sweep.get("ReservedConcurrentExecutions"),
        "schedule of sweep": schedule.get("State"),
    }


def ringing_repair(trial: Trial, repair: Callable[[Trial], str]) -> StepObservation:
    """A repair while an alarm rings that the last deployment has named as a rollback trigger."""
    there = trial.there
    days = "14" if parameters_of(there).get("LogDays") != "14" else "7"
    trial.deploy_as({}, 1, {"LogDays": days})
    state = {"AlarmName": there.resource("IntakeFails"), "StateReason": "lakegate stack prove"}
    ask_service("cloudwatch", "set_alarm_state", **state, StateValue="ALARM")
    seen = "made"
    try:
        words = repair(trial)
    except SmokeError as error:
        seen, words = str(error), ""
    finally:
        ask_service("cloudwatch", "set_alarm_state", **state, StateValue="OK")
    return StepObservation({"repair": "made"}, {"repair": seen}, f"with IntakeFails in ALARM: {words}")


def failing_creation(trial: Trial) -> StepObservation:
    """A creation that fails late: nothing of it is left."""
    parameters = ("--parameter", f"DriftSchedule={IMPOSSIBLE}", "--parameter", "KmsKey=own")
    commands = trial.commands(FAILING)
    try:
        commands("stack", "deploy", *trial.deployment, "--no-smoke", "--yes", *parameters, codes=(2,))
    except SmokeError:  # it was made: nothing is asked, and nothing of it may stay
        trial.kept.append(f"what the stack {FAILING} has made and its deletion keeps")
        commands("stack", "delete", "--yes", "--data")
        raise
    tables = [each for page in _tables() for each in page if each.startswith(f"{FAILING}-")]
    buckets = [each["Name"] for each in ask_service("s3", "list_buckets")["Buckets"]]
    buckets = [each for each in buckets if each.startswith(f"{FAILING}-")]
    logs = ask_service("logs", "describe_log_groups", logGroupNamePrefix=f"/lakegate/{FAILING}/")["logGroups"]
    stack = find_stack(FAILING, ask_service)
    trial.kept += [f"{each} of a creation that failed: delete it" for each in (*buckets, *tables)]
    seen = {
        "stack": "gone" if stack is None else "there",
        "buckets": len(buckets),
        "tables": len(tables),
        "logs": len(logs),
    }
    return StepObservation(
        {"stack": "gone", "buckets": 0, "tables": 0, "logs": 0}, seen, "no stack, bucket, table or log is left"
    )


def _tables() -> Iterator[list[str]]:
    request: dict[str, str] = {}
    while True:
        found = ask_service("dynamodb", "list_tables", **request)
        yield found["TableNames"]
        if not found.get("LastEvaluatedTableName"):
            return
        request = {"ExclusiveStartTableName": found["LastEvaluatedTableName"]}


def deployer(trial: Trial) -> StepObservation:
    """A later deployment by a role with the policies of a deployer alone."""
    there = trial.there
    days = "30" if parameters_of(there).get("LogDays") != "30" else "7"
    names = ("DeployerPolicy", "DeployerServicesPolicy", "OperatorPolicy", "KeyPolicy")  # its lake has a key
    with _role(there, [there.output(name) for name in names]) as (role, session):
        asked = ask_service("iam", "simulate_principal_policy", PolicySourceArn=role, ActionNames=list(WITHHELD))
        decisions = {each["EvalActionName"]: each["EvalDecision"] for each in asked["EvaluationResults"]}
        seen = "made"
        try:
            trial.deploy_as(session, 0, {"LogDays": days})
        except SmokeError as error:
            seen = str(error)
    withheld = sorted(name for name in WITHHELD if decisions.get(name) != "allowed")
    return StepObservation(
        {"deployment": "made", "LogDays": days, "withheld": sorted(WITHHELD)},
        {"deployment": seen, "LogDays": parameters_of(there).get("LogDays"), "withheld": withheld},
        f"a role with {', '.join(names)} has changed LogDays",
    )


@contextmanager
def _role(there: DeployedStack, policies: list[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """A role that this account may assume, and the variables of a session of it; it is gone afterwards."""
    name = f"{STACK}-{uuid4().hex[:8]}"
    root = {"AWS": f"arn:{policies[0].split(':')[1]}:iam::{there.account}:root"}
    trust = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": root, "Action": "sts:AssumeRole"}]}
    made = ask_service("iam", "create_role", RoleName=name, AssumeRolePolicyDocument=json.dumps(trust))["Role"]["Arn"]
    try:
        for policy in policies:
            ask_service("iam", "attach_role_policy", RoleName=name, PolicyArn=policy)
        time.sleep(ROLE_SECONDS)
        session = {"RoleArn": made, "RoleSessionName": STACK, "DurationSeconds": SESSION_SECONDS}
        keys = ask_service("sts", "assume_role", **session)["Credentials"]
        names = {
            "AccessKeyId": "ACCESS_KEY_ID",
            "SecretAccessKey": "SECRET_ACCESS_KEY",
            "SessionToken": "SESSION_TOKEN",
        }
        yield made, {f"AWS_{variable}": str(keys[key]) for key, variable in names.items()}
    finally:
        for policy in policies:
            with suppress(NotFound):
                ask_service("iam", "detach_role_policy", RoleName=name, PolicyArn=policy)
        ask_service("iam", "delete_role", RoleName=name)


# ---- Deliveries ----


def given_bucket(trial: Trial) -> StepObservation:
    """A bucket whose owner has notifications of its own keeps them when the stack is told of its objects."""
    name = f"{STACK}-given-{uuid4().hex[:8]}"
    queue = ask_service("sqs", "create_queue", QueueName=name)["QueueUrl"]
    where = {"QueueUrl": queue, "AttributeNames": ["QueueArn"]}
    arn = ask_service("sqs", "get_queue_attributes", **where)["Attributes"]["QueueArn"]
    sends = {
        "Effect": "Allow",
        "Principal": {"Service": "s3.amazonaws.com"},
        "Action": "sqs:SendMessage",
        "Resource": arn,
    }
    policy = json.dumps({"Version": "2012-10-17", "Statement": [sends]})
    region = trial.there.region
    place = {} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}
    try:
        ask_service("sqs", "set_queue_attributes", QueueUrl=queue, Attributes={"Policy": policy})
        ask_service("s3", "create_bucket", Bucket=name, **place)
        own = {"QueueConfigurations": [{"Id": "theirs", "QueueArn": arn, "Events": ["s3:ObjectCreated:*"]}]}
        ask_service("s3", "put_bucket_notification_configuration", Bucket=name, NotificationConfiguration=own)
        announce_objects(name)
        found = ask_service("s3", "get_bucket_notification_configuration", Bucket=name)
    finally:
        with suppress(NotFound):
            ask_service("s3", "delete_bucket", Bucket=name)
        ask_service("sqs", "delete_queue", QueueUrl=queue)
    theirs = [each["Id"] for each in found.get("QueueConfigurations", ())]
    seen = {"theirs": theirs, "EventBridge": "EventBridgeConfiguration" in found}
    return StepObservation({"theirs": ["theirs"], "EventBridge": True}, seen, "the owner's notification is kept")


def slow_upload(trial: Trial) -> StepObservation:
    """An object in parts that takes minutes, into a folder that is delivered when it is quiet: one delivery of two objects.

    S3 states the beginning of an upload as Last-Modified; the gate goes by the time of the event.
    """
    there = trial.by_spark()
    trial.publish("slow", {"readings": READING}, delivery="quiet", quietMinutes=QUIET_MINUTES)
    bucket, folder = there.output("LandingBucket"), f"{PREFIX}slow-readings/{uuid4().hex}/"
    rows = f"id,amount\n{uuid4().hex},1\n".encode()
    slow = {"Bucket": bucket, "Key": f"{folder}slow.csv"}
    place = {**slow, "UploadId": ask_service("s3", "create_multipart_upload", **slow)["UploadId"]}
    tag = ask_service("s3", "upload_part", **place, PartNumber=1, Body=rows)["ETag"]
    ask_service("s3", "put_object", Bucket=bucket, Key=f"{folder}quick.csv", Body=rows)
    time.sleep(SLOW_SECONDS)
    parts = {"Parts": [{"PartNumber": 1, "ETag": tag}]}
    ask_service("s3", "complete_multipart_upload", **place, MultipartUpload=parts)
    ended = datetime.now(UTC)
    behind = (ended - ask_service("s3", "head_object", **slow)["LastModified"]).total_seconds()
    blocks = _blocks(trial, "lakegate-day-one-slow/readings_v1", QUIET_MINUTES * 60 + SECONDS_OF_SMOKE_TEST)
    seen = {
        "deliveries": len(blocks),
        "objects": sum(len(each["objects"]) for each in blocks),
        "Last-Modified is the beginning": behind > SLOW_SECONDS / 2,
    }
    expected = {"deliveries": 1, "objects": 2, "Last-Modified is the beginning": True}
    return StepObservation(
        expected, seen, "one delivery of both objects", {"Last-Modified behind the end, s": round(behind, 1)}
    )


def _blocks(trial: Trial, dataset: str, seconds: float) -> list[dict[str, Any]]:
    """The deliveries of a dataset, once there is one. Raises SmokeError where there is none after so many seconds."""
    limit = time.monotonic() + seconds
    while True:
        found = trial.lakegate("log", dataset, codes=(0, 2))
        if blocks := [each for each in (found or {}).get("blocks", ()) if each.get("objects")]:
            return blocks
        if time.monotonic() > limit:
            raise SmokeError(f"{dataset} has no delivery after {seconds:.0f} s")
        time.sleep(TICK_SECONDS)


def ten_gigabytes(trial: Trial) -> StepObservation:
    """A delivery of 10 GiB by Spark, with the executors and disks that the parameters permit."""
    there = trial.by_spark()
    given = parameters_of(there)
    executors = min(TEN_GIGABYTES, most_executors(int(given["MaxVcpu"]), int(given["MaxConcurrentRuns"])))
    trial.publish("ten", {"readings": READING})
    with large_block(there) as (source, block):
        workload = land_large(there, source, block, TEN_GIGABYTES * GIBIBYTE, "ten-readings")
    found = trial.finished(workload, 2 * SECONDS_OF_SMOKE_TEST)
    settings = run_of(there, found)["jobDriver"]["sparkSubmit"]["sparkSubmitParameters"].split()
    stated = dict(each.split("=", 1) for each in settings if each.startswith("spark.") and "=" in each)
    seen = {"verdict": found["verdict"], "executors": int(stated.get("spark.executor.instances", 0))}
    expected = {"verdict": "accepted", "executors": executors}
    words = f"accepted by {plural(executors, 'executor')} in {found['seconds']} s"
    return StepObservation(expected, seen, words, {"seconds": found["seconds"] or 0.0})


# ---- Numbers ----


def latencies(trial: Trial) -> StepObservation:
    """What a transaction of DynamoDB and a cold start take here, beside what the model assumes."""
    there = trial.there
    now = datetime.now(UTC)
    points = ask_service(
        "cloudwatch",
        "get_metric_statistics",
        Namespace="AWS/DynamoDB",
        MetricName="SuccessfulRequestLatency",
        Dimensions=[
            {"Name": "TableName", "Value": there.output("LedgerTable")},
            {"Name": "Operation", "Value": "TransactWriteItems"},
        ],
        StartTime=now - PERIOD,
        EndTime=now,
        Period=int(PERIOD.total_seconds()),
        Statistics=["Average"],
    )["Datapoints"]
    measured = {"transaction, ms": round(max(each["Average"] for each in points), 1)} if points else {}
    for name in FUNCTIONS:
        if starts := list(_cold_starts(there, name)):
            measured[f"cold start of {name}, ms"] = round(sum(starts) / len(starts), 1)
    assumed, most = ASSUMED_MILLISECONDS
    took = measured.get("transaction, ms")
    words = ", ".join(f"{name} {value:g}" for name, value in measured.items())
    return StepObservation(
        {"transactions were measured": True, f"a transaction takes at most {most} ms": True},
        {
            "transactions were measured": took is not None,
            f"a transaction takes at most {most} ms": took is not None and took <= most,
        },
        f"{words}; the model assumes {assumed} ms a transaction, and no cold start",
        measured,
    )


def _cold_starts(there: DeployedStack, function: str) -> Iterator[float]:
    """Milliseconds of the starts of a function, by the reports that Lambda writes into its log."""
    name = function.removesuffix("Function").lower()
    since = int((datetime.now(UTC) - PERIOD).timestamp() * 1000)
    query = {
        "filterPattern": '{ $.type = "platform.report" && $.record.metrics.initDurationMs > 0 }',
        "startTime": since,
    }
    try:
        found = ask_service("logs", "filter_log_events", logGroupName=f"/lakegate/{there.name}/{name}", **query)
    except NotFound:
        return
    for event in found["events"]:
        yield float(json.loads(event["message"])["record"]["metrics"]["initDurationMs"])


def regulated(trial: Trial) -> StepObservation:
    """The parameters of `regulated`: a trail that writes, a block that is signed, an anchor that is kept."""
    there = trial.there
    trial.publish("regulated", {"readings": READING})  # afterwards a second person would have to approve it
    trial.deploy(**REGULATED)
    upload = trial.upload("regulated-readings", [f"id,amount\n{uuid4().hex},1\n"], codes=JUDGED)
    dataset = "lakegate-day-one-regulated/readings_v1"
    verified = trial.lakegate("verify", dataset, "--key", "kms", codes=(0, 1))
    trail = ask_service("cloudtrail", "get_trail_status", Name=f"{there.name}-quarantine")
    function = f"{there.name}-anchor"
    ended = ask_service("lambda", "invoke", FunctionName=function, Payload=b"{}")
    kept = json.loads(ended["Payload"].read())
    seen = {
        "verdict": upload["verdict"],
        "signed": bool(verified["intact"] and verified["signatures"]["keys"]),
        "trail": bool(trail["IsLogging"]) and not trail.get("LatestDeliveryError"),
        "anchor": kept.get("complete"),
    }
    expected = {"verdict": "accepted", "signed": True, "trail": True, "anchor": 1}
    trial.kept.append(f"the bucket {there.outputs.get('AnchorBucket', '')} of anchors, until its locks end tomorrow")
    trial.kept.append(f"the bucket of the trail of {there.name}")
    return StepObservation(expected, seen, "the delivery is accepted, its block signed and anchored, the trail writes")
