"""A chain as a YAML file: `lakegate log --yaml` writes it, `lakegate verify --yaml` reads it without a stack."""

from __future__ import annotations

import hashlib
import sys
from collections import deque
from dataclasses import dataclass, field
from itertools import chain as joined
from itertools import islice
from typing import TYPE_CHECKING

from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.block import GENESIS, stored_block
from lakegate.contracts.lake.ledger import ChainFault, Wrong, verify_signed
from lakegate.contracts.words import shown

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping
    from pathlib import Path

    from lakegate.contracts.lake.block import AnyBlock
    from lakegate.contracts.lake.signatures import Signatures, SignedText
    from lakegate.functions.ports.ledger import Head
    from lakegate.functions.usecases.dependencies import Dependencies

LONGEST_LINE = 1 << 20
RESTORE = "docs/restore.md, The head of a chain"


def print_yaml(dependencies: Dependencies, chain: str) -> None:
    """Print every block up to the head, the lowest first; InputError at the first that is none, and where the head is lost."""
    from lakegate.contracts.convert.chain_yaml import yaml_of  # noqa: PLC0415 - yaml and more, for this option alone

    height = dependencies.ledger.head(chain).height
    if height < 0 and any(dependencies.ledger.digests([(chain, 0)])):
        raise InputError(f"the head of {chain} is lost, so nothing proves which block is the last one ({RESTORE})")
    for place, stored in enumerate(islice(dependencies.ledger.signed(chain), height + 1)):
        try:
            sys.stdout.write(yaml_of(*stored))
        except InputError as error:
            raise InputError(f"block {place}: {error}; `lakegate verify {chain}` gives the reason") from None


@dataclass(slots=True)
class Passed:
    """What is known of blocks that passed: the height and the digest of the last one, and the digests at wanted heights."""

    wanted: Container[int] = ()
    height: int = -1
    digest: str = GENESIS
    digests: dict[int, str] = field(default_factory=dict)
    blocks: list[AnyBlock] | None = None
    """All that can be read; None where they are not kept."""

    def through(self, stored: Iterable[SignedText]) -> Iterator[SignedText]:
        """The same blocks."""
        for each in stored:
            self.height, self.digest = self.height + 1, hashlib.sha3_256(each.text).hexdigest()
            if self.height in self.wanted:
                self.digests[self.height] = self.digest
            if self.blocks is not None and (block := stored_block(each.text)) is not None:
                self.blocks.append(block)
            yield each


def stored_faults(  # noqa: PLR0913 - what a chain is verified by
    dependencies: Dependencies,
    chain: str,
    head: Head,
    signatures: Signatures,
    anchors: Mapping[int, str],
    *,
    passed: Passed,
) -> tuple[ChainFault, ...]:
    """The faults of a chain in the ledger, up to its head as it was read; `passed` learns of its blocks.

    Without a head, all blocks are verified. Those above a head that was set back are passed as well, and not verified: what
    is compared with the chain is compared with all that is there.
    """
    stored = dependencies.ledger.signed(chain)
    is_lost = head.height < 0
    blocks = stored if is_lost else islice(stored, head.height + 1)
    faults = verify_signed(passed.through(blocks), chain, signatures, None if is_lost else head.digest, anchors)
    above = None if is_lost else next(stored, None)
    is_other = above is not None or (is_lost and passed.height >= 0)
    if not is_other or dependencies.ledger.head(chain) != head:  # a block was committed since the head was read
        return faults
    if is_lost:
        why = f"the head of the chain is lost; nothing proves that block {passed.height} is the last one"
        return (*faults, ChainFault(passed.height + 1, Wrong.HEAD, f"{why} ({RESTORE})"))
    deque(passed.through(joined(filter(None, [above]), stored)), maxlen=0)
    why = f"the head of the chain was set back to block {head.height}, and there are blocks up to {passed.height}"
    return (*faults, ChainFault(head.height + 1, Wrong.HEAD, f"{why} ({RESTORE})"))


def verified(
    path: Path, line: str, signatures: Signatures, anchors: Mapping[int, str], passed: Passed
) -> tuple[ChainFault, ...]:
    """The faults of the chain in a file, whose blocks pass; InputError if the file cannot be read, or is of another line."""
    try:
        with path.open("rb") as file:
            texts = _texts(path, iter(lambda: file.readline(LONGEST_LINE), b""))
            lowest = next(texts, None)
            if lowest is None:
                raise InputError(f"{path} has no block: `lakegate log {line} --yaml` writes them")
            block = stored_block(lowest.text)
            if block is not None and block.chain != line:
                raise InputError(f"{path} has blocks of {shown(block.chain)}, not of {shown(line)}")
            faults = verify_signed(passed.through(joined([lowest], texts)), line, signatures, None, anchors)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    return faults


def _texts(path: Path, lines: Iterator[bytes]) -> Iterator[SignedText]:
    from lakegate.contracts.convert.chain_yaml import texts_of  # noqa: PLC0415 - likewise

    try:
        yield from texts_of(lines)
    except InputError as error:
        raise InputError(f"{path}, {error}") from None
