"""The decision on a `result.json`. Imported with the first result: intake starts without judgement and JSON Schema."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from lakegate.contracts.errors import InputError
from lakegate.contracts.judge.judgement import broken_rules, counts_of, judge, reason_texts
from lakegate.contracts.judge.verdict import ACCEPTING, Verdict
from lakegate.contracts.lake.lifecycle import warned
from lakegate.contracts.lake.watermarks import watermark_after
from lakegate.contracts.model.policy import MergeStrategy, Mode, PublishAs
from lakegate.contracts.plan.plan import Plan
from lakegate.contracts.plan.result import Result
from lakegate.contracts.plan.slices import StateRun
from lakegate.contracts.report.delivery import Report
from lakegate.functions.ports.jobs import names_invocation
from lakegate.functions.usecases.layout import state_key
from lakegate.functions.workload import Decision, Enforced

if TYPE_CHECKING:
    from lakegate.contracts.plan.billing import BilledCost
    from lakegate.contracts.plan.slices import Merged, WrittenSlice
    from lakegate.functions.workload import Workload

_plan = lru_cache(maxsize=16)(Plan.from_bytes)
"""Plans are content-addressed: a Lambda that judges many deliveries of a dataset reads its plan once."""


class DecisionAndCost(NamedTuple):
    """What follows from the result of an attempt."""

    decision: Decision | None
    """None: the judge function cannot hold the delivery."""
    cost: BilledCost | None
    """As the result records it."""


def judged(plan: bytes, result: bytes, workload: Workload) -> DecisionAndCost:
    """The decision on the current attempt, with the warning that was pinned.

    Raises InputError for a document that is not a result, or another attempt's.

    Only the judge function can report that a delivery does not fit; a job that does has no result.
    """
    compiled, measured = _plan(plan), Result.from_bytes(result)
    if not is_of_attempt(measured, workload):
        raise InputError("the result belongs to another attempt")
    if measured.does_not_fit:
        if not names_invocation(workload.run):
            raise InputError("a job run fits every delivery")
        return DecisionAndCost(None, measured.cost)
    assert workload.pin is not None
    judgement = judge(compiled, measured)
    decision = Decision(
        *warned(judgement.verdict, reason_texts(judgement.reasons), workload.pin.warning),
        hashlib.sha256(result).hexdigest(),
        counts=counts_of(compiled, judgement),
        broken=broken_rules(judgement.outcomes),
        enforced=_enforced(compiled, measured),
    )
    if judgement.verdict in ACCEPTING:
        marks = (measured.watermark, watermark_after(compiled, measured, workload.pin.judging_time))
        before, runs = _states(measured, workload)
        offsets = _offsets(compiled, measured)
        decision = replace(decision, offsets=offsets, watermarks=marks, before=before, runs=runs)
    return DecisionAndCost(decision, measured.cost)


def _offsets(plan: Plan, result: Result) -> tuple[int, int] | None:
    """The offsets of the slices of an accepted delivery. Raises InputError where they are no slices of it."""
    slices, ordered, merge = result.slices, plan.policy.publish_as is PublishAs.PARQUET, result.merge
    if bool(plan.policy.merge_key) != (merge is not None):
        raise InputError("rows are merged without a key, or not merged with one")
    if any(low.offset + low.rows != high.offset for low, high in pairwise(slices)):
        raise InputError("the offsets of the slices are not contiguous")
    if merge is not None:
        return _merged_offsets(plan, merge, slices)
    if bool(slices) != (ordered and result.rows > result.rejected_rows):
        raise InputError("there are slices of a delivery that has none, or none of its rows")
    return (slices[0].offset, slices[-1].offset + slices[-1].rows) if slices else None


def _merged_offsets(plan: Plan, merge: Merged, slices: tuple[WrittenSlice, ...]) -> tuple[int, int]:
    """Those of merged rows, whose slices, state and numbers prove each other. InputError where they do not."""
    snapshot, rows = merge.snapshot, sum(each.rows for each in slices)
    if (plan.policy.merge_strategy is MergeStrategy.SNAPSHOT) != (snapshot is not None):
        raise InputError("rows are merged by another strategy than that of the contract")
    keys, has_run = rows - merge.without_key, merge.run is not None
    is_proved = (keys > 0) == has_run if snapshot is None else rows == snapshot.events and (has_run or not slices)
    end = slices[-1].offset + slices[-1].rows if slices else merge.offset
    if end - merge.offset != rows or keys < 0 or not is_proved:
        raise InputError("slices and state are not those of the rows that are new, retracted or corrected")
    return merge.offset, end


def _states(result: Result, workload: Workload) -> tuple[tuple[StateRun, ...], tuple[StateRun, ...]]:
    """The merge state of the line without and with the delivery, by keys of the lake; its own file where it will be."""
    merge, pin = result.merge, workload.pin
    if merge is None:
        return (), ()
    assert pin is not None
    before, kept = (
        tuple(replace(each, uri=each.uri.partition("://")[2].partition("/")[2]) for each in runs)
        for runs in (merge.before, merge.kept)
    )
    if not all(each.uri.startswith(f"accepted/{pin.chain}/") for each in (*before, *kept)):
        raise InputError("the merge state is not that of the line")
    if merge.run is None:
        return before, kept
    as_of = merge.snapshot.time if merge.snapshot else ""
    return before, (*kept, StateRun(state_key(pin, workload.id), merge.run.rows, merge.run.digest, as_of))


def reported(plan: bytes, result: bytes, workload: Workload, files: tuple[str, ...]) -> Report:
    """What a report of the workload shows. The verdict is the one that was decided, whatever is computed today."""
    read = Result.from_bytes if workload.decision is None else Result.from_validated
    compiled, measured = _plan(plan), read(result)
    judgement = judge(compiled, measured)
    if workload.decision is not None:
        judgement = replace(judgement, verdict=Verdict(workload.decision.verdict))
    return Report(compiled, judgement, measured, files)


def _enforced(plan: Plan, result: Result) -> Enforced | None:
    """What the same plan would have decided without `mode: observe`."""
    if plan.policy.mode is not Mode.OBSERVE:
        return None
    strict = replace(plan, policy=replace(plan.policy, mode=Mode.ENFORCE))
    judgement = judge(strict, result)
    return Enforced(judgement.verdict, counts_of(strict, judgement).rejected_rows)


def is_of_attempt(result: Result, workload: Workload) -> bool:
    """Whether a result belongs to the current attempt: same workload, attempt, plan and source version."""
    pin = workload.pin
    assert pin is not None
    asked = (workload.id, workload.attempt, pin.plan, workload.source.version)
    return asked == (result.workload, result.attempt, result.plan_digest, result.source_version)
