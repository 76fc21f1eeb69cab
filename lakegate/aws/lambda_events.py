"""S3, EMR and invocation events as hints.

An event is only a hint that something may have happened; what is true is read from S3, EMR Serverless and DynamoDB afterwards.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, TypeAlias

# ---- Decoded events, and reasons of refusal ----


class RefusalReason(StrEnum):
    """The reason why an event cannot be acted on. Stable: alarms and runbooks name these."""

    TOO_LARGE = "too-large"
    NOT_JSON = "not-json"
    TOO_DEEP = "too-deep"
    FOREIGN_SOURCE = "foreign-source"
    UNKNOWN_KIND = "unknown-kind"
    UNKNOWN_VERSION = "unknown-version"
    UNKNOWN_KEY = "unknown-key"
    MISSING_FIELD = "missing-field"
    WRONG_TYPE = "wrong-type"
    BAD_BUCKET = "bad-bucket"
    BAD_KEY = "bad-key"
    BAD_ID = "bad-id"
    UNKNOWN_STATE = "unknown-state"
    MISROUTED = "misrouted"
    """It is one for another function."""


@dataclass(frozen=True, slots=True)
class ObjectSeen:
    """A version of `key` may have landed in `bucket`. Which versions exist is read from the bucket."""

    bucket: str
    key: str
    version: str = ""
    """Its version id; empty where the event names none."""
    size: int = 0
    """Bytes; 0 where the event does not say."""
    at: datetime | None = None
    """When it was there; None where the event does not say."""


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
class Unintelligible:
    """An event for the dead-letter queue. `path` is where it stopped making sense; no text of the event."""

    reason: RefusalReason
    path: str


Decoded: TypeAlias = ObjectSeen | JobMoved | InvocationEnded | Unintelligible


QUEUE_OF_HINT: Final[Mapping[type, str]] = {
    ObjectSeen: "LandedQueue",
    JobMoved: "MovedQueue",
    InvocationEnded: "MovedQueue",
}
"""The queue of the template, by logical name, whose function takes a hint of each kind."""


class UnintelligibleError(Exception):
    """Ends the decoding of an event; it becomes an Unintelligible."""

    def __init__(self, reason: RefusalReason, path: str) -> None:
        super().__init__(reason, path)
        self.reason = reason
        self.path = path


# ---- Decoding of the body of a message ----
# The rules of the template and the destinations of the judge function are all that may send to the queues, each event as the
# whole body. Powertools' event sources check none of the fields that they return, so that they have no reasons of refusal.


MAX_CHARACTERS: Final = 1024 * 1024
"""SQS carries no larger message; a larger one is not from AWS."""


def decode(body: str) -> Decoded:
    """The hint of the event that is the body of a message, or the reason why it has none."""
    try:
        event = parse_object(body)
        if "detail-type" in event:
            return _event_hint(event)
        if "requestPayload" in event:
            return _invocation_hint(event)
    except UnintelligibleError as refused:
        return Unintelligible(refused.reason, refused.path)
    return Unintelligible(RefusalReason.UNKNOWN_KIND, "$")


def parse_object(body: str) -> dict[str, Any]:
    """The JSON object that a body is; UnintelligibleError for any other."""
    if len(body) > MAX_CHARACTERS:
        raise UnintelligibleError(RefusalReason.TOO_LARGE, "$")
    try:
        event = json.loads(body)
    except RecursionError:
        raise UnintelligibleError(RefusalReason.TOO_DEEP, "$") from None
    except ValueError:
        raise UnintelligibleError(RefusalReason.NOT_JSON, "$") from None
    return object_at(event, "$")


def _event_hint(event: dict[str, Any]) -> Decoded:
    """The hint of an event from EventBridge."""
    require(event, "version", {"0"}, RefusalReason.UNKNOWN_VERSION)
    require(event, "source", {S3, EMR}, RefusalReason.FOREIGN_SOURCE)
    return landed_object(event) if event["source"] == S3 else _moved(event)


# ---- Fields of an event: no error holds its text ----


MAX_KEY_BYTES: Final = 1024
_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
VERSION: Final = re.compile(r"[!-~]{1,1024}", re.ASCII)
"""S3's version ids: opaque, URL-ready, at most 1,024 bytes."""
_ID: Final = re.compile(r"[0-9a-z]{1,64}")


def object_at(value: object, path: str) -> dict[str, Any]:
    """The value as a JSON object; UnintelligibleError for any other."""
    if not isinstance(value, dict):
        raise UnintelligibleError(RefusalReason.WRONG_TYPE, path)
    return value


def text_at(event: object, dotted: str) -> str:
    """The text at a dotted path; UnintelligibleError if it is missing, or not a text."""
    value, path = event, "$"
    for name in dotted.split("."):
        inner = object_at(value, path)
        path = f"{path}.{name}"
        if name not in inner:
            raise UnintelligibleError(RefusalReason.MISSING_FIELD, path)
        value = inner[name]
    if not isinstance(value, str):
        raise UnintelligibleError(RefusalReason.WRONG_TYPE, path)
    return value


def require(event: dict[str, Any], dotted: str, known: Collection[str], reason: RefusalReason) -> str:
    """The text at a dotted path; UnintelligibleError for the reason if it is none of those that are known."""
    found = text_at(event, dotted)
    if found not in known:
        raise UnintelligibleError(reason, f"$.{dotted}")
    return found


def _identifier(event: dict[str, Any], dotted: str) -> str:
    """The id of a workload, application or job run at a dotted path: at most 64 digits and lower-case letters."""
    name = text_at(event, dotted)
    if not _ID.fullmatch(name):
        raise UnintelligibleError(RefusalReason.BAD_ID, f"$.{dotted}")
    return name


# ---- Events of S3 ----
# EventBridge carries an object key raw.


S3: Final = "aws.s3"


def landed_object(event: dict[str, Any]) -> ObjectSeen:
    """The object of an event of S3 from EventBridge."""
    require(event, "detail-type", {"Object Created"}, RefusalReason.UNKNOWN_KIND)
    require(event, "detail.version", {"0"}, RefusalReason.UNKNOWN_VERSION)
    key = checked_key(text_at(event, "detail.object.key"), "$.detail.object.key")
    bucket = checked_bucket(text_at(event, "detail.bucket.name"), "$.detail.bucket.name")
    return ObjectSeen(bucket, key, *version_of(event["detail"]["object"], "version-id"), _time_of(event))


def _time_of(event: dict[str, Any]) -> datetime | None:
    """The time of an event; None where it has none, or in another form than RFC 3339 with a zone: it is not necessary."""
    try:
        at = datetime.fromisoformat(event["time"])
    except (KeyError, TypeError, ValueError):
        return None
    return at if at.tzinfo else None


def checked_key(key: str, path: str) -> str:
    """The key; UnintelligibleError for one that no object has."""
    try:
        size = len(key.encode())
    except UnicodeEncodeError:
        size = 0
    if not 0 < size <= MAX_KEY_BYTES:
        raise UnintelligibleError(RefusalReason.BAD_KEY, path)
    return key


def checked_bucket(name: str, path: str) -> str:
    """The name of a bucket; UnintelligibleError for one that no bucket has."""
    if not _BUCKET.fullmatch(name):
        raise UnintelligibleError(RefusalReason.BAD_BUCKET, path)
    return name


def version_of(described: dict[str, object], name: str) -> tuple[str, int]:
    """Version id and bytes of an object that an event describes; empty and 0 for what it lacks, or states in another form.

    Neither is necessary: which versions exist is read from the bucket.
    """
    version, size = described.get(name), described.get("size")
    is_version = isinstance(version, str) and version != "null" and VERSION.fullmatch(version)
    return str(version) if is_version else "", size if type(size) is int and size > 0 else 0


# ---- Events of EMR Serverless ----


EMR: Final = "aws.emr-serverless"
JOB_STATES: Final = frozenset(
    {"SUBMITTED", "QUEUED", "PENDING", "SCHEDULED", "RUNNING", "SUCCESS", "FAILED", "CANCELLING", "CANCELLED"}
)


def _moved(event: dict[str, Any]) -> JobMoved:
    require(event, "detail-type", {"EMR Serverless Job Run State Change"}, RefusalReason.UNKNOWN_KIND)
    state = require(event, "detail.state", JOB_STATES, RefusalReason.UNKNOWN_STATE)
    return JobMoved(_identifier(event, "detail.applicationId"), _identifier(event, "detail.jobRunId"), state)


# ---- Records of asynchronous invocations ----


_ENDS: Final = frozenset({"Success", "RetriesExhausted", "EventAgeExceeded"})
"""Conditions of a record (Lambda developer guide, Capturing records of Lambda asynchronous invocations)."""


def _invocation_hint(record: dict[str, Any]) -> InvocationEnded:
    """The hint of a record of the judge function."""
    require(record, "version", {"1.0"}, RefusalReason.UNKNOWN_VERSION)
    condition = require(record, "requestContext.condition", _ENDS, RefusalReason.UNKNOWN_STATE)
    attempt = object_at(record["requestPayload"], "$.requestPayload").get("attempt")
    if not isinstance(attempt, int) or isinstance(attempt, bool):
        raise UnintelligibleError(RefusalReason.WRONG_TYPE, "$.requestPayload.attempt")
    return InvocationEnded(_identifier(record, "requestPayload.workload"), attempt, condition != "Success")
