"""The records that a delivery is split into with `onReject: rows`: as the native engine finds them, and as they were written."""

from __future__ import annotations

import bz2
import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import duckdb
import pyarrow as pa

from lakegate.contract.file_formats import Compression, Format
from lakegate.engine.read.data_source import LINE, ROW, LocalStore, Source
from lakegate.engine.read.open_delivery import open_source
from lakegate.engine.read.stored_types import to_canonical
from lakegate.engine.rejected_rows import Rejected
from lakegate.plan.plan import Plan
from lakegate.plan.request import StagedPart
from lakegate.plan.result import Shares, WrittenObject
from lakegate.verdict.file_checks import RECORDS

Records = Counter[tuple[str, ...]]
"""Records by their text, or by the texts of their columns; the rejected ones behind their reasons."""
_UNPACK: dict[Compression, Callable[[bytes], bytes]] = {
    Compression.NONE: bytes,
    Compression.GZIP: gzip.decompress,
    Compression.BZIP2: bz2.decompress,
}


def found_apart(plan: Plan, source: Source, rejected: Rejected) -> tuple[Records, Records]:
    """The accepted and the rejected records as the native engine has them."""
    accepted, refused = Counter[tuple[str, ...]](), Counter[tuple[str, ...]]()
    for partial in rejected.partials:
        lines, masks = rejected.reasons(partial)
        broken = dict(zip(lines.tolist(), masks.tolist(), strict=True))
        for row, record in _records(plan, source, partial.number):
            mask = broken.get(row)
            if mask == 0:
                accepted[record] += 1
            else:
                names = [each for at, each in enumerate(rejected.checks) if mask is not None and mask >> at & 1]
                refused["; ".join(names) if mask is not None else RECORDS, *record] += 1
    return accepted, refused


def written_apart(plan: Plan, shares: Shares) -> tuple[Records, Records]:
    """The records in the objects that an engine wrote."""
    if not plan.storage.format.is_text:
        return _rows(plan, shares.accepted), _rows(plan, shares.rejected)
    accepted, refused = Counter[tuple[str, ...]](), Counter[tuple[str, ...]]()
    for each in shares.accepted:
        accepted.update((line,) for line in _lines(plan, each))
    for each in shares.rejected:
        refused.update(_with_reasons(plan, line) for line in _lines(plan, each))
    return accepted, refused


def _records(plan: Plan, source: Source, number: int) -> Iterator[tuple[int, tuple[str, ...]]]:
    for found in source.originals(source.shares[number]):
        rows = found.column(ROW).to_pylist()
        if LINE in found.column_names:
            lines = [line.decode(plan.csv.encoding, "replace") for line in found.column(LINE).to_pylist()]
            yield from zip(rows, [(line,) for line in lines], strict=True)
        else:
            yield from zip(rows, _texts(source, found.drop_columns([ROW])), strict=True)


def _texts(source: Source, table: pa.Table) -> list[tuple[str, ...]]:
    """The rows of a table of `x0`, … by the texts of their values."""
    columns = [to_canonical(table.column(at).combine_chunks(), kind) for at, kind in enumerate(source.kinds.values())]
    if not table.num_rows:
        return []
    named = pa.table(columns, names=table.column_names)
    texts = ", ".join(f"CAST({name} AS VARCHAR)" for name in named.column_names)
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("found", named)
        return connection.execute(f"SELECT {texts} FROM found").fetchall()  # noqa: S608 - generated names


def _rows(plan: Plan, written: tuple[WrittenObject, ...]) -> Records:
    if not written:
        return Counter()
    source = open_source(plan, tuple(StagedPart(each.uri, each.size) for each in written), LocalStore())
    return Counter(record for share in range(len(source.shares)) for _, record in _records(plan, source, share))


def _lines(plan: Plan, written: WrittenObject) -> list[str]:
    body = _UNPACK[plan.storage.compression](Path(urlsplit(written.uri).path).read_bytes())
    content = body.split(b"\n", plan.csv.skip_rows)[-1].decode(plan.csv.encoding, "replace") if body else ""
    if plan.storage.format is not Format.CSV or not plan.csv.multi_line:
        lines = content.removesuffix("\n").split("\n") if content else []
    else:
        lines = _whole(content, plan.csv.quote)
    return lines[1:] if plan.storage.format is Format.CSV and plan.csv.header else lines


def _whole(content: str, quote: str) -> list[str]:
    """The records of a text in which quotes may hold line breaks: one ends where its quotes are even in number."""
    records, begun = list[str](), ""
    for line in content.splitlines(keepends=True):
        begun += line
        if begun.count(quote) % 2 == 0 and begun.endswith("\n"):
            records.append(begun.removesuffix("\n"))
            begun = ""
    return [*records, begun] if begun else records


def _with_reasons(plan: Plan, line: str) -> tuple[str, str]:
    if plan.storage.format is Format.CSV:
        quote = plan.csv.quote
        reasons, _, record = line[1:].partition(f"{quote}{plan.csv.delimiter}")
        return reasons.replace(quote * 2, quote), record
    reasons, record = json.loads(line)["_reasons"], json.loads(line)["_record"]
    return reasons, record if reasons == RECORDS else line.partition(',"_record":')[2].removesuffix("}")
