"""The functions with the rights of their roles alone, as another implementation of IAM decides about each call of a delivery.

`test_policies.py` compares names of actions: a right on one table would stand for that on another one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from functions import anchor_handler, completion_handler, intake_handler
from lakegate.aws.dynamodb_table import DEFINITIONS
from lakegate.aws.wiring import SystemClock
from lakegate.base.json_codec import canonical
from lakegate.contract.delivery_policy import DeliveryUnit, OnReject, Policy
from lakegate.features.anchors.anchors import AnchorStore
from lakegate.gate.delivery.protocol import State
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.ports import Address
from lakegate.gate.registry.registry_rows import Publication, Route
from lakegate.plan.request import Request
from lakegate.plan.result import Measured, Measurement, Result, Shares, WrittenObject
from tests.fakes.quick_moto import client
from tests.infra.packaging.iam import Call, allowed
from tests.sam.built import Stack
from tests.unit.aws import test_delivery_over_aws as deliveries
from tests.unit.aws.conftest import cloud
from tests.unit.aws.test_delivery_over_aws import dependencies

__all__ = ["cloud", "dependencies"]

pytestmark = pytest.mark.tools
HERE = "eu-west-1:123456789012"
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
}
"""The names that the AWS of this process has."""
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


SERVICES = {"s3": _of_s3, "dynamodb": _of_dynamodb, "emr-serverless": _of_emr, "events": _of_events}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Call]]:
    """By role what its function asks of AWS from now on, each once."""
    from botocore.client import BaseClient  # noqa: PLC0415 - whose method is watched

    found: dict[str, dict[str, Call]] = defaultdict(dict)
    make, call = BaseClient._make_api_call, deliveries.call  # type: ignore[attr-defined]  # noqa: SLF001 - as above
    running: list[str] = []

    def watched(client: Any, operation: str, request: dict[str, Any]) -> Any:
        for each in calls_of(client.meta.service_model.service_name, operation, request) if running else ():
            found[running[-1]][str(each)] = each
        return make(client, operation, request)

    def labelled(function: ModuleType, event: dict[str, Any] | None = None) -> dict[str, Any]:
        running.append(f"{function.__name__.rpartition('.')[2].removesuffix('_handler').capitalize()}Role")
        try:
            return call(function, event)
        finally:
            running.pop()

    monkeypatch.setattr("botocore.client.BaseClient._make_api_call", watched)
    monkeypatch.setattr(deliveries, "call", labelled)
    return found


def policies(stack: Stack, role: str, without: str = "") -> list[dict[str, Any]]:
    """The policies of a role, but for the statements of a name."""
    made, managed = stack.resources("AWS::IAM::Role")[role], stack.resources("AWS::IAM::ManagedPolicy")
    documents = [each["PolicyDocument"] for each in made["Policies"]]
    documents += [managed[name]["PolicyDocument"] for name in made.get("ManagedPolicyArns", ())]
    return [each | {"Statement": [one for one in each["Statement"] if one["Sid"] != without]} for each in documents]


FLOWS: dict[str, Callable[..., None]] = {
    "accepted": partial(
        deliveries.test_a_delivery_reaches_its_destination, failing=0, state=State.PUBLISHED, share="accepted"
    ),
    "rejected": partial(
        deliveries.test_a_delivery_reaches_its_destination, failing=1, state=State.QUARANTINED, share="quarantine"
    ),
    "found by sweep": deliveries.test_every_event_may_be_lost,
    "refused at the door": deliveries.test_the_same_content_is_refused_at_the_door,
}


@pytest.mark.parametrize("flow", FLOWS.values(), ids=FLOWS)
def test_the_functions_need_no_right_that_their_roles_lack(
    dependencies: Dependencies,
    asked: dict[str, dict[str, Call]],
    built: Path,
    flow: Callable[..., None],
) -> None:
    """Of one object, to each of its ends."""
    flow(dependencies)

    assert denied(asked, built) == []


@pytest.mark.parametrize("unit", [DeliveryUnit.SUCCESS, DeliveryUnit.MANIFEST, DeliveryUnit.QUIET])
def test_parts_need_no_right_that_roles_lack(
    dependencies: Dependencies,
    asked: dict[str, dict[str, Call]],
    built: Path,
    monkeypatch: pytest.MonkeyPatch,
    unit: DeliveryUnit,
) -> None:
    """However they are completed."""
    deliveries.test_parts_reach_their_destination_together(dependencies, unit, monkeypatch)

    assert denied(asked, built) == []


def test_a_split_needs_no_right_that_roles_lack(
    dependencies: Dependencies, asked: dict[str, dict[str, Call]], built: Path
) -> None:
    """Both shares are copied from where the job wrote them, and deleted there; the rejected one is tagged for its days."""
    plan = replace(deliveries.PLAN, policy=Policy(on_reject=OnReject.ROWS, quarantine_days=30))
    dependencies.objects.put(Address("lake", f"plans/{plan.digest}.json"), canonical(plan))
    route = Route("landing", "orders/", "orders", "lines", 1, "1.3.0", "active", plan.digest)
    dependencies.registry.publish(Publication("orders", "1.3.0", "active", "contracts/orders.yaml", (route,)))
    workload = deliveries.land(dependencies, b"id,amount\n1,2\n,3\n")
    deliveries.call(intake_handler, deliveries.event_of())
    prefix = f"runs/{workload}/attempt=1"
    shares = []
    for share in ("accepted", "rejected"):
        key = f"{prefix}/rows/{share}/{share}-00000.csv"
        written = dependencies.objects.put(Address("lake", key), f"id,amount\n{share}\n".encode())
        shares.append((WrittenObject(f"s3://lake/{key}", written.size, written.etag),))
    request = Request.from_bytes(dependencies.objects.read(Address("lake", f"{prefix}/request.json")))
    measured = (Measurement(deliveries.REQUIRED.id, Measured(2, 1)),)
    result = Result(
        *(request.workload, request.attempt, request.plan_digest, request.source_version),
        rows=2,
        rejected_rows=1,
        measurements=measured,
        shares=Shares(*shares),
    )
    dependencies.objects.put(Address("lake", f"{prefix}/result.json"), result.to_bytes(), absent=True)
    deliveries.call(completion_handler, deliveries.event_of_run(dependencies.workloads.get(workload).run))

    assert dependencies.workloads.get(workload).state is State.PUBLISHED
    assert {"s3:DeleteObject", "s3:PutObjectTagging"} <= {each.action for each in asked["CompletionRole"].values()}
    assert denied(asked, built) == []


def test_daily_anchors_need_no_right_that_their_role_lacks(
    dependencies: Dependencies,
    asked: dict[str, dict[str, Call]],
    built: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first one, and the next day's, which follows it."""
    deliveries.test_a_delivery_reaches_its_destination(dependencies, 0, State.PUBLISHED, "accepted")
    client("s3").create_bucket(Bucket="anchors", ObjectLockEnabledForBucket=True)
    here = replace(dependencies, of={"anchors": AnchorStore("anchors", 30)}.__getitem__)
    monkeypatch.setattr(anchor_handler, "dependencies", lambda: here)
    for day in range(2):
        now = datetime.now(UTC) + timedelta(days=day)
        monkeypatch.setattr(SystemClock, "now", lambda _self, now=now: now)
        assert deliveries.call(anchor_handler)["complete"] == 1

    assert denied(asked, built) == []


def test_a_right_that_is_missing_is_found(
    dependencies: Dependencies,
    asked: dict[str, dict[str, Call]],
    built: Path,
) -> None:
    """On a table, for a part of a transaction, or of the version of an object: one that another statement has is none."""
    deliveries.test_a_delivery_reaches_its_destination(dependencies, 0, State.PUBLISHED, "accepted")
    missing = {
        sid: {(each.action, each.resource.partition("/")[0]) for each in denied(asked, built, sid)}
        for sid in ("KeepTheLedger", "ReadLandedObjects", "HandOverTheJobRole")
    }

    assert ("dynamodb:ConditionCheckItem", f"arn:aws:dynamodb:{HERE}:table") in missing["KeepTheLedger"]
    assert ("s3:GetObjectVersion", "arn:aws:s3:::landing") in missing["ReadLandedObjects"]
    assert missing["HandOverTheJobRole"] == {("iam:PassRole", "arn:aws:iam::123456789012:role")}


def denied(asked: Mapping[str, Mapping[str, Call]], built: Path, without: str = "") -> list[Call]:
    """What roles do not have the right to, of all that was asked."""
    stack = Stack.read(built, **GIVEN)
    assert asked.keys() >= {"CompletionRole"}
    found = []
    for role, calls in asked.items():
        listed = list(calls.values())
        answers = allowed(policies(stack, role, without), listed)
        found += [call for call, is_allowed in zip(listed, answers, strict=True) if not is_allowed]
    return found
