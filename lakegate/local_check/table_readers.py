"""What the readers of tables take and give (extension point `table readers`). Functions read tables, too: it stands alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from lakegate.base.errors import InputError

POINT: Final = "table readers"
METADATA: Final = re.compile(r"(?:v)?(?P<number>[0-9]{1,18})(?:-[0-9A-Za-z-]+)?(?:\.gz)?\.metadata\.json(?:\.gz)?")
"""A name of a metadata file of Iceberg, with the number of the change that wrote it."""
METADATA_SUFFIXES = (".metadata.json", ".metadata.json.gz")
S3: Final = frozenset({"s3", "s3a", "s3n"})
"""Names of one store."""


@dataclass(frozen=True, slots=True)
class TablePlace:
    """Where a table is, and which snapshot of it is asked for."""

    name: str
    """A folder or a metadata file, also as `s3://BUCKET/KEY` without a slash at its end; or `CATALOG.NAMESPACE.TABLE`."""
    snapshot: str | None = None
    """Of Iceberg the id of a snapshot, or the name of a branch or tag; of Delta a version. None: the current one."""
    in_catalog: bool = False
    without: frozenset[str] = frozenset()
    """Buckets of S3 that have no files of the table, whatever its metadata says."""
    whole_store: bool = True
    """Whether a table of a catalog may have files outside of its own folder, in the store that has its metadata."""
    only: frozenset[str] | None = None
    """Of Iceberg the data files whose rows are read, which no deletes are of; None: all files."""


class TableFolder(NamedTuple):
    """The folder of a table of Iceberg: the one above `metadata`, whatever the metadata says."""

    scheme: str
    path: str
    """Of S3 with the bucket before it; without a slash at its end."""

    @classmethod
    def above(cls, metadata_location: str) -> TableFolder:
        """The one of a metadata file, as a person or a catalog names it."""
        scheme, path = _parts(metadata_location)
        folder = path.rpartition("/")[0].removesuffix("/metadata")
        return cls(scheme, str(Path(folder).resolve()) if scheme == "file" else folder)

    def has(self, address: str) -> bool:
        """Whether a file is in the folder, or in one below it. Links are followed."""
        scheme, path = _parts(address)
        if scheme == self.scheme == "file":
            return Path(path).resolve().is_relative_to(self.path)
        is_plain = address == f"{scheme}://{path}"  # else who asks for the file reads another one than who names it
        is_same = is_plain and self.shares_store(scheme) and ".." not in path.split("/")
        return is_same and path.startswith(f"{self.path}/")

    def shares_store(self, scheme: str) -> bool:
        """Whether files of a scheme are in the store of the folder."""
        return scheme == self.scheme or {scheme, self.scheme} <= S3


def _parts(address: str) -> tuple[str, str]:
    """Scheme and path, as the library of Iceberg reads them."""
    parts = urlsplit(address)
    return (parts.scheme, f"{parts.netloc}{parts.path}") if parts.scheme else ("file", address)


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a table, or a part of one, as the table declares it."""

    name: str
    """Of the items of a list, and of keys and values of a map, `[]`, `key` and `value`."""
    is_required: bool
    description: str
    """Empty where there is none."""
    parts: tuple[TableColumn, ...] = ()


@dataclass(frozen=True, slots=True)
class WrittenTable:
    """A snapshot of a table that was written."""

    snapshot: str
    """Of Iceberg its id, of Delta its version; empty where a table has none yet."""
    words: str
    """For people: `Iceberg, snapshot 4744723849327238845`."""
    columns: tuple[TableColumn, ...]
    description: str
    """Of the table; empty where it has none."""


WriteTable = Callable[[TablePlace, Path, Mapping[str, str]], WrittenTable]
"""A row of the extension point `table readers`, by the format: write the rows of one snapshot into a Parquet file, whose footer
states the given texts, with few row groups, and one data file at most, in memory. The library applies deletes, and finds columns
of other schemas and partitions.
Raises InputError, SetUpError; ModuleNotFoundError where the library is not installed."""


def newest_metadata(names: list[str], folder: str) -> str:
    """The name of the metadata file that a table without a catalog is read by. InputError where it is none, or not one."""
    numbers = {name: int(found["number"]) for name in names if (found := METADATA.fullmatch(name))}
    newest = [name for name, number in numbers.items() if number == max(numbers.values())]
    if len(newest) != 1:
        problem = f"has {len(newest)} newest metadata files" if newest else "has no metadata file"
        raise InputError(f"{folder} {problem}, so that the current one is not known: name the file *.metadata.json")
    return newest[0]
