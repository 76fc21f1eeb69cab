"""Rows that are due: one protocol for every task that runs by time, and one runner.

A task has one row for each thing that it works on, and the row says when it is due. The runner finds the rows that are due by an
index that lags, reads each again by its name, calls the step of the task, and writes the row that the step returns only if nobody
else has written it since. A step that ends a row returns one that is not due; a step that wants to be called again returns one
that is due later: a back-off is a part of the row. Whatever a row or its step raises is reported, and stops none of the others.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final, Generic, NamedTuple, TypeVar

from lakegate.base.errors import ConditionFailed, LakegateError, TransactionConflict
from lakegate.base.timestamps import instant_of, moment
from lakegate.contract.contract_model import full_dataset_name, parts_of
from lakegate.contract.schedules import schedule
from lakegate.gate.datasets.dataset_states import DatasetRowStore, DatasetStatus, DueRow, RowT, advance_revision
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Effect, Steps, guard_steps, perform
from lakegate.gate.registry.registry_rows import Publication, RegistrySnapshot
from lakegate.gate.registry.routes import leading
from lakegate.gate.table import Write

T = TypeVar("T")


SECONDS_OF_ROW: Final = 60.0
"""Seconds: with less than this left nothing more is begun."""
TRIES_OF_CHANGE: Final = 5
"""Repetitions of a change of a row because another worker has written it."""
MAX_ROWS_OF_TURN: Final = 10_000
"""Rows of one turn: more than its time is enough for. Further ones are left to the next."""


def _wait(_dependencies: Dependencies, _row: object, _now: str) -> Steps[None]:
    """The step of a task whose runner has ports of its own: what runs it replaces this one."""
    yield from ()


@dataclass(frozen=True, slots=True)
class ScheduledTask(Generic[RowT]):
    """A task over the rows of a kind by time; those that a sweep runs are registered at the point `scheduled tasks`."""

    rows: Callable[[Dependencies], DatasetRowStore[RowT]]
    step: Callable[[Dependencies, RowT, str], Steps[RowT | None]] = _wait
    """Does what is due about a row now. Returns the row afterwards, to be written; None: there is nothing to write."""
    end: Callable[[RowT, RowT], object] = lambda _before, _after: None
    """The end that a step brought, by the row before and afterwards; None: none."""
    discovery: Discovery[RowT] | None = None
    """None: rows are begun by something else than a contract."""
    metrics: tuple[str, ...] = ()
    """Every one that `end` returns, of a task of the sweep."""
    enough: float = SECONDS_OF_ROW
    """Seconds: with less than this left no further row is begun."""
    most: int = MAX_ROWS_OF_TURN
    """Rows of one turn."""


class LabelledDataset(NamedTuple):
    """A dataset with a label in its contract."""

    dataset: str
    version: Publication
    """The current one."""
    plan: str
    """The digest of its plan."""


@dataclass(frozen=True, slots=True)
class Discovery(Generic[RowT]):
    """The rows that there are: a contract says that something is done by schedule, by a label of its current version.

    The task finds these datasets itself, so that publishing needs no further right, and what is lost of its rows comes back.
    """

    label: str
    cursor: str
    """The name of the place in the registry where the next turn goes on."""
    plan: Callable[[Dependencies, LabelledDataset], RowT | None]
    """The row of a dataset by its current version; None: it has that plan, or cannot be changed now."""


@dataclass(slots=True)
class Turn:
    """Counts of a turn, for metrics."""

    looked_at: int = 0
    failures: list[LakegateError] = field(default_factory=list)
    """Errors of single rows, reported here: one failure does not stop the others."""
    ends: list[tuple[str, Any]] = field(default_factory=list)
    """Ends of rows, with the name of each row."""

    def guarded(self, at: str, steps: Steps[T]) -> Steps[T | None]:
        """The step of one row; an exception stops none of the others."""
        return (yield from guard_steps(self.failures, at, steps))


def run_due(dependencies: Dependencies, turn: Turn, task: ScheduledTask[RowT], also: Iterable[str] = ()) -> Steps[None]:
    """Run the rows of a task that are due. `also`: names of rows that may be, and that the index may not have yet."""
    due: deque[str] = deque()
    try:
        due = deque(dict.fromkeys((*due_rows(dependencies, task), *also)))
    except LakegateError as failure:  # the index does not answer: the next turn goes on
        turn.failures.append(failure)
    yield from run_batch(dependencies, turn, task, due, len(due))


def due_rows(dependencies: Dependencies, task: ScheduledTask[RowT]) -> tuple[str, ...]:
    """The names of rows that are due now, by the index."""
    return task.rows(dependencies).due(dependencies.now, task.most)


def run_batch(
    dependencies: Dependencies, turn: Turn, task: ScheduledTask[RowT], due: deque[str], batch: int
) -> Steps[bool]:
    """Run the first rows of `due`, while there is time. Returns whether there are more."""
    for _ in range(min(batch, len(due))):
        if dependencies.remaining() < task.enough:
            return False
        name = due.popleft()
        turn.looked_at += 1
        end = yield from turn.guarded(name, run_row(dependencies, task, name))
        if end is not None:
            turn.ends.append((name, end))
    return bool(due)


def run_row(dependencies: Dependencies, task: ScheduledTask[RowT], name: str) -> Steps[object | None]:
    """Run one row, if it is due: it is read again, because the index lags. Returns what ended by it."""
    row, now = task.rows(dependencies).get(name), dependencies.moment
    if not is_due(row, now):
        return None
    try:
        after = yield from task.step(dependencies, row, now)
        if after is None:
            return None
        yield from write_row(dependencies, task, after)
    except ConditionFailed:  # another worker goes on with it
        return None
    return task.end(row, after)


def is_due(row: DueRow, now: str) -> bool:
    """Whether there is something to do about a row now."""
    return "" < row.due <= now


def write_row(
    dependencies: Dependencies, task: ScheduledTask[RowT], row: RowT, *others: Write, effect: Effect = Effect.WRITE_ROW
) -> Steps[RowT]:
    """Write a row, and others with it. Returns it with its next revision.

    Raises ConditionFailed where another worker was first, unless an earlier try of this one arrived.
    """
    rows, after = task.rows(dependencies), advance_revision(row)
    try:
        yield from perform(effect, rows.write, row, *others)
    except ConditionFailed:
        if rows.get(rows.name_of(row)) != after:
            raise
    return after


def change_row(
    dependencies: Dependencies, task: ScheduledTask[RowT], name: str, change: Callable[[RowT], RowT]
) -> Steps[RowT]:
    """Change a row by a pure function, again if somebody else has written it. The same row is not written."""
    for _ in range(TRIES_OF_CHANGE):
        before = task.rows(dependencies).get(name)
        after = change(before)
        if after == before:
            return after
        with suppress(ConditionFailed):
            return (yield from write_row(dependencies, task, after))
    raise TransactionConflict(name)


def following(text: str, after: str) -> str:
    """The next time of a schedule; empty if there is none, or no schedule."""
    time = schedule(text).next_after(instant_of(after)) if text else None
    return moment(time) if time else ""


# ---- Datasets with a schedule ----


PAGES: Final = 20
"""Of the registry, at once."""
RETIRED: Final = "retired"


def discover(dependencies: Dependencies, turn: Turn, task: ScheduledTask[RowT]) -> Steps[None]:
    """Plan the rows of the datasets that have the label of a task, of some pages of the registry.

    It goes on where it stopped the last time, and stops when time is short. Where the registry does not answer, what is
    planned already is done.
    """
    if task.discovery is not None:
        yield from turn.guarded(task.discovery.cursor, _pages(dependencies, turn, task, task.discovery))


def _pages(
    dependencies: Dependencies, turn: Turn, task: ScheduledTask[RowT], discovery: Discovery[RowT]
) -> Steps[None]:
    agenda, cursor = dependencies.agenda, discovery.cursor
    before = agenda.cursor(cursor)
    for _ in range(PAGES):
        if dependencies.remaining() < SECONDS_OF_ROW:
            break
        page = dependencies.registry.page(before or "")
        datasets = chain.from_iterable(labelled_datasets(contract, discovery.label) for contract in page.contracts)
        for number, found in enumerate(datasets):
            if number and dependencies.remaining() < SECONDS_OF_ROW:
                break  # the next reading of the page passes over what is planned, and other pages do not wait for it
            yield from turn.guarded(found.dataset, _planned(dependencies, task, discovery, found))
        after = page.after or None
        if after != before:
            yield from perform(Effect.KEEP_CURSOR, agenda.keep, cursor, after)
        if after is None:
            break
        before = after


def _planned(
    dependencies: Dependencies, task: ScheduledTask[RowT], discovery: Discovery[RowT], dataset: LabelledDataset
) -> Steps[None]:
    row = discovery.plan(dependencies, dataset)
    if row is not None:
        with suppress(ConditionFailed):  # another worker has it: the next turn plans it
            yield from write_row(dependencies, task, row)


def labelled_datasets(snapshot: RegistrySnapshot, label: str) -> Iterator[LabelledDataset]:
    """The datasets of a contract with a label."""
    if all(name != label for each in snapshot.versions for name, _ in each.labels):
        return
    for contract, number in sorted({(each.contract, each.major) for each in snapshot.versions}):
        version = leading(snapshot, contract, number)
        if version is not None and version.status != RETIRED:
            values = {value for name, value in version.labels if name == label}
            for dataset, digest in version.plans:
                if dataset in values:
                    yield LabelledDataset(full_dataset_name(contract, dataset, number), version, digest)


def current(dependencies: Dependencies, dataset: str, label: str) -> tuple[RegistrySnapshot, LabelledDataset] | None:
    """A dataset with a label, and its contract; None: it has none, or is retired."""
    snapshot = dependencies.registry.contract(parts_of(dataset)[0])
    found = next((each for each in labelled_datasets(snapshot, label) if each.dataset == dataset), None)
    return None if found is None or is_retired(dependencies, dataset) else (snapshot, found)


def is_retired(dependencies: Dependencies, dataset: str) -> bool:
    """Whether a dataset is retired now."""
    return dependencies.datasets.get(dataset).status_at(dependencies.moment) is DatasetStatus.RETIRED
