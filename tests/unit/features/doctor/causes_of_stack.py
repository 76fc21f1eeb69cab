"""Faults of the stack, each injected by one change of what AWS answers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, NamedTuple

from botocore.exceptions import (
    EndpointConnectionError,
    NoCredentialsError,
    NoRegionError,
    ReadTimeoutError,
)

from lakegate.aws.dynamodb_table import item_of
from lakegate.gate.delivery_store import message_row
from lakegate.gate.ports import Message
from lakegate.gate.table import instant
from tests.unit.cli.deployed_stack import LAKE, LANDING, lose_table
from tests.unit.features.doctor.stack_in_order import UUID, World, encrypted

STACK = ("cloudformation", "describe_stacks")
CONFIGURATION = ("lambda", "get_function_configuration")
REVERT = "lakegate stack repair"


class Case(NamedTuple):
    """A cause, how it is injected, and what the remedy must contain."""

    cause: str
    inject: Callable[[World], object]
    remedy: str
    words: tuple[str, ...] = ()
    blind: tuple[str, ...] = ()
    """Probes that cannot look because of it."""
    name: str = ""


def s3(operation: str, **request: Any) -> Callable[[World], object]:
    return lambda world: getattr(world.lakegate.clients["s3"], operation)(**request)


def log(function: str, **line: str) -> Callable[[World], object]:
    return lambda world: world.log(function, **line)


def refused(service: str, operation: str, code: str, status: int = 400) -> Callable[[World], object]:
    return lambda world: world.refuse(service, operation, code, status)


def answers(service: str, operation: str, **answer: Any) -> Callable[[World], object]:
    return lambda world: world.say(service, operation, answer)


def changed(service: str, operation: str, **changes: Any) -> Callable[[World], object]:
    return lambda world: world.change(service, operation, **changes)


def only(name: str, answer: Any, usual: str, by: str = "Name") -> Callable[[World], object]:
    """Another answer for one resource, named in the request."""
    service, _, operation = usual.partition(".")

    def inject(world: World) -> None:
        other = world.usual(service, operation)
        world.say(service, operation, lambda request: answer if request[by] == name else other(request))

    return inject


def unwatched(world: World) -> None:
    """DriftSchedule is empty."""
    listed = world.usual("cloudformation", "list_stack_resources")

    def without(request: dict[str, Any]) -> Any:
        page = listed(request)
        found = [each for each in page["StackResourceSummaries"] if not each["LogicalResourceId"].startswith("Drift")]
        return page | {"StackResourceSummaries": found}

    world.say("cloudformation", "list_stack_resources", without)


def skewed(world: World) -> None:
    world.refuse(
        *STACK, "SignatureDoesNotMatch", 403, date=f"{world.now() + timedelta(hours=1):%a, %d %b %Y %H:%M:%S} GMT"
    )


def skewed_little(world: World) -> None:
    usual = world.usual(*STACK)
    date = f"{world.now() - timedelta(minutes=4, seconds=30):%a, %d %b %Y %H:%M:%S} GMT"
    world.say(*STACK, lambda request: usual(request) | {"ResponseMetadata": {"HTTPHeaders": {"date": date}}})


def unfinished(world: World) -> None:
    usual = world.usual(*STACK)
    world.say(
        *STACK, lambda request: {"Stacks": [usual(request)["Stacks"][0] | {"StackStatus": "UPDATE_ROLLBACK_FAILED"}]}
    )


def full(queue: str) -> Callable[[World], object]:
    """A queue with two messages."""

    def count(request: dict[str, Any]) -> Any:
        return {"Attributes": {"ApproximateNumberOfMessages": "2" if request["QueueUrl"].endswith(queue) else "0"}}

    return lambda world: world.say("sqs", "get_queue_attributes", count)


def old(queue: str) -> Callable[[World], object]:
    """A queue with two messages of two hours."""

    def inject(world: World) -> None:
        full(queue)(world)
        world.measure("ApproximateAgeOfOldestMessage", f"the-{queue}", 7200.0)

    return inject


def unsent(world: World) -> None:
    at, message = instant(world.now() - timedelta(hours=1)), Message("x", "w", "failed", "{}", world.now())
    world.lakegate.clients["dynamodb"].put_item(
        TableName="workloads", Item=item_of(message_row(message)) | {"at": {"S": at}}
    )


def ringing(world: World) -> None:
    found = [{"AlarmName": "the-DeadLetters"}, {"AlarmName": "of-another-stack"}]
    world.say("cloudwatch", "describe_alarms", {"MetricAlarms": found})


def table(**changes: Any) -> Callable[[World], object]:
    def inject(world: World) -> None:
        usual = world.usual("dynamodb", "describe_table")

        def described(request: dict[str, Any]) -> Any:
            found = usual(request)["Table"]
            return {"Table": found | changes if request["TableName"] == "workloads" else found}

        world.say("dynamodb", "describe_table", described)

    return inject


def without(world: World, code: str, action: str) -> None:
    def simulated(request: dict[str, Any]) -> Any:
        denied = request["PolicySourceArn"].endswith(code) and request["ActionNames"] == [action]
        result = {"EvalActionName": action, "EvalDecision": "implicitDeny" if denied else "allowed"}
        return {"EvaluationResults": [result]}

    world.say("iam", "simulate_principal_policy", simulated)


def encrypted_lake(state: str) -> Callable[[World], object]:
    def inject(world: World) -> None:
        world.lakegate.clients["s3"].put_bucket_encryption(
            Bucket=LAKE, ServerSideEncryptionConfiguration={"Rules": [encrypted("aws:kms", KMSMasterKeyID="k-1")]}
        )
        world.say("kms", "describe_key", {"KeyMetadata": {"KeyId": "k-1", "KeyState": state}})

    return inject


def lost_key(world: World) -> None:
    table(SSEDescription={"KMSMasterKeyArn": "arn:aws:kms:k-2"})(world)
    world.refuse("kms", "describe_key", "NotFoundException")


SIGNING_KEY = "arn:aws:kms:us-east-1:123456789012:key/k-3"


def disabled_signing_key(world: World) -> None:
    setting("SIGNING_KEY", SIGNING_KEY)(world)
    world.say("kms", "describe_key", {"KeyMetadata": {"KeyId": "k-3", "KeyState": "Disabled"}})


def denied_signing(world: World) -> None:
    setting("SIGNING_KEY", SIGNING_KEY)(world)
    without(world, "the-CompletionFunction", "kms:Sign")


def signing_without_endpoint(world: World) -> None:
    setting("SIGNING_KEY", SIGNING_KEY)(world)
    private(world, "dynamodb", "emr-serverless", "events", "s3")


def small_files_without_endpoint(world: World) -> None:
    setting("JUDGE", "the-judge")(world)
    private(world, "dynamodb", "emr-serverless", "events", "s3")


def setting(name: str, value: str) -> Callable[[World], object]:
    return lambda world: world.settings.update({f"LAKEGATE_{name}": value})


def application(**changes: Any) -> Callable[[World], object]:
    return lambda world: world.say("emr-serverless", "get_application", world.application(**changes))


def private(world: World, *services: str, route: dict[str, str] | None = None, main: bool = False) -> None:
    """Intake runs in a VPC with these endpoints."""
    only(
        "the-IntakeFunction",
        world.usual(*CONFIGURATION)({"FunctionName": "the-IntakeFunction"}) | {"VpcConfig": {"SubnetIds": ["s-1"]}},
        "lambda.get_function_configuration",
        "FunctionName",
    )(world)
    association = {"Main": True} if main else {"SubnetId": "s-1"}
    routes = [{"DestinationCidrBlock": "10.0.0.0/16", "GatewayId": "local"}, *([route] if route else [])]
    world.say("ec2", "describe_subnets", {"Subnets": [{"SubnetId": "s-1", "VpcId": "vpc-1"}]})
    world.say("ec2", "describe_route_tables", {"RouteTables": [{"Associations": [association], "Routes": routes}]})
    found = [{"ServiceName": f"com.amazonaws.us-east-1.{each}", "State": "available"} for each in services]
    world.say("ec2", "describe_vpc_endpoints", {"VpcEndpoints": found})


GATEWAY = {"DestinationCidrBlock": "0.0.0.0/0", "NatGatewayId": "nat-1", "State": "active"}
CASES = (
    # the way to the stack
    Case("credentials-missing", lambda world: world.fail(*STACK, NoCredentialsError()), "aws sso login"),
    Case("credentials-expired", refused(*STACK, "ExpiredToken", 403), "sign in again"),
    Case("credentials-unknown", refused(*STACK, "InvalidClientTokenId", 403), "AWS_PROFILE"),
    Case("region-missing", lambda world: world.fail(*STACK, NoRegionError()), "AWS_DEFAULT_REGION"),
    Case("wrong-region", lambda _: None, "set AWS_DEFAULT_REGION to eu-north-1", ("--stack", "north")),
    Case("stack-missing", lambda _: None, "docs/deploy.md", ("--stack", "nowhere")),
    Case("clock-skew", skewed, "correct the clock", name="refused"),
    Case("clock-skew", skewed_little, "correct the clock", name="not yet refused"),
    Case("network", lambda world: world.fail(*STACK, EndpointConnectionError(endpoint_url="x")), "AWS_ENDPOINT_URL"),
    Case("stack-unfinished", unfinished, "describe-stack-events --stack-name lakegate"),
    # events
    Case(
        "rule-disabled",
        only("the-LandedRule", {"State": "DISABLED"}, "events.describe_rule"),
        "enable-rule --name the-LandedRule",
    ),
    Case(
        "rule-disabled",
        only("the-MovedRule", {"State": "DISABLED"}, "events.describe_rule"),
        "enable-rule --name the-MovedRule",
        name="of jobs",
    ),
    Case("rule-missing", refused("events", "describe_rule", "ResourceNotFoundException"), REVERT),
    Case("target-missing", only("the-LandedRule", {}, "events.list_targets_by_rule", "Rule"), REVERT),
    Case(
        "bucket-events-off",
        answers("s3", "get_bucket_notification_configuration"),
        REVERT,
    ),
    Case(
        "schedule-disabled",
        only("the-SweepEvery", {"State": "DISABLED"}, "scheduler.get_schedule"),
        "EventBridge Scheduler",
    ),
    Case("schedule-missing", refused("scheduler", "get_schedule", "ResourceNotFoundException", 404), REVERT),
    Case(
        "schedule-disabled",
        only("the-PullEvery", {"State": "DISABLED"}, "scheduler.get_schedule"),
        "enable it",
        name="of pulls",
    ),
    Case(
        "mapping-disabled",
        only(
            "the-IntakeFunction",
            {"EventSourceMappings": [{"UUID": UUID, "State": "Disabled"}]},
            "lambda.list_event_source_mappings",
            "FunctionName",
        ),
        f"--uuid {UUID} --enabled",
    ),
    Case("mapping-missing", answers("lambda", "list_event_source_mappings", EventSourceMappings=[]), REVERT),
    Case("queue-missing", refused("sqs", "get_queue_attributes", "QueueDoesNotExist"), REVERT, blind=("queue-ages",)),
    Case("queue-old", old("LandedQueue"), "read its log"),
    Case("queue-old", old("NamedQueue"), "read its log", name="of named objects"),
    Case("dead-letters", full("DeadLetterQueue"), "lakegate redrive"),
    Case(
        "message-poisoned",
        log("Intake", message="unintelligible", reason="not-json"),
        "do not send such a message back",
    ),
    Case(
        "message-poisoned",
        log("Naming", message="unintelligible", reason="unknown-key"),
        "do not send such a message back",
        name="naming",
    ),
    Case("bus-missing", refused("events", "describe_event_bus", "ResourceNotFoundException"), REVERT),
    Case("messages-unsent", unsent, "the messages are then sent"),
    Case(
        "alarms-unheard",
        answers("sns", "list_subscriptions_by_topic", Subscriptions=[]),
        "aws sns subscribe --topic-arn arn:aws:sns",
    ),
    Case("alarm", ringing, "docs/runbooks.md, DeadLetters"),
    # storage
    Case(
        "bucket-missing",
        lambda world: world.refuse_only("s3", "get_bucket_versioning", LAKE, "NoSuchBucket"),
        "docs/restore.md",
    ),
    Case(
        "versioning-off",
        s3("put_bucket_versioning", Bucket=LANDING, VersioningConfiguration={"Status": "Suspended"}),
        f"put-bucket-versioning --bucket {LANDING}",
    ),
    Case(
        "table-missing",
        lambda world: lose_table(world.lakegate.clients["dynamodb"], "ledger"),
        "docs/restore.md",
        blind=("recovery", "keys", "items"),
    ),
    Case("table-unusable", table(TableStatus="INACCESSIBLE_ENCRYPTION_CREDENTIALS"), "enable its KMS key"),
    Case("index-missing", table(GlobalSecondaryIndexes=[]), REVERT),
    Case("key-unusable", encrypted_lake("PendingDeletion"), "aws kms cancel-key-deletion", name="of a bucket"),
    Case("key-unusable", lost_key, "aws kms enable-key --key-id arn:aws:kms:k-2", name="of a table"),
    Case("signing-key-unusable", disabled_signing_key, f"aws kms enable-key --key-id {SIGNING_KEY}"),
    Case("right-missing", denied_signing, "docs/doctor.md, Changed by hand", name="to sign"),
    Case("endpoint-missing", signing_without_endpoint, "endpoints", name="of the key that signs"),
    Case("table-unprotected", table(DeletionProtectionEnabled=False), "lakegate stack protect --stack lakegate"),
    Case(
        "recovery-off",
        answers(
            "dynamodb",
            "describe_continuous_backups",
            ContinuousBackupsDescription={"ContinuousBackupsStatus": "DISABLED"},
        ),
        "PointInTimeRecoveryEnabled=true",
    ),
    # functions
    Case("function-missing", refused("lambda", "get_function_concurrency", "ResourceNotFoundException", 404), REVERT),
    Case(
        "function-inactive",
        changed(*CONFIGURATION, State="Failed", StateReasonCode="DisabledKMSKey"),
        "restore the key first",
    ),
    Case(
        "function-stopped",
        answers("lambda", "get_function_concurrency", ReservedConcurrentExecutions=0),
        "delete-function-concurrency --function-name the-",
    ),
    Case(
        "settings-wrong",
        only(
            "the-SweepFunction", {"Role": "arn:aws:iam::1:role/x"}, "lambda.get_function_configuration", "FunctionName"
        ),
        "deploy again",
    ),
    Case(
        "function-throttled",
        lambda world: world.measure("Throttles", "the-SweepFunction", 3.0),
        "Concurrent executions",
    ),
    Case("function-fails", log("Pull", message="StepFailures", detail="x"), "aws logs tail the-PullLog", name="pulls"),
    Case("function-fails", log("Anchor", message="failed", detail="x"), "aws logs tail the-AnchorLog", name="anchors"),
    Case(
        "right-missing",
        lambda world: without(world, "the-PullFunction", "s3:PutObject"),
        "docs/doctor.md, Changed by hand",
        name="of pulls",
    ),
    Case("function-fails", log("Sweep", message="failed", error="KeyError", detail=""), "aws logs tail the-SweepLog"),
    Case(
        "function-fails",
        lambda world: world.write("Notify", "2026 Task timed out after 50 seconds"),
        "aws logs tail the-NotifyLog",
        name="time-out",
    ),
    Case(
        "function-fails",
        log("Intake", errorType="Runtime.ImportModuleError"),
        "aws logs tail the-IntakeLog",
        name="import",
    ),
    Case(
        "right-missing",
        lambda world: without(world, "the-SweepFunction", "dynamodb:Query"),
        "docs/doctor.md, Changed by hand",
        name="of a function",
    ),
    Case(
        "right-missing",
        lambda world: without(world, "the-ApiFunction", "s3:PutObject"),
        "docs/doctor.md, Changed by hand",
        name="of the HTTP API",
    ),
    Case(
        "right-missing",
        lambda world: without(world, "job", "s3:PutObject"),
        "docs/doctor.md, Changed by hand",
        name="of the job",
    ),
    Case(
        "right-missing",
        log("Intake", message="failed", detail="CopyObject: AccessDenied"),
        "docs/doctor.md, Changed by hand",
        name="in the log",
    ),
    Case(
        "kms-refused",
        log("Completion", message="failed", detail="CopyObject: KMS.DisabledException"),
        "kms:GenerateDataKey",
    ),
    Case(
        "throttled",
        log("Api", message="failed", detail="GetItem: ThrottlingException"),
        "Service Quotas",
        name="of the API",
    ),
    Case("throttled", log("Intake", message="failed", detail="StartJobRun: ThrottlingException"), "Service Quotas"),
    Case("endpoint-missing", lambda world: private(world, "s3", "dynamodb"), "add the endpoints"),
    Case("endpoint-missing", small_files_without_endpoint, "endpoints", name="of the judge function"),
    Case(
        "endpoint-missing",
        lambda world: private(world, "s3", "events", main=True),
        "add the endpoints",
        name="main table",
    ),
    Case("endpoint-unreachable", log("Intake", message="failed", detail="ConnectTimeoutError"), "security groups"),
    # the job
    Case(
        "application-missing",
        refused("emr-serverless", "get_application", "ResourceNotFoundException", 404),
        "EmrApplicationId",
        blind=("network",),
    ),
    Case(
        "application-silent",
        lambda world: world.fail("emr-serverless", "get_application", ReadTimeoutError(endpoint_url="x")),
        "sweep goes on once it answers",
        blind=("network",),
    ),
    Case("accepted-unwatched", unwatched, "DriftSchedule"),
    Case("application-unusable", application(state="TERMINATED"), "deploy with another", name="terminated"),
    Case(
        "application-unusable",
        application(autoStartConfiguration={"enabled": False}),
        "start-application --application-id",
        name="stopped",
    ),
    Case("release-other", application(releaseLabel="emr-7.10.0"), "--release-label emr-7.14.0"),
    Case("capacity-small", application(maximumCapacity={"cpu": "4 vCPU", "memory": "30 GB"}), "MaxVcpu=8"),
    Case(
        "quota-small",
        answers(
            "service-quotas",
            "list_service_quotas",
            Quotas=[{"QuotaName": "Max concurrent vCPUs per account", "Value": 4.0}],
        ),
        "Max concurrent vCPUs per account",
    ),
    Case(
        "code-missing",
        s3("delete_object", Bucket=LAKE, Key="code/current/validate.py"),
        f"aws s3 sync build/code s3://{LAKE}/code",
    ),
    Case(
        "code-missing",
        setting("JOB_PARAMETERS", f"--jars s3://{LAKE}/code/current/validate.py,s3://{LAKE}/code/r/deequ.jar"),
        "aws s3 sync",
        name="a jar",
    ),
)
