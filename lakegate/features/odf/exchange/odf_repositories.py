"""Folders, S3 and web servers that hold datasets."""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from http.client import HTTPException
from io import BytesIO, FileIO
from pathlib import Path, PurePosixPath
from queue import Empty, Queue
from threading import Thread
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request

from lakegate.admission.file_signatures import UnreadableError
from lakegate.aws.clients import client, port_errors
from lakegate.aws.https_client import API_SECONDS, OPENER
from lakegate.base.errors import ConditionFailed, InputError, NotFound
from lakegate.base.text import plural, quote
from lakegate.base.timestamps import moment
from lakegate.engine.read.data_source import LocalStore, Share
from lakegate.engine.read.parquet_orc import ArrowReader, open_parquet
from lakegate.features.odf.format.logical_hash import LogicalHash, SliceStatistics, statistics_of
from lakegate.features.odf.format.metadata_chain import (
    AddData,
    ChainState,
    DataSlice,
    MetadataBlock,
    SetDataSchema,
    block_hash,
    block_in,
    follow,
    link_in,
)
from lakegate.features.odf.format.multihash import HashCode, hash_in, multihash
from lakegate.features.odf.slices.slice_writer import bare, odf_fields
from lakegate.gate.ledger.blocks import LedgerSlice
from lakegate.transfer.upload_files import S3

if TYPE_CHECKING:
    import pyarrow as pa


# ---- A repository by the simple transfer protocol (RFC-007) ----
# `refs/head` names the last block, `blocks/HASH` and `data/HASH` are the others. A writer writes data, then blocks, then the
# head: who reads at any moment sees a whole dataset. Every name but the head's is a hash that was computed or read as one.


HEAD: Final = "refs/head"
PIECE: Final = 1 << 20
LONGEST_HEAD: Final = 1024
LOCK: Final = "refs/.lock"
FOLDERS: Final = ("refs", "blocks", "data")


class SourceError(InputError):
    """A place cannot be read, which says nothing about what it has."""


class OdfHead(NamedTuple):
    """The head of a dataset as it was read."""

    text: str
    token: str
    """By which a place knows whether it was replaced since."""


class OdfSource(Protocol):
    """A place that is read."""

    def pieces(self, name: str) -> Iterator[bytes]:
        """The bytes of an object. Raises NotFound; InputError where the place cannot be read."""
        ...


class OdfPlace(OdfSource, Protocol):
    """A place that is written, too."""

    def locked(self) -> AbstractContextManager[None]:
        """Held while the place is written. InputError where it is not safe, and another process writes to it."""
        ...

    def head(self) -> OdfHead | None:
        """The head, if there is one."""
        ...

    def put(self, name: str, body: bytes | Path) -> None:
        """Write an object whole, also over one with other bytes."""
        ...

    def set_head(self, text: str, before: OdfHead | None) -> None:
        """Replace the head at once. InputError where it is not the one before any more."""
        ...


def is_whole(source: OdfSource, name: str) -> bool:
    """Whether an object is there, and has the bytes whose hash is its name."""
    digest = hashlib.sha3_256()
    try:
        for piece in source.pieces(name):
            digest.update(piece)
    except NotFound:
        return False
    return PurePosixPath(name).name == multihash(HashCode.SHA3_256, digest.digest())


def read_object(source: OdfSource, name: str, most: int) -> bytes:
    """An object of at most so many bytes. Raises NotFound, InputError."""
    found = bytearray()
    for piece in source.pieces(name):
        found += piece
        if len(found) > most:
            raise InputError(f"{name} has more than {most:,} bytes")
    return bytes(found)


@dataclass(frozen=True, slots=True)
class FolderPlace:
    """A folder of this machine."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    def pieces(self, name: str) -> Iterator[bytes]:
        """A pipe or a device, which may never end, is no file."""
        try:
            with open(os.open(self.path / name, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:  # noqa: PTH123 - a pipe without a writer would wait
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise SourceError(f"{self.path / name} is no regular file")
                while piece := file.read(PIECE):
                    yield piece
        except FileNotFoundError:
            raise NotFound(name) from None
        except OSError as error:
            raise SourceError(f"{self.path / name} cannot be read: {error.strerror}") from None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """The lock ends with the process that holds it, however that ends; its file is removed."""
        for entry in (self.path / name for name in FOLDERS):
            if entry.is_symlink():
                raise InputError(f"{entry} is a symbolic link, which would be written through: give another folder")
        place = self.path / LOCK
        try:
            file = _open_locked(place)
        except BlockingIOError:
            text = "another import or export writes to it: repeat the command when that one has ended"
            raise InputError(f"{self.path} is locked, {text}") from None
        except OSError as error:
            raise InputError(f"{place} cannot be locked: {error.strerror}") from None
        with file:
            try:
                yield
            finally:
                place.unlink(missing_ok=True)
                with suppress(OSError):  # it has the head
                    place.parent.rmdir()

    def head(self) -> OdfHead | None:
        with suppress(NotFound):
            text = read_object(self, HEAD, LONGEST_HEAD).decode(errors="replace").strip()
            return OdfHead(text, text)
        return None

    def size(self, name: str) -> int | None:
        """Bytes of an object; None where there is none."""
        place = self.path / name
        return place.stat().st_size if place.is_file() and not place.is_symlink() else None

    def put(self, name: str, body: bytes | Path) -> None:
        with self.new(name) as part, part.open("wb") as target:
            for piece in FolderPlace(body.parent).pieces(body.name) if isinstance(body, Path) else (body,):
                target.write(piece)

    @contextmanager
    def new(self, name: str) -> Iterator[Path]:
        """A file that gets its name when it is whole. InputError where it cannot be written."""
        place = self.path / name
        part = place.with_name(f".{place.name}.part")
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            part.unlink(missing_ok=True)
            yield part
            part.replace(place)
        except OSError as error:
            raise InputError(f"{place} cannot be written: {error.strerror}") from None

    def remove(self, names: Iterable[str]) -> None:
        """Delete objects, and folders that have none left."""
        for text in names:
            (self.path / text).unlink(missing_ok=True)
        for name in (*FOLDERS, "."):
            with suppress(OSError):  # it is not empty, or not there
                (self.path / name).rmdir()

    def set_head(self, text: str, before: OdfHead | None) -> None:
        if self.head() != before:
            raise InputError(f"{self.path} was changed by somebody else: repeat the command")
        os.sync()  # a head that survives a loss of power names files that do, too; once, as it takes milliseconds for each file
        self.put(HEAD, text.encode())


def _open_locked(place: Path) -> FileIO:
    """A file that this process alone has locked. BlockingIOError where another one has; OSError."""
    while True:
        place.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):  # the process that had the lock removed it, or its folder
            file = open(os.open(place, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666), "rb+", buffering=0)  # noqa: SIM115, PTH123 - the caller closes it
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(file.fileno()), place.stat()):
                    return file
            except BaseException:
                file.close()
                raise
            file.close()


# ---- A chain read and checked block by block ----


Found = TypeVar("Found")
LARGEST_BLOCK: Final = 16 << 20
"""Bytes."""
MOST_BLOCKS: Final = 1_000_000
MOST_BYTES: Final = 16 << 30
"""Of all blocks that are read from a place, on the disk: in memory there is one at a time."""


@dataclass(frozen=True, slots=True)
class Link:
    """One block in a folder, by its name."""

    name: str
    folder: FolderPlace

    @property
    def block(self) -> MetadataBlock:
        """Read and compared with its name each time: a chain may be larger than memory. InputError."""
        return _parse_block(self.name, _read_block(self.folder, self.name), block_in)


@dataclass(frozen=True, slots=True)
class Added:
    """A slice of the chain, and the block with the columns that it has."""

    sequence: int
    published_at: str
    data: DataSlice
    schema: Link

    @property
    def fields(self) -> tuple[Mapping[str, Any], ...]:
        return _fields(self.schema)


@lru_cache(maxsize=1)
def _fields(schema: Link) -> tuple[Mapping[str, Any], ...]:
    """One slice after the other has the same columns."""
    event = schema.block.event
    assert isinstance(event, SetDataSchema)
    return event.fields


def head_of(source: OdfSource) -> str | None:
    """The name of the last block; None where there is no dataset. InputError where it names no block."""
    try:
        text = read_object(source, HEAD, LONGEST_HEAD).decode(errors="replace").strip()
    except NotFound:
        return None
    try:
        code, digest = hash_in(text)
    except InputError:
        code, digest = None, b""
    if code is not HashCode.SHA3_256:
        raise InputError(f"{source}/{HEAD} names no block of a dataset: {quote(text) if text else 'it is empty'}")
    return multihash(code, digest)


def walk_chain(
    folder: FolderPlace,
    head: str,
    known: Collection[str] = (),
    source: OdfSource | None = None,
    brought: Callable[[str], None] = lambda _: None,
) -> tuple[list[Link], str | None]:
    """The blocks from the first unknown one up to the head, and the name of the one before.

    `source`: where missing ones are; `brought` is called with the names of those that were copied from there.
    """
    links: list[Link] = []
    size, above = 0, None
    name: str | None = head
    while name is not None and name not in known:
        body = _read_block(folder, name) if source is None else _brought(source, name, folder, brought)
        size += len(body)
        previous, sequence = _parse_block(name, body, link_in)
        if above is not None and sequence != above - 1:
            raise InputError(f"the block {name} has the number {sequence}, not the one before its successor's")
        if above is None and sequence >= MOST_BLOCKS:
            raise InputError(
                f"the last block {name} has the number {sequence:,}: no more than {MOST_BLOCKS:,} are read"
            )
        if len(links) >= MOST_BLOCKS or size > MOST_BYTES:
            raise InputError(
                f"the chain has more than {MOST_BLOCKS:,} blocks, or blocks of more than {MOST_BYTES:,} bytes"
            )
        links.append(Link(name, folder))
        name, above = previous, sequence
    return links[::-1], name


def follow_chain(links: Iterable[Link]) -> tuple[ChainState, list[Added]]:
    """The state after the blocks of a chain, and the slices that they add. InputError names a block that is wrong."""
    state: ChainState | None = None
    schema: Link | None = None
    added = []
    for number, link in enumerate(links):
        block = link.block
        try:
            state = follow(state, link.name, block)
        except InputError as error:
            raise InputError(f"block {number} ({link.name}): {error}") from None
        if isinstance(block.event, SetDataSchema):
            schema = link
        if isinstance(block.event, AddData) and block.event.data is not None:
            assert schema is not None  # else the block does not follow
            added.append(Added(number, block.system_time.time.isoformat(), block.event.data, schema))
    assert state is not None  # there is a head
    return state, added


def _brought(source: OdfSource, name: str, folder: FolderPlace, brought: Callable[[str], None]) -> bytes:
    place = f"blocks/{name}"
    if is_whole(folder, place):
        return read_object(folder, place, LARGEST_BLOCK)
    body = _read_block(source, name)
    brought(place)
    folder.put(place, body)
    return body


def _read_block(source: OdfSource, name: str) -> bytes:
    place = f"blocks/{name}"
    try:
        body = read_object(source, place, LARGEST_BLOCK)
    except NotFound:
        raise InputError(f"the block {name} is missing") from None
    if block_hash(body) != name:
        raise InputError(f"the bytes of the block {name} are others than its name says")
    return body


def _parse_block(name: str, body: bytes, reader: Callable[[bytes], Found]) -> Found:
    try:
        return reader(body)
    except InputError as error:
        raise InputError(f"the block {name} cannot be read: {error}") from None


def check_file(
    path: Path,
    data: DataSlice,
    fields: Iterable[Mapping[str, Any]],
    stated: LedgerSlice | None,
    before: datetime | None = None,
) -> datetime:
    """A file of data against its event, its schema, what a ledger states, and the last system time `before` it. InputError.

    Returns its own last system time.
    """
    statistics = checked_slice(path, data, fields)
    first, last = statistics.system_times
    if before is not None and first < before:
        raise InputError(f"its system time {moment(first)} is before that of the slice below, {moment(before)}")
    if stated is None:
        return last
    if stated.event_time != tuple(map(moment, statistics.event_times)):
        raise InputError("its event times are others than the ledger states")
    if stated.system_time is not None and {stated.system_time} != {moment(first), moment(last)}:
        raise InputError("its system times are others than the ledger states")
    return last


def names(links: Sequence[Link]) -> frozenset[str]:
    """Of all blocks."""
    return frozenset(link.name for link in links)


# ---- Repositories by address ----


PATIENCE: Final = API_SECONDS
"""Seconds until a server answers, and sends its first bytes."""
SLOWEST: Final = 10_000
"""Bytes that a server sends in a second, at the least."""
ABSENT: Final = frozenset({404, 410})


def source_of(text: str, authorization: str = "") -> OdfSource:
    """A folder, `s3://BUCKET/PREFIX`, or an address of a web server, which is sent a header with credentials."""
    parts = urlsplit(text)
    if parts.scheme in {"http", "https"}:
        if parts.query or parts.fragment or parts.username or not parts.hostname:
            raise InputError(f"{text} is not the address of a dataset: no user, query or fragment is sent")
        return WebSource(text.rstrip("/"), authorization)
    return place_of(text)


def place_of(text: str) -> OdfPlace:
    """A folder, or `s3://BUCKET/PREFIX`."""
    if match := S3.fullmatch(text):
        bucket, prefix = match.groups()
        if not bucket:
            raise InputError(f"{text} names no bucket: s3://BUCKET/PREFIX")
        return S3Place(bucket, f"{prefix.rstrip('/')}/" if prefix.rstrip("/") else "")
    if "://" in text:
        raise InputError(f"{text} is neither a folder nor s3://BUCKET/PREFIX")
    return FolderPlace(Path(text))


@dataclass(frozen=True, slots=True)
class S3Place:
    """A prefix of a bucket."""

    bucket: str
    prefix: str

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}".rstrip("/")

    def pieces(self, name: str) -> Iterator[bytes]:
        with port_errors():
            yield from client("s3").get_object(**self._at(name))["Body"].iter_chunks(PIECE)

    def locked(self) -> AbstractContextManager[None]:
        """Whole objects get their names at once, and the head is replaced only as it was read."""
        return nullcontext()

    def head(self) -> OdfHead | None:
        try:
            with port_errors():
                response = client("s3").get_object(**self._at(HEAD))
                text = response["Body"].read(LONGEST_HEAD).decode(errors="replace").strip()
        except NotFound:
            return None
        return OdfHead(text, response["ETag"])

    def put(self, name: str, body: bytes | Path) -> None:
        with body.open("rb") if isinstance(body, Path) else BytesIO(body) as file:
            try:
                with port_errors("absent"):
                    client("s3").put_object(Body=file, IfNoneMatch="*", ChecksumAlgorithm="SHA256", **self._at(name))
            except ConditionFailed:
                if is_whole(self, name):
                    return
                file.seek(0)
                with port_errors():
                    client("s3").put_object(Body=file, ChecksumAlgorithm="SHA256", **self._at(name))

    def set_head(self, text: str, before: OdfHead | None) -> None:
        condition = {"IfNoneMatch": "*"} if before is None else {"IfMatch": before.token}
        try:
            with port_errors("head"):
                client("s3").put_object(Body=text.encode(), ContentType="text/plain", **condition, **self._at(HEAD))
        except (ConditionFailed, NotFound):
            raise InputError(
                f"s3://{self.bucket}/{self.prefix} was changed by somebody else: repeat the command"
            ) from None

    def _at(self, name: str) -> dict[str, str]:
        return {"Bucket": self.bucket, "Key": f"{self.prefix}{name}"}


@dataclass(frozen=True, slots=True)
class WebSource:
    """A folder behind a web server. Redirects are not followed."""

    url: str
    authorization: str = field(default="", repr=False)

    def __str__(self) -> str:
        return self.url

    def pieces(self, name: str) -> Iterator[bytes]:
        """SourceError where the server sends less than SLOWEST after its first seconds."""
        url = f"{self.url}/{name}"
        own = {"Authorization": self.authorization} if self.authorization else {}
        request = Request(url, headers={"Accept-Encoding": "identity", "User-Agent": "lakegate", **own})  # noqa: S310 - http(s)
        began, received = time.monotonic(), 0
        try:
            with _begun(request) as response:
                while piece := response.read1(PIECE):
                    received += len(piece)
                    yield piece
                    if time.monotonic() - began > PATIENCE + received / SLOWEST:
                        raise SourceError(f"{url} is sent too slowly: {plural(received, 'byte')} so far")
                if response.length:
                    raise SourceError(f"{url} broke off: repeat the command")
        except HTTPError as refused:
            with refused:
                if refused.code in ABSENT:
                    raise NotFound(name) from None
                raise SourceError(f"{url} answered {refused.code}") from None
        except (URLError, HTTPException, OSError, ValueError) as error:
            raise SourceError(f"{url} does not answer ({type(error).__name__})") from None


def _begun(request: Request) -> Any:  # noqa: ANN401 - the library's response
    """The response to a request when its head is there. TimeoutError where that takes too long, even if bytes come meanwhile."""
    found: Queue[Any] = Queue(1)

    def ask() -> None:
        try:
            found.put(OPENER.open(request, timeout=PATIENCE))
        except Exception as error:  # noqa: BLE001 - the caller raises it
            found.put(error)

    Thread(target=ask, daemon=True).start()
    try:
        response = found.get(timeout=PATIENCE)
    except Empty:
        raise TimeoutError from None
    if isinstance(response, Exception):
        raise response
    return response


# ---- A slice that somebody else wrote ----


def checked_slice(path: Path, stated: DataSlice, fields: Iterable[Mapping[str, Any]]) -> SliceStatistics:
    """Compare a file with the event that names it, and with its schema. InputError, which says what differs."""
    if path.stat().st_size != stated.size or _physical(path) != stated.physical:
        raise InputError("its bytes are others than its name says")
    try:
        statistics, logical = _read(path, stated.rows, bare(fields))
    except UnreadableError as error:
        raise InputError(error.finding.message) from None
    offsets = statistics.first_offset, statistics.last_offset
    if offsets != (stated.start, stated.end):
        raise InputError(f"it has the offsets {offsets[0]} to {offsets[1]}, not {stated.start} to {stated.end}")
    if logical != stated.logical:
        raise InputError("its rows have another logical hash")
    return statistics


def _physical(path: Path) -> str:
    with path.open("rb") as file:
        return multihash(HashCode.SHA3_256, hashlib.file_digest(file, "sha3_256").digest())


def _read(path: Path, rows: int, columns: list[Any]) -> tuple[SliceStatistics, str]:
    from pyarrow import ArrowException  # noqa: PLC0415 - 30 ms that other commands do not need
    from pyarrow.parquet import read_schema  # noqa: PLC0415 - likewise

    reader, address = ArrowReader(open_parquet, LocalStore()), path.absolute().as_uri()
    table = reader.described(address)
    if table.rows != rows:
        raise InputError(f"it has {plural(table.rows, 'row')}, not {rows:,}")
    schema: pa.Schema = read_schema(path)
    if bare(odf_fields(schema)) != columns or len(set(schema.names)) != len(schema.names):
        raise InputError("its columns are others than those of the schema")
    logical = LogicalHash(schema)

    def batches() -> Iterator[pa.RecordBatch]:
        for share in (Share(0, address, *bounds) for bounds in zip(table.bounds, table.bounds[1:], strict=False)):
            for stored in reader.batches(share, schema.names):
                try:
                    batch = stored.cast(schema)
                except ArrowException:
                    raise InputError("it has values that do not fit the types of its schema") from None
                logical.update(batch)
                yield batch

    return statistics_of(schema, batches()), multihash(HashCode.ARROW0_SHA3_256, logical.digest())
