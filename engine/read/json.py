"""JSON lines and arrays as chunks: a text for each declared field of each object, with its parts and the elements of its lists.

A token of the field's kind (`lakegate.engine.read.json_rows`) is a value if the grammar of the type accepts its text
(docs/types.md); a token of another kind is never a value.
"""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from lakegate.contracts.model.storage import Compression, Format
from lakegate.contracts.plan.plan import Shape
from lakegate.contracts.plan.population import read_as
from lakegate.contracts.plan.predicate import NoRepeats, Size
from lakegate.contracts.plan.result import Columns, MalformedRecords
from lakegate.engine.read.blocks import object_blocks, share_block, shares_of
from lakegate.engine.read.chunk import AT, ROW, Chunk, Expression, line_table
from lakegate.engine.read.json_flat import learned
from lakegate.engine.read.json_rows import RowReader
from lakegate.engine.read.json_text import MalformedError, parsed
from lakegate.engine.read.streams import elements, unpacked
from lakegate.engine.type.values import repeats_name, size_name, typed_value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from lakegate.contracts.model.storage import Storage
    from lakegate.contracts.plan.plan import Plan, PlanField
    from lakegate.contracts.plan.request import StagedPart
    from lakegate.engine.read.chunk import Level, Share, Store
    from lakegate.engine.read.json_rows import Cells
    from lakegate.engine.read.streams import Batch
    from lakegate.engine.type.physical import Physical

SHARE_BYTES = 4 << 20
"""Bytes of an object that one share, and one block of a share, holds."""
MAX_NAMED = 20
"""Undeclared keys that are kept of a chunk: the first ones in their order."""
_SPACE = b" \t\r\n"
_PLACE = re.compile(r"\[[0-9]+\]")


@dataclass(frozen=True, slots=True)
class JsonSource:
    """A delivery of JSON files (`lakegate.engine.read.chunk.Source`)."""

    plan: Plan
    parts: tuple[StagedPart, ...]
    store: Store
    columns: Columns
    shares: tuple[Share, ...]
    expressions: Mapping[str, Expression]
    sized: frozenset[str]
    """Aliases of the fields whose elements are counted."""
    compared: frozenset[str]
    """Aliases of the lists whose elements are compared with each other."""
    header: None = None
    kinds: Mapping[str, Physical] = field(default_factory=dict)

    @property
    def sizes(self) -> tuple[int, ...]:
        """See `Source`."""
        return tuple(part.size for part in self.parts)

    def chunks(self, share: Share) -> Iterator[Chunk]:
        """See `Source`."""
        line = 0
        for texts, taken in self.texts(share):
            yield self._chunk(texts, taken, line)
            line += len(texts)

    def originals(self, share: Share) -> Iterator[pa.Table]:
        """See `Source`."""
        before = 0
        for texts, _ in self.texts(share):
            yield line_table([(row, text) for row, text in enumerate(texts, before) if text.strip(_SPACE)])
            before += len(texts)

    def texts(self, share: Share) -> Iterator[Batch]:
        """The texts of a share's records, some MiB at a time; UnreadableError if its object is damaged."""
        storage = self.plan.storage
        if storage.format is Format.JSON:
            yield from self._elements(share.address, storage.compression)
            return
        is_plain = storage.compression is Compression.NONE
        packed = object_blocks(self.store, share.address, storage.compression, SHARE_BYTES)
        for block, taken in [share_block(self.store, share)] if is_plain else packed:
            yield (block.removesuffix(b"\n").split(b"\n") if block else []), taken

    def _elements(self, address: str, compression: Compression) -> Iterator[Batch]:
        """The elements of an array."""
        held: list[bytes] = []
        taken = size = 0
        with closing(self.store.stream(address)) as source:
            for texts, packed in elements(unpacked(source, compression)):
                held, taken, size = held + texts, taken + packed, size + sum(map(len, texts))
                if size >= SHARE_BYTES:
                    yield held, taken
                    held, taken, size = [], 0, 0
        yield held, taken

    def _chunk(self, texts: list[bytes], size: int, first: int) -> Chunk:
        flat = learned(self.plan.fields, texts)
        tokens, rest = flat.split(texts) if flat else ([], range(len(texts)))
        reading = RowReader(self.plan.fields, self.sized, self.compared)
        rows, bad = _long_way(reading, texts, rest)
        levels: dict[Level, pa.Table] = {}
        for place, level in reading.levels.items():
            parents = pc.list_parent_indices(pa.ListArray.from_arrays([0, *level.ends], pa.nulls(len(level.places))))
            found = {ROW: _places(rows, first).take(parents), AT: pa.array(level.places, pa.string())}
            levels[place] = pa.table(found | _arrays(level.cells))
        records = pa.table({ROW: _places(rows, first)} | _arrays(reading.rows))
        extra = {key for keys in reading.extra for key in keys}
        if flat and tokens:
            columns, own, more = flat.columns(tokens)
            others = set(rest)
            places = _places([at for at in range(len(texts)) if at not in others], first)
            kinds = {own_name(alias): each for alias, each in own.items()}
            kinds |= {size_name(alias): pa.nulls(len(tokens), pa.int64()) for alias in reading.rows.sizes}
            kinds |= {repeats_name(alias): pa.nulls(len(tokens), pa.bool_()) for alias in reading.rows.repeats}
            short = pa.table({ROW: places} | columns | kinds)
            records = pa.concat_tables([short, records.select(short.column_names)]).sort_by(ROW) if rows else short
            extra |= more
        malformed = tuple(MalformedRecords(reason, len(at), first + at[0]) for reason, at in sorted(bad.items()))
        return Chunk(records, len(texts), size, malformed, levels, _named(extra))


def _long_way(reading: RowReader, texts: list[bytes], places: Iterable[int]) -> tuple[list[int], dict[str, list[int]]]:
    """Read texts token by token: the places of those that are records, and of those that are malformed."""
    rows: list[int] = []
    bad: dict[str, list[int]] = {}
    for at in places:
        try:
            value = parsed(texts[at])
        except MalformedError as error:
            bad.setdefault(error.code, []).append(at)
            continue
        if value is not None:
            rows.append(at)
            reading.add(value)
    return rows, bad


def _places(rows: list[int], first: int) -> pa.Array:
    return pc.add(pa.array(rows, pa.int64()), first)


def open_json(plan: Plan, parts: tuple[StagedPart, ...], store: Store, _: list[bytes]) -> JsonSource:
    """The delivery as a source."""
    sized, compared = read_as(plan, Size), read_as(plan, NoRepeats)
    return JsonSource(
        plan,
        parts,
        store,
        Columns(tuple(each.name for each in plan.columns)),
        tuple(shares_of(parts, None if _is_whole(plan.storage) else SHARE_BYTES)),
        {each.alias: _expression(each, sized, compared) for each in plan.fields},
        sized,
        compared,
    )


def _is_whole(storage: Storage) -> bool:
    """Whether an object is read as a whole: what is packed, and a JSON array, has no place to begin in its middle."""
    return storage.compression is not Compression.NONE or storage.format is Format.JSON


def own_name(alias: str) -> str:
    """The column of whether a field's token is of its own kind."""
    return f"k{alias}"


def _expression(field: PlanField, sized: Collection[str], compared: Collection[str]) -> Expression:
    alias, own = field.alias, own_name(field.alias)
    if field.shape is not Shape.VALUE:
        whole = Expression(alias, f"CASE WHEN {own} THEN {alias} END", alias, column=alias)
        whole = replace(whole, size=size_name(alias)) if alias in sized else whole
        return replace(whole, repeats=repeats_name(alias)) if alias in compared else whole
    value, plain = (f"CASE WHEN {own} THEN {typed_value(field, alias, plain=each)} END" for each in (False, True))
    return Expression(alias, value, alias, plain, alias)


def _arrays(cells: Cells) -> dict[str, pa.Array]:
    found = {alias: pa.array(texts, pa.string()) for alias, texts in cells.texts.items()}
    found |= {own_name(alias): pa.array(own, pa.bool_()) for alias, own in cells.own.items()}
    found |= {size_name(alias): pa.array(sizes, pa.int64()) for alias, sizes in cells.sizes.items()}
    return found | {repeats_name(alias): pa.array(each, pa.bool_()) for alias, each in cells.repeats.items()}


def _named(keys: set[str]) -> frozenset[str]:
    """Undeclared keys, without the indexes of elements."""
    found = {_PLACE.sub("[]", key) for key in keys}
    return frozenset(sorted(found)[:MAX_NAMED])
