"""Erasing rows: what is left of deliveries, who may erase at a time, and what `verify` and readers make of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lakegate.base.errors import ConditionFailed, InputError, TransactionConflict
from lakegate.features.erasure.erasure import Erasing, Why, erase, resume, settle
from lakegate.gate import lake_layout
from lakegate.gate.delivery.attempt_request import job_request
from lakegate.gate.delivery.delivery_row import Referred
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.effects import Steps
from lakegate.gate.lake_layout import manifest_key
from lakegate.gate.ledger.blocks import Block, deliveries
from lakegate.gate.ledger.commit import TRIES_OF_COMMIT, append
from lakegate.gate.ledger.compare_objects import Damage
from lakegate.gate.ledger.stored_objects import erasures_of
from lakegate.gate.ports import Address
from lakegate.transfer.staged_files import Staged
from tests.simulation.environment import LAKE, LINE, Environment
from tests.simulation.promises import manifest_deliveries
from tests.unit.gate.ledger.test_compare_objects import finished, found
from tests.unit.gate.scenarios import drive

WHY = Why("a ticket", ("id",))


def block_of(env: Environment, number: int = 0) -> Block:
    return deliveries(env.dependencies.ledger.blocks(LINE))[number]


def erasing(env: Environment, body: bytes | None = b"good:", rows: int | None = 1, number: int = 0) -> Erasing:
    """An object of a delivery and what is left of it, staged."""
    block = block_of(env, number)
    (each,) = erasures_of(env.dependencies.ledger.blocks(LINE)).objects_of(block)
    if body is None:
        return Erasing(each.key, each.version, rows, None)
    where = Address(LAKE, f"{lake_layout.erasure_prefix(block.workload)}{len(env.lake)}")
    staged = env.memory.objects.put(where, body)
    return Erasing(each.key, each.version, rows, Staged(where.key, staged.version, staged.size, staged.checksum))


def begun(env: Environment, *objects: Erasing, effects: int = 1) -> None:
    """An erasure of the first delivery that stops after some effects."""
    steps = erases(env, block_of(env), *objects)
    call = next(steps)
    for _ in range(effects - 1):
        call = steps.send(call.do())
    call.do()
    steps.close()


def erases(env: Environment, block: Block, *objects: Erasing) -> Steps[None]:
    """Of objects that were searched just now."""
    height = env.dependencies.ledger.head(LINE).height
    return erase(env.dependencies, LINE, block.workload, objects, WHY, searched=height)


def erased(env: Environment, *objects: Erasing, number: int = 0) -> None:
    drive(env.dependencies, erases(env, block_of(env, number), *objects))


def settled(env: Environment) -> int:
    return drive(env.dependencies, settle(env.dependencies, LINE)).deleted


def listed(env: Environment) -> list[tuple[int | None, int]]:
    """Published rows and number of objects of each delivery that the manifest lists."""
    found = manifest_deliveries(env.lake, manifest_key(LINE)) or []
    return [(each["published_rows"], len(each["objects"])) for each in found]


@pytest.mark.parametrize(
    ("body", "rows", "expected"),
    [(b"good:", 1, (5, 1)), (b"good:", None, (None, 1)), (None, 6, (0, 0)), (None, None, (0, 0))],
)
def test_the_manifest_lists_what_is_left(
    body: bytes | None, rows: int | None, expected: tuple[int | None, int]
) -> None:
    """Rows that the objects hold are those that were published without the erased ones; unknown where an object was not read."""
    env = finished(b"good:1")
    erased(env, erasing(env, body, rows))
    settled(env)

    assert listed(env) == [expected]
    assert found(env) == []


def test_rows_of_several_erasures_add_up() -> None:
    """Each replaces what the last one left; one that did not read the object makes the number unknown."""
    env = finished(b"good:1")
    for rows in (1, 2):
        erased(env, erasing(env, b"good:" + bytes([rows]), rows))
        settled(env)
    assert listed(env) == [(3, 1)]
    assert len(env.lake[block_of(env).objects[0].key]) == 1

    erased(env, erasing(env, b"good:", None))
    settled(env)
    assert listed(env) == [(None, 1)]


def test_without_an_erasure_nothing_is_deleted() -> None:
    """Settling is idempotent."""
    env = finished(b"good:1")

    assert settled(env) == 0


def test_an_object_that_changed_since_it_was_read_is_not_replaced() -> None:
    """Another erasure came first: what was staged still has the rows that it erased."""
    env = finished(b"good:1")
    first, second = erasing(env, b"good:a"), erasing(env, b"good:b")
    erased(env, first)

    with pytest.raises(InputError, match="another erasure changed this delivery meanwhile"):
        erased(env, second)


def test_an_erasure_waits_for_one_that_is_not_finished() -> None:
    """It would be lost when the first one is continued."""
    env = finished(b"good:1")
    begun(env, erasing(env, b"good:a"))

    with pytest.raises(InputError, match="another erasure"):
        erased(env, erasing(env, b"good:b"))


def test_an_erasure_whose_staged_copy_is_gone_is_not_reported_as_done() -> None:
    """The rows are still there, which is recorded; the command has to be repeated."""
    env = finished(b"good:1")
    planned = erasing(env)
    assert planned.left is not None
    del env.lake[planned.left.key]

    with pytest.raises(InputError, match="repeat the command"):
        erased(env, planned)
    settled(env)
    assert (listed(env), found(env)) == ([(6, 1)], [])


def test_an_object_that_was_replaced_before_a_crash_is_not_replaced_again() -> None:
    """What continues an erasure records the version that is there: no other version of the same bytes is written."""
    env = finished(b"good:1")
    planned = erasing(env)
    begun(env, planned, effects=2)
    replaced = env.memory.objects.head(Address(LAKE, planned.key)).version

    assert replaced != planned.version
    assert drive(env.dependencies, resume(env.dependencies, LINE)) == 1
    assert env.memory.objects.head(Address(LAKE, planned.key)).version == replaced


def test_a_quarantined_copy_whose_replay_ended_stays_deleted() -> None:
    """What nobody needs any more is not written again."""
    env = finished(b"bad:1")
    planned = erasing(env, b"bad:")
    env.memory.objects.delete(Address(LAKE, planned.key, planned.version))
    erased(env, planned)

    assert planned.key not in env.lake


def test_another_act_at_the_top_of_the_chain_is_no_conflict(monkeypatch: pytest.MonkeyPatch) -> None:
    """The record is built again on the new top; who never gets it there gives up."""
    env = finished(b"good:1", b"good:2")
    ledger, append = env.memory.ledger, env.memory.ledger.append
    refusals = iter([True, False])

    def refusing(record: Any) -> None:
        if next(refusals, False):
            raise ConditionFailed("head")
        append(record)

    monkeypatch.setattr(type(ledger), "append", lambda _, record: refusing(record))
    erased(env, erasing(env))
    assert erasures_of(ledger.blocks(LINE)).unfinished == ()

    refusals = iter([True] * TRIES_OF_COMMIT)
    with pytest.raises(TransactionConflict):
        erased(env, erasing(env, number=1), number=1)


def test_a_block_that_is_appended_while_the_chain_is_read_is_read_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks and head are of one moment, or are read again."""
    env = finished(b"good:1")
    ledger, blocks, workload = env.memory.ledger, env.memory.ledger.blocks, block_of(env).workload
    planned = erasing(env)
    answers = iter([()])  # before the block of the delivery was there
    monkeypatch.setattr(type(ledger), "blocks", lambda _, *where: next(answers, blocks(*where)))
    drive(env.dependencies, erase(env.dependencies, LINE, workload, (planned,), WHY, searched=0))

    assert erasures_of(blocks(LINE)).left.keys() == {planned.key}


def test_a_repeated_answer_records_once() -> None:
    """A record that was appended without an answer is recognised by its event."""
    env = finished(b"good:1")
    planned = erasing(env)
    steps = erases(env, block_of(env), planned)
    call = next(steps)
    call.do()
    call = steps.throw(ConditionFailed("head", "event"))
    try:
        while True:
            call = steps.send(call.do())
    except StopIteration:
        pass

    assert [each.kind for each in env.dependencies.ledger.blocks(LINE)[1:]] == ["erasure", "erased"]


def test_references_are_compared_with_what_is_left() -> None:
    """A job run gets the objects as they are now: of another size, or not at all."""
    env = finished(b"good:1", b"good:2")
    erased(env, erasing(env, b"good:"))
    erased(env, erasing(env, None, number=1), number=1)
    settled(env)
    key = block_of(env).objects[0].key
    row = env.dependencies.workloads.get(block_of(env).workload)
    assert row.pin is not None
    row = row._replace(pin=replace(row.pin, references=(Referred(LINE, 1),)))
    request = job_request(DeliveryTurn(env.dependencies, row), 1)

    assert [(each.uri, each.size) for each in request.references[0].parts] == [(f"s3://{LAKE}/{key}", len(b"good:"))]


# --- what verify makes of it


@pytest.mark.parametrize("effects", [1, 2, 3, 4])
def test_an_unfinished_erasure_is_told_from_tampering(effects: int) -> None:
    """Recorded, replaced, recorded again, or not yet deleted: the finding says so, and nothing else."""
    env = finished(b"good:1", b"good:2")
    begun(env, erasing(env), effects=effects)

    assert [each[0] for each in found(env)] == [Damage.UNERASED]


def test_an_unfinished_erasure_of_a_whole_object_is_told_from_tampering() -> None:
    """The object is there until its versions are deleted."""
    env = finished(b"good:1")
    planned = erasing(env, None)
    begun(env, planned)
    assert [each[0] for each in found(env)] == [Damage.UNERASED]

    erased(env, planned)
    assert [each[0] for each in found(env)] == [Damage.UNERASED]
    settled(env)
    assert found(env) == []


@pytest.mark.parametrize("body", [b"other", None])
def test_other_bytes_are_tampering_also_during_and_after_an_erasure(body: bytes | None) -> None:
    """Neither those of the delivery nor those of the erasure: another digest is damage, as is an object that is there again."""
    env = finished(b"good:1")
    where = Address(LAKE, block_of(env).objects[0].key)
    begun(env, erasing(env, body))
    env.memory.objects.put(where, b"bytes of nobody")
    assert [each[0] for each in found(env)] == [Damage.REPLACED]

    env = finished(b"good:1")
    erased(env, erasing(env, body))
    settled(env)
    env.memory.objects.put(where, b"bytes of nobody")
    assert [each[0] for each in found(env)] == [Damage.REPLACED if body else Damage.RESTORED]


def test_what_an_erasure_left_is_lost_like_anything_else() -> None:
    """The version that the last erasure recorded must exist."""
    env = finished(b"good:1")
    erased(env, erasing(env))
    settled(env)
    del env.lake[block_of(env).objects[0].key]

    assert [each[0] for each in found(env)] == [Damage.LOST]


def test_other_records_are_no_erasures() -> None:
    """A chain holds records of other acts, too."""
    env = finished(b"good:1")
    content = {"workload": "w", "state": "FAILED", "attempt": 1, "replayed_by": "w"}
    drive(env.dependencies, append(env.dependencies, "replay", LINE, content, "0" * 64))

    assert erasures_of(env.dependencies.ledger.blocks(LINE)).left == {}
