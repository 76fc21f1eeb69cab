"""The readers' manifest of a line as a reader has it: validated, and as one document or its newest deliveries."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from lakegate.contracts.errors import InputError
from lakegate.contracts.schemas import validate
from lakegate.functions.ports.errors import NotFound
from lakegate.functions.ports.objects import Address
from lakegate.functions.usecases.layout import SEGMENTS, manifest_key, segment_key

if TYPE_CHECKING:
    from lakegate.functions.usecases.dependencies import Dependencies

CLOCKS: Final = timedelta(hours=1)
"""The most by which the clocks of two Lambdas differ: a delivery of a greater height may state a time that is earlier by this."""
MAX_SEGMENTS: Final = 20
"""Segments that are read for the newest deliveries: one may list few, where many deliveries were rejected."""


def read_manifest(dependencies: Dependencies, key: str, line: str) -> dict[str, Any]:
    """A head, or a segment, of a line. Raises NotFound; InputError for what is none of this line."""
    body = dependencies.objects.read(Address(dependencies.places.lake, key))
    try:
        manifest: dict[str, Any] = json.loads(body)
    except (ValueError, RecursionError):
        raise InputError(f"the manifest of {line} is not JSON") from None
    validate("manifest", manifest)
    if manifest["line"] != line:
        raise InputError(f"the manifest of {line} is that of another line")
    return manifest


def whole(
    dependencies: Dependencies, head: dict[str, Any], since: int, until: datetime | None = None
) -> dict[str, Any]:
    """The manifest with the deliveries of every segment that reaches above a height, and with no segments.

    Of deliveries that were published after a time it may have none. Raises InputError where a segment is missing, or is another
    one than its key names.
    """
    segments = head.get("segments")
    if segments is None:  # of an older release, or of a line without accepted deliveries
        return head
    heights, folder = segments["heights"], segments.get("folder", SEGMENTS)
    firsts = range(max(since + 1, 0) // heights * heights, segments["count"] * heights, heights)
    found = []
    for first in firsts:
        part = _segment(dependencies, head["line"], folder, first, heights)
        if until is not None and part and all(_published(each) > until + CLOCKS for each in part):
            break
        found += part
    else:
        found += head["deliveries"]
    return {**head, "segments": {**segments, "count": 0}, "deliveries": found}


def published_since(dependencies: Dependencies, head: dict[str, Any], begin: datetime) -> tuple[dict[str, Any], int]:
    """The manifest with what was published since a time, and with no segments; and the height above which that is.

    Segments are read from the newest one down to one that lists an earlier delivery, by more than clocks differ. Raises
    InputError as `whole` does.
    """
    segments = head.get("segments") or {"count": 0, "heights": 1}
    heights, folder = segments["heights"], segments.get("folder", SEGMENTS)
    part = found = head["deliveries"]
    number = segments["count"]
    while number > 0 and all(_published(each) + CLOCKS >= begin for each in part):
        number -= 1
        part = _segment(dependencies, head["line"], folder, number * heights, heights)
        found = part + found
    first = min((each["height"] for each in found if _published(each) >= begin), default=head["height"] + 1)
    before = max((each["height"] for each in found if each["height"] < first), default=number * heights - 1)
    return {
        **head,
        **({"segments": {**segments, "count": 0}} if "segments" in head else {}),
        "deliveries": found,
    }, before


def _published(delivery: dict[str, Any]) -> datetime:
    """The time of a delivery; long ago where an older release listed none."""
    at = delivery.get("published_at")
    return datetime.min.replace(tzinfo=UTC) if at is None else datetime.fromisoformat(at)


def newest(dependencies: Dependencies, line: str, limit: int) -> list[dict[str, Any]]:
    """At most so many accepted deliveries of a line, the newest first; fewer where they are far apart. Raises InputError."""
    try:
        head = read_manifest(dependencies, manifest_key(line), line)
    except NotFound:
        return []
    found: list[dict[str, Any]] = head["deliveries"]
    segments = head.get("segments") or {"count": 0, "heights": 1}
    last, folder = segments["count"] - 1, segments.get("folder", SEGMENTS)
    for number in range(last, max(last - MAX_SEGMENTS, -1), -1):
        if len(found) >= limit:
            break
        found = [*_segment(dependencies, line, folder, number * segments["heights"], segments["heights"]), *found]
    return found[::-1][:limit]


def _segment(dependencies: Dependencies, line: str, folder: str, first: int, heights: int) -> list[dict[str, Any]]:
    try:
        segment = read_manifest(dependencies, segment_key(line, first, folder), line)
    except NotFound:
        raise InputError(f"the segment of the manifest of {line} from height {first} is missing") from None
    if segment["height"] != first + heights - 1:
        raise InputError(f"the segment of the manifest of {line} from height {first} is another one")
    deliveries: list[dict[str, Any]] = segment["deliveries"]
    return deliveries
