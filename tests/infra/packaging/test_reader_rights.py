"""`lakegate.read` and `get --as` with the rights of a reader alone: another implementation of IAM decides about each call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import lakegate as api
from lakegate.base.extension_points import ROOT
from lakegate.features.tables.keep_table import TableKind, table_folder
from tests.infra.packaging.iam import Call, allowed
from tests.sam.built import Stack
from tests.unit.cli.conftest import Lakegate
from tests.unit.cli.deployed_stack import LAKE

pytestmark = pytest.mark.tools
TABLES = {"ledger": "LedgerTable", "registry": "RegistryTable", "workloads": "WorkloadsTable"}
HERE = "eu-west-1:123456789012"


def call_of(service: str, operation: str, request: dict[str, Any]) -> Call | None:
    """What IAM is asked for a request; None for one that needs no right."""
    if operation == "GetCallerIdentity":
        return None
    if service == "cloudformation":
        return Call(f"cloudformation:{operation}", f"arn:aws:cloudformation:{HERE}:stack/lakegate/1")
    if service == "s3":
        assert request["Bucket"] == LAKE
        bucket = "arn:aws:s3:::lakegate-LakeBucket"
        if operation.startswith("List"):
            action = {"ListObjectsV2": "s3:ListBucket", "ListObjectVersions": "s3:ListBucketVersions"}[operation]
            return Call(action, bucket, {"s3:prefix": request["Prefix"]})
        assert operation in {"GetObject", "HeadObject"}
        return Call("s3:GetObject" + "Version" * ("VersionId" in request), f"{bucket}/{request['Key']}")
    assert service == "dynamodb"
    values = request.get("Key") or request["ExpressionAttributeValues"]
    keys = [value["S"] for value in values.values() if "S" in value][:1]
    table = f"arn:aws:dynamodb:{HERE}:table/lakegate-{TABLES[request['TableName']]}"
    return Call(f"dynamodb:{operation}", table, {"dynamodb:LeadingKeys": keys})


def asked_by(monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    """The calls that this process makes from now on."""
    from botocore.client import BaseClient  # noqa: PLC0415 - whose method is watched

    asked: list[Call] = []
    make = BaseClient._make_api_call  # type: ignore[attr-defined]  # noqa: SLF001 - as above

    def watched(client: Any, operation: str, request: dict[str, Any]) -> Any:
        call = call_of(client.meta.service_model.service_name, operation, request)
        asked.extend([call] if call else [])
        return make(client, operation, request)

    monkeypatch.setattr("botocore.client.BaseClient._make_api_call", watched)
    return asked


@pytest.mark.parametrize("form", ["", "parquet", "duckdb"])
def test_a_reader_reads_a_dataset_and_no_other_contract_s(
    form: str, lakegate: Lakegate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its whole name, with the plan of each delivery; the same calls are denied to the reader of another contract."""
    lakegate.routed()
    lakegate.delivered()
    asked = asked_by(monkeypatch)
    words = ("get", "shop/orders_v1", str(tmp_path / "rows"), "--as", form)
    count = lakegate.json(*words)["files"][0]["rows"] if form else len(api.read("shop/orders_v1"))
    reader, other = (
        Stack.read(ROOT / "tenant.yaml", Prefix="orders/", Contract=contract).resources("AWS::IAM::ManagedPolicy")
        for contract in ("shop", "shop-eu")
    )
    plans = [call for call in asked if "/plans/" in call.resource]
    denied = [call for call in asked if call.action != "cloudformation:DescribeStacks" and call not in plans]

    assert count == 4
    assert len(plans) == 1
    assert allowed([reader["ReaderPolicy"]["PolicyDocument"]], asked) == [True] * len(asked)
    assert allowed([other["ReaderPolicy"]["PolicyDocument"]], denied) == [False] * len(denied)


def test_plans_are_read_by_their_digests_and_never_listed() -> None:
    """Nor written; what names a digest is the manifest, which only readers of its dataset have."""
    held = Stack.read(ROOT / "tenant.yaml", Prefix="orders/", Contract="shop").resources("AWS::IAM::ManagedPolicy")
    lake = "arn:aws:s3:::lakegate-LakeBucket"
    calls = [
        Call("s3:GetObject", f"{lake}/plans/{'0f' * 32}.json"),
        Call("s3:GetObjectVersion", f"{lake}/plans/{'0f' * 32}.json"),
        Call("s3:PutObject", f"{lake}/plans/{'0f' * 32}.json"),
        Call("s3:ListBucket", lake, {"s3:prefix": "plans/"}),
        Call("s3:ListBucketVersions", lake, {"s3:prefix": "plans/"}),
        Call("s3:GetObject", f"{lake}/contracts/{'0f' * 32}"),
    ]

    assert allowed([held["ReaderPolicy"]["PolicyDocument"]], calls) == [True, *[False] * 5]


def test_rejected_rows_of_a_table_are_read_by_owners_and_by_who_keeps_it() -> None:
    """With the metadata, which has values, too; accepted ones and their metadata by readers."""
    held = Stack.read(ROOT / "tenant.yaml", Prefix="orders/", Contract="shop").resources("AWS::IAM::ManagedPolicy")
    own = Stack.read(ROOT / "template.yaml", TableDatabase="accepted").resources("AWS::IAM::Role")["TableRole"]
    lake, day = "arn:aws:s3:::lakegate-LakeBucket", "shop/orders_v1/ingest_date=2026-01-01/workload=0f/_table"
    rejected = [
        Call("s3:GetObject", f"{lake}/quarantine/{day}/rejected-00000.parquet"),
        Call("s3:GetObject", f"{lake}/{table_folder('shop/orders_v1', TableKind.REJECTED)}/metadata/1.json"),
    ]
    accepted = [
        Call("s3:GetObject", f"{lake}/accepted/{day}/part-00000.parquet"),
        Call("s3:GetObject", f"{lake}/{table_folder('shop/orders_v1')}/metadata/1.json"),
    ]
    writes = [Call(action, rejected[1].resource) for action in ("s3:PutObject", "s3:DeleteObject")]
    never = [Call(each.action, rejected[0].resource) for each in writes]

    assert allowed([held["ReaderPolicy"]["PolicyDocument"]], accepted + rejected) == [True, True, False, False]
    assert allowed([held["OwnerPolicy"]["PolicyDocument"]], accepted + rejected) == [False, False, True, True]
    (keeps,) = [each["PolicyDocument"] for each in own["Policies"]]
    (bucket,) = next(each["Resource"] for each in keeps["Statement"] if each["Sid"] == "TellAbsentFromForbidden")
    calls = [each._replace(resource=each.resource.replace(lake, bucket)) for each in (*rejected, *writes, *never)]
    assert allowed([keeps], calls) == [True] * 4 + [False] * 2
