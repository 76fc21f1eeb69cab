"""File formats, compressions, encodings, and the fields of a CSV dialect, whose bounds are in `extension_settings.py`."""

from __future__ import annotations

import bz2
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any

from lakegate.base.json_codec import Bounds, Permitted, omit_default

# ---- File formats and compressions ----
# `FORMATS` and `COMPRESSIONS` are the only tables of their properties. Documents, the door and file names read them;
# `lakegate.engine.read.open_delivery` adds the reader of each format. Neither is ever derived from a file's name.


ENCODINGS = {
    "utf-8": "utf-8",
    "utf-8-sig": "utf-8",
    "us-ascii": "us-ascii",
    "iso-8859-1": "iso-8859-1",
    "latin-1": "iso-8859-1",
    "windows-1252": "windows-1252",
}
"""The encodings of text files: by the name that a contract may use, the one of the plan. UTF-8 may have a byte order mark."""
ENCODING_TITLES = {
    "utf-8": "UTF-8",
    "us-ascii": "US-ASCII",
    "iso-8859-1": "ISO-8859-1",
    "windows-1252": "Windows-1252",
}
"""Their names in sentences."""
DECIMAL_SEPARATORS = (".", ",")
THOUSANDS_SEPARATORS = (",", ".", "'", "\u2019", " ", "\u00a0", "\u202f", "_")
"""Characters that may stand between groups of three digits: two apostrophes, and three blanks, are among them."""


class Format(Enum):
    """The file format of a dataset."""

    CSV = "csv"
    JSONL = "jsonl"
    """One JSON object per line."""
    JSON = "json"
    """One JSON array of objects."""
    ANY_JSON = "any-json"
    """JSON lines or a JSON array: the first character of a file decides."""
    PARQUET = "parquet"
    ORC = "orc"
    AVRO = "avro"
    UNKNOWN = "unknown"
    """The servers of the document have different or unsupported formats: files of the dataset are refused."""

    @property
    def spec(self) -> FormatSpec:
        """The properties of the format."""
        return FORMATS[self]

    @property
    def is_text(self) -> bool:
        """Whether the file is text; binary formats contain a schema and are compressed internally."""
        return self.spec.is_text

    @property
    def is_json(self) -> bool:
        """Whether the file is JSON lines or a JSON array."""
        return self.spec.json_starts is not None


@dataclass(frozen=True, slots=True)
class FormatSpec:
    """The properties of a file format."""

    title: str
    """Its name in a sentence: `a Parquet file`."""
    suffix: str
    """The suffix of generated keys; empty if the format is unknown."""
    signature: bytes = b""
    """The first bytes of every file of a binary format; text has none."""
    is_text: bool = False
    json_starts: frozenset[bytes] | None = None
    """Of JSON, the characters with which a text may begin; the empty one stands for a blank text, which has no rows."""
    splits_rows: bool = True
    """Whether accepted and rejected rows can be written as files of the format."""
    aliases: tuple[str, ...] = ()
    """Other names in the servers of documents."""


FORMATS: dict[Format, FormatSpec] = {
    Format.CSV: FormatSpec("CSV", ".csv", is_text=True),
    Format.JSONL: FormatSpec(
        "JSON lines",
        ".jsonl",
        is_text=True,
        json_starts=frozenset({b"", b"{"}),
        aliases=("ndjson", "json-lines", "jsonlines", "json_lines"),
    ),
    Format.JSON: FormatSpec(
        "a JSON array", ".json", is_text=True, json_starts=frozenset({b"", b"["}), splits_rows=False
    ),
    Format.ANY_JSON: FormatSpec(
        "JSON lines or a JSON array",
        ".json",
        is_text=True,
        json_starts=frozenset({b"", b"{", b"["}),
        splits_rows=False,
    ),
    Format.PARQUET: FormatSpec("a Parquet file", ".parquet", b"PAR1"),
    Format.ORC: FormatSpec("an ORC file", ".orc", b"ORC"),
    Format.AVRO: FormatSpec("an Avro file", ".avro", b"Obj\x01"),
    Format.UNKNOWN: FormatSpec("", ""),
}


class Compression(Enum):
    """The compression of a whole text file."""

    NONE = "none"
    GZIP = "gzip"
    BZIP2 = "bzip2"
    ZSTD = "zstd"

    @property
    def spec(self) -> CompressionSpec:
        """The properties of the compression."""
        return COMPRESSIONS[self]


@dataclass(frozen=True, slots=True)
class CompressionSpec:
    """The properties of a compression."""

    suffix: str
    """Follows the suffix of the format in generated keys."""
    signature: bytes = b""
    """The first bytes of every file."""
    decompressor: Callable[[], Any] | None = None
    """A new decompressor of one member (`bz2.BZ2Decompressor`); None where Python 3.11 has none: then the door sees no text."""
    failures: tuple[type[Exception], ...] = ()
    """Exceptions of the decompressor for damaged bytes."""
    splits_rows: bool = True
    """Whether accepted and rejected rows can be written with it."""
    padding: bytes = b""
    """The byte that may follow a member any number of times, and means nothing."""


_GZIP_WINDOW = 31
COMPRESSIONS: dict[Compression, CompressionSpec] = {
    Compression.NONE: CompressionSpec(""),
    Compression.GZIP: CompressionSpec(
        ".gz", b"\x1f\x8b", lambda: zlib.decompressobj(_GZIP_WINDOW), failures=(zlib.error,), padding=b"\0"
    ),
    Compression.BZIP2: CompressionSpec(".bz2", b"BZh", bz2.BZ2Decompressor, failures=(OSError,)),
    Compression.ZSTD: CompressionSpec(".zst", b"\x28\xb5\x2f\xfd", splits_rows=False),
}


LONGEST_PATH = 200
"""Characters of the path to an array of records."""


@dataclass(frozen=True, slots=True)
class Storage:
    """Format and compression of a file, as the contract declares them, and where its records stand."""

    format: Format = Format.CSV
    compression: Compression = Compression.NONE
    records: Annotated[str, Bounds(most=LONGEST_PATH)] = omit_default("")
    """Of one JSON object, the path to the array of its records: names of members with points between them; empty for an array."""

    @property
    def title(self) -> str:
        """Its name in a sentence."""
        return f"a JSON object with its records in {self.records}" if self.records else self.format.spec.title

    @property
    def path(self) -> tuple[str, ...]:
        """The names of members that lead to the array of records; none where the file is the array."""
        return tuple(filter(None, self.records.split(".")))

    @property
    def json_starts(self) -> frozenset[bytes] | None:
        """Of JSON, the characters with which a text may begin."""
        return frozenset({b"{"}) if self.records else self.format.spec.json_starts

    @property
    def suffix(self) -> str:
        """The suffix of generated keys: `.csv`, `.jsonl.gz`, `.parquet`; empty if the format is unknown."""
        return self.format.spec.suffix + self.compression.spec.suffix

    @property
    def rows_suffix(self) -> str | None:
        """The suffix of a file of its failing rows that can be put back into it when they are corrected; None: there is none."""
        return ".jsonl" if self.format.is_json else {Format.CSV: ".csv", Format.PARQUET: ".parquet"}.get(self.format)

    @property
    def splits_rows(self) -> bool:
        """Whether accepted and rejected rows can be written apart."""
        return self.format.spec.splits_rows and self.compression.spec.splits_rows


MOST_SKIPPED = 1000
"""Lines that may stand above a header."""
Words = Annotated[tuple[Annotated[str, Bounds(most=1024)], ...], Bounds(most=100)]


@dataclass(frozen=True, slots=True)
class NullWords:
    """The texts that mean null in one column."""

    column: Annotated[str, Bounds(most=1024)]
    words: Words


@dataclass(frozen=True, slots=True)
class Csv:
    """The CSV dialect of a dataset."""

    delimiter: Annotated[str, Bounds(1, 8)] = ","
    quote: Annotated[str, Bounds(most=1)] = '"'
    header: bool = True
    encoding: Annotated[str, Bounds(1, 64)] = "utf-8"
    null_values: Words = ()
    """Texts that mean null, in addition to the empty unquoted value."""
    multi_line: bool = False
    """Whether a quoted value may contain line breaks."""
    null_values_by_column: Annotated[tuple[NullWords, ...], Bounds(most=10_000)] = ()
    """Those of single columns, in the order of their names, instead of `null_values`."""
    decimal_separator: Annotated[str, Permitted(DECIMAL_SEPARATORS)] = "."
    thousands_separator: Annotated[str, Permitted(("", *THOUSANDS_SEPARATORS))] = ""
    """Separator between groups of three digits of a number; empty for none."""
    skip_rows: Annotated[int, Bounds(most=MOST_SKIPPED)] = 0
    """Lines of a file above its header that are no records, such as the titles of a report."""

    @property
    def has_plain_numbers(self) -> bool:
        """Whether numbers are written as the grammars of types have them (docs/types.md)."""
        return self.decimal_separator == "." and not self.thousands_separator

    def null_words(self, column: str) -> tuple[str, ...]:
        """The texts that mean null in a column."""
        own = (value.words for value in self.null_values_by_column if value.column == column)
        return next(own, self.null_values)
