"""Objects at file: and s3: addresses; result written once."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from errno import EIO, ENOENT
from functools import cache
from hashlib import file_digest
from io import BufferedReader
from pathlib import Path
from shutil import copyfile
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Protocol
from urllib.parse import urlsplit

from lakegate.base.errors import InputError
from lakegate.base.multipart_uploads import part_size
from lakegate.engine.read.data_source import AddressedFile, LocalStore, path_of
from lakegate.plan.plan import Plan
from lakegate.plan.request import Request
from lakegate.plan.result import Result

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client


# ---- Uploads in parts ----


WHOLE: Final = 1 << 30
"""Bytes of one request; S3 takes up to 5 GiB."""
PART: Final = 64 << 20
"""Bytes of a part, which is in memory; more where there would be too many."""


def upload_object(client: S3Client, content: bytes | Path, at: dict[str, Any], kind: str) -> None:
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
            while piece := body.read(part_size(size, PART)):
                response = client.upload_part(PartNumber=len(parts) + 1, Body=piece, **upload)
                parts.append({"PartNumber": len(parts) + 1, "ETag": response["ETag"]})
            client.complete_multipart_upload(MultipartUpload={"Parts": parts}, IfNoneMatch="*", **upload)
        except BaseException:
            client.abort_multipart_upload(**upload)
            raise


# ---- Objects at `file:` and `s3:` addresses, by botocore ----


ANSWERED = "this attempt was answered before: its result is kept as it is"
_AHEAD = 8 << 20
"""Bytes of an object that a stream requests at a time."""
JSON = "application/json"
_ABSENT = {"404", "NoSuchKey", "NoSuchBucket"}
_UNMET = {"PreconditionFailed", "ConditionalRequestConflict"}


class JobStore(Protocol):
    """A storage of objects. Failures are OSError; InputError if an object to be written exists."""

    def read(self, uri: str, limit: int | None = None) -> bytes:
        """The object's bytes, or its first `limit` bytes."""
        ...

    def part(self, uri: str, start: int, size: int) -> bytes:
        """At most `size` bytes of the object from `start`."""
        ...

    def size(self, uri: str) -> int:
        """The object's size in bytes."""
        ...

    def write_new(self, uri: str, content: bytes | Path, kind: str = JSON) -> None:
        """Write bytes or a file as an object that must not exist yet, whole or not at all; `kind`: its media type."""
        ...

    def list_parts(self, uri: str) -> list[str]:
        """Addresses of the non-empty objects that Spark wrote below a folder, in order."""
        ...

    def etag(self, uri: str) -> str:
        """The storage's own identifier of an object's content."""
        ...


class Files(LocalStore):
    """`file:` addresses."""

    def read(self, uri: str, limit: int | None = None) -> bytes:
        with path_of(uri).open("rb") as file:
            return file.read(-1 if limit is None else limit)

    def write_new(self, uri: str, content: bytes | Path, _kind: str = JSON) -> None:
        """Written under another name and then linked, so that no reader sees a part."""
        target = path_of(uri)
        target.parent.mkdir(parents=True, exist_ok=True)
        aside = target.with_name(f"{target.name}.{os.getpid()}")
        aside.write_bytes(content) if isinstance(content, bytes) else copyfile(content, aside)
        try:
            target.hardlink_to(aside)
        except FileExistsError:
            raise InputError(ANSWERED) from None
        finally:
            aside.unlink()

    def list_parts(self, uri: str) -> list[str]:
        paths = sorted(path for path in path_of(uri).glob("part-*") if path.stat().st_size)
        return [f"{uri}/{path.name}" for path in paths]

    def etag(self, uri: str) -> str:
        """Of a file, the SHA-256 of its bytes."""
        with path_of(uri).open("rb") as file:
            return file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True, slots=True)
class PinnedObject:
    """One version of an object of S3."""

    bucket: str
    key: str
    size: int
    """In bytes."""
    etag: str
    version: str | None
    """None if the bucket has no versions."""


class Buckets:
    """`s3:` addresses."""

    def __init__(self, client: S3Client) -> None:
        self._client = client

    def read(self, uri: str, limit: int | None = None) -> bytes:
        """An empty object has no range to read, so its size is read first."""
        bucket, key = _place(uri)
        if limit is not None and self.size(uri) == 0:
            return b""
        span = {} if limit is None else {"Range": f"bytes=0-{limit - 1}"}
        with _as_os_error():
            return self._client.get_object(Bucket=bucket, Key=key, **span)["Body"].read()  # type: ignore[arg-type]  # one optional argument

    def part(self, uri: str, start: int, size: int) -> bytes:
        """A range beyond the end would be refused by S3."""
        bucket, key = _place(uri)
        with _as_os_error():
            return self._range(start, size, Bucket=bucket, Key=key)

    def pinned(self, pin: PinnedObject, start: int, size: int) -> bytes:
        """A range of one version of an object, not beyond its end; InputError if the object was replaced."""
        which = {"VersionId": pin.version} if pin.version else {"IfMatch": pin.etag}
        with _as_os_error(f"s3://{pin.bucket}/{pin.key} changed while it was read: repeat the command"):
            return self._range(start, size, Bucket=pin.bucket, Key=pin.key, **which)

    def _range(self, start: int, size: int, **which: str) -> bytes:
        span = f"bytes={start}-{start + size - 1}"
        return self._client.get_object(Range=span, **which)["Body"].read()  # type: ignore[arg-type]  # names of strings

    def size(self, uri: str) -> int:
        bucket, key = _place(uri)
        with _as_os_error():
            return self._client.head_object(Bucket=bucket, Key=key)["ContentLength"]

    def write_new(self, uri: str, content: bytes | Path, kind: str = JSON) -> None:
        """S3's own condition keeps a second attempt from overwriting the first."""
        bucket, key = _place(uri)
        with _as_os_error():
            upload_object(self._client, content, {"Bucket": bucket, "Key": key}, kind)

    def list_parts(self, uri: str) -> list[str]:
        bucket, folder = _place(uri)
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=f"{folder}/part-")
        found = [each for page in pages for each in page.get("Contents", []) if each["Size"]]
        return sorted(f"s3://{bucket}/{each['Key']}" for each in found)

    def etag(self, uri: str) -> str:
        bucket, key = _place(uri)
        with _as_os_error():
            return self._client.head_object(Bucket=bucket, Key=key)["ETag"]


@contextmanager
def _as_os_error(unmet: str = ANSWERED) -> Iterator[None]:
    """S3's errors as the errors of files; only the code of S3's response is logged.

    `unmet` is the message where the condition of the request is not met.
    """
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - it is loaded by now

    try:
        yield
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if code in _UNMET:
            raise InputError(unmet) from None
        if code in _ABSENT:
            raise FileNotFoundError(ENOENT, "No such object") from None
        raise OSError(EIO, f"S3 answers {code}") from None
    except BotoCoreError as error:
        raise OSError(EIO, f"S3 does not answer: {type(error).__name__}") from None


def store_for(uri: str) -> JobStore:
    """The storage that an address names."""
    scheme = urlsplit(uri).scheme
    if scheme == "file":
        return Files()
    if scheme == "s3":
        return _buckets()
    raise InputError("an address must begin with file: or s3:")


@cache
def _buckets() -> Buckets:
    """One client for all addresses of a run: making one costs more than what it does."""
    import botocore.session  # noqa: PLC0415 - a fifth of a second that local files need not pay

    client: Any = botocore.session.get_session().create_client("s3")
    return Buckets(client)


@dataclass(frozen=True, slots=True)
class Addresses:
    """Any address, for readers of the engine (`lakegate.engine.read.data_source.Store`); it goes to workers as it is."""

    pins: Mapping[str, PinnedObject] = field(default_factory=dict)
    """Addresses of which one version is read; InputError where the object is replaced meanwhile."""

    def size(self, address: str) -> int:
        pin = self.pins.get(address)
        return store_for(address).size(address) if pin is None else pin.size

    def part(self, address: str, start: int, length: int) -> bytes:
        """S3 refuses a range that begins after the end."""
        length = min(length, self.size(address) - start)
        if length <= 0:
            return b""
        pin = self.pins.get(address)
        return store_for(address).part(address, start, length) if pin is None else _buckets().pinned(pin, start, length)

    def stream(self, address: str) -> BinaryIO:
        """Read in ranges, so that no connection waits for what is done with the bytes."""
        return BufferedReader(AddressedFile(self, address), _AHEAD)


ANYWHERE = Addresses()
"""Every address, none of them pinned."""


def versions_of(request: Request) -> Addresses:
    """Every address, and of the parts of a request the versions that it names."""
    pins = {
        part.uri: PinnedObject(*_place(part.uri), part.size, "", part.version) for part in request.parts if part.version
    }
    return Addresses(pins)


def _place(uri: str) -> tuple[str, str]:
    parts = urlsplit(uri)
    return parts.netloc, parts.path.removeprefix("/")


# ---- Around an attempt: read its request, write its result once ----


def read_request(request_uri: str, plans: dict[str, Plan] | None = None) -> tuple[Request, Plan]:
    """The request at an address and the plan that it names. InputError where the plan is another one.

    `plans`: those read before, by their digests; this one is added.
    """
    request, known = Request.from_bytes(read_document(request_uri)), {} if plans is None else plans
    if request.plan_digest not in known:
        plan = Plan.from_bytes(read_document(request.plan_uri))
        if plan.digest != request.plan_digest:
            raise InputError("the plan is not the one the request names: its digest differs")
        known[plan.digest] = plan
    return request, known[request.plan_digest]


def result_uri(request: Request) -> str:
    """The address of the result."""
    return f"{request.output_uri}/result.json"


def write(request: Request, result: Result) -> None:
    """Write the result. InputError where the attempt has one already."""
    store_for(request.output_uri).write_new(result_uri(request), result.to_bytes())


def has_result(request: Request) -> bool:
    """Whether the attempt has a result."""
    try:
        store_for(request.output_uri).size(result_uri(request))
    except FileNotFoundError:
        return False
    return True


def read_document(uri: str) -> bytes:
    """A document. InputError where it cannot be read."""
    try:
        return store_for(uri).read(uri)
    except OSError as error:
        raise InputError(f"the document at {uri!r} cannot be read ({error.strerror})") from error


# ---- Files that the engine has written ----


PARQUET, BYTES = "application/vnd.apache.parquet", "application/octet-stream"
_AT_ONCE: Final = 8 << 20
"""Bytes that are compared."""


def keep(file: Path, uri: str) -> str:
    """Store a file at an address, and return the ETag or checksum of the object.

    A task that Spark repeats writes the same bytes again: then the first object stays. InputError where it is another one.
    """
    store = store_for(uri)
    try:
        store.write_new(uri, file, PARQUET if uri.endswith(".parquet") else BYTES)
    except InputError:
        if not _is_stored(store, file, uri):
            raise
    return store.etag(uri)


def _is_stored(store: JobStore, file: Path, uri: str) -> bool:
    """Whether an object has the bytes of a file: another run of the attempt may have written as many other ones."""
    size = file.stat().st_size
    if store.size(uri) != size:
        return False
    with file.open("rb") as own:
        return all(store.part(uri, at, _AT_ONCE) == own.read(_AT_ONCE) for at in range(0, size, _AT_ONCE))
