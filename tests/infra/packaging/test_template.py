"""What template.yaml promises: judged by three tools, and compared with the code that lives in it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from lakegate.contracts.errors import SetUpError
from lakegate.functions.adapters.tables import DEFINITIONS
from lakegate.functions.settings import PATTERNS, PREFIX, read
from lakegate.functions.usecases.dependencies import Timing
from lakegate.infra.local.places import ROOT
from lakegate.infra.setup.environments import program
from lakegate.spark_jobs.session import SETTINGS
from tests.sam.built import Stack, run, sam

if TYPE_CHECKING:
    from pathlib import Path

OUTPUTS = (
    "LandingBucket LakeBucket RegistryTable WorkloadsTable LedgerTable ApplicationId EventBusName IntakeFunction "
    "CompletionFunction SweepFunction NotifyFunction DeadLetterQueueUrl IgnoredKeys AlarmTopic "
    "ProducerPolicy StewardPolicy EnginePolicy"
)
FUNCTIONS = ("IntakeFunction", "CompletionFunction", "SweepFunction", "NotifyFunction")
ENVIRONMENT_LIMIT = 4096
"""Bytes that Lambda takes of names and values together."""


@pytest.fixture(params=["made", "given"])
def either(request: pytest.FixtureRequest, built: Path) -> Stack:
    """The stack with an application of its own, and with one that exists."""
    given = {"EmrApplicationId": "00f1982r1uukb925"} if request.param == "given" else {}
    names = {"LandingBucket": "landing", "LakeBucket": "lake", "Application": "00f1made"}
    return Stack.read(built, **names, **given)


def test_sam_finds_no_mistake(built: Path) -> None:
    """`sam validate --lint` passes without network and credentials."""
    sam("validate", folder=built.parents[2])


def test_cfn_lint_finds_no_mistake(built: Path) -> None:
    """So does cfn-lint with the rules for serverless stacks."""
    assert run(program("sam/cfn-lint"), folder=built.parents[2]) == ""


def test_checkov_finds_nothing_unsafe(built: Path) -> None:
    """So does checkov."""
    try:
        tool = program("checkov/checkov")
    except SetUpError as error:
        pytest.skip(str(error))

    output = run(tool, "--config-file", ".checkov.yaml", folder=built.parents[2])

    assert "Failed checks: 0" in output


@pytest.mark.parametrize("file", [".checkov.yaml", ".cfnlintrc", "template.yaml"])
def test_each_exception_has_a_reason(file: str) -> None:
    """Whoever reads that a rule is off reads on the same line why."""
    exceptions = [
        line for line in (ROOT / file).read_text().splitlines() if re.search(r"\b(CKV_AWS_\d+|[EW]S\d{4})\b", line)
    ]

    assert exceptions
    assert [line for line in exceptions if " # " not in line] == []


def test_the_environment_of_every_function_is_one_that_functions_accept(either: Stack) -> None:
    """The template sets the names that functions/settings.py reads, with values of the right form."""
    for name in FUNCTIONS:
        environment = either.function(name)["Environment"]["Variables"]

        assert {PREFIX + each.upper() for each in PATTERNS} == set(environment)
        assert read(environment).landing == "landing"
        assert sum(len(key) + len(value) for key, value in environment.items()) < ENVIRONMENT_LIMIT


def test_endpoints_of_emulators_are_set_only_where_they_are_given(built: Path) -> None:
    """In AWS no variable names an endpoint; where a parameter names one, boto3 gets it."""
    given = Stack.read(built, ServiceEndpoint="http://127.0.0.1:1", EmrEndpoint="http://127.0.0.1:2")

    environment = given.function("SweepFunction")["Environment"]["Variables"]

    assert environment["AWS_ENDPOINT_URL"] == "http://127.0.0.1:1"
    assert environment["AWS_ENDPOINT_URL_EMR_SERVERLESS"] == "http://127.0.0.1:2"


@pytest.mark.parametrize("table", sorted(DEFINITIONS))
def test_each_table_is_the_one_that_the_adapters_use(stack: Stack, table: str) -> None:
    """Keys and index are those of functions/adapters/tables.py; no table loses its past."""
    made = stack.resources("AWS::DynamoDB::Table")[f"{table.capitalize()}Table"]

    assert DEFINITIONS[table] == {name: made[name] for name in DEFINITIONS[table]}
    assert set(DEFINITIONS[table]) == {"KeySchema", "AttributeDefinitions"} | {"GlobalSecondaryIndexes"} & set(made)
    assert made["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"]
    assert made["SSESpecification"]["SSEEnabled"]


def test_only_messages_expire(stack: Stack) -> None:
    """A claim is found for ever: only the table of workloads has a time to live, on the attribute that messages have."""
    lives = {
        name: made.get("TimeToLiveSpecification") for name, made in stack.resources("AWS::DynamoDB::Table").items()
    }

    assert lives.pop("WorkloadsTable") == {"AttributeName": "expires", "Enabled": True}
    assert list(lives.values()) == [None, None]


@pytest.mark.parametrize("bucket", ["LandingBucket", "LakeBucket"])
def test_each_bucket_is_versioned_encrypted_private_and_allows_tls_only(stack: Stack, bucket: str) -> None:
    """The four properties that every promise about objects begins with."""
    made = stack.resources("AWS::S3::Bucket")[bucket]
    policies = [each for each in stack.resources("AWS::S3::BucketPolicy").values() if each["Bucket"] == bucket]
    denied = [each["Condition"] for each in policies[0]["PolicyDocument"]["Statement"] if each["Effect"] == "Deny"]

    assert made["VersioningConfiguration"] == {"Status": "Enabled"}
    assert made["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert {True} == set(made["PublicAccessBlockConfiguration"].values())
    assert {"Bool": {"aws:SecureTransport": "false"}} in denied


def test_no_delivery_expires(stack: Stack) -> None:
    """Lifecycle rules take away staging, leftovers of runs and incomplete uploads: never landed or final data."""
    buckets = stack.resources("AWS::S3::Bucket")
    rules = {name: made["LifecycleConfiguration"]["Rules"] for name, made in buckets.items()}
    taking = {"ExpirationInDays", "ExpirationDate", "NoncurrentVersionExpiration", "Transitions"}

    assert [rule for rule in rules["LandingBucket"] if taking & set(rule)] == []
    assert [rule["Prefix"] for rule in rules["LakeBucket"] if taking & set(rule)] == ["staging/", "runs/"]


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


@pytest.mark.parametrize("function", FUNCTIONS)
def test_no_function_outlives_a_lease(stack: Stack, function: str) -> None:
    """A worker that comes back after its lease is rare, because it would have been stopped before."""
    assert Timing().lease.total_seconds() > stack.function(function)["Timeout"]


def test_one_sweep_at_a_time(built: Path) -> None:
    """Sweep has one execution of its own, and none where the account has none to spare."""
    reserving = Stack.read(built).function("SweepFunction")
    sparing = Stack.read(built, ReserveConcurrency="no").function("SweepFunction")

    assert reserving["ReservedConcurrentExecutions"] == 1
    assert "ReservedConcurrentExecutions" not in sparing


def test_the_job_gets_what_it_needs_before_its_session(stack: Stack) -> None:
    """Python is the archive's, and no setting of spark_jobs/session.py is set twice: two places would drift apart."""
    parameters = stack.function("IntakeFunction")["Environment"]["Variables"]["LAKEGATE_JOB_PARAMETERS"]
    settings = dict(each.split("=", 1) for each in re.findall(r"--conf (\S+)", parameters))
    pythons = {value for name, value in settings.items() if name.endswith("PYTHON")}

    assert pythons == {"./environment/bin/python"}
    assert settings["spark.archives"].endswith("/environment.tar.gz#environment")
    assert not set(SETTINGS) & set(settings)


def test_sam_makes_no_resource_that_exists_already(stack: Stack) -> None:
    """A function's event becomes a resource of both names together; no linter sees when that one is taken."""
    generated = [name + event for name in FUNCTIONS for event in stack.function(name).get("Events", {})]

    assert [name for name in generated if name in stack.template["Resources"]] == []


def test_outputs_are_what_the_command_reads(stack: Stack) -> None:
    """`lakegate` finds everything of a stack by its outputs."""
    assert set(OUTPUTS.split()) == set(stack.template["Outputs"])


def test_nothing_in_the_template_names_an_account_or_a_region() -> None:
    """The same file goes everywhere."""
    text = (ROOT / "template.yaml").read_text()

    assert re.findall(r"\b\d{12}\b|\b(?:us|eu|ap|sa|ca|me|af)-[a-z]+-\d\b", text) == []


def test_the_built_template_is_plain_json_at_heart(stack: Stack) -> None:
    """CloudFormation knows no anchors: what `sam build` writes has none left."""
    again: Any = json.loads(json.dumps(stack.template))

    assert stack.template == again
