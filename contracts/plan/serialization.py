"""Serializes frozen values to JSON and back by their type hints, for plans, requests and results.

Dataclasses become objects, enums their value, `Decimal` a string, tuples arrays. The `kind` class variable of a dataclass becomes
`"kind"`, the discriminator of unions. The canonical text (sorted keys, no spaces, UTF-8) gives equal values the same digest.
"""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Callable
from dataclasses import Field, fields, is_dataclass
from decimal import Decimal
from enum import Enum
from functools import cache, partial
from hashlib import sha256
from operator import attrgetter

Json = typing.Any
Convert: typing.TypeAlias = Callable[[Json], Json]
DOCUMENT_NAME = "document_name"
"""Metadata of a field that has another name in documents."""
T = typing.TypeVar("T")
_PLAIN: typing.Final = frozenset({str, int, float, bool, types.NoneType})
"""Types whose values are JSON."""
_written: typing.Final = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
).encode


def encode(value: object) -> Json:
    """The JSON form of a value, including defaults, so that documents are explicit."""
    cls: Json = type(value)
    return value if cls in _PLAIN else _encoder(cls)(value)


def decode(cls: type[T], document: Json) -> T:
    """The value of type `cls` in a JSON document that was validated with its schema before."""
    return typing.cast("T", _decoder(typing.cast("Json", cls))(document))


def canonical(value: object) -> bytes:
    """The canonical text of a value, of which digests are computed; ValueError for a number that JSON does not have."""
    return _written(encode(value)).encode()


def digest(value: object) -> str:
    """SHA-256 of the canonical text, in hexadecimal."""
    return sha256(canonical(value)).hexdigest()


@cache
def _encoder(cls: type) -> Convert:
    """The JSON form of values of a type, which is examined once."""
    if issubclass(cls, Enum):
        return attrgetter("value")
    if issubclass(cls, Decimal):
        return lambda value: format(value, "f")
    if issubclass(cls, tuple | list):
        return lambda value: [encode(each) for each in value]
    if issubclass(cls, dict):
        return lambda value: {key: encode(each) for key, each in value.items()}
    return _dataclass_encoder(cls) if is_dataclass(cls) else _same


def _dataclass_encoder(cls: Json) -> Convert:
    kind = cls.__dict__.get("kind")
    tag = {"kind": kind} if isinstance(kind, str) else {}
    names = [(_document_name(each), each.name) for each in fields(cls)]

    def encoded(value: Json) -> Json:
        document: dict[str, Json] = {**tag}
        for name, field in names:
            member = getattr(value, field)
            document[name] = member if type(member) in _PLAIN else encode(member)
        return document

    return encoded


def _same(value: Json) -> Json:
    return value


@cache
def _decoder(hint: Json) -> Convert:
    """The value of a document by a type hint, which is examined once."""
    origin: Json = typing.get_origin(hint)
    arguments = typing.get_args(hint)
    if origin in {typing.Union, types.UnionType}:
        return _union_decoder([each for each in arguments if each is not types.NoneType])
    if origin is tuple:
        element = _decoder(arguments[0])
        return lambda document: tuple(map(element, document))
    if origin is dict:
        item = _decoder(arguments[1])
        return lambda document: {key: item(each) for key, each in document.items()}
    if is_dataclass(hint):
        return partial(_decoded_dataclass, hint)
    return hint if isinstance(hint, type) and issubclass(hint, Enum | Decimal) else _same


def _union_decoder(members: list[Json]) -> Convert:
    if len(members) == 1:
        only = _decoder(members[0])
        return lambda document: None if document is None else only(document)
    by_kind = {each.kind: _decoder(each) for each in members}
    return lambda document: None if document is None else by_kind[document["kind"]](document)


def _decoded_dataclass(cls: Json, document: Json) -> object:
    return cls(**{name: decoded(document[key]) for key, name, decoded in _decoders(cls) if key in document})


@cache
def _decoders(cls: type) -> list[tuple[str, str, Convert]]:
    """Of each field: its name in documents, its name, and its decoder. Not before a value is decoded: types may be recursive."""
    hints = typing.get_type_hints(cls)
    return [(_document_name(each), each.name, _decoder(hints[each.name])) for each in fields(typing.cast("Json", cls))]


def _document_name(field: Field[Json]) -> str:
    name: str = field.metadata.get(DOCUMENT_NAME, field.name)
    return name
