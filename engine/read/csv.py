"""CSV: byte ranges of objects as columns of text (docs/types.md, docs/data.md).

A share of a plain object is a byte range: a line belongs to the share in which it begins. An object that is packed, or in which
quoted values may hold line breaks, is one share. `lakegate.engine.read.records` parses the records of each block.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa

from lakegate.contracts.door.file_signatures import BOM, UTF_8, UnreadableError, has_mark
from lakegate.contracts.door.header import columns_of, first_line, header_end, refuse_header
from lakegate.contracts.model.storage import Compression
from lakegate.contracts.plan.result import Columns
from lakegate.engine.read.blocks import object_blocks, share_block, shares_of
from lakegate.engine.read.chunk import ROW, Chunk, Expression, Malformed, line_table, of_object
from lakegate.engine.read.csv_records import Dialect, record_ends
from lakegate.engine.read.records import parse
from lakegate.engine.type.values import plain_number, text_literal, typed_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lakegate.contracts.plan.plan import Plan, PlanField
    from lakegate.contracts.plan.request import StagedPart
    from lakegate.engine.read.blocks import Block
    from lakegate.engine.read.chunk import Share, Store
    from lakegate.engine.type.physical import Physical

SHARE_BYTES = 8 << 20
"""Bytes of an object that one share, and one block of a share, holds."""
BLOCK_LINES = 1 << 18
"""Lines of a block: each costs memory, however short it is."""


@dataclass(frozen=True, slots=True)
class CsvSource:
    """A delivery of CSV files (`lakegate.engine.read.chunk.Source`)."""

    plan: Plan
    store: Store
    columns: Columns
    shares: tuple[Share, ...]
    expressions: Mapping[str, Expression]
    sizes: tuple[int, ...]
    header: str | None
    """The header line of all objects; None if the contract declares none."""
    is_marked: bool = False
    kinds: Mapping[str, Physical] = field(default_factory=dict)

    def chunks(self, share: Share) -> Iterator[Chunk]:
        """See `Source`."""
        before = 0
        for block, size in self.blocks(share):
            chunk = self._chunk(block, size, before, is_first=share.start == 0 and before == 0)
            before += chunk.lines
            yield chunk

    def blocks(self, share: Share) -> Iterator[Block]:
        """The bytes of a share, some MiB and some lines at a time."""
        dialect = Dialect.of(self.plan.csv)
        quote = dialect.raw_quote if dialect.multi_line else None
        for block, size in self._blocks(share, quote):
            starts = [0]
            if block.count(b"\n") > BLOCK_LINES:
                starts += record_ends(block, quote)[BLOCK_LINES - 1 :: BLOCK_LINES].tolist()
            for start, end in pairwise([*starts, len(block)]):
                if end > start or start == 0:
                    yield block[start:end], 0 if start else size

    def _blocks(self, share: Share, quote: bytes | None) -> Iterator[Block]:
        if _is_whole(self.plan):
            yield from object_blocks(self.store, share.address, self.plan.storage.compression, SHARE_BYTES, quote)
        else:
            yield share_block(self.store, share)

    def originals(self, share: Share) -> Iterator[pa.Table]:
        """See `Source`."""
        csv, has_one_column = self.plan.csv, len(self.columns.found) == 1
        header, mark = csv.header and share.start == 0, BOM if csv.encoding == UTF_8 else b""
        for lines in self.lines(share):
            own = lines[1:] if header else lines
            header = False
            records = [(row, line.removesuffix(b"\n").removesuffix(b"\r")) for row, line in own]
            if records and records[0][0] == share.start == 0:
                records[0] = 0, records[0][1].removeprefix(mark)
            yield line_table([(row, line) for row, line in records if line or has_one_column])

    def lines(self, share: Share) -> Iterator[list[tuple[int, bytes]]]:
        """All bytes of a share, a block at a time: each record with the number of its first line, from 0, and its line end.

        The header is one of them; a byte order mark belongs to the first.
        """
        before, dialect = 0, Dialect.of(self.plan.csv)
        for block, _ in self.blocks(share):
            text, skipped = self._without_header(block, is_first=share.start == 0 and before == 0)
            begin = len(block) - len(text)
            ends = (record_ends(text, dialect.raw_quote if dialect.multi_line else None) + begin).tolist()
            if text and (not ends or ends[-1] < len(block)):
                ends.append(len(block))
            starts = [0, begin] if skipped else [0]
            found, at = [], before
            for start, end in pairwise([*starts, *ends]):
                found.append((at, block[start:end]))
                at += max(1, found[-1][1].count(b"\n"))
            yield found
            before = at

    def _without_header(self, block: bytes, *, is_first: bool) -> tuple[bytes, int]:
        """A block without a byte order mark and a header, and the number of lines of the header."""
        csv = self.plan.csv
        if is_first and csv.encoding == UTF_8:
            block = block.removeprefix(BOM)
        if not (is_first and csv.header):
            return block, 0
        header = header_end(block, csv) or len(block)
        return block[header:], max(1, block.count(b"\n", 0, header))

    def _chunk(self, block: bytes, size: int, lines: int, *, is_first: bool) -> Chunk:
        """The chunk of a block that follows `lines` lines of the share."""
        text, skipped = self._without_header(block, is_first=is_first)
        if text and not text.endswith(b"\n"):
            text += b"\n"
        names = {name: at for at, name in enumerate(self.columns.found)}
        aliases = {f"x{names[each.name]}": each.alias for each in self.plan.columns if each.name in names}
        parsed = parse(text, Dialect.of(self.plan.csv), len(names), sorted(int(name[1:]) for name in aliases))
        before = lines + skipped
        columns = {aliases[name]: parsed.table.column(name) for name in parsed.table.column_names if name in aliases}
        return Chunk(
            pa.table({ROW: pa.array(parsed.rows + before, pa.int64()), **columns}),
            parsed.lines + skipped,
            size,
            tuple(
                Malformed(each.reason, each.rows, tuple(line + before for line in each.lines))
                for each in sorted(parsed.malformed, key=lambda each: each.reason)
            ),
            tail=parsed.tail,
        )


def open_csv(plan: Plan, parts: tuple[StagedPart, ...], store: Store, heads: list[bytes]) -> CsvSource:
    """The delivery as a source; `heads` are the first unpacked bytes of each object.

    UnreadableError where the objects have no header of this dataset, or different ones.
    """
    header = _header(plan, heads)
    columns = _columns(plan, header, heads[0])
    found = set(columns.found)
    expressions = {each.alias: _expression(each, plan, is_found=each.name in found) for each in plan.fields}
    shares = tuple(shares_of(parts, None if _is_whole(plan) else SHARE_BYTES))
    return CsvSource(
        plan, store, columns, shares, expressions, tuple(part.size for part in parts), header, has_mark(heads)
    )


def _header(plan: Plan, heads: list[bytes]) -> str | None:
    lines = [_first_line(number, head, plan) for number, head in enumerate(heads)]
    if not plan.csv.header:
        return None
    if len(set(lines)) > 1:
        raise UnreadableError(
            "header", "the objects of the delivery have different headers: give all of them the same one"
        )
    return lines[0]


def _first_line(number: int, head: bytes, plan: Plan) -> str:
    with of_object(number):
        return first_line(head, plan.csv)


def _columns(plan: Plan, header: str | None, head: bytes) -> Columns:
    """The columns that the header line names; without one, the declared ones."""
    declared = tuple(field.name for field in plan.fields)
    with of_object(0):
        if header is not None:
            return columns_of(header, plan.csv, declared, head, plan.physical_names)
        refuse_header(first_line(head, plan.csv), plan.csv, declared)
        return Columns(declared)


def _is_whole(plan: Plan) -> bool:
    return plan.csv.multi_line or plan.storage.compression is not Compression.NONE


def _expression(field: PlanField, plan: Plan, *, is_found: bool) -> Expression:
    if not is_found:
        text = "NULL::VARCHAR"
        return Expression(text, typed_value(field, text))
    words, text = plan.csv.null_words(field.name), field.alias
    if words:
        nulls = ", ".join(text_literal(each) for each in words)
        text = f"CASE WHEN {field.alias} NOT IN ({nulls}) THEN {field.alias} END"
    if field.type.numeric and not plan.csv.has_plain_numbers:
        return Expression(text, typed_value(field, plain_number(text, plan.csv)), field.alias)
    return Expression(text, typed_value(field, text), field.alias, typed_value(field, text, plain=True))
