"""Accepted data on local disk, byte for byte as the manifest lists it.

1. Where every object will lie is decided before anything is fetched: a key that is not of the line's own form is refused.
2. Each object is fetched by its version into a hidden `.part` beside its place, from where an earlier run stopped.
3. When size and checksum of all objects of a delivery are as listed, they are renamed into their places.
4. `_manifest.json` in the folder lists the deliveries that are there whole; it is written last, and also when a run is cut off.
"""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lakegate.cli.checksums import checksum_of, encoded
from lakegate.contracts.errors import InputError
from lakegate.contracts.schemas import validate
from lakegate.functions.adapters.errors import port_errors
from lakegate.functions.ports.errors import NotFound
from lakegate.functions.ports.objects import Address

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from lakegate.cli.checksums import Checksum
    from lakegate.functions.usecases.dependencies import Dependencies

MANIFEST: Final = "_manifest.json"
PIECE: Final = 8 * 1024 * 1024
PLACE: Final = re.compile(
    r"ingest_date=\d{4}-\d\d-\d\d/workload=[0-9a-f]{64}/[A-Za-z0-9][A-Za-z0-9._-]{0,199}", re.ASCII
)
"""Below the folder of its line; what is not of this form is not an object of ours and gets no place on a disk."""


class DiffersError(InputError):
    """An object differs from the manifest; nothing of it is kept in the folder."""


class LostError(DiffersError):
    """The version of an object that the manifest lists was deleted."""


@dataclass(frozen=True, slots=True)
class File:
    """One object and its place."""

    key: str
    version: str
    size: int
    checksum: str
    place: str
    """Below the folder."""


@dataclass(frozen=True, slots=True)
class ListedDelivery:
    """One accepted delivery, as the manifest lists it."""

    listed: dict[str, Any]
    files: tuple[File, ...]

    @property
    def height(self) -> int:
        """Of its block."""
        height: int = self.listed["height"]
        return height


def deliveries(manifest: dict[str, Any], since: int) -> tuple[ListedDelivery, ...]:
    """What lies above a height, each object with its place. Raises InputError for a key of another form."""
    prefix = f"accepted/{manifest['line']}/"
    above = (each for each in manifest["deliveries"] if each["height"] > since)
    return tuple(ListedDelivery(each, tuple(file_of(prefix, one) for one in each["objects"])) for each in above)


def file_of(prefix: str, listed: Mapping[str, Any]) -> File:
    """An object of the line with this prefix, and its place. Raises InputError for a key of another form."""
    place = listed["key"].removeprefix(prefix)
    if place == listed["key"] or not PLACE.fullmatch(place):
        raise InputError(f"what is listed is no object of this line: {listed['key'][:200]!r}")
    return File(listed["key"], listed["version"], listed["size"], listed["checksum"], place)


@dataclass(frozen=True, slots=True)
class Folder:
    """The local copy of one line."""

    path: Path

    def manifest(self) -> dict[str, Any] | None:
        """What an earlier run left; None where there is none. Raises InputError where it cannot be read."""
        try:
            manifest: dict[str, Any] = json.loads((self.path / MANIFEST).read_bytes())
            validate("manifest", manifest)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError, InputError):
            raise InputError(f"{self.path / MANIFEST} cannot be read: give another folder") from None
        return manifest

    def known(self, line: str) -> dict[str, Any]:
        """The manifest of a line in this folder. Raises InputError where the folder holds something else."""
        manifest = self.manifest() or {"line": line, "height": -1, "deliveries": []}
        if manifest["line"] != line:
            raise InputError(f"{self.path} holds data of {manifest['line']}: give another folder")
        return manifest

    def write(self, manifest: dict[str, Any]) -> None:
        """Replace the manifest of the folder at once."""
        part = self.path / f".{MANIFEST}.part"
        with _writing(self.path):
            part.unlink(missing_ok=True)  # of an earlier start, or a link that leads elsewhere
            with part.open("x") as file:
                file.write(json.dumps(manifest, sort_keys=True))
            part.replace(self.path / MANIFEST)


def fetched(
    dependencies: Dependencies, folder: Path, delivery: ListedDelivery, arrived: Callable[[int], object]
) -> tuple[bool, ...]:
    """Bring a delivery into the folder, whole; which of its files had to be fetched. Raises DiffersError, InputError."""
    with _writing(folder):
        missing = [each for each in delivery.files if not _is_there(folder, each)]
        parts = [(_part(dependencies, folder, each, arrived), folder / each.place) for each in missing]
        for part, place in parts:
            part.replace(place)
    return tuple(each in missing for each in delivery.files)


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror}") from None


def _is_there(folder: Path, file: File) -> bool:
    place = folder / file.place
    return place.is_file() and not place.is_symlink() and is_as_listed(place, file)


def _part(dependencies: Dependencies, folder: Path, file: File, arrived: Callable[[int], object]) -> Path:
    """The whole object, verified, beside its place; from the beginning again where what was left of it is damaged."""
    place = folder / file.place
    part = place.with_name(f".{place.name}.part")
    place.parent.mkdir(parents=True, exist_ok=True)
    if part.is_symlink() or (part.exists() and part.stat().st_size > file.size):
        part.unlink()
    while True:
        with part.open("ab") as target:
            start = target.tell()
            for piece in _rest(dependencies, file, start):
                target.write(piece)
                arrived(len(piece))
        if is_as_listed(part, file):
            return part
        part.unlink()
        if not start:
            text = "has another size or checksum than the manifest lists: nothing of it was kept"
            raise DiffersError(f"{file.key} {text}")


def _rest(dependencies: Dependencies, file: File, start: int) -> Iterator[bytes]:
    """The bytes of an object from `start`, piece by piece."""
    where = Address(dependencies.places.lake, file.key, file.version)
    while start < file.size:
        try:
            with port_errors():
                piece = dependencies.objects.read(where, start, min(PIECE, file.size - start))
        except NotFound:
            raise LostError(f"version {file.version} of {file.key} is not there any more") from None
        if not piece:
            return
        yield piece
        start += len(piece)


def is_as_listed(path: Path, file: File) -> bool:
    """Whether a file has the size, and the checksum where one is known."""
    if path.stat().st_size != file.size:
        return False
    algorithm, _, value = file.checksum.partition(":")
    return not algorithm or encoded(_read(path, checksum_of(algorithm))) == value


def _read(path: Path, checksum: Checksum) -> Checksum:
    with path.open("rb") as source:
        while piece := source.read(PIECE):
            checksum.update(piece)
    return checksum
