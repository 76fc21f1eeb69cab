"""Opens a delivery in the format that its contract declares, as a source of chunks.

The first bytes of each object are checked first: a file of another kind is refused without a scan. `OPENERS` has the formats.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from lakegate.admission.file_signatures import TEXT_REFUSALS, UnreadableError, refuse, settle_format
from lakegate.admission.header import HEAD, text_of
from lakegate.base.errors import InputError
from lakegate.base.text import plural
from lakegate.contract.file_formats import Compression, Format
from lakegate.engine.read.avro import AvroReader
from lakegate.engine.read.child_reader import ApartReader
from lakegate.engine.read.compressed_streams import unpack
from lakegate.engine.read.csv import open_csv
from lakegate.engine.read.data_source import Source, Store, of_object
from lakegate.engine.read.json import open_json
from lakegate.engine.read.parquet_orc import ArrowReader, open_parquet
from lakegate.engine.read.read_bounds import PIECE, unreadable
from lakegate.engine.read.stored_columns import Reader, open_tables
from lakegate.plan.plan import Plan
from lakegate.plan.request import StagedPart

if TYPE_CHECKING:
    Open = Callable[[Plan, tuple[StagedPart, ...], Store, list[bytes]], Source]


def open_source(plan: Plan, parts: tuple[StagedPart, ...], store: Store) -> Source:
    """The delivery, not yet read.

    UnreadableError if it is not as declared, InputError if its bytes are not the pinned ones.
    """
    heads = [beginning(number, part, plan, store) for number, part in enumerate(parts)]
    storages = {settle_format(plan.storage, head) for head in heads}
    if len(storages) > 1:
        raise UnreadableError(
            "forms", "some objects of the delivery are JSON lines, others a JSON array: give all of them one form"
        )
    plan = replace(plan, storage=storages.pop())
    return OPENERS[plan.storage.format](plan, parts, store, heads)


def account_for(source: Source, read: Sequence[int]) -> None:
    """Compare what was read of each object with its size (bytes, of a table rows).

    UnreadableError where a table has other rows than it counts, InputError where not every byte of a text was read.
    """
    for number, (size, found) in enumerate(zip(source.sizes, read, strict=True)):
        if size != found and source.kinds:
            raise unreadable("counts").of_part(number)
    if tuple(read) != source.sizes:
        raise InputError(
            f"the engine read {sum(read):,} of {sum(source.sizes):,} units of the delivery: stage it again"
        )


def beginning(number: int, part: StagedPart, plan: Plan, store: Store) -> bytes:
    """The first bytes of an object, decompressed if the contract declares a compression.

    UnreadableError if they are not as declared, InputError if the object has another size.
    """
    first = _head(part, store)
    with of_object(number):
        text_of(first, plan.storage, plan.csv)
        if plan.storage.compression is Compression.NONE or not plan.storage.format.is_text:
            return first
        text = unpacked_beginning(part, plan.storage.compression, store)
        refuse(TEXT_REFUSALS, text, plan.storage, plan.csv)
        return text


def unpacked_beginning(part: StagedPart, compression: Compression, store: Store) -> bytes:
    """The beginning of the decompressed first MiB: a decompression bomb is refused before its records are read."""
    text, inside = b"", 0
    with closing(store.stream(part.uri)) as source:
        for piece, taken in unpack(source, compression):
            text += piece[: HEAD - len(text)]
            inside += taken
            if inside > PIECE and len(text) == HEAD:
                break
    return text


def _head(part: StagedPart, store: Store) -> bytes:
    try:
        size = store.size(part.uri)
    except OSError as error:
        raise InputError(f"the staged object cannot be read ({error.strerror}): stage it again") from error
    if size != part.size:
        raise InputError(f"the staged object has {plural(size, 'byte')}, the request {part.size:,}: stage it again")
    return store.part(part.uri, 0, min(HEAD, size)) if size else b""


def _table(reader: Callable[[Store], Reader]) -> Open:
    """Opens files that contain their own schema."""
    return lambda plan, parts, store, _: open_tables(reader(store), plan, parts)


READERS: dict[Format, Callable[[Store], Reader]] = {
    Format.PARQUET: partial(ArrowReader, open_parquet),
    Format.ORC: ApartReader,
    Format.AVRO: AvroReader,
}
"""Of formats that contain their own schema."""
OPENERS: dict[Format, Open] = {
    Format.CSV: open_csv,
    Format.JSONL: open_json,
    Format.JSON: open_json,
    **{form: _table(reader) for form, reader in READERS.items()},
}
