"""What happens to a stored chain is seen: changed, deleted, inserted, swapped, forked or rewritten blocks."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.gate.ledger.blocks import GENESIS, Block, canonical, digest
from lakegate.gate.ledger.verification import ChainFault, Wrong
from tests.reference.sampling import FULL
from tests.unit.gate.ledger.ledger_chain import CHAIN, HEAD, RECORD, STORED, a_block, a_chain, verify, verify_stored


def linked(chain: list[Block]) -> list[Block]:
    """The same blocks with every link made good again: what a forger with write access would do."""
    rebuilt: list[Block] = []
    for height, block in enumerate(chain):
        rebuilt.append(replace(block, height=height, previous=digest(rebuilt[-1]) if rebuilt else GENESIS))
    return rebuilt


SMALL = STORED[:3]
SMALL_HEAD = digest(CHAIN[2])
LONG = a_chain(1000)
LONG_STORED = [canonical(each) for each in LONG]
LONG_HEAD = digest(LONG[-1])


def spoiled(text: bytes, place: int, mask: int) -> bytes:
    return text[:place] + bytes([text[place] ^ mask]) + text[place + 1 :]


def test_an_intact_chain_has_no_fault() -> None:
    """A chain as it was written verifies, from blocks and from stored bytes, at its head and at every older anchor."""
    anchors = {block.height: digest(block) for block in CHAIN}

    assert (verify(CHAIN, HEAD, anchors), verify_stored(STORED, HEAD, anchors)) == ((), ())
    assert (verify([]), verify([], GENESIS)) == ((), ())


def test_a_flip_of_a_bit_is_seen() -> None:
    """A bit of each byte of a stored chain (nightly: each bit), flipped, breaks it at that block or its link to the one below."""
    unseen = [
        (height, place, bit)
        for height, text in enumerate(SMALL)
        for place in range(len(text))
        for bit in (range(8) if FULL else (place % 8,))
        if not seen_at(height, spoiled(text, place, 1 << bit))
    ]

    assert not unseen


def seen_at(height: int, text: bytes) -> bool:
    faults = verify_stored([*SMALL[:height], text, *SMALL[height + 1 :]], SMALL_HEAD)
    return bool(faults) and faults[0].height in {height - 1, height}


@given(st.data())
def test_every_other_bytes_are_seen(data: st.DataObject) -> None:
    """Bytes replaced, deleted or inserted anywhere in a stored chain break it at that block or the link below."""
    height = data.draw(st.integers(0, len(SMALL) - 1))
    text = SMALL[height]
    start = data.draw(st.integers(0, len(text)))
    stop = data.draw(st.integers(start, min(start + 4, len(text))))
    other = text[:start] + data.draw(st.binary(max_size=4)) + text[stop:]

    assert (other != text) == seen_at(height, other)


@pytest.mark.parametrize("height", range(len(CHAIN)))
def test_a_deleted_block_is_seen(height: int) -> None:
    """A chain that lacks a block breaks at its place, the uppermost block included once a head is known."""
    faults = verify(CHAIN[:height] + CHAIN[height + 1 :], HEAD)

    assert max(height - 1, 0) <= faults[0].height <= height


@pytest.mark.parametrize("length", range(len(CHAIN)))
def test_a_truncated_chain_is_seen_against_its_head_and_against_an_anchor(length: int) -> None:
    """A chain cut at any height does not reach its head, nor an anchor above the cut."""
    assert [ChainFault(max(length - 1, 0), Wrong.ALTERED)] == list(verify(CHAIN[:length], HEAD))
    assert [ChainFault(length, Wrong.ANCHOR)] == list(verify(CHAIN[:length], anchors={4: HEAD}))


@pytest.mark.parametrize("height", range(len(CHAIN) + 1))
@pytest.mark.parametrize("inserted", range(len(CHAIN)))
def test_an_inserted_block_is_seen(height: int, inserted: int) -> None:
    """A block put in anywhere, a copy of another one included, breaks the chain no higher than there."""
    faults = verify([*CHAIN[:height], CHAIN[inserted], *CHAIN[height:]], HEAD)

    assert faults
    assert faults[0].height <= height


@pytest.mark.parametrize(("low", "high"), [(low, high) for high in range(5) for low in range(high)])
def test_two_swapped_blocks_are_seen(low: int, high: int) -> None:
    """Any two blocks that change places break the chain at or below the lower place."""
    chain = list(CHAIN)
    chain[low], chain[high] = chain[high], chain[low]

    assert verify(chain, HEAD)[0].height <= low


@pytest.mark.parametrize("height", range(len(CHAIN)))
def test_a_fork_is_seen(height: int) -> None:
    """Two blocks on the same block below cannot both stand in a chain, and the other branch misses the head."""
    other = replace(CHAIN[height], workload="f" * 64)

    assert verify([*CHAIN[: height + 1], other], HEAD)
    assert verify(linked([*CHAIN[:height], other, *CHAIN[height + 1 :]]), HEAD)


@pytest.mark.parametrize("height", range(len(CHAIN)))
def test_a_chain_rewritten_as_a_whole_is_seen_by_any_anchor_above(height: int) -> None:
    """A rewritten block with every link above it recomputed is found by each anchor at or above that block."""
    rewritten = linked([*CHAIN[:height], replace(CHAIN[height], rows=11), *CHAIN[height + 1 :]])
    seen = [bool(verify(rewritten, anchors={place: digest(CHAIN[place])})) for place in range(len(CHAIN))]

    assert [place >= height for place in range(len(CHAIN))] == seen


def test_any_change_of_a_long_chain_is_seen() -> None:
    """Of a thousand blocks, whatever one change is made at random, the chain no longer leads to its head."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # noqa: T201 - a failure is replayed from it
    chance = random.Random(seed)
    unseen = []
    for change in range(len(CHANGES) * (250 if FULL else 1)):
        name, altered = changed(change, chance)
        if not verify_stored(altered, LONG_HEAD):
            unseen.append(name)

    assert verify_stored(LONG_STORED, LONG_HEAD) == ()
    assert not unseen


def changed(change: int, chance: random.Random) -> tuple[str, list[bytes]]:
    name, alter = list(CHANGES.items())[change % len(CHANGES)]
    low, high = sorted(chance.sample(range(len(LONG_STORED)), 2))
    text = LONG_STORED[low]
    place = chance.randrange(len(text))
    flipped = spoiled(text, place, chance.randrange(1, 256))
    return name, alter(LONG_STORED[:low], text, flipped, LONG_STORED[low + 1 : high], LONG_STORED[high:])


CHANGES: dict[str, Callable[..., list[bytes]]] = {
    "flip": lambda below, _text, flipped, between, above: [*below, flipped, *between, *above],
    "delete": lambda below, _text, _flipped, between, above: [*below, *between, *above],
    "insert": lambda below, text, _flipped, between, above: [*below, text, *between, text, *above],
    "swap": lambda below, text, _flipped, between, above: [*below, above[0], *between, text, *above[1:]],
    "truncate": lambda below, text, _flipped, between, _above: [*below, text, *between],
}


def test_a_block_of_another_chain_is_seen() -> None:
    """A chain without a gap that has blocks of two lines is not one chain."""
    assert (ChainFault(1, Wrong.CHAIN),) == verify(linked([CHAIN[0], replace(CHAIN[1], chain="other/lines_v1")]))


def test_an_unreadable_block_is_named_and_the_rest_still_read() -> None:
    """A stored text that is not a block is one fault at its height; what stands above it is verified all the same."""
    faults = verify_stored([STORED[0], b"\xff", *STORED[2:]], HEAD)

    assert (ChainFault(1, Wrong.ALTERED), ChainFault(1, Wrong.UNREADABLE, "it is not JSON in UTF-8")) == faults


def test_a_changed_record_is_found_like_a_changed_delivery() -> None:
    """Records are links of the chain: another actor, another content and a missing record break it."""
    top = replace(a_block(6, digest(RECORD)))
    texts = [*STORED, canonical(RECORD), canonical(top)]
    forged = canonical(replace(RECORD, actor="arn:aws:iam::123456789012:user/mallory"))

    assert verify_stored(texts, digest(top)) == ()
    assert [each.height for each in verify_stored([*STORED, forged, canonical(top)], digest(top))] == [5]
    assert verify_stored([*STORED, canonical(top)], digest(top))
