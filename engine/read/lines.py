"""Records of a share as texts, some MiB at a time, with the bytes of the object that they account for."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from contracts.model import Compression, Format
from engine.read.limits import LONGEST_LINE, unreadable
from engine.read.streams import BrokenError, elements, lines, unpacked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from contracts.model import Storage
    from contracts.request import Part
    from engine.read.chunk import Share, Store
    from engine.read.streams import Batch

AT_ONCE = 4 << 20
"""Bytes that are read at a time."""
SHARE = 16 << 20
"""Bytes of a plain object in one share."""


def is_streamed(storage: Storage) -> bool:
    """Whether an object is read as a whole: what is packed, and a JSON array, has no place to begin in its middle."""
    return storage.compression is not Compression.NONE or storage.format is Format.JSON


def shares_of(parts: tuple[Part, ...], storage: Storage) -> Iterator[tuple[int, str, int, int]]:
    """Part, address, first byte and end of each share."""
    for number, part in enumerate(parts):
        step = max(part.size, 1) if is_streamed(storage) else SHARE
        for start in range(0, part.size, step):
            yield number, part.uri, start, min(start + step, part.size)


def texts_of(store: Store, share: Share, storage: Storage, size: int) -> Iterator[Batch]:
    """The records of a share of an object of `size` bytes; UnreadableError where it has no good end."""
    if not is_streamed(storage):
        yield from _plain_lines(store, share, size)
        return
    with closing(store.stream(share.address)) as source:
        pieces = unpacked(source, storage.compression)
        try:
            yield from _gathered(elements(pieces) if storage.format is Format.JSON else lines(pieces))
        except BrokenError as error:
            raise unreadable(error.code) from None


def _plain_lines(store: Store, share: Share, size: int) -> Iterator[Batch]:
    """The lines that begin in a share: after a line feed before it, up to the first line feed at its last byte or later."""
    at = max(0, share.start - 1)
    held, begin, is_begun = b"", 0, share.start == 0
    while at < size and (piece := store.part(share.address, at, min(AT_ONCE, size - at))):
        at += len(piece)
        if not is_begun:
            _, feed, piece = piece.partition(b"\n")
            if not feed and at < share.end:
                continue
            begin, is_begun = at - len(piece), True
            if not feed or begin >= share.end:
                return
        text = held + piece
        last = text.find(b"\n", max(0, share.end - 1 - begin)) if at >= share.end else -1
        cut = (text.rfind(b"\n") if last < 0 else last) + 1
        if cut:
            yield _parted(text[: cut - 1]), cut
        if last >= 0:
            return
        held, begin = text[cut:], begin + cut
        _refuse_long(held)
    if held:
        yield [held], len(held)


def _parted(text: bytes) -> list[bytes]:
    found = text.split(b"\n")
    _refuse_long(found[0])
    return found


def _refuse_long(line: bytes) -> None:
    """A line that goes on through several pieces is the first of what was read, or all of it."""
    if len(line) >= LONGEST_LINE:
        raise unreadable("too-long")


def _gathered(batches: Iterable[Batch]) -> Iterator[Batch]:
    """Batches of a few MiB instead of one for each piece."""
    held: list[bytes] = []
    taken = size = 0
    for texts, packed in batches:
        held += texts
        taken += packed
        size += sum(map(len, texts))
        if size >= AT_ONCE:
            yield held, taken
            held, taken, size = [], 0, 0
    if held or taken:
        yield held, taken
