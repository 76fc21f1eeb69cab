"""Messages that name objects in buckets of producers, as hints: events of S3, which S3 or EventBridge sends, and claim checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import unquote_plus

from lakegate.aws.lambda_events import (
    S3,
    VERSION,
    ObjectSeen,
    RefusalReason,
    Unintelligible,
    UnintelligibleError,
    checked_bucket,
    checked_key,
    landed_object,
    object_at,
    parse_object,
    require,
    text_at,
    version_of,
)
from lakegate.contract.contract_model import is_usable

MAX_RECORDS: Final = 10
"""Of a notification; S3 sends one."""
_CLAIM: Final = frozenset({"object", "version", "contract"})


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
    sent: datetime | None = None
    """The time when SQS got it; None: not known."""


def decode_named(body: str) -> ObjectsNamed | Unintelligible:
    """The objects that the body of a message names; none for the test event of S3."""
    try:
        message = parse_object(body)
        if "object" in message:
            return _claim(message)
        if "Records" in message:
            return _notification(message["Records"])
        if "detail-type" in message:
            require(message, "version", {"0"}, RefusalReason.UNKNOWN_VERSION)
            require(message, "source", {S3}, RefusalReason.FOREIGN_SOURCE)
            return ObjectsNamed((landed_object(message),))
        if message.get("Event") == "s3:TestEvent":
            return ObjectsNamed(())
    except UnintelligibleError as refused:
        return Unintelligible(refused.reason, refused.path)
    return Unintelligible(RefusalReason.UNKNOWN_KIND, "$")


def named_in(record: Mapping[str, Any]) -> ObjectsNamed | Unintelligible:
    """The same of a record of SQS. The body is its sender's; queue, sender and time are stated by Lambda and SQS."""
    named = decode_named(record["body"])
    if isinstance(named, Unintelligible):
        return named
    stated = record.get("attributes", {})
    sent = datetime.fromtimestamp(int(stated["SentTimestamp"]) / 1000, UTC) if "SentTimestamp" in stated else None
    return replace(named, queue=record["eventSourceARN"], sender=stated.get("SenderId", ""), sent=sent)


def refusal(body: str) -> str:
    """The reason why a message names nothing; empty: it names something (extension point `queues`)."""
    named = decode_named(body)
    return str(named.reason) if isinstance(named, Unintelligible) else ""


def _notification(records: object) -> ObjectsNamed:
    """The objects of a notification of S3, with keys encoded as in a form (S3 user guide, Event message structure)."""
    if not isinstance(records, list) or not records:
        raise UnintelligibleError(RefusalReason.WRONG_TYPE, "$.Records")
    if len(records) > MAX_RECORDS:
        raise UnintelligibleError(RefusalReason.TOO_LARGE, "$.Records")
    return ObjectsNamed(tuple(_record(object_at(record, "$.Records[*]")) for record in records))


def _record(record: dict[str, Any]) -> ObjectSeen:
    require(record, "eventSource", {"aws:s3"}, RefusalReason.FOREIGN_SOURCE)
    if not text_at(record, "eventName").startswith("ObjectCreated:"):
        raise UnintelligibleError(RefusalReason.UNKNOWN_KIND, "$.eventName")
    bucket = checked_bucket(text_at(record, "s3.bucket.name"), "$.s3.bucket.name")
    try:
        key = unquote_plus(text_at(record, "s3.object.key"), errors="strict")
    except UnicodeDecodeError:
        raise UnintelligibleError(RefusalReason.BAD_KEY, "$.s3.object.key") from None
    return ObjectSeen(bucket, checked_key(key, "$.s3.object.key"), *version_of(record["s3"]["object"], "versionId"))


def _claim(message: dict[str, Any]) -> ObjectsNamed:
    """The object of a claim check: `{"object": "s3://BUCKET/KEY", "version": "…", "contract": "…"}`, the last two optional."""
    if not message.keys() <= _CLAIM:
        raise UnintelligibleError(RefusalReason.UNKNOWN_KEY, "$")
    scheme, _, place = text_at(message, "object").partition("://")
    if scheme != "s3":
        raise UnintelligibleError(RefusalReason.FOREIGN_SOURCE, "$.object")
    bucket, _, key = place.partition("/")
    version, contract = (text_at({name: ""} | message, name) for name in ("version", "contract"))
    if version and not VERSION.fullmatch(version):
        raise UnintelligibleError(RefusalReason.BAD_ID, "$.version")
    if contract and not is_usable(contract):
        raise UnintelligibleError(RefusalReason.BAD_ID, "$.contract")
    seen = ObjectSeen(checked_bucket(bucket, "$.object"), checked_key(key, "$.object"), version)
    return ObjectsNamed((seen,), contract)
