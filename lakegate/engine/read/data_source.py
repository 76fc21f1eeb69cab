"""Interface of readers: stores, shares, chunks, SQL of columns."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Protocol
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pyarrow as pa

from lakegate.admission.file_signatures import UnreadableError
from lakegate.engine.read.stored_types import Physical
from lakegate.plan.result import Columns

# ---- Objects of a storage as seekable files ----


class AddressedFile(io.RawIOBase):
    """An object of a storage as a seekable file."""

    def __init__(self, store: Store, address: str) -> None:
        super().__init__()
        self._store, self._address, self._at = store, address, 0
        self.size = self._store.size(address)
        self.failure: OSError | None = None
        """The error of the storage, which means nothing about the file itself."""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Change the position, and return it."""
        begun = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size}[whence]
        self._at = begun + offset
        return self._at

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes from the position."""
        wanted = min(self.size - self._at, size if size >= 0 else self.size)
        try:
            part = self._store.part(self._address, self._at, wanted) if wanted > 0 else b""
        except OSError as error:
            self.failure = error
            raise
        self._at += len(part)
        return part

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - whatever has writable bytes
        """Fill a buffer from the position; the number of bytes."""
        view = memoryview(buffer).cast("B")
        found = self.read(len(view))
        view[: len(found)] = found
        return len(found)


# ---- The interface of readers ----


Level = tuple[str, ...]
"""The steps to a list or a map whose elements are counted; empty for the records themselves (`PlanField.level`)."""
LINE = "line"
"""The column of the bytes of a record of text (`Source.originals`)."""
ROW, AT = "row", "place"
"""Columns of every table of a chunk: the line of the record in its share, from 0; of an element also its place (`items[2]`)."""


class Store(Protocol):
    """Storage of objects: `file:` addresses, or `s3:` ones with a client. Failures are OSError."""

    def size(self, address: str) -> int:
        """Bytes of an object."""
        ...

    def part(self, address: str, start: int, length: int) -> bytes:
        """At most `length` bytes of an object from `start`."""
        ...

    def stream(self, address: str) -> BinaryIO:
        """The whole object, to be read from its beginning and closed."""
        ...


@dataclass(frozen=True, slots=True)
class Share:
    """A part of one object that is read separately, in any process: a byte range, row groups, or the whole object."""

    part: int
    """The number of the object in the delivery, from 0."""
    address: str
    start: int
    """First byte; of a table the first row group or stripe."""
    end: int
    """The byte (row group, stripe) after the last one."""


MAX_LINES = 1000
"""Malformed records of a reason whose lines are kept; the others are counted."""


@dataclass(frozen=True, slots=True)
class Malformed:
    """Malformed records of one reason."""

    reason: str
    rows: int
    lines: tuple[int, ...]
    """The first ones in the share, from 0."""

    def with_more(self, other: Malformed) -> Malformed:
        """These, and later ones of the share."""
        return Malformed(self.reason, self.rows + other.rows, (self.lines + other.lines)[:MAX_LINES])


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some records of a share, in file order; a few MiB of text at the most."""

    records: pa.Table
    """`row`, and the raw columns that the source's expressions name. Malformed records, headers and blank lines are not in it."""
    lines: int
    """Lines (of a table: rows) that this chunk used up, headers, blank lines and malformed records included."""
    size: int
    """Bytes of the object that it accounts for; of a table, rows."""
    malformed: tuple[Malformed, ...] = ()
    """By reason."""
    levels: Mapping[Level, pa.Table] = field(default_factory=dict)
    """The elements of each level: `row`, `at`, and raw columns."""
    extra: frozenset[str] = frozenset()
    """Undeclared keys, in formats without a header."""
    keys: frozenset[tuple[str, ...]] = frozenset()
    """Places of declared keys that occur, in these formats (`lakegate.engine.read.json_rows.RowReader.keys`)."""
    tail: int = 1
    """Lines of its last record."""
    evidence: frozenset[str] = frozenset()
    """Of its encoding, where the contract declares another one than UTF-8 (`encoding_evidence`)."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A field in SQL over the raw columns of its table: text made of generated names and our own constants alone."""

    text: str
    """The value as text (VARCHAR); NULL where the field has none. What `Present`, `Length`, `Matches` and samples look at."""
    value: str
    """The typed value (`lakegate.engine.evaluate.typed_values.sql_type`); NULL where the field has none, or the text is none of
    the type.
    """
    raw: str = ""
    """Name of the raw column that the text is made of, and that `plain` describes; "" for none."""
    plain: str = ""
    """The typed value where the chunk's raw text column consists of the type's plain alphabet
    (`lakegate.engine.evaluate.typed_values.PLAIN`).
    """
    column: str = ""
    """A raw column that is NULL exactly where the text is, and cheaper to test; "" for none."""
    size: str = "CAST(NULL AS BIGINT)"
    """The number of elements, entries or members with a value; NULL where the value is no list, map or record."""
    repeats: str = "CAST(NULL AS BOOLEAN)"
    """Whether two elements of the list are equal; NULL where the value is no list."""


def line_table(lines: list[tuple[int, bytes]]) -> pa.Table:
    """Records of text as `Source.originals` returns them."""
    rows, texts = zip(*lines, strict=True) if lines else ((), ())
    return pa.table({ROW: pa.array(rows, pa.int64()), LINE: pa.array(texts, pa.binary())})


@contextmanager
def of_object(number: int) -> Iterator[None]:
    """Name the object of the delivery that is unreadable in the block."""
    try:
        yield
    except UnreadableError as error:
        raise error.of_part(number) from None


class Source(Protocol):
    """An opened delivery."""

    @property
    def columns(self) -> Columns:
        """The file's own header against the declared fields."""
        ...

    @property
    def shares(self) -> tuple[Share, ...]:
        """In file order."""
        ...

    @property
    def expressions(self) -> Mapping[str, Expression]:
        """By alias of the plan's fields; fields that the file lacks are NULL in both."""
        ...

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sum of `Chunk.size` for each object: its bytes, or the rows in its footer."""
        ...

    @property
    def header(self) -> str | None:
        """The header line of CSV; None without one."""
        ...

    @property
    def titles(self) -> bytes:
        """The lines of the first object above its header, each with a line feed; none where none are skipped."""
        ...

    @property
    def is_marked(self) -> bool:
        """Whether an object begins with a byte order mark, which is no part of its text."""
        ...

    @property
    def kinds(self) -> Mapping[str, Physical]:
        """The columns that `originals` returns of a table, in their order; of text none."""
        ...

    def chunks(self, share: Share) -> Iterator[Chunk]:
        """Read one share; UnreadableError if the object is damaged, OSError if the storage fails."""
        ...

    def originals(self, share: Share) -> Iterator[pa.Table]:
        """The unchanged records of a share: `row` (line in the share, from 0), and `line` (bytes) or, of a table, `x0`, `x1`, ….

        Headers and blank lines are no records.
        """
        ...


# ---- Columns whose values repeat ----


LOOKED_AT = 4096
"""Rows at the beginning of a chunk that decide whether values repeat; those of smaller chunks do not."""
MAX_DISTINCT = LOOKED_AT // 8
"""Distinct values among them at the most."""


def values_repeat(column: pa.ChunkedArray) -> bool:
    """Whether the values of a raw column repeat; 0 and -0 would count as one float, but have two texts."""
    if len(column) < LOOKED_AT or pa.types.is_floating(column.type):
        return False
    return len(column.slice(0, LOOKED_AT).unique()) <= MAX_DISTINCT


# ---- Objects at `file:` addresses ----


class LocalStore:
    """Files of this machine (`lakegate.engine.read.data_source.Store`)."""

    def size(self, address: str) -> int:
        return path_of(address).stat().st_size

    def part(self, address: str, start: int, length: int) -> bytes:
        with path_of(address).open("rb") as file:
            file.seek(start)
            return file.read(length)

    def stream(self, address: str) -> BinaryIO:
        return path_of(address).open("rb")


def path_of(address: str) -> Path:
    """The path of an address."""
    return Path(url2pathname(urlsplit(address).path))
