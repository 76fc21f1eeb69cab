"""JSON lines and arrays as chunks: the fast path for flat objects, and the long way for all others."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakegate.admission.file_signatures import BOM, has_mark
from lakegate.contract.contract_model import Shape
from lakegate.contract.field_paths import column_path
from lakegate.contract.file_formats import Format
from lakegate.contract.logical_types import LogicalType
from lakegate.engine.evaluate.typed_values import repeats_name, size_name, typed_value
from lakegate.engine.read.compressed_streams import unpack
from lakegate.engine.read.data_source import AT, ROW, Chunk, Expression, Level, Malformed, Share, Store, line_table
from lakegate.engine.read.json_rows import MAX_EXTRA, OBJECT, Cells, RowReader, bounded_keys
from lakegate.engine.read.json_texts import Batch, MalformedError, parse_object, read_elements
from lakegate.engine.read.read_bounds import LONGEST_RECORD
from lakegate.engine.read.text_source import TextSource, shares_of
from lakegate.plan.plan import Plan, PlanField
from lakegate.plan.predicates import NoRepeats, Size
from lakegate.plan.request import StagedPart
from lakegate.plan.result import Columns

if TYPE_CHECKING:
    Tokens = tuple[str, ...]

# ---- The fast path: flat objects with keys in one order ----
# One strict expression finds the tokens of such an object: no escape, no space but one behind `:` and `,`, nothing that RFC
# 8259 does not allow. Other objects are read by `lakegate.engine.read.json_rows`, with the same results.


LEARNED = 20
"""Records that the order of keys is learned from."""
MAX_KEYS = 1000
"""Keys of a record that one expression finds: it grows with them."""
_WRITTEN = r'("[^"\\\x00-\x1f]*+"|-?+(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][-+]?+[0-9]++)?+|true|false|null)'
_PLAIN_KEY = re.compile(r"[^\"\\\x00-\x1f\x7f]*")
_END = r"\}[ \t\r]*+$"
_NOTHING, _TRUTHS = ("", "null"), ("true", "false")


@dataclass(frozen=True, slots=True)
class Flat:
    """The expressions for objects with these keys."""

    fields: Sequence[PlanField]
    keys: Tokens
    whole: re.Pattern[str]
    """Of objects that have all of them."""
    some: re.Pattern[str]
    """Of objects that lack some of them."""

    def split(self, texts: list[bytes]) -> tuple[list[Tokens], list[int]]:
        """The tokens of texts by key, "" for an absent one; and the indexes of the other texts."""
        together = b"\n".join(texts)
        if together.count(b"\n") == len(texts) - 1 and max(map(len, texts)) <= LONGEST_RECORD:
            try:
                found = self.whole.findall(together.decode())
            except UnicodeDecodeError:
                found = []
            if len(found) == len(texts):
                return found if len(self.keys) > 1 else [(each,) for each in found], []
        return self._one_by_one(texts)

    def _one_by_one(self, texts: list[bytes]) -> tuple[list[Tokens], list[int]]:
        groups, rest = [], []
        for at, text in enumerate(texts):
            match = self.some.fullmatch(text.decode(errors="replace")) if len(text) <= LONGEST_RECORD else None
            if match and "\ufffd" not in match[0]:
                groups.append(match.groups(""))
            else:
                rest.append(at)
        return groups, rest

    def columns(self, tokens: list[Tokens]) -> tuple[dict[str, pa.Array], dict[str, pa.Array], set[str], set[str]]:
        """The texts by alias, whether each is a token of its field's own kind, and the declared and the undeclared keys."""
        by_key = {
            key: pa.array(column, pa.string()) for key, column in zip(self.keys, zip(*tokens, strict=True), strict=True)
        }
        keys = {key for key, column in by_key.items() if pc.any(pc.not_equal(column, "")).as_py()}
        texts, own = {}, {}
        for field in self.fields:
            column = by_key.get(field.column)
            if column is None:
                texts[field.alias], own[field.alias] = pa.nulls(len(tokens), pa.string()), _falses(len(tokens))
            else:
                texts[field.alias], own[field.alias] = _judged(column, field)
        declared = {field.column for field in self.fields}
        return texts, own, keys & declared, keys - declared


def learn_keys(fields: Sequence[PlanField], texts: Iterable[bytes]) -> Flat | None:
    """The expressions for objects like the first ones; None if they, or the declared fields, are nested or very many."""
    if len(fields) > MAX_KEYS or not all(field.is_column for field in fields):
        return None
    keys: list[str] = []
    for text, _ in zip(texts, range(LEARNED), strict=False):
        try:
            value = parse_object(text) or {}
        except MalformedError:
            continue
        if len(value) > MAX_KEYS or any(isinstance(each, (dict, list)) for each in value.values()):
            return None
        _merge(keys, value)
    extra = set(keys) - {field.column for field in fields}
    if not keys or len(extra) > MAX_EXTRA or not all(map(_PLAIN_KEY.fullmatch, keys)):
        return None
    pairs = [f"{re.escape(json.dumps(key, ensure_ascii=False))}: ?+{_WRITTEN}" for key in keys]
    whole, some = ", ?+".join(pairs), "".join(rf"(?:(?:(?<=\{{)|, ?+){pair})?+" for pair in pairs)
    return Flat(
        fields,
        tuple(keys),
        re.compile(rf"^\{{{whole}{_END}", re.MULTILINE),
        re.compile(rf"^\{{{some}{_END}", re.MULTILINE),
    )


def _merge(keys: list[str], value: Iterable[str]) -> None:
    """Insert new keys after the one that they follow."""
    at, known = 0, set(keys)
    for key in value:
        if key in known:
            at = keys.index(key) + 1
        else:
            keys.insert(at, key)
            at += 1


def _falses(rows: int) -> pa.Array:
    return pa.array(np.zeros(rows, np.bool_))


def _judged(tokens: pa.Array, field: PlanField) -> tuple[pa.Array, pa.Array]:
    """The text of each token, and whether it is of its field's own kind."""
    nothing, quoted = pc.is_in(tokens, pa.array(_NOTHING)), pc.starts_with(tokens, '"')
    texts = pc.utf8_trim(tokens, '"') if pc.any(quoted).as_py() else tokens
    texts = pc.if_else(nothing, pa.scalar(None, pa.string()), texts)
    if field.shape is Shape.ANY:
        return texts, pc.invert(nothing)
    if field.shape is not Shape.VALUE:
        return texts, _falses(len(tokens))
    truths = pc.is_in(tokens, pa.array(_TRUTHS))
    if field.type.numeric:
        return texts, pc.invert(pc.or_(pc.or_(nothing, quoted), truths))
    return texts, truths if field.type is LogicalType.BOOLEAN else quoted


# ---- JSON lines and arrays as chunks ----
# A token of the field's kind (`lakegate.engine.read.json_rows`) is a value if the grammar of the type accepts its text
# (docs/types.md); a token of another kind is never a value.


SHARE_BYTES = 4 << 20
"""Bytes of an object that one share, and one block of a share, holds."""
MAX_CELLS = 1 << 20
"""Records of a chunk times declared fields: what is absent costs memory too."""
_SPACE = b" \t\r\n"


@dataclass(frozen=True, slots=True)
class JsonSource(TextSource):
    """A delivery of JSON files."""

    sized: frozenset[str] = frozenset()
    """Aliases of the fields whose elements are counted."""
    compared: frozenset[str] = frozenset()
    """Aliases of the lists whose elements are compared with each other."""

    def chunks(self, share: Share) -> Iterator[Chunk]:
        line, most = 0, max(1, MAX_CELLS // max(1, len(self.plan.fields)))
        for texts, taken in self.texts(share):
            start, is_begun = 0, False
            while start < len(texts) or not is_begun:
                chunk = self._chunk(texts[start : start + most], 0 if is_begun else taken, line)
                start, line, is_begun = start + chunk.lines, line + chunk.lines, True
                yield chunk

    def originals(self, share: Share) -> Iterator[pa.Table]:
        before = 0
        for texts, _ in self.texts(share):
            yield line_table([(row, text) for row, text in enumerate(texts, before) if text.strip(_SPACE)])
            before += len(texts)

    def texts(self, share: Share) -> Iterator[Batch]:
        """The texts of a share's records, some MiB at a time; UnreadableError if its object is damaged."""
        storage = self.plan.storage
        if storage.format is Format.JSON:
            yield from self._elements(share.address)
            return
        mark = BOM if share.start == 0 else b""
        for block, taken in self.read_blocks(share):
            yield (block.removeprefix(mark).removesuffix(b"\n").split(b"\n") if block else []), taken
            mark = b""

    def _elements(self, address: str) -> Iterator[Batch]:
        """The elements of an array."""
        storage = self.plan.storage
        held: list[bytes] = []
        taken = size = 0
        with closing(self.store.stream(address)) as source:
            for texts, packed in read_elements(unpack(source, storage.compression), storage.path):
                held, taken, size = held + texts, taken + packed, size + sum(map(len, texts))
                if size >= SHARE_BYTES:
                    yield held, taken
                    held, taken, size = [], 0, 0
        yield held, taken

    def _chunk(self, texts: list[bytes], size: int, first: int) -> Chunk:
        """The chunk of the first texts, or of all, that follow `first` ones of the share."""
        flat = learn_keys(self.plan.fields, texts)
        tokens, rest = flat.split(texts) if flat else ([], range(len(texts)))
        reading = RowReader(self.plan.fields, self.sized, self.compared)
        rows, bad, lines = _long_way(reading, texts, rest, first)
        levels: dict[Level, pa.Table] = {}
        for place, level in reading.levels.items():
            parents = pc.list_parent_indices(pa.ListArray.from_arrays([0, *level.ends], pa.nulls(len(level.places))))
            found = {ROW: _places(rows, first).take(parents), AT: pa.array(level.places, pa.string())}
            levels[place] = pa.table(found | _arrays(level.cells))
        records = pa.table({ROW: _places(rows, first)} | _arrays(reading.rows))
        keys, extra = reading.keys, set(reading.extra)
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
            extra |= set(map(column_path, more))
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
            value = parse_object(texts[at])
        except MalformedError as error:
            malformed = Malformed(error.code, 1, (first + at,))
            bad[error.code] = bad[error.code].with_more(malformed) if error.code in bad else malformed
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
    sized, compared = plan.read_as(Size), plan.read_as(NoRepeats)
    return JsonSource(
        plan,
        store,
        tuple(shares_of(plan, parts, SHARE_BYTES)),
        tuple(part.size for part in parts),
        SHARE_BYTES,
        Columns(tuple(column.name for column in plan.columns)),
        {field.alias: _expression(field, sized, compared) for field in plan.fields},
        has_mark(heads),
        sized=sized,
        compared=compared,
    )


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
