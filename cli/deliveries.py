"""The files of one delivery as a person names them: files, folders, patterns, and the same in S3."""

from __future__ import annotations

from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path
from typing import TYPE_CHECKING

from lakegate.contracts.errors import InputError

if TYPE_CHECKING:
    from lakegate.spark_jobs.store import PinnedObject

MARKERS = ("_", ".")
"""How names begin that writers put beside their data: `_SUCCESS`, `_temporary`, `.part-0.crc`."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file of a delivery."""

    name: str
    """As a person names it: a path, or `s3://bucket/key`."""
    pin: PinnedObject | None = None
    """The version of an object of S3; None of a file."""
    label: str | None = None
    """The name in results, where it is not `name`."""

    @property
    def shown(self) -> str:
        """The name in results."""
        return self.name if self.label is None else self.label


def files_of(names: list[str]) -> list[DataFile]:
    """The files that names stand for, those of a folder or a pattern in the order of their names.

    InputError for a folder without files, for a pattern that nothing matches, and for an object that cannot be read.
    """
    return [file for name in names for file in (_objects(name) if name.startswith("s3://") else _files(Path(name)))]


def _objects(name: str) -> list[DataFile]:
    from lakegate.cli.buckets import pinned  # noqa: PLC0415 - loads boto3, which files do not need

    return [DataFile(f"s3://{each.bucket}/{each.key}", each) for each in pinned(name)]


def _files(name: Path) -> list[DataFile]:
    return [DataFile(str(path)) for path in _paths(name)]


def _paths(name: Path) -> list[Path]:
    if name.is_dir():
        inside = (path.relative_to(name) for path in name.rglob("*") if path.is_file())
        found = sorted(name / path for path in inside if not any(part.startswith(MARKERS) for part in path.parts))
        if not found:
            raise InputError(f"{name} holds no files: name a folder with data, or the files")
        return found
    if has_magic(str(name)) and not name.exists():
        matched = map(Path, glob(str(name), recursive=True))  # noqa: PTH207 - Path.glob takes no absolute pattern
        found = sorted(path for path in matched if path.is_file())
        if not found:
            raise InputError(f"nothing matches {name}: name a file, a folder or another pattern")
        return found
    return [name]
