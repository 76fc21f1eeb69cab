"""Quarantined data is kept as long as its contract says: by its tag, in the audit, and where it is missed."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from lakegate.base.errors import InputError
from lakegate.contract.delivery_policy import QUARANTINE_DAYS, Policy
from lakegate.gate.ledger.blocks import LedgerObject
from lakegate.gate.ledger.compare_objects import Damage, damages
from lakegate.gate.ports import Address
from tests.decisions import replay
from tests.simulation.contract import PLAN
from tests.simulation.environment import LAKE, LINE, PREFIX, Environment
from tests.simulation.stage import Fault, Stage, settle
from tests.unit.gate.scenarios import drive

DAY = timedelta(days=1)
KEPT = 30 * DAY


def finished(*bodies: bytes, beside: bytes = b"", policy: Policy | None = None) -> Environment:
    """An environment with finished deliveries of a line, and perhaps one `beside` its route."""
    env = Environment()
    if policy is not None:
        env.publish("1.0.0", "active", replace(PLAN, policy=policy))
    stage = Stage(env, lambda _: Fault.NONE)
    for number, body in enumerate(bodies):
        env.upload(f"{PREFIX}{number}.csv", body)
        settle(stage)
    if beside:
        env.upload("elsewhere/1.csv", beside)
        settle(stage)
    return env


def tags(env: Environment) -> dict[str, str]:
    """By folder: the tag of the data there."""
    data = {key: stored[-1] for key, stored in env.lake.items() if "/workload=" in key}
    return {key.partition("/")[0]: env.memory.objects.tags.get(each.version, "") for key, each in data.items()}


def quarantined(env: Environment) -> LedgerObject:
    (found,) = env.dependencies.ledger.blocks(LINE)[0].objects
    return found


def after(env: Environment, age: timedelta) -> None:
    """Let time pass until the last block is so old."""
    block = env.dependencies.ledger.blocks(LINE)[-1]
    wanted = datetime.fromisoformat(block.system_time) + age
    env.memory.clock.sleep((wanted - env.memory.clock.now()).total_seconds())


def expire(env: Environment) -> None:
    """As S3 does: a delete marker, and a day later no version."""
    one = quarantined(env)
    env.memory.objects.delete(Address(LAKE, one.key))
    env.memory.objects.delete(Address(LAKE, one.key, one.version))


def found(env: Environment) -> list[Damage]:
    height = env.dependencies.ledger.head(LINE).height
    return [each.damage for each in damages(env.dependencies, LINE, height, lambda _: None)]


@pytest.mark.parametrize("days", QUARANTINE_DAYS)
def test_rejected_data_has_the_tag_of_its_retention(days: int) -> None:
    """A lifecycle rule deletes what has it after so many days."""
    env = finished(b"bad:1", policy=Policy(quarantine_days=days))

    assert tags(env) == {"quarantine": f"quarantine-{days}"}


def test_what_is_refused_at_the_door_has_the_tag_too() -> None:
    """Its contract is pinned before."""
    assert tags(finished(b"%PDF:1")) == {"quarantine": "quarantine-30"}


def test_rows_that_were_split_off_have_the_tag_and_the_others_none() -> None:
    """What is accepted never expires."""
    assert tags(finished(b"split:1")) == {"accepted": "", "quarantine": "quarantine-30"}


def test_data_is_kept_where_the_contract_says_nothing() -> None:
    """Likewise what no contract covers."""
    env = finished(b"bad:1", beside=b"good:1", policy=Policy())

    assert {key.split("/")[1] for key in env.memory.objects.current(LAKE, "quarantine/")} == {"_unrouted", "orders"}
    assert set(env.memory.objects.tags.values()) <= {"manifest"}  # of a head that was replaced


def test_what_expired_is_told_from_what_was_deleted() -> None:
    """Before its time, a missing object is lost; afterwards it has expired."""
    env = finished(b"bad:1")
    expire(env)
    after(env, KEPT - timedelta(seconds=1))
    before = found(env)
    after(env, KEPT)

    assert (before, found(env)) == ([Damage.LOST], [Damage.EXPIRED])


def test_a_marker_hides_an_object_before_its_time_and_expires_it_afterwards() -> None:
    """S3 expires a version by a marker, and deletes it a day later."""
    env = finished(b"bad:1")
    env.memory.objects.delete(Address(LAKE, quarantined(env).key))
    before = found(env)
    after(env, KEPT)

    assert (before, found(env)) == ([Damage.HIDDEN], [Damage.EXPIRED])


def test_an_object_that_does_not_expire_is_found() -> None:
    """S3 has some days; afterwards a rule or a tag is missing."""
    env = finished(b"bad:1")
    after(env, KEPT + 7 * DAY)
    before = found(env)
    after(env, KEPT + 7 * DAY + timedelta(seconds=1))

    assert (before, found(env)) == ([], [Damage.OVERDUE])


def test_another_object_in_the_place_of_an_expired_one_is_no_expiry() -> None:
    """Somebody wrote there."""
    env = finished(b"bad:1")
    after(env, KEPT)
    expire(env)
    env.memory.objects.put(Address(LAKE, quarantined(env).key), b"other")

    assert found(env) == [Damage.LOST]


def test_accepted_data_is_lost_whenever_it_is_missed() -> None:
    """Of a split, the accepted rows never expire."""
    env = finished(b"split:1")
    after(env, KEPT)
    for each in env.dependencies.ledger.blocks(LINE)[0].objects:
        env.memory.objects.delete(Address(LAKE, each.key, each.version))

    assert found(env) == [Damage.LOST, Damage.EXPIRED]


def test_a_replayed_copy_is_neither_lost_nor_expired() -> None:
    """Its replay deleted it."""
    stage = Stage(env := Environment(), lambda _: Fault.NONE)
    upload = env.upload(f"{PREFIX}0.csv", b"bad:1")
    settle(stage)
    stage.replay(upload.workload)
    settle(stage)
    after(env, KEPT)
    env.memory.objects.delete(Address(LAKE, env.dependencies.ledger.blocks(LINE)[-1].objects[0].key))

    assert found(env) == [Damage.EXPIRED]


def test_an_expired_delivery_cannot_be_replayed() -> None:
    """The message names how long it was kept."""
    env = finished(b"bad:1")
    after(env, KEPT)
    expire(env)

    with pytest.raises(InputError, match="not there any more: its contract keeps it for 30 days"):
        drive(env.dependencies, replay(env.dependencies, env.uploads[0].workload))
