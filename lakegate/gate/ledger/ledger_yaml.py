"""Chain as YAML, written and read without a stack."""

from __future__ import annotations

import hashlib
import json
import sys
from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain as joined
from itertools import islice
from pathlib import Path
from typing import Any, Final

from lakegate.base.errors import ContractError, InputError
from lakegate.base.text import quote
from lakegate.contract.documents import yaml_writer
from lakegate.contract.documents.read_document import LARGEST_BYTES, parse
from lakegate.contract.documents.yaml_writer import Items, Node, YamlEntry, write_document
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.ledger.blocks import GENESIS, AnyBlock, Head, canonical_json, from_json, parse_block
from lakegate.gate.ledger.signatures import Signature, Signatures, SignedText, signature_document, signature_from
from lakegate.gate.ledger.verification import ChainFault, Wrong, verify_signed

# ---- Files of `lakegate log --yaml` and `verify --yaml` ----


LONGEST_LINE = 1 << 20
RESTORE = "docs/restore.md, The head of a chain"


def print_yaml(dependencies: Dependencies, chain: str) -> None:
    """Print every block up to the head, the lowest first; InputError at the first that is none, and where the head is lost."""
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
    """Facts of blocks that passed: the height and the digest of the last one, and the digests at wanted heights."""

    wanted: Container[int] = ()
    height: int = -1
    digest: str = GENESIS
    digests: dict[int, str] = field(default_factory=dict)
    blocks: list[AnyBlock] | None = None
    """All that can be read; None where they are not kept."""

    def through(self, stored: Iterable[SignedText]) -> Iterator[SignedText]:
        """The same blocks."""
        for text in stored:
            self.height, self.digest = self.height + 1, hashlib.sha3_256(text.text).hexdigest()
            if self.height in self.wanted:
                self.digests[self.height] = self.digest
            if self.blocks is not None and (block := parse_block(text.text)) is not None:
                self.blocks.append(block)
            yield text


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


def verify_file(
    path: Path, dataset: str, signatures: Signatures, anchors: Mapping[int, str], passed: Passed
) -> tuple[ChainFault, ...]:
    """The faults of the chain in a file, whose blocks pass; InputError if the file cannot be read, or is of another line."""
    try:
        with path.open("rb") as file:
            texts = _texts(path, iter(lambda: file.readline(LONGEST_LINE), b""))
            lowest = next(texts, None)
            if lowest is None:
                raise InputError(f"{path} has no block: `lakegate log {dataset} --yaml` writes them")
            block = parse_block(lowest.text)
            if block is not None and block.chain != dataset:
                raise InputError(f"{path} has blocks of {quote(block.chain)}, not of {quote(dataset)}")
            faults = verify_signed(passed.through(joined([lowest], texts)), dataset, signatures, None, anchors)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    return faults


def _texts(path: Path, lines: Iterator[bytes]) -> Iterator[SignedText]:

    try:
        yield from texts_of(lines)
    except InputError as error:
        raise InputError(f"{path}, {error}") from None


# ---- Blocks as YAML ----
# A document begins with `---`; beside it is the block's digest, as a comment that is not read back. Every text is written so
# that all parsers of YAML 1.1 and 1.2 read the same text. A document with the one member `signature` is the block's before it.


SIGNATURE: Final = "signature"


def yaml_of(text: bytes, signature: Signature | None = None) -> str:
    """The YAML document of a block in its canonical form, and that of its signature; InputError for any other text."""
    from_json(text.decode(errors="replace"))
    block = f"--- # {hashlib.sha3_256(text).hexdigest()}\n{document_of(json.loads(text))}"
    return block if signature is None else f"{block}---\n{document_of({SIGNATURE: signature_document(signature)})}"


def document_of(members: dict[str, Any]) -> str:
    """A JSON object with members as YAML."""
    return write_document(_mapping(members))


def _mapping(members: dict[str, Any]) -> yaml_writer.Mapping:
    return yaml_writer.Mapping([YamlEntry(name, _node(value)) for name, value in members.items()])


def _node(value: Any) -> Node:  # noqa: ANN401 - any value of JSON
    match value:
        case dict():
            return _mapping(value)
        case list():
            return Items([_node(each) for each in value])
        case _:
            scalar: Node = value
            return scalar


def texts_of(lines: Iterable[bytes]) -> Iterator[SignedText]:
    """The canonical form of each document in the lines of a text, whether or not it is a block, with the signature in the
    document above it. InputError with the line of what cannot have one, or is a signature of no block.
    """
    waiting: bytes | None = None
    for first, found in _documents(lines):
        if isinstance(found, Signature):
            if waiting is None:
                raise InputError(
                    f"line {first}: a signature follows the document of its block, and here is none before it"
                )
            yield SignedText(waiting, found)
            waiting = None
            continue
        if waiting is not None:
            yield SignedText(waiting)
        waiting = found
    if waiting is not None:
        yield SignedText(waiting)


def _documents(lines: Iterable[bytes]) -> Iterator[tuple[int, bytes | Signature]]:
    for first, part in _parts(lines):
        try:
            document: Any = parse(part).root.plain()
            is_signature = isinstance(document, dict) and document.keys() == {SIGNATURE}
            yield first, signature_from(document[SIGNATURE]) if is_signature else canonical_json(document)
        except ContractError as error:
            problem = error.problems[0]
            raise InputError(f"line {first + (problem.line or 1) - 1}: {problem.message}") from None
        except InputError as error:
            raise InputError(f"line {first}: {error}") from None


def _parts(lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Each document that is not empty, with the number of its first line."""
    part: list[bytes] = []
    first, size, is_empty = 1, 0, True
    for number, line in enumerate(lines, 1):
        if line[:3] == b"---" and not line[3:4].strip():
            if not is_empty:
                yield first, b"".join(part)
            part, first, size, is_empty = [], number, 0, _is_comment(line[3:])
        else:
            is_empty = is_empty and _is_comment(line)
        part.append(line)
        size += len(line)
        if size > LARGEST_BYTES:
            raise InputError(f"line {first}: a block has at most {LARGEST_BYTES:,} bytes")
    if not is_empty:
        yield first, b"".join(part)


def _is_comment(line: bytes) -> bool:
    return line.strip()[:1] in {b"", b"#"}
