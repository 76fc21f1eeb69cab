"""The blocks of a chain as YAML for people, and back: each document of the text has the canonical form of its block.

A document begins with `---`; beside it is the block's digest, as a comment that is not read back. Every text is written
so that all parsers of YAML 1.1 and 1.2 read the same text.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from lakegate.contracts.documents.document import LARGEST_BYTES, parse
from lakegate.contracts.draft.yaml_text import Items, Mapping, YamlEntry, written
from lakegate.contracts.errors import ContractError, InputError
from lakegate.contracts.lake.block import canonical_json, from_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lakegate.contracts.draft.yaml_text import Node


def yaml_of(text: bytes) -> str:
    """The YAML document of a block in its canonical form; InputError for any other text."""
    from_json(text.decode(errors="replace"))
    return f"--- # {hashlib.sha3_256(text).hexdigest()}\n{document_of(json.loads(text))}"


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


def texts_of(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The canonical form of each document in the lines of a text, whether or not it is a block. InputError with the line
    of what cannot have one.
    """
    for first, part in _parts(lines):
        try:
            yield canonical_json(parse(part).root.plain())
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
