"""Errors of AWS as port errors: one table from error code to error, for every service.

A port error names operation and code. It never carries AWS's message: that one may repeat keys and values of producers.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionError,  # noqa: A004 - botocore calls it so
    FlexibleChecksumError,
    HTTPClientError,
    IncompleteReadError,
)

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
BROKEN_OFF: Final = (ConnectionError, HTTPClientError, IncompleteReadError, FlexibleChecksumError)
"""The connection broke, also while a body was read; the bytes that came are not those that were sent."""
SERVER_ERROR: Final = 500
"""From this HTTP status on the server broke off: the effect may have happened."""


@contextmanager
def port_errors(*condition: str) -> Iterator[None]:
    """Turn whatever botocore raises inside into a PortError; `condition` are the reasons of a ConditionFailed."""
    try:
        yield
    except ClientError as error:
        raise translated(error, condition) from None
    except BROKEN_OFF as error:
        raise Unanswered(type(error).__name__) from None
    except BotoCoreError as error:  # nothing was sent: a defect or a stack without credentials, and no other's failure
        raise PortError(type(error).__name__) from None


def translated(error: ClientError, condition: tuple[str, ...] = ()) -> PortError:
    """The port error for an error of AWS. A code that is not in the table, and no server error, is a plain PortError."""
    code = error.response.get("Error", {}).get("Code", "")
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    kind = BY_CODE.get(code, Unanswered if status >= SERVER_ERROR else PortError)
    return ConditionFailed(*condition) if kind is ConditionFailed else kind(f"{error.operation_name}: {code}")
