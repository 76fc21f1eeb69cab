"""Deliveries opened by the engine's readers, read to their end, for tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import duckdb

from contracts.request import Part
from engine.read.local import LocalStore
from engine.read.open import open_source

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from contracts.plan import Plan
    from engine.read.chunk import Chunk, Level, Share, Source

Row = dict[str, Any]


@dataclass
class Read:
    """All that a reader hands over, values by their fields' names."""

    rows: list[tuple[int, int]] = field(default_factory=list)
    """Part and line of each record, lines counted from 0 in the object."""
    texts: list[Row] = field(default_factory=list)
    values: list[Row] = field(default_factory=list)
    levels: dict[Level, list[tuple[int, str, Row, Row]]] = field(default_factory=dict)
    """Line, place, texts and values of each element."""
    malformed: list[tuple[str, int, int]] = field(default_factory=list)
    lines: dict[int, int] = field(default_factory=dict)
    """Lines of each part."""
    sizes: dict[int, int] = field(default_factory=dict)
    extra: set[str] = field(default_factory=set)


def parts_in(folder: Path, *objects: bytes) -> tuple[Part, ...]:
    """Objects as files of a folder."""
    found = []
    for number, content in enumerate(objects):
        path = folder / f"part-{number:05d}"
        path.write_bytes(content)
        found.append(Part(path.as_uri(), len(content)))
    return tuple(found)


def opened(plan: Plan, folder: Path, *objects: bytes) -> Source:
    return open_source(plan, parts_in(folder, *objects), LocalStore())


def read_all(plan: Plan, source: Source) -> Read:
    """Every share of a source, one after the other."""
    found = Read()
    for share in source.shares:
        before = found.lines.get(share.part, 0)
        for chunk in source.chunks(share):
            _add(found, plan, source, share, chunk, before)
    return found


def read(plan: Plan, folder: Path, *objects: bytes) -> Read:
    return read_all(plan, opened(plan, folder, *objects))


def evaluated(table: pa.Table, source: Source, plan: Plan, level: Level, kind: str) -> list[Row]:
    """The texts or values of the fields of a level."""
    fields = [each for each in plan.fields if each.level == level]
    columns = [f'{getattr(source.expressions[each.alias], kind)} AS x{at}' for at, each in enumerate(fields)]
    with duckdb.connect() as database:
        database.register("chunk", table)
        rows = database.execute(f"SELECT {', '.join(['row', *columns])} FROM chunk").fetchall()
    return [{each.name: value for each, value in zip(fields, row[1:], strict=True)} for row in rows]


def _add(found: Read, plan: Plan, source: Source, share: Share, chunk: Chunk, before: int) -> None:
    found.rows += [(share.part, before + row) for row in chunk.records["row"].to_pylist()]
    found.texts += evaluated(chunk.records, source, plan, (), "text")
    found.values += evaluated(chunk.records, source, plan, (), "value")
    for level, table in chunk.levels.items():
        texts, values = (evaluated(table, source, plan, level, kind) for kind in ("text", "value"))
        rows = [before + row for row in table["row"].to_pylist()]
        found.levels.setdefault(level, []).extend(zip(rows, table["at"].to_pylist(), texts, values, strict=True))
    found.malformed += [(each.reason, each.rows, before + each.first_row) for each in chunk.malformed]
    found.lines[share.part] = found.lines.get(share.part, 0) + chunk.lines
    found.sizes[share.part] = found.sizes.get(share.part, 0) + chunk.size
    found.extra |= chunk.extra
