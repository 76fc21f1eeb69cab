"""Tables of Delta, read by deltalake."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import walk
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from lakegate.base.errors import InputError
from lakegate.base.text import printable, quote
from lakegate.features.table_readers.parquet_rows import columns_of, write_rows
from lakegate.local_check.table_readers import TablePlace, WrittenTable

VERSION: Final = re.compile(r"[0-9]{1,18}")
SCHEME: Final = re.compile(r"[A-Za-z][0-9A-Za-z+.-]*:")
LONGEST_ERROR: Final = 300


def write_table(place: TablePlace, file: Path, stated: Mapping[str, str]) -> WrittenTable:
    """A row of the extension point `table readers`."""
    if place.snapshot is not None and not VERSION.fullmatch(place.snapshot):
        raise InputError(f"--snapshot {place.snapshot}: a table of Delta has versions, which are whole numbers")
    asked = None if place.snapshot is None else int(place.snapshot)
    is_local = not place.name.startswith("s3://")
    if is_local:
        _require_log_inside(Path(place.name))
    with _errors(place.name):
        table = DeltaTable(place.name, asked, None if is_local else _options())
        for path in pa.table(table.get_add_actions(flatten=True)).column("path").to_pylist():
            _require_inside(place.name, path, is_local=is_local)
        rows = pa.RecordBatchReader.from_stream(table.scan())
        declared = pa.schema(table.schema().to_arrow())
        write_rows(rows, declared, file, stated)
        version, description = table.version(), table.metadata().description or ""
    return WrittenTable(str(version), f"Delta, version {version}", columns_of(declared), description)


def _options() -> dict[str, str]:
    from lakegate.local_check.access_to_s3 import access_to_s3  # noqa: PLC0415 - boto3, for objects alone

    access = access_to_s3()
    is_plain = access.get("AWS_ENDPOINT_URL", "").startswith("http://")
    return access | ({"AWS_ALLOW_HTTP": "true"} if is_plain else {})


def _require_log_inside(table: Path) -> None:
    """InputError where a link in the log of a table leads out of its folder."""
    root = table.resolve()
    for folder, folders, names in walk(root / "_delta_log"):
        for each in (*folders, *names):
            if not Path(folder, each).resolve().is_relative_to(root):
                raise _outside(table, f"_delta_log/{each}")


def _require_inside(table: str, path: str, *, is_local: bool) -> None:
    """InputError where the log names a file that is not in the folder of the table, as a shallow clone does."""
    named = (path, unquote(path))
    if any(SCHEME.match(each) or each.startswith("/") or ".." in each.split("/") for each in named):
        raise _outside(table, path)
    root = Path(table).resolve()
    if is_local and not all((root / each).resolve().is_relative_to(root) for each in named):
        raise _outside(table, path)


def _outside(table: str | Path, path: str) -> InputError:
    where = f"{table} has the file {quote(path)}, which is not in its folder and is not read"
    return InputError(f"{where}: copy the table with all its files (`DEEP CLONE`)")


@contextmanager
def _errors(table: str) -> Iterator[None]:
    """Turn errors of deltalake into a sentence."""
    try:
        yield
    except TableNotFoundError:
        raise InputError(f"{table} is no table of Delta, or has no such version") from None
    except (DeltaError, pa.ArrowException, OSError, ValueError) as error:
        words = printable(str(error).partition("\n")[0])[:LONGEST_ERROR]
        raise InputError(f"{table} cannot be read by deltalake: {words}") from None
