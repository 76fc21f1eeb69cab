"""Reads a delivery once into tables of texts, one for each nesting level, by the readers of the engine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lakegate.contracts.door.file_signatures import UnreadableError
from lakegate.contracts.door.header import first_line
from lakegate.contracts.judge.no_header import cells
from lakegate.contracts.model.storage import Format
from lakegate.contracts.model.types import LogicalType
from lakegate.contracts.plan.plan import Plan
from lakegate.engine.profile.dialect import dialect, first_names, refuse_titles
from lakegate.engine.profile.fields import FoundField, of_json, of_physical, planned
from lakegate.engine.profile.storage import recognised
from lakegate.engine.read.bounds import refuse_columns
from lakegate.engine.read.json import JsonSource, open_json
from lakegate.engine.read.open import READERS, account_for, open_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import duckdb

    from lakegate.contracts.model.storage import Storage
    from lakegate.contracts.plan.plan import PlanField
    from lakegate.contracts.plan.request import StagedPart
    from lakegate.engine.read.chunk import Chunk, Level, Malformed, Source, Store

INCOMING = "incoming"
TOGETHER = 50
"""Columns of one table."""


@dataclass(frozen=True, slots=True)
class TextTable:
    """Some fields of one level: a column of texts for each alias. Tables of a level have their rows in one order."""

    name: str
    level: Level
    fields: tuple[PlanField, ...]


@dataclass(frozen=True, slots=True)
class TextTables:
    """A delivery as tables of texts."""

    plan: Plan
    fields: tuple[FoundField, ...]
    tables: tuple[TextTable, ...]
    malformed: int


def _tables(plan: Plan) -> tuple[TextTable, ...]:
    """Tables of few columns: a query of a few columns of a wide table would take as long as one of all of them."""
    levels = dict.fromkeys(each.level for each in plan.fields)
    return tuple(
        TextTable(f"level{number}_{at}", level, of_level[at : at + TOGETHER])
        for number, level in enumerate(levels)
        for of_level in [tuple(each for each in plan.fields if each.level == level)]
        for at in range(0, len(of_level), TOGETHER)
    )


def read(
    connection: duckdb.DuckDBPyConnection, parts: tuple[StagedPart, ...], store: Store, taken: Callable[[int], None]
) -> TextTables:
    """The delivery as tables; UnreadableError where no contract could accept it.

    A CSV file with bytes of another encoding, or with open quotes, is read again in the dialect that has them.
    """
    storage, heads = recognised(parts, store)
    plan, fields = _plan(storage, parts, store, heads)
    best, reasons = _loaded(connection, plan, fields, parts, store, taken)
    last = best
    for cause, other in _other_dialects(plan, reasons):
        last, remaining = _loaded(connection, other, fields, parts, store, lambda _: None)
        if last.malformed < best.malformed and cause not in remaining:
            best = last
    return best if best is last else _loaded(connection, best.plan, fields, parts, store, lambda _: None)[0]


def _plan(
    storage: Storage, parts: tuple[StagedPart, ...], store: Store, heads: list[bytes]
) -> tuple[Plan, tuple[FoundField, ...]]:
    plan = Plan("draft", "0.0.0", "data", (), (), storage=storage)
    if storage.format is Format.CSV:
        csv = dialect(heads[0])
        refuse_titles(heads[0], csv)
        line = first_line(heads[0], csv)
        names = cells(line, csv.delimiter, csv.quote) if csv.header else first_names(line, csv)
        refuse_columns(len(names))
        fields = tuple(FoundField(name, LogicalType.STRING) for name in names)
        plan = replace(plan, csv=csv)
    elif storage.format in READERS:
        schema = READERS[storage.format](store).described(parts[0].uri).schema
        fields = tuple(of_physical(*each) for each in schema.parts)
    else:
        source = open_json(plan, parts, store, heads)
        fields = of_json(texts for texts in _json_texts(source))
    return replace(plan, fields=tuple(planned(fields).values())), fields


def _json_texts(source: JsonSource) -> Iterator[list[bytes]]:
    for share in source.shares:
        for texts, _ in source.texts(share):
            yield texts


def _loaded(  # noqa: PLR0913, PLR0917 - a delivery, and how and where it is read
    connection: duckdb.DuckDBPyConnection,
    plan: Plan,
    fields: tuple[FoundField, ...],
    parts: tuple[StagedPart, ...],
    store: Store,
    taken: Callable[[int], None],
) -> tuple[TextTables, frozenset[str]]:
    """The tables of a delivery, and the reasons of its malformed records."""
    if len({each.name for each in fields}) < len(fields):
        raise UnreadableError("header", "the file names a column twice: every column needs a name of its own")
    source = open_source(plan, parts, store)
    tables = _tables(plan)
    for each in tables:
        names = ", ".join(f"{field.alias} VARCHAR" for field in each.fields)
        connection.execute(f"CREATE OR REPLACE TABLE {each.name} ({names})")
    bad: list[Malformed] = []
    for chunk in _chunks(source, parts, taken):
        for each in tables:
            _insert(connection, source, each, chunk)
        bad += chunk.malformed
    malformed = sum(each.rows for each in bad)
    return TextTables(plan, fields, tables, malformed), frozenset(each.reason for each in bad)


def _chunks(source: Source, parts: tuple[StagedPart, ...], taken: Callable[[int], None]) -> Iterator[Chunk]:
    """All chunks; `taken` is called with bytes (of tables, in proportion to their rows)."""
    units, size = max(1, sum(source.sizes)), sum(part.size for part in parts)
    done, read = 0, [0] * len(parts)
    for share in source.shares:
        for chunk in source.chunks(share):
            yield chunk
            read[share.part] += chunk.size
            before, done = size * done // units, done + chunk.size
            taken(size * done // units - before)
    account_for(source, read)


def _insert(connection: duckdb.DuckDBPyConnection, source: Source, table: TextTable, chunk: Chunk) -> None:
    incoming = chunk.levels[table.level] if table.level else chunk.records
    if incoming.num_rows == 0:
        return
    texts = ", ".join(source.expressions[each.alias].text for each in table.fields)
    connection.register(INCOMING, incoming)
    connection.execute(f"INSERT INTO {table.name} SELECT {texts} FROM {INCOMING}")  # noqa: S608 - generated names
    connection.unregister(INCOMING)


def _other_dialects(plan: Plan, reasons: frozenset[str]) -> Iterator[tuple[str, Plan]]:
    """The plan with another encoding, or with line breaks in values, where records are malformed for want of it: the reason."""
    csv = plan.csv
    if "encoding" in reasons and csv.encoding.startswith("utf-8"):
        yield from (
            ("encoding", replace(plan, csv=replace(csv, encoding=each))) for each in ("windows-1252", "iso-8859-1")
        )
    if "quotes" in reasons and not csv.multi_line:
        yield "quotes", replace(plan, csv=replace(csv, multi_line=True))
