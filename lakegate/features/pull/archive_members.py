"""One file of a fetched archive (zip or tar), chosen by the pattern of its name.

An archive is hostile: it is read from a file of bounded size, its directory and what it unpacks to are bounded before they are
read, and no name of it is ever a path.
"""

from __future__ import annotations

import bz2
import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Final, NamedTuple, Self
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

from lakegate.aws.https_client import read_exactly
from lakegate.base.errors import PortError
from lakegate.features.pull.pull_sources import OpenedSource, SourceChanged, SourceIdentity, Transfer

if TYPE_CHECKING:
    from lakegate.contract.delivery_policy import Pull

LARGEST: Final = 256 << 20
"""Bytes of an archive: it is kept on the disk of the function."""
MOST_UNPACKED: Final = 1 << 30
"""Bytes that are unpacked of a tar archive, from its beginning to its end, and of a member of a zip archive."""
MOST_DIRECTORY: Final = 4 << 20
"""Bytes of the directory of a zip archive, of which each entry becomes an object in memory."""
MOST_MEMBERS: Final = 100_000
LONGEST_HEADER: Final = 1 << 16
"""Bytes of a tar archive's header with a long name."""
MOST_HEADERS: Final = 16 << 20
"""Bytes of all of these."""
_PIECE: Final = 1 << 20
_END, _ZIP64, _END_SIZE, _MOST_COMMENT = b"PK\x05\x06", b"PK\x06\x07", 22, 65_535
_ENCRYPTED: Final = 1
_BLOCK: Final = 512
_FILES: Final = (b"0", b"\0")
_LONG: Final = (b"L", b"x", b"g")
"""Kinds of headers that say more of what follows; the last one of all that follow, which is not needed."""
_LONG_NAME, _PAX, _ = _LONG
_DAMAGED: Final = (BadZipFile, EOFError, OSError, zlib.error, ValueError, NotImplementedError, RuntimeError)
"""Errors of the libraries about what an archive has."""


class ArchiveMember(NamedTuple):
    """The file of an archive whose name fits."""

    size: int
    open: Callable[[], IO[bytes]]


@dataclass(frozen=True, slots=True)
class ArchiveMembers:
    """Transfer: sources as they are, or of an archive the member that a contract names."""

    transfer: Transfer

    def open(
        self, contract: str, pull: Pull, unless: SourceIdentity, begun: SourceIdentity | None = None, at: int = 0
    ) -> AbstractContextManager[OpenedSource | None]:
        """A member is never continued: it begins again."""
        if not pull.member:
            return self.transfer.open(contract, pull, unless, begun, at)
        if begun is not None:
            raise SourceChanged("source-changed")
        return self._member(contract, pull, unless)

    @contextmanager
    def _member(self, contract: str, pull: Pull, unless: SourceIdentity) -> Iterator[OpenedSource | None]:
        with TemporaryFile() as archive:
            with self.transfer.open(contract, pull, unless) as opened:
                if opened is None:
                    yield None
                    return
                identity = opened.identity
                _fetch(opened, archive)
            found = _found(archive, pull.member)
            with _damaged():
                member = found.open()
            with member:
                yield OpenedSource(identity, found.size, resumable=False, read=_reader(member, found.size))


def _fetch(opened: OpenedSource, archive: IO[bytes]) -> None:
    """The whole archive. Raises PortError where it is larger than what is kept."""
    if (opened.size or 0) > LARGEST:
        raise PortError("archive-too-large")
    while piece := opened.read(_PIECE):
        archive.write(piece)
        if archive.tell() > LARGEST:
            raise PortError("archive-too-large")
        if len(piece) < _PIECE:
            break
    if opened.size is not None and archive.tell() != opened.size:
        raise SourceChanged("length-differs")


def _found(archive: IO[bytes], pattern: str) -> ArchiveMember:
    """The one member whose name fits. Raises PortError."""
    archive.seek(0)
    first = archive.read(4)
    with _damaged():
        members = list(_of_zip(archive, pattern) if first == b"PK\x03\x04" else _of_tar(archive, first, pattern))
    if not members:
        raise PortError("member-missing")
    if len(members) > 1:
        raise PortError("member-ambiguous")
    if members[0].size > MOST_UNPACKED:
        raise PortError("archive-too-large")
    return members[0]


@contextmanager
def _damaged() -> Iterator[None]:
    try:
        yield
    except _DAMAGED:
        raise PortError("archive-damaged") from None


def _reader(member: IO[bytes], size: int) -> Callable[[int], bytes]:
    """Reads no more than the archive states of the member, and refuses less."""
    left = size

    def read(length: int) -> bytes:
        nonlocal left
        with _damaged():
            body = read_exactly(member.read, min(length, left))
            if len(body) < min(length, left):
                raise EOFError
            left -= len(body)
            return body

    return read


# ---- Zip ----


def _of_zip(archive: IO[bytes], pattern: str) -> Iterator[ArchiveMember]:
    """The members that fit. PortError where the directory has more than the bounds allow, BadZipFile where it is none."""
    _check_directory(archive)
    archive.seek(0)
    opened = ZipFile(archive)
    for entry in opened.infolist():
        if entry.is_dir() or not fnmatchcase(entry.filename, pattern):
            continue
        if entry.flag_bits & _ENCRYPTED or entry.compress_type not in {ZIP_STORED, ZIP_DEFLATED, ZIP_BZIP2}:
            raise PortError("archive-refused")
        yield ArchiveMember(entry.file_size, partial(opened.open, entry))


def _check_directory(archive: IO[bytes]) -> None:
    """The directory as the library finds it: the last one, without the extension for 64 bits, which no such archive needs."""
    size = archive.seek(0, 2)
    archive.seek(max(0, size - _MOST_COMMENT - _END_SIZE - 20))
    tail = archive.read()
    last = len(tail) - _END_SIZE
    is_last = tail.startswith(_END, max(last, 0)) and tail.endswith(b"\0\0")
    at = last if is_last else tail.rfind(_END)
    if at < 0:
        raise BadZipFile
    if _ZIP64 in tail or int.from_bytes(tail[at + 12 : at + 16], "little") > MOST_DIRECTORY:
        raise PortError("archive-refused")


# ---- Tar ----
# The library's reader keeps headers of any length in memory, so the few fields that are needed are read here.


def _of_tar(archive: IO[bytes], first: bytes, pattern: str) -> Iterator[ArchiveMember]:
    """The members that fit, of a tar archive that may be packed with gzip or bzip2."""

    def unpacked() -> IO[bytes]:
        archive.seek(0)
        if first[:2] == b"\x1f\x8b":
            return gzip.GzipFile(fileobj=archive)  # type: ignore[return-value]
        return bz2.BZ2File(archive) if first[:3] == b"BZh" else archive

    def opened(begin: int) -> IO[bytes]:
        stream = unpacked()
        _skip(stream, begin)
        return _Kept(stream)  # type: ignore[return-value]

    for name, begin, size in _entries(unpacked()):
        if fnmatchcase(name, pattern):
            yield ArchiveMember(size, partial(opened, begin))


def _entries(stream: IO[bytes]) -> Iterator[tuple[str, int, int]]:
    """The files of a tar archive: name, place and size. PortError beyond the bounds, ValueError where it is no archive."""
    place, headers, long_name, long_size = 0, 0, "", -1
    for _ in range(MOST_MEMBERS):
        header = read_exactly(stream.read, _BLOCK)
        if not header.strip(b"\0"):
            return
        kind, name, size = _header(header)
        place += _BLOCK
        if kind in _LONG:
            headers += size
            if size > LONGEST_HEADER or headers > MOST_HEADERS:
                raise PortError("archive-refused")
            body = read_exactly(stream.read, _padded(size))[:size]
            long_name, long_size = _pax(body, long_name) if kind == _PAX else (long_name, long_size)
            long_name = body.rstrip(b"\0").decode() if kind == _LONG_NAME else long_name
        else:
            size = long_size if long_size >= 0 else size
            if place + size > MOST_UNPACKED:
                raise PortError("archive-too-large")
            if kind in _FILES:
                yield long_name or name, place, size
            _skip(stream, _padded(size))
            long_name, long_size = "", -1
        place += _padded(size)
    raise PortError("archive-refused")


@dataclass(slots=True)
class _Kept:
    """A stream that is not closed with its member: the archive has its own end."""

    stream: IO[bytes]

    def read(self, length: int) -> bytes:
        """As files have it."""
        return self.stream.read(length)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing."""


def _padded(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


def _skip(stream: IO[bytes], count: int) -> None:
    """Read over so many bytes. EOFError where they are not there."""
    while count:
        piece = stream.read(min(count, _PIECE))
        if not piece:
            raise EOFError
        count -= len(piece)


def _header(header: bytes) -> tuple[bytes, str, int]:
    """Kind, name and size of a member. ValueError where the block is no header."""
    if len(header) != _BLOCK or header[257:262] != b"ustar":
        raise ValueError
    stated = int(header[148:156].strip(b" \0") or b"0", 8)
    if stated != sum(header[:148]) + sum(header[156:]) + 8 * ord(" "):
        raise ValueError
    name, prefix = (header[a:b].partition(b"\0")[0].decode() for a, b in ((0, 100), (345, 500)))
    is_posix = header[257:263] == b"ustar\0"
    size = int(header[124:136].strip(b" \0") or b"0", 8)
    if size < 0:
        raise ValueError
    return header[156:157], f"{prefix}/{name}" if prefix and is_posix else name, size


def _pax(body: bytes, name: str) -> tuple[str, int]:
    """Name and size that an extended header states; -1 where it states no size. ValueError where it is none."""
    size, at = -1, 0
    while at < len(body):
        blank = body.index(b" ", at)
        end = at + int(body[at:blank])
        if not blank < end <= len(body):
            raise ValueError
        key, _, value = body[blank + 1 : end - 1].partition(b"=")
        if key == b"path":
            name = value.decode()
        elif key == b"size":
            size = int(value)
            if size < 0:
                raise ValueError
        at = end
    return name, size
