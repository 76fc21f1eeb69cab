"""Events of S3. EventBridge carries an object key raw; a direct notification carries it form-encoded (a space is `+`).

Decoding one with the rule of the other names another object.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote_plus

from lakegate.functions.events.fields import bucket, key_of, mapping, text, version_of
from lakegate.functions.events.hints import Decoded, Nothing, ObjectSeen, RefusalReason, UnintelligibleError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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


def event_of(event: Mapping[str, object], path: str, _depth: int) -> Iterator[Decoded]:
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
