"""Keys of KMS that sign: the requests, and what KMS refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from lakegate.aws.kms_signing import KmsKey, kms_keys
from lakegate.base.errors import PortError, SigningDenied, Throttled, Unanswered
from lakegate.gate.ports import UNSIGNED
from tests.unit.gate.ledger.signing import ONE

ARN = "arn:aws:kms:us-east-1:123456789012:key/1"
SIGN = {"KeyId": ARN, "Message": b"text", "MessageType": "RAW", "SigningAlgorithm": "ED25519_SHA_512"}


@pytest.fixture
def kms() -> Iterator[tuple[Any, Stubber]]:
    client: Any = boto3.client("kms", region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
    with Stubber(client) as stub:
        yield client, stub
        stub.assert_no_pending_responses()


def test_a_text_is_signed_by_the_key(kms: tuple[Any, Stubber]) -> None:
    """The whole text is sent, and Ed25519 of RFC 8032 is asked for."""
    client, stub = kms
    stub.add_response("sign", {"KeyId": ARN, "Signature": ONE.sign(b"text")}, SIGN)

    assert KmsKey(client, ARN).sign(b"text") == ONE.sign(b"text")


def test_a_public_key_is_asked_for_once(kms: tuple[Any, Stubber]) -> None:
    """It never changes."""
    client, stub = kms
    stub.add_response("get_public_key", {"PublicKey": ONE.public_key()}, {"KeyId": ARN})
    key = KmsKey(client, ARN)

    assert [key.public_key() for _ in range(2)] == [ONE.public_key()] * 2


def test_a_key_of_another_kind_is_refused(kms: tuple[Any, Stubber]) -> None:
    """Its signatures could not be verified."""
    client, stub = kms
    stub.add_response("get_public_key", {"PublicKey": b"0Y0\x13"}, {"KeyId": ARN})

    with pytest.raises(PortError, match="GetPublicKey: KeySpec"):
        KmsKey(client, ARN).public_key()


@pytest.mark.parametrize(
    ("operation", "call"),
    [("sign", lambda key: key.sign(b"text")), ("get_public_key", lambda key: key.public_key())],
)
@pytest.mark.parametrize(
    ("code", "status", "error"),
    [
        ("AccessDeniedException", 400, SigningDenied),
        ("DisabledException", 400, PortError),
        ("ThrottlingException", 400, Throttled),
        ("KMSInternalException", 500, Unanswered),
    ],
)
def test_what_kms_refuses_is_an_error_of_the_port(  # noqa: PLR0913, PLR0917 - a table
    kms: tuple[Any, Stubber], code: str, status: int, error: type[PortError], operation: str, call: Callable[..., bytes]
) -> None:
    """With operation and code, for logs and `lakegate doctor`; throttling is tried again."""
    client, stub = kms
    stub.add_client_error(operation, code, http_status_code=status)
    with pytest.raises(error) as refused:
        call(KmsKey(client, ARN))

    name = {"sign": "Sign", "get_public_key": "GetPublicKey"}[operation]
    assert (type(refused.value), str(refused.value)) == (error, f"{name}: {code}")


def test_a_stack_has_the_keys_of_its_settings() -> None:
    """An empty ARN is no key."""
    client = object()

    assert kms_keys(client, "", "") == UNSIGNED
    assert kms_keys(client, ARN, "") == (KmsKey(client, ARN), None)
    assert kms_keys(client, ARN, "b") == (KmsKey(client, ARN), KmsKey(client, "b"))
