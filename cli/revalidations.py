"""How the latest measurement of a line's accepted data by schedule ended, in words and for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.cli.account import in_utc
from lakegate.contracts.lake.lifecycle import instant_of
from lakegate.contracts.words import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lakegate.contracts.lake.revalidations import EndedRun, RevalidatedLine
    from lakegate.functions.usecases.dependencies import Dependencies


def measured_lines(dependencies: Dependencies, lines: Iterable[str]) -> tuple[RevalidatedLine, ...]:
    """The rows of the lines that are, or were, measured by schedule."""
    rows = map(dependencies.revalidations.get, sorted(lines))
    return tuple(row for row in rows if row.plan or row.ends)


def in_words(row: RevalidatedLine) -> str:
    """One line of text."""
    return "; ".join(_parts(row))


def _parts(row: RevalidatedLine) -> Iterator[str]:
    if row.ends:
        yield f"{_time(row.ends[0].at)}: {_end(row.ends[0])}"
    if row.run is not None:
        yield f"is being measured since {_time(row.run.at)}"
    elif row.next:
        yield f"next at {_time(row.next)}"
    else:
        yield "not measured any more"


def _end(end: EndedRun) -> str:
    failed = f"FAILED ({end.reason})" if end.reason else end.end.value
    if not end.stale:
        return failed
    return f"{failed}, does not hold: {listed(end.stale)}"


def _time(at: str) -> str:
    return in_utc(instant_of(at))


def as_document(row: RevalidatedLine) -> dict[str, object]:
    """The row for machines."""
    return {
        "line": row.line,
        "contract_version": row.version or None,
        "schedules": [{"schedule": each.text, "next": each.next or None} for each in row.schedules],
        "measuring": {"since": row.run.at, "height": row.run.height, "attempt": row.run.attempt} if row.run else None,
        "ends": [
            {
                "outcome": each.end.value,
                "at": each.at,
                "height": each.height,
                "reason": each.reason or None,
                "stale": list(each.stale),
            }
            for each in row.ends
        ],
    }
