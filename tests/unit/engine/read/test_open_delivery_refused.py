"""Files that are not what they should be, and bombs, refused by the engine's readers."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from lakegate.admission.file_signatures import UnreadableError
from lakegate.base.errors import InputError
from lakegate.contract.file_formats import Compression, Format, Storage
from lakegate.engine.read.data_source import LocalStore
from lakegate.engine.read.open_delivery import open_source
from lakegate.plan.plan import Plan
from lakegate.plan.request import StagedPart
from tests.deliveries.delivery import plan_of
from tests.deliveries.refusal import refusal_of
from tests.deliveries.refused import BAD, BOMBS, CODES, FIELDS, MALFORMED, MIXED, PACKED, PIECES, WRONG_CODEC
from tests.deliveries.written import as_parquet, packed
from tests.unit.engine.read.opened import opened, read


def plan(storage: Storage) -> Plan:
    return replace(plan_of(FIELDS), storage=storage)


def refused_code(storage: Storage, folder: Path, *objects: bytes) -> str:
    """The code by which a delivery is refused, on opening or on the way."""

    def read_to_the_end() -> None:
        source = opened(plan(storage), folder, *objects)
        for share in source.shares:
            for _ in source.chunks(share):
                pass

    return refusal_of(read_to_the_end)[0]


@pytest.mark.parametrize(
    ("storage", "name"),
    MIXED,
    ids=lambda it: it if isinstance(it, str) else it.suffix,
)
def test_another_format_is_refused_by_its_first_bytes(storage: Storage, name: str, tmp_path: Path) -> None:
    """Each format where each other one was promised, packed or plain, before a share is read."""
    with pytest.raises(UnreadableError):
        opened(plan(storage), tmp_path, PIECES[name])


@pytest.mark.parametrize(("promised", "delivered"), WRONG_CODEC, ids=str)
def test_another_codec_is_refused(promised: Compression, delivered: Compression, tmp_path: Path) -> None:
    """By its name."""
    code = refused_code(Storage(Format.JSONL, promised), tmp_path, PACKED[Format.JSONL, delivered])

    assert code == delivered.value


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_cannot_be_read_is_refused(name: str, tmp_path: Path) -> None:
    """Cut off, damaged or of another dataset: never read as a shorter file."""
    storage, content, code = BAD[name]

    assert refused_code(storage, tmp_path, content) == code


def test_objects_of_one_delivery_have_one_schema(tmp_path: Path) -> None:
    """Two Parquet files that differ in a type are no delivery."""
    other = as_parquet(pa.table({"id": [1.5], "name": ["Ana"]}))

    assert refused_code(Storage(Format.PARQUET), tmp_path, PIECES["parquet"], other) == "schema"


@pytest.mark.parametrize("name", MALFORMED)
@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP])
def test_a_bad_record_is_its_own_fault(name: str, codec: Compression, tmp_path: Path) -> None:
    """One malformed line is counted; the others are read."""
    content, reason = MALFORMED[name]
    found = read(plan(Storage(Format.JSONL, codec)), tmp_path, packed(content, codec))

    assert (found.malformed, found.values) == ([(reason, 1, 1)], [{"id": 1, "name": "Ana"}])


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_soon(name: str, tmp_path: Path) -> None:
    """Whatever unpacks beyond its bounds (P13)."""
    storage, content = BOMBS[name]()
    began = time.monotonic()

    assert refused_code(storage, tmp_path, content) == CODES.get(name, "bomb")
    assert time.monotonic() - began < 60


def test_the_bytes_are_the_pinned_ones(tmp_path: Path) -> None:
    """An object of another size, or none at all, is not a delivery to judge."""
    path = tmp_path / "part"
    path.write_bytes(PIECES["jsonl"])
    wanted = plan(Storage(Format.JSONL))

    with pytest.raises(InputError, match=r"has 50 bytes, the request 5"):
        open_source(wanted, (StagedPart(path.as_uri(), 5),), LocalStore())
    with pytest.raises(InputError, match="cannot be read"):
        open_source(wanted, (StagedPart((tmp_path / "none").as_uri(), 5),), LocalStore())


def test_a_file_may_be_a_link(tmp_path: Path) -> None:
    """`check` stages files by links to them."""
    path, link = tmp_path / "part", tmp_path / "a name with spaces and ü"
    path.write_bytes(PIECES["jsonl"])
    link.symlink_to(path)
    source = open_source(plan(Storage(Format.JSONL)), (StagedPart(link.as_uri(), len(PIECES["jsonl"])),), LocalStore())

    assert [chunk.lines for chunk in source.chunks(source.shares[0])] == [2]


def test_the_corpus_is_large_enough() -> None:
    """At least 120 files that are not what they should be."""
    assert len(MIXED) + len(WRONG_CODEC) + len(BAD) + 2 * len(MALFORMED) + len(BOMBS) >= 120
