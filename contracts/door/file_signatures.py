"""Compares the file signature, the first bytes of a file, with the format that the contract declares. Names are ignored.

Binary formats and codecs have a signature (*magic bytes*); a file without a known one is text.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lakegate.contracts.errors import LakegateError
from lakegate.contracts.model.storage import Compression, Format
from lakegate.contracts.plan.result import Unreadable

if TYPE_CHECKING:
    from lakegate.contracts.model.storage import Csv, Storage

BOM = b"\xef\xbb\xbf"
_MAGIC = {
    b"\x1f\x8b": ("gzip", "gzip-compressed"),
    b"BZh": ("bzip2", "bzip2-compressed"),
    b"\x28\xb5\x2f\xfd": ("zstd", "zstd-compressed"),
    b"\xfd7zXZ": ("xz", "xz-compressed"),
    b"PK\x03\x04": ("zip", "a zip archive (an Excel workbook is one too)"),
    b"PAR1": ("parquet", "a Parquet file"),
    b"PARE": ("encrypted-parquet", "an encrypted Parquet file"),
    b"Obj\x01": ("avro", "an Avro file"),
    b"ORC": ("orc", "an ORC file"),
    b"%PDF": ("pdf", "a PDF document"),
    b"\xd0\xcf\x11\xe0": ("office", "an old Office document"),
}
_BINARY = {Format.PARQUET: "a Parquet file", Format.ORC: "an ORC file", Format.AVRO: "an Avro file"}
_TEXT = {
    Format.CSV: "CSV",
    Format.JSONL: "JSON lines",
    Format.JSON: "a JSON array",
    Format.ANY_JSON: "JSON lines or a JSON array",
}
_FIRST = {Format.JSONL: {b"", b"{"}, Format.JSON: {b"", b"["}, Format.ANY_JSON: {b"", b"{", b"["}}
"""The first characters of texts of the format; a blank text has no rows."""
_PACKED = {Compression.GZIP: "gzip", Compression.BZIP2: "bzip2", Compression.ZSTD: "zstd"}
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
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


def promised(storage: Storage) -> str:
    """The description of the declared format: `plain CSV`, `CSV packed with gzip`, `a Parquet file`."""
    if storage.format in _BINARY:
        return _BINARY[storage.format]
    text = _TEXT[storage.format]
    if storage.compression in _PACKED:
        return f"{text} packed with {_PACKED[storage.compression]}"
    return "plain CSV" if storage.format is Format.CSV else f"plain text, {text}"


def refuse_other_kinds(head: bytes, storage: Storage) -> None:
    """Raise UnreadableError if the first bytes are not those of the declared format or codec."""
    if storage.format is Format.UNKNOWN:
        raise UnreadableError(
            "format-unknown",
            "the servers of the contract name formats that differ or are not read here: "
            "say `format` in its `lakegate` extension",
        )
    if not head:
        raise UnreadableError("empty", "the file is empty: it has not even a header")
    wanted = storage.compression.value if storage.format.is_text else storage.format.value
    found, words = next((description for magic, description in _MAGIC.items() if head.startswith(magic)), ("none", ""))
    if found == wanted:
        return
    if found != "none":
        raise UnreadableError(
            found, f"the file is {words}, although the contract promises {promised(storage)}: {_mend(found, storage)}"
        )
    if storage.compression is not Compression.NONE and storage.format.is_text:
        raise UnreadableError(
            "not-packed",
            f"the file is not packed with {wanted}, although the contract says so: pack it, or declare another compression",
        )
    raise UnreadableError(
        "other-format", f"the file does not begin as {promised(storage)} does: deliver that, or declare what it is"
    )


def refuse_other_text(head: bytes, storage: Storage, csv: Csv) -> None:
    """Raise UnreadableError if uncompressed text does not begin like the declared format."""
    if head.startswith(_UTF_16) or b"\0" in head[:2]:
        mend = "save it as UTF-8" if storage.format is Format.CSV else "JSON is written in UTF-8 (RFC 8259)"
        raise UnreadableError("encoding", f"the file is UTF-16: {mend}")
    if head.startswith(BOM) and not (storage.format is Format.CSV and csv.encoding == "utf-8-sig"):
        declared = ", or declare csv.encoding: utf-8-sig" if storage.format is Format.CSV else ""
        raise UnreadableError("bom", f"the file begins with a byte order mark: save it as UTF-8 without one{declared}")
    if storage.format is not Format.CSV:
        _refuse_other_json(head.lstrip(_JSON_SPACE)[:1], storage.format)


def settled(storage: Storage, text: bytes) -> Storage:
    """The storage of a file with this beginning: the first character decides between JSON lines and a JSON array."""
    if storage.format is not Format.ANY_JSON:
        return storage
    is_array = text.lstrip(_JSON_SPACE).startswith(b"[")
    return replace(storage, format=Format.JSON if is_array else Format.JSONL)


def _refuse_other_json(first: bytes, form: Format) -> None:
    """The first character of JSON text decides whether it is an array; a blank text has no rows."""
    if form is Format.JSONL and first == b"[":
        raise UnreadableError(
            "json-array",
            "the file is one JSON array, although the contract promises a JSON object on each line: declare format: json",
        )
    if form is Format.JSON and first == b"{":
        raise UnreadableError(
            "json-lines",
            "the file begins with a JSON object, although the contract promises one JSON array: declare format: jsonl",
        )
    if first not in _FIRST[form]:
        raise UnreadableError("not-json", f"the file does not begin as {_TEXT[form]} does: is this JSON?")


def _mend(found: str, storage: Storage) -> str:
    if found in {each.value for each in Compression} and storage.format.is_text:
        unpacked = "upload the CSV itself" if storage.format is Format.CSV else "unpack it"
        return f"{unpacked}, or declare compression: {found}"
    if found in {each.value for each in Format}:
        return f"deliver {_BINARY.get(storage.format) or _TEXT[storage.format]}, or declare format: {found}"
    return "upload the CSV itself" if storage.format is Format.CSV else "deliver what it promises"
