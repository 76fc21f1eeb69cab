"""The simulated contract with a published workflow."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from lakegate.contracts.plan.plan import Plan
from tests.simulation import contract, final_promises, promises

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contracts.plan.workflow import PlannedWorkflow

RETRIED = frozenset({"conflict", "undecided", "lost"})
"""The outcomes after which `push` tries again."""


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
            plan = replace(Plan.from_bytes(body), workflow=workflow).to_bytes()
            patch.setitem(contract.PLANS, version, plan)
            patch.setitem(contract.DIGESTS, version, contract.digest(plan))
            patch.setitem(contract.VERSION_OF, contract.digest(plan), version)
        patch.setattr(promises, "GIVEN_UP", given_up)
        for module in (promises, final_promises):
            patch.setattr(module, "ATTEMPTS", workflow.attempts)
        yield
