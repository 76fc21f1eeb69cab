"""Least privilege, both ways: every call that the adapters make is granted, and every grant is for a call."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from infra.packaging.bundles import FUNCTIONS, PULL, own_files
from lakegate.base.extension_points import ROOT, TOOLS
from lakegate.features.deployment.preflight import LONGEST_NAME
from lakegate.features.doctor.doctor_command import ENTRANCE, PROBES
from lakegate.features.doctor.function_probes import JOB, RIGHTS, SIGNERS, SIGNS
from tests.infra.packaging.iam import Call
from tests.infra.packaging.iam import allowed as allowed_by
from tests.sam.built import Stack
from tests.sam.other_values import OTHER_VALUES

ACTIONS = {
    "abort_multipart_upload": {"s3:AbortMultipartUpload"},
    "batch_get_item": {"dynamodb:BatchGetItem"},
    "cancel_job_run": {"emr-serverless:CancelJobRun"},
    "complete_multipart_upload": {"s3:PutObject"},
    "copy_object": {"s3:PutObject", "s3:PutObjectTagging", "s3:GetObject", "s3:GetObjectVersion"},
    "create_multipart_upload": {"s3:PutObject", "s3:PutObjectTagging"},
    "delete_item": {"dynamodb:DeleteItem"},
    "delete_object": {"s3:DeleteObject", "s3:DeleteObjectVersion"},
    "describe_table": {"dynamodb:DescribeTable"},
    "get_application": {"emr-serverless:GetApplication"},
    "get_item": {"dynamodb:GetItem"},
    "get_job_run": {"emr-serverless:GetJobRun"},
    "get_object": {"s3:GetObject", "s3:GetObjectVersion", "s3:ListBucket"},
    "get_secret_value": {"secretsmanager:GetSecretValue"},
    "invoke": {"lambda:InvokeFunction"},
    "head_object": {"s3:GetObject", "s3:GetObjectVersion", "s3:ListBucket"},
    "list_object_versions": {"s3:ListBucketVersions"},
    "list_objects_v2": {"s3:ListBucket"},
    "list_parts": {"s3:ListMultipartUploadParts"},
    "publish": {"sns:Publish"},
    "put_events": {"events:PutEvents"},
    "put_item": {"dynamodb:PutItem"},
    "put_object": {"s3:PutObject", "s3:PutObjectTagging"},
    "query": {"dynamodb:Query"},
    "scan": {"dynamodb:Scan"},
    "start_job_run": {"emr-serverless:StartJobRun", "emr-serverless:TagResource", "iam:PassRole"},
    "transact_write_items": {"dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:ConditionCheckItem"},
    "update_item": {"dynamodb:UpdateItem"},
    "upload_part": {"s3:PutObject"},
    "upload_part_copy": {"s3:PutObject", "s3:GetObject", "s3:GetObjectVersion"},
}
"""What each call takes. Without `s3:ListBucket` S3 answers 403, and not 404, for what is not there."""
PEOPLES = {"get_caller_identity", "get_public_key", "sign"}
"""What only the command line calls, with rights of its own, or only a stack that signs."""
OF_NAMING = {"get_queue_url": "sqs:GetQueueUrl", "list_queue_tags": "sqs:ListQueueTags"}
"""The calls of the function alone that receives named objects, in a stack that has it."""
PLATFORM = {
    "logs:CreateLogStream",
    "logs:PutLogEvents",
    "sqs:DeleteMessage",
    "sqs:GetQueueAttributes",
    "sqs:ReceiveMessage",
    "xray:PutTelemetryRecords",
    "xray:PutTraceSegments",
}
"""What Lambda itself does in a function's name."""
POLICY_LIMIT = 6144
SCHEMAS = TOOLS / "sam/lib/python3.11/site-packages/cfnlint/data/schemas/resources"
MINE = "123456789012:"
DEPLOYED = {
    "AWS::ApiGatewayV2::Api": "arn:aws:apigateway:eu-west-1::/apis/Api",
    "AWS::ApiGatewayV2::Authorizer": "arn:aws:apigateway:eu-west-1::/apis/Api/authorizers/1",
    "AWS::ApiGatewayV2::Integration": "arn:aws:apigateway:eu-west-1::/apis/Api/integrations/1",
    "AWS::ApiGatewayV2::Route": "arn:aws:apigateway:eu-west-1::/apis/Api/routes/1",
    "AWS::ApiGatewayV2::Stage": "arn:aws:apigateway:eu-west-1::/apis/Api/stages/$default",
    "AWS::S3::Bucket": "arn:aws:s3:::lakegate-lakebucket-1",
    "AWS::S3::BucketPolicy": "arn:aws:s3:::lakegate-lakebucket-1",
    "AWS::DynamoDB::Table": f"arn:aws:dynamodb:eu-west-1:{MINE}table/lakegate-LedgerTable-1",
    "AWS::SQS::Queue": f"arn:aws:sqs:eu-west-1:{MINE}lakegate-LandedQueue-1",
    "AWS::SQS::QueuePolicy": f"arn:aws:sqs:eu-west-1:{MINE}lakegate-LandedQueue-1",
    "AWS::Events::Rule": f"arn:aws:events:eu-west-1:{MINE}rule/lakegate-LandedRule-1",
    "AWS::Events::EventBus": f"arn:aws:events:eu-west-1:{MINE}event-bus/lakegate",
    "AWS::Lambda::Function": f"arn:aws:lambda:eu-west-1:{MINE}function:lakegate-IntakeFunction-1",
    "AWS::Lambda::Permission": f"arn:aws:lambda:eu-west-1:{MINE}function:lakegate-ApiFunction-1",
    "AWS::Lambda::EventInvokeConfig": f"arn:aws:lambda:eu-west-1:{MINE}function:lakegate-IntakeFunction-1",
    "AWS::Lambda::EventSourceMapping": f"arn:aws:lambda:eu-west-1:{MINE}event-source-mapping:1",
    "AWS::Logs::LogGroup": f"arn:aws:logs:eu-west-1:{MINE}log-group:/lakegate/lakegate/intake",
    "AWS::IAM::ManagedPolicy": f"arn:aws:iam::{MINE}policy/lakegate/lakegate/lakegate-EnginePolicy-1",
    "AWS::IAM::Role": f"arn:aws:iam::{MINE}role/lakegate/lakegate/lakegate-IntakeRole-1",
    "AWS::Scheduler::Schedule": f"arn:aws:scheduler:eu-west-1:{MINE}schedule/default/lakegate-SweepEvery-1",
    "AWS::SNS::Topic": f"arn:aws:sns:eu-west-1:{MINE}lakegate-Alarms-1",
    "AWS::SNS::TopicPolicy": f"arn:aws:sns:eu-west-1:{MINE}lakegate-Alarms-1",
    "AWS::CloudWatch::Alarm": f"arn:aws:cloudwatch:eu-west-1:{MINE}alarm:lakegate-StepFailures-1",
    "AWS::EMRServerless::Application": f"arn:aws:emr-serverless:eu-west-1:{MINE}/applications/Application",
}
"""A resource of each type that a deployment changes."""
NAMELESS = {"AWS::Lambda::EventSourceMapping", "AWS::CloudWatch::Alarm", "AWS::Events::EventBus"}
"""Types whose resources have an id, or hold nothing: alarms; the bus bears the whole name of the stack."""
ADMINISTRATORS = {
    "apigateway:GET",
    "apigateway:POST",
    "dynamodb:DeleteTable",
    "iam:CreatePolicy",
    "iam:CreatePolicyVersion",
    "iam:DeletePolicy",
    "iam:DeletePolicyVersion",
    "iam:SetDefaultPolicyVersion",
    "iam:UpdateAssumeRolePolicy",
    "s3:DeleteBucket",
}
"""What a deployer may not do, although handlers of resources would: give rights, and delete what holds data."""
ROLES = ("IntakeRole", "CompletionRole", "SweepRole", "NotifyRole")


def calls() -> set[str]:
    """Methods of boto3 clients that the functions call, and the paginators they ask for."""
    found = set()
    for path in own_files((*FUNCTIONS.entries, *PULL.entries), ROOT):
        for node in ast.walk(ast.parse(path.read_text())) if path.suffix == ".py" else ():
            match node:
                case ast.Call(func=ast.Attribute(attr="get_paginator"), args=[ast.Constant(value=str(name))]):
                    found.add(name)
                case ast.Call(
                    func=ast.Attribute(value=ast.Attribute(attr="client") | ast.Name(id="client"), attr=name)
                ):
                    found.add(name)
    return found - {"get_paginator"}


@cache
def schemas() -> dict[str, set[str]]:
    """The permissions of each type's handlers, as CloudFormation's registry lists them (in cfn-lint's copy)."""
    found: dict[str, set[str]] = {}
    for path in SCHEMAS.glob("*.json"):
        document = json.loads(path.read_text())
        handlers = document.get("handlers", {}).items()
        needed = {one for name, each in handlers if name != "list" for one in each.get("permissions", ())}
        found.setdefault(document["typeName"], set()).update(needed)
    return found


def permissions(kind: str) -> set[str]:
    """What a type's handlers need of their own service, for the features that the template uses."""
    service = DEPLOYED[kind].split(":")[2]
    return {each for each in schemas()[kind] if each.startswith(f"{service}:") and not NOT_USED.fullmatch(each)}


def statements(stack: Stack, role: str) -> Iterator[dict[str, Any]]:
    """Everything a role is allowed, its managed policies included."""
    made = stack.resources("AWS::IAM::Role")[role]
    documents = [each["PolicyDocument"] for each in made.get("Policies", ())]
    managed = stack.resources("AWS::IAM::ManagedPolicy")
    documents += [managed[name]["PolicyDocument"] for name in made.get("ManagedPolicyArns", ())]
    documents += [each["PolicyDocument"] for each in managed.values() if role in each.get("Roles", ())]
    for document in documents:
        yield from document["Statement"]


def granted(stack: Stack, role: str) -> set[str]:
    """The actions that a role is granted."""
    actions = [each["Action"] for each in statements(stack, role)]
    return {name for each in actions for name in ([each] if isinstance(each, str) else each)}


def allowed(stack: Stack, role: str, action: str, resource: str) -> bool:
    """Whether a role may do something to a resource, conditions aside."""
    for each in statements(stack, role):
        actions = [each["Action"]] if isinstance(each["Action"], str) else each["Action"]
        resources = [each["Resource"]] if isinstance(each["Resource"], str) else each["Resource"]
        if action in actions and any(_covers(pattern, resource) for pattern in resources):
            return True
    return False


def _covers(pattern: str, resource: str) -> bool:
    head, star, _ = pattern.partition("*")
    return resource.startswith(head) if star else resource == pattern


def test_what_the_adapters_call_is_what_the_functions_are_granted(stack: Stack) -> None:
    """A new call without its grant fails here, and so does a grant that no call needs any more."""
    needed = {action for name in calls() - PEOPLES - set(OF_NAMING) for action in ACTIONS[name]}

    assert set(ACTIONS) | set(OF_NAMING) == calls() - PEOPLES
    assert needed | PLATFORM == {action for role in ROLES for action in granted(stack, role)}


def test_the_judge_function_may_write_what_an_attempt_writes(built: Path) -> None:
    """Its result, slices and keys of merged rows, whose size it reads afterwards; no rows of a split, no other place."""
    folder = "arn:aws:s3:::LakeBucket/runs/abc/attempt=1"
    written = [f"{folder}/{name}" for name in ("result.json", "slices/part-00000.parquet", "slices/state.bin")]
    other = [f"{folder}/rows/accepted/a.csv", "arn:aws:s3:::LakeBucket/accepted/a/slices/b"]
    document = {
        "Version": "2012-10-17",
        "Statement": list(statements(Stack.read(built, SmallFileBytes="1"), "JudgeRole")),
    }
    asked = [Call(action, each) for each in written for action in ("s3:PutObject", "s3:GetObject")]
    asked += [Call("s3:PutObject", each) for each in other]

    assert allowed_by([document], asked) == [True] * 6 + [False] * 2


def test_no_grant_is_for_everything(stack: Stack) -> None:
    """No action and no resource is a wildcard, but for X-Ray, which has no resources."""
    for role in (*ROLES, "JobRole", "SchedulerRole"):
        wide = [each for each in statements(stack, role) if each["Resource"] == "*" or "*" in str(each["Action"])]

        assert [each for each in wide if each["Sid"] != "Trace"] == []


def test_notify_reads_and_sends_and_nothing_else(stack: Stack) -> None:
    """The function that sends to the outside can neither read data nor decide anything; of secrets it reads the channels'."""
    document = {"Statement": list(statements(stack, "NotifyRole"))}
    table = stack.resolve({"Fn::GetAtt": ["WorkloadsTable", "Arn"]})
    keys = (
        "notice#1",
        "promise#1",
        "message#shop/orders_v1:late:frequency:2026",
        "workload#1",
        "message#1:published:1",
    )
    puts = [Call("dynamodb:PutItem", table, {"dynamodb:LeadingKeys": [key]}) for key in keys]
    names = ("secretsmanager:eu-west-1:123456789012:secret", "sns:eu-west-1:123456789012")
    uses = [
        Call(action, f"arn:aws:{service}:{name}")
        for action, service in zip(("secretsmanager:GetSecretValue", "sns:Publish"), names, strict=True)
        for name in ("lakegate-channel-orders", "password")
    ]

    assert granted(stack, "NotifyRole") - PLATFORM == {
        *("dynamodb:Query", "dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:UpdateItem", "dynamodb:PutItem"),
        "events:PutEvents",
        *("s3:GetObject", "s3:GetObjectVersion", "s3:ListBucket", "secretsmanager:GetSecretValue", "sns:Publish"),
    }
    assert allowed_by([document], [*puts, *uses]) == [True, True, True, False, False, True, False, True, False]
    assert not allowed(stack, "NotifyRole", "s3:GetObject", "arn:aws:s3:::LakeBucket/accepted/a")


PEOPLE = ("StewardPolicy", "OperatorPolicy", "ResponderPolicy", "DeployerPolicy", "ErasurePolicy")
PLACES = ("code", "contracts", "plans", "staging", "runs", "accepted", "quarantine", "erasures")
PERMISSIONS = (
    *("GetObject", "GetObjectVersion", "PutObject", "DeleteObject", "DeleteObjectVersion", "PutObjectAcl"),
    "PutObjectTagging",
)
NOT_USED = re.compile(
    r"dynamodb:(ImportTable|DescribeImport|.*Replica|.*Kinesis.*|.*(Item|ResourcePolicy)|Query|Scan)"
    r"|lambda:(GetLayerVersion|PassCapacityProvider|.*CodeSigning.*)|logs:CreateLogDelivery"
    r"|iam:((At|De)tach(User|Group)Policy|AttachRolePolicy|DetachRolePolicy|DeleteRolePermissionsBoundary)"
    r"|s3:(.*Metadata.*|.*Abac|.*Object.*|ListBucket|REST.*)"
)
"""Permissions of handlers for features that the template does not use: replicas, streams, imports, layers, code signing,
policies that are attached by the policy's own resource, objects that a bucket's creation writes."""


def test_publisher_and_approver_have_different_rights(built: Path) -> None:
    """With RequireApproval a publisher writes proposals alone, an approver everything else, also with both policies.

    A proposal is declined, which deletes it, by who may approve it.
    """
    stack = Stack.read(built, RequireApproval="yes")
    documents = {name: each["PolicyDocument"] for name, each in stack.resources("AWS::IAM::ManagedPolicy").items()}
    keys = {
        "RegistryTable": ("proposal#shop#1.0.0", "version#shop#1.0.0", "route#landing/a/", "contract#shop"),
        "LedgerTable": ("_contracts/shop", "event#1", "shop/orders_v1"),
    }
    asked = [
        Call("dynamodb:PutItem", stack.resolve({"Fn::GetAtt": [name, "Arn"]}), {"dynamodb:LeadingKeys": [key]})
        for name, some in keys.items()
        for key in some
    ]
    held = {"publisher": ["StewardPolicy"], "approver": ["ApproverPolicy"], "both": ["StewardPolicy", "ApproverPolicy"]}
    may = {
        who: [
            call.keys["dynamodb:LeadingKeys"][0]
            for call, answer in zip(asked, allowed_by([documents[name] for name in names], asked), strict=True)
            if answer
        ]
        for who, names in held.items()
    }
    declined = Call(
        "dynamodb:DeleteItem",
        stack.resolve({"Fn::GetAtt": ["RegistryTable", "Arn"]}),
        {"dynamodb:LeadingKeys": [keys["RegistryTable"][0]]},
    )
    may_decline = [who for who, names in held.items() if all(allowed_by([documents[n] for n in names], [declined]))]
    valid = [*keys["RegistryTable"][1:], *keys["LedgerTable"][:2]]
    reads = [
        Call("dynamodb:Query", stack.resolve({"Fn::GetAtt": ["LedgerTable", "Arn"]}), {"dynamodb:LeadingKeys": [key]})
        for key in ("_contracts/shop", "shop/orders_v1", "shop/orders_v1#verdict#accepted")
    ]

    assert may == {"publisher": [keys["RegistryTable"][0]], "approver": valid, "both": valid}
    assert may_decline == ["approver", "both"]
    for names in held.values():
        assert allowed_by([documents[name] for name in names], reads) == [True, True, False]


def test_what_people_may_do_to_objects(stack: Stack) -> None:
    """A steward writes contracts and plans, an operator reads results and reports, a deployer code; who erases, data."""
    documents = {name: each["PolicyDocument"] for name, each in stack.resources("AWS::IAM::ManagedPolicy").items()}
    asked = [
        Call(f"s3:{action}", f"arn:aws:s3:::{place}")
        for place in (
            *(f"LakeBucket/{each}/1/a" for each in PLACES),
            "LakeBucket/runs/1/attempt=1/result.json",
            "LakeBucket/runs/1/report.html",
            "LakeBucket/runs/1/attempt=1/rows/accepted/a",
            "LakeBucket/runs/1/attempt=1/slices/a",
            "LakeBucket/runs/1/attempt=1/table/a",
            "LandingBucket/a",
        )
        for action in PERMISSIONS
    ]
    reads = {"s3:GetObject", "s3:GetObjectVersion"}

    may = {
        name: {
            (call.action, call.resource.partition("/")[2])
            for call, answer in zip(asked, allowed_by([documents[name]], asked), strict=True)
            if answer
        }
        for name in PEOPLE
    }

    assert may == {
        "StewardPolicy": {
            (each, f"{place}/1/a") for each in (*reads, "s3:PutObject") for place in ("contracts", "plans")
        },
        "OperatorPolicy": {
            (each, place)
            for each in reads
            for place in ("contracts/1/a", "plans/1/a", "runs/1/attempt=1/result.json", "runs/1/report.html")
        },
        "ResponderPolicy": set(),
        "DeployerPolicy": {(each, "code/1/a") for each in (*reads, "s3:PutObject")},
        "ErasurePolicy": {
            *(
                (each, f"{place}/1/a")
                for each in (*reads, "s3:PutObject", "s3:DeleteObjectVersion")
                for place in ("accepted", "quarantine", "erasures")
            ),
            ("s3:PutObjectTagging", "quarantine/1/a"),
            ("s3:DeleteObjectVersion", "staging/1/a"),
            ("s3:DeleteObjectVersion", "runs/1/attempt=1/rows/accepted/a"),
            ("s3:DeleteObjectVersion", "runs/1/attempt=1/slices/a"),
            ("s3:DeleteObjectVersion", "runs/1/attempt=1/table/a"),
        },
    }


def test_who_erases_follows_the_tables_of_the_stack(built: Path) -> None:
    """Metadata is read, and its old versions are deleted; nothing is written there, and a stack without tables has none of it."""
    database = "arn:aws:glue:eu-west-1:123456789012:{}"
    objects = [
        Call(f"s3:{action}", "arn:aws:s3:::LakeBucket/tables/shop/orders_v1/metadata/1.metadata.json")
        for action in ("GetObject", "DeleteObjectVersion", "PutObject", "DeleteObject")
    ]
    for name, expected in (("accepted", [True, True, False, False, True, False, True]), ("", [False] * 7)):
        stack = Stack.read(built, TableDatabase=name)
        document = stack.resources("AWS::IAM::ManagedPolicy")["ErasurePolicy"]["PolicyDocument"]
        tables = [Call(f"glue:{each}", database.format("table/accepted/x")) for each in ("GetTable", "UpdateTable")]
        queue = stack.resolve({"Fn::GetAtt": ["TableQueue", "Arn"]})

        assert allowed_by([document], [*objects, *tables, Call("sqs:SendMessage", queue)]) == expected


def deployer(stack: Stack) -> list[dict[str, Any]]:
    """The two policies of a deployer."""
    managed = stack.resources("AWS::IAM::ManagedPolicy")
    return [managed[name]["PolicyDocument"] for name in ("DeployerPolicy", "DeployerServicesPolicy")]


def test_a_deployer_may_do_what_the_resources_handlers_need(built: Path) -> None:
    """For each type of resource in the template, every permission that CloudFormation's own schema lists for it.

    But for what an administrator does: create and delete what holds data or has no name, and give rights.
    """
    boundary = "arn:aws:iam::123456789012:policy/boundary"
    documents = deployer(Stack.read(built, KmsKey="", PermissionsBoundary=boundary))
    under = {"iam:PermissionsBoundary": boundary}
    asked = [
        Call(action, resource, under)
        for kind, resource in DEPLOYED.items()
        for action in sorted(permissions(kind))
        if action not in ADMINISTRATORS
    ]

    denied = [call for call, answer in zip(asked, allowed_by(documents, asked), strict=True) if not answer]

    assert len(asked) > 100
    assert denied == []


@pytest.mark.parametrize("boundary", ["", "arn:aws:iam::123456789012:policy/boundary"], ids=["none", "a boundary"])
def test_a_deployer_gives_nobody_more_rights(built: Path, boundary: str) -> None:
    """No policy is written, a role gets rights under the boundary of the account only, and without one not at all."""
    documents = deployer(Stack.read(built, PermissionsBoundary=boundary))
    iam = f"arn:aws:iam::{MINE}"
    role, policy = (
        f"{iam}role/lakegate/lakegate/lakegate-IntakeRole-1",
        f"{iam}policy/lakegate/lakegate/lakegate-DeployerPolicy-1",
    )
    giving = ("CreateRole", "PutRolePolicy", "AttachRolePolicy", "PutRolePermissionsBoundary")
    never = [
        *(Call(f"iam:{each}", role, {"iam:PermissionsBoundary": "arn:aws:iam::aws:policy/Other"}) for each in giving),
        *(Call(f"iam:{each}", role) for each in (*giving, "UpdateAssumeRolePolicy", "DeleteRolePermissionsBoundary")),
        *(Call(f"iam:{each}", policy) for each in ("CreatePolicy", "CreatePolicyVersion", "SetDefaultPolicyVersion")),
        Call("iam:CreateRole", f"{iam}role/Admin", {"iam:PermissionsBoundary": boundary}),
        Call("iam:PassRole", f"{iam}role/Admin", {"iam:PassedToService": "lambda.amazonaws.com"}),
        Call("iam:PassRole", role, {"iam:PassedToService": "ec2.amazonaws.com"}),
        Call("iam:AttachUserPolicy", f"{iam}user/me"),
    ]
    under = [Call(f"iam:{each}", role, {"iam:PermissionsBoundary": boundary}) for each in giving]

    assert allowed_by(documents, never) == [False] * len(never)
    assert allowed_by(documents, under) == [bool(boundary)] * len(under)


def test_a_deployer_changes_no_stack_of_a_longer_name(built: Path) -> None:
    """What `lakegate-eu` has, the deployer of `lakegate` leaves alone, and data that is kept is never deleted."""
    documents = deployer(Stack.read(built, PermissionsBoundary="arn:aws:iam::123456789012:policy/boundary"))
    kept = [
        Call("dynamodb:DeleteTable", DEPLOYED["AWS::DynamoDB::Table"]),
        Call("s3:DeleteBucket", DEPLOYED["AWS::S3::Bucket"]),
    ]
    theirs = [
        Call(
            action,
            resource.replace("/lakegate/lakegate/", "/lakegate/lakegate-eu/").replace("lakegate-", "lakegate-eu-"),
        )
        for kind, resource in DEPLOYED.items()
        for action in sorted(permissions(kind))
        if kind not in NAMELESS
        and "lakegate" in resource
        and not re.match("logs:(Describe|Put.*Policy|.*LogDeliver)", action)
    ]
    names = {call.resource for call in theirs}

    calls_made = [*kept, *theirs]
    assert [call for call, answer in zip(calls_made, allowed_by(documents, calls_made), strict=True) if answer] == []
    assert len(names) > 10


def test_no_policy_is_longer_than_iam_takes(built: Path) -> None:
    """6,144 characters for a managed policy, white space aside, with every option and the longest names there can be.

    CloudFormation names a resource `<stack>-<logical id>-<12 characters>`; docs/deploy.md allows stacks of 32 characters.
    """
    stack_name, region = "l" * LONGEST_NAME, "ap-southeast-2"
    template = Stack.read(built).template
    physical = {
        name: f"{stack_name}-{name}-0123456789ab"[: 63 if each["Type"] == "AWS::S3::Bucket" else None]
        for name, each in template["Resources"].items()
    }
    given = {**OTHER_VALUES, "AuditQuarantine": "yes", "AWS::StackName": stack_name, "AWS::Region": region}
    stack = Stack.read(built, **given, **physical)
    lengths = {
        name: len(json.dumps(each["PolicyDocument"], separators=(",", ":")).replace("eu-west-1", region))
        for name, each in stack.resources("AWS::IAM::ManagedPolicy").items()
    }

    assert len(lengths) == 14
    assert {name: length for name, length in lengths.items() if length > POLICY_LIMIT} == {}


def test_an_operator_keeps_anchors_and_changes_none(built: Path) -> None:
    """Where the stack has a bucket for anchors, an operator lists them, a responder adds them, nobody shortens a retention."""
    documents = Stack.read(built, AnchorDays="30").resources("AWS::IAM::ManagedPolicy")
    place = "arn:aws:s3:::AnchorBucket"
    actions = ("PutObject", "DeleteObjectVersion", "PutObjectRetention", "BypassGovernanceRetention")
    asked = [Call("s3:ListBucket", place), *(Call(f"s3:{action}", f"{place}/shop/orders_v1/1=0") for action in actions)]

    both = [documents[name]["PolicyDocument"] for name in ("OperatorPolicy", "ResponderPolicy")]
    assert allowed_by(both[:1], asked) == [True, False, False, False, False]
    assert allowed_by(both, asked) == [True, True, False, False, False]


def test_every_role_uses_the_keys_of_the_stack(built: Path) -> None:
    """With a key, each role that reads or writes may decrypt and encrypt by it, and decrypt producers' uploads."""
    theirs = "arn:aws:kms:eu-west-1:999999999999:key/2"
    buckets = "arn:aws:kms:eu-west-1:999999999999:key/3"
    stack = Stack.read(built, KmsKey="own", BucketKeys=buckets, UploadKeys=theirs)
    managed = {name: each["PolicyDocument"] for name, each in stack.resources("AWS::IAM::ManagedPolicy").items()}
    key = "arn:aws:kms:eu-west-1:123456789012:key/Key"
    asked = [
        Call("kms:Decrypt", key),
        Call("kms:GenerateDataKey", key),
        Call("kms:Decrypt", buckets),
        Call("kms:GenerateDataKey", buckets),
        Call("kms:Decrypt", theirs),
        Call("kms:GenerateDataKey", theirs),
    ]

    for role in (*ROLES, "JobRole"):
        held = [managed[name] for name in stack.resources("AWS::IAM::Role")[role]["ManagedPolicyArns"]]
        assert allowed_by(held, asked) == [True] * 5 + [False]
    assert "KeyPolicy" not in Stack.read(built).resources("AWS::IAM::ManagedPolicy")


def test_nobody_may_delete_accepted_data(stack: Stack) -> None:
    """No role of the stack can delete below accepted/ or plans/, and none can delete a key of landing."""
    for role in (*ROLES, "JobRole"):
        for key in ("LakeBucket/accepted/a", "LakeBucket/plans/p.json"):
            for action in ("s3:DeleteObject", "s3:DeleteObjectVersion"):
                assert not allowed(stack, role, action, f"arn:aws:s3:::{key}")
        assert not allowed(stack, role, "s3:DeleteObject", "arn:aws:s3:::LandingBucket/in/a.csv")


def test_the_job_reads_what_is_staged_and_writes_its_runs(stack: Stack) -> None:
    """Whatever a file makes the job do, it can neither publish, nor read what is refused, nor touch landing or a table."""
    may = {
        (action, place)
        for action in ("s3:GetObject", "s3:PutObject", "s3:DeleteObject")
        for place in ("code", "plans", "staging", "runs", "accepted", "quarantine")
        if allowed(stack, "JobRole", action, f"arn:aws:s3:::LakeBucket/{place}/x")
    }
    reads = {("s3:GetObject", place) for place in ("code", "plans", "staging", "runs", "accepted")}

    assert reads | {("s3:PutObject", "runs"), ("s3:DeleteObject", "runs")} == may
    assert not allowed(stack, "JobRole", "s3:GetObject", "arn:aws:s3:::LandingBucket/x")
    assert all(action.startswith("s3:") for action in granted(stack, "JobRole"))


@pytest.mark.parametrize("holder", [*ROLES[:3], "JobRole", "StewardPolicy", "OperatorPolicy"])
def test_who_looks_for_absent_objects_may_list_without_a_prefix(stack: Stack, holder: str) -> None:
    """S3 answers 404 only to anyone who may list the bucket, and a HEAD or GET has no `s3:prefix` for a condition.

    https://docs.aws.amazon.com/AmazonS3/latest/API/API_HeadObject.html: Spark's S3A, for one, looks for each path first.
    """
    held = stack.resources("AWS::IAM::ManagedPolicy").get(holder)
    documents = [held["PolicyDocument"]] if held else [{"Statement": list(statements(stack, holder))}]

    assert allowed_by(documents, [Call("s3:ListBucket", "arn:aws:s3:::LakeBucket")]) == [True]


def test_doctor_may_do_what_its_probes_do_and_nothing_else(stack: Stack) -> None:
    """The policy of `lakegate doctor` has the rights that the table of probes names, each of them one to read."""
    managed = stack.resources("AWS::IAM::ManagedPolicy")["DoctorPolicy"]["PolicyDocument"]["Statement"]
    granted = [
        action
        for each in managed
        for action in ([each["Action"]] if isinstance(each["Action"], str) else each["Action"])
    ]

    assert {right for probe in PROBES for right in probe.rights} | set(ENTRANCE) == set(granted)


def test_doctor_examines_only_rights_that_roles_have(built: Path) -> None:
    """In a stack as deployed, with anchors and pulls, no right is reported as missing."""
    pulls = {"PullHosts": "a.example", "PullObjects": "arn:aws:s3:::p/*"}
    stack = Stack.read(built, EmrApplicationId="00f1982r1uukb925", AnchorDays="30", **pulls)
    names = {"landing": "LandingBucket", "lake": "LakeBucket", "application": "00f1982r1uukb925", "partition": "aws"}
    names |= {f"{each}_table": f"{each.capitalize()}Table" for each in ("registry", "workloads", "ledger")}
    names |= {"region": "eu-west-1", "account": "123456789012", "bus": "EventBus"}
    roles = {name.replace("Function", "Role"): wanted for name, wanted in RIGHTS.items()} | {"JobRole": JOB}

    for role, wanted in roles.items():
        for action, place in wanted:
            assert allowed(stack, role, action, place.format(**names)), (role, action, place)


def test_naming_objects_is_all_that_the_function_of_messages_may(built: Path) -> None:
    """It takes messages from strangers: it reads no object and no secret, writes rows of named objects, and no more (P16)."""
    stack = Stack.read(built, PullObjects="arn:aws:s3:::p/*")
    document = {"Statement": list(statements(stack, "NamingRole"))}
    table = stack.resolve({"Fn::GetAtt": ["WorkloadsTable", "Arn"]})
    puts = [
        Call("dynamodb:PutItem", table, {"dynamodb:LeadingKeys": [key]})
        for key in ("object#1", "pull#shop/orders_v1", "line#shop/orders_v1", "workload#1", "message#1:published:1")
    ]
    queues = [
        Call("sqs:ReceiveMessage", f"arn:aws:sqs:eu-west-1:123456789012:{name}")
        for name in (
            "lakegate-named",
            "lakegate-named-sales",
            "lakegate-LandedQueue-1",
            "lakegate-named2",
            "other-named",
        )
    ]
    objects = [
        Call("s3:GetObject", f"arn:aws:s3:::{name}")
        for name in ("LakeBucket/plans/1.json", "LakeBucket/accepted/a", "p/a")
    ]

    assert granted(stack, "NamingRole") - PLATFORM == {
        *("dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Scan", "s3:GetObject"),
        *OF_NAMING.values(),
    }
    assert allowed_by([document], puts) == [True, False, False, False, False]
    assert allowed_by([document], queues) == [True, True, False, False, False]
    assert allowed_by([document], objects) == [True, False, False]


def test_functions_hand_over_the_job_role_and_to_emr_alone(stack: Stack) -> None:
    """iam:PassRole names one role and one service."""
    passing = [each for role in ROLES for each in statements(stack, role) if each["Action"] == "iam:PassRole"]

    assert {"arn:aws:iam::123456789012:role/JobRole"} == {each["Resource"] for each in passing}
    assert {"emr-serverless.amazonaws.com"} == {
        each["Condition"]["StringEquals"]["iam:PassedToService"] for each in passing
    }


SIGNED = {"SigningKey": "own", "ReplacedSigningKey": "arn:aws:kms:eu-west-1:123456789012:key/old"}


def test_only_the_engine_signs_and_nothing_but_blocks(built: Path) -> None:
    """Intake, completion and sweep sign by both keys, with Ed25519 and the whole text; nobody else may."""
    stack = Stack.read(built, **SIGNED)
    managed = stack.resources("AWS::IAM::ManagedPolicy")
    (key,) = stack.resources("AWS::KMS::Key").values()
    own = "arn:aws:kms:eu-west-1:123456789012:key/LedgerKey"
    engine = [f"arn:aws:iam::123456789012:role/{name}" for name in ("IntakeRole", "CompletionRole", "SweepRole")]
    right = {"kms:SigningAlgorithm": "ED25519_SHA_512", "kms:MessageType": "RAW"}
    asked = [
        Call("kms:Sign", own, right),
        Call("kms:Sign", SIGNED["ReplacedSigningKey"], right),
        Call("kms:Sign", own, {**right, "kms:MessageType": "DIGEST"}),
        Call("kms:Sign", own, {**right, "kms:SigningAlgorithm": "ED25519_PH_SHA_512"}),
        Call("kms:Sign", own),
        Call("kms:Sign", "arn:aws:kms:eu-west-1:123456789012:key/other", right),
        Call("kms:GetPublicKey", own),
    ]
    deny = key["KeyPolicy"]["Statement"][1]

    assert managed["SigningPolicy"]["Roles"] == ["IntakeRole", "CompletionRole", "SweepRole"]
    assert allowed_by([managed["SigningPolicy"]["PolicyDocument"]], asked) == [True, True, *[False] * 4, True]
    assert {name for name in managed if "kms:Sign" in json.dumps(managed[name])} == {"SigningPolicy"}
    assert not {name for name in stack.resources("AWS::IAM::Role") if "kms:Sign" in granted(stack, name)} - {
        each.rpartition("/")[2] for each in engine
    }
    assert (deny["Effect"], deny["Principal"], deny["Action"]) == ("Deny", "*", "kms:Sign")
    assert deny["Condition"] == {"ArnNotEquals": {"aws:PrincipalArn": engine}}
    assert (key["KeySpec"], key["KeyUsage"]) == ("ECC_NIST_EDWARDS25519", "SIGN_VERIFY")
    assert allowed_by([managed["OperatorPolicy"]["PolicyDocument"]], asked) == [*[False] * 6, True]


def test_doctor_examines_the_rights_to_sign_that_roles_have(built: Path) -> None:
    """In a stack that signs none is reported as missing."""
    stack = Stack.read(built, **SIGNED)
    roles = [name.replace("Function", "Role") for name in SIGNERS]

    for role in roles:
        for action, _ in SIGNS:
            assert allowed(stack, role, action, "arn:aws:kms:eu-west-1:123456789012:key/LedgerKey")
    assert [name for name in ROLES if "kms:Sign" in granted(stack, name)] == roles
    assert "kms:Sign" not in granted(Stack.read(built), "SweepRole")


def test_people_write_records_and_no_key_or_index_of_a_chain(built: Path) -> None:
    """Of the ledger, each policy of people writes the chains that its commands record on: not what verifies and finds them."""
    keys = ("shop/orders_v1", "event#1", "_contracts/shop", "shop/orders_v1#key", "_contracts/shop#key")
    keys += (
        "shop/orders_v1#verdict#accepted",
        "shop/orders_v1#rule#0f",
        "shop/orders_v1#name#0f",
        "_unrouted/2026-01-01",
    )
    may = {}
    for name, parameters in (
        ("LifecyclePolicy", {}),
        ("StewardPolicy", {}),
        ("ApproverPolicy", {"RequireApproval": "yes"}),
    ):
        stack = Stack.read(built, **parameters)
        table = stack.resolve({"Fn::GetAtt": ["LedgerTable", "Arn"]})
        asked = [Call("dynamodb:PutItem", table, {"dynamodb:LeadingKeys": [key]}) for key in keys]
        document = stack.resources("AWS::IAM::ManagedPolicy")[name]["PolicyDocument"]
        may[name] = [key for key, answer in zip(keys, allowed_by([document], asked), strict=True) if answer]

    assert may == {
        "LifecyclePolicy": ["shop/orders_v1", "event#1"],
        "StewardPolicy": ["event#1", "_contracts/shop"],
        "ApproverPolicy": ["event#1", "_contracts/shop"],
    }
