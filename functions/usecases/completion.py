"""Steps 8 to 12, on the hint that a job run has moved, or that an invocation of the judge function has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.contracts.errors import LakegateError
from lakegate.functions.ports.errors import NotFound, Unfinished, UnreadableItem
from lakegate.functions.ports.jobs import names_invocation
from lakegate.functions.usecases.advance import advance, complete
from lakegate.functions.usecases.steps import Defect
from lakegate.functions.usecases.sweep import ENOUGH
from lakegate.functions.workload import State

if TYPE_CHECKING:
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.steps import Steps


def completion(dependencies: Dependencies, run: str) -> Steps[None]:
    """Continue the workload of a run, or the members of a batch. The state in the event is not used.

    A failed run is retried at once: the back-off is seconds long, and is waited for here.
    """
    try:
        name = dependencies.jobs.describe(run).name
    except NotFound:
        return
    try:
        workload = dependencies.workloads.get(name)
    except NotFound:
        yield from _batch_ended(dependencies, name)
        return
    yield from complete(dependencies, workload)


def _batch_ended(dependencies: Dependencies, batch: str) -> Steps[None]:
    """Continue each member; what fails for one of them stops none of the others, and is raised in the end.

    Back-offs are waited for when all have been continued: members without a result wait for one another in their next batch.
    """
    try:
        members = dependencies.batches.get(batch).members
    except NotFound:
        return  # a run of somebody else's in the same application
    except UnreadableItem as refused:  # `sweep` continues each member by its row
        dependencies.left_out.append(refused)
        return
    failures: list[LakegateError] = []
    for step in (advance, complete):
        for member in members:
            if dependencies.remaining() < ENOUGH:
                raise Unfinished(batch)
            try:
                yield from step(dependencies, dependencies.workloads.get(member.workload))
            except LakegateError as failure:
                failures.append(failure)
            except Exception as error:  # noqa: BLE001 - one member stops none of the others
                failures.append(Defect(member.workload, error))
    if failures:
        raise failures[0]


def invocation_ended(dependencies: Dependencies, workload: str, attempt: int, *, failed: bool) -> Steps[None]:
    """Continue the workload of an invocation.

    A failed one brings the deadline of its attempt forward: no result will come of it, and Spark can start at once.
    Without the hint `sweep` finds the deadline past. A result that is there counts all the same.
    """
    try:
        row = dependencies.workloads.get(workload)
    except NotFound:
        return
    if failed and row.state is State.VALIDATING and row.attempt == attempt and names_invocation(row.run):
        row = row._replace(deadline=dependencies.clock.now())
    yield from complete(dependencies, row)
