"""What template.yaml promises, compared with the code that it contains. test_linters.py has it judged by three tools."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from local_emr.api_shapes import read_parameters
from local_emr.spark_rules import vcpus, worker_memory

from lakegate.aws.dynamodb_table import DEFINITIONS
from lakegate.aws.settings import PATTERNS, PREFIX, read
from lakegate.aws.wiring import DRIVER_VCPU, EXECUTOR_VCPU
from lakegate.base.extension_points import ROOT
from lakegate.gate.datasets.readers_manifest import TAG
from lakegate.gate.delivery.decide_verdict import STAGED_FOR
from lakegate.gate.delivery.submit_run import DISK, EXECUTORS
from lakegate.gate.dependencies import Timing
from lakegate.spark.spark_session import SETTINGS
from tests.sam.built import ARNS, Stack
from tests.simulation import throughput

OUTPUTS = (
    "LandingBucket LakeBucket RegistryTable WorkloadsTable LedgerTable ApplicationId EventBusName IntakeFunction "
    "CompletionFunction SweepFunction NotifyFunction JudgeFunction DeadLetterQueueUrl IgnoredKeys RequireApproval AlarmTopic "
    "MissingFields StewardPolicy ApproverPolicy LifecyclePolicy OperatorPolicy ResponderPolicy DoctorPolicy DeployerPolicy "
    "DeployerServicesPolicy EnginePolicy KeyPolicy KeyArn "
    "NamedQueueUrl DeadLetterQueueArn AnchorBucket SigningKeyArn LandingPrefix ApiFunction ApiId ApiUrl ErasurePolicy "
    "TableDatabase"
)
FUNCTIONS = ("IntakeFunction", "CompletionFunction", "SweepFunction", "NotifyFunction", "ApiFunction")
OF_ANCHORS = {"LAKEGATE_ANCHORS", "LAKEGATE_ANCHOR_DAYS"}
"""Where the anchor function writes, and no other does."""
OF_THE_API = {"LAKEGATE_LANDED_QUEUE"}
"""Where the API announces deliveries; no other function sends there."""
QUEUES = ("LandedQueue", "MovedQueue", "DeadLetterQueue")
OF_PULLS = {"LAKEGATE_PULL_HOSTS", "LAKEGATE_PULL_SECRETS"}
"""Where data is fetched from; no other function reaches out."""
OF_TABLES = {"LAKEGATE_TABLE_DATABASE"}
"""Where tables are kept; no other function knows the database."""
OF_METRICS = {"LAKEGATE_DATASET_METRICS"}
"""Where datasets are measured for CloudWatch: by notify and sweep."""
ENVIRONMENT_LIMIT = 4096
"""Bytes that Lambda takes of names and values together."""


@pytest.fixture(params=["made", "given"])
def either(request: pytest.FixtureRequest, built: Path) -> Stack:
    """The stack with an application of its own, and with one that exists."""
    given = {"EmrApplicationId": "00f1982r1uukb925"} if request.param == "given" else {}
    names = {"LandingBucket": "landing", "LakeBucket": "lake", "Application": "00f1made"}
    return Stack.read(built, **names, **given)


@pytest.mark.parametrize("file", [".checkov.yaml", ".cfnlintrc", "template.yaml"])
def test_each_exception_has_a_reason(file: str) -> None:
    """Anyone who reads that a rule is off reads on the same line why."""
    exceptions = [
        line for line in (ROOT / file).read_text().splitlines() if re.search(r"\b(CKV_AWS_\d+|[EW]S\d{4})\b", line)
    ]

    assert exceptions
    assert [line for line in exceptions if " # " not in line] == []


def test_the_environment_of_every_function_is_one_that_functions_accept(either: Stack) -> None:
    """The template sets the names that lakegate/aws/settings.py reads, with values of the right form."""
    for name in FUNCTIONS:
        environment = either.function(name)["Environment"]["Variables"]

        unset = OF_ANCHORS | OF_PULLS | OF_TABLES | (set() if name == "ApiFunction" else OF_THE_API)
        unset |= set() if name in {"SweepFunction", "NotifyFunction"} else OF_METRICS
        assert {PREFIX + each.upper() for each in PATTERNS} | OF_METRICS == set(environment) | unset
        of_queues = dict.fromkeys(OF_THE_API & set(environment), "https://sqs.eu-west-1.amazonaws.com/1/landed")
        assert read({**environment, **of_queues}).landing == "landing"
        assert sum(len(key) + len(value) for key, value in environment.items()) < ENVIRONMENT_LIMIT


def test_endpoints_of_emulators_are_set_only_where_they_are_given(built: Path) -> None:
    """In AWS no variable names an endpoint; where a parameter names one, boto3 gets it."""
    given = Stack.read(built, ServiceEndpoint="http://127.0.0.1:1", EmrEndpoint="http://127.0.0.1:2")

    environment = given.function("SweepFunction")["Environment"]["Variables"]

    assert environment["AWS_ENDPOINT_URL"] == "http://127.0.0.1:1"
    assert environment["AWS_ENDPOINT_URL_EMR_SERVERLESS"] == "http://127.0.0.1:2"


@pytest.mark.parametrize("table", sorted(DEFINITIONS))
def test_each_table_is_the_one_that_the_adapters_use(stack: Stack, table: str) -> None:
    """Keys and index are those of lakegate/aws/dynamodb_table.py; no table loses its past."""
    made = stack.resources("AWS::DynamoDB::Table")[f"{table.capitalize()}Table"]

    assert DEFINITIONS[table] == {name: made[name] for name in DEFINITIONS[table]}
    assert set(DEFINITIONS[table]) == {"KeySchema", "AttributeDefinitions"} | {"GlobalSecondaryIndexes"} & set(made)
    assert made["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"]
    assert "SSESpecification" not in made, "the key of DynamoDB's own costs nothing, that of the account does"


def test_only_messages_expire(stack: Stack) -> None:
    """A claim is found for ever: only the table of workloads has a time to live, on the attribute that messages have."""
    lives = {
        name: made.get("TimeToLiveSpecification") for name, made in stack.resources("AWS::DynamoDB::Table").items()
    }

    assert lives.pop("WorkloadsTable") == {"AttributeName": "expires", "Enabled": True}
    assert list(lives.values()) == [None, None]


BUCKETS = ("LandingBucket", "LakeBucket", "AnchorBucket", "AuditBucket")
GIVEN_KEY = "arn:aws:kms:eu-west-1:123456789012:key/1"
EVERYTHING = {"AnchorDays": "30", "AuditQuarantine": "yes", "WarmWorkers": "1"}


@pytest.mark.parametrize("key", ["", "own", GIVEN_KEY])
def test_everything_stored_is_encrypted_by_the_key_that_is_wanted(built: Path, key: str) -> None:
    """Buckets, tables, queues, logs and the topic: by AWS's keys, by one of the stack, or by the one given."""
    stack = Stack.read(built, **EVERYTHING, KmsKey=key)
    wanted = {"": None, "own": "arn:aws:kms:eu-west-1:123456789012:key/Key"}.get(key, key)
    configured = {
        name: each["BucketEncryption"]["ServerSideEncryptionConfiguration"][0]["ServerSideEncryptionByDefault"]
        for name, each in stack.resources("AWS::S3::Bucket").items()
    }
    queues = stack.resources("AWS::SQS::Queue").values()
    keys = [each.get("KMSMasterKeyID") for each in configured.values()]
    keys += [
        each.get("SSESpecification", {}).get("KMSMasterKeyId")
        for each in stack.resources("AWS::DynamoDB::Table").values()
    ]
    keys += [each.get("KmsMasterKeyId") for each in (*queues, *stack.resources("AWS::SNS::Topic").values())]
    keys += [each.get("KmsKeyId") for each in stack.resources("AWS::Logs::LogGroup").values()]

    assert set(configured) == set(BUCKETS)
    assert {each["SSEAlgorithm"] for each in configured.values()} == {"aws:kms" if key else "AES256"}
    assert {each["SqsManagedSseEnabled"] for each in queues} == {not key}
    assert set(keys) == {wanted}
    assert len(keys) == 4 + 3 + 3 + 1 + 7
    assert list(stack.resources("AWS::KMS::Key")) == (["Key"] if key == "own" else [])


WITH_KEYS = {
    "AWS::S3::Bucket": "BucketEncryption",
    "AWS::DynamoDB::Table": "SSESpecification",
    "AWS::SQS::Queue": "KmsMasterKeyId",
    "AWS::SNS::Topic": "KmsMasterKeyId",
    "AWS::Logs::LogGroup": "KmsKeyId",
    "AWS::CloudTrail::Trail": "KMSKeyId",
}
"""The property of a type that says by which key it is encrypted."""
WITHOUT_KEYS = {
    "AWS::EMRServerless::Application": "key policies for its logs and disks are not tried in an account; docs/deploy.md says so",
    "AWS::Glue::Database": "it has names of tables and columns; the catalog of the account has one key for all of it",
    "AWS::Events::EventBus": "its events have names, counts and ids; consumers' rules would need the key",
    "AWS::Scheduler::Schedule": "its input is empty",
    "AWS::Serverless::Function": "environment and code have no secret and no data",
}
"""Types that could have one, with the reason why they have none."""
NOTHING_STORED = {
    *(f"AWS::ApiGatewayV2::{each}" for each in ("Api", "Authorizer", "Integration", "Route", "Stage")),
    *(f"AWS::CloudWatch::{each}" for each in ("Alarm", "Dashboard")),
    *(f"AWS::IAM::{each}" for each in ("ManagedPolicy", "Role")),
    *("AWS::Events::Rule", "AWS::KMS::Key", "AWS::Lambda::EventSourceMapping", "AWS::Lambda::Permission"),
    *("AWS::S3::BucketPolicy", "AWS::SNS::TopicPolicy", "AWS::SQS::QueuePolicy"),
}


def test_each_type_that_stores_has_the_key_or_a_reason(built: Path) -> None:
    """A type of resource that is new in the template belongs to one of the three lists."""
    stack = Stack.read(built, **EVERYTHING, KmsKey=GIVEN_KEY)
    types = {each["Type"] for each in stack.template["Resources"].values()}
    without = [
        name
        for kind, place in WITH_KEYS.items()
        for name, each in stack.resources(kind).items()
        if GIVEN_KEY not in str(each.get(place))
    ]

    assert types == {*WITH_KEYS, *WITHOUT_KEYS, *NOTHING_STORED}
    assert without == []


def test_the_audit_trail_begins_late(built: Path) -> None:
    """CloudTrail writes at once, and S3 deletes no bucket with objects: what may fail is made before."""
    template = Stack.read(built).template["Resources"]
    before = template["AuditTrail"]["DependsOn"]

    assert {"AuditBucketPolicy", "ApiStage"} <= set(before)
    assert {template[each]["Type"] for each in before} >= {"AWS::Scheduler::Schedule", "AWS::ApiGatewayV2::Stage"}


def test_the_schedule_of_anchors_begins_late(built: Path) -> None:
    """It fires as soon as it is made (EventBridge Scheduler guide, rate-based schedules), and nobody deletes what it locks.

    Not after the trail, which may not be made: CloudFormation refuses a dependency on what is not there.
    """
    template = Stack.read(built).template["Resources"]

    assert set(template["AnchorEvery"]["DependsOn"]) == set(template["AuditTrail"]["DependsOn"]) - {"AuditBucketPolicy"}


@pytest.mark.parametrize(("given", "closed"), [("yes", None), ("no", True)])
def test_the_api_has_no_address_where_nobody_wants_one(built: Path, given: str, closed: bool | None) -> None:  # noqa: FBT001 - a case
    """The default endpoint of an HTTP API is its only one, and it is public."""
    (api,) = Stack.read(built, WithApi=given).resources("AWS::ApiGatewayV2::Api").values()

    assert api.get("DisableExecuteApiEndpoint") is closed


def test_the_services_that_write_encrypted_may_use_the_stacks_key(built: Path) -> None:
    """EventBridge to the queues and the topic, CloudWatch to the topic, Logs, CloudTrail: else messages are lost silently."""
    (key,) = Stack.read(built, KmsKey="own").resources("AWS::KMS::Key").values()
    allowed = {}
    for each in key["KeyPolicy"]["Statement"][1:]:
        services = each["Principal"]["Service"]
        allowed |= {name: set(each["Action"]) for name in ([services] if isinstance(services, str) else services)}

    assert key["EnableKeyRotation"]
    assert allowed == {
        "events.amazonaws.com": {"kms:Decrypt", "kms:GenerateDataKey"},
        "cloudwatch.amazonaws.com": {"kms:Decrypt", "kms:GenerateDataKey"},
        "logs.eu-west-1.amazonaws.com": {
            *("kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:Describe*"),
        },
        # Decrypt: "if you are using an existing S3 bucket with an S3 Bucket Key" (CloudTrail guide, key policy)
        "cloudtrail.amazonaws.com": {"kms:GenerateDataKey*", "kms:Decrypt", "kms:DescribeKey"},
    }


def test_a_failed_first_deployment_leaves_nothing(built: Path) -> None:
    """What is kept when the stack is deleted is deleted when its creation is rolled back.

    `Retain` would leave buckets, tables and keys of each failed attempt behind
    (https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-attribute-deletionpolicy.html).
    """
    resources = Stack.read(built).template["Resources"]
    kept = {name: each["DeletionPolicy"] for name, each in resources.items() if "DeletionPolicy" in each}

    policies = {f"{bucket}Policy" for bucket in BUCKETS}  # a kept bucket is given to the next stack, which makes none
    stores = {"RegistryTable", "WorkloadsTable", "LedgerTable", "GlueDatabase"}
    assert set(kept) == {*BUCKETS, *policies, *stores, "Key", "LedgerKey"}
    assert set(kept.values()) == {"RetainExceptOnCreate"}
    assert {name for name, each in resources.items() if each.get("UpdateReplacePolicy") == "Retain"} == set(kept)


def test_existing_buckets_are_used_and_left_as_they_are(built: Path) -> None:
    """The stack makes neither bucket nor bucket policy; functions, rules, the job and policies name the given ones."""
    given = {"ExistingLandingBucket": "given-landing", "ExistingLakeBucket": "given-lake"}
    stack = Stack.read(built, EmrApplicationId="00f1", **given)
    settings = read(stack.function("IntakeFunction")["Environment"]["Variables"])

    assert (settings.landing, settings.lake) == ("given-landing", "given-lake")
    assert (settings.unrouted, settings.adopts) == ("ignore", "no")
    assert settings.entry_point == "s3://given-lake/code/current/validate.py"
    assert stack.resources("AWS::S3::Bucket") == stack.resources("AWS::S3::BucketPolicy") == {}
    assert stack.resources("AWS::Events::Rule")["LandedRule"]["EventPattern"]["detail"] == {
        "bucket": {"name": ["given-landing"]}
    }
    assert not re.search(r"LandingBucket|LakeBucket", str(stack.resources("AWS::IAM::ManagedPolicy")))
    assert not re.search(r"LandingBucket|LakeBucket", str(stack.resources("AWS::IAM::Role")))


def test_a_bucket_of_anchors_is_used_again(built: Path) -> None:
    """That of a deleted stack: neither bucket nor policy is made, and whoever writes, lists or reads anchors is given it."""
    stack = Stack.read(built, AnchorDays="30", ExistingAnchorBucket="given-anchors")
    roles, policies = stack.resources("AWS::IAM::Role"), stack.resources("AWS::IAM::ManagedPolicy")
    place = "arn:aws:s3:::given-anchors"

    assert [
        name for kind in ("", "Policy") for name in stack.resources(f"AWS::S3::Bucket{kind}") if "Anchor" in name
    ] == []
    assert stack.function("AnchorFunction")["Environment"]["Variables"]["LAKEGATE_ANCHORS"] == "given-anchors"
    for name, granted in (("AnchorRole", roles), ("OperatorPolicy", policies), ("ResponderPolicy", policies)):
        assert place in str(granted[name])
        assert "AnchorBucket" not in str(granted[name])


def test_a_landing_bucket_may_be_shared_with_others(built: Path) -> None:
    """Below the prefix alone objects are announced, read and deleted; what was there and has no route is taken in on request."""
    given = {"ExistingLandingBucket": "given-landing", "LandingPrefix": "incoming/", "EmrApplicationId": "00f1"}
    stack = Stack.read(built, ExistingLakeBucket="given-lake", AdoptExisting="yes", Unrouted="quarantine", **given)
    settings = read(stack.function("IntakeFunction")["Environment"]["Variables"])
    own = Stack.read(built).function("IntakeFunction")["Environment"]["Variables"]

    assert (settings.landing_prefix, settings.unrouted, settings.adopts) == ("incoming/", "quarantine", "yes")
    assert [own[f"LAKEGATE_{name}"] for name in ("LANDING_PREFIX", "UNROUTED", "ADOPTS")] == ["", "quarantine", "yes"]
    assert stack.resources("AWS::Events::Rule")["LandedRule"]["EventPattern"]["detail"] == {
        "bucket": {"name": ["given-landing"]},
        "object": {"key": [{"prefix": "incoming/"}]},
    }
    policies = str(stack.resources("AWS::IAM::ManagedPolicy")) + str(stack.resources("AWS::IAM::Role"))
    assert set(re.findall(r"given-landing(/[^'\"]*)?", policies)) == {
        *("", "/incoming/*"),
        "/incoming/*derived-*.json",  # requests for the rows of derived datasets
    }


def test_functions_and_job_join_the_vpc_that_is_given(built: Path) -> None:
    """Subnets and security groups go to all functions and to the application; without them there is no VPC."""
    network = {"SubnetIds": ["subnet-1", "subnet-2"], "SecurityGroupIds": ["sg-1"]}
    inside = Stack.read(built, SubnetIds="subnet-1,subnet-2", SecurityGroupIds="sg-1")
    outside = Stack.read(built)

    assert [inside.function(name)["VpcConfig"] for name in FUNCTIONS] == [network] * len(FUNCTIONS)
    assert inside.resources("AWS::EMRServerless::Application")["Application"]["NetworkConfiguration"] == network
    assert ["VpcConfig" in outside.function(name) for name in FUNCTIONS] == [False] * len(FUNCTIONS)
    assert "NetworkConfiguration" not in outside.resources("AWS::EMRServerless::Application")["Application"]


def test_warm_workers_have_the_size_that_the_job_asks_for(built: Path) -> None:
    """A worker of another size would be paid for and never used: memory includes its overhead.

    https://docs.aws.amazon.com/emr/latest/EMR-Serverless-UserGuide/pre-init-capacity.html
    """
    warm = Stack.read(built, WarmWorkers="3").resources("AWS::EMRServerless::Application")["Application"]
    parameters = Stack.read(built).function("IntakeFunction")["Environment"]["Variables"]["LAKEGATE_JOB_PARAMETERS"]
    settings = read_parameters(parameters.replace(EXECUTORS, "1").replace(DISK, "20")).cluster
    size = {"Cpu": f"{vcpus(settings, 'executor')} vCPU", "Memory": f"{worker_memory(settings, 'executor')} GB"}

    assert {each["Key"]: each["Value"] for each in warm["InitialCapacity"]} == {
        kind: {"WorkerCount": "3", "WorkerConfiguration": size} for kind in ("Driver", "Executor")
    }
    assert "InitialCapacity" not in Stack.read(built).resources("AWS::EMRServerless::Application")["Application"]


def test_every_role_is_made_under_the_permissions_boundary(built: Path) -> None:
    """Where an account requires one, a role without it cannot be made."""
    boundary = "arn:aws:iam::123456789012:policy/boundary"
    bounded = Stack.read(built, PermissionsBoundary=boundary).resources("AWS::IAM::Role")
    free = Stack.read(built).resources("AWS::IAM::Role")

    assert {name: each["PermissionsBoundary"] for name, each in bounded.items()} == dict.fromkeys(bounded, boundary)
    assert [name for name, each in free.items() if "PermissionsBoundary" in each] == []


def test_anchors_are_locked_for_as_long_as_is_wanted(built: Path) -> None:
    """In compliance mode nobody shortens it; without days there is no bucket."""
    anchors = Stack.read(built, AnchorDays="400").resources("AWS::S3::Bucket")["AnchorBucket"]

    assert anchors["ObjectLockEnabled"]
    assert anchors["ObjectLockConfiguration"]["Rule"]["DefaultRetention"] == {"Mode": "COMPLIANCE", "Days": "400"}
    assert "AnchorBucket" not in Stack.read(built).resources("AWS::S3::Bucket")


def test_access_to_quarantined_objects_is_recorded_where_that_is_wanted(built: Path) -> None:
    """Reads and writes of quarantine/, and of nothing else, go to a bucket that only this trail writes to."""
    stack = Stack.read(built, AuditQuarantine="yes", ExistingLakeBucket="given-lake")
    (trail,) = stack.resources("AWS::CloudTrail::Trail").values()
    (selector,) = trail["AdvancedEventSelectors"]
    writing = [
        each
        for each in stack.resources("AWS::S3::BucketPolicy")["AuditBucketPolicy"]["PolicyDocument"]["Statement"]
        if each["Effect"] == "Allow"
    ]

    assert {"Field": "resources.ARN", "StartsWith": ["arn:aws:s3:::given-lake/quarantine/"]} in selector[
        "FieldSelectors"
    ]
    assert trail["S3BucketName"] == "AuditBucket"
    assert {each["Condition"]["StringEquals"]["aws:SourceArn"] for each in writing} == {
        "arn:aws:cloudtrail:eu-west-1:123456789012:trail/lakegate-quarantine"
    }
    assert Stack.read(built).resources("AWS::CloudTrail::Trail") == {}


@pytest.mark.parametrize("bucket", BUCKETS)
def test_each_bucket_is_versioned_private_and_allows_tls_only(built: Path, bucket: str) -> None:
    """The properties that every promise about objects begins with."""
    stack = Stack.read(built, **EVERYTHING)
    made = stack.resources("AWS::S3::Bucket")[bucket]
    policies = [each for each in stack.resources("AWS::S3::BucketPolicy").values() if each["Bucket"] == bucket]
    denied = [each.get("Condition") for each in policies[0]["PolicyDocument"]["Statement"] if each["Effect"] == "Deny"]

    assert made["VersioningConfiguration"] == {"Status": "Enabled"}
    assert {True} == set(made["PublicAccessBlockConfiguration"].values())
    assert {"Bool": {"aws:SecureTransport": "false"}} in denied


def test_no_delivery_expires_unless_its_contract_says_so(stack: Stack) -> None:
    """Lifecycle rules delete staging, leftovers of runs and erasures, old heads of manifests, and quarantined data by its tag."""
    buckets = stack.resources("AWS::S3::Bucket")
    rules = {name: buckets[name]["LifecycleConfiguration"]["Rules"] for name in ("LandingBucket", "LakeBucket")}
    taking = {"ExpirationInDays", "ExpirationDate", "NoncurrentVersionExpiration", "Transitions"}

    assert [rule for rule in rules["LandingBucket"] if taking & set(rule)] == []
    deleting = [rule for rule in rules["LakeBucket"] if taking & set(rule)]
    tagged = [rule for rule in deleting if "TagFilters" in rule]
    assert [rule["Prefix"] for rule in deleting if rule not in tagged] == ["staging/", "runs/", "erasures/"]
    assert [(rule.get("Prefix"), rule["TagFilters"], rule.get("ExpirationInDays")) for rule in tagged] == [
        (None, [{"Key": "lakegate", "Value": TAG}], None),
        *(("quarantine/", [{"Key": "lakegate", "Value": f"quarantine-{days}"}], days) for days in (7, 30, 90, 365)),
    ]
    assert [rule["ExpirationInDays"] for rule in deleting if rule.get("Prefix") == "staging/"] == [STAGED_FOR.days]
    assert {rule["NoncurrentVersionExpiration"]["NoncurrentDays"] for rule in tagged} == {1}
    # A rule with days deletes no lone marker (S3 user guide, "Removing expired object delete markers"): each has a second one.
    assert [rule["Prefix"] for rule in rules["LakeBucket"] if "ExpiredObjectDeleteMarker" in rule] == [
        "staging/",
        "runs/",
        "erasures/",
        "quarantine/",
    ]


def test_landing_notifies_of_its_objects(stack: Stack) -> None:
    """EventBridge gets every object of landing, and the rule asks for no other bucket's."""
    landing = stack.resources("AWS::S3::Bucket")["LandingBucket"]
    pattern = stack.resources("AWS::Events::Rule")["LandedRule"]["EventPattern"]

    assert landing["NotificationConfiguration"]["EventBridgeConfiguration"]["EventBridgeEnabled"]
    assert pattern["detail"] == {"bucket": {"name": ["LandingBucket"]}}


def test_every_end_of_a_job_is_notified(either: Stack) -> None:
    """SUCCESS, FAILED and CANCELLED of the stack's own application, made or given."""
    detail = either.resources("AWS::Events::Rule")["MovedRule"]["EventPattern"]["detail"]

    assert detail["state"] == ["SUCCESS", "FAILED", "CANCELLED"]
    assert [read(either.function("IntakeFunction")["Environment"]["Variables"]).application] == detail["applicationId"]


@pytest.mark.parametrize(("function", "event"), [("IntakeFunction", "Landed"), ("CompletionFunction", "Moved")])
def test_each_message_fails_alone_and_comes_again(stack: Stack, function: str, event: str) -> None:
    """A message that fails is given again after six times the function's time, and ends in the dead-letter queue."""
    made = stack.function(function)
    source = made["Events"][event]["Properties"]
    queue = stack.resources("AWS::SQS::Queue")[source["Queue"].rpartition(":")[2]]

    assert source["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert 6 * made["Timeout"] <= queue["VisibilityTimeout"]
    assert queue["RedrivePolicy"]["deadLetterTargetArn"].endswith("DeadLetterQueue")


def test_the_simulation_of_throughput_has_the_numbers_of_the_template(built: Path) -> None:
    """Pollers, messages of an invocation, time limits, queues, schedules, the age of events."""
    stack = Stack.read(built, SmallFileBytes="1")
    queues, schedules = stack.resources("AWS::SQS::Queue"), stack.resources("AWS::Scheduler::Schedule")
    for function, event, pollers in (
        ("IntakeFunction", "Landed", throughput.INTAKES),
        ("CompletionFunction", "Moved", throughput.COMPLETIONS),
    ):
        made, source = stack.function(function), stack.function(function)["Events"][event]["Properties"]
        queue = queues[source["Queue"].rpartition(":")[2]]
        assert (source["ScalingConfig"]["MaximumConcurrency"], source["BatchSize"]) == (pollers, throughput.BATCH)
        assert (made["Timeout"], queue["VisibilityTimeout"]) == (throughput.FUNCTION_LIMIT, throughput.VISIBILITY)
        assert queue["RedrivePolicy"]["maxReceiveCount"] == throughput.RECEIVES
    judge, application = stack.function("JudgeFunction"), stack.resources("AWS::EMRServerless::Application")
    assert judge["EventInvokeConfig"]["MaximumEventAgeInSeconds"] == throughput.JUDGE_AGE
    assert stack.function("NotifyFunction")["Timeout"] == throughput.NOTIFY_LIMIT
    assert stack.function("SweepFunction")["Timeout"] == throughput.FUNCTION_LIMIT
    assert schedules["SweepEvery"]["ScheduleExpression"] == f"rate({throughput.SWEEP_EVERY / 60:.0f} minutes)"
    assert schedules["NotifyEvery"]["ScheduleExpression"] == f"rate({throughput.NOTIFY_EVERY / 60:.0f} minute)"
    scheduler = application["Application"]["SchedulerConfiguration"]
    assert timedelta(minutes=scheduler["QueueTimeoutMinutes"]) == throughput.QUEUE_TIMEOUT


@pytest.mark.parametrize("function", FUNCTIONS)
def test_no_function_outlives_a_lease(stack: Stack, function: str) -> None:
    """A worker that comes back after its lease is rare, because it would have been stopped before."""
    assert Timing().lease.total_seconds() > stack.function(function)["Timeout"]


def test_a_new_account_has_no_concurrency_to_reserve(built: Path) -> None:
    """Lambda keeps 100 unreserved executions, and a new account may have 10 in all: nothing is reserved by default.

    https://docs.aws.amazon.com/lambda/latest/dg/configuration-concurrency.html
    """
    reserving = Stack.read(built, ReserveConcurrency="yes").function("SweepFunction")
    sparing = Stack.read(built).function("SweepFunction")

    assert reserving["ReservedConcurrentExecutions"] == 1
    assert "ReservedConcurrentExecutions" not in sparing


def test_the_job_gets_what_it_needs_before_its_session(stack: Stack) -> None:
    """Python is the archive's, and no setting of lakegate/spark/spark_session.py is set twice: two places would drift apart."""
    parameters = stack.function("IntakeFunction")["Environment"]["Variables"]["LAKEGATE_JOB_PARAMETERS"]
    settings = dict(each.split("=", 1) for each in re.findall(r"--conf (\S+)", parameters))
    pythons = {value for name, value in settings.items() if name.endswith("PYTHON")}

    regions = {name: value for name, value in settings.items() if name.endswith("AWS_DEFAULT_REGION")}

    assert pythons == {"./environment/bin/python"}
    assert regions == {
        "spark.emr-serverless.driverEnv.AWS_DEFAULT_REGION": "eu-west-1",
        "spark.executorEnv.AWS_DEFAULT_REGION": "eu-west-1",
    }
    assert settings["spark.archives"].endswith("/environment.tar.gz#environment")
    assert not set(SETTINGS) & set(settings)


def test_alarms_look_at_this_stack_alone(stack: Stack) -> None:
    """Each metric has a dimension of this stack: its name, or a resource of its own."""
    alarms = stack.resources("AWS::CloudWatch::Alarm")
    own = {
        name: {each["Name"]: each["Value"] for each in alarm["Dimensions"]}
        for name, alarm in alarms.items()
        if alarm["Namespace"] == "Lakegate"
    }
    others = {each["Value"] for name, alarm in alarms.items() if name not in own for each in alarm["Dimensions"]}

    assert own == {
        "IntakeUnintelligible": {"stack": "lakegate", "service": "intake"},
        "CompletionUnintelligible": {"stack": "lakegate", "service": "completion"},
        "StepFailures": {"stack": "lakegate", "service": "sweep"},
        "DeletionsDenied": {"stack": "lakegate", "service": "gate"},
        "PausedLong": {"stack": "lakegate", "service": "sweep"},
        "Unsent": {"stack": "lakegate", "service": "notify"},
        "DeadNotices": {"stack": "lakegate", "service": "notify"},
        "DriftFound": {"stack": "lakegate", "service": "drift"},
        "AnchorMissing": {"stack": "lakegate", "service": "anchor"},
        "PullsFailed": {"stack": "lakegate", "service": "pull"},
        "RevalidationsFailed": {"stack": "lakegate", "service": "sweep"},
        "AnchorContradicted": {"stack": "lakegate", "service": "anchor"},
    }
    assert others == {
        *FUNCTIONS,
        *(f"lakegate-{name}" for name in ("judge", "drift", "anchor", "pull", "table")),
        *QUEUES,
    }


def test_every_function_and_queue_has_its_alarms(stack: Stack) -> None:
    """Errors and throttles of each function, the age of each queue's messages, and a schedule that does not run."""
    watched = {
        (each["MetricName"], each["Dimensions"][0]["Value"])
        for each in stack.resources("AWS::CloudWatch::Alarm").values()
    }

    assert {(metric, function) for metric in ("Errors", "Throttles") for function in FUNCTIONS} <= watched
    assert {("Errors", f"lakegate-{name}") for name in ("judge", "drift", "anchor", "pull", "table")} <= watched
    assert {("Invocations", "SweepFunction"), ("Invocations", "NotifyFunction")} <= watched
    assert {("ApproximateAgeOfOldestMessage", queue) for queue in ("LandedQueue", "MovedQueue")} <= watched


def test_eventbridge_publishes_failures_without_a_condition(built: Path) -> None:
    """EventBridge supports no Condition in a topic's policy: with one, no message of a failure would ever arrive.

    https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-troubleshooting.html
    """
    (policy,) = Stack.read(built).resources("AWS::SNS::TopicPolicy").values()
    (events,) = [
        each
        for each in policy["PolicyDocument"]["Statement"]
        if each["Principal"] == {"Service": "events.amazonaws.com"}
    ]

    assert "Condition" not in events
    assert events["Action"] == "sns:Publish"


def test_parameters_are_shown_in_groups(stack: Stack) -> None:
    """The console shows every parameter, each in one group."""
    groups = stack.template["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
    grouped = [name for each in groups for name in each["Parameters"]]

    assert sorted(grouped) == sorted(stack.template["Parameters"])


def test_sam_makes_no_resource_that_exists_already(stack: Stack) -> None:
    """A function's event becomes a resource of both names together; no linter sees when that one is taken."""
    generated = [name + event for name in FUNCTIONS for event in stack.function(name).get("Events", {})]

    assert [name for name in generated if name in stack.template["Resources"]] == []


def test_outputs_are_what_the_command_reads(stack: Stack) -> None:
    """`lakegate` finds everything of a stack by its outputs."""
    assert set(OUTPUTS.split()) == set(stack.template["Outputs"])


def test_workers_are_of_the_size_that_runs_are_planned_with(stack: Stack) -> None:
    """The number of executors is the run's; cores of driver and executor are those that lakegate/aws/wiring.py counts."""
    parameters = stack.function("IntakeFunction")["Environment"]["Variables"]["LAKEGATE_JOB_PARAMETERS"]
    settings = dict(each.split("=", 1) for each in re.findall(r"--conf (\S+)", parameters))

    assert settings["spark.driver.cores"] == str(DRIVER_VCPU)
    assert settings["spark.executor.cores"] == str(EXECUTOR_VCPU)
    assert settings["spark.dynamicAllocation.initialExecutors"] == EXECUTORS
    assert settings["spark.dynamicAllocation.maxExecutors"] == EXECUTORS


def test_the_judge_function_is_made_on_request(built: Path) -> None:
    """Without `SmallFileBytes` there is neither function nor role, and no delivery is small."""
    off, on = Stack.read(built), Stack.read(built, SmallFileBytes="67108864")
    settings = [each.function("IntakeFunction")["Environment"]["Variables"] for each in (off, on)]
    made = [set(each.resources("AWS::Serverless::Function")) - set(FUNCTIONS) for each in (off, on)]

    assert [each["LAKEGATE_JUDGE"] for each in settings] == ["", "lakegate-judge"]
    assert [str(each["LAKEGATE_SMALL_FILE_BYTES"]) for each in settings] == ["0", "67108864"]
    assert made == [set(), {"JudgeFunction"}]
    assert ["JudgeRole" in each.resources("AWS::IAM::Role") for each in (off, on)] == [False, True]


def test_drift_is_checked_on_request(built: Path) -> None:
    """Without `DriftSchedule` there is neither function nor schedule nor role; with it, what it may do is listed here (P16)."""
    off, on = Stack.read(built), Stack.read(built, DriftSchedule="rate(1 day)")
    made, function = on.resources("AWS::IAM::Role")["DriftRole"], on.function("DriftFunction")
    granted = {
        each["Sid"]: (each["Action"], each["Resource"])
        for policy in made["Policies"]
        for each in policy["PolicyDocument"]["Statement"]
    }
    reads, keeps = ["s3:GetObject", "s3:GetObjectVersion"], ["dynamodb:GetItem", "dynamodb:PutItem"]

    assert [len(each.resources("AWS::Scheduler::Schedule")) for each in (off, on)] == [2, 3]
    assert "DriftRole" not in off.resources("AWS::IAM::Role")
    assert "DriftLog" not in off.resources("AWS::Logs::LogGroup")
    assert "DriftFunction" not in off.resources("AWS::Serverless::Function")
    assert on.resources("AWS::Scheduler::Schedule")["DriftEvery"]["ScheduleExpression"] == "rate(1 day)"
    assert (function["FunctionName"], function["Handler"]) == ("lakegate-drift", "functions.drift_handler.handler")
    own = {sid: (action, resource) for sid, (action, resource) in granted.items() if sid not in {"Log", "Trace"}}
    table = "arn:aws:dynamodb:eu-west-1:123456789012:table/"
    assert granted["Log"][1] == "arn:aws:logs:eu-west-1:123456789012:log-group:DriftLog"
    assert own == {
        "TellAbsentFromForbidden": ("s3:ListBucket", "arn:aws:s3:::LakeBucket"),
        "ReadPlansAndAccepted": (reads, ["arn:aws:s3:::LakeBucket/plans/*", "arn:aws:s3:::LakeBucket/accepted/*"]),
        "FindLines": (["dynamodb:GetItem", "dynamodb:Scan"], f"{table}RegistryTable"),
        "ReportDrift": (keeps, f"{table}WorkloadsTable"),
    }


def test_anchors_are_kept_on_request(built: Path) -> None:
    """Without `AnchorDays` there is no function, and no alarm for it; with it, what it may do is listed here (P16)."""
    off, on = Stack.read(built), Stack.read(built, AnchorDays="30", SigningKey="own")
    made, function = on.resources("AWS::IAM::Role")["AnchorRole"], on.function("AnchorFunction")
    granted = {
        each["Sid"]: (each["Action"], each["Resource"])
        for policy in made["Policies"]
        for each in policy["PolicyDocument"]["Statement"]
    }
    table, bucket = "arn:aws:dynamodb:eu-west-1:123456789012:table/", "arn:aws:s3:::AnchorBucket"
    variables = function["Environment"]["Variables"]
    (key,) = on.resources("AWS::KMS::Key").values()
    signing = on.resources("AWS::IAM::ManagedPolicy")["SigningPolicy"]
    of_bucket = on.resources("AWS::S3::BucketPolicy")["AnchorBucketPolicy"]["PolicyDocument"]["Statement"]

    assert [name for name in off.resources("AWS::IAM::Role") if name.startswith("Anchor")] == []
    assert "AnchorFunction" not in off.resources("AWS::Serverless::Function")
    assert [each.resources("AWS::CloudWatch::Alarm")["AnchorMissing"]["TreatMissingData"] for each in (off, on)] == [
        "notBreaching",
        "breaching",
    ]
    assert on.resources("AWS::Scheduler::Schedule")["AnchorEvery"]["ScheduleExpression"] == "rate(1 hour)"
    assert (function["FunctionName"], function["Handler"]) == ("lakegate-anchor", "functions.anchor_handler.handler")
    assert (variables["LAKEGATE_ANCHORS"], variables["LAKEGATE_ANCHOR_DAYS"]) == ("AnchorBucket", "30")
    assert {sid: each for sid, each in granted.items() if sid not in {"Log", "Trace"}} == {
        "FindAnchors": ("s3:ListBucketVersions", bucket),
        "ReadAndWriteAnchors": (["s3:GetObjectVersion", "s3:PutObject"], f"{bucket}/_daily/*"),
        "FindChains": (["dynamodb:GetItem", "dynamodb:Scan"], f"{table}RegistryTable"),
        "ReadHeads": ("dynamodb:BatchGetItem", f"{table}LedgerTable"),
    }
    role = "arn:aws:iam::123456789012:role/lakegate/lakegate/*-AnchorRole-*"  # also of a stack that is made again
    assert (
        "arn:aws:iam::123456789012:role/AnchorRole"
        in key["KeyPolicy"]["Statement"][1]["Condition"]["ArnNotEquals"]["aws:PrincipalArn"]
    )
    assert signing["Roles"][-1] == "AnchorRole"
    assert [(each["Sid"], each["Action"], each["Resource"], each.get("Condition")) for each in of_bucket[1:]] == [
        (
            "OnlyTheScheduleWritesDailyAnchors",
            "s3:PutObject",
            f"{bucket}/_daily/*",
            {"ArnNotLike": {"aws:PrincipalArn": role}},
        ),
        ("NobodyHidesAnchors", "s3:DeleteObject", f"{bucket}/*", None),
    ]


def test_data_is_pulled_on_request(built: Path) -> None:
    """Without hosts and objects there is no function that reaches out; what the one of a stack may do is listed here (P16)."""
    off, both = Stack.read(built), Stack.read(built, PullHosts="a.example,b.example", PullObjects="arn:aws:s3:::p/*")
    https = Stack.read(built, PullHosts="a.example")
    granted = [
        {
            each["Sid"]: (each["Action"], each["Resource"], each.get("Condition"))
            for each in stack.resources("AWS::IAM::Role")["PullRole"]["Policies"][0]["PolicyDocument"]["Statement"]
        }
        for stack in (both, https)
    ]
    named = [set(each.template["Resources"]) for each in (off, https)]
    table, keys = "arn:aws:dynamodb:eu-west-1:123456789012:table/", "dynamodb:LeadingKeys"
    function = both.function("PullFunction")

    assert {"PullFunction", "PullEvery", "PullRole", "PullLog"} & set(off.resources("AWS::IAM::Role")) == set()
    assert "PullFunction" not in off.resources("AWS::Serverless::Function"), named
    assert function["Environment"]["Variables"]["LAKEGATE_PULL_HOSTS"] == "a.example,b.example"
    assert (function["FunctionName"], function["Handler"]) == ("lakegate-pull", "functions.pull_handler.handler")
    assert granted[0].keys() - granted[1].keys() == {"ReadSources"}
    assert {sid: grant for sid, grant in granted[0].items() if sid not in {"Log", "Trace"}} == {
        "TellAbsentFromForbidden": ("s3:ListBucket", ["arn:aws:s3:::LandingBucket", "arn:aws:s3:::LakeBucket"], None),
        "ReadPlans": ("s3:GetObject", "arn:aws:s3:::LakeBucket/plans/*", None),
        "Land": (
            [
                *("s3:GetObject", "s3:GetObjectVersion", "s3:PutObject"),
                *("s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"),
            ],
            "arn:aws:s3:::LandingBucket/*",
            None,
        ),
        "ReadSources": (["s3:GetObject", "s3:GetObjectVersion"], ["arn:aws:s3:::p/*"], None),
        "FindLines": (["dynamodb:GetItem", "dynamodb:Scan"], f"{table}RegistryTable", None),
        "FindWhatIsDue": ("dynamodb:Query", f"{table}WorkloadsTable/index/agenda", None),
        "ReadLinesAndPauses": (
            "dynamodb:GetItem",
            f"{table}WorkloadsTable",
            {"ForAllValues:StringLike": {keys: ["line#*", "pause#*"]}},
        ),
        "WritePulls": (
            ["dynamodb:GetItem", "dynamodb:PutItem"],
            f"{table}WorkloadsTable",
            {"ForAllValues:StringLike": {keys: ["pull#*", "object#*", "cursor#pulls", "message#*:pull:*"]}},
        ),
        "ReadSecretsOfSources": (
            "secretsmanager:GetSecretValue",
            "arn:aws:secretsmanager:eu-west-1:123456789012:secret:lakegate-source-*",
            None,
        ),
    }


def test_validators_are_called_on_request(built: Path) -> None:
    """Without hosts no role may read secrets of theirs; with them, the functions that continue workloads, and no person (P16)."""
    api = "arn:aws:execute-api:eu-west-1:123456789012:a1/*"
    stacks = [Stack.read(built), Stack.read(built, ValidatorHosts="a.example")]
    stacks.append(Stack.read(built, ValidatorHosts="a.example", ValidatorApis=api))
    policies = [stack.resources("AWS::IAM::ManagedPolicy").get("ValidatorPolicy") for stack in stacks]
    granted = [
        policy and [(each["Action"], each["Resource"]) for each in policy["PolicyDocument"]["Statement"]]
        for policy in policies
    ]
    secrets = (
        "secretsmanager:GetSecretValue",
        "arn:aws:secretsmanager:eu-west-1:123456789012:secret:lakegate-validator-*",
    )
    having = [
        {
            name
            for name, role in stack.resources("AWS::IAM::Role").items()
            if any("ValidatorPolicy" in str(each) for each in role.get("ManagedPolicyArns", ()))
        }
        for stack in stacks
    ]

    assert granted == [None, [secrets], [secrets, ("execute-api:Invoke", [api])]]
    assert having == [set(), *[{"IntakeRole", "CompletionRole", "SweepRole"}] * 2]
    assert stacks[1].function("SweepFunction")["Environment"]["Variables"]["LAKEGATE_VALIDATOR_HOSTS"] == "a.example"


def test_people_read_the_logs_of_every_function(built: Path) -> None:
    """Operators and `doctor`, also of the functions that a stack has on request; the access log names callers."""
    full = Stack.read(
        built, SmallFileBytes="67108864", DriftSchedule="rate(1 day)", AnchorDays="30", PullHosts="a.example"
    )
    groups = [each["LogGroupName"] for each in full.resources("AWS::Logs::LogGroup").values()]
    for policy in ("OperatorPolicy", "DoctorPolicy"):
        statements = full.resources("AWS::IAM::ManagedPolicy")[policy]["PolicyDocument"]["Statement"]
        (pattern,) = [each["Resource"] for each in statements if each["Sid"] == "ReadLogs"]
        read = [name for name in groups if fnmatchcase(ARNS["AWS::Logs::LogGroup"] + name, pattern)]

        assert len(read) == len(groups) - 1
        assert set(groups) - set(read) == {"/aws/vendedlogs/lakegate/lakegate/api"}


def test_an_invocation_is_over_before_its_deadline(built: Path) -> None:
    """Lambda repeats no invocation, reports each end to the queue of completion, and drops none that may still answer."""
    made = Stack.read(built, SmallFileBytes="1").function("JudgeFunction")
    invoked = made["EventInvokeConfig"]
    ends = {each["Destination"].rpartition(":")[2] for each in invoked["DestinationConfig"].values()}

    assert invoked["MaximumRetryAttempts"] == 0
    assert invoked["MaximumEventAgeInSeconds"] + made["Timeout"] < Timing().invocation.total_seconds()
    assert (ends, made["FunctionName"]) == ({"MovedQueue"}, "lakegate-judge")


def test_the_judge_reads_deliveries_and_writes_results(built: Path) -> None:
    """P16: the function that reads producers' data can write its result and its slices, and nothing else."""
    made = Stack.read(built, SmallFileBytes="1").resources("AWS::IAM::Role")["JudgeRole"]
    granted = {
        each["Sid"]: (each["Action"], each["Resource"])
        for policy in made["Policies"]
        for each in policy["PolicyDocument"]["Statement"]
    }

    assert set(granted) == {
        *("TellAbsentFromForbidden", "ReadPlansStagedAndAccepted", "ReadWhatIsValidated"),
        *("Answer", "ReportTheEnd", "Log", "Trace"),
    }
    assert granted["ReadWhatIsValidated"] == (
        "s3:GetObjectVersion",
        ["arn:aws:s3:::LandingBucket/*", *(f"arn:aws:s3:::LakeBucket/{name}/*" for name in ("accepted", "quarantine"))],
    )
    assert granted["Answer"] == (
        "s3:PutObject",
        [f"arn:aws:s3:::LakeBucket/runs/*/{name}" for name in ("result.json", "slices/*", "table/*")],
    )
    assert made["ManagedPolicyArns"] == []


def test_nothing_in_the_template_names_an_account_or_a_region() -> None:
    """The same file goes everywhere."""
    text = (ROOT / "template.yaml").read_text()

    assert re.findall(r"\b\d{12}\b|\b(?:us|eu|ap|sa|ca|me|af)-[a-z]+-\d\b", text) == []


def test_the_built_template_is_plain_json_at_heart(stack: Stack) -> None:
    """CloudFormation knows no anchors: what `sam build` writes has none left."""
    again: Any = json.loads(json.dumps(stack.template))

    assert stack.template == again
