"""The steps of `lakegate stack prove`: what each does in an account, and how it tells one that behaves otherwise."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lakegate.aws import clients, open_stack
from lakegate.base.errors import NotFound
from lakegate.base.extension_points import ROOT
from lakegate.features.deployment import account_steps, trial_steps
from lakegate.features.deployment import trial as trial_module
from lakegate.features.deployment.account_steps import BURST, SLICES, STEPS
from lakegate.features.deployment.smoke_command import SmokeError
from lakegate.features.deployment.trial import INITIAL, STACK, StepObservation, StepSkipped, Trial
from lakegate.features.deployment.trial_steps import FAILING, WITHHELD
from tests.simulation.throughput import QUOTAS, Times

ARN = f"arn:aws:cloudformation:eu-west-1:123456789012:stack/{STACK}/1"
STORES = ("LandingBucket", "LakeBucket", "RegistryTable", "WorkloadsTable", "LedgerTable")
POLICY = json.dumps(
    {"Statement": [{"Sid": each} for each in ("Others", "EncryptedQueuesAndTopic", "TheRuleOfFailures")]}
)
SIZES, RATE, REFERENCES, KEY, SLICED, REPAIR, AGAIN, KEY_CONDITION, RULE_CONDITION = range(9)
PAUSING, RINGING, FAILS, DEPLOYER, GIVEN, SLOW, TEN, LATENCY, NETWORK, REGULATED = range(9, 19)
"""The order is that of `STEPS`."""
POLICIES = ("DeployerPolicy", "DeployerServicesPolicy", "OperatorPolicy", "KeyPolicy")


@dataclass
class ScratchAccount:
    """An account with the scratch stack, which behaves as the steps want it but for what a test changes."""

    parameters: dict[str, str] = field(default_factory=lambda: {"MaxVcpu": "16", **INITIAL})
    is_there: bool = True
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    """Of the last object of several parts."""
    sizes: dict[str, int] = field(default_factory=dict)
    """Bytes of objects of several parts, by version."""
    executors: Callable[[int], int] = lambda size: -(-size // trial_module.GIBIBYTE)
    """By the size of a delivery, as far as the parameters permit it."""
    dead: str = "0"
    dropped: float = 0.0
    targets: list[dict[str, str]] = field(default_factory=lambda: [{"Id": "landed"}])
    policy: str = POLICY
    heard: Callable[[str], bool] = lambda _: True
    """Whether the topic is heard, by the policy as it is."""

    mappings: str = "Enabled"
    """State of the mappings once the stack was updated."""
    left: tuple[str, ...] = ()
    """Buckets and tables that a failed creation leaves."""
    decision: str = "implicitDeny"
    """Of IAM about what no deployer may do."""
    keeps: bool = True
    """Whether a bucket keeps the notifications that are sent again with others."""
    notifications: dict[str, Any] = field(default_factory=dict)
    modified: timedelta = timedelta(0)
    """By which Last-Modified of an object in parts is behind its beginning."""
    begun: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    transaction: float = 7.25
    """Milliseconds, as CloudWatch has them."""
    trail: str = ""
    """Why the trail does not write."""

    def client(self, service: str) -> SimpleNamespace:
        """Every operation of a service: a method of this class, or else one that answers nothing."""

        class Client:
            def __getattr__(_, name: str) -> Callable[..., Any]:  # noqa: N805 - the account is `self`
                def call(**request: Any) -> Any:
                    self.calls.append((f"{service} {name}", request))
                    return getattr(self, name, lambda **_: {})(**request)

                return call

        return Client()  # type: ignore[return-value] # it has any attribute

    def started(self, size: int) -> int:
        """The executors of a run: with its driver, so many runs at once use no more vCPUs than the application may."""
        of_a_run = int(self.parameters["MaxVcpu"]) // int(self.parameters["MaxConcurrentRuns"])
        return min(self.executors(size), max(1, (of_a_run - 2) // 2))

    def asked(self, name: str) -> list[dict[str, Any]]:
        """The requests of an operation."""
        return [request for called, request in self.calls if called == name]

    def describe_stacks(self, StackName: str = STACK, **_: object) -> Any:  # noqa: N803 - as boto3 has it
        if StackName == FAILING:
            raise NotFound("DescribeStacks: ValidationError")
        outputs = {name: f"{STACK}-{name.lower()}-1" for name in STORES}
        outputs |= {name: name for name in ("ApplicationId", "DeadLetterQueueUrl", "EventBusName", "AlarmTopic")}
        outputs |= {name: name for name in ("IntakeFunction", "CompletionFunction", "JudgeFunction")}
        outputs |= {"KeyArn": "arn:key", "SigningKeyArn": "arn:signing"}
        outputs |= {name: f"arn:aws:iam::123456789012:policy/{name}" for name in POLICIES}
        outputs |= {"SweepFunction": "SweepFunction", "AnchorBucket": f"{STACK}-anchorbucket-1"}
        stack = {
            "StackId": ARN,
            "Outputs": [{"OutputKey": name, "OutputValue": value} for name, value in outputs.items()],
            "Parameters": [{"ParameterKey": name, "ParameterValue": value} for name, value in self.parameters.items()],
        }
        if not self.is_there:
            raise NotFound("DescribeStacks: ValidationError")
        return {"Stacks": [stack]}

    def describe_stack_resources(self, LogicalResourceId: str, **_: object) -> Any:  # noqa: N803 - as boto3 has it
        return {"StackResources": [{"PhysicalResourceId": f"{STACK}-{LogicalResourceId}"}]}

    def create_multipart_upload(self, **_: object) -> Any:
        self.parts = []
        self.begun = datetime.now(UTC)
        return {"UploadId": "u"}

    def upload_part(self, Body: bytes, Key: str, **_: object) -> Any:  # noqa: N803 - likewise
        assert "slow" in Key or trial_module.FIRST_PART <= len(Body) < trial_module.NEXT_PART
        assert Body.startswith(b"id,amount\n")
        assert Body.endswith(b"\n")
        self.parts.append("first")
        return {"ETag": "1"}

    def upload_part_copy(self, **_: object) -> Any:
        self.parts.append("copy")
        return {"CopyPartResult": {"ETag": "2"}}

    def complete_multipart_upload(self, **_: object) -> Any:
        version = f"v{len(self.parts)}"
        self.sizes[version] = trial_module.FIRST_PART + (len(self.parts) - 1) * trial_module.NEXT_PART
        return {"VersionId": version}

    def get_job_run(self, jobRunId: str, **_: object) -> Any:  # noqa: N803 - likewise
        settings = f"--conf spark.executor.instances={jobRunId}"
        return {
            "jobRun": {
                "state": "FAILED",
                "stateDetails": "no right to use the key",
                "jobDriver": {"sparkSubmit": {"sparkSubmitParameters": settings}},
            }
        }

    def get_application(self, **_: object) -> Any:
        return {"application": {"monitoringConfiguration": {"s3MonitoringConfiguration": {"logUri": "s3://l/"}}}}

    def get_queue_attributes(self, **_: object) -> Any:
        return {"Attributes": {"ApproximateNumberOfMessages": self.dead, "QueueArn": "arn:queue"}}

    def get_metric_statistics(self, MetricName: str, **_: object) -> Any:  # noqa: N803 - likewise
        if MetricName == "SuccessfulRequestLatency":
            return {"Datapoints": [{"Average": self.transaction}] if self.transaction else []}
        return {"Datapoints": [{"Sum": self.dropped}] if self.dropped else []}

    def list_targets_by_rule(self, **_: object) -> Any:
        return {"Targets": list(self.targets)}

    def get_key_policy(self, **_: object) -> Any:
        return {"Policy": self.policy}

    def put_key_policy(self, Policy: str, **_: object) -> None:  # noqa: N803 - likewise
        self.policy = Policy

    def get_topic_attributes(self, **_: object) -> Any:
        return {"Attributes": {"Policy": self.policy}}

    def set_topic_attributes(self, AttributeValue: str, **_: object) -> None:  # noqa: N803 - likewise
        self.policy = AttributeValue

    def create_queue(self, **_: object) -> Any:
        return {"QueueUrl": "queue"}

    def subscribe(self, **_: object) -> Any:
        return {"SubscriptionArn": "subscription"}

    def list_event_source_mappings(self, **_: object) -> Any:
        is_updated = "stack deploy" in [name for name, _ in self.calls]
        return {"EventSourceMappings": [{"UUID": "1", "State": self.mappings if is_updated else "Enabled"}]}

    def get_schedule(self, **_: object) -> Any:
        return {"State": "ENABLED"}

    def list_buckets(self, **_: object) -> Any:
        return {"Buckets": [{"Name": name} for name in (f"{STACK}-lakebucket-1", *self.left)]}

    def list_tables(self, ExclusiveStartTableName: str = "", **_: object) -> Any:  # noqa: N803 - likewise
        """Two pages."""
        if ExclusiveStartTableName:
            return {"TableNames": list(self.left)}
        return {"TableNames": [f"{STACK}-ledgertable-1"], "LastEvaluatedTableName": f"{STACK}-ledgertable-1"}

    def describe_log_groups(self, **_: object) -> Any:
        return {"logGroups": []}

    def create_role(self, RoleName: str, **_: object) -> Any:  # noqa: N803 - likewise
        return {"Role": {"Arn": f"arn:aws:iam::123456789012:role/{RoleName}"}}

    def simulate_principal_policy(self, ActionNames: list[str], **_: object) -> Any:  # noqa: N803 - likewise
        return {"EvaluationResults": [{"EvalActionName": each, "EvalDecision": self.decision} for each in ActionNames]}

    def assume_role(self, **_: object) -> Any:
        return {"Credentials": {"AccessKeyId": "ASIA", "SecretAccessKey": "s", "SessionToken": "t"}}

    def put_bucket_notification_configuration(self, NotificationConfiguration: dict[str, Any], **_: object) -> None:  # noqa: N803 - likewise
        self.notifications = dict(NotificationConfiguration)
        if "EventBridgeConfiguration" in self.notifications and not self.keeps:
            del self.notifications["QueueConfigurations"]

    def get_bucket_notification_configuration(self, **_: object) -> Any:
        return dict(self.notifications)

    def head_object(self, **_: object) -> Any:
        return {"LastModified": self.begun + self.modified}

    def filter_log_events(self, logGroupName: str, **_: object) -> Any:  # noqa: N803 - likewise
        """platform.report of Lambda's telemetry schema; a function that was never invoked has no group."""
        if logGroupName.endswith("/judge"):
            raise NotFound("FilterLogEvents: ResourceNotFoundException")
        report = {"type": "platform.report", "record": {"metrics": {"initDurationMs": 512.5}}}
        return {"events": [{"message": json.dumps(report)}]}

    def get_trail_status(self, **_: object) -> Any:
        return {"IsLogging": True, **({"LatestDeliveryError": self.trail} if self.trail else {})}

    def invoke(self, **_: object) -> Any:
        return {"Payload": BytesIO(b'{"complete": 1}')}

    def receive_message(self, **_: object) -> Any:
        return {"Messages": [{}]} if self.heard(self.policy) else {}


DOCUMENTS: Mapping[tuple[str, ...], Any] = {
    ("stack", "delete"): {"parameters": {"KmsKey": "arn:key", "ExistingLakeBucket": "lake"}},
    ("stack", "repair"): {"changes": ["creates LandedRule (AWS::Events::Rule)"]},
    ("stack", "smoke"): {"seconds": 100},
    ("verify", "kms"): {"intact": True, "signatures": {"keys": [{"signed": 1}]}},
}
"""By the words of a command."""


@dataclass
class ScratchCommands:
    """`lakegate` on the scratch stack: every delivery is accepted, but for what a test changes."""

    account: ScratchAccount
    verdict: str = "accepted"
    counts: dict[str, int] = field(default_factory=lambda: {"pass": 8})
    duplicate: str | None = "the first"
    refused: str = ""
    """The first words of a command that ends with exit code 2."""
    calls: list[tuple[str, ...]] = field(default_factory=list)

    blocks: int = 1
    """Deliveries of the folder that was uploaded slowly."""
    makes: bool = False
    """Whether a creation that has to fail does not."""
    by: list[Mapping[str, str]] = field(default_factory=list)
    """The credentials of commands that somebody else gives."""

    def __call__(self, *words: str, codes: Sequence[int] = (0,), by: Mapping[str, str] | None = None) -> Any:
        self.calls.append(words)
        self.account.calls.append((" ".join(words[:2]), {}))
        self.by += [by] if by else []
        if self.refused and " ".join(words).startswith(self.refused):
            raise SmokeError(f"lakegate {self.refused}: exit code 2: no right")
        match words:
            case ("stack", "deploy", *_) if codes == (2,) and self.makes:
                raise SmokeError("lakegate stack deploy: exit code 0")
            case ("stack", "deploy", *options) if codes == (2,):
                assert any(each.startswith("DriftSchedule=cron(99") for each in options)
            case ("stack", "deploy", *options):
                given = (each.partition("=") for each in options if "=" in each)
                self.account.parameters |= {name: value for name, _, value in given}
            case ("status", workload):
                size = max(self.account.sizes.values()) if workload == self.large else min(self.account.sizes.values())
                return self.delivery(size)
            case ("upload", *files):
                paths = [each for each in files if each.endswith(".csv")]
                judged = [self.delivery(1) for _ in paths]
                assert codes != (1,) or "again" in files[-4] or "condition" in files[-4]
                return judged[0] if len(judged) == 1 else {"deliveries": judged}
            case ("log", *_):
                return {"blocks": [{"kind": "PUBLISHED", "objects": [1] * (2 // self.blocks)}] * self.blocks}
        return DOCUMENTS.get((words[0], words[-1]), DOCUMENTS.get(words[:2], {}))

    large: str = ""
    """The workload of the larger delivery."""

    def delivery(self, size: int) -> dict[str, Any]:
        """A delivery as `status` has it."""
        return {
            "workload": "w" * 64,
            "state": "PUBLISHED",
            "verdict": self.verdict,
            "reasons": ["why"],
            "problem": None,
            "attempt": 1,
            "run": str(self.account.started(size)),
            "seconds": 9.0,
            "counts": self.counts,
            "duplicate_of": self.duplicate,
        }


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> ScratchAccount:
    made = ScratchAccount()
    monkeypatch.setattr(open_stack, "client", made.client)
    monkeypatch.setattr(account_steps, "KEY_REUSE_SECONDS", 0)
    monkeypatch.setattr(trial_module, "TICK_SECONDS", 0)
    for name in ("TICK_SECONDS", "SLOW_SECONDS", "ROLE_SECONDS"):
        monkeypatch.setattr(trial_steps, name, 0)
    monkeypatch.setattr(account_steps, "HEARD_SECONDS", 0.01)
    return made


@pytest.fixture
def trial(account: ScratchAccount, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trial:
    commands = ScratchCommands(account)

    def landed(bucket: str, key: str, version: str) -> str:
        assert (bucket, key.partition("/")[0]) == (f"{STACK}-landingbucket-1", STACK)
        commands.large = commands.large or version  # the larger one lands first
        return version

    monkeypatch.setattr(trial_module, "workload_id", landed)
    return Trial(commands, tmp_path, ("--from", "release"), commands=lambda _: commands)


def commands_of(trial: Trial) -> ScratchCommands:
    assert isinstance(trial.lakegate, ScratchCommands)
    return trial.lakegate


FOUND = {
    SIZES: "accepted by 1, 2 and 3 executors, in 9.0, 9.0, 9.0 s",
    RATE: f"{BURST} of {BURST} accepted, no dead letter; 0 took more than one attempt",
    REFERENCES: "the run has read four datasets: checks {'pass': 8}",
    KEY: "the run 1 has ended well; its page in the console has to show the driver's log",
    SLICED: f"{SLICES} slices in order, no invocation dropped; AWS would have sent a mail to the account, too",
    REPAIR: "creates LandedRule (AWS::Events::Rule)",
    AGAIN: "the chain of lakegate-day-one-again/readings_v1 continues, and what it had accepted is a duplicate",
    KEY_CONDITION: "with the condition uploads are taken in and alarms are heard: the template may have it",
    RULE_CONDITION: "with the condition `workload failed` is heard: the template may have it",
    NETWORK: "every step as expected in the VPC, in 100 s",
    PAUSING: "queues, sweep and schedule are as before the update",
    RINGING: "with IntakeFails in ALARM: creates LandedRule (AWS::Events::Rule)",
    FAILS: "no stack, bucket, table or log is left",
    DEPLOYER: "a role with DeployerPolicy, DeployerServicesPolicy, OperatorPolicy, KeyPolicy has changed LogDays",
    GIVEN: "the owner's notification is kept",
    SLOW: "one delivery of both objects",
    TEN: "accepted by 3 executors in 9.0 s",
    LATENCY: "transaction, ms 7.2, cold start of IntakeFunction, ms 512.5, cold start of CompletionFunction, ms 512.5; "
    "the model assumes 5 ms a transaction, and no cold start",
    REGULATED: "the delivery is accepted, its block signed and anchored, the trail writes",
}


@pytest.mark.parametrize("number", range(len(STEPS)), ids=[each.title for each in STEPS])
def test_a_step_is_as_expected(trial: Trial, number: int) -> None:
    """It says what it found."""
    trial.network = {"SubnetIds": "subnet-1", "SecurityGroupIds": "sg-1"}
    found = STEPS[number].run(trial)

    assert (
        (found.words, found.difference) == (FOUND[number], "")
        if isinstance(found, StepObservation)
        else found == FOUND[number]
    )


def _rejects(trial: Trial) -> None:
    commands_of(trial).verdict = "rejected"


def _skips(trial: Trial) -> None:
    commands_of(trial).counts = {"pass": 4, "skip": 4}


def _refuses(words: str) -> Callable[[Trial], None]:
    return lambda trial: setattr(commands_of(trial), "refused", words)


def _sets(name: str, value: object) -> Callable[[Trial], None]:
    return lambda trial: setattr(commands_of(trial).account, name, value)


def _changes_parameters(trial: Trial) -> None:
    account = commands_of(trial).account
    account.delete_rule = lambda **_: account.parameters.update(LogDays="90")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("number", "change", "fault"),
    [
        (SIZES, _sets("executors", lambda _: 1), "1610612736 bytes: the run does not have spark.executor.instances=2"),
        (SIZES, _rejects, "1024 bytes: PUBLISHED, ['why']; None"),
        (RATE, _rejects, f"{BURST} of {BURST} are not accepted: wwwwwwwwwwww"),
        (RATE, _sets("dead", "3"), "3 messages are in the dead-letter queue"),
        (REFERENCES, _skips, "PUBLISHED, checks {'pass': 4, 'skip': 4}"),
        (KEY, _rejects, "PUBLISHED: None; EMR has FAILED, no right to use the key"),
        (KEY, _refuses("stack pause"), "lakegate stack pause: exit code 2"),
        (SLICED, _rejects, f"{SLICES} of {SLICES} are not accepted"),
        (SLICED, _sets("dropped", 2.0), "Lambda has dropped 6 invocations as recursive"),
        (REPAIR, _sets("targets", []), f"the rule {STACK}-LandedRule has no target again"),
        (REPAIR, _changes_parameters, "parameters have changed: [('LogDays', '7'), ('LogDays', '90')]"),
        (AGAIN, lambda trial: setattr(commands_of(trial), "duplicate", None), "the old content is accepted: ['why']"),
        (AGAIN, _refuses("verify"), "lakegate verify: exit code 2"),
        (KEY_CONDITION, _sets("heard", lambda policy: "SourceAccount" not in policy), "the alarm is not heard within"),
        (KEY_CONDITION, _refuses("upload"), "nor without the condition: lakegate upload: exit code 2"),
        (RULE_CONDITION, _sets("heard", lambda policy: "SourceAccount" not in policy), "the event is not heard within"),
        (RULE_CONDITION, _sets("heard", lambda _: False), "nor without the condition: the event is not heard within"),
        (NETWORK, _refuses("stack smoke"), "lakegate stack smoke: exit code 2"),
        (PAUSING, _sets("mappings", "Disabled"), "mappings: ['Disabled'], expected ['Enabled']"),
        (RINGING, _refuses("stack repair"), "repair: 'lakegate stack repair: exit code 2: no right', expected 'made'"),
        (FAILS, _sets("left", (f"{FAILING}-lakebucket-1",)), "buckets: 1, expected 0; tables: 1, expected 0"),
        (
            DEPLOYER,
            _refuses("stack deploy"),
            "deployment: 'lakegate stack deploy: exit code 2: no right', expected 'made'",
        ),
        (DEPLOYER, _sets("decision", "allowed"), f"withheld: [], expected {sorted(WITHHELD)}"),
        (GIVEN, _sets("keeps", False), "theirs: [], expected ['theirs']"),
        (SLOW, lambda trial: setattr(commands_of(trial), "blocks", 2), "deliveries: 2, expected 1"),
        (SLOW, _sets("modified", timedelta(hours=1)), "Last-Modified is the beginning: False, expected True"),
        (TEN, _rejects, "verdict: 'rejected', expected 'accepted'"),
        (TEN, _sets("executors", lambda _: 1), "executors: 1, expected 3"),
        (LATENCY, _sets("transaction", 31.0), "a transaction takes at most 20 ms: False, expected True"),
        (LATENCY, _sets("transaction", 0.0), "transactions were measured: False, expected True"),
        (REGULATED, _sets("trail", "AccessDenied"), "trail: False, expected True"),
        (REGULATED, _rejects, "verdict: 'rejected', expected 'accepted'"),
    ],
)
def test_an_account_that_behaves_otherwise_is_told(
    trial: Trial, number: int, change: Callable[[Trial], None], fault: str
) -> None:
    """By what was found in the place of what was expected."""
    trial.network = {"SubnetIds": "subnet-1", "SecurityGroupIds": "sg-1"}
    change(trial)

    assert fault in told(trial, number)


def told(trial: Trial, number: int) -> str:
    """What a step says of an account that behaves otherwise."""
    try:
        found = STEPS[number].run(trial)
    except SmokeError as error:
        return str(error)
    assert isinstance(found, StepObservation), found
    return found.difference


def test_large_deliveries_are_made_in_s3(trial: Trial, account: ScratchAccount) -> None:
    """64 MiB leave this machine, whatever the sizes; what they are copied from does not stay."""
    STEPS[SIZES].run(trial)

    assert list(account.sizes.values()) == [5 * 2**20 + 47 * 2**26, 5 * 2**20 + 23 * 2**26]
    (block,) = account.asked("s3 put_object")
    assert 2**26 - 100 < len(block["Body"]) <= 2**26
    assert block["Body"].endswith(b"\n")
    assert [each["Key"] for each in account.asked("s3 delete_object")] == [block["Key"]]


def test_an_application_keeps_its_other_settings_beside_the_key(trial: Trial, account: ScratchAccount) -> None:
    """Deliveries continue, whatever EMR says."""
    STEPS[KEY].run(trial)
    (request,) = account.asked("emr-serverless update_application")

    assert request["monitoringConfiguration"].keys() == {
        "s3MonitoringConfiguration",
        "managedPersistenceMonitoringConfiguration",
    }
    assert request["diskEncryptionConfiguration"] == {"encryptionKeyArn": "arn:key"}
    assert ("stack", "resume") in commands_of(trial).calls


@pytest.mark.parametrize("number", [KEY_CONDITION, RULE_CONDITION])
@pytest.mark.parametrize("hears", [True, False])
def test_a_policy_and_a_subscription_are_taken_back(
    trial: Trial, account: ScratchAccount, number: int, *, hears: bool
) -> None:
    """However the step ends; only the one statement has the condition meanwhile."""
    policies: list[str] = []

    def heard(policy: str) -> bool:
        policies.append(policy)
        return hears or "SourceAccount" not in policy

    account.heard = heard
    try:
        STEPS[number].run(trial)
    except SmokeError:
        assert not hears

    conditions = [
        [each["Sid"] for each in json.loads(policy)["Statement"] if "Condition" in each] for policy in policies
    ]
    statement = {KEY_CONDITION: "EncryptedQueuesAndTopic", RULE_CONDITION: "TheRuleOfFailures"}[number]
    assert [*map(tuple, dict.fromkeys(map(tuple, conditions)))] == [(), (statement,)]
    assert account.policy == POLICY
    assert len(account.asked("sns subscribe")) == len(account.asked("sns unsubscribe")) == 2
    assert len(account.asked("sqs delete_queue")) == 2
    states = [each["StateValue"] for each in account.asked("cloudwatch set_alarm_state")]
    assert states == (["ALARM", "OK"] * 2 if number == KEY_CONDITION else [])


def test_what_needs_spark_turns_the_function_off(trial: Trial, account: ScratchAccount) -> None:
    """After the step that turned it on, by an update; else there is none."""
    STEPS[RATE].run(trial)
    assert not [each for each in commands_of(trial).calls if each[:2] == ("stack", "deploy")]

    STEPS[SLICED].run(trial)
    STEPS[RATE].run(trial)
    assert account.parameters["SmallFileBytes"] == "0"


def test_a_step_without_what_it_needs_is_skipped(trial: Trial) -> None:
    """It says what to name."""
    trial.network = {"SubnetIds": "subnet-1"}
    with pytest.raises(StepSkipped, match="--parameter SubnetIds=… --parameter SecurityGroupIds=…"):
        STEPS[NETWORK].run(trial)


def test_a_delivery_that_does_not_end_is_named(trial: Trial) -> None:
    """With its state, and where it was never taken in."""
    answers: list[Any] = [None, {"state": "RUNNING"}]
    trial.lakegate = lambda *_, **__: answers[0]
    with pytest.raises(SmokeError, match="abc is not taken in after"):
        trial.finished("abc", -1)
    answers.pop(0)
    with pytest.raises(SmokeError, match="abc is RUNNING after"):
        trial.finished("abc", -1)


def test_only_what_the_scratch_stack_has_made_is_noted(trial: Trial, account: ScratchAccount) -> None:
    """By the names that CloudFormation gives; a key only while the stack is the one that made it."""
    account.parameters["KmsKey"] = "arn:key"
    trial.deploy()
    assert (list(trial.stores.values()), trial.keys) == (list(STORES), {})

    account.parameters["KmsKey"] = "own"
    trial.deploy()
    assert trial.keys == {"KmsKey": "arn:key"}

    account.parameters["SigningKey"] = "own"
    trial.deploy()
    assert trial.keys["SigningKey"] == "arn:signing"

    account.is_there = False
    with pytest.raises(SmokeError, match=f"the stack {STACK} is not there"):
        _ = trial.there


def test_what_the_trial_has_made_beside_its_stack_is_gone_or_named(trial: Trial, account: ScratchAccount) -> None:
    """Role, bucket and queue of a step; what is locked is named. Somebody else deploys with a session of the role."""
    for number in (DEPLOYER, GIVEN, REGULATED):
        STEPS[number].run(trial)
    made = {name for name, _ in account.calls}

    assert {"iam delete_role", "s3 delete_bucket", "sqs delete_queue"} < made
    assert len(account.asked("iam detach_role_policy")) == len(POLICIES)
    assert [sorted(each) for each in commands_of(trial).by] == [
        ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"]
    ]
    assert [each.partition(" of ")[0] for each in trial.kept] == [f"the bucket {STACK}-anchorbucket-1", "the bucket"]


def test_a_creation_that_does_not_fail_is_deleted_again(trial: Trial) -> None:
    """With its data; and what one that failed has left is named."""
    commands_of(trial).makes = True
    with pytest.raises(SmokeError, match="exit code 0"):
        STEPS[FAILS].run(trial)
    assert commands_of(trial).calls[-1] == ("stack", "delete", "--yes", "--data")
    assert trial.kept == [f"what the stack {FAILING} has made and its deletion keeps"]

    commands_of(trial).makes, commands_of(trial).account.left = False, (f"{FAILING}-lakebucket-1",)
    STEPS[FAILS].run(trial)
    assert trial.kept[1] == f"{FAILING}-lakebucket-1 of a creation that failed: delete it"


def test_expectations_follow_from_the_parameters_of_the_stack(trial: Trial, account: ScratchAccount) -> None:
    """With other limits another number of executors is expected, and the fake starts as many."""
    account.parameters |= {"MaxVcpu": "64", "MaxConcurrentRuns": "2"}
    found = STEPS[TEN].run(trial)
    assert isinstance(found, StepObservation)

    assert (found.expected["executors"], found.difference) == (10, "")


def test_the_numbers_of_the_model_are_those_of_its_tests() -> None:
    """tests/simulation/throughput.py has them."""
    default, slowest = Times(), QUOTAS["default, DynamoDB 20 ms"].times

    assert tuple(round(1000 * each.of_transaction) for each in (default, slowest)) == trial_steps.ASSUMED_MILLISECONDS


def test_the_list_fits_into_the_hours_and_dollars_that_the_guide_names() -> None:
    """Without the subnets, which a person has to have."""
    minutes = account_steps.DEPLOY_MINUTES + account_steps.DELETE_MINUTES
    minutes += sum(each.minutes for each in STEPS if not each.needs)
    dollars = account_steps.DOLLARS_BESIDE + sum(each.dollars for each in STEPS)
    guide = (ROOT / "docs/deploy.md").read_text()

    assert minutes <= 180
    assert dollars <= 7
    assert f"{len(STEPS)} steps" in guide
    assert "three hours and less than 7 USD" in guide


def test_an_empty_poll_is_answered_before_its_client_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a message that SQS gives to the dropped poll is hidden, and the step says that nothing was heard."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    client = clients._create_client.__wrapped__("sqs")  # noqa: SLF001 - one that no other test gets

    assert client.meta.config.read_timeout >= 2 * account_steps.POLL_SECONDS
