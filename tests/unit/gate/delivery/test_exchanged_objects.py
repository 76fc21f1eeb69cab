"""Objects that others can write may be other ones at each read: what is decided and committed is of one and the same bytes."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from datetime import timedelta

import pytest

from lakegate.base.errors import LakegateError
from lakegate.gate.delivery.advance import advance, observe
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.protocol import Outcome, State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.ports import Address
from lakegate.gate.sweep import sweep
from lakegate.verdict.verdict import ACCEPTING
from tests.simulation.environment import LAKE, LANDING, Environment
from tests.unit.gate.scenarios import KEY, answered, decided, drive

OTHER = b"bad:22"
"""Another content, of the same size."""


def result_of(body: bytes, key: str, like: Environment) -> bytes:
    """A result.json of the same attempt about another content."""
    del like
    env, _ = answered(body)
    return env.memory.objects.read(Address(LAKE, key))


@pytest.mark.parametrize("read", range(4))
def test_a_result_that_is_exchanged_between_two_reads_decides_nothing_mixed(read: int) -> None:
    """After each of its reads: verdict and digest are of the same bytes, and no block is committed with another result."""
    env, row = answered()
    key = f"runs/{row.id}/attempt=1/result.json"
    own, other = env.memory.objects.read(Address(LAKE, key)), result_of(OTHER, key, env)
    other = other.replace(b'"workload":"' + other.split(b'"workload":"')[1][:64], b'"workload":"' + row.id.encode())
    reads: list[str] = []

    def exchange(address: Address) -> None:
        if address.key == key:
            reads.append(address.key)
            if len(reads) == read + 1:
                env.memory.objects.delete(Address(LAKE, key))
                env.memory.objects.put(Address(LAKE, key), other)

    env.memory.objects.read_hooks.append(exchange)
    for _ in range(3):
        with suppress(LakegateError):  # an alarm, which a person looks at
            drive(env.dependencies, advance(DeliveryTurn(env.dependencies, env.dependencies.workloads.get(row.id))))
        env.memory.clock.sleep(3_600)
    after = env.dependencies.workloads.get(row.id)

    assert after.decision is not None
    verdicts = {hashlib.sha256(own).hexdigest(): True, hashlib.sha256(other).hexdigest(): False}
    assert (after.decision.verdict in ACCEPTING) is verdicts[after.decision.result]
    assert after.decision.result == hashlib.sha256(own).hexdigest()
    committed = env.memory.ledger.committed(row.id)
    assert (committed is not None) is (after.state is State.PUBLISHED)


def test_the_staged_copy_of_what_is_decided_outlives_its_upload() -> None:
    """Its producer deletes it, a sweep looks at staged copies, old versions expire: what is decided is still copied."""
    env, row = decided()
    env.delete(env.uploads[0])
    drive(env.dependencies, sweep(env.dependencies))
    env.memory.clock.sleep(timedelta(days=2).total_seconds())
    env.expire()
    drive(env.dependencies, sweep(env.dependencies))

    assert env.dependencies.workloads.get(row.id).state is State.PUBLISHED


@pytest.mark.parametrize(("is_staged", "on"), [(True, Outcome.PASSED), (False, Outcome.VANISHED)])
def test_an_upload_that_is_deleted_while_the_door_looks_at_it_is_judged_by_its_staged_copy(
    *, is_staged: bool, on: Outcome
) -> None:
    """Of a replayed delivery: its producer deletes it after its description was read, and before its bytes are."""
    env, row = answered()
    pinned = row._replace(state=State.PINNED, staged=row.staged if is_staged else None)
    if not is_staged:
        env.lake.pop(f"staging/{row.id}/part-00000.csv")
    env.after_read(LANDING, KEY, 0, lambda _: env.delete(env.uploads[0]))
    found = observe(DeliveryTurn(env.dependencies, pinned))

    assert found is not None
    assert found.on is on


@pytest.mark.parametrize(("there", "versions"), [(b"good:1", 1), (OTHER, 2)])
def test_a_staged_copy_is_the_only_current_one(there: bytes, versions: int) -> None:
    """Of two workers that stage one upload, the second takes the copy of the first: what is pinned stays current and is kept.

    What lies there and is not the upload is replaced.
    """
    env = Environment()
    upload = env.upload(KEY, b"good:1")
    to = Address(LAKE, f"staging/{upload.workload}/part-00000.csv")
    before = env.memory.objects.land(to, there, "sha256")
    drive(env.dependencies, intake(env.dependencies, LANDING, KEY))
    row = env.dependencies.workloads.get(upload.workload)

    assert row.staged is not None
    assert (row.staged.version == before.version, len(env.lake[to.key])) == (versions == 1, versions)
    assert row.staged.version == env.memory.objects.head(to).version
