"""The quicker functions of `tests/fakes/quick_moto.py` have the results of those that they replace."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime
from functools import cache
from typing import Any

import botocore.utils
import pytest
from botocore.exceptions import ClientError
from botocore.model import StructureShape
from hypothesis import given
from hypothesis import strategies as st
from moto import mock_aws
from moto.core.serialize import AttributePickerContext, XFormedAttributePicker
from moto.core.utils import get_service_model
from moto.moto_api._internal import mock_random
from moto.moto_api._internal.moto_random import MotoRandom

from lakegate.aws.dynamodb_table import DEFINITIONS
from tests.fakes import quick_moto
from tests.fakes.quick_moto import PUBLISHED, QUICKER, client, quick_aws
from tests.fakes.strict_aws import strict_calls
from tests.reference.sampling import sampled

SERVICES = ("cloudformation", "dynamodb", "s3", "sqs")
BUCKET, TABLE, STACK = "lake", "workloads", "lakegate"
KEY = {"id": {"S": "workload#1"}}
ITEM = {
    "state": {"S": "NEW"},
    "attempt": {"N": "1"},
    "tags": {"SS": ["b", "a"]},
    "part": {"M": {"list": {"L": [{"B": b"x"}]}}},
}
TEMPLATE = {"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}, "Outputs": {"Bucket": {"Value": BUCKET}}}
UPDATE = {
    "TableName": TABLE,
    "Key": KEY,
    "UpdateExpression": "SET #part.#list = :list, attempt = attempt + :one ADD tags :tags",
    "ExpressionAttributeNames": {"#part": "part", "#list": "list"},
    "ExpressionAttributeValues": {":list": {"L": [{"S": "new"}]}, ":one": {"N": "1"}, ":tags": {"SS": ["c"]}},
}


def calls() -> list[Callable[[], Any]]:
    """Calls of each kind that the adapters make, those that fail too; each reads what those before it wrote."""
    s3, table, stacks = map(client, ("s3", "dynamodb", "cloudformation"))
    there = {"Bucket": BUCKET, "Key": "orders/a b/é.csv"}
    item, unmet = (
        KEY | ITEM,
        {"Key": {"id": {"S": "2"}}, "TableName": TABLE, "ConditionExpression": "attribute_exists(id)"},
    )
    return [
        lambda: s3.create_bucket(Bucket=BUCKET),
        lambda: s3.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"}),
        lambda: s3.put_object(**there, Body=b"a", ChecksumAlgorithm="SHA256", Metadata={"name": "value"}),
        lambda: s3.put_object(**there, Body=b"b"),
        lambda: s3.put_object(**there, Body=b"c", IfNoneMatch="*"),
        lambda: s3.head_object(**there, ChecksumMode="ENABLED"),
        lambda: s3.get_object(**there, Range="bytes=0-0")["Body"].read(1),
        lambda: s3.copy_object(Bucket=BUCKET, Key="copy", CopySource=there),
        lambda: s3.list_objects_v2(Bucket=BUCKET, Prefix="orders/"),
        lambda: s3.list_object_versions(Bucket=BUCKET),
        lambda: s3.delete_object(**there),
        lambda: s3.head_object(**there),
        lambda: s3.get_object(Bucket="another", Key="x"),
        lambda: table.create_table(TableName=TABLE, BillingMode="PAY_PER_REQUEST", **DEFINITIONS[TABLE]),
        lambda: table.describe_table(TableName=TABLE),
        lambda: table.put_item(TableName=TABLE, Item=item),
        lambda: table.get_item(TableName=TABLE, ConsistentRead=True, Key=KEY),
        lambda: table.transact_write_items(TransactItems=[{"Update": UPDATE}, {"ConditionCheck": unmet}]),
        lambda: table.get_item(TableName=TABLE, ConsistentRead=True, Key=KEY),
        lambda: table.transact_write_items(TransactItems=[{"Update": UPDATE}]),
        lambda: table.scan(
            TableName=TABLE,
            ConsistentRead=True,
            FilterExpression="attempt > :n",
            ExpressionAttributeValues={":n": {"N": "1"}},
        ),
        lambda: table.query(
            TableName=TABLE,
            ConsistentRead=True,
            KeyConditionExpression="id = :id",
            ExpressionAttributeValues={":id": KEY["id"]},
        ),
        lambda: table.update_item(**UPDATE | {"ReturnValues": "ALL_OLD"}),
        lambda: table.batch_get_item(RequestItems={TABLE: {"Keys": [KEY], "ConsistentRead": True}}),
        lambda: table.delete_item(**unmet),
        lambda: table.get_item(TableName="another", ConsistentRead=True, Key=KEY),
        lambda: stacks.create_stack(StackName=STACK, TemplateBody=json.dumps(TEMPLATE)),
        lambda: stacks.describe_stacks(StackName=STACK),
        lambda: stacks.describe_stacks(StackName="another"),
    ]


def answers() -> list[Any]:
    """What is answered, with the identifiers that one seed gives, without times."""
    mock_random.seed(7)
    return [timeless(answered(call)) for call in calls()]


def answered(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except ClientError as error:
        return str(error), error.response


def timeless(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            name: timeless(each) for name, each in value.items() if name not in {"date", "last-modified", "x-amz-crc32"}
        }
    if isinstance(value, list | tuple):
        return [timeless(each) for each in value]
    return type(value) if isinstance(value, datetime) else value


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> None:
    """Moto and botocore as they are."""
    for owner, name, _ in QUICKER:
        monkeypatch.setattr(owner, name, PUBLISHED[owner, name])


@pytest.mark.usefixtures("published")
def test_answers_do_not_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """Headers and identifiers included, twice: when the results are computed, and when they are known."""
    with mock_aws(), strict_calls():
        expected = answers()
    monkeypatch.undo()
    quick_moto._hasten.cache_clear()  # noqa: SLF001 - as in a new process
    found = []
    for _ in range(2):
        with quick_aws():
            found.append(answers())

    assert found == [expected, expected]


def members(shape: Any, seen: frozenset[str] = frozenset()) -> Iterator[tuple[str, Any]]:
    """Every member of a structure, and of those within it."""
    if isinstance(shape, StructureShape) and shape.name not in seen:
        for key, member in shape.members.items():
            member.parent = shape  # type: ignore[attr-defined] # as the serializer of moto does
            yield key, member
            yield from members(member, seen | {shape.name})
    elif shape.type_name == "list":
        yield from members(shape.member, seen)


@cache
def every_member() -> list[tuple[str, Any]]:
    """Of each answer of the services."""
    return [
        member
        for model in map(get_service_model, SERVICES)
        for name in model.operation_names
        if (output := model.operation_model(name).output_shape) is not None
        for member in members(output)
    ]


@sampled(300, 20_000)
@given(st.data())
def test_a_member_is_found_by_each_of_its_names(data: st.DataObject) -> None:
    """By the first that the dictionary has, as the picker of moto does."""
    key, shape = data.draw(st.sampled_from(every_member()))
    picker = XFormedAttributePicker()
    context = AttributePickerContext({}, key, shape)
    names = [*picker.get_possible_keys(context), "another"]
    value = data.draw(st.dictionaries(st.sampled_from(names), st.integers() | st.none()))
    serializer: Any = type("Serializer", (), {"_value_picker": picker})()
    context.obj = value

    assert quick_moto._get_value(serializer, value, key, shape) == picker(context)  # noqa: SLF001 - the function


@given(st.datetimes(), st.booleans())
def test_a_time_in_utc_is_read_in_every_zone(time: datetime, of_http: bool) -> None:  # noqa: FBT001 - a case
    """Both forms that AWS writes."""
    text = format_datetime(time.replace(tzinfo=UTC), usegmt=True) if of_http else f"{time.isoformat()}Z"
    read = PUBLISHED[botocore.utils, "_parse_timestamp_with_tzinfo"]
    for zone in (UTC, timezone(timedelta(hours=5))):
        known, expected = quick_moto._timestamp(text, lambda: zone), read(text, lambda: zone)  # noqa: B023, SLF001

        assert (known, known.utcoffset()) == (expected, expected.utcoffset())


@given(st.integers(), st.integers(0, 60), st.booleans(), st.booleans())
def test_identifiers_are_drawn_as_before(seed: int, length: int, digits: bool, lower: bool) -> None:  # noqa: FBT001 - cases
    """And what is drawn after them."""
    random, other = MotoRandom(seed), MotoRandom(seed)
    expected = PUBLISHED[MotoRandom, "get_random_string"](random, length, digits, lower)

    assert quick_moto._random_string(other, length, digits, lower) == expected  # noqa: SLF001 - the function
    assert other.random() == random.random()
