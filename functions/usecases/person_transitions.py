"""What a person may do with one workload, by the state that it is in: the commands `replay`, `waive`, `approve` and `decline`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from lakegate.contracts.door.refusals import code_of
from lakegate.contracts.lake.waiver import unwaivable
from lakegate.functions.usecases.delivery import row_of
from lakegate.functions.workload import State, replay_id

if TYPE_CHECKING:
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.workload import Workload


class PersonTransition(StrEnum):
    """A transition that only a person starts."""

    REPLAY = "replay"
    WAIVE = "waive"
    APPROVE = "approve"
    DECLINE = "decline"


def legal(dependencies: Dependencies, row: Workload) -> tuple[PersonTransition, ...]:
    """The transitions that a workload has now; of one with a successor, the one that led to it, which may be repeated."""
    if row.state is State.FAILED:
        return (PersonTransition.REPLAY,)
    if row.state is State.AWAITING:
        return (PersonTransition.APPROVE, PersonTransition.DECLINE)
    if row.state is State.SCHEDULED:
        return (PersonTransition.DECLINE,)
    if row.state is not State.QUARANTINED:
        return ()
    if (after := row_of(dependencies, replay_id(row.id))) is not None:
        return (PersonTransition.WAIVE,) if after.waiver else (PersonTransition.REPLAY,)
    return (PersonTransition.REPLAY,) if excluded(row) else (PersonTransition.REPLAY, PersonTransition.WAIVE)


def excluded(row: Workload) -> str:
    """The code of the reason for which a rejected workload has no waiver; empty if it may have one."""
    assert row.decision is not None
    return unwaivable(tuple(map(code_of, row.decision.reasons)))
