"""Hashes as multihash in multibase."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from lakegate.base.errors import InputError

# ---- Multibase (RFC-012) ----


LONGEST_MULTIHASH = 1024
"""The longest text that is read: base58 takes a time that grows with the square of the length."""
_BITCOIN = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def base16(data: bytes) -> str:
    """Hexadecimal digits after `f`: the form that ODF prefers."""
    return f"f{data.hex()}"


def decode_text(text: str) -> bytes:
    """The bytes of a text in any encoding; InputError where it is not what an encoder writes."""
    base = _BASES.get(text[:1])
    if base is None or len(text) > LONGEST_MULTIHASH:
        raise InputError(
            f"no multibase text: the encodings {', '.join(_BASES)} are read, up to {LONGEST_MULTIHASH} characters"
        )
    body = text[1:] if base.fold is None else base.fold(text[1:])
    try:
        found = base.decode(body)
    except ValueError:
        found = None
    if found is None or base.encode(found) != body:
        raise InputError(f"the characters after the first one are no {base.name}")
    return found


@dataclass(frozen=True, slots=True)
class Base:
    """The form in which an encoding writes bytes, without its prefix."""

    name: str
    encode: Callable[[bytes], str]
    decode: Callable[[str], bytes]
    """ValueError, or other bytes, where a text is not one that `encode` writes."""
    fold: Callable[[str], str] | None = None
    """The case that `encode` writes, where upper and lower case mean the same."""


def _base32(data: bytes) -> str:
    return base64.b32encode(data).decode().rstrip("=")


def _from_base32(text: str) -> bytes:
    return base64.b32decode(_pad(text, 8))


def _base58(data: bytes) -> str:
    rest = data.lstrip(b"\0")
    number, digits = int.from_bytes(rest, "big"), ""
    while number:
        number, digit = divmod(number, len(_BITCOIN))
        digits = _BITCOIN[digit] + digits
    return _BITCOIN[0] * (len(data) - len(rest)) + digits


def _from_base58(text: str) -> bytes:
    rest, number = text.lstrip(_BITCOIN[0]), 0
    for entry in rest:
        number = number * len(_BITCOIN) + _BITCOIN.index(entry)
    return bytes(len(text) - len(rest)) + number.to_bytes((number.bit_length() + 7) // 8, "big")


def _pad(text: str, width: int) -> str:
    return text + "=" * (-len(text) % width)


_BASES = {
    "f": Base("base16", bytes.hex, bytes.fromhex, str.lower),
    "F": Base("base16upper", lambda data: data.hex().upper(), bytes.fromhex, str.upper),
    "b": Base("base32", lambda data: _base32(data).lower(), lambda text: _from_base32(text.upper()), str.lower),
    "B": Base("base32upper", _base32, _from_base32, str.upper),
    "z": Base("base58btc", _base58, _from_base58),
    "m": Base(
        "base64",
        lambda data: base64.b64encode(data).decode().rstrip("="),
        lambda text: base64.b64decode(_pad(text, 4)),
    ),
    "u": Base(
        "base64url",
        lambda data: base64.urlsafe_b64encode(data).decode().rstrip("="),
        lambda text: base64.urlsafe_b64decode(_pad(text, 4)),
    ),
    "U": Base("base64urlpad", lambda data: base64.urlsafe_b64encode(data).decode(), base64.urlsafe_b64decode),
}
"""By the first character of a text."""


# ---- Multihashes (RFC-012) ----


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
    data = decode_text(text)
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
