"""The blocks of a chain as YAML for people, and back: each document of the text has the canonical form of its block.

A document begins with `---`; beside it is the block's digest, as a comment that is not read back. Every text is written
so that all parsers of YAML 1.1 and 1.2 read the same text. A document with the one member `signature` is the block's before it.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

from lakegate.contracts.documents.document import LARGEST_BYTES, parse
from lakegate.contracts.draft.yaml_text import Items, Mapping, YamlEntry, written
from lakegate.contracts.errors import ContractError, InputError
from lakegate.contracts.lake.block import canonical_json, from_json
from lakegate.contracts.lake.signatures import Signature, SignedText, signature_document, signature_from

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lakegate.contracts.draft.yaml_text import Node

SIGNATURE: Final = "signature"


def yaml_of(text: bytes, signature: Signature | None = None) -> str:
    """The YAML document of a block in its canonical form, and that of its signature; InputError for any other text."""
    from_json(text.decode(errors="replace"))
    block = f"--- # {hashlib.sha3_256(text).hexdigest()}\n{document_of(json.loads(text))}"
    return block if signature is None else f"{block}---\n{document_of({SIGNATURE: signature_document(signature)})}"


def document_of(members: dict[str, Any]) -> str:
    """A JSON object with members as YAML."""
    return written(_mapping(members))


def _mapping(members: dict[str, Any]) -> Mapping:
    return Mapping([YamlEntry(name, _node(value)) for name, value in members.items()])


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
