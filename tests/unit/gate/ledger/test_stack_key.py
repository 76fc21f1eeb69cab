"""The stack's key in its chains: named before its first signature, once, and signed by the key that it replaces."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lakegate.cli.datasets.chain_proofs import signatures_by
from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.delivery_row import Workload
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.effects import Alarm, Effect
from lakegate.gate.ledger.blocks import Record
from lakegate.gate.ledger.commit import append
from lakegate.gate.ledger.ledger_store import Ledger
from lakegate.gate.ledger.signatures import Signatures, key_content
from lakegate.gate.ledger.verification import verify_signed
from lakegate.gate.ports import SigningKeys
from lakegate.gate.sweep import sweep
from tests.fakes.signing import MemoryKey
from tests.simulation.environment import LINE, PREFIX, Environment
from tests.unit.gate.ledger.signing import FORGER, ONE, TWO, key_record
from tests.unit.gate.scenarios import alarm_of, decided, drive, refused_at


def signing(env: Environment, *keys: MemoryKey) -> None:
    """From here on the stack has these keys: the current one, and the one that it replaces."""
    env.memory.signing = SigningKeys(*keys)
    env.dependencies = replace(env.dependencies, signing=SigningKeys(*keys))


def verified(env: Environment) -> Signatures:
    """The signatures of the line, whose chain has no fault."""
    signatures, ledger = signatures_by(None), env.memory.ledger
    assert verify_signed(ledger.signed(LINE), LINE, signatures, ledger.head(LINE).digest) == ()
    return signatures


def signed(env: Environment) -> dict[str, int]:
    """How many blocks each key signed."""
    return {name: key.signed for name, key in verified(env).keys.items()}


def delivered(env: Environment, row: Workload) -> None:
    drive(env.dependencies, advance(DeliveryTurn(env.dependencies, row)))
    assert env.dependencies.workloads.get(row.id).state is State.PUBLISHED


def another(env: Environment, number: int = 2) -> Workload:
    """A further delivery of the line, decided."""
    return decided(f"good:{number}".encode(), f"{PREFIX}{number}.csv", env)[1]


def test_a_stack_without_a_key_signs_nothing() -> None:
    """Its chains name no key."""
    env, row = decided()
    delivered(env, row)

    assert (signed(env), {each.signature for each in env.memory.ledger.signed(LINE)}) == ({}, {None})


def test_the_first_delivery_names_the_key_and_later_ones_do_not() -> None:
    """A record of the key, with its public key, signed by itself; then blocks that it signs."""
    env, row = decided()
    signing(env, ONE)
    delivered(env, row)
    delivered(env, another(env))
    first = env.memory.ledger.blocks(LINE)[0]

    assert isinstance(first, Record)
    assert (first.kind, first.actor, first.content) == ("key", ONE.arn, key_content(ONE.public_key(), None))
    assert (signed(env), verified(env).covered) == ({ONE.name: 3}, 2)


def test_a_chain_from_before_is_signed_from_its_next_delivery_on() -> None:
    """The key is named above what is there."""
    env, row = decided()
    delivered(env, row)
    signing(env, ONE)
    delivered(env, another(env))

    assert [each.kind for each in env.memory.ledger.blocks(LINE)] == ["published", "key", "published"]
    assert signed(env) == {ONE.name: 2}


def test_a_key_is_replaced_by_a_record_that_it_signs() -> None:
    """The key before signs who follows it; forth and back again, too."""
    env, row = decided()
    signing(env, ONE)
    delivered(env, row)
    for number, keys in enumerate(((TWO, ONE), (ONE, TWO), (TWO, ONE)), 2):
        signing(env, *keys)
        delivered(env, another(env, number))

    assert [each.kind for each in env.memory.ledger.blocks(LINE)] == ["key", "published"] * 4
    assert signed(env) == {ONE.name: 5, TWO.name: 3}


@pytest.mark.parametrize(
    ("keys", "code"),
    [((), "signing-key-missing"), ((FORGER,), "signing-key-differs"), ((FORGER, TWO), "signing-key-differs")],
)
def test_a_stack_without_the_key_of_its_chain_commits_nothing(keys: tuple[MemoryKey, ...], code: str) -> None:
    """A block without a signature, or by a key that no other names, could not be distinguished from a forged one: an alarm."""
    env, row = decided()
    signing(env, ONE)
    delivered(env, row)
    other = another(env)
    signing(env, *keys)

    assert alarm_of(env, other) == code
    assert signed(env) == {ONE.name: 2}
    signing(env, ONE)
    delivered(env, other)


def test_two_workers_name_a_key_once() -> None:
    """The one that comes late is refused by the head, and finds the key named."""
    env, row = decided()
    signing(env, ONE)

    def others() -> None:
        delivered(env, another(env))

    refused_at(env, Effect.RECORD, advance(DeliveryTurn(env.dependencies, row)), others)

    assert [each.kind for each in env.memory.ledger.blocks(LINE)] == ["key", "published", "published"]
    assert signed(env) == {ONE.name: 3}


def test_a_person_who_records_meanwhile_only_delays_the_key() -> None:
    """The record of the key is built on the new head."""
    env, row = decided()
    signing(env, ONE)
    content = {"workload": "w", "state": "FAILED", "attempt": 1, "replayed_by": "w"}

    def others() -> None:
        drive(env.dependencies, append(env.dependencies, "replay", LINE, content, "e" * 64))

    refused_at(env, Effect.RECORD, advance(DeliveryTurn(env.dependencies, row)), others)

    assert [each.kind for each in env.memory.ledger.blocks(LINE)] == ["replay", "key", "published"]
    assert signed(env) == {ONE.name: 2}


def test_a_worker_that_stops_after_it_named_the_key_is_continued() -> None:
    """Sweep finds the key named, and commits."""
    env, row = decided()
    signing(env, ONE)
    steps = advance(DeliveryTurn(env.dependencies, row))
    call = next(steps)
    while call.effect is not Effect.RECORD:
        call = steps.send(call.do())
    call.do()
    steps.close()
    env.memory.clock.sleep(3_600)
    drive(env.dependencies, sweep(env.dependencies))

    assert env.dependencies.workloads.get(row.id).state is State.PUBLISHED
    assert signed(env) == {ONE.name: 2}


def test_a_key_that_is_replaced_meanwhile_signs_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker of the deployment before reads the key, another one replaces it: the commit is refused by the head."""
    env, row = decided()
    signing(env, ONE)
    delivered(env, row)
    other = another(env)
    key = Ledger.key

    def replaced(ledger: Ledger, chain: str) -> str:
        known = key(ledger, chain)
        if known == ONE.name:
            head = ledger.head(chain)
            record = key_record(head.height + 1, head.digest, TWO, ONE)
            replace(ledger, signing=SigningKeys(TWO, ONE)).append(replace(record, chain=chain))
        return known

    monkeypatch.setattr(Ledger, "key", replaced)
    with pytest.raises(Alarm, match="signing-key-differs"):
        drive(env.dependencies, advance(DeliveryTurn(env.dependencies, other)))

    assert signed(env) == {ONE.name: 3, TWO.name: 0}
