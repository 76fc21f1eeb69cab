"""Tables of Iceberg and Delta as data: one snapshot of each, written into a Parquet file, which is judged as any other."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lakegate.base.errors import InputError
from lakegate.base.extension_points import load_extension
from lakegate.base.text import quote
from lakegate.contract.file_formats import Format, Storage
from lakegate.local_check.data_files import METADATA_SUFFIXES, DataFile, table_format_of

POINT: Final = "table readers"
PARQUET: Final = Storage(Format.PARQUET)
METADATA: Final = re.compile(r"(?:v)?(?P<number>[0-9]{1,18})(?:-[0-9A-Za-z-]+)?(?:\.gz)?\.metadata\.json(?:\.gz)?")
"""A name of a metadata file of Iceberg, with the number of the change that wrote it."""
IN_CATALOG: Final = re.compile(r"[^./:\s]+(?:\.[^./:\s]+){2,}")
"""`CATALOG.NAMESPACE.TABLE`."""
FORMS: Final = (
    "name the folder of a Delta table (with `_delta_log`) or of an Iceberg table (with `metadata`), a file "
    "*.metadata.json, or CATALOG.NAMESPACE.TABLE"
)


@dataclass(frozen=True, slots=True)
class TablePlace:
    """Where a table is, and which snapshot of it is asked for."""

    name: str
    """A folder or a metadata file, also as `s3://BUCKET/KEY` without a slash at its end; or `CATALOG.NAMESPACE.TABLE`."""
    snapshot: str | None = None
    """Of Iceberg the id of a snapshot, or the name of a branch or tag; of Delta a version. None: the current one."""
    in_catalog: bool = False


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


@dataclass(frozen=True, slots=True)
class TableData:
    """The rows of a table as a data file, and what the table declares."""

    file: DataFile
    written: WrittenTable


WriteTable = Callable[[TablePlace, Path], WrittenTable]
"""A row of the extension point `table readers`, by the format: write the rows of one snapshot into a Parquet file, with few
row groups, and one data file at most, in memory. The library applies deletes, and finds columns of other schemas and partitions.
Raises InputError, SetUpError; ModuleNotFoundError where the library is not installed."""


def write_table(name: str, snapshot: str | None, file: Path) -> TableData:
    """The rows of a table as a data file, which is written. Raises InputError, SetUpError."""
    place = name if name == "/" else name.rstrip("/")
    format_ = table_format_of(place)
    in_catalog = format_ is None and IN_CATALOG.fullmatch(place) is not None and not Path(place).exists()
    if format_ is None and not in_catalog:
        raise InputError(f"there is no table {quote(name)}: {FORMS}")
    write: WriteTable = load_extension(POINT, format_ or "iceberg")
    written = write(TablePlace(place, snapshot, in_catalog), file)
    return TableData(DataFile(str(file), label=f"{name} ({written.words})", snapshot=written.snapshot), written)


def table_name(name: str) -> str:
    """The last part of the name of a table, without its catalog, or without the folders that it is in."""
    *folders, last = name.rstrip("/").split("/")
    if last.endswith(METADATA_SUFFIXES):
        last = next((each for each in reversed(folders) if each != "metadata"), "")
    return last.rpartition(".")[2] or "table"


def newest_metadata(names: list[str], folder: str) -> str:
    """The name of the metadata file that a table without a catalog is read by. InputError where it is none, or not one."""
    numbers = {name: int(found["number"]) for name in names if (found := METADATA.fullmatch(name))}
    newest = [name for name, number in numbers.items() if number == max(numbers.values())]
    if len(newest) != 1:
        problem = f"has {len(newest)} newest metadata files" if newest else "has no metadata file"
        raise InputError(f"{folder} {problem}, so that the current one is not known: name the file *.metadata.json")
    return newest[0]
