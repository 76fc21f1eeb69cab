"""Multihashes as Open Data Fabric writes them."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.errors import InputError
from lakegate.features.odf.format.multihash import HashCode, hash_in, multihash, varint


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
