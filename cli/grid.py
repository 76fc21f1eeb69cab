"""Findings on a terminal of any width: a table where it is wide enough, else blocks.

Ids are never broken or cut; sentences break between words. Only the width decides: a pipe gets the same without colour.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from lakegate.cli.escape import escaped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

NARROW = 120
"""Below so many columns no table is printed."""
GAP = "  "
INDENT = 6
READABLE = (60, 40)
"""Columns that a table gives to the finding and to the failing rows at least, unless they are shorter."""
HEADINGS = ("status", "rule", "field", "finding", "failing rows")
UNBROKEN = str.maketrans({"\xa0": " "})


@dataclass(frozen=True, slots=True)
class Entry:
    """One finding."""

    status: str
    colour: str
    rule: str
    field: str
    finding: str
    rows: str

    @property
    def cells(self) -> tuple[str, ...]:
        """Its texts as a terminal may show them, the status first."""
        return tuple(map(escaped, (self.status, self.rule, self.field, self.finding, self.rows)))


def print_entries(console: Console, entries: Sequence[Entry]) -> None:
    """Print findings, as a table if the console is wide enough for one."""
    widths = _widths(entries, console.width) if entries and console.width >= NARROW else None
    if widths is None:
        for entry in entries:
            _print_block(console, entry)
        return
    console.print(_line(HEADINGS, widths), style="bold", soft_wrap=True)
    for entry in entries:
        _print_row(console, entry, widths)


def print_wrapped(console: Console, text: str) -> None:
    """Print a text, broken between words only."""
    for line in _wrapped(escaped(text), console.width):
        console.print(line, markup=False, soft_wrap=True)


def _print_block(console: Console, entry: Entry) -> None:
    status, rule, field, *texts = entry.cells
    console.print(f"{status:<{INDENT}}", style=entry.colour, end="")
    console.print(GAP.join(filter(None, (rule, field))), markup=False, soft_wrap=True)
    for line in (line for text in texts for line in _wrapped(text, console.width - INDENT)):
        console.print(" " * INDENT + line, markup=False, soft_wrap=True)


def _print_row(console: Console, entry: Entry, widths: tuple[int, ...]) -> None:
    status, *ids, finding, rows = entry.cells
    cells = [*([each] for each in ids), _wrapped(finding, widths[-2]), _wrapped(rows, widths[-1])]
    for number, line in enumerate(zip_longest(*cells, fillvalue="")):
        console.print(f"{'' if number else status:<{widths[0]}}", style=entry.colour, end="")
        console.print(GAP + _line(line, widths[1:]), markup=False, soft_wrap=True)


def _line(cells: Sequence[str], widths: tuple[int, ...]) -> str:
    return GAP.join(map(set_cell_size, cells, widths)).rstrip()


def _wrapped(text: str, width: int) -> list[str]:
    """Lines of a text; a percent sign stays with its number."""
    lines = textwrap.wrap(
        text.replace(" %", "\xa0%"), max(width, INDENT), break_long_words=False, break_on_hyphens=False
    )
    return [line.translate(UNBROKEN) for line in lines]


def _widths(entries: Sequence[Entry], width: int) -> tuple[int, ...] | None:
    """The widths of a table's columns; None where it would be too narrow to read."""
    columns = list(zip(HEADINGS, *(each.cells for each in entries), strict=True))
    *ids, finding, rows = (max(map(cell_len, column)) for column in columns)
    words = [max(cell_len(word) for cell in column for word in cell.split()) for column in columns[-2:]]
    least = [max(min(own, enough), word) for own, enough, word in zip((finding, rows), READABLE, words, strict=True)]
    left = width - sum(ids) - len(GAP) * (len(HEADINGS) - 1)
    if left < sum(least):
        return None
    finding = min(finding, left - least[1])
    return (*ids, finding, min(rows, left - finding))
