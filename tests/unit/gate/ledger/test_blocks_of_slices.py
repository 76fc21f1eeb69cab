"""Slices and watermarks in the blocks of a chain: what follows what, and which blocks are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lakegate.base.errors import InputError
from lakegate.gate.ledger.blocks import Block, BlockKind, LedgerObject, LedgerSlice, digest, from_json, to_json
from lakegate.gate.ledger.verification import ChainFault, Wrong
from tests.unit.gate.ledger.ledger_chain import a_block, verify, verify_stored


def sliced(height: int, previous: str, *offsets: tuple[int, int]) -> Block:
    times = ("2024-05-01T00:00:00.000000Z",) * 2
    slices = tuple(LedgerSlice(f"accepted/{first}", first, rows, times, "f1", "f2") for first, rows in offsets)
    objects = tuple(LedgerObject(each.key, "v1", 1, "") for each in slices)
    return replace(a_block(height, previous), objects=objects, slices=slices)


@pytest.mark.parametrize(("first", "faults"), [(5, ()), (4, (1,)), (6, (1,)), (0, (1,))])
def test_offsets_follow_one_another_over_the_chain(first: int, faults: tuple[int, ...]) -> None:
    """`verify` reports the block whose slices do not begin where those before it end; empty ones are passed over."""
    low = sliced(0, "0" * 64, (0, 2), (2, 3))
    high = sliced(1, digest(low), (first, 1))
    top = sliced(2, digest(high))

    wrong = [each for each in verify([low, high, top]) if each.what is Wrong.OFFSETS]
    assert wrong == [ChainFault(height, Wrong.OFFSETS, "not from 5 on") for height in faults]


def marked(*watermarks: str | None) -> list[Block]:
    """A chain of slices with these watermarks, each of events of the first day."""
    found: list[Block] = []
    for height, mark in enumerate(watermarks):
        block = sliced(height, digest(found[-1]) if found else "0" * 64, (height, 1))
        found.append(replace(block, watermark=mark and f"2024-{mark}T00:00:00.000000Z"))
    return found


@pytest.mark.parametrize(
    ("marks", "faults"),
    [
        ((None, None), []),
        ((None, "04-30", "04-30", "05-01"), []),
        (("04-30", "04-29"), [(1, "2024-04-29T00:00:00.000000Z after 2024-04-30T00:00:00.000000Z")]),
        (("04-30", None), [(1, "none after 2024-04-30T00:00:00.000000Z")]),
        (("05-02",), [(0, "2024-05-02T00:00:00.000000Z is after the latest event, 2024-05-01T00:00:00.000000Z")]),
    ],
)
def test_watermarks_never_move_back_over_the_chain(
    marks: tuple[str | None, ...], faults: list[tuple[int, str]]
) -> None:
    """`verify` reports a block with an earlier one than before, without one after it, and with one beyond its events."""
    assert list(verify(marked(*marks))) == [ChainFault(height, Wrong.WATERMARK, why) for height, why in faults]


def test_a_block_without_slices_has_no_watermark() -> None:
    """Neither canonical form nor schema."""
    text = to_json(marked("04-30")[0])
    wrong = text.partition('"slices":[')[0] + '"slices":[]' + text[text.index(',"system_time"') :]

    assert from_json(text) == marked("04-30")[0]
    with pytest.raises(InputError, match="no `watermark` without slices"):
        to_json(replace(a_block(), watermark="2024-05-01T00:00:00.000000Z"))
    assert [each.what for each in verify_stored([wrong.encode()])] == [Wrong.SCHEMA]


@pytest.mark.parametrize("mark", ["", "2024-05-01", "2024-05-01T00:00:00Z"])
def test_a_watermark_has_the_form_of_every_time(mark: str) -> None:
    """Six decimals, UTC: times are compared as texts."""
    with pytest.raises(InputError, match=r"at watermark \(rule: pattern\)"):
        to_json(replace(sliced(0, "0" * 64, (0, 1)), watermark=mark))


def test_slices_of_a_block_are_contiguous() -> None:
    """A block with a gap between its slices has no canonical form."""
    with pytest.raises(InputError, match="`slices`"):
        to_json(sliced(0, "0" * 64, (0, 2), (3, 3)))


@pytest.mark.parametrize(
    "change",
    [
        {"objects": (LedgerObject("accepted/0", "v1", 1, ""), LedgerObject("accepted/3", "v1", 1, ""))},
        {"objects": ()},
        {"kind": BlockKind.QUARANTINED},
    ],
    ids=["another object", "no object", "quarantined"],
)
def test_slices_are_those_of_published_objects(change: dict[str, Any]) -> None:
    """A block that describes data which it does not publish has no canonical form."""
    block = sliced(0, "0" * 64, (0, 2), (2, 3))

    assert to_json(block)
    with pytest.raises(InputError, match="no `slices` but of its own published objects"):
        to_json(replace(block, **change))


def test_an_object_is_one_slice() -> None:
    """Two slices of one object would count its rows twice."""
    block = sliced(0, "0" * 64, (0, 2), (2, 3))
    assert block.slices is not None
    again = replace(block.slices[1], key=block.slices[0].key)

    with pytest.raises(InputError, match="one of each"):
        to_json(replace(block, slices=(block.slices[0], again)))


def test_a_stored_block_with_a_slice_of_another_object_is_a_fault() -> None:
    """Whoever may write the table, but not sign, cannot let a chain vouch for rows of an object that it does not list."""
    text = to_json(sliced(0, "0" * 64, (0, 2))).replace('"key":"accepted/0","logical"', '"key":"accepted/1","logical"')

    why = "a block has no `slices` but of its own published objects, one of each"
    assert verify_stored([text.encode()]) == (ChainFault(0, Wrong.SCHEMA, why),)


def test_a_block_names_the_result_and_the_engines() -> None:
    """They are signed with the block; a delivery that was refused before it was measured has neither."""
    block = replace(a_block(), result="a" * 64, engines={"duckdb": "1.4.2", "spark": "3.5.8"})

    assert from_json(to_json(block)) == block
    assert '"engines":{"duckdb":"1.4.2","spark":"3.5.8"}' in to_json(block)
    assert "engines" not in to_json(a_block())
    assert "result" not in to_json(a_block())
