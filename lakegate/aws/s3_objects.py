"""Objects on S3: copies, checksums, multipart uploads resumed."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lakegate.aws.clients import port_errors
from lakegate.base.errors import ConditionFailed, NotFound, PortError, TransactionConflict, Unfinished
from lakegate.base.json_codec import sha256_of
from lakegate.base.multipart_uploads import part_size
from lakegate.gate.ports import CORRECTS, Address, ObjectVersion, VersionPage, agree
from lakegate.gate.table import Delete, Put, Row, RowAbsent, RowKey, Tables, read_row, workloads_key

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


# ---- Checksums ----
# S3 knows CRCs of a whole object that came in parts, but SHA-256 and SHA-1 only of each part ("Checking object integrity in
# Amazon S3"). 32 bits do not identify content: of 10,000 objects of one size, two share a CRC-32 with a probability of 1 %.


OF_COPIES: Final = "CRC64NVME"
"""The algorithm where the source's own is not kept. S3 computes it itself; 64 bits identify content."""
KEPT: Final = (OF_COPIES, "SHA256", "SHA1")
"""By a copy in one piece, so that both checksums can be compared. A copy in parts can only keep the first one."""
KNOWN: Final = (*KEPT, "CRC32", "CRC32C")


def checksum_of(response: Mapping[str, Any]) -> str:
    """`<algorithm>:<value>` of the whole object that S3 describes; empty where it only knows checksums of parts."""
    if response.get("ChecksumType") == "COMPOSITE":
        return ""
    return next((f"{name.lower()}:{value}" for name, value in _checksums(response).items()), "")


def part_of(response: Mapping[str, Any], number: int) -> dict[str, Any]:
    """A part that S3 describes, in the form in which CompleteMultipartUpload lists it."""
    checksums = {f"Checksum{name}": value for name, value in _checksums(response).items()}
    return {"PartNumber": number, "ETag": response["ETag"]} | checksums


def arrived_parts(client: Any, at: Mapping[str, Any]) -> Iterator[Any]:  # noqa: ANN401 - a client of boto3
    """The parts that an upload has, as S3 describes them."""
    for page in client.get_paginator("list_parts").paginate(**at):
        yield from page.get("Parts", ())


def kept_algorithm(original: ObjectVersion) -> Any:  # noqa: ANN401 - the stubs ask for a literal type of their own
    """The algorithm of a copy in one piece."""
    name = original.checksum.partition(":")[0].upper()
    return name if name in KEPT else OF_COPIES


def _checksums(response: Mapping[str, Any]) -> dict[str, str]:
    found = {name: response.get(f"Checksum{name}", "") for name in KNOWN}
    return {name: value for name, value in found.items() if value and "-" not in value}


# ---- The object store ----
# A large copy goes in parts and survives the function that began it:
#
# 1. look for a note of an upload to this destination; without one, begin an upload and write the note, if still absent (a crash
#    in between leaves an upload without parts, which the bucket's lifecycle ends);
# 2. ask S3 which parts have arrived, copy those that have not, and stop when time is short: Unfinished;
# 3. complete, drop the note.
#
# Two workers on one destination share the noted upload and write the same bytes; the slower finds it completed.


COPY_PART_BYTES: Final = 128 * 1024 * 1024
WHOLE_COPY_LIMIT: Final = 512 * 1024 * 1024
"""CopyObject takes up to 5 GB, but cannot continue after a timeout: larger copies use parts."""
PARTS_AT_ONCE: Final = 10
"""As many connections as a client of botocore keeps. S3 copies the bytes: they do not pass through this process."""
HAND_OVER: Final = 60.0
"""Seconds: with less than this left no further part is begun."""
BEHIND_THE_END: Final = frozenset({"InvalidRange", "416"})


@dataclass(frozen=True, slots=True)
class S3Store:
    """ObjectStore. `remaining` returns how many seconds this invocation has left."""

    client: S3Client
    owner: str
    """The account that both buckets must belong to."""
    uploads: Uploads
    remaining: Callable[[], float] = lambda: float("inf")
    limit: int = WHOLE_COPY_LIMIT
    part: int = COPY_PART_BYTES

    def head(self, address: Address) -> ObjectVersion:
        with port_errors():
            response = self.client.head_object(ChecksumMode="ENABLED", **self._at(address))
        return ObjectVersion(
            bucket=address.bucket,
            key=address.key,
            version=response.get("VersionId", "null"),
            etag=response["ETag"],
            size=response["ContentLength"],
            checksum=checksum_of(response),
            modified=response["LastModified"],
            current=address.version is None,
            corrects=response.get("Metadata", {}).get(CORRECTS, ""),
        )

    def read(self, address: Address, start: int = 0, length: int | None = None) -> bytes:
        """GetObject with a range; behind the end there is nothing to read."""
        if length == 0:
            self.head(address)
            return b""
        from botocore.exceptions import ClientError  # noqa: PLC0415 - loaded with the first client

        last = "" if length is None else start + length - 1
        with port_errors():
            try:
                return self.client.get_object(Range=f"bytes={start}-{last}", **self._at(address))["Body"].read()
            except ClientError as error:
                if error.response["Error"]["Code"] not in BEHIND_THE_END:
                    raise
                return b""

    def versions(self, bucket: str, prefix: str, after: str | None = None, limit: int = 1000) -> VersionPage:
        """ListObjectVersions; `after` holds both of its markers."""
        markers = _markers(after or "{}")
        with port_errors():
            response = self.client.list_object_versions(
                Bucket=bucket, Prefix=prefix, MaxKeys=limit, ExpectedBucketOwner=self.owner, **markers
            )
        more = {
            "KeyMarker": response.get("NextKeyMarker", ""),
            "VersionIdMarker": response.get("NextVersionIdMarker", ""),
        }
        return VersionPage(
            versions=tuple(_listed(bucket, each) for each in response.get("Versions", ())),
            after=json.dumps({name: marker for name, marker in more.items() if marker})
            if response["IsTruncated"]
            else None,
            last=more["KeyMarker"],
        )

    def entries(self, bucket: str, prefix: str) -> tuple[str, ...]:
        """ListObjectsV2 with a delimiter, page by page."""
        pages = self.client.get_paginator("list_objects_v2").paginate(
            Bucket=bucket, Prefix=prefix, Delimiter="/", ExpectedBucketOwner=self.owner
        )
        with port_errors():
            found = [(page.get("Contents", ()), page.get("CommonPrefixes", ())) for page in pages]
        return tuple(
            sorted(
                [stored["Key"] for objects, _ in found for stored in objects]
                + [folder["Prefix"] for _, folders in found for folder in folders]
            )
        )

    def put(  # noqa: PLR0913 - as the port
        self,
        to: Address,
        body: bytes,
        *,
        absent: bool = False,
        etag: str | None = None,
        tag: str = "",
        content_type: str = "",
    ) -> ObjectVersion:
        """PutObject with the checksum of what we meant to write."""
        options: dict[str, Any] = ({"IfNoneMatch": "*"} if absent else {}) | ({"IfMatch": etag} if etag else {})
        options |= _tagging(tag) | ({"ContentType": content_type} if content_type else {})
        reason = "etag" if etag else "absent"
        checksum = base64.b64encode(hashlib.sha256(body).digest()).decode()
        try:
            with port_errors(reason):
                response = self.client.put_object(
                    Body=body, ChecksumAlgorithm="SHA256", ChecksumSHA256=checksum, **options, **self._at(to)
                )
        except NotFound:
            raise ConditionFailed(reason) from None
        return self.head(to._replace(version=response.get("VersionId")))

    def copy(self, source: Address, etag: str, to: Address, *, absent: bool = False, tag: str = "") -> ObjectVersion:
        """CopyObject, or parts above the limit; what arrived is compared with what was meant."""
        original = self.head(source)
        if original.etag != etag:
            raise ConditionFailed("etag")
        copy = self._copy_whole if original.size <= self.limit else self._copy_in_parts
        arrived = copy(original, source, to, {"IfNoneMatch": "*"} if absent else {}, tag)
        if arrived.size != original.size or not agree(original.checksum, arrived.checksum):
            raise PortError("CopyObject: the copy differs from its source")
        return arrived

    def delete(self, address: Address) -> None:
        with port_errors():
            self.client.delete_object(**self._at(address))

    def _copy_whole(
        self, original: ObjectVersion, source: Address, to: Address, condition: Mapping[str, Any], tag: str
    ) -> ObjectVersion:
        with port_errors("absent"):
            response = self.client.copy_object(
                MetadataDirective="REPLACE",  # what a producer wrote beside the data does not enter the lake
                TaggingDirective="REPLACE",
                ChecksumAlgorithm=kept_algorithm(original),
                **condition,
                **_tagging(tag),
                **self._from(original, source),
                **self._at(to),
            )
        return self.head(to._replace(version=response.get("VersionId")))

    def _copy_in_parts(
        self, original: ObjectVersion, source: Address, to: Address, condition: Mapping[str, Any], tag: str
    ) -> ObjectVersion:
        upload = self.uploads.get(to) or self._begin(to, tag)
        at = {"UploadId": upload, **self._at(to)}
        try:
            with port_errors("absent"):
                parts = self._parts(original, source, at)
                response = self.client.complete_multipart_upload(MultipartUpload={"Parts": parts}, **condition, **at)
        except (ConditionFailed, TransactionConflict):  # a conflict ends the upload, too: S3 wants another one
            self._abandon(at, to)
            raise
        except NotFound:
            self.uploads.drop(to)
            return self._finished_by_another(source, to)
        self.uploads.drop(to)
        return self.head(to._replace(version=response.get("VersionId")))

    def _finished_by_another(self, source: Address, to: Address) -> ObjectVersion:
        """The upload or the source is gone. NotFound may only mean the source: it makes a workload GONE."""
        try:
            return self.head(to)
        except NotFound:
            self.head(source)
            raise TransactionConflict("CompleteMultipartUpload: the upload was ended") from None

    def _abandon(self, at: Mapping[str, Any], to: Address) -> None:
        self.uploads.drop(to)
        with suppress(NotFound), port_errors():  # another worker may have completed or ended it
            self.client.abort_multipart_upload(**at)

    def _begin(self, to: Address, tag: str) -> str:
        with port_errors():
            upload = self.client.create_multipart_upload(
                ChecksumAlgorithm=OF_COPIES, ChecksumType="FULL_OBJECT", **_tagging(tag), **self._at(to)
            )["UploadId"]
        noted = self.uploads.note(to, upload)
        if noted != upload:
            with port_errors():
                self.client.abort_multipart_upload(UploadId=upload, **self._at(to))
        return noted

    def _parts(self, original: ObjectVersion, source: Address, at: Mapping[str, Any]) -> list[Any]:
        """All parts of an upload in their order; those that have not arrived are copied, several at once."""
        arrived = {each["PartNumber"]: part_of(each, each["PartNumber"]) for each in arrived_parts(self.client, at)}

        def part(number: int, first: int) -> dict[str, Any]:
            return arrived.get(number) or self._copy_part(original, source, at, number, first)

        firsts = range(0, original.size, part_size(original.size, self.part))
        with ThreadPoolExecutor(PARTS_AT_ONCE) as threads:  # after an error those that have not begun are cancelled
            return list(threads.map(part, range(1, len(firsts) + 1), firsts))

    def _copy_part(
        self, original: ObjectVersion, source: Address, at: Mapping[str, Any], number: int, first: int
    ) -> dict[str, Any]:
        if self.remaining() < HAND_OVER:
            raise Unfinished(f"part {number}")
        last = min(first + part_size(original.size, self.part), original.size) - 1
        response = self.client.upload_part_copy(
            PartNumber=number, CopySourceRange=f"bytes={first}-{last}", **self._from(original, source), **at
        )
        return part_of(response["CopyPartResult"], number)

    def _at(self, address: Address) -> dict[str, Any]:
        version = {"VersionId": address.version} if address.version else {}
        return {"Bucket": address.bucket, "Key": address.key, "ExpectedBucketOwner": self.owner} | version

    def _from(self, original: ObjectVersion, source: Address) -> dict[str, Any]:
        return {
            "CopySource": {"Bucket": source.bucket, "Key": source.key, "VersionId": original.version},
            "CopySourceIfMatch": original.etag,
            "ExpectedSourceBucketOwner": self.owner,
        }


def _markers(after: str) -> dict[str, Any]:
    """Markers of the beginning of a page; at the beginning, where this release cannot read what another one has kept."""
    with suppress(ValueError, RecursionError):
        document = json.loads(after)
        if isinstance(document, dict) and document.keys() <= {"KeyMarker", "VersionIdMarker"}:
            return {name: str(marker) for name, marker in document.items()}
    return {}


def _tagging(tag: str) -> dict[str, Any]:
    return {"Tagging": f"lakegate={tag}"} if tag else {}


def _listed(bucket: str, listed: Mapping[str, Any]) -> ObjectVersion:
    return ObjectVersion(
        bucket=bucket,
        key=listed["Key"],
        version=listed["VersionId"],
        etag=listed["ETag"],
        size=listed["Size"],
        checksum="",
        modified=listed["LastModified"],
        current=listed["IsLatest"],
    )


# ---- Multipart uploads in progress ----


@dataclass(frozen=True, slots=True)
class Uploads:
    """At most one note for each destination, in the table `workloads`."""

    table: Tables

    def get(self, to: Address) -> str | None:
        """The upload under way to this destination."""
        return read_row(self.table, _key(to), lambda row: row.text("upload"))

    def note(self, to: Address, upload: str) -> str:
        """Note an upload that was just begun. Returns the noted one: another worker may have been first."""
        try:
            self.table.write(Put(Row(_key(to), {"upload": upload}), RowAbsent()))
        except ConditionFailed:
            return self.get(to) or upload
        return upload

    def drop(self, to: Address) -> None:
        """Forget the upload; absent is done."""
        self.table.write(Delete(_key(to)))


def _key(to: Address) -> RowKey:
    return workloads_key("upload", sha256_of(f"{to.bucket}\0{to.key}"))
