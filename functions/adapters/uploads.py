"""Uploads by a URL that this function signs, and hints to intake by its queue."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakegate.functions.adapters.errors import port_errors

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sqs import SQSClient


@dataclass(frozen=True, slots=True)
class PresignedUploads:
    """UploadGate.

    The signature covers the length, the checksum and `If-None-Match`: S3 refuses another length, a body of another checksum,
    and a second object at the key (https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-presigned-url.html,
    https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html). The URL ends with the credentials that sign it
    if these end earlier.
    """

    s3: S3Client
    sqs: SQSClient
    landing: str
    queue: str
    """URL of intake's queue; empty where the stack's settings do not name it."""

    def url(self, key: str, size: int, sha256: str, seconds: int) -> str:
        """A presigned PutObject."""
        request = {
            "Bucket": self.landing,
            "Key": key,
            "ContentLength": size,
            "ChecksumSHA256": sha256,
            "IfNoneMatch": "*",
        }
        url: str = self.s3.generate_presigned_url("put_object", Params=request, ExpiresIn=seconds, HttpMethod="PUT")
        return url

    def landed(self, key: str) -> None:
        """A message of the form of EventBridge's event, of which intake reads bucket and key."""
        detail = {"version": "0", "bucket": {"name": self.landing}, "object": {"key": key}}
        event = {"version": "0", "source": "aws.s3", "detail-type": "Object Created", "detail": detail}
        with port_errors():
            self.sqs.send_message(QueueUrl=self.queue, MessageBody=json.dumps(event))
