"""Names that are built from that of the stack, with the longest that preflight takes, against the limits of AWS."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

from lakegate.features.deployment.preflight import LONGEST_NAME, NAME
from tests.sam.built import Stack
from tests.sam.other_values import OTHER_VALUES

LIMITS: Final = {
    "AWS::ApiGatewayV2::Api": ("Name", 128),
    "AWS::CloudTrail::Trail": ("TrailName", 128),
    "AWS::CloudWatch::Alarm": ("AlarmName", 255),
    "AWS::CloudWatch::Dashboard": ("DashboardName", 255),
    "AWS::DynamoDB::Table": ("TableName", 255),
    "AWS::EMRServerless::Application": ("Name", 64),
    "AWS::Events::EventBus": ("Name", 256),
    "AWS::Events::Rule": ("Name", 64),
    "AWS::Glue::Database": ("DatabaseName", 255),
    "AWS::IAM::ManagedPolicy": ("ManagedPolicyName", 128),
    "AWS::IAM::Role": ("RoleName", 64),
    "AWS::Logs::LogGroup": ("LogGroupName", 512),
    "AWS::S3::Bucket": ("BucketName", 63),
    "AWS::SNS::Topic": ("TopicName", 256),
    "AWS::SQS::Queue": ("QueueName", 80),
    "AWS::Scheduler::Schedule": ("Name", 64),
    "AWS::Serverless::Function": ("FunctionName", 64),
}
"""The property with a resource's name, and its longest value: each service's API reference, of the call that creates it."""
NAMELESS: Final = {
    "AWS::ApiGatewayV2::Authorizer",
    "AWS::ApiGatewayV2::Integration",
    "AWS::ApiGatewayV2::Route",
    "AWS::ApiGatewayV2::Stage",
    "AWS::KMS::Key",
    "AWS::Lambda::EventSourceMapping",
    "AWS::Lambda::Permission",
    "AWS::S3::BucketPolicy",
    "AWS::SNS::TopicPolicy",
    "AWS::SQS::QueuePolicy",
}
"""Types whose resources have an id of AWS's, or the name of another resource."""
PATH_LIMIT: Final = 512
EXPORT_LIMIT: Final = 255
"""IAM's paths, and CloudFormation's names of exports."""
TAIL: Final = 13
"""A hyphen and twelve characters that CloudFormation adds to a stack's name and a logical id."""


def with_a_name_of(built: Path, characters: int) -> Stack:
    """The stack with every option."""
    return Stack.read(built, **OTHER_VALUES, AuditQuarantine="yes", **{"AWS::StackName": "l" * characters})


def too_long(stack: Stack) -> dict[str, int]:
    """Names that somebody would refuse or cut, with their lengths.

    CloudFormation cuts a stack's name and a logical id that are too long together, to 25 characters each where 64 are allowed
    (its guide has no word of it; https://github.com/convox/rack/issues/2297,
    https://github.com/aws-solutions/aws-waf-security-automations/issues/143). A policy with `<stack>-<logical id>-*` is about
    nothing then, so that a resource of such a policy must have its whole name.
    """
    name = stack.values["AWS::StackName"]
    found = {}
    policies = json.dumps([stack.resources(kind) for kind in ("AWS::IAM::ManagedPolicy", "AWS::IAM::Role")])
    told_apart = {each.lower() for each in re.findall(rf"[:/]{name}-(\w+)-\*", policies)}
    assert len(told_apart) > 20
    for kind, (named, limit) in LIMITS.items():
        for logical, properties in stack.resources(kind).items():
            given = str(properties.get(named, ""))
            made = f"{name}-{logical}" if not given and logical.lower() in told_apart else ""
            length = len(given) or len(made) + TAIL * bool(made)
            found |= {f"{kind} {given or made}": length} if length > limit else {}
            path = str(properties.get("Path", ""))
            found |= {f"{kind} {path}": len(path)} if len(path) > PATH_LIMIT else {}
    exports = [stack.resolve(each["Export"]["Name"]) for each in stack.template["Outputs"].values() if "Export" in each]
    assert exports
    return found | {each: len(each) for each in exports if len(each) > EXPORT_LIMIT}


def test_the_longest_name_of_a_stack_leaves_every_other_name_whole(built: Path) -> None:
    """It is the longest that does: with one character more, CloudFormation cuts the name of a function."""
    longest, longer = "l" * LONGEST_NAME, "l" * (LONGEST_NAME + 1)

    assert (NAME.fullmatch(longest) is not None, NAME.fullmatch(longer)) == (True, None)
    assert too_long(with_a_name_of(built, LONGEST_NAME)) == {}
    assert too_long(with_a_name_of(built, LONGEST_NAME + 1)) == {
        f"AWS::Serverless::Function {longer}-CompletionFunction": 65
    }


def test_every_type_of_the_template_has_its_limit(built: Path) -> None:
    """A type that is added later is not forgotten."""
    types = {each["Type"] for each in Stack.read(built).template["Resources"].values()}

    assert types == LIMITS.keys() | NAMELESS
