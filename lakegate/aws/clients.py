"""Clients with bounded patience; AWS errors as port errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from lakegate.base.errors import (
    AccessDenied,
    Archived,
    ConditionFailed,
    IdempotencyMismatch,
    NotFound,
    PortError,
    Throttled,
    TransactionConflict,
    Unanswered,
)

if TYPE_CHECKING:
    from botocore.exceptions import ClientError
    from botocore.loaders import Loader
    from botocore.session import Session

# ---- Clients of AWS ----
# botocore is imported with the first client: a command that asks nothing of AWS runs where it is not installed.


ATTEMPTS: Final = 4
"""The first one included; after the last one the use case, SQS or sweep retries."""
READ_TIMEOUTS: Final[Mapping[str, float]] = {"s3": 300.0}
"""Seconds. CopyObject answers when it has copied, up to 5 GB."""


class Lazy:
    """A client that is created at first use: a function creates only those that it needs."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever boto3 has under that name
        return getattr(self._make(), name)


def client(service: str) -> Any:  # noqa: ANN401 - the caller names the type of boto3
    """The one client of a service."""
    return Lazy(lambda: _create_client(service))


def signer() -> Any:  # noqa: ANN401 - an S3Client
    """A client of S3 that only signs URLs: version 4, with the address of the bucket in its region."""

    @cache
    def made() -> Any:  # noqa: ANN401 - as above
        from botocore.config import Config  # noqa: PLC0415 - see above

        settings = Config(signature_version="s3v4", s3={"addressing_style": "virtual"})
        return session().create_client("s3", config=settings)

    return Lazy(made)


def sign_request(method: str, url: str, body: bytes, headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of a request to an API of API Gateway, signed by this function's credentials (SigV4).

    They have the name of the host as it is signed: `http.client` adds the port 443, which nobody signs.
    """
    from botocore.auth import SigV4Auth  # noqa: PLC0415 - see above
    from botocore.awsrequest import AWSRequest  # noqa: PLC0415 - likewise

    own: Any = session()  # a function always has credentials
    host = urlsplit(url).netloc.removesuffix(":443")
    request = AWSRequest(method, url, {"Host": host, **headers}, body)
    region = own.get_config_variable("region")
    SigV4Auth(own.get_credentials().get_frozen_credentials(), "execute-api", region).add_auth(request)
    return dict(request.headers.items())


def session() -> Session:
    """A session with the settings of this moment. The descriptions of services, seven of ten parts of its time, are read once."""
    from botocore.session import get_session  # noqa: PLC0415 - see above

    made = get_session()
    made.register_component("data_loader", _loader(made.get_config_variable("data_path")))
    return made


@cache
def _loader(path: str | None) -> Loader:
    from botocore.loaders import create_loader  # noqa: PLC0415 - see above

    return create_loader(path)


@cache
def _create_client(service: str) -> Any:  # noqa: ANN401 - as above
    from botocore.config import Config  # noqa: PLC0415 - see above

    return session().create_client(
        service,
        config=Config(
            retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
            connect_timeout=3.0,
            read_timeout=READ_TIMEOUTS.get(service, 10.0),
        ),
    )


# ---- Errors of AWS as port errors ----
# The text of a port error names operation and code, never the message of AWS, which may repeat keys and values of producers.
# Its `explanation` has it, for the terminal of the person who asked.
# botocore is imported when an error is translated: a command that asks nothing of AWS runs where it is not installed.


BY_CODE: Final[Mapping[str, type[PortError]]] = {
    "404": NotFound,
    "405": NotFound,  # HEAD on a delete marker
    "NotFound": NotFound,  # SNS
    "MethodNotAllowed": NotFound,  # GET on a delete marker
    "NoSuchKey": NotFound,
    "NoSuchVersion": NotFound,
    "NoSuchUpload": NotFound,
    "ResourceNotFoundException": NotFound,
    "EntityNotFoundException": NotFound,  # Glue
    "400": AccessDenied,  # HEAD of an object whose key the producer has (SSE-C); its response has no body either
    "403": AccessDenied,  # HEAD: its response has no body, so no other code
    "AccessDenied": AccessDenied,
    "AccessDeniedException": AccessDenied,
    "KMS.DisabledException": AccessDenied,
    "KMS.KMSInvalidStateException": AccessDenied,
    "KMS.NotFoundException": AccessDenied,
    "InvalidObjectState": Archived,  # GetObject
    "ObjectNotInActiveTierError": Archived,  # CopyObject, UploadPartCopy
    "412": ConditionFailed,
    "PreconditionFailed": ConditionFailed,
    "ConditionalCheckFailedException": ConditionFailed,
    "409": TransactionConflict,
    "ConcurrentModification": TransactionConflict,
    "ConditionalRequestConflict": TransactionConflict,
    "OperationAborted": TransactionConflict,
    "TransactionConflictException": TransactionConflict,
    "TransactionInProgressException": TransactionConflict,
    "ConflictException": IdempotencyMismatch,
    "IdempotentParameterMismatchException": IdempotencyMismatch,
    "429": Throttled,
    "LimitExceededException": Throttled,
    "ProvisionedThroughputExceeded": Throttled,
    "ProvisionedThroughputExceededException": Throttled,
    "RequestLimitExceeded": Throttled,
    "ServiceQuotaExceededException": Throttled,
    "SlowDown": Throttled,
    "Throttling": Throttled,
    "ThrottlingError": Throttled,
    "ThrottlingException": Throttled,
    "TooManyRequestsException": Throttled,
    "InternalFailure": Unanswered,
    "RequestTimeout": Unanswered,
}

SERVER_ERROR: Final = 500
"""From this HTTP status on the server broke off: the effect may have happened."""


@contextmanager
def port_errors(*condition: str) -> Iterator[None]:
    """Turn whatever botocore raises inside into a PortError; `condition` are the reasons of a ConditionFailed."""
    try:
        yield
    except Exception as error:
        found = _port_error(error, condition)
        if found is None:
            raise
        raise found from None


def _port_error(error: Exception, condition: tuple[str, ...]) -> PortError | None:
    """The port error for what a call raised; None where botocore did not raise it."""
    from botocore import exceptions as raised  # noqa: PLC0415 - see above

    broken_off = (
        raised.ConnectionError,
        raised.HTTPClientError,
        raised.IncompleteReadError,
        raised.FlexibleChecksumError,
    )
    if isinstance(error, raised.ClientError):
        return translate_error(error, condition)
    if isinstance(error, broken_off):  # also while a body was read; or the bytes that came are not those that were sent
        return Unanswered(type(error).__name__)
    if isinstance(error, raised.BotoCoreError):  # nothing was sent: a defect, or a stack without credentials
        return PortError(type(error).__name__)
    return None


def translate_error(error: ClientError, condition: tuple[str, ...] = ()) -> PortError:
    """The port error for an error of AWS. A code that is not in the table, and no server error, is a plain PortError."""
    said = error.response.get("Error", {})
    code = said.get("Code", "")
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    kind = BY_CODE.get(code, Unanswered if status >= SERVER_ERROR else PortError)
    found = ConditionFailed(*condition) if kind is ConditionFailed else kind(f"{error.operation_name}: {code}")
    found.explanation = said.get("Message", "")
    return found
