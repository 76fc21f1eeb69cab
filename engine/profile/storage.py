"""Recognises format and compression of files by their first bytes, never by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.contracts.door.file_signatures import BOM, FOREIGN, WIDE, UnreadableError, is_wide
from lakegate.contracts.door.header import HEAD
from lakegate.contracts.model.storage import COMPRESSIONS, FORMATS, Compression, Format, Storage
from lakegate.engine.read.open import unpacked_beginning

if TYPE_CHECKING:
    from lakegate.contracts.plan.request import StagedPart
    from lakegate.engine.read.chunk import Store

_SPACE = b" \t\r\n"
_JSON = {b"{": Format.JSONL, b"[": Format.JSON}


def recognised(parts: tuple[StagedPart, ...], store: Store) -> tuple[Storage, list[bytes]]:
    """The storage of all files, and the first bytes of each, unpacked.

    UnreadableError for files that no contract can declare, and for files of different formats.
    """
    found = [_recognised(part, store) for part in parts]
    storages = {storage for storage, _ in found}
    if len(storages) > 1:
        raise UnreadableError("forms", "the files have different formats: draft a contract for each of them")
    return storages.pop(), [head for _, head in found]


def _recognised(part: StagedPart, store: Store) -> tuple[Storage, bytes]:
    first = store.part(part.uri, 0, min(HEAD, part.size)) if part.size else b""
    if not first:
        raise UnreadableError("empty", "the file is empty: it has not even a header")
    for signature, (code, words) in FOREIGN.items():
        if first.startswith(signature):
            raise UnreadableError(code, f"the file is {words}, which no contract can declare")
    kind = next((each for each, spec in FORMATS.items() if spec.signature and first.startswith(spec.signature)), None)
    if kind is not None:
        return Storage(kind), first
    packed = (each for each, spec in COMPRESSIONS.items() if spec.signature and first.startswith(spec.signature))
    compression = next(packed, Compression.NONE)
    text = first if compression is Compression.NONE else unpacked_beginning(part, compression, store)
    if is_wide(text):
        raise UnreadableError("encoding", WIDE)
    return Storage(_format_of(text), compression), text


def _format_of(text: bytes) -> Format:
    """JSON by its first character, where the first record is an object; else CSV."""
    bare = text.removeprefix(BOM).lstrip(_SPACE)
    found = _JSON.get(bare[:1], Format.CSV)
    follows = bare[1:].lstrip(_SPACE)[:1]
    begins = {Format.JSONL: (b'"', b"}"), Format.JSON: (b"{", b"]", b"")}.get(found, (follows,))
    return found if follows in begins else Format.CSV
