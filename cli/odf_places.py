"""What a place of an ODF dataset is, by the simple transfer protocol (RFC-007), and a folder as one.

`refs/head` names the last block, `blocks/HASH` and `data/HASH` are the others. A writer writes data, then blocks, then the head:
who reads at any moment sees a whole dataset. Every name but the head's is a hash that was computed or read as one.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from lakegate.contracts.errors import InputError
from lakegate.contracts.odf.multihash import HashCode, multihash
from lakegate.functions.ports.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from contextlib import AbstractContextManager
    from io import FileIO

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
    found = hashlib.sha3_256()
    try:
        for piece in source.pieces(name):
            found.update(piece)
    except NotFound:
        return False
    return PurePosixPath(name).name == multihash(HashCode.SHA3_256, found.digest())


def read(source: OdfSource, name: str, most: int) -> bytes:
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
        """See `OdfSource`. A pipe or a device, which may never end, is no file."""
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
        """See `OdfPlace`. The lock ends with the process that holds it, however that ends; its file is removed."""
        for each in (self.path / name for name in FOLDERS):
            if each.is_symlink():
                raise InputError(f"{each} is a symbolic link, which would be written through: give another folder")
        place = self.path / LOCK
        try:
            file = _opened(place)
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
        """See `OdfPlace`."""
        with suppress(NotFound):
            text = read(self, HEAD, LONGEST_HEAD).decode(errors="replace").strip()
            return OdfHead(text, text)
        return None

    def size(self, name: str) -> int | None:
        """Bytes of an object; None where there is none."""
        place = self.path / name
        return place.stat().st_size if place.is_file() and not place.is_symlink() else None

    def put(self, name: str, body: bytes | Path) -> None:
        """See `OdfPlace`."""
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
        for each in names:
            (self.path / each).unlink(missing_ok=True)
        for name in (*FOLDERS, "."):
            with suppress(OSError):  # it is not empty, or not there
                (self.path / name).rmdir()

    def set_head(self, text: str, before: OdfHead | None) -> None:
        """See `OdfPlace`."""
        if self.head() != before:
            raise InputError(f"{self.path} was changed by somebody else: repeat the command")
        os.sync()  # a head that survives a loss of power names files that do, too; once, as it takes milliseconds for each file
        self.put(HEAD, text.encode())


def _opened(place: Path) -> FileIO:
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
