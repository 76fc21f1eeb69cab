"""The grammar of CSV records (docs/data.md), for whole blocks of bytes at a time.

A record is a line (LF or CRLF), or several where the contract allows line breaks in quoted values. It is split at the delimiter;
quotes are those of RFC 4180: a quoted value begins right after a delimiter, ends right before one, and doubles the quotes inside.
A CR elsewhere than before an LF is a line break too: other readers would split there. Any other record is
*malformed*, and never repaired. One regular expression of RE2 decides; all parsers read the accepted records in the same way.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakegate.engine.read.bounds import LONGEST_RECORD
from lakegate.engine.read.chunk import MAX_LINES, Malformed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lakegate.contracts.model.storage import Csv

CRLF = "\r\n"
REPLACEMENT = "\ufffd"
"""The character that a decoder writes for bytes outside of its encoding."""


@dataclass(frozen=True)
class Dialect:
    """How records are written."""

    delimiter: str
    quote: str
    encoding: str
    multi_line: bool

    @staticmethod
    def of(csv: Csv) -> Dialect:
        """The dialect that a contract declares."""
        return Dialect(csv.delimiter, csv.quote, csv.encoding, csv.multi_line)

    @property
    def is_utf_8(self) -> bool:
        """Whether bytes are texts of Arrow without conversion."""
        return self.encoding.startswith("utf-8")

    @cached_property
    def raw_quote(self) -> bytes:
        """The quote as the file writes it."""
        return self.quote.encode("utf-8" if self.is_utf_8 else self.encoding)

    @cached_property
    def strict(self) -> str:
        """The pattern (RE2) of a whole record of any number of values, its line end included."""
        delimiter, quote = re.escape(self.delimiter), re.escape(self.quote)
        breaks = "" if self.multi_line else r"\r\n"
        value = rf"(?:[^{delimiter}{quote}\r\n\x00]*|{quote}(?:[^{quote}{breaks}\x00]|{quote}{quote})*{quote})"
        return rf"\A{value}(?:{delimiter}{value})*\r?\n\z"


def record_ends(data: bytes, quote: bytes | None) -> NDArray[np.int64]:
    """Where the whole records of bytes end (after their line feed); `quote`: the one that keeps a record open.

    A record with an open quote that is longer than any record may be ends at its line: it is malformed, and the next one is not.
    """
    octets = np.frombuffer(data, np.uint8)
    feeds = np.flatnonzero(octets == ord("\n"))
    if quote is None or quote not in data:
        return feeds + 1
    marks = (
        np.flatnonzero(octets == quote[0])
        if len(quote) == 1
        else np.array([found.start() for found in re.finditer(re.escape(quote), data)], np.int64)
    )
    before = np.searchsorted(marks, feeds)
    ends = feeds[before % 2 == 0] + 1
    sizes = np.diff(ends, prepend=0, append=len(data))
    return ends if sizes.max(initial=0) <= LONGEST_RECORD else _bounded_ends(feeds + 1, before)


def _bounded_ends(lines: NDArray[np.int64], marks: NDArray[np.int64]) -> NDArray[np.int64]:
    ends, begun, closed = [], 0, 0
    for end, count in zip(lines.tolist(), marks.tolist(), strict=True):
        if (count - closed) % 2 == 0 or end - begun > LONGEST_RECORD:
            ends.append(end)
            begun, closed = end, count
    return np.array(ends, np.int64)


def is_plain(block: bytes, dialect: Dialect, width: int) -> bool:
    """Whether no record of a block needs the regular expression."""
    if b"\0" in block or dialect.raw_quote in block or not (dialect.delimiter.isascii() and dialect.quote.isascii()):
        return False
    has_returns = b"\r" in block
    if has_returns and block.count(b"\r") != block.count(b"\r\n"):
        return False
    if width > 1 and (block.startswith((b"\n", b"\r\n")) or _has_blank_line(block, has_returns=has_returns)):
        return False
    if has_long_line(block):
        return False
    return block.isascii() or (dialect.is_utf_8 and _is_utf_8(block))


def _has_blank_line(block: bytes, *, has_returns: bool) -> bool:
    """Whether a line after the first one is blank."""
    feeds = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
    return bool((np.diff(feeds) == 1).any()) or (has_returns and b"\n\r\n" in block)


def has_long_line(block: bytes) -> bool:
    """Whether a line of the block is longer than any record may be."""
    at = 0
    while len(block) - at > LONGEST_RECORD:
        end = block.rfind(b"\n", at, at + LONGEST_RECORD + 1)
        if end < 0:
            return True
        at = end + 1
    return False


def _is_utf_8(block: bytes) -> bool:
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True


@dataclass(slots=True)
class Lines:
    """The lines (or records) of a block, each with its line feed, as texts; `bad` names undecodable ones."""

    array: Any
    bad: dict[str, NDArray[np.bool_]]
    """By reason, which of them are no texts."""
    starts: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    """Where each begins in the block."""

    @staticmethod
    def of(block: bytes, dialect: Dialect) -> Lines:
        """The lines of a block, or its records if values may contain line breaks."""
        ends = record_ends(block, dialect.raw_quote if dialect.multi_line else None)
        if len(ends) == 0 or ends[-1] < len(block):
            ends = np.append(ends, len(block))
        starts = np.concatenate([[0], ends[:-1]])
        bad: dict[str, NDArray[np.bool_]] = {}
        for at in np.flatnonzero(ends - starts - 1 > LONGEST_RECORD).tolist():
            if len(block[starts[at] : ends[at]].removesuffix(b"\n")) > LONGEST_RECORD:
                bad.setdefault("too_long", np.zeros(len(ends), np.bool_))[at] = True
        if bad or not (dialect.is_utf_8 and _is_utf_8(block)):
            return Lines(_decoded(block, starts.tolist(), ends.tolist(), dialect, bad), bad, starts)
        offsets = pa.py_buffer(np.concatenate([[0], ends]).astype(np.int32))
        return Lines(pa.StringArray.from_buffers(len(ends), offsets, pa.py_buffer(block)), bad, starts)

    def strict(self, dialect: Dialect, width: int) -> NDArray[np.bool_]:
        """Which of them are records by the grammar; blank lines are not if a record has several values."""
        found: NDArray[np.bool_] = np.array(pc.match_substring_regex(self.array, dialect.strict))
        if width > 1:
            found &= ~self.blank(width)
        for each in self.bad.values():
            found &= ~each
        return found

    def blank(self, width: int) -> NDArray[np.bool_]:
        """Which of them are blank lines, if these are not records."""
        if width == 1:
            return np.zeros(len(self.array), np.bool_)
        return np.array(pc.or_(pc.equal(self.array, "\n"), pc.equal(self.array, CRLF)))

    def flaws(self, width: int, strict: NDArray[np.bool_], quote: str) -> list[Malformed]:
        """The others, by reason; a line that is no record has a NUL, a quote in the wrong place, or a CR that is no line end."""
        others = ~strict & ~self.blank(width)
        for each in self.bad.values():
            others &= ~each
        has_nul = others & np.array(pc.match_substring(self.array, "\0"))
        has_quote = others & ~has_nul & np.array(pc.match_substring(self.array, quote))
        nul = has_nul | self.bad.get("nul", has_nul)
        reasons = {**self.bad, "nul": nul, "quotes": has_quote, "line-ends": others & ~has_nul & ~has_quote}
        found = ((reason, np.flatnonzero(each)) for reason, each in reasons.items())
        return [Malformed(reason, len(at), tuple(at[:MAX_LINES].tolist())) for reason, at in found if len(at)]


def _decoded(
    block: bytes, starts: list[int], ends: list[int], dialect: Dialect, bad: dict[str, NDArray[np.bool_]]
) -> Any:  # noqa: ANN401 - Arrow ships no types
    """Lines in UTF-8; an empty one for each whose bytes are not of the encoding, or contain a NUL, or are too many.

    `bad` gets the reasons.
    """
    encoding, too_long = "utf-8" if dialect.is_utf_8 else dialect.encoding, bad.get("too_long")
    lines: list[bytes] = []
    for at, (start, end) in enumerate(zip(starts, ends, strict=True)):
        if too_long is not None and too_long[at]:
            lines.append(b"\n")
            continue
        line = block[start:end]
        text = line.decode(encoding, errors="replace")
        is_other = (text.encode() != line) if dialect.is_utf_8 else (REPLACEMENT in text)
        reason = "nul" if b"\0" in line else "encoding" if is_other else ""
        if reason:
            bad.setdefault(reason, np.zeros(len(starts), np.bool_))[at] = True
        lines.append(b"\n" if reason else text.encode())
    return pa.array(lines, pa.binary()).cast(pa.string())
