"""Every call of an adapter may be denied: it ends as the port says, and never as botocore's error."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from typing import Any

import pytest
from botocore import xform_name

from lakegate.aws.emr_serverless import EmrServerless, JudgeFunction
from lakegate.aws.kms_signing import KmsKey
from lakegate.aws.secrets import Secrets
from lakegate.aws.wiring import EventBridgeNotifier, StsIdentity
from lakegate.base.errors import AccessDenied, PortError
from lakegate.base.extension_points import ROOT
from lakegate.gate.ports import Address, Message, every_version
from lakegate.gate.table import Delete, Put, Row, RowKey, TableName, Update
from tests.fakes.quick_moto import client
from tests.unit.aws.conftest import Cloud
from tests.unit.aws.denied_calls import assert_every_denial_is_of_the_port, calls_of, operations_in

NOW = datetime(2026, 11, 21, 11, 30, tzinfo=UTC)
NUMBERS = count()
KEY = RowKey(TableName.WORKLOADS, "workload#w1")
FROM, TO = Address("landing", "a"), Address("lake", "b")
ADAPTERS = ("dynamodb_table", "emr_serverless", "kms_signing", "s3_objects", "secrets", "wiring")
ASKED_OTHERWISE = frozenset(
    {
        "abort_multipart_upload",  # of an upload that another worker began: tests/unit/aws/test_s3_objects_copies.py
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
    EventBridgeNotifier(client("events"), "default").send((Message("m1", "w1", "published", '{"rows":1}', NOW),))


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
        cloud.store().entries("landing", ""),
        cloud.store().copy(FROM, cloud.store().head(FROM).etag, TO),
        cloud.store().delete(FROM),
    ),
    "a large copy": copy_in_parts,
    "a run": run_job,
    "an invocation": invoke,
    "a signature": sign,
    "messages": notify,
    "a secret": read_secret,
    "the caller": lambda _: StsIdentity(client("sts")).caller(),
}


@pytest.mark.parametrize("what", WORK)
def test_a_call_that_is_denied_is_an_error_of_the_port(what: str, cloud: Cloud) -> None:
    """Whichever call of it AWS denies; the error names the operation, and nothing that AWS wrote."""
    assert_every_denial_is_of_the_port(WORK[what], cloud)


def test_every_call_of_the_adapters_is_denied_once(cloud: Cloud) -> None:
    """An operation that an adapter calls and no work above asks for would be found here."""
    tried = {xform_name(each) for work in WORK.values() for each in calls_of(work, cloud)}

    assert {
        name for each in ADAPTERS for name in operations_in(ROOT / "lakegate" / "aws" / f"{each}.py")
    } <= tried | ASKED_OTHERWISE
