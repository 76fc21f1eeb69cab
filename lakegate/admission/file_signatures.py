"""First bytes compared with the declared format, compression, encoding."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from lakegate.base.errors import LakegateError
from lakegate.contract.file_formats import COMPRESSIONS, ENCODING_TITLES, FORMATS, Compression, Csv, Format, Storage
from lakegate.plan.result import Unreadable

if TYPE_CHECKING:
    Fault = tuple[str, str]
    """Code and message."""
    Refusal = Callable[[bytes, Storage, Csv], "Fault | None"]
    """The reason why a file with these first bytes is refused; None if it is not."""

# ---- File signatures ----
# Binary formats and codecs have a signature (*magic bytes*); a file without a known one is text. Every refusal is one function
# in `SIGNATURE_REFUSALS` (of bytes as delivered) or `TEXT_REFUSALS` (of decompressed text): intake and the engine both apply
# them.


BOM = b"\xef\xbb\xbf"
WORKBOOK = "workbook"
"""The code of documents of Office."""
FOREIGN = {
    b"\xfd7zXZ": ("xz", "xz-compressed"),
    b"\x04\x22\x4d\x18": ("lz4", "lz4-compressed"),
    b"\x02\x21\x4c\x18": ("lz4", "lz4-compressed, in its legacy form"),
    b"\xff\x06\0\0sNaPpY": ("snappy", "snappy-compressed"),
    b"\x1f\x9d": ("compress", "packed by compress (.Z)"),
    b"\x5d\0\0": ("lzma", "lzma-compressed"),
    b"LZIP\x01": ("lzip", "lzip-compressed"),
    b"\x89LZO\0\r\n\x1a\n": ("lzop", "lzop-compressed"),
    b"PK\x03\x04": ("zip", "a zip archive (an Excel workbook is one too)"),
    b"PK\x05\x06": ("zip", "a zip archive without files"),
    b"PK\x07\x08": ("zip", "a part of a zip archive"),
    b"7z\xbc\xaf\x27\x1c": ("7z", "a 7z archive"),
    b"Rar!\x1a\x07": ("rar", "a rar archive"),
    b"PARE": ("encrypted-parquet", "an encrypted Parquet file"),
    b"ARROW1\0\0": ("arrow", "an Arrow file (Feather)"),
    b"FEA1\0\0\0\0": ("arrow", "a Feather file of version 1"),
    b"\xff\xff\xff\xff": ("arrow", "a stream of Arrow"),
    b"SQLite format 3\0": ("sqlite", "a SQLite database"),
    b"\0\1\0\0Standard ": ("access", "an Access database"),
    b"\x89HDF\r\n\x1a\n": ("hdf5", "an HDF5 file"),
    b"\x93NUMPY": ("numpy", "an array of NumPy"),
    b"\x80\x04\x95": ("pickle", "a pickle of Python"),
    b"\x80\x05\x95": ("pickle", "a pickle of Python"),
    b"RDX3\nX\n": ("r-data", "a file of R"),
    b"RDX2\nX\n": ("r-data", "a file of R"),
    b"<stata_dta>": ("stata", "a Stata file"),
    b"$FL2@(#)": ("spss", "an SPSS file"),
    b"SEQ\x06": ("sequence", "a sequence file of Hadoop"),
    b"%PDF": ("pdf", "a PDF document"),
    b"{\\rtf": ("rtf", "an RTF document"),
    b"\xd0\xcf\x11\xe0": ("office", "an old Office document"),
    b"\x89PNG\r\n": ("image", "an image"),
    b"\xff\xd8\xff": ("image", "an image"),
    b"\x1e": ("json-sequence", "a JSON text sequence (RFC 7464)"),
    b"-----BEGIN PGP ": ("pgp", "encrypted by PGP"),
    b"age-encryption.org/v1\n": ("age", "encrypted by age"),
}
"""Signatures of files that no contract can declare: code and description."""
_PACKED = frozenset({"xz", "lz4", "snappy", "compress", "lzma", "lzip", "lzop", "zlib", "zip", "7z", "rar", "tar"})
"""Codes of files that have others in them."""
_WORKBOOK = re.compile(rb"PK\x03\x04.{26}(?:\[Content_Types\]\.xml|_rels/|docProps/|xl/)", re.DOTALL)
"""A zip archive whose first file is one of a document of Office."""
_SKIPPABLE = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18", re.DOTALL)
"""The signature of a frame without data, of zstd (RFC 8878 §3.1.2) and of lz4; its size follows in 4 bytes."""
_IS_SINGLE = 0x20
"""The mark of a frame of zstd whose window is its whole content."""
_WIDEST_WINDOW = 128 << 20
"""Bytes of the widest window that decoders of zstd accept by themselves."""
_LONGEST_FRAME_HEADER = 18
_TAR, _TAR_AT = b"ustar", 257
_DUCKDB, _DUCKDB_AT = b"DUCK", 8
_NO_TEXT = re.compile(rb"[\0-\x08\x0e-\x1f\x80-\xff]")
_ZLIB = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
UTF_8 = "utf-8"
"""The encoding of texts that may begin with a byte order mark, which is then no part of them."""
WIDE = "the file is UTF-16 or UTF-32"
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")
_JSON_SPACE = b" \t\r\n"


class UnreadableError(LakegateError):
    """The delivery cannot be measured; the verdict contains the reason."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code)
        self.finding = Unreadable(code, message)

    def of_part(self, number: int) -> UnreadableError:
        """The same of one object of the delivery."""
        self.finding = replace(self.finding, part=number)
        return self


def refuse(refusals: Mapping[str, Refusal], head: bytes, storage: Storage, csv: Csv) -> None:
    """Raise UnreadableError for the first of some refusals that applies to a file with these first bytes."""
    for refusal in refusals.values():
        found = refusal(head, storage, csv)
        if found is not None:
            raise UnreadableError(*found)


def declared_format(storage: Storage) -> str:
    """The description of the declared format: `plain CSV`, `CSV packed with gzip`, `a Parquet file`."""
    title = storage.title
    if not storage.format.is_text:
        return title
    if storage.compression is not Compression.NONE:
        return f"{title} packed with {storage.compression.value}"
    return "plain CSV" if storage.format is Format.CSV else f"plain text, {title}"


def is_wide(text: bytes) -> bool:
    """Whether a text begins as UTF-16 or UTF-32: with a byte order mark, or with a character of ASCII beside a zero byte."""
    return text.startswith(_WIDE_MARKS) or b"\0" in text[:2]


def has_mark(heads: Iterable[bytes]) -> bool:
    """Whether one of some texts begins with a byte order mark."""
    return any(head.startswith(BOM) for head in heads)


def settle_format(storage: Storage, text: bytes) -> Storage:
    """The storage of a file with this beginning: the first character decides between JSON lines and a JSON array."""
    if storage.format is not Format.ANY_JSON:
        return storage
    return replace(storage, format=Format.JSON if _first_character(text) == b"[" else Format.JSONL)


def _unknown_format(_head: bytes, storage: Storage, _csv: Csv) -> Fault | None:
    if storage.format is not Format.UNKNOWN:
        return None
    words = "the servers of the contract name formats that differ or are not read here"
    return "format-unknown", f"{words}: say `format` in its `lakegate` extension"


def _empty(head: bytes, storage: Storage, csv: Csv) -> Fault | None:
    """Without a byte, only a text of lines has no records; whether that is allowed, the contract says (`allowEmpty`)."""
    has_lines = storage.format in {Format.JSONL, Format.ANY_JSON} or (storage.format is Format.CSV and not csv.header)
    if head or (has_lines and storage.compression is Compression.NONE):
        return None
    if storage.format is Format.CSV and csv.header:
        return "empty", "the file is empty: it has not even a header"
    if storage.records:
        words = f"one without records has an empty array in {storage.records}"
    else:
        words = (
            "an array without elements is []"
            if storage.format is Format.JSON
            else "one without records has a signature"
        )
    return "empty", f"the file is empty: {words}"


def _other_signature(head: bytes, storage: Storage, csv: Csv) -> Fault | None:
    found, words = signature_of(head)
    if found in {_wanted(storage), Compression.NONE.value}:
        return None
    promised = f"although the contract promises {declared_format(storage)}"
    return found, f"the file is {words}, {promised}: {format_remedy(found, storage, csv)}"


def _no_signature(head: bytes, storage: Storage, _csv: Csv) -> Fault | None:
    wanted = _wanted(storage)
    if signature_of(head)[0] == wanted:
        return None
    if storage.format.is_text:
        words = f"the contract declares {wanted}, but the file is not compressed"
        return "not-packed", f"{words}: pack it, or declare another compression"
    return (
        "other-format",
        f"the file does not begin as {declared_format(storage)} does: deliver that, or declare what it is",
    )


def _zstd_frame(head: bytes, storage: Storage, _csv: Csv) -> Fault | None:
    """A frame that needs a dictionary, or more memory than decoders give it unasked (RFC 8878 §3.1.1.1)."""
    head = _without_skippable(head)
    if storage.compression is not Compression.ZSTD or len(head) < _LONGEST_FRAME_HEADER:
        return None
    about, begin = head[4], 5
    if not about & _IS_SINGLE:
        exponent, mantissa = divmod(head[5], 8)
        window, begin = (1 << 10 + exponent) * (8 + mantissa) // 8, 6
        if window > _WIDEST_WINDOW:
            words = f"the file is packed with a window of {window >> 20:,} MiB, beyond {_WIDEST_WINDOW >> 20}"
            return "zstd-window", f"{words}, which decoders refuse: pack it without --long and --ultra"
    if any(head[begin : begin + (0, 1, 2, 4)[about & 3]]):
        return (
            "zstd-dictionary",
            "the file is packed with a dictionary of zstd, which it does not have: pack it without",
        )
    return None


SIGNATURE_REFUSALS: dict[str, Refusal] = {
    "unknown format": _unknown_format,
    "empty": _empty,
    "other signature": _other_signature,
    "no signature": _no_signature,
    "zstd frame": _zstd_frame,
}


def _wanted(storage: Storage) -> str:
    return storage.compression.value if storage.format.is_text else storage.format.value


def signature_of(head: bytes) -> tuple[str, str]:
    """Code and description of the binary format or the compression of a file with these first bytes; `none` for text."""
    begun, head = head, _without_skippable(head)
    if begun and not head:
        return Compression.ZSTD.value, f"{Compression.ZSTD.value}-compressed"
    if _WORKBOOK.match(head):
        return WORKBOOK, "an Excel workbook or another document of Office"
    known = {
        spec.signature: (compression.value, f"{compression.value}-compressed")
        for compression, spec in COMPRESSIONS.items()
    }
    known |= {spec.signature: (each.value, spec.title) for each, spec in FORMATS.items()}
    kinds = (kind for signature, kind in (known | FOREIGN | known).items() if signature and head.startswith(signature))
    return next(kinds, None) or _deeper(head) or (Compression.NONE.value, "")


def _without_skippable(head: bytes) -> bytes:
    """The first bytes of a file from its first frame with data on."""
    while _SKIPPABLE.match(head):
        head = head[8 + int.from_bytes(head[4:8], "little") :]
    return head


def is_declarable(code: str) -> bool:
    """Whether a contract can declare files with this code of `signature_of`."""
    return code in {each.value for each in (*Compression, *Format)}


def _deeper(head: bytes) -> tuple[str, str] | None:
    """The kind of a file whose signature is not at its beginning, or is too short to be one alone."""
    if head[_TAR_AT:].startswith(_TAR):
        return "tar", "a tar archive"
    if head[_DUCKDB_AT:].startswith(_DUCKDB):
        return "duckdb", "a DuckDB database"
    if head.startswith(_ZLIB) and _NO_TEXT.search(head):
        with suppress(zlib.error):
            if zlib.decompressobj().decompress(head, 1):
                return "zlib", "zlib-compressed, without the header of gzip"
    return None


def format_remedy(found: str, storage: Storage, csv: Csv) -> str:
    """What to do with a file of another format than the declared one, by its code."""
    if found in {compression.value for compression in Compression} and storage.format.is_text:
        unpacked = "upload the CSV itself" if storage.format is Format.CSV else "unpack it"
        return f"{unpacked}, or declare compression: {found}"
    if found in {each.value for each in Format}:
        return f"deliver {storage.title}, or declare format: {found}"
    if found == WORKBOOK and storage.format is Format.CSV:
        return f"save each sheet as CSV{_in_excel(csv.encoding) or f' in {ENCODING_TITLES[csv.encoding]}'}"
    if found == "json-sequence":
        return "write each object on a line of its own, without the record separators (RS)"
    if found in _PACKED and storage.format.is_text:
        return "unpack it, or pack it with gzip, bzip2 or zstd, and declare the compression"
    return "upload the CSV itself" if storage.format is Format.CSV else "deliver what it promises"


def _packed_twice(text: bytes, storage: Storage, csv: Csv) -> Fault | None:
    """What is packed in a file is packed itself, or of a binary format."""
    found, words = signature_of(text)
    if found == Compression.NONE.value:
        return None
    codec = storage.compression.value
    if found in _PACKED or found in {compression.value for compression in Compression}:
        return (
            "packed-twice",
            f"the file is packed twice: unpacked with {codec}, it is {words}; pack the text itself, once",
        )
    return (
        found,
        f"the file is {words}, packed with {codec}, although the contract promises {declared_format(storage)}: "
        + (format_remedy(found, storage, csv)),
    )


def _utf_16(head: bytes, storage: Storage, csv: Csv) -> Fault | None:
    if not is_wide(head):
        return None
    if head.startswith(b"\0\0\0\0"):
        return "encoding", "the file begins with zero bytes, as after a copy that broke off: write it again"
    is_csv = storage.format is Format.CSV
    return "encoding", f"{WIDE}: {saved_as(csv.encoding) if is_csv else 'save it as UTF-8, which JSON is written in'}"


def _byte_order_mark(head: bytes, storage: Storage, csv: Csv) -> Fault | None:
    """The mark of UTF-8 in a file that should be of another encoding."""
    if not head.startswith(BOM) or storage.format is not Format.CSV or csv.encoding == UTF_8:
        return None
    words = f"the file begins with the byte order mark of UTF-8, although the contract declares {ENCODING_TITLES[csv.encoding]}"
    return "bom", f"{words}: save it so, or declare csv.encoding: utf-8"


def _array(head: bytes, storage: Storage, _csv: Csv) -> Fault | None:
    if storage.json_starts is None or b"[" in storage.json_starts or _first_character(head) != b"[":
        return None
    if storage.records:
        words = f"the file is one JSON array, although the contract promises {storage.title}"
        return "json-array", f"{words}: write the object, or remove `records` from the contract"
    words = "the file is one JSON array, although the contract promises a JSON object on each line"
    how = 'write one (pandas: df.to_json(orient="records", lines=True))'
    return "json-array", f"{words}: {how}, or declare format: json"


def _lines(head: bytes, storage: Storage, _csv: Csv) -> Fault | None:
    if storage.format is not Format.JSON or storage.records or _first_character(head) != b"{":
        return None
    words = "the file begins with a JSON object, although the contract promises one JSON array"
    return (
        "json-lines",
        f"{words}: declare format: jsonl, or records: NAME where a member of one object has the records",
    )


def _not_json(head: bytes, storage: Storage, _csv: Csv) -> Fault | None:
    starts = storage.json_starts
    if starts is None or _first_character(head) in starts:
        return None
    return "not-json", f"the file does not begin as {storage.title} does: is this JSON?"


TEXT_REFUSALS: dict[str, Refusal] = {
    "packed twice": _packed_twice,
    "encoding": _utf_16,
    "byte order mark": _byte_order_mark,
    "array": _array,
    "lines": _lines,
    "not JSON": _not_json,
}


def _first_character(text: bytes) -> bytes:
    """The first character of JSON text; empty for a blank text, which has no rows."""
    return text.removeprefix(BOM).lstrip(_JSON_SPACE)[:1]


# ---- The beginning of a compressed file ----


def beginning(first: bytes, compression: Compression, limit: int) -> bytes | None:
    """At most `limit` unpacked bytes of a file that begins with `first`; None where this takes more than is at hand.

    UnreadableError where the bytes are damaged. A codec that Python's own library lacks (zstd) is left to the engine.
    """
    if compression is Compression.NONE:
        return first[:limit]
    spec = compression.spec
    if spec.decompressor is None:
        return None
    unpacked, rest = b"", first
    try:
        while rest and len(unpacked) < limit:  # a file may consist of several members, one after the other
            member = spec.decompressor()
            unpacked += member.decompress(rest, limit - len(unpacked))
            rest = member.unused_data.lstrip(spec.padding) if member.eof else b""
    except spec.failures:
        raise damage_error(compression) from None
    return unpacked or None


def damage_error(compression: Compression) -> UnreadableError:
    """The error for a file that cannot be decompressed."""
    return UnreadableError(
        "damaged", f"the file is damaged: it cannot be unpacked with {compression.value} to its end; pack it again"
    )


_ENCODINGS = ("utf-8", "windows-1252", "iso-8859-1")
_CONTROLS = {chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))} - set("\t\r\n")
"""Characters that no text contains: a decoding that yields one is wrong."""


def readable_in(content: bytes, declared: str) -> str | None:
    """A common encoding that decodes bytes that the declared one cannot decode; None if there is none."""
    return next((encoding for encoding in _ENCODINGS if encoding != declared and _reads(content, encoding)), None)


def _reads(content: bytes, encoding: str) -> bool:
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        return False
    return not _CONTROLS & set(text)


OTHER = "other"
"""Evidence of any other encoding than UTF-8."""
_SHOWS_UTF_8 = re.compile(
    rb"(?<![A-Z])[\xc2\xc3][\x80-\xbf]|[\xc2\xc3][\x80-\xbf][A-Za-z]|\xe2[\x80-\x84]|\xf0|(?:[\xc2-\xf4][\x80-\xbf]+){2}"
)
"""Characters of UTF-8 that no text has in an encoding of single bytes: `Â` or `Ã` before a sign, but for the end of a word in
capitals (`MANHÃ…`); `â€`; `ð` before signs; two letters that are each before signs."""


def encoding_evidence(text: bytes) -> frozenset[str]:
    """What the bytes beyond ASCII of a text are, `UTF_8` or `OTHER`; empty where there are none, or they may be either."""
    if text.isascii():
        return frozenset()
    try:
        text.decode()
    except UnicodeDecodeError:
        return frozenset({OTHER})
    return frozenset({UTF_8}) if _SHOWS_UTF_8.search(text) else frozenset()


def saved_as(encoding: str) -> str:
    """The remedy in the file."""
    return f"save the file as {ENCODING_TITLES[encoding]}{_in_excel(encoding)}"


def _in_excel(encoding: str) -> str:
    """The name that Excel has for CSV of an encoding, where it writes it."""
    named = {UTF_8: "CSV UTF-8", "windows-1252": "CSV"}.get(encoding)
    return f" (in Excel: {named})" if named else ""


def encoding_remedy(readable: str | None) -> str:
    """The remedy in the contract, where the file can be read in another encoding."""
    return f", or declare csv.encoding: {readable}, in which it can be read" if readable else ""
