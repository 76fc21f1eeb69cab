"""The readers' manifest of a line as one document, whether the lake has it in one or in a head and segments."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lakegate.contracts.errors import InputError
from lakegate.contracts.schemas import validate
from lakegate.functions.ports.errors import NotFound
from lakegate.functions.ports.objects import Address
from lakegate.functions.usecases.layout import segment_key

if TYPE_CHECKING:
    from lakegate.functions.usecases.dependencies import Dependencies


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


def whole(dependencies: Dependencies, head: dict[str, Any], since: int) -> dict[str, Any]:
    """The manifest with the deliveries of every segment that reaches above a height, and with no segments.

    Raises InputError where a segment is missing, or is another one than its key names.
    """
    segments = head.get("segments")
    if segments is None:  # of an older release, or of a line without accepted deliveries
        return head
    heights = segments["heights"]
    firsts = range(max(since + 1, 0) // heights * heights, segments["count"] * heights, heights)
    below = [each for first in firsts for each in _segment(dependencies, head["line"], first, heights)]
    return {**head, "segments": {**segments, "count": 0}, "deliveries": [*below, *head["deliveries"]]}


def _segment(dependencies: Dependencies, line: str, first: int, heights: int) -> list[dict[str, Any]]:
    try:
        segment = read_manifest(dependencies, segment_key(line, first), line)
    except NotFound:
        raise InputError(f"the segment of the manifest of {line} from height {first} is missing") from None
    if segment["height"] != first + heights - 1:
        raise InputError(f"the segment of the manifest of {line} from height {first} is another one")
    deliveries: list[dict[str, Any]] = segment["deliveries"]
    return deliveries
