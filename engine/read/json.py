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

from lakegate.contracts.door.file_signatures import BOM, has_mark
from lakegate.contracts.model.storage import Compression, Format
from lakegate.contracts.plan.plan import Shape
from lakegate.contracts.plan.population import read_as
from lakegate.contracts.plan.predicate import NoRepeats, Size
from lakegate.contracts.plan.result import Columns
from lakegate.engine.read.blocks import object_blocks, share_block, shares_of
from lakegate.engine.read.chunk import AT, ROW, Chunk, Expression, Malformed, line_table
from lakegate.engine.read.json_flat import learned
from lakegate.engine.read.json_rows import OBJECT, RowReader, bounded_keys
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
MAX_CELLS = 1 << 20
"""Records of a chunk times declared fields: what is absent costs memory too."""
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
    is_marked: bool = False
    kinds: Mapping[str, Physical] = field(default_factory=dict)

    @property
    def sizes(self) -> tuple[int, ...]:
        """See `Source`."""
        return tuple(part.size for part in self.parts)

    def chunks(self, share: Share) -> Iterator[Chunk]:
        """See `Source`."""
        line, most = 0, max(1, MAX_CELLS // max(1, len(self.plan.fields)))
        for texts, taken in self.texts(share):
            start, is_begun = 0, False
            while start < len(texts) or not is_begun:
                chunk = self._chunk(texts[start : start + most], 0 if is_begun else taken, line)
                start, line, is_begun = start + chunk.lines, line + chunk.lines, True
                yield chunk

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
        mark = BOM if share.start == 0 else b""
        for block, taken in [share_block(self.store, share)] if is_plain else packed:
            yield (block.removeprefix(mark).removesuffix(b"\n").split(b"\n") if block else []), taken
            mark = b""

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
        """The chunk of the first texts, or of all, that follow `first` ones of the share."""
        flat = learned(self.plan.fields, texts)
        tokens, rest = flat.split(texts) if flat else ([], range(len(texts)))
        reading = RowReader(self.plan.fields, self.sized, self.compared)
        rows, bad, lines = _long_way(reading, texts, rest, first)
        levels: dict[Level, pa.Table] = {}
        for place, level in reading.levels.items():
            parents = pc.list_parent_indices(pa.ListArray.from_arrays([0, *level.ends], pa.nulls(len(level.places))))
            found = {ROW: _places(rows, first).take(parents), AT: pa.array(level.places, pa.string())}
            levels[place] = pa.table(found | _arrays(level.cells))
        records = pa.table({ROW: _places(rows, first)} | _arrays(reading.rows))
        keys, extra = reading.keys, {_PLACE.sub("[]", key) for key in reading.extra}
        if flat and tokens:
            columns, own, declared, more = flat.columns(tokens)
            others = set(rest)
            places = _places([at for at in range(len(texts)) if at not in others], first)
            kinds = {own_name(alias): each for alias, each in own.items()}
            kinds |= {size_name(alias): pa.nulls(len(tokens), pa.int64()) for alias in reading.rows.sizes}
            kinds |= {repeats_name(alias): pa.nulls(len(tokens), pa.bool_()) for alias in reading.rows.repeats}
            short = pa.table({ROW: places} | columns | kinds)
            records = pa.concat_tables([short, records.select(short.column_names)]).sort_by(ROW) if rows else short
            keys |= {(OBJECT,), *((f".{key}",) for key in declared)}
            extra |= more
        malformed = tuple(bad[reason] for reason in sorted(bad))
        return Chunk(
            records, lines, size, malformed, levels, frozenset(bounded_keys(extra, self.plan.fields)), frozenset(keys)
        )


def _long_way(
    reading: RowReader, texts: list[bytes], places: Iterable[int], first: int
) -> tuple[list[int], dict[str, Malformed], int]:
    """Read texts token by token: the places of those that are records, and those that are malformed.

    The number of texts that were read comes last: elements of lists may need more memory than a chunk should.
    """
    rows: list[int] = []
    bad: dict[str, Malformed] = {}
    for at in places:
        try:
            value = parsed(texts[at])
        except MalformedError as error:
            found = Malformed(error.code, 1, (first + at,))
            bad[error.code] = bad[error.code].with_more(found) if error.code in bad else found
            continue
        if value is not None:
            rows.append(at)
            reading.add(value)
        if reading.size > MAX_CELLS:
            return rows, bad, at + 1
    return rows, bad, len(texts)


def _places(rows: list[int], first: int) -> pa.Array:
    return pc.add(pa.array(rows, pa.int64()), first)


def open_json(plan: Plan, parts: tuple[StagedPart, ...], store: Store, heads: list[bytes]) -> JsonSource:
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
        is_marked=has_mark(heads),
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
    """The columns of a table."""
    texts = {
        name: array for alias, texts, own in cells.arrays() for name, array in ((alias, texts), (own_name(alias), own))
    }
    return texts | dict(cells.measures())
