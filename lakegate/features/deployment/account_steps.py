"""Ten steps on a scratch stack that show what only a real account can: documents and emulators leave these questions open.

Each step is a function of a `Trial`. It returns what it found; it raises SmokeError where the account behaves otherwise, and
StepSkipped where it cannot be tried. The order spares deployments: those that need Spark for small files come first, and what
changes the application by hand comes before the step that makes the stack again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from lakegate.aws.open_stack import DeployedStack, ask_service, find_stack, parameters_of
from lakegate.aws.stack_operations import BUCKETS, TABLES
from lakegate.aws.wiring import most_executors
from lakegate.base.errors import NotFound, PortError
from lakegate.features.deployment.smoke_command import SECONDS_OF_SMOKE_TEST, SmokeError
from lakegate.gate.delivery.delivery_row import workload_id
from lakegate.gate.delivery.protocol import END_STATES

STACK: Final = "lakegate-day-one"
"""The scratch stack, whose data is deleted: no other name is possible."""
PREFIX: Final = "lakegate-day-one/"
"""Of landing keys, and of the rows that large deliveries are made of, in the lake."""
INITIAL: Final[Mapping[str, str]] = {
    "BatchFiles": "1",
    "KmsKey": "own",
    "LogDays": "7",
    "MaxConcurrentRuns": "2",
    "SmallFileBytes": "0",
    "WarmWorkers": "2",
}
"""Parameters of the scratch stack: all by Spark, each by a run of its own, under a key; workers wait, so that forty runs take
ten minutes. Of 16 vCPUs two runs at once have three executors each, three runs would have one."""
NETWORK: Final = ("SubnetIds", "SecurityGroupIds")
GIBIBYTE: Final = 1 << 30
LARGEST_RUN: Final = 3
"""Executors: one for each GiB that a delivery has."""
FIRST_PART: Final = 5 << 20
"""The smallest part of an object (S3 user guide, "Multipart upload limits")."""
NEXT_PART: Final = 64 << 20
BURST: Final = 40
"""Twice as many as start at once: the others start at the pace of `StartJobRun`."""
SLICES: Final = 20
SMALL_FILES: Final = "67108864"
HOUR: Final = 3600
TICK_SECONDS: Final = 5.0
KEY_REUSE_SECONDS: Final = 330
"""SQS uses a data key for five minutes (API reference, KmsDataKeyReusePeriodSeconds): a key's policy counts after that."""
HEARD_SECONDS: Final = 90
POLL_SECONDS: Final = 5
"""Shorter than a client waits for bytes (`lakegate.aws.clients`): a poll that is dropped hides its message for half a minute."""
ADMITTED_SECONDS: Final = 60
RECENT: Final = timedelta(minutes=30)
JUDGED: Final = (0, 1, 3)
"""Exit codes of `upload --wait`: the document has the verdict, or that there is none."""
SOURCE_ACCOUNT: Final = "aws:SourceAccount"


class StepSkipped(Exception):  # noqa: N818 - an outcome
    """A step that cannot be tried here; its text says why, and what to do."""


@dataclass
class Trial:
    """The scratch stack while steps are tried."""

    lakegate: Callable[..., Any]
    """Commands on the scratch stack."""
    folder: Path
    deployment: tuple[str, ...]
    """Options of `stack deploy`: where the release is, and parameters that this account needs."""
    network: Mapping[str, str] = field(default_factory=dict)
    """The subnets and security groups that are given."""
    stores: dict[str, str] = field(default_factory=dict)
    """Buckets and tables that the scratch stack has made; by name the output."""
    key: str = ""
    """ARN of the KMS key that it has made."""

    @property
    def there(self) -> DeployedStack:
        """The stack as it is now. Raises SmokeError where it is gone."""
        if (stack := find_stack(STACK, ask_service)) is None:
            raise SmokeError(f"the stack {STACK} is not there")
        return stack

    def deploy(self, **parameters: str) -> Any:  # noqa: ANN401 - the document of the command
        """Deploy the scratch stack, or change parameters, and note what it has made."""
        values = [word for name, value in parameters.items() for word in ("--parameter", f"{name}={value}")]
        found = self.lakegate("stack", "deploy", *self.deployment, "--no-smoke", "--watch", "0", "--yes", *values)
        self.note_stores(self.there)
        return found

    def note_stores(self, there: DeployedStack) -> None:
        """Note what has to be deleted in the end; of an earlier trial, too."""
        names = {there.output(each): each for each in (*BUCKETS, *TABLES)}
        self.stores |= {name: each for name, each in names.items() if name.startswith(f"{STACK}-")}
        if parameters_of(there).get("KmsKey") == "own":
            self.key = there.output("KeyArn")

    def by_spark(self) -> DeployedStack:
        """The stack, in which every delivery is judged by Spark."""
        if parameters_of(self.there).get("SmallFileBytes") != "0":
            self.deploy(SmallFileBytes="0")
        return self.there

    def publish(self, contract: str, datasets: Mapping[str, Sequence[Mapping[str, Any]]], **settings: str) -> None:
        """Publish a contract, and route a prefix to each of its datasets."""
        document = {
            "apiVersion": "v3.1.0",
            "kind": "DataContract",
            "id": f"lakegate-day-one-{contract}",
            "version": "1.0.0",
            "status": "active",
            "name": contract,
            "schema": [
                {
                    "name": name,
                    "logicalType": "object",
                    "properties": list(columns),
                    "customProperties": [{"property": "lakegate", "value": {"format": "csv", **settings}}],
                }
                for name, columns in datasets.items()
            ],
        }
        path = self.folder / f"{contract}.odcs.json"
        path.write_text(json.dumps(document))
        self.lakegate("publish", str(path), "--yes")
        for name in datasets:
            prefix = f"{PREFIX}{contract}-{name}/"
            self.lakegate("route", "add", prefix, document["id"], "--dataset", name, "--yes")

    def upload(
        self, prefix: str, texts: Sequence[str], *, codes: Sequence[int] = (0,), timeout: int = SECONDS_OF_SMOKE_TEST
    ) -> Any:  # noqa: ANN401 - as above
        """Upload texts as files of their own, and wait for their verdicts; the document of one, or of several."""
        paths = []
        for text in texts:
            paths.append(self.folder / f"{uuid4().hex}.csv")
            paths[-1].write_text(text)
        words = ("upload", *map(str, paths), "--to", f"{PREFIX}{prefix}/", "--wait", "--timeout", str(timeout))
        return self.lakegate(*words, codes=codes)

    def finished(self, workload: str, seconds: float) -> Any:  # noqa: ANN401 - as above
        """A delivery that is finished. Raises SmokeError where it is not, after so many seconds."""
        limit, ends = time.monotonic() + seconds, {state.value for state in END_STATES}
        while True:
            found = self.lakegate("status", workload, codes=(0, 2))  # it may not be taken in yet
            if found and found["state"] in ends:
                return found
            if time.monotonic() > limit:
                raise SmokeError(f"{workload[:12]} is {found['state'] if found else 'not taken in'} after {seconds} s")
            time.sleep(TICK_SECONDS)


@dataclass(frozen=True, slots=True)
class AccountStep:
    """A question that only an account answers."""

    title: str
    proves: str
    otherwise: str
    """The meaning, or the remedy, if it is not so."""
    minutes: int
    dollars: float
    run: Callable[[Trial], str]


READING: Final = (
    {"name": "id", "logicalType": "string", "required": True},
    {"name": "amount", "logicalType": "integer"},
)


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
    rows = b"".join(f"{uuid4().hex},{number:08d}\n".encode() for number in range(1 << 12))
    source = {"Bucket": there.output("LakeBucket"), "Key": f"{PREFIX}rows"}
    block = (rows * (NEXT_PART // len(rows) + 1))[:NEXT_PART].rpartition(b"\n")[0] + b"\n"
    ask_service("s3", "put_object", **source, Body=block)
    try:
        landed = [(size, _landed(there, source, block, size)) for size in (GIBIBYTE * LARGEST_RUN, GIBIBYTE * 3 // 2)]
    finally:
        ask_service("s3", "delete_object", **source)
    small = trial.upload("sizes-readings", [f"id,amount\n{uuid4().hex},1\n"], codes=JUDGED)
    runs = [
        (1024, small),
        *((size, trial.finished(workload, SECONDS_OF_SMOKE_TEST)) for size, workload in reversed(landed)),
    ]
    for size, found in runs:
        executors = -(-size // GIBIBYTE)
        if found["verdict"] != "accepted":
            raise SmokeError(f"{size} bytes: {found['state']}, {found['reasons']}; {found['problem']}")
        settings = _run(there, found)["jobDriver"]["sparkSubmit"]["sparkSubmitParameters"].split()
        if (wanted := f"spark.executor.instances={executors}") not in settings:
            raise SmokeError(f"{size} bytes: the run does not have {wanted}")
    return f"accepted by 1, 2 and 3 executors, in {', '.join(str(each['seconds']) for _, each in runs)} s"


def _landed(there: DeployedStack, source: Mapping[str, str], block: bytes, size: int) -> str:
    """The workload of an object a little smaller than `size`, which S3 makes of copies of a block."""
    bucket, key = there.output("LandingBucket"), f"{PREFIX}sizes-readings/{uuid4().hex}.csv"
    place = {"Bucket": bucket, "Key": key}
    place["UploadId"] = ask_service("s3", "create_multipart_upload", **place)["UploadId"]
    first = f"id,amount\n{uuid4().hex},1\n".encode() + block[:FIRST_PART].rpartition(b"\n")[0] + b"\n"
    first += block[: block.index(b"\n") + 1] * 2  # never less than a part may have
    tags = [ask_service("s3", "upload_part", **place, PartNumber=1, Body=first)["ETag"]]
    for number in range(2, size // NEXT_PART + 1):
        copied = ask_service("s3", "upload_part_copy", **place, PartNumber=number, CopySource=dict(source))
        tags.append(copied["CopyPartResult"]["ETag"])
    parts = {"Parts": [{"PartNumber": number, "ETag": tag} for number, tag in enumerate(tags, 1)]}
    made = ask_service("s3", "complete_multipart_upload", **place, MultipartUpload=parts)
    return workload_id(bucket, key, made["VersionId"])


def _run(there: DeployedStack, delivery: Mapping[str, Any]) -> Any:  # noqa: ANN401 - as boto3 has it
    if not delivery["run"]:
        raise SmokeError(f"{delivery['workload'][:12]} was judged without a job run")
    place = {"applicationId": there.output("ApplicationId"), "jobRunId": delivery["run"]}
    return ask_service("emr-serverless", "get_job_run", **place)["jobRun"]


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
        found = _run(there, delivery)
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
DOLLARS_BESIDE: Final = 0.5
"""Workers that wait, metrics, alarms and the key, for an hour (docs/deploy.md, Costs)."""
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
        "the smoke test in subnets without a NAT gateway",
        "the endpoints of docs/deploy.md are all that are needed",
        "an endpoint is missing in the table of docs/deploy.md, In a VPC",
        20,
        0.5,
        _private_network,
    ),
)
