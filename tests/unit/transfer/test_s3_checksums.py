"""The checksums that S3 gives objects, computed here."""

from __future__ import annotations

import random

import pytest

from lakegate.aws.s3_objects import KNOWN
from lakegate.base.errors import InputError
from lakegate.transfer.s3_checksums import ALGORITHMS, LANES, checksum_of, encode_checksum

CHECK = b"123456789"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("crc32", "cbf43926"),
        ("crc32c", "e3069283"),
        ("crc64nvme", "ae8b14860a799888"),
        ("sha1", "f7c3bc1d808e04732adf679965ccc34ca7ae3441"),
        ("sha256", "15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225"),
    ],
)
def test_an_algorithm_gives_its_published_check_value(name: str, value: str) -> None:
    """Of the nine digits that catalogues of checksums use."""
    checksum = checksum_of(name)
    checksum.update(CHECK)

    assert value == checksum.digest().hex()


@pytest.mark.parametrize("name", ALGORITHMS)
def test_pieces_of_any_length_give_the_value_of_the_whole(name: str) -> None:
    """A download that was interrupted goes on in the middle of a word."""
    data = random.Random(11).randbytes(10_000)
    whole, pieces = checksum_of(name), checksum_of(name)
    whole.update(data)
    at = 0
    for length in (0, 1, 7, 8, 9, 4_096, 10_000):
        pieces.update(data[at : at + length])
        at += length

    assert encode_checksum(pieces) == encode_checksum(whole)


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("length", [8 * LANES - 1, 8 * LANES, 8 * LANES + 1, 16 * LANES, 24 * LANES + 13, 300_001])
def test_a_large_piece_has_the_value_of_small_ones(name: str, length: int) -> None:
    """What is computed side by side is what is computed one word after the other, also behind other bytes."""
    data = random.Random(length).randbytes(length)
    large, small = checksum_of(name), checksum_of(name)
    for _ in range(2):
        large.update(data)
        for at in range(0, length, 10_007):
            small.update(data[at : at + 10_007])

    assert encode_checksum(large) == encode_checksum(small)


def test_every_algorithm_of_the_store_is_known() -> None:
    """Whatever checksum an object has, its bytes can be compared with it."""
    assert set(ALGORITHMS) == {each.lower() for each in KNOWN}


def test_an_unknown_algorithm_is_refused() -> None:
    """Bytes that cannot be compared are not taken for good ones."""
    with pytest.raises(InputError, match="'md5' is not known"):
        checksum_of("md5")
