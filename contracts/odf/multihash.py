"""Hashes as ODF writes them: a multihash in multibase (specification, *Hash Representation*; RFC-012)."""

from __future__ import annotations

from enum import IntEnum

from lakegate.contracts.errors import InputError
from lakegate.contracts.odf.multibase import base16, decoded

SIZE = 32
"""Bytes of a digest of either function."""
_MORE = 0x80
"""The bit of a byte of a varint that says that another byte follows."""


class HashCode(IntEnum):
    """The hash functions of ODF, by their multicodec."""

    SHA3_256 = 0x16
    """Physical hash: of the bytes of a file."""
    ARROW0_SHA3_256 = 0x300016
    """Logical hash: arrow-digest, version 0, with SHA3-256."""


def multihash(code: HashCode, digest: bytes) -> str:
    """A digest with its function and length, in base16: `f1620` and 64 digits for SHA3-256."""
    return base16(_head(code) + digest)


def hash_in(text: str) -> tuple[HashCode, bytes]:
    """The function and the digest of a multihash in any encoding; InputError where it is none of ODF's functions."""
    data = decoded(text)
    for code in HashCode:
        head = _head(code)
        if data.startswith(head) and len(data) == len(head) + SIZE:
            return code, data[len(head) :]
    raise InputError("the multihash has another function or length than ODF's: sha3-256 and arrow0-sha3-256, 32 bytes")


def varint(number: int) -> bytes:
    """An unsigned number in groups of seven bits, the lowest first (multiformats, `unsigned-varint`)."""
    found = bytearray()
    while number >= _MORE:
        found.append(number % _MORE + _MORE)
        number //= _MORE
    return bytes([*found, number])


def _head(code: HashCode) -> bytes:
    return varint(code) + varint(SIZE)
