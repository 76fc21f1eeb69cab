"""Rules with a schedule over what several deliveries left: the plan of a run reads files as they are accepted, and slices."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from lakegate.contracts.judge.outcomes import Status
from lakegate.contracts.model.policy import Policy, PublishAs
from lakegate.contracts.plan.plan import Plan, ScheduledCheck
from lakegate.contracts.plan.slices import SliceOrder
from lakegate.engine.read.local import path_of
from tests.deliveries.delivery import judge_delivery, measure_natively, plan_of, rule
from tests.deliveries.sliced import slices

if TYPE_CHECKING:
    from pathlib import Path

HOURLY = "cron(0 * * * ? *)"
FIRST, SECOND, OTHER = b"id,amount\na,1\nb,2\n", b"id,amount\nb,3\n", b"id,amount\nc,3\n"


def scheduled(publish_as: PublishAs) -> Plan:
    """A plan whose rule about keys has a schedule."""
    plan = plan_of({"id": "string", "amount": "integer"}, rule("unique", "id"), policy=Policy(publish_as=publish_as))
    (unique,) = (each for each in plan.checks if each.rule == "unique")
    checks = tuple(replace(each, skip="measured by schedule") if each is unique else each for each in plan.checks)
    return replace(plan, checks=checks, scheduled=(ScheduledCheck(HOURLY, unique),))


@pytest.mark.parametrize("publish_as", PublishAs)
@pytest.mark.parametrize(("second", "status"), [(SECOND, Status.FAIL), (OTHER, Status.PASS)])
def test_a_key_that_two_deliveries_share_is_found(
    tmp_path: Path, publish_as: PublishAs, second: bytes, status: Status
) -> None:
    """Each delivery holds the rule alone; accepted data is read as files of the contract, or as slices."""
    plan = scheduled(publish_as)
    if publish_as is PublishAs.PARQUET:
        written = [
            slices(plan, tmp_path / str(at), body, order=SliceOrder(at * 2)) for at, body in enumerate((FIRST, second))
        ]
        bodies = [path_of(each.uri).read_bytes() for found in written for each in found]
    else:
        bodies = [FIRST, second]
    judged = judge_delivery(measure_natively, plan.of_schedules([HOURLY]), tmp_path, *bodies)

    own = {name: found for name, found in judged.statuses().items() if not name.startswith("file/")}

    assert own == {each.check.id: status for each in plan.scheduled}
