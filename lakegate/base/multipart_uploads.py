"""The parts of a multipart upload to S3."""

from __future__ import annotations

from typing import Final

MAX_PARTS: Final = 10_000
"""Parts of one upload (https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html)."""


def part_size(size: int, least: int) -> int:
    """Bytes of a part of an object with `size` bytes: more than `least` where there would be too many parts."""
    return max(least, -(-size // MAX_PARTS))
