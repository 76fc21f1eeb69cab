"""The current rows of a dataset on local disk, typed by its contract: Parquet files, or a database of DuckDB."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import duckdb
import pyarrow as pa
from pyarrow.parquet import read_metadata, read_schema

from lakegate.base.errors import InputError
from lakegate.base.json_codec import sha256_of
from lakegate.base.text import printable
from lakegate.contract.field_paths import quoted_name
from lakegate.engine.measure.duckdb_tables import DATABASE_MEMORY
from lakegate.engine.row_groups import write_file
from lakegate.library.dataset_rows import RowsOfDataset
from lakegate.transfer.download_files import (
    MANIFEST,
    DiffersError,
    FileOfRows,
    ListedDelivery,
    LostError,
    RowsForm,
)

# A file appears whole under its name, and says which dataset and which objects it was made of: what is there already is not
# fetched again, and what became of other objects (an erasure, another state) is made anew.


OF, DIGEST = "lakegate.dataset", "lakegate.digest"
"""What a file says about itself: the dataset, and the digest of what it was made of."""
OWN: Final = re.compile(r"[0-9]{12}\.parquet|rows\.parquet", re.ASCII)
"""Names of files of Parquet: by the height of the delivery, or of all of them."""
ABOUT: Final = "lakegate_source"
"""The table of a database that says the same."""


@dataclass(slots=True)
class TypedRowsOnDisk:
    """What a run did."""

    files: list[FileOfRows] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    """Files of deliveries that are not current any more."""
    lost: list[tuple[ListedDelivery, str]] = field(default_factory=list)
    """Deliveries that were left out because an object of them is lost, and which."""
    problem: str = ""
    """The reason why the run stopped; empty where everything is there."""


@dataclass(frozen=True, slots=True)
class _Share:
    """Deliveries whose rows are read together."""

    name: str
    listed: tuple[ListedDelivery, ...]

    @property
    def digest(self) -> str:
        objects = [[each.key, each.version, each.checksum] for delivery in self.listed for each in delivery.files]
        return sha256_of(json.dumps([objects, [each.listed["plan"] for each in self.listed]]))

    @property
    def heights(self) -> tuple[int, ...]:
        return tuple(each.height for each in self.listed)


def bring_rows(rows: RowsOfDataset, form: RowsForm, folder: Path, *, skip_lost: bool) -> TypedRowsOnDisk:
    """Write the current rows of a dataset to a folder, but for what is there. Whatever ends it early, no file is half.

    Raises InputError where the folder holds something else, or the form cannot have the columns.
    """
    done = TypedRowsOnDisk()
    if (folder / MANIFEST).exists():
        raise InputError(f"{folder} holds files as they arrived (`lakegate get` without --as): give another folder")
    with _failing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            (_bring_parquet if form is RowsForm.PARQUET else _bring_duckdb)(rows, folder, done, skip_lost=skip_lost)
        except DiffersError as error:
            done.problem = str(error)
    return done


def _shares(rows: RowsOfDataset) -> Iterator[_Share]:
    """Each delivery by itself; but together where later ones take rows of earlier ones back."""
    together: list[ListedDelivery] = []
    for each in rows.listed:
        if "slices" in each.listed and rows.plan(each.listed).policy.merge_strategy.corrects:
            together.append(each)
        else:
            yield _Share(f"{each.height:012}.parquet", (each,))
    if together:
        yield _Share("rows.parquet", tuple(together))


def _tables(rows: RowsOfDataset, share: _Share, done: TypedRowsOnDisk, *, skip_lost: bool) -> Iterator[pa.Table]:
    """The rows of a share with the columns of the whole dataset; objects are on this machine as long as they are read."""
    with TemporaryDirectory(prefix="lakegate-") as name:
        try:
            for table in rows.tables(share.listed, Path(name)):
                if table.num_rows:
                    whole = pa.concat_tables([rows.schema.empty_table(), table], promote_options="permissive")
                    yield whole.cast(rows.schema)
        except LostError as error:
            if not skip_lost:
                raise DiffersError(f"{error}: --skip-lost leaves such deliveries out") from None
            done.lost += [(each, str(error)) for each in share.listed]


# ---- Parquet ----


def _bring_parquet(rows: RowsOfDataset, folder: Path, done: TypedRowsOnDisk, *, skip_lost: bool) -> None:
    shares, known = (
        list(_shares(rows)),
        {path.name: _about(path) for path in folder.iterdir() if OWN.fullmatch(path.name)},
    )
    for name, about in known.items():
        if about is not None and about.get(OF) != rows.dataset:
            raise InputError(f"{folder / name} is not of {rows.dataset}: give another folder")
    for share in shares:
        target = folder / share.name
        about = {OF: rows.dataset, DIGEST: share.digest}
        if is_new := known.get(share.name) != about or not rows.schema.equals(_schema_of(target)):
            with _written(target) as part:
                write_file(_tables(rows, share, done, skip_lost=skip_lost), rows.schema.with_metadata(about), part)
                if done.lost and done.lost[-1][0] is share.listed[-1]:
                    target.unlink(missing_ok=True)  # it was made of other objects
                    continue
                part.replace(target)
        count = read_metadata(target).num_rows
        done.files.append(FileOfRows(share.name, share.heights, count, is_new))
    for name in sorted(known.keys() - {share.name for share in shares}):
        (folder / name).unlink()
        done.removed.append(name)


def _schema_of(path: Path) -> pa.Schema:
    return read_schema(path).remove_metadata()


def _about(path: Path) -> dict[str, str] | None:
    """What a file of Parquet says about itself; None of one that is damaged."""
    try:
        stated = read_schema(path).metadata or {}
    except (pa.ArrowException, OSError):
        return None
    return {name: stated[name.encode()].decode() for name in (OF, DIGEST) if name.encode() in stated}


# ---- DuckDB ----


def _bring_duckdb(rows: RowsOfDataset, folder: Path, done: TypedRowsOnDisk, *, skip_lost: bool) -> None:
    table, shares = rows.dataset.rpartition("/")[2], list(_shares(rows))
    target = folder / f"{re.sub(r'[^A-Za-z0-9_-]', '_', table)}.duckdb"
    about = [rows.dataset, sha256_of(json.dumps([str(rows.schema), [each.digest for each in shares]]))]
    known = _about_database(target) if target.exists() else None
    if known is not None and known[0] != about[0]:
        raise InputError(f"{target} is not of {rows.dataset}: give another folder")
    if not rows.schema.names:
        return
    name, identifier = target.name, quoted_name(table)
    if is_new := known != about:
        with _written(target) as part, _database(part) as connection:
            connection.register("piece", rows.schema.empty_table())
            connection.execute(f"CREATE TABLE {identifier} AS FROM piece")
            if [row[0] for row in connection.execute(f"DESCRIBE {identifier}").fetchall()] != rows.schema.names:
                raise InputError(
                    "DuckDB cannot have two columns whose names differ in their case alone: use --as parquet"
                )
            for share in shares:
                for piece in _tables(rows, share, done, skip_lost=skip_lost):
                    connection.register("piece", piece)
                    connection.execute(f"INSERT INTO {identifier} FROM piece")
            for column, text in _comments(rows):
                comment = "'{}'".format(text.replace("'", "''"))
                connection.execute(f"COMMENT ON COLUMN {identifier}.{quoted_name(column)} IS {comment}")
            connection.execute(f"CREATE TABLE {ABOUT} (dataset VARCHAR, digest VARCHAR)")
            # without what is lost it is made anew next time
            connection.execute(f"INSERT INTO {ABOUT} VALUES (?, ?)", [about[0], "" if done.lost else about[1]])  # noqa: S608 - ours
            connection.close()
            part.replace(target)
    with _database(target, read_only=True) as connection:
        (count,) = connection.execute(f"SELECT count(*) FROM {identifier}").fetchall()[0]  # noqa: S608 - quoted
    lost = {each.height for each, _ in done.lost}
    heights = tuple(height for share in shares for height in share.heights if height not in lost)
    done.files.append(FileOfRows(name, heights, count, is_new))


def _comments(rows: RowsOfDataset) -> Iterator[tuple[str, str]]:
    """The descriptions of columns, as the newest delivery's version has them, if its plan has any."""
    plan = rows.plan(rows.listed[-1].listed) if rows.listed else None
    columns = {each.name: each.column for each in plan.columns} if plan else {}
    for each in plan.about.fields if plan and plan.about else ():
        if each.name in columns:
            yield columns[each.name], printable(each.description)


def _about_database(path: Path) -> list[str]:
    """What a database says about itself. Raises InputError where another program made it."""
    try:
        with _database(path, read_only=True) as connection:
            return list(connection.execute(f"SELECT dataset, digest FROM {ABOUT}").fetchall()[0])  # noqa: S608 - ours
    except (duckdb.CatalogException, IndexError):
        raise InputError(f"{path} is no database of this command: give another folder") from None


@contextmanager
def _database(path: Path, *, read_only: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(path), read_only=read_only) as connection:
        connection.execute(f"SET memory_limit = '{DATABASE_MEMORY}'")
        yield connection


# ---- Both ----


@contextmanager
def _written(target: Path) -> Iterator[Path]:
    """A hidden file beside a place, which takes it once it is whole; nothing of it stays else."""
    part = target.with_name(f".{target.name}.part")
    left = (part, part.with_name(f"{part.name}.wal"))
    for each in left:  # of an earlier start, or a link that leads elsewhere
        each.unlink(missing_ok=True)
    try:
        yield part
    finally:
        for each in left:
            each.unlink(missing_ok=True)


@contextmanager
def _failing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror}") from None
    except (duckdb.Error, pa.ArrowException) as error:
        raise InputError(f"the rows cannot be written to {folder}: {str(error).partition(chr(10))[0]}") from None
