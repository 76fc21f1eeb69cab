"""Which deliveries may be judged together, and where their copies are."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from lakegate.contracts.door.terms import BatchLimits
from lakegate.functions.usecases import layout

if TYPE_CHECKING:
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.workload import Workload


def staging_key(dependencies: Dependencies, workload: Workload) -> str:
    """Where the delivery is staged: in the folder of its group, which the runs of batches may read.

    A delivery that is replayed stays in its folder, so that its copy is found if it was deleted in landing since.
    """
    group = layout.staged_group(workload.staged.key) if workload.staged else group_of(dependencies, workload)
    return layout.staging_key(workload.id, dependencies.terms(workload).suffix, group=group)


def group_of(dependencies: Dependencies, workload: Workload) -> str:
    """What deliveries share that may be judged together, line and plan; empty: this one is judged alone.

    So is one of several objects, one that becomes slices (of a group only the first could have the next offset), and one with
    rules of validators, whose validations are started before its own run.
    """
    limits, job = limits_of(dependencies, workload), dependencies.places.job
    pin, size, terms = workload.pin, workload.source.size, dependencies.terms(workload)
    if pin is None or not pin.plan or workload.parts is not None or terms.as_slices:
        return ""
    if terms.has_external:
        return ""
    invoked = bool(job.judge) and size < job.small
    if limits.files == 1 or size >= (limits.bytes or 0) or invoked:
        return ""
    return hashlib.sha256(f"{pin.chain}\0{pin.plan}".encode()).hexdigest()[:32]


def limits_of(dependencies: Dependencies, workload: Workload) -> BatchLimits:
    """When a batch of these deliveries is closed: by the contract, else by the stack."""
    own, others = dependencies.terms(workload).batch, dependencies.places.job.batch
    return BatchLimits(*(other if mine is None else mine for mine, other in zip(own, others, strict=True)))
