"""The fast path for JSON: flat objects whose keys are in one order, as programs write them.

One strict expression finds the tokens of such an object: no escape, no space but one behind `:` and `,`, nothing that RFC 8259
does not allow. Other objects are read by `lakegate.engine.read.json_rows`, with the
same results.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakegate.contracts.model.types import LogicalType
from lakegate.contracts.plan.plan import Shape
from lakegate.engine.read.bounds import LONGEST_RECORD
from lakegate.engine.read.json_rows import MAX_EXTRA
from lakegate.engine.read.json_text import MalformedError, parsed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lakegate.contracts.plan.plan import PlanField

    Tokens = tuple[str, ...]

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
        found, rest = [], []
        for at, text in enumerate(texts):
            match = self.some.fullmatch(text.decode(errors="replace")) if len(text) <= LONGEST_RECORD else None
            if match and "\ufffd" not in match[0]:
                found.append(match.groups(""))
            else:
                rest.append(at)
        return found, rest

    def columns(self, tokens: list[Tokens]) -> tuple[dict[str, pa.Array], dict[str, pa.Array], set[str], set[str]]:
        """The texts by alias, whether each is a token of its field's own kind, and the declared and the undeclared keys."""
        by_key = {
            key: pa.array(column, pa.string()) for key, column in zip(self.keys, zip(*tokens, strict=True), strict=True)
        }
        keys = {key for key, column in by_key.items() if pc.any(pc.not_equal(column, "")).as_py()}
        texts, own = {}, {}
        for field in self.fields:
            column = by_key.get(field.name)
            if column is None:
                texts[field.alias], own[field.alias] = pa.nulls(len(tokens), pa.string()), _falses(len(tokens))
            else:
                texts[field.alias], own[field.alias] = _judged(column, field)
        declared = {field.name for field in self.fields}
        return texts, own, keys & declared, keys - declared


def learned(fields: Sequence[PlanField], texts: Iterable[bytes]) -> Flat | None:
    """The expressions for objects like the first ones; None if they, or the declared fields, are nested or very many."""
    if len(fields) > MAX_KEYS or any(field.path for field in fields):
        return None
    keys: list[str] = []
    for text, _ in zip(texts, range(LEARNED), strict=False):
        try:
            value = parsed(text) or {}
        except MalformedError:
            continue
        if len(value) > MAX_KEYS or any(isinstance(each, (dict, list)) for each in value.values()):
            return None
        _merge(keys, value)
    extra = set(keys) - {field.name for field in fields}
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
