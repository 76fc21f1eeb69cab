"""Checks before a deployment: each finds its fault, says what to do, and changes nothing."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest

from lakegate.aws import open_stack
from lakegate.aws.vpc_endpoints import ENDPOINTS
from lakegate.base.extension_points import ROOT
from lakegate.features.deployment.parameter_values import (
    SETTINGS_WITHOUT_BOUND,
    DeploymentProfile,
    parameter_values,
    violations,
)
from lakegate.features.deployment.preflight import CHECKS, PUBLISHERS, Planned, preflight
from lakegate.features.deployment.release_folder import ReleaseFolder
from tests.fakes.cloudformation import refusal

TEMPLATE = ReleaseFolder(ROOT).template
ZONES = {"AvailabilityZoneId": "use1-az1", "VpcId": "vpc-1"}
KEY = "arn:aws:kms:us-east-1:123456789012:key/1"
LANDING = "ExistingLandingBucket"
TOPIC = "arn:aws:sns:us-east-1:123456789012:ours"
SUBNETS = {"SubnetIds": "subnet-1,subnet-2", "SecurityGroupIds": "sg-1"}
TABLE = TEMPLATE["Resources"]["WorkloadsTable"]["Properties"]


def owned_by(owner: str) -> dict[str, Any]:
    return {"OwnershipControls": {"Rules": [{"ObjectOwnership": owner}]}}


def topic(*services: str, key: str = "", anybody: bool = False) -> dict[str, Any]:
    """A topic whose policy lets services publish, each by a statement of its own, or anybody of the account."""
    statements: list[dict[str, Any]] = [
        {"Effect": "Allow", "Principal": {"Service": [each]}, "Action": "SNS:Publish"} for each in services
    ]
    if anybody:
        statements.append({"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": ["SNS:Publish"]})
    return {"Attributes": {"Policy": json.dumps({"Statement": statements}), "KmsMasterKeyId": key}}


TLS = {
    "Effect": "Deny",
    "Principal": "*",
    "Action": "s3:*",
    "Resource": ["arn:aws:s3:::ours", "arn:aws:s3:::ours/*"],
    "Condition": {"Bool": {"aws:SecureTransport": "false"}},
}
SERVICES: list[dict[str, Any]] = [
    {
        "Effect": "Allow",
        "Principal": {"Service": ["events.amazonaws.com", "cloudwatch.amazonaws.com"]},
        "Action": ["kms:Decrypt", "kms:GenerateDataKey*"],
    },
    {"Effect": "Allow", "Principal": {"Service": "logs.us-east-1.amazonaws.com"}, "Action": "kms:*"},
]
"""Statements of a key that a stack without an audit trail may be given."""


class AwsAccount:
    """The responses of an account by service and operation; every other call is refused."""

    def __init__(self) -> None:
        self.responses: dict[tuple[str, str], Any] = {
            ("cloudformation", "list_stacks"): {"StackSummaries": []},
            ("service-quotas", "list_aws_default_service_quotas"): {
                "Quotas": [{"QuotaName": "Max concurrent vCPUs per account", "Value": 16.0}]
            },
            ("service-quotas", "list_service_quotas"): {"Quotas": []},  # what nobody raised is not listed
            ("lambda", "get_account_settings"): {
                "AccountLimit": {"ConcurrentExecutions": 1000, "UnreservedConcurrentExecutions": 1000}
            },
            ("emr", "list_release_labels"): {"ReleaseLabels": ["emr-7.14.0"]},
            ("ec2", "describe_subnets"): {"Subnets": [ZONES, ZONES | {"AvailabilityZoneId": "use1-az2"}]},
            ("ec2", "describe_security_groups"): {"SecurityGroups": [{"VpcId": "vpc-1"}]},
            ("ec2", "describe_route_tables"): {"RouteTables": []},
            ("ec2", "describe_vpc_endpoints"): {
                "VpcEndpoints": [{"ServiceName": f"com.amazonaws.us-east-1.{each.service}"} for each in ENDPOINTS]
            },
            ("kms", "describe_key"): {
                "KeyMetadata": {
                    "KeyId": "1",
                    "KeyState": "Enabled",
                    "KeySpec": "SYMMETRIC_DEFAULT",
                    "KeyUsage": "ENCRYPT_DECRYPT",
                }
            },
            ("kms", "get_key_policy"): {"Policy": json.dumps({"Statement": SERVICES})},
            ("s3", "get_bucket_policy"): {"Policy": json.dumps({"Statement": [TLS]})},
            ("s3", "get_bucket_location"): {"LocationConstraint": None},
            ("s3", "get_bucket_versioning"): {"Status": "Enabled"},
            ("s3", "get_bucket_encryption"): refusal(
                "GetBucketEncryption", "ServerSideEncryptionConfigurationNotFoundError"
            ),
            ("s3", "get_object_lock_configuration"): refusal(
                "GetObjectLockConfiguration", "ObjectLockConfigurationNotFoundError"
            ),
            ("s3", "get_bucket_ownership_controls"): owned_by("BucketOwnerEnforced"),
            ("sns", "get_topic_attributes"): topic(*PUBLISHERS),
            ("s3", "get_bucket_notification_configuration"): {"QueueConfigurations": [{}]},
            ("s3", "list_object_versions"): {"Versions": [{}] * 3},
            ("dynamodb", "describe_table"): {"Table": {**TABLE, "TableStatus": "ACTIVE"}},
            ("cloudtrail", "describe_trails"): {"trailList": [{}] * 4},
        }
        self.calls: list[str] = []

    def client(self, service: str) -> Any:
        account = self

        class Client:
            def __getattr__(self, operation: str) -> Callable[..., Any]:
                def respond(**_: object) -> Any:
                    account.calls.append(operation)
                    found = account.responses[service, operation]
                    if isinstance(found, Exception):
                        raise found
                    return found

                return respond

        return Client()


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> AwsAccount:
    """An account where everything is in order."""
    made = AwsAccount()
    monkeypatch.setattr(open_stack, "client", made.client)
    return made


def findings(
    given: dict[str, str] | None = None, *, name: str = "lakegate", stack: dict[str, Any] | None = None
) -> dict[str, list[tuple[str, str]]]:
    """Level and sentence of what each check finds."""
    before = {"SigningKey": KEY} if stack else None
    values = parameter_values(TEMPLATE, before, DeploymentProfile.TRIAL, given or {}, "1-abc")
    found = defaultdict(list)
    for each in preflight(
        Planned(name, TEMPLATE, values, stack, {"arn": "arn:aws:iam::1:user/a", "region": "us-east-1"})
    ):
        found[each.check].append((each.level, each.text))
    return found


def test_an_account_in_order_has_no_fault_and_nothing_is_changed(account: AwsAccount) -> None:
    """Every call of every check reads."""
    given = {LANDING: "ours", "KmsKey": KEY, "AdoptExisting": "yes", **SUBNETS}
    found = findings(
        {
            **given,
            "AlarmTopic": TOPIC,
            "ExistingWorkloadsTable": "t",
            "ExistingRegistryTable": "t",
            "ExistingLedgerTable": "t",
            "AuditQuarantine": "yes",
        }
    )

    assert found.keys() == CHECKS.keys() - {"state"}
    assert {level for some in found.values() for level, _ in some} == {"ok", "warning", "refused"}
    assert found["tables"][1] == ("ok", "ExistingWorkloadsTable: t has the keys of WorkloadsTable")
    assert [level for level, _ in found["tables"]] == ["refused", "ok", "refused"]  # the others have no index
    assert {each.partition("_")[0] for each in account.calls} == {"get", "list", "describe"}


def test_the_least_deployment_is_all_right(account: AwsAccount) -> None:
    """Checks of what is not given say nothing."""
    found = findings()

    assert {(name, level) for name, some in found.items() for level, _ in some} == {
        (name, "ok") for name in ("caller", "name", "parameters", "emr quotas", "lambda quotas", "emr release")
    }
    assert account.calls


@pytest.mark.parametrize("key", ["alias/data", "1234abcd-12ab-34cd-56ef-1234567890ab", "arn:aws", "nonsense"])
@pytest.mark.parametrize("parameter", ["KmsKey", "SigningKey", "UploadKeys"])
def test_a_key_that_is_no_arn_is_refused_once(account: AwsAccount, parameter: str, key: str) -> None:
    """By the form of the parameter; AWS is not asked about it."""
    found = findings({parameter: key})

    assert [level for level, _ in found["parameters"]] == ["refused"]
    assert parameter in found["parameters"][0][1]
    assert "keys" not in found
    assert "describe_key" not in account.calls


@pytest.mark.parametrize(
    ("service", "operation", "code", "check", "right"),
    [
        (
            "service-quotas",
            "list_service_quotas",
            "AccessDeniedException",
            "emr quotas",
            "servicequotas:ListServiceQuotas",
        ),
        ("ec2", "describe_subnets", "UnauthorizedOperation", "network", "ec2:DescribeSubnets"),
        ("s3", "get_bucket_notification_configuration", "AccessDenied", "buckets", "s3:GetBucketNotification"),
        ("kms", "describe_key", "AccessDeniedException", "keys", "kms:DescribeKey"),
        ("emr", "list_release_labels", "AccessDeniedException", "emr release", "elasticmapreduce:ListReleaseLabels"),
    ],
)
def test_a_call_that_is_denied_is_a_warning_that_names_the_right(  # noqa: PLR0913, PLR0917 - a case has these parts
    account: AwsAccount, service: str, operation: str, code: str, check: str, right: str
) -> None:
    """The other checks go on."""
    called = "".join(each.capitalize() for each in operation.split("_"))
    account.responses[service, operation] = refusal(called, code)
    found = findings({LANDING: "ours", "KmsKey": KEY, **SUBNETS})

    assert found[check][-1] == ("warning", f"could not look: you need the right {right}")
    assert "refused" not in {level for some in found.values() for level, _ in some}


def test_a_service_that_does_not_answer_is_a_warning(account: AwsAccount) -> None:
    """As where a region lacks it."""
    account.responses["emr", "list_release_labels"] = refusal("ListReleaseLabels", "InternalServerException")

    assert findings()["emr release"] == [("warning", "could not look: ListReleaseLabels: InternalServerException")]


@pytest.mark.parametrize(
    ("name", "others", "level", "words"),
    [
        ("lakegate", (), "ok", "lakegate (new)"),
        ("Lakegate", (), "refused", "at most 32 small letters"),
        ("l" * 33, (), "refused", "at most 32 small letters"),
        ("lakegate;reboot", (), "refused", "at most 32 small letters"),
        ("lakegate", ("lakegate-eu",), "refused", "lakegate-eu begin alike"),
        ("lakegate-eu", ("lakegate",), "refused", "lakegate begin alike"),
        ("lakegate", ("lakegates", "other"), "ok", "lakegate (new)"),
    ],
)
def test_a_name_is_short_and_the_beginning_of_no_other(
    account: AwsAccount, name: str, others: tuple[str, ...], level: str, words: str
) -> None:
    """Stacks of other templates may be called as they like, such as those of owners."""
    summaries = [
        {"StackName": each, "StackStatus": "CREATE_COMPLETE", "TemplateDescription": TEMPLATE["Description"]}
        for each in others
    ]
    gone = {
        "StackName": f"{name}-old",
        "StackStatus": "DELETE_COMPLETE",
        "TemplateDescription": TEMPLATE["Description"],
    }
    tenant = {
        "StackName": f"{name}-sales",
        "StackStatus": "CREATE_COMPLETE",
        "TemplateDescription": "Rights of an owner",
    }
    account.responses["cloudformation", "list_stacks"] = {"StackSummaries": [*summaries, gone, tenant]}
    ((found, text),) = findings(name=name)["name"]

    assert (found, words in text) == (level, True)


@pytest.mark.parametrize(
    ("state", "level", "words"),
    [
        ("UPDATE_COMPLETE", "ok", "UPDATE_COMPLETE"),
        ("UPDATE_ROLLBACK_COMPLETE", "ok", "UPDATE_ROLLBACK_COMPLETE"),
        ("UPDATE_IN_PROGRESS", "refused", "wait until that has ended"),
        ("ROLLBACK_COMPLETE", "refused", "aws cloudformation delete-stack --stack-name lakegate"),
        ("DELETE_FAILED", "refused", "lakegate stack delete --stack lakegate"),
        ("UPDATE_ROLLBACK_FAILED", "refused", "continue-update-rollback --stack-name lakegate"),
    ],
)
def test_a_stack_is_in_a_state_that_can_be_changed(account: AwsAccount, state: str, level: str, words: str) -> None:
    """The remedy is a command."""
    outputs = [{"OutputKey": each} for each in ("LandingBucket", "LakeBucket", "LedgerTable", "Another")]
    outputs = outputs if state.startswith("UPDATE") else []
    ((found, text),) = findings(stack={"StackStatus": state, "Outputs": outputs})["state"]

    assert (found, words in text) == (level, True)
    assert account.calls


def test_another_stack_of_the_name_is_left_alone(account: AwsAccount) -> None:
    """A stack that is no Lakegate is never changed."""
    found = findings(stack={"StackStatus": "CREATE_COMPLETE", "Outputs": [{"OutputKey": "LandingBucket"}]})["state"]

    assert found == [("refused", "a stack of this name is there that is no Lakegate: take another --name")]
    assert account.calls


@pytest.mark.parametrize(
    ("response", "given", "check", "level", "words"),
    [
        (None, {"MaxVcpu": "64"}, "emr quotas", "warning", "--parameter MaxVcpu=16"),
        (
            (
                "lambda",
                "get_account_settings",
                {"AccountLimit": {"ConcurrentExecutions": 10, "UnreservedConcurrentExecutions": 10}},
            ),
            {"ReserveConcurrency": "yes"},
            "lambda quotas",
            "refused",
            "--parameter ReserveConcurrency=no",
        ),
        (
            (
                "lambda",
                "get_account_settings",
                {"AccountLimit": {"ConcurrentExecutions": 10, "UnreservedConcurrentExecutions": 10}},
            ),
            {},
            "lambda quotas",
            "warning",
            "raise the quota",
        ),
        (("emr", "list_release_labels", {"ReleaseLabels": []}), {}, "emr release", "warning", "another region"),
        (
            ("emr-serverless", "get_application", {"application": {"releaseLabel": "emr-6.9.0"}}),
            {"EmrApplicationId": "00f1"},
            "emr release",
            "refused",
            "00f1 has emr-6.9.0, and the job needs emr-7.14.0",
        ),
        (
            ("emr-serverless", "get_application", refusal("GetApplication", "ResourceNotFoundException")),
            {"EmrApplicationId": "00f1"},
            "emr release",
            "refused",
            "there is no application 00f1",
        ),
        (("ec2", "describe_subnets", {"Subnets": [ZONES]}), SUBNETS, "network", "warning", "one of another zone"),
        (
            ("ec2", "describe_subnets", {"Subnets": [ZONES | {"AvailabilityZoneId": "use1-az3"}]}),
            SUBNETS,
            "network",
            "refused",
            "use1-az3",
        ),
        (
            ("ec2", "describe_subnets", {"Subnets": [ZONES, ZONES | {"VpcId": "vpc-2"}]}),
            SUBNETS,
            "network",
            "refused",
            "several VPCs (vpc-1, vpc-2)",
        ),
        (
            ("ec2", "describe_subnets", refusal("DescribeSubnets", "InvalidSubnetID.NotFound")),
            SUBNETS,
            "network",
            "refused",
            "is not there",
        ),
        (
            ("kms", "describe_key", refusal("DescribeKey", "NotFoundException")),
            {"KmsKey": KEY},
            "keys",
            "refused",
            "no key",
        ),
        (None, {"KmsKey": KEY.replace("us-east-1", "eu-west-1")}, "keys", "refused", "another region"),
        (
            ("kms", "get_key_policy", {"Policy": json.dumps({"Statement": SERVICES[:1]})}),
            {"KmsKey": KEY},
            "keys",
            "warning",
            "kms:ReEncrypt*, kms:GenerateDataKey*, kms:Describe*): copy the statement EncryptedLogs",
        ),
        (
            ("kms", "get_key_policy", {"Policy": json.dumps({"Statement": [SERVICES[0] | {"Action": "kms:Decrypt"}]})}),
            {"KmsKey": KEY},
            "keys",
            "warning",
            "events.amazonaws.com use it (kms:GenerateDataKey): copy the statement EncryptedQueuesAndTopic",
        ),
        (None, {"KmsKey": KEY, "AuditQuarantine": "yes"}, "keys", "warning", "cloudtrail.amazonaws.com use it"),
        (
            (
                "service-quotas",
                "list_service_quotas",
                {"Quotas": [{"QuotaName": "Max concurrent vCPUs per account", "Value": 8.0}]},
            ),
            None,
            "emr quotas",
            "warning",
            "--parameter MaxVcpu=8",
        ),
        (
            ("service-quotas", "list_aws_default_service_quotas", {"Quotas": []}),
            None,
            "emr quotas",
            "warning",
            "compare MaxVcpu=16 with its page by hand",
        ),
        (None, {"SigningKey": KEY}, "keys", "refused", "ECC_NIST_EDWARDS25519 SIGN_VERIFY is needed"),
        (
            ("kms", "describe_key", {"KeyMetadata": {"KeyId": "1", "KeyState": "PendingDeletion"}}),
            {"KmsKey": KEY},
            "keys",
            "refused",
            "cancel-key-deletion",
        ),
        (
            ("s3", "get_bucket_policy", refusal("GetBucketPolicy", "NoSuchBucketPolicy")),
            {LANDING: "ours"},
            "buckets",
            "warning",
            "ours takes plain HTTP: add the statement OnlyTls of the resource LandingBucketPolicy to its policy",
        ),
        (
            ("s3", "get_bucket_policy", {"Policy": json.dumps({"Statement": [TLS | {"Effect": "Allow"}]})}),
            {LANDING: "ours"},
            "buckets",
            "warning",
            "ours takes plain HTTP",
        ),
        (
            ("s3", "get_object_lock_configuration", {"ObjectLockConfiguration": {"Rule": {}}}),
            {"ExistingAnchorBucket": "ours", "AnchorDays": "30"},
            "buckets",
            "ok",
            "ours is locked, versioned, and in this region",
        ),
        (None, {"ExistingAnchorBucket": "ours", "AnchorDays": "30"}, "buckets", "refused", "ours has no object lock"),
        (None, {"AuditQuarantine": "yes"}, "audit trail", "ok", "4 of 5 trails"),
        (
            ("cloudtrail", "describe_trails", {"trailList": [{}] * 5}),
            {"AuditQuarantine": "yes"},
            "audit trail",
            "refused",
            "the region has 5 trails, and CloudTrail allows 5",
        ),
        (
            None,
            {"ExistingAnchorBucket": "ours"},
            "parameters",
            "refused",
            "ExistingAnchorBucket needs AnchorDays",
        ),
        (
            ("s3", "get_bucket_location", refusal("GetBucketLocation", "NoSuchBucket")),
            {LANDING: "ours"},
            "buckets",
            "refused",
            "no bucket",
        ),
        (
            ("s3", "get_bucket_location", {"LocationConstraint": "eu-west-1"}),
            {LANDING: "ours"},
            "buckets",
            "refused",
            "in eu-west-1",
        ),
        (
            ("s3", "get_bucket_versioning", {}),
            {LANDING: "ours"},
            "buckets",
            "refused",
            "aws s3api put-bucket-versioning --bucket ours",
        ),
        (
            ("s3", "get_object_lock_configuration", {"ObjectLockConfiguration": {"Rule": {}}}),
            {LANDING: "ours"},
            "buckets",
            "warning",
            "refuses deletions",
        ),
        (
            ("s3", "list_object_versions", {"Versions": [{}] * 1000, "IsTruncated": True}),
            {LANDING: "ours", "LandingPrefix": "in/", "AdoptExisting": "yes"},
            "buckets",
            "warning",
            "1000 or more versions in ours/in/ are taken in, and deleted",
        ),
        (None, {LANDING: "ours", "Unrouted": "quarantine"}, "buckets", "warning", "is moved to the lake"),
        (None, {LANDING: "ours"}, "buckets", "ok", "will send its events to EventBridge; 1 other notifications stay"),
        (
            (
                "s3",
                "get_bucket_encryption",
                {
                    "ServerSideEncryptionConfiguration": {
                        "Rules": [{"ApplyServerSideEncryptionByDefault": {"KMSMasterKeyID": KEY}}]
                    }
                },
            ),
            {"ExistingLakeBucket": "ours"},
            "buckets",
            "warning",
            "name its ARN in BucketKeys",
        ),
        (
            ("dynamodb", "describe_table", refusal("DescribeTable", "ResourceNotFoundException")),
            dict.fromkeys(("ExistingRegistryTable", "ExistingWorkloadsTable", "ExistingLedgerTable"), "t1t"),
            "tables",
            "refused",
            "there is no table t1t",
        ),
    ],
)
def test_a_fault_of_the_account_has_its_remedy(  # noqa: PLR0913, PLR0917 - likewise
    account: AwsAccount,
    response: tuple[str, str, Any] | None,
    given: dict[str, str],
    check: str,
    level: str,
    words: str,
) -> None:
    """Whatever would end in a rollback an hour later."""
    if response:
        account.responses[response[:2]] = response[2]
    found = findings(given)[check]

    assert {each for each, text in found if words in text} == {level}, found


def test_endpoints_are_needed_where_there_is_no_other_way_out(account: AwsAccount) -> None:
    """Some only with a parameter; a NAT gateway makes all of them superfluous, an internet gateway does not."""
    account.responses["ec2", "describe_vpc_endpoints"] = {
        "VpcEndpoints": [{"ServiceName": "com.amazonaws.us-east-1.events", "PrivateDnsEnabled": False}]
    }
    alone = [text for level, text in findings(SUBNETS)["network"] if level == "warning"]
    signing = [text for level, text in findings({**SUBNETS, "SigningKey": "own"})["network"] if level == "warning"]
    routes = {"DestinationCidrBlock": "0.0.0.0/0", "GatewayId": "igw-1"}
    account.responses["ec2", "describe_route_tables"] = {
        "RouteTables": [{"Associations": [{"Main": True}], "Routes": [routes]}]
    }
    public = [text for level, text in findings(SUBNETS)["network"] if level == "warning"]
    account.responses["ec2", "describe_route_tables"] = {
        "RouteTables": [{"Associations": [{"Main": True}], "Routes": [{**routes, "NatGatewayId": "nat-1"}]}]
    }

    assert "the VPC vpc-1 has no endpoint of emr-serverless (Interface): no job run starts" in alone
    assert "the endpoint of events has no private DNS name: no message reaches the bus" in alone
    assert [each for each in signing if each not in alone] == [
        "the VPC vpc-1 has no endpoint of kms (Interface): nothing is committed"
    ]
    assert public == alone
    assert findings(SUBNETS)["network"][1:] == [
        ("ok", "the subnets have a way to the internet, so no endpoints are needed")
    ]


@pytest.mark.parametrize("operator", ["ArnNotLike", "ArnNotEquals"])
@pytest.mark.parametrize(("stack", "level"), [("lakegate", "ok"), ("lakegate-2", "refused")])
def test_a_bucket_of_anchors_takes_those_of_a_stack_of_the_same_name(
    account: AwsAccount, operator: str, stack: str, level: str
) -> None:
    """Its policy, which is kept with it, names the role of the function that writes them by the name of the stack."""
    role = "arn:aws:iam::123456789012:role/lakegate/lakegate/*-AnchorRole-*"
    writes = {"Effect": "Deny", "Principal": "*", "Action": "s3:PutObject"}
    writes["Condition"] = {operator: {"aws:PrincipalArn": role}}  # type: ignore[assignment] # a document
    account.responses["s3", "get_object_lock_configuration"] = {"ObjectLockConfiguration": {"Rule": {}}}
    account.responses["s3", "get_bucket_policy"] = {"Policy": json.dumps({"Statement": [TLS, writes]})}
    found = findings({"ExistingAnchorBucket": "ours", "AnchorDays": "30"}, name=stack)["buckets"]

    assert [each[0] for each in found] == [level]
    if level == "refused":
        assert f"lets only {role} write daily anchors" in found[0][1]


def test_values_that_do_not_go_together_are_refused() -> None:
    """By the rules of the template, and by what a stack cannot go back from."""

    def wrong(before: dict[str, str] | None = None, **given: str) -> list[str]:
        return list(violations(TEMPLATE, parameter_values(TEMPLATE, before, DeploymentProfile.TRIAL, given, "1")))

    assert wrong() == []
    assert wrong(SubnetIds="subnet-1") == ["SubnetIds and SecurityGroupIds are given together"]
    assert wrong(ReplacedSigningKey=KEY) == ["ReplacedSigningKey needs SigningKey, which replaces it"]
    assert wrong({"SigningKey": KEY}, SigningKey="") == [
        "SigningKey: signing cannot be ended (docs/deploy.md, The key that signs)"
    ]
    assert wrong(WarmWorkers="5") == ["WarmWorkers: 5 pairs have 20 vCPU, and MaxVcpu is 16"]
    assert wrong(IgnoredKeys="é" * 400) == []
    assert wrong(IgnoredKeys="é" * 400, ValidatorHosts=f"{'h' * 201}") == [
        f"{', '.join(SETTINGS_WITHOUT_BOUND)}: 1,001 bytes together, and functions have room for 1,000"
    ]


@pytest.mark.parametrize("profile", DeploymentProfile)
def test_every_profile_fits_the_template(profile: DeploymentProfile) -> None:
    """Each value is one that CloudFormation takes, and none is the default."""
    values = parameter_values(TEMPLATE, None, profile, {}, "1-abc")

    assert list(violations(TEMPLATE, values)) == []
    assert [name for name in values.named if values.named[name] == str(TEMPLATE["Parameters"][name]["Default"])] == []


def test_a_profile_leaves_the_keys_of_a_stack_alone() -> None:
    """Its data and its chains need them."""
    before = {"KmsKey": KEY, "SigningKey": ""}
    values = parameter_values(TEMPLATE, before, DeploymentProfile.REGULATED, {}, "1-abc")

    assert (values.effective["KmsKey"], values.effective["SigningKey"]) == (KEY, "own")


@pytest.mark.parametrize(
    ("answer", "level", "words"),
    [
        (topic(*PUBLISHERS), "ok", "takes alarms"),
        (topic("events.amazonaws.com", anybody=True), "ok", "takes alarms"),
        (topic(anybody=True), "warning", "does not let events.amazonaws.com publish"),
        (topic(), "warning", "does not let cloudwatch.amazonaws.com and events.amazonaws.com publish"),
        (topic(*PUBLISHERS, key="alias/aws/sns"), "warning", "cannot use its key"),
        (refusal("GetTopicAttributes", "NotFound"), "refused", "there is no topic"),
    ],
)
def test_a_topic_that_is_given_takes_alarms(account: AwsAccount, answer: Any, level: str, words: str) -> None:
    """Neither a missing statement nor the key of SNS is an error anywhere: alarms would be silent."""
    account.responses["sns", "get_topic_attributes"] = answer
    ((found, text),) = findings({"AlarmTopic": TOPIC})["alarm topic"]

    assert (found, words in text) == (level, True)


@pytest.mark.parametrize(
    "answer", [owned_by("ObjectWriter"), refusal("GetBucketOwnershipControls", "OwnershipControlsNotFoundError")]
)
def test_a_landing_bucket_with_acls_is_a_warning(account: AwsAccount, answer: Any) -> None:
    """What another account uploads would belong to it; the command is named."""
    account.responses["s3", "get_bucket_ownership_controls"] = answer

    assert any("ObjectOwnership=BucketOwnerEnforced" in text for _, text in findings({LANDING: "ours"})["buckets"])


def test_a_partition_without_queues_of_runs_is_refused(account: AwsAccount) -> None:
    """GovCloud is as the others."""
    assert account.responses
    values = parameter_values(TEMPLATE, None, DeploymentProfile.TRIAL, {}, "1-abc")
    levels = [
        next(
            iter(
                preflight(
                    Planned("lakegate", TEMPLATE, values, None, {"arn": f"arn:{each}:iam::1:user/a", "region": "r"})
                )
            )
        )
        for each in ("aws", "aws-us-gov", "aws-cn")
    ]

    assert [each.level for each in levels] == ["ok", "ok", "refused"]
