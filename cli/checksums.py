"""The checksums of whole objects that S3 knows, computed of local bytes: `<algorithm>:<value in Base64>`.

Two of them Python does not have. They are computed eight bytes at a time by tables of 65,536 entries, about 10 MB a second.
"""

from __future__ import annotations

import base64
import hashlib
import struct
import zlib
from functools import cache, partial
from typing import TYPE_CHECKING, Final, Protocol

from lakegate.contracts.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Checksum(Protocol):
    """Is given bytes piece by piece."""

    def update(self, data: bytes, /) -> object:
        """Add bytes."""
        ...

    def digest(self) -> bytes:
        """The value of all bytes so far."""
        ...


def checksum_of(name: str) -> Checksum:
    """The checksum of an algorithm, e.g. `sha256`. Raises InputError where it is not known."""
    if name not in ALGORITHMS:
        raise InputError(f"the checksum algorithm {name!r} is not known to this version of lakegate")
    return ALGORITHMS[name]()


def encoded(checksum: Checksum) -> str:
    """The value as S3 writes it."""
    return base64.b64encode(checksum.digest()).decode()


class _Crc32:
    def __init__(self) -> None:
        self._value = 0

    def update(self, data: bytes, /) -> None:
        self._value = zlib.crc32(data, self._value)

    def digest(self) -> bytes:
        return self._value.to_bytes(4)


class _Crc:
    """A reflected CRC of 32 or 64 bits that begins and ends inverted."""

    def __init__(self, bits: int, polynomial: int) -> None:
        self._bytes, self._mask, self._polynomial = bits // 8, (1 << bits) - 1, polynomial
        self._value = self._mask

    def update(self, data: bytes, /) -> None:
        of_byte, first, second, third, fourth = _tables(self._polynomial)
        value, whole = self._value, len(data) // 8
        for word in struct.unpack_from(f"<{whole}Q", data):
            mixed = value ^ word
            value = (
                fourth[mixed & 0xFFFF] ^ third[mixed >> 16 & 0xFFFF] ^ second[mixed >> 32 & 0xFFFF] ^ first[mixed >> 48]
            )
        for byte in data[whole * 8 :]:
            value = (value >> 8) ^ of_byte[(value ^ byte) & 0xFF]
        self._value = value

    def digest(self) -> bytes:
        return (self._value ^ self._mask).to_bytes(self._bytes)


@cache
def _tables(polynomial: int) -> tuple[list[int], ...]:
    """The remainders of single bytes; then of two bytes that are followed by 0, 2, 4 and 6 zero bytes."""
    of_byte = []
    for value in range(0x100):
        remainder = value
        for _ in range(8):
            remainder = (remainder >> 1) ^ (polynomial if remainder & 1 else 0)
        of_byte.append(remainder)
    first = [(of_byte[v & 0xFF] >> 8) ^ of_byte[(of_byte[v & 0xFF] ^ v >> 8) & 0xFF] for v in range(0x10000)]
    tables = [first]
    for _ in range(3):
        tables.append([(remainder >> 16) ^ first[remainder & 0xFFFF] for remainder in tables[-1]])
    return of_byte, *tables


ALGORITHMS: Final[Mapping[str, Callable[[], Checksum]]] = {
    "sha256": hashlib.sha256,
    "sha1": partial(hashlib.sha1, usedforsecurity=False),
    "crc32": _Crc32,
    "crc32c": partial(_Crc, 32, 0x82F63B78),
    "crc64nvme": partial(_Crc, 64, 0x9A6C9329AC4BC9B5),
}
