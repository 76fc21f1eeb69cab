"""Bounds on reading a file (docs/data.md), and the reasons why one is not read to its end."""

from __future__ import annotations

from lakegate.admission.file_signatures import UnreadableError
from lakegate.base.text import plural

LONGEST_RECORD = 1 << 20
"""Bytes of one record; a longer one is malformed, because it would be one value in memory."""
MAX_INSIDE = LONGEST_RECORD // 2
"""Values in lists and maps of one record, as many as one of JSON has at most; and of all records that are measured at a time."""
LONGEST_LINE = 16 << 20
"""Bytes of one line of plain text; a longer one makes the file unreadable."""
PIECE = 1 << 20
"""Bytes of a stream that are in memory at a time."""
RATIO = 200
"""Times its packed size that a file may unpack to."""
GRACE = 64 << 20
"""Bytes that any file may unpack to, whatever the ratio."""
MAX_UNPACKED = 64 << 30
"""Bytes that no file may unpack to, whatever the ratio."""
MAX_COLUMNS = 10_000
"""Columns of a file, the parts of nested ones counted."""
LONGEST_FOOTER = 32 << 20
"""Bytes of the schema and the statistics in a file."""
MAX_CHUNKS = 500_000
"""Row groups of a Parquet file times its columns, nested ones counted."""
MAX_PAGE = 256 << 20
"""Bytes of a page of a Parquet file, unpacked: one is in memory at a time."""
GRACE_VALUES = 1 << 30
"""Bytes that the values of a column store may take in memory, whatever the ratio."""

BROKEN = {
    "damaged": "the file is damaged: it cannot be unpacked to its end; pack it again",
    "bomb": f"the file unpacks to more than {RATIO} times its size, beyond {GRACE >> 20} MiB: deliver it in parts, or unpacked",
    "array": "the JSON array breaks off, or holds what is no JSON, or an element beyond 1 MiB: write it again, or as JSON lines",
    "array-depth": "the JSON array holds an element that is nested too deep: write it flatter",
    "array-encoding": "the JSON array is not valid UTF-8, which JSON is written in (RFC 8259): save it so",
    "records": (
        "the JSON object breaks off, or holds what is no JSON, a record beyond 1 MiB, or its records twice: write it again, "
        "or as JSON lines"
    ),
    "records-depth": "the JSON object holds a value that is nested too deep: write it flatter",
    "records-encoding": "the JSON object is not valid UTF-8, which JSON is written in (RFC 8259): save it so",
    "no-records": "the JSON object has no array in {path} (`records`){members}: write it there, or declare where it stands",
    "footer": "the end of the file, where its schema and its index stand, is missing or damaged: was the upload cut off?",
    "shared": "the end of the file lists the same bytes as values of several columns or row groups: write it again",
    "page": f"the column {{name!r}} has a page of more than {MAX_PAGE >> 20} MiB: write pages of fewer rows or bytes",
    "counts": "the end of the file counts other rows or values than the file holds: write it again",
    "encrypted": "the column {name!r} is encrypted: write the file without encryption",
    "groups": f"the file has more than {MAX_CHUNKS:,} pieces (row groups times columns): write it in larger row groups",
    "hollow": "the column {name!r} has a group without members, which cannot be read: write it without that group",
    "no-struct": "the ORC file has no columns: its top level is no struct, or has a type that is not known; write columns",
    "schema": "the file has a schema that cannot be read, because it breaks the rules of its format: write it again",
    "inside": "the file holds values that cannot be read, or is damaged inside: write it again",
    "too-long": f"the file has a line of more than {LONGEST_LINE >> 20} MiB: is this text of one record a line?",
}
"""The reason why a file is not read to its end, by code."""


def unreadable(code: str, **words: str) -> UnreadableError:
    """The error for a file that is not read to its end."""
    return UnreadableError(code, BROKEN[code].format(**words))


def refuse_columns(leaves: int) -> None:
    """UnreadableError where a file has too many columns."""
    if leaves > MAX_COLUMNS:
        columns = plural(leaves, "column")
        raise UnreadableError("too-wide", f"the file has {columns}, more than {MAX_COLUMNS:,}: deliver fewer")
