"""An AWS in this process, with the two buckets and the three tables, and the adapters over it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from moto.dynamodb.parsing.reserved_keywords import ReservedKeywords

from lakegate.aws.dynamodb_table import DEFINITIONS, DynamoTable
from lakegate.aws.s3_objects import S3Store, Uploads
from lakegate.gate.table import TableName
from tests.fakes.moto_state import MotoState
from tests.fakes.quick_moto import client, quick_aws
from tests.unit.cli.conftest import fresh_clients, lakegate  # noqa: F401 - fixtures

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client

ACCOUNT = "123456789012"
BUCKETS = ("landing", "lake")
NAMES = {each: each.value for each in TableName}
OPERATORS = {"AND", "OR", "NOT", "BETWEEN", "SET", "REMOVE"}
RESERVED = set(ReservedKeywords.get_reserved_keywords()) - OPERATORS


@dataclass(frozen=True, slots=True)
class Cloud:
    s3: S3Client
    dynamodb: DynamoDBClient

    def table(self) -> DynamoTable:
        return DynamoTable(self.dynamodb, NAMES)

    def store(self, **knobs: object) -> S3Store:
        return S3Store(self.s3, ACCOUNT, Uploads(self.table()), **knobs)  # type: ignore[arg-type] # any knob


_EMPTY: list[MotoState] = []


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    """Both buckets versioned, all tables empty."""
    s3, dynamodb = client("s3"), client("dynamodb")
    with quick_aws():
        if not _EMPTY:
            for bucket in BUCKETS:
                s3.create_bucket(Bucket=bucket)
                s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
            for name, definition in DEFINITIONS.items():
                dynamodb.create_table(TableName=name, BillingMode="PAY_PER_REQUEST", **definition)
            _EMPTY.append(MotoState.save())
        _EMPTY[0].restore()
        dynamodb.meta.events.register("provide-client-params.dynamodb", refuse_reserved_words)
        yield Cloud(s3, dynamodb)
        dynamodb.meta.events.unregister("provide-client-params.dynamodb", refuse_reserved_words)


def refuse_reserved_words(params: Any, **_: Any) -> None:
    """DynamoDB refuses a reserved word as a bare name in any expression; moto does so only in some."""
    if isinstance(params, list):
        for each in params:
            refuse_reserved_words(each)
    elif isinstance(params, dict):
        for name, value in params.items():
            bare = re.findall(r"(?<![#:\w])[A-Za-z]\w*\b(?!\()", value) if name.endswith("Expression") else ()
            assert not {word.upper() for word in bare} & RESERVED, value
            refuse_reserved_words(value)
