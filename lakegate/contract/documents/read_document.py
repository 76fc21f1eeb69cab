"""Reads untrusted YAML or JSON with limits; every node has its line and column.

Refused with a located `ContractError`: more than 1 MiB, more than 32 levels, more than 50,000 nodes (aliases and merge keys
counted as often as they are used), tags, duplicate keys, keys that are not plain texts, several documents, numbers beyond
any use, invisible characters, anything but UTF-8. `lakegate.contract.documents.yaml_parser` defines the types of unquoted texts.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NoReturn

import yaml

from lakegate.contract.documents.document_tree import Document, Mark
from lakegate.contract.documents.yaml_parser import Composer, mark_of
from lakegate.errors import ContractError, Problem

LARGEST_BYTES = 1 << 20
KEPT = 4
"""Documents that are kept after they were read: a command reads one, those that it inherits from, and the version before."""
_UNSEEN = "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
"""Compiled for a document beyond ASCII only: that takes 8 ms."""
_UNSEEN_OF_ASCII = re.compile("[^\t\n\r\x20-\x7e]")
_PAIR = re.compile(r"(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")


@lru_cache(KEPT)
def document_of(text: bytes) -> Document:
    """The parsed document; the same bytes are parsed once, whoever asks. ContractError with all its problems."""
    return parse(text)


def parse(text: bytes) -> Document:
    """Parse a text, or a part of a document; ContractError with all its problems."""
    decoded = _decoded(text)
    composer = Composer()
    try:
        for event in yaml.parse(_paired(decoded), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            composer.take(event)
    except yaml.MarkedYAMLError as error:
        composer.refuse("syntax", f"This is neither YAML nor JSON: {error.problem}.", mark_of(error.problem_mark))
    if composer.root is None:
        composer.refuse("empty-document", "The document is empty: write a contract into it.", Mark(1, 1))
    if composer.problems:
        raise ContractError(tuple(sorted(composer.problems, key=lambda problem: problem.line or 0)))
    return Document(composer.root, tuple(decoded.splitlines()), text)


def _decoded(text: bytes) -> str:
    if len(text) > LARGEST_BYTES:
        _refused("document-too-large", 1, f"The document has more than {LARGEST_BYTES:,} bytes: split it.")
    try:
        decoded = text.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        _refused("not-utf-8", line, f"Byte {error.start + 1} is not UTF-8: save the document as UTF-8.")
    unseen = _UNSEEN_OF_ASCII.search(decoded) if decoded.isascii() else re.search(_UNSEEN, decoded)
    if unseen is not None:
        line = len(decoded[: unseen.start() + 1].splitlines())
        _refused(
            "unseen-character", line, f"The character U+{ord(unseen[0]):04X} may not stand in a document: remove it."
        )
    return decoded


def _refused(code: str, line: int, message: str) -> NoReturn:
    raise ContractError((Problem(code, "$", line, message),))


def _paired(text: str) -> str:
    r"""JSON writes characters beyond U+FFFF as two escapes (`\ud83d\ude00`), which YAML's own escapes do not know."""
    return _PAIR.sub(_joined, text) if text.lstrip().startswith(("{", "[")) else text


def _joined(pair: re.Match[str]) -> str:
    return pair[1] + (bytes.fromhex(pair[2]) + bytes.fromhex(pair[3])).decode("utf-16-be")
