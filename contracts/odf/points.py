"""Identities of datasets that have no private key: points of the curve of Ed25519 by a hash (RFC 8032, section 5.1.3)."""

from __future__ import annotations

import hashlib
from itertools import count
from typing import Final

from lakegate.contracts.odf.names import DatasetId

_P: Final = 2**255 - 19
_D: Final = -121665 * pow(121666, -1, _P) % _P


def point_of(text: bytes) -> DatasetId:
    """The first point among the hashes of a text and a number: about every second hash is one."""
    found = (hashlib.sha3_256(text + b"\n%d" % number).digest() for number in count())
    return DatasetId(next(filter(is_point, found)))


def is_point(key: bytes) -> bool:
    """Whether 32 bytes are a public key: x² = (y² - 1) / (d y² + 1) has to have a root."""
    y = int.from_bytes(key, "little") % 2**255
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    return y < _P and pow(square, (_P - 1) // 2, _P) == 1
