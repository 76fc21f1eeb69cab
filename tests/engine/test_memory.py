"""The memory of a whole native judgement: `lakegate check` in a process of its own, on a data bomb and on a small file."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from lakegate.contracts.model.storage import Compression, Format, Storage
from lakegate.infra.local.clone import ROOT
from tests.deliveries.refused import BOMBS
from tests.deliveries.written import as_parquet, packed

if TYPE_CHECKING:
    from collections.abc import Callable

ABOVE = 256 << 20
"""Bytes above a small file's judgement, for what the engine's own limit of memory does not govern."""
KEYS = 10**9
"""Bytes that DuckDB may take for keys before it spills them (`lakegate.engine.measure.tables`)."""
PLAIN: dict[str, Any] = {"compression": "zstd", "use_dictionary": False, "write_statistics": False}
"""Pages of long texts that are written in a tenth of the time: a dictionary and statistics would copy each of them."""
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
RUN = """\
import json, os, subprocess, sys
running = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, text=True)
out = running.stdout.read()
_, status, usage = os.wait4(running.pid, 0)
print(json.dumps([os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024, json.loads(out)["verdict"]]))
"""
"""A small process between the tests and the command: the peak of a child begins with what its parent had in memory."""


def judged(storage: Storage, content: bytes) -> tuple[int, int, str]:
    """Exit code, peak of the resident memory in bytes, and verdict."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        form = {"format": storage.format.value, "compression": storage.compression.value}
        (folder / "contract.yaml").write_text(CONTRACT.replace("FORM", json.dumps(form)))
        (folder / "data").write_bytes(content)
        command = [
            "-m",
            "lakegate.cli.main",
            "check",
            "--json",
            "--contract",
            str(folder / "contract.yaml"),
            str(folder / "data"),
        ]
        ended = subprocess.run(  # noqa: S603 - our own command
            [sys.executable, "-c", RUN, sys.executable, *command],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
    code, peak, verdict = json.loads(ended.stdout)
    return code, peak, verdict


@cache
def small() -> int:
    """The peak where a small CSV file is judged."""
    code, peak, verdict = judged(Storage(Format.CSV), b"id,name\n1,Ana\n2,Rui\n")
    assert (code, verdict) == (0, "accepted")
    return peak


def nested() -> bytes:
    return b'{"id": ' + b"[" * 500_000 + b"]" * 500_000 + b"}\n"


def huge_list() -> bytes:
    return b'{"id": [' + b"1," * 60_000_000 + b"1]}\n"


MORE: dict[str, Callable[[], tuple[Storage, bytes]]] = {
    "gzip of one huge record": lambda: (
        Storage(Format.CSV, Compression.GZIP),
        packed(b"id,name\n1," + b"x" * (60 << 20) + b"\n", Compression.GZIP),
    ),
    "zstd of one huge record": lambda: (
        Storage(Format.CSV, Compression.ZSTD),
        packed(b"id,name\n1," + b"x" * (60 << 20) + b"\n", Compression.ZSTD),
    ),
    "JSON that nests half a million times": lambda: (Storage(Format.JSONL), nested()),
    "an array of nested JSON": lambda: (Storage(Format.JSON), b"[" + nested().strip() + b"]"),
    "zstd of one huge list": lambda: (Storage(Format.JSONL, Compression.ZSTD), packed(huge_list(), Compression.ZSTD)),
    "Parquet of one text of 300 MiB": lambda: (
        Storage(Format.PARQUET),
        as_parquet(pa.table({"id": [1], "name": ["x" * (300 << 20)]}), **PLAIN),
    ),
    "Parquet of 400 texts of 1 MiB": lambda: (
        Storage(Format.PARQUET),
        as_parquet(
            pa.table({"id": list(range(400)), "name": [f"{at:07}" + "x" * (1 << 20) for at in range(400)]}),
            compression="zstd",
        ),
    ),
}


@pytest.mark.parametrize("name", [*BOMBS, *MORE])
def test_a_bomb_is_judged_in_bounded_memory(name: str) -> None:
    """Each is rejected, with at most 256 MiB more memory than a small CSV file takes."""
    storage, content = (BOMBS | MORE)[name]()
    code, peak, verdict = judged(storage, content)
    above = peak - small()

    assert (code, verdict) == (1, "rejected")
    assert above <= ABOVE


def digits(size: int, seed: int) -> str:
    """Text that hardly packs."""
    return Random(seed).randbytes(size // 2).hex()


LARGE: dict[str, Callable[[], tuple[Storage, bytes, str]]] = {
    "Parquet of 300 long texts": lambda: (
        Storage(Format.PARQUET),
        as_parquet(
            pa.table({"id": list(range(300)), "name": [digits(1 << 20, at) for at in range(300)]}), write_batch_size=1
        ),
        "accepted",
    ),
    "gzip that unpacks to 80 times its size": lambda: (
        Storage(Format.CSV, Compression.GZIP),
        packed(
            b"id,name\n" + b"".join(b"%d,%s\n" % (at, digits(20, at).encode() + b"x" * 2_000) for at in range(60_000)),
            Compression.GZIP,
        ),
        "accepted",
    ),
}


@pytest.mark.parametrize("name", LARGE)
def test_what_is_just_no_bomb_is_judged_in_bounded_memory(name: str) -> None:
    """Large values and packed files inside the bounds are measured, with keys within the engine's limit and little besides."""
    storage, content, expected = LARGE[name]()
    _, peak, verdict = judged(storage, content)

    assert verdict == expected
    assert peak - small() <= KEYS + ABOVE
