"""Reads some records of a delivery again: the texts of their fields, and their lines as they were written."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from lakegate.contracts.judge.faults import SEEN_OF_A_LINE
from lakegate.contracts.model.storage import Format
from lakegate.engine.evaluate.program import SOURCE
from lakegate.engine.read.chunk import AT, LINE, ROW

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import duckdb

    from lakegate.contracts.plan.plan import Plan, PlanField
    from lakegate.engine.read.chunk import Level, Source

Place = tuple[int, int, str]
"""A record or an element: the number of its share, its line there, and its place in the record."""
Texts = dict[str, str | None]
"""The texts of a record's fields, by alias."""


@dataclass(frozen=True, slots=True)
class RecordReader:
    """The shares that contain some records are read again, each up to the last wanted record."""

    plan: Plan
    source: Source
    connection: duckdb.DuckDBPyConnection

    @property
    def is_csv(self) -> bool:
        """Whether the delivery is CSV."""
        return self.plan.storage.format is Format.CSV

    def texts(self, level: Level, places: set[Place]) -> dict[Place, Texts]:
        """The texts of records, from the shares that contain them."""
        fields = [each for each in self.plan.fields if each.level == level]
        found: dict[Place, Texts] = {}
        for number, wanted in _by_share(places).items():
            for line, at, texts in self._read(number, level, {each[1:] for each in wanted}, fields):
                found[number, line, at] = texts
        return found

    def _read(
        self, number: int, level: Level, wanted: set[tuple[int, str]], fields: list[PlanField]
    ) -> Iterator[tuple[int, str, Texts]]:
        lines, last = pa.array(sorted({line for line, _ in wanted})), max(line for line, _ in wanted)
        columns = ", ".join(f"{self.source.expressions[each.alias].text} AS {each.alias}" for each in fields)
        place = f'"{AT}"' if level else "''"
        query = f"SELECT {ROW}, {place}, {columns} FROM {SOURCE}"  # noqa: S608 - generated names
        before = 0
        for chunk in self.source.chunks(self.source.shares[number]):
            table = chunk.levels[level] if level else chunk.records
            self.connection.register(SOURCE, table.filter(pc.is_in(table.column(ROW), lines)))
            for line, at, *texts in self.connection.execute(query).fetchall():
                if (line, at) in wanted:
                    yield line, at, dict(zip((each.alias for each in fields), texts, strict=True))
            before += chunk.lines
            if before > last:
                return

    def lines(self, places: set[tuple[int, int]], *, every: bool = False) -> dict[tuple[int, int], bytes]:
        """The beginning of lines of CSV (with `every`, of any text), by share and line."""
        found: dict[tuple[int, int], bytes] = {}
        if not (every or self.is_csv):
            return found
        for number, wanted in _by_share(places).items():
            lines = pa.array(sorted(line for _, line in wanted))
            for table in self.source.originals(self.source.shares[number]):
                own = table.filter(pc.is_in(table.column(ROW), lines))
                for line, content in zip(own.column(ROW).to_pylist(), own.column(LINE).to_pylist(), strict=True):
                    found[number, line] = content[: 4 * SEEN_OF_A_LINE]
        return found


def _by_share(places: Iterable[Any]) -> dict[int, list[Any]]:
    """Places by the share they are in."""
    found: dict[int, list[Any]] = defaultdict(list)
    for place in places:
        found[place[0]].append(place)
    return found
