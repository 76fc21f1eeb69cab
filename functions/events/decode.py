"""Decodes event documents of every source to hints. Pure: a document in, hints out, nothing raised.

An event is only a hint that something may have happened; what is true is read from S3, EMR Serverless and DynamoDB
afterwards.

::

    document ── Records ──┬─ aws:s3    one hint a record, key form-encoded
                          ├─ aws:sqs   the document in `body`
                          └─ aws:sns   the document in `Sns.Message`
             ── detail-type ┬─ aws.s3              key raw
                            └─ aws.emr-serverless  a job run moved
             ── Type: Notification                 the document in `Message` (SNS without raw delivery)
             ── Event: s3:TestEvent                nothing to do
             ── requestPayload                     an invocation of the judge function ended
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from lakegate.functions.events import emr, invocations, s3
from lakegate.functions.events.fields import mapping, text
from lakegate.functions.events.hints import Decoded, RefusalReason, Unintelligible, UnintelligibleError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

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
    "Event": s3.configuration_test,
    "Type": _sns,
    "requestPayload": invocations.record_of,
}
_BY_RECORD_SOURCE: Final = {"aws:s3": s3.notification, "aws:sqs": _inside("body"), "aws:sns": _inside("Sns.Message")}
_BY_EVENT_SOURCE: Final = {"aws.s3": s3.event_of, "aws.emr-serverless": emr.event_of}
