"""An object without some of its records: those whose fields have given values. All other bytes of text stay as they are.

A record that cannot be read (`lakegate.contracts.judge.file_outcomes`) is left out if its bytes contain all the values.
"""

from __future__ import annotations

import json
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import duckdb
import numpy as np

from lakegate.contracts.errors import InputError
from lakegate.contracts.model.policy import OnReject
from lakegate.contracts.model.storage import Compression, Format
from lakegate.contracts.model.types import LogicalType
from lakegate.contracts.plan.plan import PlanField, Shape
from lakegate.contracts.plan.request import StagedPart
from lakegate.engine.read.chunk import LINE, ROW
from lakegate.engine.read.csv import CsvSource
from lakegate.engine.read.json import JsonSource
from lakegate.engine.read.local import LocalStore
from lakegate.engine.read.open import open_source
from lakegate.engine.split.rewriting import write_parquet, write_text
from lakegate.engine.type.values import literal, text_literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from lakegate.contracts.plan.plan import Plan
    from lakegate.engine.read.chunk import Share, Source, Store

REASONS: Final = "_reasons"
"""The first column of rejected rows (`onReject: rows`)."""
CHUNK: Final = "chunk"
REWRITTEN: Final = (Format.CSV, Format.JSONL, Format.JSON, Format.PARQUET)


class Key(NamedTuple):
    """A field and the value of the records that are left out: as it is written, or as a value of the field's type."""

    field: str
    value: str


class Found(NamedTuple):
    """How many records an object has, and how many of them are left out."""

    records: int
    erased: int


def without(  # noqa: PLR0913, PLR0917 - an object, how it is read, what is left out and where the rest is written
    plan: Plan,
    part: StagedPart,
    store: Store,
    keys: tuple[Key, ...],
    connection: duckdb.DuckDBPyConnection,
    target: Path,
    *,
    is_rejected: bool = False,
) -> Found:
    """Write an object without the records that have all these values; the target is written only if there are some.

    `is_rejected`: it holds the rejected rows of a split delivery. `connection`: an empty database, such as
    `lakegate.engine.measure.tables.database`.

    Raises InputError where its records cannot be found, or its format cannot be written: nothing is written then.
    """
    plan = _as_written(plan, is_rejected=is_rejected)
    source = open_source(plan, (part,), store)
    form = source.plan.storage.format if isinstance(source, JsonSource) else plan.storage.format
    if form not in REWRITTEN:
        raise InputError(f"a file of the format {form.value} cannot be written without some of its rows")
    if is_rejected and form is Format.JSONL:
        assert isinstance(source, JsonSource)
        with _records_of(source, target) as records:
            found, numbers = _matching(plan, open_source(*records), keys, connection)
    else:
        found, numbers = _matching(plan, source, keys, connection)
    if found.erased:
        if isinstance(source, CsvSource | JsonSource):
            write_text(source, numbers, target)
        else:
            write_parquet(source, store, numbers, target)
    return found


def _as_written(plan: Plan, *, is_rejected: bool) -> Plan:
    """The plan of an object: of tables only the declared columns are read; texts of a split are in UTF-8, after their reasons."""
    plan = replace(plan, policy=replace(plan.policy, on_reject=OnReject.FILE), checks=())
    if not is_rejected:
        return plan
    reasons = PlanField(REASONS, f"c{len(plan.fields)}", LogicalType.STRING)
    fields = plan.fields if plan.csv.header else (reasons, *plan.fields)
    return replace(plan, csv=replace(plan.csv, encoding="utf-8"), fields=fields)


@contextmanager
def _records_of(source: JsonSource, target: Path) -> Iterator[tuple[Plan, tuple[StagedPart, ...], Store]]:
    """The records in a file of rejected JSON lines, as lines of a file of their own."""
    bare = target.with_name(f"{target.name}.records")
    try:
        with bare.open("wb") as file:
            for texts, _ in chain.from_iterable(map(source.texts, source.shares)):
                file.writelines(_record(text) + b"\n" for text in texts)
        plan = replace(source.plan, storage=replace(source.plan.storage, compression=Compression.NONE))
        yield plan, (StagedPart(bare.as_uri(), bare.stat().st_size, bare.name),), LocalStore()
    finally:
        bare.unlink(missing_ok=True)


def _record(text: bytes) -> bytes:
    """The record of a rejected line; of one that could not be read, its own text."""
    if not text:
        return text
    found: str | dict[str, Any] = json.loads(text)["_record"]
    return found.encode() if isinstance(found, str) else text[text.index(b'"_record":') + len(b'"_record":') : -1]


# --- which records


def _matching(
    plan: Plan, source: Source, keys: tuple[Key, ...], connection: duckdb.DuckDBPyConnection
) -> tuple[Found, list[NDArray[np.int64]]]:
    """Of each share the numbers of the records that have all the values."""
    select = _select(plan, source, keys, connection)
    records, numbers = 0, []
    for share in source.shares:
        count, found = _of_share(source, share, keys, select, connection)
        records += count
        numbers.append(found)
    return Found(records, sum(map(len, numbers))), numbers


def _select(plan: Plan, source: Source, keys: tuple[Key, ...], connection: duckdb.DuckDBPyConnection) -> str:
    conditions = [_condition(plan, source, each, connection) for each in keys]
    return f"SELECT {ROW} FROM {CHUNK} WHERE {' AND '.join(conditions)}"  # noqa: S608 - generated names and literals


def _condition(plan: Plan, source: Source, key: Key, connection: duckdb.DuckDBPyConnection) -> str:
    try:
        field = plan.field(key.field)
    except KeyError:
        raise InputError(f"the contract has no field {key.field}") from None
    if field.level or field.shape is not Shape.VALUE:
        raise InputError(f"the field {key.field} has no single value in each row")
    if field.place[0].removeprefix(".") not in source.columns.found:
        raise InputError(f"the file has no column {field.place[0].removeprefix('.')}")
    expression = source.expressions[field.alias]
    same = [f"{expression.text} = {text_literal(key.value)}"]
    with suppress(ValueError, ArithmeticError, duckdb.Error):  # no value of the type: only a text can be equal
        typed = literal(field, key.value)
        connection.sql(f"SELECT {typed}").fetchall()
        same.append(f"{expression.value} = {typed}")
    return f"coalesce({' OR '.join(same)}, false)"


def _of_share(
    source: Source, share: Share, keys: tuple[Key, ...], select: str, connection: duckdb.DuckDBPyConnection
) -> tuple[int, NDArray[np.int64]]:
    """How many records a share has, and which have the values."""
    rows, found, malformed = [np.empty(0, np.int64)], [np.empty(0, np.int64)], 0
    for chunk in source.chunks(share):
        connection.register(CHUNK, chunk.records)
        found.append(connection.sql(select).to_arrow_table().column(ROW).to_numpy())
        rows.append(chunk.records.column(ROW).to_numpy())
        malformed += sum(each.rows for each in chunk.malformed)
    read = np.concatenate(rows)
    if malformed:
        found.append(_unreadable(source, share, keys, read))
    return len(read) + malformed, np.sort(np.concatenate(found))


def _unreadable(source: Source, share: Share, keys: tuple[Key, ...], read: NDArray[np.int64]) -> NDArray[np.int64]:
    """The records of a share that cannot be read and contain all the values."""
    known = set(read.tolist())
    found = []
    for table in source.originals(share):
        if LINE not in table.column_names:
            raise InputError("a value is longer than a record may be: the rows of the file cannot be found")
        for row, text in zip(table.column(ROW).to_pylist(), table.column(LINE).to_pylist(), strict=True):
            if row not in known and all(any(form in text for form in _forms(each.value)) for each in keys):
                found.append(row)
    return np.array(found, np.int64)


def _forms(value: str) -> Iterable[bytes]:
    """How a value may be written in bytes that cannot be read."""
    quoted = (value, value.replace('"', '""'), json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1])
    return {text.encode(code, errors="replace") for text in quoted for code in ("utf-8", "cp1252")}
