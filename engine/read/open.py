"""Opening a delivery: whatever format its contract promises, as a source of chunks.

The first bytes of each object are looked at before anything else: a file of another kind is refused without a scan.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from lakegate.contracts.door.file_signatures import UnreadableError, refuse_other_text, settled
from lakegate.contracts.door.header import HEAD, text_of
from lakegate.contracts.errors import InputError
from lakegate.contracts.model.storage import Compression, Format
from lakegate.engine.read.chunk import of_object
from lakegate.engine.read.limits import PIECE, unreadable
from lakegate.engine.read.streams import BrokenError, unpacked

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.contracts.plan.plan import Plan
    from lakegate.contracts.plan.request import StagedPart
    from lakegate.engine.read.chunk import Source, Store

    Open = Callable[[Plan, tuple[StagedPart, ...], Store, list[bytes]], Source]


def open_source(plan: Plan, parts: tuple[StagedPart, ...], store: Store) -> Source:
    """The delivery, not yet read.

    UnreadableError where it is none of the promised shape, InputError where its bytes are not the pinned ones.
    """
    heads = [_beginning(number, part, plan, store) for number, part in enumerate(parts)]
    storages = {settled(plan.storage, head) for head in heads}
    if len(storages) > 1:
        raise UnreadableError(
            "forms", "some objects of the delivery are JSON lines, others a JSON array: give all of them one form"
        )
    plan = replace(plan, storage=storages.pop())
    return _opener(plan.storage.format)(plan, parts, store, heads)


def _beginning(number: int, part: StagedPart, plan: Plan, store: Store) -> bytes:
    """The first bytes of an object, unpacked where the contract says that they are packed."""
    first = _head(part, store)
    with of_object(number):
        text_of(first, plan.storage, plan.csv)
        if plan.storage.compression is Compression.NONE or not plan.storage.format.is_text:
            return first
        text = _unpacked_beginning(part, plan.storage.compression, store)
        refuse_other_text(text, plan.storage, plan.csv)
        return text


def _unpacked_beginning(part: StagedPart, compression: Compression, store: Store) -> bytes:
    """What the first MiB unpacks to, as far as it is looked at: a bomb is refused before its records are read."""
    text, inside = b"", 0
    try:
        with closing(store.stream(part.uri)) as source:
            for piece, taken in unpacked(source, compression):
                text += piece[: HEAD - len(text)]
                inside += taken
                if inside > PIECE and len(text) == HEAD:
                    break
    except BrokenError as error:
        raise unreadable(error.code) from None
    return text


def _head(part: StagedPart, store: Store) -> bytes:
    try:
        size = store.size(part.uri)
    except OSError as error:
        raise InputError(f"the staged object cannot be read ({error.strerror}): stage it again") from error
    if size != part.size:
        raise InputError(f"the staged object has {size:,} bytes, the request says {part.size:,}: stage it again")
    return store.part(part.uri, 0, min(HEAD, size)) if size else b""


def _opener(form: Format) -> Open:
    """What opens files of a format; each loads what it alone needs."""
    if form is Format.CSV:
        from lakegate.engine.read.csv import open_csv  # noqa: PLC0415 - see above

        return open_csv
    if form.is_json:
        from lakegate.engine.read.json import open_json  # noqa: PLC0415 - see above

        return open_json
    from lakegate.engine.read.tables import open_tables  # noqa: PLC0415 - see above

    return open_tables
