"""What blocks of a dataset from elsewhere may cost: memory that does not grow with the chain, and is bounded for a block."""

from __future__ import annotations

import gc
import struct
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lakegate.base.errors import InputError
from lakegate.cli.datasets.chain_proofs import signatures_by
from lakegate.features.odf.exchange.odf_export import LONGEST_LEDGER_BLOCK
from lakegate.features.odf.exchange.odf_import import Proof, bring_dataset
from lakegate.features.odf.exchange.odf_repositories import FolderPlace
from lakegate.features.odf.format import odf_flatbuffers
from lakegate.features.odf.format.metadata_chain import (
    Event,
    MetadataBlock,
    Moment,
    Seed,
    SetAttachments,
    SetDataSchema,
    block_bytes,
    block_hash,
    block_in,
)
from lakegate.features.odf.format.odf_flatbuffers import MOST_MEMORY, NotOdfError, encode_table
from lakegate.features.odf.format.odf_names import point_of
from tests.unit.features.odf.format.blocks import block, envelope, field

MIB = 1 << 20


def peak_of(what: Callable[[], object]) -> int:
    """Bytes of memory that a call needs at the most; what it refuses is no failure.

    Cycles are collected as in other processes than those of tests (`tests/conftest.py`).
    """
    before = gc.get_threshold()
    gc.collect()
    gc.set_threshold(700, 10, 10)
    tracemalloc.start()
    try:
        with suppress(InputError):
            what()
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        gc.set_threshold(*before)
    return peak


def repeated(table: str, member: str, items: list[dict[str, Any]], count: int) -> bytes:
    """A table whose vector leads `count` times to the first of its items."""
    return led_back(encode_table(table, {member: items + [{}] * (count - len(items))}), count)


def unsigned(body: bytearray, at: int) -> int:
    return int(struct.unpack_from("<I", body, at)[0])


def is_vector(body: bytearray, at: int, count: int) -> bool:
    """References lead on, each within the bytes."""
    ends = [at + 4 * each + unsigned(body, at + 4 * each) for each in range(1, min(4, count))]
    return all(at + 4 * count < end < len(body) for end in ends)


def led_back(whole: bytes, count: int) -> bytes:
    """All references of the only vector of so many items lead to its first one."""
    body = bytearray(whole)
    start = next(at for at in range(0, len(body), 4) if unsigned(body, at) == count and is_vector(body, at, count))
    first = start + 4 + unsigned(body, start + 4)
    for at in range(start + 4, start + 4 + 4 * count, 4):
        struct.pack_into("<I", body, at, first - at)
    return bytes(body)


def columns(count: int) -> bytes:
    return repeated("DataSchema", "fields", [field("column", "Timestamp", {"timezone": "UTC"})], count)


def nothing(count: int) -> bytes:
    """The smallest tables that there are, each of its own."""
    return encode_table("DataSchema", {"fields": [{}] * count})


def texts(count: int) -> bytes:
    return repeated("AttachmentsEmbedded", "items", [{"path": "p" * 20, "content": "x" * 64}], count)


SHAPES: dict[str, Callable[[int], tuple[str, bytes]]] = {
    "one column many times": lambda count: ("DataSchema", columns(count)),
    "empty tables": lambda count: ("DataSchema", nothing(count)),
    "one text many times": lambda count: ("AttachmentsEmbedded", texts(count)),
    "a wide character": lambda count: (
        "AttachmentsEmbedded",
        encode_table("AttachmentsEmbedded", {"items": [{"content": "x" * 12 * count + "\U0001f600"}]}),
    ),
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("most", [MIB, pytest.param(32 * MIB, marks=pytest.mark.full)])
def test_a_block_needs_bounded_memory(monkeypatch: pytest.MonkeyPatch, name: str, most: int) -> None:
    """Whatever a block repeats, its values take no more than the bound; those that would are refused, not cut."""
    monkeypatch.setattr(odf_flatbuffers, "MOST_MEMORY", most)
    room = min(MIB, most // 4)
    for table, body in (SHAPES[name](most // each) for each in (2000, 500, 50)):
        assert (
            peak_of(lambda table=table, body=body: odf_flatbuffers.decode_table(table, body))
            < most + 2 * len(body) + room
        )


def test_the_budget_is_that_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is counted is at least what the values take, so the bound is one."""
    monkeypatch.setattr(odf_flatbuffers, "REPEATED", 10_000)
    for made in SHAPES.values():
        table, body = made(2000)
        budget = odf_flatbuffers.Budget(MOST_MEMORY)
        tracemalloc.start()
        value = odf_flatbuffers.decode_table(table, body, budget)
        size, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()

        assert value
        assert size <= MOST_MEMORY - budget.left


def test_wide_schemas_are_read() -> None:
    """Ten thousand columns with descriptions, of records in records, are within the bound of their bytes."""
    described = '{"opendatafabric.org/description":"a column"}'
    inner = {"fields": [field("a", "Option", {"inner_type": "DataTypeInt64", "inner": {}})] * 3}
    fields = tuple(field(f"c{number}", "Struct", inner, described) for number in range(10_000))
    body = envelope(block("SetDataSchema", {"schema": {"fields": list(fields)}}))

    assert block_in(body).event == SetDataSchema(fields)


def test_a_block_of_repetitions_is_refused() -> None:
    """The budget of an envelope is one for itself and for what it contains."""
    fields = [field("column", "Timestamp", {"timezone": "UTC"})] + [{}] * 10_002
    content = encode_table("MetadataBlock", block("SetDataSchema", {"schema": {"fields": fields}}))
    with pytest.raises(NotOdfError, match="references lead to the same place"):
        block_in(encode_table("Manifest", {"kind": 0x400000, "version": 3, "content": led_back(content, 10_003)}))


def a_dataset(folder: Path, events: list[Event]) -> FolderPlace:
    """Blocks with these events, whose links and numbers are right."""
    place, previous = FolderPlace(folder), None
    for number, event in enumerate([Seed(point_of(b"hostile")), *events]):
        body = block_bytes(MetadataBlock(Moment(2026, 1, 0, 0), previous, number, event))
        previous = block_hash(body)
        place.put(f"blocks/{previous}", body)
    place.put("refs/head", str(previous).encode())
    return place


def bring(place: FolderPlace, folder: Path) -> object:
    return bring_dataset(place, FolderPlace(folder), Proof(signatures_by(None)))


def schemas(count: int) -> list[Event]:
    return [SetDataSchema(tuple(field(f"{number}_{at}", "Int64") for at in range(250))) for number in range(count)]


def attachments(count: int) -> list[Event]:
    """A ledger as it could be, of large blocks, that is none."""
    text = '{"chain":[' + "[]," * 10_000 + "[]]}"
    return [SetAttachments(((f"lakegate/ledger/{number:012}.json", text),)) for number in range(count)]


@pytest.mark.parametrize("events", [schemas, attachments])
def test_memory_does_not_grow_with_the_chain(tmp_path: Path, events: Callable[[int], list[Event]]) -> None:
    """A chain that is ten times as long is read in the same memory, its verified ledger included."""
    short, long = a_dataset(tmp_path / "short", events(2)), a_dataset(tmp_path / "long", events(20))

    def least(place: FolderPlace) -> int:
        """The least of three: modules that are loaded, and code that SlipCover changes, are in single ones of them."""
        copies = [tmp_path / f"{place.path.name}-{at}" for at in range(3)]
        return min(peak_of(partial(bring, place, copy)) for copy in copies)

    assert least(long) < 1.2 * least(short) + MIB // 4


def test_a_ledger_of_texts_without_end_is_refused(tmp_path: Path) -> None:
    """A text that no block of a ledger can be is refused before it is parsed."""
    text = "[" * (LONGEST_LEDGER_BLOCK + 1)
    place = a_dataset(tmp_path / "hostile", [SetAttachments((("lakegate/ledger/000000000000.json", text),))])
    with pytest.raises(InputError, match=f"has more than {LONGEST_LEDGER_BLOCK:,} characters"):
        bring(place, tmp_path / "copy")
