"""Event documents of every kind, turned into hints. Pure: a document in, hints out, nothing raised.

An event is only a hint that something may have happened; what is true is read from S3, EMR Serverless and DynamoDB
afterwards. Two encodings of an object key exist and must never be mixed: EventBridge carries the key raw, a direct S3
notification carries it form-encoded (a space is `+`). Decoding one with the rule of the other names another object.

::

    document ── Records ──┬─ aws:s3    one hint a record, key form-encoded
                          ├─ aws:sqs   the document in `body`
                          └─ aws:sns   the document in `Sns.Message`
             ── detail-type ┬─ aws.s3              key raw
                            └─ aws.emr-serverless  a job run moved
             ── Type: Notification                 the document in `Message` (SNS without raw delivery)
             ── Event: s3:TestEvent                nothing to do
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import unquote_plus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

MAX_CHARACTERS: Final = 1024 * 1024
"""SQS carries no larger message; a larger one is not from AWS."""
MAX_ENVELOPES: Final = 4
"""EventBridge to SNS to SQS to Lambda nests three; one to spare."""
MAX_KEY_BYTES: Final = 1024


class Why(StrEnum):
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


@dataclass(frozen=True, slots=True)
class JobMoved:
    """A job run may have reached `state`. Whether it has is read from EMR Serverless, and from its result."""

    application: str
    job_run: str
    state: str


@dataclass(frozen=True, slots=True)
class Nothing:
    """A document that was understood and needs no action: `kind` is AWS's name for it, from a closed list."""

    kind: str


@dataclass(frozen=True, slots=True)
class Unintelligible:
    """A document for the dead-letter queue. `path` is where it stopped making sense; no text of the document."""

    reason: Why
    path: str


Decoded: TypeAlias = ObjectSeen | JobMoved | Nothing | Unintelligible

JOB_STATES: Final = frozenset(
    {"SUBMITTED", "QUEUED", "PENDING", "SCHEDULED", "RUNNING", "SUCCESS", "FAILED", "CANCELLING", "CANCELLED"}
)
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
_JOB_MOVED: Final = "EMR Serverless Job Run State Change"
_EMR_OTHERS: Final = frozenset(
    {
        "EMR Serverless Application State Change",
        "EMR Serverless Job Run Retry",
        "EMR Serverless Job Resource Utilization Update",
    }
)
_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_ID: Final = re.compile(r"[0-9a-z]{1,64}")
_NOT_AN_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")


class _RefusedError(Exception):
    """Ends the decoding of one record; never leaves this module."""

    def __init__(self, reason: Why, path: str) -> None:
        super().__init__(reason, path)
        self.reason = reason
        self.path = path


def decode(document: object) -> tuple[Decoded, ...]:
    """What a document hints at, in its own order: at least one element, and one for each record of a batch.

    `document` is JSON text, or what JSON text was parsed to. A record that cannot be understood is one `Unintelligible`
    among the others, so that it delays none of them.
    """
    return tuple(_guarded(_document, document, "$", 0))


def _guarded(
    decoder: Callable[[object, str, int], Iterator[Decoded]], document: object, path: str, depth: int
) -> Iterator[Decoded]:
    try:
        yield from decoder(document, path, depth)
    except _RefusedError as refused:
        yield Unintelligible(refused.reason, refused.path)


def _document(document: object, path: str, depth: int) -> Iterator[Decoded]:
    if depth > MAX_ENVELOPES:
        raise _RefusedError(Why.TOO_DEEP, path)
    parsed = _mapping(_parsed(document, path), path)
    for marker, decoder in _BY_MARKER.items():
        if marker in parsed:
            return decoder(parsed, path, depth)
    raise _RefusedError(Why.UNKNOWN_KIND, path)


def _parsed(document: object, path: str) -> object:
    if not isinstance(document, str):
        return document
    if len(document) > MAX_CHARACTERS:
        raise _RefusedError(Why.TOO_LARGE, path)
    try:
        return json.loads(document)
    except RecursionError:
        raise _RefusedError(Why.TOO_DEEP, path) from None
    except ValueError:
        raise _RefusedError(Why.NOT_JSON, path) from None


def _batch(batch: Mapping[str, object], path: str, depth: int) -> Iterator[Decoded]:
    records = batch["Records"]
    if not isinstance(records, list):
        raise _RefusedError(Why.WRONG_TYPE, f"{path}.Records")
    if not records:
        raise _RefusedError(Why.EMPTY_BATCH, f"{path}.Records")
    for place, record in enumerate(records):
        yield from _guarded(_record, record, f"{path}.Records[{place}]", depth)


def _record(record: object, path: str, depth: int) -> Iterator[Decoded]:
    known = _mapping(record, path)
    source = _text(known, path, "EventSource" if "EventSource" in known else "eventSource")
    decoder = _BY_RECORD_SOURCE.get(source)
    if decoder is None:
        raise _RefusedError(Why.FOREIGN_SOURCE, f"{path}.eventSource")
    return decoder(known, path, depth)


def _notification(record: Mapping[str, object], path: str, _depth: int) -> Iterator[Decoded]:
    if _text(record, path, "eventVersion").partition(".")[0] != "2":
        raise _RefusedError(Why.UNKNOWN_VERSION, f"{path}.eventVersion")
    name = _text(record, path, "eventName").removeprefix("s3:")
    if name.startswith(_NOTIFICATION_CREATED):
        key = _form_decoded(_text(record, path, "s3.object.key"), f"{path}.s3.object.key")
        yield ObjectSeen(_bucket(record, path, "s3.bucket.name"), _key(key, f"{path}.s3.object.key"))
        return
    for other in _NOTIFICATION_OTHERS:
        if name.startswith(other):
            yield Nothing(other.rstrip(":"))
            return
    raise _RefusedError(Why.UNKNOWN_KIND, f"{path}.eventName")


def _event(event: Mapping[str, object], path: str, depth: int) -> Iterator[Decoded]:
    if _text(event, path, "version") != "0":
        raise _RefusedError(Why.UNKNOWN_VERSION, f"{path}.version")
    decoder = _BY_EVENT_SOURCE.get(_text(event, path, "source"))
    if decoder is None:
        raise _RefusedError(Why.FOREIGN_SOURCE, f"{path}.source")
    return decoder(event, path, depth)


def _s3_event(event: Mapping[str, object], path: str, _depth: int) -> Iterator[Decoded]:
    kind = _text(event, path, "detail-type")
    if kind in _S3_OTHERS:
        yield Nothing(kind)
        return
    if kind != _S3_CREATED:
        raise _RefusedError(Why.UNKNOWN_KIND, f"{path}.detail-type")
    if _text(event, path, "detail.version") != "0":
        raise _RefusedError(Why.UNKNOWN_VERSION, f"{path}.detail.version")
    key = _key(_text(event, path, "detail.object.key"), f"{path}.detail.object.key")
    yield ObjectSeen(_bucket(event, path, "detail.bucket.name"), key)


def _emr_event(event: Mapping[str, object], path: str, _depth: int) -> Iterator[Decoded]:
    kind = _text(event, path, "detail-type")
    if kind in _EMR_OTHERS:
        yield Nothing(kind)
        return
    if kind != _JOB_MOVED:
        raise _RefusedError(Why.UNKNOWN_KIND, f"{path}.detail-type")
    state = _text(event, path, "detail.state")
    if state not in JOB_STATES:
        raise _RefusedError(Why.UNKNOWN_STATE, f"{path}.detail.state")
    yield JobMoved(_id(event, path, "detail.applicationId"), _id(event, path, "detail.jobRunId"), state)


def _inside(field: str) -> Callable[[Mapping[str, object], str, int], Iterator[Decoded]]:
    def envelope(outer: Mapping[str, object], path: str, depth: int) -> Iterator[Decoded]:
        return _document(_text(outer, path, field), f"{path}.{field}", depth + 1)

    return envelope


def _test(document: Mapping[str, object], path: str, _depth: int) -> Iterator[Decoded]:
    if _text(document, path, "Event") != "s3:TestEvent":
        raise _RefusedError(Why.UNKNOWN_KIND, f"{path}.Event")
    yield Nothing("s3:TestEvent")


def _sns(document: Mapping[str, object], path: str, depth: int) -> Iterator[Decoded]:
    if _text(document, path, "Type") != "Notification":
        raise _RefusedError(Why.UNKNOWN_KIND, f"{path}.Type")
    return _inside("Message")(document, path, depth)


def _mapping(value: object, path: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise _RefusedError(Why.WRONG_TYPE, path)
    return value


def _text(document: Mapping[str, object], path: str, dotted: str) -> str:
    value: object = document
    for name in dotted.split("."):
        inner = _mapping(value, path)
        path = f"{path}.{name}"
        if name not in inner:
            raise _RefusedError(Why.MISSING_FIELD, path)
        value = inner[name]
    if not isinstance(value, str):
        raise _RefusedError(Why.WRONG_TYPE, path)
    return value


def _bucket(document: Mapping[str, object], path: str, dotted: str) -> str:
    name = _text(document, path, dotted)
    if not _BUCKET.fullmatch(name):
        raise _RefusedError(Why.BAD_BUCKET, f"{path}.{dotted}")
    return name


def _id(document: Mapping[str, object], path: str, dotted: str) -> str:
    name = _text(document, path, dotted)
    if not _ID.fullmatch(name):
        raise _RefusedError(Why.BAD_ID, f"{path}.{dotted}")
    return name


def _form_decoded(encoded: str, path: str) -> str:
    if _NOT_AN_ESCAPE.search(encoded):
        raise _RefusedError(Why.BAD_KEY, path)
    try:
        return unquote_plus(encoded, errors="strict")
    except UnicodeDecodeError:
        raise _RefusedError(Why.BAD_KEY, path) from None


def _key(key: str, path: str) -> str:
    try:
        size = len(key.encode())
    except UnicodeEncodeError:
        raise _RefusedError(Why.BAD_KEY, path) from None
    if not 0 < size <= MAX_KEY_BYTES:
        raise _RefusedError(Why.BAD_KEY, path)
    return key


_BY_MARKER: Final = {"Records": _batch, "detail-type": _event, "Event": _test, "Type": _sns}
_BY_RECORD_SOURCE: Final = {"aws:s3": _notification, "aws:sqs": _inside("body"), "aws:sns": _inside("Sns.Message")}
_BY_EVENT_SOURCE: Final = {"aws.s3": _s3_event, "aws.emr-serverless": _emr_event}
