"""Rows as known, as true, new, or by offset; slices as one table."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from lakegate.base.errors import InputError
from lakegate.base.timestamps import instant_of
from lakegate.cli import terminal
from lakegate.cli.command_runner import usable
from lakegate.cli.datasets.chain_proofs import signatures_by
from lakegate.contract.field_paths import quoted_name
from lakegate.engine.measure.duckdb_tables import database
from lakegate.features.odf.exchange.odf_export import ledger_in
from lakegate.features.odf.exchange.odf_import import Proof, dataset_in
from lakegate.features.odf.exchange.odf_repositories import Added, FolderPlace, Link
from lakegate.features.odf.format.metadata_chain import SetAttachments
from lakegate.features.odf.format.odf_names import COMMON
from lakegate.gate.datasets.current_deliveries import ALL_CURRENT, not_current
from lakegate.gate.datasets.readers_manifest import not_current_in
from lakegate.gate.datasets.slice_projection import NOTHING, Projection, Selected, select
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.ledger.blocks import AnyBlock, LedgerSlice, Record, parse_block
from lakegate.transfer.download_files import MANIFEST, ListedDelivery, deliveries, fetched

# ---- Slices as one table, and files of other programs ----


FORMS: Final = {
    ".parquet": "FORMAT parquet, COMPRESSION zstd",
    ".csv": "FORMAT csv, HEADER true, TIMESTAMPFORMAT '%Y-%m-%dT%H:%M:%S.%fZ'",
}
"""Options of DuckDB's COPY by the suffix of a file."""
_MEMORY: Final = "4GB"
_BATCH: Final = 1 << 16
"""Rows that are in memory at a time."""
_BY_STATISTICS: Final = (
    "cte_filter_pusher",
    "filter_pushdown",
    "join_filter_pushdown",
    "late_materialization",
    "limit_pushdown",
    "partial_aggregate_pushdown",
    "row_group_pruner",
    "statistics_propagation",
    "top_n",
)
"""Optimisations of DuckDB by the statistics in files, which no hash of their rows covers."""


@dataclass(frozen=True, slots=True)
class SliceTable:
    """Slices of one dataset, in the order of their offsets; there is at least one."""

    files: Sequence[Path]
    as_of: datetime | None = None
    """Rows of later events are left out."""
    events: bool = False
    """All events; else rows that were retracted or corrected are left out, with the events that remove them."""

    def count(self, folder: Path) -> int:
        """Rows."""
        with _open_database(folder) as connection:
            found = connection.execute(f"SELECT count(*) FROM ({self._rows.query})").fetchall()  # noqa: S608 - generated names
        return int(found[0][0])

    def tables(self, folder: Path) -> Iterator[pa.Table]:
        """The rows, some at a time."""
        rows = self._rows
        with _open_database(folder) as connection:
            for batch in connection.sql(rows.ordered).to_arrow_reader(_BATCH):
                yield pa.Table.from_batches([batch]).rename_columns(list(rows.names))

    def first(self, limit: int | None, folder: Path) -> pa.Table:
        """The first rows; None: all of them."""
        rows = self._rows
        with _open_database(folder) as connection:
            found = connection.sql(
                rows.ordered if limit is None else f"{rows.ordered} LIMIT {limit:d}"
            ).to_arrow_table()
        return found.rename_columns(list(rows.names))

    def write(self, path: Path, folder: Path) -> None:
        """Write the rows to a file of one of FORMS. InputError where its form has no names that differ in their case alone."""
        rows = self._rows
        with _open_database(folder) as connection:
            if not rows.same_but_for_case:
                query = f"SELECT {rows.named} FROM ({rows.ordered})"  # noqa: S608 - quoted
                connection.execute(f"COPY ({query}) TO {_quote_text(str(path.resolve()))} ({FORMS[path.suffix]})")
                return
            rows.refuse_case(path.suffix)
            from pyarrow.parquet import ParquetWriter  # noqa: PLC0415 - likewise

            batches = connection.sql(rows.ordered).to_arrow_reader(_BATCH)
            schema = pa.schema([entry.with_name(name) for entry, name in zip(batches.schema, rows.names, strict=True)])
            with ParquetWriter(path, schema, compression="zstd") as writer:
                for batch in batches:
                    writer.write_batch(batch.rename_columns(list(rows.names)))

    def write_view(self, path: Path, name: str) -> None:
        """Write a DuckDB database with one view, which reads the slices where they are. InputError likewise."""
        rows = self._rows
        rows.refuse_case(path.suffix)
        with _failing():
            connection = duckdb.connect(str(path))
            try:
                connection.execute(f"CREATE VIEW {quoted_name(name)} AS SELECT {rows.named} FROM ({rows.query})")  # noqa: S608 - quoted
            finally:
                connection.close()

    @property
    def _rows(self) -> _Rows:
        """InputError where a file is no Parquet file."""
        schemas: dict[pa.Schema, list[str]] = {}
        is_taken_back = False
        for path in self.files:
            from pyarrow.parquet import ParquetFile  # noqa: PLC0415 - 30 ms that a question without slices does not need

            try:
                with ParquetFile(path) as parquet:
                    schema = parquet.schema_arrow.remove_metadata()
                    operations = (batch.column(0) for batch in parquet.iter_batches(columns=[COMMON[1]]))
                    takes_back = COMMON[1] in schema.names and any(
                        pc.any(pc.greater(operation, 0)).as_py() for operation in operations
                    )
            except (pa.ArrowException, OSError):
                raise InputError(f"the slices cannot be read: {path.name} is no Parquet file, or is damaged") from None
            schemas.setdefault(schema, []).append(_quote_text(str(path.resolve())))
            is_taken_back |= takes_back
        return _Rows(schemas, self.as_of, is_taken_back and not self.events)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of slices in DuckDB's SQL. Names have a case in ODF and none in DuckDB, so columns are `c0`, `c1`, ….

    A column that only some slices have is null in the others.
    """

    files: dict[pa.Schema, list[str]]
    """The quoted paths of the files of each schema."""
    as_of: datetime | None
    leaves_out: bool
    """Whether rows that were retracted or corrected are left out, with the events that remove them."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of all columns, in the order of the first files that have them."""
        return tuple(dict.fromkeys(name for schema in self.files for name in schema.names))

    @property
    def named(self) -> str:
        """The columns under their names."""
        return ", ".join(f"c{at} AS {quoted_name(name)}" for at, name in enumerate(self.names))

    @property
    def same_but_for_case(self) -> list[str]:
        """Two names that DuckDB takes for one, if there are any."""
        known: dict[str, str] = {}
        pairs = ([known.setdefault(name.lower(), name), name] for name in self.names)
        return next((pair for pair in pairs if pair[0] != pair[1]), [])

    def refuse_case(self, suffix: str) -> None:
        """InputError where a form cannot have the names."""
        if self.same_but_for_case and suffix != ".parquet":
            words = " and ".join(self.same_but_for_case)
            raise InputError(
                f"the columns {words} differ in their case alone, which {suffix} cannot have: name a .parquet file"
            )

    @property
    def query(self) -> str:
        """The rows; files of one schema are read together."""
        names = self.names
        read = (
            f"SELECT * FROM read_parquet([{', '.join(files)}], hive_partitioning = false) "  # noqa: S608 - quoted
            f"AS t({', '.join(f'c{names.index(name)}' for name in schema.names)})"
            for schema, files in self.files.items()
        )
        columns = ", ".join(f"c{at}" for at in range(len(names)))
        rows = f"SELECT {columns} FROM ({' UNION ALL BY NAME '.join(read)})"  # noqa: S608 - generated names
        if self.as_of is not None:
            rows = f"{rows} WHERE {self._common('event_time')} <= TIMESTAMPTZ '{self.as_of.isoformat()}'"
        return self._left(rows) if self.leaves_out else rows

    @property
    def ordered(self) -> str:
        """The rows in the order of their offsets, which files of one schema have."""
        if len(self.files) == 1 and not self.leaves_out:
            return self.query
        return f"SELECT * FROM ({self.query}) ORDER BY {self._common('offset')}"  # noqa: S608 - generated names

    def _common(self, name: str) -> str:
        return f"c{self.names.index(name)}"

    def _left(self, rows: str) -> str:
        """Of equal rows the last ones, as many as were added (`append`, `correctTo`) more often than removed.

        A `retract` or `correctFrom` has all values of the row that it removes, so no key is needed.
        """
        offset, op = self._common(COMMON[0]), self._common(COMMON[1])
        own = [f"c{at}" for at, name in enumerate(self.names) if name not in COMMON]
        same = f"PARTITION BY {', '.join([*own, ''])}{op} IN (1, 2) ORDER BY {offset}"
        values = f"PARTITION BY {', '.join(own)}" if own else ""
        return (
            f"WITH events AS ({rows}) SELECT * FROM events WHERE {offset} IN (SELECT place FROM ("  # noqa: S608 - generated names
            f"SELECT {offset} AS place, {op} IN (1, 2) AS is_end, row_number() OVER ({same}) AS nth, "
            f"count(*) FILTER (WHERE {op} IN (1, 2)) OVER ({values}) AS ended FROM events"
            ") WHERE NOT is_end AND nth > ended)"
        )


@contextmanager
def _open_database(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database that spills to a folder. InputError where a file cannot be read or written."""
    with _failing():
        connection = database(folder, _MEMORY)
        try:
            connection.execute(f"SET threads = {os.cpu_count() or 1:d}")
            connection.execute(f"SET disabled_optimizers = '{','.join(_BY_STATISTICS)}'")
            yield connection
        finally:
            connection.close()


@contextmanager
def _failing() -> Iterator[None]:
    try:
        yield
    except duckdb.Error as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"the slices cannot be read, or the file cannot be written: {reason}") from None


def _quote_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


VIEW: Final = ".duckdb"
LONGEST_SHOWN_VALUE: Final = 40
"""Characters of a value that are shown to people."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The arguments of the command."""

    source: str
    wanted: Projection
    events: bool
    """All events, also retracted and corrected rows; always so for changes."""
    every: bool
    """Also deliveries that are not current."""
    output: Path | None
    limit: int
    stack: str
    local: bool


@dataclass(frozen=True, slots=True)
class RowsRead:
    """The rows of a projection."""

    dataset: str
    selected: Selected
    height: int
    """The value for --changes-since next time."""
    size: int
    """Bytes of the slices that were read."""
    rows: int = 0
    columns: tuple[str, ...] = ()
    first: tuple[dict[str, Any], ...] = ()
    output: Path | None = None


def check_places(given: Reading, folder: Path, *, is_folder: bool) -> None:
    """InputError for a folder of something else, and for an output that cannot be written, before anything is read."""
    if folder.is_dir() and not is_folder:
        text = f"`lakegate get DATASET {folder}` or `lakegate dataset import SOURCE {folder}` fills one"
        raise InputError(f"{folder} is a folder without {MANIFEST} or refs/head: {text}")
    if given.output is None:
        return
    usable("--output", given.output, (*FORMS, VIEW), ())
    if given.output.exists():
        raise InputError(f"--output {given.output} exists: name another file")
    if given.output.suffix == VIEW and not is_folder:
        text = f"`lakegate get {given.source} DIR`, then `lakegate dataset read DIR --output {given.output}`"
        raise InputError(f"--output {given.output}: a view reads files that stay on this machine: {text}")


def current(given: Reading, manifest: dict[str, Any], stack: Dependencies | None) -> dict[str, Any]:
    """A manifest with the deliveries that were current at the time that is asked for, by the ledger where it was another state.

    Raises InputError where that is needed and there is no stack.
    """
    state, as_at = not_current_in(manifest), given.wanted.as_at
    if given.every or state == ALL_CURRENT:
        return manifest
    if as_at is not None and as_at < instant_of(state.since):
        if stack is None:
            text = f"`lakegate dataset read {manifest['line']}` asks the stack, --all reads what was recalled, too"
            raise InputError(
                f"the folder has the current state since {state.since}, and not that of earlier times: {text}"
            )
        blocks = stack.ledger.blocks(manifest["line"], strict=False)
        state = not_current(block for block in blocks if instant_of(block.system_time) <= as_at)
    return {**manifest, "deliveries": [each for each in manifest["deliveries"] if each["height"] not in state]}


def files_of_dataset(
    given: Reading, manifest: dict[str, Any], temporary: Path, source: Path | Dependencies
) -> tuple[RowsRead, list[Path]]:
    """The files to read, in the order of their offsets: those of a folder, or of the lake, which are fetched."""
    dataset, selected = manifest["line"], select(manifest["deliveries"], given.wanted)
    if selected.unsliced and not selected.keys:
        text = f"`lakegate get {dataset} DIR` downloads its files, `lakegate.read` of Python has its rows"
        raise InputError(f"{dataset} has no slices, which this command reads: {text}")
    keys = frozenset(selected.keys)
    needed = [
        ListedDelivery(delivery.listed, tuple(one for one in delivery.files if one.key in keys))
        for delivery in deliveries({**manifest, "deliveries": selected.deliveries}, NOTHING)
    ]
    files = {one.key: one for delivery in needed for one in delivery.files}
    size = sum(file.size for file in files.values())
    folder = source if isinstance(source, Path) else temporary / "slices"
    if isinstance(source, Path):
        for listed in files.values():
            place = folder / listed.place
            if not place.is_file() or place.stat().st_size != listed.size:
                advice = f"run `lakegate get {dataset} {folder}` again"
                raise InputError(f"{place} is missing, or is not as the manifest lists it: {advice}")
    else:
        with terminal.bytes_arriving(dataset, size) as arrived:
            for entry in needed:
                fetched(source, folder, entry, arrived)
    reached = selected.height if given.wanted.as_at else manifest["height"]
    answer = RowsRead(dataset, selected, max(reached, given.wanted.since), size)
    return answer, [folder / files[key].place for key in selected.keys]


def current_rows(dependencies: Dependencies, manifest: dict[str, Any], folder: Path) -> Iterator[pa.Table]:
    """The rows of a manifest's slices without the common columns (`lakegate.read`)."""
    given = Reading(
        manifest["line"], Projection(), events=False, every=False, output=None, limit=0, stack="", local=False
    )
    _, paths = files_of_dataset(given, manifest, folder, dependencies)
    if paths:
        yield from (rows.drop_columns(list(COMMON)) for rows in SliceTable(paths).tables(folder))


def files_of_import(given: Reading, dataset: dict[str, Any], folder: Path) -> tuple[RowsRead, list[Path]]:
    """The files to read of a dataset of ODF, in the order of their offsets."""
    selected = select(dataset["deliveries"], given.wanted)
    sizes = {entry["key"]: entry["size"] for one in dataset["deliveries"] for entry in one["objects"]}
    for key in selected.keys:
        if FolderPlace(folder).size(key) != sizes[key]:
            text = f"run `lakegate dataset import SOURCE {folder}` again, into an empty folder"
            raise InputError(f"{folder / key} is missing, or has another size than its block states: {text}")
    reached = selected.height if given.wanted.as_at else dataset["height"]
    size = sum(sizes[key] for key in selected.keys)
    answer = RowsRead(dataset["line"], selected, max(reached, given.wanted.since), size)
    return answer, [folder / key for key in selected.keys]


def rows_of_files(given: Reading, answer: RowsRead, paths: list[Path], temporary: Path) -> RowsRead:
    """The answer with its rows, which are written where a file is named for them."""
    if not paths:
        return answer
    table = SliceTable(paths, given.wanted.as_of, given.events)
    first = table.first(0 if given.output else given.limit, temporary)
    names, records = tuple(first.column_names), tuple(first.to_pylist())
    found = replace(answer, rows=table.count(temporary), columns=names, first=records)
    if given.output is None or not found.rows:
        return found
    part = given.output.with_name(f".{given.output.stem}.part{given.output.suffix}")
    part.unlink(missing_ok=True)
    try:
        if given.output.suffix == VIEW:
            table.write_view(part, answer.dataset.rpartition("/")[2])
        else:
            table.write(part, temporary)
        part.rename(given.output)
    finally:
        part.unlink(missing_ok=True)
    return replace(found, output=given.output)


# ---- Imported folders ----


ANY: Final = "0001-01-01T00:00:00+00:00"
"""The earliest event of a slice of which it is not known."""


def slices_in(folder: Path) -> dict[str, Any] | None:
    """The slices of a dataset, in the form of the readers' manifest; None where the folder has none.

    Each is a delivery of its own, at the height of its block. Keys are places below the folder.
    """
    found = dataset_in(FolderPlace(folder), Proof(signatures_by(None)))
    if found is None:
        return None
    lifecycle: dict[str, Any] | None = None
    for block in _ledger(found.links):
        if isinstance(block, Record) and block.kind == "lifecycle":
            lifecycle = dict(block.content)
    return {
        "line": found.ledger.dataset if found.ledger else str(found.state.id),
        "height": found.state.sequence,
        "lifecycle": lifecycle,
        "deliveries": [
            {
                "height": entry.sequence,
                "published_at": entry.published_at,
                "slices": [_list_slice(entry, found.stated(entry))],
                "objects": [{"key": f"data/{entry.data.physical}", "size": entry.data.size}],
            }
            for entry in found.added
        ],
    }


def _list_slice(added: Added, stated: LedgerSlice | None) -> dict[str, Any]:
    """A slice in the form of the readers' manifest."""
    earliest, time = (stated.event_time[0], stated.system_time) if stated else (ANY, None)
    return {
        "key": f"data/{added.data.physical}",
        "offset": added.data.start,
        "event_time": [earliest],
        **({"system_time": time} if time else {}),
    }


def _ledger(links: Iterable[Link]) -> Iterator[AnyBlock]:
    events = (link.block.event for link in links)
    stored = ledger_in(event for event in events if isinstance(event, SetAttachments))
    return (block for text in stored if (block := parse_block(text.text)) is not None)
