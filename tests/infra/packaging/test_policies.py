"""Least privilege, both ways: every call that the adapters make is granted, and every grant is for a call."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from lakegate.infra.local.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.sam.built import Stack

ACTIONS = {
    "abort_multipart_upload": {"s3:AbortMultipartUpload"},
    "batch_get_item": {"dynamodb:BatchGetItem"},
    "cancel_job_run": {"emr-serverless:CancelJobRun"},
    "complete_multipart_upload": {"s3:PutObject"},
    "copy_object": {"s3:PutObject", "s3:GetObject", "s3:GetObjectVersion"},
    "create_multipart_upload": {"s3:PutObject"},
    "delete_item": {"dynamodb:DeleteItem"},
    "delete_object": {"s3:DeleteObject", "s3:DeleteObjectVersion"},
    "get_item": {"dynamodb:GetItem"},
    "get_job_run": {"emr-serverless:GetJobRun"},
    "get_object": {"s3:GetObject", "s3:GetObjectVersion", "s3:ListBucket"},
    "head_object": {"s3:GetObject", "s3:GetObjectVersion", "s3:ListBucket"},
    "list_object_versions": {"s3:ListBucketVersions"},
    "list_parts": {"s3:ListMultipartUploadParts"},
    "put_events": {"events:PutEvents"},
    "put_item": {"dynamodb:PutItem"},
    "put_object": {"s3:PutObject"},
    "query": {"dynamodb:Query"},
    "start_job_run": {"emr-serverless:StartJobRun", "iam:PassRole"},
    "transact_write_items": {"dynamodb:PutItem"},
    "update_item": {"dynamodb:UpdateItem"},
    "upload_part_copy": {"s3:PutObject", "s3:GetObject", "s3:GetObjectVersion"},
}
"""What each call takes. Without `s3:ListBucket` S3 answers 403, and not 404, for what is not there."""
PEOPLES = {"scan"}
"""What only the command line calls, with rights of its own."""
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
ROLES = ("IntakeRole", "CompletionRole", "SweepRole", "NotifyRole")


def calls() -> set[str]:
    """Methods of boto3 clients that the adapters call, and the paginators they ask for."""
    found = set()
    for path in (ROOT / "functions/adapters").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(func=ast.Attribute(attr="get_paginator"), args=[ast.Constant(value=str(name))]):
                    found.add(name)
                case ast.Call(
                    func=ast.Attribute(value=ast.Attribute(attr="client") | ast.Name(id="client"), attr=name)
                ):
                    found.add(name)
    return found - {"get_paginator"}


def statements(stack: Stack, role: str) -> Iterator[dict[str, Any]]:
    """Everything a role is allowed, its managed policies included."""
    made = stack.resources("AWS::IAM::Role")[role]
    documents = [each["PolicyDocument"] for each in made.get("Policies", ())]
    managed = stack.resources("AWS::IAM::ManagedPolicy")
    documents += [managed[name]["PolicyDocument"] for name in made.get("ManagedPolicyArns", ())]
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
    needed = {action for name in calls() - PEOPLES for action in ACTIONS[name]}

    assert set(ACTIONS) == calls() - PEOPLES
    assert needed | PLATFORM == {action for role in ROLES for action in granted(stack, role)}


def test_no_grant_is_for_everything(stack: Stack) -> None:
    """No action and no resource is a wildcard, but for X-Ray, which has no resources."""
    for role in (*ROLES, "JobRole", "SchedulerRole"):
        wide = [each for each in statements(stack, role) if each["Resource"] == "*" or "*" in str(each["Action"])]

        assert [each for each in wide if each["Sid"] != "Trace"] == []


def test_notify_reads_and_sends_and_nothing_else(stack: Stack) -> None:
    """The function that sends to the outside can neither read data nor decide anything."""
    assert {"dynamodb:Query", "dynamodb:GetItem", "dynamodb:UpdateItem", "events:PutEvents"} == granted(
        stack, "NotifyRole"
    ) - PLATFORM


def test_a_producer_can_upload_and_look_and_nothing_else(stack: Stack) -> None:
    """Whoever delivers can neither read what others delivered, nor change a contract, nor delete anything."""
    managed = stack.resources("AWS::IAM::ManagedPolicy")["ProducerPolicy"]["PolicyDocument"]["Statement"]
    writing = [each for each in managed if not _reads(each)]

    assert [(each["Action"], each["Resource"]) for each in writing] == [
        (["s3:PutObject", "s3:AbortMultipartUpload"], "arn:aws:s3:::LandingBucket/*")
    ]
    readable = [place for each in managed if each["Sid"] == "ReadContractsAndResults" for place in each["Resource"]]
    assert [place for place in readable if "accepted" in place or "Landing" in place] == []


def _reads(statement: dict[str, Any]) -> bool:
    actions = [statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"]
    return all(re.match(r"\w+:(Get|List|BatchGet|Query|Scan|Describe)", action) for action in actions)


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


def test_functions_hand_over_the_job_role_and_to_emr_alone(stack: Stack) -> None:
    """iam:PassRole names one role and one service."""
    passing = [each for role in ROLES for each in statements(stack, role) if each["Action"] == "iam:PassRole"]

    assert {"arn:aws:iam::123456789012:role/JobRole"} == {each["Resource"] for each in passing}
    assert {"emr-serverless.amazonaws.com"} == {
        each["Condition"]["StringEquals"]["iam:PassedToService"] for each in passing
    }
