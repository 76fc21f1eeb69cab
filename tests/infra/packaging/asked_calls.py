"""What functions ask of AWS over an AWS in this process, and whether the roles of the template may ask for it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any
from urllib.parse import parse_qs

import pytest

from lakegate.aws.dynamodb_table import DEFINITIONS
from lakegate.base.extension_points import ROOT
from tests.infra.packaging.iam import Call, allowed
from tests.sam.built import Stack

HERE = "eu-west-1:123456789012"
TEMPLATE = ROOT / "template.yaml"
"""Roles and policies are in it as they are deployed: SAM changes none of them."""
APPLICATION = f"arn:aws:emr-serverless:{HERE}:/applications/00f1"
GIVEN = {
    "ExistingLandingBucket": "landing",
    "ExistingLakeBucket": "lake",
    "ExistingRegistryTable": "registry",
    "ExistingWorkloadsTable": "workloads",
    "ExistingLedgerTable": "ledger",
    "ExistingAnchorBucket": "anchors",
    "AnchorDays": "30",
    "EmrApplicationId": "00f1",
    "SmallFileBytes": "1000",
    "JudgeFunction": "lakegate-judge",
    "DriftSchedule": "rate(1 day)",
    "TableDatabase": "accepted",
    "GatedTables": "arn:aws:glue:eu-west-1:123456789012:database/sales,arn:aws:glue:eu-west-1:123456789012:table/sales/*",
    "GatedTableFiles": "arn:aws:s3:::sales,arn:aws:s3:::sales/*",
    "PullHosts": "data.invalid",
    "PullObjects": "arn:aws:s3:::partner-exports/*",
}
"""The names that the AWS of this process has, and what every function of the template needs to be there."""
KEYS = {table: each["KeySchema"][0]["AttributeName"] for table, each in DEFINITIONS.items()}
"""Of each table the attribute that the condition key `dynamodb:LeadingKeys` is about."""
OF_TRANSACTIONS = {
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "ConditionCheck": "ConditionCheckItem",
}
OF_OBJECTS = {
    "HeadObject": "GetObject",
    "CreateMultipartUpload": "PutObject",
    "UploadPart": "PutObject",
    "UploadPartCopy": "PutObject",
    "CompleteMultipartUpload": "PutObject",
    "CopyObject": "PutObject",
    "ListParts": "ListMultipartUploadParts",
    "ListObjectsV2": "ListBucket",
    "ListObjectVersions": "ListBucketVersions",
}
"""By request of S3 the action that it takes, where they have two names (Service authorization reference)."""


def calls_of(service: str, operation: str, request: Mapping[str, Any]) -> Iterator[Call]:
    """What IAM is asked for a request of a function. Raises KeyError for a service that no function had called."""
    return SERVICES[service](operation, request)


def _of_dynamodb(operation: str, request: Mapping[str, Any]) -> Iterator[Call]:
    match operation:
        case "TransactWriteItems":
            for each in request["TransactItems"]:
                ((kind, write),) = each.items()
                yield _of_item(OF_TRANSACTIONS[kind], write["TableName"], write.get("Key") or write["Item"])
        case "BatchGetItem":
            for table, wanted in request["RequestItems"].items():
                yield from (_of_item(operation, table, key) for key in wanted["Keys"])
        case "Query" | "Scan" | "DescribeTable":
            index = f"/index/{request['IndexName']}" if "IndexName" in request else ""
            keys = [each["S"] for each in request.get("ExpressionAttributeValues", {}).values() if "S" in each][:1]
            place = f"arn:aws:dynamodb:{HERE}:table/{request['TableName']}{index}"
            yield Call(f"dynamodb:{operation}", place, {"dynamodb:LeadingKeys": keys} if keys else {})
        case _:
            yield _of_item(operation, request["TableName"], request.get("Key") or request["Item"])


def _of_emr(operation: str, _request: Mapping[str, Any]) -> Iterator[Call]:
    if operation == "StartJobRun":
        passed = {"iam:PassedToService": "emr-serverless.amazonaws.com"}
        yield Call("iam:PassRole", "arn:aws:iam::123456789012:role/JobRole", passed)
        yield Call("emr-serverless:TagResource", f"{APPLICATION}/jobruns/1")
    run = "/jobruns/1" if operation in {"GetJobRun", "CancelJobRun"} else ""
    yield Call(f"emr-serverless:{operation}", f"{APPLICATION}{run}")


def _of_glue(operation: str, request: Mapping[str, Any]) -> Iterator[Call]:
    """Each call needs the right on the catalog, the database and the table (Glue developer guide, "ARNs for Data Catalog")."""
    database = request.get("DatabaseName", request.get("Name", ""))
    table = request.get("Name") or request.get("TableInput", {}).get("Name") if "DatabaseName" in request else ""
    places = ["catalog", f"database/{database}", *([f"table/{database}/{table}"] if table else [])]
    yield from (Call(f"glue:{operation}", f"arn:aws:glue:{HERE}:{place}") for place in places)


def _of_lambda(_operation: str, request: Mapping[str, Any]) -> Iterator[Call]:
    yield Call("lambda:InvokeFunction", f"arn:aws:lambda:{HERE}:function:{request['FunctionName']}")


def _of_secrets(operation: str, request: Mapping[str, Any]) -> Iterator[Call]:
    """AWS ends the ARN of a secret with six characters of its own."""
    yield Call(f"secretsmanager:{operation}", f"arn:aws:secretsmanager:{HERE}:secret:{request['SecretId']}-AbCdEf")


def _of_sqs(operation: str, request: Mapping[str, Any]) -> Iterator[Call]:
    queue = request.get("QueueName") or request["QueueUrl"].rpartition("/")[2]
    yield Call(f"sqs:{operation}", f"arn:aws:sqs:{HERE}:{queue}")


def _of_sts(_operation: str, _request: Mapping[str, Any]) -> Iterator[Call]:
    """GetCallerIdentity, which nobody can be denied."""
    return iter(())


def _of_events(operation: str, _request: Mapping[str, Any]) -> Iterator[Call]:
    yield Call(f"events:{operation}", f"arn:aws:events:{HERE}:event-bus/EventBus")


def _of_item(action: str, table: str, item: Mapping[str, Any]) -> Call:
    keys = {"dynamodb:LeadingKeys": [item[KEYS[table]]["S"]]}
    return Call(f"dynamodb:{action}", f"arn:aws:dynamodb:{HERE}:table/{table}", keys)


def _of_s3(operation: str, request: Mapping[str, Any]) -> Iterator[Call]:
    action, bucket = OF_OBJECTS.get(operation, operation), f"arn:aws:s3:::{request['Bucket']}"
    if operation.startswith("ListObject"):
        yield Call(f"s3:{action}", bucket, {"s3:prefix": request.get("Prefix", "")})
        return
    version = "Version" if "VersionId" in request else ""
    yield Call(f"s3:{action}{version}", f"{bucket}/{request['Key']}")
    if "Tagging" in request:
        yield Call("s3:PutObjectTagging", f"{bucket}/{request['Key']}")
    if source := request.get("CopySource"):
        of_version = "Version" if "VersionId" in source else ""
        yield Call(f"s3:GetObject{of_version}", f"arn:aws:s3:::{source['Bucket']}/{source['Key']}")


SERVICES: Mapping[str, Callable[[str, Mapping[str, Any]], Iterator[Call]]] = {
    "dynamodb": _of_dynamodb,
    "emr-serverless": _of_emr,
    "events": _of_events,
    "glue": _of_glue,
    "lambda": _of_lambda,
    "s3": _of_s3,
    "secretsmanager": _of_secrets,
    "sqs": _of_sqs,
    "sts": _of_sts,
}
HTTP: Mapping[tuple[str, frozenset[str]], str] = {
    ("HEAD", frozenset()): "HeadObject",
    ("GET", frozenset()): "GetObject",
    ("PUT", frozenset()): "PutObject",
    ("DELETE", frozenset()): "DeleteObject",
    ("GET", frozenset({"list-type"})): "ListObjectsV2",
    ("POST", frozenset({"uploads"})): "CreateMultipartUpload",
    ("PUT", frozenset({"uploadId"})): "UploadPart",
    ("POST", frozenset({"uploadId"})): "CompleteMultipartUpload",
    ("DELETE", frozenset({"uploadId"})): "AbortMultipartUpload",
}
"""Operations of S3 by method and parameters of the query (S3 API reference)."""
HANDLERS = sorted(path.stem for path in (ROOT / "functions").glob("*_handler.py"))


class AskedCalls(defaultdict[str, dict[str, Call]]):
    """By module of a handler what it asks of AWS from now on, each once; `running` has the one that runs."""

    def __init__(self) -> None:
        super().__init__(dict)
        self.running: list[str] = []
        self.invoked: list[dict[str, Any]] = []
        """Payloads that the judge function was invoked with: no emulator runs it here."""

    def note(self, service: str, operation: str, request: Mapping[str, Any]) -> None:
        """Note a request, if a function runs."""
        for each in calls_of(service, operation, request) if self.running else ():
            self[self.running[-1]][str(each)] = each

    def note_http(self, method: str, path: str, query: str) -> None:
        """Note a request to S3 as HTTP has it, of a client that is none of botocore's."""
        bucket, _, key = path.lstrip("/").partition("/")
        wanted = parse_qs(query, keep_blank_values=True)
        operation = HTTP[method, frozenset(wanted) & {"list-type", "uploads", "uploadId", "delete"}]
        listed = {"Prefix": wanted.get("prefix", [""])[0]} if operation.startswith("List") else {"Key": key}
        self.note("s3", operation, {"Bucket": bucket} | listed)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> AskedCalls:
    """What functions ask of AWS from now on."""
    import botocore.signers  # noqa: PLC0415 - what is watched
    from botocore.client import BaseClient  # noqa: PLC0415 - likewise

    found = AskedCalls()
    make, sign = BaseClient._make_api_call, botocore.signers.generate_presigned_url  # type: ignore[attr-defined]  # noqa: SLF001 - as above

    def watched(client: Any, operation: str, request: dict[str, Any]) -> Any:
        service = client.meta.service_model.service_name
        found.note(service, operation, request)
        if service == "lambda":
            found.invoked.append(json.loads(request["Payload"]))
            return {"StatusCode": 202}
        return make(client, operation, request)

    def signed(client: Any, ClientMethod: str, Params: dict[str, Any], **how: Any) -> Any:  # noqa: N803 - as botocore
        """Whoever has the URL has the rights of the function that signed it."""
        found.note(client.meta.service_model.service_name, client.meta.method_to_api_mapping[ClientMethod], Params)
        return sign(client, ClientMethod, Params, **how)

    monkeypatch.setattr("botocore.client.BaseClient._make_api_call", watched)
    monkeypatch.setattr("botocore.signers.generate_presigned_url", signed)
    for name in HANDLERS:
        module = import_module(f"functions.{name}")
        monkeypatch.setattr(module, "handler", _labelled(name, module.handler, found.running))
    return found


def _labelled(name: str, handler: Callable[..., Any], running: list[str]) -> Callable[..., Any]:
    def run(event: dict[str, Any], context: Any) -> Any:
        running.append(name)
        try:
            return handler(event, context)
        finally:
            running.pop()

    return run


def handlers_of(stack: Stack) -> dict[str, str]:
    """By module of each handler that the template names the role of its function, also where it is made on request."""
    functions = (
        each["Properties"]
        for each in stack.template["Resources"].values()
        if each["Type"] == "AWS::Serverless::Function"
    )
    return {each["Handler"].split(".")[1]: stack.resolve(each["Role"]).rpartition("/")[2] for each in functions}


@cache
def role_policies() -> dict[str, list[dict[str, Any]]]:
    """The policies of the role of each handler."""
    stack = Stack.read(TEMPLATE, **GIVEN)
    roles, managed = stack.resources("AWS::IAM::Role"), stack.resources("AWS::IAM::ManagedPolicy")
    found = {}
    for handler, role in handlers_of(stack).items():
        own = [each["PolicyDocument"] for each in roles[role]["Policies"]]
        found[handler] = own + [managed[name]["PolicyDocument"] for name in roles[role].get("ManagedPolicyArns", ())]
    return found


def policies(handler: str, without: str = "") -> list[dict[str, Any]]:
    """The policies of the role of a handler, but for the statements of a name."""
    return [
        each | {"Statement": [one for one in each["Statement"] if one["Sid"] != without]}
        for each in role_policies()[handler]
    ]


def denied(asked: Mapping[str, Mapping[str, Call]], without: str = "") -> list[Call]:
    """What roles do not have the right to, of all that was asked."""
    found = []
    for handler, calls in asked.items():
        listed = list(calls.values())
        answers = allowed(policies(handler, without), listed)
        found += [call for call, is_allowed in zip(listed, answers, strict=True) if not is_allowed]
    return found
