"""The files of a dataset as the contract declares them: format, compression and CSV dialect."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Format(Enum):
    """The file format of a dataset. It is never derived from a file's name."""

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
    def is_text(self) -> bool:
        """Whether the file is text; binary formats contain a schema and are compressed internally."""
        return self is Format.CSV or self.is_json

    @property
    def is_json(self) -> bool:
        """Whether the file is JSON lines or a JSON array."""
        return self in {Format.JSONL, Format.JSON, Format.ANY_JSON}


class Compression(Enum):
    """The compression of a whole text file."""

    NONE = "none"
    GZIP = "gzip"
    BZIP2 = "bzip2"
    ZSTD = "zstd"


@dataclass(frozen=True, slots=True)
class Storage:
    """Format and compression of a file, as the contract declares them, never as the file's name suggests."""

    format: Format = Format.CSV
    compression: Compression = Compression.NONE

    @property
    def suffix(self) -> str:
        """The suffix of generated keys: `.csv`, `.jsonl.gz`, `.parquet`; empty if the format is unknown."""
        form = {Format.ANY_JSON: ".json", Format.UNKNOWN: ""}.get(self.format, f".{self.format.value}")
        return form + _ENDINGS[self.compression]


_ENDINGS = {Compression.NONE: "", Compression.GZIP: ".gz", Compression.BZIP2: ".bz2", Compression.ZSTD: ".zst"}


@dataclass(frozen=True, slots=True)
class Csv:
    """The CSV dialect of a dataset."""

    delimiter: str = ","
    quote: str = '"'
    header: bool = True
    encoding: str = "utf-8"
    null_values: tuple[str, ...] = ()
    """Texts that mean null, in addition to the empty unquoted value."""
    multi_line: bool = False
    """Whether a quoted value may contain line breaks."""
