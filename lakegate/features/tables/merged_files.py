"""Files of Iceberg that have the rows of several typed files: named, written, and what they were made of."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.table.snapshots import Operation, Summary
from pyiceberg.table.update.snapshot import _OverwriteFiles

from lakegate.engine.row_groups import row_groups
from lakegate.features.tables.compact_table import ListedFile, MergedFile

if TYPE_CHECKING:
    from pyiceberg.io import FileIO, InputStream
    from pyiceberg.table import Table

T = TypeVar("T")
NAME: Final = re.compile(r"/data/of-([1-9][0-9]*)-files-[0-9a-f]{32}\.parquet")
"""Of such a file, below the folder of its table: how many typed files it was made of."""
PARTS: Final = "lakegate.files"
"""In the footer of such a file: the keys of these typed files, as JSON."""
AT_ONCE: Final = 16
"""Footers that are read at the same time."""


@dataclass(frozen=True, slots=True)
class MergedFiles:
    """The files of a table that were made of typed files, and have these in their footers."""

    io: FileIO
    folder: str
    """Of the table, without a slash at its end."""
    lake: str
    """The address before a key, without a slash at its end."""
    known: dict[str, frozenset[str]] = field(default_factory=dict)
    """By address what was read; nothing of a file that is not there."""

    def counts(self, addresses: Sequence[str]) -> list[int]:
        """The number of typed files that each file was made of; 0 of one that another program wrote, whatever its name is."""
        inside = self.parts(addresses)
        return [len(inside.get(each, ())) if self._is_below(each) else 1 for each in addresses]

    def parts(self, addresses: Iterable[str]) -> Mapping[str, frozenset[str]]:
        """By address, of those that are such files and there, the addresses of the typed files that they were made of."""
        wanted = [each for each in addresses if self._is_below(each) and NAME.fullmatch(each, len(self.folder))]
        unread = [each for each in wanted if each not in self.known]
        self.known.update(zip(unread, at_once(self._read, unread), strict=True))
        return {each: self.known[each] for each in wanted if self.known[each]}

    def write(self, table: Table, group: Sequence[ListedFile]) -> MergedFile:
        """Write the rows of files into one, in their order, a row group at a time."""
        addresses = [each.address for each in group]
        inside = self.parts(addresses)
        parts = [part for each in addresses for part in sorted(inside.get(each, {each}))]
        address = f"{self.folder}/data/of-{len(parts)}-files-{uuid4().hex}.parquet"
        schema = schema_to_pyarrow(table.schema(), include_field_ids=False)
        keys = json.dumps([each.removeprefix(f"{self.lake}/") for each in parts])
        with (
            self.io.new_output(address).create() as stream,
            pq.ParquetWriter(stream, schema, compression="zstd", write_page_index=True) as writer,
        ):
            for rows in row_groups(self._rows(addresses, schema)):
                writer.write_table(rows, row_group_size=len(rows))
            writer.add_key_value_metadata({PARTS: keys})
        return MergedFile(address, tuple(addresses))

    def _rows(self, addresses: Iterable[str], schema: pa.Schema) -> Iterator[pa.Table]:
        for address in addresses:
            with self.io.new_input(address).open() as stream, pq.ParquetFile(stream) as file:
                for number in range(file.num_row_groups):
                    yield _with_columns(file.read_row_group(number), schema)

    def _is_below(self, address: str) -> bool:
        return address.startswith(f"{self.folder}/")

    def _read(self, address: str) -> frozenset[str]:
        with suppress(FileNotFoundError), self.io.new_input(address).open() as stream:
            return frozenset(f"{self.lake}/{key}" for key in _stated(stream))
        return frozenset()


def _stated(stream: InputStream) -> list[str]:
    """The keys in the footer of a file; none of one that another program wrote under such a name."""
    try:
        keys = json.loads((pq.read_metadata(stream).metadata or {})[PARTS.encode()])
    except (pa.ArrowInvalid, KeyError, ValueError, RecursionError):
        return []
    return keys if isinstance(keys, list) and all(isinstance(each, str) for each in keys) else []


def at_once(read: Callable[[str], T], addresses: Sequence[str]) -> list[T]:
    """What is read of files, some at the same time."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(read, addresses))


def _with_columns(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Rows with the columns of a table, in its order; what a file of an earlier version lacks is null, as for every reader."""
    nulls = len(rows)
    columns = [
        rows.column(each.name) if each.name in rows.column_names else pa.nulls(nulls, each.type) for each in schema
    ]
    return pa.table(columns, schema.names).cast(schema)


class Replaced(_OverwriteFiles):
    """A snapshot that says that it has the same rows in other files."""

    def _summary(self, snapshot_properties: Mapping[str, str] = {}) -> Summary:
        counted = super()._summary(dict(snapshot_properties))
        return Summary(operation=Operation.REPLACE, **counted.additional_properties)
