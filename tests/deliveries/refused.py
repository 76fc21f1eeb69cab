"""Files of every format that are not what they should be, and bombs, for the tests of both engines."""

from __future__ import annotations

import base64
import gzip
import io
import struct
import zipfile
import zlib
from collections.abc import Callable

import pyarrow as pa
import pyarrow.parquet

from lakegate.contract.file_formats import Compression, Format, Storage
from tests.deliveries.avro import container, long, write_avro
from tests.deliveries.written import TEXTS, as_orc, as_parquet, packed, written

FIELDS = {"id": "integer", "name": "string"}
TABLE = pa.table({"id": [1, 2], "name": ["Ana", "Rui"]})
CSV, JSONL, JSON = (Storage(form) for form in TEXTS)
PARQUET, ORC, AVRO = (Storage(form) for form in (Format.PARQUET, Format.ORC, Format.AVRO))
ZIP = io.BytesIO()
with zipfile.ZipFile(ZIP, "w") as archive:
    archive.writestr("good.csv", "id,name\n1,Ana\n")
PIECES = {
    "csv": written(TABLE, CSV),
    "jsonl": written(TABLE, JSONL),
    "json": written(TABLE, JSON),
    "parquet": written(TABLE, PARQUET),
    "orc": written(TABLE, ORC),
    "avro": written(TABLE, AVRO),
    "zip": ZIP.getvalue(),
    "pdf": b"%PDF-1.7\n",
}
PACKED = {
    (form, codec): written(TABLE, Storage(form, codec))
    for form in TEXTS
    for codec in Compression
    if codec is not Compression.NONE
}


def other_files(storage: Storage) -> dict[str, bytes]:
    """Every piece of another format than the promised one."""
    return {name: content for name, content in PIECES.items() if name != storage.format.value}


MIXED = [
    *((storage, name) for storage in (JSONL, JSON, PARQUET, ORC, AVRO) for name in other_files(storage)),
    *((Storage(form, codec), name) for form, codec in PACKED for name in ("csv", "jsonl", "json", "zip", "parquet")),
]


WRONG_CODEC = [
    (promised, delivered)
    for promised in Compression
    for delivered in Compression
    if promised is not delivered and Compression.NONE not in {promised, delivered}
]


def damaged_parquet() -> bytes:
    """A file whose pages are overwritten."""
    content = bytearray(as_parquet(pa.table({"id": list(range(10_000)), "name": ["x"] * 10_000}), compression="gzip"))
    content[200:2000] = b"\xff" * 1800
    return bytes(content)


def lying_footer() -> bytes:
    """A footer with a length beyond the file."""
    return PIECES["parquet"][:-8] + (1 << 30).to_bytes(4, "little") + b"PAR1"


BAD: dict[str, tuple[Storage, bytes, str]] = {
    "a Parquet file without its end": (PARQUET, PIECES["parquet"][:-1], "footer"),
    "a Parquet file without its footer": (PARQUET, PIECES["parquet"][:-200], "footer"),
    "a Parquet file of four bytes": (PARQUET, b"PAR1", "footer"),
    "a Parquet file of twelve bytes": (PARQUET, b"PAR1" + bytes(4) + b"PAR1", "footer"),
    "a footer longer than its file": (PARQUET, lying_footer(), "footer"),
    "a footer of noise": (PARQUET, b"PAR1" + b"\xff" * 99 + (99).to_bytes(4, "little") + b"PAR1", "footer"),
    "damaged pages": (PARQUET, damaged_parquet(), "inside"),
    "an encrypted Parquet file": (PARQUET, b"PARE" + bytes(20) + b"PARE", "encrypted-parquet"),
    "a Parquet file of other columns": (PARQUET, as_parquet(pa.table({"x": [1]})), "header"),
    "a Parquet column named twice": (
        PARQUET,
        as_parquet(pa.table([pa.array([1]), pa.array([2])], names=["id", "id"])),
        "header",
    ),
    "an ORC file without its end": (ORC, PIECES["orc"][:-3], "footer"),
    "an ORC file of its magic": (ORC, b"ORC", "footer"),
    "an ORC footer of noise": (ORC, PIECES["orc"][:-60] + b"\xff" * 60, "footer"),
    "a moment that Arrow cannot hold": (
        ORC,
        as_orc(pa.table({"id": [1], "name": pa.array([-(2**55)], pa.timestamp("us"))})),
        "inside",
    ),
    "an Avro file cut in a block": (AVRO, PIECES["avro"][:-5], "inside"),
    "an Avro file with a tail": (AVRO, PIECES["avro"] + b"tail", "inside"),
    "an Avro file of its magic": (AVRO, b"Obj\x01", "inside"),
    "an Avro file of numbers": (AVRO, container("long", [long(1)]), "schema"),
    "an Avro file of an unknown codec": (AVRO, write_avro(TABLE, "lzo"), "codec"),
    "an Avro file whose records break off": (
        AVRO,
        container({"type": "record", "name": "r", "fields": [{"name": "id", "type": "string"}]}, [long(99)]),
        "inside",
    ),
    "an Avro file of other columns": (AVRO, write_avro(pa.table({"x": [1]})), "header"),
    "a cut gzip": (Storage(Format.CSV, Compression.GZIP), PACKED[Format.CSV, Compression.GZIP][:-9], "damaged"),
    "a cut bzip2": (Storage(Format.JSONL, Compression.BZIP2), PACKED[Format.JSONL, Compression.BZIP2][:-9], "damaged"),
    "a cut zstd": (Storage(Format.JSON, Compression.ZSTD), PACKED[Format.JSON, Compression.ZSTD][:-3], "damaged"),
    "a gzip with a tail": (
        Storage(Format.CSV, Compression.GZIP),
        PACKED[Format.CSV, Compression.GZIP] + b"tail",
        "damaged",
    ),
    "a gzip of a gzip": (
        Storage(Format.CSV, Compression.GZIP),
        gzip.compress(gzip.compress(PIECES["csv"], mtime=0)),
        "packed-twice",
    ),
    "a gzip of nothing": (Storage(Format.CSV, Compression.GZIP), gzip.compress(b""), "header"),
    "a gzip of UTF-16": (
        Storage(Format.CSV, Compression.GZIP),
        gzip.compress(PIECES["csv"].decode().encode("utf-16")),
        "encoding",
    ),
    "JSON lines in UTF-16": (JSONL, PIECES["jsonl"].decode().encode("utf-16"), "encoding"),
    "JSON lines in UTF-16 without a mark": (JSONL, PIECES["jsonl"].decode().encode("utf-16-le"), "encoding"),
    "an array in Latin-1": (JSON, '[{"id": 1, "name": "João"}]'.encode("latin-1"), "array-encoding"),
    "an array that breaks off": (JSON, b'[{"id": 1, "name": "Ana"}, {"id": 2', "array"),
    "an array with a comma too many": (JSON, b'[{"id": 1},]', "array"),
    "an array with more behind it": (JSON, b'[{"id": 1}]\n[{"id": 2}]', "array"),
    "an array that nests too deep": (JSON, b'[{"id": ' + b"[" * 99_999, "array-depth"),
    "zero bytes of a JSON array": (JSON, b"", "empty"),
    "zero bytes of Parquet": (PARQUET, b"", "empty"),
}


MALFORMED = {
    "no JSON": (b'{"id": 1, "name": "Ana"}\n{"id": \n', "cut"),
    "two objects": (b'{"id": 1, "name": "Ana"}\n{"id": 1} {"id": 2}\n', "several"),
    "no object": (b'{"id": 1, "name": "Ana"}\n[1]\n', "object"),
    "a key twice": (b'{"id": 1, "name": "Ana"}\n{"id": 1, "id": 2}\n', "keys"),
    "Latin-1": ('{"id": 1, "name": "Ana"}\n{"name": "João"}\n'.encode("latin-1"), "encoding"),
    "a line of 2 MiB": (b'{"id": 1, "name": "Ana"}\n{"name": "' + b"x" * (2 << 20) + b'"}\n', "too_long"),
}


# --- bombs

ROW = b"1," + b"a" * 1000 + b"\n"
LARGE = 100 << 20
BZIP2 = (
    "QlpoOTFBWSZTWQmdYJsFrBNZAYAQAAQgACYjAIAACCAAcEA000BSpGQya3FKFGUpQo8ylKFHKQkivEpQo9SKUKOYkUoUb5rvWJFKFH5igrJMpr"
    "O2zksOAvw/sgMAIAAIQABAAAEAABBAAMBSoZBgGRShR6KUKOxShRpKUKPcilCjIpQo0qKUKPmKCskymsyyshrIAZqyyAwAgAAhAAEAAAQAAEEA"
    "AgKVDIMAwpJRc8UkouFJKLSASjCklFoFJKL4u5IpwoSAN2xR0A=="
)
"""`bz2.compress(b"id,name\\n" + ROW * (LARGE // len(ROW)))` in base64, which takes a second to make."""


def wide_parquet() -> bytes:
    return as_parquet(pa.table({f"c{at}": [1] for at in range(10_001)} | {"id": [1]}))


BOMBS: dict[str, Callable[[], tuple[Storage, bytes]]] = {
    "gzip of zeros": lambda: (Storage(Format.CSV, Compression.GZIP), gzip_of(b"id,name\n", bytes(1 << 20), 400)),
    "gzip of rows": lambda: (Storage(Format.CSV, Compression.GZIP), gzip_of(b"id,name\n", ROW * 1_000, 400)),
    "bzip2 of rows": lambda: (Storage(Format.CSV, Compression.BZIP2), base64.b64decode(BZIP2)),
    "zstd of rows": lambda: (
        Storage(Format.CSV, Compression.ZSTD),
        packed(b"id,name\n" + ROW * (LARGE // len(ROW)), Compression.ZSTD),
    ),
    "gzip of JSON lines": lambda: (
        Storage(Format.JSONL, Compression.GZIP),
        gzip_of(b"", b'{"id": 1}\n' * 100_000, 400),
    ),
    "zstd of an array": lambda: (
        Storage(Format.JSON, Compression.ZSTD),
        packed(b"[" + b'{"id": 1},' * (LARGE // 10), Compression.ZSTD),
    ),
    "gzip of one line": lambda: (
        Storage(Format.JSONL, Compression.GZIP),
        gzip_of(b'{"name": "', b"x" * (1 << 20), 400),
    ),
    "a gzip of many members": lambda: (
        Storage(Format.CSV, Compression.GZIP),
        gzip.compress(b"id,name\n") + gzip.compress(ROW * 1_000, 9) * 400,
    ),
    "Parquet of one number": lambda: (PARQUET, repeated_parquet()),
    "Parquet of one long text": lambda: (PARQUET, dictionary_parquet()),
    "Parquet of 10,001 columns": lambda: (PARQUET, wide_parquet()),
    "Avro of an unpacked block": lambda: (
        AVRO,
        container(
            {"type": "record", "name": "r", "fields": [{"name": "id", "type": "long"}]}, [bytes(LARGE)], "deflate"
        ),
    ),
    "Avro of records without bytes": lambda: (AVRO, endless_avro()),
    "a plain line of 128 MiB": lambda: (CSV, b"".join((b"id,name\n1,", b"x" * (128 << 20), b"\n"))),
    "plain JSON of 128 MiB in a line": lambda: (JSONL, b"".join((b'{"name": "', b"x" * (128 << 20), b'"}\n'))),
    "an array of one text": lambda: (JSON, b"".join((b'["', b"x" * (128 << 20), b'"]'))),
}
CODES = {
    "Parquet of 10,001 columns": "too-wide",
    "a plain line of 128 MiB": "too-long",
    "plain JSON of 128 MiB in a line": "too-long",
    "an array of one text": "array",
}


def gzip_of(head: bytes, piece: bytes, times: int) -> bytes:
    """A gzip of one member: the head, and so often the piece, which is packed once."""
    packer = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    parts = [packer.compress(each) + packer.flush(zlib.Z_FULL_FLUSH) for each in (head, piece)]
    check, size = zlib.crc32(head), len(head) + times * len(piece)
    for _ in range(times):
        check = zlib.crc32(piece, check)
    begin, end = gzip.compress(b"", mtime=0)[:10], struct.pack("<II", check, size % (1 << 32))
    return begin + parts[0] + parts[1] * times + packer.flush() + end


def repeated_parquet() -> bytes:
    """140 million times the same number, in some kilobytes."""
    file = io.BytesIO()
    schema = pa.schema([pa.field("id", pa.int8(), nullable=False)])
    batch = pa.table({"id": pa.repeat(pa.scalar(7, pa.int8()), 10_000_000)}, schema)
    options = {"compression": "zstd", "write_statistics": False, "use_dictionary": False}
    with pyarrow.parquet.ParquetWriter(file, schema, **options) as writer:
        for _ in range(14):
            writer.write_table(batch, row_group_size=10_000_000)
    return file.getvalue()


def dictionary_parquet() -> bytes:
    """2 GB of texts, by a dictionary of one."""
    one = pa.array(["x" * 1_000_000])
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 2_000, pa.int32()), one)
    return as_parquet(pa.table({"id": list(range(2_000)), "name": column}), compression="zstd")


def delta_parquet() -> bytes:
    """2 GB of texts, each all of the one before."""
    table = pa.table({"id": list(range(2_000)), "name": ["x" * 1_000_000] * 2_000})
    return as_parquet(table, compression="zstd", use_dictionary=False, column_encoding={"name": "DELTA_BYTE_ARRAY"})


def endless_avro() -> bytes:
    """A block that declares a billion records without bytes."""
    schema = {"type": "record", "name": "r", "fields": [{"name": "id", "type": "null"}]}
    content = container(schema, [b""])
    return content.replace(long(1) + long(0), long(10**9) + long(0))
