"""Rows that are due: lease, step, retry, end; who is scheduled."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final

from lakegate.contract.contract_model import line_of, parts_of
from lakegate.contract.semantic_versions import major
from lakegate.errors import LakegateError
from lakegate.gate.datasets.dataset_lines import LineStatus
from lakegate.gate.effects import Defect, Effect, perform
from lakegate.gate.registry.routes import leading
from lakegate.timestamps import moment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import datetime

    from lakegate.gate.dependencies import Dependencies
    from lakegate.gate.effects import Steps
    from lakegate.gate.registry.registry_rows import Publication, RegistrySnapshot

    Schedule = Callable[[Dependencies, str, Publication, str], Steps[None]]
    """Schedules a line by its current version and the digest of its plan."""

# ---- Lines whose contracts say that something is done by schedule: by a label of their current versions ------------
#
# Who does it finds the lines itself, so that publishing needs no further right, and what is lost of its rows comes
# back.


@dataclass(frozen=True, slots=True)
class ScheduledTask:
    """What a feature does about lines by schedule, in each sweep: the type of the extension point `scheduled tasks`."""

    due: Callable[[Dependencies, datetime, int], Iterable[str]]
    """Lines for which something is to be done now, at most so many, the oldest first."""
    step: Callable[[Dependencies, str], Steps[str | None]]
    """Does it; the metric that counts what ended by it."""
    discover: Callable[[Dependencies], Steps[list[LakegateError]]]
    """Schedules what was published. Returns errors of single lines."""
    metrics: tuple[str, ...] = ()
    """Every one that `step` returns."""


PAGES: Final = 20
"""Of the registry, at once."""
ENOUGH: Final = 60.0
"""Seconds: with less than this left no further page is read."""
RETIRED: Final = "retired"


def discover(dependencies: Dependencies, label: str, cursor: str, schedule: Schedule) -> Steps[list[LakegateError]]:
    """Schedule the lines of some pages of the registry that have a label. Returns errors of single lines.

    It goes on where it stopped the last time, and stops when time is short.
    """
    agenda, failures = dependencies.agenda, list[LakegateError]()
    before = agenda.cursor(cursor)
    for _ in range(PAGES):
        if dependencies.remaining() < ENOUGH:
            break
        page = dependencies.registry.page(before or "")
        for line, version, digest in chain.from_iterable(labelled(each, label) for each in page.contracts):
            try:
                yield from schedule(dependencies, line, version, digest)
            except LakegateError as failure:
                failures.append(failure)
            except Exception as error:  # noqa: BLE001 - one line stops none of the others
                failures.append(Defect(line, error))
        after = page.after or None
        if after != before:
            yield from perform(Effect.KEEP_CURSOR, partial(agenda.keep, cursor, after))
        if after is None:
            break
        before = after
    return failures


def labelled(snapshot: RegistrySnapshot, label: str) -> Iterator[tuple[str, Publication, str]]:
    """The lines of a contract with a label, each with its current version and the digest of its plan."""
    if all(name != label for each in snapshot.versions for name, _ in each.labels):
        return
    for contract, number in sorted({(each.contract, major(each.version)) for each in snapshot.versions}):
        version = leading(snapshot, contract, number)
        if version is not None and version.status != RETIRED:
            found = {value for name, value in version.labels if name == label}
            for dataset, digest in version.plans:
                if dataset in found:
                    yield line_of(contract, dataset, number), version, digest


def current(dependencies: Dependencies, line: str, label: str) -> tuple[RegistrySnapshot, Publication, str] | None:
    """The current version of a line with a label, with the digest of its plan; None: there is none, or the line is retired."""
    snapshot = dependencies.registry.contract(parts_of(line)[0])
    found = next((each for each in labelled(snapshot, label) if each[0] == line), None)
    return None if found is None or is_retired(dependencies, line) else (snapshot, *found[1:])


def is_retired(dependencies: Dependencies, line: str) -> bool:
    """Whether a line is retired now."""
    return dependencies.lines.get(line).status_at(moment(dependencies.clock.now())) is LineStatus.RETIRED
