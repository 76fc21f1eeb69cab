"""The stack of the commands' tests: its buckets, tables and outputs, on moto."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

from lakegate.aws.dynamodb_table import DEFINITIONS

ACCOUNT = "123456789012"
LANDING, LAKE = "lakegate-landing", "lakegate-lake"


def deployed(clients: dict[str, Any]) -> dict[str, str]:
    for bucket in (LANDING, LAKE):
        clients["s3"].create_bucket(Bucket=bucket)
        clients["s3"].put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    for name, definition in DEFINITIONS.items():
        clients["dynamodb"].create_table(
            TableName=name, BillingMode="PAY_PER_REQUEST", DeletionProtectionEnabled=True, **definition
        )
    application = clients["emr-serverless"].create_application(name="x", releaseLabel="emr-7.14.0", type="SPARK")
    role = clients["iam"].create_role(RoleName="job", AssumeRolePolicyDocument="{}")["Role"]["Arn"]
    environment = {
        "LAKEGATE_STACK": "lakegate",
        "LAKEGATE_ACCOUNT": ACCOUNT,
        "LAKEGATE_LANDING": LANDING,
        "LAKEGATE_LAKE": LAKE,
        "LAKEGATE_REGISTRY_TABLE": "registry",
        "LAKEGATE_WORKLOADS_TABLE": "workloads",
        "LAKEGATE_LEDGER_TABLE": "ledger",
        "LAKEGATE_APPLICATION": application["applicationId"],
        "LAKEGATE_JOB_ROLE": role,
        "LAKEGATE_ENTRY_POINT": "s3://code/validate.py",
    }
    outputs = {
        "LandingBucket": LANDING,
        "LakeBucket": LAKE,
        "RegistryTable": "registry",
        "WorkloadsTable": "workloads",
        "LedgerTable": "ledger",
        "ApplicationId": application["applicationId"],
        "EventBusName": "default",
        "IntakeFunction": "intake",
        "NotifyFunction": "notify",
    }
    described = {name: {"Value": value} for name, value in outputs.items()}
    template = {
        "Parameters": {"ValidatorHosts": {"Type": "String", "Default": "gx.example.com,soda.example.com"}},
        "Resources": {"Topic": {"Type": "AWS::SNS::Topic"}},
        "Outputs": described,
    }
    clients["cloudformation"].create_stack(StackName="lakegate", TemplateBody=json.dumps(template))
    return environment


def lose_table(client: Any, name: str) -> None:
    """Delete a table, as somebody does who takes its protection away before."""
    client.update_table(TableName=name, DeletionProtectionEnabled=False)
    client.delete_table(TableName=name)


def add_function(client: Any, environment: dict[str, str]) -> None:
    code = io.BytesIO()
    with zipfile.ZipFile(code, "w") as archive:
        archive.writestr("x.py", "")
    client.create_function(
        FunctionName="intake",
        Runtime="python3.13",
        Role=environment["LAKEGATE_JOB_ROLE"],
        Handler="x.y",
        Code={"ZipFile": code.getvalue()},
        Environment={"Variables": environment},
    )
