"""S3, EMR and invocation events as hints."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import unquote_plus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

# ---- Decoded events, and reasons of refusal ----


class RefusalReason(StrEnum):
    """The reason why a document, or one record of it, cannot be acted on. Stable: alarms and runbooks name these."""

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


QUEUE_OF_HINT: Final[Mapping[type, str]] = {
    ObjectSeen: "LandedQueue",
    JobMoved: "MovedQueue",
    InvocationEnded: "MovedQueue",
}
"""The queue of the template, by logical name, whose function takes a hint of each kind."""


class UnintelligibleError(Exception):
    """Ends the decoding of one record; never leaves this package."""

    def __init__(self, reason: RefusalReason, path: str) -> None:
        super().__init__(reason, path)
        self.reason = reason
        self.path = path


# ---- Fields of an event document: no error holds its text ----


MAX_KEY_BYTES: Final = 1024
_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_VERSION: Final = re.compile(r"[!-~]{1,1024}", re.ASCII)
"""S3's version ids: opaque, URL-ready, at most 1,024 bytes."""
_ID: Final = re.compile(r"[0-9a-z]{1,64}")


def mapping(value: object, path: str) -> Mapping[str, object]:
    """The value as a JSON object; UnintelligibleError for any other."""
    if not isinstance(value, dict):
        raise UnintelligibleError(RefusalReason.WRONG_TYPE, path)
    return value


def text(document: Mapping[str, object], path: str, dotted: str) -> str:
    """The text at a dotted path; UnintelligibleError if it is missing, or not a text."""
    value: object = document
    for name in dotted.split("."):
        inner = mapping(value, path)
        path = f"{path}.{name}"
        if name not in inner:
            raise UnintelligibleError(RefusalReason.MISSING_FIELD, path)
        value = inner[name]
    if not isinstance(value, str):
        raise UnintelligibleError(RefusalReason.WRONG_TYPE, path)
    return value


def bucket(document: Mapping[str, object], path: str, dotted: str) -> str:
    """The bucket name at a dotted path, by S3's rules for names."""
    name = text(document, path, dotted)
    if not _BUCKET.fullmatch(name):
        raise UnintelligibleError(RefusalReason.BAD_BUCKET, f"{path}.{dotted}")
    return name


def version_of(described: Mapping[str, object], name: str) -> tuple[str, int]:
    """Version id and bytes of an object that a document describes; empty and 0 for what it lacks, or states in another form.

    `name`: the key of the version id. Neither is necessary: which versions exist is read from the bucket.
    """
    version, size = described.get(name), described.get("size")
    is_version = isinstance(version, str) and version != "null" and _VERSION.fullmatch(version)
    return str(version) if is_version else "", size if type(size) is int and size > 0 else 0


def identifier(document: Mapping[str, object], path: str, dotted: str) -> str:
    """The id of an application or job run at a dotted path: at most 64 digits and lower-case letters."""
    name = text(document, path, dotted)
    if not _ID.fullmatch(name):
        raise UnintelligibleError(RefusalReason.BAD_ID, f"{path}.{dotted}")
    return name


def key_of(key: str, path: str) -> str:
    """The object key, if it is one: 1 to 1,024 bytes of UTF-8 (S3, object key names)."""
    try:
        size = len(key.encode())
    except UnicodeEncodeError:
        raise UnintelligibleError(RefusalReason.BAD_KEY, path) from None
    if not 0 < size <= MAX_KEY_BYTES:
        raise UnintelligibleError(RefusalReason.BAD_KEY, path)
    return key


# ---- Events of EMR Serverless ----


JOB_STATES: Final = frozenset(
    {"SUBMITTED", "QUEUED", "PENDING", "SCHEDULED", "RUNNING", "SUCCESS", "FAILED", "CANCELLING", "CANCELLED"}
)
_JOB_MOVED: Final = "EMR Serverless Job Run State Change"
_EMR_OTHERS: Final = frozenset(
    {
        "EMR Serverless Application State Change",
        "EMR Serverless Job Run Retry",
        "EMR Serverless Job Resource Utilization Update",
    }
)


def run_event_of(event: Mapping[str, object], path: str, _depth: int) -> Iterator[Decoded]:
    """The hint of an event from EventBridge."""
    kind = text(event, path, "detail-type")
    if kind in _EMR_OTHERS:
        yield Nothing(kind)
        return
    if kind != _JOB_MOVED:
        raise UnintelligibleError(RefusalReason.UNKNOWN_KIND, f"{path}.detail-type")
    state = text(event, path, "detail.state")
    if state not in JOB_STATES:
        raise UnintelligibleError(RefusalReason.UNKNOWN_STATE, f"{path}.detail.state")
    yield JobMoved(identifier(event, path, "detail.applicationId"), identifier(event, path, "detail.jobRunId"), state)


# ---- Records of asynchronous invocations ----


_ENDS: Final = frozenset({"Success", "RetriesExhausted", "EventAgeExceeded"})
"""Conditions of a record (Lambda developer guide, Capturing records of Lambda asynchronous invocations)."""


def record_of(record: Mapping[str, object], path: str, _depth: int) -> Iterator[Decoded]:
    """The hint of a record of the judge function."""
    if text(record, path, "version") != "1.0":
        raise UnintelligibleError(RefusalReason.UNKNOWN_VERSION, f"{path}.version")
    condition = text(record, path, "requestContext.condition")
    if condition not in _ENDS:
        raise UnintelligibleError(RefusalReason.UNKNOWN_STATE, f"{path}.requestContext.condition")
    attempt = mapping(record["requestPayload"], f"{path}.requestPayload").get("attempt")
    if not isinstance(attempt, int) or isinstance(attempt, bool):
        raise UnintelligibleError(RefusalReason.WRONG_TYPE, f"{path}.requestPayload.attempt")
    yield InvocationEnded(identifier(record, path, "requestPayload.workload"), attempt, condition != "Success")


# ---- Events of S3 ----
# EventBridge carries an object key raw; a direct notification carries it form-encoded (a space is `+`). Decoding
# one with the rule of the other names another object.


_S3_CREATED: Final = "Object Created"

_S3_OTHERS: Final = frozenset(
    {
        "Object Deleted",
        "Object Restore Initiated",
        "Object Restore Completed",
        "Object Restore Expired",
        "Object Storage Class Changed",
        "Object Access Tier Changed",
        "Object ACL Updated",
        "Object Tags Added",
        "Object Tags Deleted",
    }
)

_NOTIFICATION_CREATED: Final = "ObjectCreated:"
_NOTIFICATION_OTHERS: Final = (
    "ObjectRemoved:",
    "ObjectRestore:",
    "ObjectTagging:",
    "ObjectAcl:",
    "LifecycleExpiration:",
    "LifecycleTransition",
    "IntelligentTiering",
    "Replication:",
    "ReducedRedundancyLostObject",
)

_NOT_AN_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")


def notification(record: Mapping[str, object], path: str, _depth: int) -> Iterator[Decoded]:
    """The hint of one record of a direct notification, version 2 of its structure."""
    if text(record, path, "eventVersion").partition(".")[0] != "2":
        raise UnintelligibleError(RefusalReason.UNKNOWN_VERSION, f"{path}.eventVersion")
    name = text(record, path, "eventName").removeprefix("s3:")
    if name.startswith(_NOTIFICATION_CREATED):
        encoded, where = text(record, path, "s3.object.key"), f"{path}.s3.object"
        key = key_of(_form_decoded(encoded, f"{where}.key"), f"{where}.key")
        described = mapping(mapping(record["s3"], path)["object"], where)
        yield ObjectSeen(bucket(record, path, "s3.bucket.name"), key, *version_of(described, "versionId"))
        return
    for other in _NOTIFICATION_OTHERS:
        if name.startswith(other):
            yield Nothing(other.rstrip(":"))
            return
    raise UnintelligibleError(RefusalReason.UNKNOWN_KIND, f"{path}.eventName")


def object_event_of(event: Mapping[str, object], path: str, _depth: int) -> Iterator[Decoded]:
    """The hint of an event from EventBridge."""
    kind = text(event, path, "detail-type")
    if kind in _S3_OTHERS:
        yield Nothing(kind)
        return
    if kind != _S3_CREATED:
        raise UnintelligibleError(RefusalReason.UNKNOWN_KIND, f"{path}.detail-type")
    if text(event, path, "detail.version") != "0":
        raise UnintelligibleError(RefusalReason.UNKNOWN_VERSION, f"{path}.detail.version")
    key = key_of(text(event, path, "detail.object.key"), f"{path}.detail.object.key")
    described = mapping(mapping(event["detail"], path)["object"], path)
    yield ObjectSeen(bucket(event, path, "detail.bucket.name"), key, *version_of(described, "version-id"))


def configuration_test(document: Mapping[str, object], path: str, _depth: int) -> Iterator[Decoded]:
    """The document that S3 sends when notifications are configured: nothing to do."""
    if text(document, path, "Event") != "s3:TestEvent":
        raise UnintelligibleError(RefusalReason.UNKNOWN_KIND, f"{path}.Event")
    yield Nothing("s3:TestEvent")


def _form_decoded(encoded: str, path: str) -> str:
    if _NOT_AN_ESCAPE.search(encoded):
        raise UnintelligibleError(RefusalReason.BAD_KEY, path)
    try:
        return unquote_plus(encoded, errors="strict")
    except UnicodeDecodeError:
        raise UnintelligibleError(RefusalReason.BAD_KEY, path) from None


# ---- Decoding of event documents ----
# An event is only a hint that something may have happened; what is true is read from S3, EMR Serverless and DynamoDB
# afterwards.
#
#     document ── Records ──┬─ aws:s3    one hint a record, key form-encoded
#                           ├─ aws:sqs   the document in `body`
#                           └─ aws:sns   the document in `Sns.Message`
#              ── detail-type ┬─ aws.s3              key raw
#                             └─ aws.emr-serverless  a job run moved
#              ── Type: Notification                 the document in `Message` (SNS without raw delivery)
#              ── Event: s3:TestEvent                nothing to do
#              ── requestPayload                     an invocation of the judge function ended


MAX_CHARACTERS: Final = 1024 * 1024
"""SQS carries no larger message; a larger one is not from AWS."""
MAX_ENVELOPES: Final = 4
"""EventBridge to SNS to SQS to Lambda nests three; one to spare."""


def decode(document: object) -> tuple[Decoded, ...]:
    """The hints of a document, in its order: at least one element, and one for each record of a batch.

    `document` is JSON text, or what JSON text was parsed to. A record that cannot be understood is one `Unintelligible`
    among the others, so that it delays none of them.
    """
    return tuple(_guarded(_document, document, "$", 0))


def _guarded(
    decoder: Callable[[object, str, int], Iterator[Decoded]], document: object, path: str, depth: int
) -> Iterator[Decoded]:
    try:
        yield from decoder(document, path, depth)
    except UnintelligibleError as refused:
        yield Unintelligible(refused.reason, refused.path)


def _document(document: object, path: str, depth: int) -> Iterator[Decoded]:
    if depth > MAX_ENVELOPES:
        raise UnintelligibleError(RefusalReason.TOO_DEEP, path)
    parsed = mapping(_parsed(document, path), path)
    for marker, decoder in _BY_MARKER.items():
        if marker in parsed:
            return decoder(parsed, path, depth)
    raise UnintelligibleError(RefusalReason.UNKNOWN_KIND, path)


def _parsed(document: object, path: str) -> object:
    if not isinstance(document, str):
        return document
    if len(document) > MAX_CHARACTERS:
        raise UnintelligibleError(RefusalReason.TOO_LARGE, path)
    try:
        return json.loads(document)
    except RecursionError:
        raise UnintelligibleError(RefusalReason.TOO_DEEP, path) from None
    except ValueError:
        raise UnintelligibleError(RefusalReason.NOT_JSON, path) from None


def _batch(batch: Mapping[str, object], path: str, depth: int) -> Iterator[Decoded]:
    records = batch["Records"]
    if not isinstance(records, list):
        raise UnintelligibleError(RefusalReason.WRONG_TYPE, f"{path}.Records")
    if not records:
        raise UnintelligibleError(RefusalReason.EMPTY_BATCH, f"{path}.Records")
    for place, record in enumerate(records):
        yield from _guarded(_record, record, f"{path}.Records[{place}]", depth)


def _record(record: object, path: str, depth: int) -> Iterator[Decoded]:
    known = mapping(record, path)
    source = text(known, path, "EventSource" if "EventSource" in known else "eventSource")
    decoder = _BY_RECORD_SOURCE.get(source)
    if decoder is None:
        raise UnintelligibleError(RefusalReason.FOREIGN_SOURCE, f"{path}.eventSource")
    return decoder(known, path, depth)


def _event(event: Mapping[str, object], path: str, depth: int) -> Iterator[Decoded]:
    if text(event, path, "version") != "0":
        raise UnintelligibleError(RefusalReason.UNKNOWN_VERSION, f"{path}.version")
    decoder = _BY_EVENT_SOURCE.get(text(event, path, "source"))
    if decoder is None:
        raise UnintelligibleError(RefusalReason.FOREIGN_SOURCE, f"{path}.source")
    return decoder(event, path, depth)


def _inside(field: str) -> Callable[[Mapping[str, object], str, int], Iterator[Decoded]]:
    def envelope(outer: Mapping[str, object], path: str, depth: int) -> Iterator[Decoded]:
        return _document(text(outer, path, field), f"{path}.{field}", depth + 1)

    return envelope


def _sns(document: Mapping[str, object], path: str, depth: int) -> Iterator[Decoded]:
    if text(document, path, "Type") != "Notification":
        raise UnintelligibleError(RefusalReason.UNKNOWN_KIND, f"{path}.Type")
    return _inside("Message")(document, path, depth)


_BY_MARKER: Final = {
    "Records": _batch,
    "detail-type": _event,
    "Event": configuration_test,
    "Type": _sns,
    "requestPayload": record_of,
}

_BY_RECORD_SOURCE: Final = {"aws:s3": notification, "aws:sqs": _inside("body"), "aws:sns": _inside("Sns.Message")}
_BY_EVENT_SOURCE: Final = {"aws.s3": object_event_of, "aws.emr-serverless": run_event_of}
