"""What became of the deliveries of a line, from its index: chosen by rule, verdict and time, a page at a time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.functions.ports.history import HistoryEntry
    from lakegate.functions.usecases.dependencies import Dependencies

PAGE: Final = 500
"""Entries of one query; fewer where a page has fewer."""
SKEW: Final = timedelta(minutes=15)
"""By how much the clocks of two workers may differ: heights grow with time only as exactly as that."""


class Page(NamedTuple):
    """One page of a history, the newest delivery first."""

    entries: tuple[HistoryEntry, ...]
    below: int | None
    """The height below which the next page begins; None: there is none."""
    indexed: bool
    """Whether every delivery of the line is in the index by rule and verdict: an earlier release wrote none."""


def history(  # noqa: PLR0913 - a history is chosen by these
    dependencies: Dependencies,
    chain: str,
    *,
    rule: str = "",
    verdict: str = "",
    since: datetime | None = None,
    below: int | None = None,
    limit: int = 20,
) -> Page:
    """A page of the finished deliveries of a line, of at most `limit`."""
    found: list[HistoryEntry] = []
    for each in chosen(dependencies, chain, rule=rule, verdict=verdict, since=since, below=below, page=limit + 1):
        found.append(each)
        if len(found) > limit:
            return Page(tuple(found[:limit]), found[limit - 1].height, is_indexed(dependencies, chain))
    return Page(tuple(found), None, is_indexed(dependencies, chain))


def chosen(  # noqa: PLR0913 - likewise
    dependencies: Dependencies,
    chain: str,
    *,
    rule: str = "",
    verdict: str = "",
    since: datetime | None = None,
    below: int | None = None,
    page: int = PAGE,
) -> Iterator[HistoryEntry]:
    """The finished deliveries of a line, the newest first; read page by page, as far as they are taken."""
    by_verdict = "" if rule else verdict
    while True:
        size = min(page, PAGE)
        entries = dependencies.history.entries(chain, rule=rule, verdict=by_verdict, below=below, limit=size)
        for each in entries:
            at = datetime.fromisoformat(each.at)
            if since is not None and at < since - SKEW:
                return
            if (since is None or at >= since) and verdict in {"", each.verdict}:
                yield each
        if len(entries) < size:
            return
        below = entries[-1].height


def is_indexed(dependencies: Dependencies, chain: str) -> bool:
    """Whether the first delivery of a line is in the index, and with it all that followed."""
    return all(each.indexed for each in dependencies.history.entries(chain, below=1, limit=1))
