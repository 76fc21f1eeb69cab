"""The simulated contract with a published workflow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import cache

import pytest

from lakegate.plan.plan import Plan
from lakegate.plan.planned_workflow import PlannedTransition, PlannedWorkflow
from tests.simulation import approvals, contract, final_promises, promises

RETRIED = frozenset({"conflict", "undecided", "lost"})
"""The outcomes after which `push` tries again."""


VERDICTS = ("accepted", "accepted_with_warnings")
ASKING = PlannedWorkflow(
    "asking@1.0.0", 3, tuple(PlannedTransition("VALIDATING", each, "AWAITING") for each in VERDICTS)
)
"""Asks a person for everything that would be accepted."""
DATED = PlannedWorkflow(
    "dated@1.0.0",
    3,
    (
        PlannedTransition("VALIDATING", "accepted", "SCHEDULED"),
        PlannedTransition("VALIDATING", "accepted_with_warnings", "AWAITING"),
        PlannedTransition("ANSWERED", "approved", "SCHEDULED"),
    ),
    publish_at="06:00Z",
)
"""Publishes at six o'clock, what has warnings only with an approval."""
OF_PUSH = contract.PLANS["1.0.0"]


@cache
def _planned(body: bytes, workflow: PlannedWorkflow) -> bytes:
    return replace(Plan.from_bytes(body), workflow=workflow).to_bytes()


@contextmanager
def waiting(workflow: PlannedWorkflow = ASKING) -> Iterator[None]:
    """The simulated contract names this workflow, unless a test has it name another one."""
    if contract.PLANS["1.0.0"] is not OF_PUSH:
        yield
        return
    with following(workflow):
        yield


@contextmanager
def following(workflow: PlannedWorkflow) -> Iterator[None]:
    """The simulated contract names this workflow."""
    given_up = frozenset(each.when for each in workflow.transitions if each.to == "FAILED") & {
        "conflict",
        "undecided",
        "lost",
    }
    with pytest.MonkeyPatch.context() as patch:
        for version, body in list(contract.PLANS.items()):
            plan = _planned(body, workflow)
            patch.setitem(contract.PLANS, version, plan)
            patch.setitem(contract.DIGESTS, version, contract.digest(plan))
            patch.setitem(contract.VERSION_OF, contract.digest(plan), version)
        patch.setattr(promises, "GIVEN_UP", given_up)
        patch.setattr(
            approvals, "ASKED", frozenset(each.when for each in workflow.transitions if each.to == "AWAITING")
        )
        dated = frozenset(each.when for each in workflow.transitions if each.to == "SCHEDULED")
        patch.setattr(approvals, "DATED", dated)
        patch.setattr(approvals, "PUBLISH_AT", workflow.publish_at)
        patch.setattr(approvals, "DELAY_HOURS", workflow.delay_hours)
        patch.setattr(approvals, "MACHINE", workflow if workflow.states else None)
        patch.setattr(approvals, "WAIT", timedelta(days=workflow.wait_days))
        for module in (promises, final_promises):
            patch.setattr(module, "ATTEMPTS", workflow.attempts)
        yield
