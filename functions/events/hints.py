"""What an event document is decoded to, and the reasons for which it is refused."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class RefusalReason(StrEnum):
    """Why a document, or one record of it, cannot be acted on. Stable: alarms and runbooks name these."""

    TOO_LARGE = "too-large"
    NOT_JSON = "not-json"
    TOO_DEEP = "too-deep"
    EMPTY_BATCH = "empty-batch"
    FOREIGN_SOURCE = "foreign-source"
    UNKNOWN_KIND = "unknown-kind"
    UNKNOWN_VERSION = "unknown-version"
    MISSING_FIELD = "missing-field"
    WRONG_TYPE = "wrong-type"
    BAD_BUCKET = "bad-bucket"
    BAD_KEY = "bad-key"
    BAD_ID = "bad-id"
    UNKNOWN_STATE = "unknown-state"


@dataclass(frozen=True, slots=True)
class ObjectSeen:
    """A version of `key` may have landed in `bucket`. Which versions exist is read from the bucket."""

    bucket: str
    key: str
    version: str = ""
    """Its version id; empty where the document names none."""
    size: int = 0
    """Bytes; 0 where the document does not say."""


@dataclass(frozen=True, slots=True)
class JobMoved:
    """A job run may have reached `state`. Whether it has is read from EMR Serverless, and from its result."""

    application: str
    job_run: str
    state: str


@dataclass(frozen=True, slots=True)
class InvocationEnded:
    """An invocation of the judge function for an attempt ended. What came of it is read from its result."""

    workload: str
    attempt: int
    failed: bool


@dataclass(frozen=True, slots=True)
class Nothing:
    """A document that was understood and needs no action: `kind` is AWS's name for it, from a closed list."""

    kind: str


@dataclass(frozen=True, slots=True)
class Unintelligible:
    """A document for the dead-letter queue. `path` is where it stopped making sense; no text of the document."""

    reason: RefusalReason
    path: str


Decoded: TypeAlias = ObjectSeen | JobMoved | InvocationEnded | Nothing | Unintelligible


class UnintelligibleError(Exception):
    """Ends the decoding of one record; never leaves this package."""

    def __init__(self, reason: RefusalReason, path: str) -> None:
        super().__init__(reason, path)
        self.reason = reason
        self.path = path
