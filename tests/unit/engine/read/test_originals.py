"""The unchanged records of a delivery, to be written as accepted or rejected rows."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

from lakegate.contract.file_formats import Compression, Csv, Format, Storage
from tests.deliveries.delivery import plan_of
from tests.unit.engine.read.opened import opened


def test_an_object_without_a_byte_has_no_records(tmp_path: Path) -> None:
    """An empty compressed object beside another one has no records, and the lines of the other one are returned."""
    plan = plan_of({"a": "string"}, csv=Csv(header=False, multi_line=True))
    plan = replace(plan, storage=Storage(Format.CSV, Compression.GZIP))
    source = opened(plan, tmp_path, gzip.compress(b""), gzip.compress(b'x\n"y\nz"\n'))

    found = [
        (share.part, line)
        for share in source.shares
        for table in source.originals(share)
        for line in table.column("line").to_pylist()
    ]

    assert found == [(1, b"x"), (1, b'"y\nz"')]
