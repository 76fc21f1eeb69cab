"""Uploads by producers without rights of their own, and the hint to intake that one has ended."""

from __future__ import annotations

from typing import Protocol


class UploadGate(Protocol):
    """The landing bucket, for producers who may not write to it."""

    def url(self, key: str, size: int, sha256: str, seconds: int) -> str:
        """A URL that takes one PUT of exactly these bytes at this key, if no object is there, for so many seconds.

        `sha256`: in Base64. The request must have the headers of `headers`. Nothing is sent to AWS.
        """
        ...

    def landed(self, key: str) -> None:
        """Give the gate the hint that an object landed, as S3's event does. Harmless however often, and if nothing landed."""
        ...


def headers(size: int, sha256: str) -> dict[str, str]:
    """The headers of the PUT, which its URL is signed with."""
    return {"content-length": str(size), "if-none-match": "*", "x-amz-checksum-sha256": sha256}
