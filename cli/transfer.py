"""A file on its way into the landing bucket, whole or not at all, every byte verified by S3 on arrival.

The file is read once for its checksums, and once more to be sent; what changed in between never lands.

* Up to 16 MiB: one PutObject with the SHA-256 of the first reading, so that S3 refuses what the second found.
* Above: parts, four at a time, each with its CRC-32. S3 keeps that of the *whole* (it knows SHA-256 of parts only part
  by part), the two readings are compared before the upload is completed, and S3's sum with ours where it returns one.
  Whatever ends the upload early, Ctrl-C included, also removes the parts that had arrived.
"""

from __future__ import annotations

import base64
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from itertools import count, islice
from typing import TYPE_CHECKING, Any, Final

from lakegate.contracts.errors import InputError
from lakegate.functions.adapters.errors import port_errors
from lakegate.functions.ports.errors import PortError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mypy_boto3_s3 import S3Client

WHOLE: Final = 16 * 1024 * 1024
MAX_PARTS: Final = 10_000
AT_ONCE: Final = 4
BLOCK: Final = 1024 * 1024
CHANGED: Final = "changed while it was on its way: upload it again"


@dataclass(frozen=True, slots=True)
class Local:
    """A file as it was read once, from its beginning to its end."""

    path: Path
    size: int
    sha256: str
    """In hexadecimal."""
    crc32: int


@dataclass(frozen=True, slots=True)
class To:
    """One key of a bucket that belongs to an account."""

    bucket: str
    key: str
    owner: str

    def request(self) -> dict[str, Any]:
        """Parameters of every call."""
        return {"Bucket": self.bucket, "Key": self.key, "ExpectedBucketOwner": self.owner}


def read(path: Path) -> Local:
    """Size and checksums. Raises InputError for what is not a file that can be read."""
    digest, crc, size = sha256(), 0, 0
    if path.exists() and not path.is_file() and not path.is_dir():
        raise InputError(f"{path} cannot be read: it is not a regular file, and a file is read twice")
    try:
        with path.open("rb") as file:
            while block := file.read(BLOCK):
                digest.update(block)
                crc = zlib.crc32(block, crc)
                size += len(block)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "the name holds a NUL character"
        raise InputError(f"{path} cannot be read: {reason}") from None
    return Local(path, size, digest.hexdigest(), crc)


def send(s3: S3Client, local: Local, to: To, arrived: Callable[[int], None], whole: int = WHOLE) -> str:
    """Upload; `arrived` is called with each number of bytes. Returns the version id. Raises PortError, InputError."""
    way = _put if local.size <= whole else partial(_in_parts, size=whole)
    try:
        with port_errors():
            return way(s3, local, to, arrived)
    except OSError as error:
        raise InputError(f"{local.path} cannot be read any more: {error.strerror}") from None


def _put(s3: S3Client, local: Local, to: To, arrived: Callable[[int], None]) -> str:
    checksum = base64.b64encode(bytes.fromhex(local.sha256)).decode()
    body = local.path.read_bytes()
    answer = s3.put_object(Body=body, ChecksumAlgorithm="SHA256", ChecksumSHA256=checksum, **to.request())
    arrived(local.size)
    return answer.get("VersionId", "null")


def _in_parts(s3: S3Client, local: Local, to: To, arrived: Callable[[int], None], size: int) -> str:
    begun = s3.create_multipart_upload(ChecksumAlgorithm="CRC32", ChecksumType="FULL_OBJECT", **to.request())
    upload: dict[str, Any] = {"UploadId": begun["UploadId"], **to.request()}
    try:
        parts = _sent(s3, local, upload, arrived, max(size, -(-local.size // MAX_PARTS)))
        answer = s3.complete_multipart_upload(
            MultipartUpload={"Parts": parts}, MpuObjectSize=local.size, ChecksumType="FULL_OBJECT", **upload
        )
    except BaseException:
        s3.abort_multipart_upload(**upload)
        raise
    if answer.get("ChecksumType") == "FULL_OBJECT" and answer.get("ChecksumCRC32") != _encoded(local.crc32):
        raise PortError("CompleteMultipartUpload: BadDigest")
    return answer.get("VersionId", "null")


def _sent(s3: S3Client, local: Local, upload: dict[str, Any], arrived: Callable[[int], None], size: int) -> list[Any]:
    """The parts as CompleteMultipartUpload wants them, of a file that is what it was. Holds four parts in memory."""

    def part(number: int, body: bytes) -> dict[str, Any]:
        checksum = _encoded(zlib.crc32(body))
        answer = s3.upload_part(PartNumber=number, Body=body, ChecksumCRC32=checksum, **upload)
        arrived(len(body))
        return {"PartNumber": number, "ETag": answer["ETag"], "ChecksumCRC32": checksum}

    crc, parts = 0, list[Any]()
    with local.path.open("rb") as file, ThreadPoolExecutor(AT_ONCE) as workers:
        numbers = count(1)
        while bodies := [body for _ in range(AT_ONCE) if (body := file.read(size))]:
            for body in bodies:
                crc = zlib.crc32(body, crc)
            parts += workers.map(part, islice(numbers, len(bodies)), bodies)
    if crc != local.crc32:
        raise InputError(f"{local.path} {CHANGED}")
    return parts


def _encoded(crc: int) -> str:
    return base64.b64encode(crc.to_bytes(4)).decode()
