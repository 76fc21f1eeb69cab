"""Objects of the landing bucket that are written in parts, on S3."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakegate.functions.adapters.checksums import arrived_parts, part_of
from lakegate.functions.adapters.errors import port_errors
from lakegate.functions.ports.errors import NotFound
from lakegate.functions.ports.transfers import LandedPart

if TYPE_CHECKING:
    from collections.abc import Iterator

ALGORITHM = "CRC32"
"""Of each part and of the whole: what botocore computes without a further library."""


@dataclass(frozen=True, slots=True)
class S3LandingParts:
    """LandingParts."""

    client: Any
    bucket: str
    owner: str
    """The account that the bucket must belong to."""

    def begin(self, key: str) -> str:
        """CreateMultipartUpload."""
        with port_errors():
            upload: str = self.client.create_multipart_upload(
                ChecksumAlgorithm=ALGORITHM, ChecksumType="FULL_OBJECT", **self._at(key)
            )["UploadId"]
        return upload

    def add(self, key: str, upload: str, number: int, body: bytes) -> None:
        """UploadPart."""
        with port_errors():
            self.client.upload_part(
                UploadId=upload, PartNumber=number, Body=body, ChecksumAlgorithm=ALGORITHM, **self._at(key)
            )

    def arrived(self, key: str, upload: str) -> tuple[LandedPart, ...]:
        """ListParts."""
        return tuple(LandedPart(each["PartNumber"], each["Size"], each["ETag"]) for each in self._parts(key, upload))

    def complete(self, key: str, upload: str) -> None:
        """CompleteMultipartUpload of the parts that S3 has, if nothing is at the key."""
        parts: list[Any] = [part_of(each, each["PartNumber"]) for each in self._parts(key, upload)]
        with port_errors("absent"):
            self.client.complete_multipart_upload(
                UploadId=upload, MultipartUpload={"Parts": parts}, IfNoneMatch="*", **self._at(key)
            )

    def abort(self, key: str, upload: str) -> None:
        """AbortMultipartUpload."""
        with suppress(NotFound), port_errors():
            self.client.abort_multipart_upload(UploadId=upload, **self._at(key))

    def _parts(self, key: str, upload: str) -> Iterator[Any]:
        with port_errors():
            yield from arrived_parts(self.client, {"UploadId": upload, **self._at(key)})

    def _at(self, key: str) -> dict[str, Any]:
        return {"Bucket": self.bucket, "Key": key, "ExpectedBucketOwner": self.owner}
