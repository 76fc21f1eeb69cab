"""Random schedules of a line that publishes slices: its contract, what is delivered, and what a person does beside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import lru_cache, partial
from itertools import count

import pytest

from lakegate.base.errors import InputError
from lakegate.contract.delivery_policy import MergeStrategy, PublishAs, Treatment
from lakegate.features.odf.odf_publisher import set_watermark
from lakegate.features.odf.slice_turns import Turns
from lakegate.gate.effects import Call, Effect, Steps
from lakegate.gate.ports import Address
from lakegate.plan.plan import Plan
from lakegate.plan.slice_order import StateRun
from tests.simulation import contract
from tests.simulation.environment import LAKE, LINE, Environment
from tests.simulation.slice_promises import published
from tests.simulation.sliced_job import DELAY, NO_DIGEST
from tests.simulation.workflows import OF_PUSH

BODIES = (
    b"good:1@03",
    b"good:2@01",
    b"good:3@05",
    b"split:12@04",
    b"good:21@03",
    b"bad:1",
    b"mild:1@06",
    b"%PDF:12",
    b"",
    b"error:1",
    b"poison:1",
)
_NUMBERS = count()


@contextmanager
def slicing(strategy: MergeStrategy) -> Iterator[bool]:
    """The simulated contract publishes slices, with a watermark, and warns of late rows; not if a test has it name a workflow."""
    if contract.PLANS["1.0.0"] is not OF_PUSH:
        yield False
        return
    key = ("name",) if strategy is MergeStrategy.LEDGER else ()
    with pytest.MonkeyPatch.context() as patch:
        for version, body in list(contract.PLANS.items()):
            plan = _planned(body, strategy, key)
            patch.setitem(contract.PLANS, version, plan)
            patch.setitem(contract.DIGESTS, version, contract.digest(plan))
            patch.setitem(contract.VERSION_OF, contract.digest(plan), version)
        yield True


@lru_cache(64)
def _planned(body: bytes, strategy: MergeStrategy, key: tuple[str, ...]) -> bytes:
    plan = Plan.from_bytes(body)
    policy = replace(
        plan.policy,
        publish_as=PublishAs.PARQUET,
        merge_strategy=strategy,
        merge_key=key,
        watermark_minutes=int(DELAY.total_seconds()) // 60,
        late_events=Treatment.WARN,
    )
    return replace(plan, policy=policy).to_bytes()


def rebuild(env: Environment) -> Steps[None]:
    """As `lakegate dataset rebuild-state`: the state of the line from its slices, in the place of that of now."""
    before = Turns(env.memory.table).next_slice(LINE)
    if before.writer or not before.runs:
        raise InputError("there is nothing to replace, or not now")
    rows = published(env)
    place = Address(LAKE, f"accepted/{LINE}/_state/{next(_NUMBERS)}.bin")
    yield Call(Effect.COPY, partial(env.memory.objects.put, place, rows))
    runs = (StateRun(place.key, len(rows), NO_DIGEST),)

    def replace_state() -> None:
        Turns(env.memory.table).replace_state(LINE, before, runs)
        env.replaced.append(runs)

    yield Call(Effect.RECORD, replace_state)


def mark(env: Environment, day: int) -> Steps[str]:
    """As `lakegate dataset watermark`."""
    return set_watermark(env.dependencies, LINE, datetime.fromisoformat(f"2024-05-{day:02}T00:00:00+00:00"))
