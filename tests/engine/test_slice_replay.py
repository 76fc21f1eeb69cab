"""Slices built again from the accepted originals: the same logical hashes, whatever the format, and others after a change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from lakegate.base.errors import InputError
from lakegate.contract.delivery_policy import Mode, OnReject, Policy
from lakegate.contract.file_formats import Format, Storage
from lakegate.engine import accepted_rows
from lakegate.engine.read import csv
from lakegate.engine.read.data_source import LocalStore
from lakegate.features.odf.recompute_slices import logical_hashes
from lakegate.features.odf.slices.slice_writer import Begin
from lakegate.plan.plan import Plan
from lakegate.plan.request import StagedPart
from lakegate.plan.slice_order import SliceOrder
from tests.deliveries.delivery import plan_of, rule
from tests.deliveries.sliced import NOW, slices
from tests.deliveries.written import STORAGES, written
from tests.engine.formats import FIELDS, TABLE, stored

ROWS = b"id,word\n" + b"".join(b"%d,word %d\n" % (each, each) for each in range(2000))


def replayed(plan: Plan, folder: Path, counts: Sequence[int], *objects: bytes, event: str | None = None) -> list[str]:
    """The hashes of slices with these numbers of rows, the first from offset 7."""
    folder.mkdir()
    parts = []
    for number, body in enumerate(objects):
        path = folder / str(number)
        path.write_bytes(body)
        parts.append(StagedPart(path.as_uri(), len(body)))
    return list(logical_hashes(plan, tuple(parts), LocalStore(), Begin(7, NOW, event), counts, folder))


@pytest.mark.parametrize("storage", STORAGES, ids=lambda storage: storage.suffix)
def test_slices_of_every_format_are_built_again(storage: Storage, tmp_path: Path) -> None:
    """Of every type, and with times of events."""
    plan, body = stored(plan_of(FIELDS), storage), written(TABLE, storage)
    (found,) = slices(plan, tmp_path / "a", body, order=SliceOrder(7, "seen"))

    assert replayed(plan, tmp_path / "b", [found.rows], body, event="seen") == [found.logical]


@pytest.mark.parametrize("share", [300, 1 << 20])
def test_the_division_of_the_original_does_not_matter(
    share: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several slices of two objects are built again in other shares; a changed row changes the hash of its slice alone."""
    plan, objects = plan_of({"id": "integer", "word": "string"}), (ROWS, b"id,word\n5,x\n6,y\n")
    with monkeypatch.context() as cut:
        cut.setattr(csv, "SHARE_BYTES", 1000)
        cut.setattr(accepted_rows, "FILE_ROWS", 500)
        found = slices(plan, tmp_path / "a", *objects)
    monkeypatch.setattr(csv, "SHARE_BYTES", share)
    counts, hashes = [each.rows for each in found], [each.logical for each in found]
    changed = replayed(plan, tmp_path / "c", counts, ROWS.replace(b"word 700\n", b"word 7OO\n"), objects[1])

    assert len(found) > 2
    assert replayed(plan, tmp_path / "b", counts, *objects) == hashes
    assert [now == then for now, then in zip(changed, hashes, strict=True)].count(False) == 1
    assert changed[0] == hashes[0]
    assert changed[-1] == hashes[-1]


def test_accepted_rows_alone_are_built_again(tmp_path: Path) -> None:
    """With `onReject: rows`, from the objects with the accepted records."""
    plan = plan_of({"id": "integer", "n": "integer"}, rule("maximum", "n", value=9))
    plan = stored(replace(plan, policy=Policy(on_reject=OnReject.ROWS)), Storage(Format.JSONL))
    lines = [b'{"id": 1, "n": 1}\n', b'{"id": 2, "n": 10}\n', b"broken\n", b'{"id": 3, "n": null}\n']
    (found,) = slices(plan, tmp_path / "a", b"".join(lines))

    assert replayed(plan, tmp_path / "b", [found.rows], lines[0] + lines[3]) == [found.logical]


def test_records_that_cannot_be_read_have_no_row(tmp_path: Path) -> None:
    """A contract that observes accepts a file with such records; values of another type are null."""
    plan = replace(plan_of({"id": "integer", "n": "number"}), policy=Policy(mode=Mode.OBSERVE))
    body = b"id,n\n1,x\n2\n3,1e3\n"
    (found,) = slices(plan, tmp_path / "a", body)

    assert replayed(plan, tmp_path / "b", [found.rows], body) == [found.logical]


def test_rows_that_are_missing_or_more_change_the_hashes(tmp_path: Path) -> None:
    """A hash less, another hash, or one more."""
    plan = plan_of({"id": "integer"})
    (found,) = slices(plan, tmp_path / "a", b"id\n1\n2\n")
    less = replayed(plan, tmp_path / "b", [2], b"id\n1\n")
    more = replayed(plan, tmp_path / "c", [2], b"id\n1\n2\n3\n")

    assert (len(less), less == [found.logical]) == (1, False)
    assert (len(more), more[0]) == (2, found.logical)
    assert replayed(plan, tmp_path / "d", [2], b"id\n") == []
    with pytest.raises(InputError):
        replayed(plan, tmp_path / "e", [2], b"other\n1\n")
