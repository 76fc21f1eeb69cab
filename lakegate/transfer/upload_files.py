"""Files into landing: keys, parts, checksums on arrival."""

from __future__ import annotations

import base64
import re
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lakegate.admission.ignored_keys import is_ignored
from lakegate.aws.clients import port_errors
from lakegate.base.errors import InputError, PortError
from lakegate.base.multipart_uploads import part_size
from lakegate.base.text import plural
from lakegate.gate.registry.routes import usable

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

# ---- Landing keys of files ----


LONGEST_KEY = 1024
UNSPEAKABLE = re.compile(r"[\x00-\x1f\x7f\ufffe\uffff]")
S3 = re.compile(r"s3://([^/]*)/?(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Destination:
    """The destination by `--to` and `--as`."""

    bucket: str
    """Empty where only folders or a key were given."""
    keys: tuple[str, ...]
    """One for each file, in their order."""

    def in_bucket(self, landing: str) -> tuple[str, ...]:
        """The keys. Raises InputError where another bucket was meant."""
        if self.bucket and self.bucket != landing:
            raise InputError(f"the landing bucket is {landing}, not {self.bucket}: leave s3://{self.bucket}/ out")
        return self.keys


def destination(files: list[Path], to: str, name: str | None) -> Destination:
    """The landing key of each file. Raises InputError for an impossible one, before anything is read or sent.

    `orders/` and `orders` are folders; a last part with a dot is the name of the one file, `orders/day.csv`.
    """
    bucket, path = match.groups() if (match := S3.fullmatch(to)) else ("", to)
    folders, _, last = path.rpartition("/")
    if "." in last:
        if len(files) > 1:
            folder = to.removesuffix(last) or f"{to}/"
            raise InputError(f"{to} is the name of one file, and there are {len(files)}: give a folder, --to {folder}")
        if name is not None:
            raise InputError("the object's name is given twice, in --to and in --as: leave one out")
        path, name = f"{folders}/" if folders else "", last
    if name is not None and len(files) > 1:
        raise InputError(f"--as names one file, and there are {len(files)}")
    keys = tuple(_key(path, name or _name(file)) for file in files)
    key, count = Counter(keys).most_common(1)[0]
    if count > 1:
        raise InputError(f"{count} of the files would get the key {key}: upload them one by one, with --as")
    return Destination(bucket, keys)


def _name(file: Path) -> str:
    if file.is_dir():
        raise InputError(f"{file} is a folder: name the files in it, for example {file / '*.csv'}")
    return file.name


def _key(prefix: str, name: str) -> str:
    if not prefix:
        raise InputError(f"a key needs a folder, which its route covers: --to FOLDER/ or --to FOLDER/{name}")
    folders = prefix if prefix.endswith("/") else f"{prefix}/"
    usable(folders)
    if UNSPEAKABLE.search(folders + name):
        raise InputError(
            "the key would hold control characters, which XML, and so S3's lists, cannot: choose others with --as"
        )
    try:
        length = len(f"{folders}{name}".encode())
    except UnicodeEncodeError:
        raise InputError("the file's name is no UTF-8, which keys must be: give another one with --as") from None
    if not name or length > LONGEST_KEY:
        raise InputError(
            f"the key would have {plural(length, 'byte')}; S3 takes 1 to {LONGEST_KEY:,}: give a shorter name with --as"
        )
    return f"{folders}{name}"


def refuse_ignored(keys: tuple[str, ...], patterns: tuple[str, ...]) -> None:
    """Raise InputError for a name that the gate takes for no delivery: nothing would ever become of it."""
    for key in keys:
        if is_ignored(key, 1, patterns):
            raise InputError(f"{key} has a name that this stack ignores (docs/producer.md): give it another one")


# ---- A verified upload ----
# The file is read once for its checksums, and once more to be sent; what changed in between never lands.
#
# * Up to 16 MiB: one PutObject with the SHA-256 of the first reading, so that S3 refuses what the second found.
# * Above: parts, four at a time, each with its CRC-32. S3 keeps that of the *whole* (it knows SHA-256 of parts only part by
#   part), the two readings are compared before the upload is completed, and S3's sum with ours where it returns one. Whatever
#   ends the upload early, Ctrl-C included, also removes the parts that had arrived.


WHOLE: Final = 16 * 1024 * 1024
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
    metadata: Mapping[str, str] = field(default_factory=dict)
    """Of the object."""

    def request(self) -> dict[str, Any]:
        """Parameters of every call."""
        return {"Bucket": self.bucket, "Key": self.key, "ExpectedBucketOwner": self.owner}

    def new_object(self) -> dict[str, Any]:
        """Parameters of the call that begins the object."""
        return self.request() | ({"Metadata": dict(self.metadata)} if self.metadata else {})


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
    response = s3.put_object(Body=body, ChecksumAlgorithm="SHA256", ChecksumSHA256=checksum, **to.new_object())
    arrived(local.size)
    return response.get("VersionId", "null")


def _in_parts(s3: S3Client, local: Local, to: To, arrived: Callable[[int], None], size: int) -> str:
    begun = s3.create_multipart_upload(ChecksumAlgorithm="CRC32", ChecksumType="FULL_OBJECT", **to.new_object())
    upload: dict[str, Any] = {"UploadId": begun["UploadId"], **to.request()}
    try:
        parts = _sent(s3, local, upload, arrived, part_size(local.size, size))
        response = s3.complete_multipart_upload(
            MultipartUpload={"Parts": parts}, MpuObjectSize=local.size, ChecksumType="FULL_OBJECT", **upload
        )
    except BaseException:
        s3.abort_multipart_upload(**upload)
        raise
    if response.get("ChecksumType") == "FULL_OBJECT" and response.get("ChecksumCRC32") != _encoded(local.crc32):
        raise PortError("CompleteMultipartUpload: BadDigest")
    return response.get("VersionId", "null")


def _sent(s3: S3Client, local: Local, upload: dict[str, Any], arrived: Callable[[int], None], size: int) -> list[Any]:
    """The parts as CompleteMultipartUpload wants them, of a file that is what it was. Holds four parts in memory."""

    def part(number: int, body: bytes) -> dict[str, Any]:
        checksum = _encoded(zlib.crc32(body))
        response = s3.upload_part(PartNumber=number, Body=body, ChecksumCRC32=checksum, **upload)
        arrived(len(body))
        return {"PartNumber": number, "ETag": response["ETag"], "ChecksumCRC32": checksum}

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
