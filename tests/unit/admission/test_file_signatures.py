"""What the first bytes of a file show, compared with what its contract promises."""

from __future__ import annotations

import bz2
import gzip
import lzma
import pickle
import zlib
from dataclasses import replace

import pytest

from lakegate.admission.file_signatures import (
    BOM,
    OTHER,
    UTF_8,
    UnreadableError,
    declared_format,
    encoding_evidence,
    settle_format,
)
from lakegate.admission.header import HEAD, text_of
from lakegate.contract.file_formats import Compression, Csv, Format, Storage
from lakegate.plan.result import Unreadable
from tests.deliveries.refusal import refusal_of

TEXT = b'{"id": 1}\n'
MAGIC = {
    "gzip": gzip.compress(TEXT),
    "bzip2": bz2.compress(TEXT),
    "zstd": b"\x28\xb5\x2f\xfdrest",
    "xz": b"\xfd7zXZ\x00",
    "zip": b"PK\x03\x04",
    "parquet": b"PAR1",
    "encrypted-parquet": b"PARE",
    "avro": b"Obj\x01",
    "orc": b"ORC",
    "pdf": b"%PDF-1.7",
    "office": b"\xd0\xcf\x11\xe0",
    "lz4": b"\x04\x22\x4d\x18rest",
    "snappy": b"\xff\x06\x00\x00sNaPpYrest",
    "compress": b"\x1f\x9d\x90rest",
    "lzma": lzma.compress(TEXT, lzma.FORMAT_ALONE),
    "lzip": b"LZIP\x01",
    "zlib": zlib.compress(TEXT),
    "7z": b"7z\xbc\xaf\x27\x1c",
    "rar": b"Rar!\x1a\x07\x01\x00",
    "tar": bytes(257) + b"ustar\x0000",
    "arrow": b"ARROW1\x00\x00\xff\xff\xff\xff",
    "sqlite": b"SQLite format 3\x00\x10\x00",
    "duckdb": bytes(8) + b"DUCK",
    "hdf5": b"\x89HDF\r\n\x1a\n",
    "pickle": pickle.dumps([1, 2], 4),
    "image": b"\x89PNG\r\n\x1a\n",
    "rtf": b"{\\rtf1",
    "pgp": b"-----BEGIN PGP MESSAGE-----",
    "json-sequence": b'\x1e{"id": 1}\n',
}
STORAGES = [
    *(
        Storage(form, codec)
        for form in (Format.CSV, Format.JSONL, Format.JSON, Format.ANY_JSON)
        for codec in Compression
    ),
    *(Storage(form) for form in (Format.PARQUET, Format.ORC, Format.AVRO)),
]


def refusal_of_kind(first: bytes, storage: Storage, csv: Csv | None = None) -> tuple[str, str]:
    return refusal_of(lambda: text_of(first, storage, csv or Csv()))


@pytest.mark.parametrize("storage", STORAGES, ids=lambda storage: storage.suffix)
@pytest.mark.parametrize("kind", MAGIC)
def test_another_kind_of_file_is_refused_by_what_it_is(kind: str, storage: Storage) -> None:
    """Each format and codec refuses the magic of each other one, naming both; its own passes."""
    own = storage.compression.value if storage.format.is_text else storage.format.value
    if kind == own:
        text_of(MAGIC[kind], storage if kind not in {"gzip", "bzip2"} else replace(storage, format=Format.JSONL), Csv())
        return

    code, message = refusal_of_kind(MAGIC[kind], storage)

    assert kind == code
    assert declared_format(storage) in message


@pytest.mark.parametrize(
    "text", [b"x^,y\n", b"BLOB\n", b"LZIP,a\n", b"ARROW1,ARROW2\n", b"x" * 257 + b"us,tar\n", b"FEA1,b\n"]
)
def test_text_that_resembles_a_signature_is_text(text: bytes) -> None:
    """Names of columns may begin as the names of formats do."""
    assert text_of(text, Storage(Format.CSV), Csv()) == text


INNER = [name for name in MAGIC if name not in {"bzip2", "gzip"}]


@pytest.mark.parametrize("name", [*INNER, "gzip", "bzip2"])
@pytest.mark.parametrize("codec", [Compression.GZIP, Compression.BZIP2])
def test_what_is_packed_in_a_file_is_named(name: str, codec: Compression) -> None:
    """Packed twice by any two codecs, or packed although it is no text."""
    pack = {Compression.GZIP: gzip.compress, Compression.BZIP2: bz2.compress}[codec]
    code, message = refusal_of_kind(pack(MAGIC[name]), Storage(Format.CSV, codec))

    assert code in {name, "packed-twice"}
    assert codec.value in message


def skippable(content: bytes, number: int = 0) -> bytes:
    return bytes([0x50 + number]) + b"\x2a\x4d\x18" + len(content).to_bytes(4, "little") + content


ZSTD = Storage(Format.CSV, Compression.ZSTD)


@pytest.mark.parametrize(
    "before", [b"", skippable(b""), skippable(b"1234", 15) + skippable(b"x"), skippable(b"x" * HEAD)]
)
def test_frames_without_data_are_skipped(before: bytes) -> None:
    """A file of zstd may begin with them (RFC 8878), as pzstd writes it; those of lz4 are alike."""
    first = (before + MAGIC["zstd"])[:HEAD]

    assert text_of(first, ZSTD, Csv()) is None
    assert refusal_of_kind(first, Storage(Format.CSV))[0] == "zstd"
    if before and len(before) < HEAD:
        assert refusal_of_kind(before + MAGIC["lz4"], ZSTD)[0] == "lz4"


FRAMES = {
    "a window of 1 GiB": (b"\x00\xa0", "zstd-window"),
    "a window beyond 128 MiB": (b"\x00\x89", "zstd-window"),
    "a window of 128 MiB": (b"\x00\x88", None),
    "a dictionary": (b"\x01\x50\x07", "zstd-dictionary"),
    "a dictionary of four bytes": (b"\x23\x00\x00\x00\x07", "zstd-dictionary"),
    "a dictionary without a number": (b"\x01\x50\x00", None),
}


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_that_decoders_refuse_is_named(name: str) -> None:
    """By its header: the file is whole, and what packed it can do otherwise."""
    begin, code = FRAMES[name]
    for before in (b"", skippable(b"abc")):
        first = before + b"\x28\xb5\x2f\xfd" + begin + bytes(20)
        if code is None:
            assert text_of(first, ZSTD, Csv()) is None
        else:
            assert refusal_of_kind(first, ZSTD)[0] == code


@pytest.mark.parametrize("storage", [each for each in STORAGES if not each.format.is_text], ids=lambda it: it.suffix)
def test_text_where_a_format_was_promised_is_refused(storage: Storage) -> None:
    """Text has no magic: it is refused because the declared one is missing."""
    code, message = refusal_of_kind(b"id,name\n1,Ana\n", storage)

    assert code == "other-format"
    assert f"does not begin as {declared_format(storage)} does" in message


@pytest.mark.parametrize("codec", [Compression.GZIP, Compression.BZIP2, Compression.ZSTD])
def test_plain_text_where_a_codec_was_promised_is_refused(codec: Compression) -> None:
    """An uncompressed file is refused where the contract promises a compressed one."""
    assert refusal_of_kind(b"id,name\n", Storage(compression=codec))[0] == "not-packed"


@pytest.mark.parametrize("packed", [b"\x1f\x8bnothing that unpacks", b"BZh9nothing that unpacks"])
def test_packed_bytes_that_are_damaged_are_refused(packed: bytes) -> None:
    """A magic alone makes no archive."""
    codec = Compression.GZIP if packed.startswith(b"\x1f") else Compression.BZIP2

    code, message = refusal_of_kind(packed, Storage(compression=codec))

    assert code == "damaged"
    assert f"cannot be unpacked with {codec.value}" in message


@pytest.mark.parametrize(
    ("first", "form", "code"),
    [
        (b'[{"id": 1}]', Format.JSONL, "json-array"),
        (b'\n {"id": 1}', Format.JSON, "json-lines"),
        (b"id,name\n", Format.JSONL, "not-json"),
        (b"id,name\n", Format.JSON, "not-json"),
        (b"<rows/>", Format.JSON, "not-json"),
        (BOM + b'[{"id": 1}]', Format.JSONL, "json-array"),
        ('{"id": 1}'.encode("utf-32"), Format.JSONL, "encoding"),
        ('{"id": 1}'.encode("utf-16"), Format.JSONL, "encoding"),
        ('{"id": 1}'.encode("utf-16-le"), Format.JSONL, "encoding"),
        ('[{"id": 1}]'.encode("utf-16-be"), Format.JSON, "encoding"),
        (b"id,name\n", Format.ANY_JSON, "not-json"),
        (b'{"id": 1}', Format.UNKNOWN, "format-unknown"),
        (b"", Format.UNKNOWN, "format-unknown"),
    ],
)
def test_json_tells_by_its_first_character_what_it_is(first: bytes, form: Format, code: str) -> None:
    """Lines and an array are distinguished; JSON is UTF-8, with or without a byte order mark."""
    assert code == refusal_of_kind(first, Storage(form))[0]


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (b'\n\t [{"id": 1}]', Format.JSON),
        (BOM + b'\n\t [{"id": 1}]', Format.JSON),
        (b'\r\n {"id": 1}', Format.JSONL),
        (b" \n", Format.JSONL),
        (b"", Format.JSONL),
    ],
)
def test_json_of_either_form_is_the_one_it_begins_as(text: bytes, form: Format) -> None:
    """Where lines and one array are allowed, the first character that is no space decides; without one there are no rows."""
    either = Storage(Format.ANY_JSON, Compression.GZIP)

    assert settle_format(either, text) == Storage(form, Compression.GZIP)
    assert settle_format(Storage(form), b"[{") == Storage(form)


def test_an_unreadable_object_is_known_by_its_number() -> None:
    """Of several objects, the reason names the one that is meant."""
    found = UnreadableError("zip", "it is a zip").of_part(2).finding

    assert found == Unreadable("zip", "it is a zip", part=2)


@pytest.mark.parametrize("text", [b' \n{"id": 1}', b"\n\n"])
def test_what_begins_as_promised_passes(text: bytes) -> None:
    """Space before the first value is nothing, and so is a file of nothing else."""
    assert text == text_of(text, Storage(Format.JSONL), Csv())


@pytest.mark.parametrize("codec", [Compression.GZIP, Compression.BZIP2])
def test_no_more_than_a_beginning_is_unpacked(codec: Compression) -> None:
    """A bomb at the door costs no more memory than a header may have."""
    pack = gzip.compress if codec is Compression.GZIP else bz2.compress

    text = text_of(pack(b"x" * (HEAD * 40)), Storage(compression=codec), Csv())

    assert len(text or b"") == HEAD


@pytest.mark.parametrize("storage", [Storage(compression=Compression.ZSTD), Storage(Format.PARQUET)])
def test_what_cannot_be_seen_is_left_to_the_job(storage: Storage) -> None:
    """Zstd is not in Python's library of 3.11, and a format with a schema of its own has no header of text."""
    magic = MAGIC["parquet" if storage.format is Format.PARQUET else "zstd"]

    assert text_of(magic, storage, Csv()) is None


@pytest.mark.parametrize(
    ("storage", "csv", "expected"),
    [
        (Storage(Format.JSONL), Csv(), None),
        (Storage(Format.ANY_JSON), Csv(), None),
        (Storage(Format.CSV), Csv(header=False), None),
        (Storage(Format.CSV), Csv(), "it has not even a header"),
        (Storage(Format.CSV, Compression.GZIP), Csv(header=False), "one without records has a signature"),
        (Storage(Format.JSON), Csv(), "an array without elements is []"),
        (Storage(Format.JSONL, Compression.GZIP), Csv(), "one without records has a signature"),
        (Storage(Format.PARQUET), Csv(), "one without records has a signature"),
    ],
)
def test_an_empty_file_is_one_of_lines_alone(storage: Storage, csv: Csv, expected: str | None) -> None:
    """Lines may be none, and `allowEmpty` decides about that; any other format has bytes without records, too."""
    if expected is None:
        assert text_of(b"", storage, csv) == b""
    else:
        assert refusal_of_kind(b"", storage, csv) == ("empty", f"the file is empty: {expected}")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", set()),
        ("Müller", {UTF_8}),
        ("JOSÉ MÜLLER", {UTF_8}),
        ("20 °C", {UTF_8}),
        ("5 €", {UTF_8}),
        ("it\u2019s", {UTF_8}),
        ("Łódź", {UTF_8}),
        ("Москва", {UTF_8}),
        ("東京", {UTF_8}),
        ("\U0001f600", {UTF_8}),
        ("JOSÉ", set()),
    ],
)
def test_characters_of_utf_8_are_known(text: str, shown: set[str]) -> None:
    """A character alone at the end of a word in capitals leaves it open; so does a text without any."""
    assert encoding_evidence(text.encode()) == shown


def test_no_text_of_one_byte_for_each_character_is_taken_for_utf_8() -> None:
    """Letters of Windows-1252 with any signs behind them: at the end of a word in capitals, or of one in small letters."""
    letters = [letter for letter in bytes(range(0xC0, 0x100)).decode("windows-1252") if letter.isalpha()]
    signs = [sign for sign in bytes(range(0x80, 0xC0)).decode("windows-1252", "ignore") if not sign.isalpha()]
    texts = [
        *(f"CAF{letter.upper()}{sign}" for letter in letters for sign in signs),
        *(f"caf{letter.lower()}{sign}" for letter in letters for sign in signs),
        *(f"caf{letter.lower()}\xa0{sign}" for letter in letters for sign in signs),
    ]
    shown = {text: encoding_evidence(text.encode("windows-1252", "ignore")) for text in texts}

    assert not [text for text, evidence in shown.items() if UTF_8 in evidence]
    assert shown["CAFÉ®"] == set()
    assert shown["café®"] == {OTHER}
