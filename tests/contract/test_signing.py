"""Signed blocks, in memory and on DynamoDB: written with their signature, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from lakegate.base.errors import ConditionFailed, SigningDenied
from lakegate.cli.datasets.chain_proofs import signatures_by
from lakegate.gate.ledger.blocks import GENESIS, Head, canonical, digest
from lakegate.gate.ledger.ledger_store import Ledger
from lakegate.gate.ledger.signatures import SignedText
from lakegate.gate.ledger.verification import verify_signed
from tests.contract.conftest import Ports
from tests.contract.test_rows import CHAIN, DECIDED, HERE, NEWS, REPLAY, block, committed
from tests.fakes.signing import MemoryKey
from tests.unit.gate.ledger.signing import ONE, TWO, key_record, signature_by

FIRST = key_record(0, GENESIS, ONE)
SECOND = key_record(1, digest(FIRST), TWO, ONE)


def test_a_commit_is_signed_in_its_transaction(ports: Ports, signing: Callable[..., Ledger]) -> None:
    """Block and signature are there together, by the key that the chain names; without a key there is none."""
    ports.workloads.create(DECIDED)
    first = block(0, GENESIS)
    signing().commit(first, committed(DECIDED), HERE, NEWS)
    other = DECIDED._replace(id="w3")
    ports.workloads.create(other)
    ledger, named = signing(ONE), key_record(1, digest(first), ONE)
    ledger.append(named)
    above = block(2, digest(named), "w3")
    ledger.commit(above, committed(other), HERE, replace(NEWS, id="w3"))

    assert tuple(ledger.signed(CHAIN)) == (
        SignedText(canonical(first)),
        SignedText(canonical(named), signature_by(ONE, named)),
        SignedText(canonical(above), signature_by(ONE, above)),
    )
    assert tuple(ledger.texts(CHAIN)) == (canonical(first), canonical(named), canonical(above))
    assert tuple(ledger.signed("another")) == ()


@pytest.mark.parametrize("keys", [(), (TWO,), (ONE,)], ids=["none", "another", "the first of the chain"])
def test_a_commit_by_another_key_than_the_chain_names_is_refused(
    ports: Ports, signing: Callable[..., Ledger], keys: tuple[MemoryKey, ...]
) -> None:
    """Whatever its worker read before: a key was named, or none, since then."""
    ports.workloads.create(DECIDED)
    previous, height = GENESIS, 0
    if keys != (ONE,):
        signing(ONE).append(FIRST)
        previous, height = digest(FIRST), 1
    with pytest.raises(ConditionFailed) as refused:
        signing(*keys).commit(block(height, previous), committed(DECIDED), HERE, NEWS)

    assert refused.value.reasons == ("key",)
    assert ports.workloads.get(DECIDED.id) == DECIDED


def test_the_record_of_a_key_is_signed_and_names_it(ports: Ports, signing: Callable[..., Ledger]) -> None:
    """The first by itself, the next by the key that it replaces; what a person did is not signed, and changes no key."""
    before = ports.ledger.key(CHAIN)
    signing(ONE).append(FIRST)
    named = ports.ledger.key(CHAIN)
    ledger = signing(TWO, ONE)
    ledger.append(SECOND)
    last = replace(REPLAY, height=2, previous=digest(SECOND))
    ledger.append(last)

    assert (before, named, ledger.key(CHAIN)) == ("", ONE.name, TWO.name)
    assert tuple(ledger.signed(CHAIN)) == (
        SignedText(canonical(FIRST), signature_by(ONE, FIRST)),
        SignedText(canonical(SECOND), signature_by(ONE, SECOND)),
        SignedText(canonical(last)),
    )
    assert verify_signed(ledger.signed(CHAIN), CHAIN, signatures_by(None), digest(last)) == ()
    assert ledger.blocks(CHAIN) == (FIRST, SECOND, last)


@pytest.mark.parametrize(("height", "previous"), [(1, GENESIS), (0, "1" * 64)])
def test_the_record_of_a_key_needs_the_head_it_was_built_on(
    ports: Ports, signing: Callable[..., Ledger], height: int, previous: str
) -> None:
    """Else it is refused like every record, and no key is named."""
    with pytest.raises(ConditionFailed) as refused:
        signing(ONE).append(key_record(height, previous, ONE))

    assert refused.value.reasons == ("head",)
    assert (ports.ledger.key(CHAIN), ports.ledger.blocks(CHAIN)) == ("", ())


def test_what_nobody_may_sign_is_not_written(ports: Ports, signing: Callable[..., Ledger]) -> None:
    """Neither a block nor its row, neither the record of a key nor its name."""
    ports.workloads.create(DECIDED)
    ledger = signing(MemoryKey(1, denied=True))
    with pytest.raises(SigningDenied):
        ledger.commit(block(0, GENESIS), committed(DECIDED), HERE, NEWS)
    with pytest.raises(SigningDenied):
        ledger.append(FIRST)

    assert ports.workloads.get(DECIDED.id) == DECIDED
    assert (ledger.head(CHAIN), ledger.key(CHAIN)) == (Head(-1, GENESIS), "")


@pytest.mark.moto_gap("TransactWriteItems applies a repeated token again")
def test_a_repeated_signed_commit_is_one_commit(ports: Ports, signing: Callable[..., Ledger]) -> None:
    """Ed25519 gives a text one signature: the repetition is the same request, as its token says."""
    ports.workloads.create(DECIDED)
    ledger = signing(ONE)
    ledger.append(FIRST)
    for _ in range(2):
        ledger.commit(block(1, digest(FIRST)), committed(DECIDED), HERE, NEWS)

    assert len(ports.ledger.blocks(CHAIN)) == 2
