"""Writes an object again without some of its records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from lakegate.contracts.model.storage import Compression, Format
from lakegate.engine.read.addressed import AddressedFile
from lakegate.engine.read.csv import CsvSource
from lakegate.engine.read.json import JsonSource
from lakegate.engine.read.parquet_footer import CODEC_NAMES, INT96, footer_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from typing import BinaryIO

    from numpy.typing import NDArray

    from lakegate.engine.read.chunk import Source, Store

CODECS: Final = {Compression.GZIP: "gzip", Compression.BZIP2: "bz2", Compression.ZSTD: "zstd"}
"""As Arrow names them."""


def write_text(source: CsvSource | JsonSource, numbers: list[NDArray[np.int64]], target: Path) -> None:
    """Write the other records of text with all that is between them, compressed as it was; `numbers`: by share, from 0."""
    kept = _lines if isinstance(source, CsvSource) else _texts
    codec = CODECS.get(source.plan.storage.compression)
    with target.open("wb") as plain, pa.CompressedOutputStream(plain, codec) if codec else plain as file:
        if isinstance(source, JsonSource) and source.plan.storage.format is Format.JSON:
            _write_array(kept(source, numbers), file)
        else:
            for piece in kept(source, numbers):
                file.write(piece)


def _lines(source: Any, numbers: list[NDArray[np.int64]]) -> Iterator[bytes]:  # noqa: ANN401 - of its own format
    for share, erased in zip(source.shares, numbers, strict=True):
        left_out = set(erased.tolist())
        for lines in source.lines(share):
            yield b"".join(line for row, line in lines if row not in left_out)


def _texts(source: Any, numbers: list[NDArray[np.int64]]) -> Iterator[bytes]:  # noqa: ANN401 - likewise
    end = b"" if source.plan.storage.format is Format.JSON else b"\n"
    for share, erased in zip(source.shares, numbers, strict=True):
        left_out, row = set(erased.tolist()), 0
        for texts, _ in source.texts(share):
            for text in texts:
                if row not in left_out:
                    yield text + end
                row += 1


def _write_array(elements: Iterable[bytes], file: BinaryIO) -> None:
    file.writelines((b",\n" if number else b"[") + text for number, text in enumerate(elements))
    file.write(b"]\n")


def write_parquet(source: Source, store: Store, numbers: list[NDArray[np.int64]], target: Path) -> None:
    """Row group by row group, with the schema, the metadata and the codecs of the file."""
    from pyarrow.parquet import ParquetFile, ParquetWriter  # noqa: PLC0415 - other formats do not need its 30 ms

    file = AddressedFile(store, source.shares[0].address)
    footer, opened = footer_of(file), ParquetFile(file, page_checksum_verification=True)
    footer.refuse(footer.groups, {leaf.path[0] for leaf in footer.leaves})
    chunks = zip(footer.leaves, footer.groups[0].chunks, strict=True)
    codecs = {".".join(leaf.path): CODEC_NAMES[chunk.codec] for leaf, chunk in chunks}
    is_old = any(leaf.kind == INT96 for leaf in footer.leaves)
    with ParquetWriter(
        target, opened.schema_arrow, compression=codecs, use_deprecated_int96_timestamps=is_old
    ) as writer:
        for share, erased in zip(source.shares, numbers, strict=True):
            before = 0
            for group in range(share.start, share.end):
                table = opened.read_row_group(group)
                keep = np.ones(table.num_rows, np.bool_)
                keep[erased[(erased >= before) & (erased < before + table.num_rows)] - before] = False
                writer.write_table(table.filter(pa.array(keep)))
                before += table.num_rows
