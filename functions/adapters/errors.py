"""Errors of AWS as port errors: one table from error code to error, for every service.

A port error names operation and code. It never carries AWS's message: that one may repeat keys and values of producers.
botocore is imported when an error is translated: a command that asks nothing of AWS runs where it is not installed.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from lakegate.functions.ports.errors import (
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
    from collections.abc import Iterator, Mapping

    from botocore.exceptions import ClientError

BY_CODE: Final[Mapping[str, type[PortError]]] = {
    "404": NotFound,
    "405": NotFound,  # HEAD on a delete marker
    "NotFound": NotFound,  # SNS
    "MethodNotAllowed": NotFound,  # GET on a delete marker
    "NoSuchKey": NotFound,
    "NoSuchVersion": NotFound,
    "NoSuchUpload": NotFound,
    "ResourceNotFoundException": NotFound,
    "403": AccessDenied,  # HEAD: its answer has no body, so no other code
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
        return translated(error, condition)
    if isinstance(error, broken_off):  # also while a body was read; or the bytes that came are not those that were sent
        return Unanswered(type(error).__name__)
    if isinstance(error, raised.BotoCoreError):  # nothing was sent: a defect, or a stack without credentials
        return PortError(type(error).__name__)
    return None


def translated(error: ClientError, condition: tuple[str, ...] = ()) -> PortError:
    """The port error for an error of AWS. A code that is not in the table, and no server error, is a plain PortError."""
    code = error.response.get("Error", {}).get("Code", "")
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    kind = BY_CODE.get(code, Unanswered if status >= SERVER_ERROR else PortError)
    return ConditionFailed(*condition) if kind is ConditionFailed else kind(f"{error.operation_name}: {code}")
