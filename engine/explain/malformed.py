"""Records that do not have the declared structure: by reason, with the first one in the delivery."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lakegate.contracts.plan.result import MalformedRecords
    from lakegate.engine.measure.partial import Partial
    from lakegate.engine.read.chunk import Source


def lines_before(source: Source, partials: list[Partial]) -> list[int]:
    """Lines of the same object before each share."""
    before, lines = [], dict.fromkeys((share.part for share in source.shares), 0)
    for share, partial in zip(source.shares, partials, strict=True):
        before.append(lines[share.part])
        lines[share.part] += partial.lines
    return before


def malformed_records(source: Source, partials: list[Partial]) -> tuple[tuple[MalformedRecords, int, int], ...]:
    """By reason, with line (from 1) and object of the first one in the delivery; each comes with its share and its line there."""
    found: dict[str, tuple[MalformedRecords, int, int]] = {}
    lines = dict.fromkeys((share.part for share in source.shares), 0)
    for share, partial in zip(source.shares, partials, strict=True):
        lines[share.part] += partial.lines
    for before, partial in zip(lines_before(source, partials), partials, strict=True):
        part = source.shares[partial.number].part
        for each in partial.malformed:
            if each.reason in found:
                known, number, line = found[each.reason]
                found[each.reason] = replace(known, rows=known.rows + each.rows), number, line
            else:
                row = before + each.first_row + 1
                first = replace(each, first_row=row, part=part, is_last=row == lines[part])
                found[each.reason] = first, partial.number, each.first_row
    return tuple(found[reason] for reason in sorted(found))
