"""Records that do not have the declared structure: by reason, with the first ones in the delivery."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.contracts.plan.result import MalformedRecords, Sample

if TYPE_CHECKING:
    from lakegate.engine.measure.partial import Partial
    from lakegate.engine.read.chunk import Source


def lines_before(source: Source, partials: list[Partial]) -> list[int]:
    """Lines of the same object before each share."""
    before, lines = [], dict.fromkeys((share.part for share in source.shares), 0)
    for share, partial in zip(source.shares, partials, strict=True):
        before.append(lines[share.part])
        lines[share.part] += partial.lines
    return before


def malformed_records(
    source: Source, partials: list[Partial], samples: int
) -> tuple[tuple[MalformedRecords, int, int], ...]:
    """By reason, with line (from 1) and object of the first ones; each comes with share of the first one and its line there."""
    counts: dict[str, int] = {}
    places: dict[str, list[tuple[int, int]]] = {}
    for partial in partials:
        for each in partial.malformed.values():
            counts[each.reason] = counts.get(each.reason, 0) + each.rows
            own = places.setdefault(each.reason, [])
            own += [(partial.number, line) for line in each.lines[: max(1, samples) - len(own)]]
    before, last = lines_before(source, partials), dict[int, int]()
    for share, partial, lines in zip(source.shares, partials, before, strict=True):
        if partial.lines:
            last[share.part] = lines + partial.lines - partial.tail + 1
    found = []
    for reason in sorted(places):
        rows = [Sample(before[number] + line + 1, (), source.shares[number].part) for number, line in places[reason]]
        first, is_last = rows[0], rows[0].row == last[rows[0].part]
        records = MalformedRecords(
            reason, counts[reason], first.row, first.part, is_last=is_last, samples=tuple(rows[:samples])
        )
        found.append((records, *places[reason][0]))
    return tuple(found)
