"""S3, EMR and invocation events as hints.

An event is only a hint that something may have happened; what is true is read from S3, EMR Serverless and DynamoDB afterwards.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final, TypeAlias
from urllib.parse import unquote_plus

from lakegate.contract.contract_model import is_usable

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


@dataclass(frozen=True, slots=True)
class ObjectSeen:
    """A version of `key` may have landed in `bucket`. Which versions exist is read from the bucket."""

    bucket: str
    key: str
    version: str = ""
    """Its version id; empty where the event names none."""
    size: int = 0
    """Bytes; 0 where the event does not say."""


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
class ObjectsNamed:
    """Objects in buckets of producers that a message names as deliveries. Whether they are is the contract's to say."""

    objects: tuple[ObjectSeen, ...]
    contract: str = ""
    """The one that the sender means; empty: each whose folder has the object."""
    queue: str = ""
    """ARN of the queue that the message was in, by Lambda, which says whose contracts it is for."""
    sender: str = ""
    """Its sender as SQS knows it, or the service that sent it."""


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
    """Ends the decoding of an event; never leaves this module."""

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
        event = _parsed(body)
        if "detail-type" in event:
            return _event_hint(event)
        if "requestPayload" in event:
            return _invocation_hint(event)
    except UnintelligibleError as refused:
        return Unintelligible(refused.reason, refused.path)
    return Unintelligible(RefusalReason.UNKNOWN_KIND, "$")


def decode_named(body: str) -> ObjectsNamed | Unintelligible:
    """What a message of a queue of named objects names; nothing for the test event of S3.

    These queues have senders outside of the stack: events of S3, which S3 or EventBridge sends, and claim checks.
    """
    try:
        message = _parsed(body)
        if "object" in message:
            return _claim(message)
        if "Records" in message:
            return _notification(message["Records"])
        if "detail-type" in message:
            _require(message, "version", {"0"}, RefusalReason.UNKNOWN_VERSION)
            _require(message, "source", {S3}, RefusalReason.FOREIGN_SOURCE)
            return ObjectsNamed((_landed(message),))
        if message.get("Event") == "s3:TestEvent":
            return ObjectsNamed(())
    except UnintelligibleError as refused:
        return Unintelligible(refused.reason, refused.path)
    return Unintelligible(RefusalReason.UNKNOWN_KIND, "$")


def named_in(record: Mapping[str, Any]) -> ObjectsNamed | Unintelligible:
    """The same of a record of SQS. The body is its sender's; queue and sender are stated by Lambda and SQS."""
    named = decode_named(record["body"])
    if isinstance(named, Unintelligible):
        return named
    return replace(named, queue=record["eventSourceARN"], sender=record.get("attributes", {}).get("SenderId", ""))


def _parsed(body: str) -> dict[str, Any]:
    if len(body) > MAX_CHARACTERS:
        raise UnintelligibleError(RefusalReason.TOO_LARGE, "$")
    try:
        event = json.loads(body)
    except RecursionError:
        raise UnintelligibleError(RefusalReason.TOO_DEEP, "$") from None
    except ValueError:
        raise UnintelligibleError(RefusalReason.NOT_JSON, "$") from None
    return _object(event, "$")


def _event_hint(event: dict[str, Any]) -> Decoded:
    """The hint of an event from EventBridge."""
    _require(event, "version", {"0"}, RefusalReason.UNKNOWN_VERSION)
    _require(event, "source", {S3, EMR}, RefusalReason.FOREIGN_SOURCE)
    return _landed(event) if event["source"] == S3 else _moved(event)


# ---- Fields of an event: no error holds its text ----


MAX_KEY_BYTES: Final = 1024
_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_VERSION: Final = re.compile(r"[!-~]{1,1024}", re.ASCII)
"""S3's version ids: opaque, URL-ready, at most 1,024 bytes."""
_ID: Final = re.compile(r"[0-9a-z]{1,64}")


def _object(value: object, path: str) -> dict[str, Any]:
    """The value as a JSON object; UnintelligibleError for any other."""
    if not isinstance(value, dict):
        raise UnintelligibleError(RefusalReason.WRONG_TYPE, path)
    return value


def _text(event: object, dotted: str) -> str:
    """The text at a dotted path; UnintelligibleError if it is missing, or not a text."""
    value, path = event, "$"
    for name in dotted.split("."):
        inner = _object(value, path)
        path = f"{path}.{name}"
        if name not in inner:
            raise UnintelligibleError(RefusalReason.MISSING_FIELD, path)
        value = inner[name]
    if not isinstance(value, str):
        raise UnintelligibleError(RefusalReason.WRONG_TYPE, path)
    return value


def _require(event: dict[str, Any], dotted: str, known: Collection[str], reason: RefusalReason) -> str:
    """The text at a dotted path; UnintelligibleError for the reason if it is none of those that are known."""
    found = _text(event, dotted)
    if found not in known:
        raise UnintelligibleError(reason, f"$.{dotted}")
    return found


def _identifier(event: dict[str, Any], dotted: str) -> str:
    """The id of a workload, application or job run at a dotted path: at most 64 digits and lower-case letters."""
    name = _text(event, dotted)
    if not _ID.fullmatch(name):
        raise UnintelligibleError(RefusalReason.BAD_ID, f"$.{dotted}")
    return name


# ---- Events of S3 ----
# EventBridge carries an object key raw.


S3: Final = "aws.s3"


def _landed(event: dict[str, Any]) -> ObjectSeen:
    _require(event, "detail-type", {"Object Created"}, RefusalReason.UNKNOWN_KIND)
    _require(event, "detail.version", {"0"}, RefusalReason.UNKNOWN_VERSION)
    key = _key(_text(event, "detail.object.key"), "$.detail.object.key")
    bucket = _bucket(_text(event, "detail.bucket.name"), "$.detail.bucket.name")
    return ObjectSeen(bucket, key, *_version_of(event["detail"]["object"], "version-id"))


def _key(key: str, path: str) -> str:
    try:
        size = len(key.encode())
    except UnicodeEncodeError:
        size = 0
    if not 0 < size <= MAX_KEY_BYTES:
        raise UnintelligibleError(RefusalReason.BAD_KEY, path)
    return key


def _bucket(name: str, path: str) -> str:
    if not _BUCKET.fullmatch(name):
        raise UnintelligibleError(RefusalReason.BAD_BUCKET, path)
    return name


def _version_of(described: dict[str, object], name: str) -> tuple[str, int]:
    """Version id and bytes of an object that an event describes; empty and 0 for what it lacks, or states in another form.

    Neither is necessary: which versions exist is read from the bucket.
    """
    version, size = described.get(name), described.get("size")
    is_version = isinstance(version, str) and version != "null" and _VERSION.fullmatch(version)
    return str(version) if is_version else "", size if type(size) is int and size > 0 else 0


# ---- Messages that name objects ----
# A notification that S3 itself sends to a queue carries the key encoded as in a form.


MAX_RECORDS: Final = 10
"""Of a notification; S3 sends one."""
_CLAIM: Final = frozenset({"object", "version", "contract"})


def _notification(records: object) -> ObjectsNamed:
    """The objects of a notification of S3 (S3 user guide, Event message structure)."""
    if not isinstance(records, list) or not records:
        raise UnintelligibleError(RefusalReason.WRONG_TYPE, "$.Records")
    if len(records) > MAX_RECORDS:
        raise UnintelligibleError(RefusalReason.TOO_LARGE, "$.Records")
    return ObjectsNamed(tuple(_record(_object(each, "$.Records[*]")) for each in records))


def _record(record: dict[str, Any]) -> ObjectSeen:
    _require(record, "eventSource", {"aws:s3"}, RefusalReason.FOREIGN_SOURCE)
    if not _text(record, "eventName").startswith("ObjectCreated:"):
        raise UnintelligibleError(RefusalReason.UNKNOWN_KIND, "$.eventName")
    bucket = _bucket(_text(record, "s3.bucket.name"), "$.s3.bucket.name")
    try:
        key = unquote_plus(_text(record, "s3.object.key"), errors="strict")
    except UnicodeDecodeError:
        raise UnintelligibleError(RefusalReason.BAD_KEY, "$.s3.object.key") from None
    return ObjectSeen(bucket, _key(key, "$.s3.object.key"), *_version_of(record["s3"]["object"], "versionId"))


def _claim(message: dict[str, Any]) -> ObjectsNamed:
    """The object of a claim check: `{"object": "s3://BUCKET/KEY", "version": "…", "contract": "…"}`, the last two optional."""
    if not message.keys() <= _CLAIM:
        raise UnintelligibleError(RefusalReason.UNKNOWN_KEY, "$")
    scheme, _, place = _text(message, "object").partition("://")
    if scheme != "s3":
        raise UnintelligibleError(RefusalReason.FOREIGN_SOURCE, "$.object")
    bucket, _, key = place.partition("/")
    version, contract = (_text({name: ""} | message, name) for name in ("version", "contract"))
    if version and not _VERSION.fullmatch(version):
        raise UnintelligibleError(RefusalReason.BAD_ID, "$.version")
    if contract and not is_usable(contract):
        raise UnintelligibleError(RefusalReason.BAD_ID, "$.contract")
    seen = ObjectSeen(_bucket(bucket, "$.object"), _key(key, "$.object"), version)
    return ObjectsNamed((seen,), contract)


# ---- Events of EMR Serverless ----


EMR: Final = "aws.emr-serverless"
JOB_STATES: Final = frozenset(
    {"SUBMITTED", "QUEUED", "PENDING", "SCHEDULED", "RUNNING", "SUCCESS", "FAILED", "CANCELLING", "CANCELLED"}
)


def _moved(event: dict[str, Any]) -> JobMoved:
    _require(event, "detail-type", {"EMR Serverless Job Run State Change"}, RefusalReason.UNKNOWN_KIND)
    state = _require(event, "detail.state", JOB_STATES, RefusalReason.UNKNOWN_STATE)
    return JobMoved(_identifier(event, "detail.applicationId"), _identifier(event, "detail.jobRunId"), state)


# ---- Records of asynchronous invocations ----


_ENDS: Final = frozenset({"Success", "RetriesExhausted", "EventAgeExceeded"})
"""Conditions of a record (Lambda developer guide, Capturing records of Lambda asynchronous invocations)."""


def _invocation_hint(record: dict[str, Any]) -> InvocationEnded:
    """The hint of a record of the judge function."""
    _require(record, "version", {"1.0"}, RefusalReason.UNKNOWN_VERSION)
    condition = _require(record, "requestContext.condition", _ENDS, RefusalReason.UNKNOWN_STATE)
    attempt = _object(record["requestPayload"], "$.requestPayload").get("attempt")
    if not isinstance(attempt, int) or isinstance(attempt, bool):
        raise UnintelligibleError(RefusalReason.WRONG_TYPE, "$.requestPayload.attempt")
    return InvocationEnded(_identifier(record, "requestPayload.workload"), attempt, condition != "Success")
