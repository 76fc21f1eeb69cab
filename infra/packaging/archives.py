"""Archives whose bytes depend on names and contents of their files alone: no times, no owners, one order."""

from __future__ import annotations

import gzip
import hashlib
import tarfile
import zipfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a zip can hold."""


READABLE, EXECUTABLE, FOLDER = 0o644, 0o755, 0o755


LEVEL = 6


QUICK = 1
"""Of compression where nobody sends the archive anywhere: packing it small takes twice as long."""


def zipped(folder: Path, archive: Path, level: int = LEVEL) -> None:
    """Write the files of a folder into a zip; everyone may read them, as Lambda asks."""
    with zipfile.ZipFile(archive, "w") as target:
        for path in _files(folder):
            entry = zipfile.ZipInfo(path.relative_to(folder).as_posix(), EPOCH)
            entry.external_attr, entry.compress_type, entry.create_system = READABLE << 16, zipfile.ZIP_DEFLATED, 3
            target.writestr(entry, path.read_bytes(), compresslevel=level)


def tarred(folder: Path, archive: Path) -> None:
    """Write the files of a folder, symbolic links as they are, into a gzipped tar."""
    with (
        archive.open("wb") as raw,
        gzip.GzipFile("", "wb", LEVEL, raw, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as target,
    ):
        for path in _files(folder):
            target.add(path, path.relative_to(folder).as_posix(), recursive=False, filter=_plain)


def digest(*paths: Path) -> str:
    """SHA-256 of files one after the other, in hexadecimal."""
    whole = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            whole.update(hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest()


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_symlink() or path.is_file())


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    entry.mode = EXECUTABLE if entry.mode & 0o100 else READABLE
    return entry
