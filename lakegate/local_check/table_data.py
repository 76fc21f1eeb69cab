"""Tables of Iceberg and Delta as data: one snapshot of each, written into a Parquet file, which is judged as any other."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lakegate.base.errors import InputError
from lakegate.base.extension_points import load_extension
from lakegate.base.text import quote
from lakegate.contract.file_formats import Format, Storage
from lakegate.local_check.data_files import DataFile, table_format_of
from lakegate.local_check.table_readers import METADATA_SUFFIXES, POINT, TablePlace, WriteTable, WrittenTable

PARQUET: Final = Storage(Format.PARQUET)
IN_CATALOG: Final = re.compile(r"[^./:\s]+(?:\.[^./:\s]+){2,}")
"""`CATALOG.NAMESPACE.TABLE`."""
FORMS: Final = (
    "name the folder of a Delta table (with `_delta_log`) or of an Iceberg table (with `metadata`), a file "
    "*.metadata.json, or CATALOG.NAMESPACE.TABLE"
)


@dataclass(frozen=True, slots=True)
class TableData:
    """The rows of a table as a data file, and what the table declares."""

    file: DataFile
    written: WrittenTable


def write_table(name: str, snapshot: str | None, file: Path) -> TableData:
    """The rows of a table as a data file, which is written. Raises InputError, SetUpError."""
    place = name if name == "/" else name.rstrip("/")
    format_ = table_format_of(place)
    in_catalog = format_ is None and IN_CATALOG.fullmatch(place) is not None and not Path(place).exists()
    if format_ is None and not in_catalog:
        raise InputError(f"there is no table {quote(name)}: {FORMS}")
    write: WriteTable = load_extension(POINT, format_ or "iceberg")
    written = write(TablePlace(place, snapshot, in_catalog), file, {})
    return TableData(DataFile(str(file), label=f"{name} ({written.words})", snapshot=written.snapshot), written)


def table_name(name: str) -> str:
    """The last part of the name of a table, without its catalog, or without the folders that it is in."""
    *folders, last = name.rstrip("/").split("/")
    if last.endswith(METADATA_SUFFIXES):
        last = next((each for each in reversed(folders) if each != "metadata"), "")
    return last.rpartition(".")[2] or "table"
