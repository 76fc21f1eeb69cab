"""A chain as a YAML file: `lakegate log --yaml` writes it, `lakegate verify --yaml` reads it without a stack."""

from __future__ import annotations

import hashlib
import sys
from itertools import chain as joined
from itertools import islice
from typing import TYPE_CHECKING

from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.block import GENESIS, stored_block
from lakegate.contracts.lake.ledger import verify_signed
from lakegate.contracts.words import shown
from lakegate.functions.ports.ledger import Head

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from lakegate.contracts.lake.ledger import ChainFault
    from lakegate.contracts.lake.signatures import Signatures, SignedText
    from lakegate.functions.usecases.dependencies import Dependencies

LONGEST_LINE = 1 << 20


def print_yaml(dependencies: Dependencies, chain: str) -> None:
    """Print every block up to the head, the lowest first; InputError at the first that is none."""
    from lakegate.contracts.convert.chain_yaml import yaml_of  # noqa: PLC0415 - yaml and more, for this option alone

    height = dependencies.ledger.head(chain).height
    for place, stored in enumerate(islice(dependencies.ledger.signed(chain), height + 1)):
        try:
            sys.stdout.write(yaml_of(*stored))
        except InputError as error:
            raise InputError(f"block {place}: {error}; `lakegate verify {chain}` tells why") from None


def verified(
    path: Path, line: str, signatures: Signatures, anchors: Mapping[int, str]
) -> tuple[Head, tuple[ChainFault, ...]]:
    """The head of the chain in a file, and its faults; InputError if the file cannot be read, or is of another line."""
    height, top = -1, GENESIS

    def counted(stored: Iterator[SignedText]) -> Iterator[SignedText]:
        nonlocal height, top
        for each in stored:
            height, top = height + 1, hashlib.sha3_256(each.text).hexdigest()
            yield each

    try:
        with path.open("rb") as file:
            texts = _texts(path, iter(lambda: file.readline(LONGEST_LINE), b""))
            lowest = next(texts, None)
            if lowest is None:
                raise InputError(f"{path} has no block: `lakegate log {line} --yaml` writes them")
            block = stored_block(lowest.text)
            if block is not None and block.chain != line:
                raise InputError(f"{path} has blocks of {shown(block.chain)}, not of {shown(line)}")
            faults = verify_signed(counted(joined([lowest], texts)), line, signatures, None, anchors)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    return Head(height, top), faults


def _texts(path: Path, lines: Iterator[bytes]) -> Iterator[SignedText]:
    from lakegate.contracts.convert.chain_yaml import texts_of  # noqa: PLC0415 - likewise

    try:
        yield from texts_of(lines)
    except InputError as error:
        raise InputError(f"{path}, {error}") from None
