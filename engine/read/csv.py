"""CSV: byte ranges of an object as columns of text, by the grammar of records (docs/types.md, docs/data.md).

1. A share is cut at line feeds: a line belongs to the share in which it begins. Where quoted values may hold line breaks, and in a
   packed object, the share is the whole object.
2. A block in which nothing is odd (no quote, NUL, CR but before LF, blank line, other encoding or long line) is parsed as it stands.
3. Otherwise `engine.read.records` parts its records into strict ones, which mean the same to every parser, and malformed ones.
4. pyarrow parses strict records; those with another number of values than the header are malformed.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import csv as arrow_csv

from contracts.header import columns_of, first_line
from contracts.kinds import BOM, UnreadableError
from contracts.model import Compression
from contracts.result import Columns
from engine.read.blocks import blocks_of, stream_blocks
from engine.read.chunk import ROW, Chunk, Expression, Share
from engine.read.records import Dialect, Records, strict_records
from engine.type.values import text_literal, typed_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from contracts.model import Csv
    from contracts.plan import Plan, PlanField
    from contracts.request import Part
    from engine.read.chunk import Store

SHARE = 16 << 20
"""Bytes of an object that one share holds."""


@dataclass(frozen=True, slots=True)
class CsvSource:
    """A delivery of CSV files (`engine.read.chunk.Source`)."""

    plan: Plan
    store: Store
    header: str | None
    """The header line that all objects share; None where the contract has none."""
    columns: Columns
    shares: tuple[Share, ...]
    expressions: Mapping[str, Expression]

    def chunks(self, share: Share) -> Iterator[Chunk]:
        """See `Source`."""
        csv, dialect = self.plan.csv, Dialect.of(self.plan.csv)
        is_first = share.start == 0
        if self.plan.storage.compression is not Compression.NONE:
            pieces = stream_blocks(self.store, share.address, self.plan.storage.compression, dialect)
        else:
            pieces = blocks_of(self.store, share, dialect)
        with closing(pieces):
            for block, size in pieces:
                yield self._chunk(block, size, dialect, csv, is_first=is_first)
                is_first = False

    def _chunk(self, block: bytes, size: int, dialect: Dialect, csv: Csv, *, is_first: bool) -> Chunk:
        width = len(self.columns.found)
        skipped, text = self._without_header(block, csv) if is_first else (0, block)
        records = strict_records(text, dialect, width)
        ...


def open_csv(plan: Plan, parts: tuple[Part, ...], store: Store, heads: list[bytes]) -> CsvSource:
    """The delivery as a source; `heads` are the first unpacked bytes of each object. UnreadableError for another header."""
