"""The checksums of whole objects that S3 knows, computed of local bytes: `<algorithm>:<value in Base64>`.

Two of them Python does not have. They are computed eight bytes at a time by tables of 65,536 entries. A CRC is linear:
4,096 stretches of a piece are computed side by side by numpy, and then joined (as `crc32_combine` of zlib joins two).
"""

from __future__ import annotations

import base64
import hashlib
import struct
import zlib
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from lakegate.base.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

PIECE: Final = 8 * 1024 * 1024
"""Bytes that are in memory at a time."""
LANES: Final = 4096
"""Stretches of a piece that are computed side by side; a power of 2."""


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


def encode_checksum(checksum: Checksum) -> str:
    """The value as S3 writes it."""
    return base64.b64encode(checksum.digest()).decode()


def checksum_of_file(path: Path, algorithm: str) -> str:
    """The checksum of a file as S3 writes it. Raises InputError where the algorithm is not known."""
    checksum = checksum_of(algorithm)
    with path.open("rb") as source:
        while piece := source.read(PIECE):
            checksum.update(piece)
    return encode_checksum(checksum)


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
        words = len(data) // (8 * LANES)
        if words:
            self._value = _side_by_side(self._polynomial, self._value, data, words)
        self._one_by_one(data[words * 8 * LANES :])

    def _one_by_one(self, data: bytes) -> None:
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


def _side_by_side(polynomial: int, value: int, data: bytes, words: int) -> int:
    """The remainder after `LANES` stretches of so many words each, which begin with the remainder `value`."""
    first, second, third, fourth = _arrays(polynomial)
    stretches = np.frombuffer(data, "<u8", LANES * words).reshape(LANES, words).T.copy()
    remainders = np.zeros(LANES, np.uint64)
    remainders[0] = value
    low = np.uint64(0xFFFF)
    for row in stretches:
        mixed = remainders ^ row
        remainders = fourth[mixed & low]
        remainders ^= third[mixed >> np.uint64(16) & low]
        remainders ^= second[mixed >> np.uint64(32) & low]
        remainders ^= first[mixed >> np.uint64(48)]
    behind = _zero_words(polynomial, words)
    while len(remainders) > 1:
        remainders = _applied(behind, remainders[0::2]) ^ remainders[1::2]
        behind = _applied(behind, behind)
    return int(remainders[0])


@cache
def _arrays(polynomial: int) -> tuple[NDArray[np.uint64], ...]:
    return tuple(np.array(table, np.uint64) for table in _tables(polynomial)[1:])


@cache
def _zero_words(polynomial: int, count: int) -> NDArray[np.uint64]:
    """The effect of so many words of zeros on a remainder: a matrix over bits, as the images of each single bit."""
    if count == 1:
        first, second, third, fourth = _arrays(polynomial)
        bits, low = np.uint64(1) << np.arange(64, dtype=np.uint64), np.uint64(0xFFFF)
        upper = second[bits >> np.uint64(32) & low] ^ first[bits >> np.uint64(48)]
        images: NDArray[np.uint64] = fourth[bits & low] ^ third[bits >> np.uint64(16) & low] ^ upper
        return images
    half = _zero_words(polynomial, count // 2)
    twice = _applied(half, half)
    return _applied(_zero_words(polynomial, 1), twice) if count % 2 else twice


def _applied(matrix: NDArray[np.uint64], values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A matrix over bits by each value."""
    result = np.zeros_like(values)
    for bit, image in enumerate(matrix):
        result ^= (values >> np.uint64(bit) & np.uint64(1)) * image
    return result


ALGORITHMS: Final[Mapping[str, Callable[[], Checksum]]] = {
    "sha256": hashlib.sha256,
    "sha1": partial(hashlib.sha1, usedforsecurity=False),
    "crc32": _Crc32,
    "crc32c": partial(_Crc, 32, 0x82F63B78),
    "crc64nvme": partial(_Crc, 64, 0x9A6C9329AC4BC9B5),
}
