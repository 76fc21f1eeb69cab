"""Batches on the embedded AWS, with real job runs: a stack of its own, which is gone before that of the other tests starts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lakegate.aws.clients import client
from lakegate.features.workflows.published_workflows import publish_workflow
from lakegate.gate.delivery.delivery_row import FailureCause
from lakegate.gate.delivery.protocol import State
from lakegate.gate.effects import run
from tests.e2e.deployed import Deployed
from tests.e2e.running import CONTRACTS, publish_contract, running

pytestmark = pytest.mark.full
"""A stack for two tests. Per commit, the simulation plays batches with faults, and `tests/engine/test_batch.py` runs the job."""
BAD = b"id,name\n1,x\n"
ROWS = b"id,name\n1,abc\n2,x\n3,def\n"
"""The second record breaks the contract of `rows/`, which keeps bad records apart."""
ONCE = b"""\
workflow: once
version: 1.0.0
description: A lost job run is an operator's work at once.
attempts: 1
"""
SHOP = (
    CONTRACTS["shop/"]
    .read_bytes()
    .replace(b"id: e2e-shop", b"id: e2e-once\ncustomProperties: [{property: lakegate, value: {workflow: once@1}}]")
)
"""The contract of `shop/` with this workflow."""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """The stack, where a job run judges four deliveries, or those that waited for an hour."""
    with running(tmp_path_factory.mktemp("batches"), BatchFiles="4", BatchSeconds="3600") as deployed:
        run(publish_workflow(deployed.dependencies, ONCE), deployed.dependencies.clock)
        publish_contract(deployed.dependencies, "once/", SHOP)
        yield deployed


def test_one_run_judges_each_delivery_and_a_poisoned_one_fails_alone(stack: Deployed) -> None:
    """The staged copy of one is lost while it waits: the others have their verdicts, by their first attempts, of one run.

    The lost one is judged as often as its workflow says: once.
    """
    poisoned = stack.upload(stack.fresh(), "once/poisoned.csv")
    waiting = stack.reached(poisoned, State.SUBMITTING)
    assert waiting.staged is not None
    client("s3").delete_object(Bucket=waiting.staged.bucket, Key=waiting.staged.key)
    others = [stack.upload(each, f"once/{at}.csv") for at, each in enumerate((stack.fresh(), BAD, stack.fresh()))]
    rows = [stack.finished(each) for each in others]
    failed = stack.finished(poisoned)

    assert [row.state for row in rows] == [State.PUBLISHED, State.QUARANTINED, State.PUBLISHED]
    assert [(row.attempt, row.failed, row.batch) for row in rows] == [(1, (), waiting.batch)] * 3
    assert len({row.run for row in rows}) == 1
    assert [(len(stack.destinations(row)), stack.blocks(row)) for row in rows] == [(1, 1)] * 3
    assert failed.state is State.FAILED
    assert [each.cause for each in failed.failed] == [FailureCause.BATCH_FAILED, FailureCause.RUN_FAILED]
    assert failed.failed[0].run == rows[0].run


def test_a_batch_is_closed_by_its_age_and_rows_are_split_in_it(stack: Deployed) -> None:
    """The sweep after an hour starts the run of two deliveries; Spark writes good and bad records apart in the same run."""
    landed = [stack.upload(ROWS.replace(b"abc", name), f"rows/{name.decode()}.csv") for name in (b"abc", b"ghi")]
    waiting = [stack.reached(each, State.SUBMITTING) for each in landed]
    stack.sweep_later(61)
    rows = [stack.finished(each) for each in landed]

    assert len({each.batch for each in (*waiting, *rows)}) == 1
    assert [(row.state, row.attempt, len(stack.destinations(row))) for row in rows] == [(State.PUBLISHED, 1, 2)] * 2
    assert len({row.run for row in rows}) == 1
