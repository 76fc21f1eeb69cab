"""Validators: one port, in memory and over HTTPS on the loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from lakegate.aws.secrets import Secrets
from lakegate.base.errors import NotFound, PortError, Throttled, Unanswered
from lakegate.features.external_validators.registered_validators import ValidatorService
from lakegate.features.external_validators.validator_client import ExternalValidation, HttpsValidators, Validators
from lakegate.gate.ports import Address
from tests.fakes import FaultInjector, MemoryValidators
from tests.fakes.receiver import Receiver, receiving

NAME, OTHER = "a" * 64, "b" * 64
VALIDATION = ExternalValidation(NAME, ('{"id": "order"}',), Address("lake", "staging/w/part-00000.csv", "v1"), {}, 3600)
ANSWER = json.dumps({"workloadId": NAME, "status": "Running", "result": []}).encode()


class Signer:
    """S3, as far as it signs addresses."""

    def generate_presigned_url(self, operation: str, **asked: Any) -> str:
        return f"https://data.example/{operation}?{asked['Params']['VersionId']}"


class Vault:
    """Secrets Manager with one secret."""

    def get_secret_value(self, SecretId: str) -> dict[str, str]:  # noqa: N803 - as boto3 has it
        return {"SecretString": json.dumps({"host": "localhost", "token": SecretId})}


@dataclass
class There:
    """The port, its service, and what the service says next."""

    port: Validators
    service: ValidatorService
    memory: MemoryValidators | None = None
    receiver: Receiver | None = None

    def starts(self, status: int) -> None:
        """How it answers to a start."""
        if self.memory is not None:
            self.memory.refusal = refusal_of(status)
        if self.receiver is not None:
            self.receiver.answer = http(status, b"{}")

    def says(self, status: int, body: bytes = ANSWER) -> None:
        """How it answers to a poll."""
        if self.memory is not None:
            self.memory.answer = lambda _: refusal_of(status) or body
        if self.receiver is not None:
            self.receiver.answer = http(status, body)


def refusal_of(status: int) -> PortError | None:
    """The error of a status."""
    kinds = {404: NotFound, 429: Throttled, 500: Unanswered, 503: Unanswered}
    return None if status == 200 else kinds.get(status, PortError)(f"http-{status}")


def http(status: int, body: bytes) -> bytes:
    return f"HTTP/1.1 {status} Whatever\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


@pytest.fixture(params=["memory", "https"])
def there(request: pytest.FixtureRequest) -> Iterator[There]:
    with ExitStack() as stack:
        if request.param == "memory":
            memory = MemoryValidators(FaultInjector())
            yield There(memory, ValidatorService("gx", "https://gx.example", ("GX",), "gx"), memory)
            return
        receiver = stack.enter_context(receiving())
        service = ValidatorService("gx", f"https://localhost:{receiver.port}", ("GX",), "gx")
        hosts: Any = frozenset({"localhost"})
        port = HttpsValidators(receiver.web(), Secrets(Vault()), hosts, "p-", Signer(), lambda *_: {})  # type: ignore[arg-type] # as far as they are used
        yield There(port, service, receiver=receiver)


def test_a_validation_is_started_and_asked(there: There) -> None:
    """Started again it is the same one; the answer comes as the service wrote it."""
    for _ in range(2):
        there.starts(200)
        there.port.start(there.service, VALIDATION)
    there.says(200)

    assert there.port.poll(there.service, NAME) == ANSWER


@pytest.mark.parametrize("status", [400, 401, 403, 429, 500, 503])
def test_a_refused_start_is_an_error(there: There, status: int) -> None:
    """Of the kind that states whether calling again is right."""
    there.starts(status)
    with pytest.raises(PortError) as raised:
        there.port.start(there.service, VALIDATION)

    assert (type(raised.value), str(raised.value)) == (type(refusal_of(status)), f"http-{status}")


@pytest.mark.parametrize("status", [400, 403, 404, 429, 500])
def test_a_refused_poll_is_an_error(there: There, status: int) -> None:
    """Likewise; 404 is that of a validation that it does not know."""
    there.starts(200)
    there.port.start(there.service, VALIDATION)
    there.says(status)
    with pytest.raises(PortError) as raised:
        there.port.poll(there.service, NAME)

    assert (type(raised.value), str(raised.value)) == (type(refusal_of(status)), f"http-{status}")


def test_an_answer_has_a_limit(there: There) -> None:
    """A service that answers with more than a mebibyte does not fill the memory."""
    there.starts(200)
    there.port.start(there.service, VALIDATION)
    there.says(200, b"x" * (1 << 20))
    whole = there.port.poll(there.service, NAME)
    there.says(200, b"x" * ((1 << 20) + 1))

    assert len(whole) == 1 << 20
    with pytest.raises(PortError, match="too-large"):
        there.port.poll(there.service, NAME)
