"""A dataset with slices, and a job that writes them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from lakegate.contract.delivery_policy import Duplicates, MergeStrategy, PublishAs, Treatment
from lakegate.features.odf.slice_turns import decided_slices
from lakegate.gate.delivery.delivery_row import TERMINAL
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.protocol import State
from lakegate.gate.effects import run
from lakegate.gate.ledger.blocks import Block, BlockKind
from lakegate.gate.ports import Address
from lakegate.gate.sweep import sweep
from lakegate.plan.plan import Plan
from lakegate.plan.result import Result
from tests.simulation.contract import kind, measurements_of, plan_version, read_json
from tests.simulation.environment import LAKE, LANDING, LINE, PREFIX, Environment, key_of, request_of
from tests.simulation.sliced_job import GONE, slices_of, time_of

SIMPLE = plan_version("1.1.0", 1)
PLAN = replace(SIMPLE, policy=replace(SIMPLE.policy, publish_as=PublishAs.PARQUET))


LEDGER = replace(PLAN, policy=replace(PLAN.policy, merge_strategy=MergeStrategy.LEDGER, merge_key=("name",)))
"""Only rows with new keys are published."""
SNAPSHOTS = replace(
    PLAN, policy=replace(LEDGER.policy, merge_strategy=MergeStrategy.SNAPSHOT, duplicates=Duplicates.ACCEPT)
)
"""What differs from the delivery before is published."""
UPSERTS = replace(PLAN, policy=replace(LEDGER.policy, merge_strategy=MergeStrategy.UPSERT))
"""New rows, and those with other values, are published."""


def with_watermark(late: Treatment = Treatment.ACCEPT) -> Plan:
    """Its watermark is a day behind the latest event."""
    return replace(PLAN, policy=replace(PLAN.policy, watermark_minutes=24 * 60, late_events=late))


@dataclass(slots=True)
class SlicedDataset:
    """A dataset with slices, and a job that writes them."""

    env: Environment
    answered: set[str] = field(default_factory=set)
    """Job runs with a result."""

    @staticmethod
    def of(*bodies: bytes, plan: Plan = PLAN) -> SlicedDataset:
        env = Environment()
        env.publish("1.1.0", "active", plan)
        dataset = SlicedDataset(env)
        for number, body in enumerate(bodies):
            env.upload(f"{PREFIX}{number}.csv", body)
        return dataset

    def take_in(self) -> None:
        """Take in what landed, and let its jobs answer."""
        env = self.env
        while env.inbox:
            what, key = env.inbox.pop(0)
            assert what == "landed"
            run(intake(env.dependencies, LANDING, *key.split("\0")), env.memory.clock)
        self.results()

    def results(self) -> None:
        """Each run that has not answered answers: a correct job, which writes the slices that its request orders, if it does."""
        memory = self.env.memory
        for job in memory.jobs.runs.values():
            if job.id == self.env.stranger or job.id in self.answered:
                continue
            self.answered.add(job.id)
            asked = read_json(memory.objects.read(Address(LAKE, key_of(request_of(job.request)))))
            prefix = key_of(asked["output_uri"])
            if f"{prefix}/result.json" in self.env.lake:
                continue
            body = b"".join(memory.objects.read(Address(LAKE, key_of(each["uri"]))) for each in asked["parts"])
            has_slices = kind(body) == "good" and asked["slices"] is not None
            found = slices_of(memory.objects, asked, body, time_of(body)) if has_slices else {}
            result = Result(
                workload=asked["workload"],
                attempt=asked["attempt"],
                plan_digest=asked["plan_digest"],
                source_version=asked["source_version"],
                rows=len(body),
                measurements=measurements_of(body),
                **found,
            )
            memory.objects.put(Address(LAKE, f"{prefix}/result.json"), result.to_bytes())

    def current(self) -> set[int]:
        """The rows that no event takes back."""
        found: set[int] = set()
        for each in self.published():
            found = found - {each ^ GONE} if each & GONE else found | {each}
        return found

    def published(self) -> bytes:
        """The rows of all slices, in the order of the chain."""
        blocks = [each for each in self.env.memory.ledger.blocks(LINE) if isinstance(each, Block)]
        read = self.env.memory.objects.read
        return b"".join(
            read(Address(LAKE, each.key)).partition(b":")[2] for block in blocks for each in block.slices or ()
        )

    def delivered(self) -> list[bytes]:
        """What was accepted, delivery by delivery, in the order of the chain."""
        uploads = {each.workload: each.body for each in self.env.uploads}
        blocks = [each for each in self.env.memory.ledger.blocks(LINE) if isinstance(each, Block)]
        return [uploads[each.workload] for each in blocks if each.kind is BlockKind.PUBLISHED]

    def rows(self) -> list[Any]:
        return [self.env.memory.workloads[each.workload] for each in self.env.uploads]

    def hold(self) -> None:
        """Slices follow one another in the chain from 0 without a gap, each with the bytes that were written for its offset."""
        blocks = [each for each in self.env.memory.ledger.blocks(LINE) if isinstance(each, Block)]
        slices = [each for block in blocks for each in block.slices or ()]

        assert [each.offset for each in slices[:1]] in ([], [0])
        assert all(low.offset + low.rows == high.offset for low, high in pairwise(slices))
        for each in slices:
            assert self.env.memory.objects.read(Address(LAKE, each.key)).startswith(f"{each.offset}:".encode())
        marks = [block.watermark or "" for block in blocks if block.slices]
        assert marks == sorted(marks)
        decided = [each for each in self.env.memory.workloads.values() if each.state is State.DECIDED]
        assert len([each for each in decided if decided_slices(each)]) <= 1


def judged(*bodies: bytes, plan: Plan = PLAN) -> SlicedDataset:
    """A dataset whose deliveries were all judged from its first offset."""
    dataset = SlicedDataset.of(*bodies, plan=plan)
    dataset.take_in()
    return dataset


def settled(dataset: SlicedDataset) -> None:
    """Sweeps, and answers of jobs, until all deliveries are finished."""
    env = dataset.env
    for _ in range(12):
        env.memory.clock.sleep(timedelta(hours=1).total_seconds())
        run(sweep(env.dependencies), env.memory.clock)
        dataset.results()
        dataset.hold()
        if all(each.state in TERMINAL for each in dataset.rows()):
            return
    pytest.fail(f"not finished: {dataset.rows()}")
