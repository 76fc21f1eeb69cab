"""Multihashes as Open Data Fabric writes them, and multibase: every encoding with the status `final` is read."""

from __future__ import annotations

import base64
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.base.errors import InputError
from lakegate.features.odf.format.multihash import (
    LONGEST_MULTIHASH,
    HashCode,
    base16,
    decode_text,
    hash_in,
    multihash,
    varint,
)


def test_a_hash_names_its_function_and_its_length() -> None:
    """Both functions of ODF have the beginnings of its specification, after the prefix of base16."""
    digest = bytes(range(32))

    assert {code: multihash(code, digest) for code in HashCode} == {
        HashCode.SHA3_256: "f1620" + digest.hex(),
        HashCode.ARROW0_SHA3_256: "f9680c00120" + digest.hex(),
    }
    assert {code: hash_in(multihash(code, digest)) for code in HashCode} == {code: (code, digest) for code in HashCode}


def test_a_hash_is_read_in_any_encoding() -> None:
    """Base64, as another tool may write it, has the same function and digest."""
    data = b"\x16\x20" + bytes(range(32))

    assert hash_in("m" + base64.b64encode(data).decode().rstrip("=")) == (HashCode.SHA3_256, bytes(range(32)))


@pytest.mark.parametrize(
    "text", ["", "f", "f1620", "f1620" + "00" * 31, "f1620" + "00" * 33, "f1220" + "00" * 32, "f161f" + "00" * 31]
)
def test_another_function_or_length_is_refused(text: str) -> None:
    """SHA-256, and digests that are too short or too long."""
    with pytest.raises(InputError):
        hash_in(text)


@given(st.integers(0, 1 << 40))
def test_a_varint_has_seven_bits_in_each_byte(number: int) -> None:
    """The bytes add up to the number, and only the last one lacks the highest bit."""
    found = varint(number)

    assert sum((each & 0x7F) << 7 * place for place, each in enumerate(found)) == number
    assert [each >> 7 for each in found] == [1] * (len(found) - 1) + [0]


TEXTS = {
    b"yes mani !": [
        "f796573206d616e692021",
        "F796573206D616E692021",
        "f796573206D616E692021",
        "bpfsxgidnmfxgsibb",
        "BPFSXGIDNMFXGSIBB",
        "bPFSXGIDNMFXGSIBB",
        "z7paNL19xttacUY",
        "meWVzIG1hbmkgIQ",
        "ueWVzIG1hbmkgIQ",
        "UeWVzIG1hbmkgIQ==",
    ],
    b"\0\0yes mani !": [
        "f0000796573206d616e692021",
        "F0000796573206D616E692021",
        "baaahszltebwwc3tjeaqq",
        "BAAAHSZLTEBWWC3TJEAQQ",
        "z117paNL19xttacUY",
        "mAAB5ZXMgbWFuaSAh",
        "uAAB5ZXMgbWFuaSAh",
        "UAAB5ZXMgbWFuaSAh",
    ],
    b"": ["f", "F", "b", "B", "z", "m", "u", "U"],
    b"\xff\xfb": ["m//s", "u__s", "U__s="],
}
"""Test vectors of the specification of multibase, and the characters in which the forms of base64 differ."""


@pytest.mark.parametrize(("data", "text"), [(data, text) for data, texts in TEXTS.items() for text in texts])
def test_every_final_encoding_is_read(data: bytes, text: str) -> None:
    """The vectors of the specification; ODF's own form is base16."""
    assert decode_text(text) == data
    assert decode_text(base16(data)) == data


@pytest.mark.parametrize(
    "text",
    [
        *("", "0", "9123", "kabc", "M//s=", "\0"),
        *("f1", "fxx", "f 0", "f0 0", "f\n00", "f\uff10\uff10", "F0x"),
        *("b1", "ba", "baaa=", "bab", "B0"),
        *("z0", "zO", "zl", "z ", "zI"),
        *("m=", "m//s=", "m/", "m__s", "m//t", "m/ /s", "m//s\n"),
        *("u//s", "u__s=", "u__t", "u_", "uż"),
        *("U__s", "U//s=", "U__t="),
        "f" + "00" * LONGEST_MULTIHASH,
    ],
)
def test_what_no_encoder_writes_is_refused(text: str) -> None:
    """Other prefixes, alphabets, paddings, bits that are left over, white space, and texts that are too long."""
    with pytest.raises(InputError):
        decode_text(text)


@given(st.binary(max_size=64))
def test_bytes_are_read_as_they_were_written(data: bytes) -> None:
    """In base16, and in the encodings of Python's own library."""
    others = (
        "b" + base64.b32encode(data).decode().lower().rstrip("="),
        "m" + base64.b64encode(data).decode().rstrip("="),
        "U" + base64.urlsafe_b64encode(data).decode(),
    )

    assert [decode_text(text) for text in (base16(data), *others)] == [data] * 4


@given(st.sampled_from("fFbBzmuU"), st.text(max_size=20))
def test_any_text_is_read_or_refused(prefix: str, text: str) -> None:
    """No text raises anything but InputError."""
    with suppress(InputError):
        assert isinstance(decode_text(prefix + text), bytes)
