"""What an artifact consists of, read from its own bytes: the metadata of its packages, and digests.

An artifact may come from anybody: only files of bounded size are read, and nothing is written or executed.
"""

from __future__ import annotations

import hashlib
import re
import tarfile
import zipfile
from email.parser import HeaderParser
from typing import TYPE_CHECKING, Final

from lakegate.contracts.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from email.message import Message
    from pathlib import Path

METADATA: Final = re.compile(r"(?:lib/python3\.\d+/site-packages/)?[^/]+\.dist-info/METADATA")
"""A package's metadata in a bundle, a wheel or a virtual environment (Core metadata specifications, packaging.python.org)."""
MAX_BYTES: Final = 2**20
"""Of one file that is read; the longest metadata of a locked package has a tenth of it."""

Packages = frozenset[tuple[str, str]]
"""Names, normalised as PEP 503 describes, and versions."""


def sha256(path: Path) -> str:
    """The digest of a file's bytes, in lower-case hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def packages_of(archive: Path) -> Packages:
    """The packages in a zip (`.zip`, `.whl`) or a gzipped tar. InputError where it cannot be read."""
    return frozenset((normalised(str(each["Name"])), str(each["Version"])) for each in _metadata(archive))


def requirements_of(wheel: Path) -> list[str]:
    """The requirements of a wheel, extras included, as its metadata has them. InputError where it cannot be read."""
    return [str(line) for each in _metadata(wheel) for line in each.get_all("Requires-Dist", [])]


def normalised(name: str) -> str:
    """The name of a package as it is compared (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _metadata(archive: Path) -> Iterator[Message]:
    try:
        texts = list(_in_zip(archive) if zipfile.is_zipfile(archive) else _in_tar(archive))
    except (OSError, EOFError, tarfile.TarError, zipfile.BadZipFile) as error:
        raise InputError(f"{archive.name} cannot be read as an archive") from error
    for text in texts:
        found = HeaderParser().parsestr(text.decode("utf-8", "replace"))
        if found["Name"] is None:
            raise InputError(f"{archive.name} has a package without a name")
        yield found


def _in_zip(archive: Path) -> Iterator[bytes]:
    with zipfile.ZipFile(archive) as opened:
        for entry in opened.infolist():
            if METADATA.fullmatch(entry.filename):
                with opened.open(entry) as file:
                    yield file.read(MAX_BYTES)


def _in_tar(archive: Path) -> Iterator[bytes]:
    with tarfile.open(archive, "r:gz") as opened:
        for entry in opened:
            if METADATA.fullmatch(entry.name) and (file := opened.extractfile(entry)) is not None:
                yield file.read(MAX_BYTES)
