"""What a run writes on its way to S3: files piece by piece, in parts where they are larger than one request may be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pathlib import Path

    from mypy_boto3_s3.client import S3Client

WHOLE: Final = 1 << 30
"""Bytes of one request; S3 takes up to 5 GiB."""
PART: Final = 64 << 20
"""Bytes of a part, which is in memory; more where there would be too many."""
MAX_PARTS: Final = 10_000


def uploaded(client: S3Client, content: bytes | Path, at: dict[str, Any], kind: str) -> None:
    """Write bytes or a file as an object that must not exist yet; `at`: bucket and key; `kind`: its media type."""
    if isinstance(content, bytes):
        client.put_object(Body=content, IfNoneMatch="*", ContentType=kind, **at)
        return
    size = content.stat().st_size
    with content.open("rb") as body:
        if size <= WHOLE:
            client.put_object(Body=body, IfNoneMatch="*", ContentType=kind, **at)
            return
        upload = {"UploadId": client.create_multipart_upload(ContentType=kind, **at)["UploadId"], **at}
        try:
            parts: list[Any] = []
            while piece := body.read(max(PART, -(-size // MAX_PARTS))):
                answer = client.upload_part(PartNumber=len(parts) + 1, Body=piece, **upload)
                parts.append({"PartNumber": len(parts) + 1, "ETag": answer["ETag"]})
            client.complete_multipart_upload(MultipartUpload={"Parts": parts}, IfNoneMatch="*", **upload)
        except BaseException:
            client.abort_multipart_upload(**upload)
            raise
