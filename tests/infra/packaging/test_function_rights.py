"""The functions with the rights of their roles alone, as another implementation of IAM decides about each call of a delivery.

`test_policies.py` compares names of actions: a right on one table would stand for that on another one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from functions import anchor_handler, completion_handler, intake_handler
from lakegate.aws.wiring import SystemClock
from lakegate.base.json_codec import canonical
from lakegate.contract.delivery_policy import DeliveryUnit, OnReject, Policy
from lakegate.features.anchors.anchors import AnchorStore
from lakegate.gate.delivery.protocol import State
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.ports import Address
from lakegate.gate.registry.registry_rows import Publication, Route
from lakegate.plan.request import Request
from lakegate.plan.result import Measured, Measurement, Result, Shares, WrittenObject
from tests.fakes.quick_moto import client
from tests.infra.packaging.asked_calls import HERE, AskedCalls, asked, denied
from tests.unit.aws import test_delivery_over_aws as deliveries
from tests.unit.aws.conftest import cloud
from tests.unit.aws.test_delivery_over_aws import dependencies

__all__ = ["asked", "cloud", "dependencies"]

pytestmark = pytest.mark.tools
FLOWS: dict[str, Callable[..., None]] = {
    "accepted": partial(
        deliveries.test_a_delivery_reaches_its_destination, failing=0, state=State.PUBLISHED, share="accepted"
    ),
    "rejected": partial(
        deliveries.test_a_delivery_reaches_its_destination, failing=1, state=State.QUARANTINED, share="quarantine"
    ),
    "found by sweep": deliveries.test_every_event_may_be_lost,
    "refused at the door": deliveries.test_the_same_content_is_refused_at_the_door,
}


@pytest.mark.parametrize("flow", FLOWS.values(), ids=FLOWS)
def test_the_functions_need_no_right_that_their_roles_lack(
    dependencies: Dependencies,
    asked: AskedCalls,
    flow: Callable[..., None],
) -> None:
    """Of one object, to each of its ends."""
    flow(dependencies)

    assert denied(asked) == []


@pytest.mark.parametrize("unit", [DeliveryUnit.SUCCESS, DeliveryUnit.MANIFEST, DeliveryUnit.QUIET])
def test_parts_need_no_right_that_roles_lack(
    dependencies: Dependencies,
    asked: AskedCalls,
    monkeypatch: pytest.MonkeyPatch,
    unit: DeliveryUnit,
) -> None:
    """However they are completed."""
    deliveries.test_parts_reach_their_destination_together(dependencies, unit, monkeypatch)

    assert denied(asked) == []


def test_a_split_needs_no_right_that_roles_lack(dependencies: Dependencies, asked: AskedCalls) -> None:
    """Both shares are copied from where the job wrote them, and deleted there; the rejected one is tagged for its days."""
    plan = replace(deliveries.PLAN, policy=Policy(on_reject=OnReject.ROWS, quarantine_days=30))
    dependencies.objects.put(Address("lake", f"plans/{plan.digest}.json"), canonical(plan))
    route = Route("landing", "orders/", "orders", "lines", 1, "1.3.0", "active", plan.digest)
    dependencies.registry.publish(Publication("orders", "1.3.0", "active", "contracts/orders.yaml", (route,)))
    workload = deliveries.land(dependencies, b"id,amount\n1,2\n,3\n")
    deliveries.call(intake_handler, deliveries.event_of())
    prefix = f"runs/{workload}/attempt=1"
    shares = []
    for share in ("accepted", "rejected"):
        key = f"{prefix}/rows/{share}/{share}-00000.csv"
        written = dependencies.objects.put(Address("lake", key), f"id,amount\n{share}\n".encode())
        shares.append((WrittenObject(f"s3://lake/{key}", written.size, written.etag),))
    request = Request.from_bytes(dependencies.objects.read(Address("lake", f"{prefix}/request.json")))
    measured = (Measurement(deliveries.REQUIRED.id, Measured(2, 1)),)
    result = Result(
        *(request.workload, request.attempt, request.plan_digest, request.source_version),
        rows=2,
        rejected_rows=1,
        measurements=measured,
        shares=Shares(*shares),
    )
    dependencies.objects.put(Address("lake", f"{prefix}/result.json"), result.to_bytes(), absent=True)
    deliveries.call(completion_handler, deliveries.event_of_run(dependencies.workloads.get(workload).run))

    assert dependencies.workloads.get(workload).state is State.PUBLISHED
    assert {"s3:DeleteObject", "s3:PutObjectTagging"} <= {each.action for each in asked["completion_handler"].values()}
    assert denied(asked) == []


def test_daily_anchors_need_no_right_that_their_role_lacks(
    dependencies: Dependencies,
    asked: AskedCalls,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first one, and the next day's, which follows it."""
    deliveries.test_a_delivery_reaches_its_destination(dependencies, 0, State.PUBLISHED, "accepted")
    client("s3").create_bucket(Bucket="anchors", ObjectLockEnabledForBucket=True)
    here = replace(dependencies, of={"anchors": AnchorStore("anchors", 30)}.__getitem__)
    monkeypatch.setattr(anchor_handler, "dependencies", lambda: here)
    for day in range(2):
        now = datetime.now(UTC) + timedelta(days=day)
        monkeypatch.setattr(SystemClock, "now", lambda _self, now=now: now)
        assert deliveries.call(anchor_handler)["complete"] == 1

    assert denied(asked) == []


def test_a_right_that_is_missing_is_found(
    dependencies: Dependencies,
    asked: AskedCalls,
) -> None:
    """On a table, for a part of a transaction, or of the version of an object: one that another statement has is none."""
    deliveries.test_a_delivery_reaches_its_destination(dependencies, 0, State.PUBLISHED, "accepted")
    missing = {
        sid: {(each.action, each.resource.partition("/")[0]) for each in denied(asked, sid)}
        for sid in ("KeepTheLedger", "ReadLandedObjects", "HandOverTheJobRole")
    }

    assert ("dynamodb:ConditionCheckItem", f"arn:aws:dynamodb:{HERE}:table") in missing["KeepTheLedger"]
    assert ("s3:GetObjectVersion", "arn:aws:s3:::landing") in missing["ReadLandedObjects"]
    assert missing["HandOverTheJobRole"] == {("iam:PassRole", "arn:aws:iam::123456789012:role")}
