"""Packed files and JSON arrays as streams: unpacked, counted, cut into records, whatever their pieces."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import tracemalloc
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.admission.file_signatures import UnreadableError
from lakegate.contract.file_formats import COMPRESSIONS, Compression
from lakegate.engine.read import compressed_streams, json_texts
from lakegate.engine.read.compressed_streams import unpack
from lakegate.engine.read.json_texts import read_elements
from lakegate.engine.read.read_bounds import BROKEN

PACK: dict[Compression, Callable[[bytes], bytes]] = {
    Compression.NONE: bytes,
    Compression.GZIP: gzip.compress,
    Compression.BZIP2: bz2.compress,
    Compression.ZSTD: lambda content: pa.Codec("zstd").compress(content, asbytes=True),
}
PACKED = [codec for codec in Compression if codec is not Compression.NONE]
TEXT = b"".join(b"line %d\n" % number for number in range(5_000))


def unpack_all(packed: bytes, codec: Compression) -> bytes:
    return b"".join(piece for piece, _ in unpack(io.BytesIO(packed), codec))


def broken(packed: bytes, codec: Compression) -> str:
    with pytest.raises(UnreadableError) as caught:
        unpack_all(packed, codec)
    assert caught.value.finding.code in BROKEN
    return caught.value.finding.code


@pytest.mark.parametrize("codec", Compression)
@pytest.mark.parametrize("cut", [None, 1, 1000])
def test_what_was_packed_comes_out(codec: Compression, cut: int | None) -> None:
    """In one member or in two, every byte that went in is accounted for."""
    parts = [TEXT] if cut is None else [TEXT[:cut], TEXT[cut:]]
    packed = b"".join(PACK[codec](part) for part in parts)
    pieces = list(unpack(io.BytesIO(packed), codec))

    assert b"".join(piece for piece, _ in pieces) == TEXT
    assert sum(taken for _, taken in pieces) == len(packed)


@pytest.mark.parametrize("codec", [Compression.GZIP, Compression.BZIP2])
def test_members_without_content_cost_little(codec: Compression, monkeypatch: pytest.MonkeyPatch) -> None:
    """A member is given some bytes of what is left, and not all of it: of many small ones each byte is looked at a few times."""
    packed = PACK[codec](TEXT) + PACK[codec](b"") * 5_000
    asked = 0

    class Watched:
        def __init__(self) -> None:
            self._own = decompressor()

        def __getattr__(self, name: str) -> Any:
            return getattr(self._own, name)

        def decompress(self, content: bytes, most: int) -> Any:
            nonlocal asked
            asked += len(content)
            return self._own.decompress(content, most)

    decompressor = codec.spec.decompressor
    assert decompressor is not None
    monkeypatch.setitem(COMPRESSIONS, codec, replace(codec.spec, decompressor=Watched))

    assert unpack_all(packed, codec) == TEXT
    assert asked < 100 * len(packed)


def skippable(size: int) -> bytes:
    return b"\x5a\x2a\x4d\x18" + size.to_bytes(4, "little") + bytes(size)


ZSTD_TEXT = PACK[Compression.ZSTD](TEXT)
PADDED = {
    "zstd: a frame without data before": (Compression.ZSTD, skippable(4) + ZSTD_TEXT),
    "zstd: between": (
        Compression.ZSTD,
        PACK[Compression.ZSTD](TEXT[:9]) + skippable(0) + PACK[Compression.ZSTD](TEXT[9:]),
    ),
    "zstd: behind": (Compression.ZSTD, ZSTD_TEXT + skippable(3)),
    "zstd: of several MiB": (Compression.ZSTD, skippable(3 << 20) + ZSTD_TEXT + skippable(3 << 20)),
    "gzip: zeros behind": (Compression.GZIP, gzip.compress(TEXT) + bytes(512)),
    "gzip: several MiB of zeros": (Compression.GZIP, gzip.compress(TEXT) + bytes(3 << 20)),
    "gzip: zeros between": (Compression.GZIP, gzip.compress(TEXT[:9]) + bytes(9) + gzip.compress(TEXT[9:])),
}


@pytest.mark.parametrize("name", PADDED)
def test_padding_is_skipped_and_counted(name: str) -> None:
    """Frames without data (RFC 8878 §3.1.2), and the zeros of tapes, which gzip itself skips."""
    codec, packed = PADDED[name]
    pieces = list(unpack(io.BytesIO(packed), codec))

    assert b"".join(piece for piece, _ in pieces) == TEXT
    assert sum(taken for _, taken in pieces) == len(packed)


@pytest.mark.parametrize(
    ("codec", "packed"),
    [
        (Compression.GZIP, gzip.compress(TEXT, mtime=0) + bytes(9) + b"x"),
        (Compression.GZIP, bytes(9)),
        (Compression.BZIP2, bz2.compress(TEXT) + bytes(9)),
        (Compression.ZSTD, ZSTD_TEXT + skippable(9)[:-2]),
        (Compression.ZSTD, skippable(9)[:-2]),
    ],
)
def test_padding_that_breaks_off_or_is_of_another_codec_is_damage(codec: Compression, packed: bytes) -> None:
    """Nothing else may follow."""
    assert broken(packed, codec) == "damaged"


@pytest.mark.parametrize("codec", PACKED)
@pytest.mark.parametrize("flaw", ["cut off", "half", "more", "other", "empty"])
def test_a_damaged_file_is_never_read_as_a_shorter_one(codec: Compression, flaw: str) -> None:
    """A file that is truncated, continues with other bytes, or was never compressed is damaged."""
    whole = PACK[codec](TEXT)
    flawed = {
        "cut off": whole[:-3],
        "half": whole[: len(whole) // 2],
        "more": whole + b"more",
        "other": b"id,name\n1,Ana\n",
        "empty": b"",
    }

    assert broken(flawed[flaw], codec) == "damaged"


@pytest.mark.parametrize("codec", PACKED)
def test_a_bomb_is_noticed_in_bounded_memory(codec: Compression, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond its bounds a file is not unpacked further, and no more than pieces of it are in memory."""
    monkeypatch.setattr("lakegate.engine.read.compressed_streams.GRACE", 4 << 20)
    bomb = PACK[codec](bytes(64 << 20))
    tracemalloc.start()
    code = broken(bomb, codec)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert code == "bomb"
    assert peak < 32 << 20


def test_a_file_beyond_every_bound_is_refused_whatever_its_ratio(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is an absolute bound too."""
    assert compressed_streams.MAX_UNPACKED == 64 << 30
    monkeypatch.setattr("lakegate.engine.read.compressed_streams.MAX_UNPACKED", len(TEXT) - 1)

    assert broken(gzip.compress(TEXT, 0), Compression.GZIP) == "bomb"


def pieces_of(content: bytes, size: int) -> Iterable[tuple[bytes, int]]:
    return ((content[at : at + size], 1) for at in range(0, len(content), size))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(VALUES, max_size=6), st.integers(1, 9), st.sampled_from([None, 1]))
def test_elements_of_an_array_are_the_same_however_it_is_cut(
    found: list[object], size: int, indent: int | None
) -> None:
    """Pieces of any size, even within a character, give the elements of the whole, each as its own text."""
    content = json.dumps(found, ensure_ascii=False, indent=indent).encode()
    texts = [text for batch, _ in read_elements(pieces_of(content, size)) for text in batch]

    assert [json.loads(text) for text in texts] == found


@given(
    st.lists(VALUES, max_size=6),
    st.lists(st.sampled_from(["data", "items", "a b", "é", ""]), min_size=1, max_size=3),
    st.lists(st.tuples(st.text(max_size=3), VALUES, st.booleans()), max_size=4),
    st.tuples(st.integers(1, 9), st.sampled_from([80, 1 << 20]), st.booleans(), st.sampled_from([None, 1])),
)
def test_records_in_a_member_are_those_of_the_whole_document(
    found: list[object],
    path: list[str],
    beside: list[tuple[str, object, bool]],
    drawn: tuple[int, int, bool, int | None],
) -> None:
    """Whatever stands before and behind them, however long, in whichever pieces, and with escapes in names."""
    size, longest, ascii_only, indent = drawn
    document: object = found
    for at, name in enumerate(reversed(path)):
        others = [(f"{key}{at}", value, is_before) for key, value, is_before in beside]
        before = {key: value for key, value, is_before in others if is_before}
        document = before | {name: document} | {key: value for key, value, is_before in others if not is_before}
    content = json.dumps(document, ensure_ascii=ascii_only, indent=indent).encode()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            json_texts, "LONGEST_RECORD", max([longest, *(4 * len(json.dumps(each, indent=1)) for each in found)])
        )
        texts = [text for batch, _ in read_elements(pieces_of(content, size), path) for text in batch]

    assert [json.loads(text) for text in texts] == found


def test_what_stands_beside_the_records_may_be_long() -> None:
    """It is skipped piece by piece: a list and an object of 3 MiB before and behind the records."""
    long = {"list": [{"a": ["x" * 1000]} for _ in range(3000)], "object": {f"k{at}": "y" * 1000 for at in range(3000)}}
    content = json.dumps({"meta": long, "data": [1, {"data": []}], "more": long}).encode()

    assert [text for batch, _ in read_elements(pieces_of(content, 1 << 20), ["data"]) for text in batch] == [
        b"1",
        b'{"data": []}',
    ]


WITHOUT_RECORDS = {
    "another name": ('{"meta": {"data": []}, "items": [1]}', "there are 'meta', 'items'"),
    "a value of none": ('{"data": null}', "no array in data (`records`); there are 'data'"),
    "an object": ('{"data": {"a": [1]}}', "there are 'data'"),
    "no members": ("{}", "no array in data (`records`): write it there"),
    "names that may be values": ('{"ana.17@example.org\\u001b": 1}', "there are 'aaa.99@aaaaaaa.aaa?'"),
    "many names": (json.dumps(dict.fromkeys("abcdefgh")), "there are 'a', 'b', 'c', 'd', 'e' and others"),
}


@pytest.mark.parametrize("name", WITHOUT_RECORDS)
@pytest.mark.parametrize("size", [1, 1000])
def test_a_document_without_the_records_says_what_it_has(name: str, size: int) -> None:
    """The members that stand where the path breaks off; names that may be values are masked."""
    content, words = WITHOUT_RECORDS[name]

    with pytest.raises(UnreadableError) as caught:
        list(read_elements(pieces_of(content.encode(), size), ["data"]))

    assert caught.value.finding.code == "no-records"
    assert words in caught.value.finding.message


def test_members_are_named_where_the_path_breaks_off() -> None:
    """Those of the innermost object that it leads to."""
    with pytest.raises(UnreadableError) as caught:
        list(read_elements(pieces_of(b'{"status": 1, "result": {"total": 2, "rows": [1]}}', 7), ["result", "items"]))

    assert caught.value.finding.message == (
        "the JSON object has no array in result.items (`records`); there are 'total', 'rows': "
        "write it there, or declare where it stands"
    )


DOCUMENTS = {
    "nothing": "",
    "an array": "[1]",
    "an open brace": "{",
    "an open array": '{"data": [1',
    "an open object behind the array": '{"data": [1]',
    "a comma too many": '{"data": [1],}',
    "no comma": '{"data": [1] "a": 2}',
    "a key that is no text": "{1: [1]}",
    "no colon": '{"data" [1]}',
    "more behind it": '{"data": [1]} {}',
    "the records twice": '{"data": [1], "data": [2]}',
    "the way to the records twice": '{"data": [1], "d\\u0061ta": 1}',
    "a word beside": '{"a": nul, "data": [1]}',
    "a text of 3 MiB beside": f'{{"a": "{"x" * (3 << 20)}", "data": []}}',
    "a name of 3 MiB": f'{{"{"x" * (3 << 20)}": 1, "data": []}}',
    "a record of 3 MiB": f'{{"data": ["{"x" * (3 << 20)}"]}}',
    "no JSON in a long list beside": f'{{"a": [{"[1]," * (1 << 20)} nul], "data": []}}',
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_what_is_no_whole_document_has_no_good_end(name: str) -> None:
    """It is never taken for the records that were read before it broke."""
    with pytest.raises(UnreadableError) as caught:
        list(read_elements(pieces_of(DOCUMENTS[name].encode(), 1 << 20), ["data"]))

    assert caught.value.finding.code == "records"


def test_a_document_is_utf_8_and_not_too_deep() -> None:
    """As arrays are."""
    for content, code in (('{"ação": 1}'.encode("latin-1"), "records-encoding"), (b'{"a":' * 50_000, "records-depth")):
        with pytest.raises(UnreadableError) as caught:
            list(read_elements(pieces_of(content, 1 << 20), ["data"]))
        assert caught.value.finding.code == code


ARRAYS = {
    "nothing": ("", "array"),
    "an open bracket": ("[", "array"),
    "a comma too many": ("[1,]", "array"),
    "two commas": ("[1,,2]", "array"),
    "a comma first": ("[,1]", "array"),
    "no comma": ("[1 2]", "array"),
    "more behind it": ("[1] 2", "array"),
    "an object": ('{"a": 1}', "array"),
    "a text that does not end": ('["a]', "array"),
    "cut off within a number": ("[12", "array"),
    "a word": ("[nul]", "array"),
    "100,000 brackets": ("[" * 100_000, "array-depth"),
    "an element of 3 MiB": (f'["{"x" * (3 << 20)}"]', "array"),
    "3 MiB of space": ("[" + " " * (3 << 20) + "]", "array"),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_what_is_no_array_has_no_good_end(name: str) -> None:
    """It is never taken for the elements that were read before it broke."""
    content, code = ARRAYS[name]

    with pytest.raises(UnreadableError) as caught:
        list(read_elements(pieces_of(content.encode(), 1 << 20)))

    assert caught.value.finding.code == code


def test_an_array_is_utf_8() -> None:
    """Bytes that are none end the reading."""
    with pytest.raises(UnreadableError) as caught:
        list(read_elements(pieces_of('["ação"]'.encode("latin-1"), 1)))

    assert caught.value.finding.code == "array-encoding"
