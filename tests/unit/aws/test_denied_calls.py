"""Every call of an adapter may be denied: it ends as the port says, and never as botocore's error."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from botocore import xform_name
from botocore.client import BaseClient
from botocore.exceptions import ClientError

from lakegate.aws.emr_serverless import EmrServerless, JudgeFunction
from lakegate.aws.kms_signing import KmsKey
from lakegate.aws.secrets import Secrets
from lakegate.aws.wiring import EventBridgeNotifier, StsIdentity
from lakegate.errors import AccessDenied, PortError
from lakegate.extension_points import ROOT
from lakegate.features.notifications.notices import trial_notification
from lakegate.features.notifications.sns import Sns
from lakegate.features.pull.pull_task import S3LandingParts
from lakegate.gate.ports import Address, Message, every_version
from lakegate.gate.table import Delete, Put, Row, RowKey, TableName, Update
from tests.fakes.quick_moto import client
from tests.unit.aws.conftest import Cloud

NOW = datetime(2026, 11, 21, 11, 30, tzinfo=UTC)
NUMBERS = count()
KEY = RowKey(TableName.WORKLOADS, "workload#w1")
FROM, TO = Address("landing", "a"), Address("lake", "b")
ADAPTERS = (
    *("aws/dynamodb_table", "aws/emr_serverless", "aws/kms_signing", "aws/s3_objects", "aws/secrets", "aws/wiring"),
    *("features/notifications/sns", "features/pull/pull_task"),
)
ASKED_OTHERWISE = frozenset(
    {
        "describe_table",  # for the age of the stack: a function of a new stack may not begin without it
        "get_application",  # after a conflict only: tests/unit/aws/test_emr_serverless.py
    }
)


def write(cloud: Cloud, *writes: Any) -> None:
    for each in writes:
        cloud.table().write(each)


def copy_in_parts(cloud: Cloud) -> None:
    store = cloud.store(limit=2, part=6 * 1024 * 1024)
    source = store.put(FROM, b"123")
    store.copy(FROM._replace(version=source.version), source.etag, TO)


def land_in_parts(cloud: Cloud) -> None:
    parts, key = S3LandingParts(cloud.s3, "landing", "123456789012"), f"c-{next(NUMBERS)}"
    upload = parts.begin(key)
    parts.add(key, upload, 1, b"1")
    parts.arrived(key, upload)
    parts.complete(key, upload)
    parts.abort(key, parts.begin(key))


def run_job(_: Cloud) -> None:
    emr = client("emr-serverless")
    application = emr.create_application(name="a", releaseLabel="emr-7.14.0", type="SPARK")["applicationId"]
    jobs = EmrServerless(emr, application)
    driver = {"sparkSubmit": {"entryPoint": "s3://lake/validate.py"}}
    role = "arn:aws:iam::123456789012:role/job"
    run = jobs.start(
        {"applicationId": application, "executionRoleArn": role, "jobDriver": driver, "clientToken": "1", "name": "n"}
    )
    jobs.describe(run)
    jobs.cancel(run)


def sign(_: Cloud) -> None:
    kms = client("kms")
    arn = kms.create_key(KeySpec="ECC_NIST_P256", KeyUsage="SIGN_VERIFY")["KeyMetadata"]["Arn"]
    for act in (KmsKey(kms, arn).public_key, lambda: KmsKey(kms, arn).sign(b"text")):
        try:
            act()
        except AccessDenied:
            raise
        except PortError:  # moto has no Ed25519
            continue


def notify(_: Cloud) -> None:
    EventBridgeNotifier(client("events"), "default").send(Message("m1", "w1", "published", '{"rows":1}', NOW))
    topic = client("sns").create_topic(Name="t")["TopicArn"]
    Sns(client("sns")).deliver(topic, trial_notification("sns:t", NOW))


def read_secret(_: Cloud) -> None:
    arn = client("secretsmanager").create_secret(Name=f"s-{next(NUMBERS)}", SecretString="{}")["ARN"]
    Secrets(client("secretsmanager")).content(arn, frozenset())


def invoke(_: Cloud) -> None:
    payload = '{"workload":"w1","attempt":1}'
    request = {"FunctionName": "judge", "InvocationType": "Event", "Payload": payload}
    with pytest.raises(PortError) as refused:  # moto has no such function
        JudgeFunction(client("lambda")).start(request)
    if isinstance(refused.value, AccessDenied):
        raise refused.value


WORK: dict[str, Callable[[Cloud], object]] = {
    "rows": lambda cloud: (
        write(cloud, Put(Row(KEY, {"a": 1})), Update(KEY, sets={"a": 2}), Delete(KEY, None)),
        cloud.table().get(KEY),
        list(cloud.table().batch([KEY])),
        cloud.table().update(Update(KEY, sets={"a": 2})),
    ),
    "a transaction": lambda cloud: cloud.table().transact([Put(Row(KEY, {"a": 1}))]),
    "the index": lambda cloud: cloud.table().due("due", 10),
    "a shard of it": lambda cloud: cloud.table().listed("due#0", 10),
    "the newest of it": lambda cloud: cloud.table().latest("due#0", 10, "2026", "2027"),
    "a chain": lambda cloud: list(cloud.table().heights("orders/lines_v1")),
    "a table": lambda cloud: list(cloud.table().scan(TableName.REGISTRY)),
    "a page of a table": lambda cloud: cloud.table().page(TableName.REGISTRY, "route", "", 10),
    "an object": lambda cloud: (
        cloud.store().put(FROM, b"1"),
        cloud.store().read(FROM),
        list(every_version(cloud.store(), "landing", "")),
        cloud.store().copy(FROM, cloud.store().head(FROM).etag, TO),
        cloud.store().delete(FROM),
    ),
    "a large copy": copy_in_parts,
    "a pulled object": land_in_parts,
    "a run": run_job,
    "an invocation": invoke,
    "a signature": sign,
    "messages": notify,
    "a secret": read_secret,
    "the caller": lambda _: StsIdentity(client("sts")).caller(),
}
PREPARED = frozenset({"CreateApplication", "CreateKey", "CreateTopic", "CreateSecret"})
"""What these tests ask for themselves."""


@contextmanager
def denied(operation: str) -> Iterator[list[str]]:
    """One operation is denied wherever it is called; the list gets what was called."""
    call: Any = BaseClient._make_api_call  # noqa: SLF001 - each call goes through it
    called: list[str] = []

    def refuse(of: BaseClient, name: str, parameters: Any) -> Any:
        called.append(name)
        if name == operation:
            raise ClientError({"Error": {"Code": "AccessDenied", "Message": "canary"}}, name)
        return call(of, name, parameters)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(BaseClient, "_make_api_call", refuse)
        yield called


def calls_of(work: Callable[[Cloud], object], cloud: Cloud) -> list[str]:
    with denied("") as called:
        work(cloud)
    return [each for each in dict.fromkeys(called) if each not in PREPARED]


@pytest.mark.parametrize("what", WORK)
def test_a_call_that_is_denied_is_an_error_of_the_port(what: str, cloud: Cloud) -> None:
    """Whichever call of it AWS denies; the error names the operation, and nothing that AWS wrote."""
    operations = calls_of(WORK[what], cloud)
    ends = {}
    for operation in operations:
        with denied(operation), pytest.raises(PortError) as refused:
            WORK[what](cloud)
        ends[operation] = isinstance(refused.value, AccessDenied), "canary" in str(refused.value)

    assert ends == dict.fromkeys(operations, (True, False))
    assert operations


def test_every_call_of_the_adapters_is_denied_once(cloud: Cloud) -> None:
    """An operation that an adapter calls and no work above asks for would be found here."""
    tried = {xform_name(each) for work in WORK.values() for each in calls_of(work, cloud)}

    assert {
        name for each in ADAPTERS for name in operations_in(ROOT / "lakegate" / f"{each}.py")
    } <= tried | ASKED_OTHERWISE


def operations_in(path: Path) -> Iterator[str]:
    """The operations of `client`, or of a paginator of it, in a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            target, name = node.func.value, node.func.attr
            if (isinstance(target, ast.Attribute) and target.attr == "client") or (
                isinstance(target, ast.Name) and target.id == "client"
            ):
                yield node.args[0].value if name == "get_paginator" else name  # type: ignore[attr-defined,misc] # a text
