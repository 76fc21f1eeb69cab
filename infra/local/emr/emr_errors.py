"""What the service refuses, in AWS's own codes.

::

    ServiceError
    ├── Invalid              ValidationException        400
    ├── SerializationError   SerializationException     400  the body is not JSON, or a member has another type
    ├── Absent               ResourceNotFoundException  404
    ├── Conflict             ConflictException          409
    ├── ThrottlingError      ThrottlingException        429
    ├── InternalServerError  InternalServerException    500
    ├── Unsupported          UnknownOperationException  501  an operation that this local service does not have
    └── AccessDeniedError    AccessDeniedException      403  a caller that is not a program of this machine
"""

from __future__ import annotations

from typing import ClassVar


class ServiceError(Exception):
    """An answer other than the one asked for; its text is the message that the caller gets."""

    code: ClassVar[str]
    status: ClassVar[int]


class Invalid(ServiceError):  # noqa: N818 - named as AWS names it, like its siblings
    """The request breaks a constraint, or the resource is in no state for it."""

    code, status = "ValidationException", 400


class SerializationError(ServiceError):
    """The request cannot be read."""

    code, status = "SerializationException", 400


class Absent(ServiceError):  # noqa: N818 - as above
    """No such application, run or attempt."""

    code, status = "ResourceNotFoundException", 404


class Conflict(ServiceError):  # noqa: N818 - as above
    """A client token that belongs to another request, or an application that takes no runs."""

    code, status = "ConflictException", 409


class ThrottlingError(ServiceError):
    """Too many requests: returned only where a fault asks for it."""

    code, status = "ThrottlingException", 429


class InternalServerError(ServiceError):
    """The service failed, whether or not the effect happened."""

    code, status = "InternalServerException", 500


class Unsupported(ServiceError):  # noqa: N818 - as above
    """An operation of AWS that is not played here."""

    code, status = "UnknownOperationException", 501


class AccessDeniedError(ServiceError):
    """A request that a web page sent, or that came by another name than loopback's."""

    code, status = "AccessDeniedException", 403
