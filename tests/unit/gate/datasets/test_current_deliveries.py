"""The current state of a dataset, compared with another reading of its definition, and read step by step."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.base.errors import InputError
from lakegate.base.json_codec import decode, encode
from lakegate.gate.datasets.current_deliveries import (
    ALL_CURRENT,
    NotCurrent,
    is_change,
    may_be_change,
    not_current,
    not_current_after,
)
from lakegate.gate.datasets.delivery_standing import DeliveryStanding
from lakegate.gate.ledger.blocks import GENESIS, AnyBlock, Block, BlockKind, LedgerObject, Record, canonical, from_json
from tests.reference.sampling import sampled

CHAIN = "shop/orders_v1"


def delivered(height: int, *supersedes: int, kind: BlockKind = BlockKind.PUBLISHED) -> Block:
    return Block(
        kind=kind,
        height=height,
        previous=GENESIS,
        system_time=f"2026-11-21T11:30:{height:02d}.000000Z",
        chain=CHAIN,
        workload=f"{height:064x}",
        contract_version="1.0.0",
        plan="p",
        verdict="accepted" if kind is BlockKind.PUBLISHED else "rejected",
        objects=(LedgerObject(f"accepted/{CHAIN}/{height}.csv", "v", 1, ""),),
        rows=1,
        rejected_rows=0,
        event_time=None,
        supersedes=supersedes,
    )


def decided(kind: str, height: int, about: int) -> Record:
    content = {"workload": f"{about:064x}", "height": about, "reason": "a reason"}
    at = f"2026-11-21T11:30:{height:02d}.000000Z"
    return Record(kind, height, GENESIS, at, CHAIN, "arn:x", f"{height:064x}", content)


def out(*blocks: AnyBlock) -> dict[int, str]:
    """Heights that are not current, and why."""
    state = not_current(blocks)
    return {block.height: why for block in blocks if (why := state.why(block.height)) is not None}


def test_a_correction_takes_the_place_of_what_it_names() -> None:
    """The superseded delivery is out, also where a later correction supersedes the correction."""
    assert out(delivered(0), delivered(1)) == {}
    assert out(delivered(0), delivered(1, 0)) == {0: "superseded"}
    assert out(delivered(0), delivered(1, 0), delivered(2, 1)) == {0: "superseded", 1: "superseded"}


def test_recalling_a_wrong_correction_gives_the_former_state_back() -> None:
    """And restoring it takes that away again."""
    chain: list[AnyBlock] = [delivered(0), delivered(1, 0), decided("recall", 2, 1)]
    assert out(*chain) == {1: "recalled"}
    assert out(*chain, decided("restore", 3, 1)) == {0: "superseded"}


def test_recalling_the_middle_one_of_three_gives_nothing_back() -> None:
    """The first one comes back only when the last one is recalled, too."""
    chain: list[AnyBlock] = [delivered(0), delivered(1, 0), delivered(2, 1), decided("recall", 3, 1)]
    assert out(*chain) == {0: "superseded", 1: "recalled"}
    assert out(*chain, decided("recall", 4, 2)) == {1: "recalled", 2: "recalled"}


def reference(blocks: list[AnyBlock]) -> set[int]:
    """Heights that are not current, by the definition, from each delivery upwards."""
    last = {
        each.content["height"]: each.kind for each in blocks if isinstance(each, Record) and each.kind != "watermark"
    }
    above = [each for each in blocks if isinstance(each, Block)]

    def is_covered(height: int) -> bool:
        return any(
            height in each.supersedes and (last.get(each.height) != "recall" or is_covered(each.height))
            for each in above
        )

    return {each.height for each in above if last.get(each.height) == "recall" or is_covered(each.height)}


@st.composite
def chains(draw: st.DrawFn) -> list[AnyBlock]:
    blocks: list[AnyBlock] = []
    for height in range(draw(st.integers(1, 14))):
        accepted = [each.height for each in blocks if isinstance(each, Block) and each.kind is BlockKind.PUBLISHED]
        kind = draw(st.sampled_from(["delivery", "delivery", "rejected", "recall", "restore"]))
        if kind == "rejected":
            blocks.append(delivered(height, kind=BlockKind.QUARANTINED))
        elif kind == "delivery" or not accepted:
            named = draw(st.lists(st.sampled_from(accepted), unique=True, max_size=3)) if accepted else []
            blocks.append(delivered(height, *sorted(named)))
        else:
            blocks.append(decided(kind, height, draw(st.sampled_from(accepted))))
    return blocks


@sampled(300, 20_000)
@given(chains(), st.integers(0, 14))
def test_the_state_is_that_of_its_definition_however_it_is_read(blocks: list[AnyBlock], split: int) -> None:
    """Whole, of the changes alone, further blocks after a state, from a height upwards, and from its document."""
    state = not_current(blocks)
    changes = [block for block in blocks if is_change(block)]

    assert {each.height for each in blocks if each.height in state} == reference(blocks)
    assert not_current(changes) == state
    assert all(may_be_change(canonical(each)) for each in changes)
    before, after = not_current(blocks[:split]), not_current_after(not_current(blocks[:split]), blocks[split:])
    assert after in {None, state}
    assert after is not None or any(isinstance(each, Record) or before != ALL_CURRENT for each in changes)
    for block in blocks:
        if isinstance(block, Block):
            assert not_current(blocks[block.height :]).why(block.height) == state.why(block.height)
    assert decode(NotCurrent, encode(state)) == state
    returned = {each.height for each in blocks if each.height in before and each.height not in state}
    assert before.returned(state, 100) == returned


def test_what_supersedes_a_recalled_delivery_needs_the_blocks_below() -> None:
    """What that one superseded is superseded again, which a state alone does not tell."""
    chain: list[AnyBlock] = [delivered(0), delivered(1, 0), decided("recall", 2, 1), delivered(3, 1)]
    assert not_current_after(not_current(chain[:3]), chain[3:]) is None
    assert out(*chain) == {0: "superseded", 1: "recalled"}
    assert not_current_after(not_current(chain[:2]), [delivered(2)]) == not_current(chain[:2])


def test_heights_are_ranges() -> None:
    """A dataset that is delivered anew each day has one range, whatever its age; a damaged range costs nothing."""
    chain: list[AnyBlock] = [
        delivered(0),
        *(delivered(height, height - 1) for height in range(1, 50)),
        decided("recall", 50, 49),
    ]
    state = not_current(chain[:50])
    assert state == NotCurrent(49, "2026-11-21T11:30:49.000000Z", (), ((0, 48),))
    assert not_current(chain).recalled == ((49, 49),)
    damaged = NotCurrent(1, "", ((0, 2**53 - 1),), ())
    assert (2**52 in damaged, damaged.returned(ALL_CURRENT, 2)) == (True, frozenset({0, 1, 2}))


def test_a_standing_says_recalled_before_superseded() -> None:
    """What a person decided is said first."""
    recall = decided("recall", 3, 1)
    standings = [
        DeliveryStanding(CHAIN, 1, each, delivered(2, 1) if each is not None else None, ())
        for each in (None, recall, decided("restore", 4, 1))
    ]
    assert [each.not_current for each in standings] == [None, "recalled", "superseded"]


@pytest.mark.parametrize("block", [delivered(2, 1, 0), delivered(2, 2), delivered(2, 0, kind=BlockKind.QUARANTINED)])
def test_a_block_supersedes_lower_heights_in_order_and_only_if_it_is_published(block: Block) -> None:
    """Any other block cannot be written."""
    with pytest.raises(InputError, match="supersedes"):
        canonical(block)


def test_a_block_without_what_it_supersedes_has_the_bytes_of_before() -> None:
    """Digests of chains that older releases wrote stay what they are."""
    assert b"supersedes" not in canonical(delivered(1))
    written = canonical(delivered(2, 0, 1))
    assert b'"supersedes":[0,1]' in written
    assert from_json(written.decode()) == delivered(2, 0, 1)
