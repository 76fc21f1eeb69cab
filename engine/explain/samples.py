"""Samples: where a failed check failed, without the values that failed it.

The first failing records of each predicate are noted while shares are evaluated; of keys, the records that share the smallest
ones are looked up in the table of keys. The shares that hold them are read again, each to the last record that is wanted.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from contracts.check import Metric
from contracts.population import keys_of
from contracts.result import Sample
from engine.evaluate.program import SOURCE
from engine.explain.masks import LONGEST_SHAPE, mask
from engine.measure.tables import POSITION_BITS
from engine.read.chunk import AT, ROW

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import duckdb

    from contracts.check import Check
    from contracts.plan import Plan, PlanField
    from engine.evaluate.program import Program
    from engine.measure.partial import Partial
    from engine.measure.tables import Sharing
    from engine.read.chunk import Level, Source

Place = tuple[int, int, str]
"""A record or an element: the number of its share, its line there, and its place in the record."""
Texts = dict[str, str | None]
"""The texts of a record's fields, by alias."""


@dataclass(frozen=True, slots=True)
class Samples:
    """The samples of failed checks."""

    plan: Plan
    programs: Mapping[Level, Program]
    partials: list[Partial]
    source: Source
    connection: duckdb.DuckDBPyConnection
    sharing: Sharing
    limit: int

    def of(self, failed: tuple[Check, ...], lines_before: list[int]) -> dict[str, tuple[Sample, ...]]:
        """The samples of each failed check, by check id."""
        places: dict[str, tuple[Level, list[Place]]] = {}
        for check in failed:
            own = next((each for each in self.programs.values() if check in each.checks), None)
            if own is not None:
                places[check.id] = own.level, self._places(check, own)
        texts = {
            level: self._texts(level, {place for of, found in places.values() if of == level for place in found})
            for level in {level for level, _ in places.values()}
        }
        fields = {check.id: [self.plan.field(name) for name in check.fields] for check in failed}
        return {
            check: tuple(self._sample(place, texts[level][place], fields[check], lines_before) for place in found)
            for check, (level, found) in places.items()
        }

    def _places(self, check: Check, own: Program) -> list[Place]:
        if check.metric is Metric.FAILING_ROWS:
            assert check.accept.predicate is not None
            bit = own.level, own.predicates[check.accept.predicate]
            found = ((each.number, *place) for each in self.partials for place in each.failing.get(bit, ()))
            return [place for place, _ in zip(found, range(self.limit), strict=False)]
        return list(self._sharing(check, own)) if check.metric is Metric.DUPLICATE_ROWS else []

    def _sharing(self, check: Check, own: Program) -> Iterator[Place]:
        """Records that share their key with another, those of the smallest keys first."""
        keys = keys_of(check)
        assert keys is not None
        for found in self.sharing(own, keys, self.limit).tolist():
            yield found >> POSITION_BITS, found & ((1 << POSITION_BITS) - 1), ""

    def _texts(self, level: Level, places: set[Place]) -> dict[Place, Texts]:
        """The texts of records, from the shares that hold them."""
        fields = [each for each in self.plan.fields if each.level == level]
        wanted: dict[int, set[tuple[int, str]]] = defaultdict(set)
        for number, line, at in places:
            wanted[number].add((line, at))
        found: dict[Place, Texts] = {}
        for number, own in wanted.items():
            for line, at, texts in self._read(number, level, own, fields):
                found[number, line, at] = texts
        return found

    def _read(
        self, number: int, level: Level, wanted: set[tuple[int, str]], fields: list[PlanField]
    ) -> Iterator[tuple[int, str, Texts]]:
        lines, last = pa.array(sorted({line for line, _ in wanted})), max(line for line, _ in wanted)
        columns = ", ".join(f"{self.source.expressions[each.alias].text} AS {each.alias}" for each in fields)
        place = AT if level else f"'' AS {AT}"
        before = 0
        for chunk in self.source.chunks(self.source.shares[number]):
            table = chunk.levels[level] if level else chunk.records
            self.connection.register(SOURCE, table.filter(pc.is_in(table.column(ROW), lines)))
            query = f"SELECT {ROW}, {place}, {columns} FROM {SOURCE}"  # noqa: S608 - generated names
            for line, at, *texts in self.connection.execute(query).fetchall():
                if (line, at) in wanted:
                    yield line, at, dict(zip((each.alias for each in fields), texts, strict=True))
            before += chunk.lines
            if before > last:
                return

    def _sample(self, place: Place, texts: Texts, fields: list[PlanField], lines_before: list[int]) -> Sample:
        number, line, at = place
        shapes = tuple(_shown(texts[each.alias], each) for each in fields)
        return Sample(lines_before[number] + line + 1, shapes, self.source.shares[number].part, at)


def _shown(text: str | None, field: PlanField) -> str:
    return text if field.public and text is not None and len(text) <= LONGEST_SHAPE else mask(text)
