"""Steps 11 and 12: what follows from the commit. All of it is idempotent."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from lakegate.contracts.lake.states import State
from lakegate.functions.ports.objects import Address
from lakegate.functions.usecases import delivery_report, layout, manifest, parts
from lakegate.functions.usecases.erasure import versions_of
from lakegate.functions.usecases.moves import move
from lakegate.functions.usecases.steps import Effect, perform

if TYPE_CHECKING:
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.steps import Steps
    from lakegate.functions.workload import Workload


_SHARE = re.compile("/(?:rows|slices)/")


def tidy(dependencies: Dependencies, workload: Workload) -> Steps[Workload]:
    """Bring the manifest up to date, delete the judged version by its id and all other copies, write the report, then close."""
    if workload.due_at is None:
        return workload
    assert workload.pin is not None
    if workload.state is State.PUBLISHED:
        yield from manifest.update(dependencies, workload.pin.chain)
    yield from parts.delete(dependencies, workload)
    for each in parts.staged(dependencies, workload):
        staged = Address(each.bucket, each.key)
        yield from perform(Effect.DELETE_STAGING, partial(dependencies.objects.delete, staged))
    for share in _shares(dependencies, workload):
        yield from perform(Effect.DELETE_STAGING, partial(dependencies.objects.delete, share))
    yield from delivery_report.write(dependencies, workload)
    return (yield from move(dependencies, Effect.CLOSE, workload, workload._replace(due_at=None)))


def _shares(dependencies: Dependencies, workload: Workload) -> tuple[Address, ...]:
    """Rows of a split and slices, whose copies are committed; of attempts that were given up and of rejected deliveries, too."""
    terms = dependencies.terms(workload)
    if not terms.by_rows and not terms.as_slices:
        return ()
    stored = versions_of(dependencies, f"{layout.batch_prefix(workload.batch)}{workload.id}/")
    return tuple(Address(each.bucket, each.key) for each in stored if each.current and _SHARE.search(each.key))
