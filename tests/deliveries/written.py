"""Rows written as files of every format and codec."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet

from lakegate.contract.file_formats import Compression, Format, Storage
from tests.deliveries.avro import write_avro

Rows = list[dict[str, Any]]

TEXTS = (Format.CSV, Format.JSONL, Format.JSON)
STORAGES = [
    *(Storage(form, codec) for form in TEXTS for codec in Compression),
    Storage(Format.JSON, Compression.GZIP, "result.items"),
    *(Storage(form) for form in (Format.PARQUET, Format.ORC, Format.AVRO)),
]


def written(table: pa.Table, storage: Storage) -> bytes:
    """The table as one file."""
    return packed(around(storage, _WRITE[storage.format](table)), storage.compression)


def around(storage: Storage, content: bytes) -> bytes:
    """The array of a file within the object that has it, beside other members."""
    for name in reversed(storage.path):
        content = b'{"meta": [{"id": 1}], "%s": %s, "next": {"%s": []}}' % (name.encode(), content, name.encode())
    return content


def packed(content: bytes, codec: Compression) -> bytes:
    """The bytes as the codec packs them."""
    return _PACK[codec](content)


def as_parquet(table: pa.Table, **options: Any) -> bytes:
    file = io.BytesIO()
    pa.parquet.write_table(table, file, **options)
    return file.getvalue()


def as_orc(table: pa.Table, **options: Any) -> bytes:
    file = io.BytesIO()
    pa.orc.write_table(table, file, **options)
    return file.getvalue()


def as_jsonl(rows: Rows) -> bytes:
    return b"".join(_json(row) + b"\n" for row in rows)


def _json(value: Any) -> bytes:
    return json.dumps(
        value, ensure_ascii=False, default=lambda it: float(it) if isinstance(it, Decimal) else str(it)
    ).encode()


def _csv(table: pa.Table) -> bytes:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(table.column_names)
    rows.writerows([_cell(row[name]) for name in table.column_names] for row in table.to_pylist())
    return text.getvalue().encode()


def _cell(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


_WRITE: dict[Format, Callable[[pa.Table], bytes]] = {
    Format.CSV: _csv,
    Format.JSONL: lambda table: as_jsonl(table.to_pylist(maps_as_pydicts="strict")),
    Format.JSON: lambda table: _json(table.to_pylist(maps_as_pydicts="strict")),
    Format.PARQUET: as_parquet,
    Format.ORC: as_orc,
    Format.AVRO: write_avro,
}
_PACK: dict[Compression, Callable[[bytes], bytes]] = {
    Compression.NONE: bytes,
    Compression.GZIP: gzip.compress,
    Compression.BZIP2: bz2.compress,
    Compression.ZSTD: lambda content: pa.Codec("zstd").compress(content, asbytes=True),
}
