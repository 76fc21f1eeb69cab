"""Typed files in the blocks of a chain: which blocks are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lakegate.base.errors import InputError
from lakegate.gate.ledger.blocks import Block, BlockKind, LedgerObject, TableFile, from_json, to_json
from lakegate.gate.ledger.verification import ChainFault, Wrong
from tests.unit.gate.ledger.ledger_chain import a_block, verify_stored

NAMES = ("accepted/_table/0", "accepted/_table/1", "accepted/data", "quarantine/_table/0")


def typed(**change: Any) -> Block:
    """A block with an object that arrived, and two typed files."""
    objects = tuple(LedgerObject(name, "v1", 1, "") for name in NAMES)
    block = replace(a_block(), objects=objects, table=(TableFile(NAMES[0], 2), TableFile(NAMES[1], 1)))
    return replace(block, rejected_table=(TableFile(NAMES[3], 4),), **change)


def test_a_block_lists_typed_files_with_their_rows() -> None:
    """A block without them has the bytes that it had before there were any."""
    text = to_json(typed())

    assert '"table":[{"key":"accepted/_table/0","rows":2},{"key":"accepted/_table/1","rows":1}]' in text
    assert '"rejected_table":[{"key":"quarantine/_table/0","rows":4}]' in text
    assert from_json(text) == typed()
    assert "table" not in to_json(a_block())
    assert "rejected_table" not in to_json(replace(typed(), rejected_table=None))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"objects": typed().objects[1:]}, "no `table` but of its own published objects"),
        ({"kind": BlockKind.QUARANTINED}, "no `table` but of its own published objects"),
        ({"slices": ()}, "none beside `slices`"),
        ({"table": (TableFile(NAMES[0], 2),) * 2}, "one of each"),
        ({"table": (TableFile(NAMES[1], 2), TableFile(NAMES[0], 2))}, "cannot have this `table`"),
        ({"table": (TableFile(NAMES[0], 0),)}, r"at table/0/rows \(rule: minimum\)"),
        ({"objects": typed().objects[:-1]}, "no `rejected_table` but of its own objects"),
        ({"table": None}, "beside `table` alone"),
        ({"table": (TableFile(NAMES[0], 2), TableFile(NAMES[3], 1))}, "`rejected_table` .*one of each"),
    ],
    ids=[
        *("another object", "quarantined", "slices", "twice", "out of order", "no rows"),
        *("another rejected object", "rejected alone", "of both"),
    ],
)
def test_typed_files_are_those_of_published_objects(change: dict[str, Any], reason: str) -> None:
    """A block that describes data which it does not publish, or in two ways, has no canonical form."""
    with pytest.raises(InputError, match=reason):
        to_json(typed(**change))


def test_a_stored_block_with_a_typed_file_of_another_object_is_a_fault() -> None:
    """Whoever may write the table, but not sign, cannot let a chain vouch for rows of an object that it does not list."""
    text = to_json(typed()).replace('"key":"accepted/_table/1","rows"', '"key":"accepted/_table/2","rows"')

    why = "a block has no `table` but of its own published objects, one of each, and none beside `slices`"
    assert verify_stored([text.encode()]) == (ChainFault(0, Wrong.SCHEMA, why),)
