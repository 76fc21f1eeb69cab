"""Who reads a remedy may run it: each command that `lakegate doctor` prints is within the policies that it names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lakegate.features.doctor.examination import ADMINISTRATOR, CAUSES, POLICIES, rights_for
from tests.infra.packaging.iam import Call, allowed
from tests.sam.built import Stack

COMMAND = re.compile(r"aws [a-z0-9-]+ [a-z-]+|lakegate (?:stack |route |validator |local )?[a-z]+")
FREE = {"aws sso login", "lakegate local status", "lakegate doctor"}
"""Commands that take no right of the stack's."""
HERE = "eu-west-1:123456789012"
TABLES = [f"arn:aws:dynamodb:{HERE}:table/{name}Table" for name in ("Registry", "Workloads", "Ledger")]
REGISTRY, WORKLOADS, LEDGER = TABLES
INTAKE = f"arn:aws:lambda:{HERE}:function:IntakeFunction"
APPLICATION = f"arn:aws:emr-serverless:{HERE}:/applications/Application"
RULE, QUEUE = f"arn:aws:events:{HERE}:rule/LandedRule", f"arn:aws:sqs:{HERE}:DeadLetterQueue"
STACK = f"arn:aws:cloudformation:{HERE}:stack/lakegate/1"
BUCKET, LANDED, CODE = "arn:aws:s3:::LakeBucket", "arn:aws:s3:::LandingBucket/a", "arn:aws:s3:::LakeBucket/code/1/a"
MAPPING = {"lambda:FunctionArn": INTAKE}


def keyed(action: str, table: str, key: str) -> Call:
    """A call on one item of a table."""
    return Call(f"dynamodb:{action}", table, {"dynamodb:LeadingKeys": [key]})


READS = [Call("dynamodb:GetItem", table) for table in TABLES]
CALLS = {
    "aws cloudformation describe-stack-events": [Call("cloudformation:DescribeStackEvents", STACK)],
    "aws dynamodb update-continuous-backups": [Call("dynamodb:UpdateContinuousBackups", each) for each in TABLES],
    "aws emr-serverless get-dashboard-for-job-run": [
        Call("emr-serverless:GetDashboardForJobRun", f"{APPLICATION}/jobruns/1")
    ],
    "aws emr-serverless start-application": [Call("emr-serverless:StartApplication", APPLICATION)],
    "aws emr-serverless stop-application": [Call("emr-serverless:StopApplication", APPLICATION)],
    "aws emr-serverless update-application": [Call("emr-serverless:UpdateApplication", APPLICATION)],
    "aws events enable-rule": [Call("events:EnableRule", RULE)],
    "aws lambda delete-function-concurrency": [Call("lambda:DeleteFunctionConcurrency", INTAKE)],
    "aws lambda update-event-source-mapping": [
        Call("lambda:UpdateEventSourceMapping", f"arn:aws:lambda:{HERE}:event-source-mapping:1", MAPPING)
    ],
    "aws logs tail": [Call("logs:FilterLogEvents", f"arn:aws:logs:{HERE}:log-group:/lakegate/lakegate/intake")],
    "aws s3 sync": [Call("s3:PutObject", CODE), Call("s3:ListBucket", BUCKET)],
    "aws s3api put-bucket-versioning": [Call("s3:PutBucketVersioning", BUCKET)],
    "aws s3api restore-object": [Call("s3:RestoreObject", LANDED)],
    "aws sns subscribe": [Call("sns:Subscribe", f"arn:aws:sns:{HERE}:Alarms")],
    "lakegate approve": [keyed("PutItem", WORKLOADS, "workload#1"), Call("s3:GetObject", LANDED)],
    "lakegate decline": [keyed("PutItem", WORKLOADS, "workload#1"), keyed("PutItem", LEDGER, "shop/orders_v1")],
    "lakegate publish": [keyed("PutItem", REGISTRY, "version#shop#1"), Call("s3:PutObject", f"{BUCKET}/plans/1.json")],
    "lakegate reactivate": [keyed("PutItem", WORKLOADS, "line#1"), keyed("PutItem", LEDGER, "shop/orders_v1")],
    "lakegate reasons": [*READS, Call("s3:GetObject", f"{BUCKET}/runs/1/attempt=1/result.json")],
    "lakegate redrive": [Call(f"sqs:{each}", QUEUE) for each in ("ReceiveMessage", "SendMessage", "DeleteMessage")],
    "lakegate replay": [keyed("PutItem", WORKLOADS, "workload#1"), Call("emr-serverless:StartJobRun", APPLICATION)],
    "lakegate resume": [keyed("UpdateItem", WORKLOADS, "pause#shop/orders_v1")],
    "lakegate route add": [keyed("PutItem", REGISTRY, "route#landing/a/")],
    "lakegate show": [Call("dynamodb:GetItem", REGISTRY), Call("s3:GetObject", f"{BUCKET}/contracts/a.yaml")],
    "lakegate stack repair": [
        Call(f"cloudformation:{each}", STACK) for each in ("CreateChangeSet", "DescribeChangeSet", "ExecuteChangeSet")
    ],
    "lakegate subscribers": [Call("dynamodb:GetItem", WORKLOADS)],
    "lakegate validator list": [Call("dynamodb:Query", REGISTRY)],
    "lakegate verify": [Call("dynamodb:Query", LEDGER)],
}
"""What each command calls, as its first and its last request that a policy may deny."""


def test_every_command_of_a_remedy_has_its_policy() -> None:
    """A new command is in the table of policies, and the table names no other."""
    printed = {command for each in CAUSES.values() for command in COMMAND.findall(each.remedy)} - FREE

    assert printed == set(POLICIES)
    assert set(CALLS) == {command for command, policy in POLICIES.items() if policy}


@pytest.mark.parametrize("command", sorted(CALLS))
def test_the_named_policy_has_the_rights_for_a_command(command: str, built: Path) -> None:
    """Beside OperatorPolicy, which everybody who reads the page has; without the named one something is denied."""
    managed = Stack.read(built, Alarms=f"arn:aws:sns:{HERE}:Alarms").resources("AWS::IAM::ManagedPolicy")
    operator, named = ({name: managed[name]["PolicyDocument"]} for name in ("OperatorPolicy", POLICIES[command]))
    both = {**operator, **named}

    assert allowed(list(both.values()), CALLS[command]) == [True] * len(CALLS[command])
    if len(both) == 2:
        assert False in allowed(list(operator.values()), CALLS[command])


def test_a_remedy_names_what_it_takes() -> None:
    """Each policy once, in the order of the commands."""
    assert rights_for("aws kms enable-key --key-id 1, then: lakegate replay 2") == (ADMINISTRATOR, "EnginePolicy")
    assert rights_for("lakegate route add A B, then: lakegate publish C") == ("StewardPolicy",)
    assert rights_for("wait") == ()
