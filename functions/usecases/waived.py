"""A delivery that a person lets through: decided by the waiver and the rejection that it waives, without another judgement."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from lakegate.contracts.judge.codes import WAIVER_EXPIRED
from lakegate.contracts.judge.verdict import Verdict
from lakegate.contracts.lake.lifecycle import warned
from lakegate.functions.ports.errors import NotFound
from lakegate.functions.ports.objects import Address
from lakegate.functions.usecases import layout
from lakegate.functions.workload import Decision

if TYPE_CHECKING:
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.workload import Workload


def measured_row(dependencies: Dependencies, workload: Workload) -> Workload:
    """The workload whose attempt measured the delivery: of a waived one, the rejected workload."""
    return dependencies.workloads.get(workload.waiver.rejected) if workload.waiver else workload


def measured_result(dependencies: Dependencies, measured: Workload) -> bytes:
    """The result of the last attempt, with what validators answered, if that was kept. Raises NotFound."""
    keys = [f"{layout.attempt_prefix(measured.id, measured.attempt, measured.batch)}/result.json"]
    if dependencies.terms(measured).has_external:
        keys.insert(0, layout.answers_key(measured.id, measured.attempt))
    for key in keys[:-1]:
        with suppress(NotFound):
            return dependencies.objects.read(Address(dependencies.places.lake, key))
    return dependencies.objects.read(Address(dependencies.places.lake, keys[-1]))


def decision_on_waived(dependencies: Dependencies, workload: Workload) -> Decision:
    """Accepted with the reasons of the rejection, or rejected once more: the waiver was over at the judging time."""
    waiver, pin, rejected = workload.waiver, workload.pin, measured_row(dependencies, workload)
    rejection = rejected.decision
    assert waiver is not None
    assert pin is not None
    assert rejected.pin is not None
    assert rejection is not None
    reasons = tuple(each for each in rejection.reasons if each != rejected.pin.warning)
    if waiver.has_expired(pin.judging_time):
        return Decision(Verdict.REJECTED, (WAIVER_EXPIRED, *reasons), staged=False, broken=rejection.broken)
    counts = rejection.counts
    return Decision(
        *warned(Verdict.ACCEPTED_WITH_WARNINGS, (waiver.in_words, *reasons), pin.warning),
        rejection.result,
        staged=False,
        counts=counts and replace(counts, published_rows=counts.rows, rejected_rows=0),
        broken=rejection.broken,
    )
