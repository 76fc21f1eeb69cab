"""The statuses by which deliveries to published versions are judged now."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

from lakegate.contracts.lake.lifecycle import LineStatus, moment, strictest
from lakegate.contracts.lake.routes import line_of
from lakegate.contracts.lake.versions import major
from lakegate.functions.ports.registry import WITHDRAWN
from lakegate.functions.usecases.parents import datasets_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lakegate.contracts.lake.routes import Route
    from lakegate.functions.ports.registry import Publication
    from lakegate.functions.usecases.dependencies import Dependencies

Statuses: TypeAlias = dict[str, LineStatus]
"""Of lines, by their names."""
READERS: Final = 10
"""Lines that are read at once: boto3 keeps as many connections."""


def statuses_of(dependencies: Dependencies, versions: Iterable[Publication]) -> Statuses:
    """The status that each line of some versions has now."""
    return _read(dependencies, {_line(each, dataset) for each in versions for dataset in datasets_of(each)})


def as_judged(dependencies: Dependencies, routes: Iterable[Route]) -> list[Route]:
    """Routes with the status by which what lands below them is judged now, that of their line included."""
    known = list(routes)
    statuses = _read(dependencies, {each.line for each in known})
    return [replace(each, status=strictest(each.status, statuses[each.line])) for each in known]


def _read(dependencies: Dependencies, lines: set[str]) -> Statuses:
    names, now = sorted(lines), moment(dependencies.clock.now())
    with ThreadPoolExecutor(READERS) as readers:
        return {line.name: line.status_at(now) for line in readers.map(dependencies.lines.get, names)}


def status_of(statuses: Statuses, version: Publication, dataset: str) -> str:
    """The status by which deliveries to a dataset of a version are judged; of a withdrawn one that it is."""
    if version.status == WITHDRAWN:
        return WITHDRAWN
    return strictest(version.status, statuses[_line(version, dataset)])


def _line(version: Publication, dataset: str) -> str:
    return line_of(version.contract, dataset, major(version.version))
