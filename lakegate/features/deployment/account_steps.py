"""Steps on a scratch stack that show what only a real account can: documents and emulators leave these questions open.

Each step is a function of a `Trial`. It returns what it found, or what it compares; it raises SmokeError where the account
behaves otherwise, and StepSkipped where it cannot be tried. The order spares deployments: those that need Spark for small files
come first, and what changes the application by hand comes before the step that makes the stack again. What cannot be taken back
comes last.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final
from uuid import uuid4

from lakegate.aws.open_stack import DeployedStack, ask_service, parameters_of
from lakegate.aws.wiring import most_executors
from lakegate.base.errors import NotFound, PortError
from lakegate.features.deployment import trial_steps
from lakegate.features.deployment.smoke_command import SECONDS_OF_SMOKE_TEST, SmokeError
from lakegate.features.deployment.trial import (
    GIBIBYTE,
    HOUR,
    JUDGED,
    NETWORK,
    NEXT_PART,
    READING,
    SMALL_FILES,
    STACK,
    AccountStep,
    StepSkipped,
    Trial,
    land_large,
    large_block,
    run_of,
)

LARGEST_RUN: Final = 3
"""Executors: one for each GiB that a delivery has."""
BURST: Final = 40
"""Twice as many as start at once: the others start at the pace of `StartJobRun`."""
SLICES: Final = 20
KEY_REUSE_SECONDS: Final = 330
"""SQS uses a data key for five minutes (API reference, KmsDataKeyReusePeriodSeconds): a key's policy counts after that."""
HEARD_SECONDS: Final = 90
POLL_SECONDS: Final = 5
"""Shorter than a client waits for bytes (`lakegate.aws.clients`): a poll that is dropped hides its message for half a minute."""
ADMITTED_SECONDS: Final = 60
RECENT: Final = timedelta(minutes=30)
SOURCE_ACCOUNT: Final = "aws:SourceAccount"


# ---- Spark: sizes, rate, rights, key ----


def _sizes(trial: Trial) -> str:
    there = trial.by_spark()
    given = parameters_of(there)
    most = most_executors(int(given["MaxVcpu"]), int(given["MaxConcurrentRuns"]))
    if most < LARGEST_RUN:
        raise StepSkipped(
            f"a run has {most} executors at most here: give MaxVcpu and MaxConcurrentRuns that permit {LARGEST_RUN}"
        )
    trial.publish("sizes", {"readings": READING})
    with large_block(there) as (source, block):
        landed = [
            (size, land_large(there, source, block, size, "sizes-readings"))
            for size in (GIBIBYTE * LARGEST_RUN, GIBIBYTE * 3 // 2)
        ]
    small = trial.upload("sizes-readings", [f"id,amount\n{uuid4().hex},1\n"], codes=JUDGED)
    runs = [
        (1024, small),
        *((size, trial.finished(workload, SECONDS_OF_SMOKE_TEST)) for size, workload in reversed(landed)),
    ]
    for size, found in runs:
        executors = -(-size // GIBIBYTE)
        if found["verdict"] != "accepted":
            raise SmokeError(f"{size} bytes: {found['state']}, {found['reasons']}; {found['problem']}")
        settings = run_of(there, found)["jobDriver"]["sparkSubmit"]["sparkSubmitParameters"].split()
        if (wanted := f"spark.executor.instances={executors}") not in settings:
            raise SmokeError(f"{size} bytes: the run does not have {wanted}")
    return f"accepted by 1, 2 and 3 executors, in {', '.join(str(each['seconds']) for _, each in runs)} s"


def _burst(trial: Trial) -> str:
    there = trial.by_spark()
    trial.publish("burst", {"readings": READING})
    texts = [f"id,amount\n{uuid4().hex},{number}\n" for number in range(BURST)]
    found = trial.upload("burst-readings", texts, codes=JUDGED, timeout=HOUR // 2)["deliveries"]
    if others := [each["workload"][:12] for each in found if each["verdict"] != "accepted"]:
        raise SmokeError(f"{len(others)} of {BURST} are not accepted: {', '.join(others[:5])}")
    waiting = {"QueueUrl": there.output("DeadLetterQueueUrl"), "AttributeNames": ["ApproximateNumberOfMessages"]}
    dead = ask_service("sqs", "get_queue_attributes", **waiting)["Attributes"]["ApproximateNumberOfMessages"]
    if dead != "0":
        raise SmokeError(f"{dead} messages are in the dead-letter queue")
    again = sum(each["attempt"] > 1 for each in found)
    return f"{BURST} of {BURST} accepted, no dead letter; {again} took more than one attempt"


def _references(trial: Trial) -> str:
    trial.by_spark()
    names = ("first", "second", "third", "fourth")
    key = [{"name": "id", "logicalType": "string", "primaryKey": True, "primaryKeyPosition": 1}]
    columns = [
        {"name": name, "logicalType": "string", "relationships": [{"to": f"references_{name}.id"}]} for name in names
    ]
    trial.publish("references", {"readings": columns} | {f"references_{name}": key for name in names})
    value = uuid4().hex
    for name in names:
        trial.upload(f"references-references_{name}", [f"id\n{value}\n"])
    upload = trial.upload(
        "references-readings", [f"{','.join(names)}\n{','.join([value] * len(names))}\n"], codes=JUDGED
    )
    checks = upload["counts"]
    if upload["verdict"] != "accepted" or checks.get("skip") or checks.get("error"):
        raise SmokeError(f"{upload['state']}, checks {checks}; {upload['reasons']}; {upload['problem']}")
    return f"the run has read four datasets: checks {checks}"


def _own_key(trial: Trial) -> str:
    there = trial.by_spark()
    key = there.output("KeyArn")
    trial.publish("key", {"readings": READING})
    trial.lakegate("stack", "pause", "--timeout", str(HOUR // 2))
    application = {"applicationId": there.output("ApplicationId")}
    try:
        found = ask_service("emr-serverless", "get_application", **application)["application"]
        logs = {"managedPersistenceMonitoringConfiguration": {"enabled": True, "encryptionKeyArn": key}}
        ask_service(
            "emr-serverless",
            "update_application",
            **application,
            clientToken=uuid4().hex,
            monitoringConfiguration=found.get("monitoringConfiguration", {}) | logs,
            diskEncryptionConfiguration={"encryptionKeyArn": key},
        )
    finally:
        trial.lakegate("stack", "resume")
    judged = trial.upload("key-readings", [f"id,amount\n{uuid4().hex},1\n"], codes=JUDGED)
    if judged["verdict"] != "accepted":
        raise SmokeError(f"{judged['state']}: {judged['problem']}; EMR has {_state_details(there, judged)}")
    return f"the run {judged['run']} has ended well; its page in the console has to show the driver's log"


def _state_details(there: DeployedStack, delivery: Mapping[str, Any]) -> str:
    with suppress(SmokeError, PortError):
        found = run_of(there, delivery)
        return f"{found['state']}, {found.get('stateDetails', '')}"
    return "no run"


# ---- The function, the rule, the stack ----


def _slices(trial: Trial) -> str:
    trial.deploy(SmallFileBytes=SMALL_FILES)
    there = trial.there
    key = [{"name": "id", "logicalType": "string", "required": True, "primaryKey": True, "primaryKeyPosition": 1}]
    trial.publish("slices", {"readings": key}, publishAs="parquet")
    found = trial.upload("slices-readings", [f"id\n{uuid4().hex}\n" for _ in range(SLICES)], codes=JUDGED)["deliveries"]
    if others := [each["workload"][:12] for each in found if each["verdict"] != "accepted"]:
        raise SmokeError(f"{len(others)} of {SLICES} are not accepted: {', '.join(others[:5])}")
    dropped = sum(_dropped(there.outputs[each]) for each in ("IntakeFunction", "JudgeFunction"))
    dropped += _dropped(there.output("CompletionFunction"))
    if dropped:
        raise SmokeError(f"Lambda has dropped {dropped:.0f} invocations as recursive")
    return f"{SLICES} slices in order, no invocation dropped; AWS would have sent a mail to the account, too"


def _dropped(function: str) -> float:
    """Invocations of a function that Lambda took for a loop (developer guide, "Recursive loop detection")."""
    now = datetime.now(UTC)
    points = ask_service(
        "cloudwatch",
        "get_metric_statistics",
        Namespace="AWS/Lambda",
        MetricName="RecursiveInvocationsDropped",
        Dimensions=[{"Name": "FunctionName", "Value": function}],
        StartTime=now - RECENT,
        EndTime=now,
        Period=int(RECENT.total_seconds()),
        Statistics=["Sum"],
    )["Datapoints"]
    return float(sum(point["Sum"] for point in points))


def _repair(trial: Trial) -> str:
    there = trial.there
    before, rule = parameters_of(there), there.resource("LandedRule")
    targets = ask_service("events", "list_targets_by_rule", Rule=rule)["Targets"]
    ask_service("events", "remove_targets", Rule=rule, Ids=[target["Id"] for target in targets])
    ask_service("events", "delete_rule", Name=rule)
    changes = trial.lakegate("stack", "repair", "--yes")["changes"]
    again = there.resource("LandedRule")
    try:
        found = ask_service("events", "list_targets_by_rule", Rule=again)["Targets"]
    except NotFound:
        found = []
    if not found:
        raise SmokeError(f"the rule {again} has no target again; the repair {'; '.join(changes) or 'found nothing'}")
    if (after := parameters_of(there)) != before:
        raise SmokeError(f"parameters have changed: {sorted(set(before.items()) ^ set(after.items()))}")
    return "; ".join(changes)


def _again(trial: Trial) -> str:
    trial.publish("again", {"readings": READING})
    text = f"id,amount\n{uuid4().hex},1\n"
    trial.upload("again-readings", [text])
    deleted = trial.lakegate("stack", "delete", "--yes", "--timeout", str(HOUR))
    trial.deploy(**deleted["parameters"])
    dataset = "lakegate-day-one-again/readings_v1"
    trial.lakegate("verify", dataset, "--objects")
    upload = trial.upload("again-readings", [text], codes=(1,))
    if not upload["duplicate_of"]:
        raise SmokeError(f"the old content is {upload['verdict']}: {upload['reasons']}")
    return f"the chain of {dataset} continues, and what it had accepted is a duplicate"


def _private_network(trial: Trial) -> str:
    if set(trial.network) != set(NETWORK):
        raise StepSkipped(
            "name a VPC without a NAT gateway, with the endpoints of docs/deploy.md, by --parameter SubnetIds=… "
            "--parameter SecurityGroupIds=…"
        )
    trial.deploy(**trial.network)
    found = trial.lakegate("stack", "smoke")
    return f"every step as expected in the VPC, in {found['seconds']} s"


# ---- Conditions of policies ----


def _key_condition(trial: Trial) -> str:
    there = trial.there
    alarm = there.resource("DeadLetters")
    place = {"KeyId": there.output("KeyArn"), "PolicyName": "default"}
    before = ask_service("kms", "get_key_policy", **place)["Policy"]
    trial.publish("condition", {"readings": READING})  # what lacks a column is refused at once, by no job

    def look() -> None:
        trial.upload(
            "condition-readings", [f"amount\n{uuid4().int % NEXT_PART}\n"], codes=(1,), timeout=ADMITTED_SECONDS
        )
        with _listening(there) as is_heard:
            state = {"AlarmName": alarm, "StateReason": "lakegate stack prove"}
            ask_service("cloudwatch", "set_alarm_state", **state, StateValue="ALARM")
            try:
                is_heard("the alarm")
            finally:
                ask_service("cloudwatch", "set_alarm_state", **state, StateValue="OK")

    _control(look)
    with_condition = _conditioned(before, "EncryptedQueuesAndTopic", there.account)
    ask_service("kms", "put_key_policy", **place, Policy=with_condition)
    try:
        time.sleep(KEY_REUSE_SECONDS)
        look()
    finally:
        ask_service("kms", "put_key_policy", **place, Policy=before)
    return "with the condition uploads are taken in and alarms are heard: the template may have it"


def _rule_condition(trial: Trial) -> str:
    there = trial.there
    topic = {"TopicArn": there.output("AlarmTopic")}
    before = ask_service("sns", "get_topic_attributes", **topic)["Attributes"]["Policy"]
    entry = {
        "EventBusName": there.output("EventBusName"),
        "Source": "lakegate",
        "DetailType": "workload failed",
        "Detail": json.dumps({"by": "lakegate stack prove"}),
    }

    def look() -> None:
        with _listening(there) as is_heard:
            ask_service("events", "put_events", Entries=[entry])
            is_heard("the event")

    _control(look)
    policy = {**topic, "AttributeName": "Policy"}
    with_condition = _conditioned(before, "TheRuleOfFailures", there.account)
    ask_service("sns", "set_topic_attributes", **policy, AttributeValue=with_condition)
    try:
        look()
    finally:
        ask_service("sns", "set_topic_attributes", **policy, AttributeValue=before)
    return "with the condition `workload failed` is heard: the template may have it"


def _control(look: Callable[[], None]) -> None:
    """The same without the change: else its failure would say nothing about it."""
    try:
        look()
    except SmokeError as error:
        raise SmokeError(f"nor without the condition: {error}") from None


def _conditioned(policy: str, statement: str, account: str) -> str:
    document = json.loads(policy)
    (found,) = [each for each in document["Statement"] if each.get("Sid") == statement]
    found["Condition"] = {"StringEquals": {SOURCE_ACCOUNT: account}}
    return json.dumps(document)


@contextmanager
def _listening(there: DeployedStack) -> Iterator[Callable[[str], None]]:
    """A queue that hears what the topic of alarms sends, in the place of a person's mail; it is gone afterwards."""
    queue = ask_service("sqs", "create_queue", QueueName=f"{STACK}-{uuid4().hex}")["QueueUrl"]
    topic, subscription = there.output("AlarmTopic"), ""

    def is_heard(what: str) -> None:
        limit = time.monotonic() + HEARD_SECONDS
        while time.monotonic() < limit:
            if ask_service("sqs", "receive_message", QueueUrl=queue, WaitTimeSeconds=POLL_SECONDS).get("Messages"):
                return
        raise SmokeError(f"{what} is not heard within {HEARD_SECONDS} s")

    try:
        found = ask_service("sqs", "get_queue_attributes", QueueUrl=queue, AttributeNames=["QueueArn"])
        arn = found["Attributes"]["QueueArn"]
        statement = {
            "Effect": "Allow",
            "Principal": {"Service": "sns.amazonaws.com"},
            "Action": "sqs:SendMessage",
            "Resource": arn,
            "Condition": {"ArnEquals": {"aws:SourceArn": topic}},
        }
        policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        ask_service("sqs", "set_queue_attributes", QueueUrl=queue, Attributes={"Policy": policy})
        subscribed = ask_service(
            "sns", "subscribe", TopicArn=topic, Protocol="sqs", Endpoint=arn, ReturnSubscriptionArn=True
        )
        subscription = subscribed["SubscriptionArn"]
        yield is_heard
    finally:
        if subscription:
            ask_service("sns", "unsubscribe", SubscriptionArn=subscription)
        ask_service("sqs", "delete_queue", QueueUrl=queue)


DEPLOY_MINUTES, DELETE_MINUTES = 6, 4
DOLLARS_BESIDE: Final = 2.2
"""Two pairs of workers that wait, metrics, alarms and keys, for two and a half hours (docs/deploy.md, Costs)."""
STEPS: Final[Sequence[AccountStep]] = (
    AccountStep(
        "files of 1 KB, 1.5 GiB and 3 GiB by Spark",
        "EMR Serverless starts the sizes of runs that the stack asks for",
        "`lakegate doctor` has the fixed part of EMR's message (`job-settings`)",
        8,
        0.2,
        _sizes,
    ),
    AccountStep(
        f"{BURST} uploads at once",
        "the rate of StartJobRun stays within the quotas",
        "`start_interval` of `lakegate/gate/dependencies.py` is too short",
        10,
        0.8,
        _burst,
    ),
    AccountStep(
        "a contract with four references",
        "the session policy of a run fits into what STS packs",
        "STS packs it more tightly than its guide says (`PackedPolicyTooLarge`)",
        4,
        0.1,
        _references,
    ),
    AccountStep(
        "the key of the stack for managed logs and disks of the application",
        "a run starts under the key",
        "the key's policy lacks EMR Serverless: leave the application as it is",
        4,
        0.1,
        _own_key,
    ),
    AccountStep(
        f"{SLICES} slices of one dataset at once by the judge function",
        "Lambda takes no sequence of deliveries for a loop",
        "`OVERTAKEN_AT_ONCE` of `lakegate/gate/delivery/submit_run.py` is too high",
        4,
        0.1,
        _slices,
    ),
    AccountStep(
        "the rule LandedRule deleted by hand, then `stack repair`",
        "CloudFormation makes again what is gone, and keeps parameters",
        "create the rule again by `stack deploy`, and mend `restore_drift` of `lakegate/aws/stack_operations.py`",
        3,
        0.0,
        _repair,
    ),
    AccountStep(
        "`stack delete`, then `stack deploy` with the parameters that it printed",
        "a stack goes on with the buckets and tables of another one",
        "keep your stack protected (`lakegate stack protect`) until this works",
        8,
        0.1,
        _again,
    ),
    AccountStep(
        f"{SOURCE_ACCOUNT} as a condition of EncryptedQueuesAndTopic",
        "EventBridge and CloudWatch name the account when they use the key",
        "they do not: leave the condition out, as now",
        8,
        0.0,
        _key_condition,
    ),
    AccountStep(
        f"{SOURCE_ACCOUNT} as a condition of TheRuleOfFailures",
        "EventBridge names the account when it publishes to the topic",
        "it does not: leave the condition out, as now (decision 51)",
        1,
        0.0,
        _rule_condition,
    ),
    AccountStep(
        "an update that changes the application, and pauses the stack",
        "CloudFormation touches neither queues nor schedules",
        "`lakegate stack resume`, and compare by hand what the update has changed",
        12,
        0.0,
        trial_steps.pausing_update,
    ),
    AccountStep(
        "`stack repair` while the alarm IntakeFails rings",
        "a repair takes no alarm of the last deployment for its own",
        "wait until the alarms are quiet, then repair",
        6,
        0.0,
        partial(trial_steps.ringing_repair, repair=_repair),
    ),
    AccountStep(
        "a first deployment that must fail",
        "a creation that is rolled back leaves nothing",
        "delete by hand what is named, and expect the same of a first deployment that fails",
        6,
        0.0,
        trial_steps.failing_creation,
    ),
    AccountStep(
        "a later deployment by a role that is no administrator",
        "DeployerPolicy, DeployerServicesPolicy, OperatorPolicy and KeyPolicy are enough, and give no more",
        "an administrator deploys until the policies of docs/deploy.md, section 3, are complete",
        4,
        0.0,
        trial_steps.deployer,
    ),
    AccountStep(
        "a given bucket with notifications of its owner",
        "S3 keeps them beside those to EventBridge",
        "write the owner's notifications again after `stack deploy`",
        1,
        0.0,
        trial_steps.given_bucket,
    ),
    AccountStep(
        "an upload of several minutes into a folder with `delivery: quiet`",
        "a folder is not delivered while an object is on its way to it",
        "give such contracts `delivery: success`, or more `quietMinutes` than an upload takes",
        12,
        0.1,
        trial_steps.slow_upload,
    ),
    AccountStep(
        "10 GiB by Spark",
        "memory and disks of executors are large enough",
        "`lakegate doctor` has the cause (`job-disk`, `job-memory`)",
        20,
        0.4,
        trial_steps.ten_gigabytes,
    ),
    AccountStep(
        "latency of DynamoDB and of cold starts",
        "the model of docs/limits.md assumes enough",
        "the numbers of docs/limits.md hold for lower latencies only",
        1,
        0.0,
        trial_steps.latencies,
    ),
    AccountStep(
        "the smoke test in subnets without a NAT gateway",
        "the endpoints of docs/deploy.md are all that are needed",
        "an endpoint is missing in the table of docs/deploy.md, In a VPC",
        20,
        0.5,
        _private_network,
        NETWORK,
    ),
    AccountStep(
        "the parameters of the profile `regulated`",
        "trail, anchors, signatures and approval are made together, and work",
        "deploy without AuditQuarantine first, and look at the event of AuditTrail",
        12,
        0.1,
        trial_steps.regulated,
    ),
)
