"""Deliveries opened by the engine's readers, read to their end, for tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from lakegate.engine.read.data_source import Chunk, Level, LocalStore, Share, Source
from lakegate.engine.read.open_delivery import open_source
from lakegate.plan.plan import Plan
from lakegate.plan.request import StagedPart

if TYPE_CHECKING:
    import pyarrow as pa


Row = dict[str, Any]
DATABASE = duckdb.connect(config={"threads": 1})


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
    """Reason, number and first line."""
    malformed_lines: list[tuple[str, int]] = field(default_factory=list)
    """Reason and line of each one that the reader names."""
    lines: dict[int, int] = field(default_factory=dict)
    """Lines of each part."""
    begun: int = 0
    """Lines of the part before the share that was read last."""
    sizes: dict[int, int] = field(default_factory=dict)
    extra: set[str] = field(default_factory=set)


def parts_in(folder: Path, *objects: bytes) -> tuple[StagedPart, ...]:
    """Objects as files of a folder."""
    found = []
    for number, content in enumerate(objects):
        path = folder / f"part-{number:05d}"
        path.write_bytes(content)
        found.append(StagedPart(path.as_uri(), len(content)))
    return tuple(found)


def opened(plan: Plan, folder: Path, *objects: bytes) -> Source:
    return open_source(plan, parts_in(folder, *objects), LocalStore())


def read_all(plan: Plan, source: Source) -> Read:
    """Every share of a source, one after the other."""
    found = Read()
    for share in source.shares:
        found.begun = found.lines.get(share.part, 0)
        for chunk in source.chunks(share):
            _add(found, plan, source, share, chunk)
    return found


def read(plan: Plan, folder: Path, *objects: bytes) -> Read:
    return read_all(plan, opened(plan, folder, *objects))


def evaluated(table: pa.Table, expressions: dict[str, str]) -> list[Row]:
    """A column of SQL for each name."""
    if not table.num_rows:
        return []
    columns = [f"{sql} AS x{at}" for at, sql in enumerate(expressions.values())]
    DATABASE.register("chunk", table)
    rows = DATABASE.execute(f"SELECT {', '.join(['row', *columns])} FROM chunk").fetchall()  # noqa: S608 - generated names
    DATABASE.unregister("chunk")
    return [dict(zip(expressions, row[1:], strict=True)) for row in rows]


def _add(found: Read, plan: Plan, source: Source, share: Share, chunk: Chunk) -> None:
    before = found.lines.get(share.part, 0)
    for level, table in {(): chunk.records, **chunk.levels}.items():
        mine = {each.name: source.expressions[each.alias] for each in plan.fields if each.level == level}
        texts = evaluated(table, {name: each.text for name, each in mine.items()})
        values = evaluated(table, {name: each.value for name, each in mine.items()})
        rows = table["row"].to_pylist()
        if level:
            into = found.levels.setdefault(level, [])
            into += list(
                zip([found.begun + row for row in rows], table["place"].to_pylist(), texts, values, strict=True)
            )
        else:
            found.rows += [(share.part, found.begun + row) for row in rows]
            found.texts += texts
            found.values += values
    found.malformed += [(each.reason, each.rows, found.begun + each.lines[0]) for each in chunk.malformed]
    found.malformed_lines += [(each.reason, found.begun + line) for each in chunk.malformed for line in each.lines]
    found.lines[share.part] = before + chunk.lines
    found.sizes[share.part] = found.sizes.get(share.part, 0) + chunk.size
    found.extra |= chunk.extra
