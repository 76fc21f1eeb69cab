"""The memory of a whole native judgement: `lakegate check` in a process of its own each, on a data bomb and on a small file."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from lakegate.contract.file_formats import Compression, Format, Storage
from tests.deliveries.judged import Judge, judge
from tests.deliveries.refused import BOMBS, delta_parquet, gzip_of
from tests.deliveries.written import as_parquet, packed

ABOVE = 192 << 20
"""Bytes above a small file's judgement, for what the engine's own limit of memory does not govern."""
KEYS = 10**9
"""Bytes that DuckDB may take for keys before it spills them (`lakegate.engine.measure.duckdb_tables`)."""
PLAIN: dict[str, Any] = {"compression": "zstd", "use_dictionary": False, "write_statistics": False}
"""Pages of long texts that are written in a tenth of the time: a dictionary and statistics would copy each of them.
pyarrow itself takes 252 MiB to read a text of 120 MiB, and 510 MiB for 120 texts of 1 MiB."""
CONTRACT = """\
apiVersion: v3.1.0
kind: DataContract
id: bombs
version: 1.0.0
status: active
name: Bombs
customProperties: [{property: lakegate, value: FORM}]
schema:
  - name: rows
    logicalType: object
    properties:
      - {name: id, logicalType: integer}
      - {name: name, logicalType: string, required: true, unique: true}
"""


@pytest.fixture(scope="module")
def judged() -> Iterator[Judge]:
    """It is one process for the tests of this file."""
    with judge() as found:
        yield found


@pytest.fixture(scope="module")
def small(judged: Judge) -> int:
    """The peak where a small CSV file is judged by a process that has imported all that it needs."""
    _, found = (judged(Storage(Format.CSV), b"id,name\n1,Ana\n2,Rui\n", CONTRACT) for _ in range(2))
    assert (found.code, found.verdict) == (0, "accepted")
    return found.peak


def nested() -> bytes:
    return b'{"id": ' + b"[" * 500_000 + b"]" * 500_000 + b"}\n"


def huge_list() -> bytes:
    return b'{"id": [' + b"1," * 40_000_000 + b"1]}\n"


MORE: dict[str, Callable[[], tuple[Storage, bytes]]] = {
    "gzip of one huge record": lambda: (
        Storage(Format.CSV, Compression.GZIP),
        gzip_of(b"id,name\n1,", b"x" * (1 << 20), 60),
    ),
    "zstd of one huge record": lambda: (
        Storage(Format.CSV, Compression.ZSTD),
        packed(b"id,name\n1," + b"x" * (60 << 20) + b"\n", Compression.ZSTD),
    ),
    "JSON that nests half a million times": lambda: (Storage(Format.JSONL), nested()),
    "an array of nested JSON": lambda: (Storage(Format.JSON), b"[" + nested().strip() + b"]"),
    "zstd of one huge list": lambda: (Storage(Format.JSONL, Compression.ZSTD), packed(huge_list(), Compression.ZSTD)),
    "Parquet of one text of 120 MiB": lambda: (
        Storage(Format.PARQUET),
        as_parquet(pa.table({"id": [1], "name": ["x" * (120 << 20)]}), **PLAIN),
    ),
    "Parquet of 120 texts of 1 MiB": lambda: (
        Storage(Format.PARQUET),
        as_parquet(
            pa.table({"id": list(range(120)), "name": [f"{at:07}" + "x" * (1 << 20) for at in range(120)]}),
            compression="zstd",
        ),
    ),
}


@pytest.mark.parametrize("name", [*BOMBS, *MORE])
def test_a_bomb_is_judged_in_bounded_memory(name: str, judged: Judge, small: int) -> None:
    """Each is rejected, with at most 192 MiB more memory than a small CSV file takes."""
    storage, content = (BOMBS | MORE)[name]()
    found = judged(storage, content, CONTRACT)

    assert (found.code, found.verdict) == (1, "rejected")
    assert found.peak - small <= ABOVE


LISTS: dict[str, Callable[[], tuple[pa.Array, str]]] = {
    "2.4 million whole numbers": lambda: (pa.array([list(range(2_400_000))], pa.list_(pa.int64())), "rejected"),
    "8 million equal ones": lambda: (
        pa.ListArray.from_arrays(pa.array([0, 8_000_000], pa.int32()), pa.repeat(True, 8_000_000)),
        "rejected",
    ),
    "4 million in rows": lambda: (
        pa.ListArray.from_arrays(pa.arange(0, 4_000_001, 400_000).cast(pa.int32()), pa.repeat(True, 4_000_000)),
        "accepted",
    ),
}


@pytest.mark.parametrize("name", LISTS)
def test_long_lists_are_judged_in_bounded_memory(name: str, judged: Judge, small: int) -> None:
    """Each element is measured: a list of too many makes its record malformed, and few records are measured at a time."""
    items, expected = LISTS[name]()
    kind = "boolean" if pa.types.is_boolean(items.type.value_type) else "integer"
    column = f"{{name: name, logicalType: array, required: true, items: {{logicalType: {kind}, required: true}}}}"
    contract = CONTRACT.replace("{name: name, logicalType: string, required: true, unique: true}", column)
    content = as_parquet(pa.table({"id": list(range(len(items))), "name": items}), compression="zstd")
    found = judged(Storage(Format.PARQUET), content, contract)

    assert (found.code, found.verdict) == (int(expected == "rejected"), expected)
    assert found.peak - small <= ABOVE


def digits(size: int, count: int, step: int) -> Iterator[str]:
    """So many texts of a size that hardly pack: each begins so many characters after the one before."""
    noise = Random(7).randbytes((size + step * count) // 2).hex()
    return (noise[at : at + size] for at in range(0, step * count, step))


LARGE: dict[str, Callable[[], tuple[Storage, bytes, str]]] = {
    "Parquet of 300 long texts": lambda: (
        Storage(Format.PARQUET),
        as_parquet(
            pa.table({"id": list(range(300)), "name": list(digits(1 << 20, 300, 1_000))}),
            write_batch_size=1,
            use_dictionary=False,
            write_statistics=False,
        ),
        "accepted",
    ),
    "Parquet of texts that begin alike": lambda: (Storage(Format.PARQUET), delta_parquet(), "rejected"),
    "gzip that unpacks to 69 times its size": lambda: (
        Storage(Format.CSV, Compression.GZIP),
        gzip.compress(
            "".join(
                ["id,name\n", *(f"{at},{text:x<2020}\n" for at, text in enumerate(digits(20, 40_000, 20)))]
            ).encode(),
            1,
        ),
        "accepted",
    ),
}


@pytest.mark.parametrize(
    "name", [each if "300" in each else pytest.param(each, marks=pytest.mark.full) for each in LARGE]
)
def test_what_is_just_no_bomb_is_judged_in_bounded_memory(name: str, judged: Judge, small: int) -> None:
    """Large values and packed files inside the bounds, or beyond them late: keys within the engine's limit, and little more."""
    storage, content, expected = LARGE[name]()
    found = judged(storage, content, CONTRACT)

    assert found.verdict == expected
    assert found.peak - small <= KEYS + ABOVE
